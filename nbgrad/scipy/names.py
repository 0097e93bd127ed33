"""SciPy's namespaces with functions of nbgrad in place of some of SciPy's."""

from types import ModuleType
from typing import Any

import numpy as np


def joined(plain: ModuleType, own: ModuleType) -> dict[str, Any]:
    """Return the names of a module of SciPy, with functions of nbgrad that have the same name.

    SciPy's ufuncs remain, because they accept tracked values. Other functions of SciPy raise an
    error for tracked values.
    """
    names = {name: getattr(plain, name) for name in plain.__all__}
    for name in own.__all__:
        if not isinstance(names.get(name), np.ufunc):
            names[name] = getattr(own, name)
    return names
