"""The same source with `import nbgrad.numpy as np` and with NumPy's own import: plain, and tracked
where both take it. Targets: 2 % above."""

import sys
from pathlib import Path

import pytest

import nbgrad

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from corpus import OURS, PLAIN, find
from test_corpus import differentiated

ANY = "filters.kalman_track", "images.sobel", "finance.portfolio", "methods.gauss_seidel"
EITHER = "layers.self_attention", "textbook.floyd_warshall"


@pytest.mark.parametrize("name", ANY + EITHER)
def test_outside_of_derivatives(benchmark, note_ratio, name):
    ours, plain = [find(name, line) for line in (OURS, PLAIN)]
    args = plain.arguments()
    benchmark(ours, *args)
    note_ratio(lambda: ours(*args), lambda: plain(*args), 1.02)


@pytest.mark.parametrize("name", EITHER)
def test_gradients(benchmark, note_ratio, name):
    ours, plain = [differentiated(find(name, line)) for line in (OURS, PLAIN)]
    args = find(name, PLAIN).arguments()
    benchmark(ours, *args)
    note_ratio(lambda: ours(*args), lambda: plain(*args), 1.02)


def test_compiled_gradients(benchmark, note_ratio):
    name = EITHER[0]
    ours, plain = [nbgrad.compile(differentiated(find(name, line))) for line in (OURS, PLAIN)]
    args = find(name, PLAIN).arguments()
    benchmark(ours, *args)
    note_ratio(lambda: ours(*args), lambda: plain(*args), 1.02)
