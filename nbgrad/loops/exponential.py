"""The exponential of a matrix in functions with loops: code that is read like a user's."""

from ..compiler.front import algebra
from ..compiler.front.array_table import function_row
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.products import read, square
from ..compiler.front.values import Value
from ..rules.linalg.matrix_functions import expm

__all__: list[str] = []


@function_row(expm)
def _expm(emit: FunctionBuilder, A: Value) -> Value:
    return read(emit, algebra.exponential, square(emit, A, "expm"))
