"""The page of an evaluation, composed from its `Evaluation` alone: it prints numbers and computes none.

Every number of the page carries its path in the JSON of the command. Details are those of the first study and the
first target. Sections stand only where there is something to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from salon.evaluate import tables
from salon.evaluate.judge_figures import thumbnails
from salon.evaluate.pair_results import CHANCE, AccuracyFigures, JudgeFigures, WorstCase
from salon.evaluate.results import (
    Evaluation,
    TargetFigures,
    TickJudgeFigures,
    TickPanelFigures,
    TickReport,
    WorstTick,
)
from salon.evaluate.sections import (
    SCALE_TONES,
    first_chart,
    flag_section,
    pair_sections,
    score_sections,
    section,
    short_or_folded,
    tick_sections,
    two_orders,
)
from salon.evaluate.tables import Names, headline, judge_names
from salon.report import (
    SIMULATED,
    Answer,
    Badge,
    Block,
    Card,
    Details,
    Note,
    Page,
    Section,
    VerdictLine,
    Verdicts,
    brief,
    count_noun,
    element,
    estimate_value,
    film_grid,
    fold,
    join_names,
    law_range,
    law_range_note,
    level_words,
    located,
    one_way,
    picture_or_note,
    sentence,
)
from salon.report.words import fixed
from salon.stats import Estimate, TickRates
from salon.study import Study

LEAK = (
    "LEAK: a model was trained on what it is tested on, or nobody knows. These numbers say nothing about new pictures."
)
NO_CEILING = "No ceiling: nobody can say whether these accuracies are good or bad."
FEWEST_WORDS = 3
"""A judge that says no more than its verdict is not quoted."""


def evaluation_page(report: Evaluation, pictures: Mapping[str, str] | None = None) -> Page:
    """The whole report as one self-contained page; `pictures` are data URLs by item, for the gallery."""
    here, names = located(report), judge_names(report)
    sections = [
        _verdict_section(here, names),
        *pair_sections(here, names),
        *tick_sections(here, names),
        flag_section(here, names),
        *score_sections(here, names),
        section(
            "Cost",
            short_or_folded("Calls and cost of each judge", *usage)
            if (usage := tables.usage_tables(here, names))
            else [],
            "What a judge costs, and what a point of accuracy does.",
        ),
        section(
            "Worst disagreements",
            _galleries(here.judges, names, "pair", pictures or {}),
            "People were clear, the judge was clear, each the other way.",
        ),
        section(
            "Worst ticks",
            _galleries(here.ticks.judges if here.ticks else (), names, "tick", pictures or {}),
            "People were clear about a point, and the judge said the other.",
        ),
        _method_section(here),
    ]
    who = f"{tables.answerer_noun(report)}s"
    kind = {"judge-report": "judge", "evaluate": "evaluate"}.get(report.signature.method, "distill evaluate")
    split = f" · {report.split} prompts" if kind == "evaluate" else ""
    return Page(
        title="Do these scores say what people say?" if report.targets else f"How reliable are these {who}?",
        tab=f"Evaluation: {brief(report.study)}",
        subtitle=_subtitle(here),
        kicker=f"Salon {kind} · {brief(report.study)}{split}" + (" · simulated" if report.simulated else ""),
        banner=_banner(report),
        answer=Answer(_answer_words(here, names), first_chart(here, names), _next_steps(here, names)),
        cards=_cards(here, names),
        sections=[section for section in sections if section is not None],
        notes=[
            Markup("Intervals in brackets are at the {} level: {}.").format(
                level_words(here), report.drawn or "whole prompts drawn again"
            )
        ],
        signature=one_way(report.signature_line),
    )


def page_with_pictures(report: Evaluation, study: Study, folder: Path | None) -> Page:
    """The page of a report, with the pictures of its worst disagreements."""
    items = [item for judge in report.judges for case in judge.worst for item in (case.panel_choice, case.judge_choice)]
    items += [case.item for judge in (report.ticks.judges if report.ticks else ()) for case in judge.worst]
    return evaluation_page(report, thumbnails(study, folder, items))


# -- the head ----------------------------------------------------------------------------------------------------------


def _banner(report: Evaluation) -> str:
    """That people, or judges, were never asked; that a model leaks; that accuracies have no ceiling."""
    judges = report.every_judge
    simulated = sum(judge.simulated for judge in judges)
    which = "All of these judges are simulated." if simulated == len(judges) else "Some judges are simulated."
    reports = (report, *report.also)
    bare = tables.is_pooled(report) and any(
        judge.pooled.ceilings is None for evaluation in reports for judge in evaluation.judges
    )
    sentences = {
        LEAK: report.leaking,
        NO_CEILING: bare,
        SIMULATED: any(evaluation.simulated for evaluation in reports),
        which: simulated > 0,
    }
    return " ".join(words for words, holds in sentences.items() if holds)


NOT_BELOW = "not significantly below the best"
MOST_NAMES = 4
"""Judges that a sentence of the first screen names."""
STRONG_BIAS = 0.1
"""From this share of pairs on the first screen asks for both orders."""


def _answer_words(report: Evaluation, names: Names) -> list[str]:
    """How good the best is, what could be reached, and how many are better than chance."""
    if report.targets:
        return [_score_answer(report.targets[0], names)]
    if not report.judges:
        return [_tick_answer(report.ticks, names)] if report.ticks is not None and report.ticks.judges else []
    best = report.judges[0]
    figures, tops = headline(report, best), best.pooled.ceilings
    noun = tables.answerer_noun(report)
    all_judges = count_noun(len(report.judges), noun)
    above = sum(standing(headline(report, judge))[0] == "above" for judge in report.judges)
    accuracy = estimate_value(figures.accuracy, None, 3)
    answer = Markup("{} agrees with people on {} of pairs.").format(names[best.name], accuracy)
    if len(report.judges) > 1:
        answer = Markup("{} has the highest accuracy of {}: it agrees with people on {} of pairs.").format(
            names[best.name], all_judges, accuracy
        )
    chance = Markup("No {} is shown to be better than chance.").format(noun)
    if above:
        chance = Markup("Better than chance: {} of {}.").format(fixed(above, 0), all_judges)
    equal = sum(_to_best_words(report, judge) == [NOT_BELOW] for judge in report.judges)
    if above and equal:
        chance += Markup(" Not significantly worse than the first: {}.").format(count_noun(equal, noun))
    words: list[str] = [answer, chance] if above else [chance, answer]
    if tops is not None:
        reach = Markup("One more person would agree on {}, and an oracle on {}.")
        words.append(reach.format(law_range(tops.next_rater_range), law_range(tops.oracle_range)))
    else:
        words.append("No ceiling is known, so nobody can say whether that is good.")
    return words


def _tick_answer(ticks: TickReport, names: Names) -> Markup:
    best = ticks.judges[0]
    above = sum(tick_standing(judge.macro)[0] == "above" for judge in ticks.judges)
    words = "{} agrees best with people on checklists: {} of points. {} of {} can tell yes from no."
    return Markup(words).format(
        names[best.name],
        estimate_value(best.macro.accuracy, None),
        fixed(above, 0),
        count_noun(len(ticks.judges), "judge"),
    )


def _score_answer(target: TargetFigures, names: Names) -> Markup:
    best = target.scorers[0]
    words = Markup("{} orders items most like {}: {}. Its scale: {}.")
    return words.format(names[best.name], brief(target.name), _figure_words("SRCC", best.overall.srcc), best.scale)


def _next_steps(report: Evaluation, names: Names) -> list[str]:
    """What the verdicts ask for, the most urgent first."""
    steps: list[str] = []
    if report.warnings:
        steps.append(Markup('Read the <a href="#verdicts">warnings</a> first.'))
    if any(judge.leak is not None and (judge.leak.words or not judge.leak.guarded) for judge in report.judges):
        steps.append("Evaluate again on prompts that no model was trained on: these accuracies may come from a leak.")
    do = "Look at the answers of" if tables.answerer_noun(report) == "rater" else "Do not use"
    for standings, advice in (
        (("chance", "below", "unread"), f"{do} {{}}: not shown to be better than chance."),
        (("thin",), "Collect more answers: too little data to judge {}."),
    ):
        chosen = [names[judge.name] for judge in report.judges if standing(headline(report, judge))[0] in standings]
        if chosen:
            more = [count_noun(len(chosen) - MOST_NAMES, "other")] if len(chosen) > MOST_NAMES else []
            steps.append(Markup(advice).format(join_names([*chosen[:MOST_NAMES], *more])))
    biased = max(two_orders(report), key=lambda entry: entry[1].value, default=None)
    if biased is not None and biased[1].value >= STRONG_BIAS:
        words = Markup("Ask every pair in both orders: {} follows the position on {} of pairs.")
        steps.append(words.format(names[biased[0].name], estimate_value(biased[1], None)))
    if report.targets:
        bad = [names[s.name] for s in report.targets[0].scorers if SCALE_TONES[s.scale] == "alert"]
        if bad:
            words = Markup("Use only the order of {}, not the scores: the scale is collapsed or shifted.")
            steps.append(words.format(join_names(bad[:MOST_NAMES])))
    elif report.judges and report.judges[0].pooled.ceilings is not None:
        steps.append("Quote an accuracy with its interval and both ceilings.")
    if any(judge.worst for judge in report.judges):
        steps.append(
            Markup('Look at the <a href="#worst-disagreements">worst disagreements</a> before you rely on one.')
        )
    return steps


def _subtitle(report: Evaluation) -> Markup:
    if report.targets:
        target = report.targets[0]
        return Markup("{} against {}: {}, order within each {}.").format(
            count_noun(len(target.scorers), "scorer"),
            brief(target.name),
            count_noun(target.items, "item"),
            report.within,
        )
    judges = {judge.name for judge in report.every_judge}
    noun = "rater" if tables.answerer_noun(report) == "rater" else "judge"
    about = []
    if report.judges:
        pairs = Markup("{} of {} ({})").format(
            count_noun(report.pairs, "pair"), count_noun(report.prompts, "prompt"), count_noun(report.votes, "vote")
        )
        about.append(pairs)
    if report.ticks is not None:
        ticks = sum(panel.ticks for panel in report.ticks.panel)
        about.append(count_noun(ticks, "tick of a checklist", "ticks of checklists"))
    return Markup("{}: {} against the answers of people on {}.").format(
        brief(report.study), count_noun(len(judges), noun), join_names(about)
    )


def _cards(report: Evaluation, names: Names) -> list[Card]:
    """Those of pairs, of checklists, of scores; or of pairs with one of checklists: what fits a line."""
    if report.targets:
        return _score_cards(report.targets[0], names)
    ticks = _tick_cards(report.ticks, names) if report.ticks is not None else []
    return [*_pair_cards(report, names), *ticks[:1]] if report.judges else ticks


def _pair_cards(report: Evaluation, names: Names) -> list[Card]:
    best = report.judges[0]
    figures, ceilings = headline(report, best), best.pooled.ceilings
    above = sum(standing(headline(report, judge))[0] == "above" for judge in report.judges)
    words = Markup("{} of {}").format(fixed(above, 0), fixed(len(report.judges), 0))
    cards = [
        Card(
            "Best rater" if tables.answerer_noun(report) == "rater" else "Best judge",
            estimate_value(figures.accuracy, None, 3),
            f"{names[best.name]}: accuracy",
        ),
        Card("Better than chance", words, "interval above a half", "clear" if above else "none"),
    ]
    if ceilings is None:
        cards.append(Card("Ceiling", "none", best.pooled.no_ceiling or "", "alert"))
    else:
        cards += [
            Card("Next rater", law_range(ceilings.next_rater_range), "one more person on the same pairs"),
            Card("Oracle", law_range(ceilings.oracle_range), "one who knows every pair's odds"),
        ]
    biased = max(two_orders(report), key=lambda entry: entry[1].value, default=None)
    if biased is not None:
        judge, bias, _ = biased
        cards.append(
            Card(
                "Strongest position bias", estimate_value(bias, None), f"{names[judge.name]}: pairs decided by position"
            )
        )
    return cards


def _tick_cards(ticks: TickReport, names: Names) -> list[Card]:
    best = ticks.judges[0]
    above = sum(tick_standing(judge.macro)[0] == "above" for judge in ticks.judges)
    words = Markup("{} of {}").format(fixed(above, 0), fixed(len(ticks.judges), 0))
    cards = [
        Card("Best on checklists", estimate_value(best.macro.accuracy, None), names[best.name]),
        Card("Tell yes from no", words, "balanced accuracy above a half", "clear" if above else "none"),
        *_next_rater_card(ticks.panel),
    ]
    leaning = [(judge, judge.macro.lean) for judge in ticks.judges if judge.macro.lean is not None]
    if leaning:
        most, lean = max(leaning, key=lambda entry: abs(entry[1].value))
        kind = "passes more than people" if lean.value > 0 else "passes less than people"
        cards.append(Card("Strongest lean", estimate_value(lean, None), f"{names[most.name]}: {kind}"))
    return cards


def _next_rater_card(panel: Sequence[TickPanelFigures]) -> list[Card]:
    """The accuracy of one more person, from the lowest criterion to the highest."""
    tops = [(row.name, row.ceilings) for row in panel if row.ceilings is not None]
    if len(tops) < 2:
        return [
            Card(
                "Next rater",
                law_range(top.next_rater_range),
                Markup("accuracy of one more person on these points; {}").format(law_range_note(top.next_rater)),
            )
            for _, top in tops
        ]
    low_name, low = min(tops, key=lambda entry: entry[1].next_rater_range[0])
    high_name, high = max(tops, key=lambda entry: entry[1].next_rater_range[1])
    words = law_range((low.next_rater_range[0], high.next_rater_range[1]))
    return [Card("Next rater", words, f"accuracy of one more person; lowest {low_name}, highest {high_name}")]


def _score_cards(target: TargetFigures, names: Names) -> list[Card]:
    best, level = target.scorers[0], target.rater_level
    cards = [Card("Best order", names[best.name], _figure_words("SRCC", best.overall.srcc))]
    if level is not None and level.srcc is not None:
        cards.append(
            Card("One rater against the others", estimate_value(level.srcc, None, 3), "SRCC, mean over raters")
        )
    spread = best.overall.spread
    words = "no spread to compare" if spread is None else _figure_words("spread over the target's", spread)
    coverage = Markup("{} of {}").format(fixed(best.overall.scored, 0), fixed(best.overall.wanted, 0))
    return [
        *cards,
        Card("Its scale", best.scale, words, SCALE_TONES[best.scale]),
        Card("Its coverage", coverage, "items times criteria with a prediction"),
    ]


def _figure_words(words: str, figure: Estimate | None) -> Markup:
    return Markup("{} {}").format(words, "–" if figure is None else estimate_value(figure, None, 3))


# -- verdicts ----------------------------------------------------------------------------------------------------------


def _verdict_section(report: Evaluation, names: Names) -> Section:
    warnings = [
        Note(sentence(words.removeprefix("LEAK: ")), "alert", "Leak." if words.startswith("LEAK") else "Warning.")
        for words in report.warnings
    ]
    groups = ("Pairs", "Checklists") if report.judges and report.ticks is not None else ("", "")
    lines = [
        VerdictLine(names[judge.name], _pair_badge(report, judge), _pair_words(report, judge), groups[0])
        for judge in report.judges
    ]
    lines += [
        VerdictLine(names[judge.name], tick_standing(judge.macro)[1], _tick_words(judge), groups[1])
        for judge in (report.ticks.judges if report.ticks is not None else ())
    ]
    for target in report.targets[:1]:
        lines += [
            VerdictLine(names[scorer.name], Badge(scorer.scale, SCALE_TONES[scorer.scale]), sentence(scorer.words))
            for scorer in target.scorers
        ]
    words = (
        "Order and scale of each scorer, best first." if report.targets else "Each judge in plain words, best first."
    )
    return Section("Verdicts", [*warnings, Verdicts(lines)], words)


def standing(figures: AccuracyFigures) -> tuple[str, Badge]:
    """Against chance: above, below, not told apart; above one more person; or below only because of unread answers."""
    accuracy, read, tops = figures.accuracy, figures.parsed_only, figures.ceilings
    if accuracy.low is None or accuracy.high is None:
        return "thin", Badge("too little data", "thin")
    if tops is not None and tops.next_rater.high is not None and accuracy.low > tops.next_rater.high:
        return "above", Badge("better than one more person", "clear")
    if accuracy.low > CHANCE:
        return "above", Badge("better than chance", "clear")
    if accuracy.high >= CHANCE:
        return "chance", Badge("no better than chance", "none")
    if read is None or read.high is None or read.high >= CHANCE:
        return "unread", Badge("too often unread", "open")
    return "below", Badge("worse than chance", "alert")


def tick_standing(figures: TickRates) -> tuple[str, Badge]:
    """Can it tell yes from no? By balanced accuracy, which is a half for a coin and for a fixed answer."""
    balanced = figures.balanced
    if balanced is None and figures.parsed_only is None:
        return "unread", Badge("never read", "open")
    if balanced is None or balanced.low is None or balanced.high is None:
        return "thin", Badge("too little data", "thin")
    if balanced.low > CHANCE:
        return "above", Badge("tells yes from no", "clear")
    if balanced.high >= CHANCE:
        return "chance", Badge("cannot tell yes from no", "none")
    return "below", Badge("worse than chance", "alert")


def _pair_badge(report: Evaluation, judge: JudgeFigures) -> Badge:
    if judge.leak is not None and (judge.leak.words or not judge.leak.guarded):
        return Badge("leaking", "alert") if judge.leak.guarded else Badge("no leak guard", "alert")
    return standing(headline(report, judge))[1]


def _pair_words(report: Evaluation, judge: JudgeFigures) -> Markup:
    """Accuracy, what could be reached, what it is made of, and how far it is from the best."""
    figures, tops = headline(report, judge), judge.pooled.ceilings
    parts = [Markup("Agrees with people on {}").format(estimate_value(figures.accuracy, None, 3))]
    best = report.judges[0]
    given = None if judge is best else best.pooled.ceilings  # ceilings that the best judge shares are given once
    if tops is not None and (
        given is None or (tops.next_rater_range, tops.oracle_range) != (given.next_rater_range, given.oracle_range)
    ):
        parts.append(
            Markup("where one more person would on {} and an oracle on {}").format(
                law_range(tops.next_rater_range), law_range(tops.oracle_range)
            )
        )
    if figures.position_bias is not None:
        parts.append(Markup("follows the position on {}").format(estimate_value(figures.position_bias, None)))
    if figures.unseen.value > 0:
        parts.append(Markup("without an answer on {}").format(estimate_value(figures.unseen, None)))
    return Markup(", ").join([*parts, *_to_best_words(report, judge)]) + Markup(".")


def _to_best_words(report: Evaluation, judge: JudgeFigures | TickJudgeFigures) -> list[str]:
    """Models are told apart by their adjusted test, judges by the interval of the difference."""
    if judge.to_best is None:
        return []
    tests = {pair.second: pair.p_holm for pair in report.comparisons if pair.first == report.judges[0].name}
    apart = judge.to_best.high is not None and judge.to_best.high < 0
    if judge.name in tests:
        apart = tests[judge.name] < tables.SURE
    return ["below the best" if apart else NOT_BELOW]


def _tick_words(judge: TickJudgeFigures) -> Markup:
    figures, gain, lean = judge.macro, judge.macro.gain, judge.macro.lean
    against = "no clear difference to"
    if gain.low is not None and gain.high is not None and not gain.low <= 0 <= gain.high:
        against = "above" if gain.low > 0 else "below"
    parts = [
        Markup("Agrees with people on {}, {} a fixed answer ({})").format(
            estimate_value(figures.accuracy, None), against, fixed(figures.constant.value)
        )
    ]
    if lean is not None and lean.low is not None and lean.high is not None and not lean.low <= 0 <= lean.high:
        words = "passes more than people do" if lean.value > 0 else "passes less than people do"
        parts.append(Markup("{}, by {}").format(words, estimate_value(lean, None)))
    if figures.unread.value > 0:
        parts.append(Markup("could not be read on {}").format(estimate_value(figures.unread, None)))
    if judge.to_best is not None:
        apart = judge.to_best.high is not None and judge.to_best.high < 0
        parts.append(Markup("{} the best").format("below" if apart else "no clear difference to"))
    return Markup(", ").join(parts) + Markup(".")


# -- worst disagreements and policies ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class WorstGallery(Block):
    """Worst disagreements side by side; pictures are data URLs by item."""

    cases: tuple[WorstCase | WorstTick, ...]
    criteria: Mapping[str, str]
    pictures: Mapping[str, str]

    def __html__(self) -> str:
        pairs = any(isinstance(case, WorstCase) for case in self.cases)
        cases = (self._pair(case) if isinstance(case, WorstCase) else self._tick(case) for case in self.cases)
        return film_grid(*cases, size="pairs" if pairs else "small")

    def _pair(self, case: WorstCase) -> Markup:
        votes = Markup("{} to {}").format(fixed(case.votes[0], 0), fixed(case.votes[1], 0))
        if case.votes[2]:
            votes += Markup(", {}").format(count_noun(case.votes[2], "tie"))
        sides = (
            self._side(case.panel_choice, Markup("People, {}").format(votes)),
            self._side(case.judge_choice, Markup("Judge")),
        )
        head = brief(self.criteria.get(case.criterion, case.criterion), 40)
        about = Markup("{}{}").format(head, f" · {brief(case.prompt, 60)}" if case.prompt else "")
        gap = None
        if case.margin is not None:
            words = Markup("Its two numbers are {} standard deviations apart.").format(fixed(case.margin, 2))
            gap = element("p", words, class_="told")
        title = element("p", element("strong", about), class_="frame-head")
        return element("div", title, element("div", *sides, class_="beside"), _quote(case.said), gap)

    def _tick(self, case: WorstTick) -> Markup:
        people, judge = ("yes", "no") if case.people else ("no", "yes")
        answers = Markup("People {}, {} to {}<br>Judge {}<br>").format(
            people, fixed(case.votes[0], 0), fixed(case.votes[1], 0), judge
        )
        return element("div", self._side(case.item, Markup.escape(brief(case.point, 120)), answers), _quote(case.said))

    def _side(self, item: str, words: Markup, more: Markup | None = None) -> Markup:
        label = element("p", element("strong", words), Markup("<br>"), more,
                        element("span", brief(item, 40), class_="soft"), class_="told")  # fmt: skip
        return element("div", picture_or_note(self.pictures.get(item, ""), item), label)


def _quote(text: str | None) -> Markup | None:
    """What the judge said, where it is more than its answer."""
    if text is None or len(text.split()) < FEWEST_WORDS:
        return None
    return element("p", element("q", brief(text, 240)), class_="told")


def _galleries(
    judges: Sequence[JudgeFigures | TickJudgeFigures], names: Names, what: str, pictures: Mapping[str, str]
) -> list[Block | str]:
    """Each judge's cases behind a line."""
    blocks: list[Block | str] = []
    for judge in judges:
        if judge.worst:
            counts = Markup('{} <span class="soft">{} of {}</span>').format(
                names[judge.name],
                fixed(len(judge.worst), 0),
                count_noun(judge.worst_of, f"{what} against the majority", f"{what}s against the majority"),
            )
            titles = {part.criterion: part.name for part in judge.criteria}
            blocks.append(Details(counts, [WorstGallery(judge.worst, titles, pictures)]))
    return blocks


def _method_section(report: Evaluation) -> Section:
    notes: list[Block | str] = [Note(sentence(words)) for words in report.policies]
    judges = report.every_judge
    gaps = [part.figures.identity_gap for judge in judges for part in judge.criteria if part.figures]
    largest = max((gap for gap in gaps if gap is not None), default=None)
    if largest is not None and not tables.is_pooled(report):
        words = f"{largest:.0e}" if largest else "0"
        notes.append(Markup("Identities, asserted for each judge and criterion: largest gap {}.").format(words))
    words = Markup("{} for answers that are missing, tied or left out.").format(
        count_noun(len(report.policies), "rule", "rules")
    )
    return Section("Policies", [words, *fold("All rules", *notes)], "How answers were counted.")
