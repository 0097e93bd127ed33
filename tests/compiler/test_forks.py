"""Forks while another thread compiles or holds a lock of ours."""

import ast
import os
import threading
from pathlib import Path

import pytest

import nbgrad
from nbgrad.compiler.forks import fork_safe

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")

# A thread compiles program after program; meanwhile the main thread forks, and each child compiles
# and computes. A child that hangs is killed by its alarm.
COMPILING = """
import os, signal, threading, time
def program(k):
    return nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.sin(x * float(k)) * x)))
x = np.linspace(0.1, 1.0, 4)
program(1)(x)  # imports what it needs; a child cannot open the locks of imports
began, over = threading.Event(), threading.Event()
def work():
    k = 2
    while not over.is_set():
        began.set()
        program(k)(x)
        k += 1
thread = threading.Thread(target=work)
thread.start()
began.wait()
result = []
for k in range(6):
    time.sleep(0.05 * k)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        value, slope = program(100 + k)(x)
        c = 100.0 + k
        right = np.allclose(value, np.sum(np.sin(c * x) * x)) and np.allclose(
            slope, np.sin(c * x) + c * x * np.cos(c * x))
        os._exit(0 if right else 1)
    result.append(os.waitpid(pid, 0)[1])
over.set()
thread.join()
value, _ = program(1)(x)
result.append(float(value) - float(np.sum(np.sin(x) * x)))
"""


def test_children_of_a_fork_during_a_compilation_compile(fork, tmp_path):
    session = fork(COMPILING, NBGRAD_CACHE_DIR=tmp_path)
    assert session.result[:-1] == [0] * 6
    assert session.result[-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_a_lock_that_another_thread_held_is_open_in_the_child(kind):
    lock = fork_safe(kind())
    held, over = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if lock.acquire(timeout=5) else 1)
    over.set()
    thread.join()
    assert os.waitpid(pid, 0)[1] == 0
    assert lock.acquire(timeout=5)
    lock.release()


def test_the_thread_that_forks_keeps_what_it_holds():
    lock = fork_safe(threading.RLock())
    with lock:
        pid = os.fork()
        if pid == 0:
            lock.release()  # raises where it were not held
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.full
def test_the_locks_of_cached_properties_are_open_in_a_child():
    """Python has one for all instances of a class until 3.12."""
    package = Path(nbgrad.__file__).parent
    closed = []
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and "@cached_property" in ast.unparse(node):
                decorators = [ast.unparse(each) for each in node.decorator_list]
                if "with_open_properties" not in decorators:
                    closed.append(f"{path.name}: {node.name}")
    assert not closed
