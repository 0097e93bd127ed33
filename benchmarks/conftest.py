"""`note`: figures that pytest-benchmark stores, and that `-rP` or `-s` shows."""

import pytest

from nbgrad.bench.timing import interleave


@pytest.fixture
def note(benchmark):
    """note(**figures) stores figures with the benchmark and prints them."""

    def store(**figures):
        benchmark.extra_info.update(figures)
        print(", ".join(f"{name}: {figure}" for name, figure in figures.items()))

    return store


@pytest.fixture
def note_ratio(benchmark, note):
    """note_ratio(function, reference, target, share=1) measures both in turns and notes the ratio.

    `share` is how many ops one call of the function stands for. Nothing is measured where
    benchmarks are disabled. A missed target is noted, never a failure: machines differ.
    """

    def measure(function, reference, target, share=1):
        if benchmark.enabled:
            times = interleave({"this": function, "reference": reference}, "reference", 40)
            note(
                ratio=round(times["this"].ratio / share, 2),
                ratio_of_least=round(times["this"].least / times["reference"].least / share, 2),
                target=target,
            )

    return measure
