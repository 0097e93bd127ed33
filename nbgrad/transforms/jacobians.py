"""`jacobian`, `hessian` and `hvp`, with 64 directions at a time."""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..complex import is_complex
from ..core.primitive import shape_of
from ..errors import ArgumentError, ArgumentTypeError, DimensionMismatch
from . import trees
from .batching import vmap
from .direct import callee, look
from .forward import jvp
from .holomorphic import complex_leaves, derived, require_real
from .parted import has_complex, parted
from .reverse import existing, grad, gradient, positions_of, vjp
from .transformed import Parameters, takes_argnum, transformed

# The number of directions at a time: enough to amortise the cost of a call, and few enough that
# intermediate values do not grow with the Jacobian.
_TOGETHER = 64
_MODES = ("auto", "forward", "reverse", "optimal")


@takes_argnum
def jacobian(
    f: Callable[Parameters, Any],
    argnums: int | tuple[int, ...] = 0,
    mode: str = "auto",
    *,
    holomorphic: bool = False,
) -> Callable[Parameters, Any]:
    """Return a function that computes the Jacobian of `f` with respect to argument `argnums`.

    Arguments:
        f: returns an array, or nested containers of arrays.
        argnums: the position of the argument, or a tuple of positions.
        mode: "forward" pushes one direction for each input element, "reverse" pulls one for each
            output element, "auto" takes the fewer; "optimal" eliminates the vertices of the
            recorded graph in the cheapest order that `nbgrad.elimination` finds, for one array in
            and one out.
        holomorphic: f is a holomorphic function of complex arguments, and so is the Jacobian.

    The Jacobian of an output of shape S and an argument of shape T has shape S + T: element
    [i, j] is the derivative of output i with respect to input j. For nested outputs and arguments
    it is nested: the structure of the output, and in each of its places that of the argument.
    That of a real output and a complex argument z = x + i y has the elements df/dx + i df/dy, that
    of a complex output and a real argument is the derivative.

    Raises:
        TypeError: the argument or the result holds no float array, or both are complex and the
            function is not said to be holomorphic.
        ValueError: the mode or a position does not exist.

    >>> nbgrad.jacobian(lambda x: np.stack([x[0] * x[1], np.sin(x[0])]))(np.array([0.0, 2.0]))
    array([[2., 0.],
           [1., 0.]])
    """
    trees.require_function("jacobian", f)
    positions = positions_of("jacobian", argnums)
    if mode not in _MODES:
        raise ArgumentError(f"jacobian: mode {mode!r}; there are {', '.join(map(repr, _MODES))}")

    if holomorphic:
        return derived("jacobian", partial(jacobian, argnums=argnums, mode=mode), f, argnums)

    @transformed(jacobian, f, argnums, mode)
    def jacobian_of(*args, **options):
        places = existing("jacobian", argnums, positions, len(args))
        look(f, args, options)

        def of_inputs(*inputs):
            full = list(args)
            for position, x in zip(places, inputs, strict=True):
                full[position] = x
            return callee(f)(*full, **options)

        of_inputs.__wrapped__ = f  # pyright: ignore[reportFunctionMemberAccess]
        point = tuple(args[position] for position in places)
        if any(is_complex(x) for x in complex_leaves(point)):
            of_inputs = require_real("jacobian", of_inputs)
        with trees.level_above(*args, *options.values()):
            if mode == "optimal":
                return _by_elimination(of_inputs, point, argnums)
            return _jacobian(of_inputs, point, mode, isinstance(argnums, tuple))

    return jacobian_of


@takes_argnum
def hessian(
    f: Callable[Parameters, Any], argnums: int | tuple[int, ...] = 0
) -> Callable[Parameters, Any]:
    """Return a function that computes the Hessian of a scalar function, forward over reverse.

    For an argument of shape T it returns an array of shape T + T. For a nested argument it returns
    blocks: the structure of the argument, with that structure again in each place. Raises as
    `gradient`.

    A complex argument z = x + i y of shape T counts as the real array of its parts, of shape
    (2,) + T: the Hessian has the shape (2,) + T + (2,) + T, and H[0, ..., 1, ...] are the second
    derivatives in x and y.

    >>> nbgrad.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    positions = positions_of("hessian", argnums)

    @transformed(hessian, f, argnums)
    def hessian_of(*args, **options):
        places = existing("hessian", argnums, positions, len(args))
        if not any(has_complex(args[place]) for place in places):
            return jacobian(grad(f, argnums), argnums, mode="forward")(*args, **options)
        parts = {place: parted(args[place]) for place in places}

        def of_parts(*args, **options):
            full = [parts[k][1](x) if k in parts else x for k, x in enumerate(args)]
            return callee(f)(*full, **options)

        full = [parts[k][0] if k in parts else x for k, x in enumerate(args)]
        return jacobian(grad(of_parts, argnums), argnums, mode="forward")(*full, **options)

    return hessian_of


@takes_argnum
def hvp(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Return a function that multiplies the Hessian of a scalar function by a vector.

    It takes the arguments of `f` and then the vector v, which has the structure of the argument
    `argnums`, and returns H @ v in that structure: the gradient of the derivative along v, at the
    cost of two to three gradients, for any size. Raises as `gradient` and `jvp` do.

    >>> nbgrad.hvp(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]), np.array([1.0, 0.0]))
    array([6., 2.])
    """
    positions = positions_of("hvp", argnums)

    @transformed(hvp, f, argnums)
    def product(*args, **options):
        if len(args) < 2:
            raise DimensionMismatch(
                "hvp: pass the arguments of the function and then the direction, as in hvp(f)(x, v)"
            )
        *primals, v = args
        (place,) = existing("hvp", argnums, positions, len(primals))

        def of_one(x):
            return callee(f)(*primals[:place], x, *primals[place + 1 :], **options)

        # Reverse over forward: pullbacks of plain ops use their compiled kernels.
        with trees.level_above(*args, *options.values()):
            return gradient(lambda x: jvp(of_one, (x,), (v,))[1], primals[place])[0]

    return product


def _by_elimination(f: Callable, point: tuple, argnums: Any) -> Any:
    from ..elimination import jacobian as eliminated

    if len(point) != 1:
        raise ArgumentTypeError(
            "jacobian: mode 'optimal' is for one argument; name one in argnums", code="NB-ARGNUMS"
        )
    result = eliminated(f, point[0])
    return (result,) if isinstance(argnums, tuple) else result


class Flat:
    """The float leaves of a tree as parts of one vector."""

    def __init__(self, tree: Any):
        self.leaves, self.rebuild = trees.flatten(tree)
        self.places = [k for k, x in enumerate(self.leaves) if trees.is_differentiable(x)]
        self.shapes = [shape_of(self.leaves[k]) for k in self.places]
        self.dtypes = [getattr(self.leaves[k], "dtype", np.dtype(float)) for k in self.places]
        self.sizes = [prod(shape) for shape in self.shapes]
        self.size = sum(self.sizes)
        self.dtype = np.result_type(*self.dtypes) if self.places else np.dtype(float)

    def split(self, x: Any, lead: int = 0) -> list[Any]:
        """Split `x` along its axis `lead` into parts with the shapes and dtypes of the leaves."""
        parts, at = [], 0
        whole = len(self.places) == 1
        for shape, size in zip(self.shapes, self.sizes, strict=True):
            part = x if whole else x[(slice(None),) * lead + (slice(at, at + size),)]
            at += size
            outer = shape_of(part)[:lead]
            inner = shape_of(part)[lead + 1 :]
            parts.append(np.reshape(part, (*outer, *shape, *inner)))
        return parts

    def unflatten(self, x: Any) -> Any:
        """Return the tree with the parts of a vector, None for leaves that are no floats."""
        filled: list[Any] = [None] * len(self.leaves)
        for k, part, dtype in zip(self.places, self.split(x), self.dtypes, strict=True):
            filled[k] = part if part.dtype == dtype else part.astype(dtype)
        return self.rebuild(filled)

    def flatten(self, tree: Any) -> Any:
        """Return the float leaves of a tree with this structure as one vector."""
        leaves, _ = trees.flatten(tree)
        flat = [np.reshape(leaves[k], -1) for k in self.places]
        return flat[0] if len(flat) == 1 else np.concatenate(flat)


def _jacobian(f: Callable, point: tuple, mode: str, many: bool) -> Any:
    inputs = Flat(point)
    value, pullback = vjp(f, *point)
    outputs = Flat(value)
    if mode == "reverse" or (mode == "auto" and outputs.size <= inputs.size):
        rows = _each_direction(lambda ct: inputs.flatten(pullback(outputs.unflatten(ct))), outputs)
    else:
        columns = _each_direction(
            lambda t: outputs.flatten(jvp(f, point, inputs.unflatten(t))[1]), inputs
        )
        rows = np.transpose(columns)
    return _blocks(rows, outputs, inputs, many)


def _each_direction(f: Callable, basis: Flat) -> Any:
    """Stack the values of `f` at all unit vectors."""
    eye = np.eye(basis.size, dtype=basis.dtype)
    parts = [
        vmap(f)(eye[start : start + _TOGETHER]) for start in range(0, max(basis.size, 1), _TOGETHER)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _blocks(rows: Any, outputs: Flat, inputs: Flat, many: bool) -> Any:
    """Return a matrix as the tree of the outputs, with the tree of the inputs in each place."""
    filled: list[Any] = [None] * len(outputs.leaves)
    for k, part in zip(outputs.places, outputs.split(rows), strict=True):
        inner: list[Any] = [None] * len(inputs.leaves)
        lead = len(shape_of(outputs.leaves[k]))
        for j, block in zip(inputs.places, inputs.split(part, lead), strict=True):
            inner[j] = trees.scalar(block)
        built = inputs.rebuild(inner)
        filled[k] = built if many else built[0]
    return outputs.rebuild(filled)
