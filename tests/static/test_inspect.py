"""Looking inside compiled programs: plans, annotated source, pages."""

import ast
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import TraceError
from nbgrad.ir.affine import Affine
from nbgrad.ir.reductions import SUM
from nbgrad.ir.scalar import parse
from nbgrad.ir.statements import Accumulate, Assign, Store
from nbgrad.static.inspect.report import operations

FLOAT = np.dtype(np.float64)


def dense(x, w, b):
    h = np.tanh(x @ w + b)
    return np.sum(h * h)


@pytest.fixture
def variant(rng):
    both = nbgrad.compile(nbgrad.value_and_grad(dense, (1, 2)))
    return both.variant(rng.normal(size=(40, 8)), rng.normal(size=(8, 16)), rng.normal(size=16))


def plan(f, *args):
    return nbgrad.compile(f).variant(*args).plan


def test_products_count_two_operations_a_term(variant):
    products = [step for step in variant.plan.steps if step.what.startswith("product")]
    assert [step.flops for step in products] == [2 * 40 * 16 * 8] * 2
    forward, backward = products
    assert (forward.reads, forward.writes) == (8 * (40 * 8 + 8 * 16), 8 * 40 * 16)
    assert (backward.reads, backward.writes) == (8 * (40 * 8 + 40 * 16), 8 * 8 * 16)


def test_maps_count_their_operations_and_each_byte_once():
    found = plan(lambda x, y: np.exp(x) * x + y, np.ones((50, 20)), np.ones(20))
    (step,) = found.steps
    assert step.flops == 3 * 1000
    assert (step.reads, step.writes) == (8 * 1020, 8 * 1000)
    assert found.flops == 3000 and found.scratch == 0


def test_what_a_row_needs_once_is_counted_once():
    (step,) = plan(lambda x: x - np.sum(x, axis=1, keepdims=True), np.ones((30, 100))).steps
    # A sum and a difference for each element, and one addition to join the sums of a row.
    assert step.flops == 2 * 3000 + 30


def test_split_loops_read_no_element_twice():
    found = plan(lambda x: x[1:] - x[:-1] * x[:-1], np.ones(101))
    assert found.reads == 8 * 101
    gradient = plan(nbgrad.grad(lambda x: np.sum(x[1:] * x[:-1])), np.ones(101))
    assert gradient.reads <= 8 * 101
    assert gradient.writes == 8 * 101


def test_gathers_read_at_most_what_there_is():
    index = np.arange(6)
    found = plan(lambda x, i: x[i] * 2.0, np.ones(1000), index)
    assert found.reads <= 8 * (6 + 6) * 2 + 8 * 6


def test_scalar_code_is_one_step(rng):
    found = plan(nbgrad.value_and_grad(lambda x, y: x * y + np.sin(x), (0, 1)), 2.0, 3.0)
    (step,) = found.steps
    assert step.what == "scalars, 5 lines"
    assert (step.flops, step.reads, found.buffers) == (5, 0, ())


def test_operations_leave_out_choices_and_literals():
    def arithmetic(body):
        return operations(Assign("v1", parse(body), ("v0", "v2"), FLOAT, FLOAT))

    assert arithmetic("select(x < 0.0, -inf, y)") == 1
    assert arithmetic("-x * (-0.5)") == 2
    assert operations(Accumulate("total", SUM, "part", FLOAT)) == 1
    assert operations(Store(0, Affine(0, ()), "v1", FLOAT, SUM)) == 1
    assert operations(Store(0, Affine(0, ()), "v1", FLOAT)) == 0


def test_buffers_live_from_first_to_last_step(variant):
    found = variant.plan
    buffers = {buffer.name: buffer for buffer in found.buffers}
    assert {name for name in buffers if name[0] == "a"} == {"a0", "a1", "a2"}
    assert buffers["a1"].size == 8 * 8 * 16
    for buffer in found.buffers:
        users = [
            i
            for i, step in enumerate(found.steps)
            for use in step.uses
            if use.size == buffer.size and use.what == buffer.what
        ]
        assert 0 <= buffer.first <= buffer.last < len(found.steps)
        assert buffer.first in users
        assert (buffer.offset is not None) == (buffer.kind == "scratch")
    scratch = [buffer for buffer in found.buffers if buffer.kind == "scratch"]
    assert max(buffer.offset + buffer.size for buffer in scratch) <= found.scratch
    # No two buffers that are needed at one time overlap.
    for one in scratch:
        for other in scratch:
            if one is not other and one.first <= other.last and other.first <= one.last:
                assert (
                    one.offset + one.size <= other.offset or other.offset + other.size <= one.offset
                )


def test_the_plan_prints_as_a_table(variant):
    lines = str(variant.plan).splitlines()
    assert lines[0].startswith(f"dense: {len(variant.plan.steps)} steps, ")
    assert lines[1].split() == ["step", "what", "flops", "read", "written", "line"]
    assert len(lines) == 2 + len(variant.plan.steps)
    assert "product (40 x 8) @ (8 x 16)" in lines[2]
    assert "test_inspect.py" in lines[2] and "h = np.tanh(x @ w + b)" in lines[2]


def test_the_shown_source_differs_from_the_compiled_text_by_comments_only(variant):
    compiled = variant._emitted.source
    assert "test_inspect.py" not in compiled
    assert ast.dump(ast.parse(variant.source)) == ast.dump(ast.parse(compiled))
    core = variant.source[variant.source.index("def dense_core") :]
    steps = [line for line in core.splitlines() if "#" in line]
    assert len(steps) >= len(variant.plan.steps)
    assert "h = np.tanh(x @ w + b)" in steps[0]


def test_a_moved_script_is_the_same_text(rng):
    text = "def f(x):\n    return np.sum(np.tanh(x) * x)\n"
    sources = []
    for above in ("", "\n\n# moved\n"):
        scope: dict[str, Any] = {"np": np}
        exec(compile(above + text, "script.py", "exec"), scope)
        variant = nbgrad.compile(nbgrad.value_and_grad(scope["f"])).variant(np.ones(5))
        sources.append(variant._emitted.source)
    assert sources[0] == sources[1]


class Pages(HTMLParser):
    """Checks that what is opened is closed, and keeps the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "line":
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_show_gives_a_page(variant, tmp_path):
    page = nbgrad.show(variant)
    for told in (str(variant.program), str(variant.plan), variant.source):
        assert told in str(page)
    page.save(tmp_path / "page.html")
    for html in (page._repr_html_(), (tmp_path / "page.html").read_text(encoding="utf-8")):
        parser = Pages()
        parser.feed(html)
        assert not parser.open
        assert "dense_core" in parser.text and "Recorded program" in parser.text
        assert parser.tags.count("rect") == len(variant.plan.buffers)


def test_show_escapes_what_the_user_wrote():
    page = nbgrad.show(nbgrad.compile(lambda x: np.where(x < 0.0, x, 1.0)).variant(np.ones(3)))
    assert "x < 0.0" in page.source
    assert "x &lt; 0.0" in page.html() and "x < 0.0" not in page.html()


def test_show_takes_a_compiled_function_with_one_variant():
    compiled = nbgrad.compile(lambda x: x * 2.0)
    with pytest.raises(TraceError, match="show: there are 0 variants"):
        nbgrad.show(compiled)
    compiled(1.0)
    assert "No buffers" in nbgrad.show(compiled).html()
    compiled(np.ones(2))
    with pytest.raises(TraceError, match="there are 2 variants"):
        nbgrad.show(compiled)
    with pytest.raises(TypeError, match=r"a function is not compiled; use nbgrad\.compile"):
        nbgrad.show(dense)
