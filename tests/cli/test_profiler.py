"""The command `nbgrad profile`."""

import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import sys
import numpy as np
import nbgrad

x = nbgrad.track(np.ones(3))
np.sum(np.exp(x)).backward()
print("arguments", sys.argv[1:], __name__)
"""


@pytest.fixture
def script(tmp_path):
    def write(more="", name="program.py"):
        path = tmp_path / name
        path.write_text(SCRIPT + more, encoding="utf-8")
        return path

    return write


def test_a_script_is_run_and_measured(run, script, tmp_path):
    before = sys.argv, list(sys.path)
    page = tmp_path / "page.html"
    code, out, err = run("profile", "--html", page, "--top", 1, script(), "--top", "7", "more")
    assert (code, err) == (0, [])
    assert "arguments ['--top', '7', 'more'] __main__" in out
    assert out[-1] == f"kept in {page}"
    assert any("program.py:7" in line for line in out)
    assert any("By op" in line and "more)" in line for line in out)
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (sys.argv, sys.path) == before


def test_a_module_and_a_folder_for_the_page(run, script, tmp_path, monkeypatch):
    script(name="some_program.py")
    monkeypatch.chdir(tmp_path)
    code, out, err = run("profile", "--out", "kept", "-m", "some_program", "a")
    assert (code, err) == (0, [])
    assert "arguments ['a'] __main__" in out
    assert (tmp_path / "kept" / "profile.html").exists()


def test_an_error_of_the_script(run, script):
    code, out, err = run("profile", script("\n\ndef f():\n    raise KeyError(3)\n\n\nf()\n"))
    assert code == 1
    assert err[0] == "Traceback (most recent call last):" and err[-1] == "KeyError: 3"
    assert "program.py" in err[1] and not any("runpy" in line for line in err)
    assert any("By op" in line for line in out)


@pytest.mark.parametrize(("end", "code", "told"), [("3", 3, []), ("'no'", 1, ["no"]), ("", 0, [])])
def test_a_script_that_ends_itself(run, script, end, code, told):
    answer = run("profile", script(f"\nsys.exit({end})\n"))
    assert (answer[0], answer[2]) == (code, told)
    assert any("By op" in line for line in answer[1])


def test_mistakes_take_one_line(run, tmp_path):
    for arguments, told in [
        ([tmp_path / "none.py"], "there is no file"),
        (["-m", "no_such.module"], "there is no module no_such.module"),
        ([], "give a script"),
        (["--sort", "size", "x.py"], "there are time, calls, forward, backward"),
    ]:
        code, out, err = run("profile", *arguments)
        assert (code, out, len(err)) == (2, [], 1) and told in err[0]


def test_warnings_of_the_script_look_as_ever(run, script):
    more = "\nimport warnings\nwarnings.simplefilter('always')\nwarnings.warn('careful')\n"
    _, _, err = run("profile", script(more))
    assert err[0].endswith("UserWarning: careful") and "program.py:12" in err[0]


def test_the_help_teaches(run):
    code, out, _ = run("profile", "--help")
    text = "\n".join(out)
    assert code == 0
    for part in ("nbgrad profile fit.py", "--html", "--top", "--sort", "twice as long", "Ctrl-C"):
        assert part in text


@pytest.mark.full
def test_ctrl_c_shows_the_profile_until_then(script):
    path = script("\nimport time\nprint('waiting', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "nbgrad.cli", "profile", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # Where the tests run in the background, children would ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("waiting"):
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "By op" in out and err.splitlines() == ["nbgrad: stopped"]
