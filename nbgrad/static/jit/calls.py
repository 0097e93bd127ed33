"""Calls of compiled functions inside of transformations.

A call with dual, batched or tracked arguments is handled at the highest level among them, by a
function derived from the user's: its jvp for duals, its vmap for samples. For tracked arrays, it is
the value with residuals, from which a second program computes the cotangents (`residuals.py`).
Derived functions are compiled like any other. Their arguments are of lower levels and are handled
in the same way, so transformations can be nested.

If a derived function is refused (`derived.REFUSALS`), the user's function runs uncompiled, and
`StaticFunction.fallbacks` lists the reason.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ...core import modes
from ...core.array import Array
from ...core.symbols import is_recorded, recording
from ...transforms import trees
from ...transforms.transformed import transformed
from ...values.dual import Dual
from ...values.tracked import TrackedArray
from ..arguments import Arguments, marked, order_of, unmarked
from ..entry.flatten import UNFIT, Unwritten, Writer, is_dynamic
from ..specs import Spec, specs_of
from .derived import Derived, Uncompiled
from .forward import dual
from .reverse import at_base_level, tracked
from .samples import samples

if TYPE_CHECKING:
    from ..function import StaticFunction

_PLAIN = (np.ndarray, float, int)
_MOST = 64


def call(fn: "StaticFunction", args: tuple, options: dict) -> Any:
    """Call a compiled function with arrays of transformations among the arguments.

    The uncompiled function is called while another function is recorded, in the modes that look at
    each op (`no_tracking`, `detect_nan`, `detect_changes`), and if its derivative cannot be
    compiled.
    """
    if recording.recorder is not None or modes.active:
        return fn.function(*args, **options)
    nesting, leaves = nesting_of(fn, args, options)
    arrays = [x for x in leaves if isinstance(x, Array)]
    top = max(arrays, key=_level_of)
    level, rule = top.level, _rule_of(top)
    moving = tuple([i for i, x in enumerate(leaves) if getattr(x, "level", -1) == level])
    key = rule, moving
    symbols = any(type(x) is not TrackedArray and is_recorded(x) for x in arrays)
    static = any(isinstance(leaves[i], Array) for i in nesting.constants)
    if static:
        fn.note_fallback("a static argument is an array of a transformation")
    if symbols or static or key in nesting.uncompiled:
        return fn.function(*args, **options)
    try:
        result = rule(nesting, leaves, moving, level)
        if not options and type(top) is TrackedArray and not nesting.has_names:
            fn.inside = _short(nesting, len(args))
        return result
    except Uncompiled as error:
        result = fn.function(*args, **options)
        nesting.uncompiled.add(key)
        fn.note_fallback(error)
        return result


def _short(nesting: "Nesting", count: int) -> Callable[[tuple], Any]:
    """Return a fast path for `count` positional arguments, which returns NotImplemented unless they
    have the structure of `nesting` and their arrays are of the base level."""
    leaves = [nesting.constants.get(i, 0.0) for i in range(nesting.count)]
    examples = leaves if nesting.rebuild is None else nesting.rebuild(leaves)[0]
    writer, names = Writer(exact=False), [f"_p{i}" for i in range(count)]
    try:
        for i, (name, example) in enumerate(zip(names, examples, strict=True)):
            if i in nesting.fn.static:
                writer.same(example, name)
            else:
                writer.take(example, name, name)
    except Unwritten:
        return lambda args: NotImplemented
    rest = iter(writer.leaves)
    taken = [
        writer.new(nesting.constants[i]) if i in nesting.constants else next(rest)
        for i in range(nesting.count)
    ]
    lines = [f"{', '.join(names)}, = _args", *writer.lines, f"return [{', '.join(taken)}]"]
    take = writer.function("\n    ".join(["def call(_args):", *lines]))

    def short(args: tuple) -> Any:
        if modes.active or recording.recorder is not None:
            return NotImplemented
        try:
            leaves = take(args)
        except UNFIT:
            return NotImplemented
        try:
            return at_base_level(nesting, leaves)
        except Uncompiled:
            return NotImplemented

    return short


def _level_of(x: Array) -> int:
    return x.level


def _rule_of(x: Array) -> Callable:
    return tracked if isinstance(x, TrackedArray) else dual if isinstance(x, Dual) else samples


class Nesting:
    """A compiled function for one structure of its arguments, as a function of their leaves.

    `constants` are the static leaves by position. The derived functions are cached here.
    """

    def __init__(
        self,
        fn: "StaticFunction",
        rebuild: Callable | None,
        leaves: list,
        fixed: Sequence[int],
        specs: list[Spec | None],
    ):
        self._fn = ref(fn)  # which refers to its nestings
        self.rebuild, self.count = rebuild, len(leaves)
        self.constants = {i: leaves[i] for i in fixed}
        f = fn.function
        self.f = f if rebuild is None else of_leaves(f, rebuild)
        self._derived: dict[tuple, Derived] = {}
        self.uncompiled: set[tuple] = set()
        self.specs = specs
        self.has_names = any(spec is not None and any(spec) for spec in specs)

    @property
    def fn(self) -> "StaticFunction":
        """The compiled function, while it is called."""
        fn = self._fn()
        assert fn is not None
        return fn

    def __call__(self, leaves: Sequence) -> Any:
        """The compiled function itself."""
        return self.applied(self.fn, leaves)

    def applied(self, f: Callable, leaves: Sequence) -> Any:
        """Call another function with the arguments that have these leaves."""
        if self.rebuild is None:
            return f(*leaves)
        args, options = self.rebuild(leaves)
        return f(*args, **options)

    def derived(
        self,
        make: Callable,
        *options: Any,
        before: Sequence[Spec | None] = (),
        specs: Sequence[Spec | None] | None = None,
        kind: type[Derived] = Derived,
    ) -> Derived:
        """Return the compiled function `make(f, *options)`. It takes other arguments before the
        leaves: `before` has their specs. `specs` replaces the specs of the leaves."""
        key = (make, *options)
        known = self._derived.get(key)
        if known is None:
            static = {len(before) + i for i in self.constants}
            every = [*before, *(self.specs if specs is None else specs)]
            made: Derived = kind(make(self.f, *options), static, every, self.fn)
            known = self._derived.setdefault(key, made)
        return known


def nesting_of(fn: "StaticFunction", args: tuple, options: dict) -> tuple[Nesting, list]:
    """Return the `Nesting` of arguments, and their leaves."""
    static = fn.static
    if (
        not options
        and not static
        and all(isinstance(x, (Array, *_PLAIN)) and type(x) is not bool for x in args)
    ):
        key, leaves, rebuild, fixed = len(args), list(args), None, ()
    else:
        tree = marked(args, options, static)
        leaves, rebuild = trees.flatten(tree)
        fixed = [i for i, x in enumerate(leaves) if not (isinstance(x, Array) or is_dynamic(x))]
        leaves = [*map(unmarked, leaves)]
        key = (trees.structure(tree), order_of(tree), tuple(fixed))
    specs: list[Spec | None] = (
        [None] * len(leaves) if fn.specs is None else _specs(fn, leaves, rebuild)
    )
    known = fn.nestings.get(key)
    if known is None:
        if len(fn.nestings) >= _MOST:
            fn.nestings.clear()
        known = fn.nestings.setdefault(key, Nesting(fn, rebuild, leaves, fixed, specs))
    return known, leaves


def _specs(fn: "StaticFunction", leaves: list, rebuild: Callable | None) -> list[Spec | None]:
    """Return the named sizes of each leaf. Raises DimensionMismatch if one name stands for
    different lengths."""
    specs: list[Spec | None] = [None] * len(leaves)
    if fn.specs is None:
        return specs
    plain = [_of_shape(x) if isinstance(x, Array) else x for x in leaves]
    args, options = (plain, {}) if rebuild is None else rebuild(plain)
    arguments = Arguments(args, options, fn.static)
    named = specs_of(fn.specs.of(fn.name, arguments))
    for i, spec in zip(arguments.places, named, strict=True):
        specs[i] = spec
    return specs


def _of_shape(x: Array) -> np.ndarray:
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)


def of_leaves(f: Callable, rebuild: Callable) -> Callable:
    """Turn a function of arguments into a function of their leaves."""

    @transformed(of_leaves, f, rebuild)
    def flat(*leaves: Any) -> Any:
        args, options = rebuild(leaves)
        return f(*args, **options)

    return flat
