"""Statistics and machine learning on small data."""

from itertools import product

import numpy as np

from corpus import BRANCH, MASK, case, definite, near, normal, uniform


@case(uniform(0.1, 1.0, 3, 3), uniform(0.1, 1.0, 3, 2))
def hmm_forward(A, B, observed=(0, 1, 1, 0)):
    A = A / A.sum(axis=1, keepdims=True)
    B = B / B.sum(axis=1)[:, None]
    alpha = np.zeros((len(observed), 3))
    alpha[0, :] = np.ones(3) / 3 * B[:, observed[0]]
    scale = np.zeros(len(observed))
    for t in range(1, len(observed)):
        for j in range(3):
            alpha[t, j] = alpha[t - 1].dot(A[:, j]) * B[j, observed[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    return alpha, np.sum(np.log(scale[1:]))


@case(normal(3, 3), normal(4, 3))
def viterbi_score(transitions, emissions):
    """The best score, and the path that has it."""
    T, n = emissions.shape
    score = np.zeros((T, n))
    back = np.zeros((T, n), dtype=int)
    score[0] = emissions[0]
    for t in range(1, T):
        for j in range(n):
            candidates = score[t - 1] + transitions[:, j]
            back[t, j] = 0
            score[t, j] = np.max(candidates) + emissions[t, j]
    return np.max(score[-1])


def gaussian(x, mean, cov):
    d = len(mean)
    diff = x - mean
    exponent = -0.5 * np.dot(np.dot(diff.T, np.linalg.inv(cov)), diff)
    return np.exp(exponent) / np.sqrt((2 * np.pi) ** d * np.linalg.det(cov))


@case(normal(5, 2), normal(2, 2))
def mixture_em(X, means):
    """One step of expectation and maximisation."""
    n, k = len(X), len(means)
    covs = [np.eye(2) * (i + 1) for i in range(k)]
    resp = np.zeros((n, k))
    for i, j in product(range(n), range(k)):
        resp[i, j] = gaussian(X[i], means[j], covs[j]) / k
    resp /= resp.sum(axis=1, keepdims=True)
    N = resp.sum(axis=0)
    new_means = np.zeros((k, 2))
    new_covs = []
    for j in range(k):
        new_means[j] = resp[:, j] @ X / N[j]
        diff = X - new_means[j]
        new_covs.append((resp[:, j, np.newaxis] * diff).T @ diff / N[j])
    return new_means, np.array(new_covs), N / n


@case(normal(6, 2), near([[1.0, 1.0], [-1.0, -1.0]]))
def k_means_step(X, centroids):
    distances = np.array([np.linalg.norm(X - c, axis=1) for c in centroids])
    labels = np.argmin(distances, axis=0)
    one_hot = np.eye(len(centroids))[labels]
    counts = one_hot.sum(axis=0) + 1e-2
    moved = one_hot.T @ X / counts[:, None]
    return moved, np.sum(np.min(distances, axis=0) ** 2)


@case(normal(5, 2), refused=BRANCH)
def k_means_lists(X):
    """Clusters as lists; those without points stay."""
    centres = [X[0], X[1]]
    for _ in range(2):
        clusters = {0: [], 1: []}
        for x in X:
            d = [np.sum((x - c) ** 2) for c in centres]
            clusters[d.index(min(d))].append(x)
        centres = [
            np.mean(clusters[k], axis=0) if len(clusters[k]) else centres[k] for k in clusters
        ]
    return np.array(centres)


@case(normal(3), normal(6, 2))
def svm_hinge(w, X, C=0.5):
    y = np.array([1, -1, 1, 1, -1, -1])
    Xb = np.c_[X, np.ones(len(X))]
    margins = 1 - y * (Xb @ w)
    losses = np.where(margins > 0, margins, 0)
    grad = w.copy()
    for i, m in enumerate(margins):
        grad -= C * np.where(m > 0, 1.0, 0.0) * y[i] * Xb[i]
    return 0.5 * np.dot(w, w) + C * losses.sum(), grad


@case(normal(6), normal(), refused=MASK)
def decision_stump(x, threshold):
    y = np.array([1.0, 2.0, 0.5, -1.0, 3.0, 1.5]) * x
    left, right = y[x <= threshold], y[x > threshold]
    impurity = 0.0
    for side in (left, right):
        if len(side) > 0:
            impurity += len(side) / len(y) * np.var(side)
    return impurity


@case(normal(4), normal(8, 3))
def logistic_newton(w, X, steps=2):
    y = (np.arange(8) % 2).astype(float)
    X = np.hstack((np.ones((X.shape[0], 1)), X))
    for _ in range(steps):
        p = 1 / (1 + np.exp(-X @ w))
        H = X.T @ np.diag(p * (1 - p)) @ X + 0.1 * np.eye(4)
        w = w - np.linalg.solve(H, X.T @ (p - y) + 0.1 * w)
    return w


class Scaler:
    def fit(self, X):
        self.mean_ = np.mean(X, axis=0)
        self.scale_ = np.std(X, axis=0)
        return self

    def transform(self, X):
        X = np.asarray(X)
        if X.ndim == 1:
            X = X.reshape(1, -1)
        return (X - self.mean_) / self.scale_


@case(normal(5, 2), normal(5), uniform(0.1, 1.0))
def ridge_pipeline(X, y, alpha):
    Z = Scaler().fit(X).transform(X)
    Z = np.column_stack([Z, Z[:, 0] * Z[:, 1]])
    A = Z.T @ Z
    A[np.diag_indices_from(A)] += alpha
    w = np.linalg.inv(A).dot(Z.T).dot(y)
    residual = y - Z @ w
    return w, 1 - np.sum(residual**2) / np.sum((y - y.mean()) ** 2)


@case(normal(4, 3), normal(4), uniform(0.05, 0.3))
def lasso_coordinates(X, y, alpha, sweeps=2):
    w = np.zeros(X.shape[1])
    for _ in range(sweeps):
        for j in range(len(w)):
            rest = y - X @ w + X[:, j] * w[j]
            rho = X[:, j] @ rest
            w[j] = np.sign(rho) * np.maximum(np.abs(rho) - alpha, 0) / (X[:, j] ** 2).sum()
    return w


@case(normal(6, 3))
def principal_components(X):
    """The variance along each, which is free of signs."""
    X = X - np.mean(X, axis=0)
    cov = np.cov(X, rowvar=False)
    values, vectors = np.linalg.eigh(cov)
    order = np.arange(len(values))[::-1]
    projected = X @ vectors[:, order[:2]]
    return values[order] / values.sum(), np.abs(projected)


@case(normal(4), normal(3), uniform(0.5, 1.5), uniform(0.1, 0.3))
def gaussian_process(x_train, x_test, length, noise):
    def kernel(a, b):
        K = np.zeros((len(a), len(b)))
        for i, p in enumerate(a):
            for j, q in enumerate(b):
                K[i, j] = np.exp(-0.5 * (p - q) ** 2 / length**2)
        return K

    y = np.sin(x_train)
    K = kernel(x_train, x_train) + noise * np.eye(len(x_train))
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    Ks = kernel(x_train, x_test)
    v = np.linalg.solve(L, Ks)
    return Ks.T @ alpha, np.diag(kernel(x_test, x_test)) - np.sum(v**2, axis=0)


@case(normal(5), uniform(0.3, 0.8))
def kernel_density(samples, bandwidth, points=4):
    grid = np.linspace(-2, 2, points)
    density = np.zeros_like(grid)
    for s in samples:
        density += np.exp(-0.5 * ((grid - s) / bandwidth) ** 2)
    density /= len(samples) * bandwidth * np.sqrt(2 * np.pi)
    return density, np.trapezoid(density, grid)


@case(normal(4, 3), normal(4, 3))
def similarities(X, Y):
    cos = np.apply_along_axis(lambda v: v / np.linalg.norm(v), 1, X) @ Y.T
    return cos, np.corrcoef(X[:, 0], Y[:, 0])[0, 1], np.median(X, axis=0)


@case(uniform(0.1, 1.0, 4), uniform(0.1, 1.0, 4))
def divergences(p, q):
    p, q = np.array(p) / sum(p), np.array(q) / sum(q)
    kl = np.vectorize(lambda a, b: a * np.log(a / b))
    m = 0.5 * (p + q)
    js = 0.5 * kl(p, m).sum() + 0.5 * kl(q, m).sum()
    entropy = -np.sum([v * np.log2(v) for v in p])
    return np.sum(kl(p, q)), js, entropy, np.sum(np.sqrt(p * q))


@case(normal(8), uniform(0.3, 0.9))
def autoregression(x, phi, lags=2):
    n = len(x)
    mean = x.mean()
    acf = [np.sum((x[: n - k] - mean) * (x[k:] - mean)) / n for k in range(lags + 1)]
    R = np.array([[acf[abs(i - j)] for j in range(lags)] for i in range(lags)])
    coefficients = np.linalg.solve(R, acf[1:])
    forecast = list(x[-lags:])
    for _ in range(2):
        forecast.append(np.dot(coefficients, forecast[: -lags - 1 : -1]) * phi)
    return coefficients, np.array(forecast)


@case(normal(3), definite(3), uniform(0.2, 0.8))
def metropolis_ratio(x, cov, step):
    """The logarithms of the acceptance of some proposals."""
    rng = np.random.default_rng(5)
    precision = np.linalg.inv(cov)
    logp = lambda v: -0.5 * v @ precision @ v
    ratios = np.empty(4)
    for i in range(len(ratios)):
        proposal = x + step * rng.standard_normal(3)
        ratios[i] = np.minimum(0, logp(proposal) - logp(x))
        x = x + np.exp(ratios[i]) * (proposal - x)
    return ratios


@case(normal(6, scale=2.0), uniform(0.5, 1.0))
def robust_mean(x, delta, steps=3):
    """Huber's weights."""
    mu = np.median(x)
    for _ in range(steps):
        r = np.abs(x - mu)
        w = np.ones_like(r)
        w = np.where(r > delta, delta / r, w)
        mu = np.average(x, weights=w)
    return mu
