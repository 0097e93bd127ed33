"""The entries of a program for arrays, as Python text: for `@njit` code and for plain Python.

Numba compiles a shell that allocates arrays. It calls `linked` functions, which our front end
compiles; they check their arguments and call the core.
"""

from collections.abc import Sequence

from .signature import (
    Signature,
    array_checks,
    call_lines,
    core_arguments,
    function,
    new_array,
    new_scratch,
    number_lines,
    return_line,
    size_lines,
)


def is_shell(signature: Signature) -> bool:
    """Whether the entries make arrays: results, scratch, or copies of strided arguments."""
    return signature.large or any(v.shape for v in (*signature.inputs, *signature.outputs))


def entry(signature: Signature, name: str) -> str:
    """`name(inputs)` gives new arrays and scalars in the order of the outputs."""
    checks = [*array_checks(signature, False), *number_lines(signature)]
    if not is_shell(signature):
        return _run(signature, name, checks)
    numbers = [f"s{i}" for i in signature.scalars()]
    results = [f"r{i}" if v.shape else f"s{i}" for i, v in enumerate(signature.outputs)]
    called = _call_of_run(signature, "r")
    shell = [
        *_arguments(signature),
        *_new_arrays(signature, "r"),
        f"{', '.join(numbers)} = {called}" if numbers else called,
        f"return {', '.join(results)}",
    ]
    return _linked(
        _run(signature, f"{signature.name}_run", checks),
        function(name, signature.arguments(), shell),
    )


def into(signature: Signature) -> str:
    """`name_into(inputs, arrays)` writes the results that are arrays and returns the scalars.

    Where a result overlaps anything else, new ones are made, which are moved.
    """
    name, places = f"{signature.name}_into", _places(signature, "r")
    if not places:
        return entry(signature, name)
    arrays, pairs = ", ".join(_arrays(signature)), [(f"r{i}", f"t{i}") for i in signature.arrays()]
    meets = [*array_checks(signature, True), f"writable({', '.join(places)})"]
    shell = [
        *_arguments(signature),
        f"if not {signature.name}_meets({arrays}):",
        f"    return {_call_of_run(signature, 'r')}",
        *_new_arrays(signature, "t"),
        f"numbers = {_call_of_run(signature, 't')}",
        f"{signature.name}_moved({', '.join(map(', '.join, pairs))})",
        "return numbers",
    ]
    checks = [*size_lines(signature), *number_lines(signature)]
    return _linked(
        _run(signature, f"{signature.name}_run", checks),
        function(
            f"{signature.name}_meets",
            _arrays(signature),
            [*meets, f"return {_meets(signature)}"],
        ),
        function(
            f"{signature.name}_moved",
            [x for pair in pairs for x in pair],
            [f"move(pointer({r}), pointer({t}), {r}.size)" for r, t in pairs],
        ),
        function(name, [*signature.arguments(), *places], shell),
    )


def given(signature: Signature) -> str:
    """`name_given(inputs, arrays)`, all contiguous, writes the results that are arrays and returns
    the numbers; large scratch is its last argument. It raises Overlap where a
    result overlaps anything else."""
    lines = array_checks(signature, True)
    if signature.arrays():
        lines += [f"if {_meets(signature)}:", "    raise Overlap('results overlap')"]
    return _run(signature, f"{signature.name}_given", lines)


def _run(signature: Signature, name: str, lines: Sequence[str]) -> str:
    """A function of the inputs, the arrays for results and large scratch, all contiguous: `lines`,
    the call of the core, and the results that are copies of an input or of another result. It
    returns the numbers."""
    operands = core_arguments(signature)
    operands += [f"pointer(r{i})" for i in signature.memory.written]
    operands += ["pointer(work)"] * signature.large
    copies = [
        f"move(pointer(r{i}), pointer({signature.name_of(source)}), {signature.outputs[i].size})"
        for i, source in signature.memory.copies.items()
    ]
    numbers = return_line([f"s{i}" for i in signature.scalars()])
    arguments = [*signature.arguments(), *_places(signature, "r"), *["work"] * signature.large]
    return function(name, arguments, [*lines, *call_lines(signature, operands), *copies, numbers])


def _linked(*texts: str) -> str:
    """Functions, of which all but the last are `linked`."""
    *ours, shell = texts
    return "\n\n".join([*(f"@linked\n{text}" for text in ours), shell])


def _arguments(signature: Signature) -> list[str]:
    """Lines of a shell for the arguments, the sizes that they have, and scratch."""
    arrays = [name for name in signature.arguments() if name[0] == "a"]
    solid = [f"{name} = contiguous({name})" for name in arrays]
    return [*solid, *size_lines(signature), *new_scratch(signature)]


def _new_arrays(signature: Signature, letter: str) -> list[str]:
    return [f"{letter}{i} = {new_array(signature.outputs[i])}" for i in signature.arrays()]


def _call_of_run(signature: Signature, letter: str) -> str:
    """The call of `name_run` with arrays for results that are named by a letter."""
    operands = [*signature.arguments(), *_places(signature, letter), *["work"] * signature.large]
    return f"{signature.name}_run({', '.join(operands)})"


def _places(signature: Signature, letter: str) -> list[str]:
    return [f"{letter}{i}" for i in signature.arrays()]


def _arrays(signature: Signature) -> list[str]:
    """The arguments and results that are arrays."""
    return [*(x for x in signature.arguments() if x[0] == "a"), *_places(signature, "r")]


def _meets(signature: Signature) -> str:
    """Whether a result overlaps another array."""
    names = _arrays(signature)
    return f"meet({len(names) - len(signature.arrays())}, {', '.join(names)})"
