"""Check the examples of README.md and of the pages with pyright in strict mode: public functions
have types, and examples that are copied into typed code show no errors.

    python tests/strict_types.py

Each page becomes a module of its ```python blocks. `RELAXED` are rules that examples cannot follow:
they have no annotations, and the types of NumPy's results and of Numba's functions are partly
unknown. `_UNKNOWN` are messages that follow from NumPy's annotations. `tests/typed_calls.py`, which
has annotations, follows all rules.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from helpers.pages import ROOT, pages, program

_FRAGMENTS = ("adding_an_op",)
"""A page with parts of nbgrad's own sources."""
_SCIPY = ("jacobians", "custom_rules")
"""Pages with calls that the annotations of `scipy.sparse` and `scipy.linalg.lapack` do not
admit, as these know them partly."""
RELAXED = (
    "reportMissingParameterType",  # examples have no annotations, so much is unknown
    "reportMissingTypeArgument",
    "reportUnknownArgumentType",
    "reportUnknownLambdaType",
    "reportUnknownMemberType",
    "reportUnknownParameterType",
    "reportUnknownVariableType",
    "reportMissingImports",  # packages of other people, and modules made at run time
    "reportMissingTypeStubs",  # numba, scipy
    "reportUntypedFunctionDecorator",  # numba.njit
    "reportOperatorIssue",  # np.isscalar(x) is true for texts, too
    "reportConstantRedefinition",  # one page defines a name again
    "reportDuplicateImport",
    "reportFunctionMemberAccess",  # events are functions with attributes, as in SciPy
    "reportPossiblyUnbound",  # values of loops that run at least once
    "reportPossiblyUnboundVariable",
    "reportRedeclaration",
    "reportUnusedExpression",  # examples show values,
    "reportUnusedImport",  # list names,
    "reportUnusedVariable",  # and count rounds
)
_UNKNOWN = re.compile(
    # NumPy's annotations: results of tracked arrays are its own arrays and numbers.
    r'.* attribute "\w+" for class "(NDArray|ndarray|floating|float64)\['
)


def write(folder: Path) -> dict[str, Path]:
    """Write the modules and the settings of pyright; the page of each module."""
    written = {}
    for page in pages():
        if page.stem not in _FRAGMENTS + _SCIPY:
            name = "_".join(page.relative_to(ROOT).with_suffix("").parts).lower() + ".py"
            (folder / name).write_text(program(page), encoding="utf-8")
            written[name] = page
    (folder / "typed_calls.py").write_bytes((ROOT / "tests" / "typed_calls.py").read_bytes())
    settings = {
        "include": ["."],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": "error",  # so each expected error is one
        "pythonVersion": "3.11",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    return written


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        written = write(folder)
        command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
        done = subprocess.run(
            [*command, "-p", name], cwd=name, stdout=subprocess.PIPE, encoding="utf-8"
        )
        report = json.loads(done.stdout)
    found = 0
    for each in report["generalDiagnostics"]:
        file = Path(each["file"]).name
        excused = each.get("rule") in RELAXED or _UNKNOWN.match(each["message"])
        if each["severity"] != "error" or (file in written and excused):
            continue
        found += 1
        line = each["range"]["start"]["line"] + 1
        place = written.get(file, ROOT / "tests" / file).relative_to(ROOT)
        print(f"{place}:{line}: {each['message']} ({each.get('rule')})")
    checked = report["summary"]["filesAnalyzed"]
    print(f"{found} errors in {len(written)} pages and tests/typed_calls.py ({checked} files)")
    return int(found > 0 or checked <= len(written))


if __name__ == "__main__":
    sys.exit(main())
