"""Samples, of `vmap`."""

import numpy as np

from .registry import regression


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
