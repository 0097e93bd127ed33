"""`njit`: Numba's compiled functions, with derivatives."""

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, overload

from ..compiler.njit_arguments import answer, given, is_signature, with_numba
from ..compiler.numba_api import CPUDispatcher, NumbaError
from ..complex import ComplexArray
from ..core.array import Array
from ..core.fillable import Filled
from ..errors import ArgumentTypeError, NoRuleError
from ..transforms import trees
from ..transforms.direct import register
from ..transforms.transformed import Parameters, Result
from . import array_rules as array_rules
from . import by_size as by_size
from . import constant_calls as constant_calls
from . import exponential as exponential
from . import foreign as foreign
from . import foreign_arrays as foreign_arrays
from . import histograms as histograms
from . import of_scipy as of_scipy
from . import recorded as recorded
from . import ruled as ruled
from . import stand_ins as stand_ins
from . import typed as typed
from .beyond import run
from .call import call, look, on_copies
from .call_plan import CallPlan
from .calls import Bound
from .gradients import value_and_gradients
from .primitive import derived
from .report import plan_of, source_of
from .signature import Signature

__all__ = ["njit"]


@overload
def njit(
    signature_or_function: Callable[Parameters, Result], **options: Any
) -> "Njit[Parameters, Result]": ...
@overload
def njit(
    **options: Any,
) -> "Callable[[Callable[Parameters, Result]], Njit[Parameters, Result]]": ...
@overload  # with signatures, or a function of unknown type
def njit(signature_or_function: Any, **options: Any) -> Any: ...
def njit(signature_or_function: Any = None, **options: Any) -> Any:
    """Compile a function with Numba, so that it has derivatives.

    Arguments:
        signature_or_function: a Python function, a function that Numba compiled, or signatures of
            Numba. Without a function, a decorator is returned.
        options: those of `numba.njit`, such as `parallel`, `fastmath`, `cache`, `error_model`.

    The result is a dispatcher of Numba. It can be called from Python and from other `@njit`
    functions, at the speed of `numba.njit` and with the same numbers. It takes and returns numbers
    and arrays, real or complex, and tuples of them. Every transformation takes it, and functions
    that `numba.njit` made: `grad`, `value_and_grad`, `vjp`, `jvp`, `jacobian`, `vmap`, `compile`,
    and the others. A call with a tracked argument is one op. Loops are not unrolled: one program
    serves all shapes; `fn.source` shows it and `fn.plan` tells what the reverse pass records.

    Arrays that the function writes to are results, too: a tracked array changes in place, and the
    derivative is the one with respect to the elements that it held before. Under a transformation,
    as in `grad(f)(a)`, the function writes to copies, and `a` is unchanged. The result of a
    function that returns nothing is then the array that it wrote to, or a tuple of these. Global
    arrays that the function reads are constants, as in Numba.

    Raises, when a derivative is computed:
        NoRuleError: the function does what has no derivative. The error names the line.
        GraphError: an array that is written to shares memory with another argument, or is a leaf.
        UntrackedError: an element that depends on a tracked value would be written to a plain
            array.

    >>> @nbgrad.njit
    ... def power(x, n):
    ...     y = 1.0
    ...     for i in range(n):
    ...         y = y * x
    ...     return y
    >>> value, slope = nbgrad.value_and_grad(power)(2.0, 3)
    >>> float(value), float(slope)
    (8.0, 12.0)
    """
    f = signature_or_function
    if f is None or is_signature(f):
        return partial(_compiled, f, options)
    return _compiled(None, options, f)


def _compiled(signatures: Any, options: dict[str, Any], f: Callable) -> Any:
    if isinstance(f, CPUDispatcher):
        options = {**f.targetoptions, **options}
        options.pop("nopython", None)
        f = f.py_func
    if not isinstance(f, FunctionType):
        trees.require_function("njit", f)
        raise ArgumentTypeError(
            f"njit: {getattr(f, '__name__', 'an object')} is of type {type(f).__name__}: only "
            "functions written with def or lambda are compiled; write one that calls it",
            code="NB-FUNCTION",
        )
    made: Any = with_numba(f, signatures, options)
    if isinstance(made, CPUDispatcher):  # not where Numba is disabled
        made.__class__ = Njit if signatures is None else SignedNjit
    return made


class Njit(CPUDispatcher, Generic[Parameters, Result]):
    """A function compiled by Numba, made by `nbgrad.njit`. Types of arguments for which Numba
    refuses it are those of our own front end."""

    if TYPE_CHECKING:
        py_func: Callable[Parameters, Result]

        def __call__(self, *args: Parameters.args, **options: Parameters.kwargs) -> Result: ...

    def _compile_for_args(self, *args: Any, **options: Any) -> Any:
        compiled: Any = super()
        refused: set[Signature] = vars(self).setdefault("_refused", set())  # pyright: ignore
        is_plain = not any(map(_is_array, args))
        if not (is_plain and refused and self._signature(args) in refused):
            try:
                return compiled._compile_for_args(*args, **options)
            except NumbaError as error:
                try:
                    signature = self._signature(args)
                    _ = signature.primal
                except NoRuleError:
                    raise error from None
                refused.add(signature)
        return lambda *args, **options: run(self, given(self, args), options)

    def _signature(self, args: tuple) -> Signature:
        return Bound(self, given(self, args), {}).signature

    @property
    def source(self) -> str:
        """The program that computes value and gradient, as text with the lines of the function
        beside it. It is the program of the latest gradient, or for the types of the latest call.

        Raises TraceError if the function was not called yet.
        """
        return source_of(self)

    @property
    def plan(self) -> str:
        """The values that this program records while it runs forward: how many bytes in each round
        of which loops, and why. Raises TraceError if the function was not called yet.
        """
        return plan_of(self)


class SignedNjit(Njit):
    """A function that is compiled for given signatures only."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        if any(_is_array(x) for x in (*args, *options.values())):
            return call(self, args, options)
        return super().__call__(*args, **options)


def _is_array(x: Any) -> bool:
    return isinstance(x, (Array, ComplexArray)) or (isinstance(x, tuple) and any(map(_is_array, x)))


answer((Array, ComplexArray, Filled), call)
derived.plan_class = CallPlan
register(CPUDispatcher, on_copies, value_and_gradients, look)
