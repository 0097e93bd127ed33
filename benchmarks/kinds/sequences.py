"""Recurrences: hidden states, filters, alignments, plans of transport, paths."""

import numpy as np

from .tools import Kind


def _hidden(t):
    def loss(rows, start, seen):
        moves = rows - t.special.logsumexp(rows, axis=1)[:, None]

        def step(state, emitted):
            new = t.special.logsumexp(state[:, None] + moves, axis=0) + emitted
            return new, None

        return -t.special.logsumexp(t.scan(step, start + seen[0], seen[1:])[0])

    return loss


def hidden(t):
    """A hidden Markov model in logarithms."""
    return t.value_and_grad(_hidden(t), (0, 1))


def hidden_arguments(rng):
    return rng.normal(size=(8, 8)), rng.normal(size=8), rng.normal(size=(200, 8))


def many_hidden(t):
    """The same for a batch of sequences."""
    one = _hidden(t)

    def loss(rows, start, seen):
        return t.np.sum(t.vmap(one, (None, None, 0))(rows, start, seen))

    return t.value_and_grad(loss, (0, 1))


def many_hidden_arguments(rng):
    return rng.normal(size=(6, 6)), rng.normal(size=6), rng.normal(size=(32, 50, 6))


def kalman(t):
    """The likelihood of a Kalman filter with a state of four numbers."""

    def loss(logs, moves, reads, seen):
        q, r = t.np.exp(logs[0]) * t.np.eye(4), t.np.exp(logs[1]) * t.np.eye(2)

        def step(state, y):
            mean, cov = state
            mean, cov = moves @ mean, moves @ cov @ moves.T + q
            s, away = reads @ cov @ reads.T + r, y - reads @ mean
            gain = t.np.linalg.solve(s, reads @ cov).T
            lost = 0.5 * (away @ t.solve(s, away) + t.np.log(t.np.linalg.det(s)))
            return (mean + gain @ away, cov - gain @ reads @ cov), lost

        return t.np.sum(t.scan(step, (t.np.zeros(4), t.np.eye(4)), seen)[1])

    return t.value_and_grad(loss, (0, 1))


def kalman_arguments(rng):
    moves = np.eye(4) + 0.1 * np.eye(4, k=2)
    return np.array([-2.0, -1.0]), moves, np.eye(2, 4), rng.normal(size=(100, 2))


def soft_warping(t):
    """Soft dynamic time warping of two series, row by row."""

    def loss(x, y):
        apart = (x[:, None] - y[None, :]) ** 2
        far = 1e10

        def lower(a, b):
            least = t.np.minimum(a, b)
            return least - t.np.log1p(t.np.exp(-t.np.abs(a - b)))

        def row(above, costs):
            def cell(left, given):
                over, corner, cost = given
                here = cost + lower(lower(left, over), corner)
                return here, here

            new = t.scan(cell, far + 0.0 * above[0], (above[1:], above[:-1], costs))[1]
            return t.np.concatenate((t.np.full(1, far), new)), None

        first = t.np.concatenate((t.np.zeros(1), t.np.full(y.shape[0], far)))
        return t.scan(row, first, apart)[0][-1]

    return t.value_and_grad(loss, (0, 1))


def soft_warping_arguments(rng):
    return rng.normal(size=60), rng.normal(size=60)


def sinkhorn(t):
    """Optimal transport by fifty rounds in logarithms."""

    def loss(x, y):
        cost = t.np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2) / 0.1
        n, m = cost.shape

        def step(_, pair):
            f, g = pair
            f = -t.special.logsumexp(g[None, :] - cost, axis=1) - np.log(n)
            g = -t.special.logsumexp(f[:, None] - cost, axis=0) - np.log(m)
            return f, g

        f, g = t.loop(50, step, (t.np.zeros(n), t.np.zeros(m)))
        return t.np.sum(t.np.exp(f[:, None] + g[None, :] - cost) * cost) * 0.1

    return t.value_and_grad(loss, (0, 1))


def sinkhorn_arguments(rng):
    return rng.uniform(size=(50, 2)), rng.uniform(size=(50, 2))


def option(t):
    """An up-and-out option on drawn noise, with a soft barrier."""

    def loss(p, noise):
        start, sigma, rate = p[0], p[1], p[2]
        dt = 1.0 / noise.shape[1]
        steps = (rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * noise
        paths = start * t.np.exp(t.np.cumsum(steps, axis=1))
        alive = t.special.expit((130.0 - t.np.max(paths, axis=1)) / 2.0)
        return t.np.exp(-rate) * t.np.mean(alive * t.np.maximum(paths[:, -1] - 95.0, 0.0))

    return t.value_and_grad(loss)


def option_arguments(rng):
    return np.array([100.0, 0.2, 0.03]), rng.normal(size=(2_000, 64))


sequences = {
    "hidden Markov": Kind("8 states, 200 steps", hidden, hidden_arguments),
    "hidden Markov, vmap": Kind("6 states, 32 x 50 steps", many_hidden, many_hidden_arguments),
    "Kalman filter": Kind("4 states, 100 steps", kalman, kalman_arguments),
    "soft-DTW": Kind("60 x 60", soft_warping, soft_warping_arguments),
    "Sinkhorn": Kind("50 x 50, 50 rounds", sinkhorn, sinkhorn_arguments),
    "option": Kind("2,000 paths of 64 steps", option, option_arguments),
}
