"""Transformations in autograd's call form: what is given first is the function and `argnum`, a
position or several, then its arguments."""

from collections.abc import Callable
from typing import Any

from ..transforms import grad, hvp, jvp, vjp
from ..transforms.reverse import ones_like

__all__ = [
    "deriv", "grad_and_aux", "hessian_vector_product", "make_hvp", "make_jvp", "make_vjp",
    "vector_jacobian_product",
]  # fmt: skip


def _at(f: Callable, argnum: Any, args: tuple, options: dict) -> tuple[Callable, Any]:
    """The function of the argument, or the tuple of arguments, and where it is taken."""
    if isinstance(argnum, int):
        return lambda x: f(*args[:argnum], x, *args[argnum:][1:], **options), args[argnum]
    places = list(argnum)

    def of_several(xs: Any) -> Any:
        filled = list(args)
        for place, x in zip(places, xs, strict=True):
            filled[place] = x
        return f(*filled, **options)

    return of_several, tuple([args[place] for place in places])


def make_vjp(f: Callable, argnum: Any = 0) -> Callable:
    """The function of f's arguments that gives its pullback and its value.

    >>> pullback, value = make_vjp(np.sin)(0.0)
    >>> pullback(2.0), value
    (np.float64(2.0), np.float64(0.0))
    """

    def made(*args: Any, **options: Any) -> tuple[Callable, Any]:
        of_one, x = _at(f, argnum, args, options)
        value, pullback = vjp(of_one, x)
        return lambda ct: pullback(ct)[0], value

    return made


def make_jvp(f: Callable, argnum: Any = 0) -> Callable:
    """The function of f's arguments that gives its pushforward: of a tangent it gives the value and
    its tangent.

    >>> make_jvp(np.sin)(0.0)(2.0)
    (np.float64(0.0), np.float64(2.0))
    """

    def made(*args: Any, **options: Any) -> Callable:
        of_one, x = _at(f, argnum, args, options)
        return lambda tangent: jvp(of_one, (x,), (tangent,))

    return made


def make_hvp(f: Callable, argnum: Any = 0) -> Callable:
    """The function of f's arguments that gives products with its Hessian, and the gradient.

    >>> product, gradient = make_hvp(lambda x: x**3)(2.0)
    >>> product(1.0), gradient
    (np.float64(12.0), np.float64(12.0))
    """

    def made(*args: Any, **options: Any) -> tuple[Callable, Any]:
        of_one, x = _at(f, argnum, args, options)
        return make_vjp(grad(of_one))(x)

    return made


def deriv(f: Callable, argnum: int = 0) -> Callable:
    """The derivative of a function of a number, in forward mode; of an array, along ones.

    >>> deriv(np.exp)(0.0)
    np.float64(1.0)
    """

    def derivative(*args: Any, **options: Any) -> Any:
        of_one, x = _at(f, argnum, args, options)
        return jvp(of_one, (x,), (ones_like(x),))[1]

    return derivative


def grad_and_aux(f: Callable, argnum: Any = 0) -> Callable:
    """The function that gives the gradient of the first result of f, and the second result.

    Raises TypeError where f gives no pair.

    >>> grad_and_aux(lambda x: (x**2, "two results"))(3.0)
    (np.float64(6.0), 'two results')
    """

    def both(*args: Any, **options: Any) -> tuple[Any, Any]:
        of_one, x = _at(f, argnum, args, options)
        return grad(of_one, has_aux=True)(x)

    return both


hessian_vector_product = hvp


def vector_jacobian_product(f: Callable, argnum: int = 0) -> Callable:
    """The function of f's arguments and a cotangent of its result that gives that of an
    argument.

    Raises DimensionMismatch for a cotangent of another shape than the result's.

    >>> vector_jacobian_product(np.sin)(np.zeros(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """

    def product(*args: Any, **options: Any) -> Any:
        of_one, x = _at(f, argnum, args[:-1], options)
        return vjp(of_one, x)[1](args[-1])[0]

    return product
