"""The workloads with other libraries, each skipped where it is not installed."""

import pytest
from test_workloads import by_name, same

from nbgrad.bench.peers import as_numpy, peers
from nbgrad.bench.workloads import hand_runner, runner, takes, workloads

# What the peers warn about on import is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


@by_name
@pytest.mark.parametrize("peer", peers)
def test_peer(benchmark, peer, name):
    pytest.importorskip(peer, reason=f"{peer} is not installed")
    workload, library = workloads[name], peers[peer]()
    if not takes(library, workload):
        pytest.skip("not a workload for it")
    run = runner(workload, library)
    same(as_numpy(benchmark(run)), hand_runner(workload)(), workload.tolerance)
