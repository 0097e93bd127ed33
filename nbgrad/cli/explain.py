"""The command ``explain``."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax

from nbgrad.errors import explained
from nbgrad.experiments.exits import MISUSED, complain


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("explain")(explain)


def explain(
    code: Annotated[str, typer.Argument(help="The code at the end of a message.")] = "",
) -> int:
    """Explain an error by the code at the end of its message; without a code, list all.

    [bold]nbgrad explain NB-RULE[/]
    """
    plain = not sys.stdout.isatty()
    console = Console(width=100 if plain else None, color_system=None if plain else "auto")
    if not code:
        _list(console)
        return 0
    found = explained.explanations().get(f"NB-{code.strip('[]').upper().removeprefix('NB-')}")
    if found is None:
        near = explained.near(code)
        hint = f"did you mean {' or '.join(near)}?" if near else "nbgrad explain lists all codes"
        return complain(f"there is no code {code}; {hint}", MISUSED)
    _show(console, found)
    return 0


def _list(console: Console) -> None:
    """Print all codes with their titles."""
    width = max(map(len, explained.explanations()))
    for title, group in explained.groups().items():
        console.print(f"\n[bold]{title}[/]")
        for each in group:
            console.print(f"{each.code:<{width}}  {each.title}", highlight=False)


def _show(console: Console, each: explained.Explanation) -> None:
    console.print(f"[bold]{each.code}: {each.title}[/]", highlight=False)
    for kind in explained.kinds_of(each.code):
        console.print(f"nbgrad.errors.{kind.__name__}", style="dim", highlight=False)
    console.print("", Markdown(each.happened), "\nAn example that raises it:\n")
    example = each.example.strip()
    if console.color_system is None:
        console.print("\n".join(f"    {x}".rstrip() for x in example.splitlines()), markup=False)
    else:
        console.print(Syntax(example, "python", background_color="default"))
    console.print("\n[bold]What to do[/]", Markdown(each.remedy), sep="\n")
    console.print(f"\nSee {each.link}", highlight=False)
