"""The experiment on divergences: what its tables are meant to show."""

import numpy as np
import pytest

from nbgrad.experiments import trace


@pytest.fixture(scope="module")
def rows():
    return trace.measure(rounds=30, seed=0, tell=lambda done, total, part: None)


def errors(rows, *wanted):
    return np.array([row.error for row in rows if row[:3] == wanted])


@pytest.mark.full
@pytest.mark.parametrize("probes", ["rademacher", "gaussian", "orthogonal"])
def test_hutch_pp_is_ahead_where_the_spectrum_decays(rows, probes):
    plain, better = (
        errors(rows, "decaying", method, probes) for method in ("hutchinson", "hutch++")
    )
    assert (better < plain).all()
    assert better[-1] < plain[-1] / 10
    flat, spent = (errors(rows, "flat", method, probes) for method in ("hutchinson", "hutch++"))
    assert (spent > flat).sum() >= 4, "where there is nothing to learn, learning is for nothing"


def test_the_exact_divergence_is_exact(rows):
    assert (errors(rows, "decaying", "divergence", "") < 1e-12).all()
    assert (errors(rows, "flat", "divergence", "") < 1e-12).all()


def test_told_errors_are_true(rows):
    told = np.array([row.told / row.error for row in rows if row.method != "divergence"])
    assert 0.6 < np.median(told) < 1.6
    assert np.median(np.abs(np.log(told))) < 0.25


def test_ways_are_told_one_by_one():
    seen = []
    trace.measure(1, 0, lambda *part: seen.append(part))
    assert [done for done, _, _ in seen] == list(range(1, 13))
    assert {total for _, total, _ in seen} == {12}
    assert seen[-1][2] == "flat, hutch++, orthogonal"
