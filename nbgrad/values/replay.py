"""Generated functions for backward passes of graphs with the same structure.

A training loop makes a graph of the same plans and edges in every step. After some backward passes
a function is generated for it. The first half checks that a graph has this structure; the second
half calls the pullbacks in order, with a local variable for each cotangent. It needs no dict, no
sorting and no branches, which take half of the time of a pass through small arrays.

The checks cover everything that the pass depends on: the plan of every node, which fixes the op,
shapes, dtypes and tracked arguments; the edges; the order of the nodes, which is that of the sums;
and that nothing was freed and no leaf has changed. If a check fails, the function returns None, and
`backward.history` and `backward.sweep` do the pass, or raise. Results are equal bit for bit.
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.primitive import Unplanned
from ..eager import emission
from ..eager.elementwise import ElementwisePlan
from .graph import Node

Replay = Callable[[Node, Any, int, bool], dict[Node, Any] | None]

AFTER = 256
"""The number of passes through graphs of one structure after which a function is generated. They
take about as long as generating it."""
_LARGEST = 500  # the most nodes of a graph
_VARIANTS = 4  # the most functions for one plan of the last op
_PLANS = 256
known: dict[Any, tuple[Replay, ...]] = {}
"""The functions for graphs by the plan of the last op. They take the arguments of
`backward.pulled`, and return the cotangents of the leaves, or None for a graph of another
structure."""
_walks: dict[tuple[Any, int], int] = {}


def note(root: Node, nodes: list[Node]) -> None:
    """Count a pass through `nodes`, oldest first, and generate its function if it is frequent."""
    if _is_made_anew(root.plan):
        return
    key = root.plan, len(nodes)
    written = known.get(root.plan, ())
    _walks[key] = count = _walks.get(key, 0) + 1
    if len(_walks) > _PLANS:
        _walks.clear()
        known.clear()
    if count < AFTER << len(written):
        return
    _walks[key] = 0
    replay = _written(nodes)
    if replay is not None:
        known[root.plan] = (replay, *written[: _VARIANTS - 1])


def joined(total: Any, own: bool, part: Any) -> tuple[Any, bool]:
    """Add a contribution to a sum, as `backward.sweep` does. Returns the sum, and whether it is a
    buffer of this pass, in C order."""
    if part is None:
        return total, own
    if total is None:
        return part, False
    if own:
        total += part
        return total, True
    total = total + part
    return total, type(total) is np.ndarray and total.flags.c_contiguous


def added(total: Any, own: bool, plan: Any, value: np.ndarray, ct: Any) -> tuple[Any, bool]:
    """Add the contribution of `value[index]` to a sum in place."""
    if not own:
        total = np.zeros(value.shape, value.dtype) if total is None else np.array(total, order="C")
    plan.add_into(total, ct)
    return total, True


def _written(nodes: list[Node]) -> Replay | None:
    """The function for graphs of this structure; None if the pass depends on more."""
    place = {node: k for k, node in enumerate(nodes)}
    leaves: list[Any] = []
    if len(nodes) > _LARGEST:
        return None
    for node in nodes:
        for parent in node.parents:
            if parent is not None and parent not in place and parent not in leaves:
                if parent.plan is not None:  # older than `since`
                    return None
                leaves.append(parent)
        plan = node.plan
        # A user's primitive may refer to anything, and must not be kept alive.
        theirs = _is_made_anew(plan) and not plan.primitive.registered
        if theirs or not node.parents or type(node) is not Node:
            return None
        # These are for long arrays, for which only `sweep` has the fast algorithms.
        if plan.expands or plan.gives_uniform or plan.writes:
            return None
    leaves.sort(key=lambda leaf: leaf.time)
    names = {node: f"n{k}" for node, k in place.items()}
    names |= {leaf: f"leaf{k}" for k, leaf in enumerate(leaves)}
    return _Writer(nodes, leaves, names).function()


class _Writer:
    """Writes the function for a graph. Node `n3` has the saved values `s3` and the cotangent
    `c_n3`, which is a buffer of this pass if `own_n3` is true."""

    def __init__(self, nodes: list[Node], leaves: list[Node], names: dict[Node, str]):
        self.nodes, self.leaves, self.names = nodes, leaves, names
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"joined": joined, "added": added, "ndarray": np.ndarray}
        # Nodes whose cotangent may be None, as a pullback may omit a contribution.
        self.doubtful: set[Node] = set()
        self.reached = {nodes[-1]}
        edges = Counter(p for node in nodes for p in node.parents if p is not None)
        filled = {node.parents[0] for node in nodes if node.plan.adds}
        self.summed = [parent for parent, n in edges.items() if n > 1 or parent in filled]

    def function(self) -> Replay:
        self.checks()
        for k in range(len(self.nodes) - 1, -1, -1):
            self.pull(k)
        reached = [self.names[leaf] for leaf in self.leaves if leaf in self.reached]
        self.lines.append(f"found = {{{', '.join(f'{name}: c_{name}' for name in reached)}}}")
        if self.doubtful.isdisjoint(self.leaves):
            self.lines.append("return found")
        else:
            self.lines.append("return {leaf: ct for leaf, ct in found.items() if ct is not None}")
        last = f"n{len(self.nodes) - 1}"
        head = f"def replay({last}, c_{last}, since, free):\n    "
        exec(head + "\n    ".join(self.lines), self.scope)
        return self.scope["replay"]

    def checks(self) -> None:
        """Check the structure of the graph, and assign its nodes to variables."""
        last = len(self.nodes) - 1
        met = {self.nodes[last]}
        for k in range(last, -1, -1):
            node, plan = self.nodes[k], self.nodes[k].plan
            if _is_made_anew(plan):
                self.scope[f"kind{k}"] = type(plan), plan.primitive, plan.need
                other = f"(type(n{k}.plan), n{k}.plan.primitive, n{k}.plan.need) != kind{k}"
            else:
                self.scope[f"plan{k}"] = plan
                other = f"n{k}.plan is not plan{k}"
            # Read in the order of `backward.sweep`, as another thread may free the graph.
            self.lines += [
                f"above, s{k} = n{k}.parents, n{k}.saved",
                f"if not s{k} or {other}: return None",
            ]
            again, targets = [], []
            for i, parent in enumerate(node.parents):
                if parent is None or parent in met:
                    targets.append(f"p{i}")
                    again.append(f"p{i} is not {parent and self.names[parent]}")
                else:
                    met.add(parent)
                    targets.append(self.names[parent])
            self.lines.append(f"{', '.join(targets)}, = above")
            if again:
                self.lines.append(f"if {' or '.join(again)}: return None")
                self.lines.append(" = ".join(t for t in targets if t[0] == "p") + " = None")
        order = " < ".join(f"n{k}.time" for k in range(last + 1))
        self.lines.append(f"if not since < {order}: return None")
        for leaf in self.leaves:
            name = self.names[leaf]
            first = next(j for j, node in enumerate(self.nodes) if leaf in node.parents)
            changed = f"{name}.plan is not None or {name}.changed > n{first}.time"
            self.lines.append(f"if {changed}: return None")
        for a, b in pairwise(self.leaves):
            self.lines.append(f"if {self.names[a]}.time >= {self.names[b]}.time: return None")
        below = [name for node, name in self.names.items() if node is not self.nodes[last]]
        self.lines.append(" = ".join(f"c_{name}" for name in below) + " = above = None")
        self.lines += [f"own_{self.names[parent]} = False" for parent in self.summed]

    def pull(self, k: int) -> None:
        """Pull the cotangent of a node back, add the contributions, and release the node."""
        node, plan, c = self.nodes[k], self.nodes[k].plan, f"c_n{k}"
        lines, doubtful = [], node in self.doubtful
        if node not in self.reached:
            pass
        elif plan.adds:
            parent: Any = node.parents[0]
            total, own = f"c_{self.names[parent]}", f"own_{self.names[parent]}"
            lines.append(f"{total}, {own} = added({total}, {own}, n{k}.plan, s{k}[0], {c})")
            self.note(parent, doubtful)
        else:
            pull = f"n{k}.plan.pull_all" if _is_made_anew(plan) else f"plan{k}.pull_all"
            sure = _given(plan)
            targets, sums = [], []
            for i, parent in enumerate(node.parents):
                if parent is None or (sure is not None and i not in sure):
                    targets.append("_")
                    continue
                name = self.names[parent]
                maybe = doubtful or sure is None
                if parent not in self.reached and node.parents.count(parent) == 1:
                    targets.append(f"c_{name}")
                else:
                    targets.append(f"v{i}")
                    sums += self.sum(name, f"v{i}", maybe or self.is_doubtful(parent))
                self.note(parent, maybe)
            lines.append(f"{', '.join(targets)}, = {pull}({c}, n{k}.value, s{k})")
            lines += sums
            if sums:
                lines.append(f"{' = '.join(t for t in targets if t[0] == 'v')} = None")
        if doubtful:
            lines = [f"if {c} is not None:", *(f"    {line}" for line in lines)]
        self.lines += lines
        self.lines.append(f"if free: n{k}.saved, n{k}.parents = None, ()")
        self.lines.append(f"n{k} = s{k} = {c} = None")

    def sum(self, name: str, part: str, doubtful: bool) -> list[str]:
        """Add a contribution to a sum; by `joined` if one of them may be None."""
        total, own = f"c_{name}", f"own_{name}"
        if doubtful:
            return [f"{total}, {own} = joined({total}, {own}, {part})"]
        return [
            f"if {own}: {total} += {part}",
            "else:",
            f"    {total} = {total} + {part}",
            f"    {own} = type({total}) is ndarray and {total}.flags.c_contiguous",
        ]

    def is_doubtful(self, node: Node) -> bool:
        return node in self.doubtful or node not in self.reached

    def note(self, parent: Node, doubtful: bool) -> None:
        """Note a contribution to `parent`, which may be None if `doubtful`."""
        if not doubtful:
            self.doubtful.discard(parent)
        elif parent not in self.reached:
            self.doubtful.add(parent)
        self.reached.add(parent)


def _is_made_anew(plan: Any) -> bool:
    """Whether each call of the primitive has a new plan, as its parameters may be anything."""
    return isinstance(plan.primitive.plans, Unplanned)


def _given(plan: Any) -> set[int] | None:
    """The positions that always get a contribution, if all others never do; None if not known."""
    if plan.complete:
        return {i for i, needs in enumerate(plan.need) if needs}
    if not isinstance(plan, ElementwisePlan):
        return None
    traced = emission.pullback_of(plan.primitive, plan.params, plan.need, plan.same)
    return set(traced.values)
