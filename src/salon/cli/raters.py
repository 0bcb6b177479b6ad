"""What commands with scorers share about untrained VLMs: their flags, and the cost shown before anything is bought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from salon.cli.console import say
from salon.cli.options import options_from
from salon.judge.untrained import RaterSettings

Command = Callable[..., Any]
OnForecast = Callable[[Sequence[str]], None]
SECTION = "Untrained VLMs (onepass:FOLDER, onepass:openai:MODEL@URL)"


def rater_options(command: Command) -> Command:
    """The flags of `RaterSettings`, under a heading of their own, and --dry-run."""
    flags = options_from(RaterSettings, section=SECTION)
    dry = click.option("--dry-run", is_flag=True, help="Only say what endpoints would be asked, and the most it costs.")
    return dry(flags(command))


def forecast_printer(dry_run: bool) -> OnForecast:
    """Prints what endpoints will be asked; with `dry_run` the command ends there."""

    def on_forecast(lines: Sequence[str]) -> None:
        for line in lines:
            say(line, err=True)
        if dry_run:
            say("nothing was asked" if lines else "no endpoint is asked", err=True)
            raise click.exceptions.Exit(0)

    return on_forecast
