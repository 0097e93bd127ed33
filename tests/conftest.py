"""Fixtures and options of all tests: a separate kernel cache, seeded random numbers, a check of
levels, child processes with their own caches, and options to run a part of the tests."""

import os
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.caches import GRADIENTS, SIGNATURES, cached, gradients_are_right
from helpers.children import Nursery

from nbgrad.core import errstate
from nbgrad.core.primitive import current_level

_filters_ask = errstate.filters_ask
_CACHE = "NBGRAD_CACHE_DIR"
_changed, _begun = pytest.StashKey[pytest.MonkeyPatch](), pytest.StashKey[float]()
_folder = pytest.StashKey[str]()


_LATE = "no time was left"


def pytest_addoption(parser):
    parser.addoption("--part", help="K/N: one of N parts of the tests, in an order that K gives")
    parser.addoption("--minutes", type=float, help="begin no test after so many minutes")


def pytest_collection_modifyitems(config, items):
    """Select one part, in an order that mixes files, so that a partial run covers all of them."""
    if config.getoption("--part"):
        number, parts = map(int, config.getoption("--part").split("/"))
        kept = [x for x in items if zlib.crc32(x.nodeid.encode()) % parts == number % parts]
        config.hook.pytest_deselected(items=list(set(items).difference(kept)))
        items[:] = sorted(kept, key=lambda x: zlib.crc32(f"{number} {x.nodeid}".encode()))


def pytest_runtest_setup(item):
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() > item.config.stash[_begun] + 60.0 * minutes:
        pytest.skip(_LATE)


def pytest_terminal_summary(terminalreporter, config):
    skipped = terminalreporter.stats.get("skipped", [])
    late = sum(_LATE in str(report.longrepr) for report in skipped)
    if late:
        minutes = config.getoption("--minutes")
        terminalreporter.write_line(f"CUT OFF after {minutes:g} minutes: {late} tests did not run")


def pytest_configure(config):
    """Create one kernel cache for all workers, instead of the user's; and a folder of bytecode,
    where Python is told to write none: each child process would compile all sources again.

    Warning filters are ignored here: because warnings are errors, every op would be checked for
    floating-point errors, and no C function would run.
    """
    errstate.filters_ask = lambda filters: False
    config.stash[_begun] = time.monotonic()
    folder = config.stash[_folder] = tempfile.mkdtemp(prefix="nbgrad-tests-")
    changed = config.stash[_changed] = pytest.MonkeyPatch()
    if _CACHE not in os.environ:
        changed.setenv(_CACHE, os.path.join(folder, "cache"))
    if sys.dont_write_bytecode:
        changed.setenv("PYTHONPYCACHEPREFIX", os.path.join(folder, "bytecode"))
        changed.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


def pytest_unconfigure(config):
    if _folder in config.stash:
        config.stash[_changed].undo()
        shutil.rmtree(config.stash[_folder], ignore_errors=True)


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def filters_count(monkeypatch):
    """Let warning filters enable reports of floating-point errors, as outside of tests."""
    monkeypatch.setattr(errstate, "filters_ask", _filters_ask)
    monkeypatch.setattr(errstate.quiet, "count", -1)
    errstate.quiet.words[:] = 0


@pytest.fixture(autouse=True)
def _level_is_restored():
    """Check that transformations close their levels, also after an error."""
    before = current_level()
    yield
    assert current_level() == before, "the test left a transformation level open"


# -- caches of child processes ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def fork() -> Iterator[Nursery]:
    """Run code in forks of an interpreter in which Numba is initialised."""
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork processes")
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="module")
def warmed(fork, tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("warm")
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=directory)
    assert gradients_are_right(session)
    assert session.compiled == SIGNATURES == len(cached(directory))
    return directory


@pytest.fixture
def warm(warmed, tmp_path) -> Path:
    """A cache folder with the kernels of GRADIENTS."""
    return Path(shutil.copytree(warmed, tmp_path / "warm"))
