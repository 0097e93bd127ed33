"""Log densities with known moments."""

import numpy as np

import nbgrad

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def gaussian(x, mean, precision):
    return -0.5 * (x - mean) @ precision @ (x - mean)


def schools(p, effects):
    """Eight schools (Rubin, 1981), non-centred."""
    norm = nbgrad.stats.norm
    effect = p["mean"] + np.exp(p["log_spread"]) * p["z"]
    prior = norm.logpdf(p["mean"], 0.0, 5.0) + norm.logpdf(p["log_spread"], 1.0, 1.0)
    prior += np.sum(norm.logpdf(p["z"]))
    return prior + np.sum(norm.logpdf(effects, effect, ERRORS))


def funnel(p):
    """Neal's funnel by standard normal numbers: `draws` are its parameters."""
    return -0.5 * (p["v"] ** 2 + np.sum(p["z"] ** 2))


def neal(p):
    return {"v": 3.0 * p["v"], "x": np.exp(1.5 * p["v"]) * p["z"]}


SCHOOLS = {"mean": 0.0, "log_spread": 0.0, "z": np.zeros(8)}
