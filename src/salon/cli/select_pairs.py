"""The command that writes preference pairs for DPO."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import json_option, print_json, print_table, say, working
from salon.cli.options import options_from, settings_from
from salon.errors import InputError
from salon.select.pair_sources import fused_candidates, scorer_candidates, vote_candidates
from salon.select.pairs import Candidate, PairSettings
from salon.select.pairs_study import KINDS, PairReport, write_pairs
from salon.store.folder import local, open_study
from salon.study import Study

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write."
)
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@click.option("--scores", type=_FILE, help="Order items by fused scores: a table written by salon fuse -o.")
@click.option("-s", "--scorer", help="Order items by the scores of this name in STUDY/scores (salon score).")
@click.option(
    "--format", "kinds", multiple=True, type=click.Choice(KINDS), help="For this trainer (repeatable)  [default: both]"
)
@options_from(PairSettings)
@click.option("--overwrite", is_flag=True, help="Replace a folder that is there already.")
@json_option
def pairs(
    study: Path,
    output: Path,
    criteria: Sequence[str],
    scores: Path | None,
    scorer: str | None,
    kinds: Sequence[Any],
    overwrite: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Preference pairs of STUDY for DPO, split by prompt, as Parquet for diffusers and TRL.

    By default a pair is what people said of two pictures, by majority. Pairs that are even, too close, too uncertain,
    said twice or of near copies are left out and counted; no prompt and no picture stands in two splits.

    \b
      salon select pairs study -o pairs --criterion taste/mood --least-gap 0.5
      salon select pairs study -o pairs --scores scores.parquet --least-errors 2 --most 3
      salon select pairs study -o pairs --scorer words --format diffusers
    """
    if scores and scorer:
        raise InputError("pairs are ordered by --scores or by --scorer", found="both of them")
    if criteria and scorer:
        raise InputError("a scorer speaks of its own criterion", found="--criterion with --scorer")
    settings = settings_from(PairSettings, flags)
    opened = open_study(study)
    with working("making pairs"):
        candidates, source = _candidates(opened, local(study), settings, criteria, scores, scorer)
        report = write_pairs(
            opened, local(study), output, candidates, settings, source=source, kinds=kinds or KINDS, overwrite=overwrite
        )
    if as_json:
        line = str(report.signature)
        print_json({"folder": str(output), **report.model_dump(mode="json"), "signature_line": line})
    else:
        _print(report, output)


def _candidates(
    study: Study,
    folder: Path,
    settings: PairSettings,
    criteria: Sequence[str],
    scores: Path | None,
    scorer: str | None,
) -> tuple[list[Candidate], str]:
    ids = [study.criterion(id).id for id in criteria]
    if scores is not None:
        return fused_candidates(study, settings, scores, ids), f"scores {scores.name}"
    if scorer is not None:
        return scorer_candidates(study, settings, folder, scorer), f"scorer {scorer}"
    return vote_candidates(study, settings, ids), "votes"


def _print(report: PairReport, output: Path) -> None:
    if report.simulated:
        say("SIMULATED: nobody gave these answers.")
    say(f"{report.pairs:,} of {report.candidates:,} candidates are pairs, of {report.prompts:,} prompts", bold=True)
    splits = ", ".join(f"{count:,} {name}" for name, count in report.splits.items())
    say(f"- {splits}; the better picture stands first in {report.first:.0%}")
    print_table(None, ("criterion", "pairs"), [(id, f"{count:,}") for id, count in report.criteria.items()])
    gone = [(reason, f"{count:,}") for reason, count in report.dropped.items() if count]
    if gone:
        print_table("left out", ("why", "candidates"), gone)
    for note in report.notes:
        say(f"- {note}")
    say(f"wrote {output}")
    say(str(report.signature), dim=True)
