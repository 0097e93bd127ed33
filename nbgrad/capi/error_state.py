"""C version of `core.errstate.asked`, and the same test at the beginning of other C functions."""

import warnings
from contextvars import ContextVar

import numpy as np

from ..runtime.layout import version_place
from .emitter import INT, WORD, Emitter, word


class Asked(Emitter):
    """Writes `asked()`: returns False for the state that `words` describes, as below."""

    def __init__(self, variable: ContextVar, words: np.ndarray):
        super().__init__(0)
        demand_default_state(self, variable, words)
        self.build.ret(self.handed(self.held(self.constant(False))))


def demand_default_state(emit: Emitter, variable: ContextVar, words: np.ndarray) -> None:
    """Call the definition unless NumPy's error state and the warning filters are those that `asked`
    has seen before, and for which it returned False.

    `words` are two addresses of states; the address of the version of the module `warnings` and
    its value, or the address of the list of filters on Python 3.14, where dicts have no version;
    the address of the fields of this list, its length and its first item.
    """
    found, known = emit.row(1), word(words.ctypes.data)
    emit.python("PyContextVar_Get", INT, emit.constant(variable), word(0), found)
    state = emit.load(found)
    emit.count(state, -1)  # the context keeps its own reference
    states = [emit.equal(state, emit.load(known, offset)) for offset in (0, 8)]
    emit.demand(emit.build.or_(*states))
    version, filters = emit.load(known, 16), emit.load(known, 32)
    if version_place() is not None:
        emit.demand(emit.equal(emit.load(version), emit.load(known, 24)))
    else:
        item = emit.constant(vars(warnings)), emit.constant("filters")
        emit.demand(emit.equal(emit.python("PyDict_GetItemWithError", WORD, *item), version))
    emit.demand(emit.equal(emit.load(filters), emit.load(known, 40)))
    emit.demand(emit.equal(emit.load(emit.load(filters, 8)), emit.load(known, 48)))
