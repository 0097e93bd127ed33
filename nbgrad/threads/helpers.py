"""Helping threads: a long loop runs in pieces, some of them on threads of ours.

The helpers wait inside of compiled code, so that a compiled program hands them pieces without the
GIL, wherever it is called from: Python, `@njit` code, C. A piece is claimed by whoever is free, and
what a piece computes depends on its number alone, so results do not depend on who ran it. Whoever
finds the helpers busy runs all of its pieces itself: nobody waits for another's loop, and threads
that enter at once are safe.

Locks are those of Python's C API, which are the same on every system and need no GIL. They and the
job lie in one block of words that compiled code knows by its symbol.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types

from ..compiler.attributes import minsize
from ..compiler.kernel import device, instruction, kernel

__all__ = ["handed", "may_spread", "packed", "spread"]

MOST = 256
"""So many threads at most."""

_SYMBOL = "nbgrad_threads"
# Words of the block: functions of Python's, the lock of whoever has the helpers, how many threads
# may run, whether that was chosen for all threads or only the main one may use more than one, the
# job, and for each helper two locks and the count of its pieces; those of callers stand first.
ACQUIRE, RELEASE, IDENT, BUSY, LIMIT, CHOSEN, MAIN, HELPERS = range(8)
FUNCTION, OPERANDS, COUNT, TEAM, SHARE, RAN, OWNER = range(8, 15)
WAKE, DONE, PIECES, NEXT = range(16, 16 + 4 * MOST, MOST)
WORDS = (ctypes.c_int64 * (16 + 4 * MOST))()
# A job that is no function of compiled code: the helpers return to Python for it.
STOP, PYTHON = 0, 1
TAKE, GO, END = range(3)

PYTHONS = {
    ACQUIRE: ctypes.pythonapi.PyThread_acquire_lock,
    RELEASE: ctypes.pythonapi.PyThread_release_lock,
    IDENT: ctypes.pythonapi.PyThread_get_thread_ident,
}
for _place, _function in PYTHONS.items():
    WORDS[_place] = ctypes.cast(_function, ctypes.c_void_p).value or 0
llvmlite.binding.add_symbol(_SYMBOL, ctypes.addressof(WORDS))


# -- what compiled code does ------------------------------------------------------------------


@instruction(lambda: WORDS, ("symbol", "nbgrad_threads"))
def words(typingctx):
    """The block of words."""

    def codegen(context, builder, signature, args):
        return _block(builder)

    return types.CPointer(types.int64)(), codegen


def _block(builder: Any) -> Any:
    block = builder.module.globals.get(_SYMBOL)
    return block or ir.GlobalVariable(builder.module, ir.IntType(64), _SYMBOL)


def may_spread(builder: Any) -> Any:
    """Write whether more than one thread may run, or nobody has asked yet how many."""
    word = ir.IntType(64)
    limit = builder.load(builder.gep(_block(builder), [word(LIMIT)]))
    return builder.icmp_signed("!=", limit, word(1))


def _python(place: int, result: Any, *arguments: Any) -> Callable:
    """A call of one of Python's functions whose addresses are in the block."""

    def call(builder, pool, values):
        kind = ir.FunctionType(result, arguments)
        address = builder.load(builder.gep(pool, [ir.IntType(64)(place)]))
        return builder.call(builder.inttoptr(address, kind.as_pointer()), values)

    return call


_int, _ulong = (
    ir.IntType(ctypes.sizeof(ctypes.c_int) * 8),
    ir.IntType(ctypes.sizeof(ctypes.c_ulong) * 8),
)
_acquire = _python(ACQUIRE, _int, cgutils.voidptr_t, _int)
_release = _python(RELEASE, ir.VoidType(), cgutils.voidptr_t)
_ident = _python(IDENT, _ulong)


@instruction(lambda pool, lock, wait: False)
def acquire(typingctx, pool, lock, wait):
    """Take a lock; without `wait`, only where it is free. Whether it was taken."""

    def codegen(context, builder, signature, args):
        place = builder.inttoptr(args[1], cgutils.voidptr_t)
        got = _acquire(builder, args[0], [place, builder.zext(args[2], _int)])
        return builder.icmp_signed("!=", got, _int(0))

    return types.boolean(pool, types.int64, types.boolean), codegen


@instruction(lambda pool, lock: None)
def release(typingctx, pool, lock):
    """Open a lock, from whatever thread."""

    def codegen(context, builder, signature, args):
        _release(builder, args[0], [builder.inttoptr(args[1], cgutils.voidptr_t)])
        return context.get_dummy_value()

    return types.void(pool, types.int64), codegen


@instruction(lambda pool: 0)
def ident(typingctx, pool):
    """The number of the thread that asks, as `threading.get_ident` has it."""

    def codegen(context, builder, signature, args):
        number = _ident(builder, args[0], [])
        word = context.get_value_type(types.int64)
        return builder.zext(number, word) if number.type != word else number

    return types.int64(pool), codegen


@instruction(lambda pool, place, n: 0)
def counted(typingctx, pool, place, n):
    """Add to a word as one step, whoever else does; what it was before."""

    def codegen(context, builder, signature, args):
        return builder.atomic_rmw("add", builder.gep(args[0], [args[1]]), args[2], "seq_cst")

    return types.int64(pool, types.int64, types.int64), codegen


@instruction(lambda *operands: operands)
def packed(typingctx, *operands):
    """The operands as a tuple: Python makes a list of many, which Numba does not compile."""
    kinds = types.Tuple(tuple(map(types.unliteral, operands)))

    def codegen(context, builder, signature, args):
        values = cgutils.unpack_tuple(builder, args[0])
        return context.make_tuple(builder, signature.return_type, values)

    return kinds(types.StarArgTuple(operands)), codegen


@instruction(lambda function, operands: (function, operands))
def handed(typingctx, function, operands):
    """A device function `function(*operands, piece)` with its operands, on the stack of the caller:
    two addresses. What it returns is lost, and it raises nothing."""
    kinds = (*operands.types, types.intp)
    inner = function.get_call_type(typingctx, kinds, {})

    def codegen(context, builder, signature, args):
        pair = ir.LiteralStructType([context.get_value_type(kind) for kind in operands.types])
        with builder.goto_entry_block():
            block = builder.alloca(pair)
        builder.store(_struct(builder, pair, cgutils.unpack_tuple(builder, args[1])), block)
        caller = _caller(context, builder.module, pair, function.dispatcher.overloads[kinds], inner)
        word = context.get_value_type(types.int64)
        addresses = [builder.ptrtoint(caller, word), builder.ptrtoint(block, word)]
        return context.make_tuple(builder, signature.return_type, addresses)

    return types.UniTuple(types.int64, 2)(function, operands), codegen


def _struct(builder, kind, values):
    struct = ir.Constant(kind, ir.Undefined)
    for i, value in enumerate(values):
        struct = builder.insert_value(struct, value, i)
    return struct


_PIECE = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, ir.IntType(64)])


def _caller(context, module, pair, compiled, signature):
    """A C function `void(void* operands, int64 piece)` that calls a device function."""
    function = ir.Function(module, _PIECE, module.get_unique_name("nbgrad_piece"))
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block())
    block = builder.load(builder.bitcast(function.args[0], pair.as_pointer()))
    operands = [builder.extract_value(block, i) for i in range(len(pair.elements))]
    callee = context.declare_function(module, compiled.fndesc)
    context.active_code_library.add_linking_library(compiled.library)
    context.call_conv.call_function(
        builder, callee, signature.return_type, signature.args, [*operands, function.args[1]]
    )
    builder.ret_void()
    return function


@instruction(lambda function, operands, piece: function(*operands, piece))
def run(typingctx, function, operands, piece):
    """Run a piece of what was `handed`."""

    def codegen(context, builder, signature, args):
        function = builder.inttoptr(args[0], _PIECE.as_pointer())
        builder.call(function, [builder.inttoptr(args[1], cgutils.voidptr_t), args[2]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@device
def allowed(pool):
    """How many threads may run for whoever asks."""
    if pool[CHOSEN] == 0 and ident(pool) != pool[MAIN]:
        return 1
    return pool[LIMIT]


@device
def spread(count, work):
    """Run the pieces 0 to count - 1 of what was `handed`, on this thread and on the helpers."""
    minsize()
    pool = words()
    function, operands = work
    helpers = min(allowed(pool), count) - 1
    if helpers < 1 or not acquire(pool, pool[BUSY], False):
        for piece in range(count):
            run(function, operands, piece)
        counted(pool, RAN, count)
        return
    helpers = min(helpers, pool[HELPERS])
    pool[FUNCTION], pool[OPERANDS] = function, operands
    pool[COUNT], pool[TEAM] = count, helpers + 1
    pool[SHARE] = (count + helpers) // (helpers + 1)
    for i in range(helpers + 1):
        pool[NEXT + i] = i * pool[SHARE]
    for i in range(helpers):
        release(pool, pool[WAKE + i])
    counted(pool, RAN, work_off(pool, 0))
    end(pool)


@device
def end(pool):
    """Wait until all helpers of the job are done, and let others have them."""
    minsize()
    for i in range(pool[TEAM] - 1):
        # A helper that did not wake until now takes no part, and nobody waits for it.
        if not acquire(pool, pool[WAKE + i], False):
            acquire(pool, pool[DONE + i], True)
    release(pool, pool[BUSY])


@device
def work_off(pool, i):
    """Run pieces of the job until there are none left, from share i on; how many.

    Neighbouring pieces of a share go to one thread: two that write first to the same page of new
    memory hold each other up.
    """
    minsize()
    function, operands = pool[FUNCTION], pool[OPERANDS]
    ran, share = 0, i
    for _ in range(pool[TEAM]):
        stop = min((share + 1) * pool[SHARE], pool[COUNT])
        piece = counted(pool, NEXT + share, 1)
        while piece < stop:
            run(function, operands, piece)
            ran += 1
            piece = counted(pool, NEXT + share, 1)
        share = share + 1 if share + 1 < pool[TEAM] else 0
    return ran


@kernel
def help_others(i):
    """What helper i does, without the GIL: run pieces, wait. It returns where it is told to stop,
    and where a job is one for Python."""
    pool = words()
    while True:
        acquire(pool, pool[WAKE + i], True)
        function = pool[FUNCTION]
        if function == STOP or function == PYTHON:
            return function
        pool[PIECES + i] += work_off(pool, i + 1)
        release(pool, pool[DONE + i])


# -- jobs of Python -------------------------------------------------------------------------------


@kernel
def job_of_python(step, helpers):
    """A step of a job of Python's, each in one call, which no signal interrupts.

    TAKE: have the helpers, unless they are busy; whether it has them. GO: wake so many of them.
    END: wait for them and give them up, where the calling thread has them.
    """
    pool = words()
    if step == TAKE:
        if not acquire(pool, pool[BUSY], False):
            return False
        pool[OWNER], pool[TEAM] = ident(pool), 1
    elif step == GO:
        pool[FUNCTION], pool[TEAM] = PYTHON, helpers + 1
        for i in range(helpers):
            release(pool, pool[WAKE + i])
    elif pool[OWNER] == ident(pool):
        pool[OWNER] = 0
        end(pool)
    return True
