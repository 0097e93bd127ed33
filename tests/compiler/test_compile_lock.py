"""A machine compiles a kernel once, however many of its processes want it at the same time."""

import os
import subprocess
import sys
import time

import pytest
from helpers.caches import GRADIENTS, SIGNATURES, SQUARE, gradients_are_right, square_is_right
from helpers.children import Nursery

from nbgrad.compiler import compile_lock
from nbgrad.compiler.compile_lock import Turn

pytestmark = pytest.mark.skipif(compile_lock.fcntl is None, reason="no locks of files here")


@pytest.fixture(scope="module")
def fork():
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / f"nbgrad-{os.geteuid()}"


def test_two_processes_compile_a_program_once(fork, tmp_path):
    code = """
f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.tanh(x) ** 2)))
result = f(np.ones(3))[0]
"""
    first, second = fork.many(2, code, NBGRAD_CACHE_DIR=tmp_path / "cache", TMPDIR=tmp_path)
    assert first.result == second.result
    assert (first.compiled + second.compiled, first.loaded + second.loaded) == (1, 1)
    assert list((tmp_path / f"nbgrad-{os.geteuid()}").iterdir()) == [], "nothing is left"


WITHOUT = {
    "no locks at all": "from nbgrad.compiler import compile_lock; compile_lock.fcntl = None",
    "locks that are refused": """
import fcntl, errno
def flock(*_): raise OSError(errno.ENOLCK, "No locks available")
fcntl.flock = flock
""",
    "a lock that nobody lets go": """
import fcntl
from nbgrad.compiler import compile_lock
compile_lock._PATIENCE = 0.05
def flock(*_): raise BlockingIOError
fcntl.flock = flock
""",
    "slow locks": """
import fcntl, time
flock = fcntl.flock
def slow(*a): time.sleep(0.2); return flock(*a)
fcntl.flock = slow
""",
    "another's folder": "import os; os.geteuid = lambda me=os.geteuid(): me + 1",
}


@pytest.mark.parametrize("fault", WITHOUT)
def test_without_locks_all_compile_and_are_right(fork, tmp_path, fault):
    code = WITHOUT[fault].strip() + "\n" + (SQUARE if fault == "another's folder" else GRADIENTS)
    right = square_is_right if fault == "another's folder" else gradients_are_right
    for session in fork.many(2, code, NBGRAD_CACHE_DIR=tmp_path / "cache", TMPDIR=tmp_path):
        assert right(session)
        assert not session.warnings or fault == "another's folder"
        assert session.compiled <= SIGNATURES


def test_the_turn_passes_on_when_a_process_dies(place):
    code = f"""
import tempfile, time
tempfile.tempdir = {str(place.parent)!r}
from nbgrad.compiler.compile_lock import Turn
turn = Turn("one", lambda: False)
print(turn._file is not None, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"True\n"
        looks = []

        def is_made():
            looks.append(1)
            if len(looks) == 3:
                other.kill()
            return False

        turn = Turn("one", is_made)
    assert turn._file is not None and len(looks) >= 3
    turn.end()
    assert list(place.iterdir()) == []


@pytest.mark.full
def test_nobody_waits_for_what_is_made_or_for_ever(place, monkeypatch):
    first, other = Turn("one", lambda: False), Turn("two", lambda: False)
    assert first._file and other._file, "two things at once"
    assert Turn("one", lambda: True)._file is None
    monkeypatch.setattr(compile_lock, "_PATIENCE", 0.01)
    started = time.monotonic()
    assert Turn("one", lambda: False)._file is None
    assert time.monotonic() - started < 10.0
    first.end()
    again = Turn("one", lambda: False)
    assert again._file is not None
    again.end()
    again.end()
    other.end()
