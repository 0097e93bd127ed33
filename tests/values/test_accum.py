"""`accum`: derivatives of what is seeded, memos, and what makes them stale."""

import numpy as np
import pytest

import nbgrad
from nbgrad import accum, reset, track


def test_accum_pulls_only_what_lies_between(lab):
    x, y, a, b, z = lab
    z.grad = 1.0
    assert float(accum(x)) == float(x.grad) == pytest.approx(2.5838531634528574, abs=1e-15)
    assert y.grad is None
    assert float(a.grad) == float(b.grad) == 1.0, "gradients between are kept"
    before = nbgrad.stats()["called"]
    assert float(accum(y)) == 2.0
    assert nbgrad.stats()["called"] == before + 1, "only the pullback of x * y, into y"
    before = nbgrad.stats()["called"]
    assert float(accum(x)) == pytest.approx(2.5838531634528574, abs=1e-15)
    assert nbgrad.stats()["called"] == before, "nothing is computed again"


def test_print_tree_shows_the_five_moments(capsys):
    x, y = track(2.0, "x"), track(3.0, "y")
    a = x * y
    assert nbgrad.print_tree(x) == "x data: 2.0 grad: None\n└─ * data: 6.0 grad: None"
    b = np.sin(x)
    assert nbgrad.print_tree(x).splitlines()[1:] == [
        "├─ * data: 6.0 grad: None",
        "└─ sin data: 0.91 grad: None",
    ]
    z = a + b
    assert nbgrad.print_tree(x).splitlines()[1:] == [
        "├─ * data: 6.0 grad: None",
        "│  └─ + data: 6.91 grad: None",
        "└─ sin data: 0.91 grad: None",
        "   └─ + data: 6.91 grad: None",
    ]
    z.grad = 1.0
    accum(x)
    assert nbgrad.print_tree(x).splitlines() == [
        "x data: 2.0 grad: 2.5838531634528574",
        "├─ * data: 6.0 grad: 1.0",
        "│  └─ + data: 6.91 grad: 1.0",
        "└─ sin data: 0.91 grad: 1.0",
        "   └─ + data: 6.91 grad: 1.0",
    ]
    accum(y)
    text = nbgrad.print_tree(y)
    assert text.splitlines() == [
        "y data: 3.0 grad: 2.0",
        "└─ * data: 6.0 grad: 1.0",
        "   └─ + data: 6.91 grad: 1.0",
    ]
    assert capsys.readouterr().out.endswith(text + "\n")


def test_a_seeded_array_is_its_own_gradient(lab):
    *_, z = lab
    z.grad = 3.0
    assert float(accum(z)) == 3.0


def test_without_a_seed_nothing_arrives(lab):
    x, *_ = lab
    assert accum(x) is None and x.grad is None


def test_a_branch_that_reaches_no_seed_contributes_nothing(lab):
    x, y, *_, z = lab
    unused = np.exp(x) * y
    z.grad = 1.0
    assert float(accum(x)) == pytest.approx(2.5838531634528574, abs=1e-15)
    assert unused.grad is None
    reset(x)
    x, y = track(2.0), track(3.0)
    z = x * y
    unused = np.exp(x)
    z.backward()
    assert (float(x.grad), float(y.grad)) == (3.0, 2.0)


def test_a_new_child_makes_the_memo_stale():
    x = track(2.0)
    z = x * 3.0
    z.grad = 1.0
    assert float(accum(x)) == 3.0
    other = x * 4.0
    assert float(accum(x)) == 3.0, "it has no seed yet"
    other.grad = 1.0
    assert float(accum(x)) == 7.0


def test_a_new_seed_makes_the_memo_stale_at_any_depth():
    x = track(2.0)
    a = x * 3.0
    b = a * 2.0
    z = b * 5.0
    z.grad = 1.0
    assert float(accum(x)) == 30.0
    z.grad = 2.0
    assert float(accum(x)) == 60.0
    late = a * 7.0
    late.grad = 1.0
    assert float(accum(x)) == 81.0


def test_a_seed_taken_back_no_longer_counts():
    x = track(2.0)
    a, b = x * 3.0, x * 4.0
    a.grad = b.grad = 1.0
    assert float(accum(x)) == 7.0
    a.grad = None
    assert float(accum(x)) == 4.0
    b.grad = None
    assert accum(x) is None


def test_accum_after_backward_is_of_the_seeded_arrays():
    x = track(2.0)
    a, b = x * 3.0, x * 4.0
    a.grad = 1.0
    b.backward(keep_graph=True)
    assert float(x.grad) == 4.0
    assert float(accum(x)) == 3.0
