"""Bessel functions."""

from ..core.array import implements
from ..core.primitive import bind
from .families import Interval, elementwise, positive

_ORDER = "its order: pass a plain number or array, such as v.data"

jv_row = elementwise(
    None, "jv(x, y)", [_ORDER, lambda v, x, out: 0.5 * (jv(v - 1, x) - jv(v + 1, x))],
    domains=[Interval(0.0, 3.0), positive], name="jv", reference="scipy.special.jv",
)  # fmt: skip


@implements("scipy.special.jv")
def jv(v, z):
    """The Bessel function of the first kind of real order v, elementwise; v is plain."""
    return bind(jv_row, v, z)
