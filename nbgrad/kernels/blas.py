"""Products of matrices as one call inside kernels, without the checks of `np.dot`: by BLAS, or by
our own kernels where those are faster."""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from ..compiler.kernel import Extern, device, instruction
from ..compiler.numba_arrays import part_of
from ..compiler.pointers import pointer
from .gemm import DOUBLE, call_gemm, dtype_of, is_own, is_worth, own_product
from .tiles import strided_product


def _gemm(a, b, out, m, n, k, ta, tb, count):
    x = a.reshape(k, m).T if ta else a.reshape(m, k)
    y = b.reshape(n, k).T if tb else b.reshape(k, n)
    out[...] = np.matmul(x, y)


# Functions that Numba has for the BLAS of SciPy: letters say the dtype and what is transposed.
_gemv = Extern("c_function", "numba_xxgemv", None)
_gemm_of_blas = Extern("c_function", "numba_xxgemm", None)
_room = Extern("room_like")


def _letter(flag):
    return np.uint8(116 if flag else 110)  # t, n


def _product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count):
    """A product of a vector takes a fifth of the time of a matrix of one row. BLAS counts columns
    first: it sees each matrix transposed. A sum over nothing is 0: of a vector BLAS would leave
    what was there."""
    one, zero = _room(c, 1), _room(c, 1)
    one[0], zero[0] = 1.0, 0.0
    kind = np.uint8(100 if dtype_of(c) is DOUBLE else 115)  # d, s
    if k != 0 and n == 1 and (tb or ldb == 1):
        rows, columns = (m, k) if ta else (k, m)
        _gemv(kind, _letter(not ta), rows, columns, one, a, lda, b, zero, c)
    elif k != 0 and m == 1 and (not ta or lda == 1):
        rows, columns = (k, n) if tb else (n, k)
        _gemv(kind, _letter(tb), rows, columns, one, b, ldb, a, zero, c)
    elif is_worth(m, n, k, count):
        own_product(a, b, c, m, n, k, ta, tb, lda, ldb, ldc)
    else:
        # It is given c.T = op(b).T @ op(a).T.
        _gemm_of_blas(kind, _letter(tb), _letter(ta), n, m, k, one, b, ldb, a, lda, zero, c, ldc)


def _contiguous_product(a, b, out, m, n, k, ta, tb, count):
    lda, ldb = m if ta else k, k if tb else n
    _product(pointer(a), pointer(b), pointer(out), m, n, k, ta, tb, lda, ldb, n, count)


@instruction(_gemm, (_contiguous_product,))
def gemm(typingctx, a, b, out, m, n, k, ta, tb, count):
    """out = op(a) @ op(b): op(a) is m x k, op(b) is k x n, `ta` and `tb` say transposed.

    `a`, `b` and `out` are contiguous arrays of one dtype; it is one of `count` products of this
    size. The library is the one that Numba itself links to, through SciPy.
    """
    sizes = *(types.intp,) * 3, types.boolean, types.boolean, types.intp

    def codegen(context, builder, sig, args):
        def data(kind, value):
            return builder.bitcast(
                part_of(context, builder, kind, value, "data"), cgutils.voidptr_t
            )

        m_, n_, k_, ta_, tb_, count_ = args[3:]
        pointers = [data(kind, value) for kind, value in zip(sig.args, args[:3], strict=False)]
        strides = builder.select(ta_, m_, k_), builder.select(tb_, k_, n_), n_
        sizes = m_, n_, k_, count_
        multiply(context, builder, sig.args[0].dtype, pointers, sizes, (ta_, tb_), strides)
        return context.get_dummy_value()

    return types.void(a, b, out, *sizes), codegen


@instruction(strided_product, (_product,))
def gemm_at(typingctx, a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count):
    """c = op(a) @ op(b): op(a) is m x k and op(b) k x n, rows `ld` elements apart; one of `count`
    products of this size."""
    sizes = *(types.intp,) * 3, types.boolean, types.boolean, *(types.intp,) * 4
    signature = types.void(a, b, c, *sizes)

    def codegen(context, builder, signature, args):
        pointers = [builder.bitcast(p, cgutils.voidptr_t) for p in args[:3]]
        dtype = signature.args[0].dtype
        sizes = *args[3:6], args[11]
        multiply(context, builder, dtype, pointers, sizes, args[6:8], args[8:11])
        return context.get_dummy_value()

    return signature, codegen


def multiply(context, builder, dtype, pointers, sizes, turned, strides) -> None:
    """Write calls for c = op(a) @ op(b), whose rows are `strides` apart: of a vector where
    one of the factors is one, which takes a fifth of the time of a matrix of one row."""
    raw, char, intp = cgutils.voidptr_t, ir.IntType(8), context.get_value_type(types.intp)
    (a, b, c), (m, n, k, count), (ta, tb), (lda, ldb, ldc) = pointers, sizes, turned, strides
    kind = ir.Constant(char, ord("d" if dtype == types.float64 else "s"))

    def number(value):
        constant = context.get_constant_generic(builder, dtype, value)
        return builder.bitcast(cgutils.alloca_once_value(builder, constant), raw)

    def letter(flag):
        return builder.select(flag, ir.Constant(char, ord("t")), ir.Constant(char, ord("n")))

    def call(name, *arguments):
        signature = ir.FunctionType(ir.IntType(32), [x.type for x in arguments])
        builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)

    def times_vector(matrix, is_turned, rows, ld, vector):
        """BLAS counts columns first: it sees each matrix turned, `ld` numbers of which are a
        column."""
        m_, n_ = builder.select(is_turned, rows, k), builder.select(is_turned, k, rows)
        call("numba_xxgemv", kind, letter(builder.not_(is_turned)), m_, n_, one, matrix, ld, vector,
             zero, c)  # fmt: skip

    def is_one(size):
        return builder.icmp_signed("==", size, intp(1))

    one, zero = number(1.0), number(0.0)
    # A sum over nothing is 0: of a vector BLAS would leave what was there.
    some = builder.icmp_signed("!=", k, intp(0))
    column = builder.and_(some, builder.and_(is_one(n), builder.or_(tb, is_one(ldb))))
    row = builder.and_(some, builder.and_(is_one(m), builder.or_(builder.not_(ta), is_one(lda))))
    with builder.if_else(column) as (then, otherwise):
        with then:
            times_vector(a, ta, m, lda, b)
        with otherwise, builder.if_else(row) as (then_row, matrices):
            with then_row:
                times_vector(b, builder.not_(tb), n, ldb, a)
            with matrices:
                with builder.if_else(is_own(builder, m, n, k, count)) as (ours, theirs):
                    with ours:
                        call_gemm(context, builder, dtype, pointers, (m, n, k), turned, strides)
                    with theirs:
                        # It is given c.T = op(b).T @ op(a).T.
                        call("numba_xxgemm", kind, letter(tb), letter(ta), n, m, k, one, b, ldb, a,
                             lda, zero, c, ldc)  # fmt: skip


def _multiplied(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count):
    gemm_at(a, b, c, m, n, k, ta, tb, lda, ldb, ldc, count)


multiplied = device(_multiplied, forceinline=True)
"""`gemm_at` as a function."""
