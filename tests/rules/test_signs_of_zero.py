"""The sign of zero, as NumPy has it, in both tiers.

What NumPy leaves open is not compared: which of two equal zeros `np.max`, `np.fmax` and their kin
give depends there on the length of an array; and which sign BLAS gives.
"""

from collections.abc import Callable

import numpy as np
import pytest

import nbgrad

FIRST, SECOND = np.array([0.0, -0.0, 0.0, -0.0]), np.array([0.0, 0.0, -0.0, -0.0])
UNARY = """
    absolute negative positive sqrt cbrt square sin cos tan arcsin arctan sinh tanh arcsinh arctanh
    expm1 log1p floor ceil trunc rint sign deg2rad rad2deg fabs reciprocal exp2 sum prod mean cumsum
    cumprod nansum nanprod nancumsum sort diff flip real nan_to_num around fix sinc var
""".split()  # fmt: skip
BINARY = """
    add subtract multiply divide maximum minimum copysign arctan2 hypot power float_power fmod
    remainder floor_divide heaviside logaddexp
""".split()  # fmt: skip
OTHERS: dict[str, Callable] = {
    "x + 0.0": lambda x: x + 0.0,
    "x + 0": lambda x: x + 0,
    "x - 0": lambda x: x - 0,
    "0.0 + x": lambda x: 0.0 + x,
    "-0.0 + x": lambda x: -0.0 + x,
    "x - -0.0": lambda x: x - -0.0,
    "0 - x": lambda x: 0 - x,
    "-(0 - x)": lambda x: -(0 - x),
    "x - x": lambda x: x - x,
    "-(x - x)": lambda x: -(x - x),
    "x + -x": lambda x: x + -x,
    "-x - x": lambda x: -x - x,
    "(x - 1) * 0": lambda x: (x - 1) * 0,
    "(x - 1) * -0.0": lambda x: (x - 1) * -0.0,
    "0 / (x - 1)": lambda x: 0 / (x - 1),
    "x / -1": lambda x: x / -1,
    "x ** 2": lambda x: x**2,
    "x ** 3": lambda x: x**3,
    "x ** -3": lambda x: x**-3,
    "x ** 0.5": lambda x: x**0.5,
    "x // -2": lambda x: x // -2,
    "(x + 2) % -2": lambda x: (x + 2) % -2,
    "(x - 2) % 2": lambda x: (x - 2) % 2,
    "round up to -0": lambda x: np.round(x - 0.2),
    "two digits": lambda x: np.round(x - 0.002, 2),
    "where": lambda x: np.where(x == 0, -0.0, x),
    "where of choices": lambda x: np.where(x >= 0, x, -x),
    "clip": lambda x: np.clip(x, -0.0, 1.0),
    "clip above": lambda x: np.clip(x, -1.0, 0.0),
    "max(x, 0)": lambda x: np.maximum(x, 0.0),
    "max(-0, x)": lambda x: np.maximum(-0.0, x),
    "min(x, -0)": lambda x: np.minimum(x, -0.0),
    "sum of nothing": lambda x: np.sum(x[:0]),
    "sums of nothing": lambda x: np.sum(np.reshape(x[:0], (0, 3)), axis=0),
    "sum of one": lambda x: np.sum(x[1:2], keepdims=True),
    "sums of one": lambda x: np.sum(np.reshape(x, (4, 1)), axis=1),
    "sum of a choice": lambda x: np.sum(x, where=x > 0),
    "sum of a broadcast": lambda x: np.sum(np.broadcast_to(x[1], (3,))),
    "sum of signs": lambda x: np.sum(-np.reshape(x, (1, 4)), axis=0),
    "trace": lambda x: np.trace(np.reshape(x[1:2], (1, 1))),
    "einsum": lambda x: np.einsum("ij->i", -np.reshape(x * x, (2, 2))),
    "outer": lambda x: np.outer(x, [1.0, -1.0]),
    "kron": lambda x: np.kron(x, [1.0, -2.0]),
    "pad": lambda x: np.pad(x, 1, constant_values=-0.0),
    "vander": lambda x: np.vander(x, 3),
    "set": lambda x: nbgrad.at(x)[0].set(-0.0),
    "beside a constant": lambda x: np.full_like(x, -0.0) + x,
    "stack": lambda x: np.concatenate([x, -x]),
}


def _cases():
    for name in UNARY:
        yield name, getattr(np, name), (FIRST,)
    for name in BINARY:
        for shift in (0.0, 1.0, -1.0):
            yield f"{name}{shift:+}", getattr(np, name), (FIRST, SECOND + shift)
    for name, f in OTHERS.items():
        yield name, f, (FIRST,)


@pytest.mark.parametrize("name,f,args", [pytest.param(*case, id=case[0]) for case in _cases()])
def test_zeros_have_the_sign_of_numpy(name: str, f: Callable, args: tuple):
    with np.errstate(all="ignore"):
        expected = np.asarray(f(*args))
        found = {
            "eager": f(*map(nbgrad.track, args)),
            "compiled": nbgrad.compile(lambda *args: f(*args))(*args),
            "batched": nbgrad.vmap(f)(*[np.stack([x, x]) for x in args])[0],
        }
    for tier, value in found.items():
        value = np.asarray(getattr(value, "data", value))
        np.testing.assert_array_equal(value, expected, tier)
        wrong = (np.signbit(value) != np.signbit(expected)) & ~np.isnan(expected)
        assert not np.any(wrong), f"{name}, {tier}: {value} for {expected}"
