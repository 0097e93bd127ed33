"""Tracked numbers in formatted text: printing inside of a transformation is no error."""

import numpy as np
import pytest

import nbgrad

X = np.array([1.25, 2.0])
MODES = {
    "track": (lambda f: f(nbgrad.track(X)), "1.250"),
    "grad": (lambda f: nbgrad.grad(f)(X), "1.250"),
    "jvp": (lambda f: nbgrad.jvp(f, (X,), (X,)), "1.250"),
    "hessian": (lambda f: nbgrad.hessian(f)(X), "1.250"),
    "vmap": (lambda f: nbgrad.vmap(f)(np.stack([X, X])), "<2 samples of float64[]>"),
    "vmap of grad": (lambda f: nbgrad.vmap(nbgrad.grad(f))(np.stack([X, X])), "[1.25 1.25] ("),
    "compile": (lambda f: nbgrad.compile(f)(X), "<symbol"),
    "compile of grad": (lambda f: nbgrad.compile(nbgrad.grad(f))(X), "<symbol"),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_a_format_of_a_number(mode):
    run, begin = MODES[mode]
    texts = []

    def f(x):
        texts.append(f"{x[0]:.3f}")
        return np.sum(x * x)

    run(f)
    assert texts and all(text.startswith(begin) for text in texts)


def test_an_array_has_no_format_of_a_number():
    with pytest.raises(TypeError, match=r"'.2f' is for one number, not an array of shape \(2,\)"):
        format(nbgrad.track(X), ".2f")
