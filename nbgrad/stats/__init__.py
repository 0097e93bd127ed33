"""Log densities in SciPy's parametrisation, with derivatives in the value and in all continuous
parameters.

Each name of `scipy.stats` stands for an object with `logpdf` or `logpmf`, whose arguments have
SciPy's names, order and defaults, and broadcast as in NumPy; lists are accepted too. Plain arrays
give plain arrays, float32 stays float32, and the functions work in all modes, at all orders and in
compiled programs. The logarithm is -inf with derivative 0 outside of the support, and nan for
invalid parameters.

>>> data = np.array([4.9, 5.3, 5.1])
>>> def loss(p):
...     return -np.sum(nbgrad.stats.norm.logpdf(data, p["loc"], np.exp(p["log_scale"])))
>>> float(nbgrad.grad(loss)({"loc": 5.0, "log_scale": 0.0})["log_scale"])  # 3 - 0.11
2.89

`nbgrad.stats()` counts kernels: what was compiled, loaded and called in this process.
"""

import sys
from importlib import import_module
from types import ModuleType

from ..compiler import kernel
from ..runtime import heap
from .bounded import Beta, Chi2, Expon, Gamma, Lognorm
from .counts import Bernoulli, Binom, Poisson
from .line import Cauchy, Laplace, Logistic, Norm, T
from .vectors import Dirichlet, Multinomial, MultivariateNormal

__all__ = [
    "bernoulli",
    "beta",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "laplace",
    "logistic",
    "lognorm",
    "multinomial",
    "multivariate_normal",
    "norm",
    "poisson",
    "t",
]

bernoulli, binom, poisson = Bernoulli(), Binom(), Poisson()
beta, chi2, expon, gamma, lognorm = Beta(), Chi2(), Expon(), Gamma(), Lognorm()
cauchy, laplace, logistic, norm, t = Cauchy(), Laplace(), Logistic(), Norm(), T()
dirichlet, multinomial, multivariate_normal = Dirichlet(), Multinomial(), MultivariateNormal()


class Room(ModuleType):
    """The type of this module, which can be called: `nbgrad.stats()` returns the counters of
    kernels."""

    bernoulli: Bernoulli
    beta: Beta
    binom: Binom
    cauchy: Cauchy
    chi2: Chi2
    dirichlet: Dirichlet
    expon: Expon
    gamma: Gamma
    laplace: Laplace
    logistic: Logistic
    lognorm: Lognorm
    multinomial: Multinomial
    multivariate_normal: MultivariateNormal
    norm: Norm
    poisson: Poisson
    t: T

    def __reduce__(self) -> tuple:
        return import_module, (self.__name__,)  # pickles know plain modules alone

    def __call__(self) -> dict[str, int]:
        """The numbers of kernels that were compiled, loaded from the disk cache, and called in this
        process, and of bytes of freed memory that are kept for new arrays (see `nbgrad.trim`).

        >>> sorted(nbgrad.stats())
        ['called', 'compiled', 'kept', 'loaded']
        """
        return {**kernel.stats(), "kept": heap.kept()}


# `__call__` is looked up on the type, so a function in the module would not be called.
sys.modules[__name__].__class__ = Room
