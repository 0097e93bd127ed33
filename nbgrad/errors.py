"""Exception and warning types; each message names the op, the shapes and the remedy."""

from typing import Any

import numpy as np

__all__ = [
    "CacheWarning",
    "CheckpointError",
    "ConstantWarning",
    "DimensionMismatch",
    "GraphError",
    "LeakedValueError",
    "MissingExtra",
    "NanError",
    "NbgradError",
    "NoRuleError",
    "TraceError",
    "UntrackedError",
    "WorkerError",
]


def require_unmasked(x: Any, what: str) -> None:
    """Raise TypeError for a masked array: what looks at its data would drop the mask."""
    if has_mask(type(x)):
        raise TypeError(lost_mask(what))


def has_mask(kind: type) -> bool:
    """Whether arrays of this class are masked; it does not load `np.ma`."""
    return kind is not np.ndarray and issubclass(kind, np.ndarray) and hasattr(kind, "filled")


def lost_mask(what: str) -> str:
    """The message about a masked array."""
    return (
        f"{what}: a masked array, whose mask would be lost: give x.filled(value), and choose "
        "by np.where(x.mask, other, ...) where masked elements should not count"
    )


class NbgradError(Exception):
    """Base of every error that nbgrad defines."""


class DimensionMismatch(NbgradError, ValueError):
    """Shapes that do not fit together."""


class NoRuleError(NbgradError, NotImplementedError):
    """A function that nbgrad has no derivative rule for."""


class UntrackedError(NbgradError, NotImplementedError, TypeError):
    """A tracked value was asked for as a plain number or array, which would lose its derivative.

    Being a NotImplementedError and a TypeError, it passes unchanged through NumPy and SciPy.
    """


class GraphError(NbgradError, RuntimeError):
    """The graph cannot be walked: freed, reset, or a buffer it needs has changed."""


class TraceError(NbgradError, TypeError):
    """A function under `nbgrad.compile` asked for something that only a value can answer."""


class LeakedValueError(NbgradError, RuntimeError):
    """A value of a transformation was used after that was over: an attribute or a list kept it.

    Return such values from the function, as with `has_aux=True`, instead of storing them.
    """


class NanError(NbgradError, FloatingPointError):
    """An op gave nan under `nbgrad.detect_nan`, or in a training: `fitted` is what that reached."""

    fitted: Any = None


class CheckpointError(NbgradError, ValueError):
    """A checkpoint that cannot be read or written, or is one of another model."""


class MissingExtra(NbgradError, ImportError):
    """A package that one of nbgrad's extras installs is not there."""


class WorkerError(NbgradError, RuntimeError):
    """A worker of `nbgrad.parallel` died, is not fit to compute, or could not be reached."""


class CacheWarning(UserWarning):
    """The kernel cache could not be used; results are right, compiling is repeated."""


class ConstantWarning(UserWarning):
    """The result of a function does not depend on what is differentiated: derivatives are zero.

    It is given once a function.
    `warnings.filterwarnings("ignore", category=nbgrad.ConstantWarning)` silences it.
    """
