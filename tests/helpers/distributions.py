"""Values of scipy.stats to compare `nbgrad.stats` with."""

import warnings

import numpy as np
import scipy.stats

from nbgrad import stats


def scipys(name: str, *args):
    """Return SciPy's log density, without warnings."""
    theirs = getattr(scipy.stats, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (theirs.logpmf if hasattr(theirs, "logpmf") else theirs.logpdf)(*args)


def assert_scipys(name: str, method: str, *args):
    """Compare a method of a distribution with SciPy's, at the same arguments."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(getattr(scipy.stats, name), method)(*args)
    np.testing.assert_allclose(getattr(getattr(stats, name), method)(*args), expected, 1e-11, 1e-15)
