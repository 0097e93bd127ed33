"""Other systems and builds of Python, of which this machine fakes the parts that differ."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbgrad.bench import timing
from nbgrad.compiler import cache, folder, llvm_heap
from nbgrad.compiler.folder import Folder
from nbgrad.experiments import report
from nbgrad.runtime import heap
from nbgrad.runtime.cores import cores

ROOT = Path(__file__).parents[2]


# -- builds of Python --------------------------------------------------------------------------


def test_a_build_without_the_lock_is_refused_by_name():
    program = "import sys; sys._is_gil_enabled = lambda: False; import nbgrad"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    version = ".".join(map(str, sys.version_info[:2]))
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith(
        f"ImportError: nbgrad does not support the free-threaded build of Python {version} ("
    )
    assert last.endswith(f"Install it in the standard build, python{version} without the t")


# -- memory ------------------------------------------------------------------------------------


def test_huge_pages_are_asked_for_at_the_pages_of_the_system(monkeypatch):
    declared: dict[str, str] = {}
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "sysconf", lambda name: 65536, raising=False)
    monkeypatch.setattr(
        os, "sysconf_names", {"SC_PHYS_PAGES": 85, "SC_PAGE_SIZE": 30}, raising=False
    )
    assert llvm_heap.declare_room(declared) == "nbgrad.room"
    for text in ("add i64 %address, 65535\n", "and i64 %up, -65536\n", "i64 %length, i32 14)"):
        assert text in declared["nbgrad.room"]
    assert "@madvise" in declared["madvise"]


def test_macos_asks_for_no_huge_pages(monkeypatch):
    declared: dict[str, str] = {}
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(
        os, "sysconf_names", {"SC_PHYS_PAGES": 200, "SC_PAGE_SIZE": 29}, raising=False
    )
    assert llvm_heap.declare_room(declared) == "nbgrad.room"
    assert "@sysconf(i32 200)" in declared["nbgrad.room"]
    assert "madvise" not in "".join(declared.values())


def test_windows_has_realloc_alone(monkeypatch):
    declared: dict[str, str] = {}
    monkeypatch.delattr(os, "sysconf_names", raising=False)
    assert llvm_heap.declare_room(declared) == "realloc"
    assert list(declared) == ["realloc"]


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_the_c_library_is_left_alone_elsewhere(monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    heap._library.cache_clear()
    try:
        heap.keep()
        assert heap.kept() == heap.trim() == 0
    finally:
        heap._library.cache_clear()


def test_memory_is_trimmed_without_proc(monkeypatch):
    class Library:
        trimmed = 0

        def malloc_trim(self, kept):
            self.trimmed += 1

    library = Library()
    monkeypatch.setattr(heap, "_library", lambda: library)
    monkeypatch.setattr("builtins.open", _missing)
    assert heap.trim() == 0
    assert library.trimmed == 1


def _missing(path, *args, **options):
    raise FileNotFoundError(path)


def test_benchmarks_run_with_another_c_library(monkeypatch):
    monkeypatch.setattr(timing.ctypes, "CDLL", lambda name: object())
    timing.keep_memory()


def test_cores_without_affinity(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert cores(tmp_path) == 8
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores(tmp_path) == 1


# -- files -------------------------------------------------------------------------------------


@pytest.fixture
def windows_folder(monkeypatch, tmp_path) -> Folder:
    monkeypatch.setattr(folder, "_POSIX", False)
    return Folder(tmp_path / "kernels")


def test_the_cache_works_without_open_folders(windows_folder):
    name = f"square-{'0' * 32}.nbgrad"
    windows_folder.write(name, folder.MAGIC, b"code")
    assert windows_folder.read(name) == folder.MAGIC + b"code"
    assert [entry.name for entry in windows_folder.entries()] == [name]
    assert windows_folder.remove(name)
    assert not windows_folder.holds(name)


def test_a_kernel_that_another_process_loads_stays_as_it_is(windows_folder, monkeypatch):
    """Windows refuses to replace an open file."""
    name = f"square-{'0' * 32}.nbgrad"
    windows_folder.write(name, b"first")
    monkeypatch.setattr(folder.os, "replace", _denied)
    windows_folder.write(name, b"second")
    assert windows_folder.read(name) == b"first"
    assert os.listdir(windows_folder.path) == [name]


def test_a_folder_that_cannot_be_written_is_reported(windows_folder, monkeypatch):
    monkeypatch.setattr(folder.os, "replace", _denied)
    with pytest.raises(PermissionError):
        windows_folder.write(f"square-{'0' * 32}.nbgrad", b"first")
    assert os.listdir(windows_folder.path) == []


def _denied(*args, **options):
    raise PermissionError(13, "Access is denied")


def test_kernels_have_names_that_every_system_takes():
    name = cache.file_name('<lambda>: a/b\\c "d"|?*', "content")
    assert not set('<>:"/\\|?*').intersection(name)
    assert folder._OURS.fullmatch(name)


def test_files_have_names_that_every_system_takes():
    """Names differ by more than case, and none is a device of Windows."""
    rooms = [ROOT / room for room in ("nbgrad", "tests", "docs", "benchmarks")]
    paths = [path.relative_to(ROOT) for room in rooms for path in room.rglob("*")]
    paths = [path for path in paths if "__pycache__" not in path.parts]
    folded = {path.as_posix().casefold() for path in paths}
    assert len(folded) == len(paths)
    assert not {path.stem.casefold() for path in paths} & {"aux", "con", "nul", "prn"}
    assert [path for path in paths if set('<>:"|?*').intersection(path.name)] == []


# -- processes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("platform", "sent"), [("linux", 1), ("darwin", 1), ("win32", 0)])
def test_ctrl_c_reaches_a_running_experiment_once(monkeypatch, tmp_path, platform, sent):
    """Windows sends it to all processes of the console, and knows no SIGINT of a process."""
    signals = []

    class Process:
        def __init__(self, *args, **options):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *failure):
            pass

        def communicate(self):
            raise KeyboardInterrupt

        def send_signal(self, number):
            signals.append(number)

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(report.subprocess, "Popen", Process)
    with pytest.raises(KeyboardInterrupt):
        report.run_one(report.EXPERIMENTS[0], tmp_path, no_plots=True, short=True)
    assert len(signals) == sent
