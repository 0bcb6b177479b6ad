"""A group of commands in the order they are used in; some are loaded only when called, as imports can take seconds."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LaterGroup(click.Group):
    """`later`: name to (module:attribute, what the list of commands says of it)."""

    def __init__(self, *args: Any, later: Mapping[str, tuple[str, str]] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.later = dict(later or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *self.later]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.later:
            return super().get_command(ctx, name)
        module, attribute = self.later[name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, command.get_short_help_str(100)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *((name, help) for name, (_, help) in self.later.items())])
