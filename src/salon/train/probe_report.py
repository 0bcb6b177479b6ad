"""Probes of a scorer over items it was not trained on, and their page, with one item shown under every alteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup

from salon.errors import BadFile
from salon.evaluate import load_guard
from salon.judge import ScoreSettings, expand_model, make_scorer, model_folder
from salon.models import read_card
from salon.report import (
    SIMULATED,
    Badge,
    Card,
    Chart,
    FilmFrame,
    Filmstrip,
    Page,
    Section,
    Table,
    VerdictLine,
    Verdicts,
    brief,
    charts,
    columns_of,
    count_noun,
    estimate_value,
    join_names,
    level_words,
    located,
    one_way,
)
from salon.report.words import fixed
from salon.store import content_hash, data_url, read_picture
from salon.study import Study
from salon.train.probe_settings import ProbeSettings
from salon.train.probes import SIZES, TRICKS, ProbeReport, ProbeRow, Trick, probe_scorer


def probe_study(
    study: Study,
    folder: Path,
    place: str,
    settings: ProbeSettings,
    scoring: ScoreSettings,
    *,
    criteria: Sequence[str] = (),
    step: Callable[[str], None] | None = None,
) -> list[ProbeReport]:
    """One report for each scorer that `place` stands for."""
    leave_out = training_items(study, folder, place)
    return [
        probe_scorer(study, folder, make_scorer(name, scoring), settings, leave_out=leave_out, step=step)
        for name in expand_model(place, criteria)
    ]


def training_items(study: Study, folder: Path, place: str) -> frozenset[str]:
    """Items whose pictures the model behind `place` was trained on, by its leak guard; none for other scorers."""
    model = model_folder(place)
    guard = None if model is None else read_card(model).guard
    hashes = {key.sha256 for key in load_guard(model, guard).pictures} if model and guard else set()
    pictures = {item.id: folder / item.image for item in study.nouns("items") if item.image}
    return frozenset(id for id, path in pictures.items() if path.is_file() and content_hash(path) in hashes)


def example_item(study: Study, folder: Path, leave_out: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """The first item with a picture, under every alteration; nothing where there is none."""
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    for item in study.nouns("items"):
        if item.image is not None and item.id not in leave_out:
            prompt = prompts.get(item.prompt or "")
            try:
                return altered_example(folder / item.image, prompt.view() if prompt else "")
            except BadFile:
                continue
    return []


# -- the page ----------------------------------------------------------------------------------------------------------

_BADGES = {
    "raises": Badge("raises the score", "alert"),
    "does not raise": Badge("does not raise it", "clear"),
    "open": Badge("open", "open"),
    "noticed": Badge("noticed", "clear"),
    "not noticed": Badge("not noticed", "alert"),
}
_SIDE = 320
"""Pixels of a picture on the page."""


def probe_page(report: ProbeReport, examples: Sequence[tuple[str, str]] = ()) -> Page:
    """The report as one page; `examples` are the captions and data URLs of one item under the alterations."""
    here = located(report)
    rows = {(row.trick, row.strength): row for row in here.rows}
    sentence = Markup("{}: scores move by {} spreads; the share of items that rise is {}.").format
    verdicts = []
    for verdict in here.verdicts:
        row = rows[verdict.trick, verdict.strength]
        change, risen = estimate_value(row.change, None, 2), estimate_value(row.risen, None, 2)
        words = sentence(row.words[:1].upper() + row.words[1:], change, risen)
        verdicts.append(VerdictLine(verdict.trick, _BADGES[verdict.outcome], words))
    note = "Each alteration in plain words. Nobody was asked whether the altered pictures look better."
    verdict_section = Section("Verdicts", [Verdicts(verdicts)], note)
    captions = {"trick": "Tricks: right of the line is rewarded.", "control": "Controls: left of the line is noticed."}
    figures = [Chart(_drawing(here, kind), captions[kind]) for kind in ("trick", "control")]
    figure_section = Section(
        "Alterations", [*figures, probe_table(here)], f"Mean change of the score, weakest first. {SIZES}"
    )
    sections = [verdict_section, figure_section]
    if examples:
        frames = [FilmFrame(title=words, picture=url, alt=words) for words, url in examples]
        strip = Filmstrip(frames, size="small")
        sections.append(Section("What was done", [strip], "One item under the strongest alterations."))
    raised = len(report.raised)
    return Page(
        title="Can this scorer be gamed?",
        tab=f"Probes: {brief(report.scorer)}",
        subtitle=Markup("{} on {} of {}, altered.").format(
            brief(report.scorer), count_noun(here.items, "item"), count_noun(here.prompts, "prompt")
        ),
        kicker=f"Salon train probe · {brief(report.study)}",
        banner=SIMULATED if report.simulated else "",
        cards=_cards(here, raised),
        sections=sections,
        notes=[
            Markup("Intervals in brackets: whole prompts drawn again; those of one alteration hold together at {}.")
            .format(level_words(here)),
            Markup("Missing values: {}.").format(report.missing),
            *(Markup("Items not used: {} {}.").format(fixed(count, 0), why) for why, count in report.left_out.items()),
        ],
        signature=one_way(str(report.signature)),
    )  # fmt: skip


def altered_example(path: Path, text: str, *, seed: int = 0, tricks: Sequence[Trick] = TRICKS) -> list[tuple[str, str]]:
    """One picture as it is and under every alteration at its strongest: captions and data URLs."""
    image = read_picture(path).image
    altered = [
        (trick.words(trick.strengths[-1]), trick.alter(image, trick.strengths[-1], text, np.random.default_rng(seed)))
        for trick in tricks
    ]
    return [(caption, data_url(picture, _SIDE)) for caption, picture in [("as it is", image), *altered]]


# -- sections ----------------------------------------------------------------------------------------------------------


def probe_table(report: ProbeReport) -> Table:
    """Every alteration at every strength."""
    columns = columns_of(ProbeRow, "words", "change", "risen", "overturned", "items", "missing")
    return Table(columns, report.rows, caption="Every alteration at every strength", key="rows")


def _cards(report: ProbeReport, raised: int) -> list[Card]:
    tricks = [verdict for verdict in report.verdicts if verdict.kind == "trick"]
    controls = [verdict for verdict in report.verdicts if verdict.kind == "control"]
    noticed = sum(verdict.outcome == "noticed" for verdict in controls)
    words = Markup("{} of {}").format
    return [
        Card("Tricks that raise the score", words(fixed(raised, 0), fixed(len(tricks), 0)),
             join_names(report.raised) if raised else "none does", "alert" if raised else "clear"),
        Card("Controls noticed", words(fixed(noticed, 0), fixed(len(controls), 0)),
             "damage that lowers the score", "clear" if noticed == len(controls) else "alert"),
        Card("Spread of a prompt", fixed(report.spread), "standard deviation of the scores, the unit of change"),
    ]  # fmt: skip


def _drawing(report: ProbeReport, kind: str) -> str:
    lines = [("margin", report.margin)] if kind == "trick" else []
    rows = [row for row in report.rows if row.kind == kind]
    dots = [(row.words, row.change.value, row.change.low, row.change.high, row.kind) for row in rows]
    return charts.dot_intervals(
        dots, 0.0, lines, title=f"Mean change of the score under each {kind}",
        x_label="mean change, in spreads of a prompt", null_label="unchanged", sort=False,
    )  # fmt: skip
