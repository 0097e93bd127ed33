"""W12: a block of a transformer, which is attention and a network with normalised rows before them.

The function for every library, what it is differentiated at, and its gradient by hand in NumPy.
"""

from math import sqrt

import numpy as np

from .sizes import EPSILON, HEADS, SAMPLES, TOKENS, WIDTH

NAMES = ("g1", "s1", "wq", "wk", "wv", "wo", "g2", "s2", "w1", "b1", "w2", "b2")
_PART = WIDTH // HEADS


def _normalised(np, x, gain, shift):
    off = x - np.mean(x, -1, keepdims=True)
    return gain * (off / np.sqrt(np.mean(off * off, -1, keepdims=True) + EPSILON)) + shift


def transformer(lib, g1, s1, wq, wk, wv, wo, g2, s2, w1, b1, w2, b2, x):
    np = lib.np
    rows = _normalised(np, x, g1, s1)
    heads = (SAMPLES, TOKENS, HEADS, _PART)
    q, k, v = (np.reshape(rows @ w, heads) for w in (wq, wk, wv))
    shares = lib.softmax(np.einsum("bthd,bshd->bhts", q, k) * (1 / sqrt(_PART)))
    mixed = np.reshape(np.einsum("bhts,bshd->bthd", shares, v), (SAMPLES, TOKENS, WIDTH))
    x = x + mixed @ wo
    x = x + lib.relu(_normalised(np, x, g2, s2) @ w1 + b1) @ w2 + b2
    return np.mean(x * x)


def parameters(dtype: type = np.float64) -> list:
    rng = np.random.default_rng(7)

    def matrix(fan_in: int, fan_out: int) -> np.ndarray:
        return rng.normal(size=(fan_in, fan_out)) / sqrt(fan_in)

    def row(middle: float, n: int = WIDTH) -> np.ndarray:
        return middle + 0.1 * rng.normal(size=n)

    attention = [row(1.0), row(0.0), *(matrix(WIDTH, WIDTH) for _ in range(4))]
    inner = 4 * WIDTH
    network = [matrix(WIDTH, inner), row(0.0, inner), matrix(inner, WIDTH), row(0.0)]
    return [x.astype(dtype) for x in [*attention, row(1.0), row(0.0), *network]]


def data(dtype: type = np.float64) -> list:
    return [np.random.default_rng(8).normal(size=(SAMPLES, TOKENS, WIDTH)).astype(dtype)]


def by_hand(parameters, data):
    g1, s1, wq, wk, wv, wo, g2, s2, w1, b1, w2, b2 = parameters
    x, dtype = data[0].reshape(-1, WIDTH), data[0].dtype
    bars: dict[str, np.ndarray] = dict(zip(NAMES, map(np.empty_like, parameters), strict=True))
    wide, ones = np.empty((len(x), w1.shape[1]), dtype), np.ones(len(x), dtype)
    shares, slopes = (np.empty((SAMPLES, HEADS, TOKENS, TOKENS), dtype) for _ in range(2))
    mask = np.empty(wide.shape, bool)
    scale = dtype.type(1 / sqrt(_PART))

    def apart(rows):
        """Rows as one matrix for each sample and head."""
        return rows.reshape(SAMPLES, TOKENS, HEADS, _PART).transpose(0, 2, 1, 3)

    def together(matrices):
        return matrices.transpose(0, 2, 1, 3).reshape(-1, WIDTH)

    def normalised(rows):
        off = rows - rows.mean(1, keepdims=True)
        spread = np.sqrt(np.mean(off * off, 1, keepdims=True) + dtype.type(EPSILON))
        np.divide(off, spread, out=off)
        return off, spread

    def back(ct, off, spread, gain, gain_bar, shift_bar):
        """The cotangent of what was normalised, in the place of that of gain * off + shift."""
        np.dot(ones, ct, out=shift_bar)
        np.dot(ones, ct * off, out=gain_bar)
        np.multiply(ct, gain, out=ct)
        along = off * np.mean(ct * off, 1, keepdims=True)
        np.subtract(ct, ct.mean(1, keepdims=True), out=ct)
        np.subtract(ct, along, out=ct)
        return np.divide(ct, spread, out=ct)

    def run():
        off1, spread1 = normalised(x)
        rows1 = off1 * g1 + s1
        q, k, v = (apart(rows1 @ w) for w in (wq, wk, wv))
        np.matmul(q, k.swapaxes(2, 3), out=shares)
        np.multiply(shares, scale, out=shares)
        np.subtract(shares, shares.max(3, keepdims=True), out=shares)
        np.exp(shares, out=shares)
        np.divide(shares, shares.sum(3, keepdims=True), out=shares)
        mixed = together(shares @ v)
        middle = mixed @ wo
        np.add(middle, x, out=middle)
        off2, spread2 = normalised(middle)
        rows2 = off2 * g2 + s2
        np.dot(rows2, w1, out=wide)
        np.add(wide, b1, out=wide)
        np.greater(wide, 0.0, out=mask)
        np.multiply(wide, mask, out=wide)
        ct = wide @ w2
        np.add(ct, b2, out=ct)
        np.add(ct, middle, out=ct)
        value = np.dot(ct.ravel(), ct.ravel()) / ct.size
        np.multiply(ct, dtype.type(2 / ct.size), out=ct)
        np.dot(ones, ct, out=bars["b2"])
        np.dot(wide.T, ct, out=bars["w2"])
        np.dot(ct, w2.T, out=wide)
        np.multiply(wide, mask, out=wide)
        np.dot(ones, wide, out=bars["b1"])
        np.dot(rows2.T, wide, out=bars["w1"])
        ct += back(wide @ w1.T, off2, spread2, g2, bars["g2"], bars["s2"])
        np.dot(mixed.T, ct, out=bars["wo"])
        mixed_bar = apart(ct @ wo.T)
        v_bar = together(shares.swapaxes(2, 3) @ mixed_bar)
        np.matmul(mixed_bar, v.swapaxes(2, 3), out=slopes)
        np.subtract(slopes, np.sum(slopes * shares, 3, keepdims=True), out=slopes)
        np.multiply(slopes, shares, out=slopes)
        np.multiply(slopes, scale, out=slopes)
        q_bar, k_bar = together(slopes @ k), together(slopes.swapaxes(2, 3) @ q)
        for name, bar in (("wq", q_bar), ("wk", k_bar), ("wv", v_bar)):
            np.dot(rows1.T, bar, out=bars[name])
        rows_bar = q_bar @ wq.T
        rows_bar += k_bar @ wk.T
        rows_bar += v_bar @ wv.T
        back(rows_bar, off1, spread1, g1, bars["g1"], bars["s1"])
        return value, list(bars.values())

    return run
