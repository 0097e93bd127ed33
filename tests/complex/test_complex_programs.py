"""Random programs of complex numbers, in all modes."""

import pytest
from fuzz.complex_programs import fault


@pytest.mark.parametrize("seed", [0, 3, 5, 11])
def test_a_program_agrees_with_numpy_and_itself(seed):
    assert not fault(seed, compiled=seed == 0)
