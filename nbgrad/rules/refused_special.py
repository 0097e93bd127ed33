"""Functions of `scipy.special` that are refused for tracked arrays, each with the way round.

A ufunc that is not named here, as a later SciPy may add, is refused all the same.
"""

from ..core.functions import remedies

__all__ = ["OURS", "REFUSED"]

_COMPLEX = "its result is complex, and nbgrad computes with real numbers"
_SEVERAL = "it gives several arrays: nbgrad.custom_rule gives one of them a derivative"
_INVERSE = (
    "it is an inverse: nbgrad.custom_rule gives it the slope 1 / f'(x) of its function, in special"
)
_ORDERS = "it gives all orders up to one: nbgrad.special.jv and its kin give one order"
_OWN = "nbgrad.custom_elementwise or nbgrad.custom_rule takes its derivative from you"


REFUSED = {
    _COMPLEX: """
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
"""Functions that are refused, by the way round."""
remedies |= {
    f"scipy.special.{name}": remedy for remedy, names in REFUSED.items() for name in names.split()
}

OURS = ("log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax")
"""Functions in Python, which ask for plain numbers: nbgrad.special has them with a derivative."""
remedies |= {f"scipy.special.{name}": f"write nbgrad.special.{name}" for name in OURS}
remedies["scipy.special"] = "nbgrad.special has what has a derivative"
