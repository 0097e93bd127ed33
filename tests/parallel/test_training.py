"""Trainings whose batches are divided: what a whole batch gives, and what outlives a worker."""

from typing import Any

import numpy as np
import pytest
from helpers.parallel.losses import Fragile, problem

import nbgrad
from nbgrad import data, nn, optim
from nbgrad.experiments import digits
from nbgrad.train import accuracy, fit

X, LABELS = data.moons(0, 60, noise=0.1)
LOSS = nbgrad.logit_cross_entropy
SETTINGS: Any = {
    "steps": 12, "optimiser": optim.Adam(0.05), "every": 5, "held": (X, LABELS),
    "measure": accuracy,
}  # fmt: skip


def network():
    return nn.Chain(nn.Dense.random(1, 2, 6), np.tanh, nn.Dense.random(2, 6, 2))


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("batch", [16, None])
def test_a_divided_training_is_that_of_whole_batches(batch, compile):
    settings = SETTINGS | {"batch": batch, "last": "keep"}
    whole = fit(network(), LOSS, (X, LABELS), **settings)
    part = fit(
        network(), LOSS, (X, LABELS), engine="threads", workers=3, compile=compile, **settings
    )
    np.testing.assert_allclose(part.losses, whole.losses, rtol=1e-12)
    np.testing.assert_allclose(np.array(part.moments), np.array(whole.moments), rtol=1e-12)
    for one, other in zip(part.model.layers[::2], whole.model.layers[::2], strict=True):
        np.testing.assert_allclose(one.weight, other.weight, rtol=1e-10)


def test_more_workers_than_rows():
    settings: Any = {"steps": 3, "batch": 2}
    whole = fit(network(), LOSS, (X[:3], LABELS[:3]), **settings)
    part = fit(network(), LOSS, (X[:3], LABELS[:3]), engine="threads", workers=7, **settings)
    np.testing.assert_allclose(part.losses, whole.losses, rtol=1e-12)


@pytest.mark.full
def test_a_process_that_dies_leaves_the_last_checkpoint(tmp_path):
    """The error names the shard, and the training that goes on is the one that never stopped."""
    _, x, y = problem()
    mark, path = tmp_path / "mark", tmp_path / "training.npz"
    settings: Any = {"batch": 8, "every": 5, "engine": "processes", "workers": 2}
    settings |= {"steps": 9, "optimiser": optim.Adam(0.05)}
    model = Fragile(mark)
    whole = fit(model, nbgrad.mse, (x, y), **settings)
    settings |= {"checkpoint": path, "resume": True}
    with pytest.raises(nbgrad.WorkerError, match=r"of 2 there is no result of shard [01, ]+"):
        fit(model, nbgrad.mse, (x, y), watch=lambda *_: mark.touch(), **settings)
    rest = fit(model, nbgrad.mse, (x, y), **settings)
    np.testing.assert_array_equal(rest.losses, whole.losses)
    np.testing.assert_array_equal(rest.model.w, whole.model.w)


def test_data_that_is_mapped_already(tmp_path):
    for name, array in (("x", X), ("labels", LABELS)):
        np.save(tmp_path / f"{name}.npy", array)
    mapped = tuple(np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("x", "labels"))
    settings: Any = {"steps": 3, "batch": None, "optimiser": optim.SGD(0.1)}
    whole = fit(network(), LOSS, (X, LABELS), **settings)
    part = fit(network(), LOSS, mapped, engine="processes", workers=2, **settings)
    np.testing.assert_allclose(part.losses, whole.losses, rtol=1e-12)


def test_data_that_changes_during_a_training():
    """Threads read it as it is, and processes have a copy."""
    x = X.copy()

    def watch(moment, model):
        x[...] = 0.0

    settings: Any = {"steps": 6, "every": 2, "watch": watch, "batch": None}
    fit(network(), LOSS, (x, LABELS), engine="threads", **settings)
    x[...] = X
    with pytest.raises(nbgrad.WorkerError, match="fit: the data was modified during the training"):
        fit(network(), LOSS, (x, LABELS), engine="processes", workers=1, **settings)


def test_a_nan_names_its_op():
    def loss(scores, y):
        return np.mean(np.log(scores - 5.0)) + 0.0 * np.mean(y)

    model, x = nn.Dense(np.array([[1.0]]), None), np.full((4, 1), 5.5)
    with pytest.raises(nbgrad.NanError, match="is nan: log gave nan in the forward pass"):
        fit(model, loss, (x, x), steps=9, optimiser=optim.SGD(1.0), engine="threads")


@pytest.mark.parametrize(
    ("settings", "kind", "text"),
    [
        ({"model": nn.Chain(nn.Dense.random(0, 2, 2), nn.BatchNorm.of(2))}, TypeError,
         "fit: training changes the Chain, like the statistics of a batch norm"),
        ({"model": nn.Chain(nn.Dropout.of(0.5, 1), nn.Dense.random(0, 2, 2))}, TypeError,
         "fit: training changes the Chain, like"),
        ({"loss": lambda scores, y: np.sum(scores)}, ValueError, "fit: with an engine the loss "
         "must be a mean over rows: for 60 rows it is"),
        ({"engine": None, "workers": 2}, TypeError, "fit: workers=2 without an engine"),
        ({"engine": "spark"}, ValueError, "parallel: unknown engine 'spark'"),
        ({"engine": "processes", "loss": lambda scores, y: np.mean(scores)}, TypeError,
         "parallel: a LossOf cannot be sent to another process (Can't pickle"),
        ({"engine": "processes", "model": nn.Chain(nn.Dense.random(0, 2, 2), lambda x: x)},
         TypeError, "parallel: a Chain cannot be sent to another process (Can't pickle"),
    ],
)  # fmt: skip
def test_mistakes_are_told(settings, kind, text):
    given = {"model": network(), "loss": LOSS, "data": (X, LABELS), "steps": 1, "engine": "threads"}
    with pytest.raises(kind) as caught:
        fit(**(given | settings))
    assert str(caught.value).startswith(text)


def test_digits_divided_have_the_losses_of_whole_batches():
    whole = digits.train(steps=20)
    with nbgrad.parallel.value_and_grad(digits.loss_of, workers=3, compile=False) as vg:
        part = digits.train(steps=20, vg=vg)
    for one, other in zip(whole.steps, part.steps, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-11)
