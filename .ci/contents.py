"""Check what the packages in a folder contain: `python .ci/contents.py dist`."""

import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = (
    "CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE",
    "README.md", "SECURITY.md", "mkdocs.yml", "pyproject.toml",
)  # fmt: skip
ROOMS = ("nbgrad", "tests", "benchmarks", "docs", ".ci", ".github")


def main(folder: Path) -> int:
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    faults = [*_wheel(wheel), *_sdist(sdist)]
    for fault in faults:
        print(f"fault: {fault}")
    for path in (wheel, sdist):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    return int(bool(faults))


def _wheel(path: Path) -> list[str]:
    """The package, its licence and its type marker, and nothing else."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        (info,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        metadata = message_from_string(archive.read(f"{info}/METADATA").decode())
        scripts = archive.read(f"{info}/entry_points.txt").decode()
    package = {name for name in names if not name.startswith(f"{info}/")}
    faults = [f"{path.name} lacks {name}" for name in sorted(_files("nbgrad") - package)]
    faults += [f"{path.name} has {name}" for name in sorted(package - _files("nbgrad"))]
    if "nbgrad/py.typed" not in package or f"{info}/licenses/LICENSE" not in names:
        faults.append(f"{path.name} lacks py.typed or the licence")
    if "nbgrad = nbgrad.cli:main" not in scripts:
        faults.append(f"{path.name} has no command nbgrad")
    if not path.name.endswith("-py3-none-any.whl") or metadata["License-Expression"] != "MIT":
        faults.append(f"{path.name} is for one system, or names another licence")
    return faults


def _sdist(path: Path) -> list[str]:
    """All that builds the wheel, and runs the tests and benchmarks."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {*FILES}.union(*map(_files, ROOMS))
    return [f"{path.name} lacks {name}" for name in sorted(wanted - names)]


def _files(room: str) -> set[str]:
    """The files of a folder of the checkout, which has no others than those under version control
    and Python's and the tools' caches."""
    found = (path for path in (ROOT / room).rglob("*") if path.is_file())
    names = (path.relative_to(ROOT) for path in found)
    return {x.as_posix() for x in names if not {"__pycache__", ".benchmarks"} & {*x.parts}}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
