"""Values that outlive their transformation: an error for every use names where they are kept."""

import functools
import gc
import threading

import numpy as np
import pytest

import nbgrad
import nbgrad.numpy
from nbgrad import LeakedValueError

X = np.array([1.2, 0.7, 2.1])
CALLS = {
    "grad": lambda f: nbgrad.grad(f)(X),
    "elementwise_grad": lambda f: nbgrad.elementwise_grad(f)(X),
    "jvp": lambda f: nbgrad.jvp(f, (X,), (X,)),
    "vmap": lambda f: nbgrad.vmap(f)(np.stack([X, X])),
    "vmap of grad": lambda f: nbgrad.vmap(nbgrad.grad(f))(np.stack([X, X])),
    "grad of grad": lambda f: nbgrad.grad(lambda x: np.sum(nbgrad.grad(f)(x) * x))(X),
    "compile": lambda f: nbgrad.compile(f)(X),
    "compile of grad": lambda f: nbgrad.compile(nbgrad.grad(f))(X),
    "vjp": lambda f: nbgrad.vjp(f, X)[1](1.0),
    "linearize": lambda f: nbgrad.linearize(f, X)[1](X),
}


@pytest.fixture(autouse=True, scope="module")
def _few_objects():
    """What keeps a value is looked for among all objects: leave out those of other tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Norm:
    """A layer that keeps a running mean."""

    def __init__(self):
        self.mean = 0.0

    def __call__(self, x):
        self.mean = 0.9 * self.mean + 0.1 * np.mean(x)
        return np.sum(x * x) + self.mean


def _list():
    kept = []

    def f(x):
        kept.append(np.sum(x))
        return np.sum(x * x) + sum(kept)

    return f


def _dict():
    kept = {}

    def f(x):
        if "h" not in kept:
            kept["h"] = np.tanh(x)
        return np.sum(kept["h"] * x)

    return f


def _default():
    def f(x, kept={}):  # noqa: B006
        kept.setdefault("h", x * 2.0)
        return np.sum(kept["h"])

    return f


def _cache():
    inputs = []

    @functools.lru_cache
    def double(n):
        return inputs[-1] * n

    def f(x):
        inputs.append(x)
        return np.sum(double(2)) + np.sum(x)

    return f


def _cell():
    hidden = np.zeros(3)

    def f(x):
        nonlocal hidden
        hidden = np.tanh(hidden + x)
        return np.sum(hidden)

    return f


def _argument():
    kept = []

    def f(x):
        kept.append(x)
        return np.sum(kept[0] ** 2)

    return f


def _buffer():
    kept = []

    def f(x):
        if not kept:
            kept.append(nbgrad.numpy.zeros(3))  # pyright: ignore
        kept[0][:2] = x[:2]
        kept[0][2] += x[2]
        return np.sum(kept[0] ** 2)

    return f


KEEPERS = [Norm, _list, _dict, _default, _cache, _cell, _argument, _buffer]


@pytest.mark.parametrize("keeper", KEEPERS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_next_call_says_what_leaked(keeper, call):
    f = keeper()
    try:
        call(f)  # which calls f once or twice
    except LeakedValueError:
        return
    with pytest.raises(LeakedValueError, match=r"was made inside of .*has_aux=True"):
        call(f)


@pytest.mark.parametrize("other", ["grad", "jvp", "vmap", "compile"])
@pytest.mark.parametrize("first", ["grad", "jvp", "vmap", "compile", "vmap of grad"])
def test_another_transformation_and_none_say_so_too(first, other):
    f = Norm()
    CALLS[first](f)
    with pytest.raises(LeakedValueError, match=r"inside of \w+ of __call__ \(test_leaks.py:\d+\)"):
        CALLS[other](f)
    with pytest.raises(LeakedValueError, match=r"kept as Norm.mean, written at test_leaks.py"):
        f(X)


def test_checkpoints_name_their_function():
    kept = []

    def layer(x):
        kept.append(np.tanh(x))
        return kept[0]

    with pytest.raises(LeakedValueError, match="inside of checkpoint of layer"):
        nbgrad.grad(lambda x: np.sum(nbgrad.checkpoint(layer)(x)))(X)


def kept_by(call):
    kept = []

    def f(x):
        kept.append(np.tanh(x))
        return np.sum(kept[-1])

    call(f)
    return kept[-1]


USES = {
    "op": lambda h: h + 1.0,
    "reflected": lambda h: np.ones(3) * h,
    "function": np.sum,
    "compare": lambda h: h < 1.0,
    "index": lambda h: h[0],
    "iterate": list,
    "float": float,
    "int": int,
    "asarray": np.asarray,
    "array of": lambda h: np.array([h, h]),
    "write": lambda h: h.__setitem__(0, 1.0),
    "add to": lambda h: h.__iadd__(1.0),
    "write into": lambda h: np.zeros_like(X).__setitem__(0, h),
    "argument": lambda h: nbgrad.grad(np.sum)(h),
    "returned": lambda h: nbgrad.vmap(lambda x: h)(np.stack([X, X])),
    "aux": lambda h: nbgrad.value_and_grad(lambda x: (np.sum(x), h), has_aux=True)(X),
    "result": lambda h: nbgrad.jvp(lambda x: h, (X,), (X,)),
}
KEPT = [name for name in CALLS if name not in ("vjp", "elementwise_grad")]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("name", KEPT)
def test_every_use_is_an_error(name, use):
    with pytest.raises(LeakedValueError):
        use(kept_by(CALLS[name]))


@pytest.mark.parametrize("name", KEPT)
def test_it_is_printed_as_leaked(name):
    h = kept_by(CALLS[name])
    assert "leaked" in repr(h) and "leaked" in f"{h}" and "test_leaks.py" in str([h])


def test_numbers_of_eager_gradients_stay():
    h = kept_by(CALLS["grad"])
    assert np.allclose(h.data, np.tanh(X))
    assert "[0.83" in repr(h)


def test_an_inner_value_is_not_used_in_the_outer_function():
    kept = []

    def outer(x):
        nbgrad.grad(lambda y: np.sum(kept.append(y * y) or kept[-1]))(x)
        return np.sum(kept[-1] * x)

    for call in ("grad", "jvp", "vmap", "compile"):
        with pytest.raises(LeakedValueError):
            CALLS[call](outer)


def test_a_value_of_another_thread_is_used_while_it_is_not_over():
    def loss(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(np.sum(x * x)))
        thread.start()
        thread.join()
        return found[0]

    assert np.allclose(nbgrad.grad(loss)(X), 2.0 * X)
    h = kept_by(CALLS["grad"])
    errors = []

    def use():
        try:
            _ = h * 2.0
        except LeakedValueError as error:
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(errors) == 1


def test_what_failed_leaks_too():
    kept = []

    def f(x):
        kept.append(x * x)
        raise KeyError("no")

    with pytest.raises(KeyError):
        nbgrad.grad(f)(X)
    with pytest.raises(LeakedValueError):
        _ = kept[0] + 1.0


def test_results_that_are_stale_views_are_taken_before_the_end():
    def f(x):
        y = x * 1.0
        last = y[1:]
        y[...] = 2.0 * y
        return last

    value, tangent = nbgrad.jvp(f, (X,), (np.ones(3),))
    assert np.array_equal(value, 2.0 * X[1:]) and np.array_equal(tangent, [2.0, 2.0])
    assert np.array_equal(nbgrad.vmap(f)(X[None])[0], value)


def test_state_that_is_returned_goes_to_the_next_call():
    def loss(x, mean):
        mean = 0.9 * mean + 0.1 * np.mean(x)
        return np.sum(x * mean), mean

    step, mean = nbgrad.value_and_grad(loss, has_aux=True), 0.0
    for _ in range(3):
        (_, mean), _ = step(X, mean)
    assert np.isclose(mean, 0.271 * np.mean(X))
