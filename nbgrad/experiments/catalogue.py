"""The experiments, one row each: the list, the commands, the report and the tests come from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nbgrad.experiments import (
    accumulation,
    attention,
    babysqrt,
    backprop,
    basin,
    circuit,
    deblur,
    descend,
    digits,
    digits_conv,
    epidemic,
    flower,
    forward_reverse,
    hmc,
    inverse_heat,
    lab_benchmark,
    moons,
    names,
    normals,
    pendulum,
    polynomial,
    surface,
    trace,
    transposition,
    vanishing,
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
    options that ``nbgrad run all`` gives, ``short`` those of a quick look. ``needs`` is a package
    of an extra of the same name.
    """

    name: str
    source: str
    seconds: float
    run: Callable[..., None]
    figures: tuple[Figure, ...] = ()
    full: Mapping[str, Any] = field(default_factory=dict)
    short: Mapping[str, Any] = field(default_factory=dict)
    needs: str | None = None

    @property
    def title(self) -> str:
        """What it shows, in one line."""
        return (self.run.__doc__ or "").partition("\n")[0].rstrip(".")


EXACT = (0.0, 1e-12)
ANY = (0.0, np.inf)
"""What a clock says depends on who else computes, so a quick look takes any."""


def near(value: float, within: float = 1e-13) -> tuple[float, float]:
    """Bounds around a value, by a relative distance."""
    return value - within * abs(value), value + within * abs(value)


EXPERIMENTS = (
    Experiment(
        "descend", LAB, 4, descend.run,
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
        "surface", LAB, 14, surface.run,
        figures=(
            Figure("loss at the end, of its start", "below 1 %", (0, 0.01), ".2%", (0, 0.5)),
            Figure(
                "loss at the end, of its start, joined by hcat", "below 1 %", (0, 0.01), ".2%",
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
        "babysqrt", LAB, 4, babysqrt.run,
        figures=(
            Figure("largest error of both modes", "exact: 1 / (2 sqrt(2)) at 2", (0, 1e-15), ".1e"),
            Figure("error of central differences", "2.9e-11", (1e-13, 1e-9), ".1e"),
            Figure("error of 5-point differences", "4e-14", (0, 1e-12), ".1e"),
        ),
    ),
    Experiment(
        "lab-benchmark", LAB, 7, lab_benchmark.run,
        figures=(
            Figure("gain of arrays, accum, 2 x 3", "7.5 in Julia", (1.0, 100), ".1f", ANY),
            Figure("gain of compiled, 2 x 3", "more than 7.5", (7.5, 1000), ".1f", ANY),
            Figure("blocks held, number by number, 2 x 3", "392 in Julia, made", (50, 500), ".0f"),
            Figure("blocks held, arrays, accum, 2 x 3", "31 in Julia, made", (5, 60), ".0f"),
            Figure("gain of arrays, accum, 20 x 30", "hundreds", (50, 1e5), ".0f", ANY),
            Figure("gain of compiled, 20 x 30", "thousands", (50, 1e6), ".0f", ANY),
        ),
        short={"rounds": 1},
    ),
    Experiment(
        "polynomial", MICROGRAD, 8, polynomial.run,
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
        "normals", MICROGRAD, 6, normals.run,
        figures=(
            Figure("first loss, mean of the seeds", "near ln 3 = 1.0986", (0.9, 1.5), ".3f"),
            Figure("mean accuracy, relu after the last layer", "about 80 %", (0.6, 1), ".1%"),
            Figure("worst accuracy, relu after the last layer", "a third", (0.3, 0.7), ".1%"),
            Figure("mean accuracy, linear last layer", "about 96 %", (0.93, 1), ".1%"),
            Figure("worst accuracy, linear last layer", "about 96 %", (0.85, 1), ".1%"),
        ),
    ),
    Experiment(
        "moons", MICROGRAD, 6, moons.run,
        figures=(
            Figure("accuracy", "100 %", (1.0, 1.0), ".1%"),
            Figure("seeds at 100 %, relu on the logits", "59 of 100", (0.5, 0.7), ".0%", (0.2, 1)),
            Figure("seeds at 100 %, linear last layer", "97 of 100", (0.9, 1), ".0%", (0.6, 1)),
            Figure("seeds at 100 %, rate 0.5, 500 steps", "9 of 10", (0.85, 1), ".0%", (0.6, 1)),
        ),
        full={"seeds": 100}, short={"seeds": 5},
    ),
    Experiment(
        "backprop", FOOTGUN, 3, backprop.run,
        figures=(
            Figure("parameters", "4,137", (4137, 4137), ",.0f"),
            Figure("gradients compared", "26", (26, 26), ".0f"),
            Figure("largest difference, eager", "at most 1e-12", EXACT, ".0e"),
            Figure("largest difference, compiled", "at most 1e-12", EXACT, ".0e"),
        ),
    ),
    Experiment(
        "names", FOOTGUN, 7, names.run,
        figures=(
            Figure("distinct names", "5,163", (1000, 1e6), ",.0f", (10, 1e6)),
            Figure("held-out loss", "below 2.15, 2.05 is usual", (1.8, 2.15), ".3f", (1, 3.4)),
            Figure("names made up that are new", "most", (0.5, 1), ".0%", (0, 1)),
        ),
        short={"steps": 500}, needs="names",
    ),
    Experiment(
        "vanishing", FOOTGUN, 4, vanishing.run,
        figures=(
            Figure("first layer's gradient, plain", "1e-105", (1e-150, 1e-60), ".0e"),
            Figure("first layer's gradient, batch norm", "0.3", (0.01, 10), ".2f"),
            Figure("sigmoid' at 40", "4.2e-18", (4.2e-18, 4.3e-18), ".3e"),
            Figure("sigmoid' at 40, relative error", "rounding", EXACT, ".0e"),
            Figure("tanh' at 20, relative error", "rounding", EXACT, ".0e"),
        ),
    ),
    Experiment(
        "forward-reverse", FOOTGUN, 4, forward_reverse.run,
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
        "transposition", FOOTGUN, 3, transposition.run,
        figures=(Figure("largest difference, relative", "the same gradients", EXACT, ".0e"),),
    ),
    Experiment(
        "trace", FOOTGUN, 6, trace.run,
        figures=(
            Figure(
                "Hutchinson / Hutch++, 96 products, decaying", "Hutch++ below", (5, 1e4),
                ".0f",
            ),
            Figure("error of the exact divergence", "rounding", EXACT, ".0e"),
        ),
        short={"rounds": 5},
    ),
    Experiment(
        "digits", OURS, 6, digits.run,
        figures=(
            Figure("held-out accuracy", "at least 97 %", (0.97, 1.0), ".1%", short=(0.8, 1.0)),
        ),
        short={"steps": 200},
    ),
    Experiment(
        "digits-conv", OURS, 7, digits_conv.run,
        figures=(
            Figure("held-out accuracy", "at least 98.5 %", (0.985, 1), ".1%", (0.3, 1)),
            Figure("eager step / compiled step", "at least 2", (2, 100), ".1f", ANY),
        ),
        short={"steps": 60},
    ),
    Experiment(
        "attention", OURS, 17, attention.run,
        figures=(
            Figure("first loss / ln of the letters", "near 1", (0.8, 1.6), ".2f"),
            Figure("held-out loss", "below that by pairs", (1, 2.3), ".3f", (1, 5)),
            Figure("held-out loss by pairs of characters", "the mark to beat", (2.3, 3), ".3f"),
        ),
        short={"steps": 20},
    ),
    Experiment(
        "pendulum", OURS, 5, pendulum.run,
        figures=(
            Figure(
                "farthest from the truth, in standard errors", "at most 3", (0, 3), ".2f",
            ),
            Figure("least squares and BFGS apart, relative", "the same", (0, 1e-4), ".0e"),
            Figure(
                "mean square residual, in units of the noise", "near 1", (0.6, 1.5), ".2f",
            ),
            Figure("eager gradient / compiled gradient, time", "many", (2, 1e5), ",.0f", ANY),
        ),
    ),
    Experiment(
        "hmc", OURS, 6, hmc.run,
        figures=(
            Figure("largest distance from a moment, in errors", "at most 4", (0, 4), ".2f"),
            Figure("accepted", "most", (0.6, 1), ".1%"),
            Figure("shrink factor of four chains", "near 1", (1, 1.02), ".4f"),
            Figure("effective samples a second", "many", (1000, 1e8), ",.0f", ANY),
        ),
    ),
    Experiment(
        "epidemic", OURS, 9, epidemic.run,
        figures=(
            Figure("reproduction number, from the truth, in errors", "at most 3", (0, 3), ".2f"),
            Figure("error by Laplace / by draws", "near 1", (0.7, 1.3), ".2f", (0.6, 1.5)),
            Figure(
                "days ahead inside of the 90 % band", "about 90 %", (0.75, 1), ".1%", (0.6, 1),
            ),
            Figure("largest R-hat", "near 1", (0.98, 1.02), ".3f", (0.95, 1.2)),
            Figure("divergent", "0", (0, 4), ".0f", (0, 20)),
            Figure("effective draws a second", "many", (20, 1e7), ",.0f", ANY),
        ),
        short={"draws": 200},
    ),
    Experiment(
        "inverse-heat", OURS, 6, inverse_heat.run,
        figures=(
            Figure("error of the conductivity, relative", "at most 10 %", (0, 0.1), ".1%"),
            Figure("error of the first guess, relative", "it was worse", (0.2, 1), ".1%"),
            Figure("mean square residual, in units of the noise", "near 1", (0.9, 1.1), ".3f"),
            Figure(
                "gradient and differences apart, relative", "small", (0, 1e-7), ".0e",
            ),
        ),
    ),
    Experiment(
        "deblur", OURS, 6, deblur.run,
        figures=(
            Figure("noise of the picture, dB", "it was worse", (15, 25), ".1f"),
            Figure("noise after Wiener's filter, dB", "the picture to beat", (15, 26), ".1f"),
            Figure("noise of the found scene, dB", "better", (22, 40), ".1f", (20, 40)),
            Figure(
                "mean square residual, in units of the noise", "near 1", (0.8, 1.3), ".3f",
                (0.8, 50),
            ),
            Figure("gradient and differences apart, relative", "small", (0, 1e-3), ".0e"),
        ),
        short={"steps": 20},
    ),
    Experiment(
        "circuit", OURS, 4, circuit.run,
        figures=(
            Figure("largest loss up to 1 GHz, dB", "at most 0.5", (0, 0.5), ".3f"),
            Figure("least damping from 1.6 GHz, dB", "at least 40", (40, 60), ".2f"),
            Figure("least damping of the first guess, dB", "it was worse", (0, 10), ".2f"),
            Figure("power that is lost without losses", "0", (0, 1e-12), ".0e"),
            Figure("gradient and differences apart, relative", "small", (0, 1e-7), ".0e"),
        ),
    ),
    Experiment(
        "basin", OURS, 8, basin.run,
        figures=(
            Figure("distance from the letters", "0 if it could", (0, 0.2), ".1%", (0, 0.8)),
            Figure("gradient and differences apart, relative", "small", (0, 1e-9), ".0e"),
            Figure("value and gradient / value, time", "a few", (1, 8), ".1f", ANY),
        ),
        short={"rounds": 20},
    ),
)  # fmt: skip
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}
