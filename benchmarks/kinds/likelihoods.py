"""Likelihoods: their gradients and Hessians, as people fit models with."""

import numpy as np

from .tools import Kind


def mixture(t):
    """A mixture of normals in two dimensions."""

    def loss(means, logs, weights, x):
        away = (x[:, None, :] - means) / t.np.exp(logs)
        inside = -0.5 * t.np.sum(away**2, axis=2) - t.np.sum(logs, axis=1)
        share = weights - t.special.logsumexp(weights)
        return -t.np.mean(t.special.logsumexp(share + inside, axis=1))

    return t.value_and_grad(loss, (0, 1, 2))


def mixture_arguments(rng):
    k, n = 5, 1_000
    return (
        rng.normal(size=(k, 2)),
        rng.normal(size=(k, 2)) * 0.1,
        np.zeros(k),
        rng.normal(size=(n, 2)),
    )


def counts(t):
    """Negative binomial regression with its dispersion."""

    def loss(w, size, x, y):
        r, mean = t.np.exp(size), t.np.exp(x @ w)
        terms = (
            t.special.gammaln(y + r)
            - t.special.gammaln(r)
            + r * t.np.log(r / (r + mean))
            + y * t.np.log(mean / (r + mean))
        )
        return -t.np.mean(terms)

    return t.value_and_grad(loss, (0, 1))


def counts_arguments(rng):
    x = rng.normal(size=(500, 6)) * 0.3
    return np.zeros(6), 0.5, x, rng.poisson(2.0, size=500).astype(float)


def ordinal(t):
    """Ordinal regression with the normal distribution: slopes and ordered cuts."""

    def loss(p, x, y):
        w, steps = p[:4], p[4:]
        cuts = t.np.concatenate((steps[:1], steps[0] + t.np.cumsum(t.np.exp(steps[1:]))))
        below = t.special.ndtr(cuts[None, :] - (x @ w)[:, None])
        zero, one = t.np.zeros((x.shape[0], 1)), t.np.ones((x.shape[0], 1))
        shares = t.np.diff(t.np.concatenate((zero, below, one), axis=1), axis=1)
        return -t.np.sum(y * t.np.log(shares + 1e-12))

    return t.hessian(loss)


def ordinal_arguments(rng):
    x = rng.normal(size=(200, 4))
    return np.array([0.3, -0.2, 0.1, 0.4, -1.0, 0.1, 0.2]), x, np.eye(4)[rng.integers(0, 4, 200)]


def garch(t):
    """The Hessian of a GARCH(1, 1) likelihood."""

    def loss(p, returns):
        omega, alpha, beta = t.np.exp(p[0]), t.special.expit(p[1]), t.special.expit(p[2])

        def step(h, r):
            return omega + alpha * r * r + beta * h, t.np.log(h) + r * r / h

        return t.np.sum(t.scan(step, 0.1 + 0.0 * omega, returns)[1])

    return t.hessian(loss)


def garch_arguments(rng):
    return np.array([-2.0, -1.5, 0.8]), rng.normal(size=500)


def process(t):
    """The likelihood of a Gaussian process with an own length for each input."""

    def loss(p, x, y):
        scaled = x * t.np.exp(p[:3])
        apart = t.np.sum((scaled[:, None, :] - scaled[None, :, :]) ** 2, axis=2)
        k = t.np.exp(p[3]) * t.np.exp(-0.5 * apart) + t.np.exp(p[4]) * t.np.eye(x.shape[0])
        factor = t.np.linalg.cholesky(k)
        return 0.5 * y @ t.solve(k, y) + t.np.sum(t.np.log(t.np.diagonal(factor)))

    return t.value_and_grad(loss)


def process_arguments(rng):
    return np.array([0.1, 0.2, -0.1, 0.0, -2.0]), rng.normal(size=(80, 3)), rng.normal(size=80)


def kinetics(t):
    """Concentrations of thirty patients: a matrix exponential for each."""

    def loss(p, effects, times, seen):
        def one(effect, time, found):
            rates = t.np.exp(p[:3] + effect)
            a, c, e = rates[0], rates[1], rates[2]
            zero = 0.0 * a
            flow = t.np.stack([
                t.np.stack([-a, zero, zero]),
                t.np.stack([a, -c - e, c]),
                t.np.stack([zero, c, -c]),
            ])  # fmt: skip
            state = t.expm(flow * time) @ t.np.array([1.0, 0.0, 0.0])
            return (t.np.log(state[1] + 1e-3) - found) ** 2

        return t.np.sum(t.vmap(one)(effects, times, seen)) + t.np.sum(effects**2)

    return t.value_and_grad(loss, (0, 1))


def kinetics_arguments(rng):
    return (
        np.array([0.1, -1.0, -0.5]),
        rng.normal(size=(30, 3)) * 0.2,
        rng.uniform(0.5, 4.0, size=30),
        rng.normal(size=30) - 1.0,
    )


likelihoods = {
    "mixture": Kind("mixture of 5 normals, 1,000 points", mixture, mixture_arguments),
    "counts": Kind("negative binomial regression, 500 rows", counts, counts_arguments),
    "ordinal Hessian": Kind("Hessian of 7 numbers, 200 rows", ordinal, ordinal_arguments, 1e-6),
    "GARCH Hessian": Kind("Hessian of 3 numbers, 500 returns", garch, garch_arguments),
    "Gaussian process": Kind("80 points, 5 numbers", process, process_arguments),
    "pharmacokinetics": Kind("30 matrix exponentials by vmap", kinetics, kinetics_arguments),
}
