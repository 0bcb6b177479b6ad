"""The command that scores the items of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from salon.cli.console import json_option, print_json, print_table, say
from salon.cli.options import options_from, settings_from
from salon.errors import InputError
from salon.judge.score import ScoreRun, ScoreSettings, score_study
from salon.judge.scorers.named import scorer_lines, scorer_named
from salon.judge.scorers.spread import SpreadScorer
from salon.models.kept import Kept
from salon.store.folder import local, open_study
from salon.study import Scorer


@click.command()
@click.argument("study", required=False, type=click.Path(path_type=Path))
@click.option("-s", "--scorer", "names", multiple=True, metavar="NAME", help="A scorer (see --list); repeatable.")
@click.option("--list", "list_", is_flag=True, help="Name the scorers there are.")
@click.option("--name", help="What to call the scores, with a single scorer  [default: the scorer's own name]")
@options_from(ScoreSettings)
@json_option
def score(study: Path | None, names: Sequence[str], list_: bool, name: str | None, as_json: bool, **flags: Any) -> None:
    """Score the items of STUDY by one or more scorers.

    The scores of each are written to STUDY/scores/NAME.parquet (item, value, sigma), with the scorer's card beside
    them. A picture is looked at once: run the same command again to go on after an interruption. An item that cannot
    be scored stays in the table with the reason and without a value. Leaves with 0 when every scorer gave a number to
    at least one item, else with 1.

    \b
      salon score --list
      salon score study -s words -s contrast -s palette
      salon score study -s effnet-lite2+minilm+ocr --text intent
      salon score study -s pickscore:weights/PickScore_v1 --device cuda --batch 32
      salon score study -s hpsv3:weights --engine ray --address auto
      salon score study -s table:hpsv3.csv --name hpsv3
    """
    if list_:
        _print_list(as_json)
        return
    if study is None or not names:
        raise click.UsageError("a STUDY and at least one --scorer are needed; --list names the scorers")
    if name and len(names) > 1:
        raise InputError("--name goes with a single --scorer", found=f"{len(names)} scorers")
    settings = settings_from(ScoreSettings, flags)
    folder, opened, kept = local(study).resolve(), open_study(study), Kept()
    scorers = [_scorer(text, settings, folder, kept) for text in names]
    runs = []
    for scorer in scorers:
        scorer.name = name or scorer.name
        with _watched(scorer.name, quiet=as_json) as progress:
            runs.append(score_study(opened, folder, scorer, settings, progress, kept=kept))
    if as_json:
        print_json({"study": str(study), "scorers": [run.model_dump(mode="json") for run in runs]})
    else:
        _print_runs(runs, study)
    if not all(run.scored for run in runs):
        click.get_current_context().exit(1)


def _scorer(named: str, settings: ScoreSettings, folder: Path, kept: Kept) -> Scorer:
    return scorer_named(named, settings, kept) if settings.engine == "here" else SpreadScorer(named, settings, folder)


def _print_list(as_json: bool) -> None:
    if as_json:
        print_json({"scorers": [{"name": name, "measures": told} for name, told in scorer_lines()]})
    else:
        print_table(None, ("scorer", "measures"), scorer_lines(), left=(0, 1))


@contextmanager
def _watched(label: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr while a scorer works."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, wanted: bar.update(task, completed=done, total=wanted)


def _print_runs(runs: Sequence[ScoreRun], study: Path) -> None:
    rows = [
        (run.scorer, f"{run.scored:,}", f"{run.items - run.scored:,}", f"{run.reused:,}", _number(run.low),
         _number(run.high), "yes" if run.card.higher_is_better else "no")
        for run in runs
    ]  # fmt: skip
    say(f"scores of {runs[0].items:,} items are in {study / 'scores'}", bold=True)
    print_table(None, ("scorer", "scored", "not scored", "known", "lowest", "highest", "higher is better"), rows)
    for run in runs:
        for reason, count in run.unscored.items():
            say(f"- {run.scorer}: {count:,} without a value: {reason}")
        say(run.signature, dim=True)
    say(f"missing values: {runs[0].missing}", dim=True)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
