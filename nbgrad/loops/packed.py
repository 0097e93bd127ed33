"""Values and derivatives of a function as functions of the kernel IR that fill one vector.

The value of a call is a vector of its float results, and of the elements of arrays that it wrote
to. Its cotangents are a vector, too. So a call, with its derivatives of any order, is an op of
arrays with one result.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..adjoints.build import INT
from ..adjoints.reverse import forward_and_backward, value_and_cotangents
from ..adjoints.spreads import with_pieces
from ..compiler.forks import with_open_properties
from ..errors import LoopError, NbgradError
from ..ir.statements import Call, Function
from ..ir.walk import with_inner
from .signature import Signature

__all__ = ["Derivative", "derivative", "latest"]


@with_open_properties
@dataclass(frozen=True)
class Derivative:
    """The value of a call, or with `wrt` its cotangents with respect to these leaves, or the
    derivatives of these along directions.

    `outs` are the arrays that the function writes to whose elements are results, by their places
    among the leaves. `along` has for each direction the leaves that move.

    The value is the vector of float results, then of the elements of `outs`; its cotangent has the
    same layout. With `wrt`, the vector has the cotangents of these leaves, then the float results.
    """

    signature: Signature
    outs: tuple[int, ...] = ()
    wrt: tuple[int, ...] | None = None
    along: tuple[tuple[int, ...], ...] = ()
    is_seeded: bool = False  # the cotangent is 1, for the only result, and not an argument
    is_whole: bool = False  # the vector of the results that are integers and bools, instead
    is_narrow: bool = False  # the vector is of float32, and ends with a float64: the only result
    half: str = ""  # "forward": the value, and a record; "backward": the cotangents, from a record

    @property
    def takes_cotangent(self) -> bool:
        return not self.gives_value and not self.is_seeded

    @property
    def gives_value(self) -> bool:
        """Whether the vector is the value, not cotangents."""
        return self.wrt is None or self.half == "forward"

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the vector."""
        if self.is_narrow:
            return np.dtype(np.float32)
        return INT if self.is_whole else self.signature.dtype

    @property
    def name(self) -> str:
        kind = self.half or ("value" if self.wrt is None else "vjp")
        return f"{self.signature.name}_{kind}{len(self.along)}"

    def __repr__(self) -> str:
        return (
            f"{self.signature.digest} {self.outs} {self.wrt} {self.along} {self.is_seeded} "
            f"{self.is_whole} {self.half}{' narrow' * self.is_narrow}"
        )

    @cached_property
    def count(self) -> int:
        """The number of results of which the value, or its cotangent, consists."""
        return sum(map(self.takes, self.signature.results))

    @property
    def given(self) -> int:
        """The number of results in the vector."""
        return 0 if self.half == "backward" else self.count

    @property
    def places(self) -> tuple[int, ...]:
        """The leaves of which the vector has elements."""
        return self.outs if self.gives_value else self.wrt or ()

    def takes(self, dtype: np.dtype) -> bool:
        """Whether results of a dtype are in the vector."""
        return (dtype.kind != "f") == self.is_whole

    def size(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """The length of the vector, for the shapes of the leaves."""
        size = sum(prod(shapes[i]) for i in self.places)
        return size + size % 2 + 2 if self.is_narrow else size + self.given

    def width(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """The length of the cotangent of the value."""
        return self.count + sum(prod(shapes[i]) for i in self.outs)

    @property
    def wanted(self) -> list[str]:
        """The leaves that have cotangents, by their names in the kernel IR."""
        return [self.signature.leaves[i].name for i in sorted({*(self.wrt or ()), *self.outs})]

    @cached_property
    def names(self) -> list[str]:
        """The arguments of the kernel: leaves, cotangent, directions."""
        names = [f"x{i}" for i in range(len(self.signature.leaves))]
        names += ["ct"] if self.takes_cotangent else []
        return [*names, *(f"d{k}_{i}" for k, moving in enumerate(self.along) for i in moving)]

    @cached_property
    def dtypes(self) -> list[np.dtype]:
        """The dtypes of these."""
        leaves = self.signature.leaves
        kinds = [leaf.dtype for leaf in leaves] + [self.dtype] * self.takes_cotangent
        return [*kinds, *(leaves[i].dtype for moving in self.along for i in moving)]

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The places of those that are numbers."""
        leaves = self.signature.leaves
        kinds = [*leaves, *(leaves[i] for moving in self.along for i in moving)]
        return frozenset(
            i if i < len(leaves) else i + self.takes_cotangent
            for i, leaf in enumerate(kinds) if leaf.ndim is None
        )  # fmt: skip

    def each(self, arguments: list[Any]) -> Iterator[list[Any]]:
        """The arguments of each call of the function."""
        yield arguments

    @property
    def _asked(self) -> tuple[list[str], list[str], list[str]]:
        """What reverse mode is given."""
        names, wanted = [leaf.name for leaf in self.signature.leaves], self.wanted
        return wanted, self.signature.lengths, [name for name in names if name not in wanted]

    @cached_property
    def halves(self) -> tuple[Function, Function] | None:
        """The functions that run forward and backward, if there are two."""
        if not self.half:
            return None
        if self.half == "backward":
            return self.changed(half="forward").halves
        return forward_and_backward(self.signature.primal, *self._asked)

    @cached_property
    def is_possible(self) -> bool:
        """Whether there are two functions. What cannot be differentiated says so in a pullback."""
        if self.signature.checked is not None:  # each run checks indices in a run before
            return False
        try:
            return self.halves is not None
        except Exception:
            return False

    @cached_property
    def function(self) -> Function:
        """The function on the leaves and on buffers for shadows and tangents, not packed.

        Raises NoRuleError for a function that cannot be differentiated.
        """
        signature, lengths = self.signature, self.signature.lengths
        names = [leaf.name for leaf in signature.leaves]
        try:
            made = signature.primal
            if self.halves is not None:
                made = self.halves[self.half == "backward"]
            elif self.wrt is not None:
                made = value_and_cotangents(made, *self._asked)
            else:
                made = with_pieces(made, lengths)
            for moving in self.along:
                made = _tangents(made, [names[i] for i in moving], lengths)
        except NbgradError:
            raise
        except Exception as error:  # a statement that the passes do not know
            raise signature.refusal(f"{type(error).__name__}: {error}") from error
        return _exact(made)

    def changed(self, **changes: Any) -> "Derivative":
        """The same with other attributes."""
        same = {each.name: getattr(self, each.name) for each in fields(self)}
        return derivative(**(same | changes))

    def packed(self, by_address: bool) -> Function:
        """The function that fills a vector. Its parameters are the leaves, then the cotangent, then
        the directions, then the vector. They are arrays with their lengths, and numbers; or,
        `by_address`, pointers, and then the lengths of all leaves."""
        from .packing import Packing  # which knows derivatives

        return Packing(self, by_address).function


@lru_cache(maxsize=8192)
def derivative(
    signature: Signature,
    outs: tuple[int, ...] = (),
    wrt: tuple[int, ...] | None = None,
    along: tuple[tuple[int, ...], ...] = (),
    is_seeded: bool = False,
    is_whole: bool = False,
    is_narrow: bool = False,
    half: str = "",
) -> Derivative:
    """The `Derivative` with these attributes: equal ones are one object."""
    made = Derivative(signature, outs, wrt, along, is_seeded, is_whole, is_narrow, half)
    if wrt and not along and half != "backward":
        latest[signature.function] = made
    return made


latest: WeakKeyDictionary[Any, Derivative] = WeakKeyDictionary()
"""For each function the gradient that was asked for last with new types of arguments."""


def _tangents(function: Function, wrt: Sequence[str], lengths: Sequence[str]) -> Function:
    try:
        from ..adjoints.tangent import tangents  # pyright: ignore
    except ImportError:
        raise LoopError(
            f"{function.name}: forward mode and second derivatives of loops are not there yet"
        ) from None
    return tangents(function, wrt, lengths)


def _exact(function: Function) -> Function:
    """The function with each operation rounded as written, as Numba does."""

    def change(body: Any) -> tuple:
        return tuple(
            replace(each, function=_exact(each.function))
            if isinstance(each, Call) and isinstance(each.function, Function)
            else with_inner(each, change)
            for each in body
        )

    attributes = function.attributes | {"exact"}
    return replace(function, body=change(function.body), attributes=attributes)
