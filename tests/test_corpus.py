"""The functions of the corpus in every mode against differences: with `import nbgrad.numpy as np`
all are right; with NumPy's own import they are right or an error names the other one."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from corpus import NAMES, OURS, PLAIN, Case, find

import nbgrad
from nbgrad.transforms import trees

SAMPLES = 3
STEP = 1e-6
RTOL = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-3}
"""Of derivatives, against central differences in double precision."""


def weighted(f: Callable) -> Callable:
    """One number of all numbers that a function gives."""

    def loss(*args):
        total = 0.0
        for i, leaf in enumerate(trees.flatten(f(*args))[0]):
            size = int(np.prod(np.shape(leaf)))
            total = total + np.sum(leaf * np.cos(np.arange(i, i + size).reshape(np.shape(leaf))))
        return total

    return loss


def exact(args: tuple) -> tuple:
    """The arguments in double precision."""
    return tuple([np.asarray(x, float)[()] for x in args])


@cache
def reference(name: str, sample: int = 0) -> tuple[Any, list[Any]]:
    """The value and the gradients by NumPy and central differences."""
    this = find(name, PLAIN)
    loss, args = weighted(this), this.arguments(sample)
    slopes = []
    for i, x in enumerate(exact(args)):
        slope = np.zeros(np.shape(x))
        for index in np.ndindex(np.shape(x)):
            step = np.zeros(np.shape(x))
            step[index] = STEP * max(1.0, abs(np.asarray(x)[index]))
            above, below = [
                loss(*exact(args[:i]), _as(x + way), *exact(args[i + 1 :])) for way in (step, -step)
            ]
            slope[index] = (above - below) / (2.0 * step[index])
        slopes.append(slope)
    return loss(*args), slopes


def _as(x: Any) -> Any:
    return x if np.shape(x) else float(x)


def check_value(found: Any, expected: Any, rtol: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol * 1e-3, atol=rtol * 1e-3)


def check(found: Any, name: str, sample: int, rtol: float) -> None:
    """A value and gradients are those of the reference."""
    value, slopes = reference(name, sample)
    check_value(found[0], value, rtol)
    scale = max([1.0, *(np.max(np.abs(slope), initial=0.0) for slope in slopes)])
    assert len(found[1]) == len(slopes)
    for x, slope in zip(found[1], slopes, strict=True):
        assert np.shape(x) == np.shape(slope)
        np.testing.assert_allclose(x, slope, rtol=0, atol=rtol * scale)


def rtol(args: tuple) -> float:
    return max(RTOL[np.result_type(x)] for x in args)


def differentiated(this: Case) -> Callable:
    return nbgrad.value_and_grad(weighted(this), argnums=tuple(range(len(this.draws))))


def eager(this: Case, name: str) -> None:
    args = this.arguments()
    check(differentiated(this)(*args), name, 0, rtol(args))


def compiled(this: Case, name: str) -> None:
    args = this.arguments()
    check(nbgrad.compile(differentiated(this))(*args), name, 0, rtol(args))


def forward(this: Case, name: str) -> None:
    args = this.arguments()
    rng = np.random.default_rng(7)
    along = tuple([_as(rng.standard_normal(np.shape(x)).astype(np.result_type(x))) for x in args])
    value, slopes = reference(name)
    found, pushed = nbgrad.jvp(weighted(this), args, along)
    check_value(found, value, rtol(args))
    terms = [np.asarray(slope) * way for slope, way in zip(slopes, along, strict=True)]
    scale = max([1.0, *(np.sum(np.abs(term)) for term in terms)])
    assert abs(pushed - sum(map(np.sum, terms))) <= rtol(args) * scale


def vmap(this: Case, name: str) -> None:
    samples = [this.arguments(i) for i in range(SAMPLES)]
    stacked = [np.stack([np.asarray(x) for x in same]) for same in zip(*samples, strict=True)]
    values, slopes = nbgrad.vmap(differentiated(this))(*stacked)
    for i in range(SAMPLES):
        check((values[i], [slope[i] for slope in slopes]), name, i, rtol(samples[0]))


MODES = {"eager": eager, "forward": forward, "vmap": vmap, "compiled": compiled}
in_each_mode = pytest.mark.parametrize(("name", "mode"), [
    pytest.param(name, mode, marks=pytest.mark.full if mode == "compiled" and i % 7 else ())
    for i, name in enumerate(NAMES) for mode in MODES
])  # fmt: skip
"""Every seventh function compiled; the others are long tests."""


@pytest.mark.parametrize("name", NAMES)
def test_outside_of_derivatives_nbgrad_numpy_gives_what_numpy_gives(name):
    ours, plain = [find(name, line) for line in (OURS, PLAIN)]
    found, expected = [trees.flatten(f(*f.arguments()))[0] for f in (ours, plain)]
    assert [type(x) for x in found] == [type(x) for x in expected]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


@in_each_mode
def test_with_the_import_changed_all_are_right(name, mode):
    this = find(name, OURS)
    if mode not in this.refused:
        MODES[mode](this, name)
        return
    with pytest.raises(nbgrad.NbgradError, match=this.refused[mode]):
        MODES[mode](this, name)


@in_each_mode
def test_with_numpy_itself_they_are_right_or_told_of_the_other_import(name, mode):
    try:
        MODES[mode](find(name, PLAIN), name)
    except nbgrad.NbgradError as error:
        sentence = find(name, OURS).refused.get(mode, "nbgrad.numpy")
        assert any(x in str(error) for x in ("nbgrad.numpy", "nbgrad.random", sentence))


def test_few_functions_are_refused_by_a_mode():
    refused = [name for name in NAMES if find(name, OURS).refused]
    assert len(NAMES) >= 120 > 5 * len(refused)
