"""Library functions that stand for loops.

The front end writes a product of matrices, or a Fourier transform, as a nest of loops. The
outermost loop holds the call that does the same: all analyses read the loops, and code is the call.
"""

__all__ = [
    "CONSTANT", "DFT", "FOREIGN", "FOURIER", "HALF_TO_REAL", "LIBRARY", "PRODUCT", "REAL_TO_HALF",
    "RULE", "SET_PRODUCT",
]  # fmt: skip

PRODUCT = "product"
"""c += a @ b. The arguments are addresses of c, a and b, the sizes m, n and k, and for each matrix
the steps to the next row and to the next column. A loop of products has further ones: the number of
rounds, the distances of the addresses of two rounds, and of the sizes."""
SET_PRODUCT = "set_product"
"""c = a @ b, of the arguments of one product: it takes the place of a sum that is 0 at first, after
all analyses."""
FOURIER = "fourier"
"""y += F x along the middle axis of contiguous arrays of rows x n x inner numbers, not normalised.
The arguments are the addresses of the real and the imaginary parts of y and of x, which of these
four there are (bits, the first one is 1), the kind, rows, n, inner, the weight of those numbers of
half a spectrum that stand for two, and 1, or 0 where y is set. Another address stands for a part
that there is not."""
CONSTANT = "constant"
"""A kernel whose result is a constant for all derivatives, which other statements may add. The
arguments are addresses of the result and of the array that is read, the kernel's number in
`loops/library.py: CONSTANTS`, and its sizes."""
RULE = "rule"
"""Nothing: 0 is added to a vector, whose derivative is given by a user. The arguments are addresses
of the vector and of that of what it is computed from, the number of the rule, and the sizes and
numbers that its functions take."""
FOREIGN = "foreign"
"""A C function of a user, which may read and write arrays. The arguments are their addresses, the
number of the function, that of the arrays that it may write, which come first, and whole numbers.
It has no derivative."""
LIBRARY = frozenset([PRODUCT, SET_PRODUCT, FOURIER, CONSTANT, RULE, FOREIGN])

DFT, REAL_TO_HALF, HALF_TO_REAL = range(3)
"""Kinds of transforms: complex, from real numbers to the first half of the spectrum, and back."""
