"""What the experiments that train a classifier have in common."""

from collections.abc import Callable

from nbgrad.experiments.history import History, OnStep, Step
from nbgrad.experiments.progress import progress
from nbgrad.experiments.race import Race
from nbgrad.experiments.sheet import Sheet


def trained(
    sheet: Sheet,
    label: str,
    train: Callable[[OnStep], History],
    steps: int,
    race: Callable[[], Race] | None = None,
) -> None:
    """Train with progress, and keep the history, its pictures and its accuracy, named by ``label``.

    With a ``race`` also say what compiling brought. Ctrl-C keeps the steps so far.
    """
    with progress(sheet.name) as tell:

        def on_step(step: Step) -> None:
            tell(step.step, steps, f"loss {step.loss:.4f}  {100 * step.accuracy:5.1f} %")

        history = train(on_step)
    taken = len(history.steps)
    if taken == 0:
        raise KeyboardInterrupt("stopped before the first step; nothing is kept")
    sheet.csv("history", Step._fields, history.steps)
    if sheet.plots:
        from nbgrad.experiments.plots import draw  # slow to import

        title = f"{sheet.name.capitalize()}: {label} {100 * history.accuracy:.1f} %"
        draw(history, sheet.out, title, label)
    if history.interrupted:
        raise KeyboardInterrupt(f"stopped after {taken} of {steps} steps, kept in {sheet.out}")
    sheet.figure(label, history.accuracy)
    if race is not None:
        sheet.say(str(race()))
    sheet.say(f"{history.correct} of {len(history.labels)} are right")
