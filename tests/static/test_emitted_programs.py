# ruff: noqa: E501 (one program a line)
"""Compiled programs against the eager tier: special values, layouts, indices, products, pads.

Each program runs in plain Python, one by one; with Numba many are packed into few functions, since
each function takes a while to compile.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers import chains
from helpers.rows import PLAIN_PYTHON, assert_close
from hypothesis import given, settings
from hypothesis import strategies as st

import nbgrad

_RNG = np.random.default_rng(7)
SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, -1e-310, 1e300, -1.5, 0.5, 2.0, 2.0]
)
LARGE = np.array([1e5, -1e7, 1e15, 3.0, 1e22, -0.7])


def draw(*shape: int) -> np.ndarray:
    return _RNG.uniform(-1.5, 1.5, shape)


class Program(NamedTuple):
    """A function of arrays; `slopes` are the arguments for which gradients are compared too."""

    name: str
    f: Callable
    args: tuple[Any, ...]
    slopes: tuple[int, ...] = ()
    plain: bool = True  # whether it also takes plain arrays: these have no `.at`


def value_and_slopes(program: Program) -> Callable:
    """The function's result, and gradients of a weighted sum of it."""
    if program.plain and not program.slopes:
        return program.f

    def weighted(*args):
        result = program.f(*args)
        results = result if isinstance(result, tuple) else (result,)
        total = 0.0
        for i, x in enumerate(results):
            weight = np.cos(np.arange(1.0, 1.0 + x.size)).reshape(x.shape)
            total = total + np.sum(x * weight) * (i + 1.0)
        return total, result

    def both(*args):
        gradients = nbgrad.grad(lambda *a: weighted(*a)[0], program.slopes)(*args)
        return (program.f(*args), gradients) if program.plain else gradients

    return both


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in flat(part)]
    if isinstance(result, dict):
        return flat(list(result.values()))
    return [np.asarray(result)]


def assert_agree(found: Any, expected: Any, rtol: float = 1e-12, label: str = "") -> None:
    mine, theirs = flat(found), flat(expected)
    assert len(mine) == len(theirs)
    for x, y in zip(mine, theirs, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), label
        assert_close(x, y, rtol if y.dtype != np.float32 else max(rtol, 1e-5))
        np.testing.assert_array_equal(np.isnan(x), np.isnan(y), label)


def both_norms(x, y):
    return np.linalg.norm(x), np.linalg.norm(y, axis=1), np.tensordot(x, y, 1)


def written(x, y):
    z = x * 1.0
    z[1:4:2] = y[:2]
    z[np.array([0, 4, 0])] = y
    z[-1] += 2.0
    return z * x


def nested_slices(x):
    return x[1:][::2][1:-1][::-1], x[::-1][:3], x[5:1:-2]


PROGRAMS = [
    # Special values
    *(
        Program(f"special-{f.__name__}", f, (SPECIAL,), (0,))
        for f in (np.exp, np.tanh, np.sin, np.cos, np.arctan, np.sign, np.abs, np.square,
                  np.sqrt, np.log, np.log1p, np.expm1, np.floor, np.cbrt, np.sinh, np.reciprocal)
    ),
    *(
        Program(f"special-{f.__name__}", f, (SPECIAL, SPECIAL[::-1].copy()), (0, 1))
        for f in (np.maximum, np.minimum, np.add, np.multiply, np.divide, np.hypot, np.arctan2,
                  np.fmax, np.copysign)
    ),
    Program("special-relu", nbgrad.relu, (SPECIAL,), (0,)),
    Program("special-sigmoid", nbgrad.sigmoid, (SPECIAL,), (0,)),
    Program("special-max", lambda x: (np.max(x[7:]), np.max(x), np.min(x[7:])), (SPECIAL,)),
    Program("special-softmax", lambda x: nbgrad.softmax(x[3:]), (SPECIAL,), (0,)),
    Program("special-logsoftmax", lambda x: nbgrad.logsoftmax(x), (SPECIAL,), (0,)),
    Program("special-logsumexp", lambda x: nbgrad.logsumexp(x[1:].reshape(1, 11), axis=1), (SPECIAL,), (0,)),
    Program("all-minus-inf", lambda x: (nbgrad.logsumexp(x), np.max(x)), (np.full(4, -np.inf),)),
    Program("large-sin", lambda x: (np.sin(x), np.cos(x), np.sin(x) * np.cos(x)), (LARGE,), (0,)),
    Program("large-sin-sums", lambda x: np.sum(np.sin(x) ** 2) + np.cos(x[2]), (LARGE,), (0,)),
    Program("ties", lambda x: (np.max(x), np.min(x, axis=0), np.prod(x, axis=1)),
            (np.array([[1.0, 2.0, 2.0], [2.0, 1.0, 0.0]]),), (0,)),
    Program("negative-zeros", lambda x: (x * 1.0, x + 0.0, 0.0 - x, -x, x * -1.0, x - 0.0),
            (np.array([0.0, -0.0]),)),
    # Empty axes and axes of one element
    Program("empty-sums", lambda x: (np.sum(x), np.sum(x, 0), np.prod(x, 0), np.tanh(x)),
            (draw(0, 3),), (0,)),
    Program("empty-product", lambda x, y: x @ y, (draw(2, 0), draw(0, 3)), (0, 1)),
    Program("empty-join", lambda x, y: np.concatenate([x, y, x]), (draw(0, 2), draw(3, 2)), (0, 1)),
    Program("ones", lambda x, y: np.sum(x * y, axis=(0, 2)) + x[0, :, 0], (draw(1, 4, 1), draw(3, 1, 5)), (0, 1)),
    Program("one-by-one", lambda x: (x.T @ x, np.max(x, 0), nbgrad.softmax(x)), (draw(1, 1),), (0,)),
    # Outputs
    Program("repeated", lambda x: (x, np.tanh(x), x, np.tanh(x), x.T.T, x.reshape(6)), (draw(2, 3),), (0,)),
    Program("constants", lambda x: (np.zeros_like(x), 3.0, np.ones_like(x) * 2.0, x), (draw(3),)),
    Program("whole", lambda x: (x + 1, x * 2, np.maximum(x, 3), x.sum(), x.reshape(2, 3)), (np.arange(6),)),
    Program("whole-and-float", lambda x, n: x * n + n // 2, (draw(4), 7), (0,)),
    Program("bools", lambda m, x: (np.where(m, x, -x), x > 0.0, m * x), (np.array([True, False, True]), draw(3)), (1,)),
    Program("comparison", lambda x, y: ((x < y) * x, x == y, np.where(x >= y, x, y)), (draw(5), draw(5)), (0, 1)),
    Program("mixed", lambda x, y: (x * y, x + 1.0, np.sum(x) * y, x @ y), (draw(3).astype(np.float32), draw(3)), (0, 1)),
    Program("single", lambda x, y: (np.exp(x) * 0.1, x @ y, np.mean(x), nbgrad.softmax(y)), (draw(2, 3).astype(np.float32), draw(3, 4).astype(np.float32)), (0, 1)),
    # Indices
    Program("slices", nested_slices, (draw(9),), (0,)),
    Program("slices-2", lambda x: x[1:, ::-2][::-1, 1:][:, None, ..., 0], (draw(4, 7),), (0,)),
    Program("slices-3", lambda x: (x[0][1:], x[:, 1][1:], x[-1, -1], x[::2, ::3]), (draw(5, 6),), (0,)),
    Program("diagonals", lambda x: (np.diag(x), np.diagonal(x, 1), np.trace(x)), (draw(4, 4),), (0,)),
    Program("diag-of-vector", lambda x: np.diag(x) * 2.0 + np.diag(x, 1)[1:, 1:], (draw(3),), (0,)),
    Program("triangles", lambda x: (np.triu(x), np.tril(x, -1)), (draw(3, 4),), (0,)),
    Program("gather", lambda x, i: (x[i], x[i, 0], x[:, 1][i], x[i][:, ::-1]), (draw(4, 3), np.array([0, -1, 2, 0, -4])), (0,)),
    Program("gather-2", lambda x, i, j: (x[i, j], x[i, :, j], x[i][:, j]), (draw(4, 3, 4), np.array([0, -1, 2]), np.array([1, 2, 1])), (0,)),
    Program("gather-constant", lambda x: (x[[0, 2, 2]], x[np.array([[1, 0], [2, 1]])], x[[1, 1]], x[np.array([2])]), (draw(3, 2),), (0,)),
    Program("gather-scalar", lambda x, i: x[i] * x[-1], (draw(5), 3), (0,)),
    Program("gather-mask", lambda x: x[np.array([True, False, True])], (draw(3, 2),), (0,)),
    Program("take", lambda x, i: (np.take(x, i), np.take(x, i, axis=1)), (draw(3, 4), np.array([1, 0, 2])), (0,)),
    Program("labels", nbgrad.logit_cross_entropy, (draw(5, 3), np.array([0, 2, 1, 1, 0])), (0,)),
    Program("shares", nbgrad.logit_cross_entropy, (draw(5, 3), np.eye(3)[[0, 2, 1, 1, 0]]), (0, 1)),
    Program("written", written, (draw(5), draw(3)), (0, 1), False),
    Program("written-2", lambda x, v: x.at[np.array([1, 0]), 1:].set(v), (draw(3, 3), draw(2, 2)), (0, 1), False),
    Program("added", lambda x, v: x.at[np.array([1, 0, 1])].add(v), (draw(3, 2), draw(3, 2)), (0, 1), False),
    Program("written-diagonal", lambda x, v: x.at[np.arange(3), np.arange(3)].set(v), (draw(3, 3), draw(3)), (0, 1), False),
    Program("written-block", lambda x, v: x.at[1:3, ::-1].set(v), (draw(4, 3), draw(3)), (0, 1), False),
    # Pads and joins
    Program("one-element-pads", lambda x: x[0] * x[3] + x[-1] ** 2, (draw(5),), (0,)),
    Program("pads", lambda x: (np.pad(x, 1), np.pad(x, ((0, 2), (1, 0)))), (draw(2, 3),), (0,)),
    Program("join", lambda x, y: np.concatenate([x, y, x[:, ::-1], y[:, 1:2], x * y], axis=1), (draw(2, 3), draw(2, 3)), (0, 1)),
    Program("join-many", lambda x: np.concatenate([x[i:] * (i + 1.0) for i in range(12)]), (draw(13),), (0,)),
    Program("stack-many", lambda x: np.stack([x * float(i) for i in range(10)], axis=1), (draw(4),), (0,)),
    Program("tile", lambda x: (np.tile(x, (2, 2)), np.repeat(x, 3, axis=0)), (draw(2, 3),), (0,)),
    Program("roll", lambda x: np.roll(x, 2) - np.roll(x, (1, -1), (0, 1)) + np.diff(np.tanh(x), axis=1)[:, :1], (draw(3, 4),), (0,)),
    Program("stencil", lambda x: np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2), (draw(12),), (0,)),
    Program("stencil-2", lambda x: x[1:, 1:] * x[:-1, :-1] - x[1:, :-1] * x[:-1, 1:], (draw(5, 6),), (0,)),
    Program("broadcasts", lambda x, y: np.broadcast_to(x, (3, 2, 4)) * y[:, :, None], (draw(4), draw(3, 2)), (0, 1)),
    # Reductions
    *(
        Program(f"reduce-{axes}", lambda x, axes=axes: (np.sum(x, axes), np.max(x, axes), np.mean(x * x, axes), np.prod(x, axes)), (draw(2, 3, 4),), (0,))
        for axes in (0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2), (-1,))
    ),
    *(
        Program(f"reduce-4d-{axes}", lambda x, axes=axes: (np.sum(np.exp(x), axes), np.min(x, axes, keepdims=True)), (draw(2, 3, 2, 3),), (0,))
        for axes in ((0, 2), (1, 3), (0, 3), (1, 2), (0, 1, 3), 2)
    ),
    *(
        Program(f"softmax-{axis}", lambda x, axis=axis: (nbgrad.softmax(x, axis=axis), nbgrad.logsoftmax(x, axis=axis), nbgrad.logsumexp(x, axis=axis)), (draw(3, 4, 2),), (0,))
        for axis in (0, 1, 2)
    ),
    Program("variance", lambda x: (np.var(x, axis=0), np.std(x), (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)), (draw(4, 5),), (0,)),
    Program("running", lambda x: (np.cumsum(x, axis=0), np.cumsum(x, axis=1), np.cumsum(x)), (draw(3, 4),), (0,)),
    Program("norms", both_norms, (draw(3), draw(3, 4)), (0, 1)),
    Program("einsum", lambda x, y: (np.einsum("ij,jk->ik", x, y), np.einsum("ij,jk->ki", x, y), np.einsum("ij->j", x), np.einsum("ij,jk->", x, y)), (draw(3, 4), draw(4, 2)), (0, 1)),
    Program("kron", lambda x, y: (np.kron(x, y), np.outer(x[0], y[0])), (draw(2, 3), draw(3, 2)), (0, 1)),
    Program("polynomial", lambda x, c: nbgrad.evalpoly(x, c), (draw(2, 3), draw(4)), (0, 1)),
    # Products
    *(
        Program(f"product-{m}x{k}x{n}", lambda a, b: (a @ b, (a @ b).T, b.T @ a.T), (draw(m, k), draw(k, n)), (0, 1))
        for m, k, n in ((1, 5, 1), (2, 3, 2), (5, 8, 5), (5, 8, 6), (1, 16, 16), (16, 16, 1), (33, 8, 4), (6, 1, 7))
    ),
    *(
        Program(f"transposed-{m}x{k}x{n}", lambda a, b: (a.T @ b.T, a[::-1].T @ b.T[:, ::-1]), (draw(k, m), draw(n, k)), (0, 1))
        for m, k, n in ((3, 4, 5), (5, 8, 5), (40, 8, 6), (1, 9, 30), (30, 9, 1))
    ),
    Program("batched", lambda a, b: (a @ b, np.swapaxes(b, 1, 2) @ np.swapaxes(a, 1, 2)), (draw(2, 3, 4), draw(2, 4, 5)), (0, 1)),
    Program("batched-large", lambda a, b: (a @ b, np.swapaxes(b, 1, 2) @ np.swapaxes(a, 1, 2)), (draw(2, 9, 8), draw(2, 8, 7)), (0, 1)),
    Program("batched-one", lambda a, b: (a @ b, b.T @ np.swapaxes(a, -1, -2)), (draw(2, 3, 4), draw(4, 5)), (0, 1)),
    Program("batched-broadcast", lambda a, b: a @ b, (draw(2, 1, 3, 4), draw(3, 4, 2)), (0, 1)),
    Program("vectors", lambda a, x, y: (a @ y, x @ a, x @ a @ y, np.dot(x, x)), (draw(3, 4), draw(3), draw(4)), (0, 1, 2)),
    Program("vectors-large", lambda a, x, y: (a @ y, x @ a, a.T @ x, x @ a @ y), (draw(30, 40), draw(30), draw(40)), (0, 1, 2)),
    Program("sliced-products", lambda a, b: (a[:, 1:] @ b[1:], a[1:, ::2] @ b[::2], a[2] @ b, a[:, :1] @ b[:1]), (draw(9, 8), draw(8, 9)), (0, 1)),
    Program("gram", lambda a: (a @ a.T, a.T @ a, (a @ a.T) @ a), (draw(7, 9),), (0,)),
    # Networks
    Program("network", lambda x, w, b: np.mean((np.tanh(nbgrad.relu(x @ w + b) @ w.T) - x) ** 2), (draw(20, 4), draw(4, 6), draw(6)), (0, 1, 2)),
    Program("attention", lambda q, k, v: nbgrad.softmax(q @ np.swapaxes(k, -1, -2) / 2.0, axis=-1) @ v, (draw(2, 5, 4), draw(2, 5, 4), draw(2, 5, 3)), (0, 1, 2)),
    Program("layer-norm", lambda x, g: g * (x - np.mean(x, -1, keepdims=True)) / np.sqrt(np.var(x, -1, keepdims=True) + 1e-5), (draw(6, 5), draw(5)), (0, 1)),
]  # fmt: skip


def named(programs: list[Program]) -> Callable:
    return pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in programs])


@pytest.mark.skipif(not PLAIN_PYTHON, reason="compiled in packs")
@named(PROGRAMS)
def test_in_plain_python(program):
    f = value_and_slopes(program)
    with np.errstate(all="ignore"):
        expected = f(*program.args)
        assert_agree(nbgrad.compile(f)(*program.args), expected)


def packs(programs: list[Program], size: int) -> list[list[Program]]:
    return [programs[i : i + size] for i in range(0, len(programs), size)]


def packed(programs: list[Program]) -> Callable:
    """One function of the arguments of all."""
    functions = [value_and_slopes(program) for program in programs]

    def every(args):
        return [f(*a) for f, a in zip(functions, args, strict=True)]

    return every


# What is compiled in every run: one program for each part of the emitter.
COMPILED = {"special-exp", "whole", "gather", "written", "join", "product-2x3x2", "batched-large"}


def compiled_packs() -> list:
    chosen = [program for program in PROGRAMS if program.name in COMPILED]
    rest = [program for program in PROGRAMS if program.name not in COMPILED]
    return [
        *(pytest.param(pack, id=pack[0].name) for pack in packs(chosen, 4)),
        *(pytest.param(p, id=p[0].name, marks=pytest.mark.full) for p in packs(rest, 4)),
    ]


@pytest.mark.skipif(PLAIN_PYTHON, reason="one by one")
@pytest.mark.parametrize("pack", compiled_packs())
def test_compiled(pack):
    args = [list(program.args) for program in pack]
    found = nbgrad.compile(packed(pack))(args)
    with np.errstate(all="ignore"):
        for program, mine in zip(pack, found, strict=True):
            assert_agree(mine, value_and_slopes(program)(*program.args), label=program.name)


@pytest.mark.skipif(not PLAIN_PYTHON, reason="in plain Python many are affordable")
@settings(max_examples=40, deadline=None, derandomize=True)
@given(chains.steps, st.integers(0, 2**31))
def test_random_programs(steps, seed):
    rng = np.random.default_rng(seed)
    x, y, ct = rng.uniform(-1, 1, (3, 3))

    def scalar(x, y):
        return np.sum(chains.run(steps, (x, y)) * ct)

    f = nbgrad.value_and_grad(scalar, (0, 1))
    assert_agree(nbgrad.compile(f)(x, y), f(x, y), 1e-11)


@pytest.mark.parametrize("index", [np.array([0, 3]), np.array([-4, 0])], ids=["above", "below"])
def test_positions_out_of_bounds(index):
    take = nbgrad.compile(lambda x, i: x[i] * 2.0)
    np.testing.assert_array_equal(take(np.arange(3.0), np.array([-3, 2])), [0.0, 4.0])
    with pytest.raises(IndexError, match="out of bounds for an axis of length 3"):
        take(np.arange(3.0), index)


def test_programs_that_differ_in_edges_only_are_different():
    x, y = draw(3), draw(3)
    programs = [
        lambda x, y: (x - y) * x,
        lambda x, y: (y - x) * x,
        lambda x, y: (x - y) * y,
        lambda x, y: (y - x) * y,
    ]
    compiled = [nbgrad.compile(f) for f in programs]
    for f, g in zip(programs, compiled, strict=True):
        np.testing.assert_allclose(g(x, y), f(x, y), rtol=1e-14)
    assert len({g.source for g in compiled}) == 4


def branch(x):
    return x if x[0] > 0 else -x


def number(x):
    return x * float(x[0])


def item(x):
    return x * x.sum().item()


def data(x):
    return x * x.data[0]


def mask(x):
    return np.sum(x[x > 0])


def ranks(x):
    return nbgrad.linalg.sqrtm(x * np.eye(3))


def in_place(x):
    x[0] = 1.0
    return x


def nothing(x):
    print(x.shape)


def constant(x):
    return 1.0


@pytest.mark.parametrize(
    ("function", "line", "remedy"),
    [
        (branch, "return x if x[0] > 0 else -x", "np.where"),
        (number, "float(x[0])", "keep it an array"),
        (item, "x.sum().item()", "keep it an array"),
        (data, "x.data[0]", "keep it an array"),
        (mask, "np.sum(x[x > 0])", "np.where"),
        (ranks, "nbgrad.linalg.sqrtm(x * np.eye(3))", "as an argument"),
        (in_place, "x[0] = 1.0", "x = x.copy()"),
        (nothing, "", "returns arrays"),
        (constant, "", "return arrays"),
    ],
)
def test_errors_name_the_line_and_the_remedy(function, line, remedy):
    with pytest.raises(nbgrad.TraceError) as error:
        nbgrad.compile(function)(np.ones(3))
    message = str(error.value)
    assert line in message and remedy in message
    assert "test_emitted_programs.py" in message if line else function.__name__ in message
