"""The special functions of `scipy.special` that have a derivative, under its names.

`scipy.special.gammaln(x)` of a tracked array means `nbgrad.special.gammaln(x)`; so do all that are
ufuncs in SciPy. The others, such as `polygamma`, are only here.
"""

from ..rules.activation import erf, erfc, expit
from ..rules.bessel import jv
from ..rules.gammas import betaln, digamma, gammaln, loggamma, polygamma, psi
from ..rules.normal import erfcx, log_ndtr, ndtr

__all__ = [
    "betaln",
    "digamma",
    "erf",
    "erfc",
    "erfcx",
    "expit",
    "gammaln",
    "jv",
    "log_ndtr",
    "loggamma",
    "ndtr",
    "polygamma",
    "psi",
]
