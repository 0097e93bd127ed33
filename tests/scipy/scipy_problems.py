"""Problems that the tests of `nbgrad.scipy` share."""

from dataclasses import dataclass

import numpy as np
import pytest

both_tiers = pytest.mark.parametrize("compile", [False, True], ids=["eager", "compiled"])


START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])


def rosen(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def ridge(p, x, y, weight=0.1):
    return np.sum((x @ p["w"] + p["b"] - y) ** 2) + weight * np.sum(p["w"] ** 2)


@dataclass
class Wave:
    size: float
    rate: np.ndarray
    name: str = "wave"


class Counted:
    """A function that counts its calls."""

    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, *args):
        self.calls += 1
        return self.f(*args)
