"""Chains of matrices as graphs."""

from itertools import pairwise

import numpy as np

import nbgrad
from nbgrad.elimination import Graph

el = nbgrad.elimination


def chain_of(*sizes):
    return Graph(sizes, pairwise(range(len(sizes))))


def naumanns(x):
    """t = x0 sin(x0 x1); cos(t), t / x1."""
    t = x[0] * np.sin(x[0] * x[1])
    return np.stack([np.cos(t), t / x[1]])
