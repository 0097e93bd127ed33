"""Where objects are kept otherwise than expected, everything runs in Python: the same numbers."""

import subprocess
import sys
import sysconfig
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.children import environment

import nbgrad
from nbgrad.runtime import layout
from nbgrad.values import writing

# What is found on builds for which nothing is written in C.
BUILDS = {
    "GIL that is off": (sys, "_is_gil_enabled", lambda: False),
    "debug counters": (sys, "gettotalrefcount", lambda: 0),
    "build without GIL": (sysconfig, "get_config_var", "Py_GIL_DISABLED".__eq__),
    "debug build": (sysconfig, "get_config_var", "Py_DEBUG".__eq__),
    "other Python": (sys, "implementation", SimpleNamespace(name="other")),
    "other NumPy": (np, "__version__", "3.0.0"),
}
# The same before the import, and places that are another word's.
FAKES = {
    "build without GIL, which is on": """
import sysconfig
known = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: name == "Py_GIL_DISABLED" or known(name)
""",
    "debug counters": "sys.gettotalrefcount = lambda: 0",
    "wrong offsets": """
[folder] = importlib.util.find_spec("nbgrad").submodule_search_locations
text = open(f"{folder}/runtime/layout.py").read()
assert "range(7)" in text
sys.modules["nbgrad.runtime.layout"] = module = types.ModuleType("nbgrad.runtime.layout")
exec(text.replace("range(7)", "range(1, 8)"), module.__dict__)
""",
}
# Each word of the layout at another place than expected.
PLACES = ("HEAD", "ITEMS", "TYPE", "DATA", "NDIM", "LENGTHS", "STRIDES", "OWNER", "DTYPE", "FLAGS")

PROGRAM = """
import importlib.util, sys, types, warnings
import numpy as np
import numba
{fake}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import nbgrad
    from nbgrad.core import slots
    from nbgrad.runtime import layout
    from nbgrad.values.tracked import TrackedArray
    assert not layout.IS_KNOWN and not slots.is_known()
    x = nbgrad.track(np.linspace(-1.0, 1.0, 6).reshape(2, 3))
    for _ in range(300):
        z = np.sum(np.tanh(x * 2.0 + 1.0) * x, axis=0)
        z.backward(np.ones(3))
        found = x.grad
        nbgrad.reset(x)
        y = x * 1.0
        y[0] = 2.0
    assert y.data[0, 0] == 2.0
    loss = lambda v: np.sum(np.tanh(v * 2.0 + 1.0) * v)
    compiled = nbgrad.compile(nbgrad.grad(loss))
    np.testing.assert_allclose(compiled(x.data), found, rtol=1e-13)
    t = np.tanh(x.data * 2.0 + 1.0)
    np.testing.assert_allclose(found, t + x.data * 2.0 * (1.0 - t * t), rtol=1e-13)
    plain = np.zeros(3)
    try:
        plain[0] = x[0, 0]
    except (TypeError, ValueError):
        pass
    assert type(TrackedArray.bind1) is type(loss)
    assert type(z.node.plan.forward) is not type(sum)
assert not caught, [str(each.message) for each in caught]
"""


@pytest.mark.parametrize("fake", FAKES.values(), ids=FAKES)
def test_unknown_builds_run_in_python(fake, tmp_path_factory):
    cache = tmp_path_factory.getbasetemp() / "layout"
    cache.mkdir(exist_ok=True)
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(fake=fake)],
        env=environment({"NBGRAD_CACHE_DIR": cache}),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert not answer.stderr


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_other_builds_are_noticed(build, monkeypatch):
    assert layout._is_known()
    monkeypatch.setattr(*build, raising=False)
    assert not layout._is_known()


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("shift", [-8, 8, 16])
def test_a_word_at_another_place_is_noticed(name, shift, monkeypatch):
    assert layout._is_known()
    monkeypatch.setattr(layout, name, getattr(layout, name) + shift)
    assert not layout._is_known()


def test_another_order_of_the_table_of_numpy_is_noticed(monkeypatch):
    monkeypatch.setattr(layout, "_TYPES", {i + 1: kind for i, kind in layout._TYPES.items()})
    with pytest.raises(LookupError):
        layout.new_array_address()


def test_memory_is_copied_where_references_are_not_counted(monkeypatch):
    monkeypatch.setattr(writing, "_holders", lambda value: 2)
    assert writing._measured() == 0
    monkeypatch.setattr(writing, "_ALONE", 0)
    y = nbgrad.track(np.ones(3)) * 2.0
    square = y * y
    y[0] = 5.0
    assert y.data[0] == 5.0 and square.data[0] == 4.0
