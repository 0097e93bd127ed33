"""The inner loops of matrix products as LLVM code, with vectors in registers; Numba takes five
times as long to compile the same loops in Python.

A tile of c = op(a) @ op(b), `ROWS` rows of two vectors, is summed in registers over up to `DEPTH`
terms; the columns of b that it reads lie packed one after another, so that they stay in the nearest
cache, with room beside them for the rows of a. A b that lies transposed is turned on the way, a
square of numbers at a time in registers; of an a that lies transposed, `PART` rows are packed, too.
"""

import re
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from ..compiler.host import widen
from ..compiler.instruction import instruction

__all__ = ["ADDS", "product", "strided_product"]

ROWS, DEPTH, PART = 8, 264, 128
_VECTOR = 64  # bytes
_FEW_ROWS = 2 * ROWS
"""For so many rows of a it does not pay to pack b."""
_FEW_TERMS = 32
"""So many rows of b are read side by side as they are."""
_LARGE = 1 << 17
"""A product of so many numbers, of sums of few terms, is written row by row: c takes the time."""


ADDS = 2
"""Added to `ta` where a product is added to c."""


def strided_product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count=1) -> None:
    """c = op(a) @ op(b) by NumPy, of flat arrays in place of pointers."""

    def matrix(p, rows, columns, ld):
        return np.lib.stride_tricks.as_strided(p, (rows, columns), (ld * p.itemsize, p.itemsize))

    x = matrix(a, k, m, lda).T if ta & 1 else matrix(a, m, k, lda)
    y = matrix(b, n, k, ldb).T if tb else matrix(b, k, n, ldb)
    z = matrix(c, m, n, ldc)
    z[...] = x @ y + (z if ta & ADDS else 0.0)


_POINTER = ir.IntType(8).as_pointer()


def _outside(module: Any, name: str, result: Any, *kinds: Any) -> Any:
    """A function of the C library."""
    return cgutils.get_or_insert_function(module, ir.FunctionType(result, kinds), name)


class _Writer:
    """Writes the loops of a product into a function."""

    def __init__(self, builder: Any, kind: Any, element: Any, word: Any):
        self.builder, self.word = builder, word
        self.lanes = _VECTOR * 8 // kind.bitwidth
        self.width = 2 * self.lanes  # of a tile
        self.align = kind.bitwidth // 8
        self.vector = ir.VectorType(element, self.lanes)
        self.zeros = ir.Constant(self.vector, [0.0] * self.lanes)
        kinds = ir.FunctionType(self.vector, [self.vector] * 3)
        name = f"llvm.fma.v{self.lanes}f{kind.bitwidth}"
        self.fused = cgutils.get_or_insert_function(builder.module, kinds, name)
        with builder.goto_entry_block():
            self.panel = builder.alloca(self.vector, word(2 * DEPTH))
            self.spare = builder.alloca(self.vector, word(2 * ROWS))
            self.memory = builder.alloca(_POINTER)
        self.panel, self.spare = (
            builder.bitcast(place, element.as_pointer()) for place in (self.panel, self.spare)
        )

    def shifted(self, pointer: Any, *terms: tuple[Any, Any]) -> Any:
        """A pointer by so many steps of so many elements further."""
        for count, step in terms:
            pointer = self.builder.gep(pointer, [self.builder.mul(count, step)])
        return pointer

    def smaller(self, x: Any, y: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", x, y), x, y)

    def rounds(self, stop: Any, step: Any, start: Any = None) -> Any:
        """A loop to `stop`, from 0 or from `start`."""
        start = self.word(0) if start is None else start
        step = self.word(step) if isinstance(step, int) else step
        return cgutils.for_range_slice(self.builder, start, stop, step, self.word)

    def halves(self, pointer: Any) -> list:
        """The places of two vectors, one after the other."""
        both = pointer, self.builder.gep(pointer, [self.word(self.lanes)])
        return [self.builder.bitcast(place, self.vector.as_pointer()) for place in both]

    def loaded(self, place: Any) -> Any:
        value = self.builder.load(place)
        value.align = self.align
        return value

    def stored(self, value: Any, place: Any) -> None:
        self.builder.store(value, place).align = self.align

    def product(self, a, b, c, sizes, steps_a, steps_b, ldc, adds_to_c) -> None:
        """c = op(a) @ op(b), or added to c; the steps are those to the next row and to the next
        column."""
        (m, n, k), word, build = sizes, self.word, self.builder
        beside = build.icmp_signed("==", steps_b[1], word(1))
        few = build.and_(build.icmp_signed("<=", k, word(_FEW_TERMS)), beside)
        wide = build.icmp_signed(">=", n, word(4 * self.width))
        large = build.icmp_signed(">=", build.mul(m, n), word(_LARGE))
        few = build.and_(few, build.and_(wide, large))
        turned = build.icmp_signed("!=", steps_a[1], word(1))
        worth = build.icmp_signed(">=", n, word(8 * self.width))
        self.make_room(build.and_(build.not_(few), build.and_(turned, worth)))
        with self.rounds(m, build.select(few, word(_FEW_ROWS), m)) as (i, _):
            rows = build.select(few, self.smaller(word(_FEW_ROWS), build.sub(m, i)), m)
            from_a, to = self.shifted(a, (i, steps_a[0])), self.shifted(c, (i, ldc))
            self.block(from_a, b, to, (rows, n, k), steps_a, steps_b, ldc, adds_to_c)
        build.call(_outside(build.module, "free", ir.VoidType(), _POINTER), [self.room])

    def make_room(self, wanted) -> None:
        """Memory for rows of a where it is wanted: there may be little of it on the stack of a
        thread. Without memory, rows are not packed."""
        build, nothing = self.builder, _POINTER(None)
        build.store(nothing, self.memory)
        with build.if_then(wanted):
            make = _outside(build.module, "realloc", _POINTER, _POINTER, self.word)
            found = build.call(make, [nothing, self.word(PART * DEPTH * self.align)])
            build.store(found, self.memory)
        self.room = build.load(self.memory)
        self.rows = build.bitcast(self.room, self.panel.type)

    def block(self, a, b, c, sizes, steps_a, steps_b, ldc, adds_to_c) -> None:
        """The product of some rows."""
        (m, n, k), word, build = sizes, self.word, self.builder
        few = build.icmp_signed("<=", m, word(_FEW_ROWS))
        as_it_is = build.and_(few, build.icmp_signed("==", steps_b[1], word(1)))
        deep = build.select(as_it_is, word(_FEW_TERMS), word(DEPTH))
        # A sum of no terms is written too.
        once = build.select(build.icmp_signed(">", k, word(0)), k, word(1))
        is_packed = build.icmp_unsigned("!=", self.rows, self.rows.type(None))
        apart_a = [
            build.select(is_packed, word(x), y) for x, y in zip((1, ROWS), steps_a, strict=True)
        ]
        high = self.part_of(m)
        with self.rounds(once, deep) as (p, _), self.rounds(m, high) as (first, _):
            depth = self.smaller(deep, build.sub(k, p))
            part = self.smaller(high, build.sub(m, first))
            rows_of_a = self.shifted(a, (first, steps_a[0]), (p, steps_a[1]))
            rows_of_c = self.shifted(c, (first, ldc))
            with build.if_then(is_packed):
                self.pack_rows(rows_of_a, steps_a, part, depth)
            rows_of_a = build.select(is_packed, self.rows, rows_of_a)
            next_row = build.select(is_packed, depth, steps_a[0])
            adds = build.or_(adds_to_c, build.icmp_signed(">", p, word(0)))
            with self.rounds(n, self.width) as (j, _):
                columns = self.smaller(word(self.width), build.sub(n, j))
                whole = build.icmp_signed("==", columns, word(self.width))
                from_b = self.shifted(b, (p, steps_b[0]), (j, steps_b[1]))
                unpacked = build.and_(whole, as_it_is)
                with build.if_then(build.not_(unpacked)):
                    self.pack(from_b, steps_b, depth, columns, whole)
                factors = build.select(unpacked, from_b, self.panel)
                apart = build.select(unpacked, steps_b[0], word(self.width))
                with self.rounds(part, ROWS) as (i, _):
                    rows = self.smaller(word(ROWS), build.sub(part, i))
                    from_a = self.shifted(rows_of_a, (i, next_row))
                    to = build.gep(self.shifted(rows_of_c, (i, ldc)), [j])
                    # A tile that c has a part of is made beside it.
                    target = build.select(whole, to, self.spare)
                    step = build.select(whole, ldc, word(self.width))
                    with_c = build.and_(adds, whole)
                    self.tile(from_a, apart_a, rows, factors, apart, target, step, depth, with_c)
                    with build.if_then(build.not_(whole), likely=False):
                        self.copy(to, ldc, rows, columns, adds)

    def part_of(self, m) -> Any:
        """As many rows as are read again and again from a near cache: equal parts of all."""
        build, word = self.builder, self.word
        count = build.sdiv(build.add(m, word(PART - 1)), word(PART))
        count = build.select(build.icmp_signed(">", count, word(1)), count, word(1))
        rows = build.sdiv(build.add(m, build.sub(count, word(1))), count)
        return build.and_(build.add(rows, word(2 * ROWS - 1)), word(-2 * ROWS))

    def pack_rows(self, a, steps, count, depth) -> None:
        """Rows of an a that lies transposed: those of a tile side by side, term after term."""
        build, word = self.builder, self.word
        with self.rounds(count, ROWS) as (i, _), self.rounds(depth, 1) as (p, _):
            rows = self.smaller(word(ROWS), build.sub(count, i))
            source = self.shifted(a, (i, steps[0]), (p, steps[1]))
            to = self.shifted(self.rows, (i, depth), (p, word(ROWS)))
            with self.rounds(rows, 1) as (r, _):
                number = build.load(self.shifted(source, (r, steps[0])))
                build.store(number, build.gep(to, [r]))

    def pack(self, b, steps, depth, columns, whole) -> None:
        """Columns of b as a panel; those beyond the last are the last one."""
        build, word = self.builder, self.word
        beside = build.and_(whole, build.icmp_signed("==", steps[1], word(1)))
        with build.if_else(beside) as (vectors, numbers):
            with vectors, self.rounds(depth, 1) as (p, _):
                to = self.halves(self.shifted(self.panel, (p, word(self.width))))
                source = self.halves(self.shifted(b, (p, steps[0])))
                for half, place in zip(source, to, strict=True):
                    self.stored(self.loaded(half), place)
            with numbers:
                squares = build.and_(depth, word(-self.lanes))
                squares = build.select(whole, squares, word(0))
                with self.rounds(squares, self.lanes) as (p, _):
                    with self.rounds(columns, self.lanes) as (j, _):
                        from_b = build.gep(self.shifted(b, (j, steps[1])), [p])
                        to = build.gep(self.shifted(self.panel, (p, word(self.width))), [j])
                        self.turn(from_b, steps[1], to, squares)
                with self.rounds(word(self.width), 1) as (j, _):
                    column = self.smaller(j, build.sub(columns, word(1)))
                    source, place = self.shifted(b, (column, steps[1])), build.gep(self.panel, [j])
                    with self.rounds(depth, 1, squares) as (p, _):
                        number = build.load(self.shifted(source, (p, steps[0])))
                        build.store(number, self.shifted(place, (p, word(self.width))))

    def turn(self, b, step, panel, many) -> None:
        """A square of numbers, turned: vectors that are interleaved with each other, again and
        again, until each has a column. It takes fewer rounds than `many`, which LLVM does not know:
        written out, they take it a tenth of a second."""
        build, word, half, lane = self.builder, self.word, self.lanes // 2, ir.IntType(32)
        order = [place for i in range(self.lanes) for place in (i, self.lanes + i)]
        masks = [
            ir.Constant(ir.VectorType(lane, self.lanes), part)
            for part in (order[: self.lanes], order[self.lanes :])
        ]
        starts = [self.shifted(b, (word(i), step)) for i in range(self.lanes)]
        loaded = [self.loaded(self.halves(start)[0]) for start in starts]
        rounds = self.smaller(word(self.lanes.bit_length() - 1), many)
        before, body = build.block, build.append_basic_block("turn")
        end = build.append_basic_block("turned")
        build.branch(body)
        build.position_at_end(body)
        count, *lines = [build.phi(kind) for kind in (word, *[self.vector] * self.lanes)]
        pairs = zip(lines[:half], lines[half:], strict=True)
        turned = [build.shuffle_vector(*pair, mask) for pair in pairs for mask in masks]
        left = build.sub(count, word(1))
        for phi, first, new in zip(
            [count, *lines], [rounds, *loaded], [left, *turned], strict=True
        ):
            phi.add_incoming(first, before)
            phi.add_incoming(new, body)
        build.cbranch(build.icmp_signed(">", left, word(0)), body, end)
        build.position_at_end(end)
        for i, line in enumerate(turned):
            place = build.gep(panel, [word(i * self.width)])
            self.stored(line, self.halves(place)[0])

    def tile(self, a, steps, rows, b, ldb, c, ldc, k, adds) -> None:
        """A tile of c: sums of k products of numbers of a and vectors of b."""
        build, word = self.builder, self.word
        # A row beyond the last is the last one: it is written first, and then written over.
        last = build.sub(rows, word(1))
        index = [self.smaller(word(i), last) for i in range(ROWS)]
        from_a = [self.shifted(a, (i, steps[0])) for i in index]
        to = [place for i in index for place in self.halves(self.shifted(c, (i, ldc)))]
        starts = [build.select(adds, self.loaded(place), self.zeros) for place in to]
        before = build.block
        head, body, end = (build.append_basic_block(f"tile.{x}") for x in ("head", "body", "end"))
        build.branch(head)
        build.position_at_end(head)
        phis = [build.phi(word), *(build.phi(self.vector) for _ in starts)]
        p, *sums = phis
        for phi, start in zip(phis, [word(0), *starts], strict=True):
            phi.add_incoming(start, before)
        build.cbranch(build.icmp_signed("<", p, k), body, end)
        build.position_at_end(body)
        factors = [self.loaded(place) for place in self.halves(self.shifted(b, (p, ldb)))]
        new = [build.add(p, word(1))]
        for row in from_a:
            number = self.spread(build.load(self.shifted(row, (p, steps[1]))))
            for factor in factors:
                new.append(build.call(self.fused, [number, factor, sums[len(new) - 1]]))
        for phi, value in zip(phis, new, strict=True):
            phi.add_incoming(value, body)
        build.branch(head)
        build.position_at_end(end)
        for total, place in reversed(list(zip(sums, to, strict=True))):
            self.stored(total, place)

    def spread(self, number: Any) -> Any:
        """A vector of one number."""
        empty, lane = ir.Constant(self.vector, ir.Undefined), ir.IntType(32)
        first = self.builder.insert_element(empty, number, lane(0))
        same = ir.Constant(ir.VectorType(lane, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, empty, same)

    def copy(self, to, ldc, rows, columns, adds) -> None:
        """The columns of the tile beside c that c has."""
        build = self.builder
        with self.rounds(rows, 1) as (i, _):
            source = self.shifted(self.spare, (i, self.word(self.width)))
            row = self.shifted(to, (i, ldc))
            with self.rounds(columns, 1) as (j, _):
                place = build.gep(row, [j])
                number = build.load(build.gep(source, [j]))
                before = build.select(adds, build.load(place), number.type(0.0))
                build.store(build.fadd(before, number), place)


def _write(builder: Any, kind: Any, args: Any) -> None:
    """Write a product of pointers to elements of a kind."""
    a, b, c, m, n, k, ta, tb, lda, ldb, ldc = args
    word, one = k.type, k.type(1)

    def has(flags, flag):
        return builder.icmp_signed("!=", builder.and_(flags, word(flag)), word(0))

    def steps(turned, distance):
        is_turned = has(turned, 1)
        both = (distance, one), (one, distance)
        return [builder.select(is_turned, y, x) for x, y in zip(*both, strict=True)]

    widen(builder.function)
    writer = _Writer(builder, kind, a.type.pointee, word)
    writer.product(a, b, c, (m, n, k), steps(ta, lda), steps(tb, ldb), ldc, has(ta, ADDS))


def _text(dtype: np.dtype) -> tuple[str, str]:
    """The name of the function of a product of matrices of a dtype, and its LLVM code."""
    is_double = dtype == np.float64
    kind = types.float64 if is_double else types.float32
    element = ir.DoubleType() if is_double else ir.FloatType()
    word, pointer = ir.IntType(64), element.as_pointer()
    module = ir.Module()
    whole = ir.FunctionType(ir.VoidType(), [pointer] * 3 + [word] * 8)
    function: Any = ir.Function(module, whole, f"nbgrad_product_{dtype.str[1:]}")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    _write(builder, kind, function.args)
    builder.ret_void()
    text = str(module).partition("\n\n")[2]
    own = 1000 * dtype.itemsize  # numbers of metadata that other functions do not have
    return function.name, re.sub(r"!(\d+)", lambda found: f"!{own + int(found[1])}", text)


@instruction(row=("written", _text))
def product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    """c = op(a) @ op(b); integers say what is turned, and `ta` whether it is added to c."""
    strided_product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc)
