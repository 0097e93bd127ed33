"""The code of entries: checks of arguments, the call of the core, and what follows it.

Each is written once, as calls `do(function, *operands)`: `compiler/straight.py` makes statements of
the kernel IR of them, or runs them in plain Python.
"""

import operator
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from ...compiler import argument_checks as checks
from ...compiler import pointers
from ...errors import GraphError, coded
from ...ir.formulas import value_of
from ...ir.sizes import is_dynamic
from ...kernels.scalar import select
from ..loops.plan import STACK
from ..lower.values import Value
from .signature import Signature, refused_condition, refused_length

_NAN = float("nan")


# -- for arrays -----------------------------------------------------------------------------------


def entry(signature: Signature, do: Any, *operands: Any) -> Any:
    """Check the arguments and compute the results, in contiguous arrays; the numbers of it."""
    body = _Body(signature, do, values_of(signature), operands)
    body.require_shapes(signature.arguments())
    body.require_separate()
    body.convert()
    return _result(body.run())


def into(signature: Signature, do: Any, *operands: Any) -> Any:
    """The same where `meets` has checked the arrays."""
    body = _Body(signature, do, values_of(signature), operands)
    body.name_sizes()
    body.convert()
    return _result(body.run())


def given(signature: Signature, do: Any, *operands: Any) -> Any:
    """The same, which checks them; results that share memory raise Overlap."""
    named = zip(values_of(signature), operands, strict=True)
    overlap = meets(signature, do, *(x for name, x in named if name in signature.slots))
    do(checks.require, do(operator.not_, overlap), pointers.Overlap, "results overlap")
    return into(signature, do, *operands)


def python(signature: Signature, do: Any, *operands: Any) -> Sequence[Any]:
    """The same where all but named sizes is checked; every number of the result."""
    body = _Body(signature, do, values_of(signature), operands)
    body.require_sizes(signature.slots)
    return body.run(is_dynamic(signature.memory.size))


def meets(signature: Signature, do: Any, *operands: Any) -> Any:
    """Check arguments and results that are arrays; whether a result shares memory with another."""
    body = _Body(signature, do, signature.slots, operands)
    body.require_shapes(signature.slots)
    body.require_separate()
    do(checks.writable, *operands[len(operands) - len(signature.arrays()) :])
    return body.overlap()


def moved(signature: Signature, do: Any, *operands: Any) -> None:
    """Copy arrays; each follows the one that receives it."""
    for k, i in enumerate(signature.arrays()):
        to, source = operands[2 * k : 2 * k + 2]
        lengths = [do(checks.extent, to, axis) for axis in range(len(signature.outputs[i].shape))]
        size = reduce(lambda x, y: do(operator.mul, x, y), lengths)
        do(pointers.move, do(pointers.pointer, to), do(pointers.pointer, source), size)


def _result(numbers: Sequence[Any]) -> Any:
    return numbers[0] if len(numbers) == 1 else tuple(numbers) or None


def values_of(signature: Signature) -> list[str]:
    """The arguments of a program, the arrays for its results, and large scratch."""
    results = [f"r{i}" for i in signature.arrays()]
    return [*signature.arguments(), *results, *["work"] * signature.large]


# -- for C ----------------------------------------------------------------------------------------


def addressed(
    signature: Signature, captured: Sequence[int], do: Any, inputs: Any, results: Any, *work: Any
) -> None:
    """Compute with tables of addresses, scalars among them; `captured` are addresses that stay.
    Where a check fails, results become nan."""
    body = _in_memory(signature, captured, do, work)
    for i, name in enumerate(signature.arguments()[: len(signature.inputs) - len(captured)]):
        body.place(name, signature.inputs[i], do(operator.getitem, inputs, i))
    for i, value in enumerate(signature.outputs):
        body.given[f"r{i}"] = do(_at(value), do(operator.getitem, results, i))
    body.run_unchecked()


def quad(signature: Signature, captured: Sequence[int], do: Any, x: Any, *work: Any) -> Any:
    """The number that a program gives for inputs that stand in `x` one after another."""
    body = _in_memory(signature, captured, do, work)
    body.lay_out(x, 0, len(signature.inputs) - len(captured))
    (result,), holds = body.call_core()
    return do(select, body.all(holds), result, _NAN) if holds else result


def ode(
    signature: Signature, captured: Sequence[int], do: Any, t: Any, u: Any, du: Any, p: Any,
    *work: Any,
) -> None:  # fmt: skip
    """Write what a program gives for a number, a state, and what stands in `p` one after another,
    where it may."""
    body = _in_memory(signature, captured, do, work)
    body.lay_out(u, 1, 2)
    body.lay_out(p, 2, len(signature.inputs) - len(captured))
    body.given |= {signature.arguments()[0]: t, "r0": du}
    body.run_unchecked()


def _in_memory(
    signature: Signature, captured: Sequence[int], do: Any, work: Iterable[Any]
) -> "_Body":
    """A body with scratch, and with its last inputs at the addresses `captured`."""
    body = _Body(signature, do, ["work"], [do(pointers.pointer, x) for x in work])
    first = len(signature.inputs) - len(captured)
    for i, address in enumerate(captured, first):
        body.place(signature.arguments()[i], signature.inputs[i], address)
    return body


def _at(value: Value) -> Any:
    """The function that makes a pointer to a value of an address."""
    return getattr(pointers, f"at_{value.dtype.str[1:]}")


class _Body:
    """What entries do, with values by name: arrays or pointers for inputs and results, numbers,
    scratch, and named sizes."""

    def __init__(self, signature: Signature, do: Any, names: Iterable[str], values: Iterable[Any]):
        self.signature, self._do = signature, do
        self.given: dict[str, Any] = dict(zip(names, values, strict=False))

    # -- checks -----------------------------------------------------------------------------------

    def name_sizes(self) -> None:
        """Take the named sizes from the shapes of arrays."""
        for name, (i, axis) in self.signature.places.items():
            self.given[name] = self._do(checks.extent, self.given[f"a{i}"], axis)

    def require_shapes(self, names: Iterable[str]) -> None:
        """Check the shapes of arrays among inputs and results, and what must hold of sizes."""
        do, given, signature = self._do, self.given, self.signature
        values = {name: signature.value(name) for name in names}
        values = {name: value for name, value in values.items() if value.shape}
        if not values:
            return
        shapes = [
            (value.dtype.name, tuple(str(n) if is_dynamic(n) else n for n in value.shape))
            for value in values.values()
        ]
        first = sum(name[0] == "a" for name in values)
        message = f"{signature.name} was compiled for arguments {checks.described(shapes[:first])}"
        message += f" and results {checks.described(shapes[first:])}" if first < len(shapes) else ""
        fit = do(checks.fits, tuple(shapes), *(given[name] for name in values))
        do(checks.require, fit, ValueError, message)
        self.require_sizes(values)

    def require_sizes(self, names: Iterable[str]) -> None:
        """Check the lengths of arrays that depend on named sizes, and what must hold of these."""
        do, given, signature = self._do, self.given, self.signature
        self.name_sizes()
        for name in names:
            for axis, n in enumerate(signature.value(name).shape):
                if is_dynamic(n) and not signature.is_place(name, axis):
                    same = do(
                        operator.eq, do(checks.extent, given[name], axis), value_of(n, given, do)
                    )
                    do(checks.require, same, *refused_length(signature, name, axis, n))
        for text, condition in signature.conditions.items():
            do(checks.require, condition.holds(given, do), *refused_condition(signature, text))

    def require_separate(self) -> None:
        """Check that arguments do not share memory that must not."""
        for i, j, why in self.signature.separate:
            pair = (self.given[f"a{k}"] for k in (i, j))
            overlap = self._do(checks.meet, 1, *pair)
            self._do(
                checks.require, self._do(operator.not_, overlap), GraphError, coded(why, "NB-WRITE")
            )

    def convert(self) -> None:
        """Take numbers in the dtypes of the inputs."""
        signature = self.signature
        for name, value in zip(signature.arguments(), signature.inputs, strict=True):
            if not value.shape:
                message = f"{signature.name}: an integer is out of bounds for {value.dtype}"
                told = (message,) if value.dtype.kind in "iu" else ()
                self.given[name] = self._do(
                    checks.number, value.dtype.name, self.given[name], *told
                )

    def overlap(self) -> Any:
        """Whether a result shares memory with another array."""
        slots = self.signature.slots
        first = len(slots) - len(self.signature.arrays())
        return self._do(checks.meet, first, *(self.given[name] for name in slots))

    # -- places in memory -------------------------------------------------------------------------

    def place(self, name: str, value: Value, address: Any) -> None:
        """An input lies at an address."""
        pointer = self._do(_at(value), address)
        self.given[name] = pointer if value.shape else self._do(operator.getitem, pointer, 0)

    def lay_out(self, base: Any, first: int, stop: int) -> None:
        """Some inputs stand one after another from a pointer on."""
        at = 0
        for i in range(first, stop):
            value = self.signature.inputs[i]
            take = pointers.shift if value.shape else operator.getitem
            self.given[self.signature.arguments()[i]] = self._do(take, base, at)
            at += value.size

    # -- the core ---------------------------------------------------------------------------------

    def run(self, on_stack: bool = False) -> Sequence[Any]:
        """Call the core with arrays, and raise where a check fails; the numbers of the result.
        Scratch is given, or, where that may be, `on_stack` if it fits there."""
        for name in [*self.signature.slots, *["work"] * self.signature.large]:
            self.given[name] = self._do(pointers.pointer, self.given[name])
        if on_stack:
            self.given["work"] = self._scratch(self.given["work"])
        numbers, holds = self.call_core()
        for held, message in zip(holds, self.signature.messages, strict=True):
            self._do(checks.require, held, *message)
        self.copy()
        return numbers

    def _scratch(self, given: Any) -> Any:
        """Scratch on the stack where it fits there; else what is given, which may be nothing."""
        do = self._do
        fits = do(operator.le, value_of(self.signature.memory.size, self.given, do), STACK)
        given = do(pointers.address, given)
        found = do(operator.or_, fits, do(operator.ne, given, 0))
        do(checks.require, found, ValueError, f"{self.signature.name}: scratch is missing")
        own = do(pointers.address, do(pointers.scratch, STACK))
        return do(pointers.at_u1, do(select, fits, own, given))

    def run_unchecked(self) -> None:
        """Call the core with pointers; where a check fails, results become nan."""
        do, outputs = self._do, self.signature.outputs
        numbers, holds = self.call_core()
        self.copy()
        for i, x in zip(self.signature.scalars(), numbers, strict=True):
            do(operator.setitem, self.given[f"r{i}"], 0, x)
        if holds:
            every = self.all(holds)
            for i, value in enumerate(outputs):
                if value.dtype.kind == "f":
                    do(pointers.spoil, self.given[f"r{i}"], do(select, every, 0, value.size))

    def call_core(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """The numbers of the result, and whether checks hold. A core of many arrays takes a table
        of their addresses."""
        signature, given = self.signature, self.given
        names = [*signature.arguments(), *(f"r{i}" for i in signature.memory.written)]
        operands = [given[name] for name in names]
        if signature.packed:
            table = [given[name] if name in names else 0 for name in signature.slots]
            operands = [given[name] for name in names if name[0] == "x"]
            operands.insert(0, self._do(checks.addresses, *table))
        operands += [given[name] for name in (*["work"] * signature.large, *signature.places)]
        count = len(signature.scalars())
        found = self._do.core(count + len(signature.messages), *operands)
        return found[:count], found[count:]

    def copy(self) -> None:
        """Write the results that are copies of an input or of another result."""
        for i, source in self.signature.memory.copies.items():
            size = value_of(self.signature.outputs[i].size, self.given, self._do)
            place = self.given[self.signature.name_of(source)]
            self._do(pointers.move, self.given[f"r{i}"], place, size)

    def all(self, holds: Sequence[Any]) -> Any:
        """Whether all of some conditions hold."""
        return reduce(lambda x, y: self._do(operator.and_, x, y), holds)
