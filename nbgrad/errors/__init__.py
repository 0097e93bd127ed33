"""Exceptions and warnings. Messages name the operation, the shapes, the line and a remedy, and end
with a code in brackets, which docs/guide/errors.md and `nbgrad explain` explain.

The code is part of the text, so it survives pickling and the text of other exceptions.
"""

import re
from importlib import import_module
from typing import Any

import numpy as np

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CFunctionError",
    "CacheWarning",
    "CapturedError",
    "ChangedError",
    "CheckpointError",
    "CompilationWarning",
    "CompiledArgumentError",
    "ComplexError",
    "ConstantWarning",
    "CustomRuleError",
    "DimensionMismatch",
    "DrawnError",
    "DtypeError",
    "EagerOnlyError",
    "EmptyError",
    "GradientMismatch",
    "GraphError",
    "IndexOutOfBounds",
    "IntegerOverflow",
    "LeakedValueError",
    "LoopError",
    "MaskedError",
    "MatrixError",
    "MissingAttribute",
    "MissingExtra",
    "NanError",
    "NbgradError",
    "NbgradWarning",
    "NoFloatError",
    "NoGraphError",
    "NoRuleError",
    "NotLinearError",
    "NotScalarError",
    "OutError",
    "PlainArrayError",
    "ProfileError",
    "RecordingWarning",
    "ResultError",
    "SampleMismatch",
    "SamplingWarning",
    "SizesError",
    "StaticError",
    "StepsError",
    "StructureMismatch",
    "TraceError",
    "TruthError",
    "UnsupportedVersion",
    "UntrackedError",
    "WorkerError",
]

_CODE = r" ?\[(NB-[A-Z]+)\]"


def coded(message: str, code: str) -> str:
    """Return a message that ends with a code, for exceptions of other packages. Codes of errors
    whose text it contains are removed."""
    return f"{re.sub(_CODE, '', message)} [{code}]"


class _Coded(Exception):
    """An exception or warning whose message ends with a code: one that is given, that of an error
    whose text the message contains, or that of the class."""

    code = "NB-ERROR"

    def __init_subclass__(cls, code: str = "", **options: Any):
        super().__init_subclass__(**options)
        cls.code = code or cls.code

    def __init__(self, message: str = "", code: str = "", **options: Any):
        self.code = code or next(iter(re.findall(_CODE, message)[-1:]), type(self).code)
        super().__init__(coded(message, self.code), **options)


class NbgradError(_Coded):
    """Base class of the exceptions of nbgrad. `code` is the code at the end of the message."""


# Derivatives that would be lost, and rules that are missing


class UntrackedError(NbgradError, NotImplementedError, TypeError, code="NB-CONVERT"):
    """A conversion of a tracked value to a plain one would lose its derivative.

    It is a NotImplementedError and a TypeError, which NumPy and SciPy pass on unchanged.
    """


class PlainArrayError(UntrackedError, code="NB-PLAIN"):
    """A tracked value would be written to a plain array, which cannot hold its derivative."""


class NoRuleError(NbgradError, NotImplementedError, code="NB-RULE"):
    """A function without a derivative rule was called with a tracked value."""


class OutError(NoRuleError, code="NB-OUT"):
    """A function cannot write its result to `out`."""


class LoopError(NoRuleError, code="NB-LOOP"):
    """A compiled function does something that has no derivative in compiled loops."""


class CustomRuleError(NbgradError, TypeError, code="NB-CUSTOM"):
    """A derivative that the user defined returned something of another structure."""


# Graphs of tracked values


class GraphError(NbgradError, RuntimeError, code="NB-FREED"):
    """The graph was freed or reset, or an array that its pullbacks need was modified."""


class NoGraphError(GraphError, code="NB-GRAPH"):
    """The value was not computed from the tracked array."""


class ChangedError(GraphError, code="NB-CHANGED"):
    """An array was changed that the backward pass needs."""


class LeakedValueError(NbgradError, RuntimeError, code="NB-LEAK"):
    """A value from inside a transformation was stored and used after the transformation returned.
    Return such values from the function, for example with `has_aux=True`, instead of storing them.
    """


class NanError(NbgradError, FloatingPointError, code="NB-NAN"):
    """An operation returned nan, under `nbgrad.detect_nan` or in training.

    `fitted` is the result of the training until then.
    """

    fitted: Any = None


class GradientMismatch(NbgradError, AssertionError, code="NB-CHECK"):
    """A derivative differs from finite differences."""


# Functions that are recorded


class StepsError(NbgradError, RuntimeError, code="NB-STEPS"):
    """A loop takes more steps than it may."""


class TraceError(NbgradError, TypeError, code="NB-TRACE"):
    """A compiled function depends on a value that is unknown while it is traced."""


class TruthError(TraceError, code="NB-BRANCH"):
    """A branch depends on a value that is unknown while the function is recorded."""


class StaticError(TraceError, code="NB-STATIC"):
    """A number of steps or elements is unknown while the function is recorded."""


class EagerOnlyError(TraceError, code="NB-EAGER"):
    """A function of the eager tier cannot be compiled."""


class CapturedError(TraceError, code="NB-CAPTURE"):
    """A function uses a value from outside that cannot be part of the recorded program."""


class DrawnError(TraceError, code="NB-RANDOM"):
    """A function draws random numbers while it is recorded."""


class SizesError(TraceError, code="NB-SIZES"):
    """A function cannot be compiled for named sizes."""


class CFunctionError(TraceError, code="NB-CFUNC"):
    """A function has no C interface of this kind."""


class CompiledArgumentError(NbgradError, TypeError, code="NB-COMPILED"):
    """A compiled function does not take such an argument."""


# Shapes and arguments


class DimensionMismatch(NbgradError, ValueError, code="NB-SHAPE"):
    """The shapes of the arguments do not match."""


class NotScalarError(DimensionMismatch, code="NB-SCALAR"):
    """The derivative of an array with several elements was asked for, as if it were one number."""


class SampleMismatch(DimensionMismatch, code="NB-SAMPLES"):
    """Arrays do not have the same number of samples along their axes of samples."""


class ArgumentError(NbgradError, ValueError, code="NB-VALUE"):
    """A value of an argument is not supported."""


class EmptyError(ArgumentError, code="NB-EMPTY"):
    """An array or a list without elements, where at least one is needed."""


class ArgumentTypeError(NbgradError, TypeError, code="NB-TYPE"):
    """The type of an argument is not supported."""


class DtypeError(ArgumentTypeError, code="NB-DTYPE"):
    """The dtype of an array is not supported."""


class ComplexError(DtypeError, code="NB-REAL"):
    """A complex number, or an array of another kind than real numbers."""


class NoFloatError(ArgumentTypeError, code="NB-FLOAT"):
    """An argument to differentiate holds no float."""


class MaskedError(ArgumentTypeError, code="NB-MASKED"):
    """A masked array, whose mask would be lost."""


class StructureMismatch(ArgumentTypeError, code="NB-STRUCTURE"):
    """Dicts, lists and tuples of arrays are nested differently."""


class ResultError(ArgumentTypeError, code="NB-RESULT"):
    """A function returned something other than an array or a number."""


class NotLinearError(NbgradError, TypeError, ValueError, code="NB-LINEAR"):
    """A function that must be linear is not."""


class IndexOutOfBounds(NbgradError, IndexError, code="NB-INDEX"):
    """An index is out of bounds."""


class MissingAttribute(NbgradError, AttributeError, code="NB-ATTRIBUTE"):
    """An array or a module does not have this attribute."""


class IntegerOverflow(NbgradError, OverflowError, code="NB-OVERFLOW"):
    """An integer is too large for the dtype."""


class MatrixError(NbgradError, np.linalg.LinAlgError, code="NB-MATRIX"):
    """A matrix is singular, or not positive definite."""


# Files, packages, processes


class CheckpointError(NbgradError, ValueError, code="NB-CHECKPOINT"):
    """A checkpoint cannot be read or written, or belongs to another model."""


class MissingExtra(NbgradError, ImportError, code="NB-EXTRA"):
    """A package that an extra of nbgrad installs is missing."""


class ProfileError(NbgradError, RuntimeError, code="NB-PROFILE"):
    """A profile was opened twice, or is read before it was opened."""


class UnsupportedVersion(NbgradError, ImportError, code="NB-INSTALL"):
    """A package or the installation does not have what nbgrad needs."""


class WorkerError(NbgradError, RuntimeError, code="NB-WORKER"):
    """A worker of `nbgrad.parallel` died, is incompatible, or could not be reached."""


class NbgradWarning(_Coded, UserWarning):
    """Base class of the warnings of nbgrad."""


class CacheWarning(NbgradWarning, code="NB-CACHE"):
    """The kernel cache could not be used. Results are correct, but kernels are compiled again."""


class ConstantWarning(NbgradWarning, code="NB-CONSTANT"):
    """The result of a function does not depend on the differentiated arguments.
    The derivative is zero. The warning is issued once per function; silence it with
    `warnings.filterwarnings("ignore", category=nbgrad.ConstantWarning)`.
    """


class RecordingWarning(NbgradWarning, code="NB-UNROLLED"):
    """A compiled function records each step of a long loop."""


class CompilationWarning(NbgradWarning, code="NB-RECOMPILED"):
    """A function is compiled again and again."""


class SamplingWarning(NbgradWarning, code="NB-DIVERGENT"):
    """Transitions of a sampler diverged, so its draws miss parts of the density."""


def require_unmasked(x: Any, what: str) -> None:
    """Raise MaskedError for a masked array, whose mask would be ignored."""
    if has_mask(type(x)):
        raise MaskedError(lost_mask(what))


def has_mask(kind: type) -> bool:
    """Return whether arrays of this class are masked, without importing `np.ma`."""
    return kind is not np.ndarray and issubclass(kind, np.ndarray) and hasattr(kind, "filled")


def lost_mask(what: str) -> str:
    """Return the error message for a masked array."""
    return (
        f"{what}: a masked array, whose mask would be lost: pass x.filled(value), and select with "
        "np.where(x.mask, other, ...) to ignore masked elements"
    )


def import_extra(module: str, what: str, extra: str, hint: str = "") -> Any:
    """Import a module that an extra of nbgrad installs. Raises MissingExtra if that fails."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{what} needs {module.partition('.')[0]} ({error}): {hint}install it with "
            f'pip install "nbgrad[{extra}]"'
        ) from None
