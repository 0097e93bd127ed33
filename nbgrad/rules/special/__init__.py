"""Functions of `scipy.special`."""

# ruff: noqa: F401 - importing a module registers its rows

from . import (
    aliases,
    bessel,
    boxcox,
    entropies,
    gammas,
    incomplete,
    integrals,
    normal,
)
