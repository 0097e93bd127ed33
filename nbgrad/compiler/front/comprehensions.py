"""Lists that are written as comprehensions and become arrays: `np.array([f(i) for i in x])`.

Such a list is an array that a nest of loops fills.
"""

import ast
import builtins
import copy
import operator
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from .arrays import count_of, is_array, number
from .elements import product
from .emit import FunctionBuilder
from .iteration import Enumerated, Items
from .syntax import Unsupported
from .tuples import is_tuple
from .values import INT, Array, Known, Number, Place, Value

__all__ = ["TAKERS", "Element", "filled", "is_like_an_array"]

TAKERS: Container[Any] = (
    np.array, np.asarray, np.sum, np.prod, np.mean, np.max, np.min, np.any, np.all, builtins.sum,
    builtins.len,
)  # fmt: skip
"""The functions that take such lists."""
Comprehension = ast.ListComp | ast.GeneratorExp


_READERS = frozenset(
    "sum array max min amax amin mean median std var prod any all argmax argmin "
    "cumsum sort concatenate".split()
)


def is_like_an_array(function: ast.FunctionDef, name: str) -> bool:
    """Whether nothing that a function does with a list tells it from an array: it reads and assigns
    elements, runs through it, and passes it to functions of NumPy that give no view."""
    alike: set[int] = set()
    for each in ast.walk(function):
        match each:
            case ast.Assign(targets=[ast.Name(id=found) as target], value=ast.ListComp()):
                alike |= {id(target)} if found == name else set()
            case ast.Subscript(value=ast.Name() as held, slice=at):
                alike |= set() if isinstance(at, ast.Slice) else {id(held)}
            case ast.For(iter=ast.Name() as held):
                alike.add(id(held))
            case ast.Call(func=ast.Name(id="len" | "sum" | "enumerate" | "zip"), args=args):
                alike |= set(map(id, args))
            case ast.Call(func=ast.Attribute(ast.Name(id="np"), taker), args=args) if (
                taker in _READERS
            ):
                alike |= set(map(id, args))
    uses = [x for x in ast.walk(function) if isinstance(x, ast.Name) and x.id == name]
    return all(id(x) in alike for x in uses)


class Element(ast.stmt):
    """The statement inside of the loops, which `write()` reads."""

    def __init__(self, write: Callable[[], None], place: ast.AST):
        super().__init__()
        ast.copy_location(self, place)
        self.write = write


def filled(
    emit: FunctionBuilder, node: Comprehension, items_of: Callable[[ast.expr], Items],
    value: Callable[[ast.expr], Value], read: Callable[[ast.stmt], None],
    declare: Callable[[str], None], variables: Any,
) -> Array:  # fmt: skip
    """The array of a comprehension. `read` reads a statement, `declare` makes a name a variable."""
    targets, shape, conditions, element = _loops(emit, node, items_of, declare)
    counter = emit.name("count")
    declare(counter)
    if conditions:
        variables[counter] = Known(0)
    place = Place(emit.name("new"), np.dtype(float))

    def write() -> None:
        nonlocal place
        found = value(element)
        if is_array(found) or is_tuple(found):
            raise Unsupported("a list of arrays or tuples: assign the rows of an array")
        place = Place(place.buffer, emit.dtype(found))
        at: Value = Known(0)
        for (index, _), length in zip(targets, shape, strict=True):
            at = emit.operation(operator.add, product(emit, at, length), variables[index])
        at = variables[counter] if conditions else at
        emit.store(place, _affine(emit, at), found)
        if conditions:
            variables[counter] = emit.operation(operator.add, at, Known(1))

    body: ast.stmt = Element(write, element)
    for condition in reversed(conditions):
        body = ast.copy_location(ast.If(condition, [body], []), element)
    for _, loop in reversed(targets):
        loop.body = [body]
        body = loop
    with emit.block() as made:
        read(body)
    count = emit.cast(count_of(emit, shape), INT)
    emit.make(place, count)
    emit.body += made
    if conditions:
        length = emit.typed(emit.settled(variables[counter]))
        return Array(place, (Number(length.operand, INT, True),))
    return Array(place, tuple(shape))


def _affine(emit: FunctionBuilder, at: Value) -> Any:
    from .elements import position

    return position(emit, at)


def _loops(
    emit: FunctionBuilder, node: Comprehension, items_of: Callable[[ast.expr], Items],
    declare: Callable[[str], None],
) -> tuple[list[tuple[str, ast.For]], list[Number], list[ast.expr], ast.expr]:  # fmt: skip
    """The loops of a comprehension with the names of their positions, the lengths of the array, the
    conditions, and the element. The variables of a comprehension have names of their own."""
    loops: list[tuple[str, ast.For]] = []
    shape: list[Number] = []
    names: dict[str, str] = {}
    while True:
        if len(node.generators) > 1:
            raise Unsupported("a list with two `for`: write a loop that fills an array")
        (loop,) = node.generators
        if any(isinstance(x, ast.Name) and x.id in names for x in ast.walk(loop.iter)):
            raise Unsupported("a list whose inner loop depends on the outer one: fill an array")
        items = items_of(loop.iter)
        count = emit.settled(emit.extreme(max, [items.count, Known(0)]))
        shape.append(
            number(count.value) if isinstance(count, Known)
            else Number(emit.cast(count, INT).operand, INT, True)
        )  # fmt: skip
        for each in ast.walk(loop.target):
            if isinstance(each, ast.Name):
                names[each.id] = own = emit.name(each.id)
                declare(own)
        index = emit.name("place")
        declare(index)
        target = ast.Tuple(
            [ast.Name(index, ast.Store()), _renamed(loop.target, names)], ast.Store()
        )
        made: Any = ast.copy_location(ast.For(target, loop.iter, [], []), node)
        made.items = Enumerated(emit, items)
        loops.append((index, made))
        if not isinstance(node.elt, ast.ListComp):
            break
        if loop.ifs:
            raise Unsupported("a list of lists with a condition: fill an array")
        node = node.elt
    if loop.ifs and len(loops) > 1:
        raise Unsupported("a list of lists with a condition: fill an array")
    return loops, shape, [_renamed(x, names) for x in loop.ifs], _renamed(node.elt, names)


def _renamed(node: ast.expr, names: dict[str, str]) -> Any:
    made = copy.deepcopy(node)
    for each in ast.walk(made):
        if isinstance(each, ast.Name):
            each.id = names.get(each.id, each.id)
    return made
