"""The moons experiment: the data, the training, and where its two last layers differ."""

import numpy as np
import pytest

from nbgrad.experiments import moons


@pytest.mark.parametrize("last", ["relu", "linear"])
def test_the_default_seed_separates_every_point(last):
    history = moons.train(last=last)
    assert history.correct == len(history.labels) == moons.POINTS
    assert history.steps[-1].loss < 0.05


def test_the_moons_are_half_circles():
    points, labels = moons.make_moons(np.random.default_rng(0), 101)
    assert points.shape == (100, 2)
    np.testing.assert_array_equal(np.bincount(labels), [50, 50])
    outer, inner = points[labels == 0], points[labels == 1] - [1, 0.5]
    np.testing.assert_allclose(np.hypot(*outer.T), 1)
    np.testing.assert_allclose(np.hypot(*inner.T), 1)
    assert (outer[:, 1] >= 0).all()
    assert (inner[:, 1] <= 0).all()


def test_the_noise_has_the_deviation_asked_for():
    clean, _ = moons.make_moons(np.random.default_rng(0), 2000)
    noisy, _ = moons.make_moons(np.random.default_rng(0), 2000, noise=0.1)
    assert np.std(noisy - clean) == pytest.approx(0.1, rel=0.1)


def test_relu_keeps_the_logits_from_going_below_zero():
    assert moons.train(steps=3, last="relu").network.logits(np.zeros((1, 2))).min() >= 0
    far = np.array([[-9.0, 9.0], [9.0, -9.0]])
    assert moons.train(steps=50, last="linear").network.logits(far).min() < 0


def test_tracked_and_plain_logits_agree():
    history = moons.train(steps=3)
    tracked, plain = history.network(history.x), history.network.logits(history.x)
    assert type(plain) is np.ndarray
    np.testing.assert_array_equal(tracked.data, plain)


def test_a_seed_repeats_its_history():
    assert moons.train(seed=5, steps=20).steps == moons.train(seed=5, steps=20).steps
    assert moons.train(seed=6, steps=20).steps != moons.train(seed=5, steps=20).steps


def test_an_interrupt_keeps_the_steps_so_far():
    def on_step(step):
        if step.step == 4:
            raise KeyboardInterrupt

    history = moons.train(steps=50, on_step=on_step)
    assert history.interrupted
    assert history.steps == moons.train(steps=50).steps[:4]


@pytest.mark.parametrize("last", ["relu", "linear"])
def test_compiled_steps_have_the_losses_of_eager_ones(last):
    eager = moons.train(steps=20, last=last)
    compiled = moons.train(steps=20, last=last, compiled=True)
    for one, other in zip(eager.steps, compiled.steps, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-11)
        assert one.accuracy == other.accuracy


def test_a_compiled_training_separates_every_point():
    history = moons.train(compiled=True)
    assert history.correct == len(history.labels)


def test_the_race_is_won():
    """The measured ratio is near 4; the bound leaves room for a busy machine."""
    found = moons.race()
    assert found.ratio > 1.2
    assert str(found).endswith("times as long")
