"""The control groups of this process, by which Linux limits what containers may use.

Each process belongs to a group of each controller, or to one of all of them. A group and its
ancestors may each have limits.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

__all__ = ["groups"]


def groups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of this process's groups for a controller, such as "cpu", and of their ancestors.
    System files are read under `root`. Raises OSError and ValueError where there are none."""
    own = [line.split(":", 2) for line in (root / "proc/self/cgroup").read_text().splitlines()]
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        mount, _, kind = line.partition(" - ")
        system, _, options = kind.split(" ", 2)
        for number, controllers, path in own:
            if system == "cgroup2":
                is_own = number == "0" and not controllers
            else:
                names = controllers.split(","), options.split(",")
                is_own = system == "cgroup" and all(controller in each for each in names)
            if is_own:
                yield from _folders(root, mount.split(" ")[3:5], PurePosixPath(path))


def _folders(root: Path, mount: list[str], path: PurePosixPath) -> Iterator[Path]:
    """The folders of a group and its ancestors, as far as they are mounted."""
    source, target = (PurePosixPath(each.replace("\\040", " ")) for each in mount)
    inside = path.relative_to(source) if path.is_relative_to(source) else PurePosixPath()
    top = root / target.relative_to("/")
    for folder in (inside, *inside.parents):
        yield top / folder
