"""A photograph out of focus, made sharp again: the light that fell outside of it is sought, too.

Each point of the scene is spread over a disk, which is a product of Fourier transforms, and the
camera adds noise. Light from beyond the edges falls into the picture, so the unknown scene is
larger than the picture. L-BFGS finds the scene whose blurred picture is the measured one, with a
small price on its total variation. Dividing the spectra (Wiener's filter) is the picture to beat.
"""

from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.experiments.babysqrt import five_point
from nbgrad.experiments.options import Seed
from nbgrad.experiments.sheet import Sheet

SIZE, EDGE, RADIUS, NOISE, PRICE, SOFT = 288, 16, 5.0, 0.005, 0.05, 0.005
CORNER = 60, 200
"""The corner of the part of the photograph."""
INSIDE = slice(EDGE, SIZE - EDGE), slice(EDGE, SIZE - EDGE)


def photograph() -> np.ndarray:
    """The grey levels of a part of a photograph of the Summer Palace in Beijing."""
    from sklearn.datasets import load_sample_image

    y, x = CORNER
    colors = load_sample_image("china.jpg")[y : y + SIZE, x : x + SIZE]
    return colors @ np.array([0.299, 0.587, 0.114]) / 255


def disk() -> np.ndarray:
    """The spectrum of the blur: a disk around the corner, with soft edges."""
    place = np.minimum(np.arange(SIZE), SIZE - np.arange(SIZE))
    light = np.clip(RADIUS + 0.5 - np.hypot(place[:, None], place), 0, 1)
    return np.fft.rfft2(light / np.sum(light)).real


def blurred(scene: Any, spectrum: np.ndarray) -> Any:
    """The picture of a scene, without noise."""
    return np.fft.irfft2(np.fft.rfft2(scene) * spectrum, (SIZE, SIZE))[INSIDE]


def misfit(scene: Any, picture: Any, spectrum: Any) -> Any:
    """The mean square error in units of the noise, and the price of the variation."""
    error = (blurred(scene, spectrum) - picture) / NOISE
    down, right = scene[1:, :-1] - scene[:-1, :-1], scene[:-1, 1:] - scene[:-1, :-1]
    variation = np.sum(np.sqrt(down**2 + right**2 + SOFT**2))
    return (0.5 * np.sum(error**2) + PRICE / NOISE * variation) / picture.size


def filtered(picture: np.ndarray, spectrum: np.ndarray) -> np.ndarray:
    """Wiener's filter of the picture, whose edges are repeated around it."""
    around = np.pad(picture, EDGE, mode="edge")
    quotient = spectrum / (spectrum**2 + 0.01)
    return np.fft.irfft2(np.fft.rfft2(around) * quotient, (SIZE, SIZE))[INSIDE]


def signal_to_noise(found: np.ndarray, truth: np.ndarray) -> float:
    """The peak signal-to-noise ratio of grey levels from 0 to 1, in decibels."""
    return float(-10 * np.log10(np.mean((np.clip(found, 0, 1) - truth) ** 2)))


def run(sheet: Sheet, seed: Seed = 0, steps: int = 150) -> None:
    """Sharpen a photograph that is out of focus.

    The blur is a product of Fourier transforms, and its gradient two more:
    one compiled function, of 83,000 grey levels. L-BFGS finds the scene.

    [bold]nbgrad run deblur[/]
    """
    rng = np.random.default_rng(seed)
    truth, spectrum = photograph(), disk()
    clean = blurred(truth, spectrum)
    picture = clean + NOISE * rng.normal(size=clean.shape)
    start = np.pad(picture, EDGE, mode="edge")
    found = nbgrad.scipy.minimize(
        misfit, start, args=(picture, spectrum), method="L-BFGS-B", compile=True,
        options={"maxiter": steps, "maxfun": 2 * steps},
    )  # fmt: skip
    direction = rng.normal(size=start.shape)
    slope = nbgrad.compile(nbgrad.grad(misfit))(start, picture, spectrum)
    f = nbgrad.compile(misfit)
    difference = five_point(lambda t: float(f(start + t * direction, picture, spectrum)), 0.0, 1e-4)
    part, wiener = truth[INSIDE], filtered(picture, spectrum)
    sharp = found.x[INSIDE]
    sheet.figure("noise of the picture, dB", signal_to_noise(picture, part))
    sheet.figure("noise after Wiener's filter, dB", signal_to_noise(wiener, part))
    sheet.figure("noise of the found scene, dB", signal_to_noise(sharp, part))
    error = (blurred(found.x, spectrum) - picture) / NOISE
    sheet.figure("mean square residual, in units of the noise", float(np.mean(error**2)))
    expected = float(np.sum(slope * direction))
    sheet.figure("gradient and differences apart, relative", abs(difference / expected - 1))
    sheet.say(f"{found.nit} steps of L-BFGS, {found.nfev} gradients")
    if sheet.plots:
        pictures = {"out of focus": picture, "Wiener's filter": wiener, "found": sharp}
        draw(sheet.out / "deblur.png", {**pictures, "truth": part})


def draw(path: Path, pictures: dict[str, np.ndarray]) -> None:
    """Draw pictures beside each other, and write a PNG."""
    from nbgrad.experiments.style import new_figure

    figure = new_figure(3.2 * len(pictures), 3.5)
    for axes, (title, grey) in zip(
        figure.subplots(1, len(pictures)), pictures.items(), strict=True
    ):
        axes.imshow(grey, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(title)
        axes.set_axis_off()
    figure.savefig(path)
