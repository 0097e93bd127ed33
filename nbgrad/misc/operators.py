"""Transformations with autograd's interface.

Each one takes a function and `argnum`, a position or several, and returns a function of the
arguments.
"""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from ..transforms import grad, hvp, jvp, vjp
from ..transforms.reverse import ones_like

__all__ = [
    "deriv", "grad_and_aux", "hessian_vector_product", "make_hvp", "make_jvp", "make_vjp",
    "vector_jacobian_product",
]  # fmt: skip


def _at(f: Callable, argnum: Any, args: tuple, options: dict) -> tuple[Callable, Any]:
    """Return `f` as a function of the chosen argument, or tuple of arguments, and its value."""
    if isinstance(argnum, int):
        return lambda x: f(*args[:argnum], x, *args[argnum:][1:], **options), args[argnum]
    places = list(argnum)

    def of_several(xs: Any) -> Any:
        filled = list(args)
        for place, x in zip(places, xs, strict=True):
            filled[place] = x
        return f(*filled, **options)

    return of_several, tuple([args[place] for place in places])


def _curried(operator: Callable[[Callable, Any], Any]) -> Callable[..., Callable]:
    """Return `operator(f, x)` as a transformation `(f, argnum)` that returns a function."""

    def transformation(f: Callable, argnum: Any = 0) -> Callable:
        return lambda *args, **options: operator(*_at(f, argnum, args, options))

    update_wrapper(transformation, operator, ("__module__", "__name__", "__qualname__", "__doc__"))
    del transformation.__dict__["__wrapped__"]  # its signature differs
    return transformation


@_curried
def make_vjp(f: Callable, x: Any) -> tuple[Callable, Any]:
    """Return a function that computes the pullback and the value of `f`.

    >>> pullback, value = make_vjp(np.sin)(0.0)
    >>> pullback(2.0), value
    (np.float64(2.0), np.float64(0.0))
    """
    value, pullback = vjp(f, x)
    return lambda ct: pullback(ct)[0], value


@_curried
def make_jvp(f: Callable, x: Any) -> Callable:
    """Return a function that computes the pushforward of `f`.

    The pushforward takes a tangent and returns the value and its tangent.

    >>> make_jvp(np.sin)(0.0)(2.0)
    (np.float64(0.0), np.float64(2.0))
    """
    return lambda tangent: jvp(f, (x,), (tangent,))


@_curried
def make_hvp(f: Callable, x: Any) -> tuple[Callable, Any]:
    """Return a function that computes products with the Hessian of `f`, and the gradient.

    >>> product, gradient = make_hvp(lambda x: x**3)(2.0)
    >>> product(1.0), gradient
    (np.float64(12.0), np.float64(12.0))
    """
    return make_vjp(grad(f))(x)


@_curried
def deriv(f: Callable, x: Any) -> Any:
    """Return the derivative of `f`, in forward mode; for an array, the derivative along ones.

    >>> deriv(np.exp)(0.0)
    np.float64(1.0)
    """
    return jvp(f, (x,), (ones_like(x),))[1]


@_curried
def grad_and_aux(f: Callable, x: Any) -> tuple[Any, Any]:
    """Return a function that computes the gradient of the first result of `f`, and the second one.

    Raises TypeError if `f` does not return a pair.

    >>> grad_and_aux(lambda x: (x**2, "two results"))(3.0)
    (np.float64(6.0), 'two results')
    """
    return grad(f, has_aux=True)(x)


hessian_vector_product = hvp


def vector_jacobian_product(f: Callable, argnum: int = 0) -> Callable:
    """Return a function of the arguments of `f` and a cotangent that computes the vjp.

    Raises DimensionMismatch if the shapes of the cotangent and the result of `f` differ.

    >>> vector_jacobian_product(np.sin)(np.zeros(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return lambda *args, **options: make_vjp(f, argnum)(*args[:-1], **options)[0](args[-1])
