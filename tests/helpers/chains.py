"""Random programs of one or two vectors of three elements: a list of steps, executed by `run`."""

import numpy as np
from hypothesis import strategies as st

# Each step takes earlier values by number and appends one. All are smooth where programs go.
UNARY = {
    "tanh": np.tanh,
    "sin": np.sin,
    "square": np.square,
    "half": lambda x: x * 0.5,
    "shift": lambda x: 1.0 - x,
    "reverse": lambda x: x[::-1],
    "rotate": lambda x: np.concatenate([x[1:], x[:1]]),
    "head": lambda x: x.at[1:].set(x[0]),
    "spread": lambda x: np.sum(x) * 0.3 + x,
    "gather": lambda x: x[np.array([0, 2, 0])],
    "column": lambda x: np.sum(x.reshape(3, 1) * x, axis=0) * 0.1,
}
BINARY = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y * 0.5,
    "dot": lambda x, y: np.dot(x, y) * 0.1 + y,
    "where": lambda x, y: np.where(np.array([True, False, True]), x, y),
}


def assigned(x, y):
    """Write to a computed array and use its old value as well."""
    z = x * 1.0
    old = z * y
    z[1] = y[0]
    z[2:] += y[:1]
    return z + 0.5 * old


BINARY["assigned"] = assigned

steps = st.lists(
    st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 11), st.integers(0, 11)),
    min_size=1,
    max_size=10,
)


def run(program, inputs):
    """Return the last value of a program."""
    values = list(inputs)
    for name, i, j in program:
        x, y = values[i % len(values)], values[j % len(values)]
        values.append(UNARY[name](x) if name in UNARY else BINARY[name](x, y))
    return values[-1]
