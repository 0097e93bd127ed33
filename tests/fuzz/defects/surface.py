"""Defects of functions that are made of rows."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest import mock

import numpy as np

from nbgrad.core.array import functions
from nbgrad.rules.surface import quantiles


def median_beside_nan() -> AbstractContextManager:
    """The middle of elements of which some are nan is that of the numbers."""
    return mock.patch.dict(functions, {np.median: quantiles.nanmedian})


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {"median-of-nan": median_beside_nan}
