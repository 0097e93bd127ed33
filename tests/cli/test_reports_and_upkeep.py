"""Reports of compiled steps, the configuration, the cache, the version and the help."""

import os
import subprocess
import sys

import matplotlib.font_manager  # noqa: F401 (its first import can report on stderr)
import pytest

import nbgrad
from nbgrad.compiler.folder import MAGIC

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("name", ["moons", "digits"])
def test_a_compiled_step_is_reported(run, tmp_path, name):
    code, out, err = run("compile-report", name, "--out", tmp_path)
    assert (code, err) == (0, [])
    assert out[0].startswith("step: ")
    assert out[-1] == f"kept in {tmp_path}"
    assert sum("product (" in line for line in out) >= 5
    assert "step_core" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "buffers.png").read_bytes().startswith(PNG)


def test_a_report_of_an_unknown_program_says_what_was_meant(run, tmp_path):
    code, out, err = run("compile-report", "moon", "--out", tmp_path / "none")
    assert (code, out, len(err)) == (2, [], 1)
    assert "did you mean 'moons'?" in err[0]
    code, _, err = run("compile-report", "zzz")
    assert code == 2 and "there are: moons, digits" in err[0]
    assert not (tmp_path / "none").exists()


def test_a_stage_is_printed_and_nothing_written(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = {
        "program": "step(in0: float64[2, 16]",
        "lower": "matmul(",
        "schedule": ": loop nest over 200 x ",
        "loops": "core step_core(",
        "source": "def step_core(",
    }
    for stage, part in told.items():
        code, out, err = run("compile-report", "moons", "--stage", stage)
        assert (code, err) == (0, [])
        assert any(part in line for line in out), (stage, out[:5])
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_stage_says_what_was_meant(run):
    code, out, err = run("compile-report", "moons", "--stage", "loop")
    assert (code, out, len(err)) == (2, [], 1)
    assert "did you mean 'loops'?" in err[0]
    code, _, err = run("compile-report", "moons", "--stage", "zzz")
    assert code == 2 and "there are: program, lower, schedule, loops, source" in err[0]


def test_config_names_what_matters_in_a_bug_report(run):
    code, out, err = run("config")
    facts = dict(line.split(maxsplit=1) for line in out)
    assert (code, err) == (0, [])
    assert {"nbgrad", "python", "numpy", "numba", "scipy", "BLAS", "threads", "JIT"} <= set(facts)
    assert facts["nbgrad"] == nbgrad.__version__ and "NBGRAD_CACHE_DIR" in facts["cache"]
    assert f"nbgrad uses {nbgrad.get_threads()}" in facts["threads"] and "BLAS" in facts["threads"]


def test_config_says_what_is_wrong_with_the_number_of_threads(run, monkeypatch):
    monkeypatch.setenv("NBGRAD_NUM_THREADS", "two")
    nbgrad.set_threads(1)  # which is asked first
    assert "nbgrad uses 1" in "".join(run("config")[1])
    with pytest.raises(ValueError, match="NBGRAD_NUM_THREADS is 'two'"):
        nbgrad.set_threads(None)
    assert "NBGRAD_NUM_THREADS is 'two': it takes" in "".join(run("config")[1])
    monkeypatch.undo()
    nbgrad.set_threads(None)


def test_the_version_is_shown(run):
    assert run("--version") == (0, [nbgrad.__version__], [])


def test_a_wrong_call_says_where_the_help_is(run):
    for arguments, path in (
        (["--unknown"], "nbgrad"),
        (["run", "moons", "--foo"], "nbgrad run moons"),
    ):
        assert run(*arguments)[2][0].endswith(f"; {path} --help says what there is")


@pytest.mark.full
def test_without_a_cache_folder_each_line_says_why(tmp_path):
    (tmp_path / "file").touch()
    environment = {**os.environ, "NBGRAD_CACHE_DIR": str(tmp_path / "file")}
    for command, code in (("warmup", 1), ("config", 0), ("cache clear", 0)):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrad.cli", *command.split()],
            env=environment,
            capture_output=True,
            text=True,
        )
        lines = done.stderr.splitlines()
        assert done.returncode == code and len(lines) == 1 + code
        assert lines[0].startswith(f"nbgrad: the cache folder {tmp_path / 'file'}")
        assert all("NBGRAD_CACHE_DIR" in line for line in lines)


def in_a_fresh_cache(tmp_path, *arguments):
    """Run the command line in a process with a cache of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "nbgrad.cli", *arguments],
        env={**os.environ, "NBGRAD_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.full
def test_clearing_the_cache_removes_our_own_files_only(tmp_path):
    kernels = tmp_path / "kernels"
    kernels.mkdir(mode=0o700)
    key = "0123456789abcdef" * 2
    ours = [f"add_forward-{key}.nbgrad", f"add_forward-{key}.nbgrad.0123456789ab.tmp"]
    others = ["notes.txt", "mine.nbgrad", f"{key}.nbgrad.bak"]
    for name in ours + others:
        (kernels / name).write_bytes(MAGIC + b"text")
    assert "2 files" in in_a_fresh_cache(tmp_path, "cache", "info")[1]
    (line,) = in_a_fresh_cache(tmp_path, "cache", "clear")
    assert line == f"removed 2 files, 0.0 MB, from {kernels}"
    assert sorted(p.name for p in kernels.iterdir()) == sorted(others)


def test_config_warmup_and_cache_need_no_plotting(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("cache", "info")[0] == 0
    code, _, err = run("run", "moons")
    assert code == 1 and "nbgrad[experiments]" in err[0]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["run"], ["run", "--help"]])
def test_help_shows_what_to_type(run, arguments):
    code, out, err = run(*arguments)
    assert (code, err) == (0, [])
    assert "nbgrad run digits" in "\n".join(out)


@pytest.mark.parametrize("name", ["digits", "moons"])
def test_an_experiment_explains_itself(run, name):
    code, out, _ = run("run", name, "--help")
    text = "\n".join(out)
    assert code == 0
    assert f"nbgrad run {name}" in text
    assert all(option in text for option in ("--seed", "--steps", "--out", "--no-plots"))
    assert ("--last" in text) == (name == "moons")


@pytest.mark.parametrize("name", ["warmup", "config", "cache", "cache info", "cache clear"])
def test_upkeep_explains_itself(run, name):
    code, out, err = run(*name.split(), "--help")
    assert (code, err) == (0, [])
    assert any(line.strip().endswith(f"nbgrad {name}") for line in out) or name == "cache"


def test_starting_the_command_line_loads_nothing_heavy():
    code = (
        "import sys, nbgrad; before = set(sys.modules); import nbgrad.cli.commands;"
        "print({'matplotlib', 'sklearn'} & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
