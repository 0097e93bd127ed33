"""Primitives, their registry, and `bind`, which applies every op.

A `Primitive` defines what an op computes and how it is differentiated. A `Tracer` is a value that
represents a computation (tracked, dual, batched or symbolic). Each has a level, and `bind` passes
an op to the class of its arguments of the highest level. The core contains no op and no backend.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..errors import ArgumentError, ArgumentTypeError, NoRuleError, require_unmasked
from ..ir.naming import as_int
from ..runtime.kinds import is_a
from . import errstate, modes
from .functions import functions
from .levels import current_level, new_level
from .proxy import Proxy

Shape = tuple[int, ...]

# The size of the table of avals: about 20 MB.
_AVALS = 1 << 16


class Aval:
    """An abstract value: the shape and dtype of an array.

    Equal avals are one object, so plans are looked up by identity. Their table is cleared when it
    is full; arrays that keep an older aval only need another plan then.
    """

    __slots__ = ("constant", "dtype", "numpy_class", "shape", "size")
    _known: ClassVar[dict[tuple, "Aval"]] = {}
    shape: tuple[int, ...]
    dtype: np.dtype
    size: int
    numpy_class: type  # np.ndarray, or the scalar type for a value without axes
    constant: "Constant"

    @staticmethod
    def of(shape: tuple[int, ...], dtype: np.dtype) -> "Aval":
        key = (shape, dtype)
        if (aval := Aval._known.get(key)) is None:
            if len(Aval._known) >= _AVALS:
                Aval._known.clear()
            aval = Aval()
            aval.shape, aval.dtype = tuple(map(as_int, shape)), dtype  # equal keys may be NumPy's
            aval.size = math.prod(aval.shape)
            aval.numpy_class = np.ndarray if aval.shape else dtype.type
            aval.constant = Constant(aval)
            return Aval._known.setdefault(key, aval)
        return aval

    def __repr__(self):
        return f"{self.dtype}{list(self.shape)}"


class Constant:
    """The kind of an untracked array argument of an op: its aval; no cotangent is computed."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval):
        self.aval = aval


class Unplanned:
    """An empty table of plans, for primitives whose parameters differ from call to call or cannot
    be hashed."""

    def get(self, key: Any) -> None:
        return None


class Primitive:
    """An op: what it computes and how it is differentiated. The families in `rules/families/`
    derive the derivatives from the rows in `rules/`.

    Arguments of ops are positional arrays; static parameters are keyword-only. Cotangents and
    tangents are values of the same kind as the arguments, so every rule works at every level.

    All facts about an op are attributes of its primitive:

    * `function`: the NumPy function that it implements. `reference`: a NumPy function of the same
      arguments and parameters, if `function` is none; a string such as "scipy.special.erf" is
      imported when the tests need it. `samples`: calls for the tests.
    * `notes` for docs/reference/ops.md, and `spelling`, how a user writes an op that is not a
      function.
    * `form(graph, symbol, *args)`: the value of a lowered program for a recorded call, built by the
      methods of the graph (`nbgrad/rules/forms/`). A primitive without a form gives the reason in
      `eager_only`.
    * `slow`: the reason if the op, its pullback or its compiled form takes more than three times as
      long as NumPy's forward pass on large arrays.
    * `simplify(primitive, builder, args, **params)`: a simpler recording of a call, or None.
    * `pattern(op)`: on which elements of the arguments those of the result depend
      (`nbgrad/rules/patterns.py`), if it does not follow from other facts.
    * `unit`: all partials are 0, 1 or -1, so the Jacobian needs no multiplication.
    * `orders`: how many derivatives are known, if not all.

    Raises TypeError if a primitive to be registered has neither a form nor a reason.
    """

    registry: ClassVar[dict[str, "Primitive"]] = {}
    # Whether it is in the registry; primitives of users' functions are not.
    registered = True
    # Whether its parameters are numbers, names, shapes and plain arrays, not objects of users.
    # None: whether it is registered.
    has_plain_params: bool | None = None
    differentiable = True
    linear = False
    # Whether `infer` takes Python numbers among the arguments.
    takes_numbers = False
    # Whether a recorder calls `inline(*args, **params)` in place of recording the primitive.
    inlines = False
    # The Python operator that it implements, or "". Python numbers then give a Python number.
    operator = ""
    # Whether it raises for some positions among its arguments. A program then keeps the check if
    # the result is not used.
    checks = False
    # The op with the positions of the index as further arguments, if integers of it may move.
    at: "Primitive | None" = None
    # The class of its plans, which run it on plain arrays; None: FunctionPlan.
    plan_class: Callable | None = None
    form: Callable | None = None
    simplify: Callable | None = None
    pattern: Callable | None = None
    # Whether its values are random draws, which other calls do not repeat.
    is_random = False

    def __init__(
        self,
        name: str,
        function: Any = None,
        *,
        samples: Any = None,
        reference: Callable | str | None = None,
        notes: str = "",
        spelling: str = "",
        form: Callable | None = None,
        eager_only: str = "",
        slow: str = "",
        simplify: Callable | None = None,
        unit: bool = False,
        pattern: Callable | None = None,
        orders: float = math.inf,
    ):
        self.name = name
        self.function = function
        self.samples = samples
        self.reference = reference
        self.notes = notes
        self.spelling = spelling
        self.eager_only = eager_only
        self.slow = slow
        self.unit = unit
        self.orders = orders
        if form:
            self.form = form
        if pattern:
            self.pattern = pattern
        if simplify:
            self.simplify = partial(simplify, self)
        if self.registered and bool(self.form) == bool(eager_only):
            raise ArgumentTypeError(
                f"the row {name} must say how compiled programs compute it: give form=... (see "
                "docs/development/adding_an_op.md), or the reason why there is none, "
                'eager_only="..."',
                code="NB-CUSTOM",
            )
        self.plans: dict[Any, Any] | Unplanned = {}
        if self.registered:
            if name in Primitive.registry:
                raise ArgumentError(f"two rows are called {name}", code="NB-CUSTOM")
            Primitive.registry[name] = self

    def __repr__(self):
        return f"<primitive {self.name}>"

    def evaluate(self, *args, **params):
        """The value on plain arrays, by kernels."""
        raise NotImplementedError

    def infer(self, *avals, **params) -> Aval:
        """Shape and dtype of the result."""
        raise NotImplementedError

    def pullback(self, ct, out, args: Sequence, need: Sequence[bool], **params) -> Sequence:
        """The cotangents of `args`, computed by NumPy functions; None where `need` is false.

        A cotangent may have the broadcast shape: the caller undoes broadcasting.
        """
        raise NoRuleError(f"{self.name} has no pullback")

    def fused_pullback(self, ct, out, args: Sequence, need: Sequence[bool], **params) -> Sequence:
        """The pullback on plain arrays by special kernels; by default the rule itself."""
        return self.pullback(ct, out, args, need, **params)

    def pushforward(self, tangents: Sequence, out, args: Sequence, **params):
        """The tangent of the result; the tangent of a constant argument is None."""
        raise NoRuleError(f"{self.name} has no pushforward")

    def batch(self, size: int, args: Sequence, batched: Sequence[bool], **params) -> Any:
        """The stacked results for `size` samples. Arguments for which `batched` is true have a
        leading axis of samples. By default the primitive runs once for each sample.
        """
        if not size:
            avals = [
                Aval.of(x.shape[1:] if has else x.shape, x.dtype) if hasattr(x, "dtype") else x
                for x, has in zip(args, batched, strict=True)
            ]
            aval = self.infer(*avals, **params)
            return np.zeros((0, *aval.shape), aval.dtype)
        rows = [
            bind(
                self, *(x[i] if has else x for x, has in zip(args, batched, strict=True)), **params
            )
            for i in range(size)
        ]
        return np.stack(rows)

    def residuals(self, need: Sequence[bool], count: int, **params) -> tuple[int, ...]:
        """Positions of the arguments whose values the pullback reads."""
        return tuple(range(count))

    def blocks(self, shapes: Sequence[Shape], i: int, out: Shape, **params) -> int:
        """The number of diagonal blocks of the Jacobian with respect to argument i, with elements
        in C order. By default there is one: a dense Jacobian."""
        return 1

    def is_unit(self, i: int, **params) -> bool:
        """Whether all entries of the Jacobian with respect to argument i are 0, 1 or -1."""
        return self.unit


class Tracer:
    """A value that represents a computation. Subclasses define what an op on them does.

    `level` is the nesting of its transformation: an op runs at the highest level among its
    arguments. It is an int, or a `Level` if values are leaked after the transformation.
    """

    __slots__ = ()
    level: Any = 0
    is_batch = False  # whether it stands for many samples

    def settled(self) -> Any:
        """This value with a dtype that promotes others, if it was a Python number."""
        return self

    @classmethod
    def process(cls, level: Any, primitive: Primitive, args: Sequence, params: dict) -> Any:
        """Apply `primitive` at `level`, to which at least one of `args` belongs."""
        raise NotImplementedError


def bind(primitive: Primitive, *args, **params) -> Any:
    """Apply `primitive` to `args` at the highest level among them; evaluate it on plain arrays."""
    top: Tracer | None = None
    level = -1
    for arg in args:
        if isinstance(arg, Tracer):
            if type(arg) is Proxy.kind:
                return bind(primitive, *map(Proxy.value_of, args), **params)
            if arg.level > level:
                top, level = arg, arg.level
        elif type(arg) is list or type(arg) is tuple:
            args = [functions["given"](x) if type(x) in (list, tuple) else x for x in args]
            return bind(primitive, *args, **params)
    if top is None:
        for arg in args:
            if type(arg) is not np.ndarray:
                require_unmasked(arg, primitive.name)
        return primitive.evaluate(*args, **params)
    if errstate.asked() and not primitive.inlines:
        with errstate.operator_checked(primitive, args, params):
            return top.process(level, primitive, args, params)
    return top.process(level, primitive, args, params)


def level_for(values: Iterable[Any]) -> int:
    """The level of a derivative with respect to `values`. Arrays of this level or above are
    constants.

    It is the level of arrays that `track` makes now, so leaves that a function closes over or
    tracks itself are constants. It is a new level if one of the values has that level, whose
    derivative then passes through the transformation, or if `no_tracking` is active.
    """
    here = current_level() if modes.innermost() else 0
    if modes.active and modes.untracked(here):
        return modes.fresh_level()
    for x in values:
        if isinstance(x, Tracer) and x.level >= here:
            return modes.fresh_level()
    return here


def level_above(values: Iterable[Any]) -> AbstractContextManager:
    """`with level_above(values):` opens a level above those of `values`, if necessary: derivatives
    inside do not treat them, which a function closes over, as constants."""
    return nullcontext() if level_for(values) == current_level() else new_level()


def shape_of(x) -> Shape:
    shape = getattr(x, "shape", None)
    if shape is not None:
        return shape
    return () if is_a(x, (int, float)) else np.shape(x)
