"""What NumPy's functions that are made of several rows cost on about 100,000 elements.

    pytest benchmarks/test_surface.py -n 0 --benchmark-enable -rP
    python benchmarks/test_surface.py [part of a call ...]      a table

The forward pass and the pullback are in multiples of NumPy's forward pass, compiled values in
multiples of the eager forward pass.
"""

import re
import sys
from collections.abc import Callable

import numpy as np
import pytest
from test_rows import Call, check_and_time, turns

import nbgrad
from nbgrad.bench.timing import interleave, keep_memory
from nbgrad.errors import TraceError

_rng = np.random.default_rng(0)
_v = _rng.uniform(-2.5, 2.5, 100_000)
_x = _v.reshape(400, 250)
_xn = _x.copy()
_xn[_rng.random(_x.shape) < 0.01] = np.nan
_square = _rng.normal(size=(200, 200))
DATA: dict[str, np.ndarray] = {
    "v": _v, "w": np.sin(_v), "x": _x, "y": np.cos(_x), "xn": _xn, "p": np.abs(_x) + 0.1,
    "a": _square + 20 * np.eye(200), "s": _square @ _square.T + 200 * np.eye(200),
    "k": _rng.normal(size=9), "t": np.sort(_rng.uniform(0, 1, 1000)),
    "f": np.sin(np.arange(1000.0)), "u": _rng.uniform(0, 1, 100_000),
    "b": _rng.normal(size=(100_000, 3)), "e": np.exp(_rng.normal(size=(100_000, 3))),
    "m3": _rng.normal(size=(10_000, 3, 3)) + 4 * np.eye(3), "h": _rng.normal(size=200),
    "c": _rng.normal(size=250),
}  # fmt: skip
PLAIN = {"np": np, "mask": _x > 0, "many": _rng.integers(0, 400, 100_000)}

CALLS = [
    line
    for line in """
np.sum(x, axis=0, where=mask)
np.mean(x, axis=1, where=mask)
np.max(x, axis=1, where=mask, initial=-9.0)
np.var(x, axis=0)
np.ptp(x, axis=1)
np.cumprod(v)
np.cumprod(x, axis=1)
np.cumprod(x, axis=0)
np.cumulative_sum(x, axis=1)
np.add.accumulate(v)
np.maximum.accumulate(v)
np.logaddexp.accumulate(x, axis=1)
np.logaddexp.reduce(x, axis=1)
np.multiply.reduce(x, axis=1)
np.nansum(xn, axis=1)
np.nanmean(xn, axis=1)
np.nanvar(xn, axis=0)
np.nanstd(xn)
np.nanmax(xn, axis=1)
np.nancumsum(xn, axis=1)
np.nanmedian(xn, axis=1)
np.average(x, axis=0, weights=p)
np.quantile(x, 0.3, axis=1)
np.quantile(v, np.array([0.1, 0.5]))
np.percentile(x, 30.0, axis=0)
np.median(x, axis=1)
np.sort(v)
np.sort(x, axis=0)
np.sort(x, axis=1)
np.partition(v, 100)
np.cov(x[:100])
np.corrcoef(x[:100])
np.dot(a, s)
np.inner(x, y)
np.vdot(x, y)
np.vecdot(x, y)
np.matvec(x, c)
np.cross(b, e)
np.linalg.multi_dot([a, s, a])
np.linalg.matrix_power(a, 3)
np.linalg.pinv(a)
np.linalg.lstsq(x, y)[0]
np.linalg.eigh(s)[0]
np.linalg.eigh(s)[1]
np.linalg.eigvalsh(s)
np.linalg.svd(a)[1]
np.linalg.qr(a)[1]
np.linalg.solve(m3, m3)
np.linalg.norm(x, axis=1)
np.linalg.norm(x, 1)
np.linalg.norm(a, "nuc")
np.linalg.cond(a)
np.linalg.slogdet(s)[1]
np.insert(v, 5, 1.0)
np.delete(v, 5)
np.append(x, y, axis=0)
np.block([[x, y], [y, x]])
np.compress(mask[0], x, axis=1)
np.extract(mask, x)
np.choose(mask.astype(int), [x, y])
np.select([mask], [x], y)
np.piecewise(x, [mask], [np.sin, np.cos])
np.pad(x, 3, mode="edge")
np.pad(x, 3, mode="reflect")
np.pad(x, 3, mode="wrap")
np.pad(x, 3, mode="linear_ramp")
np.pad(x, 3, mode="mean")
np.tril(x)
np.rot90(x)
np.fliplr(x)
np.vander(h, 100)
np.gradient(v)
np.gradient(x, axis=0)
np.ediff1d(v)
np.trapezoid(x, axis=1)
np.interp(u, t, f)
np.convolve(v, k)
np.convolve(v, k, mode="same")
np.correlate(v, k)
np.polyval(k, v)
np.polyfit(v, w, 3)
np.unwrap(v)
np.bincount(many, weights=v)
np.linspace(h, 2.0 * h, 500)
np.logspace(h, 2.0 * h, 500)
np.kron(x[:20, :20], y[:16, :16])
np.nan_to_num(xn)
np.sinc(v)
np.i0(v)
np.float_power(p, 1.5)
np.clip(v, -1.0, 1.0)
np.fmod(v, 0.7)
np.hypot(x, y)
np.arctan2(x, y)
np.einsum("ij,ij->i", x, y)
np.meshgrid(h, h)[0]
np.take_along_axis(x, np.argsort(x, axis=1), axis=1)
x[mask]
x @ y.T
""".strip().splitlines()
]


def call_of(text: str) -> Call:
    """A call as a function of the arrays that it names."""
    names = [name for name in DATA if re.search(rf"\b{name}\b", text)]
    function = eval(f"lambda {', '.join(names)}: {text}", dict(PLAIN))
    return Call(function, tuple(DATA[name] for name in names), lambda *a: np.array(function(*a)))


keep_memory()


def compiled(call: Call) -> Callable:
    """The compiled function; raises TraceError for what runs eager only."""
    f, args = nbgrad.compile(call.function), [np.array(x) for x in call.args]
    f(*args)
    return lambda: f(*args)


@pytest.mark.parametrize("text", CALLS)
def test_call(benchmark, note, text):
    check_and_time(call_of(text), benchmark, note)


def table(parts: list[str]) -> None:
    """Print the ratios of the least times of the calls that contain one of `parts`, or of all,
    as they come: sort by a column to see the slowest."""
    print(f"{'call':46}{'numpy us':>10}{'forward':>9}{'pullback':>9}{'compiled':>9}")
    for text in CALLS:
        if parts and not any(part in text for part in parts):
            continue
        call = call_of(text)
        functions = turns(call)
        try:
            functions["compiled"] = compiled(call)
        except (TraceError, NotImplementedError):
            pass
        with np.errstate(all="ignore"):
            times = interleave(functions, "numpy", 15, 0.002)
        least = {kind: times[kind].least for kind in functions}
        ratios = [least[kind] / least["numpy"] for kind in ("forward", "pullback")]
        against = least["compiled"] / least["forward"] if "compiled" in least else float("nan")
        forward, pullback = ratios
        line = f"{text:46}{least['numpy'] * 1e6:10.1f}{forward:9.2f}{pullback:9.2f}{against:9.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    table(sys.argv[1:])
