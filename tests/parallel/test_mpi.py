"""MPI for real: two ranks of `mpiexec`."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.children import TESTS, environment

pytest.importorskip("mpi4py", reason='needs the extra mpi: pip install "nbgrad[mpi]"')
PROGRAMS = TESTS / "helpers" / "parallel"


def mpiexec(*arguments: object) -> subprocess.CompletedProcess:
    """Run Python with these arguments on two ranks."""
    beside = Path(sys.executable).parent
    found = shutil.which("mpiexec", path=str(beside)) or shutil.which("mpiexec")
    assert found is not None, 'install it with pip install "nbgrad[mpi]"'
    command = [found, "-n", "2", sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, env=environment({}), capture_output=True, text=True, timeout=200, check=False
    )


def test_two_ranks():
    answer = mpiexec("-m", "mpi4py", PROGRAMS / "ranks_program.py")
    assert answer.returncode == 0, answer.stderr + answer.stdout
    assert answer.stdout.strip() == "right on 2 ranks"


def test_a_rank_that_is_killed_ends_all_and_the_training_goes_on(tmp_path):
    """From the last checkpoint, to the bits of the training that never stopped."""
    folders = [tmp_path / "whole", tmp_path / "killed"]
    found = []
    for folder in folders:
        folder.mkdir()
        program = PROGRAMS / "training_program.py", folder
        if folder.name == "killed":
            answer = mpiexec(*program, folder / "mark")
            assert answer.returncode != 0
            shown = answer.stdout.splitlines()
            assert "4" in shown and "15" not in shown
            assert (folder / "checkpoint.npz").exists() and not (folder / "found.npz").exists()
        answer = mpiexec(*program, folder / "none")
        assert answer.returncode == 0, answer.stderr
        with np.load(folder / "found.npz") as file:
            found.append(dict(file))
    assert found[0].keys() == {"w", "losses"} and len(found[0]["losses"]) == 15
    for name in found[0]:
        np.testing.assert_array_equal(found[0][name], found[1][name])


def test_a_rank_that_fails_outside_of_a_step_ends_all():
    """The others wait for it, in a step that it never joins."""
    program = """
import numpy as np, nbgrad
vg = nbgrad.parallel.value_and_grad(lambda w, x: np.sum(w * x), "mpi", "sum", compile=False)
vg(np.ones(2), vg.mine([(np.ones(2),)] * (2 if vg.leads else 1 // 0)))
"""
    answer = mpiexec("-c", program)
    assert answer.returncode != 0 and "ZeroDivisionError" in answer.stderr


def test_the_command_line_on_ranks(tmp_path):
    command = "-m", "nbgrad", "run", "digits", "--steps", 10, "--no-plots", "--engine", "mpi"
    answer = mpiexec(*command, "--out", tmp_path / "out")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.count("digits 10 of 10") == 1, "rank 0 shows, the other does not"
    assert answer.stdout.count("rows, shards") == 2
    answer = mpiexec(*command, "--out", tmp_path, "--workers", 3)
    assert answer.returncode != 0 and "the number of ranks is 2" in answer.stderr
