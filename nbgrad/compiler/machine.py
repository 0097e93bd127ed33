"""Machine code from LLVM assembly: optimized, kept in the disk cache, loaded into the process.

LLVM never frees code that it runs, so a text is compiled or loaded once in a process. The target
machine is that of Numba's code generator, with its options: the CPU of this host with all of its
features.
"""

import json
import struct
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from llvmlite import binding

from ..errors import UnsupportedVersion
from .bitcode import internalize
from .cache import compiling, file_name, folder, loaded, save, turn_for
from .externals import find_blas, know_runtime
from .kernel import undisturbed
from .numba_api import config, cpu_target, get_host_cpu_features
from .optimizer import optimize

__all__ = ["is_at_hand", "machine_code", "optimized"]

_LENGTH = struct.Struct("<Q")
_known: dict[str, tuple[dict[str, int], Any]] = {}


def machine_code(
    name: str,
    content: str,
    write: Callable[[], tuple[str, Callable[[], Iterable[Any]], Any]],
    is_counted: bool = True,
    improve: Callable[[Any, Any], None] = optimize,
) -> tuple[dict[str, int], Any]:
    """The addresses of the functions that LLVM assembly defines, those without `internal`, and
    facts about them.

    Arguments:
        name: what the file in the cache begins with.
        content: the assembly must follow from it, the name and nbgrad's sources.
        write: called on a cache miss alone; it gives the assembly, `link_in`, and facts for JSON.
            The assembly may declare functions of the C library, of CPython, symbols that were added
            with `llvmlite.binding.add_symbol`, and functions of the modules that `link_in()` gives.
        is_counted: whether `nbgrad.stats()` counts it among the kernels.
        improve: optimizes the module for the machine.

    Raises RuntimeError for assembly that is wrong, and ImportError for symbols that are missing.
    """
    file = file_name(name, content, *_target())
    if file not in _known:
        with undisturbed():
            if file not in _known:
                _load_or_compile(file, write, is_counted, improve)
    return _known[file]


def is_at_hand(name: str, content: str) -> bool:
    """Whether this code is in the process or in the disk cache."""
    file, store = file_name(name, content, *_target()), folder()
    return file in _known or (store is not None and store.holds(file))


def _load_or_compile(file: str, write: Callable, is_counted: bool, improve: Callable) -> None:
    turn = turn_for(file)
    try:
        found = loaded(file, lambda blob: _in_process(*_unpacked(blob)), is_counted)
        if found is not None:
            _known[file] = found
            return
        with compiling:
            text, link_in, facts = write()
            header, code = _compiled(file, text, link_in, improve)
            header["facts"] = facts
            _known[file] = _in_process(header, code)
        written = json.dumps(header, separators=(",", ":")).encode()
        save(file, lambda: (_LENGTH.pack(len(written)), written, code), is_counted)
    finally:
        if turn is not None:
            turn.end()


def _compiled(
    file: str, text: str, link_in: Callable, improve: Callable
) -> tuple[dict[str, Any], bytes]:
    """Names of functions, with symbols that nothing else in the process has; needed symbols; object
    code."""
    suffix = file.rpartition("-")[2].partition(".")[0]
    module, functions = optimized(text, link_in, suffix, improve)
    needed = [
        each.name for each in (*module.functions, *module.global_variables)
        if each.is_declaration and not each.name.startswith("llvm.")
    ]  # fmt: skip
    code = _machine().emit_object(module)
    return {"functions": functions, "needed": sorted(needed)}, code


def optimized(
    text: str, link_in: Callable, suffix: str = "", improve: Callable = optimize
) -> tuple[Any, dict[str, str]]:
    """The optimized module of assembly, and the symbols of its functions, which end with a
    suffix."""
    machine = _machine()
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = binding.get_process_triple(), str(machine.target_data)
    functions = {}
    for each in module.functions:
        if not each.is_declaration and each.linkage != binding.Linkage.internal:
            functions[each.name] = f"{each.name}.{suffix}"
    for plain, symbol in functions.items():
        module.get_function(plain).name = symbol
    symbols = [*functions.values()]
    for other in link_in():
        module.link_in(other)
    internalize(module, symbols)
    module.verify()
    improve(module, machine)
    return module, functions


def _unpacked(blob: memoryview) -> tuple[dict[str, Any], bytes]:
    (length,) = _LENGTH.unpack_from(blob)
    start = _LENGTH.size + length
    return json.loads(bytes(blob[_LENGTH.size : start])), bytes(blob[start:])


def _in_process(header: dict[str, Any], code: bytes) -> tuple[dict[str, int], Any]:
    """Load object code: the addresses of its functions, and facts."""
    _require(header["needed"])
    find_blas(code)
    engine = _engine()
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    symbols = header["functions"].items()
    return {plain: engine.get_function_address(each) for plain, each in symbols}, header["facts"]


def _require(names: Iterable[str]) -> None:
    """Raise ImportError for a symbol that is missing; LLVM would end the process. Those of Numba's
    C functions are there once it has a target."""
    missing = [name for name in names if not binding.address_of_symbol(name)]
    if missing:
        know_runtime(cpu_target.target_context)  # pyright: ignore[reportAttributeAccessIssue]
        missing = [name for name in missing if not binding.address_of_symbol(name)]
    if missing:
        raise UnsupportedVersion(
            f"machine code needs symbols that are missing: {', '.join(missing)}"
        )


@cache
def _target() -> tuple[str, str, str]:
    """The CPU that machine code is for, as `NUMBA_CPU_NAME` and others may have it."""
    names: Any = config
    cpu = binding.get_host_cpu_name() if names.CPU_NAME is None else names.CPU_NAME
    features = get_host_cpu_features() if names.CPU_FEATURES is None else names.CPU_FEATURES
    return binding.get_process_triple(), cpu, features


@cache
def _machine() -> Any:
    """The target machine, with the options of Numba's code generator."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    triple, cpu, features = _target()
    processor = binding.Target.from_default_triple().name
    models = {"x86": "static", "ppc": "pic"}
    return binding.Target.from_triple(
        triple
    ).create_target_machine(
        cpu=cpu,
        features=features,
        opt=config.OPT,  # pyright: ignore[reportAttributeAccessIssue]
        reloc=models.get(processor[:3], "default"),
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _engine() -> Any:
    """Return the engine that loads machine code, one for the process."""
    managed = config.USE_LLVMLITE_MEMORY_MANAGER  # pyright: ignore[reportAttributeAccessIssue]
    return binding.create_mcjit_compiler(binding.parse_assembly(""), _machine(), managed)
