"""The commands for suites: list, new, freeze, verify."""

from __future__ import annotations

from typing import Any

import click

from salon.bench.builtin import builtin_suites
from salon.bench.suite import Suite
from salon.bench.suite_folder import open_suite
from salon.cli.console import json_option, print_json, print_table


@click.command("list")
@json_option
def list_(as_json: bool) -> None:
    """The suites that come with Salon.

    \b
      salon bench list
    """
    rows = [_suite_row(open_suite(name)) for name in builtin_suites()]
    if as_json:
        print_json({"suites": rows})
        return
    columns = ("suite", "prompts", "tags", "points", "images", "frozen", "hash", "about")
    print_table(None, columns, [[_cell(row[name]) for name in columns] for row in rows], left=(0, 6, 7))


def _suite_row(suite: Suite) -> dict[str, Any]:
    return {
        "suite": f"{suite.card.name}/{suite.card.version}",
        "prompts": len(suite.prompts),
        "tags": len(suite.tags),
        "points": len(suite.points),
        "images": suite.card.images,
        "frozen": suite.frozen,
        "hash": suite.hash[:16],
        "about": suite.card.title,
    }


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
