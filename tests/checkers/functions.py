"""An interpreter of functions of the kernel IR: each becomes a function of Python.

A number is a Python number, a float32 a float that was rounded. A buffer is a dict from positions
to elements, so that a load from outside of it raises KeyError, and a store outside of it adds an
element. The memory of a record is a dict, too; growing it empties the old one, and a word is read
by the type by which it was written.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from checkers.arithmetic import SPACE, UNDEFINED, records
from nbgrad.ir.affine import Affine
from nbgrad.ir.library import LIBRARY
from nbgrad.ir.reductions import MAXIMUM, MINIMUM, SUM
from nbgrad.ir.scalar import NAMES, Apply, Arg, Expr, Number
from nbgrad.ir.spread import Spread
from nbgrad.ir.statements import (
    Accumulate,
    Address,
    Allocate,
    Assign,
    Break,
    Call,
    Continue,
    For,
    Function,
    If,
    Literal,
    Load,
    New,
    Pointer,
    PointTo,
    Position,
    Raise,
    Return,
    Store,
    Variable,
    While,
)
from nbgrad.ir.walk import walk

BOOL, INT, UINT = np.dtype(bool), np.dtype(np.int64), np.dtype(np.uint64)
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_COMPARED = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
             "equal": "==", "not_equal": "!="}  # fmt: skip
_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "and": "&", "or": "|", "xor": "^"}


def runnable(function: Function, left: int = 0) -> Callable:
    """A function of the parameters, buffers as dicts; it returns the tuple of its results, and
    leaves so many records."""
    text = _Text(function)
    space = dict(SPACE, Inside=_Inside, **text.known)
    exec(compile(text.whole, f"<{function.name}>", "exec"), space)
    run = space["run"]

    def call(*passed: Any) -> Any:
        kept = records()
        found = run(*passed)
        assert records() <= kept + left, "memory is left"  # of the callers
        return found

    return call


class _Inside:
    """A buffer from one of its elements on."""

    def __init__(self, buffer: Any, at: int):
        self._buffer, self._start = buffer, at

    def __getitem__(self, at: int) -> Any:
        return self._buffer[self._start + at]

    def __setitem__(self, at: int, value: Any) -> None:
        self._buffer[self._start + at] = value


class _Text:
    """The text of a function."""

    def __init__(self, function: Function):
        self.known: dict[str, Any] = {}
        self._names: dict[Any, str] = {}
        self._dtypes: dict[str, np.dtype] = {}
        for name, kind in function.parameters:
            self._dtypes[name] = kind.dtype if isinstance(kind, Pointer) else kind
        self._words: set[str] = set()
        head = ", ".join(self._name(name) for name, _ in function.parameters)
        self._lines = [f"def run({head}):"]
        self._new_buffers: set[str] = set()
        self._variables = {x.target for x in walk(function.body) if isinstance(x, Variable)}
        self._body(function.body, 1)
        self._lines[1:1] = [f" {name} = None" for name in sorted(self._new_buffers)]
        self.whole = "\n".join(self._lines) + "\n"

    def _name(self, name: Any) -> str:
        if name not in self._names:
            plain = "".join(c if c.isalnum() else "_" for c in str(name))
            self._names[name] = f"{plain}__{len(self._names)}"
        return self._names[name]

    def _defined(self, name: str, dtype: np.dtype) -> str:
        self._dtypes[name] = dtype
        return self._name(name)

    def _operand(self, x: Any) -> str:
        if isinstance(x, Literal):
            return self._number(x.number, x.dtype)
        return str(x) if isinstance(x, int) else self._name(x)

    def _number(self, number: Any, dtype: np.dtype) -> str:
        if dtype.kind == "b":
            return str(bool(number))
        if dtype.kind in "iu":
            return f"({int(number)})"
        value = float(dtype.type(number))
        return f"({value!r})" if math.isfinite(value) else f"float('{value}')"

    def _at(self, at: Affine) -> str:
        terms = [f"{self._operand(n)} * {self._operand(f)}" for n, f in at.terms]
        return " + ".join([*terms, self._operand(at.const)])

    def _body(self, body: Any, depth: int) -> None:
        for each in body:
            self._statement(each, depth)
        if not body:
            self._add("pass", depth)

    def _add(self, line: str, depth: int) -> None:
        self._lines.append(" " * depth + line)

    def _statement(self, each: Any, depth: int) -> None:
        match each:
            case Assign(target, body, operands, dtype, inner):
                value, kind = self._expression(body, operands, inner)
                self._add(f"{self._defined(target, dtype)} = {_cast(value, kind, dtype)}", depth)
            case Position(target, at):
                self._add(f"{self._defined(target, INT)} = {self._at(at)}", depth)
            case Variable(target, start, dtype):
                dtype = dtype or self._dtype(start)
                self._add(f"{self._defined(target, dtype)} = {self._operand(start)}", depth)
            case Accumulate(target, kind, value) if kind is SUM:
                name = self._name(target)
                total = f"{name} + {self._operand(value)}"
                self._add(f"{name} = {_rounded(total, self._dtypes[target])}", depth)
            case Accumulate(target, kind, value) if kind in (MAXIMUM, MINIMUM):
                name, other = self._name(target), self._operand(value)
                sign = ">" if kind is MAXIMUM else "<"
                self._add(f"if {other} {sign} {name} or {other} != {other}: {name} = {other}",
                          depth)  # fmt: skip
            case Load(target, buffer, at, dtype):
                self._require_word(buffer, dtype)
                name, word = self._defined(target, dtype), self._name(buffer)
                self._add(f"{name} = {word}[{self._at(at)}]", depth)
                if buffer in self._words:
                    self._add(f"require_kind({name}, {dtype.kind!r})", depth)
            case Store(buffer, at, value, dtype, kind):
                self._require_word(buffer, dtype)
                new = _cast(self._operand(value), self._dtype(value), dtype)
                place = f"{self._name(buffer)}[{self._at(at)}]"
                if kind is not None:
                    assert kind is SUM
                    new = _rounded(f"{place} + {new}", dtype)
                self._add(f"{place} = {new}", depth)
            case For(axis, start, stop, body, step=step):
                bounds = ", ".join(map(self._operand, (start, stop, step)))
                self._add(f"for {self._defined(axis, INT)} in range({bounds}):", depth)
                self._add("tick()", depth + 1)
                self._body(body, depth + 1)
            case Spread():
                self._spread(each, depth)
            case While(body):
                self._add("while True:", depth)
                self._add("tick()", depth + 1)
                self._body(body, depth + 1)
            case Break() | Continue():
                self._add(type(each).__name__.lower(), depth)
            case If(condition, then, otherwise):
                self._add(f"if {self._operand(condition)}:", depth)
                self._body(then, depth + 1)
                if not then:
                    self._add("pass", depth + 1)
                if otherwise:
                    self._add("else:", depth)
                    self._body(otherwise, depth + 1)
            case Call():
                self._call(each, depth)
            case New(target, count, dtype, cleared):
                self._dtypes[target] = dtype
                self._new_buffers.add(name := self._name(target))
                first = self._number(0 if cleared else UNDEFINED[dtype.kind], dtype)
                self._add(f"{name} = allocated({name}, {self._operand(count)}, {first})", depth)
            case Allocate(target, count, dtype):
                first = self._number(UNDEFINED[dtype.kind], dtype)
                name = self._defined(target, dtype)
                self._add(f"{name} = dict.fromkeys(range({count}), {first})", depth)
            case PointTo(target, address, dtype):
                self._words.add(target)
                words = f"memory({self._operand(address)}, {dtype.itemsize})"
                self._add(f"{self._defined(target, dtype)} = {words}", depth)
            case Return(values):
                self._add(f"return ({''.join(self._operand(x) + ', ' for x in values)})", depth)
            case Raise(error, message):
                self._add(f"raise {error}({message!r})", depth)
            case _:
                raise NotImplementedError(type(each).__name__)

    def _spread(self, each: Spread, depth: int) -> None:
        """The pieces in reverse order: they must not depend on each other."""
        loop, inside = each.loop, walk((*each.before, each.loop, *each.after))
        targets = {x.target for x in inside if isinstance(x, (Assign, Accumulate))}
        own = [self._name(x) for x in sorted(targets & self._variables)]
        sums = [self._name(x) for x in each.sums]
        made = [self._name(x.target) for x in inside if isinstance(x, New)]
        self._new_buffers.update(made)
        piece, order = self._defined(each.piece, INT), f"order{depth}"
        start, stop, count = map(self._operand, (loop.start, loop.stop, each.count))
        ends = [f"start{depth}", f"size{depth}"]
        for name in own:
            self._add(f"{name}_before = {name}", depth)
        self._add(f"{ends[0]}, {ends[1]} = {start}, -(-({stop} - {start}) // {count})", depth)
        self._add(f"sums{depth} = {{}}", depth)
        self._add("try:", depth)
        self._add(f"for {piece} in reversed(range({count})):", depth + 1)
        for name in own:
            self._add(f"{name} = {name}_before", depth + 2)
        for name in sums:
            self._add(f"{name} = 0", depth + 2)
        for name in made:
            self._add(f"{name} = None", depth + 2)
        for name, address, size in each.shared:
            self._dtypes[name] = address.dtype
            zeros = f"dict.fromkeys(range({self._operand(size)}), 0)"
            self._add(f"{self._name(name)} = {zeros}", depth + 2)
        self._body(each.before, depth + 2)
        low = f"{ends[0]} + {piece} * {ends[1]}"
        bounds = f"{low}, min({low} + {ends[1]}, {stop})"
        if each.from_end:
            bounds = f"*({start} + {stop} - x for x in ({bounds})[::-1])"
        self._add(f"for {self._defined(loop.axis, INT)} in range({bounds}):", depth + 2)
        self._add("tick()", depth + 3)
        self._body(loop.body, depth + 3)
        self._body(each.after, depth + 2)
        shared = [self._name(name) for name, _, _ in each.shared]
        kept = "".join(f"{name}, " for name in (*sums, *shared))
        self._add(f"sums{depth}[{piece}] = ({kept})", depth + 2)
        self._add("except BaseException:", depth)
        for name in own:
            self._add(f"{name} = {name}_before", depth + 1)
        self._body(each.at_error, depth + 1)
        self._add("raise", depth + 1)
        for name in own:
            self._add(f"{name} = {name}_before", depth)
        self._add(f"for {order} in range({count}):", depth)
        for i, name in enumerate(each.sums):
            total = f"{self._name(name)} + sums{depth}[{order}][{i}]"
            total = _rounded(total, self._dtypes[name])
            self._add(f"{self._name(name)} = {total}", depth + 1)
        for i, (_, address, _) in enumerate(each.shared, len(sums)):
            place = f"{self._name(address.buffer)}[{self._at(address.at)} + k]"
            total = _rounded(f"{place} + x", address.dtype)
            self._add(f"for k, x in sums{depth}[{order}][{i}].items():", depth + 1)
            self._add(f"{place} = {total}", depth + 2)
        self._add("pass", depth + 1)

    def _require_word(self, buffer: Any, dtype: np.dtype) -> None:
        expected = self._dtypes.get(buffer)
        if expected is not None and expected != dtype:
            raise TypeError(f"{buffer} of {expected} as {dtype}")

    def _call(self, call: Call, depth: int) -> None:
        names = [self._defined(n, d) for n, d in zip(call.results, self._kinds(call), strict=True)]
        targets = "".join(f"{name}, " for name in names)
        given = []
        for x in call.arguments:
            if isinstance(x, Address) and call.function in LIBRARY:
                given += [self._name(x.buffer), self._at(x.at)]
            elif isinstance(x, Address):
                name = self._name(x.buffer)
                given.append(name if x.at.is_zero else f"Inside({name}, {self._at(x.at)})")
            else:
                given.append(self._operand(x))
        if isinstance(call.function, Function):
            own = f"call{len(self.known)}"
            self.known[own] = runnable(call.function)
            text = f"{own}({', '.join(given)})"
        elif call.function.startswith("libm "):
            value = f"libm[{call.function[5:]!r}]({', '.join(given)})"
            text = f"({_rounded(value, call.dtypes[0])},)"
        else:
            text = f"{call.function.removeprefix('c_function ')}({', '.join(given)})"
        self._add(f"{targets} = {text}" if targets else text, depth)

    def _kinds(self, call: Call) -> tuple[np.dtype, ...]:
        if isinstance(call.function, Function):
            return call.function.results
        return call.dtypes

    # -- scalar code ------------------------------------------------------------------------------

    def _dtype(self, x: Any) -> np.dtype:
        return x.dtype if isinstance(x, Literal) else self._dtypes[x]

    def _expression(self, node: Expr, operands: Any, inner: np.dtype) -> tuple[str, np.dtype]:
        """The text of scalar code, and its dtype."""
        if isinstance(node, Arg):
            x = operands[NAMES.index(node.name)]
            return self._operand(x), self._dtype(x)
        if isinstance(node, Number):
            dtype = BOOL if isinstance(node.value, bool) else inner
            return self._number(node.value, dtype), dtype
        assert isinstance(node, Apply)
        parts = [self._expression(each, operands, inner) for each in node.args]
        texts, name = [text for text, _ in parts], node.function.name
        if name in _COMPARED:
            return f"({texts[0]} {_COMPARED[name]} {texts[1]})", BOOL
        if name == "select":
            dtype = np.result_type(parts[1][1], parts[2][1])
            return f"({texts[1]} if {texts[0]} else {texts[2]})", dtype
        dtype = np.result_type(*(kind for _, kind in parts))
        if name in _SIGNS:
            return _rounded(f"({texts[0]} {_SIGNS[name]} {texts[1]})", dtype), dtype
        if name == "negative":
            return f"(-{texts[0]})", dtype
        if name == "invert":
            return (f"(not {texts[0]})" if dtype == BOOL else f"(~{texts[0]})"), dtype
        if name in ("np.isfinite", "np.signbit"):
            return f"functions[{name!r}]({texts[0]})", BOOL
        if name == "divide" and dtype.kind != "f":
            dtype = DOUBLE
        return _rounded(f"functions[{name!r}]({', '.join(texts)})", dtype), dtype


def _rounded(text: str, dtype: np.dtype) -> str:
    if dtype == SINGLE:
        return f"single({text})"
    if dtype.kind in "iu":
        return f"wrapped({text}, {8 * dtype.itemsize}, {dtype.kind == 'i'})"
    return text


def _cast(text: str, before: np.dtype, after: np.dtype) -> str:
    if before == after:
        return text
    if after == BOOL:
        return f"({text} != 0)"
    if after.kind in "iu":
        return f"wrapped(int({text}), {8 * after.itemsize}, {after.kind == 'i'})"
    return f"single({text})" if after == SINGLE else f"float({text})"
