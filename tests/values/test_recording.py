"""C versions of replaceable functions make the same values, nodes and edges as their definitions in
Python, and call these for arguments that they do not handle."""

import gc
import sys
import warnings
from typing import Any
from weakref import ref

import numpy as np
import pytest

import nbgrad
from nbgrad import track
from nbgrad.capi.replaceable import replaceables
from nbgrad.core import errstate
from nbgrad.core.primitive import Primitive
from nbgrad.values import gradients, tracked
from nbgrad.values.graph import add_child
from nbgrad.values.tracked import TrackedArray

X, Y = np.linspace(-1.0, 2.0, 6).reshape(2, 3), np.linspace(0.5, 1.5, 6).reshape(2, 3)
MULTIPLY, TANH = Primitive.registry["multiply"], Primitive.registry["tanh"]
SUM, RESHAPE = Primitive.registry["sum"], Primitive.registry["reshape"]


def asked(*args, **options):
    return "asked", args, options


def c_version(name: str) -> Any:
    return replaceables[f"nbgrad.{name}"].c_version(asked)


bind1, bind2 = (
    c_version("values.tracked.TrackedArray.bind1"),
    c_version("values.tracked.TrackedArray.bind2"),
)
result, make_leaf = c_version("values.tracked.result"), c_version("values.tracked.make_leaf")
hand_out, reset = c_version("values.gradients._hand_out"), c_version("values.reset._reset")
is_asked = c_version("core.errstate.asked")
COMPARED = [bind1, bind2, result, make_leaf, hand_out, reset, is_asked]


def test_every_c_version_is_compared_here():
    assert len(replaceables) == len(COMPARED)


@pytest.mark.parametrize(
    "other", [2.0, 3, Y, Y.astype(np.float32), Y > 1.0, Y.T.copy().T, np.float64(2.0), [1.0, 2, 3]],
    ids=lambda x: getattr(getattr(x, "dtype", None), "name", type(x).__name__),
)  # fmt: skip
def test_operands_of_every_kind(other):
    x = track(X)
    for place in range(2):
        operands = [x, other] if place == 0 else [other, x]
        known: Any = np.multiply(*operands)
        found = bind2(MULTIPLY, *operands)
        if type(other) in (list, np.float64):
            assert found[0] == "asked"
            continue
        assert type(found) is TrackedArray and found.aval is known.aval
        np.testing.assert_array_equal(found.data, known.data, strict=True)
        for name in ("plan", "parents", "value"):
            mine, theirs = getattr(found.node, name), getattr(known.node, name)
            assert mine is theirs or np.array_equal(mine, theirs)
        saved = [[type(a) for a in z.node.saved or ()] for z in (found, known)]
        assert saved[0] == saved[1]
        assert found.node.time > known.node.time and found.node.array() is found
        assert found.node.grad is found.node.children is None


def test_two_arrays_one_array_twice_and_parameters():
    x, y = track(X), track(Y)
    for args in ((x, y), (x, x)):
        known: Any = np.multiply(*args)
        found = bind2(MULTIPLY, *args)
        assert found.node.plan is known.node.plan and found.parents == args
        np.testing.assert_array_equal(found.data, known.data)
    known = np.sum(x, axis=1)
    found = bind1(SUM, x, axes=(1,), keepdims=False)
    assert found.node.plan is known.node.plan
    np.testing.assert_array_equal(found.data, X.sum(1))
    known = np.tanh(x)
    assert bind1(TANH, x).node.plan is known.node.plan


def test_nothing_that_is_computed_shares_the_data_of_a_leaf():
    x = track(X)
    known: Any = np.reshape(x, (3, 2))
    of_leaf = bind1(RESHAPE, x, shape=(3, 2))
    np.reshape(known, 6)  # makes the plan
    computed = bind1(RESHAPE, known, shape=(6,))
    x.data[...] = 0.0
    for found in (known, of_leaf, computed):
        np.testing.assert_array_equal(found.data.ravel(), X.ravel())
    assert computed.node.value.base is not None and of_leaf.node.value.base is None


def test_what_is_not_foreseen_is_asked_for():
    x = track(X)
    assert bind2(MULTIPLY, x, np.ones((4, 3)))[0] == "asked"  # no plan for that
    assert bind2(MULTIPLY, 2.0, "two")[0] == bind1(TANH, X)[0] == "asked"
    found, args, options = bind1(SUM, x, axes=[1], keepdims=False)
    assert (found, args, options) == ("asked", (SUM, x), {"axes": [1], "keepdims": False})
    with nbgrad.no_tracking():
        assert bind1(TANH, x)[0] == bind2(MULTIPLY, x, x)[0] == make_leaf(X, "", 0)[0] == "asked"
    assert make_leaf(X, "", 2)[0] == make_leaf(2.0, "", 0)[0] == "asked"
    nested = nbgrad.grad(lambda v: [bind2(MULTIPLY, v, v)[0] == "asked" and v, v][0] * 1.0)
    assert nbgrad.grad(nested)(2.0) == 0.0
    with pytest.raises(OverflowError, match="too large"):
        bind2(MULTIPLY, x, 10**400)
    with pytest.raises(TypeError, match="complex"):
        bind2(MULTIPLY, x, np.ones(3, complex))


def test_leaves():
    leaf = make_leaf(X, "w", 0)
    known = tracked.make_leaf(X, "w", 0)
    assert leaf.name == "w" and leaf.data is X and leaf.aval is known.aval and leaf.grad is None
    assert leaf.node.children == [64] and leaf.node.changed == leaf.node.time
    assert type(leaf.node) is type(known.node) and leaf.node.array() is leaf
    (leaf * 2.0).backward(np.ones((2, 3)))
    np.testing.assert_array_equal(leaf.grad, np.full((2, 3), 2.0))


def test_children_are_told_as_add_child_does():
    x, nodes = track(X), []
    y: Any = x * 1.0
    for count in range(200):
        nodes.append(bind2(MULTIPLY, x, y))
        assert len(x.node.children) - 1 <= max(64, 2 * len(nodes) + 64)
        if count % 3 == 0:
            nodes.pop(0)
    assert [child.node for child in x.children][1:] == [z.node for z in nodes]
    assert [child.node for child in y.children] == [z.node for z in nodes]
    node = nodes[-1].node
    np.tanh(x)  # makes the plan
    z = bind1(TANH, nodes[-1])
    assert node.children() is z.node
    add_child(node, ref(z.node))
    assert node.children[1:] == [ref(z.node)] * 2


def test_a_result_of_any_number_of_parents():
    x, y = track(X), track(Y)
    known = x * y
    node = known.node
    found = result(node.plan, (x.node, None, y.node), (X, 1.0, Y), node.value)
    assert found.parents == (x, y) and found.node.saved == (X, 1.0, Y)
    assert [child.node for child in x.children] == [node, found.node]
    assert result(node.plan, (), (), node.value).parents == ()


@pytest.mark.parametrize("kind", ["own", "shared", "seed", "view", "scalar"])
def test_gradients_are_handed_out_as_in_python(kind):
    for before in (None, np.full((2, 3), 10.0)):
        leaves, base = [track(X), track(X)], np.arange(12.0).reshape(4, 3)
        ct: Any = {"view": base[:2], "scalar": np.float64(3.0)}.get(kind, base[:2].copy())
        for leaf in leaves:
            leaf.node.grad = before
            leaf.node.grad_time, leaf.node.origin = 0, gradients.SWEPT
        cotangents = {leaves[0].node: ct, leaves[1].node: ct if kind == "shared" else ct + 1.0}
        assert hand_out(cotangents, ct if kind == "seed" else None) is None
        for leaf, expected in zip(leaves, cotangents.values(), strict=True):
            np.testing.assert_array_equal(leaf.node.grad, (0 if before is None else 10) + expected)
            assert leaf.node.grad.base is None and leaf.node.origin is gradients.SWEPT
            assert leaf.node.grad_time > leaf.node.time
        assert leaves[0].node.grad is not leaves[1].node.grad
        if before is None:
            assert (leaves[0].node.grad is ct) == (kind in ("own", "shared"))
    inner = track(2.0)
    assert hand_out({inner.node: inner}, None)[0] == "asked"


def test_leaves_without_children_are_reset_and_others_left_alone():
    x, y = track(X), track(Y)
    x.node.grad = y.node.grad = X
    z = x * 2.0
    assert reset((y, x))[0] == reset((z,))[0] == reset([y])[0] == "asked"
    assert x.node.grad is y.node.grad is X and len(x.node.children) == 2
    del z
    assert reset((x, y)) is reset(()) is None
    assert x.node.grad is y.node.grad is None and x.node.children == y.node.children == [64]
    assert x.node.children is not y.node.children


def test_the_error_state_is_asked_for_as_in_python(filters_count):
    in_python = replaceables["nbgrad.core.errstate.asked"].definition
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("ignore", RuntimeWarning)
        assert in_python() is False is is_asked()  # the definition has noted this state
        warnings.simplefilter("error", RuntimeWarning)
        assert is_asked()[0] == "asked" and in_python()
    for state in ("raise", "warn", "ignore"):
        with np.errstate(all=state):
            assert is_asked()[0] == "asked"
            assert in_python() or is_asked() is False


def test_nothing_leaks():
    x, y, m = track(X), track(Y), track(X)
    assert not errstate.asked()  # which notes the filters of warnings of this test

    def work():
        z = bind2(MULTIPLY, bind2(MULTIPLY, x, 3), y)
        total = bind1(SUM, bind2(MULTIPLY, z, X), axes=(0,), keepdims=False)
        bind1(RESHAPE, m, shape=(6,))
        bind2(MULTIPLY, total, "no")
        make_leaf(X, "", 0)
        result(z.node.plan, z.node.parents, z.node.saved, z.node.value)
        hand_out({x.node: X, y.node: X}, None)
        reset((x, y))
        with pytest.raises(OverflowError):
            bind2(MULTIPLY, x, 10**400)

    objects = [X, x, x.node, x.aval, MULTIPLY, float, TrackedArray, type(x.node), SUM.plans]
    objects += [errstate.CURRENT.get(), errstate.quiet.filters]
    for _ in range(70):
        work()
    gc.collect()
    blocks, before = sys.getallocatedblocks(), [sys.getrefcount(a) for a in objects]
    for _ in range(200):
        work()
    gc.collect()
    after = [sys.getrefcount(a) for a in objects]
    assert [b - a for a, b in zip(before, after, strict=True)] == [0] * len(objects)
    assert sys.getallocatedblocks() < blocks + 200
