"""A change that makes more work of a workload has to say so: it changes `counted.json` too."""

import copy
import json
import subprocess
import sys

import pytest
from counted import FILE, NAMES, kinds, raised
from helpers.children import TESTS, environment
from helpers.rows import PLAIN_PYTHON

KNOWN = json.loads(FILE.read_text())


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
def test_no_workload_makes_more_work_than_is_written_down():
    command = [sys.executable, str(TESTS / "bench" / "counted.py"), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment({}))
    assert result.returncode == 0, result.stderr
    more = raised(json.loads(result.stdout), KNOWN)
    assert not more, "more work; if it is worth it: python tests/bench/counted.py --write\n" + (
        "\n".join(more)
    )


def test_one_more_call_of_a_kernel_is_noticed():
    found = copy.deepcopy(KNOWN)
    assert set(found["counts"]) == {*NAMES, *kinds} and not raised(found, KNOWN)
    found["counts"]["W5"]["eager: kernel calls"] += 1
    found["counts"]["W6"]["compiled: instructions"] += 1
    assert len(raised(found, KNOWN)) == 2
    found["with"]["processor"] = "another"
    (told,) = raised(found, KNOWN)
    assert told.startswith("W5, eager: kernel calls")
