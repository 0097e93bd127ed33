"""What fuzzing found, as it was printed: each makes a function and the arguments it went wrong at.

`python -m tests.fuzz` prints such functions; give one a name and paste it into the module of its
kind. They get the library, so that NumPy's own meaning of each function can stand in its place.
"""

from . import compiled, dtypes, empty, gradients, samples, writes
from .registry import REGRESSIONS

__all__ = ["REGRESSIONS", "compiled", "dtypes", "empty", "gradients", "samples", "writes"]
