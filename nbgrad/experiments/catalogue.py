"""The experiments, one row each: the list, the commands, the report and the tests come from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nbgrad.experiments import (
    accumulation,
    babysqrt,
    descend,
    digits,
    flower,
    forward_reverse,
    lab_benchmark,
    moons,
    normals,
    polynomial,
    surface,
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
        "surface", LAB, 20, surface.run,
        figures=(
            Figure("loss at the end, of its start", "below 1 %", (0, 0.01), ".2%", (0, 0.5)),
            Figure(
                "joined by hcat: loss at the end, of its start", "below 1 %", (0, 0.01), ".2%",
                (0, 0.5),
            ),
            Figure("first step below 1 %", "2,000 to 20,000", (500, 20_000), ",.0f", (0, np.inf)),
            Figure("both ways apart over the first 50 steps", "the same", (0, 1e-9), ".0e"),
        ),
        short={"steps": 500},
    ),
    Experiment(
        "flower", LAB, 6, flower.run,
        figures=(
            Figure("points", "896", (896, 896), ".0f"),
            Figure("gradient and 5-point differences apart", "small", (0, 1e-6), ".0e"),
            Figure("loss at the end, of its start", "it learns", (0, 0.02), ".2%", (0, 0.2)),
            Figure("accuracy", "at least 99 %", (0.99, 1), ".1%", (0.5, 1)),
        ),
        short={"steps": 2000},
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
        "polynomial", MICROGRAD, 9, polynomial.run,
        figures=(
            Figure("the four ways apart, relative", "the same result", EXACT, ".0e"),
            Figure("loss of the target", "416.62, by its noise", (100, 2000), ".2f"),
            Figure("loss of the analytic fit", "391.64, by its noise", (100, 2000), ".2f"),
            Figure("descent / analytic fit", "498.50 / 391.64 = 1.27", (1, 2), ".2f", (1, 20)),
            Figure("L-BFGS - analytic fit", "at most 1e-6", (0, 1e-6), ".0e"),
            Figure("200 steps of 1e-4 bring the loss down to", "a part", (0, 0.1), ".1%"),
            Figure("loss of the network, of its start", "it learns", (0, 0.2), ".1%", (0, 0.9)),
        ),
        short={"steps": 300},
    ),
    Experiment(
        "normals", MICROGRAD, 4, normals.run,
        figures=(
            Figure("first loss, mean of the seeds", "near ln 3 = 1.0986", (0.9, 1.5), ".3f"),
            Figure("mean accuracy, relu after the last layer", "about 80 %", (0.6, 1), ".1%"),
            Figure("worst accuracy, relu after the last layer", "a third", (0.3, 0.7), ".1%"),
            Figure("mean accuracy, linear last layer", "about 96 %", (0.93, 1), ".1%"),
            Figure("worst accuracy, linear last layer", "about 96 %", (0.85, 1), ".1%"),
        ),
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
