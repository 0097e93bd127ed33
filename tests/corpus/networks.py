"""Networks as classes, their training, and learning from rewards."""

import abc
from collections import OrderedDict

import numpy as np

from corpus import AGREED, case, definite, near, normal, uniform


class Layer(abc.ABC):
    params: dict

    @abc.abstractmethod
    def forward(self, x): ...

    def __call__(self, x):
        return self.forward(x)


class Linear(Layer):
    def __init__(self, n_in, n_out):
        self.params = {"W": np.random.randn(n_in, n_out) * np.sqrt(2 / n_in), "b": np.zeros(n_out)}
        self.grads = {key: np.zeros_like(value) for key, value in self.params.items()}

    def forward(self, x):
        self.x = x
        return np.dot(x, self.params["W"]) + self.params["b"]

    def backward(self, g):
        self.grads["W"][...] = self.x.T @ g
        self.grads["b"][...] = np.sum(g, axis=0)
        return g.dot(self.params["W"].T)


class ReLU(Layer):
    params = {}
    grads = {}

    def forward(self, x):
        self.mask = x <= 0
        out = x.copy()
        out[self.mask] = 0
        return out

    def backward(self, g):
        g[self.mask] = 0
        return g


class Momentum:
    def __init__(self, lr=0.1, momentum=0.9):
        self.lr, self.momentum, self.v = lr, momentum, None

    def update(self, layers):
        if self.v is None:
            self.v = {}
            for i, layer in enumerate(layers):
                for key, value in layer.params.items():
                    self.v[i, key] = np.zeros_like(value)
        for i, layer in enumerate(layers):
            for key in layer.params:
                self.v[i, key] = self.momentum * self.v[i, key] - self.lr * layer.grads[key]
                layer.params[key] += self.v[i, key]


@case(normal(4, 3))
def trained_network(X):
    """Two steps on soft labels."""
    np.random.seed(0)
    layers = [Linear(3, 4), ReLU(), Linear(4, 2)]
    t = np.eye(2)[[0, 1, 1, 0]]
    optimizer = Momentum()
    losses = []
    for _ in range(2):
        out = X
        for layer in layers:
            out = layer(out)
        e = np.exp(out - out.max(axis=1, keepdims=True))
        y = e / e.sum(axis=1, keepdims=True)
        losses.append(-np.sum(t * np.log(y + 1e-7)) / y.shape[0])
        g = (y - t) / len(t)
        for layer in reversed(layers):
            g = layer.backward(g)
        optimizer.update(layers)
    return losses


@case(normal(4, 2), normal(3, 2))
def self_organizing_map(data, weights, rate=0.3):
    """The winner is where the distance is smallest."""
    weights = weights.copy()
    for x in data[:2]:
        d = np.linalg.norm(weights - x, axis=1)
        winner = np.argmin(d)
        influence = np.exp(-((np.arange(3) - winner) ** 2) / 2.0)
        weights += rate * influence[:, np.newaxis] * (x - weights)
    return weights


@case(uniform(0.0, 1.0, 3, 3), normal(3, 2), normal(2, 2))
def graph_convolution(A, H, W):
    A_hat = np.triu(A) + np.triu(A).T + np.identity(A.shape[0])
    D = np.diag(np.sum(A_hat, axis=0) ** -0.5)
    return np.maximum(0, D @ A_hat @ D @ H @ W)


@case(normal(2, 3), normal(3, 4, scale=0.5), normal(2, 3, scale=0.5))
def autoencoder_loss(x, encoder, decoder):
    """With the noise drawn beforehand."""
    rng = np.random.default_rng(2)
    mu, logvar = np.split(x @ encoder, 2, axis=1)
    z = mu + np.exp(0.5 * logvar) * rng.standard_normal(mu.shape)
    logits = z @ decoder
    target = np.clip(x, 0, 1)
    recon = np.sum(np.logaddexp(0, logits) - target * logits)
    kl = -0.5 * np.sum(1 + logvar - mu**2 - np.exp(logvar))
    return recon + kl, {"reconstruction": recon / len(x), "kl": kl / len(x)}


@case(normal(4, 3))
def ctc_forward(logits, label=(1, 2), blank=0):
    """The logarithm of the probability of all alignments."""
    logp = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    extended = [blank]
    for c in label:
        extended += [c, blank]
    T, S = len(logp), len(extended)
    alpha = np.ones((T, S)) * -1e5
    alpha[0, 0], alpha[0, 1] = logp[0, blank], logp[0, extended[1]]
    for t in range(1, T):
        for s in range(S):
            total = alpha[t - 1, s]
            if s > 0:
                total = np.logaddexp(total, alpha[t - 1, s - 1])
            if s > 1 and extended[s] != blank and extended[s] != extended[s - 2]:
                total = np.logaddexp(total, alpha[t - 1, s - 2])
            alpha[t, s] = total + logp[t, extended[s]]
    return -np.logaddexp(alpha[-1, -1], alpha[-1, -2])


@case(normal(5), normal(6), near(0.95), near(0.9))
def advantages(rewards, values, gamma, lam):
    """Generalised advantages and discounted returns, backwards."""
    adv = np.zeros_like(rewards)
    last = 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        last = delta + gamma * lam * last
        adv[t] = last
    returns = np.zeros(len(rewards))
    running = 0
    for i, r in enumerate(rewards[::-1]):
        running = running * gamma + r
        returns[-1 - i] = running
    return (adv - adv.mean()) / (adv.std() + 1e-8), returns


@case(uniform(0.0, 1.0, 4, 2), normal(3), uniform(0.2, 0.6))
def q_learning(Q, rewards, alpha, gamma=0.9):
    Q = np.array(Q)
    steps = [(0, 1, 1), (1, 0, 2), (2, 1, 3)]
    for (s, a, s2), r in zip(steps, rewards):
        target = r + gamma * np.max(Q[s2, :])
        Q[s, a] = Q[s, a] + alpha * (target - Q[s, a])
    return Q


@case(uniform(0.1, 1.0, 2, 3, 3), normal(3))
def value_iteration(P, R, gamma=0.8, sweeps=3):
    P = P / P.sum(axis=2, keepdims=True)
    V = np.zeros(3)
    for _ in range(sweeps):
        new = np.zeros_like(V)
        for s in range(3):
            new[s] = max_of([R[s] + gamma * P[a, s] @ V for a in range(2)])
        V = new
    return V


def max_of(values):
    return np.max(np.array(values))


@case(normal(3, 2), normal(3), uniform(0.5, 1.5, 3))
def radial_basis_network(centers, weights, widths):
    X = np.array([[0.1, 0.2], [0.5, -0.3]])
    G = np.zeros((len(X), len(centers)))
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            G[i][j] = np.exp(-np.sum((X[i] - centers[j]) ** 2) / widths[j])
    return G.dot(weights)


class Sequential:
    """Parameters in one flat vector, taken apart by shapes."""

    def __init__(self, sizes):
        self.shapes = OrderedDict()
        for i, (m, n) in enumerate(zip(sizes[:-1], sizes[1:])):
            self.shapes[f"W{i}"] = (m, n)
            self.shapes[f"b{i}"] = (n,)

    def unpack(self, theta):
        params, start = {}, 0
        for name, shape in self.shapes.items():
            size = np.prod(shape)
            params[name] = np.reshape(theta[start : start + size], shape)
            start += size
        assert start == len(theta)
        return params

    def __call__(self, theta, x):
        p = self.unpack(theta)
        for i in range(len(p) // 2):
            x = np.tanh(x @ p[f"W{i}"] + p[f"b{i}"])
        return x


@case(normal(13))
def flat_parameters(theta):
    model = Sequential([2, 3, 1])
    x = np.array([[0.0, 1.0], [1.0, 1.0]])
    weights = model.unpack(theta)
    penalty = sum(np.sum(w**2) for name, w in weights.items() if name.startswith("W"))
    return model(theta, x).ravel(), 0.01 * penalty


@case(normal(2, 6), normal(2, 2, 3), normal(2))
def conv1d_and_pool(x, kernels, bias):
    """Averages in the windows that are left."""
    n = x.shape[-1] - kernels.shape[-1] + 1
    out = np.empty((len(kernels), n))
    for f, (k, b) in enumerate(zip(kernels, bias)):
        out[f] = sum(np.convolve(c, w[::-1], "valid") for c, w in zip(x, k)) + b
    pooled = out.reshape(len(out), n // 2, 2).mean(-1)
    up = np.repeat(pooled, 2, axis=1)
    return np.where(up > 0, up, 0.1 * (np.exp(np.minimum(up, 0)) - 1)), pooled.max()


@case(normal(3, 3), normal(3))
def spectral_norm(W, u):
    for _ in range(2):
        v = W.T @ u
        v /= np.linalg.norm(v)
        u = W @ v
        u /= np.sqrt(np.sum(np.square(u)))
    sigma = u @ W @ v
    return W / sigma, sigma


@case(normal(2, 4), uniform(0.5, 1.0))
def gumbel_softmax(logits, tau):
    state = np.random.RandomState(4)
    g = -np.log(-np.log(state.uniform(size=logits.shape)))
    y = np.exp((logits + g) / tau)
    y /= y.sum(axis=-1, keepdims=True)
    hard = np.zeros(y.shape)
    hard[np.arange(len(y)), y.argmax(axis=-1)] = 1.0
    return y, np.sum(hard * y, axis=-1)


@case(normal(4), refused=AGREED)
def perceptron(w, rate=0.1):
    X = np.array([[1.0, 0.5, -0.2, 1.0], [0.3, -1.0, 0.4, 1.0], [-0.6, 0.1, 0.9, 1.0]])
    y = [1, -1, 1]
    mistakes = 0
    for xi, target in zip(X, y):
        if target * np.dot(w, xi) <= 0:
            w = w + rate * target * xi * np.abs(w)
            mistakes += 1
    return w * (1 + mistakes)


@case(definite(3), normal(3))
def natural_gradient(F, g):
    w, v = 0.1 * g, np.zeros(3)
    rate = 0.5
    for k in range(1, 3):
        d = np.linalg.solve(F + np.eye(3) * 10.0**-k, g)
        v = 0.9 * v + d
        w = w - rate / k * v
    return w
