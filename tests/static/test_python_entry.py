"""How compiled programs are called from Python."""

import collections
import dataclasses
import warnings

import numpy as np
import optree
import pytest
from helpers.calls import Pair, close, energy, example, loss

import nbgrad
from nbgrad.capi.replaceable import AFTER
from nbgrad.compiler import entry_code
from nbgrad.compiler.kernel import DISABLED
from nbgrad.runtime import layout
from nbgrad.static import function
from nbgrad.static.entry import python_entry, run

# -- out= -------------------------------------------------------------------------------------


def test_out_is_written(rng):
    p, x = example(rng)
    f = nbgrad.compile(nbgrad.value_and_grad(loss))
    given = {"b": np.empty(4), "w": np.empty((3, 4))}
    value, gradient = f(p, x, out=(0.0, given))
    close([value, gradient], nbgrad.value_and_grad(loss)(p, x))
    assert gradient["w"] is given["w"] and gradient["b"] is given["b"]


def test_out_over_an_input_or_itself(rng):
    f = nbgrad.compile(lambda x, y: (x @ y, y @ x, x))
    x, y = rng.normal(size=(2, 4, 4))
    expected = [x @ y, y @ x, x.copy()]
    memory = x.copy()
    block = np.empty(20)
    found = f(memory, y, out=(memory, np.empty((4, 4)), np.empty((4, 4))))
    close(found, expected)
    assert found[0] is memory
    found = f(x, y, out=(np.empty((4, 4)), y, x))
    close(found, expected)
    y = rng.normal(size=(4, 4))
    overlapping = (block[:16].reshape(4, 4), block[4:].reshape(4, 4), np.empty((4, 4)))
    with pytest.raises(ValueError, match="two arrays of out= share memory"):
        f(x, y, out=overlapping)


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        (np.empty(5), "leaf 1 .*shape \\(4,\\)"),
        (np.empty(4, np.float32), "float32"),
        (np.empty(8)[::2], "not contiguous"),
        (np.broadcast_to(np.empty(4), (4,)), "read-only"),
        (3.0, "a float"),
    ],
)
def test_out_that_does_not_fit_is_named(leaf, message):
    f = nbgrad.compile(nbgrad.value_and_grad(energy))
    with pytest.raises(ValueError, match=message):
        f(np.ones(4), out=(0.0, leaf))
    with pytest.raises(ValueError, match="another nesting"):
        f(np.ones(4), out=[0.0, leaf])


# -- arguments --------------------------------------------------------------------------------


def test_namedtuples_and_ordered_dicts(rng):
    w, b = rng.normal(size=(2, 3))

    def f(p, q):
        return np.sum(np.tanh(p.w) * q["z"] + p.b)

    g = nbgrad.value_and_grad(f)
    p, q = Pair(w, b), collections.OrderedDict(z=b, a=w)
    compiled = nbgrad.compile(g)
    for _ in range(2):
        value, gradient = compiled(p, q)
        close([value, gradient], g(p, q))
        assert type(gradient) is Pair


def test_kinds_of_arguments(rng):
    def f(x, n, flag, name, none, function=np.tanh):
        y = function(x) if flag else x
        return (y * n if name == "times" else y + n), n

    compiled = nbgrad.compile(f)
    x = rng.normal(size=3)
    for arguments in [(x, 2, True, "times", None), (x, 2, False, "plus", None)]:
        for _ in range(2):
            found = compiled(*arguments)
            close(found, f(*arguments))
            assert type(found[1]) is int
    close(compiled(x, n=3, flag=True, name="times", none=None, function=np.sin)[0], np.sin(x) * 3)
    close(compiled(x, 7, True, "times", None)[0], np.tanh(x) * 7)
    assert len(compiled._variants) == 3  # another integer is no other variant


def test_static_argnames_by_position_and_name(rng):
    def power(x, n):
        for _ in range(n - 1):
            x = x * x
        return x

    f = nbgrad.compile(power, static_argnames="n")
    x = rng.normal(size=3)
    close([f(x, 3), f(x, n=3), f(x, 2)], [x**4, x**4, x**2])


def test_scalars_and_layouts(rng):
    f = nbgrad.compile(lambda x, s: np.sum(x * s))
    x = rng.normal(size=(4, 6))
    reference = np.sum(x * 0.5)
    layouts = [x, np.asfortranarray(x), x.astype(">f8"), np.repeat(x, 2, axis=1)[:, ::2]]
    frozen = x.copy()
    frozen.flags.writeable = False
    for given in [*layouts, frozen]:
        for s in (0.5, np.float64(0.5), np.array(0.5), np.float32(0.5)):
            assert f(given, s) == pytest.approx(reference, rel=1e-6)
    single = nbgrad.compile(lambda s: s * s)(np.float32(3))
    assert type(single) is np.float32 and single == 9


PYTHON_NUMBERS = {
    "product": lambda s, x: s * x,
    "arithmetic": lambda s, x: ((s * 3 + 1) / 2) ** 2 * x - s,
    "function": lambda s, x: np.sin(s) * x,
    "comparison": lambda s, x: np.where(x < s, s, x),
    "power": lambda s, x: x**s,
    "gradient": nbgrad.value_and_grad(lambda s, x: np.sum(s * x * x), 1),
}


@pytest.mark.parametrize("name", PYTHON_NUMBERS)
def test_numbers_of_python_take_the_dtype_of_arrays(rng, name):
    f = PYTHON_NUMBERS[name]
    compiled = nbgrad.compile(f)
    x = rng.uniform(0.5, 2.0, 5).astype(np.float32)
    for s in (1.25, 2, np.float64(1.25), np.float32(1.25)):
        for mine, theirs in zip(
            optree.tree_leaves(compiled(s, x)), optree.tree_leaves(f(s, x)), strict=True
        ):
            assert np.asarray(mine).dtype == theirs.dtype, type(s)
            np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_numbers_of_python_and_of_numpy_share_a_program_of_float64(rng):
    f = nbgrad.compile(lambda s, x: s * x)
    x = rng.normal(size=3)
    for s in (1.25, np.float64(1.25), np.array(1.25)):
        close(f(s, x), s * x)
    assert len(f._variants) == 1


def test_none_in_results(rng):
    f = nbgrad.compile(nbgrad.value_and_grad(lambda p: np.sum(p["x"] ** 2) * p["n"]))
    p, out = {"x": rng.normal(size=3), "n": 2}, (None, {"x": np.empty(3), "n": None})
    for found in (f(p), f(p), f(p, out=out)):
        close(found[0], 2 * np.sum(p["x"] ** 2))
        close(found[1]["x"], 4 * p["x"])
        assert found[1]["n"] is None
    with pytest.raises(ValueError, match=r"leaf 1 of out= .*shape \(3,\)"):
        f(p, out=(None, {"x": np.empty(4), "n": None}))


def test_layouts_compile_nothing_more(rng):
    f = nbgrad.compile(lambda x: np.sum(x * 3.25))
    x = rng.normal(size=(4, 6))
    f(x)
    before = nbgrad.stats()["compiled"]
    for given in (np.asfortranarray(x), x.astype(">f8"), np.repeat(x, 2, axis=1)[:, ::2]):
        assert f(given) == pytest.approx(np.sum(given * 3.25))
    assert nbgrad.stats()["compiled"] == before


def test_many_variants_warn_and_the_oldest_go():
    f = nbgrad.compile(lambda x: x * 1.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(1, 11):
            f.variant(np.ones(n))
    assert len(caught) == 1 and "9th time" in str(caught[0].message)


def test_many_arrays_go_in_a_table(rng):
    params = [(rng.normal(size=(4, 4)) / 2, rng.normal(size=4)) for _ in range(15)]
    x = rng.normal(size=(3, 4))

    def net(params, x, s):
        for w, b in params:
            x = np.tanh(x @ w + b)
        return np.sum(x) * s

    g = nbgrad.value_and_grad(net)
    f = nbgrad.compile(g)
    assert f.variant(params, x, 2.0).packed
    for _ in range(2):
        close(f(params, x, 2.0), g(params, x, 2.0))
    params[3] = (np.asfortranarray(params[3][0]), params[3][1])
    expected = g(params, x, 2.0)
    close(f(params, x, 2.0), expected)
    out = [(np.empty((4, 4)), np.empty(4)) for _ in params]
    close(f(params, x, 2.0, out=(0.0, out)), expected)
    close(f(params, x, 2.0, out=(0.0, [*params[:3], *out[3:]])), expected)


def test_a_captured_matrix_and_its_transpose_are_one(rng):
    """A pullback transposes what the function closes over: the same memory, so the same input."""
    a = rng.normal(size=(5, 3))
    f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum((a @ x) ** 2)))
    x = rng.normal(size=3)
    for _ in range(2):
        value, slope = f(x)
        np.testing.assert_allclose(value, np.sum((a @ x) ** 2), rtol=1e-13)
        np.testing.assert_allclose(slope, 2 * a.T @ (a @ x), rtol=1e-13)
        a *= 2.0  # read at each call
    (captured,) = f.variant(x).captured
    assert captured.flags.c_contiguous
    columns = np.asfortranarray(rng.normal(size=(3, 5)))
    product = nbgrad.compile(lambda x: columns @ x)
    np.testing.assert_allclose(product(np.ones(5)), columns.sum(axis=1), rtol=1e-13)
    columns[:] = 1.0
    np.testing.assert_allclose(product(np.ones(5)), 5.0, rtol=1e-13)


@dataclasses.dataclass
class Line:
    slope: np.ndarray
    shift: float
    name: str = "line"


def test_dataclasses_have_a_generated_way_in_and_out(rng):
    f = nbgrad.compile(nbgrad.value_and_grad(lambda line, x: np.sum(line.slope * x + line.shift)))
    x = rng.normal(size=3)
    first, second = Line(rng.normal(size=3), 0.5), Line(rng.normal(size=3), -0.5)
    f(first, x)
    assert f.func.__code__.co_filename == "<nbgrad caller>"
    value, slope = f.func(second, x)
    close(value, np.sum(second.slope * x + second.shift))
    assert isinstance(slope, Line) and slope.name is None
    close(slope.slope, x)
    close(slope.shift, 3.0)
    other = Line(second.slope, 0.5, name="other")
    assert f(other, x)[1].name is None and f.variant(other, x) is not f.variant(first, x)
    vars(other)["more"] = 2.0  # it is another structure now, and carried along
    assert vars(f(other, x)[1])["more"] == 2.0
    out = (0.0, nbgrad.grad(lambda line: np.sum(line.slope))(first))
    for line in (first, second):
        _, written = f(line, x, out=out)
        assert written.slope is out[1].slope
        close(written.slope, x)


def test_static_arguments_are_told_by_their_place():
    f = nbgrad.compile(lambda x, n, m: x**n + m * x, static_argnames="n")
    assert f(2.0, 3, 3) == 14.0
    assert f(2.0, 3, 4) == 16.0
    assert f(2.0, 2, 4) == 12.0
    g = nbgrad.compile(
        lambda x, shape: np.sum(np.reshape(x, shape), axis=0), static_argnames="shape"
    )
    x = np.arange(6.0)
    for shape in ((2, 3), (3, 2), (2, 3)):
        np.testing.assert_array_equal(g(x, shape), x.reshape(shape).sum(axis=0))


def test_a_zero_cotangent_stays_zero_through_a_power_of_one_factor():
    weights, x = np.array([0.0, 1.0, 0.0, 2.0, 3.0]), np.array([np.inf, 2.0, np.nan, 0.0, -1.0])

    def f(c, x):
        return np.sum(weights * (((c * x) * x) * x))

    both = nbgrad.grad(f, argnums=(0, 1))
    with np.errstate(invalid="ignore"):
        eager, compiled = both(1.5, x), nbgrad.compile(both)(1.5, x)
    for mine, theirs in zip(compiled, eager, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert eager[0] == 8.0 - 3.0


# -- before the C function ------------------------------------------------------------------------


@pytest.mark.skipif(DISABLED or not layout.IS_KNOWN, reason="there is no C function")
def test_the_c_function_is_compiled_after_many_calls(monkeypatch, rng):
    made = []

    def machine_entry(*args):
        made.append(args[-1])
        return run.machine_entry(*args)

    monkeypatch.setattr(python_entry, "is_at_hand", lambda: False)
    monkeypatch.setattr(python_entry, "machine_entry", machine_entry)
    p, x = example(rng)
    f = nbgrad.compile(nbgrad.value_and_grad(loss))
    for _ in range(AFTER):
        close(f(p, x), nbgrad.value_and_grad(loss)(p, x))
    assert made == [True]
    for _ in range(3):
        close(f(p, x), nbgrad.value_and_grad(loss)(p, x))
    assert made == [True, False]


@pytest.mark.skipif(DISABLED, reason="nothing is cached")
def test_the_c_function_runs_at_once_where_it_is_known():
    entry_code.code(entry_code.room(1))
    assert entry_code.is_at_hand()


# -- callers that are generated -----------------------------------------------------------------


@pytest.fixture
def soon(monkeypatch):
    """Let the second call generate a caller."""
    monkeypatch.setattr(python_entry, "AFTER", 0)


@pytest.fixture
def generated(monkeypatch):
    """The examples for which callers are generated."""
    made = []
    original = function.caller

    def counted(entry, args, *rest):
        made.append(args)
        return original(entry, args, *rest)

    monkeypatch.setattr(function, "caller", counted)
    return made


@pytest.mark.skipif(DISABLED, reason="callers are generated around machine code")
def test_arrays_that_are_not_contiguous_have_a_caller(soon, generated):
    f = nbgrad.compile(lambda x: 2.0 * x)
    x = np.arange(6.0)
    for y in [x[:3], x[::2], x[:3], x[1::2], x[2::-1]] * 3:
        np.testing.assert_array_equal(f(y), 2.0 * y)
    assert len(generated) == 2  # for a contiguous one, and for all
    masked = np.ma.masked_array(x[:3], [False, True, False])
    with pytest.raises(TypeError, match="mask"):
        f(masked)


@pytest.mark.skipif(DISABLED, reason="callers are generated around machine code")
def test_callers_are_generated_a_few_times_only(soon, generated):
    f = nbgrad.compile(lambda x: 2.0 * x)
    for _ in range(50):
        for n in (3, 4):
            np.testing.assert_array_equal(f(np.ones(n)), np.full(n, 2.0))
    assert len(generated) <= 32  # of 100 calls with another shape than the one before
