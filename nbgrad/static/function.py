"""`nbgrad.compile`: a function as Numba functions, one for each tree, shapes and dtypes.

The compiler itself, some forty modules, loads when the first variant is made.
"""

import inspect
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.array import Array
from ..core.primitive import Aval
from ..core.remade import Wrapper, reduced
from ..core.symbols import Symbol, static_key
from ..errors import TraceError
from ..kernels.jit.forks import fork_safe
from ..transforms import trees
from .entry.flatten import UNFIT, Leaf, Tree, Unwritten, aval_of, caller, is_dynamic
from .trace.program import Program
from .trace.record import trace

if TYPE_CHECKING:
    from numba.core.ccallback import CFunc

    from .inspect.report import Plan
    from .inspect.stages import Loops, Lowered, Scheduled
    from .variant import Variant

# Variants of one function: past the first number a warning, past the second the oldest goes.
_MANY, _MOST = 8, 64


class StaticFunction(Wrapper):
    """What `nbgrad.compile` gives: called like the function, it compiles a variant for new
    shapes and runs it."""

    def __init__(self, f: Callable, static_argnames: Iterable[str] = ()):
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        self._f = f
        self._gives = "out" not in _parameters(f)
        self._names = (
            (static_argnames,) if isinstance(static_argnames, str) else (*static_argnames,)
        )
        self._static = _static_names(f, self._names)
        self._variants: dict[Any, Variant] = {}
        self._lock = fork_safe(threading.RLock())
        # The generated ways in for the last structure of arguments, without and with out=.
        self._front: Callable | None = None
        self._writing_front: Callable | None = None

    def __call__(self, *args, **options):
        if options and "out" in options and self._gives:
            return self._write(args, options, options.pop("out"))
        front = self._front
        if front is not None and not options:
            try:
                return front(*args)
            except UNFIT:
                pass
        return self._call(args, options)

    def __get__(self, instance: object, owner: type | None = None) -> Callable:
        """As a method, the instance comes first."""
        if instance is None:
            return self
        return lambda *args, **options: self(instance, *args, **options)

    def __reduce__(self):
        """Pickled and copied as the function and its options: programs are in the cache."""
        return reduced(self, StaticFunction, self._f, self._names)

    @property
    def function(self) -> Callable:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What was compiled."""
        return self._f

    def of(self, f: Callable) -> Callable:
        """Another function in place of the compiled one, as it stands: what it closes over is of
        another transformation."""
        return f

    def variant(self, *args, **options) -> "Variant":
        """The variant for arguments like these: example arrays and numbers."""
        return self._find(args, options)[0]

    @property
    def njit(self) -> Callable:
        """The Numba function of the only variant. Raises TraceError where there is none, or more
        than one."""
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
        """What was recorded, for the only variant."""
        return self.only_variant("program").program

    @property
    def lowered(self) -> "Lowered":
        """The values that the only variant was brought to: about fifteen kinds."""
        return self.only_variant("lowered").lowered

    @property
    def schedule(self) -> "Scheduled":
        """What shares a loop nest in the only variant, and the order of its steps."""
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
        """The one variant that there is, as `what` asks for. Raises TraceError otherwise."""
        if len(self._variants) != 1:
            raise TraceError(
                f"{self._name}.{what}: there are {len(self._variants)} variants; call the function "
                f"once with an example, or take .variant(*example).{what}"
            )
        return next(iter(self._variants.values()))

    @property
    def _name(self) -> str:
        return getattr(self._f, "__name__", type(self._f).__name__)

    def _write(self, args: tuple, options: dict, out: Tree) -> Tree:
        front = self._writing_front
        if front is not None and not options:
            try:
                return front(out, *args)
            except UNFIT:
                pass
        return self._call(args, options, out)

    def _call(self, args: tuple, options: dict, out: Tree = None) -> Tree:
        leaves, _ = trees.flatten((args, options) if options else list(args))
        if any(isinstance(leaf, Array) for leaf in leaves):
            if out is not None:
                raise TraceError(f"{self._name}: out= is for plain arrays, not for tracked ones")
            return self._f(*args, **options)  # inside of another transformation: as it stands
        variant, dynamic = self._find(args, options)
        result = variant.python.run(dynamic, out)
        if not options and out is not None:
            self._writing_front = self._caller(variant, args, into=True)
        elif not options:
            self._front = self._caller(variant, args, into=False)
        return result

    def _caller(self, variant: "Variant", args: tuple, into: bool) -> Callable | None:
        """The generated way in for arguments like these, where it can be written."""
        try:
            return caller(variant.python, args, self._static, into)
        except (Unwritten, SyntaxError):
            return None

    def _is_static_name(self, position: int | str) -> bool:
        return position in self._static

    def _find(self, args: tuple, options: dict) -> "tuple[Variant, list[Leaf]]":
        """The variant for these arguments, and their dynamic leaves in order."""
        marked = [_Static(a) if self._is_static_name(i) else a for i, a in enumerate(args)]
        named = {k: _Static(v) if self._is_static_name(k) else v for k, v in options.items()}
        tree = (marked, named)
        leaves, rebuild = trees.flatten(tree)
        is_static = [not is_dynamic(leaf) for leaf in leaves]
        kinds = tuple(
            _key(leaf) if static else aval_of(leaf)
            for leaf, static in zip(leaves, is_static, strict=True)
        )
        dynamic = [leaf for leaf, static in zip(leaves, is_static, strict=True) if not static]
        key = (trees.structure(tree), _order_of(tree), kinds)
        weak = tuple(type(leaf) in (float, int) for leaf in dynamic)
        variant = self._known(key, weak)
        if variant is not None:
            return variant, dynamic
        from .entry.signature import program_name
        from .variant import Variant

        with self._lock:
            variant = self._known(key, weak)
            if variant is None:

                def fill(symbols: list[Symbol]) -> tuple[list, dict]:
                    rest = iter(symbols)
                    filled = [
                        leaf.value if isinstance(leaf, _Static) else leaf if static else next(rest)
                        for leaf, static in zip(leaves, is_static, strict=True)
                    ]
                    return rebuild(filled)

                avals = [kind for kind in kinds if isinstance(kind, Aval)]
                program = trace(self._f, program_name(self._name), avals, weak, fill)
                self._warn(kinds)
                if program.is_narrow:  # then it matters which numbers are Python's
                    key = (*key, weak)
                variant = self._variants[key] = Variant(program)
                if len(self._variants) > _MOST:
                    del self._variants[next(iter(self._variants))]
        return variant, dynamic

    def _known(self, key: tuple, weak: tuple) -> "Variant | None":
        """The variant of a key, unless arrays that the function closes over have changed so that
        another program is theirs."""
        for known in (key, (*key, weak)):
            variant = self._variants.get(known)
            if variant is not None:
                return variant if variant.program.is_current() else None
        return None

    def _warn(self, kinds: tuple) -> None:
        if len(self._variants) == _MANY:
            shown = ", ".join(map(str, kinds))
            warnings.warn(
                f"{self._name} is compiled for the {_MANY + 1}th time, now for ({shown}): each set "
                "of shapes, dtypes and static values takes a compilation. Pass numbers that change "
                "as arrays or floats, not as static arguments, and pad to few shapes",
                stacklevel=4,
            )


class _Static:
    """An argument that is part of the variant: a leaf, whatever it holds."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def __reduce__(self):  # so that it is no plain object, which trees take apart
        return _Static, (self.value,)


def _key(leaf: object) -> Hashable:
    """A static leaf as part of a key. Raises TypeError for what has no hash."""
    value = leaf.value if isinstance(leaf, _Static) else leaf
    if value is leaf and hasattr(value, "__array__") and not isinstance(value, np.generic):
        dtype = f" {value.dtype}" if isinstance(value, np.ndarray) else ""
        raise TypeError(
            f"a {type(value).__name__}{dtype} is no argument of a compiled function, which takes "
            "numbers and arrays of floats, integers and bools: pass np.asarray of it, converted"
        )
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"a static argument must be hashable, to tell variants apart; a {type(value).__name__} "
            "is not: pass arrays as ordinary arguments, lists as tuples"
        ) from None
    return (type(value), static_key(value))


def _order_of(tree: Tree) -> tuple:
    """The keys of the dicts in nested arguments as they stand: a fold over them depends on it."""
    if isinstance(tree, dict):
        return tuple((static_key(key), _order_of(value)) for key, value in tree.items())
    if isinstance(tree, (list, tuple)):
        return tuple(map(_order_of, tree))
    return ()


def _parameters(f: Callable) -> list[str]:
    try:
        return list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return []


def _static_names(f: Callable, names: Iterable[str]) -> set[int | str]:
    """Static arguments by name and by position."""
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        return set()
    parameters = _parameters(f)
    unknown = [name for name in names if name not in parameters]
    if unknown:
        raise ValueError(
            f"static_argnames: {', '.join(unknown)} is no argument of the function; it has "
            f"{', '.join(parameters)}"
        )
    return {*names, *(parameters.index(name) for name in names)}


def compile(f: Callable | None = None, *, static_argnames: Iterable[str] = ()) -> Any:
    """`f` as a Numba function, compiled at its first call for the arguments' shapes and dtypes.

    Arguments:
        f: a function of arrays and numbers, or of nested dicts, lists and tuples of them, such as
            `nbgrad.value_and_grad(loss)`; without it, a decorator with options.
        static_argnames: arguments whose value is part of the program, such as a number of layers;
            each value compiles anew. Strings, bools, None and functions are static anyway.

    Dtypes are NumPy's; results of float64, int64 and bool without axes are Python's numbers. Raises
    TraceError, which names the line, where the function needs a number while it is recorded, or an
    op that only the eager tier has.

    Arrays that the function closes over are read at each call. Where Python computed with them
    while the function was recorded (an index, `y + 1`), they are compared at each call with what
    they were, and the function is recorded anew where they differ. Another array under the same
    name, or `float(y[0])`, is not noticed: pass as arguments what changes.

    Results are new arrays; with `out=`, arrays in the nesting of the result, they are written there
    (places of numbers are not looked at) and the call allocates no arrays.

    >>> f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.tanh(x) * x)))
    >>> value, slope = f(np.array([0.0, 1.0]))
    >>> round(value, 6), slope.round(6)
    (0.761594, array([0.      , 1.181568]))
    """
    if f is None:
        return lambda g: compile(g, static_argnames=static_argnames)
    trees.require_function("compile", f)
    return StaticFunction(f, static_argnames)
