"""Pictures of graphs in the DOT language of Graphviz."""

import shutil
import subprocess

from ..errors import NbgradError

HEAD = """digraph {
  rankdir=TB
  node [shape=box style="rounded,filled" fillcolor=white fontname=Helvetica fontsize=11]
  edge [color=gray30 arrowsize=0.7]"""


class Drawing:
    """The result of `draw`: DOT text, which notebooks show as a picture."""

    def __init__(self, dot: str):
        self.dot = dot

    def __str__(self) -> str:
        return self.dot

    __repr__ = __str__

    def svg(self) -> str:
        """The picture as SVG text. Raises NbgradError if Graphviz is not installed."""
        program = shutil.which("dot")
        if program is None:
            raise NbgradError(
                "draw: a picture needs the program dot of Graphviz (apt install graphviz, brew "
                "install graphviz, ...); str(draw(z)) is its text, which web viewers draw too",
                code="NB-EXTRA",
            )
        done = subprocess.run(
            [program, "-Tsvg"], input=self.dot, capture_output=True, encoding="utf-8", check=True
        )
        return done.stdout

    def _repr_svg_(self) -> str | None:
        """Called by notebooks; None makes them show the text."""
        return self.svg() if shutil.which("dot") else None


def quoted(*lines: str) -> str:
    """Lines as a quoted label."""
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'
