"""Families whose rows are a scalar body: elementwise functions, and comparisons and their kin."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...compiler.kernel import Kernel
from ...core.array import Array, functions
from ...core.primitive import Aval, Primitive, bind, shape_of
from ...eager import plans as eager
from ...eager.elementwise import ElementwisePlan
from ...errors import NoRuleError
from ...ir.scalar import Expr
from ...kernels import shapes
from ...runtime.kinds import is_a
from .. import batching, dtypes, jacobian, simplify
from ..dtypes import FLOATS, float_type, require_real
from ..forms import scalar
from .arrays import zeros_like
from .samples import Interval, reals


class Elementwise(Primitive):
    """One scalar body and its partials.

    `body` is scalar code over `x`, `y`, `z`, as text or parsed (or a function from static
    parameters to it).
    `partials[i](*args, out, **params)` is the derivative with respect to argument i; None where
    there is none, as for a condition; a text where it is refused, such as the name of the argument
    and the way round: then that argument must be plain. `kinks` lists `(arguments, gradient)` at
    points where the derivative is a convention. `kernels` are a forward and a pullback written by
    hand, used in place of the emitted ones where all arguments have one shape; they take what those
    take.

    Of integers and bools a primitive is what `plain` is, its NumPy function where that is a ufunc:
    dtypes are NumPy's, and so are plain values. `whole` is the scalar body for integers, where it
    is another one, and `requires` a condition on them and what is raised where it fails. A
    primitive without `plain` gives floats. `operator` is the operator of Python that it is.

    The other facts of a primitive (`Primitive`) follow: the static form is the body, and what it
    means in NumPy is `reference`, `plain` or `function`.
    """

    plan_class = ElementwisePlan
    takes_numbers = True

    def __init__(
        self,
        function: Any,
        body: str | Expr | Callable[..., str],
        partials: Sequence[Callable | str | None],
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
        self.partials = tuple(None if isinstance(p, str) else p for p in partials)
        self.refusals = {i: p for i, p in enumerate(partials) if isinstance(p, str)}
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
        """Arguments as partials take them: in the dtype of the result, as a loop has them."""
        return [
            x.astype(out.dtype)
            if i not in self.conditions and getattr(x, "dtype", out.dtype) != out.dtype
            else x
            for i, x in enumerate(args)
        ]

    def form(self, graph, symbol, *args):
        return scalar.elementwise(self, graph, symbol, args)

    def blocks(self, shapes, i, out, **params):
        return jacobian.elementwise(shapes, i, out)

    def constant(self, i: int, **params) -> float | None:
        """The partial with respect to argument i, where it is one number whatever the arguments:
        then it asks nothing of them. Users' own partials are not asked."""
        partial = self.partials[i]
        if partial is None:
            return 0.0
        try:
            number = partial(*[None] * (self.arity + 1), **params) if self.registered else None
        except (TypeError, AttributeError, NoRuleError):
            return None
        return number if type(number) in (int, float) else None

    def is_unit(self, i, **params):
        return self.constant(i, **params) in (0, 1, -1)

    def require_partials(self, wanted: Iterable[bool]) -> None:
        """Raise NoRuleError where an argument is differentiated whose derivative is refused."""
        for i, is_wanted in enumerate(wanted):
            if is_wanted and i in self.refusals:
                raise NoRuleError(f"{self.name} has no derivative in {self.refusals[i]}")

    def pullback(self, ct, out, args, need, **params):
        self.require_partials(need)
        args = self._floats(args, out)
        return [
            scaled(ct, partial(*args, out, **params)) if wanted and partial else None
            for partial, wanted in zip(self.partials, need, strict=True)
        ]

    def pushforward(self, tangents, out, args, **params):
        self.require_partials(tangent is not None for tangent in tangents)
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


def scaled(ct, partial):
    """`ct * partial`, where a zero of either gives zero even if the other is inf or nan."""
    if is_a(partial, (int, float)) and np.isfinite(partial):
        if partial == 0:
            return np.where(False, ct, 0.0)
        return ct if partial == 1 else ct * float(partial)
    if type(ct) is type(partial) is np.ndarray and ct.size == 1 and 0.0 < abs(ct.item()) < math.inf:
        return ct * partial  # without a kernel, as no zero meets inf or nan
    return bind(scale, ct, partial)


def is_finite(x: Any) -> bool:
    """Whether all numbers of any kind of array but a recorded one are finite: kernels that multiply
    derivatives by themselves are for those, as 0 times inf is nan there."""
    while isinstance(x, Array):
        x = x.below
    return math.isfinite(x.item()) if x.size == 1 else bool(np.isfinite(x).all())


# The one place of the strong zero: bilinear in the cotangent and the partial, so that the
# derivative with respect to a zero cotangent is the partial, as transposition needs. Products along
# a path are then the same whichever end they are begun at.
scale = elementwise(
    None,
    "select((x == 0.0) | (y == 0.0), 0.0, x * y)",
    [lambda ct, p, out: p, lambda ct, p, out: ct],
    domains=[reals, reals],
    name="scale",
    reference=lambda x, y: np.where((x == 0) | (y == 0), 0, x * y),
    simplify=simplify.without_one,
    notes="a product of derivatives with a factor 0 is 0, even beside inf and nan",
)
