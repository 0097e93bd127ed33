"""The rows that docs/development/adding_an_op.md adds, in every test that rows get."""

import re
from pathlib import Path

import numpy as np
import pytest
import test_rows_gradients as gradients
import test_rows_orders as orders
import test_rows_pullbacks as pullbacks
import test_rows_values as values
from helpers import rows
from helpers.compiled import assert_compiled, functions_of
from ops_page import table

import nbgrad
from nbgrad.compiler.kernel import module_of
from nbgrad.core.functions import functions
from nbgrad.core.primitive import Primitive
from nbgrad.kernels import running
from nbgrad.rules import activation, norm, recurrences
from nbgrad.rules.families import Elementwise
from nbgrad.rules.surface import nan

GUIDE = Path(__file__).parents[2] / "docs" / "development" / "adding_an_op.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def guide(monkeypatch):
    """The names that the guide's blocks define in two files of nbgrad/rules, and what is made with
    them, in a registry that forgets them afterwards."""
    monkeypatch.setattr(Primitive, "registry", dict(Primitive.registry))
    found = {}
    monkeypatch.setitem(functions, np.nancumsum, functions[np.nancumsum])
    row, uses, other, other_uses, kernel, with_kernel, composed = BLOCK.findall(
        GUIDE.read_text(encoding="utf-8")
    )
    made = module_of(kernel, device=running.device, kernel=running.kernel)
    for name in ("decayed", "decayed_of_arrays"):
        monkeypatch.setattr(running, name, getattr(made, name), raising=False)
    blocks = (
        (activation, row + uses), (norm, other + other_uses), (recurrences, with_kernel),
        (nan, composed),
    )  # fmt: skip
    for module, code in blocks:
        namespace = {**vars(module), "nbgrad": nbgrad}
        exec(code, namespace)
        found |= namespace
    return found


def test_one_row_becomes_an_op_in_every_mode(guide):
    op, x = guide["logistic"], np.array([-800.0, -1.0, 0.0, 2.0, 800.0])
    slope = nbgrad.sigmoid(x)
    np.testing.assert_allclose(op(x), np.logaddexp(0.0, x), rtol=1e-15)
    np.testing.assert_allclose(nbgrad.grad(lambda x: np.sum(op(x)))(x), slope, rtol=1e-15)
    np.testing.assert_allclose(guide["x"].grad, nbgrad.sigmoid(guide["x"].data))
    s = nbgrad.sigmoid(0.5)
    np.testing.assert_allclose(nbgrad.grad(nbgrad.grad(op))(0.5), s * (1 - s), rtol=1e-14)
    value, tangent = nbgrad.jvp(op, (0.5,), (2.0,))
    np.testing.assert_allclose([value, tangent], [np.logaddexp(0, 0.5), 2 * s], rtol=1e-14)
    value, gradient = guide["f"](np.ones(3))
    np.testing.assert_allclose(gradient, nbgrad.sigmoid(np.ones(3)), rtol=1e-14)
    wide = nbgrad.track(np.ones((2, 1)))
    op(wide + np.ones(3)).sum().backward()
    np.testing.assert_allclose(wide.grad, 3 * nbgrad.sigmoid(np.full((2, 1), 2.0)), rtol=1e-14)


def test_a_function_made_of_rows(guide):
    x = np.array([1.0, np.nan, 2.0])
    for f in (guide["nancumsum"], np.nancumsum, nbgrad.compile(np.nancumsum)):
        np.testing.assert_array_equal(np.asarray(f(nbgrad.track(x).data)), np.nancumsum(x))
    slope = nbgrad.grad(lambda x: np.sum(np.nancumsum(x)))
    np.testing.assert_array_equal(slope(x), [3.0, 0.0, 1.0])


def test_one_row_of_another_family_too(guide):
    m = guide["m"]
    centred = m - m.mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(guide["centred"], centred, rtol=1e-15)
    np.testing.assert_allclose(guide["slope"], 2 * centred, rtol=1e-15)
    np.testing.assert_allclose(guide["samples"], centred, rtol=1e-15)


@pytest.mark.usefixtures("guide")
@pytest.mark.parametrize("name", ["logistic", "center", "decayed"])
def test_the_tests_of_all_rows_take_the_new_ones(name):
    for case in rows.cases_of(Primitive.registry[name]):
        if case.compiled:
            values.test_value_is_numpys(case)
            gradients.test_gradient_is_the_slope_of_the_value(case)
            gradients.test_second_order_is_the_slope_of_the_gradient(case)
            orders.test_second_order_three_ways(case)
            pullbacks.test_emitted_traced_and_plain_rules_agree(case)
            pullbacks.test_pullback_is_linear_in_its_cotangent(case)
            assert_compiled(case, *functions_of(case, case.draw()))
            if isinstance(case.row, Elementwise):
                pullbacks.test_zero_cotangent_gives_zero_whatever_the_partial(case)
    assert f"| {name} |" in table()
