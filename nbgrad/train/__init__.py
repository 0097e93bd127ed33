"""Training: `fit` trains a model; `save` and `load` store trees of arrays.

>>> rng = np.random.default_rng(0)
>>> x, y = nbgrad.data.moons(rng, 100, noise=0.1)
>>> model = nbgrad.nn.Chain(nbgrad.nn.Dense.random(rng, 2, 16), np.tanh,
...                         nbgrad.nn.Dense.random(rng, 16, 2))
>>> fitted = nbgrad.train.fit(model, nbgrad.logit_cross_entropy, (x, y), steps=200,
...                           optimiser=nbgrad.optim.Adam(0.05))
>>> nbgrad.train.accuracy(fitted.model(x), y)
1.0
"""

from .checkpoints import load, save
from .fitting import Fitted, accuracy, fit
from .standing import Moment

__all__ = ["Fitted", "Moment", "accuracy", "fit", "load", "save"]
