"""Which results are views: each call of NumPy's functions, held against NumPy by writing to it."""

import numpy as np
import pytest
from helpers.surface_calls import CALLS, DATA, function_of, results

import nbgrad
from nbgrad.core.array import Array

VIEWS = """
x[1:]
x[0]
x[::2, 1]
x[..., None]
x[:, ::-1][1:]
x[1:][0]
x[0][1:][::2]
x[..., 0, 0]
x[0, 0]
v[0]
v[...]
x[[0, 1]]
x[np.array(1)]
x[np.int64(1)]
x[x > 0.0]
x.T
x.T[1:].T
x.reshape(-1)
x.reshape(4, 3)[1:]
x.T.reshape(-1)
x.T.reshape(4, 3)
x[1:].reshape(-1)
x[:, 1:].reshape(-1)
x[:, :2].reshape(-1, 1)
x.ravel()
x.T.ravel()
x.ravel("F")
x.flatten()
x.swapaxes(0, 1)
x.diagonal()
x.squeeze()
x[:1].squeeze()
x[:1, :1].squeeze()
x.copy()
x.repeat(1)
x.take([0, 1])
np.ravel(x[1:])
np.squeeze(x[:1], 0)
np.expand_dims(x, 1)[0]
np.atleast_1d(x)
np.atleast_2d(v)
np.atleast_3d(v)
np.moveaxis(x, 0, 1)
np.rollaxis(x, 1)
np.split(x, 3)
np.hsplit(x, 2)
np.array_split(v, 3)
np.flip(x, 1)
np.rot90(x)
np.rot90(x, 2)
np.diag(a)
np.diag(v)
np.broadcast_to(v, (2, 4))
np.einsum("ij->i", x)
np.real(x)
np.conj(x)
np.conjugate(x)
np.positive(x)
np.tile(x, 1)
np.repeat(x, 1)
np.roll(x, 0)
np.resize(x, (3, 4))
np.concatenate([x])
np.stack([x])
np.pad(x, 0)
np.trim_zeros(v)
np.meshgrid(v, w)
np.nan_to_num(x)
np.round(x)
np.clip(x, -9.0, 9.0)
np.where(True, x, 0.0)
np.zeros_like(x)
np.sum(x[None], 0)
np.sum(x, axis=(0, 1), keepdims=True)
np.max(x[None], 0)
""".split("\n")[1:-1]

# Those that NumPy lets write to: with a warning, or by accident.
SHOWN = (
    "np.broadcast_arrays(x, v)[1]",
    'np.einsum("ij->ji", x)',
    'np.einsum("ii->i", a)',
    "np.einsum(a, [0, 0], [0])",
    "np.meshgrid(v, w, copy=False)[0]",
)

MODES = ("eager", "jvp", "vmap", "compile")


def pairs(f, given: list) -> list[tuple[list, list]]:
    """The arguments and results after a write to each argument, and after one to each result."""
    found = []

    def writes(count: int, write):
        for k in range(count):
            args = [x.copy() for x in given]
            outs = results(f(*args))
            write(k, args, outs)
            found.append((args, outs))

    def to_argument(k, args, outs):
        args[k][...] = 2.0 * args[k] + 1.0

    def to_result(k, args, outs):
        if np.shape(outs[k]) and isinstance(outs[k], (Array, np.ndarray)):
            try:
                outs[k][...] = 7.0
            except ValueError as refused:
                assert "read-only" in str(refused)

    writes(len(given), to_argument)
    writes(len(results(f(*[x.copy() for x in given]))), to_result)
    return found


def flat(x) -> list:
    return [y for pair in x for side in pair for y in side]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", VIEWS)
def test_a_write_is_seen_where_numpy_shows_it(call, mode):
    f, names = function_of(call)
    data = [DATA[name] for name in names]
    expected = [np.asarray(x) for x in flat(pairs(f, data))]
    if mode in ("compile", "vmap") and call in ("x[x > 0.0]", "np.trim_zeros(v)"):
        pytest.skip("its shape depends on values")

    def run(*args):
        return flat(pairs(f, [x * 1.0 for x in args]))

    if mode == "eager":
        found = run(*map(nbgrad.track, data))
    elif mode == "jvp":
        found = nbgrad.jvp(run, data, data)[0]
    elif mode == "vmap":
        found = [x[0] for x in nbgrad.vmap(run)(*[x[None] for x in data])]
    else:
        found = nbgrad.compile(run)(*data)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(getattr(x, "data", x), y, err_msg=call)


@pytest.mark.parametrize("call", SHOWN)
def test_views_that_are_only_read(call):
    f, names = function_of(call)
    args = [nbgrad.track(DATA[name]) * 1.0 for name in names]
    out = f(*args)
    for x in args:
        x[...] = 2.0 * x + 1.0
    np.testing.assert_array_equal(out.data, f(*[x.data for x in args]))
    with pytest.raises(ValueError, match="read-only: np"):
        out[...] = 7.0


def _is_left_out(call: str) -> bool:
    """What NumPy does to memory there is no matter of views."""
    return "like=" in call or "out=" in call or "random" in call


@pytest.mark.parametrize("call", [call for call in CALLS if not _is_left_out(call)])
def test_no_other_function_gives_a_view(call):
    f, names = function_of(call)
    data = [DATA[name] for name in names if DATA[name].ndim]
    if len(data) < len(names):
        pytest.skip("numbers are not written to")
    with np.errstate(all="ignore"):
        before = [x.copy() for x in data]
        args = [nbgrad.track(x) * 1.0 for x in data]
        try:
            plain, outs = results(f(*before)), results(f(*args))
        except (AttributeError, nbgrad.NoRuleError):
            pytest.skip("this NumPy has another function, or none")
        values = [np.array(getattr(x, "data", x)) for x in outs]
        for x, y in zip(args, before, strict=True):
            x[...] = 2.0 * x + 1.0
            y[...] = 2.0 * y + 1.0
    for out, value, expected in zip(outs, values, plain, strict=True):
        shares = isinstance(expected, np.ndarray) and any(
            np.shares_memory(expected, y) for y in before
        )
        if isinstance(out, Array) and not shares:
            np.testing.assert_array_equal(out.data, value, err_msg=call)
