"""Networks in float32 beyond the perceptrons of the board."""

import numpy as np

from .tools import Kind


def _gelu(t, x):
    return 0.5 * x * (1.0 + t.special.erf(x / np.float32(np.sqrt(2.0))))


def _softmax(t, x):
    raised = t.np.exp(x - t.np.max(x, axis=-1, keepdims=True))
    return raised / t.np.sum(raised, axis=-1, keepdims=True)


def _normal(t, x):
    away = x - t.np.mean(x, axis=-1, keepdims=True)
    return away / t.np.sqrt(t.np.mean(away**2, axis=-1, keepdims=True) + np.float32(1e-5))


def transformer(t):
    """A block of attention and a wide layer, on a batch of sequences."""

    def loss(p, x, y):
        h = _normal(t, x)
        q, k, v = h @ p["q"], h @ p["k"], h @ p["v"]
        scores = q @ t.np.swapaxes(k, 1, 2) / np.float32(np.sqrt(x.shape[-1]))
        x = x + _softmax(t, scores) @ v @ p["o"]
        x = x + _gelu(t, _normal(t, x) @ p["up"] + p["bias"]) @ p["down"]
        return t.np.mean((x - y) ** 2)

    return t.value_and_grad(loss)


def _small(rng, *shape):
    return (rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)


def transformer_arguments(rng):
    p = {name: _small(rng, 64, 64) for name in "qkvo"}
    p |= {"up": _small(rng, 64, 256), "down": _small(rng, 256, 64)}
    p["bias"] = np.zeros(256, np.float32)
    return p, _small(rng, 8, 32, 64), _small(rng, 8, 32, 64)


def lstm(t):
    """A long short-term memory over fifty steps."""

    def loss(w, u, b, out, xs, y):
        def step(state, x):
            h, c = state
            gates = x @ w + h @ u + b
            n = h.shape[1]
            i, f = t.special.expit(gates[:, :n]), t.special.expit(gates[:, n : 2 * n])
            o, g = t.special.expit(gates[:, 2 * n : 3 * n]), t.np.tanh(gates[:, 3 * n :])
            c = f * c + i * g
            return (o * t.np.tanh(c), c), None

        first = t.np.zeros((xs.shape[1], u.shape[0]), np.float32)
        (h, _), _ = t.scan(step, (first, first), xs)
        return t.np.mean((h @ out - y) ** 2)

    return t.value_and_grad(loss, (0, 1, 2, 3))


def lstm_arguments(rng):
    return (
        _small(rng, 8, 128),
        _small(rng, 32, 128),
        np.zeros(128, np.float32),
        _small(rng, 32, 1),
        _small(rng, 50, 16, 8),
        _small(rng, 16, 1),
    )


def autoencoder(t):
    """A variational autoencoder, with its noise given."""

    def loss(p, x, noise):
        h = t.np.tanh(x @ p["in"] + p["b1"])
        mean, log = h @ p["mean"], h @ p["log"]
        z = mean + t.np.exp(0.5 * log) * noise
        back = t.np.tanh(z @ p["back"] + p["b2"]) @ p["out"]
        lost = t.np.sum(t.np.logaddexp(back, np.float32(0.0)) - x * back)
        return (lost - 0.5 * t.np.sum(1.0 + log - mean**2 - t.np.exp(log))) / x.shape[0]

    return t.value_and_grad(loss)


def autoencoder_arguments(rng):
    wide, middle, narrow = 256, 64, 8
    p = {
        "in": _small(rng, wide, middle), "mean": _small(rng, middle, narrow),
        "log": _small(rng, middle, narrow), "back": _small(rng, narrow, middle),
        "out": _small(rng, middle, wide),
        "b1": np.zeros(middle, np.float32), "b2": np.zeros(middle, np.float32),
    }  # fmt: skip
    x = rng.uniform(size=(64, wide)).astype(np.float32)
    return p, x, rng.normal(size=(64, narrow)).astype(np.float32)


networks = {
    "transformer": Kind("8 x 32 x 64, float32", transformer, transformer_arguments, 1e-4),
    "LSTM": Kind("32 wide, 50 steps, float32", lstm, lstm_arguments, 1e-4),
    "autoencoder": Kind("256-64-8, float32", autoencoder, autoencoder_arguments, 1e-4),
}
