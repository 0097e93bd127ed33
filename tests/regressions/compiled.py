"""Compiled programs."""

import numpy as np

from .registry import regression


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
