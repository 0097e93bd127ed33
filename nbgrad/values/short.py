"""The functions of this room that every op, leaf and gradient passes: C functions take their place
once they are called often."""

import sys
from functools import partial

from ..capi.builtin import function
from ..core import errstate
from ..eager.launching import often
from . import gradients, tracked
from .handing import HandOut, Reset
from .quiet import Asked
from .recording import Bind1, Bind2, MakeLeaf, Result
from .tracked import TrackedArray

make_leaf = tracked.make_leaf

for _owner, _name, _writer in (
    (TrackedArray, "bind1", partial(Bind1, TrackedArray)),
    (TrackedArray, "bind2", partial(Bind2, TrackedArray)),
    (tracked, "result", partial(Result, TrackedArray)),
    (sys.modules[__name__], "make_leaf", partial(MakeLeaf, TrackedArray)),
    (gradients, "_hand_out", HandOut),
    (errstate, "asked", Asked),
    (gradients, "_reset", partial(Reset, TrackedArray)),
):
    often(_owner, _name, partial(function, _writer))
