"""Instructions as LLVM assembly: the functions that calls of the IR name by a text.

A row is a template or a function. Each line of a template is an instruction, `name = text`, with
{names} of earlier lines and of: the arguments {x}, {y}, {z}; their type {t}; integers of that width
{i}; flags {f}; of floats, {mantissa} bits, {large} = 1.5 * 2**mantissa, which added rounds to whole
numbers, {biased}, the same plus the bias of exponents, {root}, the bits of sqrt(1/2). `name = @fma
x y z` calls a function that LLVM knows. The last line is the result; of several, the last ones.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .front.syntax import Unsupported
from .llvm import result_type
from .llvm_heap import declare_room
from .llvm_lookups import foreign, of_scipy
from .llvm_ops import INT, Value, constant, llvm_type
from .llvm_spare import declare_free

__all__ = ["instruction"]

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
# Bits of the mantissa, bias, bits of sqrt(1/2).
_LAYOUT = {DOUBLE: (52, 1023, 0x3FE6A09E667F3BCD), SINGLE: (23, 127, 0x3F3504F3)}

_SHIFTED = """pattern = bitcast {t} {x} to {i}
low = sub {i} {pattern}, {root}
power = ashr {i} {low}, {mantissa}
"""
_WHOLE = """moved = fadd {f}{t} {k}, {large}
bits = bitcast {t} {moved} to {i}
"""

_TEMPLATES = {
    "radd": "sum = fadd reassoc contract {t} {x}, {y}",
    "two_product": """product = fmul {f}{t} {x}, {y}
minus = fneg {t} {product}
lost = @fma x y minus""",
    "round_even": """moved = fadd contract {t} {x}, {large}
whole = fsub {f}{t} {moved}, {large}""",
    "times_power_of_two": """half = fmul contract {t} {y}, {a_half}
near = fadd contract {t} {half}, {biased}
whole = fsub {f}{t} {near}, {biased}
rest = fsub {f}{t} {y}, {whole}
other = fadd {f}{t} {rest}, {biased}
bits = bitcast {t} {near} to {i}
power = shl {i} {bits}, {mantissa}
factor = bitcast {i} {power} to {t}
once = fmul {f}{t} {x}, {factor}
bits = bitcast {t} {other} to {i}
power = shl {i} {bits}, {mantissa}
factor = bitcast {i} {power} to {t}
twice = fmul {f}{t} {once}, {factor}""",
    "times_normal_power": """moved = fadd {f}{t} {y}, {biased}
bits = bitcast {t} {moved} to {i}
power = shl {i} {bits}, {mantissa}
factor = bitcast {i} {power} to {t}
out = fmul {f}{t} {x}, {factor}""",
    "mantissa": _SHIFTED
    + """up = shl {i} {power}, {mantissa}
rest = sub {i} {pattern}, {up}
out = bitcast {i} {rest} to {t}""",
    "exponent": _SHIFTED + "out = sitofp {i} {power} to {t}",
    "odd": _WHOLE.replace("{k}", "{x}")
    + """last = and {i} {bits}, 1
out = trunc {i} {last} to i1""",
    "turned": _WHOLE.replace("{k}", "{y}")
    + """half = and {i} {bits}, 2
sign = shl {i} {half}, {but_two}
number = bitcast {t} {x} to {i}
other = xor {i} {number}, {sign}
out = bitcast {i} {other} to {t}""",
    "half_bits_below": """bits = bitcast {t} {x} to {i}
half = lshr {i} {bits}, 1
first = bitcast {t} {y} to {i}
rest = sub {i} {first}, {half}
out = bitcast {i} {rest} to {t}""",
    "above": """far = sub i64 {x}, {y}
out = lshr i64 {far}, {z}""",
    "length": """zeros = call i64 @llvm.ctlz.i64(i64 {x}, i1 false)
out = sub i64 64, {zeros}""",
    "highest": "out = @maximum x y",
    "lowest": "out = @minimum x y",
    "prefetch": "call void @llvm.prefetch.p0(ptr {x}, i32 0, i32 3, i32 1)",
    "address": "out = ptrtoint ptr {x} to i64",
    "code": "out = ptrtoint ptr {x} to i64",
    "resized": """before = inttoptr i64 {x} to ptr
place = call ptr @{room}(ptr {before}, i64 {y})
out = ptrtoint ptr {place} to i64""",
    "freed": """place = inttoptr i64 {x} to ptr
call void @{free}(ptr {place})""",
    "allowed": "out = load i64, ptr @nbgrad_memory",
    "noted": "",
    "counted": """place = getelementptr i64, ptr {x}, i64 {y}
out = atomicrmw add ptr {place}, i64 {z} seq_cst""",
    "run": """function = inttoptr i64 {x} to ptr
operands = inttoptr i64 {y} to ptr
call void {function}(ptr {operands}, i64 {z})""",
    # The first words of the block of threads are addresses of functions of Python's.
    "acquire": """address = load i64, ptr {x}
function = inttoptr i64 {address} to ptr
lock = inttoptr i64 {y} to ptr
wait = zext i1 {z} to i32
got = call i32 {function}(ptr {lock}, i32 {wait})
out = icmp ne i32 {got}, 0""",
    "release": """place = getelementptr i64, ptr {x}, i64 1
address = load i64, ptr {place}
function = inttoptr i64 {address} to ptr
lock = inttoptr i64 {y} to ptr
call void {function}(ptr {lock})""",
    "ident": """place = getelementptr i64, ptr {x}, i64 2
address = load i64, ptr {place}
function = inttoptr i64 {address} to ptr
number = call {ulong} {function}()
out = {widened} {ulong} {number} to i64""",
}
_RESULTS = {"two_product": ("product", "lost")}
_DECLARED = {
    "allowed": ("nbgrad_memory", "@nbgrad_memory = external global i64"),
    "length": ("llvm.ctlz.i64", "declare i64 @llvm.ctlz.i64(i64, i1)"),
    "prefetch": ("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"),
}
_KNOWN_TO_LLVM = {"sin", "cos", "exp", "log", "log10", "pow", "exp2", "log2"}


def instruction(
    writer: Any, name: str, given: Sequence[Value | str], pointed: Sequence[np.dtype],
    results: Sequence[np.dtype],
) -> list[Value]:  # fmt: skip
    """The results of an instruction of values and of pointers, which are texts; `pointed` are the
    dtypes of what these point to."""
    kind, _, rest = name.partition(" ")
    if kind in _FUNCTIONS:
        return _FUNCTIONS[kind](writer, rest, given, results)
    if kind not in _TEMPLATES:
        raise Unsupported(f"the instruction {kind}")
    if kind in _DECLARED:
        symbol, text = _DECLARED[kind]
        writer.module.intrinsics[symbol] = text
    names = _names(writer, given)
    if kind == "resized":
        names["room"] = declare_room(writer.module.intrinsics)
    if kind == "freed":
        names["free"] = declare_free(writer.module.intrinsics)
    last = ""
    for line in _TEMPLATES[kind].splitlines():
        target, _, text = line.partition(" = ")
        if not text:
            writer.add(line.format_map(names))
        elif text.startswith("@"):
            function, *operands = text[1:].split()
            values = [Value(names[each], results[0]) for each in operands]
            names[target] = writer.intrinsic(function, values).text
        else:
            names[target] = writer.emit(text.format_map(names))
        last = target
    targets = _RESULTS.get(kind, (last,))
    return [Value(names[each], dtype) for each, dtype in zip(targets, results, strict=False)]


def _names(writer: Any, given: Sequence[Value | str]) -> dict[str, str]:
    names = {"f": writer.flags, **_ULONG}
    for each, operand in zip("xyz", given, strict=False):
        names[each] = operand if isinstance(operand, str) else operand.text
    first = given[0] if given else ""
    if isinstance(first, str):
        return names
    width = 8 * first.dtype.itemsize
    names |= {"t": llvm_type(first.dtype), "i": f"i{width}"}
    if first.dtype in _LAYOUT:
        bits, bias, root = _LAYOUT[first.dtype]
        large = 1.5 * 2.0**bits
        numbers = {"large": large, "biased": large + bias, "a_half": 0.5}
        names |= {key: constant(each, first.dtype).text for key, each in numbers.items()}
        names |= {"mantissa": str(bits), "root": str(root), "but_two": str(width - 2)}
    return names


_LONG = 8 * ctypes.sizeof(ctypes.c_ulong)
_ULONG = {"ulong": f"i{_LONG}", "widened": "bitcast" if _LONG == 64 else "zext"}


# -- functions ------------------------------------------------------------------------------------


def _hidden(writer: Any, name: str, given: Sequence[Value], results: Any) -> list[Value]:
    return [writer.opaque(given[0])]


def _library(writer: Any, name: str, given: Sequence[Value], results: Any) -> list[Value]:
    """A function of the C library, by LLVM's name for it where it has one."""
    if name in _KNOWN_TO_LLVM:
        return [writer.intrinsic(name, given)]
    dtype = results[0]
    symbol, kind = f"{name}{'f' if dtype == SINGLE else ''}", llvm_type(dtype)
    kinds = ", ".join([kind] * len(given))
    writer.module.intrinsics[symbol] = f"declare {kind} @{symbol}({kinds}) nounwind memory(none)"
    text = ", ".join(f"{kind} {x.text}" for x in given)
    return [Value(writer.emit(f"call {writer.flags}{kind} @{symbol}({text})"), dtype)]


def _c_function(writer: Any, name: str, given: Sequence[Any], results: Any) -> list[Value]:
    """A call of a C function by its name, or at the address that stands first."""
    kind, function = result_type(results), f"@{name}"
    if not name:
        function, given = writer.emit(f"inttoptr i64 {given[0].text} to ptr"), given[1:]
    kinds = ["ptr" if isinstance(x, str) else llvm_type(x.dtype) for x in given]
    if name:
        writer.module.intrinsics[name] = f"declare {kind} @{name}({', '.join(kinds)})"
    texts = (x if isinstance(x, str) else x.text for x in given)
    call = f"call {kind} {function}({', '.join(map(' '.join, zip(kinds, texts, strict=True)))})"
    if results:
        return [Value(writer.emit(call), results[0])]
    writer.add(call)
    return []


def _linked(writer: Any, symbol: str, given: Sequence[Value | str], results: Any) -> list[Value]:
    """A call of code that is linked."""
    pairs = [("ptr", x) if isinstance(x, str) else (llvm_type(x.dtype), x.text) for x in given]
    kinds = ", ".join(kind for kind, _ in pairs)
    writer.module.intrinsics[symbol] = f"declare {result_type(results)} @{symbol}({kinds})"
    writer.module.linked.add(symbol)
    return writer.results_of(symbol, pairs, results)


WRITTEN: dict[str, str] = {}
"""Code of functions that are written in LLVM's terms, by name."""


def _written(writer: Any, symbol: str, given: Sequence[Value | str], results: Any) -> list[Value]:
    """A call of one of those."""
    lines: list[str] = []
    for line in WRITTEN[symbol].splitlines():
        if line.startswith("declare"):
            writer.module.intrinsics[line.partition("@")[2].partition("(")[0].strip('"')] = line
        else:
            lines.append(line)
    writer.module.intrinsics[symbol] = "\n".join(lines)
    texts = [f"ptr {x}" if isinstance(x, str) else f"{llvm_type(x.dtype)} {x.text}" for x in given]
    writer.add(f"call void @{symbol}({', '.join(texts)})")
    return []


def _symbol(writer: Any, name: str, given: Any, results: Any) -> list[Value]:
    """The address of a variable that is defined elsewhere."""
    writer.module.intrinsics[name] = f"@{name} = external global i64"
    return [Value(writer.emit(f"ptrtoint ptr @{name} to i64"), INT)]


def _image(writer: Any, name: str, given: Sequence[Value], results: Any) -> list[Value]:
    """An integer that lies among others as a number does: nan last, both zeros alike."""
    (x,) = given
    emit, text, kind = writer.emit, x.text, llvm_type(x.dtype)
    if x.dtype.kind != "f":
        if x.dtype.itemsize < 8:
            text = emit(f"{'sext' if x.dtype.kind == 'i' else 'zext'} {kind} {text} to i64")
        if x.dtype == np.uint64:
            text = emit(f"xor i64 {text}, {-(2**63)}")
        return [Value(text, INT)]
    if x.dtype == SINGLE:
        text = emit(f"fpext float {text} to double")
    zero, most = constant(0.0, DOUBLE).text, 2**63 - 1
    text = emit(f"fadd {writer.flags}double {text}, {zero}")
    bits = emit(f"bitcast double {text} to i64")
    sign = emit(f"ashr i64 {bits}, 63")
    turned = emit(f"and i64 {sign}, {most}")
    other = emit(f"xor i64 {bits}, {turned}")
    is_nan = emit(f"fcmp uno double {text}, {text}")
    return [Value(emit(f"select i1 {is_nan}, i64 {most}, i64 {other}"), INT)]


_FUNCTIONS: dict[str, Callable[[Any, str, Any, Any], list[Value]]] = {
    "hidden": _hidden, "libm": _library, "symbol": _symbol, "image": _image, "scipy": of_scipy,
    "foreign": foreign,    "linked": _linked, "written": _written, "c_function": _c_function,
}  # fmt: skip
