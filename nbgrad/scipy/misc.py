"""`logsumexp`, under its name in older SciPy and in `autograd.scipy.misc`."""

from ..special import logsumexp

__all__ = ["logsumexp"]
