"""The errors of plain arrays that tracked values are written into."""

import math
import re

import numpy as np
import pytest
from helpers.values.array_kinds import KINDS

import nbgrad
from nbgrad import TraceError, UntrackedError, track
from nbgrad.core import slots
from nbgrad.core.conversions import asking

X = np.array([0.7, -1.3, 2.1])


def _item(x):
    plain = np.zeros(3)
    plain[1] = x[0]


def _slice(x):
    plain = np.zeros(3)
    plain[0:2] = x[:2]


def _mask(x):
    plain = np.zeros(3)
    plain[np.array([True, True, False])] = x[:2]


def _list(x):
    plain = np.zeros(3)
    plain[:] = [x[0], 1.0, x[1]]


def _augmented(x):
    plain = np.zeros(3)
    plain += x


FILL = r"`import nbgrad\.numpy as np`.*np\.zeros\(shape, like=x\)"
NESTED = r".*`import nbgrad\.numpy as np`.*np\.array\(nested, like=x\)"
MESSAGES = {
    "plain[i] = x": (_item, f"assignment into a plain array: .*{FILL}"),
    "plain[i:j] = x": (_slice, f"assignment into a plain array: .*{FILL}"),
    "plain[mask] = x": (_mask, f"assignment into a plain array: .*{FILL}"),
    "plain[:] = [x]": (_list, f"assignment into a plain array: .*{FILL}"),
    "plain += x": (_augmented, rf"np\.add\(out=\.\.\.\), or an augmented assignment .*{FILL}"),
    "out": (lambda x: np.add(x, x, out=np.zeros(3)), rf"np\.add\(out=\.\.\.\).*{FILL}"),
    "full": (lambda x: np.full(3, x[0]), r"np\.full: .*nbgrad\.numpy.*np\.full\(shape, v, like"),
    "r_": (lambda x: np.r_[x, 1.0], r"np\.r_: .*np\.concatenate .*like=x"),
    "c_": (lambda x: np.c_[x, x], r"np\.c_: .*np\.column_stack"),
    "array": (lambda x: np.array([x[0], x[1]]), rf"np\.array: .*{NESTED}"),
    "asarray": (lambda x: np.asarray(x), r"np\.asarray: .*np\.asarray\(x, like=x\)"),
    "mean": (lambda x: np.mean([x[0], x[1]]), rf"np\.mean: .*give np\.mean an array: {NESTED}"),
    "sum": (lambda x: np.sum([x[0], x[1]]), rf"np\.sum: .*give np\.sum an array: {NESTED}"),
    "max": (lambda x: np.max([x[0], x[1]]), rf"np\.max: .*give np\.max an array: {NESTED}"),
    "sin": (lambda x: np.sin([x[0], 1.0]), rf"np\.sin: .*give np\.sin an array: {NESTED}"),
    "fromiter": (lambda x: np.fromiter(x, float), r"np\.fromiter: .*dtype, like=x\)"),
    "vectorize": (lambda x: np.vectorize(abs)(x), r"np\.vectorize: .*give np\.vectorize an array"),
    "math": (lambda x: math.atan2(x[0], 1.0), r"math\.atan2: .*use np\.arctan2"),
    "float64": (lambda x: np.float64(x[0]), r"np\.float64: .*leave it out"),
    "fill": (lambda x: np.zeros(3).fill(x[0]), r".*fill: .*np\.full\(shape, v, like=v\)"),
    "copyto": (lambda x: np.copyto(np.zeros(3), x), rf"np\.copyto .*{FILL}"),
    "full_like": (lambda x: np.full_like(np.zeros(3), x[0]), rf"np\.copyto .*{FILL}"),
    "plain[x]": (lambda x: X[x], r"index of a plain array: .*nbgrad\.at\(plain\)\[x\]\.get"),
}  # fmt: skip


@pytest.mark.parametrize("run", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(("call", "message"), MESSAGES.values(), ids=MESSAGES)
def test_errors_name_the_op_and_the_remedy(call, message, run):
    if not slots.is_known() and call is _item:
        pytest.skip("NumPy replaces the error by its own")
    with pytest.raises((UntrackedError, TraceError, nbgrad.NoRuleError)) as caught:
        run(call)
    text = str(caught.value)
    assert re.match(message, text), text
    if isinstance(caught.value, TraceError):
        assert f"({__name__.rpartition('.')[2]}.py:" in text


def test_without_source_the_error_is_the_general_one():
    with pytest.raises(UntrackedError, match=r"^a tracked array .*nbgrad\.numpy.*like=x"):
        exec("np.asarray(x)", {"np": np, "x": track(X)})
    assert asking(None).op == ""
