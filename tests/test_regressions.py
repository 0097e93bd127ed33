"""What fuzzing found, through every mode and tier."""

import pytest
from fuzz import runner
from fuzz.modes import MODES
from fuzz.programs import Pasted
from fuzz.static import STATIC
from helpers.rows import PLAIN_PYTHON
from regressions import REGRESSIONS


@pytest.mark.parametrize("name", REGRESSIONS)
def test_eager(name):
    found = runner.outcome(Pasted(REGRESSIONS[name]), MODES)
    assert found.failures == []


@pytest.mark.parametrize("name", REGRESSIONS)
def test_compiled(name):
    modes = STATIC if PLAIN_PYTHON else ("compiled", "compiled_gradient")
    found = runner.outcome(Pasted(REGRESSIONS[name]), modes, STATIC)
    assert found.failures == []
