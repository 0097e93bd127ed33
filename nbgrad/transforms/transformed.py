"""What transformations give: functions that are pickled as who made them, of what."""

from collections.abc import Callable
from functools import update_wrapper, wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from ..core.remade import Remade, Wrapper

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result", covariant=True)


class Transformed(Remade, Wrapper):
    """A transformed function, `make(f, *options)`: other functions can be transformed alike."""

    def __new__(cls, computes: Callable, make: Callable, f: Callable, *options: Any):
        self = super().__new__(cls, computes, make, f, *options)
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        return self

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method, the instance comes first."""
        if instance is None:
            return self
        return lambda *args, **options: self(instance, *args, **options)

    def of(self, f: Callable) -> Any:
        return self.make(f, *self.arguments[1:])


def transformed(make: Callable, f: Callable, *options: Any) -> Callable:
    """Decorator: the function below is `make(f, *options)`."""
    return lambda computes: Transformed(computes, make, f, *options)


class TakesArgnum(Protocol[Parameters, Result]):
    """The type of a transformation that has `argnums`, with `argnum` as another name of it."""

    __name__: str

    @overload
    def __call__(self, *args: Parameters.args, **options: Parameters.kwargs) -> Result: ...
    @overload
    def __call__(self, f: Callable, *, argnum: int | tuple[int, ...], **options: Any) -> Result: ...


def takes_argnum(make: Callable[Parameters, Result]) -> TakesArgnum[Parameters, Result]:
    """Decorator: `argnum`, as autograd calls it, may stand for `argnums`."""

    @wraps(make)
    def call(*args: Any, **options: Any) -> Any:
        if "argnum" in options:
            options["argnums"] = options.pop("argnum")
        return make(*args, **options)

    return cast(Any, call)
