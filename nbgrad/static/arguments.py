"""Arguments of compiled functions: the key of a variant, and the inputs of its program."""

import inspect
import types
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from ..core.primitive import Aval
from ..core.symbols import Symbol, static_key
from ..errors import ArgumentError, CompiledArgumentError
from ..runtime.kinds import is_a
from ..transforms import trees
from ..transforms.reverse import grad, value_and_grad
from ..transforms.transformed import Transformed
from .entry.flatten import Leaf, Tree, aval_of, is_dynamic


class Arguments:
    """The arguments of a call. Those at the positions and names `static` are part of the program,
    as are leaves that are no numbers or arrays.

    `kinds` has for each leaf its aval, or a key if it is static. `inputs` are the other leaves, and
    `weak` says which of them are Python numbers.
    """

    def __init__(self, args: Sequence, options: dict, static: set[int | str]):
        tree = marked(args, options, static)
        self.positional, self.named = tree
        self._leaves, self._rebuild = trees.flatten(tree)
        self._static = [not is_dynamic(leaf) for leaf in self._leaves]
        self.kinds = tuple(
            _key(leaf) if static else aval_of(_known(leaf))
            for leaf, static in zip(self._leaves, self._static, strict=True)
        )
        self.nesting = (trees.structure(tree), order_of(tree))
        self.inputs: list[Leaf] = [x for x in self._leaves if is_dynamic(x)]
        self.weak = tuple(type(leaf) in (float, int) for leaf in self.inputs)

    @property
    def avals(self) -> list[Aval]:
        """The shapes and dtypes of the inputs."""
        return [kind for kind in self.kinds if isinstance(kind, Aval)]

    def kinds_beside(self, shapes: tuple | None) -> tuple:
        """The kinds of the leaves, reduced to dtypes if `shapes` has the shapes."""
        if shapes is None:
            return self.kinds
        return tuple(kind.dtype if isinstance(kind, Aval) else kind for kind in self.kinds)

    @property
    def count(self) -> int:
        """The number of leaves."""
        return len(self._leaves)

    @property
    def places(self) -> list[int]:
        """The positions of the inputs among the leaves."""
        return [i for i, static in enumerate(self._static) if not static]

    @property
    def fixed(self) -> list[object]:
        """The static leaves."""
        pairs = zip(self._leaves, self._static, strict=True)
        return [unmarked(x) for x, static in pairs if static]

    def fill(self, symbols: Sequence[Symbol]) -> tuple[list, dict]:
        """Return the arguments with symbols in place of the inputs."""
        rest = iter(symbols)
        filled = [
            unmarked(leaf) if static else next(rest)
            for leaf, static in zip(self._leaves, self._static, strict=True)
        ]
        rebuild: Callable = self._rebuild
        return rebuild(filled)


def marked(args: Sequence, options: dict, static: set[int | str]) -> tuple[list, dict]:
    """Return positional and keyword arguments with static ones as leaves."""
    return (
        [_Static(a) if i in static else a for i, a in enumerate(args)],
        {k: _Static(v) if k in static else v for k, v in options.items()},
    )


def unmarked(leaf: object) -> object:
    """Return a leaf; for a marked static argument, its value."""
    return leaf.value if isinstance(leaf, _Static) else leaf


class _Static:
    """A static argument as a leaf, even if it is a container."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def __reduce__(self):  # not a plain object, which is flattened as a tree
        return _Static, (self.value,)


def _known(leaf: Leaf) -> Leaf:
    """Return a leaf. Raises TypeError for a long float, whose precision programs lack."""
    dtype = getattr(leaf, "dtype", None)
    if dtype is not None and dtype.char == "g" and dtype.itemsize > 8:
        raise CompiledArgumentError(
            f"compile: an argument of dtype {dtype}: compiled functions compute in float64, which "
            "would lose digits: pass x.astype(np.float64)"
        )
    return leaf


def _key(leaf: object) -> Hashable:
    """Return a static leaf as part of a key. Raises TypeError if it is not hashable."""
    value = unmarked(leaf)
    if value is leaf and hasattr(value, "__array__") and not is_a(value, np.generic):
        dtype = f" {value.dtype}" if is_a(value, np.ndarray) else ""
        raise CompiledArgumentError(
            f"a {type(value).__name__}{dtype} is no argument of a compiled function, which takes "
            "numbers and arrays of floats, integers and bools: pass np.asarray of it, converted"
        )
    try:
        hash(value)
    except TypeError:
        raise CompiledArgumentError(
            f"a static argument must be hashable, and a {type(value).__name__} is not: pass arrays "
            "as ordinary arguments, lists as tuples"
        ) from None
    return (type(value), static_key(value))


def order_of(tree: Tree) -> tuple:
    """Return the keys of nested dicts in their order, on which a loop over them depends."""
    if isinstance(tree, dict):
        return tuple((static_key(key), order_of(value)) for key, value in tree.items())
    if isinstance(tree, (list, tuple)):
        return tuple(map(order_of, tree))
    return ()


def parameters_of(f: Callable) -> list[str]:
    """Return the names of a function's parameters; none if they are unknown."""
    try:
        return list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return []


def places_of(f: Callable) -> tuple[str, ...]:
    """Return the names of the parameters of a plain function, in their order, which stand at the
    same positions in its derivatives; none of other callables, which may tell positional arguments
    from named ones."""
    while is_a(f, Transformed) and f.make in (grad, value_and_grad):
        f = f.function
    if not is_a(f, types.FunctionType):
        return ()
    code = f.__code__
    first = code.co_posonlyargcount
    return ("",) * first + code.co_varnames[first : code.co_argcount]


def at_places(args: Sequence, options: dict, names: Sequence[str]) -> tuple[tuple, dict] | None:
    """Return the arguments with named ones at their positions, as far as those before are given;
    None if there are none to move."""
    moved, rest = list(args), options
    for name in names[len(args) :]:
        if name not in rest:
            break
        rest = rest.copy() if rest is options else rest
        moved.append(rest.pop(name))
    return None if rest is options else ((*moved,), rest)


def static_names(f: Callable, names: Iterable[str]) -> set[int | str]:
    """Return the names and positions of static arguments."""
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        return set()
    parameters = parameters_of(f)
    unknown = [name for name in names if name not in parameters]
    if unknown:
        raise ArgumentError(
            f"static_argnames: {', '.join(unknown)} is no argument of the function; it has "
            f"{', '.join(parameters)}"
        )
    return {*names, *(parameters.index(name) for name in names)}


__all__ = [
    "Arguments", "at_places", "marked", "order_of", "parameters_of", "places_of", "static_names",
    "unmarked",
]  # fmt: skip
