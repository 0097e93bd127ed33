"""The front end: Python functions and the types of their arguments as functions of the kernel IR.

`function_of(function, types)` reads the syntax tree of a function in one walk. Types follow from
those of the arguments line by line, as Numba infers them. Anything outside this subset of Python
raises `Unsupported`.
"""

from .functions import ArrayType, Constant, function_of

__all__ = ["ArrayType", "Constant", "function_of"]
