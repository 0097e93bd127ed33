"""A checksum of the contents of an array, to detect changes."""

import numpy as np

from ..compiler.kernel import kernel

_P, _Q = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
_LEFT, _RIGHT = np.uint64(31), np.uint64(33)
_LANES = 4


def checksum(x: np.ndarray) -> int:
    """64 bits for the contents of an array without objects, whatever its shape, in C order."""
    octets = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    rest = octets.size % 8
    words = octets[: octets.size - rest].view(np.uint64)
    total = _checksum(words if words.flags.aligned else words.copy())
    tail = int.from_bytes(octets[octets.size - rest :].tobytes())
    return (int(total) * int(_P) + tail + rest) % 2**64


@kernel
def _checksum(words):
    """Four lanes of the rounds of xxHash64, so that a core is as fast as its memory."""
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    n = len(words) // _LANES
    for i in range(n):
        a += words[_LANES * i] * _Q
        b += words[_LANES * i + 1] * _Q
        c += words[_LANES * i + 2] * _Q
        d += words[_LANES * i + 3] * _Q
        a = ((a << _LEFT) | (a >> _RIGHT)) * _P
        b = ((b << _LEFT) | (b >> _RIGHT)) * _P
        c = ((c << _LEFT) | (c >> _RIGHT)) * _P
        d = ((d << _LEFT) | (d >> _RIGHT)) * _P
    for i in range(_LANES * n, len(words)):
        a += words[i] * _Q
        a = ((a << _LEFT) | (a >> _RIGHT)) * _P
    a = (a ^ b) * _P
    a = (((a << _LEFT) | (a >> _RIGHT)) ^ c) * _P
    return (((a << _LEFT) | (a >> _RIGHT)) ^ d) * _P
