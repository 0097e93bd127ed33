"""Calls of library functions in functions of loops."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ..adjoints.build import INT
from ..adjoints.products import PRODUCT, with_calls
from ..compiler.front.functions import function_of
from ..ir.statements import Call, Function, Pointer
from ..ir.walk import with_inner

__all__ = ["with_library"]

_SIZES = 9


def with_library(function: Function) -> Function:
    """The function with library functions for the products of matrices in it."""
    return replace(function, body=_changed(with_calls(function.body)))


def _changed(body: Any) -> tuple:
    return tuple(map(_statement, body))


def _statement(each: Any) -> Any:
    if not isinstance(each, Call):
        return with_inner(each, _changed)
    if isinstance(each.function, Function):
        return replace(each, function=with_library(each.function))
    if each.function != PRODUCT:
        return each
    return replace(each, function=_product(each.pointers[0].dtype))


@cache
def _product(dtype: np.dtype) -> Function:
    from ..kernels.added import added_product

    found = function_of(added_product, (*[Pointer(dtype)] * 3, *[INT] * _SIZES))
    return replace(found, attributes=found.attributes | {"noalias"})
