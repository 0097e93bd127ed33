"""Machines, particles, fields and images."""

import numpy as np

from .tools import Kind


def arm(t):
    """The Jacobian of where the hand of a robot arm with six joints is."""

    def hand(angles, lengths):
        place, turn = t.np.zeros(3), t.np.eye(3)
        for i in range(6):
            c, s = t.np.cos(angles[i]), t.np.sin(angles[i])
            zero, one = 0.0 * c, 1.0 + 0.0 * c
            if i % 2:
                rows = [[one, zero, zero], [zero, c, -s], [zero, s, c]]
            else:
                rows = [[c, -s, zero], [s, c, zero], [zero, zero, one]]
            turn = turn @ t.np.stack([t.np.stack(row) for row in rows])
            place = place + turn[:, 2] * lengths[i]
        return place

    return t.jacobian(hand)


def arm_arguments(rng):
    return rng.normal(size=6), rng.uniform(0.5, 1.0, size=6)


def particles(t):
    """The energy of a Lennard-Jones cluster by all pairs."""

    def energy(x, mask):
        apart = x[:, None, :] - x[None, :, :]
        squares = t.np.sum(apart**2, axis=2) + (1.0 - mask)
        inverse = 1.0 / squares**3
        return 2.0 * t.np.sum(mask * (inverse**2 - inverse))

    return t.value_and_grad(energy)


def particles_arguments(rng):
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    return grid * 1.1 + 0.05 * rng.normal(size=grid.shape), 1.0 - np.eye(64)


def heat(t):
    """The heat source of a rod, fitted through implicit time steps."""

    def loss(source, conduct, seen):
        n = source.shape[0]
        rigid = 2.0 * t.np.eye(n) - t.np.eye(n, k=1) - t.np.eye(n, k=-1)
        matrix = t.np.eye(n) + t.np.exp(conduct) * rigid

        def step(_, u):
            return t.solve(matrix, u + 0.1 * source)

        return t.np.sum((t.loop(30, step, t.np.zeros(n)) - seen) ** 2)

    return t.value_and_grad(loss, (0, 1))


def heat_arguments(rng):
    return rng.normal(size=40), 0.3, rng.normal(size=40)


def orbit(t):
    """Predators and prey by steps of Runge and Kutta, fitted to what was seen."""

    def loss(p, start, seen):
        def rates(u):
            x, y = u[0], u[1]
            return t.np.stack([p[0] * x - p[1] * x * y, p[2] * x * y - p[3] * y])

        def step(u, _):
            k1 = rates(u)
            k2 = rates(u + 0.025 * k1)
            k3 = rates(u + 0.025 * k2)
            k4 = rates(u + 0.05 * k3)
            u = u + 0.05 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            return u, u

        return t.np.mean((t.scan(step, start, seen)[1] - seen) ** 2)

    return t.value_and_grad(loss, (0, 1))


def orbit_arguments(rng):
    return np.array([1.0, 0.5, 0.3, 0.7]), np.array([1.0, 0.5]), rng.uniform(size=(400, 2))


def registration(t):
    """The distance of an image, moved by an affine map of six numbers, from another one."""

    def loss(p, image, target):
        n = image.shape[0]
        grid = t.np.arange(n) - 0.5 * (n - 1)
        rows, columns = grid[:, None], grid[None, :]
        y = p[0] * rows + p[1] * columns + p[2] + 0.5 * (n - 1)
        x = p[3] * rows + p[4] * columns + p[5] + 0.5 * (n - 1)
        y, x = t.np.clip(y, 0.0, n - 1.001), t.np.clip(x, 0.0, n - 1.001)
        i, j = t.np.floor(y).astype(int), t.np.floor(x).astype(int)
        a, b = y - i, x - j
        found = (
            (1 - a) * (1 - b) * image[i, j]
            + (1 - a) * b * image[i, j + 1]
            + a * (1 - b) * image[i + 1, j]
            + a * b * image[i + 1, j + 1]
        )
        return t.np.mean((found - target) ** 2)

    return t.value_and_grad(loss)


def registration_arguments(rng):
    image = np.cumsum(np.cumsum(rng.normal(size=(64, 64)), axis=0), axis=1) / 64.0
    return (
        np.array([1.0213, 0.0317, 0.4131, -0.0223, 0.9817, -0.6071]),
        image,
        np.roll(image, 1, axis=0),
    )


def truss(t):
    """The compliance of a truss with eight bars, as a function of their areas."""
    nodes = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.5]])
    bars = [(0, 2), (1, 3), (2, 3), (0, 3), (1, 2), (2, 4), (3, 4), (1, 4)]

    def loss(areas, force):
        stiffness = t.np.zeros((10, 10))
        for k, (i, j) in enumerate(bars):
            along = nodes[j] - nodes[i]
            length = np.sqrt(along @ along)
            row = np.zeros(10)
            row[2 * i : 2 * i + 2], row[2 * j : 2 * j + 2] = -along / length, along / length
            stiffness = stiffness + areas[k] / length * t.np.asarray(np.outer(row, row))
        free = stiffness[4:, 4:]
        return force @ t.solve(free, force)

    return t.value_and_grad(loss)


def truss_arguments(rng):
    return rng.uniform(0.5, 1.5, size=8), np.array([0.0, 0.0, 0.0, 0.0, 0.3, -1.0])


mechanics = {
    "robot arm": Kind("Jacobian of six joints", arm, arm_arguments),
    "Lennard-Jones": Kind("64 particles", particles, particles_arguments),
    "heat": Kind("30 implicit steps of 40 numbers", heat, heat_arguments),
    "predators": Kind("400 steps of Runge and Kutta", orbit, orbit_arguments),
    "registration": Kind("an image of 64 x 64, six numbers", registration, registration_arguments),
    "truss": Kind("eight bars", truss, truss_arguments),
}
