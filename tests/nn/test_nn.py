"""Layers against formulas written out, and their derivatives against differences."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from helpers.messages import text_of
from scipy.signal import correlate2d
from scipy.special import expit, log_softmax

import nbgrad
from nbgrad import check_grads, nn

RNG = np.random.default_rng(5)


def checked(layer, x):
    """The derivatives of a layer with respect to itself and x, against differences."""
    weights = RNG.normal(size=np.shape(layer(x)))
    check_grads(lambda layer, x: np.sum(layer(x) * weights), (layer, x), modes=("reverse",))


def test_dense_is_a_product_and_a_sum():
    layer, x = nn.Dense.random(3, 4, 5), RNG.normal(size=(7, 4))
    bound = np.sqrt(6 / 9)
    assert np.all(np.abs(layer.weight) <= bound) and np.ptp(layer.weight) > bound
    assert not layer.bias.any() and layer.weight.shape == (4, 5)
    layer = replace(layer, bias=RNG.normal(size=5))
    np.testing.assert_allclose(layer(x), np.einsum("ni,io->no", x, layer.weight) + layer.bias)
    slope, _ = nbgrad.pullback(layer, x)[1](np.ones((7, 5)))
    np.testing.assert_array_equal(slope.bias, np.full(5, 7.0))
    checked(layer, x)
    assert nn.Dense.random(3, 4, 5, bias=False).bias is None
    np.testing.assert_array_equal(nn.Dense.random(3, 4, 5).weight, layer.weight)


def test_embeddings_are_rows():
    layer, x = nn.Embedding.random(0, 5, 3), np.array([[1, 1, 4], [0, 1, 2]])
    np.testing.assert_array_equal(layer(x)[1, 2], layer.weight[2])
    slope, x_bar = nbgrad.pullback(layer, x)[1](np.ones((2, 3, 3)))
    np.testing.assert_array_equal(slope.weight[:, 0], [1.0, 3.0, 1.0, 0.0, 1.0])
    assert x_bar is None


def test_batch_norm_has_bessels_correction_and_running_statistics():
    layer = nn.BatchNorm.of(3, momentum=0.25, epsilon=1e-3)
    layer.scale, layer.shift = RNG.normal(size=3), RNG.normal(size=3)
    x = RNG.normal(size=(6, 4, 3)) * [1.0, 2.0, 3.0] + 1.0
    rows = x.reshape(24, 3)
    mean, variance = rows.sum(axis=0) / 24, ((rows - rows.mean(axis=0)) ** 2).sum(axis=0) / 23
    y, after = nn.training(layer, x)
    wanted = layer.scale * (x - mean) / np.sqrt(variance + 1e-3) + layer.shift
    np.testing.assert_allclose(y, wanted, rtol=1e-12)
    np.testing.assert_allclose(after.mean, 0.25 * mean)
    np.testing.assert_allclose(after.variance, 0.75 + 0.25 * variance)
    assert (after.momentum, after.epsilon) == (0.25, 1e-3) and not layer.mean.any()
    wanted = layer.scale * (x - after.mean) / np.sqrt(after.variance + 1e-3) + layer.shift
    np.testing.assert_allclose(after(x), wanted, rtol=1e-12)

    weights = RNG.normal(size=x.shape)
    total = lambda layer, x: np.sum(nn.training(layer, x)[0] * weights)  # noqa: E731
    check_grads(total, (layer, x), modes=("reverse",))
    slope, _ = nbgrad.pullback(after, x)[1](np.ones_like(x))
    assert not slope.mean.any() and not slope.variance.any() and slope.shift.all()


def test_layer_norm_is_of_each_sample():
    layer, x = nn.LayerNorm.of(4), RNG.normal(size=(2, 3, 4))
    layer.scale, layer.shift = RNG.normal(size=4), RNG.normal(size=4)
    row = np.asarray(x)[1, 2]
    wanted = (row - row.mean()) / np.sqrt(row.var() + 1e-5) * layer.scale + layer.shift
    np.testing.assert_allclose(layer(x)[1, 2], wanted, rtol=1e-12)
    checked(layer, x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dropout_has_a_state(dtype):
    layer, x = nn.Dropout.of(0.25, seed=7), np.ones((100, 80), dtype)
    assert layer(x) is x
    first, after = nn.training(layer, x)
    second, _ = nn.training(after, x)
    again, _ = nn.training(nn.Dropout.of(0.25, seed=7), x)
    np.testing.assert_array_equal(first, again)
    assert set(np.unique(first)) == {dtype(0), dtype(1 / 0.75)} and first.dtype == dtype
    for y in (first, second):  # 8,000 draws: the deviation of their share is 0.005
        assert abs(np.mean(y == 0) - 0.25) < 0.02
    assert 0.3 < np.mean((first == 0) != (second == 0)) < 0.45  # 2 * 0.25 * 0.75
    (slope,) = nbgrad.vjp(lambda x: nn.training(layer, x)[0], x)[1](np.ones_like(x))
    np.testing.assert_array_equal(slope, first)


@pytest.mark.parametrize(("stride", "padding", "size"), [(1, 0, 3), (2, 1, 3), (3, 0, 2)])
def test_convolution(stride, padding, size):
    layer = nn.Conv2d.random(1, 2, 3, size, stride=stride, padding=padding)
    layer.bias = RNG.normal(size=3)
    x = RNG.normal(size=(2, 7, 6, 2))
    y = layer(x)
    wide = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    for sample in range(2):
        for out in range(3):
            both = [
                correlate2d(wide[sample, :, :, i], layer.weight[:, :, i, out], "valid")
                for i in range(2)
            ]
            wanted = (both[0] + both[1])[::stride, ::stride] + layer.bias[out]
            np.testing.assert_allclose(y[sample, :, :, out], wanted, rtol=1e-12, atol=1e-14)
    checked(layer, x)


@pytest.mark.parametrize(("layer", "of"), [(nn.MaxPool2d(2), np.max), (nn.MeanPool2d(2), np.mean)])
def test_pooling(layer, of):
    x = RNG.permutation(np.arange(120.0)).reshape(2, 5, 4, 3)  # far from ties
    y = layer(x)
    assert y.shape == (2, 2, 2, 3)
    for i in range(2):
        for j in range(2):
            square = x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            np.testing.assert_allclose(y[:, i, j], of(square, axis=(1, 2)), rtol=1e-15)
    weights = RNG.normal(size=y.shape)
    check_grads(lambda x: np.sum(layer(x) * weights), (x,), modes=("reverse",))


def test_gru():
    layer, x = nn.GRU.random(2, 3, 4), RNG.normal(size=(2, 5, 3))
    layer.bias = RNG.normal(size=12)
    w, u, b = (np.split(part, 3, axis=-1) for part in (layer.inputs, layer.hidden, layer.bias))
    h = np.zeros((2, 4))
    for t in range(5):
        z = expit(x[:, t] @ w[0] + h @ u[0] + b[0])
        r = expit(x[:, t] @ w[1] + h @ u[1] + b[1])
        h = (1 - z) * np.tanh(x[:, t] @ w[2] + b[2] + r * (h @ u[2])) + z * h
        np.testing.assert_allclose(layer(x)[:, t], h, rtol=1e-12)
    checked(layer, x)


def test_lstm():
    layer, x = nn.LSTM.random(2, 3, 4), RNG.normal(size=(2, 5, 3))
    np.testing.assert_array_equal(layer.bias, np.repeat([0.0, 1.0, 0.0, 0.0], 4))
    layer.bias = RNG.normal(size=16)
    w, u, b = (np.split(part, 4, axis=-1) for part in (layer.inputs, layer.hidden, layer.bias))
    h, c = np.zeros((2, 4)), np.zeros((2, 4))
    for t in range(5):
        i, f, o, g = (x[:, t] @ w[k] + h @ u[k] + b[k] for k in range(4))
        c = expit(f) * c + expit(i) * np.tanh(g)
        h = expit(o) * np.tanh(c)
        np.testing.assert_allclose(layer(x)[:, t], h, rtol=1e-12)
    checked(layer, x)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    layer, x = nn.Attention.random(3, 6, 2, causal=causal), RNG.normal(size=(2, 4, 6))
    wanted = np.zeros_like(x)
    for sample in range(2):
        for head in range(2):
            query, key, value = (x[sample] @ layer.weight[:, k, head] for k in range(3))
            for t in range(4):
                seen = slice(0, t + 1) if causal else slice(None)
                scores = key[seen] @ query[t] / np.sqrt(3)
                mixed = np.exp(log_softmax(scores)) @ value[seen]
                wanted[sample, t] += mixed @ layer.output[head]
    np.testing.assert_allclose(layer(x), wanted, rtol=1e-12, atol=1e-14)
    checked(layer, x)


@dataclass
class Counting:
    """A user's layer that changes by training."""

    weight: Any
    seen: Any = 0

    def __call__(self, x):
        return x * self.weight

    def training(self, x):
        return self(x) + 1.0, replace(self, seen=self.seen + 1)


def test_chains_thread_what_changes():
    chain = nn.Chain(np.cos, nn.Chain(Counting(2.0), np.sin), Counting(3.0))
    assert np.isclose(chain(0.9), 3.0 * np.sin(2.0 * np.cos(0.9)))
    y, after = nn.training(chain, 0.9)
    assert np.isclose(y, 3.0 * np.sin(2.0 * np.cos(0.9) + 1.0) + 1.0)
    assert (after.layers[1].layers[0].seen, after.layers[2].seen) == (1, 1)
    assert after.layers[1].layers[1] is np.sin and "seen=0" in repr(chain.layers[2])
    assert nn.training(np.tanh, 0.0) == (0.0, np.tanh)
    slope, x_bar = nbgrad.pullback(nn.Chain(np.cos, np.sin), 0.9)[1](1.0)
    assert slope.layers == (None, None) and np.isclose(x_bar, -0.6368, atol=5e-5)


def step_of(loss):
    """A step of training by plain descent."""

    def step(model, x):
        def total(model):
            y, after = nn.training(model, x)
            return loss(y), after

        (value, after), slopes = nbgrad.value_and_grad(total, has_aux=True)(model)
        optimiser = nbgrad.optim.SGD(0.1)
        return value, optimiser.update(optimiser.init(after), slopes, after)[1]

    return step


IMAGES = nn.Chain(
    nn.Conv2d.random(0, 1, 4, 3, stride=2, padding=1), nn.BatchNorm.of(4), nbgrad.relu,
    nn.MaxPool2d(), nn.MeanPool2d(), nn.Dropout.of(0.2), nn.flatten, nn.Dense.random(1, 4, 3),
)  # fmt: skip
WORDS = nn.Chain(
    nn.Embedding.random(0, 9, 4), nn.LSTM.random(1, 4, 4), nn.LayerNorm.of(4),
    nn.Attention.random(2, 4, 2, causal=True), nn.GRU.random(3, 4, 3),
)  # fmt: skip


@pytest.mark.parametrize(
    ("model", "x"),
    [(IMAGES, RNG.normal(size=(5, 8, 8, 1))), (WORDS, RNG.integers(0, 9, (3, 4)))],
    ids=["images", "words"],
)
def test_whole_steps_compile(model, x):
    step = step_of(lambda y: np.mean(y**2))
    fast = nbgrad.compile(step)
    eager, quick = model, model
    for _ in range(3):
        value, eager = step(eager, x)
        found, quick = fast(quick, x)
        assert np.isclose(found, value, rtol=1e-12)
    leaves = [nbgrad.transforms.trees.flatten(m)[0] for m in (eager, quick, model)]
    for right, found, old in zip(*leaves, strict=True):
        if nbgrad.transforms.trees.is_constant(right):
            assert found is right
        else:
            np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-14)
            assert not np.array_equal(right, old)
    assert len(fast._variants) == 1


def test_float32_stays():
    single = np.float32
    model = nn.Chain(
        nn.Conv2d.random(0, 1, 2, dtype=single), nn.BatchNorm.of(2, dtype=single),
        nn.Dropout.of(0.1), nn.flatten, nn.Dense.random(1, 72, 8, dtype=single),
        lambda y: np.reshape(y, (-1, 2, 4)),
        nn.LayerNorm.of(4, dtype=single), nn.Attention.random(2, 4, 2, dtype=single),
        nn.LSTM.random(3, 4, 4, dtype=single), nn.GRU.random(4, 4, 4, dtype=single),
    )  # fmt: skip
    x = RNG.normal(size=(3, 8, 8, 1)).astype(single)
    assert model(x).dtype == single
    value, after = step_of(np.mean)(model, x)
    leaves = nbgrad.transforms.trees.flatten(after)[0]
    assert value.dtype == single
    assert {w.dtype for w in leaves if hasattr(w, "dtype")} == {np.dtype("f"), np.dtype("i8")}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: nn.Dense.random(0, 3, 2)(np.ones((5, 4))),
            "Dense: an input of shape (5, 4); expected (..., 3), because its weight has shape "
            "(3, 2)",
        ),
        (
            lambda: nn.BatchNorm.of(3).training(np.ones((1, 3))),
            "BatchNorm: an input of shape (1, 3) in training: the variance of a batch needs at "
            "least two samples",
        ),
        (
            lambda: nn.Conv2d.random(0, 1, 2)(np.ones((5, 8, 8))),
            "Conv2d: an input of shape (5, 8, 8); expected (samples, height, width, 1), because "
            "its weight has shape (3, 3, 1, 2)",
        ),
        (
            lambda: nn.Conv2d.random(0, 1, 2)(np.ones((5, 2, 8, 1))),
            "Conv2d: images of 2 x 8 pixels, with padding, are smaller than the windows of 3 x 3",
        ),
        (
            lambda: nn.MaxPool2d(2)(np.ones((5, 4))),
            "MaxPool2d: an input of shape (5, 4); expected images (samples, height, width, "
            "channels) of at least 2 x 2 pixels",
        ),
        (
            lambda: nn.Conv2d.random(0, 1, 2, stride=0),
            "Conv2d: stride is 0 and padding is 0; stride must be at least 1 and padding at least "
            "0",
        ),
        (
            lambda: nn.MeanPool2d(0)(np.ones((5, 4, 4, 1))),
            "MeanPool2d: size is 0; it must be at least 1",
        ),
        (
            lambda: nn.GRU.random(0, 3, 2)(np.ones((5, 3))),
            "GRU: an input of shape (5, 3); expected (samples, times, 3), because its input "
            "weights have shape (3, 6)",
        ),
        (
            lambda: nn.Embedding.random(0, 5, 2)(np.array([0, 5])),
            "Embedding: inputs from 0 to 5, but the rows are 0 to 4",
        ),
        (
            lambda: nn.Embedding.random(0, 5, 2)(np.ones(2)),
            "Embedding: an input of dtype float64; expected integers: use x.astype(int)",
        ),
        (
            lambda: nn.Attention.random(0, 5, 2),
            "Attention: the width 5 is not divisible by 2 heads",
        ),
        (lambda: nn.Dropout.of(1.0), "Dropout: rate is 1.0; it must be in [0, 1)"),
        (
            lambda: nn.Chain(np.sin, 3),  # pyright: ignore[reportArgumentType]
            "Chain: a int is not a layer: it is not callable",
        ),
    ],
)
def test_mistakes_are_told(call, text):
    with pytest.raises((ValueError, TypeError, IndexError)) as caught:
        call()
    assert text_of(caught.value) == text


def test_summary_counts():
    model = nn.Chain(
        nn.Dense.random(0, 4, 3, dtype=np.float32), np.tanh, nn.Chain(nn.Dropout.of(0.1)), np.sum
    )
    found = nn.summary(model)
    assert (found.parameters, found.size) == (15, 15 * 4 + 2 * 8)
    assert str(found).splitlines() == [
        "layer  kind     shapes        parameters  bytes",
        "0      Dense    (4, 3), (3,)          15     60",
        "1      tanh                            0      0",
        "2.0    Dropout  (2,)                   0     16",
        "3      sum                             0      0",
        "       total                          15     76",
    ]
    assert repr(model).startswith("Chain(Dense(weight=float32[4, 3], bias=float32[3]), tanh, Chain")


def test_summary_opens_models():
    class Net:
        def __init__(self):
            self.scale, self.name = 2.0, "net"
            self.blocks: Any = [nn.Dense.random(0, 2, 3), np.tanh, nn.Dense.random(0, 3, 1)]

        def __call__(self, x):
            return self.scale * nn.Chain(*self.blocks)(x)

    net = Net()
    net.blocks[2].weight = nbgrad.track(net.blocks[2].weight)
    text = str(nn.summary(nn.Chain(net, np.sum))).splitlines()
    assert [line.split()[:2] for line in text[1:-1]] == [
        ["0.blocks.0", "Dense"], ["0.blocks.2", "Dense"], ["0.scale", "float"], ["1", "sum"],
    ]  # fmt: skip
    assert text[-1].split() == ["total", "14", "112"]


def test_summary_on_a_terminal_and_off_it(capsys, monkeypatch):
    found = nn.summary(nn.Dense.random(0, 2, 3))
    found.show()
    assert capsys.readouterr().out == f"{found}\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    found.show()
    shown = capsys.readouterr().out
    assert "│" in shown and "(2, 3), (3,)" in shown and "72" in shown
