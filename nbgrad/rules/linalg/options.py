"""Options of SciPy's functions of linear algebra that do not change what they give."""

__all__ = ["HINTS"]

HINTS = frozenset((
    "assume_a", "check_finite", "driver", "lapack_driver", "lwork", "overwrite_a", "overwrite_b",
))  # fmt: skip
