"""`Run`: a call of a function with tracked arguments, the common part of all reverse modes."""

from collections.abc import Callable, Sequence
from itertools import islice
from operator import itemgetter
from types import FunctionType
from typing import Any

import numpy as np

from ..complex import is_complex
from ..core.array import Array
from ..core.primitive import level_for, new_level, shape_of
from ..errors import (
    ArgumentTypeError,
    DimensionMismatch,
    DtypeError,
    NoFloatError,
    ResultError,
    StructureMismatch,
)
from ..kernels.shapes import MOST_AXES
from ..rules.dtypes import FLOATS, known
from ..runtime.kinds import is_a
from ..values import backward, graph, leaked, operands
from ..values import tracked as base_level
from ..values.track import leaf_of
from ..values.tracked import TrackedArray, below
from . import constant, trees
from .direct import callee
from .objects import is_number
from .state import State, require_open

_PLAIN = np.ndarray


class Run:
    """A call of a function with leaves of a new level as its arguments.

    `result` is its return value. `nodes` has a node, or None, for each leaf of the differentiated
    arguments. `parts` has, for each argument, its number of leaves and the function that rebuilds
    its structure; it is None if all arguments are arrays. `op` is the name of the transformation,
    for messages.

    Arrays that the function tracks itself, of a higher level, are constants. Earlier arrays of the
    same level are constants of the derivative, too. If the function closes over such arrays,
    `closed` is true: values and cotangents depend on them, and are tracked.

    Unless `demand` is false, an argument without a float raises TypeError.
    """

    __slots__ = (
        "closed",
        "f",
        "kept_graph",
        "level",
        "nodes",
        "op",
        "parts",
        "result",
        "scope",
        "started",
    )

    def __init__(
        self,
        op: str,
        f: Callable,
        args: Sequence,
        positions: Sequence[int],
        options: dict,
        *,
        demand: bool = True,
    ):
        self.op, self.f, self.closed, inputs = op, f, False, list(args)
        nodes: list[graph.Node | None] = []
        self.nodes, self.kept_graph = nodes, None
        states: dict[int, State] = {}  # of arguments that are more than an array
        passed = [*options.values()] if options else []
        for position, x in enumerate(inputs):
            if type(x) is _PLAIN and x.dtype in FLOATS:
                continue
            if position in positions:
                state = states[position] = State(x)
                passed += state.leaves
            else:
                passed.append(x)
        level = self.level = trees.level_for(*passed) if passed else level_for(())
        self.started = graph.tick()
        self.parts: list[tuple[int, Callable]] | None = [] if states else None
        self.scope = new_level(level, op, derives=True)
        with self.scope:
            for position in positions:
                state = states.get(position) if states else None
                if state is None:
                    x = args[position]
                    plain = x.flags.carray and 0 < x.ndim <= MOST_AXES
                    make_leaf = base_level.make_leaf
                    leaf = make_leaf(x, graph.ARGUMENT, level) if plain else leaf_of(x, level)
                    inputs[position] = leaf
                    nodes.append(leaf.node)
                    if self.parts is not None:
                        self.parts.append((1, itemgetter(0)))
                    continue
                require_open(op, state.leaves)
                tracked = [
                    leaf_of(leaf, level) if trees.is_differentiable(leaf) else leaf
                    for leaf in state.leaves
                ]
                own = [x.node if isinstance(x, TrackedArray) else None for x in tracked]
                if demand and not any(own):
                    other = (
                        ", or pass it by keyword, as a constant" if op == "vjp" and position else ""
                    )
                    raise NoFloatError(
                        f"{op}: argument {position} holds no float to differentiate with respect "
                        f"to ({_named(args[position])}); {trees.no_floats(state.leaves)}{other}"
                    )
                inputs[position] = state.rebuild(tracked)
                nodes += own
                if self.parts is not None:
                    self.parts.append((len(own), state.gradient))
            try:
                called = f if type(f) is FunctionType else callee(f)  # one call less
                self.result = called(*inputs, **options)
            except BaseException:
                leaked.end(nodes, op, f)
                raise

    def own(self, x: Any) -> TrackedArray | None:
        """Return the array of this run's level that x stands on, None if there is none."""
        if type(x) is TrackedArray and not self.level:
            return x
        if isinstance(x, TrackedArray) and x.level > self.level:
            x = below(x, self.level + 1)
        return x if isinstance(x, TrackedArray) and x.level == self.level else None

    def plain(self, tree: Any) -> Any:
        """Return a result without this run's level, unless it depends on earlier tracked arrays."""
        level = self.level + self.closed
        if is_number(tree):
            return trees.released(tree, level)
        leaves, rebuild = trees.flatten(tree)
        return rebuild([trees.released(x, level) for x in leaves])

    def look(self, tree: Any) -> None:
        """Note whether a result depends on arrays of this level that existed before the run."""
        if self.closed or not graph.Leaf.tracked:
            return
        leaves = [tree] if is_number(tree) else trees.flatten(tree)[0]
        roots = [own.node for x in leaves if (own := self.own(x)) is not None]
        earlier = [*graph.before(roots, self.started)]
        if earlier:
            leaked.require_open(earlier)
            self._close()

    def end(self) -> None:
        """Mark values that the function kept as leaked, after its pullback has run. The caller
        must hold no arrays of this run."""
        self.result = None
        if not self.closed:
            leaked.end(self.nodes, self.op, self.f)

    def _close(self) -> None:
        self.closed = True
        if self.kept_graph is not None:
            self.kept_graph.closed = True

    def mark_ended(self) -> None:
        """Mark the function as done, while the graph is kept for the pullback."""
        self.kept_graph = leaked.mark(self.nodes, self.op, self.f)
        self.kept_graph.closed = self.closed
        if not is_a(self.result, (np.ndarray, np.generic, float, int)):
            self.result = None  # a value that outlives the graph counts as one that was kept

    def pull(self, outputs: Sequence, cotangents: Sequence) -> tuple:
        """Return the cotangents of each argument in its structure, None for static leaves. Outputs
        that do not depend on the leaves are ignored."""
        seeds: dict[graph.Node, Any] = {}
        for out, ct in zip(outputs, cotangents, strict=True):
            x = self.own(out)
            if x is not None:
                seeds[x.node] = seeds[x.node] + ct if x.node in seeds else ct
        return self.pull_from(seeds)

    def pull_from(self, seeds: dict[graph.Node, Any]) -> tuple:
        """Return the same for nodes of this run's level and their cotangents."""
        if self.closed:
            return self.cotangents_of(self._tracked(seeds), seeds)
        if len(seeds) == 1:
            ((root, seed),) = seeds.items()
            return self.cotangents_of(backward.pulled(root, seed, since=self.started), seeds)
        nodes = backward.history(*seeds, since=self.started)
        return self.cotangents_of(backward.sweep(seeds, nodes), seeds)

    def _tracked(self, seeds: dict[graph.Node, Any]) -> dict[graph.Node, Any]:
        """Compute the cotangents by ops of this level, so that they can be differentiated again."""
        with new_level(self.level):
            nodes = backward.history(*seeds, since=self.started)
            return backward.sweep(seeds, nodes, tracked=True)

    def cotangents_of(
        self, cotangents: dict[graph.Node, Any], seeds: dict[graph.Node, Any]
    ) -> tuple:
        """Return the cotangents of each argument in its structure, from those of the nodes, without
        shared memory. A node that is no leaf of an argument belongs to a closed-over array."""
        found: list[Any] = []
        before: set[int] = set()
        others, lost = len(cotangents) - len(self.nodes), 0
        for node in self.nodes:
            ct = cotangents.get(node)  # pyright: ignore[reportArgumentType]
            if type(ct) is not _PLAIN or not ct.ndim or ct.base is not None:
                others += ct is None
                lost += ct is None
                ct = _own_cotangent(node, ct)
            elif id(ct) in before:
                ct = np.array(ct)
            else:
                before.add(id(ct))
            found.append(ct)
        if others and not self.closed:
            leaked.require_open(set(cotangents).difference(self.nodes))
            self._close()
            return self.cotangents_of(self._tracked(seeds), seeds)
        if lost and lost == len(found):
            constant.warn(self.op, self.f, self.scope, self.result)
        if self.parts is None:
            return tuple(found)
        rest = iter(found)
        return tuple([make([*islice(rest, count)]) for count, make in self.parts])


def with_aux(op: str, result: Any) -> tuple[Any, Any]:
    """Return the value and the auxiliary result of a function with `has_aux`."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise ResultError(
            f"{op}: with has_aux the function returns a pair (value, aux), and it gave "
            f"{type(result).__name__}{f' of {len(result)}' if isinstance(result, tuple) else ''}"
        )
    return result


def array_leaves(op: str, result: Any) -> tuple[list[Any], Callable]:
    """Return the leaves of a result. Raises TypeError if none is an array, or one is neither an
    array nor None, which stands for static leaves in gradients."""
    leaves, rebuild = trees.flatten(result)
    values = [x for x in leaves if x is not None]
    wrong = [x for x in values if not isinstance(x, (Array, np.ndarray, np.generic, float, int))]
    if wrong or not values:
        gave = type(wrong[0] if wrong else result).__name__
        if wrong and isinstance(wrong[0], map):
            raise ResultError(
                f"{op}: Python's map gives an iterator, not an array; write nbgrad.map, or "
                "[f(x) for x in xs]"
            )
        raise ResultError(
            f"{op}: the function gave {gave}, not an array; return an array, or nested dicts, "
            "lists and tuples of arrays" + ("; return the rest with has_aux" if wrong else "")
        )
    return leaves, rebuild


def fitted(op: str, what: str, value: Any, like: Sequence, tree: Any) -> list[Any]:
    """Check a tangent or cotangent against `tree`, whose leaves are `like`, and return its leaves;
    static leaves are ignored. Raises TypeError for another structure or dtype, DimensionMismatch
    for another shape."""
    if is_number(value) and is_number(tree):
        return [_fit(op, what, value, like[0])]
    if is_number(value) and is_complex(tree):
        value = value * (1 + 0j)
    if not trees.same_structure(value, tree):
        raise StructureMismatch(
            f"{op}: the {what} nests as {trees.describe(value)}, and must nest as "
            f"{trees.describe(tree)}"
        )
    leaves, _ = trees.flatten(value)
    return [_fit(op, what, x, y) for x, y in zip(leaves, like, strict=True)]


def _fit(op: str, what: str, value: Any, like: Any) -> Any:
    if type(value) is np.ndarray and value.dtype in FLOATS and value.flags.carray:
        if isinstance(like, (Array, np.ndarray)) and value.shape == like.shape:
            if value.dtype == like.dtype:
                return value
    if not trees.is_differentiable(like):
        if what == "tangent" and value is not None:
            raise NoFloatError(
                f"{op}: a tangent for {_kind(like)}, which is no float: write 2.0 for 2, convert "
                "the array to float64, or pass None"
            )
        return None
    dtype = known(getattr(like, "dtype", np.dtype(np.float64)))
    if is_a(value, (int, float)) and not shape_of(like):
        return np.array(value, dtype)
    if value is None:
        raise ArgumentTypeError(
            f"{op}: a {what} is None for an array of shape {shape_of(like)}; pass one"
        )
    if not isinstance(value, Array):
        value = operands.real_array(value, f"{op}: a {what}")
    if shape_of(value) != shape_of(like):
        raise DimensionMismatch(
            f"{op}: a {what} of shape {shape_of(value)} for an array of shape {shape_of(like)}; "
            "they must be equal"
        )
    if value.dtype != dtype:
        raise DtypeError(
            f"{op}: a {what} of dtype {value.dtype} for an array of {dtype}; convert it with "
            f".astype(np.{dtype})"
        )
    return value if isinstance(value, Array) else operands.plain_array(value)


def _named(x: Any) -> str:
    """Return the type of an argument, for messages; for a recorded value, its dtype."""
    return f"a value of {x.dtype}" if isinstance(x, Array) else type(x).__name__


def _kind(x: Any) -> str:
    return (
        f"an array of {x.dtype}" if hasattr(x, "dtype") else f"a value of type {type(x).__name__}"
    )


def _own_cotangent(node: graph.Node | None, ct: Any) -> Any:
    """Return the cotangent of a leaf for the user: zeros instead of None, a NumPy scalar instead of
    an array without axes, a copy of a view. Static leaves have None."""
    if node is None:
        return None
    if ct is None:
        return trees.scalar(np.zeros(shape_of(node.value), node.value.dtype))
    if is_a(ct, np.ndarray):
        return np.array(ct) if ct.ndim else ct[()]
    return ct._fresh() if isinstance(ct, Array) else ct
