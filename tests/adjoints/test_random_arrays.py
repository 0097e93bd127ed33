"""Random functions with statements about whole arrays: views, swaps, new arrays, reductions."""

import pytest
from fuzz.derivatives import running
from fuzz.derivatives.checking import Unsupported, check
from fuzz.derivatives.drawing import HEAD, Drawn
from fuzz.derivatives.whole import draw_whole


def test_derivatives_are_those_of_dual_numbers():
    found = running.run(0, 40, draw=draw_whole)
    assert not found.failures
    assert found.counts["right"] > 25


@pytest.mark.parametrize(
    "lines",
    [
        ("v = m[0]", "z = a.copy()", "for p in range(3):", "    v, z = z, v", "    v[1] -= s"),
        ("v = 1.0 * a", "for p in range(2):", "    v = w if m[p, 0] > 0.25 else b", "v[0] /= 1.5"),
    ],
)  # fmt: skip
def test_arrays_that_may_be_those_of_the_caller_are_not_written(lines):
    text = HEAD + "".join(f"    {line}\n" for line in lines)
    arguments = draw_whole(3).arguments
    with pytest.raises(Unsupported, match=r"make a copy with \.copy\(\)"):
        check(Drawn(3, text, arguments, ("a",)))


@pytest.mark.parametrize("line", ["a[k] = a[::-1]", "a[k] = a", "a[a > 0.0] = a[a > 0.0][::-1]"])
def test_a_view_of_an_array_is_assigned_by_an_index_of_arrays(line):
    check(Drawn(3, f"{HEAD}    {line}\n", draw_whole(8813).arguments, ("a",)))
