"""Families of primitives given by scalar code: elementwise functions and comparisons."""

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
from .. import batching, dtypes, jacobian, patterns, simplify
from ..dtypes import FLOATS, float_type, require_real
from ..forms import scalar
from .arrays import zeros_like
from .samples import Interval, reals


class ScalarCode(Primitive):
    """A primitive whose static form is its scalar body, and whose arguments broadcast."""

    conditions: tuple[int, ...] = ()
    requires: tuple[str, str] | None = None

    def batch(self, size, args, batched, **params):
        return batching.broadcast(self, size, args, batched, **params)

    def form(self, graph, symbol, *args):
        return scalar.elementwise(self, graph, symbol, args)


class Elementwise(ScalarCode):
    """One scalar body and its partials.

    `body` is scalar code over `x`, `y`, `z`, as text or parsed (or a function from static
    parameters to it).
    `partials[i](*args, out, **params)` is the derivative with respect to argument i; None where
    there is none, as for a condition; a text for an argument that must be plain, with the
    alternative that the error names. `kinks` lists `(arguments, gradient)` at
    points where the derivative is a convention. `kernels` are a handwritten forward and pullback
    kernel that replace the emitted ones, with the same arguments, if all arguments have one shape.

    For integers and bools, `plain` gives the values and dtypes; by default it is the NumPy
    function, if that is a ufunc. `whole` is the scalar body for integers, if it differs, and
    `requires` a condition on them with the error message. A primitive without `plain` returns
    floats. `operator` is the Python operator.

    The static form of the primitive is the body, and its definition in NumPy is `reference`,
    `plain` or `function`.
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
        """The dtypes of the arguments and of the result, for these dtypes and number types."""
        floats = [k for i, k in enumerate(kinds) if i not in self.conditions]
        if self.plain is None or any(k is float or k in FLOATS for k in floats):
            dtype = float_type(*floats)
            types = (dtype,) * (len(kinds) + 1)
        else:
            types = dtypes.loop_types(self.plain, *kinds, **params)
        return tuple([np.dtype(bool) if i in self.conditions else t for i, t in enumerate(types)])

    def _floats(self, args, out):
        """The arguments of partials: cast to the dtype of the result, as in a loop."""
        return [
            x.astype(out.dtype)
            if i not in self.conditions and getattr(x, "dtype", out.dtype) != out.dtype
            else x
            for i, x in enumerate(args)
        ]

    def blocks(self, shapes, i, out, **params):
        return jacobian.elementwise(shapes, i, out)

    def constant(self, i: int, **params) -> float | None:
        """The partial with respect to argument i, if it is a constant, else None. Partials given by
        users are not called."""
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
        """Raise NoRuleError if the derivative in a differentiated argument is refused."""
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


class Nondifferentiable(ScalarCode):
    """Comparisons and tests: plain arrays without a derivative."""

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

    def loop_types(self, *kinds, **params) -> tuple[np.dtype, ...]:
        """The dtypes of the arguments and of the result, for these dtypes and number types."""
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


def elementwise(function, body, partials, **options) -> Elementwise:
    """Register an elementwise primitive; its ufunc, if it has one, then takes Arrays."""
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
"""Ufuncs that are one primitive, for the fast path."""


def scaled(ct, partial):
    """`ct * partial`, which is zero if either is zero, even if the other is inf or nan."""
    if is_a(partial, (int, float)) and np.isfinite(partial):
        if partial == 0:
            return np.where(False, ct, 0.0)
        return ct if partial == 1 else ct * float(partial)
    if type(ct) is type(partial) is np.ndarray and ct.size == 1 and 0.0 < abs(ct.item()) < math.inf:
        return ct * partial  # without a kernel: no zero is multiplied by inf or nan
    return bind(scale, ct, partial)


def is_finite(x: Any) -> bool:
    """Whether all elements of an array that is not recorded are finite. Kernels that multiply
    derivatives need this, since 0 times inf is nan there."""
    while isinstance(x, Array):
        x = x.below
    return math.isfinite(x.item()) if x.size == 1 else bool(np.isfinite(x).all())


# The only place where 0 times inf is 0. It is bilinear in the cotangent and the partial, so that
# the derivative with respect to a zero cotangent is the partial, as transposition needs, and
# products along a path do not depend on the order.
scale = elementwise(
    None,
    "select((x == 0.0) | (y == 0.0), 0.0, x * y)",
    [lambda ct, p, out: p, lambda ct, p, out: ct],
    domains=[reals, reals],
    name="scale",
    reference=lambda x, y: np.where((x == 0) | (y == 0), 0, x * y),
    simplify=simplify.without_one,
    pattern=patterns.factors,
    notes="a product of derivatives with a factor 0 is 0, even beside inf and nan",
)
