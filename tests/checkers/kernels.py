"""Whether kernels and cores are sound: for tests of what makes them.

Names are defined before they are used, and where the use can see them; operands have the dtypes
that statements say; positions lie within their buffers, by interval arithmetic. A position that was
loaded is not known, so those of gathers are for the interpreter to check.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from checkers.devices import written as written_by_device
from checkers.scope import Range, Room, Scope, require, require_dtype
from nbgrad.errors import TraceError
from nbgrad.ir.affine import Affine
from nbgrad.ir.core import Core, CoreStatement, CoreStep, Device, Repeat, Scratch
from nbgrad.ir.scalar import NAMES, Arg, Expr, arguments, evaluator, parse
from nbgrad.ir.statements import (
    PIECE,
    Accumulate,
    Address,
    Assign,
    Call,
    Chunks,
    For,
    Gemm,
    If,
    Kernel,
    Literal,
    Load,
    Pieces,
    Position,
    Statement,
    Store,
    Variable,
)
from nbgrad.ir.walk import walk

_INT = np.dtype(np.int64)
_BOTH, _OTHER, _QUOTIENT = parse("x & y"), parse("1 - x"), parse("x // y")


def check_core(core: Core, sizes: Mapping[Hashable, int], dtypes: Mapping[str, np.dtype]) -> None:
    """Raise TraceError where a core, or what it runs, is not sound.

    Arguments:
        core: The core.
        sizes: The bytes of its parameters that are buffers.
        dtypes: Those of its parameters that are numbers.
    """
    _core(core, Scope(dict(dtypes), {}, {b: Room(0, size) for b, size in sizes.items()}))


def _core(core: Core, scope: Scope) -> list[np.dtype]:
    """Check a core; the dtypes of its results."""
    for parameter in core.parameters:
        known = scope.dtypes if isinstance(parameter, str) else scope.rooms
        require(parameter in known, f"parameter {parameter} is given nothing", core.name)
    for name in scope.dtypes:
        scope.ranges.setdefault(name, None)
    _steps(core.steps, scope, core.scratch)
    return [scope.dtype_of(x, core.name) for x in core.results]


def _steps(steps: Iterable[CoreStep], scope: Scope, scratch: int) -> None:
    for step in steps:
        statement = step.statement
        for buffer, _ in _places(statement):
            if isinstance(buffer, Scratch):
                inside = buffer.offset + buffer.size <= scratch
                require(inside, f"{buffer} goes beyond the scratch of {scratch} bytes", statement)
        if isinstance(statement, Repeat):
            if statement.count is not None:
                require_dtype(statement.count, _INT, scope, statement.variable)
            if statement.going:
                require_dtype(statement.going, np.dtype(bool), scope, statement.variable)
            if statement.n:
                within = scope.inside(statement.variable, (0, statement.n - 1))
                within.dtypes[statement.variable] = _INT
                _steps(statement.body, within, scratch)
        elif isinstance(statement, If):
            _branch(statement, scope, scratch)
        elif isinstance(statement, Call):
            _call(statement, scope)
        else:
            _statement(statement, scope)


def _call(call: Call, scope: Scope) -> None:
    function = call.function
    if isinstance(function, Kernel):
        _run(function, call, scope)
    elif isinstance(function, Core):
        _enter(function, call, scope)
    else:
        name = function.function.__name__
        for pointer, count in zip(call.pointers, function.extents, strict=True):
            scope.touch(pointer.buffer, pointer.at, pointer.dtype, count, name)


def _branch(branch: If, scope: Scope, scratch: int) -> None:
    """Check both sides; what both define is known after them."""
    require_dtype(branch.condition, np.dtype(bool), scope, branch)
    sides = [replace(scope, dtypes=dict(scope.dtypes), ranges=dict(scope.ranges)) for _ in range(2)]
    for side, steps in zip(sides, (branch.then, branch.otherwise), strict=True):
        _steps(steps, side, scratch)
    for name in sides[0].dtypes.keys() & sides[1].dtypes.keys() - scope.dtypes.keys():
        require_dtype(name, sides[0].dtypes[name], sides[1], branch)
        scope.define(name, sides[0].dtypes[name])


def _places(statement: CoreStatement) -> list[tuple[Hashable, Affine]]:
    """The buffers and positions that a step points at."""
    if isinstance(statement, Call):
        return [(p.buffer, p.at) for p in statement.pointers]
    if isinstance(statement, Gemm):
        return [statement.a, statement.b, statement.c]
    return [(statement.buffer, statement.at)] if isinstance(statement, (Load, Store)) else []


def _behind(pointer: Address, scope: Scope, user: object) -> Room | None:
    """The room behind a pointer."""
    room, bounds = scope.room(pointer.buffer, user), scope.range_of(pointer.at, user)
    if room is None or bounds is None:
        return None
    low, high = bounds[0] * pointer.dtype.itemsize, bounds[1] * pointer.dtype.itemsize
    return Room(room.low - low, room.high - high)


def _run(kernel: Kernel, call: Call, scope: Scope) -> None:
    label, pointers = kernel.label, call.pointers
    dtypes = tuple(p.dtype for p in pointers)
    require(dtypes == kernel.buffers, f"pointers to {dtypes} in place of {kernel.buffers}", label)
    written = {s.buffer for s in walk(kernel.body) if isinstance(s, Store)}
    for i in range(len(pointers)):
        if i not in written:
            continue
        others = [p for j, p in enumerate(pointers) if j != i]
        require(not any(_meet(pointers[i], p) for p in others),
                 f"buffer {i} is written and lies where another one does", label)  # fmt: skip
    rooms: dict[Hashable, Room | None] = {}
    for i, pointer in enumerate(pointers):
        rooms[i] = _behind(pointer, scope, label)
    number_dtypes = [scope.dtype_of(x, label) for x in call.numbers]
    inner = Scope(dict(zip(kernel.numbers, number_dtypes, strict=True)), {}, rooms)
    inner.ranges.update(dict.fromkeys(kernel.numbers))
    _body(kernel.body, inner, kernel)
    for name, result in zip(call.results, kernel.results, strict=True):
        scope.define(name, inner.dtype_of(result, label))


def _meet(one: Address, other: Address) -> bool:
    a, b = one.buffer, other.buffer
    if isinstance(a, Scratch) and isinstance(b, Scratch):
        return a.offset < b.offset + b.size and b.offset < a.offset + a.size
    return a == b


def _same(one: Address, other: Address) -> bool:
    """Whether two pointers begin at one place, or point to buffers that lie in one in part."""
    return one.at == other.at if one.buffer == other.buffer else _meet(one, other)


def _written(core: Core) -> set[Hashable]:
    """The parameters that a core writes to."""
    written: set[Hashable] = set()
    stack = list(core.steps)
    while stack:
        statement = stack.pop().statement
        if isinstance(statement, Repeat):
            stack += statement.body
        elif isinstance(statement, If):
            stack += [*statement.then, *statement.otherwise]
        elif isinstance(statement, Call):
            written |= _written_by(statement)
        elif isinstance(statement, Store):
            written.add(statement.buffer)
    return written


def _written_by(call: Call) -> set[Hashable]:
    """The buffers that a call writes to."""
    function = call.function
    if isinstance(function, Core):
        inner = _written(function)
        pairs = zip(function.parameters, call.arguments, strict=False)
        return {x.buffer for parameter, x in pairs
                if parameter in inner and isinstance(x, Address)}  # fmt: skip
    if isinstance(function, Device):
        return {call.pointers[written_by_device(function)].buffer}
    stores = {s.buffer for s in walk(function.body) if isinstance(s, Store)}
    return {p.buffer for i, p in enumerate(call.pointers) if i in stores}


def _enter(core: Core, call: Call, scope: Scope) -> None:
    operands = list(call.arguments)
    if core.takes_scratch:
        room = operands.pop()
        assert isinstance(room, Address)
        scope.touch(room.buffer, room.at, room.dtype, core.scratch, core.name)
    written, others = _written(core), [x for x in operands if isinstance(x, Address)]
    inner = Scope()
    for parameter, x in zip(core.parameters, operands, strict=True):
        if isinstance(x, Address):
            if parameter in written:
                alone = not any(_same(x, other) for other in others if other is not x)
                require(alone, f"{parameter} is written and lies where another one does", core.name)
            inner.rooms[parameter] = _behind(x, scope, core.name)
        else:
            bounds = scope.ranges.get(x) if isinstance(x, str) else None
            inner.define(str(parameter), scope.dtype_of(x, core.name), bounds)
    for name, dtype in zip(call.results, _core(core, inner), strict=True):
        scope.define(name, dtype)


def _body(body: Iterable[Statement], scope: Scope, kernel: Kernel) -> None:
    for statement in body:
        if isinstance(statement, For):
            if statement.stop > statement.start:
                within = scope.inside(statement.axis, (statement.start, statement.stop - 1))
                _body(statement.body, within, kernel)
        elif isinstance(statement, Chunks):
            loop = statement.loop
            within = scope.inside(loop.axis, (loop.start, loop.stop - 1))
            _body([*statement.before, *loop.body, *statement.after], within, kernel)
        elif isinstance(statement, Pieces):
            _pieces(statement, scope, kernel)
        else:
            if isinstance(statement, (Load, Store)):
                buffer = kernel.buffers[statement.buffer]  # pyright: ignore
                require(statement.dtype == buffer, f"the buffer holds {buffer}", statement)
            _statement(statement, scope)


def _pieces(pieces: Pieces, scope: Scope, kernel: Kernel) -> None:
    part = pieces.part
    require(part.buffers == kernel.buffers, "a part has other buffers", part.label)
    inner = replace(scope, dtypes={}, ranges={})
    for name in part.numbers[:-1]:
        inner.define(name, scope.dtype_of(name, part.label), scope.ranges.get(name))
    inner.define(PIECE, _INT, (0, pieces.count - 1))
    _body(part.body, inner, part)
    for join, name in zip(pieces.joins, part.results, strict=True):
        require_dtype(join.target, join.dtype, scope, join)
        require_dtype(name, join.dtype, inner, join)


def _statement(statement: Statement | CoreStatement, scope: Scope) -> None:
    if isinstance(statement, Assign):
        _let(statement, scope)
    elif isinstance(statement, Position):
        scope.define(statement.target, _INT, scope.range_of(statement.at, statement))
    elif isinstance(statement, Variable):
        scope.define(statement.target, scope.dtype_of(statement.start, statement))
    elif isinstance(statement, Accumulate):
        for operand in (statement.target, statement.value):
            require_dtype(operand, statement.dtype, scope, statement)
    elif isinstance(statement, Load):
        scope.touch(statement.buffer, statement.at, statement.dtype, 1, statement)
        scope.define(statement.target, statement.dtype)
    elif isinstance(statement, Store):
        scope.touch(statement.buffer, statement.at, statement.dtype, 1, statement)
        require_dtype(statement.value, statement.dtype, scope, statement)
    else:
        assert isinstance(statement, Gemm), statement
        (m, n, k), (ta, tb), (lda, ldb) = statement.sizes, statement.turned, statement.strides
        shapes = ((k, m) if ta else (m, k), (n, k) if tb else (k, n), (m, n))
        parts = zip((statement.a, statement.b, statement.c), shapes, (lda, ldb, n), strict=True)
        for (buffer, at), (rows, columns), ld in parts:
            require(ld >= columns, f"rows of {columns} elements lie {ld} apart", statement)
            scope.touch(buffer, at, statement.dtype, (rows - 1) * ld + columns, statement)


def _let(let: Assign, scope: Scope) -> None:
    dtypes = [scope.dtype_of(x, let) for x in let.operands]
    dtypes_by_name = dict(zip(NAMES, dtypes, strict=False))
    missing = arguments(let.body) - set(dtypes_by_name)
    require(not missing, f"the code reads {', '.join(sorted(missing))}, which it is not given", let)
    if not isinstance(let.body, Arg):  # a cast takes any dtype
        kinds = {dtype for dtype in dtypes if dtype.kind == "f"}
        require(kinds <= {let.inner}, f"constants are {let.inner} among {kinds}", let)
        kind = _kind_of(let.body, dtypes_by_name, let)
        fits = kind == let.dtype.kind or {kind, let.dtype.kind} <= {"i", "u"}
        require(fits, f"the code gives {kind!r}, not {let.dtype}", let)
    scope.define(let.target, let.dtype, _range_of_code(let, scope))


def _kind_of(body: Expr, dtypes: Mapping[str, np.dtype], let: Assign) -> str:
    """The kind of numbers that scalar code makes of dtypes."""
    try:
        with np.errstate(all="ignore"):
            ones = {name: dtype.type(1) for name, dtype in dtypes.items()}
            return np.asarray(evaluator(body, let.inner)(ones)).dtype.kind
    except TypeError as wrong:
        raise TraceError(f"{let}: {wrong}") from None


def _range_of_code(let: Assign, scope: Scope) -> Range | None:
    """The range of the two places that a loop's state takes in turn, and of the spans of its steps;
    None for other code."""
    if let.body is _BOTH and let.operands[1] == Literal(1, _INT):
        return 0, 1
    bounds = scope.ranges[let.operands[0]] if isinstance(let.operands[0], str) else None
    if let.body is _OTHER:
        return bounds and (1 - bounds[1], 1 - bounds[0])
    if let.body is _QUOTIENT and isinstance(let.operands[1], Literal):
        length = int(let.operands[1].number)
        return bounds and (bounds[0] // length, bounds[1] // length)
    return None


__all__ = ["check_core"]
