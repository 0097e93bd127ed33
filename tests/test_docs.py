"""Documents that run: the README's examples, and the row that docs/adding_an_op.md adds."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import nbgrad
from nbgrad.core import Primitive, bind
from nbgrad.rules import elementwise as module

ROOT = Path(__file__).parent.parent


def blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


def test_readme_examples():
    namespace: dict = {}
    for block in blocks(ROOT / "README.md"):
        if "elementwise(" not in block:
            exec(block, namespace)
    assert namespace["x"].grad == 2.5838531634528574
    assert np.allclose(namespace["slopes"]["a"], namespace["slopes"]["b"].T)


def test_one_row_becomes_an_op():
    row, uses = blocks(ROOT / "docs" / "adding_an_op.md")
    namespace = {**vars(module), "bind": bind, "nbgrad": nbgrad}
    try:
        exec(row, namespace)
        exec(uses, namespace)
        softplus, x = namespace["softplus"], np.array([-800.0, -1.0, 0.0, 2.0, 800.0])
        expected = np.logaddexp(0.0, x)
        np.testing.assert_allclose(softplus(x), expected, rtol=1e-15)
        slope = nbgrad.sigmoid(x)
        np.testing.assert_allclose(nbgrad.grad(lambda x: np.sum(softplus(x)))(x), slope, rtol=1e-15)
        np.testing.assert_allclose(namespace["x"].grad, nbgrad.sigmoid(namespace["x"].data))
        second = nbgrad.grad(nbgrad.grad(softplus))(0.5)
        s = nbgrad.sigmoid(0.5)
        np.testing.assert_allclose(second, s * (1 - s), rtol=1e-14)
        value, tangent = nbgrad.jvp(softplus, (0.5,), (2.0,))
        np.testing.assert_allclose([value, tangent], [np.logaddexp(0, 0.5), 2 * s], rtol=1e-14)
        value, gradient = namespace["f"](np.ones(3))
        np.testing.assert_allclose(gradient, nbgrad.sigmoid(np.ones(3)), rtol=1e-14)
        wide = nbgrad.track(np.ones((2, 1)))
        softplus(wide + np.ones(3)).sum().backward()
        np.testing.assert_allclose(wide.grad, 3 * nbgrad.sigmoid(np.full((2, 1), 2.0)), rtol=1e-14)
    finally:
        Primitive.registry.pop("softplus", None)


MODULES = ["nbgrad"] + [
    info.name
    for info in pkgutil.walk_packages(nbgrad.__path__, "nbgrad.")
    if "experiments" not in info.name and not info.name.endswith("cli")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"nbgrad": nbgrad, "np": np})
    assert result.failed == 0
