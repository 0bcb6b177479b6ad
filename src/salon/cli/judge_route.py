"""The command that puts the checklist answers of several judges together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click
import pyarrow as pa

from salon.cli.console import json_option, print_json, print_table, say
from salon.cli.given import given_study
from salon.cli.judge_asked import routed_points
from salon.judge.routing import Settled, judges_answers, settle
from salon.report.numbers import MISSING
from salon.store.folder import local
from salon.store.plain_table import plain_target, write_plain
from salon.store.point_files import read_routes

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--routes", required=True, type=_FILE, help="Which judges answer points with which tag, TOML.")
@click.option("--points", type=_FILE, help="The points with their tags, TOML or JSONL  [default: those people ticked]")
@click.option("-o", "--output", type=_FILE, help="Write what was settled as a table: .parquet, .csv or .jsonl.")
@click.option("--overwrite", is_flag=True, help="Replace a table that is there already.")
@json_option
def route(study: Path, routes: Path, points: Path | None, output: Path | None, overwrite: bool, as_json: bool) -> None:
    """What several judges say together of every point of a checklist, and where they disagree.

    Run each judge first, with --protocol checklist and the same --routes, so that it is asked its own points only.

    \b
      salon judge run study --protocol checklist --points points.toml --routes routes.toml --model gpt-4o
      salon judge route study --points points.toml --routes routes.toml -o settled.csv
    """
    if output is not None:
        plain_target(output, overwrite=overwrite)
    chosen = read_routes(routes)
    asked = routed_points(given_study(local(study)), points, None, "")
    settled = settle(asked, chosen, judges_answers(study, chosen))
    if output is not None:
        write_plain(pa.Table.from_pylist([one.model_dump() for one in settled]), output, overwrite=overwrite)
    if as_json:
        print_json({"settled": [one.model_dump() | {"disputed": one.disputed} for one in settled]})
        return
    disputed = sum(one.disputed for one in settled)
    say(f"{len(settled):,} points settled, {disputed:,} of them disputed between judges", bold=True)
    columns = ("tag", "rule", "points", "yes", "no", "open", "disputed")
    print_table(None, columns, _by_tag(settled), left=(0, 1))
    say("open: no majority, or no answer that could be read; counted as neither yes nor no", dim=True)


def _by_tag(settled: Sequence[Settled]) -> list[tuple[str, ...]]:
    groups: dict[tuple[str, str], list[Settled]] = defaultdict(list)
    for one in settled:
        groups[one.tag or MISSING, one.rule].append(one)
    rows = []
    for (tag, rule), some in sorted(groups.items()):
        counts = [sum(one.answer is answer for one in some) for answer in (True, False, None)]
        numbers = (len(some), *counts, sum(one.disputed for one in some))
        rows.append((tag, rule, *(f"{number:,}" for number in numbers)))
    return rows
