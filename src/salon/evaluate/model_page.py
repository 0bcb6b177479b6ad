"""The HTML of an evaluation, composed from its EvaluateReport alone: it prints numbers and computes none.

Every number of the page carries its path in the JSON of `salon evaluate --json`. Details are those of the first study;
others stand in the table across studies.
"""

from __future__ import annotations

from markupsafe import Markup

from salon.evaluate.model_results import (
    KIND_WORDS,
    AccuracyAndCeilings,
    ContestantFigures,
    EvaluateReport,
    PairedFigures,
    StudyFigures,
)
from salon.evaluate.model_sections import (
    CEILINGS,
    CHANCE,
    SURE,
    Names,
    best_only,
    bucket_section,
    calibration_section,
    ceiling_cells,
    ceiling_columns,
    comparison_section,
    criterion_section,
    generator_section,
    growth_section,
    standing,
    studies_section,
)
from salon.report import (
    Badge,
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
from salon.report.words import (
    SIMULATED,
    brief,
    count_noun,
    distinct_names,
    fixed,
    law_range,
    level_words,
    one_way,
    sentence,
)

LEAK = (
    "LEAK: a model was trained on what it is tested on, or nobody knows. These numbers say nothing about new pictures."
)
NO_CEILING = "No ceiling: these accuracies cannot be told from good or bad ones."
_NAME = 44
_MOST_DRAWN = 40


def evaluate_page(report: EvaluateReport) -> Page:
    """The whole report as one self-contained page."""
    here = located(report)
    study = here.studies[0]
    names: Names = distinct_names((one.name for each in report.studies for one in each.contestants), _NAME)
    sections = [
        _verdict_section(study, names),
        _accuracy_section(here, study, names),
        studies_section(here, names),
        criterion_section(here, study, names),
        bucket_section(here, study, names),
        comparison_section(here, study, names),
        calibration_section(here, study, names),
        generator_section(here, study, names),
        growth_section(here, names),
        _method_section(here),
    ]
    return Page(
        title="What is this model worth?" if len(study.contestants) == 1 else "What are these models worth?",
        tab=f"Evaluation: {brief(study.study)}",
        subtitle=_subtitle(study),
        kicker=f"Salon evaluate · {brief(study.study)} · {_split_words(study)}",
        banner=_banner(report),
        cards=_cards(study, names),
        sections=[section for section in sections if section is not None],
        notes=[
            Markup("Intervals in brackets are at the {} level, whole prompts drawn again.").format(level_words(here))
        ],
        signature=one_way(report.signature_line),
    )


def _banner(report: EvaluateReport) -> str:
    simulated = [SIMULATED] if any(study.simulated for study in report.studies) else []
    leak = [LEAK] if report.leaking else []
    bare = any(one.overall.ceilings is None for study in report.studies for one in study.contestants)
    return " ".join([*leak, *([NO_CEILING] if bare else []), *simulated])


def _split_words(study: StudyFigures) -> str:
    return "all prompts" if study.split == "all" else f"{study.split} prompts"


def _subtitle(study: StudyFigures) -> Markup:
    return Markup("{} against {} of people on {} of {}, {}.").format(
        count_noun(len(study.contestants), "contestant"),
        count_noun(study.votes, "vote"),
        count_noun(study.pairs, "pair"),
        count_noun(study.prompts, "prompt"),
        "the whole study" if study.split == "all" else f"the {study.split} split",
    )


def _cards(study: StudyFigures, names: Names) -> list[Card]:
    best = study.contestants[0]
    reached, tops = best.overall, best.overall.ceilings
    cards = [Card("Best accuracy", estimate_value(reached.accuracy, None, 3), names[best.name])]
    if tops is not None:
        cards += [
            Card("Next rater", law_range(tops.next_rater_range), "one more person on the same pairs"),
            Card("Oracle", law_range(tops.oracle_range), "one who knows every pair's odds"),
        ]
    else:
        cards.append(Card("Ceiling", "none", reached.no_ceiling or "", "alert"))
    cards.append(Card("Chance", fixed(reached.chance), "a coin"))
    return cards


# -- verdicts ----------------------------------------------------------------------------------------------------------


def _verdict_section(study: StudyFigures, names: Names) -> Section:
    warnings = [
        Note(sentence(words.removeprefix("LEAK: ")), "alert", "Leak." if words.startswith("LEAK") else "Warning.")
        for words in study.warnings
    ]
    rivals = {one.second: one for one in best_only(study)}
    verdicts = [
        VerdictLine(names[one.name], _badge(one), _contestant_words(one, rivals.get(one.name)))
        for one in study.contestants
    ]
    return Section("Verdicts", [*warnings, Verdicts(verdicts)], "Each contestant in plain words, best first.")


def _badge(one: ContestantFigures) -> Badge:
    if one.leak is not None and (one.leak.words or not one.leak.guarded):
        return Badge("leaking", "alert") if one.leak.guarded else Badge("no leak guard", "alert")
    return standing(one.overall)


def _contestant_words(one: ContestantFigures, rival: PairedFigures | None) -> Markup:
    """Accuracy, what could be reached, and how far it is from the best."""
    parts = [Markup("Agrees with people on {}").format(estimate_value(one.overall.accuracy, None, 3))]
    tops = one.overall.ceilings
    if tops is not None:
        parts.append(
            Markup("where one more person would on {} and an oracle on {}").format(
                law_range(tops.next_rater_range), law_range(tops.oracle_range)
            )
        )
    if rival is not None:
        apart = rival.p_holm < SURE
        parts.append(Markup("{} the best").format("below" if apart else "not told apart from"))
    return Markup(", ").join(parts) + Markup(".")


# -- accuracy ----------------------------------------------------------------------------------------------------------


def _accuracy_section(report: EvaluateReport, study: StudyFigures, names: Names) -> Section:
    blocks: list[Block | str] = []
    if len(study.contestants) <= _MOST_DRAWN:
        blocks.append(_accuracy_figure(study, names))
    blocks += [_accuracy_table(report, study, names), _ceiling_table(report, study, names)]
    return Section("Accuracy", blocks, "Agreement with the majority of people, and what could be reached.")


def _accuracy_figure(study: StudyFigures, names: Names) -> Chart:
    rows = [
        (names[one.name], a.value, a.low, a.high, KIND_WORDS[one.kind])
        for one in study.contestants
        for a in [one.overall.accuracy]
    ]
    tops = study.contestants[0].overall.ceilings
    lines = [] if tops is None else [("next rater", tops.next_rater.value), ("oracle", tops.oracle.value)]
    drawing = charts.dot_intervals(
        rows,
        CHANCE,
        lines,
        title="Accuracy by contestant",
        null_label="chance",
        sort=False,
        x_label="accuracy",
        within=(0.0, 1.0),
    )
    return Chart(drawing, "All pairs with a majority; those without a number count 0. Lines: a coin, and two ceilings.")


def _accuracy_table(report: EvaluateReport, study: StudyFigures, names: Names) -> Table:
    rivals = {one.second: one for one in best_only(study)}
    flips = any(one.order_flips is not None for one in study.contestants)
    columns = [
        Column("name", "Contestant"),
        Column("accuracy", "Accuracy", "estimate", 3, "Pairs without a number count 0"),
        *ceiling_columns(("next_rater", "oracle")),
        Column("tau", "Tau", "estimate", 3, "Kendall's tau-b to the modal rater, mean over prompts"),
        Column("to_best", "To the best", "estimate", 3, "Difference on shared pairs, drawn together"),
        *([Column("flips", "Order flips", "estimate", 3, "Winner changes with the order")] if flips else []),
        Column("pairs", "Pairs", "count"),
        Column("unscored", "No number", "count"),
    ]
    rows = [
        {
            "name": Cell(names[one.name], one.signature, _kind(one)),
            "accuracy": one.overall.accuracy,
            **ceiling_cells(one.overall, ("next_rater", "oracle")),
            "tau": Cell(one.tau, "" if one.tau else "no prompt with an order of all its items"),
            "to_best": Cell(_from_second(rivals.get(one.name)), "" if one.name in rivals else "the best itself"),
            "flips": Cell(one.order_flips, "" if one.order_flips else "cannot happen"),
            "pairs": one.overall.pairs,
            "unscored": one.overall.unscored,
        }
        for one in study.contestants
    ]
    caption = Markup("All contestants, all criteria together, with {} intervals; chance is {}.")
    return Table(columns, rows, caption.format(level_words(report), fixed(study.contestants[0].overall.chance)))


def _from_second(rival: PairedFigures | None) -> tuple[float | None, ...] | None:
    """The best less this one, read from this one's side: a derived number, so without a path."""
    if rival is None:
        return None
    value, low, high = rival.difference.value, rival.difference.low, rival.difference.high
    return tuple(None if end is None else -end for end in (value, high, low))


def _kind(one: ContestantFigures) -> str:
    return f"{KIND_WORDS[one.kind]}, {one.form}" if one.form else KIND_WORDS[one.kind]


def _ceiling_table(report: EvaluateReport, study: StudyFigures, names: Names) -> Block:
    """Every ceiling of the pairs that contestants were measured on; once where all were measured on the same."""
    first = study.contestants[0]
    if first.overall.ceilings is None:
        return Note(sentence(f"No ceiling can be given: {first.overall.no_ceiling}"), "alert")
    shown: dict[tuple[str, ...], tuple[str, AccuracyAndCeilings]] = {}
    for one in study.contestants:
        shown.setdefault(tuple(part.criterion for part in one.criteria), (names[one.name], one.overall))
    rows = [
        {
            "pairs_of": "all contestants" if len(shown) == 1 else f"pairs of {name}",
            **ceiling_cells(reached, CEILINGS),
            "tied": reached.ceilings.tied_share if reached.ceilings else None,
        }
        for name, reached in shown.values()
    ]
    columns = [Column("pairs_of", "On the pairs of"), *ceiling_columns(CEILINGS)]
    columns.append(Column("tied", "Tied", "percent", 1, "Pairs without a majority: in no accuracy"))
    caption = Markup("All ceilings, with {} intervals. Quote the ranges of next rater and oracle; cap is no bound.")
    return Table(columns, rows, caption.format(level_words(report)))


def _method_section(report: EvaluateReport) -> Section:
    return Section("Policies", [Note(sentence(words)) for words in report.policies], "What was counted how.")
