"""Code for NumPy tests types: what it is told of a value inside of a transformation is what NumPy
says of the plain one."""

import ast
import collections.abc as abc
import copy
import functools
import importlib
import numbers
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import nbgrad
from nbgrad.core import slots
from nbgrad.core.primitive import Aval
from nbgrad.runtime.kinds import is_a


def _of(function):
    """What a call gives; the class of the error where it raises."""

    def asked(x):
        try:
            return function(x)
        except (TypeError, AttributeError) as error:
            return TypeError if isinstance(error, TypeError) else AttributeError

    return asked


@functools.singledispatch
def dispatched(x):
    return "other"


dispatched.register(np.ndarray, lambda x: "array")
dispatched.register(float, lambda x: "float")
dispatched.register(np.floating, lambda x: "floating")


def _unpacked(x):
    _, *rest = x
    return len(rest)


def _matched(x):
    match x:
        case float():
            return "float"
        case np.ndarray():
            return "array"
    return "other"


ASKED = {
    "isinstance ndarray": lambda x: isinstance(x, np.ndarray),
    "isinstance int, float": lambda x: isinstance(x, (int, float)),
    "isinstance float": lambda x: isinstance(x, float),
    "isinstance int": lambda x: isinstance(x, int),
    "isinstance complex": lambda x: isinstance(x, complex),
    "isinstance list, tuple": lambda x: isinstance(x, (list, tuple)),
    "isinstance list, tuple, ndarray": lambda x: isinstance(x, (list, tuple, np.ndarray)),
    "isinstance str": lambda x: isinstance(x, str),
    "isinstance generic": lambda x: isinstance(x, np.generic),
    "isinstance floating": lambda x: isinstance(x, np.floating),
    "isinstance float32": lambda x: isinstance(x, cast(Any, np.float32)),
    "isinstance matrix": lambda x: isinstance(x, np.matrix),
    "Number": lambda x: isinstance(x, numbers.Number),
    "Real": lambda x: isinstance(x, numbers.Real),
    "Integral": lambda x: isinstance(x, numbers.Integral),
    "Iterable": lambda x: isinstance(x, abc.Iterable),
    "Iterator": lambda x: isinstance(x, abc.Iterator),
    "Collection": lambda x: isinstance(x, abc.Collection),
    "Sequence": lambda x: isinstance(x, abc.Sequence),
    "Mapping": lambda x: isinstance(x, abc.Mapping),
    "np.isscalar": np.isscalar,
    "np.iterable": np.iterable,
    "np.ndim": np.ndim,
    "np.size": np.size,
    "np.shape": np.shape,
    "np.isrealobj": np.isrealobj,
    "np.iscomplexobj": np.iscomplexobj,
    "np.issubdtype": lambda x: np.issubdtype(x.dtype, np.floating),
    "ndim": lambda x: x.ndim,
    "kind": lambda x: x.dtype.kind,
    "hasattr len": lambda x: hasattr(x, "__len__"),
    "hasattr iter": lambda x: hasattr(x, "__iter__"),
    "hasattr getitem": lambda x: hasattr(x, "__getitem__"),
    "hasattr shape": lambda x: hasattr(x, "shape"),
    "hasattr array": lambda x: hasattr(x, "__array__"),
    "hasattr append": lambda x: hasattr(x, "append"),
    "len": _of(len),
    "iter": _of(lambda x: bool(iter(x))),
    "unpacked": _of(_unpacked),
    "list": _of(lambda x: len(list(x))),
    "callable": callable,
    "__class__": lambda x: x.__class__,
    "name of the class": lambda x: x.__class__.__name__,
    "singledispatch": dispatched,
    "match": _matched,
    "real": lambda x: np.shape(x.real),
    "itemsize": lambda x: (x.itemsize, x.nbytes),
}
VALUES = {
    "float": 2.0,
    "np.float64": np.float64(2.0),
    "np.float32": np.float32(2.0),
    "array without axes": np.array(2.0),
    "vector": np.array([1.2, 0.7, 2.1]),
    "matrix": np.ones((2, 3)),
    "float32 vector": np.ones(3, np.float32),
}
# A Python float stands for itself as NumPy's, which is one, too.
OF_NUMPYS_FLOAT = {
    "isinstance generic",
    "isinstance floating",
    "np.issubdtype",
    "ndim",
    "kind",
    "hasattr getitem",
    "hasattr shape",
    "hasattr array",
    "__class__",
    "name of the class",
    "singledispatch",
    "itemsize",
}


def _looped(f, x):
    nbgrad.compile(lambda x: nbgrad.loop(2, lambda i, y: f(y) * y, x))(x)


MODES = {
    "grad": lambda f, x: nbgrad.grad(f)(x),
    "track": lambda f, x: f(nbgrad.track(x)),
    "jvp": lambda f, x: nbgrad.jvp(f, (x,), (x * 1.0,)),
    "vmap": lambda f, x: nbgrad.vmap(f)(np.stack([x, x])),
    "vmap of grad": lambda f, x: nbgrad.vmap(nbgrad.grad(f))(np.stack([x, x])),
    "jacobian": lambda f, x: nbgrad.jacobian(f)(x),
    "hessian": lambda f, x: nbgrad.hessian(f)(x),
    "compile": lambda f, x: nbgrad.compile(f)(x),
    "compiled grad": lambda f, x: nbgrad.compile(nbgrad.grad(f))(x),
    "loop": _looped,
}
# These make numbers of arrays without axes: samples and compiled values have one kind of them.
NUMBERS_ONLY = {"vmap", "vmap of grad", "compile", "compiled grad", "loop", "track", "hessian"}


def _told(x: Any) -> dict[str, Any]:
    return {name: ask(x) for name, ask in ASKED.items()}


def _plainly(x: Any) -> dict[str, Any]:
    """What plain NumPy says; of what it has no word for on a float, what it says of its own."""
    told = _told(np.float64(x) if type(x) is float else x)
    if type(x) is float:
        same = {name: ASKED[name](x) for name in ASKED if name not in OF_NUMPYS_FLOAT}
        assert {name: told[name] for name in same} == same
    return told


@pytest.mark.skipif(not slots.can_iterate(), reason="numbers have an __iter__ there")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", VALUES)
def test_what_tests_of_types_are_told(name, mode):
    x = VALUES[name]
    expected, element, told, parts = _plainly(x), _told(np.asarray(x).flat[0]), [], []
    if name == "array without axes" and mode in NUMBERS_ONLY:
        expected = _told(x[()])

    def f(x):
        told.append(_told(x))
        parts.extend(_told(y) for y in (np.sum(x), np.ravel(x)[0]))
        return np.sum(x * x)

    MODES[mode](f, x)
    assert told and all(each == expected for each in told)
    assert all(each == element for each in parts)


def test_types_stay_what_they_are():
    x = nbgrad.track(np.ones(3))
    for y in (x, np.sum(x), x[1:], np.zeros((), like=x)):
        assert type(y) is nbgrad.TrackedArray
        assert isinstance(y, nbgrad.TrackedArray)
        assert not is_a(y, (np.ndarray, float))
        assert type(copy.copy(y)) is type(copy.deepcopy(y)) is nbgrad.TrackedArray
    assert isinstance(np.zeros((), like=x), np.ndarray)
    assert np.ndarray in (x.__class__, *map(type, [x.data]))


def test_samples_of_integers_and_masks():
    def f(i):
        assert isinstance(i, np.integer) and isinstance(i, numbers.Integral)
        assert np.isscalar(cast(Any, i))
        assert not isinstance(i, float)
        assert isinstance(i > 1, np.bool_)
        return i + 1

    np.testing.assert_array_equal(nbgrad.vmap(f)(np.array([1, 2])), [2, 3])


def test_named_sizes():
    kinds = []

    def f(x):
        kinds.append((isinstance(x, np.ndarray), np.isscalar(np.sum(x)), hasattr(x, "__len__")))
        return np.sum(x * x)

    assert nbgrad.compile(f, dynamic={"x": ("n",)})(np.ones(3)) == 3.0
    assert set(kinds) == {(True, True, True)}


def test_a_number_has_no_views():
    """NumPy makes a new array of a number; writes to it leave the number as it is."""

    def f(x):
        s = np.sum(x * x)
        t, v = s, np.atleast_1d(s)
        v[0] = v[0] * 3.0
        s += 1.0
        return s * t + v[0]

    x = np.array([1.0, 2.0])
    assert f(x) == f(nbgrad.track(x)).data == nbgrad.jvp(f, (x,), (x,))[0] == nbgrad.compile(f)(x)
    assert nbgrad.vmap(f)(x[None])[0] == f(x)


@pytest.mark.parametrize(
    "mode", ["grad", "vmap of grad", "compiled grad", "hessian", "jvp", "vmap"]
)
@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.float32(2.0)])
def test_an_augmented_assignment_gives_a_new_number(x, mode):
    """A number given to a transformation is a value, too."""
    found = []

    def f(x):
        y = x
        y += 1.0
        found.append(y - x)
        return y * x * x

    result = MODES[mode](f, x)
    assert result is None or found
    assert nbgrad.grad(f)(x) == 3.0 * x * x + 2.0 * x


@pytest.mark.parametrize("mode", [nbgrad.grad, lambda f: lambda x: nbgrad.jvp(f, (x,), (x,))])
def test_an_argument_without_axes_is_not_written_to(mode):
    def f(x):
        y = x
        y += 1.0
        return y * x

    with pytest.raises(nbgrad.GraphError, match="argument of"):
        mode(f)(np.array(2.0))


# -- the package itself ----------------------------------------------------------------------------

PACKAGE = Path(nbgrad.__file__).parent
FACES = np.ndarray, np.float64, np.float32, np.int64, np.bool_
APART = (
    "bench",
    "cli",
    "compiler",
    "experiments",
    "ir",
    "__main__.py",
)  # of users, or without arrays


def test_the_package_asks_for_types():
    """`isinstance` is for classes that the arrays are themselves, or not at all; else `is_a`."""
    wrong, count = [], 0
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE)
        calls = [
            call
            for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "isinstance"
        ]
        if not calls or set(place.parts) & set(APART):
            continue
        module = importlib.import_module(
            ".".join(["nbgrad", *place.with_suffix("").parts]).removesuffix(".__init__")
        )
        for call in calls:
            try:
                kinds = eval(ast.unparse(call.args[1]), vars(module))
                own = any(issubclass(kind, kinds) for kind in (nbgrad.TrackedArray, Aval))
            except (NameError, TypeError):
                continue  # a name of a function's own
            count += 1
            if not own and any(issubclass(face, kinds) for face in FACES):
                wrong.append(f"{place}:{call.lineno}: {ast.unparse(call)}")
    assert not wrong, "write is_a(x, kinds) of nbgrad.runtime.kinds"
    assert count > 300
