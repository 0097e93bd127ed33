"""What the tests of tracked graphs share."""

import numpy as np
import pytest

from nbgrad import track


@pytest.fixture
def lab():
    """The lab's example: z = x * y + sin(x) at x = 2, y = 3."""
    x, y = track(2.0, "x"), track(3.0, "y")
    a = x * y
    b = np.sin(x)
    return x, y, a, b, a + b
