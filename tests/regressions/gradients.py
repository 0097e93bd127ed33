"""Gradients of eager programs."""

import numpy as np

from .registry import regression


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
