"""The ways into a program's core for arrays, as text: new results, given results, many arrays."""

from ..loops.memory import Result
from .signature import (
    Frame,
    called,
    checked,
    core_called,
    empty,
    function,
    kept_alive,
    returned,
    scratch_of,
    solid,
    taken,
)


def entry(frame: Frame, name: str = "") -> str:
    """`name(inputs)` gives new arrays and scalars in the order of the outputs."""
    lines, given = [*checked(frame, False), *solid(frame)], taken(frame)
    # Results are alive until they are returned.
    alive = [name for name in frame.arguments() if name[0] == "a"]
    for i in frame.memory.written:
        lines.append(f"r{i} = {empty(frame.outputs[i])}")
        given.append(f"pointer(r{i})")
    lines += scratch_of(frame, False, given, alive)
    lines += called(frame, given)
    results = [f"s{i}" if v.shape == () else f"r{i}" for i, v in enumerate(frame.outputs)]
    for i, source in frame.memory.copies.items():
        results[i] = f"{frame.name_of(source)}.copy()"
    lines += [*kept_alive(alive), f"return {', '.join(results)}"]
    return function(name or frame.name, frame.arguments(), lines)


def into(frame: Frame) -> str:
    """`name_into(inputs, arrays)` writes the results that are arrays and returns the scalars.

    Where a result overlaps anything else, `name_apart` makes new ones, which are moved.
    """
    scalars = returned([f"s{i}" for i in frame.scalars()])
    apart = f"{frame.name}_apart"
    news = [f"{'t' if v.shape else 's'}{i}" for i, v in enumerate(frame.outputs)]
    moved = [f"{', '.join(news)} = {apart}({', '.join(frame.arguments())})"]
    for i in frame.arrays():
        moved.append(f"move(pointer(r{i}), pointer(t{i}), {frame.outputs[i].size})")
    moved += [*kept_alive([f"t{i}" for i in frame.arrays()]), scalars]
    lines, given, alive = [*checked(frame, True), *solid(frame)], taken(frame), []
    if frame.arrays():
        lines.append(f"writable({', '.join(f'r{i}' for i in frame.arrays())})")
        lines += [f"if {_meets(frame)}:", *("    " + line for line in moved)]
    given += [f"pointer(r{i})" for i in frame.memory.written]
    alive = [name for name in frame.arguments() if name[0] == "a"]
    lines += scratch_of(frame, False, given, alive)
    lines += [*called(frame, given), *_copied(frame), *kept_alive(alive), scalars]
    arguments = [*frame.arguments(), *(f"r{i}" for i in frame.arrays())]
    text = function(f"{frame.name}_into", arguments, lines)
    return f"@device\n{entry(frame, apart)}\n\n{text}" if frame.arrays() else text


def given(frame: Frame) -> str:
    """`name_given(inputs, arrays)`, all contiguous, writes the results that are arrays and returns
    the numbers; large scratch is its last argument. It raises Overlap where a result overlaps
    anything else. Whoever calls it keeps the arrays alive."""
    lines, given = checked(frame, True), taken(frame)
    if frame.arrays():
        lines += [f"if {_meets(frame)}:", "    raise Overlap('results overlap')"]
    given += [f"pointer(r{i})" for i in frame.memory.written]
    lines += scratch_of(frame, True, given, [])
    lines += [*called(frame, given), *_copied(frame)]
    lines.append(returned([f"s{i}" for i in frame.scalars()]))
    arguments = [*frame.arguments(), *(f"r{i}" for i in frame.arrays())]
    return function(f"{frame.name}_given", [*arguments, *(["work"] if frame.large else [])], lines)


def _copied(frame: Frame) -> list[str]:
    """Lines for the results that are copies of an input or of another result."""
    return [
        f"move(pointer(r{i}), pointer({frame.name_of(source)}), {frame.outputs[i].size})"
        for i, source in frame.memory.copies.items()
    ]


def _meets(frame: Frame) -> str:
    """Whether a result overlaps another array."""
    names = [name for name in frame.arguments() if name[0] == "a"]
    places = [*names, *(f"r{i}" for i in frame.arrays())]
    return f"meet({len(names)}, {', '.join(places)})"


def packed(frame: Frame) -> str:
    """`name_packed(table, scalars)` with the addresses of all arrays, inputs before results, in an
    array of int64; large scratch is the last argument. It returns the scalars."""
    scalars = [name for name in frame.arguments() if name[0] == "x"]
    call = ["t", *scalars, *(["pointer(work)"] if frame.large else [])]
    lines = ["t = pointer(table)", *core_called(frame, call)]
    for i, source in frame.memory.copies.items():
        to = frame.base(Result(i))
        lines.append(f"move({to}, {frame.base(source)}, {frame.outputs[i].size})")
    lines.append(returned([f"s{i}" for i in frame.scalars()]))
    arguments = ["table", *scalars]
    return function(f"{frame.name}_packed", [*arguments, *(["work"] if frame.large else [])], lines)
