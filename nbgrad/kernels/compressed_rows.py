"""Products with sparse matrices by compressed rows: on pointers, for compiled programs, and of
arrays.

Row i has the elements `data[p]` in the columns `indices[p]`, for p from `indptr[i]` to `indptr[i +
1]`. Positions outside of the matrix give nan, and nothing outside of the arrays is read.
"""

import math

from ..compiler.kernel import device, kernel


def product(data, x, indices, indptr, out, rows, columns, count, k):
    """out[i, c] = the sum of data[p] * x[indices[p], c] over row i"""
    for i in range(rows):
        for c in range(k):
            out[i * k + c] = 0.0
        start, stop = max(indptr[i], 0), min(indptr[i + 1], count)
        if k == 1:
            total = out[i]
            for p in range(start, stop):
                j = indices[p]
                if 0 <= j < columns:
                    total += data[p] * x[j]
                else:
                    total = math.nan
            out[i] = total
        else:
            for p in range(start, stop):
                j = indices[p]
                for c in range(k):
                    if 0 <= j < columns:
                        out[i * k + c] += data[p] * x[j * k + c]
                    else:
                        out[i * k + c] = math.nan


def transposed(data, x, indices, indptr, out, rows, columns, count, k):
    """out[indices[p], c] += data[p] * x[i, c] for row i"""
    for c in range(columns * k):
        out[c] = 0.0
    for i in range(rows):
        for p in range(max(indptr[i], 0), min(indptr[i + 1], count)):
            j = indices[p]
            for c in range(k):
                if 0 <= j < columns:
                    out[j * k + c] += data[p] * x[i * k + c]
                elif columns > 0:
                    out[c] = math.nan


def pairs(left, right, indices, indptr, out, rows, columns, count, k):
    """out[p] = the product of row i of `left` and row indices[p] of `right`"""
    for p in range(count):
        out[p] = 0.0
    for i in range(rows):
        for p in range(max(indptr[i], 0), min(indptr[i + 1], count)):
            j = indices[p]
            for c in range(k):
                if 0 <= j < columns:
                    out[p] += left[i * k + c] * right[j * k + c]
                else:
                    out[p] = math.nan


product_of_arrays, transposed_of_arrays, pairs_of_arrays = map(kernel, (product, transposed, pairs))
product, transposed, pairs = map(device, (product, transposed, pairs))
