"""What a fresh process waits for: the import, the first gradient and the first call of a compiled
program, with and without a cache.

Every figure is taken inside a child process after `import numba`, which the user of Numba pays
anyway; each has a kernel cache of its own.
"""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

import nbgrad

HERE = Path(__file__).parent

NUMBA = """
import time
start = time.perf_counter()
import numba
numba_took = time.perf_counter() - start
"""

IMPORT = f"""{NUMBA}
start = time.perf_counter()
import nbgrad
print(time.perf_counter() - start, numba_took)
"""

FIRST_GRADIENT = f"""{NUMBA}
from nbgrad.bench.libraries import nbgrad_library
from nbgrad.bench.workloads import runner, workloads
start = time.perf_counter()
run = runner(workloads["W5"], nbgrad_library())
run()
print(time.perf_counter() - start, numba_took)
import nbgrad
print(nbgrad.stats()["compiled"])
"""

COMPILED = f"""{NUMBA}
import sys
from nbgrad.bench.libraries import nbgrad_compiled_library
from nbgrad.bench.workloads import runner, workloads
import nbgrad
start = time.perf_counter()
runner(workloads[sys.argv[1]], nbgrad_compiled_library())()
print(time.perf_counter() - start, numba_took)
print(nbgrad.stats()["compiled"])
"""

TRIVIAL = """
import time, os, sys, numba
sys.path.insert(0, os.environ["NBGRAD_CACHE_DIR"])
from trivial import double
start = time.perf_counter()
double(1.0)
print(time.perf_counter() - start)
"""


@pytest.fixture
def child(tmp_path):
    """child(code, cache, argument) runs Python on code; gives the numbers that it prints."""

    def run(code: str, cache: str, argument: str = "") -> list[float]:
        environment = {
            **os.environ,
            "NBGRAD_CACHE_DIR": str(tmp_path / cache),
            "PYTHONPATH": os.pathsep.join([str(Path(nbgrad.__file__).parents[1]), str(HERE)]),
            "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode"),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        result = subprocess.run(
            [sys.executable, "-c", code, argument], env=environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        return [float(line) for line in result.stdout.split()]

    return run


@pytest.fixture
def note_times(note):
    def store(times: list[tuple[float, float]], target: float):
        """Seconds, and multiples of `import numba` in the same child, which machines share."""
        note(
            seconds=round(median(seconds for seconds, _ in times), 3),
            least=round(min(seconds for seconds, _ in times), 3),
            in_imports_of_numba=round(median(seconds / unit for seconds, unit in times), 2),
            rounds=len(times),
            target=target,
        )

    return store


@pytest.mark.benchmark(group="a fresh process")
def test_import(benchmark, child, note_times):
    child(IMPORT, "cache")  # writes the bytecode
    times = []
    benchmark.pedantic(lambda: times.append(child(IMPORT, "cache")), rounds=7)
    note_times(times, 0.06)


@pytest.mark.benchmark(group="a fresh process")
def test_first_gradient_from_a_warm_cache(benchmark, child, note_times):
    child(FIRST_GRADIENT, "cache")
    times = []

    def again():
        seconds, unit, compiled = child(FIRST_GRADIENT, "cache")
        assert compiled == 0
        times.append((seconds, unit))

    benchmark.pedantic(again, rounds=7)
    note_times(times, 0.35)


@pytest.mark.benchmark(group="a fresh process")
def test_first_gradient_from_an_empty_cache(benchmark, child, note_times):
    child(IMPORT, "cache")
    times = []

    def first():
        seconds, unit, compiled = child(FIRST_GRADIENT, f"cache{len(times)}")
        assert compiled > 0
        times.append((seconds, unit))

    benchmark.pedantic(first, rounds=3)
    note_times(times, 4.0)


def compiled_in_seconds(child, name: str, cache: str) -> tuple[float, float]:
    seconds, unit, compiled = child(COMPILED, cache, name)
    assert (compiled == 0) == (cache == "warm")
    return seconds, unit


@pytest.mark.benchmark(group="a fresh process")
@pytest.mark.parametrize(("name", "target"), [("W5", 1.0), ("W6", 1.5)])
def test_first_compiled_call_from_an_empty_cache(benchmark, child, note_times, name, target):
    child(IMPORT, "bytecode")
    times = []

    def first():
        times.append(compiled_in_seconds(child, name, f"empty{len(times)}"))

    benchmark.pedantic(first, rounds=3)
    note_times(times, target)


@pytest.mark.benchmark(group="a fresh process")
@pytest.mark.parametrize("name", ["W5", "W6"])
def test_first_compiled_call_from_a_warm_cache(benchmark, child, note, tmp_path, name):
    """Beside a trivial cached `@njit` function in its own process: most of either is Numba's."""
    (tmp_path / "warm").mkdir()
    (tmp_path / "warm" / "trivial.py").write_text(
        "import numba\n@numba.njit(cache=True)\ndef double(x):\n    return 2.0 * x\n"
    )
    child(COMPILED, "warm", name)
    child(TRIVIAL, "warm")
    times, trivial = [], []

    def again():
        times.append(compiled_in_seconds(child, name, "warm")[0])
        trivial.append(*child(TRIVIAL, "warm"))

    benchmark.pedantic(again, rounds=5)
    above = [one - other for one, other in zip(times, trivial, strict=True)]
    note(
        seconds=round(median(times), 3),
        trivial=round(median(trivial), 3),
        above=round(median(above), 3),
        least_above=round(min(times) - min(trivial), 3),
        target=0.06,
    )
