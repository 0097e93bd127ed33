"""Refusals that a function catches: raised at its end; and probes that are none."""

import math

import numpy as np
import pytest

import nbgrad

X = np.array([1.2, 0.7])
CALLS = {
    "grad": lambda f: nbgrad.grad(f)(X),
    "jvp": lambda f: nbgrad.jvp(f, (X,), (X,)),
    "vmap": lambda f: nbgrad.vmap(f)(np.stack([X, X])),
    "vmap of grad": lambda f: nbgrad.vmap(nbgrad.grad(f))(np.stack([X, X])),
    "trace": lambda f: nbgrad.linear_transpose(f, X),
    "hessian": lambda f: nbgrad.hessian(f)(X),
}
SWALLOWED = {
    "float": float,
    "int": int,
    "complex": complex,
    "math.exp": math.exp,
    "math.floor": math.floor,
    "asarray": np.asarray,
    "asarray of floats": lambda v: np.asarray(v, float),
    "array": lambda v: np.array([v, v]),
    "full": lambda v: np.full(2, v),
    "fill": lambda v: np.zeros(2).__setitem__(0, v),
    "float64": np.float64,
    "item": lambda v: v.item(),
    "tolist": lambda v: v.tolist(),
    "hash": lambda v: {v: 1},
    "fsum": lambda v: math.fsum([v]),
}
PROBES = {
    "repr": repr,
    "str": str,
    "list": lambda v: str([v]),
    "ndim": np.ndim,
    "shape": np.shape,
    "isscalar": np.isscalar,
    "hasattr": lambda v: hasattr(v, "fit"),
    "getattr": lambda v: getattr(v, "fit", None),
    "isinstance": lambda v: isinstance(v, (float, list, str)),
    "iterable": np.iterable,
    "callable": callable,
    "len": len,
    "text": lambda v: float("text"),
    "shapes": lambda v: v + np.zeros(7),
    "result_type": lambda v: np.result_type(v, float),
    "float of an array": lambda v: float(np.stack([v, v])),
    "math of an array": lambda v: math.exp(np.stack([v, v])),
}


def goes_on_after(probe):
    def f(x):
        v, factor = x[0] * 1.5, 1.0
        try:
            probe(v)
        except (TypeError, ValueError):
            factor = 100.0
        return np.sum(x) * (1.0 + 0.0 * factor)

    return f


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("probe", SWALLOWED.values(), ids=SWALLOWED)
def test_a_refusal_that_is_caught_is_raised_at_the_end(probe, call):
    with pytest.raises(nbgrad.NbgradError, match=r"was caught at test_swallowed.py:"):
        call(goes_on_after(probe))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_probes_that_plain_numbers_fail_as_well_are_none(probe, call):
    call(goes_on_after(probe))


def test_a_refusal_outside_and_another_error_are_left_alone():
    with pytest.raises(nbgrad.UntrackedError):
        float(nbgrad.track(1.0))
    assert nbgrad.grad(lambda x: np.sum(x * x))(X)[0] == 2.4

    def f(x):
        try:
            return float(x[0])
        except TypeError:
            raise KeyError("mine") from None

    with pytest.raises(KeyError, match="mine"):
        nbgrad.grad(f)(X)
    assert nbgrad.grad(lambda x: np.sum(x * x))(X)[0] == 2.4
