"""`salon select best` and `salon select reference`: pick pictures by their scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from salon.cli.console import (
    figures_option,
    json_option,
    print_json,
    print_table,
    say,
    staged_progress_bar,
    write_page,
)
from salon.cli.options import options_from, settings_from
from salon.errors import BadFile, InputError
from salon.select import Explore, PickSettings

if TYPE_CHECKING:
    from salon.judge import ScoreSettings
    from salon.select import BestReport, BestSettings, PromptPick, StepCallback

_MOST_PROMPTS = 20
_LONGEST = 40
"""Characters of a prompt printed."""


@click.command()
@click.argument("place", metavar="STUDY|IMAGES|PROMPTS")
@click.option("-s", "--scorer", "names", multiple=True, metavar="NAME", help="As for salon score (repeatable).")
@click.option("--model", "models", multiple=True, type=click.Path(path_type=Path),
              help="Folder of a trained model: all its criteria but the flag (repeatable).")  # fmt: skip
@click.option("--criterion", "criteria", multiple=True, help="With --model: only this criterion (repeatable).")
@click.option("-w", "--weights", help="Criterion weights: typography=3,mood=1; *=1 for all others  [default: alike]")
@click.option("--reference", type=click.Path(path_type=Path, dir_okay=False),
              help="Frozen reference that brings criteria to one scale (salon select reference).")  # fmt: skip
@click.option("--equal-scales", is_flag=True, help="Declare that all scores are on one scale.")
@options_from(PickSettings)
@click.option("-g", "--generator", "drawing", multiple=True, metavar="NAME",
              help="Draw PROMPTS first, by this generator, as for salon generate (repeatable).")  # fmt: skip
@click.option("-n", "count", type=click.IntRange(1, 10_000), default=4, show_default=True,
              help="With -g: pictures of each prompt by each generator.")  # fmt: skip
@click.option("--size", help="With -g: width and height in pixels, such as 512x724.")
@click.option("--route", type=click.Path(path_type=Path, dir_okay=False),
              help="Draw PROMPTS by the generators that a file of routes names (salon select route).")  # fmt: skip
@click.option("--explore", type=click.Choice(get_args(Explore)), default="no", show_default=True,
              help="With --route: try others than the best, by how uncertain their scores are.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Only this many prompts, or items of a study.")
@click.option("--prompt", help="With IMAGES: the text that all of them were made for.")
@click.option("--prompts", type=click.Path(path_type=Path, dir_okay=False),
              help="With a folder of IMAGES: a table with the columns image and prompt.")  # fmt: skip
@click.option("--device", help="Of networks: cpu, cuda, mps  [default: the best there is]")
@click.option("--batch", type=click.IntRange(1, 4096), default=8, show_default=True, help="Pictures scored together.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False),
              help="With -g or --route: study folder of the pictures. Else folder of the record.")  # fmt: skip
@click.option("--table", type=click.Path(path_type=Path, dir_okay=False),
              help="Also write the picks as .csv, .parquet or .jsonl.")  # fmt: skip
@figures_option
@json_option
def best(
    place: str,
    names: Sequence[str],
    models: Sequence[Path],
    criteria: Sequence[str],
    drawing: Sequence[str],
    route: Path | None,
    output: Path | None,
    table: Path | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Choose the best picture of every prompt: of a STUDY, of a folder of IMAGES, or of N drawn for PROMPTS.

    The best has the highest weighted mean of its criteria, less k standard deviations where scorers state one. Items
    that do not differ significantly from it are tied. Below --least nothing is chosen. Pictures without a score are
    never chosen, and are counted. The record has a page with all pictures.

    Exit code 0 when something was chosen for every prompt, 1 when not.

    \b
      salon select best study --model taste-heads -w typography=3,mood=1
      salon select best renders/ -s words --prompt 'a poster that says "Jazz at the Harbour"'
      salon select best briefs:posters -g atelier -n 8 -s words -o drawn --limit 4 --size 512x724
      salon select best prompts.txt --route routes.json -n 4 --model taste-heads --least 0.5 -o drawn
    """
    from salon.report.numbers import fixed
    from salon.select import BestSettings, best_page, list_scorers, picks_table, read_reference, write_best
    from salon.store import check_target, write_plain

    if table is not None:
        check_target(table, overwrite=True)
    words = list_scorers(names, models, criteria)
    reference = None if flags["reference"] is None else read_reference(flags["reference"])
    wish = BestSettings(
        weights=flags["weights"],
        reference=reference,
        equal_scales=flags["equal_scales"],
        pick=settings_from(PickSettings, flags),
    )
    with staged_progress_bar("select", quiet=as_json) as watch:
        if drawing or route:
            report, out, pictures = _best_of_drawn(place, drawing, route, output, words, wish, flags, watch)
        else:
            report, out, pictures = _best_of_existing(Path(place), output, words, wish, flags, watch)
    page = write_best(report, out, pictures)
    write_page(lambda: best_page(report, pictures), None, figures)
    if table is not None:
        write_plain(picks_table(report), table, overwrite=True)
    if as_json:
        print_json(report)
    else:
        say(f"{report.chosen:,} of {report.prompts:,} prompts have a best of {report.items:,} items", bold=True)
        for outcome, count in report.outcomes.items():
            if outcome not in ("best", "only"):
                say(f"- {outcome}: {count:,}")
        say(f"- chosen, with a tie declared: {report.tied:,}")
        for reason, count in report.reasons.items():
            say(f"- {count:,} scores missing: {reason}")
        for kind, count in report.not_made.items():
            say(f"- {count:,} of {report.wanted:,} pictures not made: {kind}")
        rows = [
            (_prompt_label(pick), str(row["chosen"] or row["outcome"]), fixed(row["total"]), fixed(row["sd"]),
             fixed(row["bound"]), fixed(row["margin"]), f"{row['tied']}", f"{row['items']}")
            for pick, row in zip(report.picks[:_MOST_PROMPTS], report.rows())
        ]  # fmt: skip
        print_table(None, ("prompt", "chosen", "total", "sd", "bound", "margin", "tied", "of"), rows, left=(0, 1))
        if len(report.picks) > _MOST_PROMPTS:
            say(f"... and {len(report.picks) - _MOST_PROMPTS:,} more in {page.parent}")
        weights = ", ".join(f"{id} {share:.3g}" for id, share in report.weights.items() if share > 0)
        say(f"weights: {weights}; total in {report.scale}", dim=True)
        for note in (*report.policies, *report.notes):
            say(f"- {note}", dim=True)
        say(str(report.signature), dim=True)
        say(f"wrote {page}")
    if report.chosen < report.prompts:
        click.get_current_context().exit(1)


def _scoring(flags: dict[str, Any], limit: int | None) -> ScoreSettings:
    from salon.judge import ScoreSettings

    return ScoreSettings(device=flags["device"], batch=flags["batch"], limit=limit)


def _best_of_drawn(
    place: str,
    drawing: Sequence[str],
    route: Path | None,
    output: Path | None,
    words: Sequence[str],
    wish: BestSettings,
    flags: dict[str, Any],
    watch: StepCallback,
) -> tuple[BestReport, Path, Path]:
    from salon.generate import CallTerms, GenerateSettings, make_generators, read_prompt_argument
    from salon.select import BEST_FOLDER, draw_and_pick, route_prompts

    if output is None:
        raise InputError("-o FOLDER is needed for pictures that are drawn", found="none")
    if flags["explore"] != "no" and route is None:
        raise InputError("--explore goes with --route", found="no routes")
    if drawing and route:
        raise InputError("-g or --route says who draws", found="both of them")
    prompt_list = read_prompt_argument(place, flags["limit"])
    options = {"seeds": flags["count"], "seed": flags["seed"], "size": flags["size"]}
    settings = GenerateSettings.parse(options, where="options")
    terms = CallTerms(output.resolve().with_name(f"{output.resolve().name}.calls.sqlite"))
    routing, notes = (
        (None, ())
        if route is None
        else route_prompts(route, prompt_list, wish.weights, flags["seed"], flags["explore"])
    )
    chosen = list(drawing) if routing is None else list(dict.fromkeys(choice.generator for choice in routing.values()))
    report = draw_and_pick(
        prompt_list, make_generators(chosen, prompt_list, terms), settings, output, words, wish, routing=routing,
        watch=watch, scoring=_scoring(flags, None), notes=notes,
    )  # fmt: skip
    return report, output / BEST_FOLDER, output


def _best_of_existing(
    place: Path,
    output: Path | None,
    words: Sequence[str],
    wish: BestSettings,
    flags: dict[str, Any],
    watch: StepCallback,
) -> tuple[BestReport, Path, Path]:
    from salon.judge import open_pictures
    from salon.select import BEST_FOLDER, best_of_pictures, best_of_study, scores_beside
    from salon.store import is_study, local_path

    scoring = _scoring(flags, flags["limit"])
    if is_study(local_path(place)):
        if flags["prompt"] or flags["prompts"]:
            raise InputError("--prompt and --prompts go with pictures", found="a study", where=str(place))
        report = best_of_study(place, words, wish, scoring=scoring, watch=watch)
        return report, output or place / BEST_FOLDER, place
    source = open_pictures(place, prompt=flags["prompt"], prompts=flags["prompts"])
    scores = scores_beside(place, output)
    report = best_of_pictures(source, scores, words, wish, place=str(place), scoring=scoring, watch=watch)
    beside = place / BEST_FOLDER if place.is_dir() else place.with_name(f"{place.stem}-{BEST_FOLDER}")
    return report, output or beside, Path()


def _prompt_label(pick: PromptPick) -> str:
    """Its id; the words themselves where the id was made from them."""
    from salon.generate import TYPED_PROMPT
    from salon.judge import text_prompt
    from salon.report import MISSING

    text = " ".join(pick.text.split())
    if text and pick.prompt in (TYPED_PROMPT, text_prompt(pick.text).id):
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return pick.prompt or MISSING


# -- reference ------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("-s", "--scorer", "names", multiple=True, metavar="NAME", help="As for salon score (repeatable).")
@click.option("--model", "models", multiple=True, type=click.Path(path_type=Path),
              help="Folder of a trained model: all its criteria but the flag (repeatable).")  # fmt: skip
@click.option("--criterion", "criteria", multiple=True, help="With --model: only this criterion (repeatable).")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False),
              help="File to write: .json.")  # fmt: skip
@click.option("--name", help="What the set of items is called  [default: the study's name]")
@click.option("--limit", type=click.IntRange(1), help="Only the first items of the study.")
@click.option("--device", help="Of networks: cpu, cuda, mps  [default: the best there is]")
@click.option("--batch", type=click.IntRange(1, 4096), default=8, show_default=True, help="Pictures scored together.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@json_option
def reference(
    study: Path,
    names: Sequence[str],
    models: Sequence[Path],
    criteria: Sequence[str],
    output: Path,
    name: str | None,
    limit: int | None,
    device: str | None,
    batch: int,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Freeze mean and standard deviation of scores over the items of STUDY.

    Criteria on different scales are weighed in standard deviations of a stated set of items: this one. The file holds
    the numbers, the study's hash and the signature of every scorer. It is used as long as the scorers are the same,
    and refused for others. Items without a score are left out of mean and deviation, and counted.

    \b
      salon select reference study --model taste-heads -o reference.json
      salon select reference study --model taste-heads --criterion taste/mood -s words -o reference.json
    """
    from salon.judge import ScoreSettings
    from salon.select import list_scorers, reference_from_scores, study_scores, write_sealed
    from salon.store import local_path, open_study

    if output.exists() and not overwrite:
        raise BadFile(
            "a frozen file is only replaced when asked to", found="one that is there", where=str(output),
            remedy="--overwrite, or another name",
        )  # fmt: skip
    if not output.absolute().parent.is_dir():
        raise BadFile("the folder of the output must be there", found="none", where=str(output.absolute().parent))
    words = list_scorers(names, models, criteria)
    opened = open_study(study)
    with staged_progress_bar("reference", quiet=as_json) as watch:
        settings = ScoreSettings(device=device, batch=batch, limit=limit)
        table = study_scores(opened, local_path(study), words, settings, watch)
    score_reference = reference_from_scores(table, name or opened.name)
    write_sealed(score_reference, output, overwrite=overwrite)
    if as_json:
        print_json({"file": str(output), "hash": score_reference.hash, **score_reference.model_dump(mode="json")})
    else:
        if opened.simulated:
            say("SIMULATED: nobody judged these items; means and deviations are of scores all the same.")
        rows = [
            (level.criterion, f"{level.mean:.4g}", f"{level.sd:.4g}", level.n, level.missing)
            for level in score_reference.levels
        ]
        print_table(f"scores on {score_reference.name}", ("criterion", "mean", "sd", "items", "without"), rows)
        say("missing: items without a score enter neither mean nor deviation", dim=True)
        say(f"wrote {output}, hash {score_reference.hash}")
