"""`fit` against loops written out: what it computes, where it ends, how it goes on."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import CheckpointError, data, nn, optim
from nbgrad.runtime import progress
from nbgrad.train import Fitted, accuracy, checkpoints, fit
from nbgrad.train.steps import step_of

X, LABELS = data.moons(0, 60, noise=0.1)
LOSS = nbgrad.logit_cross_entropy


def network():
    """Layers with a state each: running statistics, random numbers. Before a batch norm a bias
    has a slope of rounding errors alone, of which Adam makes steps."""
    return nn.Chain(
        nn.Dense.random(1, 2, 6, bias=False), nn.BatchNorm.of(6), np.tanh, nn.Dropout.of(0.1, 3),
        nn.Dense.random(2, 6, 2),
    )  # fmt: skip


def equal(a, b):
    """Whether two trees have the same bits."""
    pairs = zip(*(nbgrad.transforms.trees.flatten(tree)[0] for tree in (a, b)), strict=True)
    return all(x is y or np.array_equal(x, y) for x, y in pairs)


def test_full_batches_are_a_recursion():
    x, y = np.arange(4.0)[:, None], np.array([[1.0], [3.0], [5.0], [8.0]])
    model = nn.Dense(np.zeros((1, 1)), np.zeros(1))
    found = fit(model, nbgrad.mse, (x, y), steps=30, batch=None, optimiser=optim.SGD(0.05))
    w = b = 0.0
    for step in range(30):
        rest = w * x + b - y
        assert np.isclose(found.losses[step], np.mean(rest**2), rtol=1e-12)
        w, b = w - 0.05 * np.mean(2 * rest * x), b - 0.05 * np.mean(2 * rest)
    np.testing.assert_allclose(
        [*found.model.weight[0], *found.model.bias], [float(w), float(b)], rtol=1e-12
    )
    assert found.ended == "done" and found.state == {"step": 30} and not model.weight.any()
    assert [moment.step for moment in found.moments] == list(range(1, 31))


def test_minibatches_are_those_of_the_seed():
    model, optimiser = nn.Dense.random(0, 2, 2), optim.Adam(0.01)
    found = fit(model, LOSS, (X, LABELS), epochs=2, batch=16, optimiser=optimiser, seed=5)
    state, losses = optimiser.init(model), []
    for x, labels in data.minibatches(5, 16, X, LABELS, epochs=2):
        value, slopes = nbgrad.value_and_grad(lambda m, x, y: LOSS(m(x), y))(model, x, labels)
        state, model = optimiser.update(state, slopes, model)
        losses.append(value)
    np.testing.assert_array_equal(found.losses, losses)
    assert equal(found.model, model) and equal(found.state, state) and len(losses) == 6
    means = [moment.loss for moment in found.moments]
    np.testing.assert_allclose(means, np.reshape(losses, (2, 3)).mean(axis=1), rtol=1e-14)


def test_compiled_and_eager_learn_the_same():
    settings: Any = {
        "steps": 60, "batch": 20, "optimiser": optim.Adam(optim.cosine(0.05, 60)), "every": 15,
        "held": (X, LABELS), "measure": accuracy,
    }  # fmt: skip
    eager = fit(network(), LOSS, (X, LABELS), **settings)
    quick = fit(network(), LOSS, (X, LABELS), compile=True, **settings)
    np.testing.assert_allclose(quick.losses, eager.losses, rtol=1e-11)
    np.testing.assert_allclose(np.array(quick.moments), np.array(eager.moments), rtol=1e-11)
    assert eager.moments[-1].measure > 0.9 and eager.moments[-1].step == 60
    held = LOSS(eager.model(X), LABELS)
    assert eager.moments[-1].held_loss == held
    assert eager.losses[-5:].mean() < 0.5 * eager.losses[:5].mean()


@pytest.mark.parametrize(("last", "shapes"), [("drop", [16]), ("keep", [16, 12])])
def test_a_last_batch_of_another_size(last, shapes):
    seen = []

    def loss(scores, labels):
        seen.append(len(labels))
        return LOSS(scores, labels)

    model = nn.Dense.random(0, 2, 2)
    fit(model, loss, (X, LABELS), epochs=2, batch=16, last=last, compile=True)
    assert seen == shapes, "each is recorded once"
    seen.clear()
    fit(model, loss, (X, LABELS), epochs=2, batch=16, last=last)
    assert seen == 2 * ([16] * 3 + shapes[1:])


def test_patience_and_the_best_model():
    class Walk:
        """A model whose held loss is given by what it reads."""

        def __init__(self):
            self.w = 0.0

        def __call__(self, x):
            return x * self.w

    held_losses = iter([5.0, 3.0, 4.0, 2.0, 2.5, 2.0, 1.0])

    def loss(scores, kind):
        return next(held_losses) if kind[0] else np.sum(scores)  # down by 1 a step

    found = fit(
        Walk(), loss, (np.ones(1), np.array([0])), steps=50, batch=None, every=2, patience=2,
        held=(np.ones(1), np.array([1])), optimiser=optim.SGD(1.0),
    )  # fmt: skip
    assert found.ended == "patience" and len(found.losses) == 12
    assert [moment.held_loss for moment in found.moments] == [5.0, 3.0, 4.0, 2.0, 2.5, 2.0]
    assert (found.best.w, found.model.w) == (-8.0, -12.0)


@pytest.mark.parametrize("compile", [False, True])
def test_stopped_and_resumed_gives_the_same_bits(tmp_path, compile):
    settings: Any = {"batch": 16, "optimiser": optim.AdamW(0.05), "compile": compile, "every": 5}
    whole = fit(network(), LOSS, (X, LABELS), steps=17, **settings)
    path = tmp_path / "training.npz"
    part = fit(network(), LOSS, (X, LABELS), steps=7, checkpoint=path, resume=True, **settings)
    assert len(part.losses) == 7
    rest = fit(network(), LOSS, (X, LABELS), steps=17, checkpoint=path, resume=True, **settings)
    np.testing.assert_array_equal(rest.losses, whole.losses)
    assert equal(rest.model, whole.model) and equal(rest.state, whole.state)
    again = fit(network(), LOSS, (X, LABELS), steps=17, checkpoint=path, resume=True, **settings)
    assert equal(again.model, whole.model) and equal(again.best, rest.best)
    np.testing.assert_array_equal(np.array(again.moments), rest.moments)


def _rate(start: float) -> Callable[[int], float]:
    return lambda step: start / (1.0 + step)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"data": (X + 1e-9, LABELS)}, r"another data: float64\[60, 2\] \(checksum "),
        ({"data": (X[:59], LABELS[:59])}, r"another data: .*\[60, 2\].*\[59, 2\]"),
        ({"data": (X, 1 - LABELS)}, "another data"),
        ({"held": (X[:5], LABELS[:5])}, "another held data: none there, and float64"),
        ({"batch": 15}, "another batch: 16 rows, .* there, and 15 rows"),
        ({"batch": None}, "another batch: .* there, and all rows here"),
        ({"last": "keep"}, "another batch: .*'drop'.* there, and .*'keep'"),
        ({"seed": 1}, "another batch: .*seed=0 there, .*seed=1 here"),
        ({"optimiser": optim.SGD(_rate(0.2))}, "another optimiser: SGD"),
        ({"optimiser": optim.SGD(0.1)}, r"another optimiser: .* there, and SGD\(rate=0\.1"),
        ({"optimiser": optim.Adam(0.1)}, "another optimiser: SGD.* there, and Adam"),
    ],
)
def test_a_checkpoint_of_other_data_batches_or_rates_is_refused(tmp_path, other, text):
    settings: Any = {"data": (X, LABELS), "batch": 16, "optimiser": optim.SGD(_rate(0.1))}
    settings |= {"checkpoint": tmp_path / "training.npz", "resume": True}
    fit(network(), LOSS, steps=3, **settings)
    with pytest.raises(
        nbgrad.CheckpointError, match=rf"training\.npz is of a training with {text}"
    ):
        fit(network(), LOSS, steps=6, **(settings | other))
    same = {"data": (X.copy(), LABELS.copy()), "optimiser": optim.SGD(_rate(0.1))}
    assert len(fit(network(), LOSS, steps=6, **(settings | same)).losses) == 6


def test_a_checkpoint_without_settings_is_resumed(tmp_path):
    path = tmp_path / "training.npz"
    settings: Any = {"batch": 16, "checkpoint": path, "resume": True}
    fit(network(), LOSS, (X, LABELS), steps=3, **settings)
    found = checkpoints.read(path)
    like = {**found.arrays, **{n: t for n, t in found.constants.items() if "settings" not in n}}
    checkpoints.save(path, like)
    assert len(fit(network(), LOSS, (X, LABELS), steps=6, **settings).losses) == 6


def test_a_checkpoint_that_cannot_be_written_is_told_once(tmp_path, monkeypatch):
    def full(path, content):
        raise nbgrad.CheckpointError(f"{path} cannot be written: No space left on device")

    monkeypatch.setattr(checkpoints, "_replace", full)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(network(), LOSS, (X, LABELS), steps=12, every=1, checkpoint=tmp_path / "c.npz")
    assert [str(one.message).split(": ")[-1] for one in caught] == [
        "No space left on device; the training continues [NB-CHECKPOINT]"
    ]


def test_an_interrupt_ends_cleanly(tmp_path):
    calls = []

    def loss(scores, labels):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return LOSS(scores, labels)

    path = tmp_path / "training.npz"
    settings: Any = {"batch": 16, "every": 3}
    found = fit(network(), loss, (X, LABELS), steps=12, checkpoint=path, **settings)
    assert found.ended == "interrupted" and len(found.losses) == 7
    whole = fit(network(), LOSS, (X, LABELS), steps=12, **settings)
    rest = fit(network(), loss, (X, LABELS), steps=12, checkpoint=path, resume=True, **settings)
    assert rest.ended == "done" and equal(rest.model, whole.model)
    assert equal(rest.best, whole.best)
    np.testing.assert_array_equal(np.array(rest.moments), whole.moments)


@pytest.mark.parametrize("compile", [False, True])
def test_a_nan_names_its_op(compile):
    def loss(scores, y):
        return np.mean(np.sqrt(scores + 3.0)) + 0.0 * np.sum(y)

    model = nn.Dense(np.array([[1.0]]), np.zeros(1))
    x = np.array([[1.0], [2.0]])
    with pytest.raises(nbgrad.NanError) as caught:
        fit(model, loss, (x, x), steps=50, batch=None, optimiser=optim.SGD(9.0), compile=compile)
    error = caught.value
    assert "is nan: sqrt gave nan in the forward pass, first at index (" in str(error)
    assert "test_fit.py" in str(error) and "nbgrad.optim.Clipped" in str(error)
    assert isinstance(error.fitted, Fitted) and error.fitted.ended == "nan"
    assert len(error.fitted.losses) >= 1 and np.all(np.isfinite(error.fitted.losses))
    assert f"the loss of step {len(error.fitted.losses)} is nan" in str(error)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_nan_of_the_step_before_is_found():
    """Slopes of sqrt at 0 are infinite, and their difference is nan: the loss is a number once
    more."""

    def loss(scores, y):
        return np.sum(np.sqrt(scores - 1.0) - 2.0 * np.sqrt(scores - 1.0)) + np.sum(y)

    model = nn.Dense(np.array([[1.0]]), None)
    for steps, every, text in ((9, 5, "the loss of step 1"), (1, 1, "the model after step 1")):
        with pytest.raises(nbgrad.NanError, match=rf"{text} is nan: .* in the backward pass"):
            data = (np.ones((2, 1)), np.ones(2))
            fit(model, loss, data, steps=steps, every=every, batch=None)


def test_a_full_disk_costs_a_warning(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.warns(UserWarning, match="cannot be written: No space left on device; the train"):
        found = fit(network(), LOSS, (X, LABELS), steps=3, checkpoint=tmp_path / "training.npz")
    assert found.ended == "done" and list(tmp_path.iterdir()) == []


def test_looks_are_told():
    seen = []
    fit(
        nn.Dense.random(0, 2, 2), LOSS, (X, LABELS), steps=5, every=2, measure=accuracy,
        watch=lambda moment, model: seen.append((moment.step, moment.measure, model(X).shape)),
    )  # fmt: skip
    assert [step for step, _, _ in seen] == [2, 4, 5]
    assert all(0.0 < share <= 1.0 and shape == (60, 2) for _, share, shape in seen)
    assert accuracy(np.eye(3), np.eye(3)[[0, 1, 1]]) == 2 / 3


def test_a_bar_is_shown_on_terminals_after_a_while(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    settings: Any = {"steps": 5, "measure": accuracy}
    fit(nn.Dense.random(0, 2, 2), LOSS, (X, LABELS), **settings)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    fit(nn.Dense.random(0, 2, 2), LOSS, (X, LABELS), **settings)
    assert capsys.readouterr().out == "", "it is over within two seconds"
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    fit(nn.Dense.random(0, 2, 2), LOSS, (X, LABELS), progress=False, **settings)
    assert capsys.readouterr().out == ""
    fit(nn.Dense.random(0, 2, 2), LOSS, (X, LABELS), **settings)
    assert "5/5" in capsys.readouterr().out


def closure(a):
    return lambda x: a * x


@pytest.mark.parametrize(
    ("settings", "kind", "text"),
    [
        ({}, TypeError, "fit: pass either steps=, the number of batches, or epochs="),
        ({"steps": 0}, ValueError, "fit: 0 steps; there must be at least one"),
        ({"steps": 1, "every": 0}, ValueError, "fit: every is 0; it must be at least 1"),
        ({"steps": 1, "data": (X[:0], LABELS[:0])}, ValueError,
         "fit: the data set is empty: arrays of shape (0, 2)"),
        ({"steps": 1, "data": (X, LABELS[:9])}, ValueError, "fit: arrays of shapes (60, 2), (9,): "
         "the first axis counts samples and must have the same length for all"),
        ({"steps": 1, "held": (X[:0], LABELS[:0])}, ValueError,
         "fit: the held data: the data set is empty: arrays of shape (0, 2)"),
        ({"steps": 1, "data": (X, LABELS + 1)}, ValueError, "logit_cross_entropy: labels from 1 "
         "to 2"),
        ({"steps": 1, "data": (X, LABELS + 1), "compile": True}, ValueError, "logit_cross_entropy"),
        ({"steps": 1, "data": (X[:, :1], LABELS)}, ValueError, "Dense: an input of shape (60, 1); "
         "expected (..., 2), because its weight has shape (2, 2)"),
        ({"steps": 1, "model": nn.Dense(nbgrad.track(np.ones((2, 2))))}, TypeError,
         "fit: the model holds tracked arrays: use plain ones, w.data instead of w"),
        ({"steps": 1, "model": nn.Chain(closure(2.0))}, TypeError, "fit: the model holds a "
         "closure over floats, which cannot be updated: replace it by an object"),
        ({"steps": 1, "model": {"w": X}}, TypeError, "fit: a dict is not a model: it is not"),
        ({"steps": 1, "model": np.tanh}, TypeError, "fit: the model, a ufunc, holds no floats"),
        ({"steps": 1, "data": X}, TypeError, "fit: data is a ndarray; pass a tuple, (x, *t"),
        ({"steps": 1, "optimiser": 0.1}, TypeError, "fit: optimiser is a float; pass an "
         "optimiser, such as nbgrad.optim.Adam(0.01)"),
        ({"steps": 1, "checkpoint": "/no/such/folder/x.npz"}, CheckpointError,
         "/no/such/folder/x.npz cannot be written: No such file or directory"),
    ],
)  # fmt: skip
def test_mistakes_are_told(settings, kind, text):
    settings = {"model": nn.Dense.random(0, 2, 2), "loss": LOSS, "data": (X, LABELS)} | settings
    with pytest.raises(kind) as caught, warnings.catch_warnings():
        fit(**settings)
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)


def test_a_step_is_one_function():
    """What `fit` repeats compiles as it stands, and is called by nothing else."""
    step = nbgrad.compile(step_of(LOSS, optim.SGD(0.1)))
    model = nn.Dense.random(0, 2, 2)
    value, after, state = step(model, {"step": 0}, (X, LABELS))
    assert np.isclose(value, LOSS(model(X), LABELS)) and state == {"step": 1}
    assert type(after) is nn.Dense
