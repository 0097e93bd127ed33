"""The command ``profile``: where the time of a program goes."""

import os
import runpy
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import typer

import nbgrad
from nbgrad.experiments.exits import FAILED, MISUSED, STOPPED, complain
from nbgrad.experiments.outputs import prepare
from nbgrad.profiling import profile
from nbgrad.profiling.profile import SORTS
from nbgrad.profiling.sections import sections, summary
from nbgrad.profiling.tally import starters

PAGE = "profile.html"
starters.add(__file__)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    settings = {"allow_interspersed_args": False, "ignore_unknown_options": False}
    app.command("profile", context_settings=settings)(profile_program)


def profile_program(
    program: Annotated[
        list[str] | None,
        typer.Argument(help="The script and its arguments; with -m, its arguments."),
    ] = None,
    module: Annotated[
        str | None, typer.Option("--module", "-m", help="A module to run, as with python -m.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write a page with a flame graph to this file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Also write that page, {PAGE}, to this folder.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many rows a table has.")] = 15,
    sort: Annotated[
        str, typer.Option(help=f"What rows are sorted by: {', '.join(SORTS)}.")
    ] = "time",
) -> int:
    """Run a program, and tell where its time goes.

    It begins with what stands out and what helps, such as a function that is
    compiled for every shape. Then come tables of the time by line, by op and by
    kernel, forward and backward; the compilations and the reason of each; and the
    memory that graphs hold for the backward pass.

    Small ops take about twice as long while they are measured. Options come
    before the script; all that follows it is for the script. If it fails or is
    stopped by Ctrl-C, the profile tells about the time until then.

    [bold]nbgrad profile fit.py[/]
    [bold]nbgrad profile --html fit.html fit.py --steps 100[/]
    [bold]nbgrad profile --sort calls --top 30 -m mypackage.train[/]

    To measure a part of a program, write [bold]with nbgrad.profile() as p:[/] and
    [bold]print(p)[/].
    """
    given = list(program or [])
    if sort not in SORTS:
        raise typer.BadParameter(f"there is no order {sort!r}: there are {', '.join(SORTS)}")
    if module is None:
        if not given:
            raise typer.BadParameter("give a script, or -m and a module")
        if not os.path.exists(given[0]):
            return complain(f"there is no file {given[0]}", MISUSED)
    elif not _exists(module):
        return complain(f"there is no module {module}", MISUSED)
    pages = [html] if html else []
    if out:
        prepare(out)
        pages.append(out / PAGE)
    measured = nbgrad.profile(top=top, sort=sort)
    code = _run(measured, module, given)
    sys.stdout.flush()
    _print(measured)
    for path in pages:
        measured.write(path)
        print(f"kept in {path}")
    if not pages:
        print("--html FILE writes this as a page with a flame graph")
    return complain("stopped", STOPPED) if code == STOPPED else code


def _exists(module: str) -> bool:
    with _as_main([module], os.getcwd()):
        try:
            return find_spec(module) is not None
        except ImportError:
            return False


def _run(measured: profile, module: str | None, given: list[str]) -> int:
    """Run the program as the main one. Returns its exit code."""
    if module is None:
        path = given[0]
        folder = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
        run: Callable[[], Any] = partial(runpy.run_path, path, run_name="__main__")
    else:
        given, folder = [module, *given], os.getcwd()
        run = partial(runpy.run_module, module, run_name="__main__", alter_sys=True)
    try:
        with _as_main(given, folder), warnings.catch_warnings():
            warnings.showwarning = _showwarning
            with measured:
                run()
    except SystemExit as end:
        return _code_of(end)
    except KeyboardInterrupt:
        return STOPPED
    except BaseException as error:
        traceback.print_exception(error.with_traceback(_of_program(error.__traceback__)))
        return FAILED
    return 0


@contextmanager
def _as_main(arguments: list[str], folder: str) -> Iterator[None]:
    """Give the process the arguments of a program, and let it import from its folder."""
    before = sys.argv, sys.path
    sys.argv, sys.path = arguments, [folder, *sys.path]
    try:
        yield
    finally:
        sys.argv, sys.path = before


def _showwarning(message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
    """Show a warning of the program as Python does."""
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))


def _code_of(end: SystemExit) -> int:
    """The exit code of a program that ended itself."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return FAILED


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames that started the program."""
    while trace is not None and _is_start(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_start(path: str) -> bool:
    return path in starters or path.startswith("<frozen ")


def _print(measured: profile) -> None:
    """Print a profile: sentences, then tables."""
    from rich.console import Console
    from rich.text import Text

    from nbgrad.experiments.screen import print_table

    plain = not sys.stdout.isatty()
    console = Console(width=1000 if plain else None, color_system=None if plain else "auto")
    console.print()
    console.print(Text(summary(measured.result), style="bold"))
    for sentence in measured.findings:
        line = Text("* ", style="bold yellow")
        line.append(sentence, style="default")
        console.print(line)
    console.print()
    for section in sections(measured.result, measured.top, measured.sort):
        title = section.title + (f" ({section.hidden:,} more)" if section.hidden else "")
        print_table(title, section.columns, section.rows, section.numbers)
