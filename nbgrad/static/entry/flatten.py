"""The leaves of arguments, and generated Python code that flattens and builds one nested structure.

The code raises for arguments of another structure; the entry checks types, layouts and shapes of
leaves.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from ...complex import is_complex, plain_join
from ...core.primitive import Aval
from ...core.symbols import static_key
from ...errors import require_unmasked
from ...kernels.shapes import require_axes
from ...rules.dtypes import known
from ...runtime.kinds import is_a
from ...transforms import trees

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


class Unwritten(Exception):
    """No caller is generated for such arguments: registered classes, which only optree takes
    apart."""


def is_dynamic(leaf: object) -> TypeGuard[Leaf]:
    """Numbers and arrays of numbers; strings, functions, bools and None are static."""
    if is_a(leaf, (bool, np.bool_)):
        return False
    if is_a(leaf, (float, int)):
        return True
    return is_a(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "fiub"


def aval_of(leaf: Leaf) -> Aval:
    """The shape and dtype of a leaf in a program."""
    if is_a(leaf, (np.ndarray, np.generic)):
        require_unmasked(leaf, "compile: an argument")
        require_axes(leaf.shape, "compile: an argument")
        return Aval.of(leaf.shape, known(leaf.dtype))
    return Aval.of((), np.dtype(np.float64 if is_a(leaf, float) else np.int64))


def entry_argument(leaf: Leaf) -> Leaf:
    """A leaf as the entry takes it: a number, or an aligned, contiguous array of a known dtype."""
    aval = aval_of(leaf)
    if not is_a(leaf, np.ndarray) or aval.shape == ():
        return as_number(leaf, aval.dtype) if is_a(leaf, (np.ndarray, np.generic)) else leaf
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
    number = np.dtype(dtype.str).type(leaf.astype(dtype))
    return number.item() if dtype in PYTHONS else number


class Writer:
    """Lines that take arguments apart, and the expressions of their leaves.

    Its own names begin with an underscore. The entry checks the types of numbers, unless they have
    to be `exact`: then NumPy's are not taken for Python's."""

    def __init__(self, exact: bool):
        self.exact = exact
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.names: dict[str, Any] = {"_mismatch": _mismatch}

    def new(self, value: object) -> str:
        """A name for a constant."""
        name = f"_k{len(self.names)}"
        self.names[name] = value
        return name

    def need(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): _mismatch()")

    def function(self, text: str) -> Callable:
        """The function `call` that a text defines."""
        scope = dict(self.names)
        exec(compile(text, "<nbgrad caller>", "exec"), scope)
        return scope["call"]

    def _need_fields(self, value: object, name: str, fields: tuple, others: tuple) -> None:
        self.need(f"type({name}) is {self.new(type(value))}")
        if hasattr(value, "__dict__"):
            self.need(f"len({name}.__dict__) == {len(fields) + len(others)}")
        for other in others:
            held = getattr(value, other)
            if not is_a(held, _SIMPLE):
                raise Unwritten
            self.same(held, f"{name}.{other}")

    def same(self, value: object, name: str) -> None:
        known = f"type({name}) is {self.new(type(value))} and {name} == {self.new(value)}"
        if is_a(value, (float, tuple, frozenset)):  # equal ones may be different
            known += f" and {self.new(static_key)}({name}) == {self.new(static_key(value))}"
        self.need(known)

    def take(self, value: Any, name: str, parts: str) -> None:
        """Take an argument apart; names of its parts begin with `parts`."""
        kind = type(value)
        if kind in (tuple, list) or is_named(kind):
            self.need(f"type({name}) is {self.new(kind)} and len({name}) == {len(value)}")
            inner = [f"{parts}_{i}" for i in range(len(value))]
            if inner:
                self.lines.append(f"{', '.join(inner)}, = {name}")
            for part, item in zip(inner, value, strict=True):
                self.take(item, part, part)
        elif kind is dict:
            # The keys in their order, since what the program does may depend on it.
            self.need(f"type({name}) is dict and len({name}) == {len(value)}")
            keys = {f"{parts}_k{i}": key for i, key in enumerate(value)}
            if keys:
                self.lines.append(f"{', '.join(keys)}, = {name}")
                self.need(" and ".join(f"{k} == {self.new(key)}" for k, key in keys.items()))
            for i, key in enumerate(_ordered(value)):
                self.lines.append(f"{parts}_{i} = {name}[{self.new(key)}]")
                self.take(value[key], f"{parts}_{i}", f"{parts}_{i}")
        elif is_complex(value):
            self._take_complex(value, name, parts)
        elif (attributes := trees.data_fields(value)) is not None:
            self._need_fields(value, name, *attributes)
            for i, field in enumerate(attributes[0]):
                self.lines.append(f"{parts}_{i} = {name}.{field}")
                self.take(getattr(value, field), f"{parts}_{i}", f"{parts}_{i}")
        elif not trees.is_leaf(value):
            raise Unwritten
        elif not is_dynamic(value):
            self.same(value, name)
        elif kind in (float, int):
            if self.exact:
                self.need(f"type({name}) is {kind.__name__}")
            self.leaves.append(name)
        elif is_a(value, np.ndarray) and value.shape:
            if not value.flags.c_contiguous:
                self.need(f"type({name}) is {self.new(np.ndarray)}")
                self.lines.append(f"{name} = {self.new(np.ascontiguousarray)}({name})")
            self.leaves.append(name)
        elif is_a(value, (np.ndarray, np.generic)):
            self.need(
                f"type({name}) is {self.new(kind)} and {name}.dtype is {self.new(value.dtype)}"
            )
            if is_a(value, np.ndarray):
                self.need(f"{name}.shape == ()")
            dtype = known(value.dtype)
            if dtype is value.dtype:
                number = f"{name}.item()" if dtype in PYTHONS else f"{name}[()]"
            else:
                number = f"{self.new(as_number)}({name}, {self.new(dtype)})"
            self.leaves.append(number)
        else:
            raise Unwritten

    def _take_complex(self, value: Any, name: str, parts: str) -> None:
        """Take a complex number or array apart: its parts are two leaves."""
        kind = type(value)
        self.need(f"type({name}) is {self.new(kind)}")
        if kind is not complex:
            if kind not in _COMPLEX or not value.dtype.isnative:
                raise Unwritten
            self.need(f"{name}.dtype is {self.new(value.dtype)}")
        if kind is np.ndarray and value.shape:
            names = [f"{parts}_real", f"{parts}_imag"]
            self.lines.append(f"{', '.join(names)} = {self.new(_parts)}({name})")
            self.leaves += names
            return
        if kind is np.ndarray:
            self.need(f"{name}.shape == ()")
        number = name if kind is complex else f"{name}[()]"
        for part in ("real", "imag"):
            python = kind is not complex and value.dtype == np.complex128
            self.leaves.append(f"{number}.{part}" + ".item()" * python)

    def places(self, tree: Any, name: str, signature: "Signature") -> None:
        """The arrays `r0`, `r1`, ... of a result whose flat outputs `tree` counts."""
        kind = type(tree)
        if kind in (tuple, list) or is_named(kind):
            self.need(f"type({name}) is {self.new(kind)} and len({name}) == {len(tree)}")
            for i, item in enumerate(tree):
                self.places(item, f"{name}[{i}]", signature)
        elif kind is dict:
            self.need(f"type({name}) is dict and len({name}) == {len(tree)}")
            for key, item in tree.items():
                self.places(item, f"{name}[{self.new(key)}]", signature)
        elif (attributes := trees.data_fields(tree)) is not None:
            self._need_fields(tree, name, *attributes)
            for field in attributes[0]:
                self.places(getattr(tree, field), f"{name}.{field}", signature)
        elif kind is float and signature.outputs[int(tree)].shape:
            place = f"_r{int(tree)}"
            self.lines.append(f"{place} = {name}")
            self.need(f"type({place}) is {self.new(np.ndarray)}")  # it is returned as it is
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
            return f"_r{i}" if signature.outputs[i].shape else f"_s{i}"
        if is_complex(tree):
            parts = [self.built(float(part), signature) for part in (tree.real, tree.imag)]
            return f"{self.new(plain_join)}({', '.join(parts)})"
        if not trees.is_leaf(tree):
            raise Unwritten
        return self.new(tree)


_COMPLEX = (np.ndarray, np.complex64, np.complex128)


def _parts(x: Any) -> tuple[np.ndarray, np.ndarray]:
    return x.real.copy(), x.imag.copy()


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
