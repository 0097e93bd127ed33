"""Estimators of a state: Kalman filters and their kin."""

import numpy as np

from corpus import BRANCH, case, definite, near, normal, uniform


@case(normal(2), definite(2), normal(3), uniform(0.3, 1.0))
def kalman_track(x, P, zs, r, dt=0.5, q=0.1):
    """Position and velocity from positions."""
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.array([[dt**4 / 4, dt**3 / 2], [dt**3 / 2, dt**2]])
    R = np.array([[r]])
    estimates = []
    for z in zs:
        x = F @ x
        P = F @ P @ F.T + Q
        y = np.array([z]) - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(2) - K @ H) @ P
        estimates.append(x.copy())
    return np.array(estimates), P


class LinearFilter:
    """One step at a time, with its state on the object, and noise as a number or a matrix."""

    def __init__(self, dim_x, dim_z, R):
        self.x = np.zeros(dim_x)
        self.P = np.eye(dim_x)
        self.Q = np.eye(dim_x) * 0.01
        self.F = np.eye(dim_x)
        self.H = np.zeros((dim_z, dim_x))
        self.R = np.eye(dim_z) * R if np.isscalar(R) else R
        self._log_likelihood = 0.0

    def predict(self):
        self.x = np.dot(self.F, self.x)
        self.P = np.dot(self.F, self.P).dot(self.F.T) + self.Q

    def update(self, z):
        y = z - np.dot(self.H, self.x)
        PHT = np.dot(self.P, self.H.T)
        S = np.dot(self.H, PHT) + self.R
        SI = np.linalg.inv(S)
        K = np.dot(PHT, SI)
        self.x = self.x + np.dot(K, y)
        I_KH = np.eye(len(self.x)) - np.dot(K, self.H)
        self.P = np.dot(np.dot(I_KH, self.P), I_KH.T) + np.dot(np.dot(K, self.R), K.T)
        self._log_likelihood += -0.5 * (y @ SI @ y + np.log(np.linalg.det(S)))


@case(uniform(0.5, 2.0), uniform(0.1, 0.9), normal(3, 2))
def filter_object(r, coupling, measurements):
    kf = LinearFilter(3, 2, r)
    kf.F[0, 1] = coupling
    kf.F[1, 2] = coupling
    kf.H[0, 0] = 1.0
    kf.H[1, 2] = 1.0
    for z in measurements:
        kf.predict()
        kf.update(z)
    return kf.x, kf._log_likelihood


@case(near([0.5, 1.0, 0.3]), definite(3), near([1.5, 0.4]))
def extended_update(x, P, z, landmark=(2.0, 1.0)):
    """Range and bearing to a landmark."""
    dx = landmark[0] - x[0]
    dy = landmark[1] - x[1]
    q = dx**2 + dy**2
    H = np.zeros((2, 3))
    H[0, 0] = -dx / np.sqrt(q)
    H[0, 1] = -dy / np.sqrt(q)
    H[1, :] = [dy / q, -dx / q, -1.0]
    expected = np.array([np.sqrt(q), np.arctan2(dy, dx) - x[2]])
    y = z - expected
    y[1] = (y[1] + np.pi) % (2 * np.pi) - np.pi
    S = H @ P @ H.T + np.diag([0.1, 0.01])
    K = P @ H.T @ np.linalg.inv(S)
    return x + K @ y, (np.identity(3) - K @ H) @ P


def sigma_points(x, P, kappa):
    n = len(x)
    U = np.linalg.cholesky((n + kappa) * (P + P.T) / 2).T
    points = np.zeros((2 * n + 1, n))
    points[0] = x
    for k in range(n):
        points[k + 1] = x + U[k]
        points[n + k + 1] = x - U[k]
    weights = np.full(2 * n + 1, 0.5 / (n + kappa))
    weights[0] = kappa / (n + kappa)
    return points, weights


@case(normal(2), definite(2), normal())
def unscented_step(x, P, z, kappa=1.0):
    def hx(s):
        return np.array([np.sqrt(s[0] ** 2 + s[1] ** 2 + 1.0)])

    points, w = sigma_points(x, P, kappa)
    predicted = np.array([hx(s) for s in points])
    z_mean = np.dot(w, predicted)
    S = np.zeros((1, 1))
    T = np.zeros((2, 1))
    for i in range(len(points)):
        dz = predicted[i] - z_mean
        S += w[i] * np.outer(dz, dz)
        T += w[i] * np.outer(points[i] - x, dz)
    S += 0.3
    K = T @ np.linalg.inv(S)
    return x + K @ (np.array([z]) - z_mean), P - K @ S @ K.T


@case(normal(4), uniform(0.2, 1.0, 4), normal())
def rts_smoother(zs, noise, start):
    """Forward and backward pass of a random walk."""
    n = len(zs)
    xs, Ps = np.zeros(n), np.zeros(n)
    xp, Pp = np.zeros(n), np.zeros(n)
    x, P = start, 1.0
    for k in range(n):
        xp[k], Pp[k] = x, P + 0.2
        gain = Pp[k] / (Pp[k] + noise[k])
        x = xp[k] + gain * (zs[k] - xp[k])
        P = (1 - gain) * Pp[k]
        xs[k], Ps[k] = x, P
    for k in range(n - 2, -1, -1):
        c = Ps[k] / Pp[k + 1]
        xs[k] += c * (xs[k + 1] - xp[k + 1])
        Ps[k] += c**2 * (Ps[k + 1] - Pp[k + 1])
    return xs, Ps


@case(normal(6), normal(), uniform(0.5, 1.5))
def particle_weights(particles, z, sigma):
    weights = np.ones(len(particles)) / len(particles)
    weights *= np.exp(-0.5 * ((z - particles) / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma)
    weights += 1e-300
    weights /= np.sum(weights)
    mean = np.average(particles, weights=weights)
    var = np.average((particles - mean) ** 2, weights=weights)
    n_eff = 1.0 / np.sum(np.square(weights))
    return mean, var, n_eff


@case(normal(5), uniform(0.1, 0.4), uniform(0.05, 0.2))
def alpha_beta(data, alpha, beta, dt=1.0):
    x, v = data[0], 0.0
    out = np.empty_like(data)
    for i, z in enumerate(data):
        x_pred = x + v * dt
        residual = z - x_pred
        x = x_pred + alpha * residual
        v += beta * residual / dt
        out[i] = x
    return out


@case(normal(5), uniform(0.5, 1.0), refused=BRANCH)
def gated_mean(zs, gate):
    """Outliers are left out."""
    mean, var = 0.0, 1.0
    for z in zs:
        if abs(z - mean) > 3 * gate * np.sqrt(var):
            continue
        k = var / (var + gate)
        mean = mean + k * (z - mean)
        var = (1 - k) * var
    return np.array([mean, var])


@case(definite(2), normal(2), definite(2), normal(2))
def information_fusion(P1, x1, P2, x2):
    """Two estimates of one state."""
    Y = np.zeros((2, 2))
    y = np.zeros((2, 1))
    for P, x in zip((P1, P2), (x1, x2)):
        I = np.linalg.inv(P)
        Y += I
        y += I @ x.reshape(-1, 1)
    P = np.linalg.inv(Y)
    return (P @ y).ravel(), P
