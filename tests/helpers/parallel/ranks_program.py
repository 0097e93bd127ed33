"""The program of `mpiexec` in tests: all ranks run the same checks, and rank 0 reports success."""

from importlib import import_module

import numpy as np
from helpers.parallel import changing
from helpers.parallel.losses import (
    CUTS,
    LOSSES,
    Loader,
    Slow,
    bits,
    cut,
    grow_old,
    mean_loss,
    problem,
    require_right,
    root,
    square_or_fail,
    swirl,
    swirl_jacobian,
)

import nbgrad
from nbgrad import parallel


def refused(kind: type[Exception], words: str, call) -> None:
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")


def main() -> None:
    comm = import_module("mpi4py.MPI").COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    params = problem()[0]
    for reduce in ("mean", "sum"):
        vg = parallel.value_and_grad(LOSSES[reduce], comm, reduce)  # pyright: ignore
        for n in CUTS:  # with one shard, a rank has none
            mine = cut(n)[rank::size]
            first = vg(params, mine)
            require_right(first, reduce)
            assert bits(vg(params, mine)) == bits(first)
            assert len(set(comm.allgather(bits(first)))) == 1, "all ranks have the same bits"
    assert sum(seen.rows for seen in vg.report.seen) == 37 and len(vg.report.seen) == size

    # One rank fails: all raise, none waits for ever, and the next step is right.
    bad = [(np.ones((3, 5)), np.ones(3))] if rank == 1 else cut(1)
    kind = nbgrad.DimensionMismatch if rank == 1 else nbgrad.WorkerError
    words = "matmul" if rank == 1 else f"1 of the {size} ranks failed"
    refused(kind, words, lambda: vg(params, bad))
    drifted = params | {"scale": 1.5 + rank}
    refused(nbgrad.WorkerError, "parameters differ", lambda: vg(drifted, cut(3)[rank::size]))
    longer = params | {"w": np.ones(4 + rank)}
    words = f"ranks have between 5 and {4 + size} parameters, and rank {rank} has arrays of"
    refused(nbgrad.WorkerError, words, lambda: vg(longer, cut(3)[rank::size]))
    require_right(vg(params, cut(3)[rank::size]), "sum")

    for change in changing.CARRIED.values():
        loss, data = changing.Loss(), [(np.ones(3),), (np.ones(3),)]
        vg = parallel.value_and_grad(loss, comm, "sum", compile=True)
        assert vg(1.0, vg.mine(data)) == (6.0, 6.0)
        change(loss, data)
        assert vg(1.0, vg.mine(data)) == (12.0, 12.0)

    found = parallel.map(root, [1.0, 5.0, -2.0], "mpi")
    np.testing.assert_allclose(found, np.sqrt(2.0) * np.array([1, 1, -1]), rtol=1e-14)
    kind = ArithmeticError if rank == 1 else nbgrad.WorkerError
    refused(kind, "", lambda: parallel.map(square_or_fail, [1, 2, 3], comm))
    vg = parallel.value_and_grad(mean_loss, comm)
    x = np.array([0.3, -1.2, 0.7])
    found = parallel.jacobian(swirl, x, comm, together=2)
    np.testing.assert_allclose(found, swirl_jacobian(x), rtol=1e-14)
    vg(params, [Slow(3, 1) if rank else Loader(3, 1)])
    (late,) = vg.report.stragglers
    assert late == vg.report.seen[-1].worker
    refused(
        nbgrad.WorkerError, "the number of ranks", lambda: parallel.map(root, [], comm, workers=9)
    )
    if rank == 1:
        grow_old()
    for _ in range(2):
        refused(nbgrad.WorkerError, "0.0.1", lambda: parallel.value_and_grad(mean_loss, comm))
    if rank == 0:
        print(f"right on {size} ranks")


if __name__ == "__main__":
    main()
