"""Programs of arrays with a named size n, of every kind of op.

The names of arguments say what they are: `x`, `y` have the shape (n,), `a` (n, 3), `c` (3, n), `b`
(2, n, 3); `s` is a symmetric and `low` a lower triangular matrix of shape (n, n), both with
positive eigenvalues; `i` holds n integers below n, and `k` n of 0, 1 and 2; `w` has the shape (3,);
`p` is a dict and `t` a tuple of arrays of the shapes (n,) and (n, 3).
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import nbgrad

SPECS: dict[str, Any] = {
    "x": ("n",), "y": ("n",), "a": ("n", None), "c": (None, "n"), "b": (None, "n", None),
    "s": ("n", "n"), "low": ("n", "n"), "i": ("n",), "k": ("n",),
    "p": {"v": ("n",), "m": ("n", None)}, "t": (("n",), ("n", None)),
}  # fmt: skip


def drawn(name: str, n: int, rng: np.random.Generator) -> Any:
    """An argument of this name for the size n."""
    if name in "xy":
        return rng.uniform(0.3, 1.7, n)
    if name == "s":
        m = rng.normal(size=(n, n))
        return m @ m.T / max(n, 1) + 2 * np.eye(n)
    if name == "low":
        return np.tril(rng.normal(size=(n, n))) / max(n, 1) + 2 * np.eye(n)
    if name == "i":
        return rng.integers(0, max(n, 1), n)
    if name == "k":
        return rng.integers(0, 3, n)
    if name == "p":
        return {"v": drawn("x", n, rng), "m": drawn("a", n, rng)}
    if name == "t":
        return (drawn("x", n, rng), drawn("a", n, rng))
    shape = {"a": (n, 3), "c": (3, n), "b": (2, n, 3), "w": (3,)}[name]
    return rng.uniform(0.3, 1.7, shape)


class NamedProgram(NamedTuple):
    name: str
    f: Callable

    @property
    def arguments(self) -> list[str]:
        return list(inspect.signature(self.f).parameters)

    @property
    def dynamic(self) -> dict[str, Any]:
        return {name: SPECS[name] for name in self.arguments if name in SPECS}

    @property
    def floats(self) -> tuple[int, ...]:
        return tuple(i for i, name in enumerate(self.arguments) if name not in "ik")

    def draw(self, n: int, rng: np.random.Generator) -> list[Any]:
        return [drawn(name, n, rng) for name in self.arguments]


def _unpacked(x):
    total = 0.0
    for j in range(x.shape[0]):
        total = total + x[j] ** 2
    return total


def _recurrence(x):
    v = 0.0
    for j in range(len(x)):
        v = np.sin(v) + x[j]
    return v


def _filled(x):
    out = np.zeros_like(x)
    out[1:] = x[:-1] * 2
    return out * x


def _array(x) -> Any:
    return nbgrad.array(x)


def _added(x, i):
    return _array(x).at[i].add(x)


PROGRAMS = {
    # reductions
    "sum": lambda x: np.sum(x),
    "sum axis 0": lambda a: np.sum(a, axis=0),
    "sum axis 1": lambda a: np.sum(a, axis=1),
    "sum keepdims": lambda a: a / np.sum(a, axis=0, keepdims=True),
    "mean": lambda x: np.mean(x),
    "mean axis": lambda a: a - np.mean(a, axis=0),
    "average": lambda x, y: np.average(x, weights=y),
    "var": lambda x: np.var(x),
    "std ddof": lambda a: np.std(a, axis=0, ddof=1),
    "prod": lambda x: np.prod(x),
    "prod axis 0": lambda a: np.prod(a, axis=0),
    "prod axis 1": lambda a: np.prod(a, axis=1),
    "max": lambda x: np.max(x),
    "max axis": lambda a: np.max(a, axis=0),
    "min axis last": lambda c: np.min(c, axis=-1),
    "ptp": lambda x: np.ptp(x),
    "argmax": lambda x: x[np.argmax(x)],
    "argmin axis": lambda a: np.argmin(a, axis=0) * 1.0,
    "median": lambda x: np.median(x),
    "median axis": lambda a: np.median(a, axis=0),
    "quantile": lambda x: np.quantile(x, 0.3),
    "percentile": lambda a: np.percentile(a, 80, axis=0),
    "any all": lambda x: np.where(np.any(x > 1.0), x, 2 * x) * np.all(x > 0.0),
    "count_nonzero": lambda x: np.count_nonzero(x > 1.0) * x,
    "logsumexp": lambda x: nbgrad.logsumexp(x),
    "softmax": lambda a: nbgrad.softmax(a, axis=0),
    "norm": lambda x: np.linalg.norm(x),
    "norm axis": lambda a: np.linalg.norm(a, axis=1),
    "norm 1": lambda x: np.linalg.norm(x, 1),
    "nansum": lambda x: np.nansum(x),
    "cov": lambda c: np.cov(c),
    "corrcoef": lambda c: np.corrcoef(c),
    "trapezoid": lambda x, y: np.trapezoid(x, y),
    # cumulative
    "cumsum": lambda x: np.cumsum(x),
    "cumsum axis": lambda a: np.cumsum(a, axis=0),
    "cumprod": lambda x: np.cumprod(x),
    "cumprod axis": lambda a: np.cumprod(a, axis=0),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x),
    "logaddexp.accumulate": lambda x: np.logaddexp.accumulate(x),
    "diff": lambda x: np.diff(x),
    "diff 2": lambda x: np.diff(x, 2),
    "gradient": lambda x: np.gradient(x),
    "ediff1d": lambda x: np.ediff1d(x),
    "interp": lambda x, y: np.interp(x, np.linspace(0.0, 2.0, 5), np.arange(5.0)) * y,
    "trapz by hand": lambda x: np.sum((x[1:] + x[:-1]) / 2),
    # indexing and slices
    "first": lambda x: x[0] * x,
    "last": lambda x: x[-1] * x,
    "middle": lambda x: x[x.shape[0] // 2],
    "slice": lambda x: x[2:5] * 2,
    "slice tail": lambda x: x[3:] * x[:-3],
    "slice negative": lambda x: x[-3:],
    "step 2": lambda x: x[::2],
    "step 2 from 1": lambda x: x[1::2] ** 2,
    "even odd": lambda x: np.sum(x[::2]) - np.sum(x[1::2]),
    "step -1": lambda x: x[::-1] * x,
    "step -2": lambda x: x[::-2] * 2,
    "step 3 to -1": lambda x: x[1:-1:3],
    "half": lambda x: x[: x.shape[0] // 2] * 2,
    "two halves": lambda x: np.sum(x[: x.shape[0] // 2]) * np.sum(x[x.shape[0] // 2 :]),
    "n-dependent": lambda x: x[: x.shape[0] - 2] * x[2 : x.shape[0]],
    "columns": lambda a: a[:, 0] * a[:, -1] + a[:, 1],
    "new axis": lambda x: x[:, None] * x[None, :],
    "take": lambda x, i: x[i] * 2,
    "np.take": lambda a, i: np.take(a, i, axis=0),
    "pick": lambda a, k: a[np.arange(a.shape[0]), k],
    "take_along_axis": lambda a, k: np.take_along_axis(a, k[:, None], axis=1),
    "rows by index": lambda a: a[[0, 1]],
    "boolean": lambda x: np.sum(np.where(x > 1.0, x, 0.0)),
    "at add": _added,
    "at set": lambda x: _array(x).at[0].set(3.0) * x,
    "at set slice": lambda x: _array(x).at[1:-1].set(0.5) * x,
    "at mul": lambda x: _array(x).at[::2].multiply(2.0),
    "filled": _filled,
    "diagonal": lambda s: np.diagonal(s) ** 2,
    "diag of": lambda s: np.diag(s),
    "diag to": lambda x: np.diag(x),
    "diag k": lambda s: np.diag(s, 1),
    "trace": lambda s: np.trace(s),
    "tril": lambda s: np.tril(s),
    "triu k": lambda s: np.triu(s, 1),
    "tril of a": lambda a: np.tril(a),
    "tri": lambda s: s * np.tri(s.shape[0]),
    "tril_indices": lambda s: s[np.tril_indices(s.shape[0])],
    "eye": lambda s: s + np.eye(s.shape[0]),
    "arange": lambda x: x * np.arange(x.shape[0]),
    "linspace": lambda x: x * np.linspace(0.0, 1.0, x.shape[0]),
    "sin arange": lambda x: x * np.sin(np.arange(x.shape[0])),
    "full": lambda x: x + np.full(x.shape[0], 2.0),
    "meshgrid": lambda x, y: np.sum(np.multiply(*np.meshgrid(x, y))),
    # outer forms
    "outer": lambda x, y: np.outer(x, y),
    "subtract.outer": lambda x, y: np.subtract.outer(x, y) ** 2,
    "pairs": lambda a: np.sqrt(np.sum((a[:, None] - a[None]) ** 2, axis=-1) + 0.1),
    "kernel": lambda x: np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2),
    "kernel sum": lambda x, y: np.sum(np.exp(-((x[:, None] - x[None, :]) ** 2)) @ y),
    "kron": lambda x, w: np.kron(x, w),
    "vander": lambda x: np.vander(x, 3),
    # linear algebra
    "matvec": lambda a, w: a @ w,
    "gram": lambda a: a.T @ a,
    "outer gram": lambda a: a @ a.T,
    "dot": lambda x, y: np.dot(x, y),
    "vdot": lambda x, y: np.vdot(x, y),
    "inner": lambda a: np.inner(a, a),
    "tensordot": lambda a, b: np.tensordot(b, a, axes=([1], [0])),
    "matmul batch": lambda b, c: b @ c,
    "quadratic": lambda x, s: x @ s @ x,
    "cholesky": lambda s: np.linalg.cholesky(s),
    "cholesky logdet": lambda s: 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(s)))),
    "solve": lambda s, x: np.linalg.solve(s, x),
    "solve matrix": lambda s, a: np.linalg.solve(s, a),
    "inv": lambda s: np.linalg.inv(s),
    "det": lambda s: np.linalg.det(s / 3.0),
    "slogdet": lambda s: np.linalg.slogdet(s)[1],
    "qr": lambda a: np.abs(np.linalg.qr(a)[1]),
    "lstsq": lambda a, x: np.linalg.lstsq(a, x)[0],
    "matrix_power": lambda s: np.linalg.matrix_power(s, 3),
    "solve_triangular": lambda low, x: nbgrad.linalg.solve_triangular(low, x, lower=True),
    "gp": lambda x, y: _gp(x, y),
    "cross": lambda a: np.cross(a, a[::-1]),
    # sorting
    "sort": lambda x: np.sort(x),
    "sort axis": lambda a: np.sort(a, axis=0),
    "argsort": lambda x: x[np.argsort(x)] * np.arange(x.shape[0]),
    "sort reversed": lambda x: np.sort(x)[::-1],
    "partition": lambda x: np.sum(np.partition(x, 1)[:1]),
    "searchsorted": lambda x: np.searchsorted(np.linspace(0.0, 2.0, 7), x) * x,
    "top": lambda x: np.sum(np.sort(x)[-2:]),
    # shapes
    "reshape -1": lambda a: a.reshape(-1) * 2,
    "reshape 1": lambda x: x.reshape(-1, 1) * x.reshape(1, -1),
    "reshape n, 3": lambda a: a.reshape(3, -1),
    "reshape halves": lambda x: np.sum(x.reshape(x.shape[0] // 2, 2), axis=1),
    "reshape -1, 2": lambda x: x.reshape(-1, 2).mean(axis=1),
    "reshape 2, -1": lambda x: x.reshape(2, -1)[0] * 3,
    "ravel": lambda a: np.ravel(a.T),
    "transpose": lambda a: a.T * 2,
    "moveaxis": lambda b: np.moveaxis(b, 1, 0) * 2,
    "swapaxes": lambda b: np.swapaxes(b, 0, 1),
    "squeeze": lambda a: np.squeeze(a[:, :1], 1),
    "expand_dims": lambda x: np.expand_dims(x, 0) * 2,
    "broadcast_to": lambda w, x: np.broadcast_to(w, (x.shape[0], 3)) * x[:, None],
    "broadcasting": lambda a, x, w: a * x[:, None] + w,
    "flip": lambda a: np.flip(a, 0),
    "roll": lambda x: np.roll(x, 1) * x,
    "roll -2": lambda a: np.roll(a, -2, axis=0),
    "rot90": lambda a: np.rot90(a),
    "tile": lambda x: np.tile(x, 2),
    "tile 2d": lambda x: np.tile(x, (2, 1)),
    "repeat": lambda x: np.repeat(x, 3),
    "pad": lambda x: np.pad(x, 2),
    "pad edge": lambda x: np.pad(x, 1, mode="edge"),
    "pad wrap": lambda x: np.pad(x, 1, mode="wrap"),
    "pad reflect": lambda x: np.pad(x, 1, mode="reflect"),
    # joining and splitting
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "concatenate ends": lambda x: np.concatenate([x[:1], x, x[-1:]]),
    "stack": lambda x, y: np.stack([x, y]),
    "stack last": lambda x, y: np.stack([x, y], axis=-1),
    "hstack": lambda a, x: np.hstack([a, x[:, None]]),
    "vstack": lambda x, y: np.vstack([x, y]),
    "column_stack": lambda x, y: np.column_stack([x, y]),
    "block": lambda s: np.block([[s, s], [s, s]]),
    "append": lambda x: np.append(x, 1.0),
    "split": lambda x: np.multiply(*np.split(x, 2)),
    "split at": lambda x: np.split(x, [1])[1] * 2,
    "array_split": lambda x: np.array_split(x, 2)[0] * 2,
    "hsplit": lambda c: np.hsplit(c, [1])[1],
    "insert": lambda x: np.insert(x, 0, 1.0),
    "delete": lambda x: np.delete(x, 0),
    # elementwise and choices
    "where": lambda x, y: np.where(x > y, x, y * 2),
    "clip": lambda x: np.clip(x, 0.5, 1.0),
    "maximum": lambda x, y: np.maximum(x, y) + np.minimum(x, 1.0),
    "select": lambda x: np.select([x < 0.5, x < 1.0], [x, x**2], 0.0),
    "piecewise": lambda x: np.piecewise(x, [x < 1.0, x >= 1.0], [lambda v: v, lambda v: v**2]),
    "power by n": lambda x: x ** (1.0 / x.shape[0]),
    "by n": lambda x: np.sum(x) / (x.shape[0] + 1),
    "by n - 1": lambda x: np.sum(x) / (x.shape[0] - 1),
    "integers and n": lambda i, x: x * (i + x.shape[0]) / (i * x.shape[0] + 1),
    "log n": lambda x: x * np.log(x.shape[0]),
    "sqrt n": lambda x: np.sum(x) / np.sqrt(x.shape[0]),
    "branch": lambda x: np.sum(x) if x.shape[0] > 3 else np.prod(x),
    "len": lambda x: np.sum(x) / len(x),
    "size": lambda a: np.sum(a) / a.size,
    # einsum
    "einsum ij,j": lambda a, w: np.einsum("ij,j->i", a, w),
    "einsum i,j": lambda x, y: np.einsum("i,j->ij", x, y),
    "einsum trace": lambda s: np.einsum("ii->", s),
    "einsum diag": lambda s: np.einsum("ii->i", s),
    "einsum three": lambda a, s: np.einsum("ij,ik,kj->", a, s, a),
    "einsum batch": lambda b: np.einsum("bij,bik->bjk", b, b),
    # convolutions, transforms
    "convolve": lambda x, w: np.convolve(x, w),
    "convolve same": lambda x, w: np.convolve(x, w, "same"),
    "convolve valid": lambda x, w: np.convolve(x, w, "valid"),
    "correlate": lambda x, w: np.correlate(x, w, "valid"),
    "moving average": lambda x: np.convolve(x, np.ones(3) / 3, mode="valid"),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).mean(axis=1),
    "laplacian": lambda s: s[2:, 1:-1] + s[:-2, 1:-1] - 2 * s[1:-1, 1:-1],
    "polyval": lambda w, x: np.polyval(w, x),
    # loops
    "scan": lambda x: nbgrad.scan(lambda v, u: (np.tanh(v + u), v * u), 0.0, x)[1],
    "scan carry": lambda a: nbgrad.scan(lambda v, u: (0.5 * v + np.sin(u), None), np.zeros(3), a)[
        0
    ],
    "loop": lambda x: nbgrad.loop(x.shape[0], lambda j, v: np.sin(v) + x[j], 0.0),
    "map": lambda a: nbgrad.vmap(lambda r: np.sum(r**2))(a),
    "for": _unpacked,
    "for len": _recurrence,
    "for rows": lambda a: sum(np.sum(row) ** 2 for row in a),
    "for zip": lambda x, y: sum(u * v for u, v in zip(x, y, strict=True)),
    "for enumerate": lambda x: sum(j * u for j, u in enumerate(x)),
    "comprehension": lambda x: np.stack([u**2 for u in x]),
    # eigenvalues and singular values
    "eigh": lambda s: np.linalg.eigvalsh(s),
    "eigh vectors": lambda s: np.abs(np.linalg.eigh(s)[1]),
    "svd": lambda s: np.linalg.svd(s, compute_uv=False),
    "svd of a": lambda a: np.linalg.svd(a, compute_uv=False),
    "pinv": lambda a: np.linalg.pinv(a),
    # nested arguments
    "dict": lambda p: np.sum(p["m"] * p["v"][:, None], axis=0),
    "tuple": lambda t: np.sum(t[1] * t[0][:, None], axis=0),
}


EAGER = {
    "boolean index": lambda x: np.sum(x[x > 1.0]),
    "bincount": lambda k, x: np.bincount(k, weights=x, minlength=3),
}
"""Programs that no compiled function has."""


def _gp(x, y):
    k = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2) + 0.1 * np.eye(x.shape[0])
    root = np.linalg.cholesky(k)
    z = np.linalg.solve(root, y)
    return 0.5 * z @ z + np.sum(np.log(np.diag(root)))


ALL = [NamedProgram(name, f) for name, f in PROGRAMS.items()]
