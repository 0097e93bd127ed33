"""Transformed functions, which are pickled as the call that makes them."""

from collections.abc import Callable
from functools import update_wrapper, wraps
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from ..core.remade import Remade, Wrapper

Parameters = ParamSpec("Parameters")
"""The parameters of a user's function, which its transformed functions have, too."""
Result = TypeVar("Result")
_Make = TypeVar("_Make", bound=Callable)


class Typed(Generic[Parameters, Result]):
    """Base class of functions that are called as the user's function, or with `out`."""

    if TYPE_CHECKING:

        @overload
        def __call__(self, *args: Parameters.args, **options: Parameters.kwargs) -> Result: ...
        @overload
        def __call__(self, *args: Any, out: Any, **options: Any) -> Result: ...
        def __call__(self, *args: Any, **options: Any) -> Any: ...


class Transformed(Remade, Wrapper):
    """A transformed function, `make(f, *options)`. `of` applies the same transformation to another
    function."""

    def __new__(cls, computes: Callable, make: Callable, f: Callable, *options: Any):
        self = super().__new__(cls, computes, make, f, *options)
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        return self

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, as methods do."""
        if instance is None:
            return self
        return lambda *args, **options: self(instance, *args, **options)

    def of(self, f: Callable) -> Any:
        return self.make(f, *self.arguments[1:])


def transformed(make: Callable, f: Callable, *options: Any) -> Callable[[Callable], Any]:
    """Decorate the function that computes `make(f, *options)`."""
    return lambda computes: Transformed(computes, make, f, *options)


def takes_argnum(make: _Make) -> _Make:
    """Decorate a transformation to accept `argnum`, autograd's name for `argnums`. Type checkers
    know `argnums` only."""

    @wraps(make)
    def call(*args: Any, **options: Any) -> Any:
        if "argnum" in options:
            options["argnums"] = options.pop("argnum")
        return make(*args, **options)

    return cast(Any, call)
