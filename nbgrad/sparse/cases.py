"""`Case`: a function for arguments of one structure, with its patterns and compiled products."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import shape_of
from ..core.symbols import static_key
from ..errors import NoFloatError, TraceError
from ..static import compile
from ..static.arguments import order_of
from ..static.jit.derived import REFUSALS
from ..transforms import grad, jvp, trees, vjp, vmap
from ..transforms.direct import callee
from ..transforms.jacobians import Flat
from ..transforms.run import array_leaves
from .labels import Pattern
from .prepared import Compression, Recorded, given_pattern

# Patterns that are kept for other values that the function reads.
_OTHERS = 4


class Case:
    """A function of a vector and the other arguments, in place of one of a tree."""

    def __init__(self, op: str, f: Callable, args: tuple, place: int, given: Any):
        self._op, self._place, self._given = op, place, given
        self._flat = Flat((args[place],))
        if not self._flat.places:
            raise NoFloatError(
                f"{op}: the argument holds no float: write 2.0 for 2, or convert the array to "
                "float64"
            )
        self._is_hessian = op == "sparse_hessian"
        self._function = _of_vector(op, f, place, self._flat.unflatten)
        self._derived = grad(self._function) if self._is_hessian else self._function
        self._known: list[tuple[Recorded | None, Compression]] = []
        self._compiled: dict[bool, Callable] = {}

    @staticmethod
    def key(args: tuple, place: int) -> Any:
        """The structure of the arguments, with the shapes and dtypes of arrays, and other values in
        the differentiated argument."""
        leaves, _ = trees.flatten(list(args))
        own, _ = trees.flatten(args[place])
        static = [static_key(x) for x in own if not trees.is_differentiable(x)]
        kinds = [(shape_of(x), getattr(x, "dtype", type(x))) for x in leaves]
        return trees.structure(list(args)), order_of(list(args)), (*kinds,), (*static,)

    def compression(self, args: tuple) -> Compression:
        """Return the pattern and the colours."""
        for k, (recorded, found) in enumerate(self._known):
            if recorded is None or recorded.is_current():
                self._known.insert(0, self._known.pop(k))
                return found
        recorded = None
        if self._given is not None:
            n = self._flat.size
            m = n if self._is_hessian else self._rows(args)
            pattern = given_pattern(self._given, (m, n), self._op)
        else:
            recorded = self._recorded(args)
            pattern = recorded.pattern
        if self._is_hessian:
            pattern = _symmetric(pattern, self._given is None)
        self._known.insert(0, (recorded, Compression(pattern, self._is_hessian)))
        del self._known[_OTHERS:]
        return self._known[0][1]

    def _recorded(self, args: tuple) -> Recorded:
        try:
            return Recorded(self._derived, self._op, _plain(self._inputs(args)))
        except TraceError as error:
            raise type(error)(
                f"{self._op}: the pattern is found by recording the function, and that failed: "
                f"{error}; if you know which entries may be other than 0, pass pattern="
            ) from error

    def _rows(self, args: tuple) -> int:
        return shape_of(self._function(*self._inputs(args)))[0]

    def _inputs(self, args: tuple) -> list:
        vector = self._flat.flatten((args[self._place],))
        return [vector, *args[: self._place], *args[self._place + 1 :]]

    def matrix(self, args: tuple) -> Any:
        """Return the sparse matrix at a point."""
        found = self.compression(args)
        inputs = self._inputs(args)
        more = (found.colors, np.arange(found.count), found.places)
        data = self._products(found.by_rows)(*more, *inputs)
        return found.matrix(data)

    def _products(self, by_rows: bool) -> Callable:
        known = self._compiled.get(by_rows)
        if known is None:
            products = (_by_rows if by_rows else _by_columns)(self._derived)
            known = self._compiled[by_rows] = _compiled_if_possible(products)
        return known


def _compiled_if_possible(f: Callable) -> Callable:
    """Compile a function; if it is refused, run it as it is."""
    compiled, refused = compile(f), False

    def call(*args: Any) -> Any:
        nonlocal refused
        if not refused:
            try:
                return compiled(*args)
            except REFUSALS:
                refused = True
        return f(*args)

    return call


def _of_vector(op: str, f: Callable, place: int, unflatten: Callable) -> Callable:
    """The function of a vector and the other arguments that returns a vector; a number for a
    Hessian."""
    is_hessian = op == "sparse_hessian"

    def of_vector(vector: Any, *others: Any) -> Any:
        (x,) = unflatten(vector)
        result = callee(f)(*others[:place], x, *others[place:])
        if is_hessian:
            return result
        leaves, _ = array_leaves(op, result)
        parts = [np.reshape(leaf, -1) for leaf in leaves]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    of_vector.__name__ = getattr(f, "__name__", type(f).__name__)
    of_vector.__wrapped__ = f  # pyright: ignore[reportFunctionMemberAccess]
    return of_vector


def _by_columns(f: Callable) -> Callable:
    def products(colors: Any, every: Any, places: Any, vector: Any, *others: Any) -> Any:
        def push(color: Any) -> Any:
            seed = np.where(colors == color, 1.0, 0.0).astype(vector.dtype)
            return jvp(lambda v: f(v, *others), (vector,), (seed,))[1]

        return np.take(np.reshape(vmap(push)(every), -1), places)

    return products


def _by_rows(f: Callable) -> Callable:
    def products(colors: Any, every: Any, places: Any, vector: Any, *others: Any) -> Any:
        value, pull = vjp(lambda v: f(v, *others), vector)

        def pulled(color: Any) -> Any:
            return pull(np.where(colors == color, 1.0, 0.0).astype(value.dtype))[0]

        return np.take(np.reshape(vmap(pulled)(every), -1), places)

    return products


def _plain(args: list) -> list:
    """The arguments with zeros in place of arrays of transformations: only their shapes count."""
    leaves, rebuild = trees.flatten(args)
    return rebuild([np.zeros(x.shape, x.dtype) if isinstance(x, Array) else x for x in leaves])


def _symmetric(pattern: Pattern, is_found: bool) -> Pattern:
    """A symmetric pattern: a Hessian has no entry that one of the two found has not."""
    turned = pattern.T.tocsr()
    both = pattern.multiply(turned) if is_found else pattern + turned
    both = both.tocsr().astype(bool)
    both.sort_indices()
    return both
