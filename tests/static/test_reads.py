"""What a compiled function reads beside its arguments: every kind of place, changed in every way,
against a plain call."""

import gc
import weakref
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.daily import pairs

import nbgrad
from nbgrad.capi import compared
from nbgrad.static import function
from nbgrad.static.entry import python_entry
from nbgrad.static.reads import guard, kinds

X = np.array([0.5, 1.0, 2.0])

# The text of a function `f`, and texts that change what it reads, one after another.
READS = {
    "global number": ("k = 2.0", "np.sum(x * x) * k",
                      "k = 3.0 | k = 3 | k = np.float64(4) | k += 1"),
    "global array": ("k = np.ones(3)", "np.sum(x * x * k)",
                     "k = 2 * k | k[:] = 5 | k = k[::-1].copy() | k = np.arange(3) | k = 7.0"),
    "global flag": ("k = True", "np.sum(x * x if k else x)", "k = False | k = True | k = 0"),
    "global name": ("k = 'sin'", "np.sum(getattr(np, k)(x))", "k = 'cos' | k = 'exp'"),
    "global None": ("k = None", "np.sum(x if k is None else x * k)", "k = 2.0 | k = None"),
    "hidden builtin": ("", "np.sum(x * x * abs(-2))",
                       "def abs(x):\n return 9.0 | del abs"),
    "helper": ("def h(x):\n return x * 2", "np.sum(h(x) * x)",
               "def h(x):\n return x * 3 | h.__code__ = (lambda x: x * 5).__code__ | h = np.sin"),
    "helper of a helper": ("k = 2.0\ndef g(x):\n return x * k\ndef h(x):\n return g(x) * k",
                           "np.sum(h(x) * x)", "k = 4.0 | def g(x):\n return x * x"),
    "default": ("def h(x, a=2.0, *, b=3.0):\n return x * a + b * x * x", "np.sum(h(x))",
                "h.__defaults__ = (5.0,) | h.__kwdefaults__ = {'b': 7.0} "
                "| h.__kwdefaults__['b'] = 8.0"),
    "attribute of a function": ("def h(x):\n return x * h.k\nh.k = 2.0", "np.sum(h(x) * x)",
                                "h.k = 3.0"),
    "lambda in a list": ("hs = [lambda x: x, lambda x: 2 * x]", "np.sum(sum(h(x) * x for h in hs))",
                         "hs[0] = lambda x: 5 * x | hs.append(np.sin) | hs.pop(0)"),
    "decorated": ("import functools\nk = 2.0\ndef d(f):\n @functools.wraps(f)\n def g(*a):\n"
                  "  return f(*a) * k\n return g\n@d\ndef h(x):\n return x * m\nm = 3.0",
                  "np.sum(h(x) * x)", "k = 5.0 | m = 7.0"),
    "cached helper": ("import functools\nk = 2.0\n@functools.lru_cache\ndef h(n):\n return n * 2.0",
                      "np.sum(h(3) * x * x)", "h = functools.lru_cache(lambda n: n * 5.0)"),
    "partial": ("import functools\nc = {'a': 2.0}\n"
                "h = functools.partial(lambda x, c: x * c['a'], c=c)",
                "np.sum(h(x) * x)", "c['a'] = 3.0 | h = functools.partial(np.power, 2.0)"),
    "dict": ("c = {'a': 2.0, 'b': {'c': [1.0, 2.0]}}", "np.sum(x * x) * c['a'] * c['b']['c'][1]",
             "c['a'] = 3.0 | c['b']['c'][1] = 5.0 | c['b'] = {'c': (0, 9.0)} "
             "| c = {**c, 'a': 8.0}"),
    "dict with a default": ("c = {}", "np.sum(x * x) * c.get('a', 1.0)",
                            "c['a'] = 3.0 | del c['a']"),
    "dict as a whole": ("c = {'a': 2.0, 'b': 3.0}",
                        "np.sum(x * x) * sum(v * (i + 1) for i, v in enumerate(c.values()))",
                        "c['a'] = 3.0 | c['c'] = 5.0 | c['a'] = c.pop('a') | c.clear()"),
    "dict of an integer": ("c = {0: 2.0}", "np.sum(x * x) * c[0]", "c[0] = 3.0 | c = {0: 4.0}"),
    "unpacked dict": ("c = {'a': 2.0}\ndef h(x, a):\n return x * a", "np.sum(h(x, **c) * x)",
                      "c['a'] = 3.0"),
    "list": ("c = [2.0, 3.0]", "np.sum(x * x) * c[0] + len(c) * np.sum(x)",
             "c[0] = 5.0 | c.append(1.0) | c[:] = [7.0] | c = (8.0,)"),
    "list of arrays": ("c = [np.ones(3), np.arange(3.0)]", "np.sum(x * x * c[0] * c[1])",
                       "c[0] = c[1] | c[1] = 3.0 | c[0][:] = 9.0"),
    "set": ("c = {2.0}", "np.sum(x * x) * sum(c)", "c.add(5.0) | c.clear()"),
    "deque": ("import collections\nc = collections.deque([2.0])", "np.sum(x * x) * sum(c)",
              "c.append(5.0) | c.popleft()"),
    "named tuple": ("import collections\nT = collections.namedtuple('T', 'a b')\nc = T(2.0, [3.0])",
                    "np.sum(x * x) * c.a * c.b[0]", "c.b[0] = 5.0 | c = c._replace(a=7.0)"),
    "object": ("class C:\n a = 2.0\nc = C()", "np.sum(x * x) * c.a",
               "c.a = 3.0 | del c.a | C.a = 5.0 | c.__dict__ = {'a': 7.0} | vars(c)['a'] = 8.0 "
               "| setattr(c, 'a', 9.0) | c = C()"),
    "object of objects": ("class C:\n def __init__(self, a):\n  self.a = a\n"
                          "c = C([C(2.0), C({'k': C(3.0)})])",
                          "np.sum(x * x) * c.a[0].a * c.a[1].a['k'].a",
                          "c.a[0].a = 5.0 | c.a[1].a['k'].a = 7.0 | c.a[1] = C({'k': C(1.0)})"),
    "array of an object": ("class C:\n pass\nc = C()\nc.w = np.ones(3)", "np.sum(x * x * c.w)",
                           "c.w = 2 * c.w | c.w[:] = 5.0 | c.w = 3.0"),
    "slots": ("class C:\n __slots__ = ('a', 'b')\nc = C()\nc.a = c.b = 2.0", "np.sum(x * x) * c.a",
              "c.a = 3.0 | c.b = 9.0 | c.a = np.ones(3)[0]"),
    "dataclass": ("import dataclasses\n@dataclasses.dataclass\nclass C:\n a: float = 2.0\nc = C()",
                  "np.sum(x * x) * c.a", "c.a = 3.0 | c = dataclasses.replace(c, a=5.0)"),
    "simple namespace": ("import types\nc = types.SimpleNamespace(a=2.0)", "np.sum(x * x) * c.a",
                         "c.a = 3.0"),
    "perhaps an attribute": ("class C:\n pass\nc = C()", "np.sum(x * x) * getattr(c, 'a', 1.0)",
                             "c.a = 3.0 | del c.a"),
    "an attribute by a name": ("class C:\n a = 2.0\n b = 3.0\nc = C()\nk = 'a'",
                               "np.sum(x * x) * getattr(c, k)", "k = 'b' | c.b = 5.0 | c.a = 7.0"),
    "attributes by made names": ("class C:\n a_0 = 2.0\nc = C()\nc.a_1 = 3.0",
                                 "np.sum(x * x) * sum(getattr(c, f'a_{i}') for i in range(2))",
                                 "c.a_1 = 5.0 | c.a_0 = 7.0"),
    "class": ("class B:\n a = 2.0\nclass C(B):\n pass", "np.sum(x * x) * C.a",
              "B.a = 3.0 | C.a = 5.0 | del C.a"),
    "class made anew": ("class C:\n a = 2.0", "np.sum(x * x) * C.a", "class C:\n a = 5.0"),
    "enumeration": ("import enum\nclass E(enum.Enum):\n a = 2.0\n b = 3.0\nk = E.a",
                    "np.sum(x * x) * k.value", "k = E.b"),
    "method": ("class C:\n a = 2.0\n def m(self, x):\n  return x * self.a\nc = C()",
               "np.sum(c.m(x) * x)", "c.a = 3.0 | C.m = lambda self, x: x | c.m = np.sin"),
    "property": ("class C:\n a = 2.0\n @property\n def p(self):\n  return self.a * k\n"
                 "c = C()\nk = 3.0",
                 "np.sum(x * x) * c.p", "c.a = 3.0 | k = 5.0 | C.p = 9.0"),
    "operators": ("class C:\n a = 2.0\n def __call__(self, x):\n  return x * self[0]\n"
                  " def __getitem__(self, i):\n  return self.a\nc = C()", "np.sum(c(x) * x)",
                  "c.a = 3.0 | C.__getitem__ = lambda self, i: 7.0 "
                  "| C.__call__ = lambda self, x: x"),
    "static and class methods": ("k = 2.0\nclass C:\n a = 3.0\n @staticmethod\n def s(x):\n"
                                 "  return x * k\n @classmethod\n def m(cls, x):\n"
                                 "  return x * cls.a",
                                 "np.sum(C.s(x) * C.m(x))", "k = 5.0 | C.a = 7.0"),
    "inherited": ("class B:\n def m(self, x):\n  return x * self.a\nclass C(B):\n a = 2.0\n"
                  " def m(self, x):\n  return super().m(x) * 2\nc = C()", "np.sum(c.m(x) * x)",
                  "c.a = 3.0 | B.m = lambda self, x: x"),
    "module": ("import types\nm = types.ModuleType('config')\nm.a = 2.0", "np.sum(x * x) * m.a",
               "m.a = 3.0 | m.a = 2 * np.ones(3)[0]"),
    "comprehension": ("c = [1.0, 2.0]\nk = 3.0", "np.sum(sum([x * a * k for a in c]) * x)",
                      "k = 5.0 | c[1] = 7.0"),
    "inner function": ("k = 2.0", "(lambda h: np.sum(h(x) * x))(lambda y: y * k)", "k = 5.0"),
    "layer": ("layer = nbgrad.nn.Dense(np.ones((3, 2)), np.zeros(2))", "np.sum(layer(x) ** 2)",
              "layer.weight = 2 * layer.weight | layer.bias = np.ones(2)"),
    "custom rule": ("k = 2.0\n@nbgrad.custom_rule(pullback=lambda ct, out, x: (ct * k * out,))\n"
                    "def h(x):\n return x * k", "np.sum(h(x) * x)", "k = 5.0"),
    "loop body": ("k = 2.0", "np.sum(nbgrad.loop(3, lambda i, s: s * k, x) * x)", "k = 3.0"),
    "vmap inside": ("k = 2.0\ndef h(a):\n return a * a * k", "np.sum(nbgrad.vmap(h)(x))",
                    "k = 5.0 | def h(a):\n return a"),
    "derivative inside": ("k = 2.0\ndef h(a):\n return np.sum(a * a * a) * k",
                          "np.sum(nbgrad.grad(h)(x))", "k = 5.0"),
    "compiled inside": ("k = 2.0\n@nbgrad.compile\ndef h(a):\n return a * a * k", "np.sum(h(x))",
                        "k = 5.0"),
    "walrus and global": ("k = 2.0\ndef h():\n global k\n return k", "np.sum(x * x) * h()",
                          "k = 4.0"),
    "attributes as a dict": ("class C:\n pass\nc = C()\nc.a = 2.0",
                             "np.sum(x * x) * sum(vars(c).values()) * len(c.__dict__)",
                             "c.a = 3.0 | c.b = 5.0 | del c.a"),
    "named by a string": ("import operator\nclass C:\n a = 2.0\nc = C()\nk = 3.0\n"
                          "g = operator.attrgetter('a')",
                          "np.sum(x * x) * g(c) * globals()['k']", "c.a = 3.0 | k = 5.0"),
    "asked for by a hook": ("class C:\n def __init__(self):\n  self.d = {'v': 2.0}\n"
                            " def __getattr__(self, name):\n  return self.d[name]\nc = C()",
                            "np.sum(x * x) * c.v", "c.d['v'] = 3.0 | c.v = 5.0"),
    "containers of the library": (
        "import collections, types\nu = collections.UserDict(v=2.0)\nd = {'v': 3.0}\n"
        "c = collections.ChainMap({}, d)\nm = types.MappingProxyType(d)\n"
        "o = collections.OrderedDict(v=5.0)\ne = collections.defaultdict(lambda: 7.0)\n"
        "b = bytearray(b'ab')",
        "np.sum(x * x) * u['v'] * c['v'] * m['v'] * o['v'] * e['v'] * b[0]",
        "u['v'] = 3.0 | d['v'] = 5.0 | o['v'] = 7.0 | e['v'] = 2.0 | c['v'] = 1.0 | b[0] = 3"),
    "weak references": ("import weakref\nclass C:\n pass\nc = C()\nc.a = 2.0\n"
                        "r, p = weakref.ref(c), weakref.proxy(c)",
                        "np.sum(x * x) * r().a * p.a", "c.a = 3.0"),
    "class of an object": ("class A:\n def m(self):\n  return 2.0\nclass B:\n"
                           " def m(self):\n  return 3.0\nc = A()",
                           "np.sum(x * x) * c.m()", "c.__class__ = B"),
    "bases and a metaclass": ("class M(type):\n m = 2.0\nclass A:\n a = 3.0\nclass B:\n"
                              " a = 5.0\nclass C(A, metaclass=M):\n pass",
                              "np.sum(x * x) * C.a * C.m",
                              "C.__bases__ = (B,) | M.m = 7.0 | C.m = 9.0"),
    "part of a method": ("import functools\nclass C:\n c = 1.0\n def m(self, x, k):\n"
                         "  return x * k * self.c\n p = functools.partialmethod(m, k=2.0)\nc = C()",
                         "np.sum(c.p(x) * x)", "c.c = 3.0"),
    "context": ("import contextlib\nk = 2.0\n@contextlib.contextmanager\ndef h():\n yield k",
                "np.sum(x * x) * contextlib.ExitStack().enter_context(h())",
                "k = 3.0"),
    "tracked array": ("w = nbgrad.track(np.ones(3))", "np.sum(x * x * w.data)",
                      "w.data = 2 * np.ones(3) | w.data[:] = 5.0"),
    "size of an array": ("w = np.ones(3)", "np.sum(x * x) * w.size",
                         "w = np.ones(7) | w.resize(4, refcheck=False)"),
    "module that is imported": ("import sys, types\nsys.modules['cells_config'] = m = "
                                "types.ModuleType('cells_config')\nm.k = 2.0\ndef h():\n"
                                " from cells_config import k\n return k",
                                "np.sum(x * x) * h()", "m.k = 3.0"),
}  # fmt: skip
MODES = {
    "grad": nbgrad.grad,
    "value and grad": nbgrad.value_and_grad,
    "vmap": lambda f: nbgrad.vmap(lambda x, y: f(x * y), (0, None)),
}
"""Functions of x made of `f`."""


def module(text: str) -> dict:
    """What a text defines, as the cells of a notebook do."""
    names = {"__name__": "cells", "np": np, "nbgrad": nbgrad}
    exec(text, names)
    return names


def assert_same(found, wanted):
    found, wanted = (nbgrad.transforms.trees.flatten(x)[0] for x in (found, wanted))
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, 1e-12)


@pytest.fixture
def soon_native(monkeypatch):
    """Two calls are compared in Python, further ones by the C function."""
    monkeypatch.setattr(guard, "FEW", 2)


@pytest.mark.parametrize(("name", "mode"), pairs([*READS], [*MODES], 3))
def test_what_changes_is_read_again(name, mode, soon_native):
    before, result, changes = READS[name]
    names = module(f"{before}\ndef f(x):\n return {result}")
    f = MODES[mode](names["f"])
    compiled = nbgrad.compile(f)
    given = (np.stack([X, X + 1]), X) if mode == "vmap" else (X,)
    for change in ["", *changes.split(" | ")]:
        exec(change, names)
        for _ in range(4):
            assert_same(compiled(*given), f(*given))


SAME = {
    "nothing": "pass",
    "other names": "other = object(); c['other'] = []; o.other = object(); C.other = 1",
    "equal numbers": "k = float(str(k)); c['a'] = float(str(c['a'])); o.a = float(str(o.a))",
    "equal containers": "s = [*s]; c = dict(c); t = (1.0, [2.0, float('3')])",
    "what is undone": "k += 1; k -= 1; s.append(0); s.pop()",
    "contents of arrays": "w += 1",
    "the same text of a helper": "def h(x):\n return x * k",
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same_is_not_recorded_again(name, soon_native):
    helper = "def h(x):\n return x * k"
    names = module(
        "k, s, t, c, w = 1234.5, [1.5, 2.5], (1.0, [2.0, 3.0]), {'a': 5678.5}, np.ones(3)\n"
        "class C:\n b = 7.5\no = C()\no.a = 3456.5\nrecordings = []\n"
        "def f(x):\n recordings.append(0)\n"
        " return np.sum(h(x) * w) * s[0] * sum(t[1]) * c['a'] * o.a * o.b"
    )
    exec(helper, names)
    compiled = nbgrad.compile(names["f"])
    for _ in range(5):
        compiled(X)
    for _ in range(5):
        exec(SAME[name], names)
        found = compiled(X)
    assert len(names["recordings"]) == 1
    assert_same(found, names["f"](X))  # pyright: ignore[reportPossiblyUnboundVariable]


def test_values_that_come_again_are_not_recorded_again(soon_native):
    names = module("k, recordings = 0.0, []\ndef f(x):\n recordings.append(0)\n return x * k")
    compiled = nbgrad.compile(names["f"])
    for i in range(40):
        names["k"] = float(i % 3)
        np.testing.assert_array_equal(compiled(X), X * names["k"])
    assert len(names["recordings"]) == 3
    for i in range(100):  # only the latest programs are kept
        names["k"] = float(i)
        compiled(X)
    assert sum(map(len, compiled._others.values())) == function._OTHERS


def test_arrays_that_were_replaced_are_let_go():
    names = module("def f(x):\n return x * w")
    compiled = nbgrad.compile(names["f"])
    alive = []
    for i in range(2 * function._OTHERS):
        names["w"] = np.full(3, float(i))
        alive.append(weakref.ref(names["w"]))
        np.testing.assert_array_equal(compiled(X), X * i)
    gc.collect()
    assert sum(x() is not None for x in alive) <= function._OTHERS + 1


def test_threads_see_each_others_changes():
    """A change is seen by each call that begins after it."""
    names = module("k = 0.0\ndef f(x):\n return x * k")
    compiled = nbgrad.compile(names["f"])

    def work(i):
        return [compiled(X)[1] for _ in range(200)]

    with ThreadPoolExecutor(3) as pool:
        for i in range(3):
            names["k"] = float(i)
            for found in pool.map(work, range(3)):
                assert set(found) == {float(i)}


def test_the_address_of_a_program_is_that_of_now():
    names = module("k = 2.0\ndef f(x):\n return x * k")
    compiled = nbgrad.compile(names["f"])
    compiled(X)
    first = compiled.njit
    names["k"] = 3.0
    compiled(X)
    np.testing.assert_array_equal(compiled.njit(X), X * 3)
    np.testing.assert_array_equal(first(X), X * 2)


def _unknown(*args):
    raise kinds.NotInMemory


UNKNOWN = {
    "layout of objects": (compared, "IS_KNOWN", False),
    "versions of dicts": (kinds, "_version_place", lambda: None),
    "slots of functions": (kinds, "_function_slots", _unknown),
    "memcmp": (compared, "_memcmp", lambda: None),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_of_memory_is_compared_in_python(name, monkeypatch, soon_native):
    monkeypatch.setattr(*UNKNOWN[name])
    names = module("k, c, s = 0.0, {'a': 1.0}, [1.0]\ndef f(x):\n return x * k * c['a'] * sum(s)")
    compiled = nbgrad.compile(names["f"])
    for i in range(12):
        names["k"], names["c"]["a"], names["s"][0] = float(i // 4), float(i // 3), float(i // 6)
        np.testing.assert_array_equal(compiled(X), names["f"](X))


@dataclass
class Settings:
    """A dataclass, whose methods close over a set."""

    scale: float
    extra: Any = ()


COLLECTIONS = {
    "a set": {1.0, 2.0},
    "a large set": set(range(100)),
    "a deque": deque([1.0, 2.0]),
    "nothing": (),
}


@pytest.mark.parametrize("name", COLLECTIONS)
def test_a_program_in_c_sees_what_is_beside_words_of_memory(name, soon_native):
    """A field of an object, and the elements of a collection that it holds."""
    settings = Settings(1.0, copy(COLLECTIONS[name]))

    def f(x):
        return x * settings.scale + sum(settings.extra)

    compiled = nbgrad.compile(f)
    for i in range(12):
        settings.scale = float(i // 4)
        if i == 6 and isinstance(settings.extra, set):
            settings.extra.add(1000.0)
        if i == 6 and isinstance(settings.extra, deque):
            settings.extra[0] = 1000.0
        if i == 9 and settings.extra:
            settings.extra.pop()
        np.testing.assert_array_equal(compiled(X), f(X))


def test_nothing_is_noted_anew_while_nothing_changes(monkeypatch, soon_native):
    """A call that finds everything as it was runs C alone."""
    settings = Settings(2.0, {1.0})
    compiled = nbgrad.compile(lambda x: x * settings.scale + sum(settings.extra))
    for _ in range(6):
        compiled(X)
    noted = []
    monkeypatch.setattr(guard.Guard, "_note", noted.append)
    for _ in range(6):
        compiled(X)
    assert not noted


def test_what_python_alone_compares_is_compared_by_a_program_in_c_too(soon_native):
    """An array that is not contiguous has no block of bytes."""
    y = np.arange(6)[::2]
    compiled = nbgrad.compile(lambda x: x[y])
    given = np.arange(9.0)
    for i in range(8):
        y[0] = i
        np.testing.assert_array_equal(compiled(given), given[y])


def test_changes_are_seen_by_callers_that_were_generated_earlier(soon_native, monkeypatch):
    monkeypatch.setattr(python_entry, "AFTER", 0)
    names = module("k = 0.0\ndef f(x):\n return x * k")
    compiled = nbgrad.compile(names["f"])
    for i in range(60):
        names["k"] = float(i % 3) + 0.5  # another object each time
        for x in (X, X[::2], np.ones(5)):
            np.testing.assert_array_equal(compiled(x), x * names["k"])
