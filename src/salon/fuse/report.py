"""The HTML report of a fusion, composed from its FuseReport alone: it prints numbers and computes none.

Every number of the page carries its path in the JSON of `salon fuse --json`, so that
`salon.report.disagreements(page.html(), report.model_dump(mode="json"))` is empty. Counts of what is listed, and the
median width of the intervals, are in no JSON and claim no path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low

from markupsafe import Markup

from salon.fuse.report_boards import Board, Names, boards_of, item_of, scale_words
from salon.fuse.report_calibration import calibration_section
from salon.fuse.report_fit import data_section, graph_section, residual_section
from salon.fuse.report_methods import method_section
from salon.fuse.report_scores import alike_section, score_section
from salon.fuse.results import FuseReport
from salon.report import Card, Page, located, numbers, value
from salon.report.words import SIMULATED, brief, counted, fixed, level_words, one_way

CLUSTERS = {
    "answer": "answers of the same raters",
    "rater": "raters",
    "prompt": "prompts",
    "both": "raters and prompts",
}


def fuse_page(report: FuseReport, prompts: Mapping[str, str] | None = None) -> Page:
    """The whole report as one self-contained page.

    `prompts`: the text of each prompt by its id, where a group is a prompt.
    """
    here = located(report)
    names = Names.of(here, prompts)
    boards = boards_of(here, names)
    sections = [
        score_section(here, names, boards),
        alike_section(names, boards),
        calibration_section(here, names),
        graph_section(here, names),
        method_section(here, names),
        residual_section(here, names),
        data_section(here, names),
    ]
    return Page(
        title=f"How good is each {report.by}?",
        tab=f"Scores: {brief(report.study)}",
        subtitle=_subtitle(here, names),
        kicker=f"Salon fuse · {brief(report.study)}" + (" · simulated" if report.simulated else ""),
        banner=SIMULATED if report.simulated else "",
        cards=_cards(here, names, boards),
        sections=[section for section in sections if section is not None],
        notes=_notes(here),
        signature=one_way(report.signature_line),
    )


def _subtitle(report: FuseReport, names: Names) -> Markup:
    scored = counted(len(names.items), report.by)
    criteria = counted(len(names.criteria), "criterion", "criteria")
    return Markup("{}: {} under {}, by {}.").format(brief(report.study), scored, criteria, report.method)


def _cards(report: FuseReport, names: Names, boards: Sequence[Board]) -> list[Card]:
    drawn_anew = CLUSTERS.get(report.cluster, report.cluster)
    scale = Markup("on the scale {}; intervals as if other {} were drawn").format(scale_words(report), drawn_anew)
    return [Card("Method", report.method, scale), _size_card(report, names, boards), _winner_card(boards, names),
            _width_card(report)]  # fmt: skip


def _size_card(report: FuseReport, names: Names, boards: Sequence[Board]) -> Card:
    """Items by criteria where each item has every criterion; else the number of scores."""
    groups, scores = counted(len(boards), "group"), len(report.scores)
    items, criteria = len(names.items), len(names.criteria)
    if scores == items * criteria:
        size = Markup("{} × {}").format(fixed(items, 0), fixed(criteria, 0))
        return Card(f"{report.by.capitalize()}s × criteria", size, counted(scores, "score") + " in " + groups)
    told = counted(criteria, "criterion", "criteria") + ", " + groups
    return Card("Scores", fixed(scores, 0), told)


def _winner_card(boards: Sequence[Board], names: Names) -> Card:
    """One board: its winner, if it has one alone. Several: in how many there is one."""
    sizes = [board.first_tier for board in boards]
    if not boards or None in sizes:
        return Card("Clear winner", "–", "no tiers without errors", "thin")
    clear = sizes.count(1)
    if len(boards) > 1:
        words = Markup("{} of {}").format(fixed(clear, 0), fixed(len(boards), 0))
        return Card("Groups with a clear winner", words, "one alone in its first tier", "clear" if clear else "open")
    if clear:
        return Card("Clear winner", names.item(item_of(boards[0].rows[0])), "alone in the first tier", "clear")
    note = Markup("{} of {} cannot be told from the best").format(fixed(sizes[0], 0), fixed(len(boards[0].rows), 0))
    return Card("Winner", "no clear winner", note, "open")


def _width_card(report: FuseReport) -> Card:
    widths = [row.high - row.low for row in report.scores if row.low is not None and row.high is not None]
    if not widths:
        return Card("Median width of the intervals", "–", "no error can be given", "thin")
    middle = median_low(widths)
    shown = value(middle, None, numbers.significant(middle, 2))
    note = Markup("{} intervals, on the scale {}").format(level_words(report), scale_words(report))
    missing = len(report.scores) - len(widths)
    return Card("Median width of the intervals", shown, note + _without(missing))


def _without(missing: int) -> Markup:
    return Markup("; {} without").format(counted(missing, "score")) if missing else Markup("")


def _notes(report: FuseReport) -> list[str]:
    told = [
        "Scores are always the fit itself, never the middle of a bootstrap.",
        "Each number of this page carries its path in the JSON of the same fusion.",
    ]
    if report.signature.seed is not None:
        told.append(Markup("Everything drawn by chance comes from seed {}.").format(fixed(report.signature.seed, 0)))
    return [*([SIMULATED] if report.simulated else []), Markup(" ").join(told)]
