"""Small neural networks, written from scratch."""

from dataclasses import dataclass, field

import numpy as np

from corpus import case, normal, uniform


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


class Dense:
    """A layer that draws its weights and remembers its input."""

    def __init__(self, n_in, n_out, seed=0):
        rng = np.random.RandomState(seed)
        limit = np.sqrt(6.0 / (n_in + n_out))
        self.W = rng.uniform(-limit, limit, size=(n_in, n_out))
        self.b = np.zeros((1, n_out))
        self.input = None

    def forward(self, x):
        self.input = x
        return x.dot(self.W) + self.b

    def backward(self, grad, rate=0.1):
        back = grad @ self.W.T
        self.W -= rate * self.input.T @ grad
        self.b -= rate * grad.sum(axis=0, keepdims=True)
        return back


@case(normal(3, 4), normal(3, 2))
def two_training_steps(X, Y):
    """Steps of gradient descent by hand; what is returned is the last loss."""
    first, second = Dense(4, 3), Dense(3, 2, seed=1)
    losses = []
    for _ in range(2):
        h = np.tanh(first.forward(X))
        out = second.forward(h)
        error = out - Y
        losses.append(np.mean(error**2))
        grad = 2 * error / error.size
        first.backward(second.backward(grad) * (1 - h**2))
    return np.array(losses)


@case(normal(4), normal(3, scale=0.1), normal(12, 7, scale=0.4))
def lstm_cell(x, h, W):
    """Two steps of an LSTM."""
    c = np.zeros_like(h)
    n = h.shape[0]
    for _ in range(2):
        z = W @ np.concatenate((h, x))
        i, f, o = sigmoid(z[:n]), sigmoid(z[n : 2 * n]), sigmoid(z[2 * n : 3 * n])
        g = np.tanh(z[3 * n :])
        c = f * c + i * g
        h = o * np.tanh(c)
    return h, c


@case(normal(3, 2), normal(3, 5, scale=0.5), normal(3, 5, scale=0.5), normal(3, 5, scale=0.5))
def gru(xs, Wz, Wr, Wh):
    T = len(xs)
    hs = np.zeros((T + 1, 3))
    for t in range(T):
        hx = np.hstack([hs[t], xs[t]])
        z = sigmoid(Wz @ hx)
        r = sigmoid(Wr @ hx)
        candidate = np.tanh(Wh @ np.hstack([r * hs[t], xs[t]]))
        hs[t + 1] = (1 - z) * hs[t] + z * candidate
    return hs[1:]


@case(normal(1, 5, 5), normal(2, 1, 3, 3), normal(2))
def conv2d_loops(image, kernels, bias, stride=2, pad=1):
    C, H, W = image.shape
    F, _, KH, KW = kernels.shape
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad)), mode="constant")
    out_h = (H + 2 * pad - KH) // stride + 1
    out_w = (W + 2 * pad - KW) // stride + 1
    out = np.zeros((F, out_h, out_w))
    for f in range(F):
        for i in range(out_h):
            for j in range(out_w):
                h, w = i * stride, j * stride
                patch = padded[:, h : h + KH, w : w + KW]
                out[f, i, j] = np.sum(patch * kernels[f]) + bias[f]
    return out


def im2col(x, k):
    N, C, H, W = x.shape
    oh, ow = H - k + 1, W - k + 1
    col = np.zeros((N, C, k, k, oh, ow))
    for y in range(k):
        for z in range(k):
            col[:, :, y, z, :, :] = x[:, :, y : y + oh, z : z + ow]
    return col.transpose(0, 4, 5, 1, 2, 3).reshape(N * oh * ow, -1)


@case(normal(2, 1, 4, 4), normal(2, 1, 2, 2))
def conv2d_im2col(x, W):
    col = im2col(x, 2)
    out = np.dot(col, W.reshape(len(W), -1).T)
    return out.reshape(2, 3, 3, -1).transpose(0, 3, 1, 2)


@case(normal(4, 4))
def max_pool(x, size=2):
    h, w = x.shape[0] // size, x.shape[1] // size
    out = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            out[i, j] = np.max(x[i * size : (i + 1) * size, j * size : (j + 1) * size])
    return out


@dataclass
class BatchNorm:
    gamma: object
    beta: object
    momentum: float = 0.9
    running: dict = field(default_factory=lambda: {"mean": np.zeros(3), "var": np.ones(3)})

    def __call__(self, x, train=True, eps=1e-5):
        if train:
            mu, var = x.mean(axis=0), x.var(axis=0)
            self.running["mean"] = self.momentum * self.running["mean"] + (1 - self.momentum) * mu
            self.running["var"] *= self.momentum
            self.running["var"] += (1 - self.momentum) * var
        else:
            mu, var = self.running["mean"], self.running["var"]
        return self.gamma * (x - mu) / np.sqrt(var + eps) + self.beta


@case(normal(5, 3), normal(3), normal(3))
def batch_norm(x, gamma, beta):
    """Training, then the same batch by the running averages."""
    layer = BatchNorm(gamma, beta)
    y = layer(x)
    return y, layer(x, train=False)


@case(normal(2, 5), normal(5), normal(5))
def layer_norm(x, g, b):
    out = np.empty(x.shape)
    for i, row in enumerate(x):
        mean = np.mean(row)
        std = np.std(row) + 1e-6
        out[i] = g * (row - mean) / std + b
    return out


@case(normal(3, 4), normal(4, 12, scale=0.5))
def self_attention(x, W, heads=2, causal=True):
    T, d = x.shape
    q, k, v = np.split(x @ W, 3, axis=-1)
    size = d // heads
    mask = (1 - np.tri(T)) * -1e10
    outputs = []
    for h in range(heads):
        s = slice(h * size, (h + 1) * size)
        scores = q[:, s] @ k[:, s].T / np.sqrt(size)
        if causal:
            scores = scores + mask
        outputs.append(softmax(scores) @ v[:, s])
    return np.hstack(outputs)


@case(normal(4, 3))
def dropout(x, rate=0.4):
    np.random.seed(3)
    mask = np.random.rand(*x.shape) > rate
    x = x.copy()
    x[~mask] = 0.0
    x[mask] *= 1.0 / (1.0 - rate)
    return x


@case(normal(3, 4))
def cross_entropy(logits, labels=(0, 2, 1)):
    n = len(labels)
    p = softmax(logits, axis=1)
    one_hot = np.zeros_like(logits)
    one_hot[np.arange(n), labels] = 1
    loss = -np.sum(one_hot * np.log(p + 1e-12)) / n
    grad = p.copy()
    grad[range(n), labels] -= 1
    return loss, grad / n


@case(normal(4, 3), normal(2, 3, dtype=np.float32))
def embedding(table, extra, tokens=(1, 3, 1)):
    """Rows of a table, with positions, beside rows in single precision."""
    n, d = len(tokens), table.shape[1]
    position = np.arange(n)[:, np.newaxis]
    div = np.exp(np.arange(0, d, 2) * (-np.log(10000.0) / d))
    pe = np.zeros((n, d))
    pe[:, 0::2] = np.sin(position * div)
    pe[:, 1::2] = np.cos(position * div[: d // 2])
    return np.vstack((table[list(tokens)] + pe, extra))


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "leaky": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1),
    "swish": lambda x: x * sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "hard": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
}


@case(normal(5))
def activations(x):
    rows = [f(x) for name, f in sorted(ACTIVATIONS.items())]
    return np.stack(rows)


@case(normal(3, scale=0.5), normal(3, 3, scale=0.4), normal(3, 2, scale=0.4))
def vanilla_rnn(h, Whh, Wxh, steps=3):
    """A generator of states; the inputs repeat."""

    def states():
        s = h
        for t in range(steps):
            x = np.array([t / steps, 1.0])
            s = np.tanh(Whh @ s + Wxh @ x)
            yield s

    return np.array(list(states()))


@case(normal(4), uniform(0.5, 1.5, 4), normal(4))
def adam_steps(w, curvature, centre, steps=3, lr=0.1, b1=0.9, b2=0.99):
    state = {"m": np.zeros(len(w)), "v": np.zeros(len(w))}
    for t in range(1, steps + 1):
        g = curvature * (w - centre)
        state["m"] = b1 * state["m"] + (1 - b1) * g
        state["v"] = b2 * state["v"] + (1 - b2) * g**2
        m_hat = state["m"] / (1 - b1**t)
        v_hat = state["v"] / (1 - b2**t)
        w = w - lr * m_hat / (np.sqrt(v_hat) + 1e-8)
    return w
