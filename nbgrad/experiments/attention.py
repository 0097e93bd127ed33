"""A small transformer reads Python's own manual, character by character.

Two blocks of causal attention and a dense layer each, with layer norm and residuals, predict the
next of 32 characters; AdamW, warm-up and cosine. Beside its loss stands that of counting pairs of
characters. The text is the manual that every Python brings for its help.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.options import Seed, Steps
from nbgrad.experiments.progress import progress
from nbgrad.experiments.sheet import Sheet

CONTEXT, WIDTH, HEADS, BLOCKS, BATCH, STEPS, EVERY = 32, 32, 4, 2, 16, 1500, 100
CHARACTERS = 200_000


@dataclass
class Block:
    """Attention and a dense layer, each added to what it gets."""

    norms: list[Any]
    attention: Any
    dense: Any

    def __call__(self, x: Any) -> Any:
        x = x + self.attention(self.norms[0](x))
        return x + self.dense(self.norms[1](x))


@dataclass
class Transformer:
    """Embeddings of characters and places, blocks, and logits of the next character."""

    characters: Any
    places: Any
    blocks: list[Block]
    norm: Any
    last: Any

    def __call__(self, x: Any) -> Any:
        x = self.characters(x) + self.places
        for block in self.blocks:
            x = block(x)
        return self.last(self.norm(x))


def first_network(rng: np.random.Generator, letters: int) -> Transformer:
    nn, kind = nbgrad.nn, np.float32

    def block() -> Block:
        dense = nn.Chain(
            nn.Dense.random(rng, WIDTH, 4 * WIDTH, dtype=kind), nbgrad.relu,
            nn.Dense.random(rng, 4 * WIDTH, WIDTH, dtype=kind),
        )  # fmt: skip
        norms = [nn.LayerNorm.of(WIDTH, dtype=kind) for _ in range(2)]
        return Block(norms, nn.Attention.random(rng, WIDTH, HEADS, causal=True, dtype=kind), dense)

    return Transformer(
        nn.Embedding.random(rng, letters, WIDTH, dtype=kind),
        0.1 * rng.normal(size=(CONTEXT, WIDTH)).astype(kind),
        [block() for _ in range(BLOCKS)],
        nn.LayerNorm.of(WIDTH, dtype=kind),
        nn.Dense.random(rng, WIDTH, letters, dtype=kind),
    )


def loss_of(network: Any, windows: Any) -> Any:
    """The cross entropy of each next character, over all places of all windows."""
    logits = network(windows[:, :-1])
    return nbgrad.logit_cross_entropy(
        np.reshape(logits, (-1, logits.shape[-1])), np.reshape(windows[:, 1:], -1)
    )


@nbgrad.compile(static_argnames="optimiser")
def step(network: Any, state: Any, windows: Any, optimiser: Any) -> tuple[Any, Any, Any]:
    """The loss, and network and state after one step."""
    loss, slopes = nbgrad.value_and_grad(loss_of)(network, windows)
    state, network = optimiser.update(state, slopes, network)
    return loss, network, state


def manual() -> tuple[np.ndarray, str]:
    """The beginning of Python's manual as places in its letters, and the letters."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics))[:CHARACTERS]
    letters = "".join(sorted(set(text)))
    place = {c: i for i, c in enumerate(letters)}
    return np.array([place[c] for c in text]), letters


def by_pairs(train: np.ndarray, held: np.ndarray, letters: int) -> float:
    """The held-out loss of predicting from the character before, by counts."""
    counts = np.ones((letters, letters))
    np.add.at(counts, (train[:-1], train[1:]), 1)
    chances = counts / counts.sum(axis=1, keepdims=True)
    return float(-np.mean(np.log(chances[held[:-1], held[1:]])))


def write(network: Any, text: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """More text, drawn character by character from what the network predicts."""
    predict = nbgrad.compile(lambda network, x: nbgrad.softmax(network(x)[0, -1]))
    for _ in range(count):
        chances = np.asarray(predict(network, text[None, -CONTEXT:]), float)
        text = np.append(text, rng.choice(len(chances), p=chances / chances.sum()))
    return text


def run(sheet: Sheet, seed: Seed = 0, steps: Steps = STEPS) -> None:
    """Read Python's manual with a small transformer.

    Two blocks of causal attention, trained by AdamW in float32; every step is
    one compiled function. Afterwards it writes some manual of its own.

    [bold]nbgrad run attention[/]
    [bold]nbgrad run attention --steps 500[/]
    """
    rng = np.random.default_rng(seed)
    text, letters = manual()
    train, held = text[: len(text) * 9 // 10], text[len(text) * 9 // 10 :]
    network = first_network(rng, len(letters))
    rate = nbgrad.optim.warmup(nbgrad.optim.cosine(0.004, steps), 50)
    optimiser = nbgrad.optim.AdamW(rate)
    state, losses, seen = optimiser.init(network), [], []
    reach = np.arange(CONTEXT + 1)
    held_windows = held[(np.arange(200) * (len(held) // 201))[:, None] + reach]
    evaluate = nbgrad.compile(loss_of)
    with progress("attention") as tell:
        for i in range(1, steps + 1):
            starts = rng.integers(0, len(train) - CONTEXT, BATCH)
            loss, network, state = step(network, state, train[starts[:, None] + reach], optimiser)
            losses.append(float(loss))
            if i % EVERY == 0 or i == steps:
                seen.append((i, float(evaluate(network, held_windows))))
                tell(i, steps, f"loss {loss:.3f}  held out {seen[-1][1]:.3f}")
    pairs = by_pairs(train, held, len(letters))
    sheet.csv("losses", ("step", "loss"), enumerate(losses, start=1))
    sheet.csv("held-out", ("step", "loss"), seen)
    sheet.figure("first loss / ln of the letters", losses[0] / float(np.log(len(letters))))
    sheet.figure("held-out loss", seen[-1][1])
    sheet.figure("held-out loss by pairs of characters", pairs)
    written = write(network, held[:CONTEXT], rng, 300)[CONTEXT:]
    (sheet.out / "written.txt").write_text("".join(letters[i] for i in written), encoding="utf-8")
    sheet.say("it writes: " + " ".join("".join(letters[i] for i in written).split()))
    if sheet.plots:
        from nbgrad.experiments.pictures import losses as draw_losses

        done, held_losses = zip(*seen, strict=True)
        marks = {"held out": (done, held_losses), "by pairs": ((1, steps), (pairs, pairs))}
        draw_losses(
            sheet.out / "history.png", "The next character of Python's manual",
            {"training": losses}, marks, "cross entropy", "linear",
        )  # fmt: skip
