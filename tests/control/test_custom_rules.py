"""Rules of the user's within steps and sides: in each body, mode and tier the derivative is that of
the rule, as in the same function without a body."""

import itertools

import numpy as np
import pytest
from helpers.children import run
from helpers.daily import daily

import nbgrad
from nbgrad.core.array import Array
from nbgrad.errors import TraceError

X = np.array([3.0, 2.0, 1.5, 0.5])
SCALE = np.array([1.0, 0.5, 2.0, 1.5])


def cube(x):
    return x * x * x


def clipped(ct, out, x):
    return ct * np.minimum(3.0 * x * x, 3.0)


def pushed(tangents, out, x):
    return tangents[0] * np.minimum(3.0 * x * x, 3.0)


def pair(ct, out, x, n, *, y):
    return ct * np.minimum(y, 1.0), None, ct * n * np.cos(x)


@nbgrad.custom_rule(pullback=lambda ct, out, x: {"a": ct["s"] * 2.0, "b": ct["p"] * np.sin(x["a"])})
def nested(x):
    return {"s": np.sin(x["a"]) * x["b"], "p": x["a"] + x["b"]}


def with_two(x):
    rule = nbgrad.custom_rule(lambda x, y: x * y, pullback=lambda ct, out, x, y: (ct * 5.0, None))
    return rule(x, x * 2.0)


def closing(x, scale):
    """A rule that closes over a value of the function around the body."""
    return nbgrad.custom_rule(cube, pullback=lambda ct, out, x: ct * x * scale)


def of_tree(x):
    found = nested({"a": x, "b": x * 2.0})
    return found["s"] * found["p"]


# By name: what gives, for the argument of the whole function, the function of the body.
RULES = {
    "pullback": lambda x: nbgrad.custom_rule(cube, pullback=clipped),
    "both": lambda x: nbgrad.custom_rule(cube, pullback=clipped, pushforward=pushed),
    "apart": lambda x: nbgrad.custom_rule(
        cube, pullback=clipped, pushforward=lambda t, out, x: 7.0 * t[0]
    ),
    "none": lambda x: nbgrad.custom_rule(cube, pullback=lambda ct, out, x: (None,)),
    "residual": lambda x: nbgrad.custom_rule(np.exp, pullback=lambda ct, out, x: ct * out * 0.5),
    "no rule inside": lambda x: nbgrad.custom_rule(
        np.floor, pullback=lambda ct, out, x: ct, pushforward=lambda t, out, x: t[0]
    ),
    "two": lambda x: with_two,
    "nested": lambda x: of_tree,
    "constant": lambda x: closing(x, SCALE[0]),
    "tracked": lambda x: closing(x, x[3]),
    "twice": lambda x: lambda v: RULES["pullback"](x)(RULES["residual"](x)(v)),
}  # fmt: skip


def again(f, x):
    return f(f(x) * 0.1)


# By name: the function with a body, and the same without one.
BODIES = {
    "loop": (
        lambda f, x: nbgrad.loop(2, lambda i, s: f(s) * 0.1, x),
        lambda f, x: again(f, x) * 0.1,
    ),
    "scan": (
        lambda f, x: nbgrad.scan(lambda s, v: (s + f(v), f(v)), 0.0, x)[1],
        lambda f, x: np.stack([f(v) for v in x]),
    ),
    "state": (
        lambda f, x: nbgrad.scan(lambda s, v: (f(s) * v, s), x, SCALE[:2])[0],
        lambda f, x: f(f(x) * SCALE[0]) * SCALE[1],
    ),
    "while": (
        lambda f, x: nbgrad.while_loop(
            lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1]) * 0.1), (0, x), 5
        )[1],
        lambda f, x: again(f, x) * 0.1,
    ),
    "cond": (
        lambda f, x: nbgrad.cond(x[0] > x[1], f, lambda x: x * 2.0, x),
        lambda f, x: np.where(x[0] > x[1], f(x), x * 2.0),
    ),
    "cond in a loop": (
        lambda f, x: nbgrad.loop(2, lambda i, s: nbgrad.cond(s[0] > -1.0, f, np.sin, s) * 0.1, x),
        lambda f, x: again(f, x) * 0.1,
    ),
    "loop in a loop": (
        lambda f, x: nbgrad.loop(2, lambda i, s: nbgrad.loop(1, lambda j, r: f(r) * 0.1, s), x),
        lambda f, x: again(f, x) * 0.1,
    ),
}  # fmt: skip


def total(body, rule, side):
    """The function of one argument: with the body (0), or without (1)."""
    return lambda x: np.sum(np.sin(BODIES[body][side](RULES[rule](x), x)) * SCALE)


def rows(f):
    return lambda x: nbgrad.vmap(f)(np.stack([x, x[::-1] * 0.7]))


# Ways to differentiate it.
MODES = {
    "grad": nbgrad.grad,
    "jvp": lambda f: lambda x: nbgrad.jvp(f, (x,), (SCALE,))[1],
    "vmap": lambda f: rows(nbgrad.grad(f)),
    "vmap of jvp": lambda f: rows(lambda x: nbgrad.jvp(f, (x,), (SCALE,))[1]),
    "grad of vmap": lambda f: nbgrad.grad(lambda x: np.sum(rows(f)(x))),
    "hessian": nbgrad.hessian,
}
TIERS = {"eager": lambda f: f, "compiled": nbgrad.compile}


def fault(body, rule, mode, tier):
    """How a derivative with a body differs from that without; "" where it does not."""
    f, plain = (MODES[mode](total(body, rule, side)) for side in (0, 1))
    try:
        expected = plain(X)
    except Exception:  # which the rule cannot do
        return ""
    if isinstance(expected, Array):  # of a rule that closes over what is differentiated
        return ""
    try:
        found = TIERS[tier](f)(X)
    except Exception as error:
        return f"{body}, {rule}, {mode}, {tier}: {error!r}"
    if np.allclose(found, expected, rtol=1e-9, atol=1e-12, equal_nan=True):
        return ""
    return f"{body}, {rule}, {mode}, {tier}: {found} for {expected}"


def faults(part, parts):
    every = [*itertools.product(BODIES, RULES, MODES, TIERS)][part::parts]
    return [told for case in every if (told := fault(*case))]


@pytest.mark.parametrize("part", daily(range(5), 1))
def test_a_rule_is_that_of_its_function_in_each_body_and_mode(part):
    code = f"from tests.control.test_custom_rules import faults; result = faults({part}, 5)"
    assert run(code, NUMBA_DISABLE_JIT="1").result == []


@pytest.mark.parametrize("body", ["loop", "cond"])
def test_machine_code_has_the_rule(body):
    assert fault(body, "pullback", "grad", "compiled") == ""


def test_a_rule_that_closes_over_a_value_of_the_step_is_refused():
    def step(i, s):
        return nbgrad.custom_rule(np.sin, pullback=lambda ct, out, x: ct * s)(s)

    f = nbgrad.compile(nbgrad.grad(lambda x: np.sum(nbgrad.loop(2, step, x))))
    with pytest.raises(TraceError, match=r"closes over s, which is computed inside"):
        f(X)
