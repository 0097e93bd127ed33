"""Arrays that a compiled function closes over: of any dtype and layout, changed between calls."""

import numpy as np
import pytest

import nbgrad

X = np.random.default_rng(0).normal(size=(2, 3))
graded = nbgrad.value_and_grad


def assert_same(found, wanted):
    found, wanted = (nbgrad.transforms.trees.flatten(x)[0] for x in (found, wanted))
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, 1e-12)


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


LAYOUTS = {
    "strided": lambda x: np.repeat(x, 2)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "read-only": read_only,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype),
}


@pytest.mark.parametrize(
    "dtype", "bool uint8 int16 int32 uint64 float16 float32 longdouble".split()
)
def test_any_dtype_is_captured(dtype):
    w = np.array([3, 1, 2]).astype(dtype)
    f = graded(lambda x: np.sum(np.sin(x * w)))
    assert_same(nbgrad.compile(f)(X[0]), f(X[0]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_is_captured_and_taken(layout):
    w = LAYOUTS[layout](np.array([3.0, 1.0, 2.0]))
    f = graded(lambda x: np.sum(np.sin(x * w)))
    assert_same(nbgrad.compile(f)(X[0]), f(X[0]))
    doubled = nbgrad.compile(lambda x: x * 2.0)
    for given in (w, np.ones(3), *(make(np.arange(3.0)) for make in LAYOUTS.values()), w):
        np.testing.assert_array_equal(doubled(given), given * 2.0)


def test_a_foreign_byte_order_keeps_the_precision():
    x = np.array([1.0, 2.0], ">f4")
    for f in (np.sin, nbgrad.elementwise_grad(np.sin), nbgrad.vmap(np.sin)):
        for g in (f, nbgrad.compile(f)):
            assert g(x).dtype == np.dtype(np.float32)


@pytest.mark.parametrize("dtype", ["<U3", "datetime64[s]", "O"])
def test_what_is_no_number_is_refused(dtype):
    w = np.array([1, 2, 3]).astype(dtype)
    with pytest.raises((TypeError, nbgrad.TraceError), match=r"captured|operand of dtype"):
        nbgrad.compile(lambda x: x * w)(np.ones(3))


CHANGES = {
    "labels": ([1, 0], [2, 2], lambda y: graded(lambda x: nbgrad.logit_cross_entropy(x, y))),
    "labels of uint8": (np.array([1, 0], np.uint8), 2,
                        lambda y: graded(lambda x: nbgrad.logit_cross_entropy(x, y))),
    "index": ([1, 0], [2, 2], lambda y: graded(lambda x: np.sum(x[:, y] ** 2))),
    "view as index": ([1, 0, 1], [2, 1, 2], lambda y: graded(lambda x: np.sum(x[:, y[1:]] ** 2))),
    "take": (np.array([1, 5], np.int32), 2,
             lambda y: graded(lambda x: np.sum(np.take(x, y, 1, mode="wrap") ** 2))),
    "mask": ([True, False], [True, True], lambda y: graded(lambda x: np.sum(x[y] ** 2))),
    "condition": ([1, 0, 1], [0, 1, 1], lambda y: graded(lambda x: np.sum(np.where(y, x, x * x)))),
    "exponent": ([1.0, 2.0, 3.0], [2.0, 3.0, 1.0], lambda y: graded(lambda x: np.sum(abs(x) ** y))),
    "exponent of int": ([1, 2, 3], [2, 3, 1], lambda y: graded(lambda x: np.sum(abs(x) ** y))),
    "factor": ([1.0, 2.0, 3.0], [2.0, 3.0, 1.0], lambda y: graded(lambda x: np.sum(np.sin(x * y)))),
    "strided": ([1.0, 0, 2.0, 0, 3.0, 0], 2.0, lambda y: graded(lambda x: np.sum(x * x * y[::2]))),
    "made of it": ([1.0, 2.0, 3.0], 2.0, lambda y: graded(lambda x: np.sum(x * np.exp(y) / -y))),
    "number of it": ([1.0, 2.0, 3.0], 4.0, lambda y: graded(lambda x: np.sum(x * x) * y[0])),
    "system": (np.eye(3) + 1, np.diag([1.0, 2.0, 3.0]),
               lambda y: graded(lambda x: np.sum(np.linalg.solve(y, x.T) ** 2))),
    "index in a loop": ([1, 0], [2, 2],
                        lambda y: lambda x: nbgrad.loop(2, lambda i, s: s + np.sum(x[:, y]), 0.0)),
    "factor in a loop": ([1.0, 2.0, 3.0], 2.0,
                         lambda y: graded(lambda x: nbgrad.loop(
                             2, lambda i, s: s * np.sum(x * y), 1.0))),
    "batched": ([1.0, 2.0, 3.0], [2.0, 3.0, 1.0],
                lambda y: nbgrad.vmap(nbgrad.grad(lambda x: np.sum(np.sin(x * y))))),
    "forward": ([1.0, 2.0, 3.0], [2.0, 3.0, 1.0],
                lambda y: lambda x: nbgrad.jvp(lambda x: np.sum(x**2 / y), (x,), (x,))),
    "second order": ([1.0, 2.0, 3.0], [2.0, 3.0, 1.0],
                     lambda y: lambda x: nbgrad.hessian(lambda r: np.sum(np.sin(r * y)))(x[0])),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_between_calls_reaches_value_and_derivative(name):
    first, second, make = CHANGES[name]
    y = np.array(first)
    f = make(y)
    compiled = nbgrad.compile(f)
    for content in (first, second, first):
        y[...] = content
        for _ in range(2):  # by the general way in, and by the one written for it
            assert_same(compiled(X), f(X))


SMALL = {
    "[1, 3]": """np.roll(x, c) | np.pad(x, c) | np.pad(x, c[None]) | np.pad(x, c) * c[0] + c[1]
        np.tile(x, c) | np.split(x, c)[0] | np.array_split(x, c)[0] | np.add.reduceat(x, c)
        np.bincount(c, x[:2]) | np.take_along_axis(x, c, 0) | np.repeat(x[:2], c) | x[c]
        np.insert(x, c, 9.0) | np.delete(x, c) | np.partition(x, c)[0] | np.digitize(x, c) + x
        np.broadcast_to(x, (*c, 6)) | np.polyval(c, x) | np.interp(x, c, c) | x[c[0] :]
        nbgrad.at(x)[c].set(0.0)""",
    "1": """np.roll(x, c) | np.pad(x, c) | np.pad(x, (c, 0)) | np.tile(x, (c,)) | np.repeat(x, c)
        np.split(x, [c])[0] | np.delete(x, c) | np.trace(x * M, c) | np.diagonal(x * M, c)
        np.rot90(x * M, c) | np.linalg.matrix_power(x * M, c) | np.tril(x * M, c) | np.diag(x, c)
        x[:c] | x[c:] | x[::c] | x[int(c) :] | np.diff(x, c) | np.round(x / 7, c) | np.vander(x, c)
        np.linalg.norm(x, c) | nbgrad.loop(c, lambda i, s: s * 2, x) | np.broadcast_to(x, (c, 6))
        x if c > 1 else 2 * x""",
}  # fmt: skip
"""Expressions of a vector x, a plain matrix M and small integers c, which decide about shapes."""


@pytest.mark.parametrize(
    "c, text",
    [
        (c, text)
        for c, lines in SMALL.items()
        for line in lines.splitlines()
        for text in line.strip().split(" | ")
    ],
)
def test_small_integers_that_change_are_read_again(c, text):
    c, x = np.array(eval(c)), np.arange(1.0, 7.0)
    names = {"np": np, "nbgrad": nbgrad, "c": c, "M": np.outer(x, x)}
    f = eval(f"lambda x: {text}", names)
    compiled = nbgrad.compile(f)
    for changed in (c.copy(), [2, 3] if c.ndim else 2):
        c[...] = changed
        for _ in range(2):
            assert_same(compiled(x), f(x))


@pytest.mark.parametrize("count", [1, 30])
def test_a_captured_array_that_shrank_is_read_as_it_is(count):
    arrays = [np.arange(6.0) + i for i in range(count)]
    compiled = nbgrad.compile(lambda x: sum(np.sum(x * w) for w in arrays))
    for _ in range(2):
        assert compiled(2.0) == 2 * sum(w.sum() for w in arrays)
    arrays[-1].resize(2, refcheck=False)
    for _ in range(2):
        assert compiled(2.0) == 2 * sum(w.sum() for w in arrays)


def test_an_array_is_compared_only_where_it_decided_about_the_program():
    y, w = np.array([1, 0]), np.arange(3.0)
    plain = nbgrad.compile(graded(lambda x: nbgrad.logit_cross_entropy(x * w, y)))
    assert plain.variant(X).program.held == ()
    by_index = nbgrad.compile(lambda x: np.sum(x[np.arange(2), y] * w[:2]))
    ((array, _),) = by_index.variant(X).program.held
    assert np.shares_memory(array, y)


def test_what_is_too_large_to_decide_about_shapes_is_not_compared():
    other = np.arange(100_000)
    compiled = nbgrad.compile(lambda x: x if len(other) == 2 else 2.0 * x)
    assert compiled.variant(X).program.held == ()


def test_labels_that_change_before_the_pullback_do_no_harm():
    x, y = nbgrad.track(X), np.array([1, 0])
    slope = nbgrad.grad(nbgrad.logit_cross_entropy)(X, y)
    out = nbgrad.logit_cross_entropy(x, y)
    y[:] = -(10**12)
    out.backward()
    np.testing.assert_allclose(x.grad, slope, 1e-13)


def test_results_are_not_written_into_read_only_arrays(tmp_path):
    f = nbgrad.compile(lambda x: x * 2.0)
    f(np.ones(3))
    np.zeros(3).tofile(tmp_path / "numbers")
    mapped = np.memmap(tmp_path / "numbers", dtype=float, mode="r")
    for place in (mapped, read_only(np.zeros(3))):
        with pytest.raises(Exception, match="read-only"):
            f.njit_into(np.ones(3), place)
        np.testing.assert_array_equal(place, 0.0)


def _written(x, y):
    z = x + 0.0
    z[:, y] = 1.0
    return np.sum(z * z)


LABELLED = {  # functions of x and of integers y, below three, that a call checks
    "logit_cross_entropy": lambda x, y: nbgrad.logit_cross_entropy(x, y),
    "in a loop": lambda x, y: nbgrad.loop(
        2, lambda i, s: s + nbgrad.logit_cross_entropy(x, y), 0.0),
    "in a choice": lambda x, y: nbgrad.cond(
        np.sum(x) > -99, lambda x: nbgrad.logit_cross_entropy(x, y), lambda x: np.sum(x), x),
    "for each sample": lambda x, y: np.sum(nbgrad.vmap(nbgrad.logit_cross_entropy)(x, y)),
    "for samples": lambda x, y: np.sum(
        nbgrad.vmap(lambda x: nbgrad.logit_cross_entropy(x, y))(np.stack([x, x]))),
    "take": lambda x, y: np.sum(np.take(x, y, 1) ** 2),
    "take_along_axis": lambda x, y: np.sum(np.take_along_axis(x, y[:, None], 1) ** 2),
    "index": lambda x, y: np.sum(x[:, y] ** 2),
    "index of samples": lambda x, y: np.sum(nbgrad.vmap(lambda row: row[y])(x)),
    "bincount": lambda x, y: np.sum(np.bincount(y, x[:, 0]) ** 2),
    "one_hot": lambda x, y: np.sum(nbgrad.data.one_hot(y, 3) * x),
    "choose": lambda x, y: np.sum(np.choose(y, [x[:, 0], x[:, 1], x[:, 2]])),
    "repeat": lambda x, y: np.sum(np.repeat(x, y, 0) ** 2),
    "delete": lambda x, y: np.sum(np.delete(x, y, 1) ** 2),
    "insert": lambda x, y: np.sum(np.insert(x, y, 1.0, 1) ** 2),
    "reduceat": lambda x, y: np.sum(np.add.reduceat(x, y, 1) ** 2),
    "unravel_index": lambda x, y: np.sum(x[np.unravel_index(y, (2, 3))]),
    "set": lambda x, y: np.sum(nbgrad.at(x)[:, y].set(0.0) ** 2),
    "write": _written,
}  # fmt: skip


@pytest.mark.parametrize("name", LABELLED)
def test_integers_that_become_invalid_are_refused(name):
    y = np.array([0, 2])
    f = graded(lambda x: LABELLED[name](x, y))
    compiled = nbgrad.compile(f)
    first = compiled(X)
    for invalid in (-40,) if name in ("bincount", "repeat") else (70, -40):
        y[1] = invalid
        for _ in range(2):
            with pytest.raises((ValueError, IndexError)) as plain:
                f(X)
            with pytest.raises(plain.type):
                compiled(X)
        y[1] = 2
        assert_same(compiled(X), first)


MADE = {
    "a constructor": lambda x: np.sum(x * nbgrad.array([[1.0, 0.0, 2.0]])),
    "NumPy's numbers": lambda x: np.sum(x) * np.sqrt(np.float64(2.0)),
    "an array without axes": lambda x: np.sum(np.where(np.array(True), x, 0.0) * np.array(7)),
    "a loop": lambda x: nbgrad.loop(3, lambda _, s: s * np.float64(0.5), np.sum(x)),
}


@pytest.mark.parametrize("name", MADE)
def test_a_number_made_while_recording_is_part_of_the_program(name):
    f = graded(MADE[name])
    compiled = nbgrad.compile(f)
    assert_same(compiled(X), f(X))
    assert not [x for x in compiled.only_variant("x").captured if x.shape == ()]


def test_a_number_that_the_function_reaches_is_no_part_of_the_program():
    """It may change often, without a program for each."""
    kept, box = [np.float64(2.0)], np.array(3.0)
    compiled = nbgrad.compile(graded(lambda x: np.sum(x * kept[0]) * box))
    for i in range(3):
        kept[0], box[...] = np.float64(2.0 + i), 3.0 - i
        assert_same(compiled(X), ((2.0 + i) * (3.0 - i) * X.sum(), (2.0 + i) * (3.0 - i) + 0 * X))
    assert len(compiled.only_variant("x").captured) == 2
