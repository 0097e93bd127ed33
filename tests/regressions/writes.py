"""Writes to arrays and views."""

import numpy as np

from .registry import regression


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
