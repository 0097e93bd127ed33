"""Particles, fields and populations."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from corpus import AGREED, BRANCH, case, near, normal, uniform


@dataclass
class Body:
    position: object
    velocity: object
    mass: float = 1.0


@case(normal(3, 2), normal(3, 2, scale=0.2), uniform(0.5, 1.5, 3))
def n_body(x, v, m, dt=0.05, steps=2, soft=0.3):
    bodies = [Body(p, q, mass) for p, q, mass in zip(x, v, m)]
    for _ in range(steps):
        for i, a in enumerate(bodies):
            force = np.zeros(2)
            for j, b in enumerate(bodies):
                if i == j:
                    continue
                r = b.position - a.position
                force += b.mass * r / (np.dot(r, r) + soft**2) ** 1.5
            a.velocity = a.velocity + dt * force
        for b in bodies:
            b.position = b.position + dt * b.velocity
    return np.array([b.position for b in bodies])


@case(near([[0.0, 0.1], [1.2, 0.0], [0.1, 1.3], [1.2, 1.2]], 0.1), near(1.0))
def lennard_jones(x, sigma, epsilon=0.5):
    """The energy, and the forces by hand."""
    n = x.shape[0]
    forces = np.zeros_like(x)
    energy = 0.0
    for i in range(n - 1):
        for j in range(i + 1, n):
            r = x[i] - x[j]
            d2 = np.sum(r**2)
            s6 = (sigma**2 / d2) ** 3
            energy += 4 * epsilon * (s6**2 - s6)
            f = 24 * epsilon * (2 * s6**2 - s6) / d2 * r
            forces[i] += f
            forces[j] -= f
    return energy, forces


@case(uniform(-1.0, 1.0, 3, 3), uniform(0.2, 0.5))
def ising_energy(spins, beta, J=1.0, h=0.1):
    N = len(spins)
    energy = 0
    for i in range(N):
        for j in range(N):
            S = spins[i, j]
            nb = spins[(i + 1) % N, j] + spins[i, (j + 1) % N]
            energy += -J * nb * S - h * S
    relaxed = np.tanh(beta * (np.roll(spins, 1, 0) + np.roll(spins, -1, 1)))
    return energy / N**2, relaxed


@case(near([0.9, 0.1]), near([0.5, 0.2]))
def epidemic(state, rates, days=6):
    """Susceptible, infected and recovered shares."""
    beta, gamma = rates
    S, I, R = [state[0]], [state[1]], [1 - state[0] - state[1]]
    for _ in range(days):
        new = beta * S[-1] * I[-1]
        gone = gamma * I[-1]
        S.append(S[-1] - new)
        I.append(I[-1] + new - gone)
        R.append(R[-1] + gone)
    peak = np.max(np.array(I))
    return np.array([S, I, R]), peak


@case(near([10.0, 5.0]), near(0.1), refused=BRANCH)
def harvested_predators(y, rate, steps=8):
    """A harvest where the prey is many."""
    prey, predators = y
    harvested = 0.0
    for _ in range(steps):
        prey, predators = (
            prey + 0.1 * prey - 0.02 * prey * predators,
            predators * (0.95 + rate * 0.1),
        )
        if prey > 10.2:
            harvested += 0.3 * prey
            prey *= 0.7
    return np.array([prey, predators, harvested])


@case(near(1.0), near([0.5, 2.0]), refused=AGREED)
def bouncing_ball(height, p, dt=0.05, steps=20):
    drag, v = p[0] * 0.1, p[1] * 0.0
    y = height
    for i in range(steps):
        v += (-9.81 - drag * v) * dt
        y += v * dt
        if y < 0:
            y, v = -y, -0.8 * v
    return y, v


@case(normal(2), near([1.0, 0.8]))
def double_pendulum(angles, lengths, dt=0.02, g=9.81):
    l1, l2 = lengths

    def rates(s):
        t1, t2, w1, w2 = s
        d = t1 - t2
        den = 2 - np.cos(2 * d) * 0.5
        a1 = (-g * np.sin(t1) - np.sin(d) * (w2**2 * l2 + w1**2 * l1 * np.cos(d))) / (l1 * den)
        a2 = (2 * np.sin(d) * (w1**2 * l1 + g * np.cos(t1))) / (l2 * den)
        return np.array([w1, w2, a1, a2])

    state = np.r_[angles, np.zeros(2)]
    history = deque(maxlen=2)
    for _ in range(3):
        state = state + dt * rates(state + 0.5 * dt * rates(state))
        history.append(state)
    return np.stack(list(history))


@case(normal(6), uniform(0.2, 0.6))
def burgers_upwind(u, nu, dt=0.05, dx=0.5, steps=2):
    for _ in range(steps):
        un = u.copy()
        forward = np.roll(un, -1) - un
        backward = un - np.roll(un, 1)
        convection = np.where(un > 0, un * backward, un * forward) / dx
        diffusion = nu * (np.roll(un, -1) - 2 * un + np.roll(un, 1)) / dx**2
        u = un + dt * (diffusion - convection)
    return u, np.gradient(u, dx)


@case(near([4.0, 9.0, 16.0]), near(1.0))
def verlet_chain(k, m, dt=0.1, steps=3):
    """Masses between springs, the ends fixed."""
    K = np.diag(k[:-1] + k[1:]) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)
    x, v = np.array([0.1, -0.05]), np.zeros(2)
    a = -K @ x / m
    trace = np.zeros((steps, 2))
    for i in range(steps):
        x = x + v * dt + 0.5 * a * dt**2
        new = -K @ x / m
        v = v + 0.5 * (a + new) * dt
        a = new
        trace[i] = x
    return trace, 0.5 * m * v @ v + 0.5 * x @ K @ x


@case(uniform(0.5, 1.5, 4), uniform(1.0, 2.0, 4))
def truss_stiffness(areas, moduli):
    """Elements assembled into one matrix, the first node fixed."""
    n = len(areas) + 1
    K = np.zeros((n, n))
    for e, (A, E) in enumerate(zip(areas, moduli)):
        k = A * E * np.array([[1, -1], [-1, 1]])
        dofs = [e, e + 1]
        K[np.ix_(dofs, dofs)] += k
    f = np.zeros(n)
    f[-1] = 1.0
    u = np.zeros(n)
    u[1:] = np.linalg.solve(K[1:, 1:], f[1:])
    return u, K.diagonal()


@case(uniform(1.0, 2.0), uniform(0.1, 0.5), normal(4))
def ray_tracing(n_glass, thickness, heights):
    """Matrices of a thick lens for a few rays."""

    def refraction(n1, n2, R):
        return np.array([[1.0, 0.0], [(n1 - n2) / (R * n2), n1 / n2]])

    def translation(d):
        M = np.eye(2)
        M[0, 1] = d
        return M

    system = [refraction(1, n_glass, 5.0), translation(thickness), refraction(n_glass, 1, -5.0)]
    M = np.linalg.multi_dot(system[::-1])
    rays = np.vstack((heights, np.full_like(heights, 0.1)))
    return M @ rays, -1 / M[1, 0]


@case(normal(3), uniform(0.5, 1.5))
def magnetic_orbit(v, B, dt=0.1, steps=2):
    """Boris' rotation."""
    x = np.zeros(3)
    field = np.array([0.0, 0.0, B])
    t = 0.5 * dt * field
    s = 2 * t / (1 + np.dot(t, t))
    for _ in range(steps):
        prime = v + np.cross(v, t)
        v = v + np.cross(prime, s)
        x = x + dt * v
    return np.concatenate([x, v])


@case(normal(2, 3), normal(3, 3), uniform(0.4, 0.8))
def hopfield(patterns, noise, rate):
    W = np.zeros((3, 3))
    for p in np.tanh(patterns):
        W += np.outer(p, p)
    np.fill_diagonal(W, 0)
    W = rate * (W + W.T) / 2 + 0.01 * noise
    s = np.array([0.5, -0.5, 1.0])
    for i in [0, 2, 1, 0]:
        s[i] = np.tanh(W[i] @ s)
    return s, -0.5 * np.einsum("i,ij,j", s, W, s)


@case(uniform(280.0, 320.0), near([1.2, 0.4]))
def gas(T, ab, R=8.314):
    """Van der Waals' pressure, and the work by a table of volumes."""
    a, b = ab
    V = np.linspace(2.0, 3.0, 5)
    P = R * T / (V - b * 0.1) - a / V**2
    work = np.sum(0.5 * (P[1:] + P[:-1]) * np.diff(V))
    return work, np.interp(2.3, V, P), np.gradient(P, V)


@case(normal(5, dtype=np.float32), normal(2, dtype=np.float32))
def single_precision_decay(x, rates):
    out = np.zeros((3, 5), dtype=x.dtype)
    out[0] = x
    for i in range(2):
        out[i + 1] = out[i] * np.exp(-np.abs(rates[i])) + np.float32(0.1)
    return out, out.mean(axis=0)
