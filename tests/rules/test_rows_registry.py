"""The registry itself: nothing in it escapes the tests, and the tests notice what is wrong."""

import ast
import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import test_rows_gradients as gradients
import test_rows_orders as orders
import test_rows_pullbacks as pullbacks
import test_rows_values as values
from helpers import rows
from helpers.daily import daily
from ops_page import has_rule

import nbgrad
from nbgrad.core.primitive import Primitive, bind
from nbgrad.rules.families import Custom, Elementwise, Linear, reals, sample

PACKAGE = Path(nbgrad.__file__).parent
# Scalar functions have names of their own, many of them those of rows: kernels/, ir/, compiler/
# and adjoints/ make them, and __init__.py and some rooms export those that are functions of SciPy.
SCALAR_CODE = ("adjoints", "compiler", "ir", "kernels", "linalg", "rules", "special", "stats",
               "__init__.py")  # fmt: skip


def _lists_ops(node: ast.AST, names: set[str]) -> bool:
    """Whether a node of code is a table with three names of rows, or a comparison of `.name`."""
    if isinstance(node, (ast.Dict, ast.Set, ast.List, ast.Tuple)):
        items = node.keys if isinstance(node, ast.Dict) else node.elts
        return sum(isinstance(x, ast.Constant) and x.value in names for x in items) > 2
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute):
        constants = [x for right in node.comparators for x in ast.walk(right)]
        named = any(isinstance(x, ast.Constant) and x.value in names for x in constants)
        return named and node.left.attr == "name"
    return False


def test_rows_are_known_by_their_names():
    for name, row in Primitive.registry.items():
        assert name == row.name
        assert name.isidentifier()


def test_exempt_rows_exist_and_have_no_derivative():
    exempt = rows.EXEMPT - {"cond", "loop"}  # whose gradients tests/control/ compares
    assert not [name for name in exempt if Primitive.registry[name].differentiable]


@pytest.mark.parametrize("row", rows.rows(), ids=lambda row: row.name)
def test_every_row_is_tested(row):
    cases = rows.cases_of(row)
    if row.name not in rows.KIN:
        assert any(case.compiled for case in cases), "the default run compiles none of its cases"
    assert all(low < high for case in cases for low, high in case.domains)
    assert all(case.positions for case in cases) == row.differentiable
    assert rows.reference(row) is not None


@pytest.mark.parametrize("row", rows.rows(True), ids=lambda row: row.name)
def test_conventions_are_written_down(row):
    assert row.notes or not getattr(row, "kinks", ())


def test_few_rows_are_slow():
    """What takes more than three times NumPy's forward pass (benchmarks/test_rows.py) says why."""
    slow = {row.name: row.slow for row in Primitive.registry.values() if row.slow}
    assert 0 < len(slow) <= 15, slow
    assert not [name for name, why in slow.items() if why.endswith(".") or why[:1].isspace()]
    assert not [row.name for row in Primitive.registry.values() if "slow" in row.notes]


def test_few_rows_lack_a_mode():
    """They say why: no pushforward, or no rule for many samples at once."""
    lacking = [
        row
        for row in Primitive.registry.values()
        if not has_rule(row, "batch")
        or (row.differentiable and not (has_rule(row, "pushforward") and has_rule(row, "pullback")))
    ]
    assert len(lacking) <= 10
    assert not [row.name for row in lacking if not row.notes]


@pytest.fixture
def scratch(monkeypatch):
    """A registry that forgets what a test adds to it."""
    monkeypatch.setattr(Primitive, "registry", dict(Primitive.registry))


def _same(x):
    return x


@pytest.mark.usefixtures("scratch")
def test_a_row_without_samples_fails():
    row = Linear("scratch", _same, _same, lambda ct, args: [ct], samples=[], eager_only="scratch")
    with pytest.raises(ValueError, match="scratch has no samples"):
        rows.cases_of(row)
    with pytest.raises(ValueError, match="scratch names no NumPy function"):
        rows.reference(row)


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize("options", [{"domains": []}, {"domains": [reals], "params": []}])
def test_an_elementwise_row_without_domains_or_samples_fails(options):
    row = Elementwise(None, "x * x", [lambda x, out: 2 * x], name="scratch", **options)
    with pytest.raises(ValueError, match="scratch has no"):
        rows.cases_of(row)


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize("facts", [{}, {"form": lambda graph, symbol, x: x, "eager_only": "both"}])
def test_a_row_has_a_form_or_says_why_not(facts):
    with pytest.raises(TypeError, match=r"the row scratch must say .* form=.* eager_only="):
        Linear("scratch", _same, _same, lambda ct, args: [ct], samples=[sample((3,))], **facts)


@pytest.mark.usefixtures("scratch")
def test_compile_says_why_a_row_is_eager_only():
    row = Linear(
        "scratch", _same, _same, lambda ct, args: [ct], samples=[sample((3,))],
        eager_only="it reads the stars",
    )  # fmt: skip
    with pytest.raises(nbgrad.TraceError) as caught:
        nbgrad.compile(lambda x: 2.0 * bind(row, x))(np.ones(3))
    message = str(caught.value)
    assert message.startswith("scratch is eager only: it reads the stars. Compute it outside of")
    assert "pass the result as an argument" in message
    assert "test_rows_registry.py" in message
    assert "bind(row, x)" in message


@pytest.mark.usefixtures("scratch")
def test_facts_are_read_off_the_row():
    """A row made here has a static form, a structure for elimination and a simplification."""
    row = Linear(
        "scratch", lambda x, *, axis: np.flip(x, axis), lambda x, *, axis: x,
        lambda ct, args, *, axis: [bind(row, ct, axis=axis)],
        samples=[sample((2, 3), axis=1)], function=np.flip, along="axis", unit=True,
        form=lambda graph, symbol, x: graph.map("-x", (x,), symbol.dtype),
        simplify=lambda row, builder, args, *, axis: args[0] if axis == 7 else None,
    )  # fmt: skip
    x = np.arange(6.0).reshape(2, 3)
    compiled = nbgrad.compile(lambda x: (bind(row, x, axis=1), bind(row, x, axis=7)))
    np.testing.assert_array_equal(compiled(x), (-x, x))
    assert row.blocks([(2, 3)], 0, (2, 3), axis=1) == 2
    f = functools.partial(bind, row, axis=1)
    np.testing.assert_array_equal(nbgrad.vmap(lambda x: bind(row, x, axis=0))(x), x[:, ::-1])
    graph = nbgrad.elimination.record(lambda x: np.sin(f(np.sin(x))), x)
    assert [tuple(edge) for edge in graph.edges.values()] == [(6, False), (2, True), (6, False)]


def test_the_package_has_no_tables_of_op_names():
    """What is known of an op is said on its row: outside of nbgrad/rules nothing lists rows by
    name, or compares a name with one."""
    names = set(Primitive.registry)
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        # Workloads are user code, which calls functions; `scipy` has names of SciPy.
        if path.relative_to(PACKAGE).parts[0] not in (*SCALAR_CODE, "bench", "scipy"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found += [f"{path.relative_to(PACKAGE)}: {ast.unparse(node)[:60]}"
                      for node in ast.walk(tree) if _lists_ops(node, names)]  # fmt: skip
    assert not found


@pytest.mark.usefixtures("scratch")
def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="two rows are called tanh"):
        Elementwise(np.tanh, "tanh(x)", [lambda x, out: 1 - out * out], domains=[reals])


@pytest.mark.usefixtures("scratch")
def test_a_wrong_value_or_partial_is_found():
    row = Elementwise(
        np.square, "x * x * x", [lambda x, out: 2 * x], domains=[reals], name="scratch"
    )
    case = rows.cases_of(row)[0]
    with pytest.raises(AssertionError):
        values.test_value_is_numpys(case)
    with pytest.raises(AssertionError):
        gradients.test_gradient_is_the_slope_of_the_value(case)


@pytest.mark.usefixtures("scratch")
def test_a_missing_strong_zero_is_found():
    class Weak(Elementwise):
        def pullback(self, ct, out, args, need, **params):
            return [ct * (0.5 / out)]

    row = Weak(None, "sqrt(x)", [lambda x, out: 0.5 / out], domains=[reals], name="scratch")
    with pytest.raises(AssertionError):
        pullbacks.test_zero_cotangent_gives_zero_whatever_the_partial(rows.cases_of(row)[0])


@pytest.mark.usefixtures("scratch")
def test_a_pullback_that_is_no_transpose_is_found():
    row = Linear(
        "scratch", lambda x: 3 * np.asarray(x), lambda x: x, lambda ct, args: [2 * ct],
        samples=[sample((2, 3))], eager_only="scratch",
    )  # fmt: skip
    case = rows.cases_of(row)[0]
    with pytest.raises(AssertionError):
        pullbacks.test_pullback_is_linear_in_its_cotangent(case)


@pytest.mark.usefixtures("scratch")
def test_a_wrong_pushforward_is_found():
    row = Custom(
        "scratch", lambda x: np.sin(x), lambda x: x,
        lambda ct, out, args, need: [ct * np.cos(args[0])],
        lambda tangents, out, args: tangents[0] * np.sin(args[0]),
        samples=[sample((3,))], eager_only="scratch",
    )  # fmt: skip
    case = rows.cases_of(row)[0]
    for test in (
        orders.test_pushforward_is_the_slope_of_the_value,
        orders.test_pushforward_and_pullback_are_adjoint,
        orders.test_second_order_three_ways,
        orders.test_third_order_four_ways,
    ):
        with pytest.raises(AssertionError):
            test(case)


@pytest.mark.usefixtures("scratch")
def test_a_rule_that_forgets_its_own_derivative_is_found():
    row = Custom(
        "scratch", lambda x: np.sin(x), lambda x: x,
        lambda ct, out, args, need: [ct * nbgrad.stop_gradient(np.cos(args[0]))],
        lambda tangents, out, args: tangents[0] * np.cos(args[0]),
        samples=[sample((3,))], eager_only="scratch",
    )  # fmt: skip
    case = rows.cases_of(row)[0]
    orders.test_pushforward_and_pullback_are_adjoint(case)
    for test in (orders.test_second_order_three_ways, orders.test_third_order_four_ways):
        with pytest.raises(AssertionError):
            test(case)


FILES = ("rules/test_rows_values.py", "values/test_tracked.py", "rules/test_rows_gradients.py",
         "rules/test_rows_batches.py", "rules/test_rows_pullbacks.py")  # fmt: skip


@pytest.mark.skipif(rows.PLAIN_PYTHON, reason="this is the plain run")
@pytest.mark.parametrize("part", daily(range(24), 1))
def test_all_cases_with_kernels_as_plain_python(part, pytestconfig):
    """Every shape: compiling adds nothing to these but time."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-q", "-m", "", "-p", "no:cacheprovider",
         "--tb=short", "-k", "not f32", "--part", f"{part}/24",
         *(f"tests/{file}" for file in FILES)],
        env=inherited | {"NUMBA_DISABLE_JIT": "1"},
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
