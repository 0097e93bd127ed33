"""Functions of NumPy users' everyday work, written as they write them, with arguments to try them.

Each module of this folder is plain NumPy code, which knows nothing of derivatives. `load` executes
it as it stands, or with `import nbgrad.numpy as np` in place of `import numpy as np`, and no other
change.
"""

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
PLAIN, OURS = "import numpy as np", "import nbgrad.numpy as np"

BRANCH: dict[str, str] = {
    "vmap": "the truth of a batched value",
    "compiled": "the truth of a traced value",
}
"""Refusals of a function that branches on the value of an argument."""
AGREED = {"compiled": BRANCH["compiled"]}
"""Those of one whose samples all take the same branch."""
MASK = dict.fromkeys(("vmap", "compiled"), "an index of bools that depends on the arguments")
"""Refusals of a function that reads the elements that a mask of values selects."""


@dataclass(frozen=True)
class Case:
    """A function with draws of the arguments to differentiate, other arguments by name, and, for
    each mode that cannot take it by its nature, a part of the sentence of the error."""

    function: Callable
    draws: tuple[Callable, ...]
    options: dict[str, Any]
    refused: dict[str, str]

    def arguments(self, sample: int = 0) -> tuple[Any, ...]:
        seed = zlib.crc32(self.function.__name__.encode())
        rng = np.random.default_rng([seed, sample])
        return tuple([draw(rng) for draw in self.draws])

    def __call__(self, *args: Any) -> Any:
        return self.function(*args, **self.options)


def case(*draws: Callable, refused: dict[str, str] | None = None, **options: Any) -> Callable:
    """Decorator: the function is of the corpus, with these arguments."""

    def register(function: Callable) -> Callable:
        setattr(function, "case", Case(function, draws, options, refused or {}))  # noqa: B010
        return function

    return register


def normal(*shape: int, scale: float = 1.0, dtype: Any = float) -> Callable:
    """Draws of normal numbers; a Python float where there is no shape."""
    return lambda rng: _plain(rng.standard_normal(shape) * scale, dtype)


def uniform(low: float, high: float, *shape: int, dtype: Any = float) -> Callable:
    """Draws of uniform numbers; a Python float where there is no shape."""
    return lambda rng: _plain(rng.uniform(low, high, shape), dtype)


def definite(n: int, least: float = 1.0) -> Callable:
    """Draws of symmetric matrices, whose eigenvalues are `least` or more."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        a = rng.standard_normal((n, n))
        return a @ a.T / n + least * np.eye(n)

    return draw


def near(value: Any, spread: float = 0.05) -> Callable:
    """Draws of numbers about a value."""
    value = np.asarray(value, float)
    return lambda rng: _plain(value * (1.0 + spread * rng.uniform(-1.0, 1.0, value.shape)), float)


def _plain(x: Any, dtype: Any) -> Any:
    return np.asarray(x, dtype) if np.shape(x) else float(x)


@cache
def load(name: str, line: str) -> ModuleType:
    """A module of the corpus whose `np` is what this line imports."""
    path = FOLDER / f"{name}.py"
    source = path.read_text()
    assert source.count(PLAIN) == 1
    module = ModuleType(f"corpus.{name}_{line.split()[1].partition('.')[0]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(source.replace(PLAIN, line), path, "exec"), module.__dict__)
    return module


def find(name: str, line: str) -> Case:
    """The case of a function, as `module.function`."""
    module, function = name.split(".")
    return getattr(load(module, line), function).case


NAMES = [
    f"{module}.{name}"
    for module in MODULES
    for name, value in vars(load(module, PLAIN)).items()
    if isinstance(getattr(value, "case", None), Case)
]
