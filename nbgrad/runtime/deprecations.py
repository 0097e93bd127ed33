"""Deprecation warnings: names and arguments that a later version removes.

The policy is in `docs/development/releasing.md`: what is deprecated keeps working, with this
warning, for at least two minor versions.
"""

import warnings

from .lines import level_of_user

__all__ = ["deprecated"]


def deprecated(what: str, *, removal: str, instead: str) -> None:
    """Warn that something is deprecated. The warning points at the user's line.

    Arguments:
        what: what is deprecated, such as "nbgrad.grad(wrt=...)".
        removal: the version that no longer has it, such as "0.4.0".
        instead: what to write, such as "use argnums".
    """
    warnings.warn(
        f"{what} is deprecated and will be removed in nbgrad {removal}: {instead}",
        DeprecationWarning,
        stacklevel=level_of_user(),
    )
