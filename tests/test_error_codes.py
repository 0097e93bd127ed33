"""Each error has a code, and each code an explanation: on the page and in the terminal."""

import ast
import builtins
import pickle
import re
from pathlib import Path

import pytest
from errors_page import page
from helpers.children import run as in_child
from helpers.error_examples import message_of

import nbgrad
from nbgrad import cli, errors
from nbgrad.errors.explained import explanations, near

PACKAGE = Path(nbgrad.__file__).parent
PATH = PACKAGE.parent / "docs" / "guide" / "errors.md"
BUILTIN = {
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
} | {"np.linalg.LinAlgError", "errors.TypingError", "NbgradError"}
"""Exceptions of Python, NumPy and Numba, as the sources spell them, and one without a code."""

PROGRAMS = ("__main__.py", "bench", "cli", "experiments")
"""Commands print an error as one line."""
IN_THE_WORDS_OF_OTHERS = {
    "compiler/front/algebra.py": "definitions of NumPy's functions, compiled into the user's",
    "loops/factor_rules.py": "the same",
    "compiler/front/written.py": "definitions of Python's functions, compiled into the user's",
    "core/errstate.py": "what np.errstate asks for, in the words of NumPy",
}
INTERNAL = {
    "adjoints/adjoint.py": {"AssertionError"},
    "compiler/argument_checks.py": {"ValueError"},  # compiled, where it is a condition
    "compiler/cache.py": {"ValueError"},  # becomes a CacheWarning
    "compiler/compile_lock.py": {"OSError"},  # becomes a CacheWarning
    "compiler/folder.py": {"NotADirectoryError"},  # becomes a CacheWarning
    "compiler/instruction.py": {"TypeError"},
    "compiler/kernel.py": {"AttributeError", "OSError", "TypeError"},
    "compiler/kernel_call.py": {"TypeError", "errors.TypingError"},
    "compiler/payload.py": {"ValueError"},  # becomes a CacheWarning
    "runtime/interpreter.py": {"ImportError"},  # before the package can be imported
    "runtime/layout.py": {"LookupError"},
    "static/loops/build.py": {"AssertionError"},
    "values/graph.py": {"NotImplementedError"},
}
"""Exceptions that are caught before a user sees them, or that no call of a user raises."""
INTERNAL_KINDS = {
    "Asked", "NotInMemory", "OneTriangle", "OtherResult", "Overlap", "UnsureRead", "Unassigned",
    "Uncompiled", "Unstorable", "Unsupported", "Untrusted", "Unwritten", "_Cycle", "_Dependent",
    "_Mismatch", "_NoSum", "_NotLinear",
}  # fmt: skip


@pytest.fixture(scope="module")
def statements():
    """Files, each with its calls that have arguments, the names of what they call, and classes."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.partition("/")[0] not in PROGRAMS and name not in IN_THE_WORDS_OF_OTHERS:
            nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
            calls = [(x, ast.unparse(x.func)) for x in nodes if isinstance(x, ast.Call) and x.args]
            found.append((name, calls, [x for x in nodes if isinstance(x, ast.ClassDef)]))
    return found


def is_coded(call: ast.Call) -> bool:
    """Whether the message of an exception is made by `coded`, or a code is given."""
    if any(option.arg == "code" for option in call.keywords):
        return True
    return isinstance(call.args[0], ast.Call) and ast.unparse(call.args[0].func) == "coded"


def test_each_exception_with_a_message_has_a_code(statements):
    found = []
    for name, calls, _ in statements:
        for node, kind in calls:
            if kind in BUILTIN and not is_coded(node) and kind not in INTERNAL.get(name, ()):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node)[:80]}")
    assert not found, "raise a class of nbgrad.errors:\n" + "\n".join(found)


def test_each_class_of_exceptions_has_a_code_or_is_internal(statements):
    found = set()
    for name, _, classes in statements:
        for node in classes:
            if not name.startswith("errors/"):
                bases = {ast.unparse(base) for base in node.bases}
                if bases & (BUILTIN | INTERNAL_KINDS) and not bases & set(errors.__all__):
                    found.add(node.name)
    assert found <= INTERNAL_KINDS, "derive it from a class of nbgrad.errors"


def test_each_warning_has_a_code(statements):
    known = {*errors.__all__, "warning", "RuntimeWarning", "DeprecationWarning"}
    for name, calls, _ in statements:
        for node, kind in calls:
            if kind == "warnings.warn":
                given = {ast.unparse(part).partition("(")[0] for part in node.args}
                assert given & known, f"{name}:{node.lineno}: pass a class of nbgrad.errors"


def test_each_code_in_the_sources_is_explained():
    named = {
        code
        for path in PACKAGE.rglob("*.py")
        for code in re.findall(r'"(NB-[A-Z]+)"', path.read_text(encoding="utf-8"))
    }
    assert named - {"NB-ERROR"} == set(explanations())


@pytest.mark.parametrize("code", explanations())
def test_the_example_of_a_code_raises_it(code):
    each = explanations()[code]
    assert message_of(each).endswith((f" [{code}]", f" [{code}]'"))


def test_the_page_is_what_the_explanations_say():
    found = PATH.read_text(encoding="utf-8")
    told = "docs/guide/errors.md is old: run python tests/errors_page.py > docs/guide/errors.md"
    assert found == page(), told


@pytest.mark.parametrize("kind", [getattr(errors, name) for name in errors.__all__])
def test_errors_keep_their_code(kind):
    error = kind("add: no")
    code = kind.code
    assert (str(error), error.code) == (f"add: no [{code}]", code)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code) == (kind, str(error), code)
    other = kind("add: no", code="NB-STATE")
    again = pickle.loads(pickle.dumps(other))
    assert str(again) == "add: no [NB-STATE]" and again.code == "NB-STATE"


def test_an_error_that_quotes_another_has_its_code_at_the_end():
    inner = errors.DimensionMismatch("add: the shapes")
    outer = errors.TraceError(f"map failed ({inner}): correct it")
    assert str(outer) == "map failed (add: the shapes): correct it [NB-SHAPE]"
    assert outer.code == "NB-SHAPE"
    assert errors.coded(f"{inner}!", "NB-LOOP") == "add: the shapes! [NB-LOOP]"


def test_explanations_are_loaded_when_they_are_asked_for():
    assert in_child("import sys; result = 'nbgrad.errors.explained' in sys.modules").result is False


@pytest.fixture
def explain(capsys):
    """Runs `nbgrad explain`; gives the exit code, stdout, and the lines of stderr."""

    def explain(*arguments):
        code = cli.main(["explain", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err.splitlines()

    return explain


@pytest.mark.parametrize("spelling", ["NB-SHAPE", "nb-shape", "shape", "[NB-SHAPE]"])
def test_the_command_explains_a_code(explain, spelling):
    each = explanations()["NB-SHAPE"]
    code, out, err = explain(spelling)
    assert (code, err) == (0, [])
    assert out.startswith(f"NB-SHAPE: {each.title}\n")
    assert "nbgrad.errors.DimensionMismatch" in out and "x @ np.ones(2)" in out
    words = " ".join(out.split())
    assert " ".join(each.happened.split()) in words and " ".join(each.remedy.split()) in words
    assert out.rstrip().endswith("docs/guide/errors.md#nb-shape")


def test_the_command_lists_all_codes(explain):
    code, out, err = explain()
    assert (code, err) == (0, [])
    lines = out.splitlines()
    for each in explanations().values():
        assert any(line.split(maxsplit=1) == [each.code, each.title] for line in lines)


def test_the_command_suggests_codes_that_are_near(explain):
    code, out, err = explain("NB-SHPAE")
    assert (code, out) == (2, "")
    assert len(err) == 1
    assert err[0].startswith("nbgrad: there is no code NB-SHPAE; did you mean NB-SHAPE")
    code, out, err = explain("NB-QQQQ")
    assert (code, out, len(err)) == (2, "", 1) and "nbgrad explain lists" in err[0]
    assert near("matrix")[0] == "NB-MATRIX" and near("masked array") == ["NB-MASKED"]
