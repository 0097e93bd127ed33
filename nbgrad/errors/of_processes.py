"""Errors about training, files, other processes and the installation."""

from .explained import Explanation

EXPLANATIONS = (
    Explanation(
        "NB-MODEL",
        "A model cannot be trained",
        "`nbgrad.train.fit` trains callable objects that hold plain float arrays, such as the "
        "layers of `nbgrad.nn`. With an engine, the loss must be a mean over rows.",
        """
w = np.ones((2, 1))
nbgrad.train.fit(w, nbgrad.mse, (np.ones((4, 2)), np.ones((4, 1))), steps=1)
""",
        "Pass the object that computes scores from inputs, with attributes for its parameters. Use "
        "`np.mean` in the loss.",
    ),
    Explanation(
        "NB-CHECKPOINT",
        "A checkpoint cannot be used",
        "The file is no checkpoint, is damaged, cannot be written, or belongs to another model or "
        "other settings. The message names the array that differs.",
        """
nbgrad.train.save("model.npz", {"w": np.ones(3)})
nbgrad.train.load("model.npz", {"w": np.ones(4)})
""",
        "Create the model as it was when the checkpoint was saved, or choose another file.",
    ),
    Explanation(
        "NB-WORKER",
        "A worker failed",
        "A process of `nbgrad.parallel` died, could not be reached, or has other versions or data "
        "than the caller.",
        """
import os
from concurrent.futures import ProcessPoolExecutor

with ProcessPoolExecutor(1) as workers:
    nbgrad.parallel.map(os._exit, [1], workers)
""",
        "See the output of the worker. It is often killed for lack of memory: use smaller shards. "
        'In scripts, start workers under `if __name__ == "__main__"`. Install the same versions '
        "everywhere.",
        is_alone=True,
    ),
    Explanation(
        "NB-PROFILE",
        "A profile is opened once",
        "`nbgrad.profile()` measures one `with` block. It was opened again, or was read before "
        "anything was measured.",
        """
p = nbgrad.profile()
p.result
""",
        "Create a profile for each block: `with nbgrad.profile() as p:`.",
    ),
    Explanation(
        "NB-EXTRA",
        "A package is missing",
        "The function needs a package that nbgrad does not install by itself.",
        """
import sys

sys.modules["mpi4py"] = None  # as if it were not installed
nbgrad.parallel.map(np.sin, [1.0], "mpi")
""",
        'Install the extra that the message names, such as `pip install "nbgrad[mpi]"`.',
        is_alone=True,
    ),
    Explanation(
        "NB-INSTALL",
        "The installation does not fit",
        "The installed version of Numba or SciPy does not have something that nbgrad uses, or the "
        "source files of nbgrad are missing.",
        """
import numba.core.codegen

del numba.core.codegen.JITCodeLibrary  # as in another version
import nbgrad
""",
        "Install a version that the message names. Keep the `.py` files of nbgrad when you package "
        "a program.",
        is_alone=True,
    ),
    Explanation(
        "NB-CACHE",
        "The kernel cache cannot be used",
        "Compiled kernels could not be stored or loaded: results are correct, but kernels are "
        "compiled again in each process. This is a warning.",
        """
import os

os.environ["NBGRAD_CACHE_DIR"] = "/dev/null"  # no folder
nbgrad.track(2.0) * 3.0
""",
        "Set `NBGRAD_CACHE_DIR` to a folder that belongs to you; `nbgrad cache info` shows it.",
        is_alone=True,
    ),
)
