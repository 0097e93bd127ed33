"""`is_a`: isinstance by the type, not by `__class__`.

nbgrad's arrays set `__class__`, so that `isinstance(x, np.ndarray)` and, for numbers,
`isinstance(x, float)` are true for code written for NumPy. The package itself has to distinguish
them, and calls `is_a` for these classes.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["is_a"]

if TYPE_CHECKING:
    is_a = isinstance  # narrows as that does
else:

    def is_a(x: Any, kinds: type | tuple[type, ...]) -> bool:
        """Whether the type of x is one of `kinds` or a subclass, whatever its `__class__` is."""
        return issubclass(type(x), kinds)
