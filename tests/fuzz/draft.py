"""A program that is being drawn: its values so far are known, as NumPy has them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .oracle import Unusable
from .programs import LAYOUTS, Input, Program, Step
from .reference import Reference, Special

SIZES = (0, 1, 2, 3, 5, 17)
_CHANCES = (0.06, 0.14, 0.25, 0.3, 0.2, 0.05)
DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")
_KINDS: dict[str, float] = dict(zip(DTYPES, (0.76, 0.06, 0.07, 0.04, 0.03, 0.04), strict=True))
NARROW = ("float32", "int32", "uint8", "bool")
"""Of programs in which all floats are narrow, so that it shows what numbers of Python's become."""
LARGEST = 400  # elements
_MOST_INPUTS = 5
REFUSED = (ArithmeticError, ValueError, TypeError, AttributeError, RuntimeError, MemoryError)
"""What NumPy raises for steps that do not fit."""


class Draft:
    """Values that steps refer to by number: those of inputs below `FIRST`, then those of steps."""

    def __init__(self, rng: np.random.Generator, dtypes: tuple[str, ...] = DTYPES):
        self.rng = rng
        self.dtypes = dtypes
        self.narrow = "float64" not in dtypes
        self.inputs: list[Input] = []
        self.steps: list[tuple[int, Step]] = []
        self.values: list[Any] = []
        self.tracked: list[bool] = []  # whether a derivative may reach it
        self.places: list[Any] = []  # the number of an input, or the step
        self.refused = False
        self.tails = False  # whether inputs lie far out

    # -- chance ---------------------------------------------------------------------------------

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def one(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def number(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def shape(self) -> tuple[int, ...]:
        rank = int(self.rng.choice(5, p=(0.12, 0.38, 0.32, 0.12, 0.06)))
        return tuple(int(self.rng.choice(SIZES, p=_CHANCES)) for _ in range(rank))

    def prefers_number(self, p: float) -> bool:
        """Whether an operand is a number of Python's: most often beside narrow floats."""
        return self.chance(0.6 if self.narrow else p)

    def constant(self, dtype: Any = None) -> str:
        """A number of Python as text."""
        kind = np.dtype(dtype or np.float64).kind
        if kind in "iu" and self.chance(0.8):
            return str(self.number(1 if kind == "u" else -3, 4))
        if self.chance(0.4):
            whole = self.number(-2, 3)
            return str(whole if self.chance(0.7) else float(whole))
        return str(round(float(self.rng.uniform(-2.0, 2.0)), 2))

    # -- values ---------------------------------------------------------------------------------

    def array(self, shape: tuple[int, ...], dtype: Any, low: float, high: float) -> np.ndarray:
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return np.asarray(self.rng.random(shape) < 0.5)
        if kind.kind in "iu":
            below = 0 if kind.kind == "u" else -4
            return np.asarray(self.rng.integers(below, 6, shape), kind)
        return np.asarray(np.round(self.rng.uniform(low, high, shape), 3), kind)

    def new(self, shape: Any = None, dtype: Any = None, low=-2.0, high=2.0, role: str = "") -> int:
        """A new input. Raises Unusable where there are many."""
        if len(self.inputs) >= _MOST_INPUTS:
            raise Unusable("enough inputs")
        if dtype is None:
            kinds = np.array([_KINDS[name] for name in self.dtypes])
            if self.narrow:
                kinds[self.dtypes.index("float32")] = _KINDS["float64"]
            dtype = str(self.rng.choice(self.dtypes, p=kinds / kinds.sum()))
        elif self.narrow and dtype == "float64":
            dtype = "float32"
        shape = self.shape() if shape is None else tuple(shape)
        value = self.array(shape, dtype, low, high)
        if self.tails:
            value = self.rng.choice([-40.0, -20.0, 8.0, 20.0, 30.0, 0.001, 2.0], np.shape(value))
            value = np.asarray(np.clip(value, low, high) if (low, high) != (-2.0, 2.0) else value)
        floating = value.dtype.kind == "f"
        layout = self.one(LAYOUTS) if self.chance(0.3) and value.ndim else "C"
        if not role:
            chances = (0.8, 0.13, 0.07) if floating else (0.6, 0.4, 0.0)
            first = not any(x.role == "argument" for x in self.inputs)
            role = (
                "argument"
                if first
                else str(self.rng.choice(("argument", "captured", "leaf"), p=chances))
            )
        if shape == () and self.chance(0.35) and dtype in ("float64", "int64"):
            value = value.item()  # a number of Python
        if role == "captured" and self.chance(0.08):  # what images and files hold
            value = np.asarray(np.abs(value), self.one(["int16", "uint16", "uint64", ">f8", ">i4"]))
        if layout == "broadcast" and (low, high) != (-2.0, 2.0):
            layout = "C"  # the rows of a regular matrix differ
        item = Input(value, layout, role)
        if layout == "broadcast" and isinstance(value, np.ndarray) and len(value):
            item = item._replace(value=np.array(np.broadcast_to(value[:1], value.shape)))
        self.inputs.append(item)
        self.values.append(item.make())
        self.tracked.append(floating and role != "captured")
        self.places.append(len(self.inputs) - 1)
        return len(self.values) - 1

    def given(self, value: np.ndarray) -> int:
        """A new input with this value."""
        if len(self.inputs) >= _MOST_INPUTS:
            raise Unusable("enough inputs")
        first = not any(x.role == "argument" for x in self.inputs)
        self.inputs.append(
            Input(value, "C", "argument" if first or self.chance(0.6) else "captured")
        )
        self.values.append(self.inputs[-1].make())
        self.tracked.append(False)
        self.places.append(len(self.inputs) - 1)
        return len(self.values) - 1

    def find(self, fits: Callable[[Any], bool]) -> int | None:
        """A value that fits, a late one rather than an early one; None where there is none."""
        found = [i for i, x in enumerate(self.values) if fits(x)]
        if not found:
            return None
        weights = np.arange(1.0, len(found) + 1)
        return int(self.rng.choice(found, p=weights / weights.sum()))

    def pick(self, fits: Callable[[Any], bool] = lambda x: True, **new: Any) -> int:
        """A value that fits, or a new input made by `new`."""
        i = self.find(fits)
        if i is None or (new and self.chance(0.15) and len(self.inputs) < _MOST_INPUTS):
            if not new:
                raise Unusable("nothing fits")
            i = self.new(**new)
            if not fits(self.values[i]):
                raise Unusable("integers of another order, which do not fit")
        return i

    def real(self, rank: int = 0, fresh: Any = None) -> int:
        """A float array of at least `rank` axes."""
        shape = fresh or tuple(self.number(1, 3) for _ in range(rank)) if rank else fresh
        return self.pick(
            lambda x: is_float(x) and np.ndim(x) >= rank, shape=shape, dtype=self.floating()
        )

    def floating(self) -> str:
        wide = self.chance(0.93) or "float32" not in self.dtypes
        return "float64" if wide and not self.narrow else "float32"

    def shaped(self, shape: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> int:
        """A float array of this shape in this domain: an earlier value, one brought to the shape,
        or a new input."""
        way = self.rng.random()
        i = self.find(lambda x: is_float(x) and np.shape(x) == shape)
        if i is None or way < 0.25:
            if way < 0.6 and len(self.inputs) < _MOST_INPUTS:
                return self.new(shape, self.floating(), low, high)
            source = self.find(lambda x: is_float(x) and np.size(x) > 0)
            if source is None:
                return self.new(shape, "float64", low, high)
            i = self.fitted(source, shape)
        return self.within(i, low, high)

    def fitted(self, i: int, shape: tuple[int, ...]) -> int:
        """The elements of value i, repeated or left out, in this shape."""
        size, count = np.size(self.values[i]), int(np.prod(shape))
        if not count:
            return self.step("fit", [i], f"np.reshape(np.ravel({{0}})[:0], {shape})")
        picked = (np.arange(count) % size).tolist()
        return self.step("fit", [i], f"np.reshape(np.ravel({{0}})[np.array({picked})], {shape})")

    def alike(self, i: int, x: Any) -> int:
        """Value i in the dtype of x. Raises Unusable where that is no dtype of tracked arrays."""
        wanted = np.asarray(x).dtype
        if np.asarray(self.values[i]).dtype == wanted:
            return i
        if not hasattr(self.values[i], "astype"):
            raise Unusable("a number of Python")
        if is_float(self.values[i]) and wanted.kind != "f":
            raise Unusable("integers of a float array")
        return self.step("astype", [i], f"{{0}}.astype(np.{wanted.name})")

    def within(self, i: int, low: float, high: float) -> int:
        """Value i, bent into the domain where it leaves it."""
        x = np.asarray(self.values[i], float)
        if (low, high) == (-2.5, 2.5):
            low, high = -50.0, 50.0
        if x.size == 0 or (np.all(x > low) and np.all(x < high)):
            return i
        middle, half = round((low + high) / 2, 3), round(0.45 * (high - low), 3)
        return self.step("bend", [i], f"{middle} + {half} * np.sin({{0}})")

    # -- steps ----------------------------------------------------------------------------------

    def step(self, op: str, args: list[int], text: str) -> int:
        """Add a step and run it. Raises Unusable where NumPy refuses it or gives no numbers."""
        item = Step(op, tuple(args), text)
        try:
            value = self.run(item)["out"]
        except IndexError as error:
            if op not in ("gather", "label_cross_entropy"):
                raise Unusable(f"{text}: {error}") from None
            # What NumPy refuses for its numbers, everything must refuse.
            self.refused, value = True, 0.0
        except REFUSED as error:
            raise Unusable(f"{text}: {error}") from None
        if not isinstance(value, (np.ndarray, np.generic, float, int)):
            raise Unusable(f"{text} gives a {type(value).__name__}")
        array = np.asarray(value)
        if (
            array.dtype.kind not in "fiub"
            or array.dtype == np.float16
            or array.ndim > 5
            or array.size > LARGEST
        ):
            raise Unusable(f"{text} is too large")
        require_finite(array, text, 1e9)
        self.values.append(value)
        self.tracked.append(array.dtype.kind == "f" and any(self.tracked[i] for i in args))
        self.places.append(item)
        return len(self.values) - 1

    def run(self, item: Step) -> dict[str, Any]:
        """The names after a step, of which `out` is its value. Raises whatever NumPy raises."""
        scope: dict[str, Any] = {"np": np, "special": Special(), "nbgrad": Reference()}
        scope.update((f"v{i}", self.values[i]) for i in item.args)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if item.writes:  # to what NumPy will not let be written to
                warnings.simplefilter("error", DeprecationWarning)
            exec("\n".join(item.lines(lambda i: f"v{i}", "out")), scope)
        return scope

    def program(self, outputs: list[int], seed: int) -> Program:
        """What is needed for these values. Raises Unusable where no argument is."""
        inputs = [i for i, place in enumerate(self.places) if not isinstance(place, Step)]
        steps = [i for i, place in enumerate(self.places) if isinstance(place, Step)]
        number = {old: new for new, old in enumerate([*inputs, *steps])}
        made = tuple(
            self.places[i]._replace(args=tuple(number[a] for a in self.places[i].args))
            for i in steps
        )
        items = tuple(self.inputs[self.places[i]] for i in inputs)
        kept = Program(items, made, tuple(number[i] for i in outputs), self.refused, seed).pruned()
        if not kept.inputs:
            raise Unusable("nothing goes in")
        if "float32" in str(kept):
            kept = kept.with_inputs([_settled(x) for x in kept.inputs])
        if not kept.arguments:
            x = kept.inputs[0]
            kind = np.asarray(x.value).dtype
            wide = np.float64 if kind.kind == "f" else np.int64
            first = Input(x.value if kind in DTYPES else np.asarray(x.value, wide))
            return kept.with_inputs((first, *kept.inputs[1:]))
        return kept


def _settled(x: Input) -> Input:
    """A number of Python's that is differentiated is float64, and NumPy would take it as float32
    beside such arrays: an array in its place."""
    moves = isinstance(x.value, float) and x.role != "captured"
    return x._replace(value=np.asarray(x.value)) if moves else x


def require_finite(x: Any, what: str, largest: float) -> None:
    """Raise Unusable for numbers that are not finite, or larger."""
    array = np.asarray(x)
    if array.size and array.dtype.kind in "fiu":
        with np.errstate(all="ignore"):
            finite = np.all(np.isfinite(array))
            if not finite or np.max(np.abs(array.astype(float))) > largest:
                raise Unusable(f"{what} is not finite")


def is_float(x: Any) -> bool:
    return np.asarray(x).dtype.kind == "f"


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim > 0
