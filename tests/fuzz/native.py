"""Compiled programs called by Numba's functions, and by a second process from the cache."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import nbgrad
from nbgrad.compiler.program import DISABLED
from nbgrad.transforms import trees

from .case import Case, Different, NotHere
from .oracle import results
from .programs import Program
from .static import agree, mode, unwritten


@mode
def from_njit(c: Case) -> None:
    """`njit` and `njit_into`, called by a function of Numba's; in plain Python as they are."""
    variant = nbgrad.compile(c.f).variant(*c.args)
    numbers = [_converted(x) for x in trees.flatten(c.args)[0]]
    names = ", ".join(f"x{i}" for i in range(len(numbers)))
    agree(c, "njit", results(_called(variant.njit, names)(*numbers)), c.point.values)
    places = [unwritten(x) for x in c.point.values if np.ndim(x)]
    outs = ", ".join(f"r{i}" for i in range(len(places)))
    _called(variant.njit_into, ", ".join(filter(None, (names, outs))))(*numbers, *places)
    agree(c, "njit_into", places, [x for x in c.point.values if np.ndim(x)])


def _converted(x: Any) -> Any:
    if not isinstance(x, np.ndarray) or not x.ndim:
        return np.asarray(x).item()
    return np.ascontiguousarray(x, np.int64 if x.dtype.kind in "iu" else x.dtype)


def _called(function: Callable, names: str) -> Callable:
    """A function of Numba's that calls another one."""
    if DISABLED:
        return function
    import numba

    scope = {"function": function}
    exec(f"def caller({names}):\n    return function({names})\n", scope)
    return numba.njit(scope["caller"])


@mode
def second_process(c: Case) -> None:
    """Another process finds the program in the cache: the same bits, and nothing is compiled."""
    if DISABLED or not c.program.arguments:
        raise NotHere
    f = nbgrad.compile(c.f)
    expected = results(f(*c.args))
    agree(c, "compiled", expected, c.point.values)
    found, compiled = elsewhere(c.program)
    if compiled:
        raise Different(f"a second process compiles {compiled} kernels anew")
    agree(c, "in a second process", found, c.point.values)


def elsewhere(program: Program) -> tuple[list[Any], int]:
    """What the compiled program gives in a new process, and how many kernels that compiles."""
    script = (
        "import pickle, sys; import numpy as np; import nbgrad\n"
        f"from {__package__}.oracle import results\n"
        "program = pickle.load(sys.stdin.buffer)\n"
        "found = results(nbgrad.compile(program.function())(*program.make()))\n"
        "found = list(map(np.asarray, found)), nbgrad.stats()['compiled']\n"
        "pickle.dump(found, sys.stdout.buffer)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        input=pickle.dumps(program), env=env, capture_output=True, check=False,
    )  # fmt: skip
    if run.returncode:
        raise Different(f"a second process fails: {run.stderr.decode()[-300:]}")
    return pickle.loads(run.stdout)
