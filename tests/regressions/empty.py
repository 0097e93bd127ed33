"""Arrays without elements, ends of ranges, narrow dtypes."""

import numpy as np

from .registry import regression


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
