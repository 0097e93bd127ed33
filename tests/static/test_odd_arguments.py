"""Arguments of classes and dtypes that are not the usual ones: refused, or taken, at every call as
at the first."""

import numpy as np
import pytest

import nbgrad
from nbgrad.static.reads import guard

X = np.arange(3.0)


class Own(np.ndarray):
    """A class of a user's."""


def arrays():
    X = np.arange(3.0)
    return {
        "masked": np.ma.masked_array(X, [True, False, False]),
        "without a mask": np.ma.masked_array(X),
        "long floats": X.astype(np.longdouble),
        "halves": X.astype(np.float16),
        "complex": X + 0j,
        "objects": X.astype(object),
        "records": np.zeros(3, [("a", "f8")]),
        "strings": np.array(["a", "b", "c"]),
        "dates": np.zeros(3, "M8[s]"),
        "matrix": X[None].view(np.matrix),
        "record array": X.view(np.recarray),
        "a subclass": X.view(Own),
        "other bytes": X.astype(">f8"),
        "integers": np.arange(3),
        "bools": X > 0,
        "strided": np.arange(6.0)[::2],
        "list": [0.0, 1.0, 2.0],
    }


NUMBERS = {
    "masked": np.ma.masked_array(2.0, True),
    "masked constant": np.ma.masked,
    "long float": np.longdouble(2),
    "half": np.float16(2),
    "complex": 2 + 1j,
    "object": object(),
    "integer": np.int8(2),
    "bool": True,
    "string": "a",
}
CALLS = {  # of a compiled function, for a value in place of a usual one
    "one": (lambda x: x * x, lambda f, x: f(x)),
    "second": (lambda x, y: x * y + y, lambda f, x: f(X, x)),
    "nested": (lambda t: t["a"][0] * t["b"], lambda f, x: f({"a": [x], "b": X})),
    "by name": (lambda x, y: x * y, lambda f, x: f(X, y=x)),
    "many": (lambda t: sum(t), lambda f, x: f([X] * 30 + [x])),
    "gradient": (nbgrad.grad(lambda x: np.sum(x * x)), lambda f, x: f(x)),
    "out": (lambda x: x * 2.0, lambda f, x: f(np.ones(3), out=x)),
    "many out": (lambda t: [a * 2.0 for a in t],
                 lambda f, x: f([np.ones(3)] * 15, out=[*np.zeros((14, 3)), x])),
}  # fmt: skip


def outcome(call, f, x):
    """What a call gives, or the class of the error that it raises."""
    try:
        result = nbgrad.transforms.trees.flatten(call(f, x))[0]
    except Exception as error:
        return type(error).__name__
    return [(type(part), np.asarray(part).dtype, np.asarray(part).tolist()) for part in result]


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("numeric", [False, True])
def test_later_calls_take_what_the_first_takes(numeric, kind, monkeypatch):
    values = NUMBERS if numeric else arrays()
    if "out" in kind and numeric:
        values = {}  # results that are numbers have no place
    monkeypatch.setattr(guard, "FEW", 2)
    f, call = CALLS[kind]
    for name, given in values.items():
        first = outcome(call, nbgrad.compile(f), given)
        compiled = nbgrad.compile(f)
        for _ in range(4):
            call(compiled, 2.0 if numeric else np.arange(3.0))
        for _ in range(2):
            assert outcome(call, compiled, given) == first, name
        if "mask" in name or "long" in name:
            assert first in ("ArgumentError", "CompiledArgumentError", "MaskedError"), name
