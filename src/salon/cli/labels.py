"""The command that writes labels for training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import json_option, print_json, print_table, say, working
from salon.cli.given import STUDY, given_study
from salon.cli.options import options_from, settings_from
from salon.cli.study import output_option
from salon.fuse.labels import LabelReport, LabelSettings, make_labels
from salon.store.plain_table import plain_target, write_plain
from salon.study.split import SPLITS

MOST_BUCKETS = 12


@click.command()
@click.argument("study", type=STUDY)
@output_option("File to write; its ending says how: .parquet, .csv or .jsonl.")
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@options_from(LabelSettings)
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@json_option
def labels(
    study: Path | str, output: Path, criteria: Sequence[str], overwrite: bool, as_json: bool, **flags: Any
) -> None:
    """Labels for training from the judgments of STUDY, split by prompt.

    For each pair of items: the majority, the share of votes, their number and split. Prompts that share an image or a
    text fall on the same side, and the result is checked for leaks before it is written.

    \b
      salon labels study -o labels.parquet
      salon labels study -o votes.csv --rows raters --ties keep
      salon labels study -o scores.jsonl --rows ratings --criterion apdd/score
    """
    settings = settings_from(LabelSettings, flags)
    plain_target(output, overwrite=overwrite)
    found = given_study(study)
    with working("making labels"):
        made = make_labels(found, settings, criteria=criteria)
        write_plain(made.table, output, overwrite=overwrite)
    if as_json:
        line = str(made.report.signature)
        print_json({"file": str(output), **made.report.model_dump(mode="json"), "signature_line": line})
    else:
        _print(made.report, output)


def _print(report: LabelReport, output: Path) -> None:
    if report.simulated:
        say("SIMULATED: nobody gave these answers.")
    judged = "ratings" if report.rows == "ratings" else "votes"
    columns = ("criterion", "rows", judged, *SPLITS, "even", "both bad")
    rows = [
        (one.criterion, *(f"{n:,}" for n in (one.rows, one.judgments, *one.splits.values(), one.even, one.both_bad)))
        for one in report.criteria
        if one.rows
    ]
    shown = len(columns) if judged == "votes" else -2  # ratings have no even pairs
    print_table(None, columns[:shown], [row[:shown] for row in rows])
    _print_buckets(report)
    silent = [one.criterion for one in report.criteria if not one.rows]
    if silent:
        say(f"- no {'ratings' if judged == 'ratings' else 'labels'} under {', '.join(silent)}")
    for note in report.notes:
        say(f"- {note}")
    without = sum(one.without for one in report.criteria)
    if without:
        say(f"- pairs left out because every answer was 'both bad': {without:,}")
    say(f"wrote {output}")
    say(str(report.signature), dim=True)


def _print_buckets(report: LabelReport) -> None:
    total: Counter[str] = Counter()
    for one in report.criteria:
        total.update(one.buckets)
    if not total:
        return
    rows = [(name, f"{count:,}", f"{count / total.total():.1%}") for name, count in total.most_common(MOST_BUCKETS)]
    print_table("buckets (larger camp - smaller camp - ties)", ("bucket", "rows", "share"), rows)
    if len(total) > MOST_BUCKETS:
        say(f"and {len(total) - MOST_BUCKETS} rarer ones, in --json")
