"""Handwritten digits by a small convolutional network, in float32.

Two convolutions with pooling between, a dense layer with dropout, and Adam; each step of training
is one compiled function. Three quarters of the digits train it, every other batch shifted by up to
a pixel; the rest measure it.
"""

from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.options import Seed, Steps
from nbgrad.experiments.progress import progress
from nbgrad.experiments.race import raced
from nbgrad.experiments.sheet import Sheet

BATCH, STEPS, EVERY, RATE = 64, 2000, 50, 0.003


def first_network(rng: np.random.Generator) -> nbgrad.nn.Chain:
    """Convolutions to 16 and 32 channels, pooling, and dense layers to 64 and 10."""
    nn, kind = nbgrad.nn, np.float32
    return nn.Chain(
        nn.Conv2d.random(rng, 1, 16, 3, padding=1, dtype=kind), nbgrad.relu, nn.MaxPool2d(2),
        nn.Conv2d.random(rng, 16, 32, 3, padding=1, dtype=kind), nbgrad.relu, nn.MaxPool2d(2),
        nn.flatten,
        nn.Dense.random(rng, 128, 64, dtype=kind), nbgrad.relu, nn.Dropout.of(0.3, seed=1),
        nn.Dense.random(rng, 64, 10, dtype=kind),
    )  # fmt: skip


def step(network: Any, state: Any, x: Any, y: Any, optimiser: Any) -> tuple[Any, Any, Any]:
    """The loss, and network and state after one step."""

    def loss_of(network):
        logits, after = nbgrad.nn.training(network, x)
        return nbgrad.logit_cross_entropy(logits, y), after

    (loss, after), slopes = nbgrad.value_and_grad(loss_of, has_aux=True)(network)
    state, network = optimiser.update(state, slopes, after)
    return loss, network, state


compiled_step = nbgrad.compile(step, static_argnames="optimiser")


def shifted(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Images moved by up to a pixel in each direction."""
    down, across = rng.integers(-1, 2, 2)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return padded[:, 1 + down : 9 + down, 1 + across : 9 + across].copy()


def run(sheet: Sheet, seed: Seed = 0, steps: Steps = STEPS) -> None:
    """Read handwritten digits with a convolutional network.

    Two convolutions, pooling, dropout and Adam with a cosine schedule, in
    float32; every step is one compiled function.

    [bold]nbgrad run digits-conv[/]
    [bold]nbgrad run digits-conv --steps 300[/]
    """
    rng = np.random.default_rng(seed)
    images, labels = nbgrad.data.digits()
    images = images.reshape(-1, 8, 8, 1).astype(np.float32)
    (x, y), (held_x, held_y) = nbgrad.data.split(rng, 0.25, images, labels, by=labels)
    network = first_network(rng)
    optimiser = nbgrad.optim.Adam(nbgrad.optim.cosine(RATE, steps))
    state, losses, seen = optimiser.init(network), [], []
    evaluate = nbgrad.compile(lambda network, x: network(x))
    with progress("digits-conv") as tell:
        batches = nbgrad.data.minibatches(seed, BATCH, x, y, epochs=steps)
        for i, (some_x, some_y) in zip(range(1, steps + 1), batches, strict=False):
            some_x = shifted(rng, some_x) if i % 2 else some_x
            loss, network, state = compiled_step(network, state, some_x, some_y, optimiser)
            losses.append(float(loss))
            if i % EVERY == 0 or i == steps:
                found = nbgrad.data.one_cold(evaluate(network, held_x))
                seen.append((i, float(np.mean(found == held_y))))
                tell(i, steps, f"loss {loss:.4f}  {100 * seen[-1][1]:.1f} %")
    sheet.csv("losses", ("step", "loss"), enumerate(losses, start=1))
    sheet.csv("held-out", ("step", "accuracy"), seen)
    sheet.figure("held-out accuracy", seen[-1][1])
    given = (network, state, x[:BATCH], y[:BATCH], optimiser)
    race = raced(lambda: step(*given), lambda: compiled_step(*given), rounds=5)
    sheet.figure("eager step / compiled step", race.ratio)
    sheet.say(str(race))
    if sheet.plots:
        draw(sheet, network, losses, seen, held_x, held_y)


def draw(
    sheet: Sheet, network: Any, losses: list, seen: list, x: np.ndarray, y: np.ndarray
) -> None:
    """Draw the training, which digits are taken for which, and the first filters."""
    from nbgrad.experiments import pictures
    from nbgrad.experiments.misreadings import plot_confusion
    from nbgrad.experiments.style import new_figure

    found = nbgrad.data.one_cold(network(x))
    title = f"Digits: held-out accuracy {100 * seen[-1][1]:.1f} %"
    pictures.losses(sheet.out / "history.png", title, {"training loss": losses})
    steps, accuracies = zip(*seen, strict=True)
    lines = {"held-out accuracy": (steps, accuracies)}
    pictures.curves(sheet.out / "accuracy.png", title, lines, "step", "held-out accuracy")
    plot_confusion(y, found, sheet.out / "confusion.png", title)
    figure = new_figure(6, 1.9)
    for axes, kernel in zip(
        figure.subplots(2, 8).flat,
        np.moveaxis(network.layers[0].weight[:, :, 0], 2, 0),
        strict=True,
    ):
        axes.imshow(kernel, cmap="RdBu", vmin=-0.8, vmax=0.8)
        axes.set_axis_off()
    figure.suptitle("The sixteen filters of the first convolution", fontsize=10)
    figure.savefig(sheet.out / "filters.png")
