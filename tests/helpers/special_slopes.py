"""Special functions in mpmath, and points for tests of their derivatives."""

from typing import Any

import mpmath

from nbgrad import special


def scaled_i(v, x):
    return mpmath.besseli(v, x) * mpmath.exp(-abs(x))


def scaled_k(v, x):
    return mpmath.besselk(v, x) * mpmath.exp(x)


CASES: dict[str, Any] = {
    "gammaln": (lambda x: mpmath.log(abs(mpmath.gamma(x))), [0.01, 1.4, 30.0, 1e5, -0.5, -2.3]),
    "digamma": (mpmath.digamma, [0.01, 1.4, 30.0, 1e5, -0.5, -2.3]),
    "gamma": (mpmath.gamma, [0.01, 1.4, 30.0, -0.5, -2.3]),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [-3.0, 0.5, 7.9, 8.1, 40.0, 1e6]),
    "log_ndtr": (lambda x: mpmath.log(mpmath.ncdf(x)), [-1e4, -40.0, -5.0, 0.1, 2.0, 8.0]),
    "j0": (lambda x: mpmath.besselj(0, x), [-3.0, 0.01, 0.99, 20.0]),
    "j1": (lambda x: mpmath.besselj(1, x), [-3.0, 0.01, 0.99, 1.01, 20.0]),
    "y1": (lambda x: mpmath.bessely(1, x), [0.01, 0.99, 1.01, 20.0]),
    "i0e": (lambda x: scaled_i(0, x), [-70.0, -2.0, 0.1, 1.1, 58.0, 61.0, 1e4, 1e8]),
    "i1e": (lambda x: scaled_i(1, x), [-90.0, -2.0, 0.1, 0.9, 1.1, 68.0, 71.0, 1e8]),
    "k0e": (lambda x: scaled_k(0, x), [0.01, 1.1, 5.0, 61.0, 1e8]),
    "k1e": (lambda x: scaled_k(1, x), [0.01, 1.1, 5.0, 71.0, 1e8]),
    "exp1": (mpmath.e1, [0.01, 2.0, 50.0]),
    "expi": (mpmath.ei, [-3.0, 0.01, 2.0, 50.0]),
    "lambertw": (lambda x: mpmath.lambertw(x).real, [-0.36, -0.2, -0.01, 0.5, 1e9]),
    "logit": (lambda x: mpmath.log(x / (1 - x)), [0.01, 0.3, 0.8]),
    "zeta": (mpmath.zeta, [-7.3, -3.3, -0.26, -0.24, 0.5, 1.2, 3.0, 20.0]),
    "log_expit": (lambda x: -mpmath.log1p(mpmath.exp(-x)), [-30.0, 0.1, 30.0]),
    "entr": (lambda x: -x * mpmath.log(x), [0.01, 1.0, 30.0]),
    "erfinv": (mpmath.erfinv, [-0.999, 0.1, 0.99]),
    "ndtr": (mpmath.ncdf, [-8.0, -1.0, 0.1, 3.0]),
    "ndtri": (lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), [1e-3, 0.2, 0.9]),
    "erfcinv": (lambda x: mpmath.erfinv(1 - x), [0.01, 0.7, 1.9]),
    "k0": (lambda x: mpmath.besselk(0, x), [0.01, 1.9, 2.1, 30.0]),
    "k1": (lambda x: mpmath.besselk(1, x), [0.01, 1.9, 2.1, 30.0]),
    "y0": (lambda x: mpmath.bessely(0, x), [0.01, 1.1, 20.0]),
    "rgamma": (mpmath.rgamma, [0.01, 1.4, -0.7, 30.0]),
    "loggamma": (mpmath.loggamma, [0.01, 1.4, 30.0, 1e5]),
}

_powers = [0.2, 1.3, 4.0]
OF_SEVERAL: dict[str, Any] = {
    "beta": (lambda x: special.beta(x, 2.5), lambda x: mpmath.beta(x, 2.5), [0.1, 3.0, 30.0]),
    "betaln": (lambda x: special.betaln(x, 2.5), lambda x: mpmath.log(mpmath.beta(x, 2.5)),
               [0.1, 3.0, 300.0]),
    "betainc": (lambda x: special.betainc(1.5, 2.5, x),
                lambda x: mpmath.betainc(1.5, 2.5, 0, x, regularized=True), [0.01, 0.4, 0.99]),
    "gammainc": (lambda x: special.gammainc(2.5, x),
                 lambda x: mpmath.gammainc(2.5, 0, x, regularized=True), [0.1, 3.0, 30.0]),
    "gammaincc": (lambda x: special.gammaincc(2.5, x),
                  lambda x: mpmath.gammainc(2.5, x, regularized=True), [0.1, 3.0, 30.0]),
    "stdtr": (lambda t: special.stdtr(2.5, t),
              lambda t: mpmath.mpf(1) / 2 + mpmath.sign(t) / 2 * mpmath.betainc(
                  0.5, 1.25, 0, t * t / (2.5 + t * t), regularized=True), [-30.0, -0.4, 2.0]),
    "multigammaln": (lambda x: special.multigammaln(x, 3),
                     lambda x: sum(mpmath.loggamma(x - k / 2) for k in range(3)), [1.1, 30.0]),
    "polygamma": (lambda x: special.polygamma(1, x), lambda x: mpmath.polygamma(1, x),
                  [0.1, 1.4, 30.0]),
    "jv": (lambda x: special.jv(1.5, x), lambda x: mpmath.besselj(1.5, x), [0.3, 2.0, 20.0]),
    "yv": (lambda x: special.yv(1.5, x), lambda x: mpmath.bessely(1.5, x), [0.3, 2.0, 20.0]),
    "iv": (lambda x: special.iv(1.5, x), lambda x: mpmath.besseli(1.5, x), [0.3, 2.0, 20.0]),
    "kv": (lambda x: special.kv(1.5, x), lambda x: mpmath.besselk(1.5, x), [0.3, 2.0, 20.0]),
    "ive": (lambda x: special.ive(1.5, x), lambda x: scaled_i(1.5, x), [0.3, 2.0, 20.0]),
    "kve": (lambda x: special.kve(1.5, x), lambda x: scaled_k(1.5, x), [0.3, 2.0, 20.0]),
    "huber": (lambda x: special.huber(1.0, x),
              lambda x: x * x / 2 if abs(x) < 1 else abs(x) - 0.5, [-3.0, 0.5, 2.0]),
    "pseudo_huber": (lambda x: special.pseudo_huber(1.5, x),
                     lambda x: 2.25 * (mpmath.sqrt(1 + (x / 1.5) ** 2) - 1), [-3.0, 1e-6, 20.0]),
    "rel_entr": (lambda x: special.rel_entr(x, 2.0), lambda x: x * mpmath.log(x / 2),
                 [0.01, 1.0, 30.0]),
    "kl_div": (lambda x: special.kl_div(x, 2.0), lambda x: x * mpmath.log(x / 2) - x + 2,
               [0.01, 1.9, 30.0]),
    "xlog1py": (lambda x: special.xlog1py(2.0, x), lambda x: 2 * mpmath.log1p(x),
                [-0.9, 1e-9, 30.0]),
    "boxcox": (lambda x: special.boxcox(x, 0.3), lambda x: (x**mpmath.mpf(0.3) - 1) / 0.3, _powers),
    "boxcox1p": (lambda x: special.boxcox1p(x, 0.3),
                 lambda x: ((1 + x) ** mpmath.mpf(0.3) - 1) / 0.3, _powers),
    "inv_boxcox": (lambda x: special.inv_boxcox(x, 0.3),
                   lambda x: (1 + x * mpmath.mpf(0.3)) ** (1 / mpmath.mpf(0.3)), _powers),
    "inv_boxcox1p": (lambda x: special.inv_boxcox1p(x, 0.3),
                     lambda x: (1 + x * mpmath.mpf(0.3)) ** (1 / mpmath.mpf(0.3)) - 1, _powers),
}  # fmt: skip
