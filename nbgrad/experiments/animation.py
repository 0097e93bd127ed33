"""Animated pictures."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image


def grab(figure: Figure) -> Image.Image:
    """What the canvas of a figure shows."""
    return Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[..., :3])  # pyright: ignore


def write_gif(
    path: Path, frames: Iterable[Image.Image], milliseconds: int, last: int = 1500
) -> None:
    """Write frames that each stay so long; the last stays for a while."""
    first, *rest = frames
    durations = [milliseconds] * len(rest) + [last]
    first.save(path, save_all=True, append_images=rest, duration=durations, loop=0)
