"""A network of characters learns first names, and makes up new ones.

It reads three characters and predicts the fourth: an embedding, a hidden layer with batch norm,
logits. Minibatches, a rate of 0.1 and then 0.01; a tenth of the names is held out.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import nbgrad
from nbgrad.experiments.options import Seed, Steps
from nbgrad.experiments.progress import progress
from nbgrad.experiments.sheet import Sheet

BLOCK, EMBEDDING, HIDDEN, BATCH, STEPS, EVERY = 3, 10, 64, 32, 40_000, 1000
FEWEST = 50
"""Fewer names leave nothing to hold out."""
LETTERS = ".abcdefghijklmnopqrstuvwxyz"
"""The point stands before the first letter and after the last."""


def known_names(file: Path | None) -> list[str]:
    """The names of a file, or those of the US census."""
    try:
        names = nbgrad.data.names(file)
        if len(names) < FEWEST:
            raise ValueError(f"{file} holds {len(names)} names; give {FEWEST} or more")
    except ValueError as error:  # no text, or none that is a name
        raise typer.BadParameter(str(error), param_hint="'--file'") from None
    return names


def windows(names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Each `BLOCK` characters in a row, and the one that follows, as places in `LETTERS`."""
    x, y = [], []
    for name in names:
        text = [LETTERS.index(c) for c in "." * BLOCK + name + "."]
        x += [text[i : i + BLOCK] for i in range(len(name) + 1)]
        y += text[BLOCK:]
    return np.array(x), np.array(y)


def first_network(rng: np.random.Generator) -> nbgrad.nn.Chain:
    """Embedding, linear, batch norm, tanh, linear; logits small at first."""
    nn = nbgrad.nn
    last = nn.Dense.random(rng, HIDDEN, len(LETTERS))
    last.weight *= 0.1
    return nn.Chain(
        nn.Embedding.random(rng, len(LETTERS), EMBEDDING),
        nn.flatten,
        nn.Dense.random(rng, EMBEDDING * BLOCK, HIDDEN),
        nn.BatchNorm.of(HIDDEN),
        np.tanh,
        last,
    )


@nbgrad.compile
def learn(network: Any, x: Any, y: Any, batches: Any, rates: Any) -> tuple[Any, Any]:
    """A step for each batch of rows and its rate: the last network, and the loss of each batch."""

    def step(network, given):
        rows, rate = given

        def loss_of(network):
            logits, after = nbgrad.nn.training(network, x[rows])
            return nbgrad.logit_cross_entropy(logits, y[rows]), after

        (loss, after), slopes = nbgrad.value_and_grad(loss_of, has_aux=True)(network)
        _, network = nbgrad.optim.SGD(rate).update({"step": 0}, slopes, after)
        return network, loss

    return nbgrad.scan(step, network, (batches, rates))


def sample(network: Any, rng: np.random.Generator, longest: int = 15) -> str:
    """A new name, drawn character by character from what the network predicts."""
    text = [0] * BLOCK
    while len(text) < BLOCK + longest:
        chances = nbgrad.softmax(network(np.array([text[-BLOCK:]]))[0])
        text.append(int(rng.choice(len(LETTERS), p=chances)))
        if text[-1] == 0:
            break
    return "".join(LETTERS[i] for i in text).strip(".")


def run(
    sheet: Sheet,
    file: Annotated[
        Path | None, typer.Option(help="A text file of names, one a line; else US census names.")
    ] = None,
    seed: Seed = 0,
    steps: Steps = STEPS,
) -> None:
    """Learn first names and make up new ones.

    A network of three characters, an embedding, batch norm and tanh, trained
    on minibatches of 32 in a compiled loop. The names are those of the US census
    (pip install "nbgrad\\[names]"), or of a file.

    [bold]nbgrad run names[/]
    [bold]nbgrad run names --file towns.txt[/]
    """
    rng = np.random.default_rng(seed)
    names = known_names(file)
    (train,), (held,) = nbgrad.data.split(rng, 0.1, np.array(names))
    (x, y), (held_x, held_y) = windows(train.tolist()), windows(held.tolist())
    network, history, seen = first_network(rng), [], []
    with progress("names") as tell:
        for done in range(0, steps, EVERY):
            count = min(EVERY, steps - done)
            rates = np.where(np.arange(done, done + count) < 0.6 * steps, 0.1, 0.01)
            batches = rng.integers(0, len(x), (count, BATCH))
            network, losses = learn(network, x, y, batches, rates)
            loss = float(nbgrad.logit_cross_entropy(network(held_x), held_y))
            history.append(losses)
            seen.append((done + count, loss))
            tell(done + count, steps, f"held-out loss {loss:.4f}")
    sheet.csv("held-out", ("step", "loss"), seen)
    made = [sample(network, rng) for _ in range(20)]
    sheet.csv("made", ("name", "known"), [(name, name in set(names)) for name in made])
    sheet.figure("distinct names", len(names))
    sheet.figure("held-out loss", seen[-1][1])
    sheet.figure("names made up that are new", float(np.mean([n not in set(names) for n in made])))
    sheet.say("made up: " + ", ".join(made))
    if sheet.plots:
        from nbgrad.experiments.pictures import losses

        done, held_losses = zip(*seen, strict=True)
        marks = {"held-out tenth": (done, held_losses), "2.15": ((1, steps), (2.15, 2.15))}
        losses(
            sheet.out / "history.png", "The next character of a name",
            {"training": np.concatenate(history)}, marks, "cross entropy", "linear",
        )  # fmt: skip
