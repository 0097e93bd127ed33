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


@pytest.mark.parametrize(
    "lines",
    [
        ("    u = v", "    for q in range(2):", "        v = v + b", "    f0 += np.sum(v - u)"),
        ("    u = v", "    if p > 0:", "        v = z", "    f0 += u[0] * s"),
        ("    for f1 in v:", "        v, z = z, v", "        f0 = f0 * 0.5 + f1"),
        ("    for i, f1 in enumerate(v):", "        v = v + z", "        f0 += f1 * i"),
        ("    u = v[1:]", "    for q in range(3):", "        v, z = z, v", "    f0 += u[0] * s"),
    ],
)  # fmt: skip
def test_a_variable_keeps_its_array_while_another_one_is_assigned(lines):
    start = ("f0 = 0.0", "v = 2.0 * a", "z = 1.0 * b", "for p in range(2):")
    text = HEAD + "".join(f"    {line}\n" for line in (*start, *lines, "return f0"))
    check(Drawn(3, text, draw_whole(3).arguments, ("a", "b")))
