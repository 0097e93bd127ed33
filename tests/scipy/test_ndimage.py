"""`nbgrad.scipy.ndimage`: SciPy's values in all modes, and derivatives."""

# The annotations of SciPy know no tracked arrays.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOperatorIssue=false

import numpy as np
import pytest
import scipy.ndimage as scipys
from helpers.smooth import agree

import nbgrad
from nbgrad.scipy import ndimage as ours
from nbgrad.scipy.ndimage.borders import MODES

RNG = np.random.default_rng(0)
SHAPES = [(13,), (5, 6), (4, 3, 5)]
IMAGE = RNG.normal(size=(5, 6))
AT = RNG.integers(-4, 9, (2, 5)) + RNG.uniform(0.55, 0.95, (2, 5))
AT[:, :2] = [[1.6, 2.9], [3.7, 0.6]]  # inside


def tracked(f, x, *args, **options):
    return f(nbgrad.track(x), *args, **options).data


def same(one, other, atol=1e-12):
    assert one.shape == other.shape and one.dtype == other.dtype
    np.testing.assert_allclose(one, other, rtol=0, atol=atol * (1 + np.abs(other).max()))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES)
def test_filters_are_scipys(shape, mode):
    x = RNG.normal(size=shape)
    options = {"mode": mode, "cval": 1.3}
    for sizes, origin in (((3,) * len(shape), 0), ((4, 2, 3)[: len(shape)], -1)):
        w = RNG.normal(size=sizes)
        for name in ("correlate", "convolve"):
            one, other = getattr(ours, name), getattr(scipys, name)
            same(
                tracked(one, x, w, origin=origin, **options), other(x, w, origin=origin, **options)
            )
            one, other = getattr(ours, f"{name}1d"), getattr(scipys, f"{name}1d")
            line = w.ravel()[: sizes[0]]
            same(tracked(one, x, line, 0, **options), other(x, line, 0, **options))
    for sigma, order in ((1.2, 1), (0.7, (0, 2, 3)[: len(shape)])):
        same(
            tracked(ours.gaussian_filter, x, sigma, order, **options),
            scipys.gaussian_filter(x, sigma, order, **options),
        )
    same(
        tracked(ours.uniform_filter, x, 4, origin=1, **options),
        scipys.uniform_filter(x, 4, origin=1, **options),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [*SHAPES, (2, 2)])
def test_map_coordinates_is_scipys(shape, mode):
    x = RNG.normal(size=shape)
    at = np.stack([
        np.concatenate([RNG.uniform(-2.5 * n, 3.5 * n, 20), np.arange(-n, 2 * n)[:6],
                        np.arange(6) - 0.5]) for n in shape
    ])  # fmt: skip
    y, same_mode = x, mode
    for order in range(6):
        if order == 2 and mode in ("reflect", "grid-mirror"):
            # SciPy's splines are not exact along axes shorter than 12; of repeated images they are.
            y, same_mode = np.pad(x, [(0, n) for n in shape], "symmetric"), "grid-wrap"
        same(
            tracked(ours.map_coordinates, x, at, order=order, mode=mode, cval=0.3),
            scipys.map_coordinates(y, at, order=order, mode=same_mode, cval=0.3),
        )


def test_short_axes_are_interpolated():
    x = np.array([1.0, 3.0, 2.0])
    at = np.arange(3.0)[None]
    for order in range(6):
        same(tracked(ours.map_coordinates, x, at, order=order, mode="reflect"), x)


def test_dtypes_are_scipys():
    x = IMAGE.astype(np.float32)
    same(tracked(ours.gaussian_filter, x, 1.0), scipys.gaussian_filter(x, 1.0), 1e-6)
    assert ours.uniform_filter(np.arange(6), 3).dtype == np.int64


def test_derivatives_of_filters():
    agree(
        lambda x, w, s: ours.gaussian_filter(ours.convolve(x, w, mode="mirror"), s, 1, radius=3),
        IMAGE, RNG.normal(size=(3, 2)), np.array(1.3),
    )  # fmt: skip


def test_derivatives_of_map_coordinates():
    agree(lambda x, p: ours.map_coordinates(x, p, order=4, mode="mirror"), IMAGE, AT)
    agree(lambda x, p: ours.map_coordinates(x, p, order=1, mode="grid-wrap"), IMAGE, AT)


@pytest.mark.full
@pytest.mark.parametrize("order", [2, 3, 5])
@pytest.mark.parametrize("mode", MODES)
def test_derivatives_in_each_mode(mode, order):

    def read(x, p):  # by our coefficients for plain arrays, too
        plain = type(x) is type(p) is np.ndarray
        out = ours.map_coordinates(nbgrad.track(x) if plain else x, p, None, order, mode, 0.3)
        return out.data if plain else out

    agree(read, IMAGE, AT, twice=False)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: ours.correlate(x, np.ones((3, 3)), mode="mirrored"), ValueError, "mode"),
        (lambda x: ours.correlate(x, np.ones(3)), ValueError, r"\(3,\) for 2 axes"),
        (lambda x: ours.correlate1d(x, np.ones(3), origin=2), ValueError, "origin 2"),
        (lambda x: ours.gaussian_filter(x, x[0, 0]), nbgrad.NoRuleError, "radius"),
        (lambda x: ours.gaussian_filter(x, (1.0, 2.0, 3.0)), ValueError, "sigma has 3"),
        (lambda x: ours.map_coordinates(x, np.zeros((3, 2))), ValueError, r"\(2, \.\.\.\)"),
        (lambda x: ours.map_coordinates(x, np.zeros((2, 2)), order=6), ValueError, "0 to 5"),
        (lambda x: ours.uniform_filter(x, output=np.zeros((5, 6))), nbgrad.NoRuleError, "output"),
    ],
)
def test_bad_arguments_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call(nbgrad.track(IMAGE))
