"""Coverage of `scipy.special`: each public function on tracked arrays, for tests and docs.

Its ufuncs use NumPy's protocol, so those without a rule are refused by name. Its functions written
in Python do not; those with a derivative are only in `nbgrad.special`.
"""

import inspect
from collections.abc import Iterator

import numpy as np

from helpers.messages import text_of
from nbgrad.core.functions import functions, no_rule, remedies
from nbgrad.core.primitive import Primitive
from nbgrad.rules.refused import OURS

from .of_numpy import Entry

__all__ = ["special", "unknown_special"]

NONE = {
    "of whole numbers: polynomials, their nodes, zeros and coefficients": """
        ai_zeros assoc_laguerre bei_zeros beip_zeros ber_zeros bernoulli berp_zeros bi_zeros c_roots
        cg_roots chebyc chebys chebyt chebyu erf_zeros euler fresnel_zeros fresnelc_zeros
        fresnels_zeros gegenbauer genlaguerre h_roots he_roots hermite hermitenorm j_roots jacobi
        jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros js_roots kei_zeros keip_zeros kelvin_zeros
        ker_zeros kerp_zeros l_roots la_roots laguerre legendre mathieu_even_coef mathieu_odd_coef
        p_roots ps_roots roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_gegenbauer
        roots_genlaguerre roots_hermite roots_hermitenorm roots_jacobi roots_laguerre roots_legendre
        roots_sh_chebyt roots_sh_chebyu roots_sh_jacobi roots_sh_legendre s_roots sh_chebyt
        sh_chebyu sh_jacobi sh_legendre t_roots ts_roots u_roots us_roots y0_zeros y1_zeros
        y1p_zeros yn_zeros ynp_zeros""",
    "of whole numbers: nbgrad.special.gamma and beta go between": """
        comb factorial factorial2 factorialk perm stirling2""",
    "its values change in steps: plain": "gammasgn",
    "its values change in steps: tracked, derivative 0": "round",
    "it sets or tells about SciPy itself": "geterr seterr test",
}
"""Functions without a derivative, by the reason."""

COMPOSED = "ivp jvp kvp softplus yvp"
"""Functions written in Python that call ufuncs with a derivative."""


def special() -> Iterator[Entry]:
    """An entry for each public function of `scipy.special`, sorted by name."""
    for thing, names in sorted(_public().items(), key=lambda item: item[1]):
        entry = _entry(thing, names)
        if entry is not None:
            yield entry


def unknown_special() -> list[str]:
    """The public functions without an entry."""
    return [names[0] for thing, names in _public().items() if _entry(thing, names) is None]


def _public() -> dict[object, list[str]]:
    from scipy import special  # imported by tests and docs only

    found: dict[object, list[str]] = {}
    for name in sorted(vars(special)):
        thing = getattr(special, name)
        if name[0] != "_" and callable(thing) and not inspect.isclass(thing):
            found.setdefault(thing, []).append(name)
    return found


def _entry(thing: object, names: list[str]) -> Entry | None:
    full = [f"scipy.special.{name}" for name in names]
    name, others = full[0], tuple(full[1:])
    for reason, listed in NONE.items():
        if names[0] in listed.split():
            return Entry(name, others, "none", reason)
    called = getattr(thing, "__name__", "")
    if called in OURS:
        return Entry(name, others, "yes", f"as `nbgrad.special.{called}`")
    if called in COMPOSED.split():
        return Entry(name, others, "yes", "made of functions that have one")
    function = functions.get(f"scipy.special.{called}") or functions.get(thing)
    if function is not None or called in ("lambertw", "zeta"):
        return Entry(name, others, "yes", _row(called))
    if name in remedies or isinstance(thing, np.ufunc):
        return Entry(name, others, "refused", text_of(no_rule(name)).partition(": ")[2])
    return None


def _row(name: str) -> str:
    return f"the row {name}" if name in Primitive.registry else "made of functions that have one"
