"""`optimize`: the LLVM passes for kernels."""

from typing import Any

from llvmlite import binding

from .numba_api import config

__all__ = ["optimize", "tidy"]


def optimize(module: Any, machine: Any) -> None:
    """Optimize LLVM code for a machine.

    The first passes bring loops into a form that vectorizes, and remove pairs of reference counts,
    as in Numba; then LLVM's own follow at level 2. Level 3, and unrolling of loops that are not
    vectorized, made programs twice as long and no faster.
    """
    builder = _builder(machine, 0)
    manager: Any = builder.getModulePassManager()
    if config.OPT:  # pyright: ignore[reportAttributeAccessIssue]
        manager.add_loop_rotate_pass()
        manager.add_instruction_combine_pass()
        manager.add_jump_threading_pass()
    manager.add_refprune_pass()
    manager.run(module, builder)
    builder = _builder(machine, min(config.OPT, 2))  # pyright: ignore[reportAttributeAccessIssue]
    manager = builder.getModulePassManager()
    manager.run(module, builder)


def tidy(module: Any, machine: Any) -> None:
    """Inline what has to be, and keep variables in registers: enough for code without hot loops, in
    a tenth of the time."""
    builder = _builder(machine, 0)
    manager: Any = builder.getModulePassManager()
    manager.add_always_inliner_pass()
    manager.add_sroa_pass()
    manager.add_simplify_cfg_pass()
    manager.add_instruction_combine_pass()
    manager.add_jump_threading_pass()
    manager.add_simplify_cfg_pass()
    manager.run(module, builder)


def _builder(machine: Any, level: int) -> Any:
    options: Any = binding.create_pipeline_tuning_options(level)
    options.loop_vectorization = bool(level and config.LOOP_VECTORIZE)  # pyright: ignore[reportAttributeAccessIssue]
    options.loop_unrolling = options.slp_vectorization = False
    return binding.create_pass_builder(machine, options)
