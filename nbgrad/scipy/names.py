"""SciPy's namespaces by their own paths, with derivatives where nbgrad has them."""

from types import ModuleType
from typing import Any

import numpy as np


def joined(plain: ModuleType, own: ModuleType) -> dict[str, Any]:
    """The names of a module of SciPy: nbgrad's functions in place of SciPy's in Python, which take
    no tracked values. SciPy's ufuncs do, and stay.

    All other functions are SciPy's: given a tracked value they raise an error that names them.
    """
    names = {name: getattr(plain, name) for name in plain.__all__}
    for name in own.__all__:
        if not isinstance(names.get(name), np.ufunc):
            names[name] = getattr(own, name)
    return names
