"""NumPy's functions of complex arrays, and the calls that reach them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.functions import check_call, functions, items_of, name_of, no_rule, of_ufunc
from ..core.numpy_class import Pair
from ..errors import ArgumentTypeError, ComplexError, NoRuleError, UntrackedError
from ..rules.linalg.widened import ComplexResult
from ..runtime.kinds import is_a

__all__ = [
    "COMPLEX_OF", "PLAIN_PART", "binary", "call", "complexly", "has_complex", "is_complex",
    "method_of", "no_complex_rule", "plain_join", "rules", "written",
]  # fmt: skip

COMPLEX_OF = {
    np.dtype(np.float64): np.dtype(np.complex128),
    np.dtype(np.float32): np.dtype(np.complex64),
}

PLAIN_PART = (
    "a tracked value is written to a part of a complex array that is plain: start with "
    "np.zeros(shape, complex, like=x), to which z can be added"
)

rules: dict[Any, Callable] = {}
"""NumPy's functions and ufuncs, and what they do with complex arrays."""


def complexly(*targets: Any) -> Callable[[Callable], Callable]:
    """Decorator: calls of NumPy's functions `targets` with a ComplexArray call this function."""

    def register(function: Callable) -> Callable:
        rules.update(dict.fromkeys(targets, function))
        return function

    return register


def is_complex(x: Any) -> bool:
    """Whether x is a complex number or array, plain or not."""
    kind = type(x)
    if issubclass(kind, (np.ndarray, np.generic)):
        return x.dtype.kind == "c"
    return issubclass(kind, (Pair, complex))


def has_complex(*args: Any) -> bool:
    """Whether an argument, or an item of nested lists and tuples, is complex."""
    return any(map(is_complex, items_of(args)))


def call(func: Any, args: tuple, kwargs: dict) -> Any:
    """A function of NumPy of complex arguments."""
    rule = rules.get(func)
    if rule is None:
        raise no_complex_rule(_named(func))
    out = kwargs.pop("out", None) if kwargs else None
    try:
        result = rule(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        check_call(_named(func), rule, args, kwargs)
        raise
    return result if out is None else written(out, result, _named(func))


def _named(func: Any) -> str:
    if is_a(func, tuple):
        return f"{_named(func[0])}.{func[1]}"
    return of_ufunc(func)[0] if is_a(func, np.ufunc) else name_of(func)


def no_complex_rule(name: str) -> NoRuleError:
    """The error for a function that has no meaning for complex arrays, or no rule for them."""
    return no_rule(name, "complex numbers")


def written(out: Any, result: Any, name: str) -> Any:
    (target,) = out if is_a(out, tuple) else (out,)
    if is_a(target, np.ndarray):
        raise UntrackedError(
            f"{name}: out= is a plain array, which would lose the derivative: omit it, or use "
            "nbgrad.numpy's arrays"
        )
    if is_complex(result) and not is_a(target, Pair):
        raise ComplexError(f"{name}: a complex result cannot be written to a real array")
    target[...] = result  # pyright: ignore[reportIndexIssue]
    return target


def retried(function: Any, args: tuple, kwargs: dict, error: ComplexError | None) -> Any:
    """The call of a function that refused a complex operand beside a real array, in complex
    numbers, or of one whose result is complex. Raises `error` if no operand is complex."""
    if error and type(error) is not ComplexResult:
        if not has_complex(args) and not has_complex(tuple(kwargs.values())):
            raise error
    return call(function, args, kwargs)


functions["complex"] = retried


def binary(ufunc: np.ufunc) -> tuple[Any, Any, Any]:
    """The methods of an operator: itself, reflected and augmented."""

    def method(self: Any, other: Any) -> Any:
        return call(ufunc, (self, other), {})

    def reflected(self: Any, other: Any) -> Any:
        return call(ufunc, (other, self), {})

    def augmented(self: Any, other: Any) -> Any:
        result = call(ufunc, (self, other), {})
        if not self.shape:  # a number
            return result
        self[...] = result
        return self

    return method, reflected, augmented


def method_of(function: Callable) -> Any:
    """The method that calls one of NumPy's functions."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return call(function, (self, *args), options)

    method.__doc__ = f"`np.{function.__name__}(self, ...)`"
    return method


def plain_join(real: Any, imag: Any) -> Any:
    """A plain complex array, or a NumPy number, of plain parts."""
    real, imag = np.asarray(real), np.asarray(imag)
    out = np.empty(real.shape, COMPLEX_OF.get(real.dtype, np.dtype(np.complex128)))
    out.real, out.imag = real, imag
    return out if out.shape else out[()]
