"""Signals in time: filters, spectra, adaptive and recursive estimates."""

import numpy as np

from corpus import BRANCH, MASK, case, near, normal, uniform


@case(normal(6), near([0.2, 0.3, 0.2]), near([1.0, -0.5, 0.2]))
def difference_equation(x, b, a):
    y = np.zeros(len(x))
    for n in range(len(x)):
        for k in range(len(b)):
            if n - k >= 0:
                y[n] += b[k] * x[n - k]
        for k in range(1, len(a)):
            if n - k >= 0:
                y[n] -= a[k] * y[n - k]
        y[n] /= a[0]
    return y


class Biquad:
    """A low-pass filter whose memory is a list."""

    def __init__(self, frequency, q=0.7, rate=8.0):
        w = 2 * np.pi * frequency / rate
        alpha = np.sin(w) / (2 * q)
        b0 = (1 - np.cos(w)) / 2
        self.b = [b0, 2 * b0, b0]
        self.a = [1 + alpha, -2 * np.cos(w), 1 - alpha]
        self.memory = [0.0] * 4

    def process(self, sample):
        x1, x2, y1, y2 = self.memory
        out = self.b[0] * sample + self.b[1] * x1 + self.b[2] * x2 - self.a[1] * y1 - self.a[2] * y2
        out /= self.a[0]
        self.memory[:] = sample, x1, out, y1
        return out


@case(normal(5), uniform(0.5, 1.5))
def low_pass(signal, frequency):
    biquad = Biquad(frequency)
    return np.array([biquad.process(s) for s in signal])


@case(normal(7), normal(7))
def least_mean_squares(x, d, mu=0.05, taps=3):
    w = np.zeros(taps)
    errors = np.zeros(len(x) - taps + 1)
    for n in range(len(errors)):
        window = x[n : n + taps][::-1]
        y = w.T @ window
        errors[n] = d[n + taps - 1] - y
        w += 2 * mu * errors[n] * window
    return w, errors


@case(normal(5, 2), normal(5), near(0.98))
def recursive_least_squares(X, d, lam):
    n = X.shape[1]
    w, P = np.zeros((n, 1)), np.eye(n) * 10
    for x, target in zip(X, d):
        x = x.reshape(-1, 1)
        k = P @ x / (lam + x.T @ P @ x)
        w = w + k * (target - (x.T @ w).item() if False else target - x.T @ w)
        P = (P - k @ x.T @ P) / lam
    return w.flatten(), np.diag(P)


@case(near([2.0, 0.8, 0.3, 0.1], 0.2))
def levinson_durbin(r):
    order = len(r) - 1
    a = np.zeros(order + 1)
    a[0] = 1.0
    error = r[0]
    for i in range(1, order + 1):
        acc = r[i]
        for j in range(1, i):
            acc += a[j] * r[i - j]
        k = -acc / error
        previous = a.copy()
        for j in range(1, i):
            a[j] = previous[j] + k * previous[i - j]
        a[i] = k
        error *= 1 - k**2
    return a, error


@case(normal(8))
def goertzel(x, k=2):
    omega = 2 * np.pi * k / len(x)
    s1 = s2 = 0.0
    for sample in x:
        s1, s2 = sample + 2 * np.cos(omega) * s1 - s2, s1
    return s1**2 + s2**2 - 2 * np.cos(omega) * s1 * s2


@case(normal(7))
def savitzky_golay(y, window=5, degree=2):
    half = window // 2
    V = np.vander(np.arange(-half, half + 1), degree + 1, increasing=True).astype(float)
    weights = np.linalg.inv(V.T @ V) @ V.T
    first = y[0] - np.abs(y[1 : half + 1][::-1] - y[0])
    last = y[-1] + np.abs(y[-half - 1 : -1][::-1] - y[-1])
    padded = np.concatenate((first, y, last))
    return np.convolve(weights[0][::-1], padded, mode="valid"), np.correlate(y, weights[1], "same")


@case(normal(8), uniform(0.2, 0.4))
def lifting_wavelet(x, p):
    """Predict and update in place, on views of the even and the odd."""
    s = x.copy()
    for size in (8, 4):
        part = s[:size]
        even, odd = part[0::2].copy(), part[1::2].copy()
        odd -= p * (even + np.roll(even, -1))
        even += 0.25 * (odd + np.roll(odd, 1))
        part[: size // 2] = even
        part[size // 2 :] = odd
    return s


@case(normal(6), near([0.0, 0.8, 2.1, 3.0, 4.2, 5.0]))
def resampled(y, t):
    new = np.linspace(0.3, 4.7, 5)
    linear = np.interp(new, np.arange(6), y)
    nearest = y[np.round(new).astype(int)]
    slopes = np.diff(y) / np.diff(np.sort(t) + np.arange(6))
    total = np.cumsum(np.insert(slopes, 0, 0))
    return linear, nearest, total, np.trapezoid(y, dx=0.5)


@case(normal(6))
def short_time_spectrum(x, size=4, hop=2):
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    frames = np.lib.stride_tricks.sliding_window_view(x, size)[::hop] * window
    n = np.arange(size)
    basis = np.outer(np.arange(size // 2 + 1), n) * 2 * np.pi / size
    re = np.inner(frames, np.cos(basis))
    im = np.inner(frames, np.sin(basis))
    return 10 * np.log10(re**2 + im**2 + 1e-3)


@case(normal(6), refused=MASK)
def hampel(x, k=1.0):
    """Outliers take the median of the rest."""
    y = x.copy()
    median = np.median(y)
    spread = 1.4826 * np.median(np.abs(y - median))
    outliers = np.abs(y - median) > k * spread
    y[outliers] = median + 0.1 * y[outliers]
    return y


@case(normal(7), refused=BRANCH)
def peaks_and_crossings(x):
    peaks, crossings = [], 0
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            peaks.append(x[i] - 0.25 * (x[i - 1] - x[i + 1]))
        if x[i] * x[i - 1] < 0:
            crossings += 1
    return sum(peaks), crossings * x[0]


@case(uniform(0.0, 1.0, 6), uniform(0.3, 0.8), uniform(0.05, 0.2))
def envelope(x, attack, release):
    """Rises fast and falls slowly."""
    env = np.zeros_like(x)
    level = 0.0
    for i, v in enumerate(np.abs(x)):
        level = np.where(v > level, attack * v + (1 - attack) * level, level * (1 - release))
        env[i] = level
    return env


@case(normal(6), normal())
def complementary_filter(gyro, start, dt=0.1):
    accel = np.stack([np.sin(gyro), np.cos(gyro)], axis=1)
    angle = start
    angles = []
    for w, (ax, ay) in zip(gyro, accel):
        angle = 0.95 * (angle + w * dt) + 0.05 * np.arctan2(ay, ax)
        angles.append(angle)
    return np.asarray(angles), np.unwrap(np.array(angles) * 4)


@case(normal(4), normal(5))
def correlations(a, b):
    full = np.correlate(a, b, "full")
    energy = np.sqrt(np.sum(a**2) * np.sum(b**2))
    lag = np.zeros(len(full))
    for i in range(len(full)):
        for j in range(len(a)):
            k = j - i + len(b) - 1
            if 0 <= k < len(b):
                lag[i] += a[j] * b[k]
    return full / energy, lag
