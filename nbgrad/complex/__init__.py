"""Complex arrays: pairs of real arrays, so that all derivatives are those of real rows.

`pair` has the class and its protocol. The other files define NumPy's functions by those of the real
and imaginary parts.

The gradient of a real function L at z = x + i y is the direction of steepest ascent,
dL/dx + i dL/dy. PyTorch gives the same; JAX and autograd give its conjugate.
"""

from . import cholesky as cholesky
from . import elementary as elementary
from . import fourier as fourier
from . import hyperbolic as hyperbolic
from . import layout as layout
from . import least_squares as least_squares
from . import matrices as matrices
from . import norms as norms
from . import polynomials as polynomials
from . import products as products
from . import scipys as scipys
from . import spectra as spectra
from . import sums as sums
from .calls import has_complex as has_complex
from .calls import is_complex as is_complex
from .pair import ComplexArray as ComplexArray
from .pair import joined as joined
from .pair import lifted as lifted
from .pair import parts_of as parts_of
from .pair import plain_join as plain_join

__all__ = ["ComplexArray"]
