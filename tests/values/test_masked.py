"""Masked arrays: refused wherever they come in, as a mask that is dropped is a wrong number."""

import numpy as np
import pytest

import nbgrad
from nbgrad import compile, grad, jvp, track, vjp, vmap

M = np.ma.MaskedArray([1.0, 2.0, 3.0], [False, True, False])
I = np.ma.MaskedArray([0, 1, 2], [False, True, False])  # noqa: E741
X = np.array([4.0, 5.0, 6.0])

WAYS = {
    "track": lambda: track(M),
    "data": lambda: setattr(track(X), "data", M),
    "grad": lambda: grad(np.sum)(M),
    "vjp": lambda: vjp(np.sin, M),
    "cotangent": lambda: vjp(np.sin, X)[1](M),
    "jvp": lambda: jvp(np.sin, (M,), (X,)),
    "tangent": lambda: jvp(np.sin, (X,), (M,)),
    "linearize": lambda: nbgrad.linearize(np.sin, M),
    "vmap": lambda: vmap(np.sin)(M),
    "compile": lambda: compile(np.sin)(M),
    "captured": lambda: compile(lambda x: x * M)(X),
    "right operand": lambda: track(X) * M,
    "left operand": lambda: M * track(X),
    "left of matmul": lambda: M @ track(X),
    "function of np.ma": lambda: np.ma.add(track(X), M),
    "in place": lambda: M.__iadd__(track(X)),
    "ufunc": lambda: np.maximum(track(X), M),
    "concatenate": lambda: np.concatenate([track(X), M]),
    "where": lambda: np.where(M > 1.0, track(X), 0.0),
    "where, value": lambda: np.where(X > 1.0, track(X), M),
    "broadcast_arrays": lambda: np.broadcast_arrays(track(X), M),
    "heaviside": lambda: np.heaviside(track(X), M),
    "difference of polynomials": lambda: np.polysub(M, track(X)),
    "average": lambda: np.average(track(X), weights=M),
    "histogram": lambda: np.histogram(M, weights=track(X)),
    "compress": lambda: np.compress(M > 1.0, track(X)),
    "any": lambda: np.any(track(X), where=M > 1.0),
    "a list": lambda: np.isclose(track(X), [M, M, M]),
    "index": lambda: track(X)[I],
    "index, mask": lambda: track(X)[M > 1.0],
    "index of two": lambda: track(np.ones((3, 3)))[0, I],
    "take": lambda: np.take(track(X), I),
    "set": lambda: nbgrad.at(track(X))[:].set(M),
    "add": lambda: nbgrad.at(track(X))[:].add(M),
    "labels": lambda: nbgrad.cross_entropy(track(np.ones((3, 3))), I),
    "repeats": lambda: np.repeat(track(X), I),
    "shifts": lambda: np.roll(track(X), I),
    "plain": lambda: nbgrad.relu(M),
    "plain evalpoly": lambda: nbgrad.evalpoly(M, track(X)),
    "plain blocks": lambda: nbgrad.linalg.block_diag(M, M),
    "plain softmax": lambda: nbgrad.softmax(M),
    "plain logsumexp": lambda: nbgrad.logsumexp(M),
    "array": lambda: nbgrad.array([M, M]),
    "plain at": lambda: nbgrad.at(M)[0].set(1.0),
    "captured operand": lambda: compile(lambda x: x + M)(X),
    "map": lambda: nbgrad.map(np.sin, M),
    "check_grads": lambda: nbgrad.check_grads(np.sin, (M,)),
    "backward": lambda: (track(X) * 2.0).backward(M),
    "minimize": lambda: nbgrad.scipy.minimize(lambda x: np.sum(x * x), M),
    "jacobian": lambda: nbgrad.jacobian(np.sin)(M),
    "best order": lambda: nbgrad.jacobian(np.sin, mode="optimal")(M),
}


def test_what_only_passes_arrays_on_keeps_masks():
    found = np.atleast_1d(track(X), M)[1]
    assert isinstance(found, np.ma.MaskedArray)
    np.testing.assert_array_equal(found.mask, M.mask)
    assert np.result_type(track(X), M) == np.float64


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_masked_array_is_refused(way):
    with pytest.raises(TypeError, match=r"masked array, .*\.filled\(value\).*np\.where"):
        way()
