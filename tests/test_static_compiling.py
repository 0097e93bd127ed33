"""How much is compiled for a program: lines, kernels, machine code."""

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

import nbgrad
from nbgrad.kernels import scalar
from nbgrad.static.rolled import rolled


def recurrent(steps):
    def loss(params, x):
        w, u, b = params
        h = np.zeros((4, 6))
        for t in range(steps):
            h = np.tanh(x[t] @ w + h @ u + b)
        return np.sum(h * h)

    return loss


def deep(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return np.sum(x * x)


def core_of(variant):
    text = variant.source
    start = text.index("_core(")
    return text[start : text.index("\n\n\n", start)].split("\n")


def close(got, expected):
    for a, b in zip(np.atleast_1d(got), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.max(np.abs(b)))


def test_an_unrolled_network_has_as_many_lines_for_more_steps(rng):
    params = [rng.normal(size=s) * 0.3 for s in ((3, 6), (6, 6), (6,))]
    lines = []
    for steps in (24, 48):
        x = rng.normal(size=(steps, 4, 3))
        loss = nbgrad.value_and_grad(recurrent(steps))
        compiled = nbgrad.compile(loss)
        (value, gradient), (expected, wanted) = compiled(params, x), loss(params, x)
        close(value, expected)
        for a, b in zip(gradient, wanted, strict=True):
            close(a, b)
        lines.append(len(core_of(compiled.only_variant("source"))))
    assert lines[1] <= lines[0] + 4


def test_many_layers_through_a_table_of_addresses(rng):
    params = [(rng.normal(size=(5, 5)) * 0.4, rng.normal(size=5)) for _ in range(15)]
    x = rng.normal(size=(7, 5))
    compiled = nbgrad.compile(nbgrad.value_and_grad(deep))
    value, gradient = compiled(params, x)
    expected, wanted = nbgrad.value_and_grad(deep)(params, x)
    close(value, expected)
    for layer, other in zip(gradient, wanted, strict=True):
        for a, b in zip(layer, other, strict=True):
            close(a, b)
    variant = compiled.only_variant("source")
    assert variant.packed and any("for step in" in line for line in core_of(variant))
    assert len(core_of(variant)) < 40


def test_lines_are_rolled_only_where_their_numbers_go_in_equal_steps():
    def texts(*lines):
        return [text for text, _ in rolled([(line, "") for line in lines])]

    even = [f"f(p, {i * 8}, 1e-05, 0.5, v{i % 1})" for i in range(4)]
    assert texts(*even) == ["for step in range(4):", "    f(p, step * 8, 1e-05, 0.5, v0)"]
    pairs = [f"{name}({10 - i})" for i in range(5) for name in "fg"]
    assert texts("h(3)", *pairs, "f(7)") == [
        "h(3)", "for step in range(5):", "    f(10 - step)", "    g(10 - step)", "f(7)",
    ]  # fmt: skip
    for alone in (
        [f"f({i * i})" for i in range(6)],  # not in equal steps
        [f"t{i} = f({i})" for i in range(6)],  # with results
        [f"f(v{i}, {i})" for i in range(6)],  # with other names
        [f"f({i})" for i in range(3)],  # too few
        ["for t in range(4):", *["    f(t)"] * 6],  # lines of a loop
    ):
        assert texts(*alone) == alone
    sources = [("f(1)", "a"), ("f(2)", "a"), ("f(3)", "b"), ("f(4)", "b")]
    assert rolled(sources) == sources  # of two lines of the user's


def test_another_dtype_does_not_compile(rng):
    x = rng.normal(size=3)
    step = nbgrad.compile(lambda x: np.sum(x * x)).variant(x).njit

    @numba.njit
    def use(x):
        return step(x)

    assert use(x) == pytest.approx(x @ x)
    with pytest.raises(TypingError, match=r"a compiled program takes float64\[3\]"):
        use(x.astype(np.float32))


def test_what_only_compiled_code_calls_has_no_machine_code():
    exp = scalar.exp

    @numba.njit
    def use(x):
        return exp(x)

    assert use(1.0) == pytest.approx(np.e)
    result = exp.overloads[(numba.float64,)]
    name = result.fndesc.llvm_func_name
    assert name in {f.name for f in result.library.get_defined_functions()}
    assert not result.library.codegen._engine.is_symbol_defined(name)


def test_the_form_that_writes_for_a_program_of_numbers_alone():
    into = nbgrad.compile(nbgrad.value_and_grad(lambda x: x * np.exp(x))).variant(0.5).njit_into

    @numba.njit
    def use(x):
        return into(x)

    value, gradient = use(0.5)
    assert (value, gradient) == pytest.approx((0.5 * np.exp(0.5), 1.5 * np.exp(0.5)))
