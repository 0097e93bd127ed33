"""Long loops in pieces on threads: the same bits for any number, and what can happen to threads."""

import numpy as np
import pytest

import nbgrad
from nbgrad.kernels import pool
from nbgrad.kernels.pieces import LARGE, cut

NUMBERS = (1, 2, 3, 7)
N = 3 * 10**5 + 17


@pytest.fixture(autouse=True)
def _default():
    yield
    nbgrad.set_threads(None)


def ran() -> int:
    return sum(pool.pieces_run())


def arrays(count: int, *shape: int, dtype=np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.normal(size=shape).astype(dtype) for _ in range(count)]


def chain(x, a, b, c):
    return np.sum(np.tanh(a * x + b) * np.exp(-x * x) + np.sin(x) * c)


def rows(x, w):
    return np.sum(w * nbgrad.logsoftmax(x))


def leaves(tree) -> list[np.ndarray]:
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    return [np.asarray(tree)]


FUNCTIONS = {
    "chain": (nbgrad.value_and_grad(chain, (0, 1, 2, 3)), arrays(4, N)),
    "chain32": (nbgrad.value_and_grad(chain, (0, 1, 2, 3)), arrays(4, N, dtype=np.float32)),
    "rows32": (nbgrad.value_and_grad(rows, (0, 1)), arrays(2, 400, 1000, dtype=np.float32)),
    "slices": (
        nbgrad.value_and_grad(lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)),
        arrays(1, N),
    ),
    "elementwise": (
        nbgrad.value_and_grad(lambda x, y: np.sum((x * y + np.sin(x)) * (x > y)), (0, 1)),
        arrays(2, N),
    ),
    "reductions": (
        lambda x: (np.sum(x), np.mean(x), np.max(x), np.min(x), np.linalg.norm(x)), arrays(1, N),
    ),
    "axes": (
        lambda x: (np.sum(x, 0), np.mean(x, 1), np.max(x, 0), np.linalg.norm(x, axis=1)),
        arrays(1, 3000, 101),
    ),
    "bias": (
        nbgrad.value_and_grad(lambda x, b, c: np.sum(np.tanh(x * c + b)), (0, 1, 2)),
        [*arrays(1, 3000, 101), *arrays(1, 101), *arrays(1, 3000, 1)],
    ),
    "softmax of a vector": (
        nbgrad.value_and_grad(lambda x: np.sum(nbgrad.softmax(x) ** 2)), arrays(1, N),
    ),
    "variance": (nbgrad.value_and_grad(lambda x: np.var(x) + np.std(x)), arrays(1, N)),
    "extremes": (nbgrad.grad(lambda x: np.sum(np.max(x, 1)) + np.min(x)), arrays(1, 3000, 101)),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bits_are_the_same_for_any_number_of_threads(name, compiled):
    function, args = FUNCTIONS[name]
    function = nbgrad.compile(function) if compiled else function
    found = []
    for number in NUMBERS:
        nbgrad.set_threads(number)
        before = ran()
        found.append([leaf.tobytes() for leaf in leaves(function(*args))])
        assert ran() > before or (name in ("reductions", "axes") and not compiled)
    assert all(bits == found[0] for bits in found)


def test_pieces_are_counted_and_right():
    """Values against NumPy; how many pieces, which the size alone decides."""
    nbgrad.set_threads(2)
    (x, a, b, c) = arrays(4, 10**6)
    expected = np.sum(np.tanh(a * x + b) * np.exp(-x * x) + np.sin(x) * c)
    slope = (1 - np.tanh(a * x + b) ** 2) * np.exp(-x * x) * x
    f = nbgrad.compile(nbgrad.value_and_grad(chain, (1,)))
    before = ran()
    value, (found,) = f(x, a, b, c)
    assert ran() - before == -(-(10**6) // cut(10**6, 10**6)) == 25
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(found, slope, rtol=1e-10, atol=1e-14)
    before = ran()
    f(*(array[: LARGE - 1].copy() for array in (x, a, b, c)))
    assert ran() == before
