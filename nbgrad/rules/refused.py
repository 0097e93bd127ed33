"""Functions of NumPy and SciPy that are refused for tracked arrays, with the alternative that the
error names.

A ufunc of `scipy.special` that is not listed, as a later SciPy may add, is refused too.
"""

from ..core.conversions import NESTED
from ..core.functions import remedies
from .linalg import banded, cholesky, matrix_functions, sylvester, toeplitz, triangular
from .surface import filters

__all__ = ["OURS", "REFUSED"]

# -- numpy ----------------------------------------------------------------------------------------

_ARRAY = (
    f"a plain array would lose the derivative: {NESTED}; use x itself, or x.data for the plain "
    "numbers"
)
_FILE = "it writes numbers: give it x.data"
_NUMBERS = "it makes an array of plain numbers: {}"

remedies |= {
    "np.sort_complex": "its result is complex: np.sort gives real numbers",
    **dict.fromkeys(
        ["np.asarray_chkfinite", "np.asmatrix", "np.from_dlpack"],
        _ARRAY,
    ),
    "np.bmat": "matrices are not tracked: np.block joins blocks",
    "np.matrix": "matrices are not tracked: use arrays with two axes, and @",
    "np.random": "it draws plain numbers: scale and shift a plain draw, as in mean + std * "
    "np.random.normal(size=n), or take elements at plain positions, x[np.random.permutation(n)]",
    **dict.fromkeys(["np.save", "np.savez", "np.savez_compressed", "np.savetxt"], _FILE),
    "np.histogram_bin_edges": _NUMBERS.format(
        "np.linspace(np.min(x), np.max(x), bins + 1) is tracked"
    ),
    "np.arange": _NUMBERS.format("start + step * np.arange(n) is tracked"),
    "np.kaiser": _NUMBERS.format("np.i0 gives the window of a tracked beta"),
    "np.vectorize": "it calls a Python function on plain numbers: call the function on the whole "
    "array, or nbgrad.vmap(function)",
    "np.frompyfunc": "it calls a Python function on plain numbers: call the function on the whole "
    "array, or nbgrad.vmap(function)",
    "np.ix_": "positions are whole numbers: give it plain ones",
    "np.nested_iters": "it hands out plain numbers: index the array, or use x.data",
}  # fmt: skip

remedies |= {
    "scipy.linalg": "np.linalg and nbgrad.linalg have what takes tracked arrays",
    "scipy.stats": "nbgrad.stats has log densities that take tracked arrays",
    **{
        f"scipy.linalg.{name}": f"nbgrad.linalg.{name} takes tracked arrays"
        for module in (banded, cholesky, matrix_functions, sylvester, toeplitz, triangular)
        for name in module.__all__
    },
}

# -- scipy ----------------------------------------------------------------------------------------

_SOLVERS = (
    "it takes plain numbers, and its result has no derivative: use the function of nbgrad.scipy, "
    "such as nbgrad.scipy.root, whose solution is differentiable, or solve in a function under "
    "nbgrad.implicit or nbgrad.custom_rule; in compiled programs use nbgrad.newton"
)
_STEPS = (
    "write its steps, such as those of Runge and Kutta, in nbgrad.scan or nbgrad.loop, which are "
    "differentiated and compiled"
)
_CURVES = (
    "nbgrad.scipy.interpolate has CubicSpline, PchipInterpolator, Akima1DInterpolator, BSpline, "
    "make_interp_spline, interp1d and RegularGridInterpolator, which take tracked points and "
    "values; np.interp is piecewise linear, and takes them too"
)
_IMAGES = (
    "nbgrad.scipy.ndimage has map_coordinates, gaussian_filter, uniform_filter, convolve and "
    "correlate, which take tracked arrays; np.convolve takes them too"
)
_FILTERS = (
    "np.convolve takes tracked arrays, and nbgrad.scipy.signal has filters that do; any recursion "
    "is nbgrad.scan over the samples"
)
_SPARSE = (
    "products S @ x and x @ S of SciPy's sparse matrices take tracked arrays; "
    "nbgrad.scipy.sparse.csr_array holds tracked elements, nbgrad.scipy.sparse.linalg.spsolve "
    "solves systems, and S.data * x is elementwise"
)
_TRANSFORMS = "np.fft takes tracked arrays, and nbgrad.scipy.fft does, with cosine transforms"

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
    "scipy.ndimage": _IMAGES,
    "scipy.sparse": _SPARSE,
    "scipy.spatial": (
        "nbgrad.scipy.spatial.distance has cdist, pdist and metrics that take tracked arrays; "
        "or write the distances in NumPy, as in np.linalg.norm(x[:, None] - y[None], axis=-1)"
    ),
    **{
        f"scipy.signal.{name}": f"nbgrad.scipy.signal.{name} takes tracked arrays"
        for name in ("convolve", *filters.__all__)
    },
    "scipy.fft": _TRANSFORMS,
    "scipy.fftpack": _TRANSFORMS,
}  # fmt: skip

# -- scipy.special --------------------------------------------------------------------------------

_COMPLEX_NUMBERS = "its result is complex, and nbgrad computes with real numbers"
_SEVERAL = "it gives several arrays: nbgrad.custom_rule gives one of them a derivative"
_INVERSE = (
    "it is an inverse: nbgrad.custom_rule gives it the slope 1 / f'(x) of its function, in special"
)
_ORDERS = "it gives all orders up to one: nbgrad.special.jv, yv, iv and kv give one order"
_OWN = "nbgrad.custom_elementwise or nbgrad.custom_rule takes its derivative from you"


REFUSED = {
    _COMPLEX_NUMBERS: """
        hankel1 hankel1e hankel2 hankel2e wofz kelvin modfresnelm modfresnelp sph_harm_y
        sph_harm_y_all h1vp h2vp clpmn""",
    _SEVERAL: """
        airy airye ellipj fresnel sici shichi it2i0k0 it2j0y0 iti0k0 itj0y0 itairy pbdv
        pbvv pbwa mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1
        mathieu_modsem2 mathieu_sem obl_ang1 obl_ang1_cv obl_rad1 obl_rad1_cv obl_rad2
        obl_rad2_cv pro_ang1 pro_ang1_cv pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv""",
    _INVERSE: """
        bdtri btdtri bdtrik bdtrin betaincinv betainccinv btdtria btdtrib chdtri chdtriv
        chndtridf chndtrinc chndtrix fdtri fdtridfd gammaincinv gammainccinv gdtria
        gdtrib gdtrix kolmogi nbdtri nbdtrik nbdtrin ncfdtri ncfdtridfd ncfdtridfn
        ncfdtrinc nctdtridf nctdtrinc nctdtrit ndtri_exp nrdtrimn nrdtrisd pdtri pdtrik
        smirnovi stdtridf stdtrit tklmbda""",
    _ORDERS: """
        lmbda lpmn lpn lqmn lqn pbdn_seq pbdv_seq pbvv_seq riccati_jn riccati_yn obl_cv_seq
        pro_cv_seq assoc_legendre_p_all legendre_p_all sph_legendre_p_all""",
    "write special.betainc(n - k, k + 1, 1 - p)": "bdtr",
    "write special.betainc(k + 1, n - k, p)": "bdtrc",
    "write special.betainc(a, b, x)": "btdtr",
    "write special.gammainc(v / 2, x / 2)": "chdtr",
    "write special.gammaincc(v / 2, x / 2)": "chdtrc",
    "write special.betainc(a / 2, b / 2, a * x / (b + a * x))": "fdtr",
    "write special.betainc(b / 2, a / 2, b / (b + a * x))": "fdtrc",
    "write special.gammainc(b, a * x)": "gdtr",
    "write special.gammaincc(b, a * x)": "gdtrc",
    "write special.betainc(n, k + 1, p)": "nbdtr",
    "write special.betainc(k + 1, n, 1 - p)": "nbdtrc",
    "write special.gammaincc(k + 1, m)": "pdtr",
    "write special.gammainc(k + 1, m)": "pdtrc",
    "write special.zeta(x) - 1": "zetac",
    "write np.exp(special.gammaln(z + m) - special.gammaln(z))": "poch",
    "write np.exp(-special.betaln(n - k + 1, k + 1)) / (n + 1)": "binom",
    "write np.expm1(special.xlogy(y, x))": "powm1",
    "write np.expm1(x) / x": "exprel",
    "write np.cos(x) - 1, or -2 * np.sin(x / 2)**2 where that cancels": "cosm1",
    "write np.sin(np.deg2rad(x))": "sindg",
    "write np.cos(np.deg2rad(x))": "cosdg",
    "write np.tan(np.deg2rad(x))": "tandg",
    "write 1 / np.tan(np.deg2rad(x))": "cotdg",
    "write np.deg2rad(d + m / 60 + s / 3600)": "radian",
    "write special.lambertw(np.exp(z))": "wrightomega",
    "write np.sin(n * x / 2) / (n * np.sin(x / 2))": "diric",
    "write nbgrad.special.jv(n + 0.5, z) * np.sqrt(np.pi / (2 * z)), yv, iv or kv": """
        spherical_jn spherical_yn spherical_in spherical_kn""",
    _OWN: """
        agm assoc_legendre_p bei beip ber berp besselpoly chndtr dawsn ellip_harm
        ellip_harm_2 ellip_normal ellipe ellipeinc ellipk ellipkinc ellipkm1 elliprc
        elliprd elliprf elliprg elliprj erfi eval_chebyc eval_chebys eval_chebyt
        eval_chebyu eval_gegenbauer eval_genlaguerre eval_hermite eval_hermitenorm
        eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu
        eval_sh_jacobi eval_sh_legendre expn hyp0f1 hyp1f1 hyp2f1 hyperu it2struve0
        itmodstruve0 itstruve0 jve kei keip ker kerp kolmogorov legendre_p
        log_wright_bessel lpmv mathieu_a mathieu_b modstruve nctdtr ncfdtr obl_cv
        owens_t pro_cv smirnov spence sph_legendre_p struve voigt_profile
        wright_bessel yve""",
}
"""Functions that are refused, by the alternative."""
remedies |= {
    f"scipy.special.{name}": remedy for remedy, names in REFUSED.items() for name in names.split()
}

OURS = ("log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax")
"""Functions in Python, which ask for plain numbers: nbgrad.special has them with a derivative."""
remedies |= {f"scipy.special.{name}": f"write nbgrad.special.{name}" for name in OURS}
remedies["complex numbers"] = (
    "it has no rule for complex numbers: compose it from those of z.real and z.imag"
)
remedies["scipy.special"] = "nbgrad.special has what has a derivative"
