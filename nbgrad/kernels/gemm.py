"""Products of matrices by tiles that stay in registers, where vectors have 512 bits.

OpenBLAS as wheels bring it knows few of the processors that have them: it takes the others for
older ones, and half of their speed. So there is a product of our own: c = op(a) @ op(b), of any
sizes. A tile of c, `ROWS` rows of two vectors, is summed in registers over up to `DEPTH` terms; the
columns of b that it reads lie packed one after another, so that they stay in the nearest cache.

There is machine code of it once a process, not in each program: programs call what a table holds,
which compiled code knows by its symbol. At first that is a function of Python's, which has the
kernel compiled or loaded, puts its address there, and goes on with it.
"""

import ctypes
import functools
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from .jit.kernel import Kernel, instruction, kernel
from .marks import is_wide, widen
from .pointers import at_f4, at_f8

__all__ = ["call_gemm", "is_own", "strided_product"]

ROWS, DEPTH = 8, 192
_VECTOR = 64  # bytes
_MUCH = 1 << 18
"""Multiply-adds from which on it is used: a fifth of a second to compile, once for all programs, is
as long as 40,000 such products take less."""
_FEW_ROWS = 2 * ROWS
"""For so many rows of a it does not pay to pack b."""


def is_own(builder: Any, *sizes: Any) -> Any:
    """Write whether a product is ours, and not that of BLAS: on a processor with wide vectors,
    where its `sizes`, and how many there are, come to enough work to compile it for."""
    if not is_wide():
        return ir.Constant(ir.IntType(1), 0)
    work = functools.reduce(builder.mul, sizes)
    return builder.icmp_signed(">=", work, work.type(_MUCH))


def strided_product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count=1) -> None:
    """c = op(a) @ op(b) by NumPy, of flat arrays in place of pointers."""

    def matrix(p, rows, columns, ld):
        return np.lib.stride_tricks.as_strided(p, (rows, columns), (ld * p.itemsize, p.itemsize))

    x = matrix(a, k, m, lda).T if ta else matrix(a, m, k, lda)
    y = matrix(b, n, k, ldb).T if tb else matrix(b, k, n, ldb)
    matrix(c, m, n, ldc)[...] = x @ y


# -- the kernels ----------------------------------------------------------------------------------
# Written in LLVM's terms, since vectors in registers are what they are about. Numba takes twenty
# times as long over the same loops in Python.


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

    def rounds(self, stop: Any, step: int) -> Any:
        """A loop from 0 to `stop`."""
        return cgutils.for_range_slice(self.builder, self.word(0), stop, self.word(step), self.word)

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

    def product(self, a, b, c, sizes, steps_a, steps_b, ldc) -> None:
        """c = op(a) @ op(b); the steps are those to the next row and to the next column."""
        (m, n, k), word, build = sizes, self.word, self.builder
        few = build.icmp_signed("<=", m, word(_FEW_ROWS))
        as_it_is = build.and_(few, build.icmp_signed("==", steps_b[1], word(1)))
        # A sum of no terms is written too.
        once = build.select(build.icmp_signed(">", k, word(0)), k, word(1))
        with self.rounds(once, DEPTH) as (p, _):
            depth = self.smaller(word(DEPTH), build.sub(k, p))
            adds = build.icmp_signed(">", p, word(0))
            with self.rounds(n, self.width) as (j, _):
                columns = self.smaller(word(self.width), build.sub(n, j))
                whole = build.icmp_signed("==", columns, word(self.width))
                from_b = self.shifted(b, (p, steps_b[0]), (j, steps_b[1]))
                unpacked = build.and_(whole, as_it_is)
                with build.if_then(build.not_(unpacked)):
                    self.pack(from_b, steps_b, depth, columns, whole)
                factors = build.select(unpacked, from_b, self.panel)
                apart = build.select(unpacked, steps_b[0], word(self.width))
                with self.rounds(m, ROWS) as (i, _):
                    rows = self.smaller(word(ROWS), build.sub(m, i))
                    from_a = self.shifted(a, (i, steps_a[0]), (p, steps_a[1]))
                    to = build.gep(self.shifted(c, (i, ldc)), [j])
                    # A tile that c has a part of is made beside it.
                    target = build.select(whole, to, self.spare)
                    step = build.select(whole, ldc, word(self.width))
                    with_c = build.and_(adds, whole)
                    self.tile(from_a, steps_a, rows, factors, apart, target, step, depth, with_c)
                    with build.if_then(build.not_(whole), likely=False):
                        self.copy(to, ldc, rows, columns, adds)

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
            with numbers, self.rounds(word(self.width), 1) as (j, _):
                column = self.smaller(j, build.sub(columns, word(1)))
                source, place = self.shifted(b, (column, steps[1])), build.gep(self.panel, [j])
                with self.rounds(depth, 1) as (p, _):
                    number = build.load(self.shifted(source, (p, steps[0])))
                    build.store(number, self.shifted(place, (p, word(self.width))))

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
        for i, row in enumerate(from_a):
            number = self.spread(build.load(self.shifted(row, (p, steps[1]))))
            new += [build.call(self.fused, [number, factors[j], sums[2 * i + j]]) for j in (0, 1)]
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


@instruction(strided_product)
def _product(typingctx, a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    """c = op(a) @ op(b); integers say what is turned."""

    def codegen(context, builder, signature, args):
        a, b, c, m, n, k, ta, tb, lda, ldb, ldc = args
        word, one = k.type, k.type(1)

        def steps(turned, distance):
            is_turned = builder.icmp_signed("!=", turned, word(0))
            both = (distance, one), (one, distance)
            return [builder.select(is_turned, y, x) for x, y in zip(*both, strict=True)]

        widen(builder.function)
        writer = _Writer(builder, signature.args[0].dtype, a.type.pointee, word)
        writer.product(a, b, c, (m, n, k), steps(ta, lda), steps(tb, ldb), ldc)
        return context.get_dummy_value()

    return types.void(a, b, c, *(types.intp,) * 8), codegen


@kernel
def _gemm_f8(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    _product(at_f8(a), at_f8(b), at_f8(c), m, n, k, ta, tb, lda, ldb, ldc)


@kernel
def _gemm_f4(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    _product(at_f4(a), at_f4(b), at_f4(c), m, n, k, ta, tb, lda, ldb, ldc)


# -- how compiled code calls them -----------------------------------------------------------------

_SYMBOL = "nbgrad_gemm"
_KERNELS: dict[Any, tuple[int, Kernel, Any]] = {
    types.float64: (0, _gemm_f8, ctypes.c_double),
    types.float32: (1, _gemm_f4, ctypes.c_float),
}
"""Their places in the table, and what the matrices hold."""
_TABLE = (ctypes.c_int64 * len(_KERNELS))()
_SIZES = 11
# What Numba's own functions take: where a result and where an error go stand first.
_Function = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *(ctypes.c_int64,) * _SIZES
)


def _found(kind: Any) -> Any:
    """What runs the first product of a kind: it puts the kernel's address into the table."""
    place, kernel, dtype = _KERNELS[kind]

    def run(result, error, a, b, c, *sizes):
        try:
            _TABLE[place] = address = _address(kernel)
        except BaseException:
            # Nothing can be raised through compiled code, and a product must not be left out.
            _by_numpy(dtype, a, b, c, sizes)
            raise
        return _Function(address)(result, error, a, b, c, *sizes)

    return _Function(run)


def _address(kernel: Kernel) -> int:
    """Where the machine code of a kernel is."""
    dispatcher: Any = kernel.dispatcher
    kinds = (types.int64,) * _SIZES
    dispatcher.compile(kinds)
    compiled = dispatcher.overloads[kinds]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def _by_numpy(dtype: Any, a: int, b: int, c: int, sizes: tuple) -> None:
    m, n, k, ta, tb, lda, ldb, ldc = sizes
    rows = (k if ta else m, lda), (n if tb else k, ldb), (m, ldc)
    columns = m if ta else k, k if tb else n, n
    x, y, z = (
        np.ctypeslib.as_array((dtype * max((count - 1) * ld + width, 0)).from_address(place))
        for place, (count, ld), width in zip((a, b, c), rows, columns, strict=True)
    )
    strided_product(x, y, z, *sizes)


_first = {kind: _found(kind) for kind in _KERNELS}
for _kind, (_place, *_) in _KERNELS.items():
    _TABLE[_place] = ctypes.cast(_first[_kind], ctypes.c_void_p).value or 0
llvmlite.binding.add_symbol(_SYMBOL, ctypes.addressof(_TABLE))


def call_gemm(context, builder, dtype, pointers, sizes, turned, strides) -> None:
    """Write the call of a product: c = op(a) @ op(b), whose rows are `strides` apart."""
    word = context.get_value_type(types.int64)
    kinds = (types.int64,) * _SIZES
    table = builder.module.globals.get(_SYMBOL) or ir.GlobalVariable(builder.module, word, _SYMBOL)
    address = builder.load(builder.gep(table, [word(_KERNELS[dtype][0])]))
    convention = context.call_conv
    function = builder.inttoptr(
        address, convention.get_function_type(types.none, kinds).as_pointer()
    )
    given = [builder.ptrtoint(pointer, word) for pointer in pointers]
    flags = [builder.zext(flag, word) for flag in turned]
    convention.call_function(
        builder, function, types.none, kinds, [*given, *sizes, *flags, *strides]
    )
