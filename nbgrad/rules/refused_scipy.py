"""SciPy's functions that take plain numbers alone: what to write in a loss in place of them."""

from ..core.functions import remedies

_SOLVERS = (
    "it takes plain numbers, and its result has no derivative: solve in a function that "
    "nbgrad.custom_rule gives its derivative, by the implicit function theorem, or write the steps "
    "of a solver in nbgrad.while_loop; nbgrad.scipy gives SciPy's solvers derivatives"
)
_STEPS = (
    "write its steps, such as those of Runge and Kutta, in nbgrad.scan or nbgrad.loop, which are "
    "differentiated and compiled"
)
_CURVES = (
    "np.interp is piecewise linear, and takes tracked positions and values; a spline is linear in "
    "its values: np.linalg.solve for its coefficients, or W @ y with a matrix made outside of the "
    "loss"
)
_FILTERS = (
    "np.convolve takes tracked arrays, for filters of finite length; a recursion is nbgrad.scan "
    "over the samples"
)
_SPARSE = (
    "SciPy's sparse matrices take plain arrays: of a constant matrix write its product by entries, "
    "nbgrad.at(np.zeros(m))[rows].add(data * x[cols]), or S.toarray() @ x where it is small"
)
_TRANSFORMS = (
    "nbgrad has no complex numbers: write the transform as products with matrices of np.cos and "
    "np.sin"
)

remedies |= {
    **dict.fromkeys(
        (
            "scipy.optimize", "scipy.integrate.quad", "scipy.integrate.dblquad",
            "scipy.integrate.tplquad", "scipy.integrate.nquad",
        ),
        _SOLVERS,
    ),
    "scipy.integrate": _STEPS,
    "scipy.integrate.odeint": (
        "nbgrad.scipy.integrate.odeint has a derivative in y0, t and args: pass tracked values "
        "there; where it is compiled, " + _STEPS
    ),
    **{
        f"scipy.integrate.{name}": f"np.{other} takes tracked arrays"
        for name, other in (
            ("trapezoid", "trapezoid"), ("simpson", "trapezoid, or weights @ y,"),
            ("cumulative_trapezoid", "cumsum of (y[1:] + y[:-1]) / 2"),
        )
    },
    "scipy.interpolate": _CURVES,
    "scipy.signal": _FILTERS,
    "scipy.ndimage": _FILTERS,
    "scipy.sparse": _SPARSE,
    "scipy.spatial": (
        "write the distances in NumPy, as in np.linalg.norm(x[:, None] - y[None], axis=-1)"
    ),
    "scipy.fft": _TRANSFORMS,
    "scipy.fftpack": _TRANSFORMS,
}  # fmt: skip
