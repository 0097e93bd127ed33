"""The objects of the graph that C functions refer to, and the emitter for functions on nodes."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from .builtin import slots
from .emitter import Emitter


@dataclass(frozen=True)
class GraphObjects:
    """The classes, functions and tables of nbgrad that these C functions refer to.

    `array`, `node`, `leaf`, `plan` and `aval` are classes with slots; most plans are of `often`, a
    subclass of `plan`. `fillable` is a subclass of np.ndarray. `avals` is the table of `Aval.of`,
    and `active` the set of open modes. Arrays of at most `short` bytes are copied when saved;
    of at least `long` bytes they may be released.
    """

    array: type
    node: type
    leaf: type
    plan: type
    often: type
    aval: type
    fillable: type
    avals: dict
    active: set
    short: int
    long: int
    first_limit: int
    tick: Callable
    add_child: Callable
    aval_of: Callable
    plain_operand: Callable
    error_state: ContextVar
    default_state: np.ndarray


class NodeEmitter(Emitter):
    """Writes a function on nodes of the base level."""

    def __init__(self, node: type, leaf: type, count: int, keywords: bool = False):
        super().__init__(count, keywords)
        self.kinds = id(node), id(leaf)
        self.node = slots(node, *[name for name in node.__slots__ if name != "__weakref__"])

    def is_node(self, x: Any) -> Any:
        """Whether x is a node of the base level."""
        return self.is_a(x, *self.kinds)

    def is_leaf(self, node: Any) -> Any:
        """Whether a node is a leaf; any other has a plan."""
        leaf = self.is_a(node, self.kinds[1])
        self.demand(self.build.or_(leaf, self.is_set(self.load(node, self.node["plan"]))))
        return leaf
