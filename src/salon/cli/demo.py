"""The demo: all eight stages from one command, offline. `salon demo` runs it.

Four built-in generators draw the same briefs. Simulated designers answer in a studio and rank the posters. Simulated
judges answer about the same pairs. Simulated experts compare and rate the same paintings. A model learns what the
designers prefer, and a leaderboard is measured with it. Last, the model and OCR pick the best of several new drawings.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import click

from salon.check import CheckReport, check_page, check_study
from salon.cli.demo_board import DemoBoard, make_board
from salon.collect import designers_study, ppaint_like_study
from salon.errors import BadFile, MissingExtra
from salon.evaluate import Evaluation, page_with_pictures, report_judges
from salon.fuse import FuseReport, FuseSettings, fuse_page, fuse_study
from salon.generate import (
    GenerateReport,
    GenerateSettings,
    generate_items,
    house_generator,
    read_prompts,
    write_gallery,
)
from salon.judge import JudgeSettings, SimulatedVlm, judge_study, panel_truth
from salon.report import estimate, with_interval
from salon.stats import Estimate
from salon.store import open_study, save_study, write_plain
from salon.study import Prompt, Study

if TYPE_CHECKING:
    from salon.cli.demo_board import DemoPicks

PRINTED_CRITERION = "ppaint/overall"
"""The criterion whose best items are printed."""
GENERATORS = ("atelier", "carnival", "ledger", "mirage")
EVERY = 10
"""Every tenth of the built-in briefs is drawn: 24 over all categories."""
JUDGES = {
    "sharp": {"accuracy": 0.85, "position_bias": 0.1},
    "leaning": {"accuracy": 0.85, "position_bias": 0.5},
}
"""Simulated judges: how often they are right when they look, and how often they name the first picture instead."""
FILES = {
    "gallery.html": "the posters: 24 briefs by four built-in generators",
    "check.html": "is there signal in the designers' answers?",
    "generators.html": "a score with its interval for every generator",
    "judges.html": "what two judges of known worth turn out to be worth",
    "paintings-check.html": "comparing against rating, by the same experts",
    "fuse.html": "a score with its interval for every painting; as a table: scores.csv",
    "board-site/index.html": "the leaderboard: six entries, every picture and answer",
    "best/best/index.html": "the best of six drawings of each brief, and why",
}


def draw_posters(folder: Path, prompts: Sequence[Prompt]) -> GenerateReport:
    """The prompts drawn by four built-in generators, with their gallery: `folder`/posters and `folder`/gallery.html."""
    generators = [house_generator(name) for name in GENERATORS]
    report = generate_items(prompts, generators, GenerateSettings(), folder / "posters")
    write_gallery(folder / "posters", folder / "gallery.html")
    return report


def judge_posters(folder: Path) -> tuple[CheckReport, FuseReport]:
    """Simulated designers rank the posters in `folder`/posters; checked and fused by generator, with pages and JSON."""
    study = designers_study(folder / "posters")
    save_study(study, folder / "posters", overwrite=True)
    fused = fuse_study(study, FuseSettings(by="generator"))
    (folder / "generators.json").write_text(fused.model_dump_json(indent=2), encoding="utf-8")
    fuse_page(fused).write(folder / "generators.html")
    return _check_and_write(study, folder / "check.html"), fused


def ask_judges(folder: Path) -> Evaluation:
    """Two simulated judges on the pairs that the designers ranked; what the report finds of what was planted."""
    study, posters = open_study(folder / "posters"), folder / "posters"
    for seed, (name, rates) in enumerate(JUDGES.items()):  # of one seed they would make the same mistakes
        judge = SimulatedVlm(name, panel_truth(study), seed=seed, **rates)
        judge_study(study, posters, judge, JudgeSettings(), looks=False)
    report = report_judges(study, posters, check=False)
    (folder / "judges.json").write_text(report.model_dump_json(indent=2), encoding="utf-8")
    page_with_pictures(report, study, posters).write(folder / "judges.html")
    return report


def fuse_paintings(folder: Path, study: Study | None = None) -> tuple[CheckReport, FuseReport]:
    """The experts' study (or `study` in its place), checked and fused, with pages, JSON and a table of scores."""
    study = study or ppaint_like_study()
    save_study(study, folder / "paintings", overwrite=True)
    checked = _check_and_write(study, folder / "paintings-check.html")
    fused = fuse_study(study, compare=True)
    (folder / "fuse.json").write_text(fused.model_dump_json(indent=2), encoding="utf-8")
    fuse_page(fused).write(folder / "fuse.html")
    write_plain(fused.table(), folder / "scores.csv", overwrite=True)
    return checked, fused


def _check_and_write(study: Study, page: Path) -> CheckReport:
    report = check_study(study)
    page.with_suffix(".json").write_text(report.model_dump_json(indent=2), encoding="utf-8")
    check_page(report).write(page)
    return report


def run(folder: Path) -> None:
    """The whole demo, told on the terminal; its pages and files in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    prompts = read_prompts("briefs")[::EVERY]
    words = f"Simulated raters: no person gave these answers. Four built-in generators draw {len(prompts)} briefs ... "
    click.echo(words, nl=False)
    report = draw_posters(folder, prompts)
    click.echo(f"{report.made + report.reused} posters")
    with ProcessPoolExecutor(1, get_context("spawn")) as beside:  # the experts need nothing of what comes before them
        _print_stages(folder, beside.submit(fuse_paintings, folder))
    _print_question("Open:")
    there = {folder / name: about for name, about in FILES.items() if (folder / name).exists()}
    width = max(len(str(place)) for place in there)
    for place, about in there.items():
        click.echo(f"  {place!s:<{width}}  {about}")


def _print_stages(folder: Path, paintings: Future[tuple[CheckReport, FuseReport]]) -> None:
    """The stages after drawing, one after the other."""
    _print_question("Three designers answer in the studio, one question at a time ...")
    _print_studio(folder)
    _print_question("Five designers rank the posters. Do they share a taste? ...")
    _print_posters(*judge_posters(folder))
    _print_question("Two judges are asked about the same pairs, in both orders. How reliable are they? ...")
    report = ask_judges(folder)
    for judge in report.judges:
        pooled, planted = judge.pooled, JUDGES[judge.name]
        click.echo(
            f"  {judge.name:<10} accuracy {_share(pooled.accuracy)}, "
            f"follows the position {_share(pooled.position_bias)} (planted {planted['position_bias']:.0%})"
        )
    _print_question("Experts compare and rate the same paintings. Which score has each? ...")
    _print_paintings(*paintings.result())
    _print_question("A model learns what the designers prefer, and a board is measured with it. Who leads? ...")
    _print_board(folder)
    _print_question("The model and OCR pick the best of six new drawings of each brief. Are the picks better? ...")
    _print_picks(folder)


def _print_question(question: str) -> None:
    """What comes next; bold, so that it needs no empty line."""
    click.secho(question, bold=True)


def _print_studio(folder: Path) -> None:
    """What was collected; or what is not installed."""
    try:
        from salon.cli import demo_studio as studio  # a database, for who has one
    except ImportError:
        click.echo(f"  no studio: {MissingExtra('serve').remedy}")
        return
    answers = studio.collect_answers(folder)
    click.echo(
        f"  {answers.answers} answers, each saved before the next; {_share(answers.right)} name the better poster"
    )
    click.echo(f"  be one of them: salon serve {folder / 'studio'}")


def _print_posters(checked: CheckReport, fused: FuseReport) -> None:
    for criterion in checked.criteria:
        rows = [row for row in fused.scores if row.criterion == criterion.criterion]
        if rows:  # flags do not rank generators
            best = min(rows, key=lambda row: row.rank)
            click.echo(f"  {criterion.name:<26} {criterion.answer:<36} best generator: {best.generator}")


def _share(figure: Estimate | None) -> str:
    if figure is None:
        return "not known"
    has_interval = figure.low is not None and figure.high is not None
    return f"{figure.value:.0%}" + (f" [{figure.low:.0%}, {figure.high:.0%}]" if has_interval else "")


def _print_paintings(checked: CheckReport, fused: FuseReport) -> None:
    """How far two experts agree, and the best painting."""
    assert checked.protocols_together is not None  # the paintings are compared and rated
    agreement = next(row for row in checked.protocols_together.rows if row.name == "two raters' Spearman")
    click.echo(
        f"  two experts agree (Spearman): comparing {with_interval(agreement.comparisons, 2)}, "
        f"rating {with_interval(agreement.ratings, 2)}"
    )
    best = max((row for row in fused.scores if row.criterion == PRINTED_CRITERION), key=lambda row: row.value)
    score = estimate(best.value, best.low, best.high, 2)
    click.echo(
        f"  {len(fused.scores)} scores by {fused.method}; the best overall: {best.item}, {score}, "
        f"rank {best.rank_low}-{best.rank_high}"
    )


def _print_board(folder: Path) -> None:
    """Every entry's axes and rank, and what EPS rests on; or what is not installed."""
    try:
        board = make_board(folder)
    except MissingExtra as error:
        click.echo(f"  no board: {error.needed} ({error.remedy})")
        return
    for line in board_lines(board):
        click.echo(f"  {line}")


def _print_picks(folder: Path) -> None:
    """True quality of the picks; or what is not installed."""
    try:
        from salon.cli.demo_board import pick_best

        picks = pick_best(folder)
    except (MissingExtra, BadFile) as error:
        click.echo(f"  no picks: {error.needed} ({error.remedy})")
        return
    click.echo(
        f"  true quality of {picks.prompts} picks {picks.picks:.2f}, of all drawn {picks.everything:.2f}: "
        f"gain {with_interval(picks.gain, 2)}; {_misspelling_words(picks)}"
    )


def _misspelling_words(picks: DemoPicks) -> str:
    """How many picks are misspelled; where some are, why."""
    counts = (
        f"misspelled {picks.misspelled} of {picks.prompts}, of all {picks.candidates_misspelled} of {picks.candidates}"
    )
    if picks.unread:
        return f"{counts}: nothing was read"
    return counts + (": looks count too" if picks.misspelled else "")


def board_lines(board: DemoBoard) -> list[str]:
    """A small table, best entry first, and a line on EPS."""
    results = {result.entry: result for result in board.results}
    rows: list[tuple[str, ...]] = [("entry", "Capability", "EPS", "Overall", "rank")]
    for place in board.standings.places:
        result = results[place.entry]
        axes = (result.capability, *result.eps.values(), result.overall)
        cells = [with_interval(axis.figure, 1) if axis else "" for axis in axes]
        ranks = f"{place.low}-{place.high}" if place.low < place.high else f"{place.rank}"
        rows.append((place.entry, *(cells + [""] * 3)[:3], ranks))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    if board.missing:
        return [*lines, f"no EPS: {board.missing}"]
    return [*lines, f"EPS: a model trained just now on simulated designers; validation {_validation_words(board)}"]


def _validation_words(board: DemoBoard) -> str:
    """How often the model is right on validation pairs, and how often one more designer would be."""
    figures = board.validation
    if figures is None:
        return "not known"
    return _share(figures.accuracy) + (f", a designer {_share(figures.ceiling)}" if figures.ceiling else "")
