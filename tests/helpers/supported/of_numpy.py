"""Coverage of NumPy: each public function on tracked arrays, for tests and docs/reference/ops.md.

A function of `numpy`, `numpy.linalg` and `numpy.fft` has a gradient, returns plain values for a
stated reason, or is refused with an alternative. `unknown` lists functions that are none of these.
"""

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nbgrad.core.functions import functions, remedies
from nbgrad.core.primitive import Primitive
from nbgrad.rules.families import Elementwise, Nondifferentiable, ufunc_primitives

__all__ = ["Entry", "surface", "unknown"]

MODULES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}

NO_ARRAYS = {
    "it makes an array, from lengths and plain numbers": """
        np.indices np.bartlett np.blackman np.hamming np.hanning np.fft.fftfreq
        np.fft.rfftfreq""",
    "it makes an array, from lengths and plain numbers: with `like=x` one that takes tracked "
    "values": """
        np.empty np.eye np.identity np.ones np.tri np.zeros np.fromfunction np.frombuffer""",
    "positions, from lengths alone": """
        np.diag_indices np.mask_indices np.tril_indices np.triu_indices np.ravel_multi_index
        np.unravel_index np.broadcast_shapes""",
    "of whole numbers and bools alone": """
        np.bitwise_count np.bitwise_left_shift np.bitwise_right_shift
        np.gcd np.lcm np.left_shift np.right_shift np.packbits
        np.unpackbits np.base_repr np.binary_repr""",
    "of dates": """
        np.busday_count np.busday_offset np.datetime_as_string np.datetime_data np.is_busday
        np.isnat""",
    "of dtypes and objects": """
        np.can_cast np.isdtype np.issubdtype np.min_scalar_type np.mintypecode np.promote_types
        np.typename np.isfortran np.isscalar np.iterable""",
    "it reads text or files": """
        np.fromfile np.fromregex np.fromstring np.genfromtxt np.load np.loadtxt""",
    "it sets or tells about NumPy itself": """
        np.get_include np.get_printoptions np.getbufsize np.geterr np.geterrcall np.info
        np.printoptions np.set_printoptions np.setbufsize np.seterr np.seterrcall np.show_config
        np.show_runtime np.test np.linalg.test np.fft.test""",
}
"""Functions that take no tracked arrays, by the reason."""

IN_STEPS = """
    np.argmax np.argmin np.argsort np.argpartition np.argwhere np.nonzero np.flatnonzero
    np.count_nonzero np.searchsorted np.digitize np.any np.all np.allclose np.array_equal
    np.array_equiv np.isclose np.nanargmax np.nanargmin np.linalg.matrix_rank np.histogram2d
    np.histogramdd np.isin np.iscomplex np.isreal np.isneginf np.isposinf
    np.lexsort np.spacing"""
_ZERO = "its values change in steps: tracked, derivative 0"
TEXT = """
    np.array_repr np.array_str np.array2string np.format_float_positional
    np.format_float_scientific"""
NO_NUMBERS = """
    np.shape np.ndim np.size np.iscomplexobj np.isrealobj
    np.result_type np.common_type np.may_share_memory np.shares_memory np.einsum_path
    np.diag_indices_from np.tril_indices_from np.triu_indices_from np.empty_like np.zeros_like
    np.ones_like np.full_like np.imag"""
WITHOUT = {
    **dict.fromkeys(IN_STEPS.split(), "its values change in steps: plain"),
    **dict.fromkeys("np.angle np.around np.round np.fix".split(), _ZERO),
    **dict.fromkeys(TEXT.split(), "it gives text"),
    **dict.fromkeys(NO_NUMBERS.split(), "it does not depend on the numbers"),
}
"""Functions that take tracked arrays and return values without a derivative, with the reason."""


class Entry(NamedTuple):
    """A function: its name, its other names, `kind` ("yes", "none" or "refused"), and a note."""

    name: str
    others: tuple[str, ...]
    kind: str
    what: str


def _public() -> dict[object, list[str]]:
    """The public functions of NumPy, each with all its names."""
    found: dict[object, list[str]] = {}
    for home, module in MODULES.items():
        for name in sorted(vars(module)):
            thing = getattr(module, name)
            is_function = callable(thing) and not inspect.isclass(thing)
            if is_function and name[0] != "_" and not inspect.ismodule(thing):
                found.setdefault(thing, []).append(f"{home}.{name}")
    return found


def _summary(function: object) -> str:
    """The first sentence of a docstring."""
    lines = (inspect.getdoc(function) or "").partition("\n\n")[0]
    return " ".join(lines.split())


def _entry(function: object, names: list[str]) -> Entry | None:
    named = f"{_home(function)}.{getattr(function, '__name__', '')}"
    names = sorted(names, key=lambda name: (name != named, name))
    name, others = names[0], tuple(names[1:])
    for reason, listed in NO_ARRAYS.items():
        if set(names) & set(listed.split()):
            return Entry(name, others, "none", reason)
    for each in names:
        if each in WITHOUT:
            return Entry(name, others, "none", WITHOUT[each])
        if each in remedies:
            return Entry(name, others, "refused", remedies[each])
    if ("like", function) in functions:
        return Entry(name, others, "yes", _summary(functions["like", function]))
    if function not in functions:
        return None
    row = _row_of(function)
    if isinstance(row, Nondifferentiable) or (row and not row.differentiable):
        return Entry(name, others, "none", "its values change in steps: plain")
    if isinstance(row, Elementwise):
        params = row.samples[0] if row.samples else {}
        if all(row.constant(i, **params) == 0 for i in range(row.arity)):
            return Entry(name, others, "none", _ZERO)
    return Entry(
        name, others, "yes", f"the row {row.name}" if row else _summary(functions[function])
    )


def _home(function: object) -> str:
    home = getattr(function, "__module__", None) or "numpy"
    return home.replace("numpy", "np", 1)


def _row_of(function: Any) -> Primitive | None:
    """The row of a function, if it is one."""
    if function in ufunc_primitives:
        return ufunc_primitives[function]
    found = [row for row in Primitive.registry.values() if row.function is function]
    return found[0] if len(found) == 1 else None


def surface() -> Iterator[Entry]:
    """An entry for each public function, sorted by name."""
    entries = [_entry(function, names) for function, names in _public().items()]
    return iter(sorted(entry for entry in entries if entry))


def unknown() -> list[str]:
    """The public functions of NumPy without an entry."""
    return sorted(
        names[0] for function, names in _public().items() if _entry(function, names) is None
    )
