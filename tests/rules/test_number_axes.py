"""Axes of numbers: NumPy's functions of one kind take 0 and -1 for them, the others refuse."""

import numpy as np
import pytest

import nbgrad

CALLS = {
    **{name: getattr(np, name) for name in (
        "sum", "prod", "max", "min", "ptp", "any", "all", "nansum", "nanmax", "nanmin", "nanmean",
        "nanvar", "nanstd",
        "argmax", "argmin", "argsort", "squeeze", "mean", "std", "var", "median",
        "sort", "cumsum", "flip",
    )},
    "take": lambda x, axis: np.take(x, [0, 0], axis=axis),
    "repeat": lambda x, axis: np.repeat(x, 2, axis=axis),
    "argpartition": lambda x, axis: np.argpartition(x, 0, axis=axis),
    "logaddexp.reduce": lambda x, axis: np.logaddexp.reduce(x, axis=axis),
}  # fmt: skip


@pytest.mark.parametrize("axis", [0, -1, 1])
@pytest.mark.parametrize("name", CALLS)
def test_a_number_has_the_axes_that_numpy_gives_it(name, axis):
    f = CALLS[name]
    x = np.float64(1.5)
    try:
        expected = f(x, axis=axis)
    except np.exceptions.AxisError:
        with pytest.raises(np.exceptions.AxisError):
            f(nbgrad.track(x), axis=axis)
        with pytest.raises(np.exceptions.AxisError):
            nbgrad.compile(lambda x: f(x, axis=axis))(x)
        return
    found = f(nbgrad.track(x), axis=axis)
    found = found.data if isinstance(found, nbgrad.TrackedArray) else found
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(nbgrad.compile(lambda x: f(x, axis=axis))(x), expected)


def test_slopes_along_the_axis_of_a_number():
    for f in (np.sum, np.prod, np.max):
        assert nbgrad.grad(lambda x, f=f: f(x, axis=-1))(1.5) == 1.0
        assert (
            nbgrad.vmap(nbgrad.grad(lambda x, f=f: f(x, axis=0)))(np.ones(3)).tolist() == [1.0] * 3
        )
