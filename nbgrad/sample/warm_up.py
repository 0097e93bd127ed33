"""The warm-up of a chain: when the mass matrix is estimated, and how."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ..errors import MatrixError

_FIRST, _WINDOW, _LAST = 75, 25, 50
"""Transitions of Stan's warm-up: before the first window, in it, and after the last one."""


def windows(warmup: int) -> list[tuple[int, bool]]:
    """Return the pieces of the warm-up as pairs (transitions, whether the mass matrix is estimated
    from them), as in Stan: windows that double between a first and a last piece, in which only the
    step size is adapted. A short warm-up has one window, and below 20 transitions none.

    >>> windows(1000)
    [(75, False), (25, True), (50, True), (100, True), (200, True), (500, True), (50, False)]
    """
    if warmup < 20:
        return [(warmup, False)] if warmup else []
    first, window, last = _FIRST, _WINDOW, _LAST
    if warmup < first + window + last:
        # Below some 20 transitions the average step size depends on the guess at its beginning.
        first, last = int(0.15 * warmup), min(20, warmup // 3)
        window = warmup - first - last
    pieces, left = [(first, False)], warmup - first - last
    while left:
        # A window that leaves too little for the next one takes all that is left.
        size = window if left >= 3 * window else left
        pieces.append((size, True))
        left, window = left - size, 2 * window
    return [*pieces, (last, False)]


class Mass:
    """The inverse of a mass matrix and a factor of the mass matrix, as kernels take them: `inverse`
    and `factor` are flat, of n or n * n numbers."""

    def __init__(self, n: int, dense: bool):
        self.dense = dense
        self.inverse = np.eye(n).ravel() if dense else np.ones(n)
        self.factor = self.inverse.copy()

    def estimate(self, draws: np.ndarray) -> None:
        """Estimate the inverse from draws of shape (m, n) by their covariance, shrunk to a small
        multiple of the unit matrix as in Stan."""
        m, n = draws.shape
        if m < 2:
            return
        share, least = m / (m + 5.0), 1e-3 * 5.0 / (m + 5.0)
        if not self.dense:
            self.inverse[:] = share * draws.var(axis=0, ddof=1) + least
            self.factor[:] = 1.0 / np.sqrt(self.inverse)
            return
        covariance = share * np.cov(draws, rowvar=False).reshape(n, n) + least * np.eye(n)
        try:
            root = cholesky(covariance, lower=True)
        except np.linalg.LinAlgError:
            raise MatrixError(
                "nbgrad.sample: the covariance of the warm-up draws is not positive definite: "
                'rescale the parameters to similar widths, or use mass="diagonal"'
            ) from None
        self.inverse[:] = covariance.ravel()
        self.factor[:] = solve_triangular(root, np.eye(n), lower=True).T.ravel()
