"""Judges of checklists against the people who ticked: each judge, every two, and several as one.

A tick is a point of an item under a criterion. People's answers are those of all raters that are no models, repeats
left out; more than half of them make the majority.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.check import CeilingFigures
from salon.errors import StatsError, UnknownReference
from salon.evaluate.accuracy import drawing, panel_splits
from salon.evaluate.answers import JudgeSource, unknown_label
from salon.evaluate.judge_figures import spoken_words, usage_figures
from salon.evaluate.people import Bools, Ints
from salon.evaluate.results import (
    DisputedPoint,
    JointAnswers,
    ReportSettings,
    TickAgreement,
    TickCriterion,
    TickJudgeFigures,
    TickKind,
    TickPanelFigures,
    TickPoint,
    TickReport,
    TickSplit,
    WorstTick,
)
from salon.stats import (
    NO,
    TICK_ODDS,
    UNREAD_TICK,
    YES,
    Estimate,
    Resampling,
    TickCeilings,
    TickRates,
    leak_warnings,
    match_rate,
    self_agreement,
    tick_accuracy,
    tick_ceilings,
    tick_difference,
    tick_table,
)
from salon.study import Point, Route, Rule, Study, agreed, find_route, majority_of_samples

Tick = tuple[str, str, str]
"""(criterion, item, point)"""
Samples = Mapping[Tick, Sequence[float | None]]
"""What a judge said of each tick it was asked about: 1, 0, or None where it could not be read."""
NOT_ASKED = -1
NO_CEILING = "ceilings need two answers to a point, and a majority on some"
RULES: tuple[Rule, ...] = ("majority", "unanimous")
FEWEST = 2


@dataclass(frozen=True)
class TickPanel:
    """People's answers, in the order of the study's criteria, then items and points."""

    ticks: tuple[Tick, ...]
    criterion: Ints
    """Number of each tick's criterion in the study."""
    prompt: Ints
    """Ticks of one prompt share a number; an item without a prompt stands for itself."""
    yes: Ints
    no: Ints

    @cached_property
    def raters(self) -> Ints:
        """Answers to each tick."""
        return self.yes + self.no

    @cached_property
    def majority(self) -> Ints:
        """YES or NO; where `decided` is False it means nothing."""
        return np.where(self.yes > self.no, YES, NO)

    @cached_property
    def decided(self) -> Bools:
        """Ticks with a majority."""
        mask: Bools = self.yes != self.no
        return mask

    def on(self, criterion: int) -> Ints:
        """Rows of one criterion."""
        return np.flatnonzero(self.criterion == criterion)


@dataclass(frozen=True)
class TickJudge(JudgeSource):
    """A judge that answered checklists."""

    name: str
    kind: TickKind
    answers: Samples
    everywhere: bool = False
    """Whether a tick without an answer was asked too, and the answer could not be read."""
    criteria: frozenset[str] = field(default=frozenset())
    """The criteria it answered under."""

    def on(self, panel: TickPanel) -> TickAnswers:
        """What it says of the ticks of the panel; of several samples what more than half say."""
        words = {None: UNREAD_TICK, True: YES, False: NO}
        codes = [
            words[majority_of_samples(self.answers[tick])]
            if tick in self.answers
            else UNREAD_TICK if self.everywhere and tick[0] in self.criteria else NOT_ASKED
            for tick in panel.ticks
        ]  # fmt: skip
        return TickAnswers(self, panel, np.array(codes, np.int64))


@dataclass(frozen=True)
class TickAnswers:
    """What a judge says of the ticks of a panel."""

    judge: TickJudge
    panel: TickPanel
    said: Ints
    """For each tick of the panel YES, NO, UNREAD_TICK or NOT_ASKED."""

    @cached_property
    def rows(self) -> Ints:
        """Asked about, and decided by people."""
        return np.flatnonzero((self.said != NOT_ASKED) & self.panel.decided)

    @cached_property
    def hits(self) -> Bools:
        """For each tick of the panel: does the judge say what the majority says?"""
        mask: Bools = self.said == self.panel.majority
        return mask


def tick_panel(study: Study) -> TickPanel:
    """What the people of `study` ticked; empty where nobody did."""
    models = {rater.id for rater in study.nouns("raters") if rater.kind == "model"}
    votes: dict[Tick, list[int]] = {}
    for noun in study.nouns("checklists"):
        if noun.rater in models or noun.repeat:
            continue
        for point, answer in zip(noun.points, noun.answers):
            if answer is not None:
                votes.setdefault((noun.criterion, noun.item, point), [0, 0])[0 if answer else 1] += 1
    number = {criterion.id: place for place, criterion in enumerate(study.criteria)}
    ticks = tuple(sorted(votes, key=lambda tick: (number[tick[0]], *tick[1:])))
    prompts = {item.id: ("prompt", item.prompt) if item.prompt else ("item", item.id) for item in study.nouns("items")}
    clusters = {cluster: place for place, cluster in enumerate(dict.fromkeys(prompts[tick[1]] for tick in ticks))}
    counts = np.array([votes[tick] for tick in ticks], np.int64).reshape(-1, 2)
    return TickPanel(
        ticks=ticks,
        criterion=np.array([number[tick[0]] for tick in ticks], np.int64),
        prompt=np.array([clusters[prompts[tick[1]]] for tick in ticks], np.int64),
        yes=counts[:, 0],
        no=counts[:, 1],
    )


def verdict_ticks(
    name: str, table: pa.Table, study: Study, *, simulated: bool = False, signature: str | None = None
) -> TickJudge | None:
    """The judge behind a table of verdicts, of those about points; None without any."""
    labels = {"criteria": {criterion.id for criterion in study.criteria}, "items": set(study.ids("items").to_pylist())}
    samples: dict[Tick, list[float | None]] = {}
    for row in table.select(["criterion", "a", "point", "value"]).to_pylist():
        if row["point"] is None:
            continue
        for kind, label in (("criteria", row["criterion"]), ("items", row["a"])):
            if label not in labels[kind]:
                raise unknown_label(study, kind, label, name)
        samples.setdefault((row["criterion"], row["a"], row["point"]), []).append(row["value"])
    if not samples:
        return None
    return TickJudge(name, "checklist", samples, table=table, simulated=simulated, signature=signature)


def rater_ticks(study: Study, *, everywhere: bool) -> list[TickJudge]:
    """The raters of the study that are models and answered checklists, by name."""
    models = {rater.id for rater in study.nouns("raters") if rater.kind == "model"}
    by_rater: dict[str, dict[Tick, list[float | None]]] = {}
    for noun in study.nouns("checklists"):
        if noun.rater in models and not noun.repeat:
            samples = by_rater.setdefault(noun.rater, {})
            for point, answer in zip(noun.points, noun.answers):
                value = None if answer is None else float(answer)
                samples.setdefault((noun.criterion, noun.item, point), []).append(value)
    return [
        TickJudge(name, "rater", samples, everywhere=everywhere, criteria=frozenset(tick[0] for tick in samples))
        for name, samples in sorted(by_rater.items())
    ]


# -- the figures -------------------------------------------------------------------------------------------------------


def tick_report(
    study: Study,
    panel: TickPanel,
    judges: Sequence[TickJudge],
    settings: ReportSettings,
    *,
    routing: Routing | None = None,
    progress: Callable[[str], None] = lambda judge: None,
) -> TickReport | None:
    """Every judge of checklists against people, best macro accuracy first; None where none met a tick of theirs."""
    answers = [entry for entry in (judge.on(panel) for judge in judges) if len(entry.rows)]
    if not answers:
        return None
    tops = [_ceilings(panel, number, settings) for number in range(len(study.criteria))]
    figures = []
    for entry in answers:
        progress(entry.judge.name)
        figures.append(_judge_figures(study, entry, tops, settings))
    figures.sort(key=lambda entry: (-entry.macro.accuracy.value, entry.name))
    by_name = {entry.judge.name: entry for entry in answers}
    best = by_name[figures[0].name]
    rest = (
        entry.model_copy(update={"to_best": _to_best(by_name[entry.name], best, settings)}) for entry in figures[1:]
    )
    codes = {entry.judge.name: entry.said for entry in answers}
    agreements = (_agreement(*pair, settings) for pair in combinations(answers, 2))
    return TickReport(
        panel=tuple(
            _panel_figures(study, panel, number, tops[number], settings) for number in np.unique(panel.criterion)
        ),
        judges=(figures[0], *rest),
        agreement=tuple(entry for entry in agreements if entry is not None),
        together=joint_answers(panel, codes, settings, routing),
        disputed=disputed_points(panel, list(codes.values())),
    )


def _judge_figures(
    study: Study, answers: TickAnswers, tops: Sequence[TickCeilings | None], settings: ReportSettings
) -> TickJudgeFigures:
    rng = settings.rng(f"ticks\n{answers.judge.name}")
    resampling = drawing(settings, rng)
    judge, panel, rows = answers.judge, answers.panel, answers.rows
    about = (panel.majority[rows], panel.prompt[rows], panel.criterion[rows])
    accuracy = tick_accuracy(tick_table(answers.said[rows], *about, of=len(study.criteria)), **resampling)
    macro = accuracy.macro
    samples = [Counter(judge.answers.get(tick, ())) for tick in panel.ticks]
    counts = np.array([[count[1.0], count[0.0]] for count in samples], np.int64).reshape(-1, 2)
    again = (counts.sum(axis=1) >= 2).any()
    against = rows[~answers.hits[rows] & (answers.said[rows] != UNREAD_TICK)]
    return TickJudgeFigures(
        name=judge.name,
        kind=judge.kind,
        simulated=judge.simulated,
        signature=judge.signature,
        macro=macro,
        pooled=accuracy.pooled,
        self_agreement=self_agreement(counts, panel.prompt, **resampling) if again else None,
        samples=max(map(len, judge.answers.values())),
        splits=_splits(answers, resampling),
        criteria=tuple(
            _criterion(
                study,
                answers,
                number,
                part,
                tops,
            )
            for number, part in enumerate(accuracy.by_criterion)
            if (answers.said[panel.on(number)] != NOT_ASKED).any()
        ),
        points=_points(answers, resampling),
        usage=usage_figures(judge.table, macro.balanced),
        worst=_worst_ticks(study, judge, panel, against, settings.worst),
        worst_of=len(against),
    )


def _criterion(
    study: Study, answers: TickAnswers, number: int, figures: TickRates | None, tops: Sequence[TickCeilings | None]
) -> TickCriterion:
    panel, id = answers.panel, study.criteria[number].id
    here = panel.on(number)
    rows = here[answers.said[here] != NOT_ASKED]
    warnings = []
    if figures is not None:
        if figures.gain.high is not None and figures.gain.low is not None and figures.gain.low <= 0:
            warnings.append(
                f"No clear difference to one fixed answer to everything, which has {figures.constant.value:.3f}."
            )
        top = tops[number]
        warnings += [] if top is None else leak_warnings(figures.accuracy, top.oracle, TICK_ODDS)
    ticks = set(panel.ticks)
    return TickCriterion(
        criterion=id,
        name=study.criteria[number].title,
        figures=figures,
        asked=len(rows),
        decided=int(panel.decided[rows].sum()),
        panel_ticks=int(panel.decided[here].sum()),
        unvoted=sum(tick[0] == id and tick not in ticks for tick in answers.judge.answers),
        warnings=tuple(warnings),
    )


def _splits(answers: TickAnswers, resampling: Resampling) -> tuple[TickSplit, ...]:
    """Accuracy by how people split, clearest first."""
    panel, rows = answers.panel, answers.rows
    yes, no = panel.yes[rows], panel.no[rows]
    return tuple(
        TickSplit(
            split=name,
            accuracy=match_rate(answers.hits[rows[members]], panel.prompt[rows[members]], **resampling),
            ticks=int(members.sum()),
        )
        for name, members in panel_splits(np.maximum(yes, no), np.minimum(yes, no))
        if members.any()
    )


def _points(answers: TickAnswers, resampling: Resampling) -> tuple[TickPoint, ...]:
    """Point by point, hardest first."""
    panel, codes = answers.panel, answers.said
    groups: dict[tuple[str, str], list[int]] = {}
    for row in answers.rows.tolist():
        criterion, _, point = panel.ticks[row]
        groups.setdefault((criterion, point), []).append(row)
    points = [
        TickPoint(
            criterion=criterion,
            point=point,
            accuracy=match_rate(answers.hits[rows], panel.prompt[rows], **resampling),
            ticks=len(rows),
            people_yes=int((panel.majority[rows] == YES).sum()),
            judge_yes=int((codes[rows] == YES).sum()),
            unread=int((codes[rows] == UNREAD_TICK).sum()),
        )
        for (criterion, point), rows in groups.items()
    ]
    return tuple(
        sorted(
            points,
            key=lambda tick_point: (
                tick_point.accuracy.value,
                -tick_point.ticks,
                tick_point.criterion,
                tick_point.point,
            ),
        )
    )


def _worst_ticks(study: Study, judge: TickJudge, panel: TickPanel, against: Ints, most: int) -> tuple[WorstTick, ...]:
    """Of the rows on which the judge is against the majority those where people are clearest, in the order of pairs."""
    clear = (np.maximum(panel.yes, panel.no)[against] + 1) / (panel.raters[against] + 2)
    texts = {} if judge.table is None else spoken_words(judge.table, "point")
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    cases = []
    for row in against[np.lexsort((against, -clear))][:most].tolist():
        criterion, item, point = tick = panel.ticks[row]
        votes = sorted((int(panel.yes[row]), int(panel.no[row])), reverse=True)
        cases.append(
            WorstTick(
                criterion=criterion,
                prompt=prompts[item],
                item=item,
                point=point,
                people=bool(panel.majority[row] == YES),
                votes=(votes[0], votes[1]),
                said=texts.get(tick),
            )
        )
    return tuple(cases)


def _to_best(judge: TickAnswers, best: TickAnswers, settings: ReportSettings) -> Estimate | None:
    """Macro accuracy less the best judge's on the ticks both met, drawn together."""
    panel, rows = judge.panel, np.intersect1d(judge.rows, best.rows)
    if not len(rows):
        return None
    about = (panel.majority[rows], panel.prompt[rows], panel.criterion[rows])
    tables = [tick_table(which.said[rows], *about, of=int(panel.criterion.max()) + 1) for which in (judge, best)]
    rng = settings.rng(f"ticks\n{judge.judge.name}\n{best.judge.name}")
    return tick_difference(*tables, **drawing(settings, rng))


def _agreement(first: TickAnswers, second: TickAnswers, settings: ReportSettings) -> TickAgreement | None:
    """One judge's answers held against the other's, where both could be read; a majority of people is not needed."""
    read = [np.isin(answers.said, (NOT_ASKED, UNREAD_TICK), invert=True) for answers in (first, second)]
    rows = np.flatnonzero(read[0] & read[1])
    if not len(rows):
        return None
    rng = settings.rng(f"ticks\n{first.judge.name}\n{second.judge.name}")
    table = tick_table(first.said[rows], second.said[rows], first.panel.prompt[rows])
    pooled = tick_accuracy(table, **drawing(settings, rng)).pooled
    return TickAgreement(
        first=first.judge.name, second=second.judge.name, agreement=pooled.accuracy, kappa=pooled.kappa, ticks=len(rows)
    )


def _ceilings(panel: TickPanel, number: int, settings: ReportSettings) -> TickCeilings | None:
    """Of the people on one criterion; None where too few answered a point, or all split evenly."""
    rows = panel.on(number)
    resampling = drawing(settings, settings.rng(f"ticks\n{number}"))
    try:
        return tick_ceilings(panel.yes[rows], panel.raters[rows], panel.prompt[rows], **resampling)
    except StatsError:
        return None


def _panel_figures(
    study: Study, panel: TickPanel, number: int, top: TickCeilings | None, settings: ReportSettings
) -> TickPanelFigures:
    rows = panel.on(number)
    decided = rows[panel.decided[rows]]
    low, high = int(panel.raters[rows].min()), int(panel.raters[rows].max())
    rate = None
    if len(decided):
        resampling = drawing(settings, settings.rng(f"passes\n{number}"))
        rate = match_rate(panel.majority[decided] == YES, panel.prompt[decided], **resampling)
    return TickPanelFigures(
        criterion=study.criteria[number].id,
        name=study.criteria[number].title,
        answers=int(panel.raters[rows].sum()),
        ticks=len(rows),
        points=len({panel.ticks[row][2] for row in rows}),
        tied=len(rows) - len(decided),
        raters=str(low) if low == high else f"{low} to {high}",
        pass_rate=rate,
        two_people=None if top is None else top.two_people,
        kappa=None if top is None else top.kappa,
        ceilings=CeilingFigures.of(top),
        no_ceiling=NO_CEILING if top is None else None,
    )


# -- several judges as one ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Routing:
    """Which judges answer which points: the points with their tags, and where tags go."""

    points: Sequence[Point]
    routes: Sequence[Route]


def joint_answers(
    panel: TickPanel, codes_by_judge: Mapping[str, Ints], settings: ReportSettings, routing: Routing | None = None
) -> tuple[JointAnswers, ...]:
    """By each rule, over the ticks that two judges or more were asked about; or by the routes given."""
    if routing is not None:
        return _joint_figures(panel, "routes", *_by_routes(panel, codes_by_judge, routing), settings)
    if len(codes_by_judge) < FEWEST:
        return ()
    codes = np.stack(list(codes_by_judge.values()), axis=1)
    rows = np.flatnonzero(((codes != NOT_ASKED).sum(axis=1) >= FEWEST) & panel.decided)
    answers = [[code for code in codes[row].tolist() if code != NOT_ASKED] for row in rows]
    return tuple(
        figures
        for rule in RULES
        for figures in _joint_figures(panel, rule, rows, answers, [rule] * len(rows), tuple(codes_by_judge), settings)
    )


def disputed_points(panel: TickPanel, codes: Sequence[Ints]) -> tuple[DisputedPoint, ...]:
    """Points on which judges disagree, the most disputed first; each tick that two judges were asked about counts."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row, answers in enumerate(np.stack(codes, axis=1)):
        if (answers != NOT_ASKED).sum() >= FEWEST:
            criterion, _, point = panel.ticks[row]
            count = counts.setdefault((criterion, point), [0, 0])
            count[0] += 1
            count[1] += bool((answers == YES).any() and (answers == NO).any())
    points = [
        DisputedPoint(criterion=criterion, point=point, ticks=ticks, disputed=disputed)
        for (criterion, point), (ticks, disputed) in counts.items()
        if disputed
    ]
    return tuple(
        sorted(
            points,
            key=lambda disputed_point: (
                -disputed_point.disputed / disputed_point.ticks,
                -disputed_point.ticks,
                disputed_point.criterion,
                disputed_point.point,
            ),
        )
    )


def _by_routes(
    panel: TickPanel, codes_by_judge: Mapping[str, Ints], routing: Routing
) -> tuple[Ints, list[list[int]], list[Rule], tuple[str, ...]]:
    """Rows with what the judges of each point's route say, the rule, and all judges.

    One that was not asked counts as unread, as `salon judge route` has it.
    """
    names = tuple(dict.fromkeys(name for route in routing.routes for name in route.judges))
    for name in names:
        if name not in codes_by_judge:
            raise UnknownReference(
                "the judges of every route must have answered points that people ticked",
                found=repr(name),
                remedy="one of " + ", ".join(codes_by_judge) + "; salon judge run STUDY --protocol checklist makes one",
            )
    routes = {point.id: find_route(point, routing.routes) for point in routing.points}
    rows, answers, rules = [], [], []
    for row in np.flatnonzero(panel.decided).tolist():
        route = routes.get(panel.ticks[row][2])
        codes = [] if route is None else [int(codes_by_judge[name][row]) for name in route.judges]
        if route is not None and any(code != NOT_ASKED for code in codes):
            rows.append(row)
            answers.append([UNREAD_TICK if code == NOT_ASKED else code for code in codes])
            rules.append(route.rule)
    return np.array(rows, np.int64), answers, rules, names


def _joint_figures(
    panel: TickPanel,
    rule: str,
    rows: Ints,
    answers: Sequence[Sequence[int]],
    rules: Sequence[Rule],
    judges: tuple[str, ...],
    settings: ReportSettings,
) -> tuple[JointAnswers, ...]:
    """What several judges say together about some rows, held against people; nothing without rows."""
    if not len(rows):
        return ()
    means, codes = {YES: True, NO: False, UNREAD_TICK: None}, {True: YES, False: NO, None: UNREAD_TICK}
    together = [codes[agreed([means[code] for code in row], tick_rule)] for row, tick_rule in zip(answers, rules)]
    settled = np.array(together, np.int64)
    disputed = np.array([YES in row and NO in row for row in answers], np.int64)
    resampling = drawing(settings, settings.rng("\n".join(("ticks", rule, *judges))))
    majority, prompt, criterion = (part[rows] for part in (panel.majority, panel.prompt, panel.criterion))
    macro = tick_accuracy(
        tick_table(settled, majority, prompt, criterion, of=int(criterion.max()) + 1), **resampling
    ).macro
    hits = settled == majority

    def accuracy(members: NDArray[np.bool_]) -> Estimate | None:
        return match_rate(hits[members], prompt[members], **resampling) if members.any() else None

    return (
        JointAnswers(
            rule=rule,
            judges=judges,
            macro=macro,
            disputed=match_rate(disputed, prompt, **resampling),
            settled_accuracy=accuracy(disputed == 0),
            disputed_accuracy=accuracy(disputed == 1),
        ),
    )
