"""Reverse mode: `gradient`, `grad`, `value_and_grad`, `vjp`, `elementwise_grad`."""

from collections.abc import Callable
from functools import lru_cache, partial
from math import prod
from types import FunctionType
from typing import Any, Literal, TypeVar, overload

import numpy as np

from ..complex import is_complex
from ..core.array import Array
from ..core.primitive import shape_of
from ..core.remade import Remade
from ..errors import ArgumentError, ArgumentTypeError, NotScalarError, ResultError
from ..values import backward
from ..values.operands import ones
from ..values.tracked import TrackedArray
from . import direct, trees
from .holomorphic import complex_leaves, complex_result, derived
from .run import Run, array_leaves, fitted, with_aux
from .state import kept
from .transformed import Parameters, Result, takes_argnum, transformed

_Aux = TypeVar("_Aux")


def gradient(f: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """Return the gradient of a scalar function with respect to each argument, as a tuple.

    Arguments:
        f: returns one number, or an array of one element.
        args: numbers, float arrays, or nested dicts, lists, tuples and dataclasses of them.
            Integers inside are not differentiated and get None; an argument without any float is an
            error.

    Raises:
        TypeError: `f` returns no number, or an argument holds no float.
        DimensionMismatch: the result has more than one element.

    >>> nbgrad.gradient(lambda x, y: x * y + np.sin(x), 2.0, 3.0)
    (np.float64(2.5838531634528574), np.float64(2.0))
    """
    trees.require_function("gradient", f)
    return _value_and_gradients("gradient", f, args, tuple(range(len(args))), {}, False)[1]


@overload
def grad(
    f: Callable[Parameters, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
) -> Callable[Parameters, Any]: ...
@overload  # for functions with several signatures, as ufuncs have
def grad(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
) -> Callable[..., Any]: ...
@takes_argnum
def grad(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `f` with respect to argument `argnums`.

    It takes the arguments of `f`. With a tuple of `argnums` it returns a tuple. With `has_aux`, `f`
    returns `(value, aux)` and the new function `(gradient, aux)`. It can be differentiated again:
    `grad(grad(f))`. It raises as `gradient` does.

    With `holomorphic`, f is a holomorphic function of complex arguments with a complex result, and
    the derivative is f'(z). Otherwise a complex argument gets the direction of steepest ascent,
    df/dx + i df/dy.

    Arrays that `f` tracks itself are constants. If an argument is tracked, or `f` closes over a
    tracked array, the gradient is tracked, and can be differentiated with respect to that array.

    >>> float(nbgrad.grad(nbgrad.grad(np.tanh))(0.5)).__round__(6)
    -0.726862
    >>> nbgrad.grad(lambda z: z**3, holomorphic=True)(1.0 + 1.0j)
    np.complex128(6j)
    """
    trees.require_function("gradient", f)
    if holomorphic:
        return derived(
            "gradient", partial(grad, argnums=argnums, has_aux=has_aux), f, argnums, has_aux
        )
    positions = positions_of("gradient", argnums)

    @transformed(grad, f, argnums, has_aux)
    def gradient_of(*args, **options):
        places = existing("gradient", argnums, positions, len(args))
        value, gradients = _value_and_gradients("gradient", f, args, places, options, has_aux)
        slope = gradients if isinstance(argnums, tuple) else gradients[0]
        return (slope, value[1]) if has_aux else slope

    return gradient_of


@overload
def value_and_grad(
    f: Callable[Parameters, Result], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[Parameters, tuple[Result, Any]]: ...
@overload
def value_and_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]: ...
@takes_argnum
def value_and_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes `f` and its gradient with respect to argument `argnums`.

    The gradient has the structure of the argument: an array, or nested dicts, lists, tuples and
    dataclasses. With `has_aux`, `f` returns `(value, aux)`, where aux is any object, and the new
    function `((value, aux), gradient)`. It raises as `gradient` does.

    >>> value, slope = nbgrad.value_and_grad(lambda p: np.sum(p["w"] ** 2))({"w": np.ones(2)})
    >>> float(value), slope
    (2.0, {'w': array([2., 2.])})
    """
    trees.require_function("gradient", f)
    positions = positions_of("gradient", argnums)

    @transformed(value_and_grad, f, argnums, has_aux)
    def value_and_gradient_of(*args, **options):
        places = existing("gradient", argnums, positions, len(args))
        value, gradients = _value_and_gradients("gradient", f, args, places, options, has_aux)
        return value, gradients if isinstance(argnums, tuple) else gradients[0]

    return value_and_gradient_of


@overload
def elementwise_grad(
    f: Callable[Parameters, Any], argnums: int = 0
) -> Callable[Parameters, Any]: ...
@overload
def elementwise_grad(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]: ...
@takes_argnum
def elementwise_grad(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Return a function that computes the derivative of each element of `f(x)` by that of x.

    For elementwise functions, such as `np.tanh`; if elements depend on each other, it returns sums
    over the columns of the Jacobian. The result has the shape of the
    argument. It can be applied again.

    >>> nbgrad.elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    trees.require_function("elementwise_grad", f)
    positions = positions_of("elementwise_grad", argnums)

    @transformed(elementwise_grad, f, argnums)
    def slope_of(*args, **options):
        places = existing("elementwise_grad", argnums, positions, len(args))
        run = Run("elementwise_grad", f, args, places, options)
        if any(map(is_complex, complex_leaves(run.result))):
            raise complex_result("elementwise_grad")
        outputs, _ = array_leaves("elementwise_grad", run.result)
        slope = run.pull(outputs, [ones_like(out) for out in outputs])[0]
        del outputs
        run.end()
        return slope

    return slope_of


@overload
def vjp(
    f: Callable[..., tuple[Result, _Aux]], *primals: Any, has_aux: Literal[True], **options: Any
) -> tuple[Result, Callable[[Any], tuple[Any, ...]], _Aux]: ...
@overload
def vjp(
    f: Callable[..., Result], *primals: Any, has_aux: Literal[False] = False, **options: Any
) -> tuple[Result, Callable[[Any], tuple[Any, ...]]]: ...
def vjp(f: Callable, *primals: Any, has_aux: bool = False, **options: Any) -> tuple:
    """Return the value of `f(*primals)` and its pullback, which maps cotangents to cotangents.

    Arguments:
        f: returns an array, or nested dicts, lists, tuples and dataclasses of arrays.
        primals: numbers, float arrays, or nested containers of them.
        has_aux: `f` returns `(value, aux)`.
        options: keyword arguments of `f`, constants of the call.

    Returns `(value, pullback)`, or `(value, pullback, aux)`. `pullback(ct)` takes a cotangent with
    the structure and shapes of the value. It returns a tuple: for each primal, J' @ ct in its
    structure, with None for integers. It can be called repeatedly, and keeps copies of the values
    that it needs, so later writes to the arguments do not change it. It is pickled as the call of
    `vjp`, which is repeated when the pickle is loaded. It raises TypeError for another structure or
    dtype, and DimensionMismatch for another shape.

    >>> value, pullback = nbgrad.vjp(lambda x, y: (x * y, x + y), 2.0, 3.0)
    >>> pullback((1.0, 0.0))
    (np.float64(3.0), np.float64(2.0))
    """
    trees.require_function("vjp", f)
    direct.look(f, primals, options)
    primals, options = tuple(map(kept, primals)), kept(options) if options else options
    run = Run("vjp", f, primals, range(len(primals)), options)
    result, aux = with_aux("vjp", run.result) if has_aux else (run.result, None)
    value, pullback = pullback_of(run, result)
    pullback = Remade(pullback, _pullback_again, f, primals, has_aux, options)
    if has_aux:
        run.look(aux)
        return value, pullback, run.plain(aux)
    return value, pullback


def _pullback_again(f: Callable, primals: tuple, has_aux: bool, options: dict) -> Callable:
    return vjp(f, *primals, has_aux=has_aux, **options)[1]


def pullback_of(run: Run, result: Any) -> tuple[Any, Callable[[Any], tuple]]:
    """Return the value of a recorded result without its level, and its pullback."""
    outputs, rebuild = array_leaves(run.op, result)
    run.look(outputs)
    value = rebuild([kept(run.plain(x)) for x in outputs])
    run.mark_ended()
    seeded = outputs  # goes before `run`: a closure drops its variables from the last name on

    def pullback(ct):
        seeds = fitted(run.op, "cotangent", ct, seeded, value)
        return run.pull(seeded, seeds)

    return value, pullback


def ones_like(x: Any) -> Any:
    """Return ones of the shape and dtype of any kind of array, constant in every derivative."""
    if not isinstance(x, Array):
        return np.ones(np.shape(x), getattr(x, "dtype", np.float64))
    below = x.below
    if isinstance(below, Array):
        return below.full_like(1.0)
    return ones(x.aval)


def positions_of(op: str, argnums: Any) -> tuple[int, ...]:
    """Return `argnums` as a tuple. Raises TypeError for anything but integers."""
    positions = argnums if isinstance(argnums, tuple) else (argnums,)
    if not positions or not all(type(position) is int for position in positions):
        raise ArgumentTypeError(
            f"{op}: argnums is {argnums!r}; give the position of an argument, or a tuple of "
            "positions",
            code="NB-ARGNUMS",
        )
    return positions


@lru_cache(maxsize=1024)
def existing(op: str, argnums: Any, positions: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the positions among `count` arguments, counted from the front. Raises ValueError for a
    position that does not exist."""
    for position in positions:
        if not -count <= position < count:
            raise ArgumentError(
                f"{op}: argnums {argnums} with {count} positional arguments: pass the "
                "argument to differentiate by position",
                code="NB-ARGNUMS",
            )
    places = tuple([position % count for position in positions])
    if len(places) > 1 and len(set(places)) < len(places):
        raise ArgumentError(f"{op}: argnums {argnums} names an argument twice", code="NB-ARGNUMS")
    return places


def _value_and_gradients(
    op: str, f: Callable, args: tuple, positions: tuple[int, ...], options: dict, has_aux: bool
) -> tuple[Any, tuple]:
    if type(f) is not FunctionType and not has_aux:
        found = direct.value_and_gradients(f, args, positions, options)
        if found is not None:
            return found
    run = Run(op, f, args, positions, options)
    out, aux = with_aux(op, run.result) if has_aux else (run.result, None)
    if type(out) is TrackedArray and not run.level and out.aval.size == 1:
        # The common case: the same as below, in fewer calls.
        root, value = out.node, out.node.value
        if not value.ndim:
            value = value[()]
        seed = ones(out.aval)
        gradients = run.cotangents_of(backward.pulled(root, seed, since=run.started), {root: seed})
    else:
        value, own = _scalar_of(op, run, out), run.own(out)
        gradients = run.pull_from({} if own is None else {own.node: ones_like(own)})
    if run.closed:
        value = run.plain(out)
    if has_aux:
        run.look(aux)
        value = value, run.plain(aux)
    out = own = root = aux = None
    run.end()
    return value, gradients


def _scalar_of(op: str, run: Run, out: Any) -> Any:
    """Return the number that a function returned, without the run's level. Raises TypeError or
    DimensionMismatch for anything else."""
    if not isinstance(out, (Array, float, int, np.ndarray, np.generic)):
        raise ResultError(
            f"{op}: the function gave {type(out).__name__}, not an array; return one number, "
            "such as np.sum(...)" + ("; return the rest with has_aux" if type(out) is tuple else "")
        )
    if is_complex(out):
        raise complex_result(op)
    if (out.aval.size if isinstance(out, Array) else prod(np.shape(out))) != 1:
        raise NotScalarError(
            f"{op}: the function gave an array of shape {shape_of(out)}; a gradient needs one "
            "number, so sum it, or use vjp, jvp or jacobian"
        )
    return run.plain(out)
