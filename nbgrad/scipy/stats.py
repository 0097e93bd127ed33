"""`scipy.stats`, for programs that use `autograd.scipy.stats`.

Distributions of `nbgrad.stats` have its densities and SciPy's other methods, such as `rvs` and
`ppf`. Each can also be imported as a module:

>>> import nbgrad.scipy.stats.norm as norm
>>> float(nbgrad.grad(norm.logpdf)(2.0))
-2.0
"""

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

import scipy.stats as _plain

from .. import stats as _own
from ..errors import MissingAttribute

if TYPE_CHECKING:
    from scipy.stats import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

    def __getattr__(name: str) -> Any: ...


__all__ = []
__all__ += _plain.__all__


class _Joined:
    """Mixin: attributes that a distribution of nbgrad lacks are those of SciPy's `_plain`."""

    _plain: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise MissingAttribute(name)
        return getattr(self._plain, name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._plain(*args, **options)

    def __reduce__(self) -> tuple:
        return _import_module, (f"{__name__}.{type(self).__name__}",)


globals().update({name: getattr(_plain, name) for name in __all__})
for _name in _own.__all__:
    _kind = type(getattr(_own, _name))
    _facts = {"_plain": getattr(_plain, _name), "__doc__": _kind.__doc__}
    globals()[_name] = type(_name, (_Joined, _kind), _facts)()
    _sys.modules[f"{__name__}.{_name}"] = globals()[_name]
