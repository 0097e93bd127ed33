"""Type tests by the type itself.

nbgrad's arrays answer `isinstance(x, np.ndarray)`, and numbers `isinstance(x, float)`, as NumPy's
do, by their `__class__`: code that is written for NumPy takes its own way with them. The package
has to know what they are, so it asks `is_a` for the classes that they stand in for.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["is_a"]

if TYPE_CHECKING:
    is_a = isinstance  # narrows as that does
else:

    def is_a(x: Any, kinds: type | tuple[type, ...]) -> bool:
        """Whether the type of x is one of some classes, or of a subclass of them, whatever its
        `__class__` says."""
        return issubclass(type(x), kinds)
