"""From Python to a compiled program and back: a generated function for one structure of arguments.

Flattening nested arguments and building nested results costs more than small programs do, so both
are written out for the structure at hand. Whatever does not look like it raises; types and layouts
are Numba's to tell apart, shapes the entry's.
"""

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from ...core.primitive import Aval
from ...core.symbols import static_key
from ...errors import require_unmasked
from ...kernels.program import arena
from ...kernels.shapes import require_axes
from ...rules.dtypes import known
from ...transforms import trees
from .address_table import check_apart, table_of

if TYPE_CHECKING:
    from .signature import Signature

Leaf: TypeAlias = np.ndarray | np.generic | float | int
"""An argument that a program is given."""
Tree: TypeAlias = object
"""Leaves, or dicts, lists, tuples and registered classes of them."""
# The dtypes of Python's numbers.
PYTHONS = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(bool))
# Of these, what an object holds besides its leaves is compared by its value.
_SIMPLE = (bool, int, float, str, tuple, type(None))
# A generated caller raises one of these for arguments that it was not made for.
UNFIT = (TypeError, ValueError, KeyError, IndexError, AttributeError)


if TYPE_CHECKING:
    from .python_entry import PythonEntry


class Unwritten(Exception):
    """A structure of registered classes, which only optree takes apart."""


def is_dynamic(leaf: object) -> TypeGuard[Leaf]:
    """Numbers and arrays of numbers; strings, functions, bools and None are static."""
    if isinstance(leaf, (bool, np.bool_)):
        return False
    if isinstance(leaf, (float, int)):
        return True
    return isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "fiub"


def aval_of(leaf: Leaf) -> Aval:
    """The shape and dtype of a leaf in a program."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        require_unmasked(leaf, "compile: an argument")
        require_axes(leaf.shape, "compile: an argument")
        return Aval.of(leaf.shape, known(leaf.dtype))
    return Aval.of((), np.dtype(np.float64 if isinstance(leaf, float) else np.int64))


def entry_argument(leaf: Leaf) -> Leaf:
    """A leaf as the entry takes it: a number, or an aligned, contiguous array of a known dtype."""
    aval = aval_of(leaf)
    if not isinstance(leaf, np.ndarray) or aval.shape == ():
        return as_number(leaf, aval.dtype) if isinstance(leaf, (np.ndarray, np.generic)) else leaf
    flags = leaf.flags
    if (
        flags.c_contiguous
        and flags.aligned
        and leaf.dtype is aval.dtype
        and type(leaf) is np.ndarray
    ):
        return leaf
    return np.array(leaf, aval.dtype, order="C", ndmin=1)


def as_number(leaf: np.ndarray | np.generic, dtype: np.dtype) -> np.generic | float | int:
    """An array or number of NumPy's without axes as a number: one of Python's where programs take
    those to be of this dtype."""
    number = dtype.type(leaf.astype(dtype))
    return number.item() if dtype in PYTHONS else number


def caller(
    entry: "PythonEntry", args: tuple, static: Container[int], into: bool = False
) -> Callable:
    """`call(*args)` for arguments of the structure of `args`, by the entry of a `PythonEntry`; with
    `into`, `call(out, *args)`, which writes the arrays of the result into those of `out`. Arguments
    at the positions `static` are part of the program.

    Raises Unwritten for structures that only optree takes apart.
    """
    signature = entry.signature
    writer = _Writer(signature.packed)
    names = [f"p{i}" for i in range(len(args))]
    for i, (name, arg) in enumerate(zip(names, args, strict=True)):
        if i in static:
            writer.same(arg, name)
        else:
            writer.take(arg, name)
    if entry.program.held:
        writer._need(f"{writer.new(entry.program.is_current)}()")
    operands = writer.leaves
    for name, (i, axis) in signature.places.items():
        writer.lines.append(f"{name} = {operands[i]}.shape[{axis}]")
    for array in entry.captured:
        name = writer.new(array)
        known = isinstance(array, np.ndarray) and array.shape and entry_argument(array) is array
        operands.append(name if known else f"{writer.new(entry_argument)}({name})")
    if signature.packed:  # else the entry looks at them
        for name, value in zip(operands, signature.inputs, strict=True):
            if value.shape:
                writer._need(f"{name}.shape == {value.shape}")
        for condition in signature.conditions:
            writer._need(condition)
    if into:
        writer.places(entry.tree, "out", signature)
    else:
        for i in signature.arrays():
            value = signature.outputs[i]
            dtype = writer.new(value.dtype)
            writer.lines.append(f"r{i} = {writer.new(np.empty)}({value.shape}, {dtype})")
    results = [f"r{i}" for i in signature.arrays()]
    if signature.packed:
        operands = _packed(writer, signature, operands, results, into)
        results = []
    operands = [*operands, *results]
    if signature.large:
        operands.append(f"{writer.new(arena)}({signature.memory.size})")
    scalars = ", ".join(f"s{i}" for i in signature.scalars())
    call = f"{writer.new(entry.entry.call)}({', '.join(operands)})"
    lines = [*writer.lines, f"{scalars} = {call}" if scalars else call]
    for i in signature.scalars():
        if entry.kinds[i] not in PYTHONS:  # Numba gives Python's
            lines.append(f"s{i} = {writer.new(entry.kinds[i].type)}(s{i})")
    lines.append(f"return {writer.built(entry.tree, signature)}")
    arguments = ["out", *names] if into else names
    text = f"def call({', '.join(arguments)}):\n" + "".join(f"    {line}\n" for line in lines)
    scope = dict(writer.names)
    exec(compile(text, "<nbgrad caller>", "exec"), scope)
    return scope["call"]


def _packed(
    writer: "_Writer", signature: "Signature", operands: list[str], results: list[str], into: bool
) -> list[str]:
    """The table of addresses and the numbers, for a program of many arrays."""
    arrays, scalars = [], []
    for name, value in zip(operands, signature.inputs, strict=True):
        (arrays if value.shape else scalars).append(name)
    # Copies that `ravel` makes must live as long as the call.
    flat = [f"f{i}" for i in range(len(arrays) + len(results))]
    for name, array in zip(flat, [*arrays, *results], strict=True):
        writer.lines.append(f"{name} = {array}.ravel()")
    writer.lines.append(f"table = {writer.new(table_of)}([{', '.join(flat)}])")
    if into:
        given = f"({''.join(name + ', ' for name in operands)})"
        sizes = f"{writer.new(signature.bytes_of_blocks)}({given})"
        writer.lines.append(f"{writer.new(check_apart)}(table, {sizes}, {len(results)})")
    return ["table", *scalars, *signature.places]


class _Writer:
    """Lines that take arguments apart, and the expressions of their leaves."""

    def __init__(self, packed: bool):
        self.packed = packed
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.names: dict[str, Any] = {"mismatch": _mismatch}

    def new(self, value: object) -> str:
        """A name for a constant."""
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def _need(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): mismatch()")

    def _need_fields(self, value: object, name: str, fields: tuple, others: tuple) -> None:
        self._need(f"type({name}) is {self.new(type(value))}")
        if hasattr(value, "__dict__"):
            self._need(f"len({name}.__dict__) == {len(fields) + len(others)}")
        for other in others:
            held = getattr(value, other)
            if not isinstance(held, _SIMPLE):
                raise Unwritten
            self.same(held, f"{name}.{other}")

    def same(self, value: object, name: str) -> None:
        known = f"type({name}) is {self.new(type(value))} and {name} == {self.new(value)}"
        if isinstance(value, (float, tuple, frozenset)):  # equal ones may be different
            known += f" and {self.new(static_key)}({name}) == {self.new(static_key(value))}"
        self._need(known)

    def take(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind in (tuple, list) or is_named(kind):
            self._need(f"type({name}) is {self.new(kind)} and len({name}) == {len(value)}")
            parts = [f"{name}_{i}" for i in range(len(value))]
            if parts:
                self.lines.append(f"{', '.join(parts)}, = {name}")
            for part, item in zip(parts, value, strict=True):
                self.take(item, part)
        elif kind is dict:
            # The keys in their order, since what the program does may depend on it.
            self._need(f"type({name}) is dict and len({name}) == {len(value)}")
            keys = {f"{name}_k{i}": key for i, key in enumerate(value)}
            if keys:
                self.lines.append(f"{', '.join(keys)}, = {name}")
                self._need(" and ".join(f"{k} == {self.new(key)}" for k, key in keys.items()))
            for i, key in enumerate(_ordered(value)):
                self.lines.append(f"{name}_{i} = {name}[{self.new(key)}]")
                self.take(value[key], f"{name}_{i}")
        elif (attributes := trees.data_fields(value)) is not None:
            self._need_fields(value, name, *attributes)
            for i, field in enumerate(attributes[0]):
                self.lines.append(f"{name}_{i} = {name}.{field}")
                self.take(getattr(value, field), f"{name}_{i}")
        elif not trees.is_leaf(value):
            raise Unwritten
        elif not is_dynamic(value):
            self.same(value, name)
        elif kind in (float, int):
            self._need(f"type({name}) is {kind.__name__}")
            self.leaves.append(name)
        elif isinstance(value, np.ndarray) and value.shape:
            if self.packed:  # else the entry looks at them
                self._need(f"{name}.dtype is {self.new(value.dtype)}")
            self.leaves.append(name)
        elif isinstance(value, (np.ndarray, np.generic)):
            self._need(
                f"type({name}) is {self.new(kind)} and {name}.dtype is {self.new(value.dtype)}"
            )
            if isinstance(value, np.ndarray):
                self._need(f"{name}.shape == ()")
            dtype = known(value.dtype)
            if dtype is value.dtype:
                number = f"{name}.item()" if dtype in PYTHONS else f"{name}[()]"
            else:
                number = f"{self.new(as_number)}({name}, {self.new(dtype)})"
            self.leaves.append(number)
        else:
            raise Unwritten

    def places(self, tree: Any, name: str, signature: "Signature") -> None:
        """The arrays `r0`, `r1`, ... of a result whose flat outputs `tree` counts."""
        kind = type(tree)
        if kind in (tuple, list) or is_named(kind):
            self._need(f"type({name}) is {self.new(kind)} and len({name}) == {len(tree)}")
            for i, item in enumerate(tree):
                self.places(item, f"{name}[{i}]", signature)
        elif kind is dict:
            self._need(f"type({name}) is dict and len({name}) == {len(tree)}")
            for key, item in tree.items():
                self.places(item, f"{name}[{self.new(key)}]", signature)
        elif (attributes := trees.data_fields(tree)) is not None:
            self._need_fields(tree, name, *attributes)
            for field in attributes[0]:
                self.places(getattr(tree, field), f"{name}.{field}", signature)
        elif kind is float and (value := signature.outputs[int(tree)]).shape:
            place = f"r{int(tree)}"
            self.lines.append(f"{place} = {name}")
            if self.packed:  # else the entry looks at them
                dtype = self.new(value.dtype)
                self._need(
                    f"{place}.shape == {value.shape} and {place}.dtype is {dtype} "
                    f"and {place}.flags.carray"
                )
        elif not trees.is_leaf(tree):
            raise Unwritten

    def built(self, tree: Any, signature: "Signature") -> str:
        """The expression of the result."""
        kind = type(tree)
        if is_named(kind):
            return f"{self.new(kind)}({', '.join(self.built(item, signature) for item in tree)})"
        if kind is tuple:
            return f"({''.join(self.built(item, signature) + ', ' for item in tree)})"
        if kind is list:
            return f"[{', '.join(self.built(item, signature) for item in tree)}]"
        if kind is dict:
            items = (f"{self.new(k)}: {self.built(item, signature)}" for k, item in tree.items())
            return "{" + ", ".join(items) + "}"
        if (attributes := trees.data_fields(tree)) is not None:
            fields, others = attributes
            items = [self.built(getattr(tree, field), signature) for field in fields]
            items += [self.new(getattr(tree, other)) for other in others]
            make = f"{self.new(trees.construct)}({self.new(kind)}, {(*fields, *others)}"
            return f"{make}, ({''.join(item + ', ' for item in items)}))"
        if kind is float:
            i = int(tree)
            return f"r{i}" if signature.outputs[i].shape else f"s{i}"
        if not trees.is_leaf(tree):
            raise Unwritten
        return self.new(tree)


def is_named(kind: type) -> bool:
    """Whether a class is that of named tuples."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _ordered(value: dict) -> list:
    """Keys in the order in which optree takes them."""
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=lambda key: (type(key).__qualname__, repr(key)))


def _mismatch() -> None:
    raise ValueError
