"""The object that `nbgrad.njit` makes: Numba's dispatcher, the arguments of its calls, refusals."""

import pickle
from typing import Any, NamedTuple, cast

import numba
import numpy as np
import pytest

import nbgrad


@nbgrad.njit
def power(x, n=2):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


@nbgrad.njit(fastmath=True)
def total(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * a[i]
    return s


@nbgrad.njit("float64(float64)")
def signed(x):
    return x * x


@numba.njit
def outside(x):
    return power(x, 3) + 1.0


@numba.njit
def applied(f, x):
    return f(x, 2)


def test_it_is_numbas_dispatcher():
    assert isinstance(power, type(outside))
    assert power(3.0) == 9.0
    assert power(3.0, n=3) == 27.0
    assert outside(2.0) == 9.0
    assert applied(power, 3.0) == 9.0
    assert power.py_func(2.0) == 4.0
    assert len(power.signatures) >= 2
    assert total(np.ones(3)) == 3.0
    assert total.targetoptions["fastmath"]
    assert numba.typeof(power) is not None
    again = pickle.loads(pickle.dumps(power))
    assert type(again) is type(power)
    assert again(3.0) == 9.0
    assert nbgrad.grad(again)(3.0) == 6.0


def test_functions_that_numba_compiled_are_taken():
    f: Any = numba.njit(power.py_func)
    assert nbgrad.grad(f)(3.0, 2) == 6.0
    assert nbgrad.grad(nbgrad.njit(f))(3.0, 2) == 6.0
    x = nbgrad.track(3.0)
    f(x, 3).backward()
    assert x.grad == 27.0


def test_given_signatures():
    assert signed(3) == 9.0
    x = nbgrad.track(3.0)
    signed(x).backward()
    assert x.grad == 6.0
    assert nbgrad.grad(signed)(3.0) == 6.0
    plain = numba.njit("float64(float64)")(signed.py_func)
    assert nbgrad.grad(plain)(3.0) == 6.0
    with pytest.raises(nbgrad.UntrackedError, match=r"make it by nbgrad\.njit"):
        plain(x)


def test_arguments_by_name_and_defaults():
    x = nbgrad.track(3.0)
    result: Any = power(x)
    result.backward()
    assert x.grad == 6.0
    assert nbgrad.grad(power)(3.0) == 6.0
    assert nbgrad.grad(power)(3.0, n=3) == 27.0
    with pytest.raises(TypeError, match="missing"):
        nbgrad.vmap(scaled)(np.ones(2))


@nbgrad.njit
def scaled(x, k):
    return x * k


def test_tuples_and_none():
    @nbgrad.njit
    def f(pair, scale, other):
        a, b = pair
        if other is None:
            return a[0] * b * scale
        return a[0]

    a = np.array([2.0, 5.0])
    value, (slope, k) = nbgrad.value_and_grad(f)((a, 3.0), 2.0, None)
    assert value == 12.0
    assert np.array_equal(slope, [6.0, 0.0])
    assert k == 4.0
    x = nbgrad.track(a)
    f((x, 3.0), 2.0, None).backward()
    assert np.array_equal(x.grad, [6.0, 0.0])


class Pair(NamedTuple):
    a: np.ndarray
    b: float


@nbgrad.njit
def of_pair(p):
    return p.a[0] * p.b


def test_named_tuples():
    found = nbgrad.grad(of_pair)(Pair(np.array([3.0, 1.0]), 2.0))
    assert type(found) is Pair
    assert np.array_equal(found.a, [2.0, 0.0])
    assert found.b == 3.0
    x = nbgrad.track(np.array([3.0, 1.0]))
    of_pair(Pair(cast(Any, x), 2.0)).backward()
    assert np.array_equal(x.grad, [2.0, 0.0])


def test_dtypes():
    @nbgrad.njit
    def f(a, flags, k):
        s = a[0]
        for i in range(a.shape[0]):
            if flags[i]:
                s += a[i] * a[i] * k
        return s

    for dtype in (np.float32, np.float64):
        a = np.arange(1.0, 4.0).astype(dtype)
        flags = np.array([True, False, True])
        value, slope = nbgrad.value_and_grad(f)(a, flags, dtype(2.0))
        assert value == f(a, flags, dtype(2.0))
        assert value.dtype == slope.dtype == dtype
        assert np.array_equal(slope, [5.0, 0.0, 12.0])
        x = nbgrad.track(a)
        out = f(x, flags, dtype(2.0))
        assert out.dtype == dtype
        out.backward()
        assert np.array_equal(x.grad, [5.0, 0.0, 12.0])
        assert x.grad.dtype == dtype


def test_integer_results():
    @nbgrad.njit
    def f(x):
        n = 0
        while x < 100.0:
            x = x * x
            n += 1
        return x, n, n > 2

    x = nbgrad.track(3.0)
    value, n, many = f(x)
    assert (int(n), bool(many)) == f(3.0)[1:]
    value.backward()
    assert x.grad == f.py_func(3.0)[0] * 8 / 3.0
    (value, n, many) = nbgrad.compile(lambda x: f(x))(3.0)
    assert (float(value), int(n), bool(many)) == f(3.0)
    slope, (n, many) = nbgrad.grad(lambda x: (f(x)[0], f(x)[1:]), has_aux=True)(3.0)
    assert (int(n), bool(many)) == (3, True)
    assert slope == x.grad


def test_closures_and_globals():
    k = 3.0

    @nbgrad.njit
    def f(a):
        s = 0.0
        for i in range(a.shape[0]):
            s += k * a[i] * a[i]
        return s

    assert np.array_equal(nbgrad.grad(f)(np.ones(2)), [6.0, 6.0])


def test_the_cache_tells_functions_apart():
    def made(k):
        @nbgrad.njit
        def f(x):
            return k * x * x

        return f

    assert nbgrad.grad(made(2.0))(1.0) == 4.0
    assert nbgrad.grad(made(5.0))(1.0) == 10.0
    compiled = [nbgrad.compile(nbgrad.grad(made(k)))(1.0) for k in (2.0, 5.0)]
    assert compiled == [4.0, 10.0]


def test_refusals_name_function_and_line():
    @nbgrad.njit
    def f(x):
        found = {1: x}
        return found[1] * x

    assert f(2.0) == 4.0
    with pytest.raises(nbgrad.NoRuleError, match=r"(?s)f \(.*loops\.py:.*custom_rule"):
        nbgrad.grad(f)(2.0)
    with pytest.raises(nbgrad.NoRuleError, match=r"_with_loops\.py"):
        f(nbgrad.track(2.0))
    with pytest.raises(nbgrad.NoRuleError, match="its source is not known"):
        exec("def g(x):\n    return x", scope := {})
        nbgrad.grad(nbgrad.njit(scope["g"]))(2.0)
    with pytest.raises(nbgrad.NoRuleError, match="an argument of type bytes"):
        nbgrad.grad(power)(2.0, b"1")  # pyright: ignore[reportArgumentType]
    n: Any = [1, 2]
    with pytest.raises(nbgrad.NoRuleError, match="list"):
        power(nbgrad.track(2.0), n)


def test_integers_have_no_gradient():
    with pytest.raises(TypeError, match="holds no float"):
        nbgrad.grad(power)(2)
    with pytest.raises(TypeError, match="holds no float"):
        nbgrad.grad(power, argnums=1)(2.0, 3)


def test_wrong_uses():
    number: Any = 3.0
    with pytest.raises(TypeError, match="not a function"):
        nbgrad.njit(parallel=False)(number)
    with pytest.raises(nbgrad.DimensionMismatch, match="needs one number"):
        nbgrad.grad(nbgrad.njit(lambda x: (x, x)))(2.0) if False else nbgrad.grad(pushed)(
            np.ones(2)
        )


@nbgrad.njit
def pushed(a):
    for i in range(a.shape[0]):
        a[i] *= 2.0
