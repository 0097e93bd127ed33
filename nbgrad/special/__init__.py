"""The special functions of `scipy.special` that have a derivative, under its names.

`scipy.special.gammaln(x)` of a tracked array means `nbgrad.special.gammaln(x)`; so do all that are
ufuncs in SciPy. The others, such as `polygamma` and `logsumexp`, are only here.
"""

from ..rules.activation import erf, erfc, expit, softplus
from ..rules.bessel import i0_of as i0
from ..rules.bessel import i0e, i1e, iv, ive, j0, j1, jv, k0, k0e, k1, k1e, kv, kve, y0, y1, yv
from ..rules.bessel import i1_of as i1
from ..rules.boxcox import boxcox, boxcox1p, inv_boxcox, inv_boxcox1p
from ..rules.elementary import sinc_of as sinc
from ..rules.entropies import (
    entr,
    huber,
    kl_div,
    log_expit,
    logit,
    pseudo_huber,
    rel_entr,
    xlog1py,
    xlogy,
)  # fmt: skip
from ..rules.gammas import (
    beta,
    betainc,
    betaln,
    digamma,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    loggamma,
    polygamma,
    psi,
    zeta,
)  # fmt: skip
from ..rules.integrals import exp1, expi, lambertw
from ..rules.normal import erfcinv, erfcx, erfinv, log_ndtr, ndtr, ndtri
from ..rules.scipys import cbrt, exp2, exp10, expm1, log1p, log_softmax, logsumexp, softmax

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "cbrt",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp1",
    "exp2",
    "exp10",
    "expi",
    "expit",
    "expm1",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "huber",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "inv_boxcox",
    "inv_boxcox1p",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "kl_div",
    "kv",
    "kve",
    "lambertw",
    "log1p",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "polygamma",
    "pseudo_huber",
    "psi",
    "rel_entr",
    "sinc",
    "softmax",
    "softplus",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "yv",
    "zeta",
]
