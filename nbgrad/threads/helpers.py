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

import llvmlite.binding

from ..compiler.attributes import minsize
from ..compiler.instruction import instruction
from ..compiler.kernel import device, kernel

__all__ = ["handed", "packed", "spread"]

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


@instruction(row=("symbol", _SYMBOL))
def words():
    """The block of words."""
    return WORDS


@instruction
def acquire(pool, lock, wait):
    """Take a lock; without `wait`, only where it is free. Whether it was taken."""
    return False


@instruction
def release(pool, lock):
    """Open a lock, from whatever thread."""


@instruction
def ident(pool):
    """The number of the thread that asks, as `threading.get_ident` has it."""
    return 0


@instruction
def counted(pool, place, n):
    """Add to a word as one step, whoever else does; what it was before."""
    return 0


@instruction
def packed(*operands):
    """The operands as a tuple."""
    return operands


@instruction
def handed(function, operands):
    """A device function `function(*operands, piece)` with its operands, on the stack of the caller:
    two addresses. What it returns is lost, and it raises nothing."""
    return function, operands


@instruction
def run(function, operands, piece):
    """Run a piece of what was `handed`."""
    return function(*operands, piece)


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
