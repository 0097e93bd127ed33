"""Data to learn from: small sets that are made or bundled, and what turns arrays into batches.

Samples are rows. What is random takes a generator of NumPy's, or a seed.
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
