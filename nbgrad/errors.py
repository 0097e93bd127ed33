"""Exceptions and warnings. Messages name the operation, the shapes and a remedy."""

from importlib import import_module
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
    """Raise TypeError for a masked array, whose mask would be ignored."""
    if has_mask(type(x)):
        raise TypeError(lost_mask(what))


def has_mask(kind: type) -> bool:
    """Return whether arrays of this class are masked, without importing `np.ma`."""
    return kind is not np.ndarray and issubclass(kind, np.ndarray) and hasattr(kind, "filled")


def lost_mask(what: str) -> str:
    """Return the error message for a masked array."""
    return (
        f"{what}: a masked array, whose mask would be lost: pass x.filled(value), and select with "
        "np.where(x.mask, other, ...) to ignore masked elements"
    )


class NbgradError(Exception):
    """Base class of the exceptions of nbgrad."""


class DimensionMismatch(NbgradError, ValueError):
    """The shapes of the arguments do not match."""


class NoRuleError(NbgradError, NotImplementedError):
    """A function without a derivative rule was called with a tracked value."""


class UntrackedError(NbgradError, NotImplementedError, TypeError):
    """A conversion of a tracked value to a plain one would lose its derivative.

    It is a NotImplementedError and a TypeError, which NumPy and SciPy pass on unchanged.
    """


class GraphError(NbgradError, RuntimeError):
    """The graph was freed or reset, or an array that its pullbacks need was modified."""


class TraceError(NbgradError, TypeError):
    """A compiled function depends on a value that is unknown while it is traced."""


class LeakedValueError(NbgradError, RuntimeError):
    """A value from inside a transformation was stored and used after the transformation returned.

    Return such values from the function, for example with `has_aux=True`, instead of storing them.
    """


class NanError(NbgradError, FloatingPointError):
    """An operation returned nan, under `nbgrad.detect_nan` or in training.

    `fitted` is the result of the training until then.
    """

    fitted: Any = None


class CheckpointError(NbgradError, ValueError):
    """A checkpoint cannot be read or written, or belongs to another model."""


class MissingExtra(NbgradError, ImportError):
    """A package that an extra of nbgrad installs is missing."""


class WorkerError(NbgradError, RuntimeError):
    """A worker of `nbgrad.parallel` died, is incompatible, or could not be reached."""


def import_extra(module: str, what: str, extra: str, hint: str = "") -> Any:
    """Import a module that an extra of nbgrad installs. Raises MissingExtra if that fails."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{what} needs {module.partition('.')[0]} ({error}): {hint}install it with "
            f'pip install "nbgrad[{extra}]"'
        ) from None


class CacheWarning(UserWarning):
    """The kernel cache could not be used. Results are correct, but kernels are compiled again."""


class ConstantWarning(UserWarning):
    """The result of a function does not depend on the differentiated arguments.

    The derivative is zero. The warning is issued once per function; silence it with
    `warnings.filterwarnings("ignore", category=nbgrad.ConstantWarning)`.
    """
