"""Two moons: a 2-16-16-2 network learns to tell two interleaved half circles apart.

Every step is plain gradient descent on all the points. A relu after the last layer too
(``last="relu"``) makes it harder than it need be: where both logits of a class are cut to zero no
gradient flows, and some seeds never recover: of the seeds 0 to 99, 59 reach 100 %. With
``last="linear"`` 97 do.
"""

import numpy as np

import nbgrad
from nbgrad.experiments.history import History, OnStep
from nbgrad.experiments.network import Last, Network

STEPS = 200
POINTS = 200
NOISE = 0.1
RATE = 0.9


def make_moons(
    rng: np.random.Generator, n: int, noise: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``n`` points (half of them, rounded down, on each moon) and their labels, 0 and 1.

    The angles are uniformly random; ``noise`` is the standard deviation added to the coordinates.
    """
    n_moon = n // 2
    outer, inner = rng.uniform(0, np.pi, (2, n_moon))
    points = np.concatenate(
        [
            np.stack([np.cos(outer), np.sin(outer)], axis=1),
            np.stack([1 - np.cos(inner), 0.5 - np.sin(inner)], axis=1),
        ]
    )
    points += noise * rng.standard_normal(points.shape)
    return points, np.repeat([0, 1], n_moon)


def train(
    seed: int = 0, steps: int = STEPS, last: Last = "relu", on_step: OnStep | None = None
) -> History:
    """Train on 200 points; the history's accuracy is that on the same points.

    Ctrl-C ends the training early and keeps the steps taken so far.
    """
    rng = np.random.default_rng(seed)
    x, labels = make_moons(rng, POINTS, NOISE)
    one_hot = np.eye(2)[labels]
    network = Network.random(rng, (2, 16, 16, 2), last)
    history = History(network, x, labels)
    try:
        for _ in range(steps):
            loss = nbgrad.logit_cross_entropy(network(x), one_hot)
            loss.backward()
            for parameter in network.parameters():
                parameter.data -= RATE * parameter.grad
                nbgrad.reset(parameter)
            history.record(loss.item(), on_step)
    except KeyboardInterrupt:
        history.interrupted = True
    return history
