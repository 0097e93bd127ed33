"""Execution of code in child processes.

`run` starts a new interpreter, which takes about a second. A `Nursery` forks an interpreter in
which Numba is initialised, which is much faster. The code can use `np` and `nbgrad`, and stores its
answer in `result`.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
_OWN = ("NBGRAD_", "NUMBA_", "PYTEST_", "COV_")


class Session(NamedTuple):
    """The report of a child process."""

    result: Any
    stats: dict[str, int]
    warnings: list[tuple[str, str]]
    error: str = ""

    @property
    def compiled(self) -> int:
        return self.stats["compiled"]

    @property
    def loaded(self) -> int:
        return self.stats["loaded"]


def run(code: str, **env) -> Session:
    """Execute `code` in a new interpreter with the environment variables `env`."""
    answer = subprocess.run(
        [sys.executable, __file__, "run"],
        input=code,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert answer.returncode == 0, answer.stderr
    return _checked(json.loads(answer.stdout.splitlines()[-1]))


def environment(env: dict) -> dict[str, str]:
    """Return the environment of a child: `env`, without other variables of Numba or nbgrad."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
    path = os.pathsep.join([str(ROOT), str(TESTS), inherited.get("PYTHONPATH", "")])
    return inherited | {"PYTHONPATH": path} | {k: str(v) for k, v in env.items()}


def interruptible() -> None:
    """Enable SIGINT in a child, as its `preexec_fn`, if the parent process ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Nursery:
    """An interpreter in which Numba is initialised, and its forks."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__, "serve"],
            env=environment({"OPENBLAS_NUM_THREADS": 1}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def many(self, copies: int, code: str, **env) -> list[Session]:
        """Execute `code` in several forks that start at the same time."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin and stdout
        request = {"code": code, "env": {k: str(v) for k, v in env.items()}, "copies": copies}
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        return [_checked(answer) for answer in json.loads(stdout.readline())]

    def __call__(self, code: str, **env) -> Session:
        """Execute `code` in one fork."""
        return self.many(1, code, **env)[0]

    def close(self) -> None:
        self._process.communicate()


def _checked(answer: dict) -> Session:
    session = Session(**answer)
    assert not session.error, session.error
    return session


def _execute(code: str) -> dict:
    """Execute `code` in this process and return the fields of a `Session`."""
    import numpy as np

    import nbgrad

    space: dict[str, Any] = {"np": np, "nbgrad": nbgrad, "result": None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(code, space)
            error = ""
        except BaseException:
            error = traceback.format_exc()
    return {
        "result": space["result"],
        "stats": nbgrad.stats(),
        "warnings": [(w.category.__name__, str(w.message)) for w in caught],
        "error": error,
    }


def _serve() -> None:
    import numba

    import nbgrad  # noqa: F401

    numba.njit(lambda x: x + 1.0)(1.0)  # what Numba prepares at its first compilation
    for line in sys.stdin:
        print(json.dumps(_fork(**json.loads(line))), flush=True)


def _fork(code: str, env: dict[str, str], copies: int) -> list[dict]:
    """Fork children that wait until all of them exist."""
    gate, opened = os.pipe()
    children = []
    for _ in range(copies):
        answer, mine = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(120)  # damaged machine code might run for ever
            os.close(opened)
            os.read(gate, 1)  # ends when nobody holds the other end
            os.environ.update(env)
            with os.fdopen(mine, "w") as file:
                json.dump(_execute(code), file)
            os._exit(0)
        os.close(mine)
        children.append((pid, answer))
    os.close(opened)
    answers = []
    for pid, answer in children:
        with os.fdopen(answer) as file:
            text = file.read()
        _, status = os.waitpid(pid, 0)
        died = {"result": None, "stats": {}, "warnings": [], "error": f"exit status {status}"}
        answers.append(json.loads(text) if text else died)
    os.close(gate)
    return answers


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve()
    else:
        print(json.dumps(_execute(sys.stdin.read())))
