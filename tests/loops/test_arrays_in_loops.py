"""Functions of arrays in functions with loops: what is taken has the values and the derivatives of
eager calls, and what is refused is on a list."""

import re
from typing import Any

import numpy as np
import pytest
from fuzz.frontend import function_of as made
from helpers.daily import daily
from helpers.surface_calls import DATA, PLAIN, results

import nbgrad

GROUPS = """
np.ptp(x, axis=1); np.nansum(xn, axis=0); np.nanmean(xn, axis=1); np.nanmin(xn)
np.nanvar(xn, axis=0); np.nanmax(xn, axis=0); np.cumprod(x); np.cumulative_sum(x, axis=0)
np.add.reduce(x, axis=None); np.maximum.reduce(x, axis=(0, 1)); np.add.accumulate(x)
np.sort(x, axis=0); np.partition(x, 1, axis=1); np.nanmin(xn)
np.take_along_axis(x, np.argsort(x, axis=1), axis=1); np.take(x, [0, 2], axis=1)
np.einsum('ij,kj->ik', x, y); np.tensordot(x, y, (1, 1)); np.inner(x, y); np.vdot(x, y)
np.linalg.norm(v, 3); np.linalg.norm(x, 1); np.linalg.norm(x, np.inf)
np.linalg.matrix_power(a, 3); np.dot(x, y.T)
np.linalg.qr(x.T)[0]; np.linalg.qr(x)[1]; np.linalg.qr(a, mode='r')
np.linalg.vecdot(x, y); np.linalg.trace(x); np.linalg.matrix_transpose(x)
np.concatenate([x, y], axis=1, dtype=np.float64); np.block([[x, y], [y, x]]); np.dstack([x, y])
np.append(v, x); np.delete(x, 1, axis=1); np.tile(x, (2, 1)); np.roll(x, 1)
np.moveaxis(x, 0, 1); np.squeeze(x[None]); np.expand_dims(x, (0, 2)); np.rot90(x)
np.split(x, [1, 3], axis=1); np.broadcast_arrays(x, v, c); np.atleast_2d(v); np.diag(v, 1)
np.pad(x, 2, mode='edge'); np.gradient(x); np.trapezoid(x, v, axis=1); np.diff(x, axis=0)
np.polyder(v); np.polyint(v); np.angle(x, deg=True); np.sinc(x); np.average(x, axis=1)
""".strip().splitlines()


def names_in(call: str) -> list[str]:
    return [name for name in DATA if re.search(rf"\b{name}\b", call)]


def function_of(call: str, names: list[str]) -> Any:
    function = made(f"def drawn({', '.join(names)}):\n    return {call}\n")
    function.__globals__.update(PLAIN)
    return function


def given(names: list[str]) -> list[Any]:
    return [DATA[name] if DATA[name].ndim else float(DATA[name]) for name in names]


def weighted(value: Any) -> Any:
    """A number whose derivatives tell the elements of results apart."""
    total: Any = 0.0
    for each in results(value):
        for x in results(each):
            size = int(np.prod(np.shape(x)))
            total = total + np.sum(x * np.reshape(np.cos(np.arange(size)), np.shape(x)))
    return total


@pytest.mark.parametrize("line", daily(GROUPS, len(GROUPS) // 2), ids=lambda line: line[:40])
def test_calls_of_arrays(line):
    calls = [call.strip() for call in line.split(";")]
    names = names_in(line)
    plain = function_of(f"({', '.join(calls)},)", names)
    function, args = nbgrad.njit(plain), given(names)
    places = tuple(range(len(args)))
    wanted, slopes = nbgrad.value_and_grad(lambda *x: weighted(plain(*x)), places)(*args)
    value, found = nbgrad.value_and_grad(lambda *x: weighted(function(*x)), places)(*args)
    assert value == pytest.approx(wanted, rel=1e-10)
    for mine, theirs in zip(found, slopes, strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs), rtol=1e-8, atol=1e-10)


LENGTHS = (
    """
np.average(x, axis=1); np.linalg.trace(x); np.pad(x, 2, mode='edge'); np.vdot(x, y)
np.gradient(x); np.roll(x, 3, axis=1); np.linalg.qr(x)[1]
""".replace(";", "\n")
    .strip()
    .splitlines()
)


@pytest.mark.parametrize("call", LENGTHS)
def test_one_program_for_all_lengths(call):
    """The program is right, or lengths for which it is not are refused."""
    names = names_in(call)
    plain = function_of(call, names)
    function = nbgrad.njit(plain)
    random, refused = np.random.default_rng(0), 0
    shapes = (3, 4), (4, 3), (5, 5), (7, 9), (2, 2), (1, 4), (4, 1), (1, 1)
    for shape in shapes:
        args = [random.normal(size=shape) for _ in names]
        try:
            wanted = results(plain(*args))
        except ValueError:
            with pytest.raises((ValueError, nbgrad.NoRuleError)):
                nbgrad.vjp(function, *args)
            continue
        try:
            found = results(nbgrad.vjp(function, *args)[0])
        except (ValueError, nbgrad.NoRuleError):
            refused += 1
            continue
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)
    assert refused <= 3


def doubled(x, n):
    for _ in range(n):
        parts = np.split(x, [2], axis=0)
        parts[0][...] = 2.0 * parts[0]  # a view of x
        np.moveaxis(x, 0, 1)[0, 0] = 3.0
        np.copyto(x, np.tile(x[:1] * x[2:], (3, 1)), where=x < -1.0)
    return np.linalg.norm(x, np.inf) + np.sum(x * x)


def test_views_and_writes():
    x = DATA["x"]
    function = nbgrad.njit(doubled)
    wanted, slope = nbgrad.value_and_grad(lambda x: doubled(x * 1.0, 2))(x)
    value, found = nbgrad.value_and_grad(function)(x, 2)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(found, slope, rtol=1e-10)


def changed(x):
    """Copies that are written, of functions that are views in simple cases."""
    for copy in (np.delete(x, 0, axis=0), np.take(x, [0, 1], axis=1), np.tile(x, 1)):
        copy[0] = 5.0
    np.squeeze(x[None])[1] = 7.0
    return np.sum(x * x)


def test_copies_are_copies():
    x = DATA["x"]
    assert nbgrad.value_and_grad(nbgrad.njit(changed))(x)[0] == pytest.approx(changed(np.copy(x)))


REFUSED = {
    "np.summ(x)": "summ, which the module numpy does not have",
    "np.packbits(x)": "a call of packbits",
    "np.unique_values(v)": "a call of unique_values",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_refused_is_named(call):
    names = names_in(call)
    function = nbgrad.njit(function_of(call, names))
    with pytest.raises(nbgrad.NoRuleError, match=REFUSED[call]):
        nbgrad.vjp(function, *given(names))
