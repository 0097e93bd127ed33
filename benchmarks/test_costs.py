"""What derivatives cost, in multiples of what they are derivatives of.

    pytest benchmarks/test_costs.py -n 0 --benchmark-enable -rP
    python benchmarks/test_costs.py          a table

Programs of arrays of 100,000 numbers: a gradient should cost at most 5 functions, a product with
the Hessian at most 3 gradients. Both sides are eager and run in turns. Time grows as the graph.
"""

from collections.abc import Callable

import numpy as np
import pytest

import nbgrad
from nbgrad.bench.timing import interleave, keep_memory, once

N = 100_000
GRADIENT, PRODUCT = 5.0, 3.0
# For a product with the Hessian of Rosenbrock of 1,000 numbers, compiled, in seconds.
COMPILED_PRODUCT = 3e-6
LENGTHS = (1_000, 10_000, 100_000)
SLOPE = 1.5  # at most so many times the time of an op in a short graph


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


WEIGHTS = np.random.default_rng(0).normal(size=(200, 200)) / 14.0

PROGRAMS: dict[str, Callable] = {
    "sum of squares": lambda x: np.sum(x * x),
    "elementary functions": lambda x: np.sum(np.exp(-x) * np.sin(x) + np.log1p(x * x)),
    "rosenbrock": rosenbrock,
    "softmax": lambda x: np.sum(nbgrad.softmax(np.reshape(x, (1000, 100))) ** 2),
    "running sums": lambda x: np.sum(np.cumsum(x) * np.tanh(x)) / N,
    "layers": lambda x: np.sum(np.tanh(np.tanh(np.reshape(x, (500, 200)) @ WEIGHTS) @ WEIGHTS)),
    "where and max": lambda x: np.sum(np.where(x > 0.5, x * x, x)) * np.max(x),
}


def point() -> np.ndarray:
    return np.random.default_rng(1).uniform(0.1, 1.0, N)


def calls(f: Callable) -> dict[str, Callable[[], object]]:
    """The function of plain arrays, its gradient, and a product with its Hessian."""
    x, v = point(), np.ones(N)
    gradient, product = nbgrad.grad(f), nbgrad.hvp(f)
    return {"function": lambda: f(x), "gradient": lambda: gradient(x), "hvp": lambda: product(x, v)}


def ratios(f: Callable, rounds: int = 15) -> tuple[float, float]:
    """Of the gradient to the function, and of the product with the Hessian to the gradient."""
    keep_memory()
    found = calls(f)
    by_function = interleave(found, "function", rounds, 0.02)
    by_gradient = interleave(found, "gradient", rounds, 0.02)
    return by_function["gradient"].ratio, by_gradient["hvp"].ratio


@pytest.mark.benchmark(group="costs of derivatives")
@pytest.mark.parametrize("name", PROGRAMS)
def test_costs(benchmark, note, name):
    f = PROGRAMS[name]
    benchmark(calls(f)["gradient"])
    if benchmark.enabled:
        gradient, product = ratios(f)
        note(gradient=round(gradient, 2), target=GRADIENT)
        note(hvp_to_gradient=round(product, 2), target_of_hvp=PRODUCT)


@pytest.mark.benchmark(group="costs of derivatives")
def test_a_compiled_product_with_the_hessian(benchmark, note):
    product = compiled_product()
    expected = nbgrad.hvp(rosenbrock)(*AT)
    np.testing.assert_allclose(product(*AT), expected, rtol=1e-12, atol=1e-10)
    benchmark(lambda: product(*AT))
    if benchmark.enabled:
        note(seconds=once(lambda: product(*AT), 10_000), target=COMPILED_PRODUCT)


AT = np.linspace(0.5, 1.5, 1_000), np.cos(np.arange(1_000.0))


def compiled_product() -> Callable:
    return nbgrad.compile(nbgrad.hvp(rosenbrock))


def chain(length: int) -> Callable[[], object]:
    """The gradient through so many ops on arrays of 10 numbers, every second with two uses."""
    x = np.linspace(0.1, 1.0, 10)

    def f(x):
        y = x
        for _ in range(length // 2):
            y = (y * 0.999) + y * 0.001
        return np.sum(y)

    return lambda: nbgrad.grad(f)(x)


@pytest.mark.benchmark(group="costs of derivatives")
def test_time_grows_as_the_graph(benchmark, note):
    benchmark(chain(LENGTHS[0]))
    if benchmark.enabled:
        slopes = growth()
        note(per_op_against_short={n: round(s, 2) for n, s in slopes.items()}, target=SLOPE)


def growth() -> dict[int, float]:
    """Time for an op in graphs of each length, in multiples of that in the shortest."""
    times = {n: min(once(chain(n), 1) for _ in range(3)) / n for n in LENGTHS}
    return {n: time / times[LENGTHS[0]] for n, time in times.items()}


if __name__ == "__main__":
    print(f"{'':22s} gradient / function   hvp / gradient")
    for name, f in PROGRAMS.items():
        gradient, product = ratios(f)
        print(f"{name:22s} {gradient:19.2f}   {product:14.2f}")
    product = compiled_product()
    product(*AT)
    microseconds = min(once(lambda: product(*AT), 10_000) for _ in range(5)) * 1e6
    print(f"a compiled product with the Hessian of Rosenbrock: {microseconds:.2f} us")
    print("an op in a graph of", ", ".join(f"{n:,}: {s:.2f}" for n, s in growth().items()))
