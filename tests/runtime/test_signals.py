"""Signals in the middle of a compilation, of a cache write, of the command line."""

import itertools
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from helpers.caches import cached
from helpers.children import environment, interruptible
from helpers.daily import daily

from nbgrad.runtime.signals import held_back

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")


# -- held back -------------------------------------------------------------------------------------


@pytest.fixture
def handled():
    """The signals that handlers of the user were called with, in order; SIGINT raises."""
    calls = []

    def note(number, frame):
        calls.append(number)

    def interrupt(number, frame):
        calls.append(number)
        raise KeyboardInterrupt

    old = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGUSR1)}
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGUSR1, note)
    yield calls
    for number, handler in old.items():
        signal.signal(number, handler)


def test_signals_wait_for_the_end_of_the_body(handled):
    mine = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), held_back():
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert handled == []
    assert handled == [signal.SIGUSR1, signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is mine


def test_an_inner_body_waits_for_the_outer_one(handled):
    with pytest.raises(KeyboardInterrupt), held_back():
        with held_back():
            signal.raise_signal(signal.SIGINT)
        assert handled == []
        with held_back():
            pass
    assert handled == [signal.SIGINT]


def test_an_error_in_the_body_is_not_lost(handled):
    with pytest.raises(ZeroDivisionError), held_back():
        signal.raise_signal(signal.SIGUSR1)
        raise ZeroDivisionError
    assert handled == [signal.SIGUSR1]


def test_what_the_body_sets_stays(handled):
    with held_back():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN


def test_other_threads_leave_handlers_alone(handled):
    from threading import Thread

    seen = []

    def work():
        with held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    mine = signal.getsignal(signal.SIGINT)
    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [mine]


# -- compilations ----------------------------------------------------------------------------------

INTERRUPTED = """
import signal, random, time
from helpers.caches import SCALED
exec(SCALED)
chance = random.Random(SEED)
class Alarm(Exception): ...
def ring(*_): raise Alarm
signal.signal(signal.SIGALRM, ring)
signal.signal(signal.SIGINT, signal.default_int_handler)
survived = 0
def tried(work):
    global survived
    for _ in range(100):
        try:
            return work()
        except (KeyboardInterrupt, Alarm):
            survived += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    raise AssertionError("no end of interrupts")
def once(factor):
    if chance.random() < 0.5: signal.signal(signal.SIGALRM, signal.default_int_handler)
    else: signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, 0.12))
    return scaled(factor)
for k in range(COUNT):
    found = tried(lambda: once(float(k)))
    assert found == [k * 1.0 * j for j in range(5)], found
f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(x * x)))
value, slope = f(np.arange(3.0))
result = [survived, value, slope.tolist()]
"""


@pytest.mark.parametrize("count", [25, pytest.param(1000, marks=pytest.mark.full)])
def test_compilations_survive_signals_at_random_moments(fork, tmp_path, count):
    """A process that was interrupted compiles on, and so does the next one from what was stored."""
    code = f"SEED, COUNT = {count}, {count}\n" + INTERRUPTED
    first = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    survived, value, slope = first.result
    assert survived > count // 10 and (value, slope) == (5.0, [0.0, 2.0, 4.0])
    assert not first.warnings
    assert not [path for path in cached(tmp_path) if path.name.endswith(".tmp")]
    second = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert second.result[1:] == [value, slope] and second.compiled == 0


@pytest.mark.parametrize("point", ["open", "fchmod", "replace"])
@pytest.mark.parametrize("error", ["KeyboardInterrupt", "OSError", "MemoryError"])
def test_a_cache_write_that_breaks_off_leaves_right_numbers(fork, tmp_path, point, error):
    code = f"""
import os
from helpers.caches import SCALED
exec(SCALED)
from nbgrad.compiler import cache as _cache, folder as _folder
_cache.folder()
real = os.{point}
def broken(*args, **options):
    if "{point}" != "open" or args[1] & os.O_CREAT: raise {error}
    return real(*args, **options)
_folder.os.{point} = broken
found = []
try: found.append(scaled(3.0))
except KeyboardInterrupt: pass
_folder.os.{point} = real
result = [*found, scaled(3.0), scaled(4.0)]
"""
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    right = [[factor * j for j in range(5)] for factor in (3.0, 4.0)]
    assert session.result[-2:] == right
    assert [path.name for path in cached(tmp_path) if path.name.endswith(".tmp")] == []
    assert fork(code, NBGRAD_CACHE_DIR=tmp_path).result[-2:] == right


# -- the command line ------------------------------------------------------------------------------

# Sends the process Ctrl-C when it looks for the module number AT after the first of nbgrad.
INTERRUPT_AN_IMPORT = """
import os, signal, sys
class Finder:
    count = None
    def find_spec(self, name, path=None, target=None):
        # Which modules of its own Python has imported by then depends on its version.
        if self.count is None and name.startswith("nbgrad.") and "nbgrad.stopping" in sys.modules:
            self.count = 0
        elif self.count is not None:
            self.count += 1
            if self.count == int(os.environ["AT"]): os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("at", [5, 10, 60, 200, 300, 400])
def test_ctrl_c_during_imports_is_one_line(tmp_path, at):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT_AN_IMPORT)
    child = environment({"AT": at, "NBGRAD_CACHE_DIR": tmp_path / "cache"})
    child["PYTHONPATH"] = os.pathsep.join([str(tmp_path), child["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrad", "run", "moons", "--steps", "2", "--out", tmp_path],
        env=child,
        capture_output=True,
        text=True,
        preexec_fn=interruptible,
    )
    assert (done.returncode, done.stderr) == (130, "nbgrad: stopped\n")


def test_a_library_import_leaves_ctrl_c_alone():
    code = "import signal, nbgrad; print(signal.getsignal(2) is signal.default_int_handler)"
    command = [sys.executable, "-c", code]
    options: Any = {"env": environment({}), "capture_output": True, "text": True}
    done = subprocess.run(command, preexec_fn=interruptible, **options)
    assert done.stdout == "True\n"


def test_ctrl_c_that_the_command_is_told_to_ignore_is_ignored(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT_AN_IMPORT)
    child = environment({"AT": 10, "NBGRAD_CACHE_DIR": tmp_path / "cache"})
    child["PYTHONPATH"] = os.pathsep.join([str(tmp_path), child["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrad", "--version"],
        env=child,
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert (done.returncode, done.stderr) == (0, "")


CLOSED = ["<&- >&- 2>&-", "<&-", ">&-", "2>&-"]
COMMANDS = ["run --list", "cache info", "run babysqrt --no-plots"]


@pytest.mark.parametrize("run", daily(itertools.product(COMMANDS, CLOSED), 1))
def test_closed_streams_are_as_if_thrown_away(tmp_path, run):
    command, closed = run
    done = subprocess.run(
        f"{sys.executable} -m nbgrad {command} {closed}",
        shell=True,
        env=environment({"NBGRAD_CACHE_DIR": tmp_path}),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
