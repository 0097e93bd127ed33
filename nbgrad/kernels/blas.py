"""The matrix product of BLAS as one call inside kernels, without the checks of `np.dot`."""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from .jit.kernel import instruction


def _gemm(a, b, out, m, n, k, ta, tb):
    x = a.reshape(k, m).T if ta else a.reshape(m, k)
    y = b.reshape(n, k).T if tb else b.reshape(k, n)
    out[...] = np.matmul(x, y)


@instruction(_gemm)
def gemm(typingctx, a, b, out, m, n, k, ta, tb):
    """out = op(a) @ op(b): op(a) is m x k, op(b) is k x n, `ta` and `tb` say transposed.

    `a`, `b` and `out` are contiguous arrays of one dtype. The library is the one that Numba
    itself links to, through SciPy. BLAS counts columns first, so it is given out.T =
    op(b).T @ op(a).T.
    """
    signature = types.void(
        a, b, out, types.intp, types.intp, types.intp, types.boolean, types.boolean
    )

    def codegen(context, builder, sig, args):
        dtype = sig.args[0].dtype
        pointer, char, intp = cgutils.voidptr_t, ir.IntType(8), context.get_value_type(m)
        kinds = [char] * 3 + [intp] * 3
        kinds += [pointer, pointer, intp, pointer, intp, pointer, pointer, intp]
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.IntType(32), kinds), "numba_xxgemm"
        )

        def data(kind, value):
            array = context.make_array(kind)(context, builder, value)
            return builder.bitcast(array.data, pointer)

        def number(value):
            constant = context.get_constant_generic(builder, dtype, value)
            return builder.bitcast(cgutils.alloca_once_value(builder, constant), pointer)

        def letter(flag):
            yes, no = ir.Constant(char, ord("t")), ir.Constant(char, ord("n"))
            return builder.select(flag, yes, no)

        m_, n_, k_, ta_, tb_ = args[3:]
        kind = ir.Constant(char, ord("d" if dtype == types.float64 else "s"))
        builder.call(
            function,
            (
                kind, letter(tb_), letter(ta_), n_, m_, k_, number(1.0),
                data(sig.args[1], args[1]), builder.select(tb_, k_, n_),
                data(sig.args[0], args[0]), builder.select(ta_, m_, k_),
                number(0.0), data(sig.args[2], args[2]), n_,
            ),
        )  # fmt: skip
        return context.get_dummy_value()

    return signature, codegen
