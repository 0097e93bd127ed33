"""Programs that write, as they are drawn: NumPy runs them, and what is left out changes nothing."""

import numpy as np
import pytest
from fuzz import shrink
from fuzz.defects.memory import DEFECTS
from fuzz.memory.drawing import drafted, draw
from fuzz.memory.sound import is_sound
from fuzz.oracle import Unusable, values
from helpers.daily import daily
from test_fuzz import in_plain_python

COUNT = 400


def programs():
    for seed in range(COUNT):
        try:
            yield draw(seed)
        except Unusable:
            continue


def test_numpy_runs_them_on_arguments_that_cannot_be_written_to():
    found = list(programs())
    assert len(found) > 0.7 * COUNT
    unsound = [str(program) for program in found if not is_sound(program)]
    assert not unsound, unsound[0]


def test_what_is_pruned_changes_no_value():
    for seed in range(COUNT):
        try:
            d, outputs = drafted(seed)
            program = d.program(outputs, seed)
        except Unusable:
            continue
        for found, i in zip(values(program), outputs, strict=True):
            np.testing.assert_array_equal(found, d.values[i], str(program))


def test_a_write_that_matters_is_kept_by_pruning_and_found_by_shrinking():
    program = next(p for p in programs() if len(p.steps) > 6)
    smaller = shrink.shrunk(program, lambda p: any(s.writes for s in p.steps), 5.0)
    assert 1 <= len(smaller.steps) <= 2
    assert any(step.writes for step in smaller.steps)


def test_they_are_the_same_for_the_same_seed():
    assert [str(draw(seed)) for seed in (1, 2)] == [str(draw(seed)) for seed in (1, 2)]


@pytest.mark.full
@pytest.mark.parametrize("name", daily(DEFECTS, 1))
def test_defects_are_found(name):
    program = in_plain_python(f"""
import json
from tests.fuzz import findings
from tests.fuzz.defects.memory import DEFECTS

found = findings.find(DEFECTS[{name!r}], 90.0, 7, 3.0, findings.WRITING).failure
print(json.dumps(found and str(found.program)))
""")
    assert program is not None, "not found"
