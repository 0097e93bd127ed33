"""What fuzzing found, as it was printed: each makes a function and the arguments it went wrong at.

`python -m tests.fuzz` prints such functions; give one a name and paste it here. They get the
library, so that NumPy's own meaning of each function can stand in its place.
"""

from collections.abc import Callable

import numpy as np
from scipy import special

REGRESSIONS: dict[str, Callable] = {}


def regression(make: Callable) -> Callable:
    REGRESSIONS[make.__name__] = make
    return make


# -- gradients of eager programs ------------------------------------------------------------------


@regression
def repeated_position_beside_a_transpose(nbgrad):
    def f(x0):
        v1 = x0[np.array([0, 0])]
        v2 = x0.T * np.ones((3, 2))
        return v1, v2

    return f, (np.ones((2, 3)),)


@regression
def sort_beside_a_transpose(nbgrad):
    def f(x0):
        return np.sum(np.sort(x0, axis=0) * np.arange(3.0)) + np.sum(x0.T * x0.T)

    return f, (np.array([[1.0, -2.0, 0.5], [0.3, 2.0, -1.0]]),)


@regression
def product_with_a_diagonal(nbgrad):
    def f(x0):
        v1 = np.einsum("li,ii", x0, x0)
        return v1

    return f, (np.array([[1.0, 2.0], [3.0, 4.0]]),)


@regression
def tracked_inside(nbgrad):
    def f(x0):
        v1 = nbgrad.track(2.0)
        v2 = v1 * x0
        return v2

    return f, (np.array([1.0, 2.0]),)


@regression
def tracked_outside(nbgrad):
    c1 = nbgrad.track(np.array([0.5, -1.0]))

    def f(x0):
        v2 = c1 * x0
        return v2

    return f, (np.array([1.0, 2.0]),)


@regression
def direction_of_a_bool(nbgrad):
    def f(x0):
        v1 = x0 <= 1.0
        v2 = np.arctan2(v1, x0)
        return v2

    return f, (np.array([0.5, 2.0]),)


@regression
def smaller_of_a_bool(nbgrad):
    c0 = np.array([True, False])

    def f(x0):
        v1 = np.fmin(c0, x0)
        return v1

    return f, (np.array([0.5, -2.0]),)


@regression
def power_in_doubles(nbgrad):
    def f(x0):
        v1 = np.float_power(x0, 2)
        return v1

    return f, (np.array([0.5, 2.0], np.float32),)


@regression
def difference_of_nothing(nbgrad):
    def f(x0):
        v1 = np.diff(x0, axis=0)
        return v1

    return f, (np.zeros((0, 2)),)


@regression
def product_of_stacks_by_dot(nbgrad):
    def f(x0, x1):
        v = np.dot(x0, x1)
        return v

    return f, (
        np.full((2, 2, 2), 0.5),
        np.full((2, 2), 0.25),
    )


@regression
def chain_of_two_stacks(nbgrad):
    def f(x0):
        v = np.linalg.multi_dot([x0, x0])
        return v

    return f, (np.full((2, 2, 2), 0.5),)


@regression
def inner_with_a_number(nbgrad):
    def f(x0):
        v = np.inner(x0, 1)
        return v

    return f, (np.array([0.5, 2.0], np.float32),)


@regression
def dot_with_a_number(nbgrad):
    def f(x0):
        v = np.dot(x0, 2.0)
        return v

    return f, (np.array([0.5, 2.0], np.float32),)


# -- samples --------------------------------------------------------------------------------------


@regression
def sort_of_samples(nbgrad):
    def f(x0):
        v1 = nbgrad.vmap(np.sort)(x0)
        return v1

    return f, (np.array([[3.0, 1.0, 2.0], [0.5, 0.1, 2.5]]),)


@regression
def position_of_each_sample(nbgrad):
    def f(x0, x1):
        v2 = nbgrad.vmap(lambda r, k: r[k])(x0, x1)
        return v2

    return f, (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, -2]))


@regression
def sort_of_no_samples(nbgrad):
    def f(x0):
        v1 = np.sort(x0, axis=-1)
        return v1

    return f, (np.zeros((0, 3)),)


@regression
def samples_of_integers(nbgrad):
    def f(x0):
        v1 = nbgrad.vmap(lambda k: np.maximum(k, 1) * 2 + k // 3)(x0)
        return v1

    return f, (np.array([5, 1, 0]),)


@regression
def samples_of_bytes(nbgrad):
    def f(x0):
        v1 = nbgrad.vmap(lambda k: np.maximum(k, 1))(x0)
        return v1

    return f, (np.array([5, 1, 0], np.uint8),)


@regression
def rounded_integers_of_samples(nbgrad):
    def f(x0):
        v = nbgrad.vmap(lambda k: np.round(k, -1))(x0)
        return v

    return f, (np.array([15, -25, 35]),)


@regression
def positive_floats_of_samples(nbgrad):
    def f(x0):
        v = nbgrad.vmap(np.fabs)(x0)
        return v

    return f, (np.array([-2, 3]),)


@regression
def whole_parts_of_samples(nbgrad):
    def f(x0):
        v = nbgrad.vmap(lambda k: k.astype(np.int32))(x0)
        return v

    return f, (np.array([True, False]),)


@regression
def truths_of_samples(nbgrad):
    def f(x0):
        v = nbgrad.vmap(lambda k: k.astype(bool))(x0)
        return v

    return f, (np.array([2, 0]),)


# -- compiled programs ----------------------------------------------------------------------------


@regression
def sum_of_padded_rows(nbgrad):
    def f(x0):
        v1 = np.pad(x0, [(0, 0), (2, 0)])
        v2 = np.sum(v1, axis=1)
        v3 = nbgrad.softmax(v1, axis=1)
        return v2, v3

    return f, (np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),)


@regression
def sum_of_nothing(nbgrad):
    def f(x0):
        v1 = np.sum(x0 * 2.0, axis=1)
        v2 = np.prod(x0, axis=1)
        return v1, v2

    return f, (np.zeros((3, 0)),)


@regression
def bias_of_no_samples(nbgrad):
    def f(x0, x1):
        v2 = x0 + x1
        return v2

    return f, (np.zeros((0, 3)), np.array([1.0, 2.0, 3.0]))


@regression
def repeated_not_at_all(nbgrad):
    def f(x0):
        v1 = np.repeat(x0, 0, axis=-1)
        return v1

    return f, (np.array([0.5]),)


@regression
def floors_of_negatives(nbgrad):
    def f(x0):
        v1 = x0 // 3
        v2 = x0 % 5
        v3 = x0 // -3
        return v1, v2, v3

    return f, (np.array([-4, -1, 0, 5, 7]),)


@regression
def powers_of_integers(nbgrad):
    def f(x0):
        v1 = x0**2
        v2 = x0 @ x0
        v3 = np.tril(x0)
        v4 = np.pad(x0, 1)
        return v1, v2, v3, v4

    return f, (np.array([[2**30 + 1, -3], [2, 5]]),)


@regression
def count_of_bools(nbgrad):
    def f(x0):
        v1 = x0 > 0.5
        v2 = np.sum(v1)
        v3 = np.prod(v1)
        return v2, v3

    return f, (np.array([0.2, 1.0, 2.0]),)


@regression
def narrow_captured(nbgrad):
    c1 = np.array([3, 200, 7], np.uint8)

    def f(x0):
        v2 = x0 * c1
        return v2

    return f, (np.array([1.0, 2.0, 3.0]),)


@regression
def running_sums(nbgrad):
    def f(x0):
        v1 = np.cumsum(x0)
        return v1

    return f, (np.array([1.0, 2.0, 3.0]),)


@regression
def solution(nbgrad):
    c0 = np.array([[2.0, 0.5], [0.1, 3.0]])

    def f(x0):
        v1 = np.linalg.solve(c0, x0)
        return v1

    return f, (np.array([1.0, 2.0]),)


@regression
def long_chain(nbgrad):
    def f(x0):
        v1 = x0 * 1.0
        for _ in range(200):
            v1 = np.sin(v1)
        return v1

    return f, (np.array([0.5, 1.0]),)


@regression
def written_number(nbgrad):
    def f(x0):
        v1 = nbgrad.at(x0)[0].set(0.5)
        return v1

    return f, (np.array([0.5, 2.0], np.float32),)


# -- what has no elements -------------------------------------------------------------------------


@regression
def logarithm_of_no_sums(nbgrad):
    def f(x0):
        v1 = nbgrad.logsumexp(x0, axis=1)
        return v1

    return f, (np.zeros((0, 1)),)


@regression
def running_sums_of_nothing(nbgrad):
    def f(x0):
        v1 = np.cumsum(x0, axis=0)
        return v1

    return f, (np.zeros(0),)


@regression
def solution_of_no_columns(nbgrad):
    c1 = np.zeros((2, 0))

    def f(x0):
        v2 = np.linalg.solve((x0 + 2.0 * np.eye(2)), c1)
        return v2

    return f, (np.array([[0.5, 0.1], [0.0, 0.3]]),)


@regression
def number_written_nowhere(nbgrad):
    def f(x0, x1):
        v2 = np.reshape(np.ravel(x0)[np.array([0])], ())
        v3 = nbgrad.at(x1)[2:2].set(v2)
        return v3

    return f, (np.array([[1.0]]), np.array([-2.0, -1.9]))


@regression
def index_with_true(nbgrad):
    def f(x0):
        v1 = x0[True, -1, -1:1:2]
        return v1

    return f, (np.ones((1, 1, 5)),)


@regression
def integers_beside_samples(nbgrad):
    c0 = np.array([0.5, -0.5])

    def f(x1):
        v2 = np.signbit(c0)
        return v2, x1

    return f, (np.array([1.0, 2.0]),)


@regression
def small_tails(nbgrad):
    def f(x0):
        v1 = nbgrad.sigmoid(x0)
        return v1

    return f, (40.0,)


@regression
def small_tails_of_tanh(nbgrad):
    def f(x0):
        v1 = np.tanh(x0)
        return v1

    return f, (20.0,)


@regression
def unrolled_backwards(nbgrad):
    def f(x0):
        v1 = x0
        for _ in range(100):
            v1 = np.sin(v1)
        return v1

    return f, (np.array([0.5, 2.0, 3.0]),)


@regression
def states_of_nothing(nbgrad):
    def f(x0):
        v1 = nbgrad.loop(2, lambda i, s: (s[1], s[0] * 2.0, s[0]), (x0, x0, x0))[2]
        return v1

    return f, (np.zeros(0),)


@regression
def median_of_no_rows(nbgrad):
    def f(x0):
        v = np.median(x0, axis=2, keepdims=True)
        return v

    return f, (np.zeros((3, 0, 5)),)


@regression
def logarithm_of_sums_of_no_rows(nbgrad):
    def f(x0):
        v = nbgrad.logsumexp(x0, axis=3)
        return v

    return f, (np.zeros((3, 3, 0, 1)),)


@regression
def largest_of_nothing_as_a_norm(nbgrad):
    def f(x0):
        v = np.linalg.norm(x0, np.inf, axis=0)
        return v

    return f, (np.zeros((0, 2)),)


@regression
def running_sum_of_nothing(nbgrad):
    def f(x0):
        v = np.cumsum(x0, axis=0)
        return v

    return f, (np.zeros(0),)


@regression
def bound_beyond_the_dtype(nbgrad):
    def f(x0):
        v1 = np.clip(x0, -1, None)
        return v1

    return f, (np.array([[2, 3, 1], [5, 1, 2]], np.uint8),)


@regression
def products_of_narrow_integers(nbgrad):
    def f(x0):
        v1 = np.linalg.vecdot(np.isinf(x0), x0)
        v2 = np.einsum("ij->j", x0)
        return v1, v2

    return f, (np.array([[3, -3, 2], [2, 0, 0]], np.int32),)


@regression
def one_element_seen_in_a_number(nbgrad):
    def f(x0):
        v1 = nbgrad.scan(lambda s, x: (np.sin(s + x), s * x), x0 * 1.0, np.tile(x0, 1))[0]
        return v1

    return f, (np.array(1.999),)


@regression
def sum_of_bytes_by_labels(nbgrad):
    def f(x0):
        v = nbgrad.vmap(lambda k: np.einsum("ij->j", k))(x0)
        return v

    return f, (np.array([[[200], [100]]], np.uint8),)


@regression
def products_of_bytes_by_rows(nbgrad):
    def f(x0):
        v = nbgrad.vmap(lambda k: np.vecdot(k, k))(x0)
        return v

    return f, (np.array([[20, 10]], np.uint8),)


@regression
def steps_over_a_result(nbgrad):
    def f(x0, x1):
        v2 = np.linalg.inv(x1 + 2.0 * np.eye(3))
        v3 = nbgrad.scan(lambda s, x: (np.sin(nbgrad.sigmoid(s + x)), s * x), x0, v2)[1]
        return v3, v2

    return f, (np.array([1.0, 2.0, 3.0]), np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0, 1]]))


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


# -- writes ---------------------------------------------------------------------------------------


@regression
def a_body_that_fills_and_writes(nbgrad):
    def f(x0):
        def body(i, s):
            t = np.full_like(s, -0.59)
            t[::2] *= t[0]
            return t

        return nbgrad.loop(3, body, x0 * 0.25)

    return f, (np.ones((3, 1, 1)),)


@regression
def a_branch_that_writes_to_a_transpose(nbgrad):
    def f(x0):
        v1 = np.outer(x0, x0)
        v2 = np.transpose(v1, (1, 0))

        def one(a):
            return a * 1.0

        def other(a):
            np.multiply(a[0], -0.01, out=a[-1])
            a.ravel()[::2] *= 1.41
            return a * 1.0

        nbgrad.cond(np.sum(v2) > 100.0, one, other, v2)
        return v1

    return f, (np.array([[1.0, 1.5]]),)


@regression
def a_branch_that_writes_to_an_array_without_axes(nbgrad):
    def f(x0):
        v2 = np.reshape(np.ravel(np.sin(x0))[np.array([0])], ())

        def one(a):
            a[...] = 0.88
            a += 0.77
            held = [a]
            held[0] += np.sum(a) * 0.1
            return a * 1.0

        nbgrad.cond(np.sum(v2) > -2.25, one, np.copy, v2)
        return v2 * x0

    return f, (np.array([1.0]),)


@regression
def the_first_power_of_a_matrix_is_itself(nbgrad):
    def f(x0):
        v1 = x0 * 2.0
        v2 = np.linalg.matrix_power(v1, 1)
        v2 -= 3.0
        return v1 * v2

    return f, (np.array([[1.0, 2.0], [3.0, 4.0]]),)


@regression
def samples_of_an_argument_are_written_to(nbgrad):
    def f(x0):
        v1 = nbgrad.vmap(lambda r: r.T)(x0)
        v1 += 0.5
        return v1 * x0

    return f, (np.array([[1.0, 2.0]]),)


@regression
def a_step_that_reads_itself_twice_inside_of_a_checkpoint(nbgrad):
    def f(x0):
        def own(r):
            t = r.copy()
            t @= t
            for part in [t[...], t[...]]:
                part += 1.57
            return t * r

        return nbgrad.checkpoint(own)(x0)

    return f, (np.array([[1.0, 0.5], [0.25, 1.0]]),)


@regression
def a_view_of_a_view_that_is_stale(nbgrad):
    def f(x0):
        y = x0 * 1.0
        part = y[0:]
        v = part[:2]
        y[...] += 1.0
        v *= 2.0
        return v, y

    return f, (np.array([1.0, 2.0, 3.0]),)


@regression
def a_write_that_reads_what_it_overwrites(nbgrad):
    def f(x0):
        v = (x0 * 1.0).reshape(2, 2)
        v[1:] = v[:-1]
        v[1:] += 1.0
        v[...] = v[::-1]
        return v

    return f, (np.array([1.0, 2.0, 3.0, 4.0]),)


@regression
def a_covariance_of_one_is_an_array(nbgrad):
    def f(x0):
        v1 = np.cov(x0)
        other = v1
        other *= v1
        other += 1.0
        return v1 * x0

    return f, (np.array([1.0, 2.5]),)
