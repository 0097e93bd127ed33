"""MPI for real: two ranks of `mpiexec`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from children import environment

pytest.importorskip("mpi4py", reason='needs the extra mpi: pip install "nbgrad[mpi]"')
HERE = Path(__file__).parent


def test_two_ranks():
    beside = Path(sys.executable).parent
    mpiexec = shutil.which("mpiexec", path=str(beside)) or shutil.which("mpiexec")
    assert mpiexec is not None, 'install it with pip install "nbgrad[mpi]"'
    command = [mpiexec, "-n", "2", sys.executable, "-m", "mpi4py", HERE / "ranks_program.py"]
    answer = subprocess.run(
        command, env=environment({}), capture_output=True, text=True, timeout=200, check=False
    )
    assert answer.returncode == 0, answer.stderr + answer.stdout
    assert answer.stdout.strip() == "right on 2 ranks"
