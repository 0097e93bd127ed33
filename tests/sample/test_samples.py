"""`Samples`: summaries, maps, HTML and ArviZ."""

import pickle
import sys
import types

import numpy as np
import pytest
from densities import EFFECTS, SCHOOLS, schools

import nbgrad
from nbgrad.sample import nuts


@pytest.fixture(scope="module")
def found():
    return nuts(schools, SCHOOLS, args=(EFFECTS,), draws=500, warmup=300)


def test_diagnostics_nest_as_the_start(found):
    assert found.rhat["z"].shape == (8,) and 0.99 < found.rhat["mean"] < 1.02
    assert found.ess_bulk["z"].min() > 200 and found.ess_tail["mean"] > 200
    assert found.flat.shape == (4, 500, 10)
    np.testing.assert_array_equal(found.flat[..., 1], found.draws["mean"])


def test_a_summary_prints_itself(found):
    table = found.summary()
    lines = repr(table).splitlines()
    assert "4 chains of 500 draws of 10 numbers" in lines[0]
    assert lines[2].split() == [*table.columns] and len(table) == 10
    assert lines[3].startswith("log_spread ") and lines[5].startswith("z[0] ")
    assert len({len(line) for line in lines[2:13]}) == 1
    np.testing.assert_allclose(table["mean"][1], found.draws["mean"].mean())
    np.testing.assert_allclose(table.row("z[7]")["5%"], np.quantile(found.draws["z"][..., 7], 0.05))
    assert "<td>z[3]</td>" in table._repr_html_() and "<table>" in found._repr_html_()
    assert "33%" in found.summary((0.33,)).columns
    assert "<Samples: 4 chains" in repr(found)


def test_a_long_summary_is_cut_and_chains_apart_are_told(rng):
    many = nuts(lambda x: -0.5 * np.sum(x**2), np.zeros(80), draws=40, warmup=40)
    assert "... and 20 more" in repr(many.summary()) and "and 20 more" in many._repr_html_()
    few = nuts(lambda x: -0.5 * np.sum(x**2), 0.0, draws=3, warmup=40, chains=1)
    assert "nan" in repr(few.summary()) and "x " in repr(few.summary())
    apart = nuts(lambda x: -0.5 * np.sum(x**2), np.zeros(2), draws=10, warmup=0, spread=50.0)
    assert "have not mixed" in repr(apart.summary())


def test_samples_are_pickled(found):
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.draws["z"], found.draws["z"])
    assert repr(again.summary()) == repr(found.summary())
    np.testing.assert_array_equal(again.map(lambda p: p["z"]), found.draws["z"])


def test_map(found):
    drawn = found.map(lambda p: (np.exp(p["log_spread"]), p["z"][:2]))
    np.testing.assert_array_equal(drawn[0], np.exp(found.draws["log_spread"]))
    np.testing.assert_array_equal(drawn[1], found.draws["z"][..., :2])


def test_arviz_gets_the_draws_or_is_named(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(nbgrad.MissingExtra, match="pip install arviz"):
        found.to_arviz()
    fake = types.SimpleNamespace(__version__="0.23.4", from_dict=lambda **parts: parts)
    monkeypatch.setitem(sys.modules, "arviz", fake)
    parts = found.to_arviz()
    assert parts["posterior"]["z"].shape == (4, 500, 8)
    assert all(x.shape == (4, 500) for x in parts["sample_stats"].values())
    fake = types.SimpleNamespace(__version__="1.0.0", from_dict=lambda groups: groups)
    monkeypatch.setitem(sys.modules, "arviz", fake)
    assert found.to_arviz().keys() == {"posterior", "sample_stats"}
