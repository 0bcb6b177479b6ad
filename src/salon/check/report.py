"""The HTML report of a signal check, composed from its CheckReport alone: it prints numbers and computes none.

Every number of the page carries its path in the JSON of `salon check --json`, so that
`salon.report.disagreements(page.html(), report.model_dump(mode="json"))` is empty.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from markupsafe import Markup

from salon.check.report_raters import faction_section, flag_section, protocol_section, rater_section
from salon.check.report_signal import (
    TESTS,
    VERDICTS,
    CohortColors,
    badge,
    cap_criteria,
    cohort_name,
    criteria_with_tau,
    cycle_section,
    distribution_section,
    order_figure,
    signal_section,
    with_distinct_names,
)
from salon.check.results import CeilingFigures, CheckReport, CriterionFigures
from salon.report import (
    SIMULATED,
    Answer,
    Block,
    Card,
    Cell,
    Chart,
    Column,
    Note,
    Page,
    Prose,
    Section,
    Table,
    VerdictLine,
    Verdicts,
    brief,
    charts,
    columns_of,
    count_noun,
    estimate_value,
    fold,
    group_by_reason,
    join_names,
    law_range,
    law_range_note,
    level_words,
    located,
    one_way,
    sentence,
)
from salon.report.words import fixed
from salon.stats import Estimate

DECIMALS = 3
LONGEST_SENTENCE = 600


def check_page(report: CheckReport) -> Page:
    """The whole report as one self-contained page."""
    here = located(with_distinct_names(report))
    cohorts = CohortColors.of(here)
    sections = [
        verdict_section(here),
        signal_section(here, cohorts),
        distribution_section(here, cohorts),
        cycle_section(here, cohorts),
        rater_section(here),
        faction_section(here),
        ceiling_section(here),
        flag_section(here),
        protocol_section(here),
        data_section(here),
        method_section(here),
    ]
    subtitle = Markup("{}: {}. Design: {}").format(
        brief(here.study),
        count_noun(len(here.criteria), "criterion", "criteria"),
        brief(here.design, 200).rstrip(".") + ".",
    )
    cards = [_verdict_card(here), _strongest_card(here)]
    with_ceilings = [c for c in here.criteria if c.ceilings is not None]
    if with_ceilings:
        cards.append(_ceiling_card(with_ceilings, "next_rater", "Next rater", "accuracy of one more rater"))
        cards.append(_ceiling_card(with_ceilings, "oracle", "Oracle", "accuracy if every pair's odds were known"))
    reading = Markup(
        "Intervals in brackets are at the {} level. Each number of this page carries its path in the JSON of the same "
        "check."
    ).format(level_words(here))
    return Page(
        title="Is there signal in these judgments?",
        tab=f"Signal check: {brief(report.study)}",
        subtitle=subtitle,
        kicker=f"Salon check · {brief(report.study)}" + (" · simulated" if report.simulated else ""),
        banner=SIMULATED if report.simulated else "",
        answer=Answer(_answer_words(here), order_figure(here, cohorts), _next_steps(here)),
        cards=cards,
        sections=[section for section in sections if section is not None],
        notes=[*([SIMULATED] if report.simulated else []), reading],
        signature=one_way(report.signature_line),
    )


# -- the first screen --------------------------------------------------------------------------------------------------

MOST_NAMES = 4
"""Criteria that a sentence of the first screen names."""


def _answer_words(report: CheckReport) -> list[str]:
    """The verdicts in a sentence or two, and the ends of the chart."""
    criteria = report.criteria
    if not criteria:
        return ["The study holds no judgments of a criterion."]
    if len(criteria) == 1:
        return [brief(criteria[0].sentence, LONGEST_SENTENCE)]
    agreeing = [c for c in criteria if c.agree == "yes"]
    tastes = {"as one taste on {}": "one taste", "in camps on {}": "camps"}
    tastes["on {} we cannot tell one taste from camps"] = "cannot tell"
    kinds = [
        Markup(words).format(fixed(number, 0))
        for words, taste in tastes.items()
        if (number := sum(c.taste == taste for c in agreeing))
    ]
    words = Markup("Raters agree more than chance on {} of {}").format(
        fixed(len(agreeing), 0), count_noun(len(criteria), "criterion", "criteria")
    )
    answer = words + (Markup(": {}.").format(join_names(kinds)) if kinds else Markup("."))
    for agree, text in (("no", " No agreement on {}."), ("cannot tell", " Too little data to tell on {}.")):
        if names := [c.name for c in criteria if c.agree == agree]:
            answer += Markup(text).format(_some_names(names, report))
    with_tau = sorted(criteria_with_tau(criteria), key=lambda c: c.statistics.mean_tau or 0.0)
    if len(with_tau) < 2:
        return [answer]
    ends = [(c.name, fixed(c.statistics.mean_tau, DECIMALS)) for c in (with_tau[-1], with_tau[0])]
    return [
        answer,
        Markup("Strongest: {}, mean τ {}. Weakest: {}, mean τ {}. Random raters would give zero.").format(
            *ends[0], *ends[1]
        ),
    ]


def _next_steps(report: CheckReport) -> list[str]:
    """What the verdicts ask for, the most urgent first."""

    def names(agree: str, *tastes: str | None) -> Markup | None:
        chosen = [c.name for c in report.criteria if c.agree == agree and c.taste in tastes]
        return _some_names(chosen, report) if chosen else None

    steps = [
        (names("no", None), "Do not score or train on {}: raters are not shown to agree. Rewrite the question or drop "
         "it."),
        (names("cannot tell", None), "Collect more answers on {}. <code>salon plan</code> says how many."),
        (names("no", "camps"), "Score each camp on {} by itself: the camps contradict each other."),
        (names("yes", "camps"), "Score each camp on {} by itself: one score would mix different tastes."),
        (names("yes", "cannot tell"), "Treat scores on {} as an average: there may be camps. More answers would tell."),
        (names("yes", "one taste"), "Turn the answers on {} into scores: <code>salon fuse</code>."),
    ]  # fmt: skip
    sentences: list[str] = [Markup(words).format(subject) for subject, words in steps if subject is not None]
    if _warnings(report):
        sentences.insert(0, Markup('Read the <a href="#verdicts">warnings</a> first.'))
    flagged = sum(bool(rater.flags) for rater in report.raters)
    if flagged:
        link = Markup('<a href="#raters">Raters</a>')
        sentences.append(Markup("Look at {}: see {}.").format(count_noun(flagged, "flagged rater"), link))
    if any(c.ceilings is not None for c in report.criteria):
        link = Markup('<a href="#ceilings">ceilings</a>')
        sentences.append(Markup("Quote both {} beside the accuracy of a model on these answers.").format(link))
    return sentences


def _some_names(names: Sequence[str], report: CheckReport, most: int = MOST_NAMES) -> Markup:
    """`all criteria`, or the first names and how many more there are."""
    if len(names) == len(report.criteria) and len(names) > 1:
        return Markup("all criteria")
    more = [count_noun(len(names) - most, "other criterion", "other criteria")] if len(names) > most + 1 else []
    return join_names([*(names[:most] if more else names), *more])


# -- verdicts ----------------------------------------------------------------------------------------------------------

MOST_ALIKE = 3
"""Criteria of one verdict that have a line each; more share one."""
MOST_LISTED = 12


def _warnings(report: CheckReport) -> list[Note]:
    messages = [sentence(words) for words in report.warnings]
    return [Note(words, "alert", "Warning.") for words in messages if words != SIMULATED]


def verdict_section(report: CheckReport) -> Section:
    """Warnings first, then what is concluded about each criterion, cohort by cohort."""
    several = len({c.cohort for c in report.criteria}) > 1
    order = list(dict.fromkeys(c.cohort for c in report.criteria))
    ranked = sorted(report.criteria, key=lambda c: order.index(c.cohort))
    verdicts = [
        VerdictLine(
            c.name, badge(c), brief(c.sentence, LONGEST_SENTENCE), f"Cohort: {cohort_name(c)}" if several else ""
        )
        for c in ranked
    ]
    groups: dict[tuple[str, str], list[VerdictLine]] = {}
    for line in verdicts:
        groups.setdefault((line.group, line.badge.words), []).append(line)
    lines = [line for alike in groups.values() for line in _joined(alike)]
    verdict_block = Verdicts(lines) if verdicts else "The study holds no judgments of a criterion."
    each = fold("The verdict on each criterion, with its numbers", Verdicts(verdicts)) if lines != verdicts else []
    blocks = [*_warnings(report), verdict_block, *each]
    return Section("Verdicts", blocks, "Do raters agree more than chance? If so, as one taste or as camps?")


def _joined(lines: Sequence[VerdictLine]) -> list[VerdictLine]:
    """Many criteria of one verdict in one line, with their names."""
    if len(lines) <= MOST_ALIKE:
        return list(lines)
    names = [line.subject for line in lines]
    more = [count_noun(len(names) - MOST_LISTED, "other")] if len(names) > MOST_LISTED else []
    subject = count_noun(len(lines), "criterion", "criteria")
    return [replace(lines[0], subject=subject, sentence=join_names([*names[:MOST_LISTED], *more]) + ".")]


def _verdict_card(report: CheckReport) -> Card:
    if len(report.criteria) == 1:
        first = report.criteria[0]
        _, tone = VERDICTS[first.agree, first.taste]
        return Card("Do raters agree more than chance?", first.answer, first.name, tone)
    agreeing = [c for c in report.criteria if c.agree == "yes"]
    words = Markup("{} of {}").format(fixed(len(agreeing), 0), fixed(len(report.criteria), 0))
    tastes = [f"as {c.taste}" if c.taste != "cannot tell" else "one taste or camps: cannot tell" for c in agreeing]
    without_agreement = [f"agreement: {c.agree}" for c in report.criteria if c.agree != "yes"]
    counts = [*Counter(tastes).most_common(), *Counter(without_agreement).most_common()]
    note = Markup("; ").join(Markup("{} in {}").format(what, fixed(n, 0)) for what, n in counts)
    return Card("Criteria on which raters agree", words, note, "clear" if agreeing else "none")


def _strongest_card(report: CheckReport) -> Card:
    best = next(iter(criteria_with_tau(report.criteria)), None)
    if best is not None:
        ends = best.statistics.intervals["mean_tau"]
        value = estimate_value((best.statistics.mean_tau, ends.low, ends.high), None, DECIMALS)
        return Card("Strongest signal, mean τ", value, f"{best.name}. Random raters give zero.")
    paired = [(c.pair_agreement, c.name) for c in report.criteria if c.pair_agreement is not None]
    if not paired:
        return Card("Strongest signal", "–", "no criterion has two answers on one pair", "thin")
    agreement, name = max(paired, key=lambda entry: entry[0].value)
    value = estimate_value(agreement, None)
    return Card("Strongest signal, agreement of two votes", value, f"{name}. Random raters give zero.")


def _ceiling_card(criteria: list[CriterionFigures], field: str, label: str, meaning: str) -> Card:
    """One criterion: its range. Several: from the lowest to the highest."""
    low = min(criteria, key=lambda c: getattr(c.ceilings, f"{field}_range")[0])
    high = max(criteria, key=lambda c: getattr(c.ceilings, f"{field}_range")[1])
    if len(criteria) == 1:
        value = law_range(getattr(low.ceilings, f"{field}_range"))
        note = law_range_note(getattr(low.ceilings, field))
        return Card(f"{label} ceiling", value, Markup("{}; {}").format(meaning, note))
    value = law_range((getattr(low.ceilings, f"{field}_range")[0], getattr(high.ceilings, f"{field}_range")[1]))
    return Card(f"{label} ceiling", value, f"{meaning}; lowest {low.name}, highest {high.name}")


# -- ceilings ----------------------------------------------------------------------------------------------------------

MOST_SPLIT_ROWS = 200
MOST_DRAWN = 20
MOST_BARS = 40
"""Criteria whose splits are drawn."""
NO_PAIR = "no pair split so"
Split = tuple[int, int]
QUOTED_CEILINGS = ("next_rater", "oracle")
QUOTED_COLUMNS = [
    replace(column, kind="text", decimals=None) for column in columns_of(CeilingFigures, *QUOTED_CEILINGS)
]
"""Ranges, written as words."""
NAME = columns_of(CriterionFigures, "name")[0]
PAPER_CEILINGS = {
    "panel": ("Panel", "A rater against a majority the rater is part of; some papers call this leave-one-out"),
    "leave_one_out": ("Leave one out, ties half", "A rater against the majority of the others"),
    "leave_one_out_dropped": ("Leave one out, ties dropped", "The same over judgments where the others are not tied"),
    "cap": ("Cap (not a bound)", "One for each pair decided by more than one vote, a half for the rest"),
}


def ceiling_section(report: CheckReport) -> Section | None:
    """The two ceilings to quote, then the papers', then how panels split."""
    criteria = [c for c in report.criteria if c.ceilings is not None]
    if not criteria:
        return None
    quote = Note(
        "The next rater is what one more person of the same kind would reach against this panel, the oracle what a "
        "predictor that knew every pair's true odds would reach. A few votes a pair do not fix either: any law of pair "
        "odds that fits the votes is possible, so each is a range. An accuracy suggests a leak only where its whole "
        "interval is above the oracle's.",
        "clear",
        "Quote these two ranges.",
    )
    missing = [c.name for c in report.criteria if c.ceilings is None]
    absent = [Note(Markup("No ceilings: {}.").format(join_names(missing)), "thin")] if missing else []
    figure = _ceiling_figure(criteria) if len(criteria) <= MOST_DRAWN else None
    columns = [NAME]
    columns += [Column(name, header, "estimate", hint=hint) for name, (header, hint) in PAPER_CEILINGS.items()]
    rows = [{"name": c.name, **{name: getattr(c.ceilings, name) for name in PAPER_CEILINGS}} for c in criteria]
    caption = Markup(
        "Ceilings found in papers, for comparison only, with {} intervals. The panel's figure counts the rater's own "
        "vote; the cap is not a bound: an oracle may exceed it."
    ).format(level_words(report))
    paper_table = cap_criteria(Table(columns, rows, caption))
    blocks = [
        _ceiling_words(report, criteria),
        quote,
        *absent,
        *fold("Both ceilings of each criterion", figure, _quoted_table(report, criteria)),
        *fold("Other ceilings found in papers", *_study_table(report), paper_table),
        *fold("How the raters split on item pairs", *_buckets(report, criteria)),
    ]
    return Section("Ceilings", blocks, "How good can a model get on these answers?")


def _ceiling_words(report: CheckReport, criteria: Sequence[CriterionFigures]) -> Prose:
    """The two ranges of the whole study, or from criterion to criterion."""
    pooled = report.together.pooled if report.together else criteria[0].ceilings if len(criteria) == 1 else None
    if pooled is not None:
        spans = [getattr(pooled, f"{field}_range") for field in QUOTED_CEILINGS]
        where = "On all pairs together" if report.together else "On these pairs"
    else:
        each = [[getattr(c.ceilings, f"{field}_range") for c in criteria] for field in QUOTED_CEILINGS]
        spans = [(min(span[0] for span in part), max(span[1] for span in part)) for part in each]
        where = "From the lowest to the highest criterion"
    words = "{}, one more rater would agree with the majority at a rate of {}, and an oracle at a rate of {}."
    return Prose(Markup(words).format(where, *map(law_range, spans)))


def _ceiling_figure(criteria: Sequence[CriterionFigures]) -> Chart:
    """Both ceilings of every criterion, one row each."""
    rows = []
    for c in criteria:
        for field, words in (("next_rater", "next rater"), ("oracle", "oracle")):
            figure = getattr(c.ceilings, field)
            rows.append((c.name if field == "next_rater" else "", figure.value, figure.low, figure.high, words))
    drawing = charts.dot_intervals(
        rows, 0.5, title="Next rater and oracle by criterion", x_label="accuracy against the panel's majority",
        null_label="chance", tones=("cohort-3", "cohort-4"), sort=False, within=(0.0, 1.0),
    )  # fmt: skip
    return Chart(
        drawing,
        "For each criterion the next rater above the oracle: the interval over all laws of pair odds that fit, "
        "and as its dot a beta law, or the nearest that fits. Line: chance.",
    )


def _quoted_table(report: CheckReport, criteria: Sequence[CriterionFigures]) -> Table:
    columns = [
        NAME,
        *QUOTED_COLUMNS,
        *columns_of(CeilingFigures, "pairs"),
        Column("tied_share", "Tied panels", "percent", hint="Pairs whose majority is a tie"),
        *columns_of(CeilingFigures, "left_out"),
    ]
    rows = []
    for c in criteria:
        assert c.ceilings is not None
        both = {field: _range_cell(c.ceilings, field) for field in QUOTED_CEILINGS}
        counts = {name: getattr(c.ceilings, name) for name in ("pairs", "tied_share", "left_out")}
        rows.append({"name": c.name, **both, **counts})
    caption = Markup(
        "Ceilings to quote: the range over all laws of pair odds that fit the votes. Below each its {} interval, and "
        "what a beta law gives."
    ).format(level_words(report))
    return cap_criteria(Table(columns, rows, caption))


def _range_cell(ceilings: CeilingFigures, field: str) -> Cell:
    figure = getattr(ceilings, field)
    return Cell(law_range(getattr(ceilings, f"{field}_range")), figure.method, law_range_note(figure))


def _study_table(report: CheckReport) -> list[Block]:
    """One row for the whole study."""
    ceilings = report.together
    if ceilings is None:
        return []
    names = {c.criterion: c.name for c in report.criteria}
    columns = [*columns_of(CeilingFigures, "pairs"), *QUOTED_COLUMNS]
    columns += [Column(name, PAPER_CEILINGS[name][0], "estimate") for name in ("panel", "leave_one_out", "cap")]
    columns += [Column(f"b{n}", name.replace("-", "–"), "estimate") for n, name in enumerate(ceilings.pooled.buckets)]
    shares = {f"b{n}": share for n, share in enumerate(ceilings.pooled.buckets.values())}
    row = {name: getattr(ceilings.pooled, name) for name in ("pairs", "panel", "leave_one_out", "cap")}
    row |= {field: _range_cell(ceilings.pooled, field) for field in QUOTED_CEILINGS}
    caption = Markup(
        "The whole study: all pairs of {} together, with {} intervals. The mean panel over criteria is {}, from "
        "{} ({}) to {} ({})."
    ).format(
        count_noun(ceilings.criteria, "criterion", "criteria"), level_words(report), fixed(ceilings.mean_panel),
        fixed(ceilings.lowest_panel), names.get(ceilings.lowest, ceilings.lowest), fixed(ceilings.highest_panel),
        names.get(ceilings.highest, ceilings.highest),
    )  # fmt: skip
    return [Table(columns, [row | shares], caption, sortable=False)]


def _buckets(report: CheckReport, criteria: Sequence[CriterionFigures]) -> list[Block]:
    """The panel size most criteria have as a chart and a table; other sizes as one list."""
    splits_of = {c.name: _splits(c) for c in criteria}
    sizes = [size for splits in splits_of.values() for size in {larger + rest for larger, rest in splits}]
    if not sizes:
        return []
    main = max(sizes, key=lambda size: (sizes.count(size), size))
    main_splits = {name: splits for name, splits in splits_of.items() if any(sum(split) == main for split in splits)}
    columns = sorted({split for splits in main_splits.values() for split in splits if sum(split) == main}, reverse=True)
    shares = (
        (name, [splits[s].value if s in splits else 0.0 for s in columns]) for name, splits in main_splits.items()
    )
    bars = list(islice(shares, MOST_BARS))
    # The folded binomial of this panel size, from any shape that has it.
    nulls = [s.pmax_null for c in report.criteria for s in c.shapes if s.raters == main]
    null = next((list(reversed(shares)) for shares in nulls if len(shares) == len(columns)), None)
    drawing = charts.bucket_bar(bars, list(map(_split_words, columns)), null, title="Item pairs by split of the panel")
    rows = [
        {"name": name, **{str(i): Cell(splits.get(s), "" if s in splits else NO_PAIR) for i, s in enumerate(columns)}}
        for name, splits in main_splits.items()
    ]
    heads = [Column(str(i), _split_words(split), "estimate") for i, split in enumerate(columns)]
    caption = Markup("Share of item pairs by split of the panel, with {} intervals.").format(level_words(report))
    other_splits = [
        (name, split, share)
        for name, splits in splits_of.items()
        for split, share in splits.items()
        if sum(split) != main
    ]
    return [
        Chart(
            drawing,
            "How often all raters of a panel agreed."
            + ("" if len(bars) == len(main_splits) else " Drawn are the first criteria; the table has all."),
        ),
        cap_criteria(Table([NAME, *heads], rows, caption)),
        *_other_sizes(other_splits),
    ]


def _splits(c: CriterionFigures) -> dict[Split, Estimate]:
    """Buckets by (larger, smaller) camp, read off their names: '4-1', or '4-1 of 5' where panels differ in size."""
    assert c.ceilings is not None
    splits = {}
    for name, figure in c.ceilings.buckets.items():
        camps = re.match(r"(\d+)-(\d+)", name)
        if camps:
            splits[int(camps[1]), int(camps[2])] = figure
    return splits


def _split_words(split: Split) -> str:
    return f"{split[0]}–{split[1]}"


def _other_sizes(splits: Sequence[tuple[str, Split, Estimate]]) -> list[Block]:
    if not splits:
        return []
    rows = [
        {"name": name, "size": f"{sum(split)} raters", "split": _split_words(split), "share": figure}
        for name, split, figure in splits[:MOST_SPLIT_ROWS]
    ]
    columns = [
        NAME,
        Column("size", "Panel"),
        Column("split", "Split"),
        Column("share", "Share", "estimate"),
    ]
    left = len(splits) - len(rows)
    more = Markup(" {} in the JSON.").format(count_noun(left, "more row")) if left else Markup("")
    return [Table(columns, rows, "Other panel sizes; shares among the pairs with that number of raters." + more)]


# -- data and method ---------------------------------------------------------------------------------------------------

MADE_BY_TIE_BREAK = (
    " Made by tie-break: the mean τ that breaking ties alike for every rater makes of shuffled answers, with no "
    "preference left in them."
)
STATISTIC_DECIMALS = {"agreement": 3, "T": 2, "p_max": 2, "cycle": 0, "pairs": 3}
METHOD = """The first answer rests on one test: the total agreement over prompts, that is concordant minus discordant
pairs of votes, against its law under random raters, adjusted over criteria after Holm. It needs no interval and holds
for one prompt as for many. A tie is no vote to it.

The null. Every rater ranks uniformly at random, independently of all others. T, the p max histogram and the
cycle indicator all depend only on the votes on each pair, so one enumeration gives their joint law; where it is too
large the page says Monte Carlo and how many prompts were drawn.

T is a function of the p max histogram: the two tests look at the same evidence and are not independent. The pairs of
one prompt are dependent, so the p max statistic follows a weighted sum of chi-squares; the usual chi-square law is
wrong for it, and its p is printed only as the naive one.

Cycles at or below the null do not exclude factions. Factions are tested where they would show: in the matrix of mean τ
between raters, against one shared order with each rater's own noise. Without enough power for that the second answer is
that one taste or camps cannot be told.

Ceilings. Accuracy is measured against the panel's majority. The next rater and the oracle are ranges over every law
of pair probabilities that the votes allow; a fitted beta law is one point of each. Panel, leave-one-out and cap are
given for comparison with papers: the panel's figure counts the rater's own vote, and the cap is not a bound."""


def data_section(report: CheckReport) -> Section:
    """Protocol, size and ties of each criterion."""
    stable = any(c.tie_control is not None for c in report.criteria)
    columns = [
        NAME,
        *(columns_of(CriterionFigures, "cohort") if any(c.cohort for c in report.criteria) else []),
        *columns_of(CriterionFigures, "protocol", "prompts", "judgments", "tie_rate"),
        *([Column("control", "Made by tie-break", "number", hint="Mean τ of shuffled answers")] if stable else []),
    ]
    rows = []
    for c in report.criteria:
        row = {name: getattr(c, name) for name in ("name", "protocol", "prompts", "judgments", "tie_rate")}
        why = "" if c.tie_control is not None else "ties were not broken alike for all raters"
        rows.append(row | {"cohort": cohort_name(c), "control": Cell(c.tie_control, why)})
    caption = "Answers by criterion." + (MADE_BY_TIE_BREAK if stable else "")
    if not rows:
        return Section("Data", ["The study holds no judgments of a criterion."], "What was judged.")
    protocols = list(dict.fromkeys(c.protocol for c in report.criteria))
    words = Markup("{} from {}; answers come as {}.").format(
        count_noun(len(report.criteria), "criterion", "criteria"),
        count_noun(len(report.raters), "rater") if report.raters else "unnamed raters",
        join_names(protocols),
    )
    blocks: list[Block] = [Prose(words), *fold("Answers by criterion", Table(columns, rows, caption))]
    blocks += fold("What was done about ties, gaps and skipped answers", *policy_table(report))
    return Section("Data", blocks, "What was judged.")


def policy_table(report: CheckReport) -> list[Table]:
    """Each policy once, with the criteria it was applied to."""
    policies = group_by_reason((c.name, policy) for c in report.criteria for policy in c.policies)
    if not policies:
        return []
    rows = [{"policy": sentence(policy), "criteria": _criteria_words(names, report)} for policy, names in policies]
    several = len(report.criteria) > 1
    columns = [Column("policy", "Policy"), *([Column("criteria", "Criteria")] if several else [])]
    return [Table(columns, rows, sortable=False, label="Policies")]


def _criteria_words(names: list[str], report: CheckReport) -> Markup:
    return Markup("all") if len(names) == len(report.criteria) else join_names(names)


def method_section(report: CheckReport) -> Section:
    """How to read the tests, and the law behind each."""
    seed = report.signature.seed
    words = Markup("Intervals are at the {} level, from whole prompts drawn again.").format(level_words(report))
    if seed is not None:
        words += Markup(" Everything drawn by chance comes from seed {}.").format(fixed(seed, 0))
    return Section(
        "Method",
        [
            Prose(words),
            *fold(
                "How the tests and ceilings work",
                Prose(METHOD.replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n\n")),
            ),
            *_laws(report),
        ],
        "How the numbers were made.",
    )


def _laws(report: CheckReport) -> list[Block]:
    """Statistics by criterion and test, then each law once with the criteria it was used for."""
    tests = [(c, t) for c in report.criteria for t in c.tests if t.refused is None]
    if not tests:
        return [Note("No test could be made.", "thin")]
    used = [name for name in TESTS if any(t.name == name for _, t in tests)]
    rows = []
    for criterion in dict.fromkeys(c.name for c, _ in tests):
        row: dict[str, object] = {"name": criterion, **{name: Cell(None, "not tested") for name in used}}
        for test in [t for c, t in tests if c.name == criterion]:
            under = Markup("")
            if test.n is not None:
                under = Markup("n {}").format(count_noun(test.n, test.unit) if test.unit else fixed(test.n, 0))
            row[test.name] = Cell(test.statistic, test.law or "", under)
        rows.append(row)
    columns = [
        NAME,
        *(Column(name, TESTS[name], "number", STATISTIC_DECIMALS[name]) for name in used),
    ]
    laws = [(c.name, f"{TESTS[t.name]}: {t.law}") for c in report.criteria for t in c.tests if t.law]
    laws += [(c.name, f"Factions: {c.factions.law}") for c in report.criteria if c.factions and c.factions.law]
    law_rows = [
        {"law": brief(law, 200), "criteria": _criteria_words(names, report)} for law, names in group_by_reason(laws)
    ]
    law_columns = [Column("law", "Law under the null"), Column("criteria", "Criteria")]
    return fold(
        "Test statistics, and the law of each test",
        cap_criteria(Table(columns, rows, "Test statistics, and below each the n it rests on.")),
        Table(law_columns, law_rows, "The law each test was compared with.", sortable=False),
    )
