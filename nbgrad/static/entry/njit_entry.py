"""The ways into a program's core for arrays, as text: new results, given results, many arrays."""

from .signature import (
    Signature,
    array_checks,
    call_lines,
    conversions,
    core_arguments,
    function,
    keep_lines,
    new_array,
    return_line,
    scratch_lines,
)


def entry(signature: Signature, name: str = "") -> str:
    """`name(inputs)` gives new arrays and scalars in the order of the outputs."""
    lines, operands = (
        [*array_checks(signature, False), *conversions(signature)],
        core_arguments(signature),
    )
    # Results are alive until they are returned.
    alive = [name for name in signature.arguments() if name[0] == "a"]
    for i in signature.memory.written:
        lines.append(f"r{i} = {new_array(signature.outputs[i])}")
        operands.append(f"pointer(r{i})")
    lines += scratch_lines(signature, False, operands, alive)
    lines += call_lines(signature, operands)
    results = [f"s{i}" if v.shape == () else f"r{i}" for i, v in enumerate(signature.outputs)]
    for i, source in signature.memory.copies.items():
        results[i] = f"{signature.name_of(source)}.copy()"
    lines += [*keep_lines(alive), f"return {', '.join(results)}"]
    return function(name or signature.name, signature.arguments(), lines)


def into(signature: Signature) -> str:
    """`name_into(inputs, arrays)` writes the results that are arrays and returns the scalars.

    Where a result overlaps anything else, `name_apart` makes new ones, which are moved.
    """
    scalars = return_line([f"s{i}" for i in signature.scalars()])
    apart = f"{signature.name}_apart"
    news = [f"{'t' if v.shape else 's'}{i}" for i, v in enumerate(signature.outputs)]
    moved = [f"{', '.join(news)} = {apart}({', '.join(signature.arguments())})"]
    for i in signature.arrays():
        moved.append(f"move(pointer(r{i}), pointer(t{i}), {signature.outputs[i].size})")
    moved += [*keep_lines([f"t{i}" for i in signature.arrays()]), scalars]
    lines, operands, alive = (
        [*array_checks(signature, True), *conversions(signature)],
        core_arguments(signature),
        [],
    )
    if signature.arrays():
        lines.append(f"writable({', '.join(f'r{i}' for i in signature.arrays())})")
        lines += [f"if {_meets(signature)}:", *("    " + line for line in moved)]
    operands += [f"pointer(r{i})" for i in signature.memory.written]
    alive = [name for name in signature.arguments() if name[0] == "a"]
    lines += scratch_lines(signature, False, operands, alive)
    lines += [*call_lines(signature, operands), *_copied(signature), *keep_lines(alive), scalars]
    arguments = [*signature.arguments(), *(f"r{i}" for i in signature.arrays())]
    text = function(f"{signature.name}_into", arguments, lines)
    return f"@device\n{entry(signature, apart)}\n\n{text}" if signature.arrays() else text


def given(signature: Signature) -> str:
    """`name_given(inputs, arrays)`, all contiguous, writes the results that are arrays and returns
    the numbers; large scratch is its last argument. It raises Overlap where a
    result overlaps anything else. Whoever calls it keeps the arrays alive."""
    lines, operands = array_checks(signature, True), core_arguments(signature)
    if signature.arrays():
        lines += [f"if {_meets(signature)}:", "    raise Overlap('results overlap')"]
    operands += [f"pointer(r{i})" for i in signature.memory.written]
    lines += scratch_lines(signature, True, operands, [])
    lines += [*call_lines(signature, operands), *_copied(signature)]
    numbers = return_line([f"s{i}" for i in signature.scalars()])
    lines.append(numbers)
    arguments = [*signature.arguments(), *(f"r{i}" for i in signature.arrays())]
    return function(
        f"{signature.name}_given", [*arguments, *(["work"] if signature.large else [])], lines
    )


def _copied(signature: Signature) -> list[str]:
    """Lines for the results that are copies of an input or of another result."""
    return [
        f"move(pointer(r{i}), pointer({signature.name_of(source)}), {signature.outputs[i].size})"
        for i, source in signature.memory.copies.items()
    ]


def _meets(signature: Signature) -> str:
    """Whether a result overlaps another array."""
    names = [name for name in signature.arguments() if name[0] == "a"]
    places = [*names, *(f"r{i}" for i in signature.arrays())]
    return f"meet({len(names)}, {', '.join(places)})"
