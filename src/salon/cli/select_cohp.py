"""The command that runs a chain: who draws, then which picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import figures_option, json_option, print_json, print_table, say, watching, write_page
from salon.cli.options import options_from, settings_from
from salon.collect.simulate.true_scorer import TRUTH, TrueQuality
from salon.generate.asked import asked_prompts
from salon.generate.named import Terms, generators_named
from salon.judge.score import ScoreSettings
from salon.report.numbers import with_interval
from salon.select.best_of import Wish
from salon.select.cohp import CohpSettings
from salon.select.cohp_page import cohp_page
from salon.select.cohp_results import CohpReport
from salon.select.cohp_run import FOLDER, chain_study
from salon.select.reference import read_reference
from salon.select.scores import scorer_words

PAGE = "index.html"


@click.command()
@click.argument("prompts")
@click.option("-g", "--generator", "drawing", multiple=True, required=True, metavar="NAME",
              help="As for salon generate (repeatable).")  # fmt: skip
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, file_okay=False),
              help="Study folder: a new one, or that of the same chain.")  # fmt: skip
@click.option("-s", "--scorer", "names", multiple=True, metavar="NAME",
              help=f"Who decides, as for salon score; {TRUTH} reads how a house drew (repeatable).")  # fmt: skip
@click.option("--model", "models", multiple=True, type=click.Path(path_type=Path),
              help="Folder of a trained model: all its criteria but the flag (repeatable).")  # fmt: skip
@click.option("--criterion", "criteria", multiple=True, help="With --model: only this criterion (repeatable).")
@click.option("-w", "--weights", help="Criterion weights: typography=3,mood=1; *=1 for all others  [default: alike]")
@click.option("--reference", type=click.Path(path_type=Path, dir_okay=False),
              help="Frozen reference that brings criteria to one scale (salon select reference).")  # fmt: skip
@click.option("--equal-scales", is_flag=True, help="Declare that all scores are on one scale.")
@options_from(CohpSettings)
@click.option("--limit", type=click.IntRange(1), help="Only this many prompts; categories take turns.")
@click.option("--device", help="Of networks: cpu, cuda, mps  [default: the best there is]")
@click.option("--score-batch", type=click.IntRange(1, 4096), default=8, show_default=True,
              help="Pictures scored together.")  # fmt: skip
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Prices of hosted generators, TOML.")
@click.option("--budget", type=click.FloatRange(0), help="The most that hosted generators may spend in this run.")
@figures_option
@json_option
def cohp(
    prompts: str,
    drawing: Sequence[str],
    output: Path,
    names: Sequence[str],
    models: Sequence[Path],
    criteria: Sequence[str],
    weights: str | None,
    reference: Path | None,
    equal_scales: bool,
    limit: int | None,
    device: str | None,
    score_batch: int,
    prices: Path | None,
    budget: float | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Chain of human preference: scores choose who draws PROMPTS, then draw on from the best picture, round by round.

    Stage 1: every generator draws every prompt, and the one with the highest mean score goes on. Stage 2: its best
    picture, with noise, is what the next round starts from. The answer is the best of everything seen. Generators must
    be able to start from a picture (houses, diffusers, HTTP templates with a picture); --unable redraw takes others.

    The study keeps all pictures, cohp/decisions.jsonl every decision, cohp/index.html the filmstrips. The same command
    goes on after an interruption, and with more --rounds. Exit code 0 when every prompt has an answer, 1 when
    some wait or have none.

    \b
      salon select cohp briefs:posters -g atelier -g carnival -g ledger -g mirage -s words -o chain --limit 4
      salon select cohp prompts.txt -g diffusers:./sdxl -g diffusers:./kolors --model taste-heads -o chain
      salon select cohp prompts.txt -g mirage -s words -o chain --variant released
    """
    settings = settings_from(CohpSettings, flags)
    asked = asked_prompts(prompts, limit)
    terms = Terms(output.resolve().with_name(f"{output.resolve().name}.calls.sqlite"), prices, budget)
    oracle = [TrueQuality()] if TRUTH in names else []
    others = [name for name in names if name != TRUTH]
    words = [] if oracle and not others and not models else scorer_words(others, models, criteria)
    frozen = None if reference is None else read_reference(reference)
    wish = Wish(weights=weights, reference=frozen, equal_scales=equal_scales)
    with watching("cohp", quiet=as_json) as watch:
        report = chain_study(
            asked, generators_named(drawing, asked, terms), settings, output, words, wish, scorers=oracle,
            scoring=ScoreSettings(device=device, batch=score_batch),
            watch=watch,
        )  # fmt: skip
    page = output / FOLDER / PAGE
    write_page(lambda: cohp_page(report, output), page, figures)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report, page)
    if not report.is_complete or any(chain.answer is None or chain.answer.item is None for chain in report.chains):
        click.get_current_context().exit(1)


def _print(report: CohpReport, page: Path) -> None:
    done = sum(chain.answer is not None and chain.answer.item is not None for chain in report.chains)
    say(f"{done:,} of {report.prompts:,} prompts have an answer, the best of {report.asked:,} pictures", bold=True)
    for kind, count in report.failed.items():
        say(f"- {count:,} pictures not made: {kind}")
    if report.unscored:
        say(f"- {report.unscored:,} pictures without a score")
    for what, count in report.waiting.items():
        say(f"- {count:,} prompts wait for {what}: the same command goes on", fg="yellow")
    rows = [
        (
            "stage 1" if not level.round else f"round {level.round}",
            with_interval(level.best),
            with_interval(level.so_far),
            with_interval(level.true_so_far),
            f"{report.answers.get(level.round, 0):,}",
            f"{level.missing:,}",
        )
        for level in report.levels
    ]
    print_table(None, ("", "best of the round", "best so far", "true quality so far", "answers", "missing"), rows)
    chosen = [(name, f"{report.chosen.get(name, 0):,}") for name in report.generators]
    print_table(None, ("generator", "chosen for prompts"), chosen)
    say(f"for {report.not_apart:,} prompts the chosen generator cannot be told from another")
    for name, gain in (("score", report.gain), ("true quality", report.true_gain)):
        if gain is not None:
            say(f"answer less the best of stage 1, {name}: {with_interval(gain)}")
    for words in (*report.policies, *report.notes):
        say(f"- {words}", dim=True)
    say(report.signature, dim=True)
    say(f"wrote {page}")
