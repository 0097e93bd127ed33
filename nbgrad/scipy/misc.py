"""`logsumexp`, where older SciPy and programs for `autograd.scipy.misc` have it."""

from ..special import logsumexp

__all__ = ["logsumexp"]
