"""What transformations give: functions that are pickled as who made them, of what."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any


class Transformed:
    """A transformed function: called like the function that computes it, pickled as the call that
    made it, `make(f, *options)`."""

    def __init__(self, computes: Callable, make: Callable, f: Callable, *options: Any):
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        self._computes, self._made = computes, (make, f, options)

    def __call__(self, *args, **options):
        return self._computes(*args, **options)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method, the instance comes first."""
        if instance is None:
            return self
        return lambda *args, **options: self(instance, *args, **options)

    def __reduce__(self):
        make, f, options = self._made
        return make, (f, *options)

    @property
    def function(self) -> Callable:
        """What was transformed."""
        return self._made[1]

    def of(self, f: Callable) -> Any:
        """The same transformation of another function."""
        make, _, options = self._made
        return make(f, *options)


def transformed(make: Callable, f: Callable, *options: Any) -> Callable:
    """Decorator: the function below is `make(f, *options)`."""
    return lambda computes: Transformed(computes, make, f, *options)
