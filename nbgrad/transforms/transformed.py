"""Transformed functions, which are pickled as the call that makes them."""

from collections.abc import Callable
from functools import update_wrapper, wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from ..core.remade import Remade, Wrapper

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result", covariant=True)


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


def transformed(make: Callable, f: Callable, *options: Any) -> Callable:
    """Decorate the function that computes `make(f, *options)`."""
    return lambda computes: Transformed(computes, make, f, *options)


class TakesArgnum(Protocol[Parameters, Result]):
    """The type of a transformation whose `argnums` can be spelled `argnum`."""

    __name__: str

    @overload
    def __call__(self, *args: Parameters.args, **options: Parameters.kwargs) -> Result: ...
    @overload
    def __call__(self, f: Callable, *, argnum: int | tuple[int, ...], **options: Any) -> Result: ...


def takes_argnum(make: Callable[Parameters, Result]) -> TakesArgnum[Parameters, Result]:
    """Decorate a transformation to accept `argnum`, autograd's name for `argnums`."""

    @wraps(make)
    def call(*args: Any, **options: Any) -> Any:
        if "argnum" in options:
            options["argnums"] = options.pop("argnum")
        return make(*args, **options)

    return cast(Any, call)
