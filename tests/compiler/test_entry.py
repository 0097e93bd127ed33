"""Entries: the checks of arguments, the results and the exceptions of the C function, over code
that is written by hand."""

import gc
import sys
import threading
from itertools import pairwise

import numpy as np
import pytest

from nbgrad.compiler.entry import Array, Number, entry
from nbgrad.compiler.kernel import DISABLED
from nbgrad.compiler.machine import machine_code
from nbgrad.compiler.pointers import Overlap
from nbgrad.runtime import layout

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


@pytest.fixture(autouse=True, params=["C", "Python"])
def kind(request, monkeypatch):
    """The C function, and its definition in Python."""
    if request.param == "Python":
        monkeypatch.setattr(layout, "IS_KNOWN", False)
    elif not layout.IS_KNOWN:
        pytest.skip("no C functions here")
    return request.param


F8, I8, BOOL = (np.dtype(kind) for kind in ("f8", "i8", "?"))
NUMBERS = ["f4", "i1", "i2", "i4", "u1", "u2", "u4", "u8"]
# Copies its words, and gives the status of the first word of `numbers`.
COPY = """
define i32 @run(ptr %words, ptr %numbers) {{
  call void @llvm.memcpy.p0.p0.i64(ptr %numbers, ptr %words, i64 {bytes}, i1 false)
  ret i32 {status}
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
# r[0] = a[0] * x; a negative x is refused.
SCALED = """
define i32 @run(ptr %words, ptr %numbers) {
  %a = load ptr, ptr %words
  %r.at = getelementptr i64, ptr %words, i64 1
  %r = load ptr, ptr %r.at
  %x.at = getelementptr i64, ptr %words, i64 2
  %x = load double, ptr %x.at
  %v = load double, ptr %a
  %y = fmul double %v, %x
  store double %y, ptr %r
  store double %y, ptr %numbers
  %bad = fcmp olt double %x, 0.0
  %status = zext i1 %bad to i32
  ret i32 %status
}
"""


def copied(parameters, slots, dtypes, result, status=0, messages=()):
    """An entry that returns words as they are."""
    text = COPY.format(bytes=8 * len(dtypes), status=status)
    run = machine_code("copied", text, lambda: (text, tuple, None))[0]["run"]
    return entry("f", run, parameters, slots, dtypes, result, messages)


def scaled(brief=0, result=(0, ~2), shape=(3,)):
    run = machine_code("scaled", SCALED, lambda: (SCALED, tuple, None))[0]["run"]
    parameters = [Array(F8, shape, 0), Number(F8, 2), Array(F8, shape, 1, True)]
    return entry("f", run, parameters, 3, [F8], result, [ValueError("below", 0)], brief)


def test_results_are_numbers_and_arguments_in_tuples():
    a, r = np.full(3, 2.0), np.zeros(3)
    value, array = scaled()(a, 2.5, r)
    assert value == 5.0 and type(value) is float
    assert array is r and r[0] == 5.0
    assert scaled(result=((0, (~0,)), 0))(a, 2.5, r) == ((5.0, (a,)), 5.0)
    assert scaled(result=0)(a, 0.5, r) == 1.0
    assert scaled(result=None)(a, 0.5, r) is None


def wrong_arrays():
    a, frozen = np.ones(3), np.ones(3)
    frozen.flags.writeable = False
    unaligned = np.frombuffer(np.zeros(25, np.uint8)[1:].data, np.float64)
    return {
        "float32": (np.ones(3, np.float32), TypeError),
        "int64": (np.ones(3, np.int64), TypeError),
        "other bytes": (np.ones(3, ">f8"), TypeError),
        "longer": (np.ones(4), ValueError),
        "empty": (np.ones(0), ValueError),
        "more axes": (np.ones((3, 1)), ValueError),
        "no axes": (np.array(1.0), ValueError),
        "strided": (np.ones(6)[::2], TypeError),
        "reversed": (a[::-1], TypeError),
        "unaligned": (unaligned, TypeError),
        "subclass": (a.view(np.recarray), TypeError),
        "masked": (np.ma.masked_array(a), TypeError),
        "list": ([1.0, 1.0, 1.0], TypeError),
        "None": (None, TypeError),
        "number": (1.0, TypeError),
    }


@pytest.mark.parametrize("name", wrong_arrays())
@pytest.mark.parametrize("place", [0, 2])
def test_arrays_that_do_not_fit_are_refused(name, place):
    given, error = wrong_arrays()[name]
    arguments = [np.full(3, 2.0), 1.0, np.zeros(3)]
    arguments[place] = given
    with pytest.raises(error, match=r"f was compiled for arguments float64\[3\], float64"):
        scaled()(*arguments)


@pytest.mark.parametrize("dtype", [np.dtype("q"), np.dtype(">i8").newbyteorder("=")])
def test_equal_dtypes_that_are_other_objects_are_taken(dtype):
    assert dtype == I8 and dtype is not I8
    for mine, theirs in ((I8, dtype), (dtype, I8)):
        f = copied([Array(mine, (~1,), 0)], 2, [I8, I8], 1)
        assert f(np.ones(5, theirs)) == 5


def test_only_results_have_to_be_writeable():
    f, frozen = scaled(), np.full(3, 2.0)
    frozen.flags.writeable = False
    assert f(frozen, 1.0, np.zeros(3))[0] == 2.0
    with pytest.raises(TypeError):
        f(np.ones(3), 1.0, frozen)


def test_the_number_of_arguments_and_keywords():
    f, a, r = scaled(), np.ones(3), np.ones(3)
    for arguments in ((), (a,), (a, 1.0), (a, 1.0, r, r)):
        with pytest.raises(TypeError):
            f(*arguments)
    with pytest.raises(TypeError):
        f(a, 1.0, r=r)


def test_results_that_share_memory_raise():
    f, block = scaled(), np.ones(8)
    for a, r in pairwise([block[:3], block[2:5], block[:3]]):
        with pytest.raises(Overlap):
            f(a, 1.0, r)
    with pytest.raises(Overlap):
        f(block[:3], 1.0, block[:3])
    assert (block == 1.0).all()
    assert f(block[:3], 1.0, block[3:6])[0] == 1.0
    two = [Array(F8, (3,), 0), Array(F8, (3,), 1, True), Array(F8, (3,), 2, True)]
    g = copied(two, 3, [], None)
    g(block[:3], block[3:6], np.ones(3))
    with pytest.raises(Overlap):
        g(np.ones(3), block[3:6], block[5:])


def test_arrays_that_are_only_read_may_share_memory():
    two = [Array(F8, (3,), 0), Array(F8, (3,), 1), Array(F8, (3,), 2, True)]
    a = np.ones(3)
    assert copied(two, 3, [], None)(a, a, np.ones(3)) is None


def test_numbers_of_python():
    f = copied([Number(F8, 0), Number(I8, 1), Number(BOOL, 2)], 3, [F8, I8, BOOL], (0, 1, 2))
    for x in (0.5, -0.0, float("inf"), 1e-320):
        assert f(x, 3, True)[0] == x
    assert np.isnan(f(float("nan"), 3, True)[0])
    for n in (0, -1, 2**63 - 1, -(2**63)):
        found = f(1.0, n, False)
        assert found == (1.0, n, False) and [*map(type, found)] == [float, int, bool]
    for n in (2**63, -(2**63) - 1, 2**80):
        with pytest.raises(OverflowError):
            f(1.0, n, True)


def test_numbers_of_numpy_for_those_of_python():
    f = copied([Number(F8, 0), Number(I8, 1), Number(BOOL, 2)], 3, [F8, I8, BOOL], (0, 1, 2))
    assert f(np.float64(0.5), np.int64(-3), np.bool_(True)) == (0.5, -3, True)

    class Meters(float):
        pass

    class Count(int):
        pass

    assert f(Meters(2.5), Count(4), False) == (2.5, 4, False)


@pytest.mark.parametrize(
    ("place", "given"),
    [
        (0, 1), (0, True), (0, np.float32(1)), (0, np.int64(1)), (0, "1"), (0, None), (0, 1j),
        (0, np.ones(1)), (1, 1.0), (1, True), (1, np.int32(1)), (1, np.float64(1)), (1, None),
        (1, np.bool_(True)), (2, 1), (2, 1.0), (2, None), (2, np.ones(1, bool)),
    ],
)  # fmt: skip
def test_numbers_of_other_kinds_are_refused(place, given):
    f = copied([Number(F8, 0), Number(I8, 1), Number(BOOL, 2)], 3, [F8, I8, BOOL], (0, 1, 2))
    arguments: list = [1.0, 1, True]
    arguments[place] = given
    with pytest.raises(TypeError):
        f(*arguments)


@pytest.mark.parametrize("kind", NUMBERS)
def test_scalars_of_numpy_are_taken_by_their_bytes(kind):
    dtype = np.dtype(kind)
    word = np.dtype(np.uint64)
    f = copied([Number(dtype, 0)], 1, [word], 0)
    for number in (0, 1, 77):
        given = dtype.type(number)
        found = np.array([f(given)], np.uint64).view(dtype)[0]
        assert found == given
    for other in (1, 1.0, np.float64(1), np.longdouble(1), np.int64(1), None):
        with pytest.raises(TypeError):
            f(other)


def test_an_unsigned_result():
    f = copied([Number(I8, 0)], 1, [np.dtype(np.uint64)], 0)
    assert f(-1) == 2**64 - 1


def test_lengths_that_are_not_fixed_get_into_their_slots():
    parameters = [Array(F8, (~1, 2, ~2), 0)]
    f = copied(parameters, 3, [I8, I8, I8], (1, 2))
    assert f(np.zeros((5, 2, 7))) == (5, 7)
    assert f(np.zeros((0, 2, 1))) == (0, 1)
    with pytest.raises(ValueError, match=r"\['any', 2, 'any'\]"):
        f(np.zeros((5, 3, 7)))


def test_the_code_raises_exceptions_by_their_number():
    a, r = np.ones(3), np.ones(3)
    with pytest.raises(ValueError) as caught:
        scaled()(a, -1.0, r)
    assert caught.value.args == ("below", 0)
    with pytest.raises(ValueError) as again:
        scaled(brief=-1)(a, -1.0, r)
    assert again.value is not caught.value
    f = copied([], 0, [], None, 2, [ValueError("one"), np.linalg.LinAlgError("two")])
    with pytest.raises(np.linalg.LinAlgError, match="two"):
        f()


@pytest.mark.parametrize("brief", [-1, 0])
def test_threads_call_at_once(brief):
    f = scaled(brief)
    wrong = []

    def work(number):
        a, r = np.full(3, float(number)), np.zeros(3)
        wrong.extend(1 for i in range(2000) if f(a, float(i), r)[0] != number * i)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


HELD = """
define i32 @run(ptr %words, ptr %numbers) {
  %held = call i32 @PyGILState_Check()
  %wide = zext i32 %held to i64
  store i64 %wide, ptr %numbers
  ret i32 0
}
declare i32 @PyGILState_Check()
"""


def test_short_arrays_keep_the_gil(kind):
    if kind == "Python":
        pytest.skip("ctypes releases it")
    run = machine_code("held", HELD, lambda: (HELD, tuple, None))[0]["run"]
    parameters = [Array(F8, (~1,), 0), Array(F8, (2, ~3), 2)]
    f = entry("f", run, parameters, 4, [I8], 0, brief=4)
    for n, m in ((0, 0), (4, 4), (5, 4), (4, 5), (9, 0)):
        assert f(np.ones(n), np.ones((2, m))) == (max(n, m) <= 4)
    f = entry("f", run, [Array(F8, (7,), 0)], 1, [I8], 0)
    assert f(np.ones(7)) == 0


@pytest.mark.full
def test_ten_thousand_calls_leave_no_references(kind):
    count = 10_000 if kind == "C" else 500
    f = scaled(result=((0, ~2), (0,)))
    a, r, x, n = np.ones(3), np.ones(3), 1.2345e5, 10**9
    g = copied([Number(I8, 0)], 1, [I8], (0, (0,)))
    held = (a, r, x, n, np.ndarray, a.dtype, None, True, ValueError, f, g)

    def used():
        gc.collect()
        return [sys.getrefcount(each) for each in held], sys.getallocatedblocks()

    def round_of(count):
        for _ in range(count):
            f(a, x, r)
            g(n)
            for arguments in ((a, -1.0, r), (a, x, a), (a, n, r), (r[:2], x, r), ()):
                try:
                    f(*arguments)
                except (TypeError, ValueError):
                    pass
            try:
                g(2**70)
            except OverflowError:
                pass

    round_of(100)
    before, blocks = used()
    round_of(count)
    after, more = used()
    assert after == before
    assert more - blocks < 1000
