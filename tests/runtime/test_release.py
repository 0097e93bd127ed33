"""What is written about a version in several places is the same there."""

import re
import tomllib
from pathlib import Path

import nbgrad

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    first, latest, *_ = re.findall(r"^## (.*)$", changes, re.M)
    version, date = latest.split(" - ")
    assert first == "Unreleased"
    assert version == nbgrad.__version__
    assert f"\nversion: {version}\n" in citation
    assert f"\ndate-released: {date}\n" in citation


def test_hosted_ci_tests_the_versions_that_the_package_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    stated = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    (matrix,) = re.findall(r"python: \[(.*)\]", workflow)
    assert re.findall(r"3\.\d+", matrix) == stated
    assert project["requires-python"] == f">={stated[0]}"
    floor = re.search(r'"numba>=([\d.]+),', "".join(f'"{x}"' for x in project["dependencies"]))
    assert floor and f"numba=={floor[1]}.0" in workflow
    assert f"numba=={floor[1]}.0" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
