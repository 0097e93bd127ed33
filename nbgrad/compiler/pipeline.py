"""How Numba compiles our functions: the passes that they need, and no others.

`Outside` is for functions that Python calls, `Inside` for those that only compiled code calls.
Numba optimizes each function and makes machine code of it, and again for each caller that it is
linked into. Of functions that nothing else calls, callers need the LLVM code alone, not yet
optimized: `Inside` stops there. Either begins with our own front end, `front/`, and falls back to
Numba's for functions outside of its subset of Python.
"""

import warnings
from typing import Any, ClassVar

from llvmlite import binding
from numba.core import types

from ..errors import CacheWarning
from ..runtime.layout import IS_KNOWN
from .externals import find_blas, refresh
from .finish import compiled
from .front.syntax import Foreign, Textless
from .numba_api import (
    OPERATORS_TO_BUILTINS,
    CompilerBase,
    JITCodeLibrary,
    PassManager,
    _dynfunc,  # pyright: ignore[reportAttributeAccessIssue]
    _LowerResult,
    register_pass,
    typed,
    untyped,
)
from .optimizer import optimize

__all__ = ["Inside", "Library", "Outside", "Refused", "fallbacks", "left_to_numba", "note"]

_OURS = "nbgrad.", "nbgrad_kernel_"  # how the names of modules begin


class _Typing:
    """Numba's typing context, which remembers for one program what the operators and the functions
    of numbers give: Numba looks through all overloads of each for every line."""

    known: ClassVar[dict[tuple, Any]] = {}

    def __init__(self, context: Any):
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, func: Any, args: tuple, kws: dict) -> Any:
        if kws or not isinstance(func, types.Function):
            return self._context.resolve_function_type(func, args, kws)
        if func.typing_key in OPERATORS_TO_BUILTINS:
            # Numba asks for an operator on an integer constant as on any integer first.
            args = tuple(map(types.unliteral, args))
        signature = self.known.get((func, args))
        if signature is None:
            signature = self._context.resolve_function_type(func, args, kws)
            self.known[func, args] = signature
        return signature


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inference(typed.NopythonTypeInference):
    """The types of variables."""

    _name = "nbgrad_inference"

    def run_pass(self, state):
        context = state.typingctx
        state.typingctx = _Typing(context)
        try:
            return super().run_pass(state)
        finally:
            state.typingctx = context


# Those left out serve closures, `with`, parallel loops, array expressions and literal loops.
_FRONT = (
    untyped.TranslateByteCode,
    untyped.FixupArgs,
    untyped.IRProcessing,
    untyped.RewriteSemanticConstants,
    untyped.DeadBranchPrune,
    untyped.GenericRewrites,
    untyped.InlineInlinables,
    untyped.ReconstructSSA,
    _Inference,
    typed.PreLowerStripPhis,
    typed.IRLegalization,
)


class _Library(JITCodeLibrary):
    """LLVM code that is optimized once, as a whole: not each function before.

    What is over stays as bitcode, a tenth of the memory of LLVM's own trees; callers that link it
    get trees of their own.
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


@register_pass(mutates_CFG=True, analysis_only=False)
class _Finishing(typed.NativeLowering):
    """To machine code."""

    _name = "nbgrad_finishing"

    def run_pass(self, state):
        state.library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
        _Typing.known.clear()
        super().run_pass(state)
        _forget_types(state.cr.fndesc)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed.NativeLowering):
    """To LLVM code, which stays in an unfinished library."""

    _name = "nbgrad_lowering"

    def run_pass(self, state):
        codegen = state.targetctx.codegen()
        state.library = Unfinished(codegen, state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library.finalize()
        lowered = state.cr
        description = lowered.fndesc
        _forget_types(description)
        # Numba knows a function by its entry from Python; this one must not be called.
        entry = _dynfunc.make_function(
            description.lookup_module(), description.qualname, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(entry, description, [state.library])
        state.cr = _LowerResult(description, lowered.call_helper, cfunc=entry, env=lowered.env)
        return True


def _forget_types(description: Any) -> None:
    """Types of each variable, by its piece of Numba's IR: only lowering asks for them."""
    description.typemap = description.calltypes = None


@register_pass(mutates_CFG=True, analysis_only=False)
class _Result(typed.NoPythonBackend):
    """What a compilation leaves, without Numba's IR and types of variables, which only its
    reports show."""

    _name = "nbgrad_result"

    def run_pass(self, state):
        super().run_pass(state)
        state.cr = state.cr._replace(type_annotation="", metadata=None)
        return True


class _Passes(PassManager):
    """Lives of variables are found by the passes that ask for them, not again after each pass."""

    _ENFORCING = False


left_to_numba: list[str] = []
"""The functions that our own front end did not compile."""
fallbacks: list[str] = []
"""The functions among them that are nbgrad's own and should have been compiled by it."""


def note(function: Any, refused: Exception) -> None:
    """Record that Numba compiled a function of nbgrad's own, and warn once. There is no warning
    for a package that was installed without its source."""
    left_to_numba.append(function.__qualname__)
    # Copies of strided arguments need Numba's runtime, which our own front end does without.
    meant = not isinstance(refused, Foreign) and "NRT required" not in str(refused)
    if not meant or not str(function.__module__).startswith(_OURS):
        return
    fallbacks.append(function.__qualname__)
    if len(fallbacks) == 1 and not isinstance(refused, Textless):
        warnings.warn(
            f"nbgrad: the kernel {function.__qualname__} is compiled by Numba's own front end, "
            f"which takes longer ({refused}); results are right. Please report this with the "
            "versions of nbgrad, Numba and Python",
            CacheWarning,
            stacklevel=2,
        )


class _NotRefreshed:
    """A context of Numba that does not load its registries, which takes a tenth of a second."""

    def __init__(self, context: Any):
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def refresh(self) -> None: ...


class _Pipeline(CompilerBase):
    """Our front end, and Numba's for functions that it does not read."""

    lowering = _Finishing
    library: ClassVar[type] = Library

    def __init__(self, typing: Any, target: Any, *rest: Any):
        super().__init__(_NotRefreshed(typing), _NotRefreshed(target), *rest)
        self.state.typingctx = typing

    def compile_extra(self, func):
        state = self.state
        if state.targetctx.enable_boundscheck:  # NUMBA_BOUNDSCHECK
            return self._by_numba(func)
        library = self.library(state.targetctx.codegen(), func.__qualname__)
        try:
            return compiled(func, state, library, self.library is Library and not IS_KNOWN)
        except Exception as refused:  # Numba decides whether it is an error, and tells it
            result = self._by_numba(func)
            note(func, refused)
            return result

    def _by_numba(self, func):
        refresh(self.state.targetctx)
        return super().compile_extra(func)

    def define_pipelines(self):
        manager = _Passes("nbgrad")
        for each in (*_FRONT, self.lowering, _Result):
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]


class Outside(_Pipeline):
    """For functions that Python calls."""


class Refused(Outside):
    """For functions that our own front end has refused."""

    def compile_extra(self, func):
        return self._by_numba(func)


class Inside(_Pipeline):
    """For functions that only compiled code calls."""

    lowering = _Lowering
    library = Unfinished
