"""What every row costs on about 100,000 elements, in multiples of NumPy's forward pass.

    pytest benchmarks/test_rows.py -n 0 --benchmark-enable -rP
    python benchmarks/test_rows.py [part of a name ...]        a table, the slowest last

Where NumPy gives a view, it is asked for a copy: moving the elements is the work that counts. A
diagonal is a view of few elements of many: against it counts what has to be written too, a matrix
of zeros. Memory that is freed is kept for both, since new pages cost more than filling them.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbgrad
from nbgrad.bench.timing import interleave, keep_memory
from nbgrad.core.primitive import Primitive, bind
from nbgrad.rules.families import Elementwise

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from helpers import rows

TARGET = 3.0
SIZE = 100_000
MATRIX = (400, 250)
VIEWS = {"broadcast_to", "copy", "flip", "reshape", "transpose"}


class Call(NamedTuple):
    """One call on arrays to track, and the same in NumPy."""

    function: Callable
    args: tuple[np.ndarray, ...]
    numpy: Callable


def _drawn(domain, shape, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(*domain, shape)


def _well(size: int, count: int) -> np.ndarray:
    """Positive definite matrices."""
    x = np.random.default_rng(0).normal(size=(count, size, size))
    return x @ np.swapaxes(x, -1, -2) + size * np.eye(size)


def _reference(name: str) -> Callable:
    return rows.reference(Primitive.registry[name])


_x, _v = _drawn((-2.5, 2.5), MATRIX), _drawn((-2.5, 2.5), SIZE)
_square = _drawn((-2.5, 2.5), (300, 300))
_rows = np.random.default_rng(0).integers(0, 400, 400)
_each = np.random.default_rng(0).integers(0, 250, MATRIX)
_mask = _x > 0
_labels, _hot = _rows % 250, np.eye(250)[_rows % 250]
_share = _reference("softmax")(_x)


_apart = _drawn((0.0, 0.01), (100, 100)) + np.diag(np.arange(1.0, 101.0))
_near_one = np.eye(100) + _drawn((-0.001, 0.001), (100, 100), 1)
_band = _drawn((0.1, 0.2), (3, 1000)) + np.array([[0.0], [1.0], [0.0]])


def _sides(*arrays: np.ndarray) -> np.ndarray:
    return np.concatenate(arrays, axis=1)


def _recurred(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """out[i] = b[i] + a[i] * out[i - 1], as SciPy has no filter of factors that change."""
    out = b.copy()
    for i in range(1, len(b)):
        out[i] += a[i] * out[i - 1]
    return out


def _row(name: str, /, *args, **params) -> Call:
    """A row with its parameters, and its reference in NumPy; arguments whose derivative is refused
    are no arguments of the call."""
    row = Primitive.registry[name]
    refused = getattr(row, "refusals", {})
    plain = {i: args[i] for i in refused}

    def filled(function: Callable) -> Callable:
        def call(*tracked):
            rest = iter(tracked)
            return function(*(plain[i] if i in plain else next(rest) for i in range(len(args))))

        return call if plain else function

    return Call(
        filled(lambda *a: bind(row, *a, **params)),
        tuple(x for i, x in enumerate(args) if i not in refused),
        filled(_whole(name, rows.reference(row), params)),
    )


def _whole(name: str, function: Callable, params: dict) -> Callable:
    view = name in VIEWS
    return lambda *a: np.array(function(*a, **params)) if view else function(*a, **params)


def _call(function: Callable, *args, **params) -> Call:
    """A function of NumPy, for what is made of rows."""
    numpy = _whole(function.__name__, function, params)
    return Call(lambda *a: function(*a, **params), args, numpy)


def _mine(function: Callable, numpy: Callable, *args) -> Call:
    return Call(function, args, numpy)


def _reductions(name: str) -> dict[str, Call]:
    kinds = {"all": (_v, (0,)), "last axis": (_x, (1,)), "first axis": (_x, (0,))}
    kinds["short last axis"] = (_v.reshape(-1, 4), (1,))
    return {
        f"{name}, {kind}": _row(name, x, axes=axes, keepdims=False)
        for kind, (x, axes) in kinds.items()
    }


CALLS: dict[str, Call] = {
    f"{row.name}{list(params.values()) or ''}": _row(
        row.name, *(_drawn(d, SIZE, seed) for seed, d in enumerate(row.domains)), **params
    )
    for row in rows.rows(True)
    if isinstance(row, Elementwise) and not row.conditions
    for params in row.samples or ()
    if "zeta" not in row.name or not params["n"]  # SciPy has no slopes of it
}
CALLS["where"] = _mine(
    lambda x, y: np.where(_v > 0, x, y), lambda x, y: np.where(_v > 0, x, y), _v, _v
)
for _name in ("sum", "mean", "max", "min", "prod", "norm"):
    CALLS |= _reductions(_name)
CALLS |= {
    "var": _call(np.var, _x, axis=1), "std": _call(np.std, _v),
    "cumsum": _call(np.cumsum, _v), "cumsum, axis 0": _call(np.cumsum, _x, axis=0),
    "unbroadcast": _row("unbroadcast", _x, shape=(250,)),
    "logsumexp": _row("logsumexp", _x, axes=(1,)),
    "softmax": _row("softmax", _x, axis=1), "logsoftmax": _row("logsoftmax", _x, axis=1),
    "logit_cross_entropy": _row("logit_cross_entropy", _x, _hot),
    "label_cross_entropy": _mine(
        lambda x: nbgrad.logit_cross_entropy(x, _labels),
        lambda x: _reference("logit_cross_entropy")(x, _hot), _x,
    ),
    "cross_entropy": _mine(
        lambda p: nbgrad.cross_entropy(p, _hot),
        lambda p: -np.sum(_hot * np.log(p)) / 400, _share,
    ),
    "hinge_loss": _mine(
        lambda y: nbgrad.hinge_loss(y, np.sign(_v)),
        lambda y: np.mean(np.maximum(1 - np.sign(_v) * y, 0)), _v,
    ),
    "mse": _mine(lambda y: nbgrad.mse(y, _v + 1), lambda y: np.mean(np.square(y - _v - 1)), _v),
    "evalpoly": _mine(
        nbgrad.evalpoly, lambda x, c: np.polynomial.polynomial.polyval(x, c), _v, np.arange(5.0)
    ),
    "matmul": _row("matmul", _square, _square),
    "outer": _call(np.outer, _v[:400], _v[:250]), "inner": _call(np.inner, _v, _v),
    "kron": _call(np.kron, _x[:20, :20], _x[:16, :16]),
    "tensordot": _call(np.tensordot, _v.reshape(40, 50, 50), _square[:50, :50], axes=1),
    "einsum bij,bjk": _mine(
        lambda x, y: np.einsum("bij,bjk->bik", x, y), np.matmul,
        _v.reshape(40, 50, 50), _v.reshape(40, 50, 50),
    ),
    "einsum ij,kj": _mine(lambda x, y: np.einsum("ij,kj->ik", x, y), lambda x, y: x @ y.T, _x, _x),
    "einsum ij->ji": _mine(lambda x: np.einsum("ij->ji", x), lambda x: np.array(x.T), _x),
    "einsum i,i": _mine(lambda x, y: np.einsum("i,i", x, y), np.dot, _v, _v),
    "inv": _row("inv", _well(300, 1)[0]), "inv, stack": _row("inv", _well(10, 1000)),
    "solve": _row("solve", _well(300, 1)[0], _square),
    "det": _row("det", _well(300, 1)[0]), "logabsdet": _row("logabsdet", _well(300, 1)[0]),
    "cholesky": _row("cholesky", _well(300, 1)[0]),
    "diagonal": _mine(np.diagonal, lambda x: _beside_matrix(np.array(np.diagonal(x))), _square),
    "trace": _mine(np.trace, lambda x: _beside_matrix(np.trace(x)), _square),
    "diag": _call(np.diag, _v[:300]), "tril": _call(np.tril, _square),
    "triu": _call(np.triu, _square),
    "reshape": _row("reshape", _x, shape=(SIZE,)), "transpose": _row("transpose", _x, axes=(1, 0)),
    "broadcast_to": _row("broadcast_to", _v[:250], shape=MATRIX),
    "broadcast_to, columns": _row("broadcast_to", _v[:400].reshape(-1, 1), shape=MATRIX),
    "concatenate": _row("concatenate", _x, _x, axis=1), "stack": _row("stack", _v, _v, axis=0),
    "stack, last axis": _row("stack", _v, _v, axis=1),
    "astype": _row("astype", _x, dtype="float32"),
    "split": _mine(
        lambda x: np.concatenate(np.split(x, 4)),
        lambda x: np.concatenate([np.array(part) for part in np.split(x, 4)]), _x,
    ),
    "tile": _call(np.tile, _x, reps=(1, 2)), "repeat": _call(np.repeat, _v, repeats=3),
    "repeat, axis 0": _call(np.repeat, _x, repeats=2, axis=0),
    "roll": _call(np.roll, _x, shift=7, axis=1), "flip": _call(np.flip, _x),
    "pad": _call(np.pad, _x, pad_width=2),
    "index slice": _mine(lambda x: x[1:-1, ::2], lambda x: np.array(x[1:-1, ::2]), _x),
    "index rows": _mine(lambda x: x[_rows], lambda x: x[_rows], _x),
    "index pairs": _mine(lambda x: x[_rows, _each.T], lambda x: x[_rows, _each.T], _x),
    "index mask": _mine(lambda x: x[_mask], lambda x: x[_mask], _x),
    "scatter": _mine(
        lambda x: bind(Primitive.registry["scatter"], x, shape=MATRIX, index=_rows),
        lambda x: _added_at(np.zeros(MATRIX), _rows, x), _x,
    ),
    "assign": _mine(
        lambda x, v: bind(Primitive.registry["assign"], x, v, index=slice(10, 300)),
        lambda x, v: _written(x, v), _x, _x[10:300],
    ),
    "take, axis 1": _call(np.take, _x, indices=_rows % 250, axis=1),
    "take_along_axis": _call(np.take_along_axis, _x, indices=_each, axis=1),
    "diff": _call(np.diff, _v), "diff, axis 0": _call(np.diff, _x, axis=0),
    "sort": _call(np.sort, _v), "sort, rows": _call(np.sort, _x, axis=1),
    "median": _call(np.median, _v), "accumulate": _row("accumulate", _v, name="maximum"),
    "runs": _row("runs", _v, _v, runs=((0, 0, 50_000, 1), (1, 49_999, 50_000, -1)), axis=0),
    "vecdot": _row("vecdot", _x, _x, kept=1), "vecdot, all": _row("vecdot", _v, _v, kept=0),
    "matmul, vector": _row("matmul", _x, _v[:250]), "hcat": _mine(nbgrad.hcat, _sides, _x, _x),
    "recurrence": _mine(
        lambda a, b: bind(Primitive.registry["recurrence"], a, b, reverse=False), _recurred,
        _drawn((0.1, 0.9), 1000), _v[:1000],
    ),
    "convolve": _row("convolve", _v, _v[:9]), "overlap": _row("overlap", _v, _v[:9]),
    "sliding_product": _row("sliding_product", _v, _v[:9]),
    "eigh": _row("eigh", _well(200, 1)[0]), "eig": _row("eig", _apart),
    "svd": _row("svd", _square[:200, :200]), "qr": _row("qr", _square[:200, :200]),
    "pinv": _row("pinv", _square[:200, :150]),
    **{name: _row(name, _near_one) for name in ("expm", "sqrtm", "logm")},
    **{f"{name}_along": _row(f"{name}_along", _near_one, _near_one)
       for name in ("expm", "sqrtm", "logm")},
    "solve_triangular": _row("solve_triangular", _well(300, 1)[0], _square, lower=True, unit=False),
    "solve_banded": _row("solve_banded", _band, _v[:1000].reshape(-1, 1), lower=1, upper=1),
}  # fmt: skip


keep_memory()
# What compiled programs alone call.
STATIC = {"assign_at", "gather", "scatter_at"}


def _beside_matrix(value):
    """`value`, and the time that it takes to make a matrix of zeros and write the diagonal."""
    np.fill_diagonal(np.zeros(_square.shape), value)
    return value


def _added_at(buffer, index, x):
    np.add.at(buffer, index, x)
    return buffer


def _written(x, value):
    out = x.copy()
    out[10:300] = value
    return out


def turns(call: Call) -> dict[str, Callable[[], Any]]:
    """NumPy's forward pass, the tracked one, and a pullback over a graph that is kept.

    As each leaf has memory of its own, so has each argument of NumPy: `x @ x.T` is half the work.
    """
    args = [np.array(x) for x in call.args]
    leaves = [nbgrad.track(x) for x in args]
    out = call.function(*leaves)
    ct = np.ones(out.shape, out.dtype)

    def pull():
        out.backward(ct, keep_graph=True)
        for leaf in leaves:
            leaf.grad = None

    return {
        "numpy": lambda: call.numpy(*args),
        "forward": lambda: call.function(*leaves),
        "pullback": pull,
    }


def test_every_row_is_timed():
    used = {name.split(",")[0].split("[")[0].split()[0] for name in CALLS}
    missing = {row.name for row in rows.rows(True)} - used
    assert not missing - STATIC


def check_and_time(call: Call, benchmark, note) -> None:
    """Hold a call against NumPy's, and note what it costs."""
    functions = turns(call)
    np.testing.assert_allclose(
        nbgrad.track(functions["forward"]()).data, functions["numpy"](), rtol=2e-6, atol=1e-9
    )
    benchmark(functions["forward"])
    if benchmark.enabled:
        with np.errstate(all="ignore"):
            times = interleave(functions, "numpy", 20)
        ratios = {kind: round(times[kind].ratio, 2) for kind in ("forward", "pullback")}
        note(**ratios, target=TARGET)


@pytest.mark.parametrize("name", CALLS)
def test_row(benchmark, note, name):
    check_and_time(CALLS[name], benchmark, note)


def table(parts: list[str]) -> None:
    """Print the ratios of the least times, which other programs disturb least, of the calls whose
    name has one of `parts`, or of all."""
    found = []
    for name, call in CALLS.items():
        if not parts or any(part in name for part in parts):
            with np.errstate(all="ignore"):
                times = interleave(turns(call), "numpy", 15, 0.002)
            ratios = [times[kind].least / times["numpy"].least for kind in ("forward", "pullback")]
            found.append((max(ratios), name, times["numpy"].least * 1e6, *ratios))
    print(f"{'row':26}{'numpy us':>10}{'forward':>9}{'pullback':>9}")
    for worst, name, least, forward, pullback in sorted(found):
        mark = " over" if worst > TARGET else ""
        print(f"{name:26}{least:10.1f}{forward:9.2f}{pullback:9.2f}{mark}")


if __name__ == "__main__":
    table(sys.argv[1:])
