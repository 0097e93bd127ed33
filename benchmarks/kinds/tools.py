"""The functions that a program needs from nbgrad or JAX, and a program with its arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tools:
    """A library's names: NumPy's, SciPy's special functions, and its transformations."""

    np: Any
    special: Any
    expm: Callable
    scan: Callable
    loop: Callable
    vmap: Callable
    value_and_grad: Callable
    jacobian: Callable
    hessian: Callable
    compile: Callable
    given: Callable
    """An argument in the form that the library is fastest with."""
    solve: Callable
    """solve(A, b) for one right-hand side."""


def nbgrad_tools() -> Tools:
    import nbgrad

    return Tools(
        np=np,
        special=nbgrad.special,
        expm=nbgrad.scipy.linalg.expm,
        scan=nbgrad.scan,
        loop=nbgrad.loop,
        vmap=nbgrad.vmap,
        value_and_grad=nbgrad.value_and_grad,
        jacobian=nbgrad.jacobian,
        hessian=nbgrad.hessian,
        compile=nbgrad.compile,
        given=lambda x: x,
        solve=np.linalg.solve,
    )


def jax_tools() -> Tools:
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = import_module("jax.numpy")

    def waiting(f: Callable) -> Callable:
        run = jax.jit(f)
        return lambda *args: jax.block_until_ready(run(*args))

    return Tools(
        np=jnp,
        special=import_module("jax.scipy.special"),
        expm=import_module("jax.scipy.linalg").expm,
        scan=jax.lax.scan,
        loop=lambda n, body, state: jax.lax.fori_loop(0, n, body, state),
        vmap=jax.vmap,
        value_and_grad=jax.value_and_grad,
        jacobian=jax.jacfwd,
        hessian=jax.hessian,
        compile=waiting,
        given=lambda x: jax.tree.map(jnp.asarray, x),
        solve=jnp.linalg.solve,
    )


@dataclass(frozen=True)
class Kind:
    """A program that a user might write, as a function of the library's tools, and its arguments.

    `program(tools)` gives the function to compile: a gradient, a Jacobian or a Hessian.
    """

    what: str
    program: Callable[[Tools], Callable]
    arguments: Callable[[np.random.Generator], tuple]
    tolerance: float = 1e-8

    def runner(self, tools: Tools) -> Callable[[], Any]:
        """A function without arguments that runs the compiled program once."""
        function = tools.compile(self.program(tools))
        given = [tools.given(x) for x in self.arguments(np.random.default_rng(3))]
        return lambda: function(*given)
