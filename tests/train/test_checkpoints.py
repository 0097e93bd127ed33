"""Checkpoints: what is read is what was written, or one line says why not."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.messages import text_of

import nbgrad
from nbgrad import CheckpointError, nn
from nbgrad.train import load, save


@dataclass
class Model:
    w: Any
    layers: Any
    size: float = 2.5
    count: int = 3
    act: Any = np.tanh
    name: str = "model"
    rest: Any = None


def model(scale=1.0, **other):
    w = scale * np.arange(6.0).reshape(2, 3)
    layers = {"a": w.astype(np.float32), "b": (np.array([True]), scale * np.float32(3.0))}
    return Model(**{"w": w, "layers": layers, "size": 2.5 * scale, **other})


def test_there_and_back(tmp_path):
    path = tmp_path / "model.npz"
    save(path, model(2.0, count=7))
    found = load(path, model())
    np.testing.assert_array_equal(found.w, 2.0 * model().w)
    np.testing.assert_array_equal(found.layers["a"], 2.0 * model().layers["a"])
    assert found.layers["a"].dtype == np.float32 and type(found.layers["b"][1]) is np.float32
    assert (found.size, found.count, found.act, found.rest) == (5.0, 7, np.tanh, None)
    assert type(found.size) is float and type(found.count) is int
    with np.load(path, allow_pickle=False) as file:
        assert set(file) == {"keys", *(f"array{i}" for i in range(6))}
    save(path, np.ones(3))
    np.testing.assert_array_equal(load(path, np.zeros(3)), np.ones(3))


def test_layers_and_states(tmp_path):
    chain = nn.Chain(nn.Conv2d.random(0, 1, 2), nn.Dropout.of(0.5, 9), nbgrad.relu)
    save(tmp_path / "chain.npz", chain)
    found = load(tmp_path / "chain.npz", nn.Chain(nn.Conv2d.random(5, 1, 2), *chain.layers[1:]))
    np.testing.assert_array_equal(found.layers[0].weight, chain.layers[0].weight)
    np.testing.assert_array_equal(found.layers[1].state, nbgrad.random.key(9))


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"w": np.zeros((2, 4))}, "w is float64[2, 3] there, and float64[2, 4] here"),
        ({"w": np.zeros((2, 3), "f")}, "w is float64[2, 3] there, and float32[2, 3] here"),
        ({"act": nbgrad.relu}, "act is tanh there, and relu here"),
        ({"name": "other"}, "name is model there, and other here"),
        ({"rest": 1.0}, "rest is only in one of the two"),
        ({"layers": {"a": np.zeros((2, 3), "f")}}, "layers.b.0 is only in one of the two"),
    ],
)
def test_another_model(tmp_path, other, text):
    path = tmp_path / "model.npz"
    save(path, model())
    with pytest.raises(CheckpointError) as caught:
        load(path, model(**other))
    assert text_of(caught.value) == f"{path} is a checkpoint of another model: {text}"


def test_any_flipped_byte_and_any_end_is_noticed(tmp_path):
    path = tmp_path / "model.npz"
    save(path, model())
    whole = path.read_bytes()
    for at in range(0, len(whole), 5):
        changed = bytearray(whole)
        changed[at] ^= 0x10
        path.write_bytes(changed)
        with pytest.raises(CheckpointError, match=r"is damaged: its checksum|is not a checkpoint"):
            load(path, model())
    for end in (0, 1, 30, len(whole) // 2, len(whole) - 64, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(CheckpointError, match=r"is damaged: its checksum|is not a checkpoint"):
            load(path, model())
    path.write_bytes(whole)
    load(path, model())


def test_what_cannot_be_read_or_written(tmp_path):
    with pytest.raises(CheckpointError, match=r"x\.npz cannot be read: No such file"):
        load(tmp_path / "x.npz", model())
    with pytest.raises(CheckpointError, match="cannot be read: Is a directory"):
        load(tmp_path, model())
    with pytest.raises(CheckpointError, match=r"none/x\.npz cannot be written: No such file"):
        save(tmp_path / "none" / "x.npz", model())
    (tmp_path / "file").write_text("words")
    with pytest.raises(CheckpointError, match="cannot be written: Not a directory"):
        save(tmp_path / "file" / "x.npz", model())
    with pytest.raises(CheckpointError, match="is not a checkpoint: it is not a"):
        load(tmp_path / "file", model())
    np.savez(tmp_path / "plain.npz", a=np.ones(3))
    with pytest.raises(CheckpointError, match="is damaged: its checksum is wrong"):
        load(tmp_path / "plain.npz", model())
    with pytest.raises(CheckpointError, match="w is a Fraction: only numbers and arrays"):
        from fractions import Fraction

        save(tmp_path / "x.npz", model(w=Fraction(1, 2)))
    with pytest.raises(CheckpointError, match=r"two values of the tree have the name a\.b"):
        save(tmp_path / "x.npz", {"a": {"b": 1.0}, "a.b": 2.0})
    assert sorted(x.name for x in tmp_path.iterdir()) == ["file", "plain.npz"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_the_old_file_stays_where_a_new_one_fails(tmp_path, monkeypatch, error):
    path = tmp_path / "model.npz"
    save(path, model())

    def failing(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises((CheckpointError, KeyboardInterrupt)) as caught:
            save(path, model(2.0))
    if isinstance(error, OSError):
        assert text_of(caught.value) == f"{path} cannot be written: No space left on device"
    assert load(path, model()).size == 2.5
    assert [x.name for x in tmp_path.iterdir()] == ["model.npz"]
