"""`draw`: DOT text of the graph, and the picture where Graphviz is there."""

import re
import shutil

import numpy as np
import pytest

import nbgrad
from nbgrad.static.inspect.show import Drawing


def nodes(drawing: Drawing) -> dict[str, str]:
    return dict(re.findall(r'^  (n\d+) \[label="((?:[^"\\]|\\.)*)"', drawing.dot, re.M))


def edges(drawing: Drawing) -> list[tuple[str, str]]:
    return re.findall(r"^  (n\w+) -> (n\d+)", drawing.dot, re.M)


def example():
    w, b = nbgrad.track(np.ones((3, 2)), "w"), nbgrad.track(np.zeros(2, np.float32), "b")
    hidden = np.tanh(np.ones((4, 3)) @ w + b)
    return np.sum(hidden[:, ::2] * 2.0 + hidden[:, :1] ** 2)


def test_every_value_stands_with_op_shape_dtype_and_bytes():
    labels = list(nodes(nbgrad.draw(example())).values())
    assert labels[0] == r"w\nfloat64 (3, 2)\n48 B"
    assert labels[1] == r"@\nfloat64 (4, 2)\n64 B"
    assert labels[2] == r"b\nfloat32 (2,)\n8 B"
    assert labels[-1].endswith(r"\nfloat64 ()\n8 B")
    assert any("index(index=(:, ::2))" in label for label in labels)


def test_parents_come_first_and_plain_operands_are_shown():
    drawing = nbgrad.draw(example())
    order = {name: i for i, name in enumerate(nodes(drawing))}
    among = [(a, b) for a, b in edges(drawing) if "_" not in a]
    assert all(order[a] < order[b] for a, b in among)
    assert 'label="2.0"' in drawing.dot and 'label="float64 (4, 3)"' in drawing.dot


def test_equal_graphs_give_equal_text():
    assert (
        str(nbgrad.draw(example())) == str(nbgrad.draw(example())) == repr(nbgrad.draw(example()))
    )


def test_a_value_used_twice_has_two_edges_and_one_box():
    x = nbgrad.track(3.0, "x")
    drawing = nbgrad.draw(x * x)
    assert edges(drawing) == [("n0", "n1")] * 2
    assert list(nodes(drawing)) == ["n0", "n1"]


def test_a_leaf_stands_alone():
    assert nodes(nbgrad.draw(nbgrad.track(1.0))) == {"n0": r"leaf\nfloat64 ()\n8 B"}


def test_a_freed_graph_says_so():
    x = nbgrad.track(np.ones(3), "x")
    z = np.sum(x * x)
    z.backward()
    (label,) = nodes(nbgrad.draw(z)).values()
    assert "(freed)" in label


def test_names_are_quoted():
    drawing = nbgrad.draw(nbgrad.track(1.0, 'a "b" \\n'))
    assert r'label="a \"b\" \\n\n' in drawing.dot


def test_long_chains_are_drawn_without_recursion():
    x = z = nbgrad.track(1.0)
    for _ in range(3000):
        z = z * x
    assert len(nodes(nbgrad.draw(z))) == 3001


def test_what_is_not_tracked_is_refused():
    with pytest.raises(TypeError, match=r"nbgrad\.track"):
        nbgrad.draw(np.ones(3))  # pyright: ignore[reportArgumentType]


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_a_notebook_shows_the_picture():
    drawing = nbgrad.draw(example())
    assert "<svg" in drawing.svg() and drawing._repr_svg_() == drawing.svg()


def test_without_graphviz_the_text_is_left(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    drawing = nbgrad.draw(example())
    assert drawing._repr_svg_() is None
    with pytest.raises(nbgrad.NbgradError, match="Graphviz"):
        drawing.svg()
