"""How Numba's dispatchers compile functions of ours.

`Outside` is for functions that Python calls, `Inside` for functions that only code compiled by
Numba calls: it stops before optimization, since Numba optimizes them together with the caller. Our
own front end, `front/`, compiles both. Numba itself compiles a `Shell`, which allocates arrays.
"""

from typing import Any, ClassVar

from llvmlite import binding
from numba.core import errors

from ..errors import coded
from ..runtime.layout import IS_KNOWN
from .externals import find_blas, refresh
from .finish import compiled
from .front.syntax import Unsupported
from .numba_api import Compiler, CompilerBase, JITCodeLibrary
from .optimizer import optimize

__all__ = ["Inside", "Library", "Outside", "Shell"]


class _Library(JITCodeLibrary):
    """LLVM code that is optimized once, as a whole, and not function by function.

    After linking, only bitcode is kept, which takes a tenth of the memory of an LLVM module;
    callers parse it again.
    """

    _tree: Any = None
    _bitcode = b""

    @property
    def _final_module(self) -> Any:
        return self._tree or binding.parse_bitcode(self._bitcode)

    @_final_module.setter
    def _final_module(self, module: Any):
        self._tree = module

    @property
    def bitcode(self) -> bytes:
        """The LLVM code of a finished library, for callers."""
        return self._bitcode

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _get_module_for_linking(self):
        self._ensure_finalized()
        return self._final_module

    def _optimize_final_module(self):
        codegen: Any = self._codegen
        optimize(self._final_module, codegen._tm)

    def _keep(self) -> None:
        self._finalized = True
        self._bitcode = super()._get_module_for_linking().as_bitcode()
        self._tree = self._shared_module = None
        self._linking_libraries.clear()  # their code is in ours now


class Library(_Library):
    """Machine code that Python calls. It is emitted first and then loaded, as from the cache: LLVM
    never frees what it is given to compile and to run.

    `code` is the object code until `drop`, `environments` are the names of those that it uses.
    """

    code = b""
    environments: tuple[str, ...] = ()

    @classmethod
    def loaded(cls, codegen: Any, name: str, code: bytes, bitcode: bytes) -> "Library":
        """The library of object code and of its bitcode for callers."""
        library = cls(codegen, name)
        library._load(code)
        library._bitcode, library._tree, library._finalized = bitcode, None, True
        return library

    def drop(self) -> tuple[bytes, bytes]:
        """Object code and bitcode; the first is not kept any longer."""
        code, self.code = self.code, b""
        return code, self._bitcode

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        whole = self._tree
        names = [variable.name for variable in whole.global_variables]
        self.environments = tuple(name for name in names if name.startswith("_ZN08NumbaEnv"))
        self.code = self._codegen._tm.emit_object(whole)
        self._load(self.code)
        self._keep()

    def _load(self, code: bytes) -> None:
        find_blas(code)
        engine = self._codegen._engine._ee
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function of this library."""
        self._ensure_finalized()
        return self._codegen._engine.get_function_address(name)


class Unfinished(_Library):
    """LLVM code that others link in: neither optimized nor in the process's memory."""

    def _optimize_final_module(self): ...

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._keep()


class _NotRefreshed:
    """A context of Numba that does not load its registries, which takes a tenth of a second."""

    def __init__(self, context: Any):
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def refresh(self) -> None: ...


class _Pipeline(CompilerBase):
    """Our own front end in place of Numba's passes."""

    library: ClassVar[type] = Library

    def __init__(self, typing: Any, target: Any, *rest: Any):
        super().__init__(_NotRefreshed(typing), _NotRefreshed(target), *rest)
        self.state.typingctx = typing

    def compile_extra(self, func):
        state = self.state
        library = self.library(state.targetctx.codegen(), func.__qualname__)
        try:
            return compiled(func, state, library, self.library is Library and not IS_KNOWN)
        except Unsupported as refused:
            raise errors.TypingError(coded(f"{func.__name__}: {refused}", "NB-LOOP")) from refused

    def define_pipelines(self):
        return []


class Outside(_Pipeline):
    """For functions that Python calls."""


class Shell(Compiler):
    """For entries of `@njit` code, which Numba compiles: their libraries can be stored."""

    def __init__(self, typing: Any, target: Any, *rest: Any):
        refresh(target)  # before Numba does
        super().__init__(typing, target, *rest)

    def compile_extra(self, func):
        state = self.state
        state.library = Library(state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class Inside(_Pipeline):
    """For functions that only compiled code calls."""

    library = Unfinished
