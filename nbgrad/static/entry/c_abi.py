"""C functions around a program's core: for tables of addresses, integrators, solvers.

Numba compiles a shell, which is text: it allocates scratch memory if it is large, and calls a
`linked` function, which is written in the kernel IR.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...compiler.linked import Linked
from ...compiler.straight import Straight
from ...errors import CFunctionError
from . import bodies
from .njit_entry import Entry, function, scratch_line
from .signature import Signature


def addressed(signature: Signature, captured: Sequence[int], linked: Linked) -> Entry:
    """`name_addressed(given, results)`: two tables of addresses, scalars among them; `captured` are
    addresses that stay. Where a check fails, results become nan."""
    return _entry(signature, captured, linked, bodies.addressed, ["given", "results"])


def quad(signature: Signature, captured: Sequence[int], linked: Linked) -> Entry:
    """`double name_quad(int n, double* x, void* data)`: the inputs stand in `x` one after another;
    nan where n is not their number."""
    _require_floats(signature, "quad")
    if len(signature.outputs) != 1 or signature.outputs[0].shape != ():
        raise CFunctionError(
            f'{signature.name}: cfunc("quad") is for functions that return one number'
        )
    total = sum(v.size for v in signature.inputs[: len(signature.inputs) - len(captured)])
    lines = [f"if n != {total}:", "    return np.nan"]
    return _entry(signature, captured, linked, bodies.quad, ["x"], ["n", "x", "data"], lines)


def ode(signature: Signature, captured: Sequence[int], linked: Linked) -> Entry:
    """`void name_ode(double t, double* u, double* du, double* p)`: the program takes t and u, and
    what stands in `p` one after another; it returns du."""
    _require_floats(signature, "ode")
    first = signature.inputs[: len(signature.inputs) - len(captured)]
    fits = len(first) >= 2 and first[0].shape == () and len(signature.outputs) == 1
    if not fits or first[1].shape != signature.outputs[0].shape:
        raise CFunctionError(
            f'{signature.name}: cfunc("ode") is for f(t, u) or f(t, u, parameters), t a number, '
            "that returns an array of the shape of u"
        )
    return _entry(signature, captured, linked, bodies.ode, ["t", "u", "du", "p"])


def _entry(
    signature: Signature, captured: Sequence[int], linked: Linked, body: Callable[..., Any],
    names: list[str], arguments: Sequence[str] = (), lines: Sequence[str] = (),
) -> Entry:  # fmt: skip
    """The C function of `arguments`, or of `names`: after `lines` it calls a body with those."""
    name, names = f"{signature.name}_{body.__name__}", [*names, *["work"] * signature.large]
    write = partial(body, signature, captured)
    run = Straight(f"{name}_run", names, write, linked)
    lines = [*lines, *scratch_line(signature), f"return {run.name}({', '.join(names)})"]
    given = arguments or [each for each in names if each != "work"]
    return Entry(name, [run], function(name, given, lines))


def _require_floats(signature: Signature, what: str) -> None:
    for value in [*signature.inputs, *signature.outputs]:
        if value.dtype != np.float64:
            raise CFunctionError(
                f'{signature.name}: cfunc("{what}") takes and gives float64; there is a value of '
                f"{value.dtype}: pass floats, or use .address"
            )
