"""Defects of many kinds, small ones, that prove the fuzzer itself: wrong rules of single rows."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest import mock

from nbgrad.core.primitive import Primitive


def wrong_slope() -> AbstractContextManager:
    """The pushforward of sum forgets half."""
    row = Primitive.registry["sum"]
    right = row.pushforward
    return mock.patch.object(
        row, "pushforward", lambda *args, **params: right(*args, **params) * 0.5, create=True
    )


def wrong_samples() -> AbstractContextManager:
    """The batch rule of flip takes the first sample for all."""
    row = Primitive.registry["flip"]
    right = row.batch

    def batch(size, args, batched, **params):
        out = right(size, args, batched, **params)
        return out[:1].repeat(size, axis=0) if size and hasattr(out, "repeat") else out

    return mock.patch.object(row, "batch", batch, create=True)


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {
    "pushforward of sum": wrong_slope,
    "samples of flip": wrong_samples,
}
