"""NumPy's generators in recorded functions are found wherever a function reaches them."""

from functools import partial

import numpy as np
import pytest

import nbgrad

RNG, OTHER, OLD = np.random.default_rng(0), np.random.default_rng(3), np.random.RandomState(4)


class Model:
    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.unused = np.random.default_rng(2)

    def noisy(self, x):
        return np.sum(x * self.rng.normal(size=3))

    def twice(self, x):
        return 2.0 * self.noisy(x)

    def plain(self, x):
        return np.sum(x * x)

    __call__ = twice


MODEL = Model()
NESTED = {"models": [MODEL]}


def by_default(x, rng=OTHER):
    return np.sum(x * rng.normal(size=3))


def by_keyword(x, *, rng=OLD):
    return np.sum(x * rng.normal(size=3))


DRAWING = {
    "a global": lambda x: np.sum(x * RNG.normal(size=3)),
    "an attribute": MODEL.noisy,
    "an attribute, by another method": MODEL.twice,
    "a callable object": MODEL,
    "a global object": lambda x: MODEL.noisy(x),
    "an object in containers": lambda x: NESTED["models"][0].noisy(x),
    "a default": by_default,
    "a keyword's default": by_keyword,
    "a partial": partial(Model.noisy, MODEL),
    "an argument of a partial": partial(by_default, rng=RNG),
}
WAYS = {
    "compile": nbgrad.compile,
    "compile of grad": lambda f: nbgrad.compile(nbgrad.grad(f)),
    "compile of vmap": lambda f: nbgrad.compile(nbgrad.vmap(lambda i: f(i * np.ones(3)))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DRAWING)
def test_drawing_is_refused(name, way):
    with pytest.raises(nbgrad.TraceError, match=r"a NumPy Generator draws .* nbgrad\.random"):
        WAYS[way](DRAWING[name])(np.ones(3))


def test_generators_that_do_not_draw_are_no_error():
    assert nbgrad.compile(MODEL.plain)(np.ones(3)) == 3.0
