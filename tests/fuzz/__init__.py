"""A differential fuzzer: random programs, run in every mode and tier, against NumPy.

`programs` says what a program is, `vocabulary` and `registry` what its steps may be, `draw` makes
one, `oracle` says what NumPy makes of it, `modes` and `static` are the ways to run it, `shrink`
makes a failing one small, `odd` calls functions with what they do not take, and `runner` is the
loop over all of that. `python -m tests.fuzz --help` teaches the rest.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # where `checkers` stands, beside this package
