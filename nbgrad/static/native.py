"""The ways into a program's core for arrays, as text: new results, given results, many arrays."""

from .frame import (
    Frame,
    called,
    checked,
    core_called,
    empty,
    function,
    kept_alive,
    returned,
    scratch_of,
    taken,
)


def entry(frame: Frame) -> str:
    """`name(inputs)` gives new arrays and scalars in the order of the outputs."""
    lines, given, alive = taken(frame)
    for i in frame.memory.results:
        lines.append(f"r{i} = {empty(frame.outputs[i])}")
        given.append(f"pointer(r{i})")
    alive += [f"r{i}" for i in frame.memory.results]
    lines += scratch_of(frame, False, given, alive)
    lines += called(frame, given)
    results = [f"s{i}" if v.shape == () else f"r{i}" for i, v in enumerate(frame.outputs)]
    for i, source in frame.memory.copies.items():
        results[i] = f"{source}.copy()"
    lines += [*kept_alive(alive), f"return {', '.join(results)}"]
    return function(frame.name, frame.arguments(), lines)


def into(frame: Frame) -> str:
    """`name_into(inputs, arrays)` writes the results that are arrays and returns the scalars.

    Where a result overlaps anything else, all are computed apart and moved.
    """
    lines, given, alive = taken(frame)
    lines += [*_results(frame), f"overlap = {_meets(frame)}"]
    for i in frame.arrays():
        lines += [f"t{i} = r{i}", "if overlap:", f"    t{i} = {empty(frame.outputs[i])}"]
    given += [f"pointer(t{i})" for i in frame.memory.results]
    lines += scratch_of(frame, False, given, alive)
    lines += called(frame, given)
    for i, source in frame.memory.copies.items():
        source = source.replace("r", "t")
        lines.append(f"move(pointer(t{i}), pointer({source}), {frame.outputs[i].size})")
    if frame.arrays():
        lines.append("if overlap:")
    for i in frame.arrays():
        lines.append(f"    move(pointer(r{i}), pointer(t{i}), {frame.outputs[i].size})")
    alive += [f"{letter}{i}" for i in frame.arrays() for letter in "rt"]
    lines += [*kept_alive(alive), returned([f"s{i}" for i in frame.scalars()])]
    arguments = [*frame.arguments(), *(f"r{i}" for i in frame.arrays())]
    return function(f"{frame.name}_into", arguments, lines)


def given(frame: Frame) -> str:
    """`name_given(inputs, arrays)` writes the results that are arrays, returns the numbers; large
    scratch is its last argument. It raises Overlap where a result overlaps anything else."""
    lines, given, alive = taken(frame)
    lines += _results(frame)
    if frame.arrays():
        lines += [f"if {_meets(frame)}:", "    raise Overlap('results overlap')"]
    given += [f"pointer(r{i})" for i in frame.memory.results]
    lines += [*scratch_of(frame, True, given, alive), *called(frame, given)]
    for i, source in frame.memory.copies.items():
        lines.append(f"move(pointer(r{i}), pointer({source}), {frame.outputs[i].size})")
    alive += [f"r{i}" for i in frame.arrays()]
    lines += [*kept_alive(alive), returned([f"s{i}" for i in frame.scalars()])]
    arguments = [*frame.arguments(), *(f"r{i}" for i in frame.arrays())]
    return function(f"{frame.name}_given", [*arguments, *(["work"] if frame.large else [])], lines)


def _results(frame: Frame) -> list[str]:
    """Lines that check the arrays for results."""
    arrays = frame.arrays()
    return [x for i in arrays for x in checked(frame, f"r{i}", frame.outputs[i], "a result")]


def _meets(frame: Frame) -> str:
    """Whether a result overlaps another array."""
    names = [name for name in frame.arguments() if name[0] == "a"]
    places = [*names, *(f"r{i}" for i in frame.arrays())]
    return f"meet({len(names)}, ({', '.join(places)},))"


def packed(frame: Frame) -> str:
    """`name_packed(table, scalars)` with the addresses of all arrays, inputs before results, in an
    array of int64; large scratch is the last argument. It returns the scalars."""
    scalars = [name for name in frame.arguments() if name[0] == "x"]
    call = ["t", *scalars, *(["pointer(work)"] if frame.large else [])]
    lines = ["t = pointer(table)", *core_called(frame, call)]
    for i, source in frame.memory.copies.items():
        kind, place = ("input" if source[0] == "a" else "result"), int(source[1:])
        to = frame.base("result", i)
        lines.append(f"move({to}, {frame.base(kind, place)}, {frame.outputs[i].size})")
    lines.append("keep(table)")
    lines += ["keep(work)"] if frame.large else []
    lines.append(returned([f"s{i}" for i in frame.scalars()]))
    arguments = ["table", *scalars]
    return function(f"{frame.name}_packed", [*arguments, *(["work"] if frame.large else [])], lines)
