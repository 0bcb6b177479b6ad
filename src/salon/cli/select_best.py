"""The command that picks the best of several pictures of each prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from salon.cli.console import json_option, print_json, print_table, say, watching
from salon.cli.options import options_from, settings_from
from salon.errors import InputError
from salon.generate.asked import TYPED, asked_prompts
from salon.generate.named import Terms, generators_named
from salon.generate.settings import GenerateSettings
from salon.judge.picture_source import open_pictures, text_prompt
from salon.judge.score import ScoreSettings
from salon.report.numbers import MISSING, fixed
from salon.select.best import BestReport, PromptPick
from salon.select.best_of import (
    FOLDER,
    Wish,
    best_of_drawn,
    best_of_pictures,
    best_of_study,
    picks_table,
    scores_beside,
    write_best,
)
from salon.select.pick import PickSettings
from salon.select.reference import read_reference
from salon.select.route import Explore
from salon.select.route_use import routed
from salon.select.scores import Watch, scorer_words
from salon.store.folder import is_study, local
from salon.store.plain_table import plain_target, write_plain

_SHOWN = 20
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
    as_json: bool,
    **flags: Any,
) -> None:
    """Choose the best picture of every prompt: of a STUDY, of a folder of IMAGES, or of N drawn for PROMPTS.

    The best has the highest weighted mean of its criteria, less k standard deviations where scorers state one. Items
    that cannot be told from it are declared tied; below --least nothing is chosen. A picture without a score is never
    chosen, one that was not made is not chosen from; both are counted. The record has a page with all of them.

    Exit code 0 when something was chosen for every prompt, 1 when not.

    \b
      salon select best study --model taste-heads -w typography=3,mood=1
      salon select best renders/ -s words --prompt 'a poster that says "Jazz at the Harbour"'
      salon select best briefs:posters -g atelier -n 8 -s words -o drawn --limit 4 --size 512x724
      salon select best prompts.txt --route routes.json -n 4 --model taste-heads --least 0.5 -o drawn
    """
    if table is not None:
        plain_target(table, overwrite=True)
    words = scorer_words(names, models, criteria)
    wish = _wish(flags)
    with watching("select", quiet=as_json) as watch:
        if drawing or route:
            report, out, pictures = _drawn(place, drawing, route, output, words, wish, flags, watch)
        else:
            report, out, pictures = _found(Path(place), output, words, wish, flags, watch)
    page = write_best(report, out, pictures)
    if table is not None:
        write_plain(picks_table(report), table, overwrite=True)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report, page)
    if report.chosen < report.prompts:
        click.get_current_context().exit(1)


def _wish(flags: dict[str, Any]) -> Wish:
    reference = None if flags["reference"] is None else read_reference(flags["reference"])
    return Wish(
        weights=flags["weights"], reference=reference, equal_scales=flags["equal_scales"],
        pick=settings_from(PickSettings, flags),
    )  # fmt: skip


def _scoring(flags: dict[str, Any], limit: int | None) -> ScoreSettings:
    return ScoreSettings(device=flags["device"], batch=flags["batch"], limit=limit)


def _drawn(
    place: str,
    drawing: Sequence[str],
    route: Path | None,
    output: Path | None,
    words: Sequence[str],
    wish: Wish,
    flags: dict[str, Any],
    watch: Watch,
) -> tuple[BestReport, Path, Path]:
    if output is None:
        raise InputError("-o FOLDER is needed for pictures that are drawn", found="none")
    if flags["explore"] != "no" and route is None:
        raise InputError("--explore goes with --route", found="no routes")
    if drawing and route:
        raise InputError("-g or --route says who draws", found="both of them")
    asked = asked_prompts(place, flags["limit"])
    wanted = {"seeds": flags["count"], "seed": flags["seed"], "size": flags["size"]}
    settings = GenerateSettings.parse(wanted, where="options")
    terms = Terms(output.resolve().with_name(f"{output.resolve().name}.calls.sqlite"))
    routing, notes = (
        (None, ()) if route is None else routed(route, asked, wish.weights, flags["seed"], flags["explore"])
    )
    chosen = list(drawing) if routing is None else list(dict.fromkeys(one.generator for one in routing.values()))
    report = best_of_drawn(
        asked, generators_named(chosen, asked, terms), settings, output, words, wish, routing=routing, watch=watch,
        scoring=_scoring(flags, None), notes=notes,
    )  # fmt: skip
    return report, output / FOLDER, output


def _found(
    place: Path, output: Path | None, words: Sequence[str], wish: Wish, flags: dict[str, Any], watch: Watch
) -> tuple[BestReport, Path, Path]:
    scoring = _scoring(flags, flags["limit"])
    if is_study(local(place)):
        if flags["prompt"] or flags["prompts"]:
            raise InputError("--prompt and --prompts go with pictures", found="a study", where=str(place))
        report = best_of_study(place, words, wish, scoring=scoring, watch=watch)
        return report, output or place / FOLDER, place
    source = open_pictures(place, prompt=flags["prompt"], prompts=flags["prompts"])
    scores = scores_beside(place, output)
    report = best_of_pictures(source, scores, words, wish, place=str(place), scoring=scoring, watch=watch)
    beside = place / FOLDER if place.is_dir() else place.with_name(f"{place.stem}-{FOLDER}")
    return report, output or beside, Path()


def _print(report: BestReport, page: Path) -> None:
    say(f"{report.chosen:,} of {report.prompts:,} prompts have a best of {report.items:,} items", bold=True)
    for outcome, count in report.outcomes.items():
        if outcome not in ("best", "only"):
            say(f"- {outcome}: {count:,}")
    say(f"- chosen, and not told from another: {report.tied:,}")
    for reason, count in report.reasons.items():
        say(f"- {count:,} scores missing: {reason}")
    for kind, count in report.not_made.items():
        say(f"- {count:,} of {report.wanted:,} pictures not made: {kind}")
    rows = [
        (_prompt(one), str(row["chosen"] or row["outcome"]), fixed(row["total"]), fixed(row["sd"]),
         fixed(row["bound"]), fixed(row["margin"]), f"{row['tied']}", f"{row['items']}")
        for one, row in zip(report.picks[:_SHOWN], report.rows())
    ]  # fmt: skip
    print_table(None, ("prompt", "chosen", "total", "sd", "bound", "margin", "tied", "of"), rows, left=(0, 1))
    if len(report.picks) > _SHOWN:
        say(f"... and {len(report.picks) - _SHOWN:,} more in {page.parent}")
    weights = ", ".join(f"{id} {share:.3g}" for id, share in report.weights.items() if share > 0)
    say(f"weights: {weights}; total in {report.scale}", dim=True)
    for words in (*report.policies, *report.notes):
        say(f"- {words}", dim=True)
    say(str(report.signature), dim=True)
    say(f"wrote {page}")


def _prompt(one: PromptPick) -> str:
    """Its id; the words themselves where the id was made from them."""
    told = " ".join(one.text.split())
    if told and one.prompt in (TYPED, text_prompt(one.text).id):
        return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…"
    return one.prompt or MISSING
