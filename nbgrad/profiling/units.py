"""Numbers for readers."""

__all__ = ["counted", "in_percent", "in_seconds"]


def in_seconds(seconds: float) -> str:
    """A time."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return "0" if seconds < 1e-9 else f"{seconds / 1e-9:.3g} ns"


def in_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
