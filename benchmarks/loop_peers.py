"""The kernels with loops in JAX, as its users would write them, for values and gradients."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from loop_kernels import LoopKernel


def jax_runner(name: str, kernel: LoopKernel) -> Callable[[], Any] | None:
    """A call of the compiled value and gradients, until they are there; None without JAX."""
    if find_spec("jax") is None:
        return None
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    function, static, wrt = in_jax()[name]
    given = kernel.given()
    program = jax.jit(jax.value_and_grad(function, wrt), static_argnums=static)
    arguments = [
        jax.device_put(x) if isinstance(x, np.ndarray) else x
        for x in given
    ]  # fmt: skip
    return lambda: jax.block_until_ready(program(*arguments))


def in_jax() -> dict[str, tuple[Callable, tuple[int, ...], tuple[int, ...]]]:
    """Functions, their static arguments, and those by which they are differentiated."""
    import jax
    import jax.numpy as jnp
    from jax.lax import fori_loop, scan

    def gauss_seidel(a, sweeps):
        def sweep(a, _):
            def row(above, given):
                here, below = given

                def point(left, parts):
                    new = (parts[0] + parts[1] + left + parts[2]) / 4.0
                    return new, new

                _, inner = scan(point, here[0], (above[1:-1], below[1:-1], here[2:]))
                here = jnp.concatenate([here[:1], inner, here[-1:]])
                return here, here

            _, rows = scan(row, a[0], (a[1:-1], a[2:]))
            return jnp.concatenate([a[:1], rows, a[-1:]]), None

        return jnp.sum(scan(sweep, a, length=sweeps)[0] ** 2)

    def jacobi(a, b, sweeps):
        def sweep(_, a):
            inner = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25
            return a.at[1:-1, 1:-1].set(inner)

        return jnp.sum(fori_loop(0, sweeps, sweep, a) ** 2)

    def cholesky(a):
        symmetric = jnp.tril(a) + jnp.tril(a, -1).T  # the loops read the lower triangle
        low = jnp.linalg.cholesky(symmetric, symmetrize_input=False)
        return jnp.sum(jnp.log(jnp.diag(low))) + jnp.sum(jnp.tril(low, -1) ** 2)

    def lu(a):
        n = a.shape[0]

        def eliminated(k, a):
            below = jnp.arange(n) > k
            factors = jnp.where(below, a[:, k] / a[k, k], 0.0)
            a = a.at[:, k].set(jnp.where(below, factors, a[:, k]))
            return a - jnp.outer(factors, jnp.where(below, a[k], 0.0))

        return jnp.sum(fori_loop(0, n, eliminated, a) ** 2)

    def durbin(r, y, z):
        n = r.shape[0]
        places = jnp.arange(n)

        def order(k, state):
            y, alpha, beta = state
            beta = (1 - alpha * alpha) * beta
            back = jnp.where(places < k, k - 1 - places, 0)
            turned = jnp.where(places < k, y[back], 0.0)
            alpha = -(r[k] + jnp.sum(r * turned)) / beta
            y = jnp.where(places < k, y + alpha * turned, y)
            return y.at[k].set(alpha), alpha, beta

        first = jnp.zeros(n).at[0].set(-r[0])
        return jnp.sum(fori_loop(1, n, order, (first, -r[0], 1.0))[0] ** 2)

    def nbody(x, v, steps):
        def step(_, state):
            x, v = state
            d = x[None] - x[:, None]
            r2 = jnp.sum(d * d, axis=2) + 0.1
            v = v + 0.01 * jnp.sum(d / (r2 * jnp.sqrt(r2))[:, :, None], axis=1)
            return x + 0.01 * v, v

        x, _ = fori_loop(0, steps, step, (x, v))
        return jnp.sum(x[:, 0] * x[:, 1])

    def lotka_volterra(p, steps, dt):
        def rates(x, y):
            return p[0] * x - p[1] * x * y, p[2] * x * y - p[3] * y

        def step(_, state):
            x, y = state
            k1x, k1y = rates(x, y)
            k2x, k2y = rates(x + 0.5 * dt * k1x, y + 0.5 * dt * k1y)
            k3x, k3y = rates(x + 0.5 * dt * k2x, y + 0.5 * dt * k2y)
            k4x, k4y = rates(x + dt * k3x, y + dt * k3y)
            x = x + dt / 6 * (k1x + 2 * k2x + 2 * k3x + k4x)
            return x, y + dt / 6 * (k1y + 2 * k2y + 2 * k3y + k4y)

        x, y = fori_loop(0, steps, step, (1.0, 0.5))
        return x * x + y

    def garch(p, r):
        def step(h, x):
            return p[0] + p[1] * x * x + p[2] * h, jnp.log(h) + x * x / h

        return jnp.sum(scan(step, 0.1, r)[1])

    def soft_dtw(d, r, gamma):
        def row(above, given):
            costs, first = given

            def point(left, parts):
                cost, corner, over = parts
                both = jnp.stack([corner, over, left])
                new = cost - gamma * jax.nn.logsumexp(-both / gamma)
                return new, new

            _, inner = scan(point, first, (costs, above[:-1], above[1:]))
            return jnp.concatenate([first[None], inner]), None

        return scan(row, r[0], (d, r[1:, 0]))[0][-1]

    def align(a, b, c):
        def row(above, given):
            x, first = given

            def point(left, parts):
                corner, over, y = parts
                both, up, left = corner + x * y, over - 0.3, left - 0.3
                new = jnp.where(
                    (both >= up) & (both >= left), both, jnp.where(up >= left, up, left)
                )
                return new, new

            _, inner = scan(point, first, (above[:-1], above[1:], b))
            return jnp.concatenate([first[None], inner]), None

        return scan(row, c[0], (a, c[1:, 0]))[0][-1]

    def barrier(z, start, sigma, strike):
        dt = 1.0 / z.shape[1]

        def step(state, noise):
            s, alive = state
            s = s * jnp.exp(-0.5 * sigma * sigma * dt + sigma * jnp.sqrt(dt) * noise)
            return (s, alive & (s <= 130.0)), None

        state = jnp.full(z.shape[0], start), jnp.ones(z.shape[0], bool)
        s, alive = scan(step, state, z.T)[0]
        return jnp.sum(jnp.where(alive & (s > strike), s - strike, 0.0)) / z.shape[0]

    def newton(a):  # a loop until a condition has no reverse mode: eight steps are enough
        x = fori_loop(0, 8, lambda _, x: x - (x * x * x - a) / (3 * x * x), a)
        return jnp.sum(x * x)

    return {
        "Gauss-Seidel": (gauss_seidel, (1,), (0,)),
        "Jacobi": (jacobi, (2,), (0,)),
        "Cholesky": (cholesky, (), (0,)),
        "LU": (lu, (), (0,)),
        "Durbin": (durbin, (), (0,)),
        "N-body": (nbody, (2,), (0, 1)),
        "Lotka-Volterra": (lotka_volterra, (1,), (0,)),
        "GARCH": (garch, (), (0, 1)),
        "soft-DTW": (soft_dtw, (), (0, 2)),
        "alignment": (align, (), (0, 1)),
        "barrier option": (barrier, (), (0, 1, 2)),
        "Newton": (newton, (), (0,)),
    }
