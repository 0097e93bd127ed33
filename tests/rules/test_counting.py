"""Counts in bins, and functions of plain values whose arguments lie in lists."""

# NumPy's annotations know plain arrays only.
# pyright: reportArgumentType=false, reportCallIssue=false

from typing import Any

import numpy as np
import pytest

import nbgrad

NUMBER, ROW = 0.43, np.array([0.2, 0.9, 0.5])
TABLE = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]])

CALLS = {
    "edges of an axis": lambda n, r, t: np.histogramdd(t, [[n, 1.0], 2, [0.0, n, 1.0]])[0],
    "columns": lambda n, r, t: np.histogramdd([t[:, 0], r], 2)[0],
    "a range": lambda n, r, t: np.histogramdd(t, 2, range=[(0.0, n), [n, 1.0], (0, 1)])[0],
    "numbers in two axes": lambda n, r, t: np.histogram2d(r, [n, 1.0, n], [2, [0.0, n, 1.0]])[0],
    "equal": lambda n, r, t: np.array_equal(r, [0.2, 0.9, n]),
    "near": lambda n, r, t: np.isclose(r, (n, 0.9, n + 0.07)),
    "bins": lambda n, r, t: np.digitize(r, [0.0, n, 1.0]),
    "a histogram": lambda n, r, t: np.histogram(r, [0.0, n, 1.0])[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_values_in_lists_are_plain(name):
    expected = CALLS[name](NUMBER, ROW, TABLE)
    found = CALLS[name](*map(nbgrad.track, (NUMBER, ROW, TABLE)))
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)


def test_samples_in_lists():
    numbers = np.array([0.1, 0.43, 0.8])
    f: Any = lambda n: np.isclose(n * np.ones(3), [n, 0.43, (n + 0.07)])  # noqa: E731
    np.testing.assert_array_equal(nbgrad.vmap(f)(numbers), np.stack([f(n) for n in numbers]))
    with pytest.raises(TypeError, match="histogramdd gives a tuple"):
        nbgrad.vmap(lambda n: np.histogramdd(n * TABLE, [[n, 1.0], 2, 2])[0])(numbers)


def test_traced_values_in_lists_are_refused():
    f = nbgrad.compile(lambda n, t: np.histogramdd(t, [[n, 1.0], 2, 2])[0])
    with pytest.raises(nbgrad.TraceError, match="histogramdd is eager only"):
        f(NUMBER, TABLE)


def test_bins_must_fit_the_axes():
    with pytest.raises(ValueError, match="dimension of bins"):
        np.histogramdd(nbgrad.track(TABLE), [nbgrad.track(NUMBER), 1.0])


def test_a_masked_array_in_a_list_is_refused():
    masked = np.ma.masked_array([0.1, 0.5], [False, True])
    with pytest.raises(TypeError, match="mask would be lost"):
        np.isclose(nbgrad.track(ROW), [masked[0], masked, 0.5])


def test_weights_in_a_list_keep_their_derivative():
    def counted(w):
        x = nbgrad.track(np.array([2.1, 0.3, 2.9]))
        return np.sum(np.histogram(x, [0, 1, 2, 3], weights=[w[0], w[1], w[2]])[0] * [1, 2, 3])

    np.testing.assert_array_equal(nbgrad.grad(counted)(ROW), [3.0, 1.0, 3.0])
    with pytest.raises(nbgrad.NoRuleError, match="weights have a derivative in"):
        np.histogram2d(nbgrad.track(ROW), ROW, weights=[nbgrad.track(1.0), 1.0, 1.0])
    with pytest.raises(nbgrad.UntrackedError):  # the places differ from sample to sample
        nbgrad.vmap(lambda i: np.bincount(i, [nbgrad.track(1.0), 1.0]))(np.array([[0, 1]]))


def test_more_steps_than_elements_leave_nothing():
    """However many more: each step would take one of them away."""
    for count in (3, 4, 10**400):
        assert np.diff(nbgrad.track(ROW), count).shape == (0,)
        assert np.polyder(nbgrad.track(ROW), count).shape == (0,)


def test_what_is_no_list_of_conditions_or_position():
    x = nbgrad.track(ROW)
    with pytest.raises(TypeError, match="conditions in a dict"):
        np.piecewise(x, {"a": ROW > 0.3}, [1.0])
    with pytest.raises(TypeError, match="a truth is no position"):
        np.insert(x, True, 1.0)


def test_logits_in_lists():
    found = nbgrad.logit_cross_entropy([[1.0, 2.0], [0.5, 0.0]], [1, 0])
    z = np.array([[1.0, 2.0], [0.5, 0.0]])
    expected = np.mean(np.log(np.sum(np.exp(z), 1)) - z[[0, 1], [1, 0]])
    assert float(found) == pytest.approx(expected, rel=1e-14)
