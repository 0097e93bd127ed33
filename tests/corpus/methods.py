"""Numerical methods: roots, integrals, equations, differential equations."""

import math

import numpy as np

from corpus import AGREED, BRANCH, case, definite, near, normal, uniform


@case(near(2.0), refused=AGREED)
def newton_root(c, tol=1e-13):
    x, n = 1.5, 0
    while True:
        step = (x**3 - c * x - 1) / (3 * x**2 - c)
        x -= step
        n += 1
        if abs(step) < tol or n > 30:
            return x


@case(near(0.6), refused=AGREED)
def secant_root(c):
    def f(x):
        return np.cos(x) - c * x

    x0, x1 = 0.0, 1.0
    while abs(f(x1)) > 1e-14:
        x0, x1 = x1, x1 - f(x1) * (x1 - x0) / (f(x1) - f(x0))
    return x1


@case(near([0.9, 0.4]), uniform(0.5, 1.0))
def newton_system(v, a, steps=3):
    for _ in range(steps):
        x, y = v
        F = np.array([x**2 + y**2 - 1 - a, x * y - a / 4])
        J = np.array([[2 * x, 2 * y], [y, x]])
        v = v - np.linalg.solve(J, F)
    return v


def rk4(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@case(near([1.0, 0.5]), near([1.1, 0.4, 0.1, 0.4]))
def lotka_volterra(y0, params, n=3, h=0.2):
    a, b, c, d = params

    def deriv(t, y):
        return np.array([a * y[0] - b * y[0] * y[1], c * y[0] * y[1] - d * y[1]])

    ys = np.zeros((n + 1, len(y0)))
    ys[0] = y0
    for i in range(n):
        ys[i + 1] = rk4(deriv, ys[i], i * h, h)
    return ys


@case(normal(3), near([10.0, 28.0, 8 / 3]))
def lorenz(xyz, p, dt=0.01, n=3):
    path = np.empty((n + 1, 3))
    path[0] = xyz
    for i in range(n):
        x, y, z = path[i]
        rate = np.array([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])
        path[i + 1] = path[i] + rate * dt
    return path


@case(definite(3, 2.0), normal(3))
def gauss_seidel(A, b, iterations=3):
    n = len(b)
    x = np.zeros_like(b)
    for _ in range(iterations):
        for i in range(n):
            s = 0
            for j in range(n):
                if j != i:
                    s += A[i, j] * x[j]
            x[i] = (b[i] - s) / A[i, i]
    return x


@case(definite(4, 3.0), normal(4), refused=BRANCH)
def jacobi(A, b, tol=1e-9, max_iterations=200):
    D = np.diag(A)
    R = A - np.diagflat(D)
    x = np.zeros(len(A[0]))
    for _ in range(max_iterations):
        new = (b - np.dot(R, x)) / D
        if np.linalg.norm(new - x) < tol:
            break
        x = new
    return new


@case(definite(3), normal(3))
def conjugate_gradient(A, b):
    x = np.zeros(len(b))
    r = b - A @ x
    p = r.copy()
    for _ in range(len(b)):
        Ap = A @ p
        alpha = (r @ r) / (p @ Ap)
        x = x + alpha * p
        r_new = r - alpha * Ap
        p = r_new + (r_new @ r_new) / (r @ r) * p
        r = r_new
    return x


@case(definite(3))
def power_iteration(A, steps=4):
    v = np.ones(A.shape[0])
    for _ in range(steps):
        w = np.dot(A, v)
        v = w / np.linalg.norm(w)
    return v, np.dot(v, A @ v) / np.dot(v, v)


@case(uniform(3.0, 4.0, 4), uniform(-1.0, 1.0, 3), normal(4))
def thomas(b, a, d):
    """A tridiagonal system, whose upper diagonal is the lower one."""
    n = len(d)
    c = a.copy()
    b, d = b.copy(), np.array(d)
    for i in range(1, n):
        m = a[i - 1] / b[i - 1]
        b[i] -= m * c[i - 1]
        d[i] = d[i] - m * d[i - 1]
    x = np.zeros(n)
    x[-1] = d[-1] / b[-1]
    for i in reversed(range(n - 1)):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


@case(normal(6))
def dft(signal):
    """Cosines and sines in the place of complex numbers."""
    N = len(signal)
    n = np.arange(N)
    k = n.reshape((N, 1))
    angle = -2 * np.pi * k * n / N
    re, im = np.cos(angle) @ signal, np.sin(angle) @ signal
    power = np.zeros(N // 2 + 1)
    for i in range(len(power)):
        power[i] = re[i] ** 2 + im[i] ** 2
    return power / N


@case(uniform(0.5, 1.5), uniform(2.0, 3.0))
def simpson(a, b, n=6):
    h = (b - a) / n
    total = math.e**0 * (np.exp(-(a**2)) + np.exp(-(b**2)))
    for i in range(1, n):
        total += (4 if i % 2 else 2) * np.exp(-((a + i * h) ** 2))
    x = np.linspace(a, b, n + 1)
    return total * h / 3, np.trapezoid(np.log(x), x)


@case(uniform(0.2, 0.5), uniform(1.0, 2.0))
def romberg(a, b, levels=4):
    R = np.zeros((levels, levels))
    for i in range(levels):
        x = np.linspace(a, b, 2**i + 1)
        y = 1 / (1 + x**2)
        h = (b - a) / 2**i
        R[i, 0] = h * (np.sum(y) - 0.5 * (y[0] + y[-1]))
        for j in range(1, i + 1):
            R[i, j] = R[i, j - 1] + (R[i, j - 1] - R[i - 1, j - 1]) / (4**j - 1)
    return R


@case(normal(6), uniform(0.1, 0.4))
def heat_equation(u, r, steps=3):
    u = u.copy()
    for _ in range(steps):
        un = u.copy()
        u[1:-1] = un[1:-1] + r * (un[2:] - 2 * un[1:-1] + un[:-2])
        u[0], u[-1] = u[1], u[-2]
    return u


@case(normal(5), uniform(0.3, 0.9))
def wave_equation(u0, c, steps=3):
    n = u0.shape[0]
    U = np.zeros((steps + 2, n))
    U[0, :] = u0
    U[1, 1:-1] = u0[1:-1] + 0.5 * c**2 * (u0[2:] - 2 * u0[1:-1] + u0[:-2])
    for t in range(1, steps + 1):
        for i in range(1, n - 1):
            U[t + 1, i] = 2 * U[t, i] - U[t - 1, i]
            U[t + 1, i] += c**2 * (U[t, i + 1] - 2 * U[t, i] + U[t, i - 1])
    return U[2:]


@case(normal(4, 4))
def poisson_relaxation(f, omega=1.5, sweeps=2):
    u = np.zeros(f.shape)
    for _ in range(sweeps):
        for i in range(1, 3):
            for j in range(1, 3):
                average = 0.25 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - f[i, j])
                u[i, j] = (1 - omega) * u[i, j] + omega * average
    return u, np.abs(u).max()


@case(normal(2, scale=0.3), uniform(5.0, 8.0))
def stiff_euler(y, k, h=0.1):
    """Implicit steps, each by two of Newton's."""
    out = []
    for _ in range(2):
        z = y
        for _ in range(2):
            g = z - y - h * np.array([z[1], -k * np.sin(z[0])])
            J = np.eye(2) - h * np.array([[0, 1], [-k * np.cos(z[0]), 0]])
            z = z - np.linalg.inv(J) @ g
        y = z
        out.append(y)
    return np.vstack(out)


@case(uniform(0.5, 1.0, 2), refused=AGREED)
def adaptive_euler(y, t_end=0.5, tol=0.02):
    """The step is halved until two halves agree with it."""
    t, h = 0.0, 0.25
    while t < t_end - 1e-12:
        f = lambda s: np.array([s[1], -s[0]])
        whole = y + h * f(y)
        half = y + h / 2 * f(y)
        half = half + h / 2 * f(half)
        if np.max(np.abs(half - whole)) > tol:
            h /= 2
            continue
        t, y = t + h, half
    return y


@case(near(1.0), near(2.0), refused=BRANCH)
def golden_section(a, scale, tol=1e-5):
    """What is returned is the smallest value, not its place."""
    f = lambda x: scale * (x - a) ** 2 + np.cosh(x)
    lo, hi = -1.0, 3.0
    g = (np.sqrt(5) - 1) / 2
    while hi - lo > tol:
        c, d = hi - g * (hi - lo), lo + g * (hi - lo)
        if f(c) < f(d):
            hi = d
        else:
            lo = c
    return f((lo + hi) / 2)
