"""Data sets and batches: shapes, distributions, what is told about mistakes."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.messages import text_of

import nbgrad
from nbgrad import data


def test_moons_lie_on_half_circles():
    for sampling in ("random", "even"):
        x, labels = data.moons(0, 101, sampling=sampling)
        assert x.shape == (100, 2) and np.bincount(labels).tolist() == [50, 50]
        centre = np.array([[0.0, 0.0], [1.0, 0.5]])[labels]
        np.testing.assert_allclose(np.sum((x - centre) ** 2, axis=1), 1.0)
        assert np.all(x[labels == 0, 1] >= 0) and np.all(x[labels == 1, 1] <= 0.5)
    np.testing.assert_allclose(np.diff(np.arccos(x[:50, 0])), np.pi / 49)
    noisy, _ = data.moons(0, 4000, noise=0.1, sampling="even")
    clean, _ = data.moons(0, 4000, sampling="even")
    assert abs(np.std(noisy - clean) - 0.1) < 0.005
    np.testing.assert_array_equal(noisy, data.moons(np.random.default_rng(0), 4000, 0.1, "even")[0])


def test_flowers_have_petals():
    x, labels = data.flower(0)
    assert x.shape == (896, 2) and np.bincount(labels).tolist() == [112] * 8
    angle = np.arctan2(x[:, 1], x[:, 0]) - 2 * np.pi * labels / 8
    angle = (angle + np.pi) % (2 * np.pi) - np.pi
    size = np.hypot(*x.T)
    assert np.all(np.abs(angle) < 0.6) and np.all((size > 2.8) & (size < 5.3))


def test_normals_have_their_means():
    x, labels = data.normals(0, each=4000)
    for k, (mean, deviation) in enumerate(
        [(-1.0, (0.5, 0.5)), (0.5, (0.8, 0.5)), (1.5, (0.1, 0.1))]
    ):
        np.testing.assert_allclose(x[labels == k].mean(axis=0), mean, atol=0.05)
        np.testing.assert_allclose(x[labels == k].std(axis=0), deviation, rtol=0.05)


def test_polynomials_have_noise():
    x, y = data.polynomial(0, 5000, noise=0.0)
    np.testing.assert_allclose(y, 15 - 2.1 * x + 13.9 * x**2 + 1.5 * x**3, rtol=1e-12)
    assert -5 <= x.min() < -4.99 and 4.99 < x.max() < 5
    z = data.polynomial(0, 5000)[1]
    assert np.isclose(np.std(z - y), 0.2 * np.mean(np.abs(y)), rtol=0.05)
    z = data.polynomial(0, 5000, noise=0.1, relative=True)[1]
    assert np.isclose(np.std((z - y) / np.abs(y)), 0.1, rtol=0.05)


def test_digits_come_with_scikit_learn(monkeypatch):
    x, labels = data.digits()
    assert x.shape == (1797, 64) and (x.min(), x.max()) == (0.0, 1.0)
    assert np.bincount(labels).min() > 170
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(nbgrad.MissingExtra, match=r'needs sklearn .*"nbgrad\[experiments\]"'):
        data.digits()


def test_names_are_words_of_a_file(tmp_path, monkeypatch):
    path = tmp_path / "names.txt"
    path.write_text("MARY  2.6  2.6  1\nanna\n\n  Mary\n12\n", encoding="utf-8")
    assert data.names(path) == ["anna", "mary"]
    census = SimpleNamespace(FILES={"first:female": str(path), "first:male": str(path)})
    monkeypatch.setitem(sys.modules, "names", census)
    assert data.names() == ["anna", "mary"]
    monkeypatch.setitem(sys.modules, "names", None)
    with pytest.raises(nbgrad.MissingExtra, match=r'pass a text file .*"nbgrad\[names\]"'):
        data.names()
    path.write_text("1\n2\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"no line of .*names\.txt begins with a letter"):
        data.names(path)


def test_split_holds_a_share_out():
    x, labels = np.arange(40.0)[:, None], np.repeat([0, 1], [30, 10])
    (kept, kept_labels), (held, held_labels) = data.split(1, 0.3, x, labels, by=labels)
    assert np.bincount(held_labels).tolist() == [9, 3]
    np.testing.assert_array_equal(labels[held[:, 0].astype(int)], held_labels)
    np.testing.assert_array_equal(labels[kept[:, 0].astype(int)], kept_labels)
    assert sorted([*kept[:, 0], *held[:, 0]]) == list(range(40))
    (same, _), _ = data.split(np.random.default_rng(1), 0.3, x, labels, by=labels)
    np.testing.assert_array_equal(same, kept)


def test_minibatches_go_through_all_rows():
    x = np.arange(10)
    found = list(data.minibatches(3, 4, x, 2 * x, epochs=2, last="keep"))
    assert [len(a) for a, _ in found] == [4, 4, 2] * 2
    assert all(np.array_equal(b, 2 * a) for a, b in found)
    first, second = (np.concatenate([a for a, _ in part]) for part in (found[:3], found[3:]))
    assert sorted(first) == sorted(second) == x.tolist() and first.tolist() != second.tolist()
    dropped = [a.tolist() for (a,) in data.minibatches(3, 4, x, epochs=2)]
    assert dropped == [found[i][0].tolist() for i in (0, 1, 3, 4)]
    assert [len(a) for (a,) in data.minibatches(3, 64, x)] == [10]


def test_one_hot_and_back():
    labels = np.array([2, 0, 1])
    rows = data.one_hot(labels, 4, np.float32)
    assert rows.dtype == np.float32 and rows.shape == (3, 4)
    np.testing.assert_array_equal(rows, np.eye(4)[labels])
    np.testing.assert_array_equal(data.one_cold(rows), labels)


def test_normalise_keeps_the_scaling():
    x = np.random.default_rng(0).normal(3.0, 2.0, (50, 3))
    x[:, 2] = 7.0
    z, scaling = data.normalise(x)
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(z.std(axis=0), [1.0, 1.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(scaling.undo(z), x)
    np.testing.assert_allclose(scaling.apply(x[:5]), z[:5])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: data.one_hot([0, 3], 3),
            "one_hot: labels from 0 to 3 for 3 classes; they must be 0 to 2",
        ),
        (lambda: data.one_hot([0.5]), "one_hot: labels of dtype float64; they must be integers"),
        (
            lambda: list(data.minibatches(0, 4, np.zeros((0, 3)))),
            "minibatches: the data set is empty: arrays of shape (0, 3)",
        ),
        (
            lambda: data.split(0, 0.5, np.zeros((4, 3)), np.zeros(5)),
            "split: arrays of shapes (4, 3), (5,): the first axis counts samples and must have the "
            "same length for all",
        ),
        (
            lambda: data.split(0, 1.5, np.zeros(4)),
            "split: share is 1.5; it must be between 0 and 1",
        ),
        (
            lambda: data.split(0, 0.01, np.zeros(4)),
            "split: a share of 0.01 of 4 rows leaves one part empty",
        ),
        (
            lambda: list(data.minibatches(0, 2.5, np.zeros(4))),  # pyright: ignore
            "the size of a batch is 2.5; it must be a whole number",
        ),
        (
            lambda: list(data.minibatches(-1, 2, np.zeros(4))),
            "the seed of batches is -1; it must not be negative",
        ),
        (
            lambda: list(data.minibatches(0, 0, np.zeros(4))),
            "batches of 0 rows: there must be at least one",
        ),
        (lambda: data.moons(0, 0), "moons: 0 points; there must be at least one"),
        (
            lambda: data.moons(0, 10, sampling="odd"),  # pyright: ignore[reportArgumentType]
            'moons: sampling is \'odd\'; it must be "random" or "even"',
        ),
        (
            lambda: list(data.minibatches(0, 4, np.zeros(4), last="pad")),  # pyright: ignore
            'last is \'pad\'; it must be "drop" or "keep"',
        ),
    ],
)
def test_mistakes_are_told(call, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert text_of(caught.value) == text
