"""The experiments, one row each: the list, the commands, the report and the tests come from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nbgrad.experiments import (
    accumulation,
    babysqrt,
    descend,
    digits,
    forward_reverse,
    lab_benchmark,
    moons,
    trace,
    transposition,
)
from nbgrad.experiments.sheet import Figure

LAB = "Lab 08: reverse mode, and its lecture"
MICROGRAD = "MicroGrad.jl and AD in Julia"
FOOTGUN = "Autodifferentiation and its footgun"
OURS = "Of our own"


@dataclass(frozen=True)
class Experiment:
    """One experiment. ``run`` puts what it finds on a sheet; its docstring is the help.

    ``seconds`` is its usual time on one core with compiled kernels at hand. ``full`` are the
    options that ``nbgrad run all`` gives, ``short`` those of a quick look.
    """

    name: str
    source: str
    seconds: float
    run: Callable[..., None]
    figures: tuple[Figure, ...] = ()
    full: Mapping[str, Any] = field(default_factory=dict)
    short: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it shows, in one line."""
        return (self.run.__doc__ or "").partition("\n")[0].rstrip(".")


EXACT = (0.0, 1e-12)


def near(value: float, within: float = 1e-13) -> tuple[float, float]:
    """Bounds around a value, by a relative distance."""
    return value - within * abs(value), value + within * abs(value)


EXPERIMENTS = (
    Experiment(
        "descend", LAB, 6, descend.run,
        figures=(
            Figure(
                "x after a step from (1, 1)", "0.891939538826372", near(0.891939538826372), ".15f",
            ),
            Figure("y after a step from (1, 1)", "0.6", near(0.6), ".15f"),
            Figure("height there", "1.1382910542267546", near(1.1382910542267546), ".15f"),
            Figure("first path's distance from -pi / 2", "near the minimum", (0, 0.07)),
            Figure("steps of the first path", "34", (34, 34), ".0f"),
            Figure("steps of the second path", "16", (16, 16), ".0f"),
        ),
    ),
    Experiment(
        "babysqrt", LAB, 2, babysqrt.run,
        figures=(
            Figure("largest error of both modes", "exact: 1 / (2 sqrt(2)) at 2", (0, 1e-15), ".1e"),
            Figure("error of central differences", "2.9e-11", (1e-13, 1e-9), ".1e"),
            Figure("error of 5-point differences", "4e-14", (0, 1e-12), ".1e"),
        ),
    ),
    Experiment(
        "lab-benchmark", LAB, 4, lab_benchmark.run,
        figures=(
            Figure("gain of arrays, accum, 2 x 3", "7.5 in Julia", (1.0, 100), ".1f"),
            Figure("gain of compiled, 2 x 3", "more than 7.5", (3.0, 1000), ".1f"),
            Figure("blocks held, number by number, 2 x 3", "392 in Julia, made", (50, 500), ".0f"),
            Figure("blocks held, arrays, accum, 2 x 3", "31 in Julia, made", (5, 60), ".0f"),
            Figure("gain of arrays, accum, 20 x 30", "hundreds", (50, 1e5), ".0f"),
            Figure("gain of compiled, 20 x 30", "thousands", (50, 1e6), ".0f"),
        ),
        short={"rounds": 1},
    ),
    Experiment(
        "moons", MICROGRAD, 4, moons.run,
        figures=(
            Figure("accuracy", "100 %", (1.0, 1.0), ".1%"),
            Figure("seeds at 100 %, relu on the logits", "59 of 100", (0.5, 0.7), ".0%", (0.2, 1)),
            Figure("seeds at 100 %, linear last layer", "97 of 100", (0.9, 1), ".0%", (0.6, 1)),
        ),
        full={"seeds": 100}, short={"seeds": 5},
    ),
    Experiment(
        "forward-reverse", FOOTGUN, 3, forward_reverse.run,
        figures=(
            Figure("de/da", "12", (12, 12), "g"),
            Figure("de/db", "14", (14, 14), "g"),
            Figure("both modes apart", "0", (0, 0), "g"),
            Figure("largest error of automatic ways", "exact", (0, 1e-14), ".1e"),
        ),
        short={"rounds": 1},
    ),
    Experiment(
        "accumulation", FOOTGUN, 4, accumulation.run,
        figures=(
            Figure("two numbers, forward", "8 multiplications", (8, 8), ".0f"),
            Figure("two numbers, reverse", "10 multiplications", (10, 10), ".0f"),
            Figure("two numbers, markowitz", "7 multiplications", (7, 7), ".0f"),
            Figure("two numbers, optimal", "7 multiplications", (7, 7), ".0f"),
            Figure("least gain over the better mode", "never below 1", (1, 10), ".2f"),
            Figure("largest difference between orders", "rounding", EXACT, ".0e"),
        ),
        short={"rounds": 1},
    ),
    Experiment(
        "transposition", FOOTGUN, 2, transposition.run,
        figures=(Figure("largest difference, relative", "the same gradients", EXACT, ".0e"),),
    ),
    Experiment(
        "trace", FOOTGUN, 9, trace.run,
        figures=(
            Figure(
                "Hutchinson / Hutch++, decaying spectrum, 96 products", "Hutch++ below", (5, 1e4),
                ".0f",
            ),
            Figure("error of the exact divergence", "rounding", EXACT, ".0e"),
        ),
        short={"rounds": 5},
    ),
    Experiment(
        "digits", OURS, 8, digits.run,
        figures=(
            Figure("held-out accuracy", "at least 97 %", (0.97, 1.0), ".1%", short=(0.8, 1.0)),
        ),
        short={"steps": 200},
    ),
)  # fmt: skip
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
