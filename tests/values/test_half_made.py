"""Objects whose slots are unset or hold something else give errors: no memory is read by mistake.

All slots of the classes that C functions read are gone through in two processes: one in which those
functions are called, and one in which they are not made. The errors are the same.
"""

import json
import subprocess
import sys

import pytest
from helpers.children import environment, run

TABLE = """
import sys
if {plain}:
    sys.gettotalrefcount = lambda: 0  # an interpreter for which nothing is written in C
import json
from itertools import count
import numpy as np
import nbgrad
from nbgrad.core.array import Array
from nbgrad.core.primitive import Aval
from nbgrad.eager.plans import Plan
from nbgrad.values import tracked
from nbgrad.values.base import GraphArray
from nbgrad.values.dual import Dual
from nbgrad.values.graph import Leaf, Node
from nbgrad.values.tracked import TrackedArray

widths = count(4)


def subjects(width=3):
    leaf = nbgrad.track(np.ones((2, width)))
    return leaf, leaf * np.ones((2, width))


OPERATIONS = {{
    "times": lambda x, y: y * 2.0,
    "times leaf": lambda x, y: 3 * x,
    "both": lambda x, y: x * y,
    "plain": lambda x, y: np.ones((2, 1)) + y,
    "one": lambda x, y: np.tanh(y),
    "view": lambda x, y: np.reshape(x, -1),
    "sum": lambda x, y: np.sum(y, axis=0),
    "item": lambda x, y: y[0:1],
    "backward": lambda x, y: np.sum(y * y).backward(),
    "again": lambda x, y: (np.sum(x * 2.0).backward(), np.sum(x * 3.0).backward()),
    "reset": lambda x, y: nbgrad.reset(x),
    "values": lambda x, y: (y.data, y.grad, x.data),
}}
for _ in range(300):
    for operation in OPERATIONS.values():
        operation(*subjects())
built_in = type(sum)
assert (type(TrackedArray.bind1) is type(TrackedArray.bind2) is built_in) != {plain}
assert (type(tracked.result) is built_in) != {plain}

CLASSES = {{
    "array": (TrackedArray, (*Array.__slots__[1:], *GraphArray.__slots__), lambda x, y: y),
    "leaf's array": (TrackedArray, GraphArray.__slots__, lambda x, y: x),
    "node": (Node, Node.__slots__[1:], lambda x, y: y.node),
    "leaf": (Leaf, (*Node.__slots__[1:], *Leaf.__slots__), lambda x, y: x.node),
    "plan": (Plan, Plan.__slots__, lambda x, y: y.node.plan),
    "aval": (Aval, Aval.__slots__, lambda x, y: y.aval),
}}
UNSET = object()
WRONG = {{
    "unset": UNSET, "None": None, "number": 3, "list": [], "text": "text", "tuple": (1, 2),
    "object": object(), "array": np.ones(2), "class": Node, "empty": object.__new__(TrackedArray),
    "half": object.__new__(Node), "limits": ["no", 1], "huge": [10**40], "dual": Dual,
}}
found = {{}}


def attempt(case, operation, x, y):
    print(*case, file=sys.stderr, flush=True)
    try:
        operation(x, y)
        error = "none"
    except Exception as raised:
        error = type(raised).__name__
    found[", ".join(case)] = error


def go_through(label, kind, name, chosen):
    slot = next(c.__dict__[name] for c in kind.__mro__ if name in c.__dict__.get("__slots__", ()))
    for text, wrong in WRONG.items():
        for title, operation in OPERATIONS.items():
            # Plans keep avals, and what a wrong one led to.
            x, y = subjects(next(widths)) if label == "aval" else subjects()
            owner = chosen(x, y)
            try:
                before = slot.__get__(owner)
            except AttributeError:
                before = UNSET
            if wrong is not UNSET:
                slot.__set__(owner, wrong)
            elif before is not UNSET:
                slot.__delete__(owner)
            attempt((label, name, text, title), operation, x, y)
            if before is not UNSET:
                slot.__set__(owner, before)


for label, (kind, names, chosen) in CLASSES.items():
    for name in names:
        go_through(label, kind, name, chosen)
for title, operation in OPERATIONS.items():
    half = object.__new__(TrackedArray)
    attempt(("half made", title), operation, half, half)
print(json.dumps(found))
"""


def errors(plain: bool) -> dict[str, str]:
    answer = subprocess.run(
        [sys.executable, "-c", TABLE.format(plain=plain)],
        env=environment({}), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-500:]  # which ends with the case
    return json.loads(answer.stdout)


@pytest.mark.full
def test_slots_that_are_unset_or_wrong_give_the_errors_of_python():
    native, plain = errors(False), errors(True)
    assert native == plain
    for case in ("array, node, unset, times", "node, value, unset, times", "half made, both"):
        assert native[case] in ("AttributeError", "MissingAttribute")


# Two threads that make functions of one name and address go through this at the same time.
MAKING = """
import threading
from nbgrad.capi.builtin import compiled
from nbgrad.capi.emitter import Emitter
from nbgrad.runtime import vectorcall

gate, made = threading.Barrier(2), []


class Meeting(vectorcall.Definition):
    def __init__(self, *fields):
        gate.wait(60)
        super().__init__(*fields)


class Same(Emitter):
    def __init__(self):
        super().__init__(1)
        self.build.ret(self.handed(self.held(self.argument(0))))


vectorcall.Definition = Meeting
address = compiled(Same())


def work(name):
    made.append(vectorcall.builtin(name, address, (print,)))


for i in range(50):
    threads = [threading.Thread(target=work, args=(f"same{i}",)) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
others = [i * 1.5 for i in range(100_000)]  # over what was freed
result = [f(i) for i, f in enumerate(made)], sorted({f.__name__ for f in made})
"""


def test_functions_keep_their_definition_whichever_thread_made_it():
    values, names = run(MAKING).result
    assert values == list(range(100)) and len(names) == 50
