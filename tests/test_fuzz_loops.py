"""Random functions with loops: values, tangents and cotangents beside dual numbers.

NBGRAD_FUZZ_SEED chooses other programs; it stands in every failure.
"""

import pytest
from fuzz import loop
from fuzz.derivatives import running
from fuzz.derivatives.defects import DEFECTS

SEED = loop.seed_from_environment(2024)


def require_none(found):
    shown = [running.told(running.small(program, 20.0)) for program, _ in found.failures]
    assert not shown, f"NBGRAD_FUZZ_SEED={SEED}\n" + "\n".join(shown)


@pytest.mark.parametrize("part", range(2))
def test_random_programs(part):
    found = running.run(SEED + part * 10**6, 200)
    require_none(found)
    assert found.counts["right"] > 180, found.counts


@pytest.mark.full
def test_many_random_programs():
    require_none(running.run(SEED + 10**7, 10_000))


@pytest.mark.parametrize("name", DEFECTS)
def test_defects_are_found(name):
    with DEFECTS[name]():
        found = running.run(SEED, 300)
    assert found.failures, "not found"
    program, _ = found.failures[0]
    assert running.outcome(program) == "", "it fails without the defect, too"
