"""Small data sets: points that are drawn, scanned digits, names."""

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import MissingExtra

Random = np.random.Generator | int
"""A generator of NumPy's, or a seed."""


def moons(
    rng: Random, n: int = 200, noise: float = 0.0, sampling: Literal["random", "even"] = "random"
) -> tuple[np.ndarray, np.ndarray]:
    """Points of shape (n, 2) on two interleaved half circles, and their labels, 0 and 1.

    Half of the points, rounded down, lie on each moon, so an odd n gives one fewer. Their angles
    are uniformly random, or evenly spaced; `noise` is the standard deviation added to both
    coordinates.
    """
    rng, half = np.random.default_rng(rng), _count("moons", n) // 2
    if sampling == "random":
        outer, inner = rng.uniform(0, np.pi, (2, half))
    elif sampling == "even":
        outer = inner = np.linspace(0, np.pi, half)
    else:
        raise ValueError(f'moons: sampling is {sampling!r}; it is "random" or "even"')
    points = np.concatenate(
        [
            np.stack([np.cos(outer), np.sin(outer)], axis=1),
            np.stack([1 - np.cos(inner), 0.5 - np.sin(inner)], axis=1),
        ]
    )
    return points + noise * rng.standard_normal(points.shape), np.repeat([0, 1], half)


def flower(rng: Random, petals: int = 8, n: int = 900) -> tuple[np.ndarray, np.ndarray]:
    """Points on the petals of a flower, n // petals on each, and the number of the petal."""
    rng, each = np.random.default_rng(rng), _count("flower", n) // petals
    points = []
    for angle in 2 * np.pi * np.arange(petals) / petals:
        along = np.tanh(rng.standard_normal(each) - 1) + 4 + 0.05 * rng.standard_normal(each)
        across = 0.3 * rng.standard_normal(each)
        turned = [
            along * np.cos(angle) - across * np.sin(angle),
            along * np.sin(angle) + across * np.cos(angle),
        ]
        points.append(np.stack(turned, axis=1))
    return np.concatenate(points), np.repeat(np.arange(petals), each)


def normals(
    rng: Random,
    each: int = 100,
    means: Any = ((-1.0, -1.0), (0.5, 0.5), (1.5, 1.5)),
    deviations: Any = ((0.5, 0.5), (0.8, 0.5), (0.1, 0.1)),
) -> tuple[np.ndarray, np.ndarray]:
    """Points of normal distributions, `each` of every one, and which one it was; means and
    deviations have a row for each."""
    rng, means = np.random.default_rng(rng), np.asarray(means, float)
    kinds, features = means.shape
    draws = rng.standard_normal((kinds, _count("normals", each), features))
    points = means[:, None] + np.asarray(deviations, float)[:, None] * draws
    return points.reshape(-1, features), np.repeat(np.arange(kinds), each)


def polynomial(
    rng: Random,
    n: int = 100,
    coefficients: Sequence[float] = (15.0, -2.1, 13.9, 1.5),
    *,
    low: float = -5.0,
    high: float = 5.0,
    noise: float = 0.2,
    relative: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """x uniform in [low, high), and values of a polynomial there with noise; coefficients from the
    constant term on. The noise is normal with deviation `noise` times the mean of |y|, or where it
    is `relative` times each |y|."""
    rng = np.random.default_rng(rng)
    x = rng.uniform(low, high, _count("polynomial", n))
    y = np.polynomial.polynomial.polyval(x, coefficients)
    size = np.abs(y) if relative else np.mean(np.abs(y))
    return x, y + noise * size * rng.standard_normal(n)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """1,797 scanned digits: rows of 8 * 8 = 64 numbers from 0 to 1, and what they show, 0 to 9.

    Comes with scikit-learn; `x.reshape(-1, 8, 8, 1)` are images with one channel.
    """
    bunch = _extra("sklearn.datasets", "digits", "experiments").load_digits()
    return np.asarray(bunch.data, float) / 16, np.asarray(bunch.target)


def names(path: str | Path | None = None) -> list[str]:
    """First names in lower case, each once, in alphabetical order.

    They are the words of the letters a to z at the beginnings of the lines of a text file. Without
    a path, they are the names of the US census that the package `names` brings.

    Raises ValueError where a file holds none.
    """
    if path is None:
        files = _extra("names", "names", "names", "give a text file, one name a line, or ").FILES
        paths = [Path(files["first:female"]), Path(files["first:male"])]
    else:
        paths = [Path(path)]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    found = sorted(set(re.findall(r"^\s*([a-z]+)", text.lower(), re.M)))
    if not found:
        raise ValueError(f"names: no line of {paths[0]} begins with a letter from a to z")
    return found


def _extra(module: str, what: str, extra: str, hint: str = "") -> Any:
    """A module that an extra of nbgrad installs."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingExtra(
            f'{what} needs {package}: {hint}install it with pip install "nbgrad[{extra}]"'
        ) from None


def _count(op: str, n: int) -> int:
    if n < 1:
        raise ValueError(f"{op}: {n} points; give one or more")
    return n
