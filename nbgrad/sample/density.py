"""`Density`: a log density and its gradient as machine code that samplers call."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiler.kernel import DISABLED
from ..core.array import Array
from ..errors import EmptyError, UntrackedError
from ..runtime.kinds import is_a
from ..scipy.functions import Flat, Objective
from ..transforms import trees, value_and_grad
from ..transforms.flat import ravel

_CODE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class Density:
    """A log density as a function of flat vectors. `vector` is the start, of shape (n,), and
    `unravel` converts vectors to trees like the start."""

    def __init__(self, f: Callable, start: Any, args: tuple, compile: bool):
        if is_a(start, (list, tuple)) and start and all(is_a(x, (float, int)) for x in start):
            start = np.array(start, np.float64)
        if is_a(start, (int, np.integer)) or (is_a(start, np.ndarray) and start.dtype.kind in "iu"):
            start = np.asarray(start, np.float64)
        for leaf in trees.flatten([start, args])[0]:
            if isinstance(leaf, Array):
                raise UntrackedError(
                    f"nbgrad.sample: a tracked array of shape {leaf.shape}: draws have no "
                    "derivatives; pass plain arrays, x.data"
                )
        vector, self.unravel = ravel(start)
        if not vector.size:
            raise EmptyError("nbgrad.sample: the start has no numbers")
        self.vector = np.array(vector, np.float64)
        flat = Flat(f, self.unravel, args, {})
        self.data, self.name = flat.data, flat.call.__name__
        self._objective = Objective(flat, self.vector, compile and not DISABLED)
        self._both: Any = self._objective.transformed(value_and_grad)
        self._variant: Any = None
        if hasattr(self._both, "variant"):
            self._variant = self._both.variant(self.vector, self.data)

    def value(self, q: np.ndarray) -> float:
        """Return the log density at q. Raises the errors of the function."""
        return self._objective.fun(q)

    def slope(self, q: np.ndarray) -> np.ndarray:
        """Return the gradient at q."""
        return self._objective.jac(q)

    def code(
        self, q: np.ndarray, slope: np.ndarray, failed: Callable[[BaseException], None]
    ) -> tuple[int, np.ndarray, Any]:
        """Return the address of code that evaluates the density at `q` and writes its gradient to
        `slope`, the words that the code takes, and what must stay alive. The code may be called in
        any thread; `failed` receives an exception of Python code."""
        if self._variant is not None:
            return self._variant.in_memory([q, *self.data], [slope])

        def call(words: int, numbers: int) -> int:
            try:
                value, gradient = self._both(q.copy(), self.data)
                slope[...] = gradient
                ctypes.c_double.from_address(numbers).value = float(value)
            except BaseException as error:
                failed(error)
                return 1
            return 0

        function = _CODE(call)
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert address is not None
        return address, np.zeros(1, np.int64), function
