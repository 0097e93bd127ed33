"""`nbgrad.numpy.random`: NumPy's random functions, with arrays that accept tracked values."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import numpy.random as _plain

from ..capi.gate import gate as _gate
from ..capi.gate import is_tracking as _is_tracking
from ..core.fillable import fillable as _fillable
from ..core.fillable import highest as _highest
from ..core.functions import no_rule as _no_rule
from .modules import names as _names
from .relics import Like as _Like

if _TYPE_CHECKING:
    from numpy.random import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

_STATE = (
    "default_rng", "get_bit_generator", "get_state", "seed", "set_bit_generator", "set_state",
    "shuffle",
)  # fmt: skip


def _drawing(draw: _Any, name: str) -> _Any:
    """Wrap a random function, which raises NoRuleError for tracked arguments."""

    def drawn(*args: _Any, **options: _Any) -> _Any:
        if _highest(*args, *options.values()) is not None:
            raise _no_rule(f"np.random.{name}", "np.random")
        return draw(*args, **options)

    return drawn


def _filling(kind: type) -> type:
    """A generator class whose arrays accept tracked values while anything is tracked. Otherwise it
    creates objects of NumPy's class."""

    def new(cls: type, *args: _Any, **options: _Any) -> _Any:
        if not _is_tracking():
            return kind(*args, **options)
        return kind.__new__(cls, *args, **options)

    def method(name: str) -> _Any:
        plain = getattr(kind, name)
        drawn = _drawing(plain, name)

        def draw(self: _Any, *args: _Any, **options: _Any) -> _Any:
            return _fillable(drawn(self, *args, **options))

        draw.__name__, draw.__doc__ = name, plain.__doc__
        return draw

    drawing = [
        name
        for name, value in vars(kind).items()
        if callable(value) and not name.startswith("_") and name not in (*_STATE, "spawn", "bytes")
    ]
    methods = {name: method(name) for name in drawing}
    body = {"__doc__": kind.__doc__, "__new__": new, "__module__": __name__, **methods}
    return _Like(kind.__name__, (kind,), body)


def default_rng(seed: _Any = None) -> _plain.Generator:
    """`np.random.default_rng`."""
    rng = _plain.default_rng(seed)
    return _Generator(rng.bit_generator) if _is_tracking() else rng


_Generator: _Any = _filling(_plain.Generator)
__all__ = []
__all__ += _plain.__all__
_OWN: dict[str, _Any] = {
    "default_rng": default_rng,
    "Generator": _Generator,
    "RandomState": _filling(_plain.RandomState),
}
for _name in __all__:
    _value = getattr(_plain, _name)
    if not isinstance(_value, type) and _name not in _STATE:
        _OWN[_name] = _gate(_value, _drawing(_value, _name), _fillable, __name__)
__getattr__, __dir__ = _names(globals(), _plain, _OWN)
