"""Dtypes beside each other: bools, integers and float32."""

import numpy as np
from scipy import special

from .registry import regression


@regression
def narrow_values_through_a_checkpoint(nbgrad):
    def f(x0):
        v1 = x0.astype(np.float32)
        v2 = nbgrad.checkpoint(lambda a, b: a * 0.5 * b)(v1, v1)
        return v2

    return f, (np.array([[[1.0, 2.0]]]),)


@regression
def sum_of_bools_beside_floats(nbgrad):
    c1 = nbgrad.track(np.float64(0.5))

    def f(x0):
        v2 = np.einsum("ij,->i", x0, c1)
        return v2

    return f, (np.array([[True, False, True]]),)


@regression
def differences_of_bools(nbgrad):
    def f(x0):
        v1 = np.isnan(x0)
        v2 = np.diff(v1, axis=0)
        return v2

    return f, (np.array([[1.0], [2.0]]),)


@regression
def product_with_a_logarithm(nbgrad):
    def f(x0):
        v1 = special.xlogy(x0, x0 + 1.0) * special.erfc(x0)
        return v1

    return f, (np.array([0.0, 0.5, 40.0]),)


@regression
def running_sum_of_a_number(nbgrad):
    def f(x0):
        v1 = np.cumsum(x0, axis=-1)
        return v1

    return f, (1.5,)


@regression
def bools_in_scratch(nbgrad):
    def f(x0, x1):
        v2 = np.percentile(x1, 1)
        v3 = np.logical_and(nbgrad.sigmoid(x0), v2)
        v4 = np.reciprocal(v3)
        return v4

    return f, (np.array([1.0]), np.array([[-0.617], [-0.595], [1.949]]))


@regression
def quantiles_of_integers(nbgrad):
    def f(x0):
        v1 = np.quantile(x0, 0.3)
        v2 = np.quantile(x0, 1)
        v3 = np.gradient(x0)
        return v1, v2, v3

    return f, (np.array([5, 3, 9, 1], np.uint8),)


@regression
def product_with_a_reversed_stack(nbgrad):
    def f(x0):
        v1 = np.squeeze(np.matmul(x0, x0[..., None]), -1)
        v2 = np.flipud(v1)
        return v2

    return f, (np.array([[1.0, 2.0], [3.0, 4.0]]),)


@regression
def evenly_spaced_float32_beside_bools(nbgrad):
    def f(x0):
        return np.logspace(x0, np.isreal(x0))

    return f, (np.array([[1.0]], np.float32),)


@regression
def parts_of_whole_numbers(nbgrad):
    def f(x0):
        v1 = np.frexp(x0)[0]
        v2 = np.ldexp(x0, -3)
        return v1, v2

    return f, (np.array([3, 200, 0], np.uint16),)


@regression
def columns_of_no_samples(nbgrad):
    def f(x0, x1):
        v2 = np.trapezoid(x0)
        v3 = np.reshape(np.ravel(v2)[np.array([0, 0])], (2,))
        v4 = nbgrad.hcat(x1, v3, x1)
        return v4

    return f, (np.zeros((0,)), np.array([1.0, 2.0]))


@regression
def correlation_of_parallel_rows(nbgrad):
    def f(x0):
        v1 = np.corrcoef(x0)
        return v1

    return f, (np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),)


@regression
def slopes_over_bytes(nbgrad):
    def f(x0, x1):
        v2 = np.gradient(x0, x1)
        v3 = np.linalg.norm(x0[None], 1)
        return v2, v3

    return f, (np.array([3, 7, 2], np.uint8), np.array([5, 2, 1], np.uint8))


@regression
def fractions_of_narrow_integers(nbgrad):
    def f(x0):
        v1 = np.modf(x0)[0]
        v2 = np.heaviside(x0, 1)
        v3 = np.nextafter(x0, 1)
        return v1, v2, v3

    return f, (np.array([[1, 0, -3]], np.int16),)


@regression
def two_functions_of_one_name(nbgrad):
    def f(x0):
        v1 = nbgrad.custom_elementwise(lambda a: a * a, partials=[lambda a, out: 2.0 * a])(x0)
        v2 = nbgrad.custom_elementwise(lambda a: np.sin(a), partials=[lambda a, out: np.cos(a)])(x0)
        return v2, v1

    return f, (np.array([1.0]),)


@regression
def systems_of_float32_beside_small_integers(nbgrad):
    def f(x0, x1):
        v2 = np.linalg.solve(x0, x1)
        v3 = np.linalg.lstsq(x0, np.isfinite(x0))[0]
        v4 = np.linalg.tensorsolve(x0, x1)
        return v2, v3, v4

    return f, (np.array([[2.0, 1.0], [1.0, 3.0]], np.float32), np.array([1, -3], np.int8))


@regression
def numbers_of_numpy_beside_float32(nbgrad):
    def f(x0):
        v1 = nbgrad.evalpoly(np.float64(1.5), x0)
        v2 = np.sum(x0, initial=np.float64(0.5))
        v3 = np.max(x0, initial=np.float64(0.5))
        v4 = nbgrad.evalpoly(1.5, np.array([1, 2])) * np.prod(x0, initial=2)
        return v1, v2, v3, v4

    return f, (np.array([1.0, 2.0], np.float32),)


@regression
def true_and_a_number_apart(nbgrad):
    def f(x0):
        v1 = x0[True, :, 0, :2]
        v2 = x0[True, True, ..., 0]
        v3 = x0[:, np.array([1, 0]), ..., np.array([0, 2])]
        return v1, v2, v3

    return f, (np.arange(12.0).reshape(2, 2, 3),)


@regression
def medians_of_no_integers(nbgrad):
    def f(x0):
        v1 = np.nanmedian(np.reshape(x0[:0], (0, 0)), 1)
        v2 = np.median(np.reshape(x0[:0], (0, 0)), 0)
        return v1, v2

    return f, (np.array([3, 1]),)


@regression
def derivatives_of_no_coefficients(nbgrad):
    def f(x0):
        v1 = np.polyder(x0[:0], 1)
        v2 = np.polyder(x0, 3)
        v3 = np.polyder(x0[:0], 0)
        return v1, v2, v3

    return f, (np.array([1.0, 2.0], np.float32),)


@regression
def quantiles_at_the_ends(nbgrad):
    def f(x0, x1):
        v1 = np.quantile(x0, x1)
        v2 = np.nanquantile(x0, np.argmin(x1, axis=0))
        v3 = np.quantile(x0, x1 > 0, method="hazen")
        v4 = np.quantile(x0, x1, method="weibull")
        return v1, v2, v3, v4

    return f, (np.array([0.5, -1.5, 2.25], np.float32), np.array([1, 0]))


@regression
def arrays_of_whole_numbers(nbgrad):
    def f(x0, x1):
        v1 = nbgrad.array([[x0[1]], [x0[0]]])
        v2 = nbgrad.array([[1, 2], [3, 4]])
        v3 = nbgrad.array([x1[0], x1[1], x1[0]])
        return v1, v2, v3, x1 * 2.0

    return f, (np.array([1, 1, 0], np.uint16), np.array([0.5, -1.5], np.float32))


@regression
def parts_that_are_copied_too(nbgrad):
    def f(x0):
        v1 = np.sin(x0)
        v2 = np.arcsin(0.5 * v1)
        v3 = np.reshape(np.ravel(v2)[np.array([0, 1, 2, 3, 4, 5])], (3, 2))
        v4 = nbgrad.scan(lambda s, x: (np.sin(s + x), s * x), v3, v1)[0]
        return v3 * v4

    return f, (np.arange(12.0).reshape(2, 3, 2) / 10,)


@regression
def no_positions(nbgrad):
    def f(x0, x1):
        return np.take(x1, x0, axis=1)

    return f, (np.zeros((0, 2), np.int64), np.array([[[1.0]]]))


@regression
def scores_of_bytes(nbgrad):
    def f(x0, x1):
        return nbgrad.logit_cross_entropy(x0, x1)

    return f, (np.array([[1, 0], [2, 1]], np.uint16), np.array([[0.5, 1], [0, 1]], np.float32))


@regression
def slopes_beside_each_other(nbgrad):
    def f(x0, x1):
        v1 = np.gradient(x0, x1)
        v2 = np.gradient(x0, 0.5, edge_order=2)
        v3 = np.polydiv(x0, np.array([True]))
        return v1, v2, *v3

    return f, (np.array([1.0, -0.5, 2.0, 0.25], np.float32), np.array(0.5, np.float32))


@regression
def nothing_times_something(nbgrad):
    def f(x0, x1):
        return np.einsum("ij,l->", x0, x1), np.einsum("ij,l->i", x0, x1)

    return f, (np.array([[0.5, 2.0]]), np.zeros(0))
