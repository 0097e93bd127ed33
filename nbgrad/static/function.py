"""`StaticFunction`: a Python function compiled once for each structure, shapes and dtypes of its
arguments.

The modules of the compiler are imported by the first call.
"""

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..compiler.forks import fork_safe
from ..core.array import Array
from ..core.primitive import Aval
from ..core.remade import Wrapper, reduced
from ..errors import ArgumentTypeError, CompilationWarning, TraceError
from ..runtime.lines import level_of_user
from ..transforms import trees
from ..transforms.transformed import Parameters, Result, Typed
from .arguments import Arguments, at_places, parameters_of, places_of, static_names
from .entry.flatten import Leaf, Tree, Unwritten
from .entry.front import caller
from .named import NoFormula, compiled, is_for
from .only_variant import OfOnlyVariant
from .specs import Named, Specs
from .trace.program import Program
from .trace.record import trace

if TYPE_CHECKING:
    from .jit.calls import Nesting
    from .variant import Variant

# Variants of one function: above the first number it warns; above the second it drops the oldest.
# The third is that of earlier programs kept for a variant, recorded for other values that it reads.
_MANY, _MOST, _OTHERS, _TIMES = 8, 64, 8, 8


class StaticFunction(Typed[Parameters, Result], partial, Wrapper, OfOnlyVariant):
    """The result of `nbgrad.compile`: it compiles a variant for new shapes, and runs it.

    It is a `partial` without arguments, which adds no Python call: it calls the entry generated for
    the latest structure of arguments, and that calls `_call` if the structure is another.

    >>> f = nbgrad.compile(lambda x: np.sum(x * x))
    >>> float(f(np.ones(3))), len(f.plan.steps)
    (3.0, 1)
    """

    def __new__(cls, f: Callable, *_: Any, **__: Any) -> Any:
        return super().__new__(cls, f)

    def __init__(
        self, f: Callable[Parameters, Result], static_argnames: Iterable[str] = (),
        dynamic: Mapping[str, Any] | None = None,
    ):  # fmt: skip
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        self._f = f
        self._gives = "out" not in parameters_of(f)
        self._places = places_of(f)
        self._names = (
            (static_argnames,) if isinstance(static_argnames, str) else (*static_argnames,)
        )
        self.static = static_names(f, self._names)
        if not isinstance(dynamic, Mapping | None):
            raise ArgumentTypeError(
                f"dynamic: {dynamic!r} is no dict: give names of sizes by argument, such as "
                '{"x": ("n", None)}',
                code="NB-SIZES",
            )
        self._dynamic = dict(dynamic or {})
        self.specs: Any = Specs(parameters_of(f), self._dynamic) if self._dynamic else None
        self._variants: dict[Any, Variant] = {}
        self._others: dict[Any, list[Variant]] = {}
        self._lone: set[Any] = set()  # structures of arguments for which names are of no use
        # For calls with arrays of transformations: by structure of the arguments, a fast path for
        # the latest structure, and reasons for calls that ran uncompiled (the keys, in order).
        self.nestings: dict[Any, Nesting] = {}
        self.reasons: dict[str, None] = {}
        self.inside: Callable[[tuple], Any] | None = None
        # Generated callers by kinds of arguments, and the latest one, which answers calls.
        self._fronts: dict[tuple, Callable] = {}
        self._front: Callable | None = None
        self._lock = fork_safe(threading.RLock())
        here = ref(self)  # alive while it is called

        def general(args: tuple, options: dict) -> Tree:
            return here()._call(args, options)  # pyright: ignore[reportOptionalMemberAccess]

        self._general = general
        self._answer(lambda *args, **options: general(args, options))

    def _answer(self, front: Callable) -> None:
        """Make `front` the function that this partial calls."""
        self.__setstate__((front, (), None, self.__dict__))  # pyright: ignore

    def __get__(self, instance: object, owner: type | None = None) -> Callable:
        """Bind to an instance, as methods do."""
        if instance is None:
            return self
        return lambda *args, **options: self(instance, *args, **options)

    __repr__ = OfOnlyVariant.__repr__  # not that of partial

    def __reduce__(self):
        """Pickle and copy the function and its options; programs are in the cache."""
        return reduced(self, StaticFunction, self._f, self._names, self._dynamic)

    @property
    def function(self) -> Callable[Parameters, Result]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The Python function that was compiled."""
        return self._f

    def of(self, f: Callable) -> Callable:
        """Return `f`, not compiled."""
        return f

    def variant(self, *args: Any, **options: Any) -> "Variant":
        """Return the variant for arguments like these examples, compiled if necessary."""
        args, options = at_places(args, options, self._places) or (args, options)
        return self._find(args, options)[0]

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """The reasons for which calls inside of transformations ran uncompiled, the latest 64.

        >>> f = nbgrad.compile(lambda x: x * x if x > 0.0 else x)
        >>> slope = nbgrad.grad(f)(3.0)
        >>> [reason.partition(":")[0] for reason in f.fallbacks]
        ['TruthError']
        """
        return tuple(self.reasons)

    def note_fallback(self, reason: object) -> None:
        """Add a reason to `fallbacks`."""
        with self._lock:
            self.reasons[str(reason)] = None
            if len(self.reasons) > _MOST:
                del self.reasons[next(iter(self.reasons))]

    def _call(self, args: tuple, options: dict) -> Tree:
        """Run any call."""
        if options and (placed := at_places(args, options, self._places)) is not None:
            return self.func(*placed[0], **placed[1])
        if self.inside is not None and not options:
            result = self.inside(args)
            if result is not NotImplemented:
                return result
        if not options and self._fronts:
            front = self._fronts.get(_kinds_of(args))
            if front is not None and front is not self._front:  # that one handed the call on
                self._front = front
                self._answer(front)
                return self.func(*args)
        out = options.pop("out", None) if self._gives else None
        leaves, _ = trees.flatten((args, options) if options else list(args))
        if any(isinstance(leaf, Array) for leaf in leaves):
            if out is not None:
                raise TraceError(
                    f"{self.name}: out= is for plain arrays, not for tracked ones",
                    code="NB-COMPILED",
                )
            from .jit.calls import call

            return call(self, args, options)
        variant, dynamic = self._find(args, options)
        result = variant.python.run(dynamic, out)
        if not options and variant.python.is_hot:
            self._answer_by(variant, args, leaves)
        return result

    def _answer_by(self, variant: "Variant", args: tuple, leaves: list) -> None:
        """Let the entry of a variant answer further calls with arguments of these kinds.

        A caller is generated anew a few times, since guards come to compare more. Later it hands on
        what it cannot take, such as arrays that are not contiguous.
        """
        kinds = variant.guard.is_due, *map(type, args), *map(_kind_of, leaves)
        count, front = variant.fronts.get(kinds, (0, None))
        if count < _TIMES:
            count += 1
            known = variant.python, args, self.static, self._general, self._gives
            try:
                front = caller(*known, variant.guard.around)
            except (Unwritten, SyntaxError):
                count, front = _TIMES, None
            variant.fronts[kinds] = count, front
        else:
            variant.guard.renew()
        if front is not None:
            if len(self._fronts) == _MOST:
                self._fronts.clear()
            self._front = self._fronts[_kinds_of(args)] = front
            self._answer(front)

    def _find(self, args: tuple, options: dict) -> "tuple[Variant, list[Leaf]]":
        """Return the variant for these arguments, and its inputs in order."""
        return self._find_for(Arguments(args, options, self.static))

    def _find_for(self, arguments: Arguments) -> "tuple[Variant, list[Leaf]]":
        if self.specs is not None:
            named = self.specs.of(self.name, arguments)
            if named.sizes:
                variant = self._variant_for_all(arguments, named)
                if variant is not None:
                    return variant, arguments.inputs
        return self._variant(arguments), arguments.inputs

    def _variant_for_all(self, arguments: Arguments, named: Named) -> "Variant | None":
        """Return the variant for all sizes with these names, or for all with the same remainders;
        None if the sizes of the arguments need a variant of their own."""
        key = (arguments.nesting, named.shapes)
        if key in self._lone:
            return None
        try:
            variant = self._variant(arguments, named)
            if variant.remainders:
                named = named.divided({name: by for name, by, _ in variant.remainders})
                if named.remainders != variant.remainders:
                    variant = self._variant(arguments, named)
        except NoFormula as error:
            variant = self._variant(arguments)  # raises, if the function cannot be compiled at all
            self._lone.add(key)
            names = " and ".join(named.sizes)
            message = f"each length {names} takes a compilation: {error}"
            warnings.warn(CompilationWarning(message, "NB-RECOMPILED"), stacklevel=7)
            return variant
        record = self._recorder(arguments)
        return variant if is_for(variant, named, arguments.avals, record) else None

    def _variant(self, arguments: Arguments, named: "Named | None" = None) -> "Variant":
        """Return the variant for all sizes with these names, or for the sizes of the arguments;
        compile it if it is new."""
        shapes, rests = (named.shapes, named.remainders) if named is not None else (None, ())
        key = (arguments.nesting, arguments.kinds_beside(shapes), shapes, rests)
        weak = arguments.weak
        if (variant := self._known(key, weak)) is not None:
            return variant
        from .reads.guard import Guard
        from .variant import Variant

        record = self._recorder(arguments)
        with self._lock:
            variant = self._known(key, weak)
            if variant is None:
                if named is None:
                    variant = Variant(record(arguments.avals))
                else:
                    variant = compiled(self.name, named, arguments.avals, record)
                variant.guard = Guard(variant.program, [self._f, *arguments.fixed])
                self._warn(arguments.kinds)
                if variant.program.is_narrow:  # dtypes depend on which numbers are Python's
                    key = (*key, weak)
                self._put(key, variant)
        return variant

    def _put(self, key: Any, variant: "Variant") -> None:
        """Make this variant the current one, and keep the previous one."""
        if key in self._variants:
            others = [other for other in self._others.get(key, ()) if other is not variant]
            self._others[key] = [self._variants[key], *others][:_OTHERS]
        self._variants[key] = variant
        if len(self._variants) > _MOST:
            oldest = next(iter(self._variants))
            del self._variants[oldest]
            self._others.pop(oldest, None)

    def _recorder(self, arguments: Arguments) -> Callable[[list[Aval]], Program]:
        """Return a function that records the program for arguments of other shapes."""
        from .entry.signature import program_name
        from .trace.rerolled import rerolled

        name = program_name(self.name)
        return lambda avals: rerolled(trace(self._f, name, avals, arguments.weak, arguments.fill))

    def _known(self, key: tuple, weak: tuple) -> "Variant | None":
        """Return the variant of a key that was recorded for the current values of globals and
        closures, None if there is none."""
        for known in (key, (*key, weak)):
            if (variant := self._variants.get(known)) is None:
                continue
            if variant.guard.is_same():
                return variant
            with self._lock:
                every = [variant, *self._others.get(known, ())]
                current = next((v for v in every if v.guard.is_same()), None)
                if current is None:
                    reads = variant.guard.now()
                    current = next((v for v in every if v.guard.adopts(reads)), None)
                if current is not None and current is not variant:
                    self._put(known, current)
            return current
        return None

    def _warn(self, kinds: tuple) -> None:
        if len(self._variants) == _MANY:
            shown = ", ".join(map(str, kinds))
            warnings.warn(
                f"{self.name} is compiled for the {_MANY + 1}th time, now for ({shown}): each set "
                "of shapes, dtypes and static values takes a compilation. Pass numbers that change "
                "as arrays or floats, not as static arguments, and pad to few shapes",
                CompilationWarning,
                stacklevel=level_of_user(),
            )


def _kinds_of(args: tuple) -> tuple:
    """The shapes, dtypes and types of arguments, by which generated callers are looked up."""
    return tuple(
        [(x.shape, x.dtype, x.flags.c_contiguous) if type(x) is np.ndarray else type(x)
         for x in args]
    )  # fmt: skip


def _kind_of(leaf: object) -> object:
    """The class of an argument, and whether an array is contiguous. A generated caller depends on
    these, a variant does not."""
    return (np.ndarray, leaf.flags.c_contiguous) if type(leaf) is np.ndarray else type(leaf)
