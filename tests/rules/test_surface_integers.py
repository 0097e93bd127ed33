"""Integers and bools through functions that are made of rows: NumPy's values and dtypes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbgrad

ARRAYS = [
    np.arange(5) * 3, np.array([5, 3, 9, 1], np.uint8), np.array([True, False, True]),
    np.arange(4, dtype=np.float32), np.array([5, 3, 9, 1], np.uint16),
]  # fmt: skip
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "quantile": lambda x: np.quantile(x, 0.3),
    "quantile, lower": lambda x: np.quantile(x, 0.3, method="lower"),
    "percentile": lambda x: np.percentile(x, [20, 60]),
    "median": np.median,
    "nanmedian": np.nanmedian,
    "nanquantile": lambda x: np.nanquantile(x, 0.3),
    "gradient": np.gradient,
    "nan_to_num": np.nan_to_num,
    "ediff1d": np.ediff1d,
    "cumprod": np.cumprod,
    "average": np.average,
    "ptp": np.ptp,
    "nanvar": np.nanvar,
    "nanmean": np.nanmean,
    "nanprod": np.nanprod,
    "nancumsum": np.nancumsum,
    "trapezoid": np.trapezoid,
    "interp": lambda x: np.interp(x, np.arange(4.0), np.arange(4.0) ** 2),
    "convolve": lambda x: np.convolve(x, [1, 2]),
    "correlate": lambda x: np.correlate(x, [1, 2], "full"),
    "polyval": lambda x: np.polyval([1, 2, 3], x),
    "unwrap": np.unwrap,
    "float_power": lambda x: np.float_power(x, 2),
    "add.accumulate": np.add.accumulate,
    "multiply.reduce": np.multiply.reduce,
    "add.outer": lambda x: np.add.outer(x, x),
    "cov": np.cov,
    "select": lambda x: np.select([x > 2], [x], 0),
    "append": lambda x: np.append(x, 1),
    "insert": lambda x: np.insert(x, 1, 7),
    "delete": lambda x: np.delete(x, 1),
    "pad, reflect": lambda x: np.pad(x, 2, mode="reflect"),
    "pad, linear_ramp": lambda x: np.pad(x, 2, mode="linear_ramp"),
    "pad, mean": lambda x: np.pad(x, 2, mode="mean"),
    "convolve, same": lambda x: np.convolve(x, [1, 2, 3], "same"),
    "convolve, valid": lambda x: np.convolve(x, np.array([2, 100], np.uint8), "valid"),
    "correlate of itself": lambda x: np.correlate(x, x[:2], "same"),
    "pad, ramp from a number": lambda x: np.pad(x, (7, 3), mode="linear_ramp", end_values=(2, 9)),
    "pad, median": lambda x: np.pad(x, (1, 2), mode="median", stat_length=2),
    "polyval of bytes": lambda x: np.polyval(np.array([1, 2, 3], np.uint8), x),
    "polyval at bytes": lambda x: np.polyval(x, np.array([[2, 3]], np.uint8)),
    "vander": lambda x: np.vander(x, 3),
    "resize": lambda x: np.resize(x, 7),
    "poly": np.poly,
    "frexp": lambda x: np.frexp(x)[0],
    "ldexp": lambda x: np.ldexp(x, -3),
    "ldexp by truths": lambda x: np.ldexp(3.0, x > 2),
    "modf": lambda x: np.modf(x)[0],
    "heaviside": lambda x: np.heaviside(x, 1),
    "nextafter": lambda x: np.nextafter(x, 1),
    "nextafter a number": lambda x: np.nextafter(1.5, x),
    "norm 1": lambda x: np.linalg.norm(np.stack([x, x]), 1),
    "norm of the largest": lambda x: np.linalg.norm(x, np.inf),
    "gradient over coordinates": lambda x: np.gradient(np.stack([x, x]), x, axis=1),
    "linspace": lambda x: np.linspace(x[0], x[1], 4),
}
COMPILED = [
    "quantile", "median", "gradient", "nan_to_num", "nanmedian", "ediff1d", "cumprod", "interp",
    "convolve", "convolve, same", "convolve, valid", "correlate", "correlate of itself", "polyval",
    "polyval of bytes", "polyval at bytes", "pad, mean", "pad, median", "pad, linear_ramp",
    "pad, ramp from a number", "poly", "norm 1", "gradient over coordinates",
]  # fmt: skip


def check(name: str, found: Any, expected: Any) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), name
    rtol = 1e-6 if expected.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found, expected, rtol, err_msg=name)


def of_numpy(f: Callable, x: np.ndarray) -> Any:
    """Its value: float64 where it gives half floats."""
    try:
        found = f(x)
    except TypeError:
        pytest.skip("NumPy refuses it")
    return np.asarray(found, np.float64) if np.asarray(found).dtype == np.float16 else found


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_samples_of_a_batch(name, x):
    expected = of_numpy(FUNCTIONS[name], x)
    found = nbgrad.vmap(FUNCTIONS[name])(np.stack([x, x]))
    check(name, found[1], expected)


@pytest.mark.parametrize("x", ARRAYS[:2], ids=lambda x: str(x.dtype))
def test_compiled(x):
    found = nbgrad.compile(lambda x: [FUNCTIONS[name](x) for name in COMPILED])(x)
    for name, value in zip(COMPILED, found, strict=True):
        check(name, value, of_numpy(FUNCTIONS[name], x))


def test_rows_that_hold_tracked_numbers():
    x = np.array([1.0, 2.0, 4.0])
    t: Any = nbgrad.track(0.5)
    moving: Any = nbgrad.track(x)
    found: Any = np.convolve(moving, [t, 1.0])
    np.testing.assert_array_equal(found.data, np.convolve(x, [0.5, 1.0]))
    np.testing.assert_array_equal(np.polyval([t, 1.0], moving).data, 0.5 * x + 1.0)


def test_masks_are_not_dropped():
    hidden = np.ma.MaskedArray([1.0, 2.0], [True, False])
    with pytest.raises(TypeError, match="mask"):
        np.nextafter(hidden, nbgrad.track(np.ones(2)))
