"""What every test gets: a kernel cache of its own, random numbers with a seed, a level check."""

import os
import shutil
import tempfile

import numpy as np
import pytest

from nbgrad.core import current_level

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
