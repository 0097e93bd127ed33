"""Custom derivatives with autograd's interface: `primitive`, `defvjp` and `defjvp`.

`nbgrad.custom_rule` does the same in one call, and `nbgrad.custom_elementwise` compiles an
elementwise function.
"""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from ..core.array import Array
from ..errors import NoRuleError
from ..transforms import custom_rule, trees

__all__ = ["defjvp", "defvjp", "primitive"]


class primitive:
    """Decorator: define a function as a primitive, differentiated by `defvjp` and `defjvp`.

    Raises NoRuleError when it is called with a tracked argument that has no rule.

    >>> @primitive
    ... def double(x):
    ...     return 2 * x
    >>> defvjp(double, lambda ans, x: lambda g: 2 * g)
    >>> nbgrad.grad(double)(1.0)
    np.float64(2.0)
    """

    __name__: str

    def __init__(self, f: Callable):
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        self._vjps: dict[int, Callable | None] = {}
        self._jvps: dict[int, Callable | None] = {}
        self.rule = custom_rule(f, pullback=self._pullback)

    def __call__(self, *args: Any, **options: Any) -> Any:
        for i, x in enumerate(args):
            if i not in self._vjps and i not in self._jvps:
                if any(isinstance(leaf, Array) for leaf in trees.flatten(x)[0]):
                    raise NoRuleError(
                        f"{self.__name__} has no derivative in argument {i}: define one with "
                        "nbgrad.extend.defvjp, or pass None for zero"
                    )
        return self.rule(*args, **options)

    def _pullback(self, ct: Any, out: Any, *args: Any, **options: Any) -> tuple:
        if not self._vjps:
            raise NoRuleError(f"{self.__name__} has no vjp: define one with nbgrad.extend.defvjp")
        rules = [self._vjps.get(i) for i in range(len(args))]
        return tuple([rule and rule(out, *args, **options)(ct) for rule in rules])

    def _pushforward(self, tangents: Sequence, out: Any, *args: Any, **options: Any) -> Any:
        pairs = [(self._jvps.get(i), tangent) for i, tangent in enumerate(tangents)]
        parts = [rule(tangent, out, *args, **options) for rule, tangent in pairs if rule]
        return sum(parts[1:], parts[0])


def defvjp(
    function: primitive, *vjps: Callable | None, argnums: Sequence[int] | None = None
) -> None:
    """Define the pullbacks of a primitive, one for each argument.

    `vjp(ans, *args)` returns a function of the cotangent; None means that the derivative is zero.

    >>> power = primitive(lambda x, n: x**n)
    >>> defvjp(power, lambda ans, x, n: lambda g: g * n * x ** (n - 1), None)
    >>> nbgrad.grad(power)(3.0, 2)
    np.float64(6.0)
    """
    function._vjps.update(zip(argnums or range(len(vjps)), vjps, strict=False))


def defjvp(
    function: primitive, *jvps: Callable | None, argnums: Sequence[int] | None = None
) -> None:
    """Define the pushforwards of a primitive, one for each argument.

    They are called as `jvp(tangent, ans, *args)`; None means that the derivative is zero. Without
    them, forward mode transposes the pullbacks.

    >>> square = primitive(lambda x: x * x)
    >>> defjvp(square, lambda tangent, ans, x: 2 * x * tangent)
    >>> nbgrad.jvp(square, (3.0,), (1.0,))[1]
    np.float64(6.0)
    """
    function._jvps.update(zip(argnums or range(len(jvps)), jvps, strict=False))
    function.rule.pushforward = function._pushforward
