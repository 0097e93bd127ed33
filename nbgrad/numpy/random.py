"""`nbgrad.numpy.random`: NumPy's random numbers, in arrays that tracked values can be written to.

`Generator` and `RandomState` are NumPy's own.
"""

import numpy.random as _plain

from .making import made as _made

__all__ = list(_plain.__all__)
_STATE = ("default_rng", "get_state", "seed", "set_state", "shuffle")
for _name in __all__:
    _value = getattr(_plain, _name)
    globals()[_name] = _value if isinstance(_value, type) or _name in _STATE else _made(_value)
