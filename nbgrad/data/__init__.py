"""Small data sets, minibatches and labels.

Samples are rows. Random functions take a NumPy Generator or a seed.
"""

from .batches import minibatches, normalise, one_cold, one_hot, split
from .sets import digits, flower, moons, names, normals, polynomial

__all__ = [
    "digits",
    "flower",
    "minibatches",
    "moons",
    "names",
    "normalise",
    "normals",
    "one_cold",
    "one_hot",
    "polynomial",
    "split",
]
