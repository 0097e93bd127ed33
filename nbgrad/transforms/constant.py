"""`ConstantWarning` for a function whose result does not depend on the differentiated arguments."""

import warnings
from typing import Any
from weakref import WeakSet

import numpy as np

from ..core.leaks import place
from ..core.levels import code_of, new_level, unwrapped
from ..errors import ConstantWarning
from ..runtime.kinds import is_a
from ..runtime.lines import level_of_user

_warned: WeakSet[Any] = WeakSet()


_NUMBERS = (float, int, np.ndarray, np.generic)


def warn(op: str, f: Any, scope: new_level, result: Any) -> None:
    """Warn once per function. The derivative of a linear function is constant, so functions that
    take a derivative do not warn; inside of another derivative, only a plain number does. Functions
    of this package that call the user's function do not warn."""
    inner = unwrapped(f)
    if (getattr(inner, "__module__", None) or "").startswith("nbgrad."):
        return
    if scope.holds or (scope.within and not (inner is f and is_a(result, _NUMBERS))):
        return
    f = inner
    try:
        if f in _warned:
            return
        _warned.add(f)
    except TypeError:  # no weak references to it: the filters of `warnings` apply
        pass
    code = code_of(f)
    name = place(code) if code is not None else type(f).__name__
    warnings.warn(
        f"{op}: the result of {name} does not depend on what is differentiated, so the derivative "
        "is zero: the result is constant. Was the derivative lost, as by .data, by np.round or by "
        "a value that was computed before? If this is intended, silence the warning with "
        'warnings.filterwarnings("ignore", category=nbgrad.ConstantWarning)',
        ConstantWarning,
        stacklevel=level_of_user(),
    )
