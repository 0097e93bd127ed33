"""Derivatives of holomorphic functions, from those of their real parts.

By the equations of Cauchy and Riemann, f'(z) = du/dx - i du/dy for f = u + i v at z = x + i y: the
conjugate of the gradient of u.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..complex import is_complex
from ..core.remade import Remade
from ..errors import ComplexError
from . import trees
from .parted import map_complex


def derived(op: str, transform: Callable, f: Callable, argnums: Any, has_aux: bool = False) -> Any:
    """The derivative of a holomorphic function, by `transform` of its real part."""

    def real_part(*args: Any, **options: Any) -> Any:
        result = f(*args, **options)
        value, *aux = result if has_aux else (result,)
        if not is_complex(value):
            raise ComplexError(f"{op}: holomorphic=True is for functions with complex results")
        return (value.real, *aux) if has_aux else value.real

    inner = transform(real_part)

    def derivative(*args: Any, **options: Any) -> Any:
        places = argnums if isinstance(argnums, tuple) else (argnums,)
        given = [args[i] for i in places if -len(args) <= i < len(args)]
        if not all(is_complex(x) for tree in given for x in complex_leaves(tree)):
            raise ComplexError(
                f"{op}: holomorphic=True differentiates with respect to complex arguments: write "
                "1.0 + 0.0j for 1.0, or x.astype(complex)"
            )
        out = inner(*args, **options)
        if has_aux:
            return map_complex(np.conjugate, out[0]), out[1]
        return map_complex(np.conjugate, out)

    return Remade(derivative, derived, op, transform, f, argnums, has_aux)


def complex_leaves(tree: Any) -> list[Any]:
    """The leaves of a tree in which complex arrays are whole."""
    if is_complex(tree) or trees.is_number(tree):
        return [tree]
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in complex_leaves(item)]
    return trees.flatten(tree)[0]


def require_real(op: str, f: Callable) -> Callable:
    """f, which raises ComplexError for a complex result."""

    def real(*args: Any, **options: Any) -> Any:
        result = f(*args, **options)
        if any(map(is_complex, complex_leaves(result))):
            raise complex_result(op)
        return result

    return real


def complex_result(op: str) -> ComplexError:
    """The error for a complex result where a real one is needed."""
    return ComplexError(
        f"{op}: the function gave a complex result for complex arguments: return a real one, such "
        "as np.sum(np.abs(z) ** 2), or pass holomorphic=True if it is holomorphic. Second "
        "derivatives of a real function are those of nbgrad.hessian"
    )
