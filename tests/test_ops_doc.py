"""docs/reference/ops.md says what the registry says."""

from pathlib import Path

from ops_page import table

import nbgrad
from nbgrad.core.primitive import Primitive

PATH = Path(nbgrad.__file__).parent.parent / "docs" / "reference" / "ops.md"


def test_ops_doc_is_what_the_registry_says():
    found = PATH.read_text(encoding="utf-8")
    assert found == table(), (
        "docs/reference/ops.md is old: run python tests/ops_page.py > docs/reference/ops.md"
    )


def test_every_row_and_function_is_described():
    lines = PATH.read_text(encoding="utf-8").splitlines()
    for name in Primitive.registry:
        assert any(line.startswith(f"| {name} |") for line in lines)
    assert not [line for line in lines if line.endswith("|  |") and line.startswith("| `np.")]
