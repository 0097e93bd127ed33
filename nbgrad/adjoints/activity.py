"""Values through which derivatives flow: they depend on an input, and a result depends on them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from ..ir.scalar import Apply
from ..ir.spread import Spread
from ..ir.statements import (
    Accumulate,
    Address,
    Assign,
    Call,
    If,
    Load,
    Operand,
    PointTo,
    Statement,
    Store,
)
from ..ir.walk import walk
from .build import COPY, INT, buffers_of, names_of
from .partials import called_name, chooses, has_pole, pullbacks

__all__ = ["active_names", "rule_of", "under_choices", "under_roots"]


def rule_of(statement: Assign | Call, is_strong: bool = False) -> tuple | None:
    """The cotangents of the operands of scalar code; None for what has no derivative. `is_strong`:
    a partial derivative of 0 gives 0, also for an infinite cotangent."""
    name = _name_of(statement)
    return pullbacks(name, is_strong) if name else None


def _name_of(statement: Assign | Call) -> str:
    if isinstance(statement, Call):
        return called_name(statement.function)
    if not isinstance(statement.body, Apply):
        return ""
    name = statement.body.function.name
    if name == "divide" and getattr(statement.operands[0], "number", None) == 1.0:
        return "reciprocal_of"
    return name


def under_roots(body: Sequence[Statement], dtype_of: Callable[[Operand], np.dtype]) -> set[Any]:
    """Names of numbers whose cotangent may be infinite, as they are computed for a root: the
    derivative of sqrt(x * x) is 0 where x is. Numbers that go through arrays are not among them, as
    products in long loops would take longer."""
    every = walk(body)
    edges = [
        (target, source)
        for each in every if not isinstance(each, (Load, Store, PointTo))
        for source, target in _edges(each, lambda x: _is_float(x, dtype_of))
    ]  # fmt: skip
    roots = [x for x in every if isinstance(x, (Assign, Call)) and has_pole(_name_of(x))]
    starts = [
        x for each in roots for x in getattr(each, "operands", getattr(each, "arguments", ()))
    ]
    return _reached([x for x in starts if isinstance(x, str)], edges)


def under_choices(body: Sequence[Statement], dtype_of: Callable[[Operand], np.dtype]) -> set[Any]:
    """Names of numbers and buffers that may not be chosen: a select or a maximum reads what is
    computed from them, or a branch or an index that depends on floats. Their cotangent may be 0
    where they are inf or nan."""
    every = walk(body)
    choices = [x for x in every if isinstance(x, Assign) and chooses(_name_of(x))]
    starts = {x for each in choices for x in each.operands if _is_float(x, dtype_of)}
    starts |= _at_branches(every, dtype_of)
    if not starts:
        return starts
    edges = [
        (target, source)
        for each in every for source, target in _edges(each, lambda x: _is_float(x, dtype_of))
    ]  # fmt: skip
    return _reached(starts, edges)


def _at_branches(every: Sequence[Statement], dtype_of: Callable[[Operand], np.dtype]) -> set[Any]:
    """Names that are used inside and outside of a branch that depends on floats, and buffers that
    are read at indices that depend on floats."""
    found: set[Any] = set()
    decided = _decided(every, dtype_of)
    uses = Counter(name for each in every for name in _used(each))
    for each in every:
        if isinstance(each, Load) and not decided.isdisjoint(names_of(each)):
            found.add(each.buffer)
        elif isinstance(each, If) and each.condition in decided:
            inside = walk([*each.then, *each.otherwise])
            own = Counter(name for one in inside for name in _used(one))
            found |= {name for name, count in own.items() if count < uses[name]}
    return found


def _decided(every: Sequence[Statement], dtype_of: Callable[[Operand], np.dtype]) -> set[Any]:
    """The bools and integers that depend on floats."""
    whole = [x for x in every if isinstance(x, Assign) and x.dtype.kind != "f"]
    edges = [(x, each.target) for each in whole for x in each.operands]
    return _reached([x for x, _ in edges if _is_float(x, dtype_of)], edges)


def _used(each: Any) -> set[Any]:
    """The names that a statement itself reads or sets."""
    own = getattr(each, "target", None), *getattr(each, "results", ())
    return {*names_of(each), *buffers_of(each), *own}


def active_names(
    body: Sequence[Statement], sources: Collection[Any], results: Collection[Any],
    dtype_of: Callable[[Operand], np.dtype],
) -> set[Any]:  # fmt: skip
    """Names of values, variables and buffers through which derivatives flow from `sources` to
    `results`."""

    edges = [edge for each in walk(body) for edge in _edges(each, lambda x: _is_float(x, dtype_of))]
    varied = _reached(sources, edges)
    useful = _reached(results, [(target, source) for source, target in edges])
    return varied & useful


def _is_float(x: Any, dtype_of: Callable[[Operand], np.dtype]) -> bool:
    return isinstance(x, str) and dtype_of(x).kind == "f"


def _edges(each: Any, is_float: Callable[[Any], bool]) -> Iterable[tuple[Any, Any]]:
    match each:
        case Assign(target=target, body=body, operands=operands) if is_float(target):
            rule = (True,) if body is COPY else rule_of(each)
            for part, x in zip(rule or (None,) * len(operands), operands, strict=True):
                if (part is not None or rule is None) and is_float(x):
                    yield x, target
        case Accumulate(target=target, value=value) if is_float(target) and is_float(value):
            yield value, target
        case Load(target=target, buffer=buffer) if is_float(target):
            yield buffer, target
        case Store(buffer=buffer, value=value) if is_float(value):
            yield value, buffer
        case Store(buffer=buffer, value=value, dtype=dtype) if dtype == INT:  # addresses
            yield value, buffer
        case Load(target=target, buffer=buffer, dtype=dtype) if dtype == INT:
            yield buffer, target
        case PointTo(target=target, address=address, dtype=dtype) if dtype.kind == "f":
            source = address.buffer if isinstance(address, Address) else address
            yield source, target  # one memory: what is written through one is read through others
            yield target, source
        case Assign(target=target, body=body, operands=(x,), dtype=dtype) if body is COPY:
            if dtype.kind == "i" and isinstance(x, str) and not is_float(x):  # of an address
                yield x, target
                yield target, x
        case Spread(shared=shared):
            for name, address, _ in shared:
                yield name, address.buffer
                yield address.buffer, name
        case Call(function="resized", arguments=(address, _), results=(target,)):
            yield address, target
            yield target, address
        case Call(function="product", pointers=(c, a, b)):
            yield a.buffer, c.buffer
            yield b.buffer, c.buffer
        case Call(function="rule", pointers=(y, x)):
            yield x.buffer, y.buffer
        case Call(function="foreign", pointers=pointers, arguments=arguments):
            for result in pointers[: arguments[len(pointers) + 1].number]:
                yield from ((x.buffer, result.buffer) for x in pointers)
        case Call(function="fourier", pointers=(*results, x, y)):
            for result in results:
                yield x.buffer, result.buffer
                yield y.buffer, result.buffer
        case Call(arguments=arguments, results=results):
            for x in arguments:
                source = x.buffer if isinstance(x, Address) else x
                for target in results:
                    if is_float(target):
                        yield source, target


def _reached(start: Collection[Any], edges: Sequence[tuple[Any, Any]]) -> set[Any]:
    following: dict[Any, list[Any]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    found, stack = set(start), list(start)
    while stack:
        for each in following.get(stack.pop(), ()):
            if each not in found:
                found.add(each)
                stack.append(each)
    return found
