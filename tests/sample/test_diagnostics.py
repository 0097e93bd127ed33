"""R-hat and effective sample sizes: figures of ArviZ 0.23, and limits."""

import numpy as np
import pytest

import nbgrad
from nbgrad.sample import ess_bulk, ess_tail, rhat
from nbgrad.sample.diagnostics import ess_mean


def cases():
    """Chains of several kinds, from a generator whose numbers are fixed."""
    t = np.arange(1, 2001, dtype=float)
    u = np.modf(np.sin(12.9898 * t) * 43758.5453)[0].reshape(4, 500)  # in (-1, 1)
    slow = np.zeros((4, 500))
    fast = np.zeros((4, 500))
    for i in range(1, 500):
        slow[:, i] = 0.9 * slow[:, i - 1] + u[:, i]
        fast[:, i] = -0.7 * fast[:, i - 1] + u[:, i]
    heavy = np.tan(1.5 * u)
    apart = u[:, :301] + np.arange(4)[:, None]
    wide = u[:, :301] * (1.0 + np.arange(4)[:, None])
    return {
        "independent": u, "slow": slow, "fast": fast, "heavy": heavy, "apart": apart,
        "wide": wide, "whole": np.round(3.0 * u), "short": u[:2, :10],
    }  # fmt: skip


KNOWN = {
    "independent": (1.0027881532527347, 756.3694503043287, 1713.2651574687245, 665.3224649280019),
    "slow": (1.0118997687936173, 386.50101502720287, 593.2142903297533, 389.4641409714126),
    "fast": (1.001457214688308, 1868.461246974659, 1733.471663363018, 1830.3054570470836),
    "heavy": (1.002802354764733, 756.3694503043287, 1713.2651574687245, 1066.7546953959454),
    "apart": (2.0754796051367226, 6.25333247781368, 115.51632454297066, 5.796830886511834),
    "wide": (1.2023811576131607, 403.4956520420733, 431.6483461616485, 407.1851374650205),
    "whole": (1.002308643087229, 742.6825015042781, 1712.6955895310575, 693.7834883071827),
    "short": (1.6080609221408202, 7.620548446274882, 26.020599913279625, 7.043204376953225),
}
"""R-hat, bulk, tail and mean."""


@pytest.mark.parametrize("name", KNOWN)
def test_figures_are_those_of_arviz(name):
    x = cases()[name]
    found = [f(x) for f in (rhat, ess_bulk, ess_tail, ess_mean)]
    np.testing.assert_allclose(found, KNOWN[name], rtol=1e-9)


def test_axes_behind_chains_and_draws(rng):
    x = rng.normal(size=(3, 40, 2, 5))
    found = rhat(x)
    assert found.shape == (2, 5) and found[1, 4] == rhat(x[..., 1, 4])
    assert ess_bulk(x).shape == ess_tail(x).shape == (2, 5)


def test_what_has_no_figure(rng):
    for f in (rhat, ess_bulk, ess_tail):
        assert np.isnan(f(np.ones((4, 100))))
        assert np.isnan(f(np.full((2, 50), np.inf)))
        assert np.isnan(f(rng.normal(size=(4, 3))))
        with pytest.raises(nbgrad.DimensionMismatch, match="chains and draws"):
            f(np.ones(100))
