"""Functions used in programs.py: control flow, numerics, science."""

import numpy as np

import nbgrad
from nbgrad import logsumexp, softmax

# -- arithmetic, control flow and calls -----------------------------------------------------------


def babysqrt(x, steps=10):
    t = (1 + x) / 2
    for _ in range(steps):
        t = (t + x / t) / 2
    return t


def descended(x, y, lr=0.2):
    """The lab's surface after one step down."""

    def surface(x, y):
        return y * y + np.sin(x)

    x_bar, y_bar = nbgrad.gradient(surface, x, y)
    return surface(x - lr * x_bar, y - lr * y_bar)


def superfluous(x, y):
    z = x * y
    np.exp(z)
    _ = z / x, [z, -z]
    return z + y


def reused(x):
    y = x * x
    y = y + x
    z = y * y
    return z * y + x


def branched(x):
    if x[0] > 0:
        return np.sum(x * x)
    return np.sum(np.sin(x))


def by_size(x):
    """Branches on shapes need no values."""
    return np.sum(x**3) if len(x) > 2 and x.ndim == 1 else np.prod(x)


def newton_root(x):
    """The cube root, until a step is small."""
    y = x
    while abs(y * y * y - x) > 1e-14:
        y = y - (y * y * y - x) / (3 * y * y)
    return y


def bracketed(x):
    try:
        if x > 10:
            raise OverflowError
        return np.exp(x)
    except OverflowError:
        return x


def masked(x):
    return np.sum(x[x > 0] ** 2)


def recursive(x, n=5):
    return x if n == 0 else np.sin(recursive(x, n - 1)) + x


def fibonacci(a, b):
    series = [a, b]
    while len(series) < 8:
        series.append(series[-1] * 0.5 + series[-2])
    return np.stack(series)


def shifted(scale, shift):
    """A closure over differentiated variables."""

    def inner(x):
        return scale * x + shift

    return inner(inner(4.0))


def keyword(x, *, power, weights):
    return np.sum(weights * x**power)


def outputs(x, y):
    return {"product": x @ y, "norms": (np.sum(x * x), [np.sum(y * y), 2.0])}


def written(x, y):
    z = x * 1.0
    z[1:3] = y * y
    z[0] += z[2]
    return z * x


def counted(x, labels, n):
    """Integer arguments are constants."""
    return np.sum(x[labels] ** n) / n


# -- science --------------------------------------------------------------------------------------


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def pendulum(state, length, dt=0.1, steps=3):
    """Steps of the fourth-order Runge-Kutta method."""

    def slope(y):
        return np.stack([y[1], -9.81 / length * np.sin(y[0])])

    for _ in range(steps):
        k1 = slope(state)
        k2 = slope(state + dt / 2 * k1)
        k3 = slope(state + dt / 2 * k2)
        k4 = slope(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


def leapfrog(q, p, k):
    def step(i, state):
        q, p = state
        p = p - 0.05 * k * q**3
        return q + 0.1 * p, p - 0.05 * k * q

    q, p = nbgrad.loop(5, step, (q, p))
    return q * q + p


def implicit_euler(y, a):
    for _ in range(2):
        y = np.linalg.solve(np.eye(3) - 0.1 * a, y)
    return y


def heat(u, c):
    """Explicit steps on a ring."""
    for _ in range(3):
        u = u + c * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


def kalman(transition, noise, observations):
    """The log likelihood of a position seen through noise, with a hidden speed."""
    mean, covariance, total = np.zeros(2), np.eye(2), 0.0
    for y in observations:
        mean = transition @ mean
        covariance = transition @ covariance @ transition.T + noise * np.eye(2)
        spread = covariance[0, 0] + 0.5
        error = y - mean[0]
        total = total - 0.5 * (np.log(2 * np.pi * spread) + error**2 / spread)
        gain = covariance[:, 0] / spread
        mean = mean + gain * error
        covariance = covariance - np.outer(gain, covariance[0])
    return total


def gaussian_process(length, noise, x, y):
    distance = (x[:, None] - x[None, :]) ** 2
    kernel = np.exp(-distance / (2 * length**2)) + noise**2 * np.eye(len(x))
    factor = np.linalg.cholesky(kernel)
    white = np.linalg.solve(factor, y)
    return -0.5 * white @ white - np.sum(np.log(np.diagonal(factor))) - len(x) * 0.9189385332046727


def determinant_volume(a):
    _, logarithm = np.linalg.slogdet(a @ a.T + np.eye(3))
    return logarithm + np.trace(np.linalg.inv(a + 4 * np.eye(3)))


def logistic(w, b, x, y):
    margin = y * (x @ w + b)
    return np.mean(np.logaddexp(0.0, -margin)) + 0.01 * w @ w


def poisson(w, x, counts):
    rate = x @ w
    return np.sum(np.exp(rate) - counts * rate)


def factorisation(u, v, data):
    return np.sum((u @ v.T - data) ** 2) + 0.1 * (np.sum(u**2) + np.sum(v**2))


def mixture(weights, means, deviations, x):
    """The log likelihood of a mixture of normal distributions."""
    normal = -0.5 * ((x[:, None] - means) / deviations) ** 2 - np.log(deviations)
    return np.sum(logsumexp(nbgrad.logsoftmax(weights) + normal, axis=1))


def huber(w, x, y):
    error = abs(x @ w - y)
    return np.sum(np.where(error < 0.5, 0.5 * error**2, 0.5 * error - 0.125))


def portfolio(w, returns):
    shares = softmax(w)
    profits = returns @ shares
    return np.mean(profits) / np.std(profits)


def distances(x, y):
    return np.sqrt(np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1) + 1e-3)


def tensors(a, b, c):
    return np.einsum("ijk,kl,l->ij", a, b, c)


def interpolated(x, knots):
    """Indexing by the ranks of values."""
    ordered = np.sort(x)
    return ordered[1:] * knots[:-1] + np.cumsum(ordered)[:-1] * knots[1:]


def field(x):
    """A vector field for `divergence`."""
    return np.stack([np.sin(x[0] * x[1]), x[1] ** 2 + x[2], np.exp(-x[2]) * x[0]])


def energy_force(x):
    """A gradient inside the function."""
    return nbgrad.grad(lambda r: np.sum(1 / (r * r) ** 3 - 1 / (r * r)))(x)


def sensitivities(x, v):
    """A directional derivative inside the function."""
    return nbgrad.jvp(np.sin, (x * x,), (v,))[1] * x
