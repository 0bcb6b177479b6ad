"""`salon score`: scores for the items of a study, or for pictures outside a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import json_option, print_json, print_table, printable, progress_bar, say
from salon.cli.judge_options import rater_options
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.errors import InputError
from salon.judge import ScoreSettings

if TYPE_CHECKING:
    from salon.cli.judge_options import OnForecast
    from salon.judge import PictureSource, ScoreRun
    from salon.study import Item, Prompt, Scorer

_MOST_PRINTED = 20


@click.command(cls=SectionedCommand)
@click.argument("place", metavar="STUDY|IMAGES", required=False, type=click.Path(path_type=Path))
@click.option("-s", "--scorer", "names", multiple=True, metavar="NAME", help="A scorer (see --list) (repeatable).")
@click.option("--list", "list_", is_flag=True, help="Name the scorers there are.")
@click.option(
    "--model", "models", multiple=True, type=click.Path(path_type=Path), help="Folder of a trained model (repeatable)."
)
@click.option(
    "--criterion", "criteria", multiple=True, help="With --model or an untrained VLM: only this criterion (repeatable)."
)
@click.option("--name", help="What to call the scores, with a single scorer  [default: the scorer's own name]")
@click.option("--prompt", help="With IMAGES: the text that all of them were made for.")
@click.option(
    "--prompts",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With a folder of IMAGES: a table with the columns image and prompt, .csv, .jsonl or .parquet.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="With IMAGES: folder of the scores."
)
@click.option(
    "--verify",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="FOLDER",
    help="Score nothing: compare scorers with the reference numbers in FOLDER; exit 1 beyond the tolerance.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=1e-3,
    show_default=True,
    help="With --verify: the largest difference, in standard deviations of the reference.",
)
@options_from(ScoreSettings)
@rater_options
@json_option
def score(
    place: Path | None,
    names: Sequence[str],
    list_: bool,
    models: Sequence[Path],
    criteria: Sequence[str],
    name: str | None,
    prompt: str | None,
    prompts: Path | None,
    output: Path | None,
    verify: Path | None,
    tolerance: float,
    dry_run: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Score the items of STUDY, or pictures that are no study, by one or more scorers.

    The scores of each are written to STUDY/scores/NAME.parquet (item, value, sigma), with the scorer's card beside
    them. Each picture is scored once: run the same command again to continue after an interruption. An item that cannot
    be scored stays in the table with the reason and without a value. Exit code 0 when every scorer gave a number to at
    least one item, else 1.

    IMAGES is a folder of pictures, with their prompts in prompts.csv or metadata.jsonl beside them (or --prompts, or
    one --prompt for all), or a Parquet file with the columns image (a path, or bytes) and prompt. Their scores go to
    IMAGES-scores beside them; nothing is written into the folder of pictures. Up to twenty are printed.

    \b
      salon score --list
      salon score study -s words -s contrast -s palette
      salon score study -s effnet-lite2+minilm+ocr --text intent
      salon score study --model taste-heads --criterion taste/mood
      salon score study -s pickscore:weights/PickScore_v1 --device cuda --batch 32
      salon score study -s hpsv3:weights --engine ray --address auto
      salon score study -s table:hpsv3.csv --name hpsv3
      salon score study -s onepass:weights/Qwen3-VL-8B --role painting
      salon score study -s onepass:openai:qwen@http://localhost:8000/v1 --dry-run
      salon score study -s chat:yes-alignment@openai:qwen@http://localhost:8000/v1
      salon score --verify reference -s pickscore:weights/PickScore_v1
      salon score renders/ --model taste-heads --prompt "a poster for a jazz night"
      salon score renders.parquet --model taste-heads -s naturalness -o scores
    """
    from salon.cli.judge_options import forecast_printer
    from salon.judge import (
        SCORES_FOLDER,
        RaterSettings,
        expand_raters,
        make_scorer,
        open_pictures,
        scorer_lines,
        scorer_names,
        split_rater,
    )
    from salon.store import is_study, local_path, open_study
    from salon.study import Item

    if list_:
        if as_json:
            print_json({"scorers": [{"name": name, "measures": measures} for name, measures in scorer_lines()]})
        else:
            print_table(None, ("scorer", "measures"), scorer_lines(), left=(0, 1))
        return
    if verify is not None:
        _verify(names, verify, tolerance, settings_from(ScoreSettings, flags), as_json)
        return
    scorer_words = [*names, *(criterion for folder in models for criterion in scorer_names(folder, criteria))]
    if place is None or not scorer_words:
        raise click.UsageError("a STUDY or IMAGES and at least one --scorer or --model are needed; --list names them")
    if criteria and not models and not any(split_rater(word) for word in names):
        raise InputError("--criterion goes with --model or an untrained VLM", found="neither")
    rater = settings_from(RaterSettings, flags)
    if any(split_rater(word) for word in names):
        study_data = open_study(place) if is_study(local_path(place)) else None
        rater = rater.about(criteria) if study_data is None else rater.on(study_data, local_path(place), criteria)
        scorer_words = expand_raters(scorer_words, [criterion.id for criterion in rater.criteria])
    else:
        if any(word.startswith("chat:") for word in names) and is_study(local_path(place)):
            home = local_path(place).resolve()
            calls = rater.calls or home.with_name(f"{home.name}.calls.sqlite")
            rater = rater.model_copy(update={"calls": calls})
        scorer_words = expand_raters(scorer_words, ())
    settings = settings_from(ScoreSettings, flags).model_copy(update={"rater": rater})
    if name and len(scorer_words) > 1:
        raise InputError("--name goes with a single scorer", found=f"{len(scorer_words)} scorers")
    on_forecast = forecast_printer(dry_run)
    if is_study(local_path(place)):
        if prompt or prompts or output:
            raise InputError("--prompt, --prompts and --output go with pictures", found="a study", where=str(place))
        runs, folder = (
            _score_study(place, scorer_words, name, settings, on_forecast, quiet=as_json),
            place / SCORES_FOLDER,
        )
    else:
        source, folder = open_pictures(place, prompt=prompt, prompts=prompts), output or _beside(place)
        on_forecast(
            _costs(
                [make_scorer(text, settings) for text in scorer_words],
                [
                    (
                        Item(
                            id=picture.item,
                            image=None if isinstance(picture.image, bytes | None) else str(picture.image),
                        ),
                        picture.prompt,
                    )
                    for picture in source
                ],
            )
        )
        runs = _score_pictures(source, folder, scorer_words, name, settings, quiet=as_json)
    if as_json:
        print_json({"study": str(place), "scorers": [run.model_dump(mode="json") for run in runs]})
    else:
        _print_runs(runs, folder)
        _print_items(runs, folder)
    if not all(run.scored for run in runs):
        click.get_current_context().exit(1)


def _verify(names: Sequence[str], folder: Path, tolerance: float, settings: ScoreSettings, as_json: bool) -> None:
    """Compare the scorers named, or those whose weights lie in the folder, with its reference numbers."""
    from salon.judge import make_scorer, reference_scorers, verify_scorer
    from salon.report import MISSING

    words = names or reference_scorers(folder)
    if not words:
        raise InputError(
            "a --scorer to verify is needed", found="none, and no weights in the folder", where=str(folder)
        )
    results = [
        verify_scorer(
            make_scorer(word, settings), folder, kind=word.partition(":")[0], tolerance=tolerance, limit=settings.limit
        )
        for word in words
    ]
    if as_json:
        print_json({"verified": [result.model_dump(mode="json") for result in results]})
    else:
        rows = [
            (
                result.scorer,
                result.pairs,
                result.missing,
                MISSING if result.largest is None else f"{result.largest:.2g}",
                MISSING if result.largest_in_sd is None else f"{result.largest_in_sd:.2g}",
                result.at or MISSING,
                "yes" if result.passed else "no",
            )
            for result in results
        ]
        titles = ("scorer", "pairs", "missing", "largest difference", "in sd", "at", f"within {tolerance:g} sd")
        print_table(None, titles, rows)
        for result in results:
            if result.reason:
                say(f"- {result.scorer}: {result.missing:,} without a value: {result.reason}")
            say(result.signature, dim=True)
    if not all(result.passed for result in results):
        click.get_current_context().exit(1)


def _score_study(
    study: Path,
    scorer_words: Sequence[str],
    name: str | None,
    settings: ScoreSettings,
    on_forecast: OnForecast,
    *,
    quiet: bool,
) -> list[ScoreRun]:
    from salon.judge import DistributedScorer, items_with_pictures, make_scorer, score_study
    from salon.models import ResultCache
    from salon.store import open_study

    folder, opened, cache = study.resolve(), open_study(study), ResultCache()
    runs = []
    scorers = [
        (make_scorer(text, settings, cache) if settings.engine == "here" else DistributedScorer(text, settings, folder))
        for text in scorer_words
    ]
    on_forecast(_costs(scorers, items_with_pictures(opened, folder, settings.limit)))
    for scorer in scorers:
        scorer.name = name or scorer.name
        with progress_bar(scorer.name, quiet=quiet) as progress:
            runs.append(score_study(opened, folder, scorer, settings, progress, cache=cache))
    return runs


def _costs(scorers: Sequence[Scorer], item_prompts: Sequence[tuple[Item, Prompt | None]]) -> list[str]:
    """What endpoints will be asked, a line for each VLM: its criteria share their answers."""
    from salon.judge import UntrainedScorer

    raters = {rater.title: rater for rater in reversed(scorers) if isinstance(rater, UntrainedScorer)}
    return [line for rater in raters.values() if (line := rater.forecast_words(item_prompts))]


def _score_pictures(
    source: PictureSource,
    out: Path,
    scorer_words: Sequence[str],
    name: str | None,
    settings: ScoreSettings,
    *,
    quiet: bool,
) -> list[ScoreRun]:
    from salon.judge import score_pictures

    runs = []
    for text in scorer_words:
        with progress_bar(text, quiet=quiet) as progress:
            runs.append(score_pictures(source, out, text, settings, progress, name=name))
    return runs


def _beside(place: Path) -> Path:
    """Where the scores of pictures go unless told otherwise."""
    from salon.judge import SCORES_FOLDER

    whole = place.resolve()
    return whole.with_name(f"{whole.name if whole.is_dir() else whole.stem}-{SCORES_FOLDER}")


def _print_items(runs: Sequence[ScoreRun], folder: Path) -> None:
    """Every item with its scores, where they are few."""
    from salon.judge import read_scores, scores_file
    from salon.report.numbers import fixed

    if runs[0].items > _MOST_PRINTED:
        return
    columns = [read_scores(scores_file(folder, run.scorer)).select(["item", "value"]).to_pylist() for run in runs]
    rows = [
        (printable(str(cells[0]["item"])), *(fixed(cell["value"]) for cell in cells))
        for cells in zip(*columns, strict=True)
    ]
    print_table(None, ("item", *(run.scorer for run in runs)), rows)


def _print_runs(runs: Sequence[ScoreRun], folder: Path) -> None:
    from salon.report.numbers import fixed

    rows = [
        (run.scorer, run.scored, run.items - run.scored, run.reused, fixed(run.low),
         fixed(run.high), "yes" if run.card.higher_is_better else "no")
        for run in runs
    ]  # fmt: skip
    say(f"scores of {runs[0].items:,} items are in {folder}", bold=True)
    print_table(None, ("scorer", "scored", "not scored", "known", "lowest", "highest", "higher is better"), rows)
    for run in runs:
        for note in run.card.notes:
            say(f"! {run.scorer}: {note}", bold=True)
        for reason, count in run.unscored.items():
            say(f"- {run.scorer}: {count:,} without a value: {reason}")
        say(run.signature, dim=True)
    say(f"missing values: {runs[0].missing}", dim=True)
