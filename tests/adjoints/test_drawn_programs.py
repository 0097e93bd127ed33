"""Second derivatives of random functions with loops."""

from collections import Counter

import pytest
from fuzz.derivatives.checking import Different, Unsupported, Unusable
from fuzz.derivatives.drawing import draw
from fuzz.derivatives.second import check_second
from helpers.daily import daily

from nbgrad.adjoints import tangent
from nbgrad.ir.scalar import parse


def outcomes(seeds):
    """The number of programs by outcome, and those that are wrong."""
    counts, wrong = Counter(), {}
    for seed in seeds:
        try:
            check_second(draw(seed))
            counts["right"] += 1
        except (Unusable, Unsupported):
            counts["unusable"] += 1
        except Different as different:
            wrong[seed] = str(different)
    return counts, wrong


@pytest.mark.full
@pytest.mark.parametrize("part", daily(range(4), 1))
def test_forward_over_reverse_is_reverse_over_forward(part):
    counts, wrong = outcomes(range(60 * part, 60 * part + 60))
    assert not wrong
    assert counts["right"] > 40


@pytest.mark.full
def test_a_wrong_tangent_is_found(monkeypatch):
    monkeypatch.setitem(tangent._JOINT, "divide", parse("(v + w * u) / y"))
    _, wrong = outcomes(range(40))
    assert wrong
