"""`nbgrad.scipy.spatial.distance`: SciPy's values and derivatives of each metric."""

# The annotations of SciPy know no tracked arrays.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOperatorIssue=false

import numpy as np
import pytest
import scipy.spatial.distance as scipys
from helpers.smooth import agree

import nbgrad
from nbgrad.scipy.spatial import distance as ours
from nbgrad.scipy.spatial.metrics import METRICS

RNG = np.random.default_rng(0)
NUMBERS = RNG.permutation(27) * 0.4 + 0.5
A, B = NUMBERS[:15].reshape(5, 3), NUMBERS[15:].reshape(4, 3)
W, VARIANCES, INVERSE = RNG.uniform(0.5, 2, 3), RNG.uniform(0.5, 2, 3), np.eye(3) + 0.1
WEIGHTED = ("braycurtis", "canberra", "cityblock", "cosine", "euclidean", "sqeuclidean")
CALLS = [
    *((name, {}) for name in METRICS),
    *((name, {"w": W}) for name in (*WEIGHTED, "chebyshev", "correlation", "minkowski")),
    *(("minkowski", {"p": p, "w": W}) for p in (0.5, 1.0, 3.0, np.inf)),
    ("seuclidean", {"V": VARIANCES}), ("mahalanobis", {"VI": INVERSE}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), CALLS, ids=str)
def test_distances_are_scipys(name, options):
    np.testing.assert_allclose(
        ours.cdist(nbgrad.track(A), B, name, **options).data,
        scipys.cdist(A, B, name, **options), rtol=1e-12, atol=1e-14,
    )  # fmt: skip
    np.testing.assert_allclose(
        ours.pdist(nbgrad.track(A), name, **options).data, scipys.pdist(A, name, **options),
        rtol=1e-12, atol=1e-14,
    )  # fmt: skip
    if name not in ("seuclidean", "mahalanobis") or options:
        np.testing.assert_allclose(
            getattr(ours, name)(nbgrad.track(A[0]), B[0], **options).data,
            getattr(scipys, name)(A[0], B[0], **options), rtol=1e-12, atol=1e-14,
        )  # fmt: skip


@pytest.mark.parametrize("name", ["euclidean", "mahalanobis"])
def test_derivatives(name):
    agree(lambda a, b: ours.cdist(a, b, name), A, B)


@pytest.mark.full
@pytest.mark.parametrize("name", METRICS)
def test_derivatives_of_each_metric(name):
    agree(lambda a: ours.pdist(a, name), A**1.1)  # no two differences are equal


def test_a_distance_of_zero_has_the_derivative_zero():
    for name in METRICS:
        slope = nbgrad.grad(lambda a, name=name: ours.cdist(a, a, name).sum())(A)
        assert np.isfinite(slope).all(), name
    assert not nbgrad.grad(lambda u: ours.minkowski(u, A[0], 3.0))(A[0]).any()


def test_the_base_of_a_logarithm():
    found = ours.jensenshannon(nbgrad.track(A[0]), B[0], 2.0)
    assert np.isclose(found.data, scipys.jensenshannon(A[0], B[0], 2.0), rtol=1e-12)


def test_functions_as_metrics_and_square_forms():
    def metric(u, v):
        return np.sum((u - v) ** 2)

    expected = scipys.squareform(scipys.pdist(A, "sqeuclidean"))
    for f in (lambda a: ours.pdist(a, metric), lambda a: ours.pdist(a, "sqeuclidean")):
        np.testing.assert_allclose(
            nbgrad.compile(lambda a, f=f: ours.squareform(f(a)))(A), expected
        )
    np.testing.assert_allclose(ours.cdist(A, B, metric), scipys.cdist(A, B, "sqeuclidean"))
    tracked = nbgrad.track(expected)
    np.testing.assert_allclose(ours.squareform(tracked).data, scipys.squareform(expected))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a: ours.cdist(a, B[:, :2]), ValueError, "columns"),
        (lambda a: ours.cdist(a[0], B), ValueError, "2 axes"),
        (lambda a: ours.cdist(a, B, "manhattan"), ValueError, "unknown distance metric"),
        (lambda a: ours.cdist(a, B, "hamming"), nbgrad.NoRuleError, "equality"),
        (lambda a: ours.cdist(a, B, "cosine", p=3), TypeError, "'p'"),
        (lambda a: ours.cdist(a, B, "minkowski", p=-1), ValueError, "greater than 0"),
        (lambda a: ours.pdist(a, "seuclidean", V=np.ones(2)), ValueError, r"\(3,\)"),
        (lambda a: ours.pdist(a[:3], "mahalanobis"), ValueError, "at least 4"),
        (lambda a: ours.euclidean(a[0], B[0, :2]), ValueError, "shapes"),
        (lambda a: ours.squareform(a[:, 0]), ValueError, "5 distances"),
    ],
)
def test_bad_arguments_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call(nbgrad.track(A))
