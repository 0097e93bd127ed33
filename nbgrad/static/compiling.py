"""`nbgrad.compile`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

import numpy as np

from ..transforms import trees
from ..transforms.transformed import Parameters, Result
from .function import StaticFunction


@overload  # of its several signatures, a checker would take the first
def compile(
    f: np.ufunc, *, static_argnames: Iterable[str] = (), dynamic: Mapping[str, Any] | None = None
) -> StaticFunction[..., Any]: ...
@overload
def compile(
    f: Callable[Parameters, Result], *, static_argnames: Iterable[str] = (),
    dynamic: Mapping[str, Any] | None = None,
) -> StaticFunction[Parameters, Result]: ...  # fmt: skip
@overload
def compile(
    *, static_argnames: Iterable[str] = (), dynamic: Mapping[str, Any] | None = None
) -> Callable[[Callable[Parameters, Result]], StaticFunction[Parameters, Result]]: ...
@overload  # a function of unknown type
def compile(
    f: Any, *, static_argnames: Iterable[str] = (), dynamic: Mapping[str, Any] | None = None
) -> Any: ...
def compile(
    f: Callable | None = None, *, static_argnames: Iterable[str] = (),
    dynamic: Mapping[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Compile `f` to machine code, at its first call with arguments of new shapes or dtypes.

    Arguments:
        f: a function of arrays and numbers, or of nested dicts, lists and tuples of them, such as
            `nbgrad.value_and_grad(loss)`. Without `f`, a decorator is returned.
        static_argnames: names of arguments whose value is part of the program, such as a number of
            layers; a new value compiles a new program. Strings, bools, None and functions are
            always static.
        dynamic: for arguments by name, names for axes whose length varies, None for the others:
            `{"x": ("n", None), "y": ("n",)}`. One program is compiled for all lengths, 0 and 1
            included. The spec of a nested argument holds for each of its arrays; a dict, list,
            tuple or dataclass of specs has those of its parts. For a named length n,
            `isinstance(n, int)` is true, and `type(n) is int` false.

    Dtypes are NumPy's. Results without axes of dtype float64, int64 and bool are Python numbers.

    Arrays that the function closes over are read at each call. All other values that it reads,
    apart from its arguments, are compared at each call, and the function is recorded again if they
    changed: globals and closed-over variables, items of dicts and lists, attributes of objects,
    classes and modules, defaults, redefined helper functions. The latest programs are kept, so that
    a value that returns compiles nothing. Arrays whose values shaped the program (an index,
    `y + 1`, up to 4096 integers such as n in `x[:n]`) are compared, too. Pass values that change
    often as arguments: recording takes milliseconds, and a new number compiles a new program.

    These changes are not noticed: `float(y[0])` of a float in an array that is changed in place;
    functions and modules of Python and of installed packages; items of containers with more than
    4096; environment variables, context variables, files and clocks. The functions `njit`,
    `address` and `cfunc` of a variant stay as they were recorded.

    Equal names in `dynamic` require equal lengths. If a program needs a condition on a length
    (`x[5]` needs 6 elements), other lengths are compiled on their own; if it needs a remainder
    (`x.reshape(n // 2, 2)` an even n), so are lengths with another one. If a length determines the
    program without a formula, as the range of a Python loop does, each length is compiled on its
    own, and a warning shows the line. A function that reads lengths (`x.shape`) is recorded once
    for each new length, and compiled for that length alone if the program differs. `njit` checks
    conditions only.

    A compiled function ignores `np.errstate`, `np.seterr` and warning filters: a division by zero
    gives inf without a warning.

    Results are new arrays. With `out=`, arrays nested as the result, they are written there
    (numbers are ignored), and the call allocates no arrays.

    Inside of transformations, as in `grad(compile(f))`, derivatives of the function are compiled;
    `fallbacks` lists the reasons if the uncompiled function runs instead.

    Raises:
        TraceError: the function needs a number while it is recorded, or an op that is eager only;
            the message shows the line.
        DimensionMismatch: lengths with equal names differ; the message names both arguments.

    >>> f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.tanh(x) * x)))
    >>> value, slope = f(np.array([0.0, 1.0]))
    >>> round(value, 6), slope.round(6)
    (0.761594, array([0.      , 1.181568]))
    """
    if f is None:
        return lambda g: compile(g, static_argnames=static_argnames, dynamic=dynamic)
    trees.require_function("compile", f)
    return StaticFunction(f, static_argnames, dynamic)
