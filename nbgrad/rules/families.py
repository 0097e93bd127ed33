"""Families of primitives: what is derived from the little that a row states.

* `Elementwise`: a scalar body and one partial an argument. The pullback is `scale(ct, partial)`,
  the pushforward the sum of `scale(tangent, partial)`.
* `Linear`: the op and its transpose. The pushforward is the op itself.
* `Bilinear`: the op and the transposes in its left and its right argument.
* `Custom`: pullback and pushforward written out, in NumPy terms.
* `Nondifferentiable`: values only, such as comparisons.

A partial is a straight-line NumPy expression in the arguments and the output. It is recorded on
symbols for the kernels and for static programs, runs on tracked and dual values for higher order,
and on plain arrays as the reference of the tests.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..codegen.scalar import Expr
from ..core.array import Array, functions
from ..core.primitive import Aval, Primitive, bind, shape_of
from ..eager import plans as eager
from ..kernels import shapes
from ..kernels.jit.kernel import Kernel
from . import batching, dtypes, simpler, structure
from .dtypes import FLOATS, float_type
from .forms import scalar


class Interval(NamedTuple):
    """Where an argument may lie: tests draw from it uniformly."""

    low: float
    high: float


class Dominant(Interval):
    """Square matrices with such elements, and 2 more on the diagonal: far from singular."""


reals = Interval(-2.5, 2.5)
positive = Interval(0.3, 2.5)
above_one = Interval(1.3, 3.5)
definite = Dominant(-0.4, 0.4)


class Sample(NamedTuple):
    """One call that tests make: arguments (a shape drawn from `domain`, or a given array), and
    parameters."""

    args: tuple[Any, ...]
    params: dict[str, Any]
    domain: Interval = reals


def sample(*args, domain: Interval = reals, **params) -> Sample:
    """A test call: a tuple of ints is the shape of a random array, anything else itself."""
    return Sample(args, params, domain)


class Elementwise(Primitive):
    """One scalar body and its partials.

    `body` is scalar code over `x`, `y`, `z`, as text or parsed (or a function from static
    parameters to it).
    `partials[i](*args, out, **params)` is the derivative with respect to argument i; None where
    there is none, as for a condition. `kinks` lists `(arguments, gradient)` at points where the
    derivative is a convention. `kernels` are a forward and a pullback written by hand, used in
    place of the emitted ones where all arguments have one shape; they take what those take.

    Of integers and bools a primitive is what `plain` is, its NumPy function where that is a ufunc:
    dtypes are NumPy's, and so are plain values. `whole` is the scalar body for integers, where it
    is another one, and `requires` a condition on them and what is raised where it fails. A
    primitive without `plain` gives floats. `operator` is the operator of Python that it is.

    The other facts of a primitive (`Primitive`) follow: the static form is the body, and what it
    means in NumPy is `reference`, `plain` or `function`.
    """

    plan_class = eager.ElementwisePlan
    takes_numbers = True

    def __init__(
        self,
        function: Any,
        body: str | Expr | Callable[..., str],
        partials: Sequence[Callable | None],
        *,
        domains: Sequence[Interval],
        name: str = "",
        conditions: Sequence[int] = (),
        kinks: Sequence[tuple] = (),
        params: Sequence[dict] = ({},),
        kernels: tuple[Kernel, Kernel] | None = None,
        plain: Callable | None = None,
        whole: str | Callable[..., str] = "",
        requires: tuple[str, str] | None = None,
        operator: str = "",
        **facts: Any,
    ):
        super().__init__(name or function.__name__, function, samples=params, **facts)
        self.operator = operator
        self.reference = self.reference or plain
        self.body = body
        self.plain = plain or (function if isinstance(function, np.ufunc) else None)
        self.whole = whole or body
        self.requires = requires
        self.kernels = kernels
        self.partials = tuple(partials)
        self.domains = tuple(domains)
        self.conditions = tuple(conditions)
        self.kinks = tuple(kinks)
        self.arity = len(self.partials)

    def evaluate(self, *args, **params):
        return eager.evaluate(self, args, params)

    def infer(self, *avals, **params) -> Aval:
        for i, aval in enumerate(avals):
            if i not in self.conditions and isinstance(aval, Aval):
                require_real(aval.dtype, f"{self.name}: an operand")
        shape = shapes.broadcast(self.name, *(a.shape for a in avals if isinstance(a, Aval)))
        return Aval.of(shape, self.loop_types(*map(dtypes.kind_of, avals), **params)[-1])

    def loop_types(self, *kinds, **params) -> tuple[np.dtype, ...]:
        """The dtypes in which it takes arguments of these kinds, and that of its result."""
        floats = [k for i, k in enumerate(kinds) if i not in self.conditions]
        if self.plain is None or any(k is float or k in FLOATS for k in floats):
            dtype = float_type(*floats)
            types = (dtype,) * (len(kinds) + 1)
        else:
            types = dtypes.loop_types(self.plain, *kinds, **params)
        return tuple(np.dtype(bool) if i in self.conditions else t for i, t in enumerate(types))

    def batch(self, size, args, batched, **params):
        return batching.elementwise(self, size, args, batched, **params)

    def _floats(self, args, out):
        """Arguments as partials take them: integers and bools in the dtype of the result."""
        return [
            x.astype(out.dtype)
            if i not in self.conditions and getattr(x, "dtype", out.dtype).kind in "iub"
            else x
            for i, x in enumerate(args)
        ]

    def form(self, graph, symbol, *args):
        return scalar.elementwise(self, graph, symbol, args)

    def blocks(self, shapes, i, out, **params):
        return structure.elementwise(shapes, i, out)

    def constant(self, i: int, **params) -> float | None:
        """The partial with respect to argument i, where it is one number whatever the arguments:
        then it asks nothing of them. Users' own partials are not asked."""
        partial = self.partials[i]
        if partial is None:
            return 0.0
        try:
            number = partial(*[None] * (self.arity + 1), **params) if self.registered else None
        except (TypeError, AttributeError):
            return None
        return number if type(number) in (int, float) else None

    def is_unit(self, i, **params):
        return self.constant(i, **params) in (0, 1, -1)

    def pullback(self, ct, out, args, need, **params):
        args = self._floats(args, out)
        return [
            scaled(ct, partial(*args, out, **params)) if wanted and partial else None
            for partial, wanted in zip(self.partials, need, strict=True)
        ]

    def pushforward(self, tangents, out, args, **params):
        args = self._floats(args, out)
        terms = [
            scaled(tangent, partial(*args, out, **params))
            for partial, tangent in zip(self.partials, tangents, strict=True)
            if partial and tangent is not None
        ]
        return sum(terms[1:], terms[0]) if terms else zeros_like(out)


class Nondifferentiable(Primitive):
    """Values without derivative: comparisons and their kin give plain arrays."""

    differentiable = False

    def __init__(
        self,
        function: Any,
        body: str,
        *,
        name: str = "",
        samples: Any,
        whole: str = "",
        **facts: Any,
    ):
        super().__init__(name or function.__name__, function, samples=samples, **facts)
        self.body = body
        self.whole = whole or body
        self.conditions = ()
        self.requires = None

    def loop_types(self, *kinds, **params) -> tuple[np.dtype, ...]:
        """The dtypes in which it takes arguments of these kinds, and that of its result."""
        return dtypes.loop_types(self.function, *kinds)

    def evaluate(self, *args, **params):
        try:
            return self.function(*args, **params)
        except ValueError:
            shapes.broadcast(self.name, *map(shape_of, args))
            raise

    def infer(self, *avals, **params) -> Aval:
        shape = shapes.broadcast(self.name, *(a.shape for a in avals if isinstance(a, Aval)))
        return Aval.of(shape, np.dtype(bool))

    def batch(self, size, args, batched, **params):
        return batching.elementwise(self, size, args, batched, **params)

    def form(self, graph, symbol, *args):
        return scalar.elementwise(self, graph, symbol, args)


class Written(Primitive):
    """A primitive with functions of its own: `compute(*args, **params)` on plain arrays, and
    `infer` from Avals to an Aval. `fused`, of the signature of the family's rule, may do the
    pullback on plain arrays by kernels.

    `along` names the parameter that holds the axes along which the primitive works, "" where it
    works along none: it keeps all others apart, so that samples are one more axis in front, and the
    Jacobian falls into blocks. Where it is not so simple, `batch` is the rule over samples
    (`rules/batching.py`), and `blocks` the structure of its Jacobian (`rules/structure.py`). The
    other facts are those of a `Primitive`.
    """

    def __init__(
        self,
        name: str,
        compute: Callable,
        infer: Callable,
        *,
        samples: Any,
        function: Any = None,
        kinks: Sequence[tuple] = (),
        along: str | None = None,
        batch: Callable | None = None,
        blocks: Callable[..., int] | None = None,
        **facts: Any,
    ):
        super().__init__(name, function, samples=samples, **facts)
        self.evaluate = compute
        self.infer = infer
        if along is not None:
            batch = batch or batching.along(*filter(None, [along]))
            blocks = blocks or functools.partial(_blocks_along, along)
        if batch:
            self.batch = functools.partial(batch, self)
        if blocks:
            self.blocks = blocks
        self.kinks = tuple(kinks)


def _blocks_along(name: str, shapes: Sequence, i: int, out: tuple, **params) -> int:
    """The blocks of a primitive that works along the axes in the parameter of that name."""
    return structure.before(params[name] if name else (), shapes[i])


class Linear(Written):
    """An op that is linear in all its array arguments together.

    `transpose(ct, args, **params)` gives the cotangents of all arguments; it may read their shapes
    and dtypes, not their values.
    """

    linear = True

    def __init__(
        self,
        name: str,
        compute: Callable,
        infer: Callable,
        transpose: Callable[..., Sequence],
        *,
        fused: Callable[..., Sequence] | None = None,
        **options: Any,
    ):
        super().__init__(name, compute, infer, **options)
        self.transpose = transpose
        self.fused = fused or transpose

    def pullback(self, ct, out, args, need, **params):
        cotangents = self.transpose(ct, args, **params)
        return [g if wanted else None for g, wanted in zip(cotangents, need, strict=True)]

    def fused_pullback(self, ct, out, args, need, **params):
        cotangents = self.fused(ct, args, **params)
        if len(need) == 1:
            return cotangents
        return [g if wanted else None for g, wanted in zip(cotangents, need, strict=True)]

    def pushforward(self, tangents, out, args, **params):
        filled = [
            zeros_like(arg) if tangent is None else tangent
            for tangent, arg in zip(tangents, args, strict=True)
        ]
        return bind(self, *filled, **params)

    def residuals(self, need, count, **params):
        return ()


class Bilinear(Written):
    """An op that is linear in each of two arguments: `left` and `right` are its transposes.

    `left(ct, x, y, **params)` is the cotangent of x, `right(ct, x, y, **params)` that of y.
    """

    def __init__(
        self,
        name: str,
        compute: Callable,
        infer: Callable,
        left: Callable,
        right: Callable,
        *,
        fused: Callable[..., Sequence] | None = None,
        **options: Any,
    ):
        super().__init__(name, compute, infer, **options)
        self.left = left
        self.right = right
        self.fused_pullback = fused or self.pullback

    def pullback(self, ct, out, args, need, **params):
        x, y = args
        return [
            self.left(ct, x, y, **params) if need[0] else None,
            self.right(ct, x, y, **params) if need[1] else None,
        ]

    def pushforward(self, tangents, out, args, **params):
        (x, y), (x_dot, y_dot) = args, tangents
        terms = []
        if x_dot is not None:
            terms.append(bind(self, x_dot, y, **params))
        if y_dot is not None:
            terms.append(bind(self, x, y_dot, **params))
        return sum(terms[1:], terms[0])

    def residuals(self, need, count, **params):
        return tuple(i for i in (0, 1) if need[1 - i])


class Custom(Written):
    """Pullback and pushforward written out, for what belongs to no other family.

    `rule(ct, out, args, need, **params)` and `push(tangents, out, args, **params)` are in NumPy
    terms. `reads` are the positions of the arguments that the rule reads; all where it is None.
    """

    def __init__(
        self,
        name: str,
        compute: Callable,
        infer: Callable,
        rule: Callable[..., Sequence],
        push: Callable,
        *,
        fused: Callable[..., Sequence] | None = None,
        reads: Sequence[int] | None = None,
        **options: Any,
    ):
        super().__init__(name, compute, infer, **options)
        self.pullback = rule
        self.fused_pullback = fused or rule
        self.pushforward = push
        self._reads = reads

    def residuals(self, need, count, **params):
        return tuple(range(count)) if self._reads is None else tuple(self._reads)


def elementwise(function, body, partials, **options) -> Elementwise:
    """Register an elementwise primitive; its ufunc, where it has one, then takes Arrays."""
    primitive = Elementwise(function, body, partials, **options)
    if isinstance(function, np.ufunc):
        functions[function] = _front(primitive)
    return primitive


def nondifferentiable(function, body, **options) -> Nondifferentiable:
    primitive = Nondifferentiable(function, body, **options)
    if isinstance(function, np.ufunc):
        functions[function] = _front(primitive)
    return primitive


def _front(primitive: Primitive) -> Callable:
    ufunc_primitives[primitive.function] = primitive
    return (
        (lambda x: bind(primitive, x))
        if primitive.function.nin == 1
        else (lambda x, y: bind(primitive, x, y))
    )


ufunc_primitives: dict[np.ufunc, Primitive] = {}
"""Ufuncs that mean one primitive and nothing else, for the short way in."""


def require_real(dtype: np.dtype, what: str) -> None:
    """Raise TypeError for a dtype that is none of floats, integers and bools."""
    if dtype.kind not in "fiub":
        raise TypeError(
            f"{what} of dtype {dtype}; nbgrad computes with real numbers, so convert it to "
            "float64 or float32 first"
        )


def zeros_like(x):
    """Plain zeros of the shape and dtype of any kind of array."""
    if isinstance(x, Array):
        return x.full_like(0.0)
    return np.zeros(shape_of(x), getattr(x, "dtype", np.float64))


def scaled(ct, partial):
    """`ct * partial`, where a zero `ct` gives zero even if the partial is inf or nan."""
    if isinstance(partial, (int, float)) and np.isfinite(partial):
        return ct if partial == 1 else ct * float(partial)
    return bind(scale, ct, partial)


# The one place of the strong zero: bilinear in the cotangent and the partial, so that the
# derivative with respect to a zero cotangent is the partial, as transposition needs.
scale = elementwise(
    None,
    "select(x == 0.0, 0.0, x * y)",
    [lambda ct, p, out: p, lambda ct, p, out: ct],
    domains=[reals, reals],
    name="scale",
    reference=lambda x, y: np.where(x == 0, 0, x * y),
    simplify=simpler.without_one,
    notes="a zero cotangent gives zero, whatever the partial",
)
