"""Defects of derivatives of loops, each as a patch that puts it back: the fuzzer must find them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest.mock import patch

from nbgrad.adjoints import inline, to_record, tree
from nbgrad.adjoints.adjoint import Adjoint
from nbgrad.adjoints.build import Names
from nbgrad.adjoints.positions import Positions
from nbgrad.adjoints.simplify import _Simplify
from nbgrad.adjoints.to_record import Plan
from nbgrad.ir.statements import Load


def overwritten() -> AbstractContextManager:
    """Elements that later rounds overwrite are not restored."""

    def may_meet(self, first, second, later, *rest):
        return not later and whole(self, first, second, later, *rest)

    whole = Positions.may_meet
    return patch.object(Positions, "may_meet", may_meet)


def stale_variables() -> AbstractContextManager:
    """A variable that is assigned later is read again."""

    def is_stable(self, statement, segment, body):
        reads = to_record.is_read(statement, self._variables)
        return True if reads else whole(self, statement, segment, body)

    whole = Plan._is_stable
    return patch.object(Plan, "_is_stable", is_stable)


def variables_in_branches() -> AbstractContextManager:
    """Branches that read variables are taken for straight code."""
    return patch.object(tree, "is_read", lambda statement, variables: False)


def kept_cotangents() -> AbstractContextManager:
    """The cotangent of an overwritten element is not set to 0."""

    def stored(self, shadow, at, value, dtype, kind):
        self._dtypes[name := self._names.new("g")] = dtype
        self._made.append(Load(name, shadow, at, dtype))
        self.add(value, name)

    return patch.object(Adjoint, "_stored", stored)


def shared_names() -> AbstractContextManager:
    """Names of inlined functions may be those of others."""
    return patch.object(Names, "take", lambda self, names: None)


def kept_flags() -> AbstractContextManager:
    """Flags of inlined functions keep the values of the last call."""

    def single_exit(body, results, names):
        declared, statements, outs = whole(body, results, names)
        first = {each.target for each in declared}
        while statements and getattr(statements[0], "target", None) in first:
            statements = statements[1:]
        return declared, statements, outs

    whole = inline.single_exit
    return patch.object(inline, "single_exit", single_exit)


def loads_behind_stores() -> AbstractContextManager:
    """A load behind a store to another position is what it was before."""
    return patch.object(_Simplify, "_forget", staticmethod(lambda buffer, known: None))


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {
    "overwritten-in-later-rounds": overwritten,
    "stale-variables": stale_variables,
    "variables-in-branches": variables_in_branches,
    "kept-cotangents": kept_cotangents,
    "shared-names": shared_names,
    "loads-behind-stores": loads_behind_stores,
}
FIRST = {
    "overwritten-in-later-rounds": 2110,
    "variables-in-branches": 2280,
    "shared-names": 5240,
    "loads-behind-stores": 5000,
}
"""Seeds from which on a defect is found soon."""
