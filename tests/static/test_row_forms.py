"""Every row with a static form, compiled alone: value, gradients, Hessian times vector.

All cases run in plain Python, in a process of their own; with Numba a few, and more with `-m full`.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers import rows
from helpers.children import environment
from helpers.compiled import assert_compiled, functions_of
from helpers.rows import F32, F64, PLAIN_PYTHON

ROWS = [row for row in rows.rows() if row.form]
# What is compiled in every run: one row for each kind of loop.
COMPILED = {"softmax", "scatter", "cumsum", "logit_cross_entropy"}


def test_nearly_every_row_has_a_static_form():
    """The others say why not, as a sentence that an error ends with."""
    assert len(rows.rows()) - len(ROWS) <= 10
    for row in rows.rows():
        assert bool(row.form) != bool(row.eager_only)
        assert not row.eager_only.endswith(".")


@pytest.mark.skipif(not PLAIN_PYTHON, reason="in a process of its own")
@pytest.mark.parametrize("dtype", [F64, F32], ids=["f64", "f32"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row_in_plain_python(row, dtype):
    cases = rows.cases_of(row, dtype)
    for case in cases if dtype == F64 else cases[:1]:
        assert_compiled(case, *functions_of(case, case.draw()))


@pytest.mark.skipif(PLAIN_PYTHON, reason="starts itself")
@pytest.mark.parametrize(
    ("file", "chosen", "part"),
    [
        ("test_row_forms.py", "not f32", "0/12"),
        *[
            pytest.param("test_row_forms.py", "not f32", f"{part}/12", marks=pytest.mark.full)
            for part in range(1, 12)
        ],
        pytest.param("test_row_forms.py", "f32", "0/1", marks=pytest.mark.full),
        ("test_emitted_programs.py", "", "0/1"),
        ("../test_programs.py", "compiled_in_plain_python", "0/1"),
        ("../control/test_loops.py", "compiled_is_eager or written_over", "0/1"),
        *[
            pytest.param(
                "../control", "compiled and not eager", f"{part}/3", marks=pytest.mark.full
            )
            for part in range(3)
        ],
    ],
)
def test_all_in_plain_python(file, chosen, part):
    path = Path(__file__).parent / file
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", "-k", chosen,
         "--part", part, str(path)],
        env=environment({"NUMBA_DISABLE_JIT": 1}),
        capture_output=True,
        text=True,
        timeout=500,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout[-3000:]
    assert "passed" in answer.stdout


@pytest.mark.skipif(PLAIN_PYTHON, reason="in plain Python all are")
@pytest.mark.parametrize(
    "row",
    [pytest.param(r, id=r.name, marks=rows.marks(r.name in COMPILED)) for r in ROWS],
)
def test_row_compiled(row):
    case = rows.cases_of(row)[0]
    functions, args = functions_of(case, case.draw())
    assert_compiled(case, functions[:2], args)
