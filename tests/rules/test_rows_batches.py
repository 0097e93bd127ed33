"""Every row over a batch of samples, against a loop over the samples."""

import numpy as np
from helpers.rows import F64, Case, assert_close, cases_of, is_float_array, parametrize, rows

import nbgrad
from nbgrad.core.levels import Level
from nbgrad.core.primitive import bind
from nbgrad.values.batched import Batched

SIZE = 3
CASES = [case for row in rows() for case in cases_of(row, F64)]
FIRST = [case for row in rows(True) for case in cases_of(row, F64)[:3] if case.positions]


def samples(case: Case) -> list[tuple]:
    """Arguments that differ from sample to sample where they are float arrays or are drawn."""
    first = case.draw().args if case.row.differentiable else drawn(case)
    rng = np.random.default_rng(1)
    return [
        tuple(
            np.asarray(a * rng.uniform(0.9, 1.1, a.shape)) if is_float_array(a) else a
            for a in first
        )
        for _ in range(SIZE)
    ]


def drawn(case: Case) -> tuple:
    return tuple(case._argument(np.random.default_rng(0), i) for i in range(len(case.args)))


def choices(case: Case, args: tuple) -> list[tuple[bool, ...]]:
    """Which arguments are batched: all arrays, and each alone."""
    arrays = [isinstance(a, np.ndarray) for a in args]
    alone = [tuple(i == k for i in range(len(args))) for k, array in enumerate(arrays) if array]
    return list(dict.fromkeys([tuple(arrays), *alone]))


def over_batch(case: Case, given: list[tuple], batched: tuple[bool, ...]):
    args = [
        Batched(np.stack([sample[i] for sample in given]), Level(1)) if has else given[0][i]
        for i, has in enumerate(batched)
    ]
    return bind(case.row, *args, **case.params)


@parametrize(CASES)
def test_a_batch_is_its_samples(case):
    given = samples(case)
    for batched in choices(case, given[0]):
        expected = np.stack([
            np.asarray(case(*(s[i] if has else given[0][i] for i, has in enumerate(batched))))
            for s in given
        ])  # fmt: skip
        out = over_batch(case, given, batched)
        assert isinstance(out, Batched) and out.shape == expected.shape[1:]
        assert out.dtype == expected.dtype
        assert_close(out.value, expected, 1e-13)


@parametrize(FIRST)
def test_a_gradient_over_a_batch_is_those_of_its_samples(case):
    given, ct = samples(case), case.draw().ct
    position = case.positions[0]

    def slope(*args):
        def projected(x):
            return np.sum(case(*args[:position], x, *args[position + 1 :]) * ct)

        return nbgrad.grad(projected)(args[position])

    axes = [0 if isinstance(a, np.ndarray) else None for a in given[0]]
    stacked = [
        np.stack(a) if isinstance(a[0], np.ndarray) else a[0] for a in zip(*given, strict=True)
    ]
    found = nbgrad.vmap(slope, in_axes=axes)(*stacked)
    assert_close(found, np.stack([slope(*args) for args in given]), 1e-12)
