"""Primitives and their registry, levels, and `bind`, the one way into every op.

The core knows no op and no backend. A `Primitive` says what an op computes and how it is
differentiated. A `Tracer` is a value that stands for a computation (tracked, dual or symbolic);
each belongs to a level, and `bind` hands an op to the highest level among its arguments.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..errors import NoRuleError, require_unmasked
from ..ir.naming import as_int
from . import errstate, modes
from .functions import functions
from .levels import current_level, new_level
from .standing import StandIn

Shape = tuple[int, ...]

# Avals kept in the table: about 20 MB of them.
_AVALS = 1 << 16


class Aval:
    """What is known of an array without its values: shape and dtype.

    Equal ones are one object, so that plans are looked up by identity. The table of them is emptied
    when it is full: an array that keeps an older object then only costs another plan.
    """

    __slots__ = ("constant", "dtype", "face", "shape", "size")
    _known: ClassVar[dict[tuple, "Aval"]] = {}
    shape: tuple[int, ...]
    dtype: np.dtype
    size: int
    face: type  # NumPy's class for such a value: an array, or a scalar
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
            aval.face = np.ndarray if aval.shape else dtype.type
            aval.constant = Constant(aval)
            return Aval._known.setdefault(key, aval)
        return aval

    def __repr__(self):
        return f"{self.dtype}{list(self.shape)}"


class Constant:
    """The kind of a plain array among the arguments of an op: its aval, and no wish for a
    cotangent."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval):
        self.aval = aval


class Unplanned:
    """Stands for the table of plans of a primitive whose parameters differ from call to call: keys
    need not be hashable, and nothing is kept."""

    def get(self, key: Any) -> None:
        return None


class Primitive:
    """An op: what it computes and how it is differentiated. The families in `rules/families/`
    fill in the derivatives from what a row of `rules/` states.

    Arguments of ops are positional arrays, static parameters are keyword-only. Cotangents and
    tangents are whatever kind of value the arguments are, so every rule works on every level.

    Whatever is known of an op stands here, and nowhere under its name:

    * `function`: the function of NumPy that it is, and `reference`: what it means in NumPy for
      those arguments and parameters, where that is not the function itself; a text such as
      "scipy.special.erf" is imported when the tests ask for it. `samples`: calls that tests make.
    * `notes`: what a reader of docs/ops.md should know, and `spelling`: how a user writes the op,
      where that is no function.
    * `form(graph, symbol, *args)`: the value of a lowered program that a recorded call becomes, by
      the methods of the graph (`nbgrad/rules/forms/`). A primitive without one says why in
      `eager_only`.
    * `slow`: why it takes more than three times as long as NumPy's forward pass on many elements,
      of the few rows that do, forward, in the pullback or compiled.
    * `simplify(primitive, builder, args, **params)`: a simpler recording of a call, or None.
    * `unit`: all partials are 0, 1 or -1, so that the Jacobian takes no multiplication.

    Raises TypeError for a primitive to be registered with neither a form nor a reason why not.
    """

    registry: ClassVar[dict[str, "Primitive"]] = {}
    # Whether it stands in the registry; the primitive of a user's function does not.
    registered = True
    differentiable = True
    linear = False
    # Whether `infer` takes Python numbers among the arguments.
    takes_numbers = False
    # Whether a recording takes the primitive apart, by `inline(*args, **params)`.
    inlines = False
    # The operator of Python that it is, "" for none: Python numbers give a Python number.
    operator = ""
    # Whether it raises for some positions among its arguments: a program checks them even where the
    # result is not used.
    checks = False
    # How the primitive runs on plain arrays of given kinds; None: by its own functions.
    plan_class: Callable | None = None
    form: Callable | None = None
    simplify: Callable | None = None

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
        if form:
            self.form = form
        if simplify:
            self.simplify = partial(simplify, self)
        if self.registered and bool(self.form) == bool(eager_only):
            raise TypeError(
                f"the row {name} must say how compiled programs compute it: give form=... (see "
                'docs/adding_an_op.md), or the reason why there is none, eager_only="..."'
            )
        self.plans: dict[Any, Any] | Unplanned = {}
        if self.registered:
            if name in Primitive.registry:
                raise ValueError(f"two rows are called {name}")
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
        """Cotangents of `args` in NumPy terms, None where `need` is false.

        A cotangent may have the broadcast shape: whoever calls this undoes broadcasting.
        """
        raise NoRuleError(f"{self.name} has no pullback")

    def fused_pullback(self, ct, out, args: Sequence, need: Sequence[bool], **params) -> Sequence:
        """The pullback on plain arrays by kernels written for it; by default the rule itself."""
        return self.pullback(ct, out, args, need, **params)

    def pushforward(self, tangents: Sequence, out, args: Sequence, **params):
        """Tangent of the result; a tangent is None where an argument has none."""
        raise NoRuleError(f"{self.name} has no pushforward")

    def batch(self, size: int, args: Sequence, batched: Sequence[bool], **params) -> Any:
        """The results for `size` samples, stacked: arguments have a leading axis where `batched`.

        By default the primitive runs once for each sample.
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
        """In how many blocks argument i falls, in C order, that each reach one block of the result:
        the Jacobian is block diagonal then. By default it is dense."""
        return 1

    def is_unit(self, i: int, **params) -> bool:
        """Whether all entries of the Jacobian with respect to argument i are 0, 1 or -1."""
        return self.unit


class Tracer:
    """A value that stands for a computation. Subclasses say what an op on them means.

    `level` orders nested transformations: an op belongs to the highest level among its arguments.
    It is an int; of values that are leaked once their transformation is over, a `Level`.
    """

    __slots__ = ()
    level: Any = 0
    is_batch = False  # whether it stands for many samples

    def settled(self) -> Any:
        """This value with a dtype of its own, where it was a Python number."""
        return self

    @classmethod
    def process(cls, level: Any, primitive: Primitive, args: Sequence, params: dict) -> Any:
        """Apply `primitive` at `level`, to which at least one of `args` belongs."""
        raise NotImplementedError


def bind(primitive: Primitive, *args, **params) -> Any:
    """Apply `primitive` to `args` at the highest level among them; plain arrays are evaluated."""
    top: Tracer | None = None
    level = -1
    for arg in args:
        if isinstance(arg, Tracer):
            if type(arg) is StandIn.kind:
                return bind(primitive, *map(StandIn.value_of, args), **params)
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
    """The level of a derivative with respect to some of `values`: what is of this level or above is
    a constant of it.

    That is the level at which `track` makes arrays now, so that leaves which a function closes over
    are constants, as are those that it tracks itself; or a new one, where an array of that level is
    among the values, whose derivative goes on through the transformation, or where nothing is
    tracked at that level now.
    """
    here = current_level() if modes.innermost() else 0
    if modes.active and modes.untracked(here):
        return modes.fresh_level()
    for x in values:
        if isinstance(x, Tracer) and x.level >= here:
            return modes.fresh_level()
    return here


def apart(values: Iterable[Any]) -> AbstractContextManager:
    """`with apart(values):` a function that closes over `values` counts as one that is given them:
    no derivative inside takes them for constants."""
    return nullcontext() if level_for(values) == current_level() else new_level()


def shape_of(x) -> Shape:
    return x.shape if hasattr(x, "shape") else np.shape(x)
