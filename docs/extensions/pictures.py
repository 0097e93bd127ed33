"""The pictures of the pages on ideas, from the code: `python docs/extensions/pictures.py`.

Needs Graphviz.
"""

from pathlib import Path

import numpy as np

import nbgrad

IMAGES = Path(__file__).parents[1] / "images"


def write(name: str, svg: str) -> None:
    """Write a picture without the size in points, so that it fits a page."""
    (IMAGES / name).write_text(svg, encoding="utf-8")


def graph() -> str:
    """The graph of the first example."""
    x, y = nbgrad.track(2.0, "x"), nbgrad.track(3.0, "y")
    return nbgrad.draw(x * y + np.sin(x)).svg()


def narrow() -> str:
    """A function with a narrow middle, in the best order of elimination."""
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(30, 2)), rng.normal(size=(2, 30)), rng.normal(size=(30, 30))
    found = nbgrad.elimination.record(
        lambda x: np.tanh(a @ np.tanh(b @ np.tanh(c @ x))), np.ones(30)
    )
    best = nbgrad.elimination.order(found, "optimal")
    return nbgrad.elimination.draw(found, best).svg()


def buffers() -> str:
    """The buffers of a compiled gradient over its steps, from the page that `show` makes."""
    rng = np.random.default_rng(0)
    shapes = [(64, 32), (32,), (32, 10), (100, 64)]
    args = [rng.normal(size=shape) for shape in shapes]

    def loss(w, b, v, x):
        return np.mean(nbgrad.logsoftmax(np.tanh(x @ w + b) @ v)[:, 0])

    fast = nbgrad.compile(nbgrad.grad(loss, argnums=(0, 1, 2)))
    fast(*args)
    page = nbgrad.show(fast).html()
    start = page.index("<svg")
    svg = page[start : page.index("</svg>") + 6]
    style = "<style>text {font: 10px system-ui, sans-serif; fill: #333}</style>"
    return svg.replace(">", f'><rect width="100%" height="100%" fill="white"/>{style}', 1)


if __name__ == "__main__":
    write("graph.svg", graph())
    write("narrow.svg", narrow())
    write("buffers.svg", buffers())
