"""The measures of `python -m tests.helpers.stress`, for small counts."""

import os

import pytest
from helpers.daily import daily
from helpers.stress import MEASURES, measured

SMALL = {"eager": 300, "compiling": 5, "kills": 4, "threads": 400, "forward": 1500,
         "backward": 1500, "compile": 4}  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="forks and sends POSIX signals")
@pytest.mark.parametrize("name", daily(MEASURES, 3))
def test_small_counts_are_withstood(name):
    assert measured(name, SMALL[name])
