"""The workloads with other libraries, each skipped where it is not installed."""

import pytest
from peers import as_numpy, peers
from test_workloads import by_name, same
from workloads import hand_runner, runner, workloads

# What the peers warn about on import is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


@by_name
@pytest.mark.parametrize("peer", peers)
def test_peer(benchmark, peer, name):
    pytest.importorskip(peer, reason=f"{peer} is not installed")
    run = runner(workloads[name], peers[peer]())
    same(as_numpy(benchmark(run)), hand_runner(workloads[name])())
