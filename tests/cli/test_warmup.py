"""`warmup`: one process compiles, and the next finds the kernels of common programs."""

import os

import numpy as np
import pytest
from helpers.children import run
from helpers.rows import PLAIN_PYTHON

import nbgrad
from nbgrad.core.primitive import Primitive
from nbgrad.rules.families import Elementwise
from nbgrad.warmup import calls_of

PROGRAM = """
x, w = nbgrad.track(np.ones((8, 3))), nbgrad.track(np.ones((3, 2)))
b = nbgrad.track(np.ones(2))
hidden = np.tanh(x @ w + b) * 2.0 - 1.0
loss = nbgrad.mse(hidden * hidden, np.ones((8, 2))) + np.sum(np.sqrt(hidden + 3.0)) / 8.0
loss.backward()
result = None
"""
FEW = """
import nbgrad.warmup
from nbgrad.core.primitive import Primitive
few = ["add", "tanh"]
rows = [Primitive.registry[name] for name in few]
sys.modules["nbgrad.warmup"]._sampled = lambda: rows
names = []
found = nbgrad.warmup(on_op=lambda done, total, name: names.append((done, total, name)))
result = [found, names]
"""


def rows_with_samples() -> list[Primitive]:
    return [row for row in Primitive.registry.values() if row.samples]


@pytest.mark.parametrize("row", rows_with_samples(), ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_row_has_calls(row, dtype):
    calls = list(calls_of(row, np.dtype(dtype)))
    assert calls
    arrays = [arg for call in calls for i, arg in enumerate(call.args) if i in call.tracked]
    assert all(array.dtype == dtype for array in arrays)
    if isinstance(row, Elementwise):
        assert arrays, "what has a derivative is pulled back too"


def test_every_call_runs():
    assert run("result = nbgrad.warmup()", NUMBA_DISABLE_JIT="1").result["compiled"] == 0


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
def test_a_second_warmup_only_loads(tmp_path):
    first, names = run("import sys\n" + FEW, NBGRAD_CACHE_DIR=str(tmp_path)).result
    assert first["compiled"] > 4 and first["loaded"] == 0
    assert names == [[0, 2, "add"], [1, 2, "tanh"]]
    second, _ = run("import sys\n" + FEW, NBGRAD_CACHE_DIR=str(tmp_path)).result
    assert second == {"compiled": 0, "loaded": first["compiled"]}


SHARED = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import nbgrad.warmup
few = [Primitive.registry["add"], Primitive.registry["exp"]]
sys.modules["nbgrad.warmup"]._sampled = lambda: few
names = []
with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
    found = nbgrad.warmup(on_op=lambda *told: names.append(told), executor=executor)
result = [found, sorted(name for _, _, name in names), [done for done, _, _ in names]]
"""


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_processes_share_the_work(tmp_path):
    program = "import sys\nfrom nbgrad.core.primitive import Primitive\n" + SHARED
    found, names, done = run(program, NBGRAD_CACHE_DIR=str(tmp_path)).result
    assert found["compiled"] > 4
    assert names == ["add", "exp"] and done == [0, 1]
    again, _, _ = run(program, NBGRAD_CACHE_DIR=str(tmp_path)).result
    assert again["compiled"] == 0 and again["loaded"] >= found["compiled"]


@pytest.mark.full
def test_a_common_program_starts_warm(tmp_path):
    run("result = nbgrad.warmup()", NBGRAD_CACHE_DIR=str(tmp_path))
    assert run(PROGRAM, NBGRAD_CACHE_DIR=str(tmp_path)).stats["compiled"] == 0


def test_other_dtypes_are_refused():
    with pytest.raises(TypeError, match="float64, float32 or both"):
        nbgrad.warmup(("int64",))


TERMINAL = """
import io, sys
from nbgrad.compiler import cache as _cache

class Screen(io.StringIO):
    def isatty(self):
        return {terminal}

_cache._PATIENCE = 0.0
sys.stderr, kept = Screen(), sys.stderr
x = nbgrad.track(np.ones(3))
np.sum(np.tanh(x) * x).backward()
sys.stderr, screen = kept, sys.stderr
result = [screen.getvalue(), _cache.compiling.seconds]
"""


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
def test_long_compiling_is_told_once_on_a_terminal_and_nowhere_else(tmp_path):
    told, seconds = run(
        TERMINAL.replace("{terminal}", "True"), NBGRAD_CACHE_DIR=str(tmp_path / "a")
    ).result
    assert told.count("\n") == 1 and told.startswith("nbgrad: compiling kernels, ")
    assert f"cached in {tmp_path / 'a' / 'kernels'} for next time" in told
    assert 0 < seconds < 60
    told, _ = run(
        TERMINAL.replace("{terminal}", "False"), NBGRAD_CACHE_DIR=str(tmp_path / "b")
    ).result
    assert told == ""


WAITING = """
import io, sys, threading, time
from nbgrad.compiler import cache as _cache

class Screen(io.StringIO):
    def isatty(self):
        return True

_cache._PATIENCE = 0.05
sys.stderr, kept = Screen(), sys.stderr
try:
    with _cache.compiling:
        raise ValueError
except ValueError:
    left = threading.active_count()
with _cache.compiling, _cache.compiling:
    limit = time.monotonic() + 30
    while not sys.stderr.getvalue() and time.monotonic() < limit:
        time.sleep(0.01)
    told = sys.stderr.getvalue()
result = [left, told, sys.stderr.getvalue(), threading.active_count()]
sys.stderr = kept
"""


def test_it_is_told_while_one_kernel_still_compiles_and_no_thread_stays():
    left, while_it_compiles, afterwards, threads = run(WAITING).result
    assert left == threads == 1
    assert while_it_compiles.startswith("nbgrad: compiling kernels, 0.")
    assert afterwards == while_it_compiles
