"""`import nbgrad.numpy as np`: NumPy's namespace, for programs whose arrays become tracked.

NumPy hands tracked values to nbgrad by two protocols, which cover most of its functions. Those that
they do not reach are replaced here: functions that make arrays, such as `zeros` and `array`, and
functions that are given lists. Everything else is NumPy's own object. What `zeros` and its kin make
are NumPy's arrays, which tracked values can be written to:

>>> import nbgrad
>>> import nbgrad.numpy as np
>>> def f(x):
...     y = np.zeros(3)
...     y[0] = x[1] * x[0]
...     return np.sum(np.array([y[0], x[0]]))
>>> nbgrad.grad(f)(np.array([2.0, 3.0]))
array([4., 2.])

While nothing is tracked and no transformation runs, all functions are NumPy's in effect: they give
plain arrays.
"""

import numpy as _np

from .making import replaced as _replaced

_MODULES = ("fft", "linalg", "random")
globals().update({name: getattr(_np, name) for name in _np.__all__ if name not in _MODULES})
globals().update(_replaced)
__all__ = list(_np.__all__)


def __getattr__(name: str):
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    return getattr(_np, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_np)})
