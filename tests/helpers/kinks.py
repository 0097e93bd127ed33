"""Derivatives at kinks, computed in every mode: the generator of docs/guide/kinks.md.

`NUMBA_DISABLE_JIT=1 python tests/helpers/kinks.py > docs/guide/kinks.md` writes the page and lists
modes that disagree on stderr. Without compilation, each mode takes milliseconds.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy import inf, nan

import nbgrad
from nbgrad import grad, hessian, hvp, jacobian, jvp, linearize, vmap
from nbgrad.core.primitive import Primitive, bind

COMPOSITE: dict[str, tuple] = {
    # guards
    "np.where(x > 0, np.sqrt(x), 0.0)": (0.0, -1.0),
    "np.where(x > 0, np.log(x), 0.0)": (0.0, -1.0),
    "np.where(x > 0, x ** x, 0.0)": (0.0, -1.0),
    "np.where(x != 0, np.sin(x) / x, 1.0)": (0.0,),
    "np.where(x < 1, np.arcsin(x), 0.0)": (1.0, 2.0),
    "np.where(x > 0, np.linalg.norm(x / np.abs(x)), 0.0)": (0.0,),
    "np.cumsum(np.where(x > 0, np.log(x), 0.0))[-1]": ([0.0, 1.0],),
    "np.piecewise(x, [x < 0, x >= 0], [lambda x: -x, np.sqrt])": (-1.0, 0.0),
    "np.select([x > 0, x < 0], [np.sqrt(x), -x], 0.0)": (0.0, -1.0),
    "np.sqrt(np.maximum(x, 0.0))": (-1.0, 0.0),
    "np.log(np.maximum(x, 0.0))": (-1.0,),
    "np.arccos(np.clip(x, -1.0, 1.0))": (1.0, 2.0),
    "np.sqrt(nbgrad.relu(x))": (-1.0, 0.0),
    # roots and powers
    "np.sqrt(x)": (0.0,),
    "np.sqrt(x * x)": (0.0,),
    "np.sqrt(x ** 2)": (0.0,),
    "np.sqrt(np.abs(x))": (0.0,),
    "x * np.sqrt(x)": (0.0,),
    "np.sqrt(x) * np.sqrt(x)": (0.0,),
    "np.sqrt(x) ** 3": (0.0,),
    "np.sqrt(x[0]) * x[1]": ([0.0, 0.0],),
    "np.sqrt(x * 0.0)": (1.0,),
    "np.abs(x) ** 0.5": (0.0,),
    "np.abs(x) ** 1.3": (0.0,),
    "np.abs(x) ** 1.5": (0.0,),
    "np.abs(x) ** 2.5": (0.0,),
    "np.abs(x) ** 3": (0.0,),
    "x * np.abs(x)": (0.0,),
    "x ** 0.3": (0.0,),
    "x ** 2.3": (0.0,),
    "x ** x": (0.0,),
    "x[0] ** x[1]": ([0.0, 0.5], [0.0, 1.0], [0.0, 3.0]),
    "0.0 ** x": (0.0, 1.0),
    "np.cbrt(x)": (0.0,),
    "x * np.cbrt(x)": (0.0,),
    "np.cbrt(x) ** 3": (0.0,),
    "np.cbrt(x * x)": (0.0,),
    # functions that end
    "np.arcsin(x)": (1.0, -1.0),
    "np.arccos(x * x)": (1.0,),
    "np.arccosh(x)": (1.0,),
    "np.arctanh(x)": (1.0,),
    "np.log(x)": (0.0,),
    "x * np.log(x)": (0.0,),
    "1 / x": (0.0,),
    "np.exp(-1 / x)": (0.0,),
    "x[0] / x[1]": ([0.0, 0.0], [1.0, inf]),
    "np.abs(x) / x": (0.0,),
    "nbgrad.special.xlogy(x, x)": (0.0,),
    "nbgrad.special.xlogy(x[0], x[1])": ([0.0, 0.0], [0.0, 1.0], [1.0, 0.0]),
    "nbgrad.special.xlog1py(x[0], x[1])": ([0.0, -1.0],),
    "nbgrad.special.rel_entr(x[0], x[1])": ([0.0, 0.0], [0.0, 1.0]),
    "nbgrad.special.kl_div(x[0], x[1])": ([0.0, 0.0], [0.0, 1.0]),
    "np.logaddexp(x[0], x[1])": ([inf, inf], [inf, 1.0], [-inf, -inf], [-inf, 1.0]),
    "np.logaddexp2(x[0], x[1])": ([inf, inf],),
    "nbgrad.logsumexp(x)": ([inf, inf], [inf, 1.0], [-inf, -inf], [-inf, 1.0]),
    "nbgrad.softmax(x)[0]": ([-inf, 1.0], [inf, 1.0]),
    "nbgrad.sigmoid(x)": (-inf, inf),
    # the largest and the smallest
    "np.max(x)": ([1.0, 1.0, 0.0], [1.0, nan], [inf, inf], [-inf, -inf]),
    "np.min(x * x)": ([1.0, -1.0], [0.0, 0.0], [1.0, nan]),
    "np.ptp(x)": ([1.0, 1.0],),
    "np.nanmax(x)": ([1.0, nan], [nan, nan]),
    "np.maximum(x[0], x[1])": ([1.0, nan],),
    "np.fmin(x[0], x[1])": ([1.0, nan], [nan, nan]),
    "np.maximum.accumulate(x)[-1]": ([1.0, 1.0, 1.0], [1.0, nan]),
    "np.clip(x, 0.0, 1.0)": (0.0, 1.0, nan),
    "np.clip(x, None, 1.0) ** 2": (1.0,),
    "np.clip(x[0], x[1], x[2])": ([1.0, 1.0, 1.0], [2.0, 1.0, 1.0]),
    "np.sum(np.max(np.reshape(x, (2, 2)), axis=1))": ([1.0, nan, 1.0, 2.0],),
    # orders
    "np.sum(np.sort(x) * A(1.0, 2.0, 4.0))": ([1.0, 1.0, 0.0], [1.0, nan, 0.0]),
    "np.partition(x, 1)[1]": ([2.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
    "np.median(x)": ([1.0, 1.0], [1.0, 1.0, 1.0], [1.0, nan, 2.0]),
    "np.nanmedian(x)": ([2.0, nan, 0.0],),
    "np.quantile(x, 0.25)": ([1.0, 1.0, 0.0], [1.0, nan, 2.0]),
    # norms and moments
    **{
        f"np.linalg.norm(x, {order})": ([0.0, 0.0], [0.0, 1.0], [nan, 1.0])
        for order in ("1", "1.5", "2.5", "3", "4", "0.5", "-1", "np.inf", "-np.inf")
    },
    "np.linalg.norm(x)": ([nan, 1.0], [inf, 1.0]),
    "np.linalg.norm(np.reshape(x, (2, 2)), 1)": ([0.0, 0.0, 0.0, 0.0],),
    "np.linalg.norm(x) ** 2": ([0.0, 0.0],),
    "np.sqrt(np.linalg.norm(x))": ([0.0, 0.0],),
    "x[0] / np.linalg.norm(x)": ([0.0, 0.0],),
    "np.sqrt(np.sum(x * x))": ([0.0, 0.0],),
    "np.sqrt(x @ x)": ([0.0, 0.0],),
    "np.sqrt(np.vdot(x, x))": ([0.0, 0.0],),
    "np.sqrt(np.prod(x))": ([0.0, 0.0], [0.0, 1.0]),
    "np.prod(x)": ([0.0, 0.0, 3.0], [0.0, inf]),
    "np.mean(x[:0])": (1.0,),
    "np.var(x, ddof=1)": (1.0,),
    "np.var(x, ddof=2)": ([1.0, 2.0],),
    "np.std(x)": ([1.0, 1.0],),
    "np.std(x, ddof=1)": (1.0,),
    "np.cov(x)": (1.0,),
    "np.cov(x, ddof=2)": ([1.0, 2.0],),
    "np.nanvar(x, ddof=2)": ([1.0, 2.0, nan],),
    "np.nanmean(x * x)": ([1.0, nan], [nan, nan]),
    "np.nanstd(x)": ([1.0, 1.0, nan], [1.0, nan]),
    # points and steps
    "np.interp(x, A(0.0, 1.0, 3.0), A(0.0, 2.0, 1.0))": (0.0, 1.0, 3.0, -1.0, 4.0),
    "np.interp(x, A(0.0, 1.0, 1.0), A(0.0, 2.0, 1.0))": (1.0,),
    "np.interp(x, A(0.0, 1.0, 1.0, 2.0), A(0.0, 2.0, 1.0, 3.0))": (1.0,),
    "np.interp(3.0, A(0.0, 1.0, 3.0), x)": ([0.0, 2.0, 1.0],),
    "np.interp(1.0, A(0.0, 1.0, 3.0), x)": ([0.0, 2.0, 1.0],),
    "np.interp(3.0, x, A(0.0, 2.0, 1.0))": ([0.0, 1.0, 3.0],),
    "np.interp(1.0, x, A(0.0, 2.0, 1.0))": ([0.0, 1.0, 3.0], [0.0, 1.0, 1.0]),
    "np.floor(x) * x": (1.0,),
    "np.mod(x, 1.0)": (1.0,),
    "np.round(x) * x": (0.5,),
    "np.sign(x) * x": (0.0,),
}
"""Scalar functions of x, and points."""


class Kink(NamedTuple):
    source: str
    f: Callable
    point: np.ndarray


class Way(NamedTuple):
    """A way to compute all derivatives of one order, and whether it is compiled as well."""

    name: str
    of: Callable[[Callable], Callable]
    compiled: bool = False


def A(*numbers: float) -> np.ndarray:
    return np.array(numbers)


def kinks() -> Iterator[Kink]:
    """Those of rows, then those of functions that are made of rows."""
    for name in sorted(Primitive.registry):
        row: Any = Primitive.registry[name]
        for args, _ in () if row.eager_only else getattr(row, "kinks", ()):
            yield _of_row(row, [np.asarray(a, float) for a in args])
    for source, points in COMPOSITE.items():
        f = eval(f"lambda x: np.sum({source})", globals())
        for point in points:
            yield Kink(source, f, np.array(point, float).reshape(-1))


def _of_row(row: Any, args: list[np.ndarray]) -> Kink:
    """A row as a function of all of its arguments in one vector."""
    sample = row.samples[0]
    params = sample if isinstance(sample, dict) else sample.params
    ends = np.cumsum([0, *(a.size for a in args)])

    def f(x):
        parts = [np.reshape(x[i:j], a.shape) for a, i, j in zip(args, ends, ends[1:], strict=False)]
        return np.sum(bind(row, *parts, **params))

    names = ", ".join("xyz"[: len(args)])
    return Kink(f"{row.name}({names})", f, np.concatenate([a.reshape(-1) for a in args]))


def _each(f: Callable, axis: int) -> Callable:
    """`f(x, e)` for all unit vectors e, stacked along an axis."""
    return lambda x: np.stack([f(x, e) for e in np.eye(x.shape[0])], axis)


def _along(f: Callable, e: np.ndarray) -> Callable:
    """The product of what `f` gives with a direction."""
    return lambda x: np.sum(f(x) * e)


def _twice(f: Callable) -> Callable:
    """`f` as the second of two samples."""
    return lambda x: vmap(f)(np.stack([x, x]))[1]


def _through_leaves(f: Callable) -> Callable:
    def run(x):
        leaf = nbgrad.track(x)
        out = f(leaf)
        if isinstance(out, nbgrad.TrackedArray):
            out.backward()
        return np.zeros(x.shape) if leaf.grad is None else leaf.grad

    return run


FORWARD: dict[str, Any] = {"mode": "forward"}
REVERSE: dict[str, Any] = {"mode": "reverse"}
WAYS = {
    1: [
        Way("grad", grad, True),
        Way("backward", _through_leaves),
        Way("jvp", lambda f: _each(lambda x, e: jvp(f, (x,), (e,))[1], -1)),
        Way("jacobian forward", lambda f: jacobian(f, **FORWARD), True),
        Way("jacobian reverse", lambda f: jacobian(f, **REVERSE)),
        Way("vmap(grad)", lambda f: _twice(grad(f)), True),
        Way("vmap(jvp)", lambda f: _twice(_each(lambda x, e: jvp(f, (x,), (e,))[1], -1))),
        Way("linearize", lambda f: _each(lambda x, e: linearize(f, x)[1](e), -1)),
        Way("transpose", lambda f: lambda x: linearize(f, x)[1].transpose(1.0)[0]),
    ],
    2: [
        Way("hessian", hessian, True),
        Way("hvp", lambda f: _each(hvp(f), 0), True),
        Way("grad(grad)", lambda f: _each(lambda x, e: grad(_along(grad(f), e))(x), 0)),
        Way("jvp(grad)", lambda f: _each(lambda x, e: jvp(grad(f), (x,), (e,))[1], -1)),
        Way("linearize(grad)", lambda f: _each(lambda x, e: linearize(grad(f), x)[1](e), -1)),
        Way("jacobian reverse(grad)", lambda f: jacobian(grad(f), **REVERSE)),
        Way("jacobian forward twice", lambda f: jacobian(jacobian(f, **FORWARD), **FORWARD)),
        Way("vmap(hessian)", lambda f: _twice(hessian(f))),
    ],
    3: [
        Way("jacobian forward(hessian)", lambda f: jacobian(hessian(f), **FORWARD), True),
        Way("jacobian reverse(hessian)", lambda f: jacobian(hessian(f), **REVERSE)),
        Way("jacobian reverse thrice", lambda f: jacobian(jacobian(grad(f), **REVERSE), **REVERSE)),
        Way(
            "jacobian forward thrice",
            lambda f: jacobian(jacobian(jacobian(f, **FORWARD), **FORWARD), **FORWARD),
        ),
    ],
}  # fmt: skip
ORDERS = {1: "first", 2: "second", 3: "third"}

HEAD = """# Kinks

<!-- Generated by `NUMBA_DISABLE_JIT=1 python tests/helpers/kinks.py`: edit that file. -->

nbgrad uses conventions at points where a function has no derivative or an infinite one. They are
the same in all modes, in eager and compiled code, and for derivatives of every order:

* **Zero is strong.** In the chain rule, a factor that is exactly 0 gives 0, even if the other one
  is inf or nan. A branch that `np.where` does not select therefore has no effect, and
  `np.sqrt(x * x)` has the derivative 0 at 0, by `grad` and by `jvp`.
* **Ties share evenly** in `max`, `min`, `maximum`, `minimum` and `clip`. Sorting does not share:
  equal elements keep their order in `sort`, `partition`, `median` and `quantile`, and each position
  takes the derivative of one element.
* **If the selected value is nan, the derivative is 0**: for example, the maximum or the median of
  an array that contains nan.
* **A variance without degrees of freedom** (`ddof` is at least the number of elements) is a
  constant.
* **Step functions have the derivative 0**, also at a jump; so have `abs`, `sign`, `relu` and norms
  at 0.
* **`np.interp`** uses the slope to the right of a point, and at the last point the slope to its
  left.

Matrix products, convolutions and cumulative products multiply as BLAS and NumPy do, and 0 times inf
is nan in them. Two modes may therefore differ: one gives nan where the other gives a number. The
same holds for sums in which infinite terms cancel. A second derivative at a kink need not be
symmetric: row i is the derivative of partial derivative i.

The table shows derivatives at kinks, of single ops and of functions that combine them. Third
derivatives are shown for functions of one number, and tested for functions of one or two.

| function | at | first | second | third |
|---|---|---|---|---|
"""


def compared(kink: Kink, order: int, ways: list[Way], faults: list[str]) -> np.ndarray:
    """The derivatives by the first way; the others that differ are added to `faults`."""
    found = None
    short = order < 3 or kink.point.size == 1
    for way in ways:
        for tier in ("eager", "compiled")[: 1 + (way.compiled and short)]:
            run = way.of(kink.f)
            run = nbgrad.compile(run) if tier == "compiled" else run
            result = np.asarray(run(kink.point))
            found = result if found is None else found
            if not _equal(result, found):
                faults.append(
                    f"{kink.source} at {text(kink.point)}: {ORDERS[order]} derivatives by {tier} "
                    f"{way.name} {text(result)}, by {ways[0].name} {text(found)}"
                )
    assert found is not None
    return found


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)


def text(x: np.ndarray) -> str:
    """Numbers in few digits; one without brackets."""
    x = np.where(abs(x) < 1e-12, 0.0, x)
    if x.size == 1:
        return f"{x.item():.4g}"
    return f"[{', '.join(text(part) for part in x)}]"


def page(half: int | None = None) -> tuple[str, list[str]]:
    """The text of docs/guide/kinks.md, and the ways that disagree: of all ways, or of half 0 or 1
    of them, which is another for the next kink."""
    lines, faults = [HEAD], []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, kink in enumerate(kinks()):
            orders = WAYS if kink.point.size <= 2 else (1, 2)
            found = []
            for order in orders:
                first, *others = WAYS[order]
                chosen = others if half is None else others[(number + half) % 2 :: 2]
                found.append(compared(kink, order, [first, *chosen], faults))
            third = text(found[2]) if kink.point.size == 1 else ""
            cells = f"`{kink.source}`", text(kink.point), *map(text, found[:2]), third
            lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines), faults


if __name__ == "__main__":
    made, differing = page(*map(int, sys.argv[1:]))
    print(made, end="")
    print("\n".join(differing), file=sys.stderr)
