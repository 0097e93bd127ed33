"""Series of products beside the sums that they stand for: those of integers are exact in any
order."""

import numpy as np
import pytest

from nbgrad.compiler.kernel import kernel
from nbgrad.compiler.pointers import at_f8
from nbgrad.kernels.series import series_of_products

SIZE, MIDDLE = 60_000, 20_000


@kernel
def _series(
    c, a, b, m, n, k, c0, c1, a0, a1, b0, b1, count, c_round, a_round, b_round, dm, dn, dk
):  # fmt: skip
    series_of_products(
        at_f8(c), at_f8(a), at_f8(b), m, n, k, c0, c1, a0, a1, b0, b1, count, c_round, a_round,
        b_round, dm, dn, dk,
    )  # fmt: skip


def check(*numbers):
    m, n, k, c0, c1, a0, a1, b0, b1, count, c_round, a_round, b_round, dm, dn, dk = numbers
    rng = np.random.default_rng(0)
    c, a, b = (rng.integers(-4, 5, SIZE).astype(float) for _ in range(3))
    wanted = c.copy()
    for r in range(count):
        i, p, j = np.ogrid[: max(m + r * dm, 0), : max(k + r * dk, 0), : max(n + r * dn, 0)]
        factors = (
            a[MIDDLE + r * a_round + i * a0 + p * a1],
            b[MIDDLE + r * b_round + p * b0 + j * b1],
        )
        places = MIDDLE + r * c_round + i * c0 + p * 0 + j * c1
        np.add.at(wanted, places, factors[0] * factors[1])
    places = [x.ctypes.data + MIDDLE * x.itemsize for x in (c, a, b)]
    _series(*places, *numbers)
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("seed", range(300))
def test_drawn_series(seed):
    rng = np.random.default_rng(seed)
    is_large = seed % 10 == 0
    most = 80 if is_large else 12

    def step():
        return int(rng.choice([0, 1, 1, 1, 2, 90, 90, 91, -1, -90]))

    sizes = [int(x) for x in rng.integers(1, most, 3)]
    changes = [int(x) for x in rng.choice([0, 0, 1, -1], 3)]
    if seed % 7:
        one = int(rng.integers(3))
        sizes[one], changes[one] = 1, 0
    strides = [step() for _ in range(6)]
    if is_large or rng.random() < 0.5:
        strides = [x for _ in range(3) for x in ((90, 1) if rng.random() < 0.6 else (1, 90))]
    c0, c1, a0, a1, b0, b1 = strides
    rounds = [
        int(rng.choice([0, x, y, x + y, 1, 90, 91, 7])) for x, y in ((c0, c1), (a0, a1), (b0, b1))
    ]  # fmt: skip
    count = int(rng.integers(0, most if is_large else 60))
    check(*sizes, *strides, count, *rounds, *changes)


def test_triangles_of_many_blocks():
    n = 110
    for change in (0, -1):
        check(1, n, 30, 0, 1, 0, n, n, 1, n, n, 1, 1 if change else 0, 0, change, 0)  # rows
        check(n, 1, 30, 1, 0, n, 1, 1, 0, n, n, n if change else 0, 1, change, 0, 0)  # columns
        check(n, n, 1, n, 1, 1, 0, 0, 1, n, n + 1 if change else 0, n, n, change, change, 0)
    check(1, 1, 40, 0, 1, 0, 1, n, 1, n, n, n, 0, 0, 1, 0)  # rows that grow
    check(1, n, n, 0, 1, 0, 1, n, 1, n, n, n + 1, n, 0, 0, -1)  # fewer terms
