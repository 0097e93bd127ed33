"""What the front end does not take is refused by name, with the line."""

import re
from collections import namedtuple

import numpy as np
import pytest
from fuzz.frontend import function_of

from nbgrad.compiler.front.functions import ArrayType, entry_of
from nbgrad.compiler.front.syntax import Unsupported

DOUBLE, INT = np.dtype(float), np.dtype(np.int64)
# The body of a function of (x, n, a), what the error names, and the line.
REFUSED = {
    "a list": ("s = 0.0\nb = [v for v in a] * 2\nreturn s", "a list: np.array", 2),
    "a dict": ("b = {1: x}\nreturn x", "a dictionary: use arrays", 1),
    "an f-string": ("b = f'{x}'\nreturn x", "an f-string", 1),
    "a decorated function inside": (
        "@helper\ndef f(t):\n    return t\nreturn f(x)", "a decorator of f", 2),
    "with": ("with x:\n    pass\nreturn x", "with: write", 1),
    "try": ("try:\n    x = 2.0\nexcept ValueError:\n    pass\nreturn x", "try: test", 1),
    "yield": ("yield x", "a generator: fill", 1),
    "import": ("import math\nreturn x", "an import inside", 1),
    "global": ("global q\nreturn x", "global: return", 1),
    "a match": ("match n:\n    case 1:\n        return x\nreturn x", "match: use if", 1),
    "a list that grows": ("b = []\nb.append(x)\nreturn x", "append of a list: use an array", 2),
    "hidden state": ("return x * np.random.normal()", "draw from nbgrad.random", 1),
    "a list of two loops": (
        "return np.sum(np.array([v * w for v in a for w in a]))", "a list with two `for`", 1),
    "a ragged list": (
        "return np.sum(np.array([[v for v in a[:i]] for i in range(n)]))", "inner loop depends", 1),
    "a list of tuples": ("return np.array([(v, v) for v in a])[0]", "a list of arrays or", 1),
    "a rank": (
        "w = np.linalg.matrix_rank(a[:, None] * a)\nreturn x", "call of np.linalg.matrix_rank", 1),
    "recursion": ("return recursive(x, n)", "which calls itself", 1),
    "a missing argument": ("return helper(x)", "helper without the argument y", 1),
    "an unknown argument": ("return helper(x, z=x)", "helper with the argument z", 1),
    "an argument twice": ("return helper(x, x=x)", "helper with the argument x", 1),
    "too many arguments": ("return helper(x, x, x)", "helper with too many arguments", 1),
    "keywords by **": ("return helper(x, **{'y': x})", "a call with", 1),
    "a function of any keywords": ("return keywords(x)", "takes any keywords", 1),
    "an unknown function": ("return x + sorted(a)", "a call of sorted", 1),
    "a slice as an argument": ("return helper(x, a[slice(1, 2)])", "a call of slice", 1),
    "a function without a source": ("return unsourced(x)", "whose source is not found", 1),
    "a call of a number": ("return x(2.0)", "a call of a value", 1),
    "an unknown name": ("y = x\nreturn y + unknown", "unknown, which is not defined", 2),
    "read before assigned": ("y = z\nz = x\nreturn y", "z, which may be read before", 1),
    "results of two kinds": ("if n > 1:\n    return x\nreturn x, x", "results of several types", 3),
    "a result in some cases": ("if n > 1:\n    return x", "in some cases only", 0),
    "an array or a number": ("y = x\nif n > 1:\n    y = a\nreturn y", "y, which has values of", 4),
    "None or a number": ("y = None\nif n > 1:\n    y = x\nreturn y", "y, which has values of", 4),
    "a range of floats": ("for i in range(x):\n    x += 1.0\nreturn x", "a range of floats", 1),
    "a loop over a number": ("for i in x:\n    x += 1.0\nreturn x", "a loop over something", 1),
    "a tuple of two types": ("for i in (n, x):\n    x += i\nreturn x", "of several types", 1),
    "an item of a tuple": ("t = (x, x)\nt[0] = x\nreturn x", "assignment to an element", 2),
    "unpacking": ("u, v = (x, x, x)\nreturn u", "another number of values", 1),
    "a member of two types": ("t = (n, x)\nreturn t[n]", "of several types", 2),
    "in an array": ("return x if x in a else 0.0", "`in` for a value", 1),
    "is of numbers": ("return x if x is n else 0.0", "the identity of numbers", 1),
    "bits of a float": ("return x | 1", "or of floats", 1),
    "a shift of a float": ("return x << 1", "left_shift of floats", 1),
    "a raise of a value": ("raise x", "an exception that is not a class", 1),
    "print of a call": ("print(helper(x, x))\nreturn x", "print of the result of a call", 1),
    "a complex number": ("return math.sin(x + 1j)", "sin of complex numbers", 1),
    "the order of complex numbers": ("return x if x < 1j else 0.0", "the order of complex", 1),
    "an array of complex numbers": (
        "return np.sort(a.astype(np.complex128))[0].real", "sort of complex numbers", 1),
    "half a float": ("return np.float16(x)", "a number of dtype float16", 1),
    "a string": ("y = 'a' + 'b'\nreturn x", "as a number", 1),
    "a named tuple's field": ("return Point(x, x).z", "the attribute z", 1),
    "a named tuple's arguments": ("return Point(x).x", "a call of Point", 1),
}  # fmt: skip


def helper(x, y):
    return x * y


unsourced = eval("lambda x: x * x")


def keywords(x, **options):
    return x


def recursive(x, n):
    return x if n == 0 else recursive(x * 0.5, n - 1)


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    body, text, line = REFUSED[name]
    head = "import numpy as np\n\n\ndef drawn(x, n, a):\n"
    whole = head + "".join(f"    {each}\n" for each in body.splitlines())
    function = function_of(whole)
    function.__globals__.update(
        helper=helper, keywords=keywords, unsourced=unsourced, recursive=recursive, Point=Point
    )
    with pytest.raises(Unsupported, match=re.escape(text)) as refused:
        entry_of(function, (DOUBLE, INT, ArrayType(DOUBLE, 1)))
    inner = recursive if name == "recursion" else function
    first = inner.__code__.co_firstlineno
    assert f":{first + line}, in {inner.__name__})" in str(refused.value)
