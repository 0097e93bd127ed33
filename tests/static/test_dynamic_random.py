"""Random programs with a named size: held against the function for that length and for others.

They run on watched memory in a process in which Numba compiles nothing. NBGRAD_FUZZ_SEED chooses
other programs.
"""

from fuzz.loop import seed_from_environment
from helpers.children import run

PROGRAMS = 24
SEED = seed_from_environment(5000)

SCRIPT = f"""
from tests.fuzz.case import Case, NotHere, REFUSALS
from tests.fuzz.draw import draw
from tests.fuzz.named import named_sizes
from tests.fuzz.oracle import Unusable

held, told = 0, []
for seed in range({SEED}, {SEED} + {PROGRAMS}):
    try:
        case = Case(draw(seed, longest=5))
        named_sizes(case)
        held += 1
    except (Unusable, NotHere, *REFUSALS):
        continue
    except Exception as error:
        told.append(f"{{seed}}: {{error!r:.300}}\\n{{case.program}}")
result = [held, told]
"""


def test_random_programs_for_any_size():
    held, told = run(SCRIPT, NUMBA_DISABLE_JIT="1").result
    assert not told, "\n".join(told)
    assert held > PROGRAMS // 4
