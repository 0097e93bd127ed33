"""Rows: what each op computes and how it is differentiated, one file per family of functions."""

# ruff: noqa: F401 - importing a module registers its rows

from . import (
    activation,
    arithmetic,
    assign,
    convolutions,
    draws,
    elementary,
    evalpoly,
    extremes,
    feedback,
    fourier,
    index,
    layout,
    linalg,
    loss,
    nondiff,
    norm,
    order,
    recurrences,
    reduce,
    refused,
    runs,
    scans,
    select,
    softmax,
    special,
    surface,
    views,
)
