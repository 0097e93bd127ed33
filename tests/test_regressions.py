"""What fuzzing found, through every mode and tier."""

import pytest
from rows import PLAIN_PYTHON

from tests.fuzz import runner
from tests.fuzz.modes import MODES
from tests.fuzz.programs import Pasted
from tests.fuzz.static import STATIC
from tests.regressions import REGRESSIONS


@pytest.mark.parametrize("name", REGRESSIONS)
def test_eager(name):
    found = runner.outcome(Pasted(REGRESSIONS[name]), MODES)
    assert found.failures == []


@pytest.mark.parametrize("name", REGRESSIONS)
def test_compiled(name):
    modes = STATIC if PLAIN_PYTHON else ("compiled", "compiled_gradient")
    found = runner.outcome(Pasted(REGRESSIONS[name]), modes, STATIC)
    assert found.failures == []
