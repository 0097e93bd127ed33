"""What every test gets: a kernel cache of its own, random numbers with a seed, a level check; and
child processes with caches of theirs."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from caches import GRADIENTS, SIGNATURES, cached, gradients_are_right
from children import Nursery

from nbgrad.core.primitive import current_level
from nbgrad.kernels.jit.pipeline import fallbacks

_CACHE = "NBGRAD_CACHE_DIR"
_made = pytest.StashKey[str]()


def pytest_configure(config):
    """One kernel cache for all workers, who inherit it, and never the user's own."""
    if _CACHE not in os.environ:
        folder = tempfile.mkdtemp(prefix="nbgrad-tests-")
        os.environ[_CACHE] = config.stash[_made] = folder


def pytest_unconfigure(config):
    folder = config.stash.get(_made, None)
    if folder is not None:
        del os.environ[_CACHE]
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture(autouse=True)
def _level_is_restored():
    """A transformation that fails must still close its level."""
    before = current_level()
    yield
    assert current_level() == before, "the test left a transformation level open"


@pytest.fixture(autouse=True)
def _kernels_are_compiled_by_the_lean_front_end():
    """Whichever test compiles a kernel first, warnings or not."""
    before = len(fallbacks)
    yield
    assert fallbacks[before:] == [], "kernels of the package were left to Numba"


# -- caches of child processes ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def fork() -> Iterator[Nursery]:
    """Runs code in forks of one interpreter that has Numba ready."""
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
