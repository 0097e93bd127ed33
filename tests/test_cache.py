"""The disk cache of kernels: what a process stores the next one loads, and nothing there can give
a wrong number or an exception."""

import inspect
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from children import Nursery, Session, run
from numba.core import caching, compiler, config, serialize

import nbgrad
from nbgrad.kernels import _cache

X = np.linspace(0.5, 1.5, 7)
# Two kernels, forward and back, of two signatures each: Numba's own cache mixes those up.
GRADIENTS = """
result = []
for dtype in (np.float64, np.float32):
    x = nbgrad.track(np.linspace(0.5, 1.5, 7).astype(dtype))
    (x * x).backward(np.ones(7))
    result.append(x.grad.tolist())
"""
SIGNATURES = 4
# The cheapest program that compiles: one kernel.
SQUARE = """
x = nbgrad.track(np.linspace(0.5, 1.5, 7))
result = (x * x).data.tolist()
"""
# Kernels from texts that differ in one constant.
SCALED = """
from nbgrad.kernels._jit import kernel_from_source
def scaled(factor, x=np.arange(5.0)):
    text = f"def scaled(xs, outs):\\n    for k in range(xs.size): outs[k] = {factor} * xs[k]"
    out = np.empty_like(x)
    kernel_from_source("scaled", text)(x, out)
    return out.tolist()
"""


def gradients_are_right(session: Session) -> bool:
    return session.result == [(2 * X).tolist(), (2 * X.astype(np.float32)).tolist()]


def square_is_right(session: Session) -> bool:
    return session.result == (X * X).tolist()


def cached(directory: Path) -> list[Path]:
    return sorted((directory / "kernels").iterdir())


def only_warning(session: Session) -> str:
    assert [category for category, _ in session.warnings] == ["CacheWarning"], session.warnings
    return session.warnings[0][1]


@pytest.fixture(scope="module")
def fork() -> Iterator[Nursery]:
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork processes")
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="module")
def warmed(fork, tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("warm")
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=directory)
    assert gradients_are_right(session)
    assert session.compiled == SIGNATURES == len(cached(directory))
    return directory


@pytest.fixture
def warm(warmed, tmp_path) -> Path:
    """A cache folder with the kernels of GRADIENTS."""
    return Path(shutil.copytree(warmed, tmp_path / "warm"))


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
        for session in fork.many(16, GRADIENTS, NBGRAD_CACHE_DIR=directory):
            assert gradients_are_right(session)
            assert not session.warnings
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
        "from nbgrad.kernels import _cache; _cache.stamp = lambda: 'other sources'",
        "import numba; numba.config.BOUNDSCHECK = 1",
    ],
    ids=["sources", "options"],
)
def test_a_change_of_what_shapes_machine_code_is_a_miss(fork, tmp_path, change):
    assert fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path).compiled == 1
    changed = fork(f"{change}\n{SQUARE}", NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(changed)
    assert (changed.compiled, changed.loaded) == (1, 0)
    assert len(cached(tmp_path)) == 2


def test_the_stamp_covers_every_source_under_kernels(fork, tmp_path):
    copy = tmp_path / "kernels"
    shutil.copytree(Path(_cache.__file__).parent, copy)
    code = f"""
from nbgrad.kernels import _cache
_cache.__file__ = {str(copy / "_cache.py")!r}
result = _cache.stamp.__wrapped__()
"""
    stamps = {fork(code).result}
    assert stamps == {_cache.stamp()}
    for source in copy.glob("*.py"):
        source.write_text(source.read_text() + "\n")
        stamps.add(fork(code).result)
    assert len(stamps) == 1 + len(list(copy.glob("*.py")))


def test_sources_are_stamped_when_they_are_imported(fork):
    """A source edited later must not lend its hash to the code that runs."""
    session = fork("from nbgrad.kernels import _cache; result = _cache.stamp.cache_info().currsize")
    assert session.result == 1


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


# -- folders ---------------------------------------------------------------------------------------


def test_the_folder_is_chosen_by_the_environment(fork, tmp_path):
    code = "from nbgrad.kernels import _cache; result = str(_cache.folder())"
    ours, numbas, home = tmp_path / "ours", tmp_path / "numbas", tmp_path / "home"
    chosen = fork(code, NBGRAD_CACHE_DIR=ours, NUMBA_CACHE_DIR=numbas, XDG_CACHE_HOME=home)
    assert chosen.result == str(ours / "kernels")
    chosen = fork(code, NUMBA_CACHE_DIR=numbas, XDG_CACHE_HOME=home)
    assert Path(chosen.result).is_relative_to(numbas)
    chosen = fork(
        "import platformdirs\nplatformdirs.user_cache_dir = lambda name, appauthor: "
        f"{str(home)!r} + '/' + name\n{code}"
    )
    assert chosen.result == str(home / "nbgrad" / "kernels")


def test_a_relative_folder_stays_where_the_program_began(fork, tmp_path):
    code = f"""
import os
os.chdir({str(tmp_path)!r})
from nbgrad.kernels import _cache
_cache.folder()
os.mkdir("elsewhere")
os.chdir("elsewhere")
{SQUARE}"""
    session = fork(code, NBGRAD_CACHE_DIR="here")
    assert square_is_right(session) and not session.warnings
    assert len(cached(tmp_path / "here")) == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_folder_is_private_whatever_the_umask(fork, tmp_path):
    tmp_path.chmod(0o777)
    session = fork(f"import os; os.umask(0)\n{SQUARE}", NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(session) and not session.warnings
    own = tmp_path / "kernels"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path).loaded == 1


def test_without_a_home_kernels_live_in_memory(tmp_path):
    home = tmp_path / "home"
    home.write_text("not a folder")
    session = run(SQUARE, HOME=home, XDG_CACHE_HOME=home, LOCALAPPDATA=home)
    assert square_is_right(session)
    assert session.compiled == 1
    assert "NBGRAD_CACHE_DIR" in only_warning(session)
    assert home.read_text() == "not a folder"


def test_a_folder_that_cannot_be_made_is_one_warning(fork, tmp_path):
    (tmp_path / "file").touch()
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=tmp_path / "file" / "cache")
    assert gradients_are_right(session)
    assert session.compiled == SIGNATURES
    assert "NBGRAD_CACHE_DIR" in only_warning(session)


def test_a_folder_that_vanishes_is_one_warning(fork, tmp_path):
    code = f"""
import shutil
from nbgrad.kernels import _cache
shutil.rmtree(_cache.folder())
{GRADIENTS}"""
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert gradients_are_right(session)
    assert str(tmp_path / "kernels") in only_warning(session)


def test_a_folder_that_cannot_be_written_to_still_serves(fork, warm):
    """As in a container image. The failure is simulated: modes do not bind root."""
    before = cached(warm)
    unwritable = """
from nbgrad.kernels import _cache
def refuse(*args): raise PermissionError(13, "Permission denied")
_cache.os.replace = refuse
_cache.Path.write_bytes = refuse
_cache.Path.touch = refuse
"""
    session = fork(unwritable + GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session)
    assert (session.compiled, session.loaded, session.warnings) == (0, SIGNATURES, [])
    more = fork(unwritable + SCALED + "result = scaled(5.0)", NBGRAD_CACHE_DIR=warm)
    assert more.result == [0, 5, 10, 15, 20]
    assert "Permission denied" in only_warning(more)
    assert cached(warm) == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used(fork, tmp_path, mode):
    own = tmp_path / "kernels"
    own.mkdir()
    own.chmod(mode)
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=tmp_path)
    assert gradients_are_right(session)
    assert "chmod 700" in only_warning(session)
    assert cached(tmp_path) == []


def test_a_symbolic_link_is_not_used(fork, tmp_path):
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    (tmp_path / "kernels").symlink_to(target)
    session = fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(session)
    assert "symbolic link" in only_warning(session)
    assert list(target.iterdir()) == []


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away"
)
@pytest.mark.parametrize("what", ["folder", "files"])
def test_what_another_user_owns_is_not_used(fork, warm, what):
    before = {path: path.read_bytes() for path in cached(warm)}
    for path in [warm / "kernels"] if what == "folder" else before:
        os.chown(path, 65534, 65534)
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session)
    assert (session.compiled, session.loaded) == (SIGNATURES, 0)
    assert "another user owns it" in only_warning(session)
    after = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert after.loaded == (0 if what == "folder" else SIGNATURES), "files are replaced"


def test_the_longest_unused_files_go_first(fork, tmp_path):
    own = tmp_path / "kernels"
    own.mkdir(mode=0o700)
    for age in range(8):
        path = own / f"old-{age}.nbgrad"
        path.write_bytes(b"x" * 1000)
        os.utime(path, (1e9 - age, 1e9 - age))
    limit = "from nbgrad.kernels import _cache; _cache._LIMIT = 3500\n"
    session = fork(limit + SQUARE, NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(session) and not session.warnings
    kept = [path.name for path in cached(tmp_path)]
    assert kept[1:] == ["old-0.nbgrad", "old-1.nbgrad", "old-2.nbgrad"]
    assert kept[0].startswith("multiply_forward-")


def test_a_loaded_file_counts_as_used(fork, tmp_path):
    assert fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path).compiled == 1
    (path,) = cached(tmp_path)
    os.utime(path, (1e9, 1e9))
    assert fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path).loaded == 1
    assert path.stat().st_mtime > 1e9 + 1


# -- Numba -------------------------------------------------------------------------------------


def test_without_compilation_kernels_run_as_python(tmp_path):
    session = run(GRADIENTS, NUMBA_DISABLE_JIT=1, NBGRAD_CACHE_DIR=tmp_path)
    assert gradients_are_right(session)
    assert (session.compiled, session.loaded, session.warnings) == (0, 0, [])
    assert session.stats["called"] > 0
    assert list(tmp_path.iterdir()) == []


def test_code_with_addresses_in_it_is_not_stored(fork, tmp_path):
    code = '''
from nbgrad.kernels._jit import kernel_from_source
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
    assert asked <= set(dir(_cache.KernelCache))
    for name in ("load_overload", "save_overload"):
        theirs = inspect.signature(getattr(caching._Cache, name))
        ours = inspect.signature(getattr(_cache.KernelCache, name))
        assert list(theirs.parameters) == list(ours.parameters)
    rebuild = inspect.signature(compiler.CompileResult._rebuild)
    assert next(iter(rebuild.parameters)) == "target_context"
    assert callable(compiler.CompileResult._reduce) and callable(serialize.dumps)
    for option in _cache._OPTIONS:
        assert hasattr(config, option)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("compiler.CompileResult", "_rebuild"),
        ("compiler.CompileResult", "_reduce"),
        ("compiler", "CompileResult"),
        ("serialize", "dumps"),
    ],
)
def test_without_a_private_piece_there_is_no_cache(fork, tmp_path, owner, name):
    code = f"""
from types import SimpleNamespace
from nbgrad.kernels import _cache
# Numba itself keeps its pieces; the cache sees a Numba without them.
_cache.compiler = SimpleNamespace(CompileResult=SimpleNamespace(_rebuild=1, _reduce=1))
_cache.serialize = SimpleNamespace(dumps=1)
del _cache.{owner}.{name}
{SQUARE}"""
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(session)
    assert name in only_warning(session) or "_rebuild, _reduce" in only_warning(session)
    assert list(tmp_path.iterdir()) == []


def test_a_dispatcher_without_a_place_for_a_cache_is_left_alone(monkeypatch):
    monkeypatch.setattr(_cache, "_warned", set())

    class Dispatcher:
        __slots__ = ()

    with pytest.warns(nbgrad.CacheWarning, match="lacks _cache"):
        _cache.attach(Dispatcher(), "name", "text")


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
