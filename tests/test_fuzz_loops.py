"""Random functions with loops: values, tangents and cotangents beside dual numbers.

NBGRAD_FUZZ_SEED chooses other programs; it stands in every failure.
"""

import pytest
from fuzz import loop
from fuzz.derivatives import running
from fuzz.derivatives.checking import check
from fuzz.derivatives.defects import DEFECTS, FIRST
from fuzz.derivatives.machine import check_machine, check_numba, check_tracked
from fuzz.derivatives.packed import check_packed
from fuzz.derivatives.whole import draw_whole
from helpers.daily import daily

from nbgrad.adjoints.first_sets import with_first_sets
from nbgrad.adjoints.positions import Positions
from nbgrad.loops import packing

SEED = loop.seed_from_environment(2024)


def require_none(found, checked=check):
    failing = [program for program, _ in found.failures]
    shown = [running.told(running.small(x, 20.0, checked), checked) for x in failing]
    assert not shown, f"NBGRAD_FUZZ_SEED={SEED}\n" + "\n".join(shown)


@pytest.mark.parametrize("part", daily(range(2), 1))
def test_random_programs(part):
    found = running.run(SEED + part * 10**6, 100)
    require_none(found)
    assert found.counts["right"] > 90, found.counts


def test_machine_code():
    require_none(running.run(SEED + 2 * 10**6, 15, checked=check_machine), check_machine)


def test_tracked_calls():
    found = running.run(SEED + 5 * 10**6, 10, checked=check_tracked, draw=draw_whole)
    require_none(found, check_tracked)


def test_values_are_those_of_numba():
    require_none(running.run(SEED + 3 * 10**6, 3, checked=check_numba), check_numba)


@pytest.mark.parametrize("drawing", [running.draw, draw_whole])
def test_vectors(drawing):
    found = running.run(SEED + 4 * 10**6, 60, checked=check_packed, draw=drawing)
    require_none(found, check_packed)


def test_lost_cotangents_are_found(monkeypatch):
    """A pass that sets the shadows of all arrays, also of those that hold cotangents."""

    def with_all(function, shadows):
        bars = [name for name, _ in function.parameters if name.endswith(".bar")]
        return with_first_sets(function, dict.fromkeys(bars, ("a_n0",)) | shadows)

    monkeypatch.setattr(packing, "with_first_sets", with_all)
    found = running.run(3750, 60, checked=check_packed, draw=draw_whole)
    assert found.failures, "not found"


def test_values_of_variables_that_are_taken_for_known_are_found(monkeypatch):
    """Positions of elements by the last value that a variable gets."""
    made = Positions.__init__

    def knowing(self, statements, shapes, constants, variables):
        made(self, statements, shapes, constants, ())

    monkeypatch.setattr(Positions, "__init__", knowing)
    found = running.run(1, 60, draw=draw_whole)
    assert found.failures, "not found"


@pytest.mark.full
def test_many_random_programs():
    require_none(running.run(SEED + 10**7, 10_000))
    require_none(running.run(SEED + 2 * 10**7, 1000, checked=check_machine), check_machine)
    require_none(running.run(SEED + 3 * 10**7, 60, checked=check_numba), check_numba)
    found = running.run(SEED + 5 * 10**7, 600, checked=check_tracked, draw=draw_whole)
    require_none(found, check_tracked)


@pytest.mark.parametrize("name", DEFECTS)
def test_defects_are_found(name):
    with DEFECTS[name]():
        found = running.run(FIRST.get(name, 2024), 300)
    assert found.failures, "not found"
    program, _ = found.failures[0]
    assert running.outcome(program) == "", "it fails without the defect, too"
