"""SciPy's namespaces with functions of nbgrad in place of some of SciPy's."""

from collections.abc import Callable, Container
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from ..complex import ComplexArray
from ..core.fillable import highest
from ..core.functions import items_of


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


def _is_pair(x: Any) -> bool:
    return type(x) is ComplexArray


def tracked_by(own: Callable, hints: Container[str] = ()) -> Callable[[Callable], Callable]:
    """Decorator: call `own` instead of a function of SciPy if an argument is tracked, without the
    options `hints`, which do not change the result."""

    def join(plain: Callable) -> Callable:
        @wraps(plain)
        def call(*args: Any, **options: Any) -> Any:
            given = (*args, *options.values())
            if highest(*given) is None and not any(map(_is_pair, items_of(given))):
                return plain(*args, **options)
            return own(*args, **{name: x for name, x in options.items() if name not in hints})

        vars(call)["own"] = own
        return call

    return join
