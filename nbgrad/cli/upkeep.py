"""The commands ``warmup``, ``config``, ``cache info`` and ``cache clear``."""

import multiprocessing
import os
import platform
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated

import numpy as np
import typer

import nbgrad
from nbgrad.compiler import cache as _cache
from nbgrad.compiler.kernel import DISABLED
from nbgrad.experiments.exits import complain
from nbgrad.experiments.groups import Group
from nbgrad.experiments.progress import progress
from nbgrad.runtime.cores import cores


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("warmup")(warm_up)
    app.command("config")(show_config)
    cache = typer.Typer(cls=Group, suggest_commands=False)
    cache.callback(invoke_without_command=True)(look_after_cache)
    cache.command("info")(show_cache)
    cache.command("clear")(clear_cache)
    app.add_typer(cache, name="cache")


def warm_up(
    float32: Annotated[bool, typer.Option("--float32", help="Also compile for float32.")] = False,
) -> int:
    """Compile the common kernels into the cache.

    Compiles all operations, forward and backward, for float64, on all cores.
    Kernels in the cache are only loaded. In a Dockerfile:

    [bold]RUN nbgrad warmup[/]
    [bold]RUN NBGRAD_CACHE_DIR=/var/cache/nbgrad nbgrad warmup --float32[/]
    """
    if DISABLED:
        print("nothing to compile: NUMBA_DISABLE_JIT is set")
        return 0
    where = _cache.folder()
    if where is None:
        return complain("there is no cache folder: set NBGRAD_CACHE_DIR")
    dtypes = ("float64", "float32") if float32 else ("float64",)
    start = time.perf_counter()
    workers = ProcessPoolExecutor(cores(), multiprocessing.get_context("spawn"))
    try:
        with progress("warmup") as on_op, workers:
            found = nbgrad.warmup(dtypes, on_op, workers)
    except BrokenExecutor:
        return complain("a compiling process was killed; run the command again")
    compiled, seconds = _count(found["compiled"], "kernel"), time.perf_counter() - start
    print(f"{compiled} compiled, {found['loaded']} loaded, in {seconds:.0f} s")
    print(f"kept in {where}")
    return 0


def show_config() -> None:
    """Show versions, cache folder, BLAS and threads, for example for a bug report.

    [bold]nbgrad config[/]
    """
    facts = {
        "nbgrad": nbgrad.__version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        **{name: version(name) for name in ("numpy", "numba", "llvmlite", "scipy")},
        "BLAS": _blas(),
        "threads": _threads(),
        "JIT": "disabled by NUMBA_DISABLE_JIT: plain Python" if DISABLED else "on",
        **_cache_facts(),
    }
    _print_facts(facts)


def look_after_cache(ctx: typer.Context) -> None:
    """Show or clear the cache of compiled kernels.

    [bold]NBGRAD_CACHE_DIR[/] sets its folder.

    [bold]nbgrad cache info[/]
    [bold]nbgrad cache clear[/]
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


def show_cache() -> None:
    """Show the folder, number and size of compiled kernels.

    [bold]nbgrad cache info[/]
    """
    _print_facts(_cache_facts())


def clear_cache() -> int:
    """Remove all compiled kernels.

    Other files in the folder are not removed.

    [bold]nbgrad cache clear[/]
    """
    folder = _cache.folder()
    gone = [entry.size for entry in folder.entries() if folder.remove(entry.name)] if folder else []
    where = f"from {folder}" if folder else "because there is no cache folder"
    print(f"removed {_count(len(gone), 'file')}, {_megabytes(sum(gone))}, {where}")
    return 0


def _print_facts(facts: dict[str, str]) -> None:
    width = max(map(len, facts))
    for name, fact in facts.items():
        print(f"{name:<{width}}  {fact}")


def _cache_facts() -> dict[str, str]:
    folder = _cache.folder()
    if folder is None:
        return {"cache": "none: kernels are compiled again in each process"}
    chosen = next(
        (name for name in ("NBGRAD_CACHE_DIR", "NUMBA_CACHE_DIR") if os.environ.get(name)), ""
    )
    files = [entry for entry in folder.entries() if folder.holds_ours(entry.name)]
    size = sum(entry.size for entry in files)
    return {
        "cache": f"{folder}{f' (from {chosen})' if chosen else ''}",
        "kernels": f"{_count(len(files), 'file')}, {_megabytes(size)}",
    }


def _blas() -> str:
    """Describe the BLAS of NumPy, and that of SciPy, which compiled kernels use."""
    import scipy

    return ", ".join(_blas_of(module) for module in (np, scipy))


def _blas_of(module) -> str:
    facts = module.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{facts['name']} {facts['version']} ({module.__name__})"


def _threads() -> str:
    """Describe the threads of long loops and of BLAS, and the environment variables."""
    told = [f"{_count(cores(), 'core')} available"]
    try:
        told.append(f"nbgrad uses {nbgrad.get_threads()}")
    except ValueError as wrong:
        told.append(str(wrong))
    if find_spec("threadpoolctl"):
        import scipy.linalg.cython_blas  # noqa: F401 (loads its BLAS)
        from threadpoolctl import threadpool_info

        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        if pools:
            told.append(f"BLAS uses {max(pools)}")
    else:
        told.append("BLAS: unknown (install threadpoolctl)")
    limits = (
        "NBGRAD_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    )  # fmt: skip
    given = [f"{name}={os.environ[name]}" for name in limits if name in os.environ]
    return ", ".join([*told, *given])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
