"""The options of our own that `.ci/run` gives to pytest."""

import os
import subprocess
import sys

import pytest
from helpers.children import ROOT


def pytest_on(*options: str) -> list[str]:
    """The lines that pytest prints for one file."""
    command = [sys.executable, "-m", "pytest", "-n0", "-q", *options, "tests/runtime/test_cores.py"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return answer.stdout.splitlines()


@pytest.mark.full
def test_parts_are_all_tests_once():
    def part(*options: str) -> list[str]:
        return [line for line in pytest_on("--collect-only", *options) if "::" in line]

    whole, first, second = part(), part("--part", "6/2"), part("--part", "7/2")
    assert first and second and sorted(first + second) == sorted(whole)
    again = part("--part", "8/2")
    assert sorted(again) == sorted(first) and again != first


def test_a_run_that_is_cut_off_says_so():
    lines = pytest_on("--minutes", "0")
    (line,) = [line for line in lines if line.startswith("CUT OFF after 0 minutes")]
    count = int(line.split(": ")[1].split()[0])
    assert f"{count} skipped" in lines[-1] and "passed" not in lines[-1]
