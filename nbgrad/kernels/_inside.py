"""How Numba compiles functions that only compiled code calls.

Numba optimizes each function and makes machine code of it, and again for each caller that it is
linked into. Of functions that nothing else calls, callers need the unoptimized LLVM code alone:
`Inside` stops there.
"""

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["Inside"]


class _Unfinished(JITCodeLibrary):
    """LLVM code that others link in: neither optimized nor in the process's memory."""

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self): ...

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """To LLVM code, which stays in an unfinished library."""

    _name = "nbgrad_lowering"

    def run_pass(self, state):
        codegen = state.targetctx.codegen()
        state.library = _Unfinished(codegen, state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state.cr
        state.library.finalize()
        description = lowered.fndesc
        # Numba knows a function by its entry from Python; this one must not be called.
        entry = _dynfunc.make_function(
            description.lookup_module(), description.qualname, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(entry, description, [state.library])
        state.cr = _LowerResult(description, lowered.call_helper, cfunc=entry, env=lowered.env)
        return True


class Inside(CompilerBase):
    """The pipeline of functions that only compiled code calls."""

    def define_pipelines(self):
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state, "inside")
        manager.passes = [
            (_Lowering if each is NativeLowering else each, text) for each, text in manager.passes
        ]
        manager.finalize()
        return [manager]
