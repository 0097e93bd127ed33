"""The shapes of the arrays that a function returns, before it is called.

A function of the kernel IR writes an array that it returns into an array of the caller, and
compares the lengths. The function of the shapes is what is left of it if only the lengths are
asked for.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..adjoints.build import BOOL, INT, Names, copy, literal, names_of
from ..adjoints.inline import inlined
from ..compiler.front.functions import ArrayResult
from ..ir.affine import Affine
from ..ir.statements import (
    Address,
    Assign,
    Break,
    Call,
    Continue,
    For,
    Function,
    If,
    Load,
    Pointer,
    PointTo,
    Raise,
    Store,
    While,
)
from ..ir.walk import inner, walk, with_inner
from .status import names_in

__all__ = ["shape_function"]

_SHAPES = "shapes"


def shape_function(function: Function, results: Sequence[ArrayResult]) -> Function:
    """A function of the arguments of `function` and of a buffer, into which it writes the lengths
    of the arrays that the function returns."""
    flat = inlined(function, Names([*names_in(function), _SHAPES]))
    lengths = [f"{each.name}_n{i}" for each in results for i in range(each.kind.ndim)]
    own = {each.name for each in results}

    def change(body: Sequence[Any]) -> tuple:
        made: list[Any] = []
        for each in body:
            known = set(each.operands) & set(lengths) if isinstance(each, Assign) else ()
            if known and each.dtype == BOOL:  # a comparison
                name: Any = next(iter(known))
                (length,) = [x for x in each.operands if x != name]
                at = Affine(lengths.index(name), ())
                made += [Store(_SHAPES, at, length, INT), copy(each.target, literal(1, BOOL), BOOL)]
            elif not isinstance(each, Raise) and getattr(each, "buffer", None) not in own:
                made.append(with_inner(each, change) if inner(each) else each)
        return tuple(made)

    parameters = [(n, k) for n, k in function.parameters if n not in own and n not in lengths]
    body = _in_front(change([*flat.declared, *flat.body]), {n for n, _ in parameters})
    body = _Alive(body).body
    return replace(
        function, name=f"{function.name}.shapes", results=(), body=body,
        parameters=(*parameters, (_SHAPES, Pointer(INT)), (f"{_SHAPES}_n0", INT)),
    )  # fmt: skip


def _in_front(body: tuple, parameters: set[str]) -> tuple:
    """The statements with lengths first that are the same parameter at every `return`, so that they
    do not depend on conditions."""
    stores = [x for x in walk(body) if isinstance(x, Store) and x.buffer == _SHAPES]
    values: dict[Any, set] = {}
    for each in stores:
        values.setdefault(each.at, set()).add(each.value)
    known = {at for at, found in values.items() if len(found) == 1 and found <= parameters}
    first = {each.at: each for each in stores if each.at in known}

    def change(body: Sequence[Any]) -> tuple:
        return tuple(
            with_inner(each, change) if inner(each) else each
            for each in body if not any(each is x for x in stores if x.at in known)
        )  # fmt: skip

    return (*first.values(), *change(body))


class _Alive:
    """The statements that the lengths depend on."""

    def __init__(self, body: Sequence[Any]):
        self._names: set[str] = set()
        self._buffers: set[Any] = {_SHAPES}
        self._loops: set[int] = set()
        every = walk(body)
        count = -1
        while count < len(self._names) + len(self._buffers) + len(self._loops):
            count = len(self._names) + len(self._buffers) + len(self._loops)
            for each in reversed(every):
                self._look(each)
        self.body = self._filtered(body)

    def _is_alive(self, each: Any) -> bool:
        match each:
            case If() | For() | While():
                own = isinstance(each, For) and each.axis in self._names
                return own or any(self._is_alive(x) for part in inner(each) for x in part)
            case Break() | Continue():
                return id(each) in self._loops
            case Store(buffer=buffer):
                return buffer in self._buffers
            case PointTo(target=target, address=address):
                source = address.buffer if isinstance(address, Address) else None
                return target in self._buffers or source in self._buffers
            case Call(arguments=arguments, results=results):
                passed = {x.buffer for x in arguments if isinstance(x, Address)}
                return bool(self._names.intersection(results) or self._buffers & passed)
        target = getattr(each, "target", None)
        return target in self._names or target in self._buffers

    def _look(self, each: Any) -> None:
        if not self._is_alive(each):
            return
        self._names |= {x for x in names_of(each) if isinstance(x, str)}
        if isinstance(each, Load):
            self._buffers.add(each.buffer)
        elif isinstance(each, PointTo):
            self._buffers.add(each.target)
            if isinstance(each.address, Address):
                self._buffers.add(each.address.buffer)
        elif isinstance(each, Call):
            self._buffers |= {x.buffer for x in each.arguments if isinstance(x, Address)}
        elif isinstance(each, (For, While)):
            self._loops |= {id(x) for x in walk(inner(each)[0]) if isinstance(x, (Break, Continue))}

    def _filtered(self, body: Sequence[Any]) -> tuple:
        return tuple(
            with_inner(each, self._filtered) if inner(each) else each
            for each in body if self._is_alive(each)
        )  # fmt: skip
