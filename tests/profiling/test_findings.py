"""The sentences that a profile begins with, the table, and the page."""

import re

import numpy as np
import pytest
from helpers.balanced import Balanced

import nbgrad
from nbgrad.profiling.breakdown import Breakdown, Row, Where
from nbgrad.profiling.findings import findings
from nbgrad.profiling.tally import Compilation

LINE = Where(__file__, 1, "model")  # the docstring above


def made(*rows, passes=0, peak=0, compiled=0, ran=1.0):
    """A breakdown with these rows."""
    b = object.__new__(Breakdown)
    b.rows, b.passes, b.peak, b.threads, b.measuring, b.fallbacks = (
        [*rows],
        passes,
        peak,
        1,
        0.0,
        [],
    )
    b.seconds = b.outside = sum(row.time for row in rows)
    b.computed = ran * b.seconds
    b.compilations = [(LINE, Compilation((0, 0), "op", "first call", False, 1.0, compiled, 0))]
    return b


def row(kind, op, kernel="", calls=1, seconds=1.0, **facts):
    return Row(LINE, kind, op, kernel, calls, seconds, **facts)


OTHER = row("op", "matmul", "float64[500, 500]", 10, 0.5, elements=250_000)


def test_nothing_stands_out():
    quarter = [row("op", name, "float64[9]", 9, 1.0, elements=10**6) for name in "abcd"]
    assert findings(made(*quarter)) == []
    assert findings(made()) == []


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("new shape", "6 shapes of f (test_findings.py:1). Name the lengths that vary"),
        ("new dtype", "6 dtypes of f (test_findings.py:1). Convert"),
        ("new static value", "6 static values of f (test_findings.py:1). Pass numbers"),
        ("new structure", "6 structures of f"),
        ("a value that it reads changed", "reads a value that changed 5 times. Pass it as"),
    ],
)
def test_a_function_that_is_compiled_often(why, told):
    first, again = (row("compile", "f (compiled)", x, n) for x, n in (("first call", 1), (why, 5)))
    (sentence,) = findings(made(first, again, OTHER))
    assert sentence.startswith("80 % of the time is compiling: ") and told in sentence


def test_what_is_compiled_once():
    first = row("compile", "f (compiled)", "first call")
    assert "at their first call in a process" in findings(made(first))[0]
    assert "3 kernels compiled for the first time" in findings(made(first, compiled=3))[0]
    by_numba = row("compile", "g (njit, by Numba)", "first call")
    assert "@nbgrad.njit(cache=True)" in findings(made(by_numba))[0]
    assert findings(made(first, *[OTHER] * 20))[0].startswith("91 % of the time is matmul")


def test_a_loop_over_short_arrays():
    ops = [row("op", name, "float64[5]", 2000, 0.01, elements=5) for name in ("sin", "multiply")]
    (sentence,) = findings(made(*ops, passes=10))
    assert "a Python loop of 200 rounds in each of 10 backward passes" in sentence
    assert "arrays of 5 numbers" in sentence and "nbgrad.scan and nbgrad.njit" in sentence
    (sentence,) = findings(made(*ops, passes=400))
    assert "4,000 eager ops on few numbers" in sentence and "the function model" in sentence
    assert not any("few numbers" in x for x in findings(made(*ops, OTHER, passes=400)))
    slow = [row("op", "sort", "float64[5]", 2000, 4.0, elements=5)]
    assert not any("few numbers" in x for x in findings(made(*slow, passes=400)))


def test_one_op_or_one_function():
    (sentence,) = findings(made(row("op", "matmul", "float64[9]", 7, 1.0, elements=10**6)))
    assert sentence.startswith("100 % of the time is matmul of float64[9] at test_findings.py:1 in")
    assert "7 calls: " in sentence
    back = row("op", "matmul", "float64[9]", 1, 1.0, back_calls=1, back_seconds=3.0)
    assert "in 1 call, 75 % of it backward" in findings(made(back))[0]
    short = row("call", "g (njit)", calls=1000, bytes=3000)
    assert "It records 3 kB, so its loops are short" in findings(made(short))[0]
    assert "so its loops" not in findings(made(row("call", "g (njit)", calls=1, bytes=10**8)))[0]


def test_a_wider_dtype():
    x = nbgrad.track(np.ones(3, np.float32))
    with nbgrad.profile() as p:
        _ = x * np.ones(3)
        _ = x * np.ones(3, np.float32)
        _ = x * 2.0
    (sentence,) = [each for each in p.findings if "float32" in each]
    assert sentence.startswith("float32 is turned into float64 at test_findings.py:")
    assert "multiply of float32 with float64 of shape (3,)" in sentence


def test_time_outside():
    python = row("python", "Python")
    (sentence,) = findings(made(python, row("python", "between ops")))
    assert sentence.startswith("50 % of the time is outside of nbgrad, most of it at test_findings")


def test_a_process_that_waits():
    assert findings(made(OTHER, ran=0.8)) == findings(made(OTHER))
    (sentence,) = set(findings(made(OTHER, ran=0.4))) - set(findings(made(OTHER)))
    assert sentence.startswith("The process ran for 40 % of the time only")


def test_memory():
    held = row("op", "exp", "float64[9]", held=3 * 10**8, elements=10**9)
    sentence = findings(made(held, peak=4 * 10**8))[-1]
    assert "holds 400 MB, of which 300 MB are results of exp at test_findings.py:1" in sentence
    sentence = findings(made(row("call", "g (njit)", bytes=5 * 10**8)))[-1]
    assert "records 500 MB" in sentence and "nbgrad.steps" in sentence


def test_a_function_that_ran_uncompiled():
    f = nbgrad.compile(lambda x: x * x if x > 0.0 else x)
    with nbgrad.profile() as p:
        nbgrad.grad(f)(3.0)
    assert any("ran uncompiled inside of a transformation" in each for each in p.findings)


def test_the_text_and_the_page(tmp_path):
    x = nbgrad.track(np.ones((4, 3)))
    with nbgrad.profile(top=2) as p:
        y = np.exp(x) * 2.0 - x
        y.sum().backward()
    text = str(p)
    for part in ("By line", "By op", "By kernel", "float64[4, 3]", "more", "test_findings.py:"):
        assert part in text
    assert re.search(r"(exp|multiply|subtract|sum) +\d+\.\d % +[\d.]+ \S+ +1 ", text)
    p.write(tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    structure = Balanced(page)
    assert structure.loads == []
    assert "prefers-color-scheme: dark" in page and 'class="flame"' in page
    assert "test_findings.py:" in structure.text and p._repr_html_() in page


def test_the_boxes_of_the_flame_graph_fill_their_parents():
    x = nbgrad.track(np.ones(3))
    with nbgrad.profile() as p:
        np.exp(x).sum().backward()
    boxes = re.findall(r'<svg x="([\d.]+)%" y="(\d+)" width="([\d.]+)%"', p._repr_html_())
    rows = {y: [float(w) for _, top, w in boxes if top == y] for _, y, _ in boxes}
    assert sum(rows["0"]) == 100.0
    for widths in rows.values():
        assert 80.0 < sum(widths) < 100.1
