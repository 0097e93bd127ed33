"""The experiments on Jacobians: forward against reverse mode, and elimination orders."""

import numpy as np
import pytest

from nbgrad.experiments import accumulation, forward_reverse


def test_both_modes_on_the_small_graph():
    found = forward_reverse.walk(2.0, 3.0)
    assert found.vertices == [
        ("a", 2.0, 1.0, 0.0, 12.0),
        ("b", 3.0, 0.0, 1.0, 14.0),
        ("c", 6.0, 3.0, 2.0, 4.0),
        ("d", 4.0, 0.0, 1.0, 6.0),
        ("e", 24.0, 12.0, 14.0, 1.0),
    ]
    edges = [("a", "c"), ("b", "c"), ("b", "d"), ("c", "e"), ("d", "e")]
    assert found.local == dict(zip(edges, (3.0, 2.0, 1.0, 4.0, 6.0), strict=True))


@pytest.mark.parametrize("x", [-1.0, 0.0, 0.5, 2.0])
def test_the_four_ways_agree(x):
    ways = forward_reverse.four_ways(x)
    slope = 6 * x + 2 * np.exp(2 * x)
    assert ways[0].derivative == slope
    for way in ways[1:]:
        tolerance = 1e-5 if "differences" in way.way else 1e-14
        assert way.derivative == pytest.approx(slope, rel=tolerance)


def test_symbolic_derivatives_know_products():
    """x^2 e^(3 x) has the derivative 2 x e^(3 x) + 3 x^2 e^(3 x)."""
    found = forward_reverse.differentiated([forward_reverse.Term(1.0, 2, 3.0)])
    assert list(map(str, found)) == ["2 x e^(3 x)", "3 x^2 e^(3 x)"]
    assert forward_reverse.differentiated([forward_reverse.Term(5.0, 0, 0.0)]) == []


def test_the_shape_of_a_jacobian_chooses_the_mode():
    f, x = forward_reverse.layers(6, 3)
    forward, reverse = forward_reverse.by_forward(f, x), forward_reverse.by_reverse(f, x)
    assert forward.shape == (3, 6)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12)
    for race in forward_reverse.race(rounds=1):
        assert race.forward_cost * race.outputs == race.reverse_cost * race.inputs


def test_the_best_order_beats_both_modes_where_there_is_a_bottleneck():
    rows = {row.name: row for row in accumulation.compare(seed=1, rounds=1)}
    assert rows["two numbers"].costs == {"forward": 8, "reverse": 10, "markowitz": 7, "optimal": 7}
    for row in rows.values():
        assert row.costs["optimal"] <= min(row.costs.values()) and row.error < 1e-13
    assert rows["8 matrices"].saved > 6
    assert rows["bottleneck"].saved == pytest.approx(2.0, rel=0.02)
    assert rows["hourglass"].saved > 3
