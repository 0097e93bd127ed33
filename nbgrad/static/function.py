"""`nbgrad.compile`: a Python function compiled once for each structure, shapes and dtypes of its
arguments.

The modules of the compiler are imported by the first call.
"""

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any
from weakref import ref

from ..compiler.forks import fork_safe
from ..core.array import Array
from ..core.primitive import Aval
from ..core.remade import Wrapper, reduced
from ..errors import TraceError
from ..transforms import trees
from .arguments import Arguments, parameters_of, static_names
from .entry.flatten import Leaf, Tree, Unwritten
from .entry.front import caller
from .named import Named, Spec, Specs, compiled, is_for
from .only_variant import OfOnlyVariant
from .trace.program import Program
from .trace.record import trace

if TYPE_CHECKING:
    from .jit.calls import Nesting
    from .variant import Variant

# Numbers of variants of one function: above the first, it warns; above the second, it drops the
# oldest.
_MANY, _MOST = 8, 64
# The number of earlier programs kept for a variant, recorded for other values of globals and the
# like.
_OTHERS = 8


class StaticFunction(partial, Wrapper, OfOnlyVariant):
    """The result of `nbgrad.compile`: it compiles a variant for new shapes, and runs it.

    It is a `partial` without arguments, which adds no Python call: it calls the entry generated for
    the latest structure of arguments, and that calls `_call` if the structure is another.
    """

    def __new__(cls, f: Callable, *_: Any, **__: Any) -> Any:
        return super().__new__(cls, f)

    def __init__(
        self,
        f: Callable,
        static_argnames: Iterable[str] = (),
        dynamic: Mapping[str, Spec] | None = None,
    ):
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        self._f = f
        self._gives = "out" not in parameters_of(f)
        self._names = (
            (static_argnames,) if isinstance(static_argnames, str) else (*static_argnames,)
        )
        self.static = static_names(f, self._names)
        if not isinstance(dynamic, Mapping | None):
            raise TypeError(
                f"dynamic: {dynamic!r} is no dict: give names of sizes by argument, such as "
                '{"x": ("n", None)}'
            )
        self._dynamic = dict(dynamic or {})
        self.specs: Any = Specs(parameters_of(f), self._dynamic) if self._dynamic else None
        self._variants: dict[Any, Variant] = {}
        self._others: dict[Any, list[Variant]] = {}
        # For calls with arrays of transformations: by structure of the arguments, a fast path for
        # the latest structure, and reasons for calls that ran uncompiled (the keys, in order).
        self.nestings: dict[Any, Nesting] = {}
        self.reasons: dict[str, None] = {}
        self.inside: Callable[[tuple], Any] | None = None
        self._lock = fork_safe(threading.RLock())
        here = ref(self)  # alive while it is called

        def general(args: tuple, options: dict) -> Tree:
            return here()._call(args, options)  # pyright: ignore[reportOptionalMemberAccess]

        self._general = general
        self._answer(lambda *args, **options: general(args, options))

    def _answer(self, front: Callable) -> None:
        """Make `front` the function that this partial calls."""
        state = (front, (), None, self.__dict__)
        self.__setstate__(state)  # pyright: ignore[reportAttributeAccessIssue]

    def __get__(self, instance: object, owner: type | None = None) -> Callable:
        """Bind to an instance, as methods do."""
        if instance is None:
            return self
        return lambda *args, **options: self(instance, *args, **options)

    def __reduce__(self):
        """Pickle and copy the function and its options; programs are in the cache."""
        return reduced(self, StaticFunction, self._f, self._names, self._dynamic)

    @property
    def function(self) -> Callable:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The Python function that was compiled."""
        return self._f

    def of(self, f: Callable) -> Callable:
        """Return `f`, not compiled."""
        return f

    def variant(self, *args, **options) -> "Variant":
        """Return the variant for arguments like these examples, compiled if necessary."""
        return self._find(args, options)[0]

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """The reasons for which calls inside of transformations ran uncompiled, the latest 64.

        >>> f = nbgrad.compile(lambda x: x * x if x > 0.0 else x)
        >>> slope = nbgrad.grad(f)(3.0)
        >>> [reason.partition(":")[0] for reason in f.fallbacks]
        ['TraceError']
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
        if self.inside is not None and not options:
            result = self.inside(args)
            if result is not NotImplemented:
                return result
        out = options.pop("out", None) if self._gives else None
        leaves, _ = trees.flatten((args, options) if options else list(args))
        if any(isinstance(leaf, Array) for leaf in leaves):
            if out is not None:
                raise TraceError(f"{self.name}: out= is for plain arrays, not for tracked ones")
            from .jit.calls import call

            return call(self, args, options)
        variant, dynamic = self._find(args, options)
        result = variant.python.run(dynamic, out)
        if not options:
            try:
                front = variant.python, args, self.static, self._general, self._gives
                self._answer(caller(*front, variant.guard.around))
            except (Unwritten, SyntaxError):
                pass
        return result

    def _find(self, args: tuple, options: dict) -> "tuple[Variant, list[Leaf]]":
        """Return the variant for these arguments, and its inputs in order."""
        return self._find_for(Arguments(args, options, self.static))

    def _find_for(self, arguments: Arguments) -> "tuple[Variant, list[Leaf]]":
        if self.specs is not None:
            named = self.specs.of(self.name, arguments)
            if named.sizes:
                variant = self._variant(arguments, named)
                if is_for(variant, named, arguments.avals, self._recorder(arguments)):
                    return variant, arguments.inputs
        return self._variant(arguments), arguments.inputs

    def _variant(self, arguments: Arguments, named: "Named | None" = None) -> "Variant":
        """Return the variant for all sizes with these names, or for the sizes of the arguments;
        compile it if it is new."""
        shapes = named.shapes if named is not None else None
        key, weak = (arguments.nesting, _without(arguments.kinds, shapes), shapes), arguments.weak
        variant = self._known(key, weak)
        if variant is not None:
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

        name = program_name(self.name)
        return lambda avals: trace(self._f, name, avals, arguments.weak, arguments.fill)

    def _known(self, key: tuple, weak: tuple) -> "Variant | None":
        """Return the variant of a key that was recorded for the current values of globals and
        closures, None if there is none."""
        for known in (key, (*key, weak)):
            variant = self._variants.get(known)
            if variant is None:
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
                stacklevel=4,
            )


def _without(kinds: tuple, shapes: tuple | None) -> tuple:
    """Return the kinds of leaves, reduced to dtypes if `shapes` has the shapes."""
    if shapes is None:
        return kinds
    return tuple(kind.dtype if isinstance(kind, Aval) else kind for kind in kinds)


def compile(
    f: Callable | None = None,
    *,
    static_argnames: Iterable[str] = (),
    dynamic: Mapping[str, Spec] | None = None,
) -> Any:
    """Compile `f` to machine code, at its first call with arguments of new shapes or dtypes.

    Arguments:
        f: a function of arrays and numbers, or of nested dicts, lists and tuples of them, such as
            `nbgrad.value_and_grad(loss)`. Without `f`, a decorator is returned.
        static_argnames: names of arguments whose value is part of the program, such as a number of
            layers; a new value compiles a new program. Strings, bools, None and functions are
            always static.
        dynamic: for arguments by name, names for axes whose length varies, None for the others:
            `{"x": ("n", None), "y": ("n",)}`. One program is compiled for all lengths, 0 and 1
            included. The spec of a nested argument holds for each of its arrays. For a named length
            n, `isinstance(n, int)` is true, and `type(n) is int` false.

    Dtypes are NumPy's. Results without axes of dtype float64, int64 and bool are Python numbers.

    Arrays that the function closes over are read at each call. All other values that it reads,
    apart from its arguments, are compared at each call, and the function is recorded again if they
    changed: globals and closed-over variables, items of dicts and lists, attributes of objects,
    classes and modules, defaults, redefined helper functions. The latest programs are kept, so that
    a value that returns compiles nothing. Arrays whose values shaped the program (an index,
    `y + 1`, up to 4096 integers such as n in `x[:n]`) are compared, too. Pass values that change
    often as arguments: recording takes milliseconds, and a new number compiles a new program.

    These changes are not noticed: `float(y[0])` of a float in an array that is changed in place;
    functions and modules of Python and of installed packages; items of containers with more than
    4096; environment variables, context variables, files and clocks. The functions `njit`,
    `address` and `cfunc` of a variant stay as they were recorded.

    Equal names in `dynamic` require equal lengths. If a program needs a condition on a length
    (`x[5]` needs 6 elements), other lengths are compiled on their own. A length that determines the
    program without a formula, such as the range of a Python loop, is refused with the line. A
    function that reads lengths (`x.shape`) is recorded once for each new length, and compiled for
    that length alone if the program differs. `njit` checks conditions only.

    A compiled function ignores `np.errstate`, `np.seterr` and warning filters: a division by zero
    gives inf without a warning.

    Results are new arrays. With `out=`, arrays nested as the result, they are written there
    (numbers are ignored), and the call allocates no arrays.

    Inside of transformations, as in `grad(compile(f))`, derivatives of the function are compiled;
    `fallbacks` lists the reasons if the uncompiled function runs instead.

    Raises:
        TraceError: the function needs a number while it is recorded, or an op that is eager only;
            the message shows the line.
        DimensionMismatch: lengths with equal names differ; the message names both arguments.

    >>> f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.tanh(x) * x)))
    >>> value, slope = f(np.array([0.0, 1.0]))
    >>> round(value, 6), slope.round(6)
    (0.761594, array([0.      , 1.181568]))
    """
    if f is None:
        return lambda g: compile(g, static_argnames=static_argnames, dynamic=dynamic)
    trees.require_function("compile", f)
    return StaticFunction(f, static_argnames, dynamic)
