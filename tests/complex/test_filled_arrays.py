"""Complex arrays that are made element by element, as Hamiltonians are."""

import pickle

import numpy as np
import pytest

import nbgrad
import nbgrad.numpy as nnp

TH = np.array([0.1, 0.2, 0.3])
SLOPE = -TH / np.sqrt(np.sum(TH**2))  # of the lower eigenvalue, -|th|


def filled(h, th):
    h[0, 0] = th[0]
    h[0, 1] = th[1] - 1j * th[2]
    h[1, 0] = th[1] + 1j * th[2]
    h[1, 1] -= th[0]
    return np.linalg.eigvalsh(h)[0]


def nested(th):
    return [[th[0], th[1] - 1j * th[2]], [th[1] + 1j * th[2], -th[0]]]


LEVELS = {
    "zeros": lambda th: filled(nnp.zeros((2, 2), complex), th),
    "empty": lambda th: filled(nnp.zeros_like(nnp.empty((2, 2), np.complex128)), th),
    "full": lambda th: filled(nnp.full((2, 2), 0j), th),
    "eye": lambda th: filled(0.0 * nnp.eye(2, dtype=complex), th),
    "zeros like": lambda th: filled(np.zeros((2, 2), complex, like=th), th),
    "zeros_like": lambda th: filled(np.zeros_like(np.outer(th[:2], th[:2]) * 1j), th),
    "nested": lambda th: np.linalg.eigvalsh(nbgrad.array(nested(th)))[0],
    "np.array": lambda th: np.linalg.eigvalsh(nnp.array(nested(th)))[0],
    "np.asarray": lambda th: np.linalg.eigvalsh(nnp.asarray(nested(th), np.complex128))[0],
    "like a real one": lambda th: np.linalg.eigvalsh(np.array(nested(th), like=th))[0],
    "like a complex one": lambda th: np.linalg.eigvalsh(np.array(nested(th), like=th * 1j))[0],
    "more axes": lambda th: np.linalg.eigvalsh(nnp.array(nested(th), ndmin=3))[0, 0],
}


@pytest.mark.parametrize("name", LEVELS)
def test_derivatives(name):
    f = LEVELS[name]
    for slope in (nbgrad.grad(f), nbgrad.compile(nbgrad.grad(f)), nbgrad.jacobian(f)):
        np.testing.assert_allclose(slope(TH), SLOPE, rtol=1e-12)
    tangent = nbgrad.jvp(f, (TH,), (np.ones(3),))[1]
    np.testing.assert_allclose(tangent, np.sum(SLOPE), rtol=1e-12)


def test_what_is_read_before_and_after_a_write():
    def f(th):
        h = nnp.zeros(3, complex)
        row = h[1:]
        h[1] = th[0] * 1j
        row[1] += th[1] + h[1]
        return np.sum(np.abs(h) ** 2)  # th0**2 + th1**2 + th0**2

    np.testing.assert_allclose(nbgrad.grad(f)(TH), [4 * TH[0], 2 * TH[1], 0.0], rtol=1e-14)
    np.testing.assert_allclose(nbgrad.compile(nbgrad.grad(f))(TH), [4 * TH[0], 2 * TH[1], 0.0])


def test_without_tracked_values_they_have_numpys_values():
    x = nbgrad.track(TH)
    z = nnp.zeros((2, 2), np.complex64)
    z[0] = [1j, 2.0]
    assert z.dtype == np.complex64
    np.testing.assert_array_equal(np.asarray(z), [[1j, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(np.asarray(z @ z), [[-1.0, 2j], [0.0, 0.0]])
    assert complex(z[0, 0]) == 1j
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(z))), np.asarray(z))
    del x


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda th: filled(np.zeros((2, 2), complex), th), r"import nbgrad\.numpy as np"),
        (lambda th: np.abs(np.sum(np.array(nested(th)))), r"import nbgrad\.numpy as np"),
        (lambda th: filled(np.zeros((2, 2), like=th) + 0j, th), r"np\.zeros\(shape, complex, like"),
    ],
)
def test_errors_name_the_way(f, message):
    for call in (nbgrad.grad(f), nbgrad.compile(nbgrad.grad(f))):
        with pytest.raises(nbgrad.NbgradError, match=message):
            call(TH)
