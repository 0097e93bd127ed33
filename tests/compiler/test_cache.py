"""The disk cache of kernels: what a process stores the next one loads, and nothing there can give
a wrong number or an exception."""

import inspect
import shutil
from pathlib import Path
from typing import Any

import numba
import pytest
from helpers.caches import (
    CALLED_BY_NUMBA,
    GRADIENTS,
    SCALED,
    SIGNATURES,
    SQUARE,
    cached,
    gradients_are_right,
    only_warning,
    square_is_right,
)
from helpers.children import run
from numba.core import caching, compiler, config, environment

import nbgrad
from nbgrad.compiler import cache as _cache
from nbgrad.compiler import numba_cache, sources

# -- from one process to the next ------------------------------------------------------------------


def test_a_second_process_compiles_nothing(tmp_path):
    code = """
x = nbgrad.track(np.linspace(0.1, 1.2, 12).reshape(3, 4))
w = nbgrad.track(np.ones((4, 4)))
z = nbgrad.logsoftmax(np.tanh(x @ w) * x)[1:].sum()
z.backward()
result = [x.grad.tolist(), w.grad.tolist()]
"""
    first = run(code, NBGRAD_CACHE_DIR=tmp_path)
    assert first.stats["compiled"] > 0 and first.loaded == 0
    second = run(code, NBGRAD_CACHE_DIR=tmp_path)
    assert (second.compiled, second.loaded) == (0, first.compiled)
    assert second.result == first.result
    assert not first.warnings and not second.warnings


def test_sessions_do_not_add_files(fork, warm):
    before = cached(warm)
    for _ in range(3):
        session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
        assert gradients_are_right(session)
        assert (session.compiled, session.loaded, session.warnings) == (0, SIGNATURES, [])
    assert cached(warm) == before


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.full)])
def test_sixteen_processes_at_once_on_an_empty_folder(fork, tmp_path, rounds):
    for i in range(rounds):
        directory = tmp_path / str(i)
        sessions = fork.many(16, GRADIENTS, NBGRAD_CACHE_DIR=directory)
        for session in sessions:
            assert gradients_are_right(session)
            assert not session.warnings
        assert sum(session.compiled for session in sessions) == SIGNATURES, "one for the machine"
        assert len(cached(directory)) == SIGNATURES, "one file a signature, no temporary ones"
        after = fork(GRADIENTS, NBGRAD_CACHE_DIR=directory)
        assert gradients_are_right(after)
        assert (after.compiled, after.loaded) == (0, SIGNATURES)


# -- the key ---------------------------------------------------------------------------------------


def test_kernels_that_differ_in_a_constant_have_their_own_entries(fork, tmp_path):
    code = SCALED + "result = [scaled(2.0), scaled(3.0)]"
    for compiled, loaded in ((2, 0), (0, 2)):
        session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
        assert session.result == [[0, 2, 4, 6, 8], [0, 3, 6, 9, 12]]
        assert (session.compiled, session.loaded) == (compiled, loaded)
    assert len(cached(tmp_path)) == 2


@pytest.mark.parametrize(
    "change",
    [
        "from nbgrad.compiler import cache as _cache; _cache.stamp = lambda: 'other sources'",
        "import numba; numba.config.BOUNDSCHECK = 1",
        "import numba; numba.config.USING_SVML = not numba.config.USING_SVML",
    ],
    ids=["sources", "options", "svml"],
)
def test_a_change_of_what_shapes_machine_code_is_a_miss(fork, tmp_path, change):
    assert fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path).compiled == 1
    changed = fork(f"{change}\n{SQUARE}", NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(changed)
    assert (changed.compiled, changed.loaded) == (1, 0)
    assert len(cached(tmp_path)) == 2


def test_the_stamp_covers_every_source_under_kernels(tmp_path):
    copy = tmp_path / "kernels"
    shutil.copytree(Path(sources.__file__).parent, copy)
    stamps = {sources.of_sources(copy)}
    assert stamps == {sources.of_sources(Path(sources.__file__).parent)}
    texts = list(copy.glob("*.py"))
    for text in texts:
        text.write_text(text.read_text() + "\n")
        stamps.add(sources.of_sources(copy))
    assert len(stamps) == 1 + len(texts)


# -- damage ----------------------------------------------------------------------------------------


def flip(position: float):
    def damage(blob: bytes) -> bytes:
        i = min(int(position * len(blob)), len(blob) - 1)
        return blob[:i] + bytes([blob[i] ^ 0x10]) + blob[i + 1 :]

    return damage


DAMAGE = {
    "empty": lambda blob: b"",
    "half": lambda blob: blob[: len(blob) // 2],
    "checksum-only": lambda blob: blob[:32],
    "flip-checksum": flip(0.0),
    "flip-pickle": lambda blob: blob[:40] + bytes([blob[40] ^ 0x01]) + blob[41:],
    "flip-middle": flip(0.5),
    "flip-end": flip(1.0),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_files_are_compiled_again_and_repaired(fork, warm, damage):
    good = {path: path.stat().st_size for path in cached(warm)}
    for path in good:
        path.write_bytes(damage(path.read_bytes()))
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session)
    assert session.compiled == SIGNATURES
    assert "compiled again" in only_warning(session)
    after = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(after)
    assert (after.compiled, after.loaded, after.warnings) == (0, SIGNATURES, [])
    assert cached(warm) == list(good)


def test_one_damaged_file_costs_one_compilation(fork, warm):
    for path in cached(warm):
        path.write_bytes(b"")
        session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
        assert gradients_are_right(session)
        assert (session.compiled, session.loaded) == (1, SIGNATURES - 1)
        assert path.name in only_warning(session)


def test_a_good_file_under_another_name_is_refused(fork, warm):
    """Its checksum is right, its machine code is that of another signature."""
    files = cached(warm)
    blobs = [path.read_bytes() for path in files]
    for path, blob in zip(files, blobs[1:] + blobs[:1], strict=True):
        path.write_bytes(blob)
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session)
    assert session.compiled == SIGNATURES
    only_warning(session)


# -- Numba -------------------------------------------------------------------------------------


def test_without_compilation_kernels_run_as_python(tmp_path):
    session = run(GRADIENTS, NUMBA_DISABLE_JIT=1, NBGRAD_CACHE_DIR=tmp_path)
    assert gradients_are_right(session)
    assert (session.compiled, session.loaded, session.warnings) == (0, 0, [])
    assert session.stats["called"] > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "told",
    [
        "import numba; numba.config.DISABLE_JIT = 1",
        "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'",
    ],
)
def test_to_compile_nothing_is_settled_at_the_import(fork, tmp_path, told):
    """Later it is for other functions: ours are compiled, and are kept, as those before were."""
    code = f"""
{told}
{GRADIENTS}
f = nbgrad.compile(lambda x: np.sum(np.tanh(x)))
assert abs(f(np.ones(3)) - 3 * np.tanh(1)) < 1e-12 and f.address
"""
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert gradients_are_right(session) and not session.warnings
    again = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert (again.compiled, again.loaded) == (0, session.compiled)


def test_code_with_addresses_in_it_is_not_stored(fork, tmp_path):
    code = '''
from nbgrad.compiler.kernel import kernel_from_source
text = """
import ctypes
labs = ctypes.CDLL(None).labs
labs.argtypes, labs.restype = (ctypes.c_long,), ctypes.c_long
def distance(xs, outs):
    for k in range(xs.size):
        outs[k] = labs(int(xs[k]))
"""
out = np.empty(2)
kernel_from_source("distance", text)(np.array([-3.0, 4.0]), out)
result = out.tolist()
'''
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert (session.result, session.compiled, session.warnings) == ([3, 4], 1, [])
    assert not (tmp_path / "kernels").exists() or cached(tmp_path) == []


def test_numba_has_the_private_pieces_that_the_cache_needs():
    """Where this fails, read the new Numba: kernels would be compiled again in each process."""
    dispatcher: Any = numba.njit(lambda x: x)
    assert isinstance(dispatcher._cache, caching._Cache)
    asked = {name for name in vars(caching._Cache) if not name.startswith("_")}
    assert asked <= set(dir(numba_cache.KernelCache))
    for name in ("load_overload", "save_overload"):
        theirs = inspect.signature(getattr(caching._Cache, name))
        ours = inspect.signature(getattr(numba_cache.KernelCache, name))
        assert list(theirs.parameters) == list(ours.parameters)
    assert callable(compiler.compile_result) and callable(environment.lookup_environment)
    assert callable(environment._rebuild_env)
    for option in _cache._OPTIONS:
        assert hasattr(config, option)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("compiler", "compile_result"),
        ("environment", "_rebuild_env"),
        ("environment", "lookup_environment"),
    ],
)
def test_without_a_private_piece_there_is_no_cache(fork, tmp_path, owner, name):
    code = f"""
from types import SimpleNamespace
from nbgrad.compiler import numba_cache as _cache
# Numba itself keeps its pieces; the cache sees a Numba without them.
_cache.compiler = SimpleNamespace(compile_result=1)
_cache.environment = SimpleNamespace(_rebuild_env=1, lookup_environment=1)
del _cache.{owner}.{name}
{CALLED_BY_NUMBA}"""
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert session.result == 6.0
    assert name in only_warning(session)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_dispatcher_without_a_place_for_a_cache_is_left_alone(monkeypatch):
    monkeypatch.setattr(_cache, "_warned", set())

    class Dispatcher:
        __slots__ = ()

    with pytest.warns(nbgrad.CacheWarning, match="lacks _cache"):
        numba_cache.attach(Dispatcher(), "name", "text")


@pytest.mark.full
def test_a_warning_made_an_error_reaches_the_user_once(fork, tmp_path):
    (tmp_path / "file").touch()
    code = f"""
import warnings
warnings.simplefilter("error")
try:
    nbgrad.track(np.ones(2)) * 2.0
    raised = False
except nbgrad.CacheWarning:
    raised = True
assert raised
{SQUARE}"""
    assert square_is_right(fork(code, NBGRAD_CACHE_DIR=tmp_path / "file"))
