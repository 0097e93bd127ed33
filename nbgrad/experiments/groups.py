"""Groups of commands that help whoever mistypes a name."""

from difflib import get_close_matches

import typer
from typer.core import TyperGroup


class Group(TyperGroup):
    """A group that answers an unknown name with the nearest one, or with all there are."""

    def get_command(self, ctx, cmd_name):
        """The command of that name, or one line that says what was meant."""
        command = super().get_command(ctx, cmd_name)
        if command is None:
            names = self.list_commands(ctx)
            near = get_close_matches(cmd_name, names, n=1, cutoff=0.5)
            path = ctx.command_path
            hint = f"did you mean '{path} {near[0]}'?" if near else f"there are: {', '.join(names)}"
            ctx.fail(f"there is no '{path} {cmd_name}'; {hint}")
        return command


def summaries(ctx: typer.Context) -> dict[str, str]:
    """The name of each command of the present group, and one line about it."""
    group = ctx.command
    assert isinstance(group, Group)
    commands = {name: group.get_command(ctx, name) for name in group.list_commands(ctx)}
    return {name: command.get_short_help_str(80) for name, command in commands.items() if command}
