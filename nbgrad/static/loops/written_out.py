"""`nest_of`: the loop nest of a group, with short axes written out, element after element.

A vector then runs along a longer axis and takes one element of each row. An inner loop of a few
rounds would not fill a vector, and ends with sums across it.
"""

import math

from ...ir.sizes import is_dynamic
from ..lower.buffered import Reduce
from ..schedule.fuse import FusionGroup
from ..schedule.materialize import BufferPolicy
from .nest import Nest

# Rows of up to so many elements; of twice as many where their results are reduced again, as in a
# softmax. LLVM reads columns up to 8 elements apart as vectors, and farther ones one by one.
_SHORT = 8
# Along fewer elements than this, no vector is full.
_LONG = 16
# The operations that are written out, at most.
_MOST = 2000


def nest_of(group: FusionGroup, policy: BufferPolicy) -> Nest:
    """The loop nest that computes the members of a group."""
    first = _written_from(group)
    if first is None or group.split:
        return Nest(group, policy, first)
    nest = Nest(group, policy)
    return Nest(group, policy, first) if nest.is_nested else nest


def _written_from(group: FusionGroup) -> int | None:
    """The first of the axes that may be written out, None for no axis."""
    split, domain = group.split, group.domain
    if split:
        sweeps = len(set(group.sweeps.values()))
        return split if _fits(group, split, _SHORT if sweeps < 3 else 2 * _SHORT) else None
    if not any(isinstance(x, Reduce) for x in group.members) or not _is_short(domain[-1:], _SHORT):
        return None
    axes = range(1, len(domain))
    return next((k for k in axes if _fits(group, k, 2 * _SHORT)), None)


def _fits(group: FusionGroup, first: int, most: int) -> bool:
    """Whether the axes from `first` on have `most` elements or fewer, and those before many."""
    inner, outer = group.domain[first:], group.domain[:first]
    is_long = any(map(is_dynamic, outer)) or math.prod(outer) >= _LONG
    return _is_short(inner, most) and is_long and group.price * math.prod(inner) <= _MOST


def _is_short(axes: tuple[int, ...], most: int) -> bool:
    return not any(map(is_dynamic, axes)) and 0 < math.prod(axes) <= most
