"""The digits experiment: it learns, repeats itself, and keeps what an interrupt leaves."""

import numpy as np
import pytest

from nbgrad.experiments import digits


@pytest.mark.full
def test_the_default_run_reads_97_percent_of_the_held_out_digits():
    history = digits.train()
    assert len(history.steps) == digits.STEPS
    assert history.accuracy >= 0.97
    assert history.steps[-1].accuracy == history.accuracy
    assert history.correct == round(history.accuracy * len(history.labels))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 5))
def test_other_seeds_read_97_percent_too(seed):
    assert digits.train(seed).accuracy >= 0.97


def test_the_split_is_stratified_and_loses_nothing():
    data = digits.load(np.random.default_rng(0))
    assert len(data.train_x) + len(data.held_x) == 1797
    assert data.train_x.shape[1] == data.held_x.shape[1] == 64
    assert data.train_x.min() == 0 and data.train_x.max() == 1
    held = np.bincount(data.held_labels)
    total = held + np.bincount(data.train_labels)
    assert (abs(held - total / 4) <= 0.5).all()


def test_the_split_is_drawn_from_the_seed():
    first, again, other = (digits.load(np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.held_x, again.held_x)
    assert not np.array_equal(first.held_x, other.held_x)


def test_a_seed_repeats_its_history():
    assert digits.train(seed=3, steps=30).steps == digits.train(seed=3, steps=30).steps
    assert digits.train(seed=4, steps=30).steps != digits.train(seed=3, steps=30).steps


def test_the_loss_falls():
    history = digits.train(steps=120)
    losses = [step.loss for step in history.steps]
    assert np.mean(losses[-20:]) < np.mean(losses[:20]) / 2


@pytest.mark.parametrize("stop", [1, 7])
def test_an_interrupt_keeps_the_steps_so_far(stop):
    seen = []

    def on_step(step):
        seen.append(step)
        if step.step == stop:
            raise KeyboardInterrupt

    history = digits.train(steps=50, on_step=on_step)
    assert history.interrupted
    assert history.steps == seen
    assert [step.step for step in seen] == list(range(1, stop + 1))


def test_compiled_steps_have_the_losses_of_eager_ones():
    eager, compiled = digits.train(steps=40), digits.train(steps=40, compiled=True)
    for one, other in zip(eager.steps, compiled.steps, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-11)
    for layer, other in zip(eager.network.arrays(), compiled.network.arrays(), strict=True):
        for one, two in zip(layer, other, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
