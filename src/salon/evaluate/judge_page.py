"""The HTML of a judge report, composed from its JudgeReport alone: it prints numbers and computes none.

Every number of the page carries its path in the JSON of `salon judge report --json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from salon.evaluate.checklist_sections import tick_cards, tick_sections, tick_verdicts
from salon.evaluate.flags import flag_section
from salon.evaluate.judge_sections import (
    agreement_section,
    cost_section,
    criterion_section,
    number_section,
    panel_section,
    steady_section,
)
from salon.evaluate.page_parts import (
    CEILING_LINES,
    CHANCE,
    Dot,
    JudgeNames,
    bias_plot,
    ceiling_lines,
    every_judge,
    gallery_section,
    next_rater_card,
    standing,
    tick_gallery_section,
    two_orders,
    why_missing,
)
from salon.evaluate.results import JUDGE_KIND_WORDS, AccuracyFigures, JudgeFigures, JudgeReport
from salon.report import (
    Block,
    Card,
    Cell,
    Chart,
    Column,
    Note,
    Page,
    Section,
    Table,
    VerdictLine,
    Verdicts,
    charts,
    estimate_value,
    located,
)
from salon.report.words import SIMULATED, brief, count_noun, fixed, join_names, level_words, one_way, sentence

MOST_DRAWN = 40
WORDS = {
    "accuracy": "accuracy",
    "position_bias": "position bias b",
    "conditional": "conditional accuracy c",
    "tie_rate": "tie rate t",
    "unseen": "unread pairs u",
}


def judge_page(report: JudgeReport, pictures: Mapping[str, str] | None = None) -> Page:
    """The whole report as one self-contained page; `pictures` are data URLs by item, for the gallery."""
    here, names = located(report), JudgeNames.of(report)
    of_pairs = (_accuracy_section, _bias_section, criterion_section, panel_section) if report.judges else ()
    sections = [
        _verdict_section(here, names),
        *(section(here, names) for section in of_pairs),
        *tick_sections(here, names),
        flag_section(here, names),
        steady_section(here, names),
        number_section(here, names),
        agreement_section(here, names),
        cost_section(here, names),
        gallery_section(here, names, pictures or {}),
        tick_gallery_section(here, names, pictures or {}),
        _method_section(here),
    ]
    return Page(
        title="What are these judges worth?",
        tab=f"Judges: {brief(report.study)}",
        subtitle=_subtitle(here),
        kicker=f"Salon judge · {brief(report.study)}" + (" · simulated" if report.simulated else ""),
        banner=_banner(report),
        cards=_cards(here, names),
        sections=[section for section in sections if section is not None],
        notes=[
            Markup("Intervals in brackets are at the {} level, whole prompts drawn again.").format(level_words(here))
        ],
        signature=one_way(report.signature_line),
    )


def _banner(report: JudgeReport) -> str:
    """That people, or judges, were never asked."""
    judges = every_judge(report)
    made = sum(one.simulated for one in judges)
    which = "All of these judges are simulated." if made == len(judges) else "Some judges are simulated."
    return " ".join([*([SIMULATED] if report.simulated else []), *([which] if made else [])])


def _subtitle(report: JudgeReport) -> Markup:
    judges = {one.judge for one in every_judge(report)}
    about = [count_noun(sum(one.pairs for one in report.panel), "pair")] if report.judges else []
    if report.ticks is not None:
        about.append(
            count_noun(sum(one.ticks for one in report.ticks.panel), "tick of a checklist", "ticks of checklists")
        )
    return Markup("{}: {} against the answers of people on {}.").format(
        brief(report.study), count_noun(len(judges), "judge"), join_names(about)
    )


def _cards(report: JudgeReport, names: JudgeNames) -> list[Card]:
    """Those of pairs, of checklists, or of pairs with one of checklists: what fits a line."""
    ticks = tick_cards(report.ticks, names) if report.ticks is not None else []
    return [*_pair_cards(report, names), *ticks[:1]] if report.judges else ticks


def _pair_cards(report: JudgeReport, names: JudgeNames) -> list[Card]:
    best = report.judges[0]
    above = sum(standing(one.macro)[0] == "above" for one in report.judges)
    words = Markup("{} of {}").format(fixed(above, 0), fixed(len(report.judges), 0))
    cards = [
        Card("Best judge, macro accuracy", estimate_value(best.macro.accuracy, None), names(best)),
        Card("Better than chance", words, "interval above a half", "clear" if above else "none"),
    ]
    cards += next_rater_card(report.panel, "accuracy of one more person against this panel")
    biased = max(two_orders(report.judges), key=lambda entry: entry[1].value, default=None)
    if biased is not None:
        judge, bias, _ = biased
        shown = estimate_value(bias, None)
        cards.append(Card("Strongest position bias", shown, f"{names(judge)}: pairs decided by position"))
    return cards


def _verdict_section(report: JudgeReport, names: JudgeNames) -> Section:
    warnings = [Note(sentence(words), "alert", "Warning.") for words in report.warnings]
    groups = ("Pairs", "Checklists") if report.judges and report.ticks is not None else ("", "")
    verdicts = [
        VerdictLine(names(one), standing(one.macro)[1], _verdict_words(one), groups[0]) for one in report.judges
    ]
    verdicts += tick_verdicts(report.ticks, names, groups[1]) if report.ticks is not None else []
    return Section("Verdicts", [*warnings, Verdicts(verdicts)], "Each judge in plain words, best first.")


def _verdict_words(one: JudgeFigures) -> Markup:
    """Accuracy, what it is made of, and how far it is from the best."""
    parts = [Markup("Agrees with people on {}").format(estimate_value(one.macro.accuracy, None))]
    if one.macro.position_bias is not None:
        parts.append(Markup("follows the position on {}").format(estimate_value(one.macro.position_bias, None)))
    if one.macro.unseen.value > 0:
        parts.append(Markup("could not be read on {}").format(estimate_value(one.macro.unseen, None)))
    if one.to_best is not None:
        apart = one.to_best.high is not None and one.to_best.high < 0
        parts.append(Markup("{} the best judge").format("below" if apart else "not told apart from"))
    return Markup(", ").join(parts) + Markup(".")


def _accuracy_section(report: JudgeReport, names: JudgeNames) -> Section:
    blocks: list[Block | str] = []
    if len(report.judges) <= MOST_DRAWN:
        blocks.append(_accuracy_figure(report, names))
    blocks.append(_accuracy_table(report, names))
    return Section("Accuracy", blocks, "Agreement with the majority of people, pair by pair.")


def _accuracy_figure(report: JudgeReport, names: JudgeNames) -> Chart:
    rows = [
        (
            names(one),
            one.macro.accuracy.value,
            one.macro.accuracy.low,
            one.macro.accuracy.high,
            JUDGE_KIND_WORDS[one.kind],
        )
        for one in report.judges
    ]
    lines = ceiling_lines(report.panel)
    drawing = charts.dot_intervals(
        rows, CHANCE, lines, title="Macro accuracy by judge", null_label="chance", sort=False,
        x_label="accuracy, mean over criteria", within=(0.0, 1.0),
    )  # fmt: skip
    words = "Macro accuracy, unread pairs counted as 0. Line: a coin, or always the first picture."
    return Chart(drawing, f"{words} {CEILING_LINES}" if lines else words)


def _accuracy_table(report: JudgeReport, names: JudgeNames) -> Table:
    shown = {
        "accuracy": ("Accuracy", "Mean over criteria; unread pairs count 0"),
        "parsed_only": ("Parsed only", "Over pairs that were read"),
        "position_bias": ("b", "Share of read pairs whose verdict follows the position"),
        "tie_rate": ("t", "Share of read pairs with a tie"),
        "conditional": ("c", "Accuracy on pairs with the same item named in both orders"),
        "unseen": ("Unread", "Share of pairs with an unread verdict"),
    }
    columns = [Column("judge", "Judge")]
    columns += [Column(name, header, "estimate", 3, hint) for name, (header, hint) in shown.items()]
    columns += [
        Column("with_ties", "Ties counted", "estimate", 3, "Same of first, second or tie; tied panels stay"),
        Column("to_best", "To the best", "estimate", 3, "Difference on the pairs both met, drawn together"),
    ]
    rows = [
        {
            "judge": Cell(names(one), one.signature or "", _on_pairs(one)),
            **figure_cells(one.macro, shown),
            "with_ties": one.with_ties,
            "to_best": Cell(one.to_best, "" if one.to_best else "the best judge itself, or no pair in common"),
        }
        for one in report.judges
    ]
    caption = Markup("All judges: means over criteria, with {} intervals. Ties counted: over all pairs.")
    return Table(columns, rows, caption.format(level_words(report)))


def _on_pairs(one: JudgeFigures) -> Markup:
    kind = {"points": "numbers, ", "scorer": "scorer, "}.get(one.kind, "")
    return Markup("{}{}{}").format(kind, count_noun(one.macro.pairs, "pair"), ", simulated" if one.simulated else "")


def figure_cells(figures: AccuracyFigures, shown: Mapping[str, object]) -> dict[str, Cell]:
    """A cell for each figure, with the reason where there is none."""
    return {name: Cell(getattr(figures, name), why_missing(figures, name)) for name in shown}


def _bias_section(report: JudgeReport, names: JudgeNames) -> Section | None:
    judges = two_orders(report.judges)
    if not judges:
        return None
    dots = [Dot(names(one), b.value, c.value, (b.low, b.high), (c.low, c.high)) for one, b, c in judges[:MOST_DRAWN]]
    figure = Chart(
        bias_plot(dots),
        "Right: answers by position. Up: sees what people see, where position does not decide. Along a curve "
        "accuracy is the same, without ties; the line is chance.",
    )
    firsts = _firsts([judge for judge, _, _ in judges], names)
    blocks: list[Block | str] = [figure, *firsts, *_correlations(report)]
    return Section("Bias and perception", blocks, "A low accuracy may be a poor eye or a strong lean: which is it?")


def _firsts(judges: Sequence[JudgeFigures], names: JudgeNames) -> list[Block]:
    columns = [
        Column("judge", "Judge"),
        Column("bias", "b", "estimate", 3),
        Column("first", "Took the first", "estimate", 3, "Of the pairs decided by position"),
        Column("says", "Names the first", "estimate", 3, "Of all answers that name an item; even without bias: a half"),
    ]
    rows = [
        {"judge": names(one), "bias": one.macro.position_bias, "first": one.macro.took_first, "says": one.says_first}
        for one in judges
    ]
    return [Table(columns, rows, "Which position wins.")]


def _correlations(report: JudgeReport) -> list[Block]:
    known = [one for one in report.correlations if one.value is not None]
    if not known:
        return []
    columns = [
        Column("x", "Figure"),
        Column("y", "With"),
        Column("rho", "Spearman", "estimate", 2),
        Column("p", "p", "p", hint="Two-sided; over all orders up to eight judges"),
        Column("n", "Judges", "count"),
    ]
    rows = [
        {
            "x": WORDS[one.x],
            "y": WORDS[one.y],
            "rho": Cell((one.value, one.low, one.high), one.reason or ""),
            "p": one.p,
            "n": one.n,
        }
        for one in known
    ]
    return [
        Table(
            columns,
            rows,
            "Over judges of pairs, scorers left out: which figures go together. Few judges make wide intervals.",
        )
    ]


def _method_section(report: JudgeReport) -> Section:
    notes = [Note(sentence(words)) for words in report.policies]
    figures = [part.figures for one in every_judge(report) for part in one.criteria if part.figures]
    largest = max((part.identity_gap for part in figures if part.identity_gap is not None), default=None)
    proof = []
    if largest is not None:
        proof = [Markup("Identities, asserted for each judge and criterion: largest gap {}.").format(_tiny(largest))]
    return Section("Policies", [*notes, *proof], "What was counted how.")


def _tiny(gap: float) -> str:
    return f"{gap:.0e}" if gap else "0"
