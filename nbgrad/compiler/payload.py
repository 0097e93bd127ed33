"""A compiled function as bytes: a header in JSON, object code, and bitcode for callers.

Numba pickles compiled functions, but loading a pickle can run any code. Kernels need only names,
types of numbers and arrays, and dtypes. This module serialises these explicitly; a function with
anything else is not stored.
"""

import json
import struct
import sys
from typing import Any

import numpy as np
from numba.core import types

from .folder import Unstorable
from .numba_api import (
    FunctionDescriptor,
    PythonFunctionDescriptor,
    Signature,
    compiler,
    environment,
)
from .pipeline import Library

__all__ = ["Unstorable", "packed", "unpacked"]

_LENGTHS = struct.Struct("<QQ")
_PLAIN = {
    str(kind): kind for kind in (*types.number_domain, types.boolean, types.none, types.voidptr)
}


def packed(result: Any) -> list[bytes]:
    """The pieces of a compiled function, whose library drops its object code. Raises Unstorable."""
    library, function, signature = result.library, result.fndesc, result.signature
    if type(library) is not Library or type(function) is not PythonFunctionDescriptor:
        raise Unstorable(f"{type(library).__name__} of {type(function).__name__}")
    if library.has_dynamic_globals:
        raise Unstorable("addresses of this process")
    if result.objectmode or result.lifted or result.reload_init or signature.recvr is not None:
        raise Unstorable("object mode, lifted loops or code that must run when it is loaded")
    used = map(environment.lookup_environment, library.environments)
    others = [one for one in used if one is not None and one.can_cache()]
    facts = {
        "library": library.name,
        "function": {slot: _told(getattr(function, slot)) for slot in FunctionDescriptor.__slots__},
        "returns": _told(signature.return_type),
        "takes": _told(signature.args),
        "environment": _environment(result.environment),
        "others": [_environment(other) for other in others],
    }
    if _read(facts["takes"]) != signature.args or _read(facts["returns"]) != signature.return_type:
        raise Unstorable(str(signature))
    header = json.dumps(facts, separators=(",", ":")).encode()
    code, bitcode = library.drop()
    return [_LENGTHS.pack(len(header), len(code)), header, code, bitcode]


def unpacked(blob: memoryview, context: Any) -> Any:
    """The compiled function, ready to be called. Raises Exception for bytes that are not one."""
    length, size = _LENGTHS.unpack_from(blob)
    header = blob[_LENGTHS.size :][:length]
    code = blob[_LENGTHS.size + length :]
    facts = json.loads(bytes(header))
    function = object.__new__(PythonFunctionDescriptor)
    for slot, value in facts["function"].items():
        setattr(function, slot, _read(value))
    environments = (facts["environment"], *facts["others"])
    if any(module not in sys.modules for module, *_ in environments):
        context.refresh()  # which loads what Numba has to compile with
    own, *others = (
        environment._rebuild_env(_known(module), _read(constants), name)
        for module, constants, name in environments
    )
    codegen = context.codegen()
    library = Library.loaded(codegen, facts["library"], bytes(code[:size]), bytes(code[size:]))
    entry = context.get_executable(library, function, own)
    for other in others:
        codegen.set_env(other.env_name, other)
    return compiler.compile_result(
        typing_context=context.typing_context,
        target_context=context,
        entry_point=entry,
        type_annotation="",
        library=library,
        signature=Signature(_read(facts["returns"]), _read(facts["takes"]), None),
        objectmode=False,
        lifted=(),
        fndesc=function,
        environment=own,
        reload_init=(),
        referenced_envs=others,
    )


def _environment(held: Any) -> tuple[str, Any, str]:
    module = held.globals.get("__name__")
    if not isinstance(module, str):
        raise Unstorable("an environment without a module")
    return module, _told(list(held.consts)), held.env_name


def _known(module: str) -> str:
    """A module that is there already: a file must not choose what is imported."""
    if module not in sys.modules:
        raise ValueError(f"it needs the module {module}, which is not loaded")
    return module


def _told(value: Any) -> Any:
    """A value as JSON has it. Raises Unstorable."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (tuple, list):
        return {kind.__name__: [_told(item) for item in value]}
    if isinstance(value, np.dtype) and value.names is None and not value.hasobject:
        return {"dtype": value.str}
    if isinstance(value, types.Type):
        if _PLAIN.get(str(value)) == value:
            return {"plain": str(value)}
        if kind is types.Array and isinstance(value, types.Array):
            parts = (value.dtype, value.ndim, value.layout, not value.mutable, value.aligned)
            return {"array": [_told(part) for part in parts]}
        if isinstance(value, (types.Tuple, types.UniTuple)):
            return {"types": [_told(item) for item in value.types]}
        if isinstance(value, types.Literal):
            return {"literal": _told(value.literal_value)}
    raise Unstorable(f"a {kind.__name__}")


def _read(told: Any) -> Any:
    """What `_told` was given."""
    if not isinstance(told, dict):
        return told
    ((kind, value),) = told.items()
    if kind == "plain":
        return _PLAIN[value]
    if kind == "dtype":
        return np.dtype(value)
    if kind == "literal":
        return types.literal(_read(value))
    items = [_read(item) for item in value]
    if kind == "array":
        dtype, ndim, layout, readonly, aligned = items
        return types.Array(dtype, ndim, layout, readonly=readonly, aligned=aligned)
    makers = {"tuple": tuple, "list": list, "types": types.Tuple}
    return makers[kind](items)
