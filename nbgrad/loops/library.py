"""Calls of library functions in functions of loops."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ..adjoints.build import INT
from ..adjoints.library import SIZES, with_calls
from ..compiler.front.functions import function_of
from ..ir.library import FOURIER, LIBRARY
from ..ir.statements import Call, Function, Pointer
from ..ir.walk import with_inner

__all__ = ["with_library"]


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
    if each.function not in LIBRARY:
        return each
    dtype = each.pointers[0].dtype
    if each.function == FOURIER:
        return replace(each, function=_transform(dtype))
    return replace(each, function=_product(dtype, len(each.arguments)))


@cache
def _product(dtype: np.dtype, count: int) -> Function:
    from ..kernels.series import added_product, series_of_products

    function = added_product if count == SIZES else series_of_products
    found = function_of(function, (*[Pointer(dtype)] * 3, *[INT] * (count - 3)))
    return replace(found, attributes=found.attributes | {"noalias"})


@cache
def _transform(dtype: np.dtype) -> Function:
    from ..kernels.fourier_plans import added_transform

    found = function_of(added_transform, (*[Pointer(dtype)] * 4, *[INT] * 6))
    return replace(found, attributes=found.attributes | {"noalias", "noinline"})
