"""Tracked arrays without a value: stale views, and arrays whose values were overwritten."""

from collections.abc import Sequence

import numpy as np

from ..core import memory, modes
from ..core.primitive import Primitive
from ..core.steps import Index, Path, Untracked, names_rest
from ..rules.index import IndexPlan, index_row, is_basic
from .tracked import TrackedArray, result


class StaleView(TrackedArray):
    """A view whose elements have changed. It has no node; reading its node takes the view anew, and
    makes it a TrackedArray again."""

    __slots__ = ()

    @classmethod
    def process(cls, level: int, primitive: Primitive, args: Sequence, params: dict):
        for arg in args:
            if type(arg) is StaleView:
                memory.refresh(arg)
        return TrackedArray.process(level, primitive, args, params)

    def _become(self, new):
        self.__class__ = TrackedArray  # pyright: ignore[reportAttributeAccessIssue]
        TrackedArray._become(self, new)

    def _invalidate(self):
        """It is stale already."""

    def __getitem__(self, index):
        """Read elements from the memory that it is a view of, without reading the others."""
        root, steps = memory.base_of(self)
        shown = any(step.refusal or isinstance(step, Untracked) for step in steps)
        if type(root) is not TrackedArray or not is_basic(index) or shown or modes.active:
            return super().__getitem__(index)
        path, value = Path(steps, index), root.node.value
        out = np.array(path.view(value)[index])
        plan = IndexPlan(index_row, (root.aval,), {"index": path})
        out = result(plan, (root.node,), (root.aval,), out)
        if out.shape or names_rest(index):
            memory.link(self, out, Index(index))
            memory.register_ancestors(self)
        return out


class OverwrittenArray(TrackedArray):
    """The array of a node whose values were overwritten. The node is still in the graph."""

    __slots__ = ()

    @classmethod
    def process(cls, level: int, primitive: Primitive, args: Sequence, params: dict):
        raise next(arg for arg in args if isinstance(arg, OverwrittenArray)).node.value.error()


TrackedArray.stale_view, TrackedArray.overwritten = StaleView, OverwrittenArray
