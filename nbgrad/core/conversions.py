"""The errors for conversions of tracked values to plain arrays and numbers.

NumPy calls `__array__` and `__float__` for many purposes. The message names the caller: a NumPy
function in Python is found on the stack; for one in C, the source text of the running call or
assignment is read.
"""

import ast
import dis
import linecache
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ..errors import IndexOutOfBounds, MaskedError, TraceError, UntrackedError, coded, lost_mask
from ..runtime.lines import user_line
from . import leaks
from .functions import compared, in_scipy
from .levels import innermost
from .primitive import Tracer
from .refusals import refused

_STORES = ("STORE_SUBSCR", "STORE_SLICE")
SPACE = "`import nbgrad.numpy as np`"
FILL = f"with {SPACE} plain arrays take tracked values, as np.zeros(shape, like=x) does"
NESTED = f"{SPACE} takes them here, as np.array(nested, like=x) and np.stack do"
_FULL = f"np.full of {SPACE}, or np.full(shape, v, like=v), takes a tracked v"
_DTYPE = "leave it out, as a tracked number is one, or write x.astype(dtype)"
_WAYS = {
    **dict.fromkeys(("full", "full_like", "fill"), _FULL),
    "r_": f"np.r_ of {SPACE}, np.concatenate or np.array([...], like=x) join tracked values",
    "c_": f"np.c_ of {SPACE} or np.column_stack joins tracked arrays",
    "array": NESTED,
    **dict.fromkeys(
        ("asarray", "asanyarray", "ascontiguousarray"),
        f"{NESTED}; np.asarray(x, like=x) keeps tracked values, x.data is plain numbers",
    ),
    "fromiter": f"np.fromiter of {SPACE}, or np.fromiter(values, dtype, like=x), takes them",
    "dot": "write a @ x, or np.dot(a, x), which take a tracked x",
    "arange": "start + step * np.arange(n) is tracked",
    "fill_diagonal": f"{FILL}, or write np.where(np.eye(n, dtype=bool), v, x)",
    **dict.fromkeys(("float64", "float32", "double", "single"), _DTYPE),
}
_OTHERS = (
    f"use x.data for a plain number, np functions instead of math functions; with {SPACE} arrays "
    "take tracked values, as those made with like=x do; and nbgrad.at(plain)[x].get() is the "
    "elements of a plain array at positions x"
)
# Functions of `math` that have another name in NumPy.
_OF_MATH = dict(
    pow="power", gamma="special.gamma", lgamma="special.gammaln", erf="special.erf",
    erfc="special.erfc", fsum="sum", dist="linalg.norm",
)  # fmt: skip
_CONCATENATORS = {"RClass": "np.r_", "CClass": "np.c_"}


class Asking(NamedTuple):
    """The op that converts a value, "" if it is not known; the frame that called it; the remedy."""

    op: str
    frame: FrameType | None
    way: str

    @property
    def prefix(self) -> str:
        """The op, as the beginning of a message."""
        return f"{self.op}: " if self.op else ""


class Conversions:
    """Conversions to plain arrays and numbers, which raise UntrackedError."""

    __slots__ = ()

    def _require_open(self) -> None:
        """Raise LeakedValueError for a leaked value."""
        if leaks.over(self):
            raise leaks.of_level(self)

    def __array__(self, dtype=None, copy=None):
        self._require_open()
        if sys._getframe(1).f_globals.get("__name__", "").startswith("numpy.ma"):
            raise MaskedError(lost_mask("an operand beside a tracked array"))
        if (answer := compared(self, self.below, sys._getframe(1))) is not None:  # pyright: ignore
            return answer
        ask = asking(sys._getframe(1))
        raise refused(
            f"{in_scipy(sys._getframe(1)) or ask.prefix}"
            + (
                "an array inside of vmap has many samples, and cannot become one plain array: "
                if has_samples(self)
                else "a tracked array cannot become a plain one without losing its derivative: "
            )
            + f"{ask.way}{user_line(ask.frame)}"
        )

    def __float__(self) -> float:
        self._require_open()
        ask = asking(sys._getframe(1))
        raise refused(
            f"{'' if ask.op else in_scipy(sys._getframe(1))}{ask.prefix}"
            f"{_number('float', self)}: {ask.way}{user_line(ask.frame)}",
            noted=self._is_one,
        )

    def __int__(self) -> int:
        self._require_open()
        raise refused(
            f"{_number('int', self)}: use np.rint(x) to stay tracked, nbgrad.loop in place of "
            f"range, or int(x.data) for the plain number{user_line()}",
            noted=self._is_one,
        )

    __index__ = __int__

    def __complex__(self) -> complex:
        self._require_open()
        way = (
            f"complex(x) would lose the derivative: x.astype(complex) stays tracked; {FILL}; or "
            f"use x.data for the plain number{user_line()}"
        )
        raise refused(coded(way, "NB-REAL"))

    def item(self, *index: Any) -> Any:
        """Raises UntrackedError, as a Python number would lose the derivative."""
        raise self._detached("item()")

    def tolist(self) -> Any:
        """Raises UntrackedError, as Python numbers would lose the derivatives."""
        raise self._detached("tolist()")

    def __hash__(self) -> int:
        """Hash by identity. Raises UntrackedError for the user's code inside of transformations, as
        plain numbers, as keys of dicts and caches, are compared by value."""
        module = sys._getframe(1).f_globals.get("__name__", "")
        if innermost() is None or module.partition(".")[0] in ("nbgrad", "optree", "copy"):
            return object.__hash__(self)
        raise self._detached("hash()")

    @property
    def _is_one(self) -> bool:
        """Whether NumPy can convert a plain array of this shape to a number."""
        return self.size == 1  # pyright: ignore[reportAttributeAccessIssue]

    def _detached(self, what: str) -> Exception:
        self._require_open()
        return refused(
            f"{what} of a {type(self).__name__} inside of a transformation would lose its "
            "derivative: compute with np functions on it, or with nbgrad.stop_gradient(x) where "
            "it is a constant" + user_line()
        )

    def __format__(self, spec: str) -> str:
        """Format the number; batched and recorded values, which are no single number, are formatted
        by `str`."""
        x: Any = self
        while spec and isinstance(x, Tracer):
            if x.is_batch:
                return str(self)
            try:
                x = x.below  # pyright: ignore[reportAttributeAccessIssue]
            except TraceError:
                return str(self)
        return format(np.asarray(x).item(), spec) if spec else str(self)

    def __reduce__(self) -> Any:
        self._require_open()
        raise refused(unpicklable(f"a {type(self).__name__}"))


def _number(name: str, x: Any) -> str:
    if has_samples(x):
        return f"{name}() of a value inside of vmap, which has one for each sample"
    return f"{name}() of a {type(x).__name__} would lose its derivative"


def has_samples(x: Any) -> bool:
    """Whether a value is batched at some level."""
    while isinstance(x, Tracer):
        if x.is_batch:
            return True
        try:
            x = x.below  # pyright: ignore[reportAttributeAccessIssue]
        except TraceError:
            return False
    return False


def unpicklable(what: str) -> str:
    """The message for pickling a value inside of a transformation."""
    return coded(
        f"{what} inside of a transformation cannot be pickled or sent to another process without "
        "losing its derivative: use threads (ThreadPoolExecutor, "
        'joblib.Parallel(prefer="threads")), or compute the gradient in each process, by '
        "nbgrad.parallel.value_and_grad(loss, engine)",
        "NB-PICKLE",
    )


def wrong_index(positions: Sequence) -> Exception:
    """The error for tracked arrays in an index that are not integers."""
    if any(x.dtype.kind == "f" for x in positions):
        return IndexOutOfBounds(
            "an index of floats: arrays of integers and bools are one, and a tracked array holds "
            "floats; use i.data.astype(int), through which there is no derivative, or track only "
            "what is not an index" + user_line(),
            code="NB-INTEGER",
        )
    kind = UntrackedError if any(x.is_batch for x in positions) else TraceError
    return kind(
        "an index of bools that depends on the arguments gives a shape that depends on values: "
        "use np.where(mask, x, 0.0)" + user_line(),
        code="NB-STATIC",
    )


def asking(frame: FrameType | None) -> Asking:
    """The op that converts a value, found from the running frame."""
    inner = None
    while frame is not None and _module(frame).split(".")[0] == "numpy":
        inner, frame = frame, frame.f_back
    if inner is not None:
        op = _numpy_name(inner)
        way = _WAYS.get(op.rpartition(".")[2])
        return Asking(op, frame, way or f"{_given(op)}; x.data is plain numbers")
    if frame is None or _module(frame).split(".")[0] in ("nbgrad", "scipy"):
        return Asking("", frame, _OTHERS)
    instruction = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    if instruction in _STORES:
        return Asking("assignment into a plain array", frame, FILL)
    if _is_subscript(frame):
        return Asking("index of a plain array", frame, "use nbgrad.at(plain)[x].get()")
    op = _called(frame)
    name = op.rpartition(".")[2]
    if name in _WAYS:
        return Asking(op, frame, _WAYS[name])
    if op.startswith("math."):
        return Asking(op, frame, f"use {_as_numpy_has_it(name)}, which takes tracked values")
    if isinstance(getattr(np, name, None), np.ufunc):
        return Asking(op, frame, _given(op))
    return Asking("", frame, _OTHERS)


def _is_subscript(frame: FrameType) -> bool:
    """Whether a frame reads an item, which has no instruction of its own since Python 3.14."""
    steps = dis.get_instructions(frame.f_code)
    step = next(step for step in steps if step.offset == frame.f_lasti)
    return step.opname == "BINARY_SUBSCR" or step.argrepr == "[]"


def _given(op: str) -> str:
    return (
        f"give {op} an array: np.array(nested) of {SPACE}, or np.array(nested, like=x), takes them"
    )


def _as_numpy_has_it(name: str) -> str:
    """The NumPy or nbgrad function for one of `math`."""
    if name.startswith("a") and hasattr(np, f"arc{name[1:]}"):
        return f"np.arc{name[1:]}"
    own = _OF_MATH.get(name, name)
    return f"nbgrad.{own}" if own.startswith("special.") else f"np.{own}"


def _module(frame: FrameType) -> str:
    return frame.f_globals.get("__name__") or ""


def _numpy_name(frame: FrameType) -> str:
    """The public name of the running NumPy function."""
    owner = type(frame.f_locals.get("self")).__name__
    if owner in _CONCATENATORS:
        return _CONCATENATORS[owner]
    name = frame.f_code.co_name
    if name in ("__call__", "__init__") and owner in dir(np):
        name = owner  # np.vectorize and the like are classes
    for home in ("", "linalg", "fft", "testing"):
        if _module(frame).startswith(f"numpy.{home}") and hasattr(
            getattr(np, home) if home else np, name
        ):
            return ".".join(filter(None, ("np", home, name)))
    return f"{_module(frame)}.{name}"


def _called(frame: FrameType) -> str:
    """The source text of the function that is being called; "" if there is no source."""
    code = frame.f_code
    places = list(code.co_positions())
    first, last, start, stop = places[frame.f_lasti // 2]
    if first is None or last is None or start is None or stop is None:
        return ""
    lines = [
        linecache.getline(code.co_filename, n, frame.f_globals).encode()
        for n in range(first, last + 1)
    ]
    lines[-1] = lines[-1][:stop]
    lines[0] = lines[0][start:]
    try:
        call = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(call, ast.Call):
        return ""
    return ast.unparse(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else ""
