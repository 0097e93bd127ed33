"""The gradient of a fit with 20 parameters through an adaptive solver, beside the solution.

    pytest benchmarks/test_ode.py -n 0 --benchmark-enable
    python benchmarks/test_ode.py          a table; with Diffrax and torchdiffeq if installed

The equation is that of five species on a ring, from 0 to 20, with 20 times at which they are
compared. All take the steps of Dormand and Prince's method. Compiling is not in the figures.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import ode

TOLERANCES = (1e-6, 1e-9, 1e-12)
# The gradient takes at most so many times as long as the solution, both compiled.
TARGET = 5.0
RNG = np.random.default_rng(0)
ENDS = [(0.5, 1.0), (0.1, 0.3), (0.8, 1.2), (0.1, 0.4)]
P = np.concatenate([RNG.uniform(low, high, 5) for low, high in ENDS])
Y0, TIMES = RNG.uniform(0.1, 1.0, 5), np.linspace(1.0, 20.0, 20)


def rates(t, y, p, xp=np):
    return y * (p[:5] + p[5:10] * xp.roll(y, 1) - p[10:15] * y - p[15:20] * xp.roll(y, -1))


def loss(p, tol):
    found = ode.solve(rates, (0.0, 20.0), Y0, args=(p,), t_eval=TIMES, rtol=tol, atol=tol)
    return np.sum((found.y - 1.0) ** 2)


def programs(tol: float) -> tuple[Callable, Callable]:
    """The loss, and the loss with its gradient, compiled."""
    of = partial(loss, tol=tol)
    return nbgrad.compile(of), nbgrad.compile(nbgrad.value_and_grad(of))


@pytest.mark.parametrize("tol", TOLERANCES)
def test_gradient(benchmark, tol):
    value, both = programs(tol)
    found, slope = benchmark(both, P)
    moved = P + 1e-5 * np.eye(20)[0], P - 1e-5 * np.eye(20)[0]
    assert np.isclose(found, value(P))
    assert np.isclose(slope[0], (value(moved[0]) - value(moved[1])) / 2e-5, 1e-3)


def of_diffrax(tol: float) -> tuple[Callable, Callable]:
    import diffrax  # pyright: ignore[reportMissingImports]
    import jax  # pyright: ignore[reportMissingImports]
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)
    term = diffrax.ODETerm(partial(rates, xp=jnp))
    options: dict[str, Any] = {
        "saveat": diffrax.SaveAt(ts=jnp.array(TIMES)), "max_steps": 16384,
        "stepsize_controller": diffrax.PIDController(rtol=tol, atol=tol),
    }  # fmt: skip

    def f(p):
        found = diffrax.diffeqsolve(
            term, diffrax.Dopri5(), 0.0, 20.0, None, jnp.array(Y0), p, **options
        )
        return jnp.sum((found.ys - 1.0) ** 2)

    ready = jax.block_until_ready
    value, both = jax.jit(f), jax.jit(jax.value_and_grad(f))
    return lambda p: ready(value(p)), lambda p: ready(both(p))


def of_torchdiffeq(tol: float) -> tuple[Callable, Callable]:
    import torch  # pyright: ignore[reportMissingImports]
    from torchdiffeq import odeint  # pyright: ignore[reportMissingImports]

    y0 = torch.tensor(Y0)
    times = torch.tensor(np.concatenate([[0.0], TIMES]))
    torch.set_num_threads(1)

    def f(p):
        found = odeint(
            lambda t, y: y * (p[:5] + p[5:10] * torch.roll(y, 1) - p[10:15] * y
                              - p[15:20] * torch.roll(y, -1)),
            y0, times, rtol=tol, atol=tol, method="dopri5",
        )  # fmt: skip
        return torch.sum((found[1:] - 1.0) ** 2)

    def value(p):
        with torch.no_grad():
            return f(torch.tensor(p))

    def both(p):
        p = torch.tensor(p, requires_grad=True)
        found = f(p)
        found.backward()
        return found.detach(), p.grad.numpy()

    return value, both


def least(f: Callable, rounds: int = 200) -> float:
    """The shortest time of a call, in microseconds."""
    f(P)
    found = []
    for _ in range(rounds):
        start = perf_counter()
        f(P)
        found.append(perf_counter() - start)
    return 1e6 * min(found)


def main() -> None:
    makers: dict[str, Callable] = {
        "nbgrad": programs,
        "diffrax": of_diffrax,
        "torchdiffeq": of_torchdiffeq,
    }
    for tol in TOLERANCES:
        slopes: list[Any] = []
        for name, make in makers.items():
            try:
                value, both = make(tol)
            except ImportError:
                continue
            slopes.append(np.asarray(both(P)[1]))
            rounds = 3 if name == "torchdiffeq" else 200  # it takes up to seconds
            solution, gradient = least(value, rounds), least(both, rounds)
            print(
                f"{tol:g} {name:11} solution {solution:9.1f} us, gradient {gradient:9.1f} us, "
                f"ratio {gradient / solution:.1f}, "
                f"difference {np.max(abs(slopes[-1] - slopes[0])) / np.max(abs(slopes[0])):.1e}"
            )


if __name__ == "__main__":
    main()
