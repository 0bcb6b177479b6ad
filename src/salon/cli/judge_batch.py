"""The commands that put a judge's questions into batch files, and take the results back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.calls.store import CallStore
from salon.cli.console import json_option, print_json, print_table, say
from salon.cli.judge_asked import batch_options, planned
from salon.cli.later import LaterGroup
from salon.cli.options import SectionedCommand, settings_from
from salon.errors import BadValue
from salon.judge.batch import read_batch, write_batch
from salon.judge.named import Named, calls_file, endpoint_vlm

MOST_FAULTS = 10
"""Faults printed; --json prints all."""
_FILE = click.Path(path_type=Path, dir_okay=False)
study_argument = click.argument("study", type=click.Path(path_type=Path))


@click.group(cls=LaterGroup)
def batch() -> None:
    """Batch files: half the price for a day's patience.

    Give all three commands the same options about what is asked, and whom: an answer is found by exactly what was
    asked.

    \b
      salon judge batch out study --model gpt-4o -o questions.jsonl
      salon judge batch in study --model gpt-4o results.jsonl
      salon judge run study --model gpt-4o               finds every answer, asks only what is missing
    """


@batch.command("out", cls=SectionedCommand)
@study_argument
@click.option("-o", "--output", required=True, type=_FILE, help="Batch file, JSONL.")
@batch_options
@json_option
def out_(study: Path, output: Path, as_json: bool, **flags: Any) -> None:
    """Write the questions about STUDY that have no answer yet.

    \b
      salon judge batch out study --model gpt-4o -o questions.jsonl
    """
    named, model = _endpoint(flags)
    plan = planned(study, named, **flags)
    with CallStore(calls_file(named, study)) as store, endpoint_vlm(named, model, store) as vlm:
        made = write_batch(vlm, plan.conversations(), output)
    if as_json:
        told = {"files": [str(file) for file in made.files], "written": made.written, "stored": made.stored}
        print_json(told | {"broken": made.broken})
        return
    say(f"{made.written:,} questions in {', '.join(map(str, made.files)) or 'no file'}", bold=True)
    say(f"{made.stored:,} have an answer already", dim=True)
    for reason in made.broken[:MOST_FAULTS]:
        say(f"- {reason}", fg="yellow")


@batch.command("in", cls=SectionedCommand)
@study_argument
@click.argument("results", nargs=-1, required=True, type=_FILE)
@batch_options
@json_option
def in_(study: Path, results: Sequence[Path], as_json: bool, **flags: Any) -> None:
    """Keep the answers in the batch files RESULTS. Exit code 1 when a line brought none, or questions stay open.

    \b
      salon judge batch in study --model gpt-4o results.jsonl
    """
    named, model = _endpoint(flags)
    plan = planned(study, named, **flags)
    with CallStore(calls_file(named, study)) as store, endpoint_vlm(named, model, store) as vlm:
        taken = read_batch(vlm, plan.conversations(), results)
    faults = [(fault.where, fault.kind, fault.reason) for fault in taken.faults]
    if as_json:
        told = {"kept": taken.kept, "known": taken.known, "missing": taken.missing}
        print_json(told | {"faults": [dict(zip(("where", "kind", "reason"), fault)) for fault in faults]})
    else:
        say(f"{taken.kept:,} answers kept, {taken.known:,} known before, {taken.missing:,} still missing", bold=True)
        if faults:
            print_table(None, ("line", "", "why it brought no answer"), faults[:MOST_FAULTS], left=(0, 1, 2))
    if faults or taken.missing:
        click.get_current_context().exit(1)


def _endpoint(flags: dict[str, Any]) -> tuple[Named, str]:
    named = settings_from(Named, flags)
    if named.model is None:
        raise BadValue("a batch is for a model at an endpoint: --model is needed", found="none")
    return named, named.model
