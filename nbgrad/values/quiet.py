"""C code of `core/errstate.py`: whether nothing asks for reports of floating-point errors."""

from ..capi.emitter import INT, Emitter, word
from ..core.errstate import CURRENT, quiet


class Asked(Emitter):
    """Writes `asked()`."""

    def __init__(self):
        super().__init__(0)
        demand_quiet(self)
        self.build.ret(self.handed(self.held(self.constant(False))))


def demand_quiet(emit: Emitter) -> None:
    """Go on where `asked` has found before that nothing asks for reports."""
    found, words = emit.row(1), word(quiet.words.ctypes.data)
    emit.python("PyContextVar_Get", INT, emit.constant(CURRENT), word(0), found)
    state = emit.load(found)
    emit.count(state, -1)  # the context has one more reference to it
    known = [emit.equal(state, emit.load(words, offset)) for offset in (0, 8)]
    emit.demand(emit.build.or_(*known))
    version, filters = emit.load(words, 16), emit.load(words, 32)
    emit.demand(emit.equal(emit.load(version), emit.load(words, 24)))
    emit.demand(emit.equal(emit.load(filters), emit.load(words, 40)))
    emit.demand(emit.equal(emit.load(emit.load(filters, 8)), emit.load(words, 48)))
