"""The fuzzer for a minute: nothing differs; and proof that it would find what does.

Most of it runs in processes in which Numba compiles nothing, where a program costs milliseconds;
the rest as machine code. NBGRAD_FUZZ_SEED chooses other programs; it stands in every failure.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import loop, odd
from fuzz.defects.drawn import DEFECTS
from fuzz.draw import draw, ops
from fuzz.oracle import Unusable
from fuzz.registry import INNER
from helpers.daily import daily
from helpers.rows import PLAIN_PYTHON, rows

SEED = loop.seed_from_environment(2024)
# So many that each kind takes about 8 seconds: the same programs on every machine.
PROGRAMS = {"eager": 90, "plain": 60, "kernels": 35, "compiled": 12}


def told(failures):
    return "\n".join(
        f"# NBGRAD_FUZZ_SEED={SEED}: {f.mode}: {f.kind}: {f.message[:300]}\n{f.program}"
        for f in failures
    )


def in_plain_python(script):
    """What a script prints, as JSON, in a process in which Numba compiles nothing."""
    root = str(Path(__file__).parents[1])
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    run = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("part", daily(range(4), 1))
def test_eager_and_compiled_programs_in_plain_python(part):
    kind = "eager" if part % 2 else "plain"
    cases, shown = in_plain_python(f"""
import json
from tests.fuzz.loop import Job, small, work

found = work(Job({kind!r}, {SEED + part * 10**6}, programs={PROGRAMS[kind]}))
shown = [small(f, 5.0) for f in list(found.failures.values())[:3]]
told = [f"{{f.mode}}: {{f.kind}}: {{f.message[:300]}}\\n{{f.program}}" for f in shown]
print(json.dumps([found.coverage.cases, told]))
""")
    assert cases > 50
    assert not shown, f"NBGRAD_FUZZ_SEED={SEED}\n" + "\n".join(shown)


@pytest.mark.skipif(PLAIN_PYTHON, reason="machine code")
@pytest.mark.parametrize("kind", ["kernels", "compiled"])
def test_machine_code(kind):
    found = loop.work(loop.Job(kind, SEED + 5 * 10**6, programs=PROGRAMS[kind]))
    assert not found.failures, told(found.failures.values())


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_odd_calls(compiled):
    assert odd.run(300 if compiled else 1500, SEED, compiled) == []


@pytest.mark.full
def test_ten_thousand_odd_calls():
    assert odd.run(10_000, SEED + 1) == []
    assert odd.run(10_000, SEED + 2, compiled=True) == []


@pytest.mark.parametrize("name", daily(DEFECTS, len(DEFECTS) // 3))
def test_defects_are_found(name):
    length, program = in_plain_python(f"""
import json
from tests.fuzz import findings
from tests.fuzz.defects.drawn import DEFECTS

found = findings.find(DEFECTS[{name!r}], 60.0, seed=7, shrinking=3.0).failure
print(json.dumps([found and found.program.length, found and str(found.program)]))
""")
    assert length is not None, "not found"
    assert length <= 3, program


def test_every_row_is_drawn():
    """A row enters by itself, by its function or its samples."""
    reached = set(ops()) | INNER
    missing = {row.name for row in rows() if row.name not in reached}
    assert missing == set()


def test_programs_are_the_same_for_the_same_seed():
    for seed in range(20):
        try:
            first = str(draw(seed))
        except Unusable:
            continue
        assert str(draw(seed)) == first
