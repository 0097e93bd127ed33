"""Plans: how one op runs on plain arrays, decided once for given shapes and dtypes.

A primitive and the kinds of its arguments determine a plan: `forward(*args)` and, for each set of
arguments that need a cotangent, a pullback. The plan of elementwise primitives is in
`elementwise.py`; other primitives have their own plan class, such as `SumPlan` in `sums.py`, or
call their functions directly (`FunctionPlan`).
"""

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..capi.launch import Launch, is_short, launcher
from ..capi.replaceable import replace_when_hot
from ..compiler.forks import fork_safe
from ..core.primitive import Aval, Primitive, Unplanned
from ..errors import ComplexError, require_unmasked
from ..kernels.unbroadcast import unbroadcast
from .emission import rounds_alike

# Plans kept for each primitive: memory stays bounded in a program with ever new shapes.
LIMIT = 4096
# The length from which a cotangent that is one number everywhere is not written out.
UNIFORM = 1 << 16
_building = fork_safe(threading.RLock())


class Plan:
    """One primitive for given kinds of arguments.

    The kind of a tracked argument is its Aval, of a plain array `aval.constant`, of a Python number
    `float` or `int`. `need` says which arguments need a cotangent: the tracked ones.
    """

    __slots__ = ("aval", "has_plain_params", "kinds", "need", "params", "primitive")
    # Whether `add_into(buffer, ct)` adds the cotangent into a buffer for the one argument.
    adds = False
    # Whether the op writes to the memory of its first argument: `take_out(ct)` is its pullback.
    writes = False
    # Whether all arguments that are tracked get a cotangent: a rule may leave some out.
    complete = False
    # Whether `pull_uniform(ct)` returns a `uniform` cotangent, and whether `pull_all` accepts one.
    gives_uniform = takes_uniform = False
    # Whether a backward walk records the op again as a graph of its steps, by `again(args)`.
    expands = False
    primitive: Any
    need: tuple[bool, ...]
    aval: Aval | None  # of the result, where the plan knows it
    has_plain_params: bool

    def __init__(self, primitive: Primitive, kinds: tuple, params: dict):
        self.primitive, self.kinds, self.params, self.aval = primitive, kinds, params, None
        plain = primitive.has_plain_params
        self.has_plain_params = primitive.registered if plain is None else plain
        self.need = (True,) if len(kinds) == 1 else tuple([type(kind) is Aval for kind in kinds])

    def forward(self, *args) -> np.ndarray:
        """The value on plain arrays and numbers."""
        raise NotImplementedError

    def pull(self, ct, out, args: Sequence, need: tuple[bool, ...]) -> Sequence:
        """Cotangents of `args`, of their shapes and dtypes; None where `need` is false."""
        raise NotImplementedError

    def pull_all(self, ct, out, args: Sequence) -> Sequence:
        """`pull` for every argument that is tracked."""
        return self.pull(ct, out, args, self.need)

    def pull_uniform(self, ct) -> np.ndarray:
        """`pull_all` for one argument whose cotangent is the same number everywhere."""
        raise NotImplementedError

    def add_into(self, buffer: np.ndarray, ct) -> None:
        """Add the cotangent of the one argument into a buffer."""
        raise NotImplementedError

    def take_out(self, ct: np.ndarray) -> Any:
        """The cotangent of the written value; `ct`, that of the array, is changed in place."""
        raise NotImplementedError

    def again(self, args: Sequence) -> Any:
        """Compute the value again, from tracked arguments."""
        raise NotImplementedError

    def residuals(self, need: tuple[bool, ...]) -> Sequence[int]:
        """Positions of the arguments whose values the pullback reads."""
        return self.primitive.residuals(need, len(need), **self.params)


class FunctionPlan(Plan):
    """A primitive that is not elementwise, run by its own functions."""

    __slots__ = ()

    def forward(self, *args):
        return self.primitive.evaluate(*args, **self.params)

    def pull(self, ct, out, args, need) -> Sequence:
        cotangents = self.primitive.fused_pullback(ct, out, args, need, **self.params)
        if len(args) == 1 and cotangents[0] is not None:
            return (fit(cotangents[0], args[0]),)
        return [
            fit(g, arg) if needs and g is not None else None
            for g, arg, needs in zip(cotangents, args, need, strict=True)
        ]


def launched(plan: Plan, name: str, count: int, launch: Launch) -> None:
    """Replace a plan's function of `count` arguments by a launcher once it is called often."""
    replace_when_hot(plan, name, partial(launcher, launch, count))


def plan_for(primitive: Primitive, kinds: tuple, params: dict) -> Plan:
    """The plan of a primitive for these kinds, from its bounded table."""
    if isinstance(primitive.plans, Unplanned):
        return (primitive.plan_class or FunctionPlan)(primitive, kinds, params)
    key = (*kinds, *params, *params.values()) if params else kinds
    plan = primitive.plans.get(key)
    if plan is None:
        with _building:
            plan = primitive.plans.get(key)
            if plan is None:
                if len(primitive.plans) >= LIMIT:
                    primitive.plans.clear()
                plan = primitive.plans[key] = (primitive.plan_class or FunctionPlan)(
                    primitive, kinds, params
                )
    return plan


def evaluate(primitive: Primitive, args: Sequence, params: dict) -> np.ndarray:
    """The value of an elementwise primitive on plain arrays and numbers. Short ones are left to
    NumPy where it gives the same bits: no kernel is compiled for the constants of a program.

    Raises TypeError for an operand that holds no real numbers.
    """
    if rounds_alike(primitive) and all(map(_is_short, args)):
        with np.errstate(all="ignore"):
            return np.asarray(primitive.function(*args, order="C"))
    values, kinds = [], []
    for x in args:
        kind: Any = type(x)
        if kind is not float and kind is not int:
            if kind is not np.ndarray or not x.flags.carray:
                x = plain_array(x)
            if x.dtype.kind not in "fiub":
                raise ComplexError(
                    f"{primitive.name}: an operand of dtype {x.dtype}; nbgrad computes with real "
                    "numbers, so convert it to float64 or float32 first"
                )
            kind = Aval.of(x.shape, x.dtype).constant
        values.append(x)
        kinds.append(kind)
    return plan_for(primitive, tuple(kinds), params).forward(*values)


def _is_short(x: Any) -> bool:
    """Whether x is a number, or a short array, of float64."""
    is_array = type(x) is np.ndarray and x.dtype == np.float64 and is_short(x.size)
    return is_array or type(x) is float


def plain_array(x: Any) -> np.ndarray:
    """An array as kernels are compiled for it: aligned, contiguous, writeable."""
    require_unmasked(x, "an operand")
    array = np.asarray(x)
    return array if array.flags.carray else np.array(array, order="C")


def uniform(number: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An array with the same number everywhere, which is in memory once: all strides are 0."""
    return np.broadcast_to(number, shape)


def is_uniform(x: np.ndarray) -> bool:
    return not any(x.strides)


def may_be_uniform(size: int) -> bool:
    """Whether the cotangent of an array of `size` elements may be `uniform`."""
    return size >= UNIFORM


def is_float(dtype: np.dtype) -> bool:
    """Whether kernels are compiled for the dtype: float64 and float32."""
    return dtype.kind == "f" and dtype.itemsize in (4, 8)


def abstract(kind) -> Any:
    """The argument of `infer` for a kind: an Aval, or a Python number."""
    return kind(0) if kind in (float, int) else getattr(kind, "aval", kind)


def fit(ct: Any, like: Aval | np.ndarray) -> np.ndarray:
    """Convert a plain cotangent to the shape and dtype of its array, undoing broadcasting."""
    if type(ct) is not np.ndarray:
        ct = np.asarray(ct)
    if ct.shape != like.shape:
        ct = unbroadcast(ct, like.shape)
    return ct if ct.dtype is like.dtype or ct.dtype == like.dtype else ct.astype(like.dtype)
