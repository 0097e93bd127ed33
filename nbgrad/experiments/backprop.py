"""Backpropagation by hand through a character network, one formula a line, against nbgrad.

The network reads three characters and predicts the fourth. Its forward pass is cut into atomic
steps, so that the gradient of every intermediate has a formula of one line; the 26 gradients of
parameters and intermediates, by hand and by nbgrad, must agree.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.options import Seed
from nbgrad.experiments.sheet import Sheet

VOCABULARY, BLOCK, EMBEDDING, HIDDEN, BATCH = 27, 3, 10, 64, 32
Keep = Callable[[str, Any], Any]
"""Given each intermediate by name; gives it back."""


def first_weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """No zeros anywhere: they would hide mistakes."""
    fan_in = EMBEDDING * BLOCK
    return {
        "C": rng.normal(size=(VOCABULARY, EMBEDDING)),
        "W1": rng.normal(size=(fan_in, HIDDEN)) * (5 / 3) / fan_in**0.5,
        "b1": rng.normal(size=HIDDEN) * 0.1,
        "W2": rng.normal(size=(HIDDEN, VOCABULARY)) * 0.1,
        "b2": rng.normal(size=VOCABULARY) * 0.1,
        "bngain": rng.normal(size=(1, HIDDEN)) * 0.1 + 1.0,
        "bnbias": rng.normal(size=(1, HIDDEN)) * 0.1,
    }


def forward(p: dict[str, Any], Xb: np.ndarray, Yb: np.ndarray, keep: Keep) -> Any:
    """The loss, in steps that can be taken back one at a time."""
    n = len(Xb)
    emb = keep("emb", p["C"][Xb])
    embcat = keep("embcat", emb.reshape(n, -1))
    hprebn = keep("hprebn", embcat @ p["W1"] + p["b1"])
    # batch norm, with Bessel's correction
    bnmeani = keep("bnmeani", 1 / n * hprebn.sum(0, keepdims=True))
    bndiff = keep("bndiff", hprebn - bnmeani)
    bndiff2 = keep("bndiff2", bndiff**2)
    bnvar = keep("bnvar", 1 / (n - 1) * bndiff2.sum(0, keepdims=True))
    bnvar_inv = keep("bnvar_inv", (bnvar + 1e-5) ** -0.5)
    bnraw = keep("bnraw", bndiff * bnvar_inv)
    hpreact = keep("hpreact", p["bngain"] * bnraw + p["bnbias"])
    h = keep("h", np.tanh(hpreact))
    logits = keep("logits", h @ p["W2"] + p["b2"])
    # cross entropy
    logit_maxes = keep("logit_maxes", logits.max(1, keepdims=True))
    norm_logits = keep("norm_logits", logits - logit_maxes)
    counts = keep("counts", np.exp(norm_logits))
    counts_sum = keep("counts_sum", counts.sum(1, keepdims=True))
    counts_sum_inv = keep("counts_sum_inv", counts_sum**-1)
    probs = keep("probs", counts * counts_sum_inv)
    logprobs = keep("logprobs", np.log(probs))
    return -logprobs[range(n), Yb].mean()


def eager(p: dict[str, Any], Xb: np.ndarray, Yb: np.ndarray) -> dict[str, tuple[Any, Any]]:
    """Value and gradient of every intermediate and parameter, by one backward pass."""
    tracked = {name: nbgrad.track(x, name) for name, x in p.items()}
    kept = dict(tracked)

    def keep(name: str, x: Any) -> Any:
        kept[name] = x
        return x

    forward(tracked, Xb, Yb, keep).backward(keep_grads=True)
    return {name: (x.data, x.grad) for name, x in kept.items()}


@nbgrad.compile
@nbgrad.grad
def compiled(both: tuple, Xb: Any, Yb: Any) -> Any:
    """All gradients in one compiled function: that of an intermediate is the gradient with respect
    to a zero that is added to it."""
    p, zeros = both
    return forward(p, Xb, Yb, lambda name, x: x + zeros[name])


def by_hand(v: dict[str, np.ndarray], Xb: np.ndarray, Yb: np.ndarray) -> dict[str, np.ndarray]:
    """The gradients by formulas, the last step first; `v` are the values of the forward pass."""
    n, d = len(Xb), {}
    d["logprobs"] = np.zeros_like(v["logprobs"])
    d["logprobs"][range(n), Yb] = -1.0 / n
    d["probs"] = (1.0 / v["probs"]) * d["logprobs"]
    d["counts_sum_inv"] = (v["counts"] * d["probs"]).sum(1, keepdims=True)
    d["counts_sum"] = -(v["counts_sum"] ** -2) * d["counts_sum_inv"]
    d["counts"] = v["counts_sum_inv"] * d["probs"] + d["counts_sum"]
    d["norm_logits"] = v["counts"] * d["counts"]
    d["logit_maxes"] = -d["norm_logits"].sum(1, keepdims=True)
    largest = np.eye(VOCABULARY)[v["logits"].argmax(1)]
    d["logits"] = d["norm_logits"] + largest * d["logit_maxes"]
    d["h"] = d["logits"] @ v["W2"].T
    d["W2"] = v["h"].T @ d["logits"]
    d["b2"] = d["logits"].sum(0)
    d["hpreact"] = (1.0 - v["h"] ** 2) * d["h"]
    d["bngain"] = (v["bnraw"] * d["hpreact"]).sum(0, keepdims=True)
    d["bnbias"] = d["hpreact"].sum(0, keepdims=True)
    d["bnraw"] = v["bngain"] * d["hpreact"]
    d["bnvar_inv"] = (v["bndiff"] * d["bnraw"]).sum(0, keepdims=True)
    d["bnvar"] = -0.5 * (v["bnvar"] + 1e-5) ** -1.5 * d["bnvar_inv"]
    d["bndiff2"] = 1.0 / (n - 1) * np.ones_like(v["bndiff2"]) * d["bnvar"]
    d["bndiff"] = v["bnvar_inv"] * d["bnraw"] + 2 * v["bndiff"] * d["bndiff2"]
    d["bnmeani"] = -d["bndiff"].sum(0, keepdims=True)
    d["hprebn"] = d["bndiff"] + 1.0 / n * d["bnmeani"]
    d["embcat"] = d["hprebn"] @ v["W1"].T
    d["W1"] = v["embcat"].T @ d["hprebn"]
    d["b1"] = d["hprebn"].sum(0)
    d["emb"] = d["embcat"].reshape(v["emb"].shape)
    d["C"] = np.zeros_like(v["C"])
    np.add.at(d["C"], Xb, d["emb"])
    return d


def run(sheet: Sheet, seed: Seed = 0) -> None:
    """Take a character network back by hand, step by step.

    Compares the 26 formulas of a manual backward pass with the gradients of
    nbgrad, eager and compiled, of every parameter and every intermediate.

    [bold]nbgrad run backprop[/]
    """
    rng = np.random.default_rng(seed)
    p = first_weights(rng)
    Xb = rng.integers(0, VOCABULARY, (BATCH, BLOCK))
    Yb = rng.integers(0, VOCABULARY, BATCH)
    found = eager(p, Xb, Yb)
    values = {name: value for name, (value, _) in found.items()}
    zeros = {name: np.zeros_like(x) for name, x in values.items() if name not in p}
    of_p, of_zeros = compiled((p, zeros), Xb, Yb)
    manual = by_hand(values, Xb, Yb)
    rows = []
    for name, formula in manual.items():
        apart = np.abs(found[name][1] - formula).max()
        apart_compiled = np.abs((of_p | of_zeros)[name] - formula).max()
        shape = " x ".join(map(str, formula.shape))
        rows.append((name, shape, np.abs(formula).max(), float(apart), float(apart_compiled)))
    sheet.table(
        "gradients",
        "Gradients: by hand, and how far nbgrad's are from them",
        {"of": "", "shape": "", "largest": ".1e", "eager apart": ".0e", "compiled apart": ".0e"},
        rows,
    )
    sheet.figure("parameters", sum(x.size for x in p.values()))
    sheet.figure("gradients compared", len(rows))
    sheet.figure("largest difference, eager", max(row[3] for row in rows))
    sheet.figure("largest difference, compiled", max(row[4] for row in rows))
    if sheet.plots:
        draw(sheet, rows)


def draw(sheet: Sheet, rows: list[tuple]) -> None:
    """Draw the largest element of each gradient, and how far the others are from it."""
    from nbgrad.experiments.pictures import finish
    from nbgrad.experiments.style import BLUE, INK, ORANGE, new_figure

    figure = new_figure(7.4, 6.4)
    axes = figure.subplots()
    names, places = [row[0] for row in rows], np.arange(len(rows))
    floor = 1e-18  # where both agree in every bit, for the logarithm
    axes.plot([row[2] for row in rows], places, "o", color=INK, label="largest element")
    for column, color, marker, way in ((3, BLUE, "<", "eager"), (4, ORANGE, ">", "compiled")):
        apart = np.maximum([row[column] for row in rows], floor)
        axes.plot(apart, places, marker, color=color, label=f"{way}: apart from the formula")
    axes.axvline(1e-12, color="#999999", linestyle="--", linewidth=1, label="1e-12")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    finish(axes, "26 gradients, backwards through the network", "absolute", "", legend=False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, labelcolor=INK)
    figure.savefig(sheet.out / "gradients.png")
