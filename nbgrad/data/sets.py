"""Small data sets: random points, scanned digits, names."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import ArgumentError, import_extra

Random = np.random.Generator | int
"""A NumPy Generator or a seed."""


def moons(
    rng: Random, n: int = 200, noise: float = 0.0, sampling: Literal["random", "even"] = "random"
) -> tuple[np.ndarray, np.ndarray]:
    """Return points of shape (n, 2) on two interleaved half circles, and labels 0 and 1.

    Each half circle has n // 2 points, with random or evenly spaced angles. `noise` is the standard
    deviation of normal noise.

    >>> points, labels = nbgrad.data.moons(0, 10)
    >>> points.shape, labels.tolist().count(1)
    ((10, 2), 5)
    """
    rng, half = np.random.default_rng(rng), _count("moons", n) // 2
    if sampling == "random":
        outer, inner = rng.uniform(0, np.pi, (2, half))
    elif sampling == "even":
        outer = inner = np.linspace(0, np.pi, half)
    else:
        raise ArgumentError(f'moons: sampling is {sampling!r}; it must be "random" or "even"')
    points = np.concatenate(
        [
            np.stack([np.cos(outer), np.sin(outer)], axis=1),
            np.stack([1 - np.cos(inner), 0.5 - np.sin(inner)], axis=1),
        ]
    )
    return points + noise * rng.standard_normal(points.shape), np.repeat([0, 1], half)


def flower(rng: Random, petals: int = 8, n: int = 900) -> tuple[np.ndarray, np.ndarray]:
    """Return points on the petals of a flower, n // petals each, and the numbers of the petals.

    >>> points, petals = nbgrad.data.flower(0, n=80)
    >>> points.shape, petals.shape
    ((80, 2), (80,))
    """
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
    """Return `each` points of several normal distributions, and the numbers of the distributions.

    `means` and `deviations` have a row for each distribution.

    >>> points, labels = nbgrad.data.normals(0, each=5)
    >>> points.shape, labels.shape
    ((15, 2), (15,))
    """
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
    """Return x, uniform in [low, high), and noisy values of a polynomial at x.

    `coefficients` starts with the constant term. The noise is normal. Its standard deviation is
    `noise` times the mean of |y|, or times each |y| if it is `relative`.

    >>> x, y = nbgrad.data.polynomial(0, n=5)
    >>> x.shape, y.shape
    ((5,), (5,))
    """
    rng = np.random.default_rng(rng)
    x = rng.uniform(low, high, _count("polynomial", n))
    y = np.polynomial.polynomial.polyval(x, coefficients)
    size = np.abs(y) if relative else np.mean(np.abs(y))
    return x, y + noise * size * rng.standard_normal(n)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return 1,797 scanned digits, as rows of 64 numbers from 0 to 1, and labels 0 to 9.

    The data set is part of scikit-learn. `x.reshape(-1, 8, 8, 1)` are images with one channel.

    >>> pixels, labels = nbgrad.data.digits()
    >>> pixels.shape, labels[:5].tolist()
    ((1797, 64), [0, 1, 2, 3, 4])
    """
    bunch = import_extra("sklearn.datasets", "digits", "experiments").load_digits()
    return np.asarray(bunch.data, float) / 16, np.asarray(bunch.target)


def names(path: str | Path | None = None) -> list[str]:
    """Return first names in lower case, unique and sorted.

    They are the words of letters a to z at the beginning of each line of a text file. Without a
    path, they are the names of the US census in the package `names`.

    Raises ValueError if a file has no names.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "names.txt"
    >>> characters = file.write_text("Eve\\nAda\\nEve")
    >>> nbgrad.data.names(file)
    ['ada', 'eve']
    """
    if path is None:
        files = import_extra("names", "names", "names", "pass a text file of names, or ").FILES
        paths = [Path(files["first:female"]), Path(files["first:male"])]
    else:
        paths = [Path(path)]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    found = sorted(set(re.findall(r"^\s*([a-z]+)", text.lower(), re.M)))
    if not found:
        raise ArgumentError(f"names: no line of {paths[0]} begins with a letter from a to z")
    return found


def _count(op: str, n: int) -> int:
    if n < 1:
        raise ArgumentError(f"{op}: {n} points; there must be at least one")
    return n
