"""A training for `mpiexec`: rank 1 is killed after an evaluation while there is a file `mark`."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from helpers.parallel.losses import Fragile, problem

import nbgrad
from nbgrad.train import fit


def main(folder: Path, mark: Path) -> None:
    rank = import_module("mpi4py.MPI").COMM_WORLD.Get_rank()
    _, x, y = problem()
    model = Fragile(mark if rank == 1 else folder / "none", caller=-1)
    settings: Any = {"batch": 8, "every": 4, "checkpoint": folder / "checkpoint.npz"}
    settings |= {"resume": True, "optimiser": nbgrad.optim.Adam(0.05)}

    def watch(moment: Any, model: Any) -> None:
        print(moment.step, flush=True)
        (folder / "mark").touch()

    found = fit(model, nbgrad.mse, (x, y), steps=15, engine="mpi", watch=watch, **settings)
    if rank == 0:
        np.savez(folder / "found.npz", w=found.model.w, losses=found.losses)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
