"""The pictures of misread digits: what is counted, and what is shown."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
from matplotlib.image import imread

from nbgrad.experiments import misreadings
from nbgrad.experiments.history import History


@dataclass
class Reader:
    """In place of a network: it reads what it is told to."""

    read: np.ndarray

    def predict(self, x: Any) -> np.ndarray:
        return self.read


def history(labels: list[int], read: list[int]) -> History:
    images = np.random.default_rng(0).random((len(labels), 64))
    return History(cast(Any, Reader(np.array(read))), images, np.array(labels))


def titles(monkeypatch, given: History, path) -> list[str]:
    """What the sheet says: its heading, then a line for each image."""
    figures = []

    def kept(*size):
        figures.append(new_figure(*size))
        return figures[-1]

    new_figure = misreadings.new_figure
    monkeypatch.setattr(misreadings, "new_figure", kept)
    misreadings.plot_misread(given, path)
    (figure,) = figures
    return [figure.get_suptitle(), *filter(None, (axes.get_title() for axes in figure.axes))]


def test_confusion_counts_what_was_read_for_what():
    counts = misreadings.confusion(np.array([8, 8, 3, 8]), np.array([3, 3, 3, 8]))
    assert counts.shape == (10, 10) and counts.sum() == 4
    assert (counts[8, 3], counts[3, 3], counts[8, 8]) == (2, 1, 1)


def test_the_sheet_says_what_was_read_and_what_it_is(monkeypatch, tmp_path):
    given = history([8, 3, 9, 1], [3, 3, 4, 1])
    told = titles(monkeypatch, given, tmp_path / "misread.png")
    assert told == ["2 misread digits of 4", "read 3, is 8", "read 4, is 9"]


def test_a_sheet_without_misread_digits_says_so(monkeypatch, tmp_path):
    told = titles(monkeypatch, history([1, 2], [1, 2]), tmp_path / "misread.png")
    assert told == ["No misread digits:\nall 2 were read right"]


def test_a_sheet_has_room_for_so_many(monkeypatch, tmp_path):
    told = titles(monkeypatch, history([1] * 200, [7] * 200), tmp_path / "misread.png")
    assert told == ["200 misread digits of 200, 60 of them shown", *["read 7, is 1"] * 60]


@pytest.mark.parametrize("read", [[0, 1, 2], [7, 7, 7], [0, 1, 7]])
def test_any_confusion_can_be_drawn(tmp_path, read):
    path = tmp_path / "confusion.png"
    misreadings.plot_confusion(np.array([0, 1, 2]), np.array(read), path, "Digits")
    assert imread(tmp_path / "confusion.png").shape[0] > 500
