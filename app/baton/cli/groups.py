"""Groups of commands: `baton` itself, importing commands on demand, and the groups below it."""

from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from baton.cli.commands import COMMANDS, EXTRAS, Command
from baton.local.server import ApiError


class CommandGroup(TyperGroup):
    """A group suggesting the nearest command for an unknown one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command named by the first word, or end with the exit status 2."""
        if not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            near = self.suggestions(ctx, args[0])
            ctx.fail(f"unknown command `{args[0]}`" + (f"; did you mean {' or '.join(near)}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the commands with the first paragraph of their help, below the titles of their panels."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            text = (command.short_help or command.help or "").split("\n\n")[0]
            panel = getattr(command, "rich_help_panel", None) or "Commands"
            panels.setdefault(str(panel), []).append((name, " ".join(text.split())))
        for panel, commands in panels.items():
            with formatter.section(panel):
                formatter.write_dl(commands)

    def suggestions(self, ctx: Any, name: str) -> list[str]:
        """Return the nearest commands for a misspelt one, in backticks."""
        return [f"`{near}`" for near in get_close_matches(name, self.list_commands(ctx), n=1)]


class LazyGroup(CommandGroup):
    """The commands of a table, each imported when it runs.

    `self.commands` holds stand-ins with name, help and panel, enough for help and completion.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, command in COMMANDS.items():
            self.add_command(TyperCommand(name, short_help=command.help, rich_help_panel=command.panel), name)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import a command, None for an unknown one.

        Raises:
            ApiError: If its extra is not installed.
        """
        return load(cmd_name, COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def suggestions(self, ctx: Any, name: str) -> list[str]:
        """Look in the groups too: `baton enable` means `baton mode enable`. They are imported only for this."""
        near = super().suggestions(ctx, name)
        if near:
            return near
        groups = {one: load(one, command) for one, command in COMMANDS.items() if not command.extra}
        return [f"`{one} {name}`" for one, group in groups.items() if name in getattr(group, "commands", {})]

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete from the stand-ins. A plain group completes from the commands and would import them all."""
        names = TyperGroup(name=self.name, commands=list(self.commands.values()), params=self.params)
        return names.shell_complete(ctx, incomplete)


def group(help_text: str) -> typer.Typer:
    """Make a group of commands. Its help is plain text, since importing rich takes longer than most commands run."""
    return typer.Typer(
        cls=CommandGroup, help=help_text, no_args_is_help=True, rich_markup_mode=None, add_completion=False,
        pretty_exceptions_enable=False,
    )  # fmt: skip


def load(name: str, command: Command) -> Any:
    """Import a command of the table, ready to run.

    Raises:
        ApiError: If its extra is not installed.
    """
    if command.extra and find_spec(EXTRAS[command.extra]) is None:
        raise ApiError(
            f"`baton {name}` needs the extra `{command.extra}`, which is not installed here;"
            f" install `baton[{command.extra}]` as you installed `baton`"
        )
    module, _, attribute = command.where.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        found.info.cls = CommandGroup  # also for the server's groups, independent of the command line
    else:
        function, found = found, typer.Typer(rich_markup_mode=None, add_completion=False)
        found.command()(function)
    made = typer.main.get_command(found)
    made.name = name
    return made
