"""How much is compiled for a program: lines, kernels, machine code."""

from functools import cache

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

import nbgrad
from nbgrad.compiler.kernel import linked
from nbgrad.ir.affine import Affine
from nbgrad.ir.core import CoreStep, Device
from nbgrad.ir.numba_text import Module, position_text
from nbgrad.ir.statements import Address, Call, Literal, Variable
from nbgrad.kernels import scalar
from nbgrad.static.loops.reroll import Moving, along, reroll

FLOAT = np.dtype(np.float64)


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


class Places:
    """Places of memory as `reroll` asks for them: a buffer, and the element in it."""

    def name_of(self, kernel):
        return kernel

    def place(self, buffer, at, dtype):
        return Moving(buffer, (at.const,))

    def moved(self, buffer, at, dtype, steps):
        return buffer, along(at, steps[0])


@cache
def device(name):
    """A device function of this name, on a pointer to one element."""
    return Device(type(name, (), {}), (1,))


def calls(*given):
    """Steps that call functions on pointers to elements of p: (name, element, lines...)."""
    return [
        CoreStep(Call(device(name), (Address("p", Affine(at, ()), FLOAT),)), tuple(lines))
        for name, at, *lines in given
    ]


def shown(steps):
    return [line.text for line in Module(lambda p, _, at: f"{p} + {position_text(at)}").step_lines(
        reroll(steps, Places()))]  # fmt: skip


def test_steps_are_rerolled_only_where_their_places_go_in_equal_distances():
    even = calls(*(("f", i * 8) for i in range(4)))
    assert shown(even) == ["for step in range(4):", "    f(p + step * 8)"]
    pairs = [(name, 10 - i) for i in range(5) for name in "fg"]
    assert shown(calls(("h", 3), *pairs, ("f", 7))) == [
        "h(p + 3)", "for step in range(5):", "    f(p + step * -1 + 10)",
        "    g(p + step * -1 + 10)", "f(p + 7)",
    ]  # fmt: skip
    for alone in (
        calls(*(("f", i * i) for i in range(6))),  # not at equal distances
        calls(*((f"f{i}", i) for i in range(6))),  # other functions
        calls(*(("f", i) for i in range(3))),  # too few
        calls(*(("f", i, "ab"[i // 2]) for i in range(4))),  # of two lines of the user's
        [CoreStep(Variable("t", Literal(0.0, FLOAT)))] * 6,  # no calls
    ):
        assert reroll(alone, Places()) == alone


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
    exp = linked(scalar.exp)

    @numba.njit
    def use(x):
        return exp(x)

    assert use(1.0) == pytest.approx(np.e)
    result = exp.overloads[(numba.float64,)]
    name = result.fndesc.llvm_func_name
    assert name in {f.name for f in result.library.get_defined_functions()}
    assert not result.library.codegen._engine.get_function_address(name)


def test_the_form_that_writes_for_a_program_of_numbers_alone():
    into = nbgrad.compile(nbgrad.value_and_grad(lambda x: x * np.exp(x))).variant(0.5).njit_into

    @numba.njit
    def use(x):
        return into(x)

    value, gradient = use(0.5)
    assert (value, gradient) == pytest.approx((0.5 * np.exp(0.5), 1.5 * np.exp(0.5)))


def test_the_compiler_loads_with_the_first_program(fork):
    """It is a quarter of the import, which programs of the eager tier need not wait for."""
    code = """
import sys
parts = ("lower", "schedule", "loops", "inspect", "variant")
def loaded(): return [p for p in parts if f"nbgrad.static.{p}" in sys.modules]
result = [loaded()]
f = nbgrad.compile(lambda x: x * x)
result += [float(f(3.0)), loaded(), f.plan is not None and loaded()]
"""
    before, value, compiled, looked = fork(code).result
    assert (before, value) == ([], 9.0)
    assert compiled == ["lower", "schedule", "loops", "variant"]
    assert looked == ["lower", "schedule", "loops", "inspect", "variant"]
