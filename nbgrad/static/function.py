"""`nbgrad.compile`: a function as Numba functions, one for each tree, shapes and dtypes.

The compiler itself, some forty modules, loads when the first variant is made.
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
from .trace.program import Program
from .trace.record import trace

if TYPE_CHECKING:
    from ..compiler.numba_api import CFunc
    from .inspect.report import Plan
    from .inspect.stages import Loops, Lowered, Scheduled
    from .jit.calls import Nesting
    from .variant import Variant

# Variants of one function: past the first number a warning, past the second the oldest goes.
_MANY, _MOST = 8, 64
# Programs of one variant for other values of what the function reads, the latest of them.
_OTHERS = 8


class StaticFunction(partial, Wrapper):
    """The result of `nbgrad.compile`: called like the function, it compiles a variant for new
    shapes and runs it.

    It is a `partial` that fixes nothing, so that a call goes, without one of its own, to the way in
    that is generated for the last structure of arguments; that one hands all others to `_call`.
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
        # Of arguments with arrays of transformations; a short way for the latest, if there is one.
        self.nestings: dict[Any, Nesting] = {}
        self.inside: Callable[[tuple], Any] | None = None
        self._lock = fork_safe(threading.RLock())
        here = ref(self)  # what is called is held

        def general(args: tuple, options: dict) -> Tree:
            return here()._call(args, options)  # pyright: ignore[reportOptionalMemberAccess]

        self._general = general
        self._answer(lambda *args, **options: general(args, options))

    def _answer(self, front: Callable) -> None:
        """Have `front` answer calls."""
        state = (front, (), None, self.__dict__)
        self.__setstate__(state)  # pyright: ignore[reportAttributeAccessIssue]

    def __get__(self, instance: object, owner: type | None = None) -> Callable:
        """The method of an instance, which becomes the first argument."""
        if instance is None:
            return self
        return lambda *args, **options: self(instance, *args, **options)

    def __reduce__(self):
        """Pickled and copied as the function and its options: programs are in the cache."""
        return reduced(self, StaticFunction, self._f, self._names, self._dynamic)

    @property
    def function(self) -> Callable:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The Python function that was compiled."""
        return self._f

    def of(self, f: Callable) -> Callable:
        """Another function in place of the compiled one, not compiled."""
        return f

    def variant(self, *args, **options) -> "Variant":
        """The variant for arguments like these: example arrays and numbers."""
        return self._find(args, options)[0]

    @property
    def njit(self) -> Callable:
        """The Numba function of the only variant; these properties raise as `only_variant`."""
        return self.only_variant("njit").njit

    @property
    def njit_into(self) -> Callable:
        """The only variant's function that writes into given arrays."""
        return self.only_variant("njit_into").njit_into

    @property
    def address(self) -> int:
        """The address of the only variant's C function of two tables of pointers."""
        return self.only_variant("address").address

    def cfunc(self, kind: str) -> "CFunc":
        """The only variant as a C function that integrators ("quad") or solvers ("ode") call."""
        return self.only_variant(f'cfunc("{kind}")').cfunc(kind)

    @property
    def program(self) -> Program:
        """The recorded program of the only variant."""
        return self.only_variant("program").program

    @property
    def lowered(self) -> "Lowered":
        """The values that the only variant was brought to: about fifteen kinds."""
        return self.only_variant("lowered").lowered

    @property
    def schedule(self) -> "Scheduled":
        """The values of the only variant that share a loop nest, and the order of its steps."""
        return self.only_variant("schedule").schedule

    @property
    def loops(self) -> "Loops":
        """The kernels and the core of the only variant, as statements over buffers."""
        return self.only_variant("loops").loops

    @property
    def source(self) -> str:
        """The text of the Numba module of the only variant, with the user's lines as comments."""
        return self.only_variant("source").source

    @property
    def plan(self) -> "Plan":
        """The steps of the only variant with their flops and bytes, and its buffers."""
        return self.only_variant("plan").plan

    def only_variant(self, what: str) -> "Variant":
        """The only variant. Raises TraceError where there is none, or more than one."""
        every = list(self._variants.values())
        every = [variant for variant in every if variant.sizes] or every
        if len(every) != 1:
            raise TraceError(
                f"{self.name}.{what}: there are {len(every)} variants; call the function "
                f"once with an example, or take .variant(*example).{what}"
            )
        return every[0]

    @property
    def name(self) -> str:
        return getattr(self._f, "__name__", type(self._f).__name__)

    def _call(self, args: tuple, options: dict) -> Tree:
        """A call of any kind."""
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
        """The variant for these arguments, and what it is given of them in order."""
        arguments = Arguments(args, options, self.static)
        if self.specs is not None:
            named = self.specs.of(self.name, arguments)
            if named.sizes:
                variant = self._variant(arguments, named)
                if is_for(variant, named, arguments.avals, self._recorder(arguments)):
                    return variant, arguments.given
        return self._variant(arguments), arguments.given

    def _variant(self, arguments: Arguments, named: "Named | None" = None) -> "Variant":
        """The variant that there is or that is made: for all sizes of these names, or for the sizes
        of the arguments."""
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
                if variant.program.is_narrow:  # then it matters which numbers are Python's
                    key = (*key, weak)
                self._put(key, variant)
        return variant

    def _put(self, key: Any, variant: "Variant") -> None:
        """Let a variant answer from now on, and keep the one that did."""
        if key in self._variants:
            others = [other for other in self._others.get(key, ()) if other is not variant]
            self._others[key] = [self._variants[key], *others][:_OTHERS]
        self._variants[key] = variant
        if len(self._variants) > _MOST:
            oldest = next(iter(self._variants))
            del self._variants[oldest]
            self._others.pop(oldest, None)

    def _recorder(self, arguments: Arguments) -> Callable[[list[Aval]], Program]:
        """What records the function for arguments of given shapes."""
        from .entry.signature import program_name

        name = program_name(self.name)
        return lambda avals: trace(self._f, name, avals, arguments.weak, arguments.fill)

    def _known(self, key: tuple, weak: tuple) -> "Variant | None":
        """The variant of a key that was recorded from what the function reads now."""
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
    """Kinds of leaves with dtypes alone, where their shapes stand elsewhere."""
    if shapes is None:
        return kinds
    return tuple(kind.dtype if isinstance(kind, Aval) else kind for kind in kinds)


def compile(
    f: Callable | None = None,
    *,
    static_argnames: Iterable[str] = (),
    dynamic: Mapping[str, Spec] | None = None,
) -> Any:
    """`f` as a Numba function, compiled at its first call for the arguments' shapes and dtypes.

    Arguments:
        f: a function of arrays and numbers, or of nested dicts, lists and tuples of them, such as
            `nbgrad.value_and_grad(loss)`; without it, a decorator with options.
        static_argnames: arguments whose value is part of the program, such as a number of layers;
            each value compiles anew. Strings, bools, None and functions are static anyway.
        dynamic: for arguments by name, names for lengths that differ from call to call, None for
            literal ones: `{"x": ("n", None), "y": ("n",)}`. One program is compiled for all of
            them, 0 and 1 too. A spec for nested arguments holds for each of their arrays. For a
            named length n, `isinstance(n, int)` is true, and `type(n) is int` false.

    Dtypes are NumPy's; results of float64, int64 and bool without axes are Python's numbers. Raises
    TraceError, which names the line, where the function needs a number while it is recorded, or an
    op that only the eager tier has.

    Arrays that the function closes over are read at each call. Everything else that it reads beside
    its arguments is compared at each call with what it was, and the function is recorded again
    where it changed: globals and closed-over variables, items of dicts and lists, attributes of
    objects, classes and modules, defaults, helper functions that are defined again. The latest
    programs are kept, so that a value that comes back costs no compilation. Arrays whose numbers
    decided about the program (an index, `y + 1`, up to 4096 integers such as n in `x[:n]`) are
    compared, too.
    Pass as arguments what changes often: recording takes milliseconds, another number compiles.

    Not noticed: `float(y[0])` of a float in an array that is changed in place; changes of functions
    and modules of Python and of installed packages; items of containers with more than 4096;
    environment variables, context variables, files and clocks. The functions `njit`, `address` and
    `cfunc` of a variant stay as they were recorded.

    Equal names in `dynamic` stand for equal lengths: DimensionMismatch names both arguments where
    they are not. A function that needs more of them (`x[5]` that there are 6 elements) is compiled
    for other lengths on their own; one that computes with a length what has no formula, such as a
    Python loop over it, is refused with its line. Where a function reads lengths (`x.shape`), it is
    recorded once for each new one, and compiled for that alone where it records another program.
    `njit` looks at conditions only.

    A compiled function ignores `np.errstate`, `np.seterr` and filters of warnings: a division by
    zero gives inf in silence.

    Results are new arrays; with `out=`, arrays in the nesting of the result, they are written there
    (places of numbers are not looked at) and the call allocates no arrays.

    >>> f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.tanh(x) * x)))
    >>> value, slope = f(np.array([0.0, 1.0]))
    >>> round(value, 6), slope.round(6)
    (0.761594, array([0.      , 1.181568]))
    """
    if f is None:
        return lambda g: compile(g, static_argnames=static_argnames, dynamic=dynamic)
    trees.require_function("compile", f)
    return StaticFunction(f, static_argnames, dynamic)
