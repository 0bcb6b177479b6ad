"""Checklists as arrays: what people tick, and what judges say of the same points.

A tick is a point of an item under a criterion. People's answers are those of all raters that are no models, repeats
left out; more than half of them make the majority.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.errors import UnknownReference
from salon.evaluate.results import DisputedPoint, JointAnswers, ReportSettings, TickFigures, TickKind
from salon.stats.intervals import Resampling
from salon.stats.judge_accuracy import NO, UNREAD_TICK, YES, match_rate, tick_accuracy, tick_table
from salon.stats.result import Estimate
from salon.study import Study
from salon.study.answers import Point, Route, Rule, agreed, find_route, majority_of_samples

Ints = NDArray[np.int64]
Tick = tuple[str, str, str]
"""(criterion, item, point)"""
Samples = Mapping[Tick, Sequence[float | None]]
"""What a judge said of each tick it was asked about: 1, 0, or None where it could not be read."""
NOT_ASKED = -1


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
    def decided(self) -> NDArray[np.bool_]:
        """Ticks with a majority."""
        mask: NDArray[np.bool_] = self.yes != self.no
        return mask

    def on(self, criterion: int) -> Ints:
        """Rows of one criterion."""
        return np.flatnonzero(self.criterion == criterion)


@dataclass(frozen=True)
class TickJudge:
    """A judge that answered checklists, and where its answers came from."""

    name: str
    kind: TickKind
    answers: Samples
    table: pa.Table | None = None
    """The verdicts, call by call, where they are known."""
    everywhere: bool = False
    """Whether a tick without an answer was asked too, and the answer could not be read."""
    simulated: bool = False
    signature: str | None = None
    criteria: frozenset[str] = field(default=frozenset())
    """The criteria it answered under."""

    def said(self, panel: TickPanel) -> Ints:
        """YES, NO, UNREAD or NOT_ASKED for each tick of the panel; of several samples what more than half say."""
        absent = [UNREAD_TICK if self.everywhere and tick[0] in self.criteria else NOT_ASKED for tick in panel.ticks]
        found = [
            _coded(majority_of_samples(self.answers[tick])) if tick in self.answers else code
            for tick, code in zip(panel.ticks, absent)
        ]
        return np.array(found, np.int64)

    def counts(self, panel: TickPanel) -> Ints:
        """(ticks, 2): samples that say yes, and no."""
        samples = [Counter(self.answers.get(tick, ())) for tick in panel.ticks]
        return np.array([[one[1.0], one[0.0]] for one in samples], np.int64).reshape(-1, 2)

    def unvoted(self, panel: TickPanel) -> Counter[str]:
        """By criterion, ticks that were asked about and that nobody answered."""
        known = set(panel.ticks)
        return Counter(tick[0] for tick in self.answers if tick not in known)


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
    known = {"criteria": {one.id for one in study.criteria}, "items": set(study.ids("items").to_pylist())}
    samples: dict[Tick, list[float | None]] = {}
    for row in table.select(["criterion", "a", "point", "value"]).to_pylist():
        if row["point"] is None:
            continue
        for kind, label in (("criteria", row["criterion"]), ("items", row["a"])):
            if label not in known[kind]:
                raise UnknownReference(
                    f"a verdict names {'an item' if kind == 'items' else 'a criterion'} of the study",
                    found=repr(label),
                    where=f"judge {name!r}, study {study.name!r}",
                    remedy="these verdicts belong to another study",
                )
        samples.setdefault((row["criterion"], row["a"], row["point"]), []).append(row["value"])
    if not samples:
        return None
    return TickJudge(name, "checklist", samples, table, simulated=simulated, signature=signature)


def rater_ticks(study: Study, *, everywhere: bool) -> list[TickJudge]:
    """The raters of the study that are models and answered checklists, by name."""
    models = {rater.id for rater in study.nouns("raters") if rater.kind == "model"}
    found: dict[str, dict[Tick, list[float | None]]] = {}
    for noun in study.nouns("checklists"):
        if noun.rater in models and not noun.repeat:
            said = found.setdefault(noun.rater, {})
            for point, answer in zip(noun.points, noun.answers):
                value = None if answer is None else float(answer)
                said.setdefault((noun.criterion, noun.item, point), []).append(value)
    return [
        TickJudge(name, "rater", said, everywhere=everywhere, criteria=frozenset(tick[0] for tick in said))
        for name, said in sorted(found.items())
    ]


def _coded(answer: bool | None) -> int:
    return UNREAD_TICK if answer is None else YES if answer else NO


# --------------------------------------------------------------------------------------------------
# Several judges as one: what a majority of them, all of them, or the routes of a file say, held against people.
# --------------------------------------------------------------------------------------------------

RULES: tuple[Rule, ...] = ("majority", "unanimous")
FEWEST = 2


@dataclass(frozen=True)
class Routing:
    """Which judges answer which points: the points with their tags, and where tags go."""

    points: Sequence[Point]
    routes: Sequence[Route]


@dataclass(frozen=True)
class _JointVerdicts:
    """What several judges say of some rows of a panel."""

    rows: Ints
    settled: Ints
    """YES, NO, or UNREAD where the rule leaves it open."""
    disputed: Ints
    """1 where some say yes and some no."""
    judges: tuple[str, ...]


def joint_answers(
    panel: TickPanel, said: Mapping[str, Ints], settings: ReportSettings, routing: Routing | None = None
) -> tuple[JointAnswers, ...]:
    """By each rule, over the ticks that two judges or more were asked about; or by the routes given."""
    if routing is not None:
        found = {"routes": _by_routes(panel, said, routing)}
    else:
        found = {rule: _by_rule(panel, said, rule) for rule in RULES} if len(said) >= FEWEST else {}
    return tuple(_figures(panel, rule, one, settings) for rule, one in found.items() if len(one.rows))


def disputed_points(panel: TickPanel, said: Sequence[Ints]) -> tuple[DisputedPoint, ...]:
    """Points on which judges disagree, the most disputed first; each tick that two judges were asked about counts."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row, answers in enumerate(np.stack(said, axis=1)):
        if (answers != NOT_ASKED).sum() >= FEWEST:
            criterion, _, point = panel.ticks[row]
            count = counts.setdefault((criterion, point), [0, 0])
            count[0] += 1
            count[1] += bool((answers == YES).any() and (answers == NO).any())
    made = [
        DisputedPoint(criterion=criterion, point=point, ticks=ticks, disputed=disputed)
        for (criterion, point), (ticks, disputed) in counts.items()
        if disputed
    ]
    return tuple(sorted(made, key=lambda one: (-one.disputed / one.ticks, -one.ticks, one.criterion, one.point)))


def _by_rule(panel: TickPanel, said: Mapping[str, Ints], rule: Rule) -> _JointVerdicts:
    """All judges that were asked about a tick, where two were."""
    answers = np.stack(list(said.values()), axis=1)
    rows = np.flatnonzero(((answers != NOT_ASKED).sum(axis=1) >= FEWEST) & panel.decided)
    asked = [[code for code in answers[row].tolist() if code != NOT_ASKED] for row in rows]
    return _settle(rows, asked, [rule] * len(rows), tuple(said))


def _by_routes(panel: TickPanel, said: Mapping[str, Ints], routing: Routing) -> _JointVerdicts:
    """The judges of each point's route; one that was not asked counts as unread, as `salon judge route` has it."""
    names = tuple(dict.fromkeys(name for route in routing.routes for name in route.judges))
    for name in names:
        if name not in said:
            raise UnknownReference(
                "the judges of every route must have answered points that people ticked",
                found=repr(name),
                remedy="one of " + ", ".join(said) + "; salon judge run STUDY --protocol checklist makes one",
            )
    routes = {point.id: find_route(point, routing.routes) for point in routing.points}
    rows, answers, rules = [], [], []
    for row in np.flatnonzero(panel.decided).tolist():
        route = routes.get(panel.ticks[row][2])
        codes = [] if route is None else [int(said[name][row]) for name in route.judges]
        if route is not None and any(code != NOT_ASKED for code in codes):
            rows.append(row)
            answers.append([UNREAD_TICK if code == NOT_ASKED else code for code in codes])
            rules.append(route.rule)
    return _settle(np.array(rows, np.int64), answers, rules, names)


def _settle(
    rows: Ints, answers: Sequence[Sequence[int]], rules: Sequence[Rule], judges: tuple[str, ...]
) -> _JointVerdicts:
    words = {YES: True, NO: False, UNREAD_TICK: None}
    found = [agreed([words[code] for code in codes], rule) for codes, rule in zip(answers, rules)]
    settled = [UNREAD_TICK if answer is None else YES if answer else NO for answer in found]
    disputed = [YES in codes and NO in codes for codes in answers]
    return _JointVerdicts(rows, np.array(settled, np.int64), np.array(disputed, np.int64), judges)


def _figures(panel: TickPanel, rule: str, one: _JointVerdicts, settings: ReportSettings) -> JointAnswers:
    rng = settings.rng("\n".join(("ticks", rule, *one.judges)))
    given: Resampling = {"draws": settings.draws, "rng": rng, "level": settings.level}
    majority, prompt, criterion = (part[one.rows] for part in (panel.majority, panel.prompt, panel.criterion))
    table = tick_table(one.settled, majority, prompt, criterion, of=int(criterion.max()) + 1)
    macro = tick_accuracy(table, **given).macro
    hits = one.settled == majority

    def where(rows: Ints) -> Estimate | None:
        return match_rate(hits[rows], prompt[rows], **given) if len(rows) else None

    return JointAnswers(
        rule=rule,
        judges=one.judges,
        macro=TickFigures.of(macro, macro=True),
        disputed=match_rate(one.disputed, prompt, **given),
        settled_accuracy=where(np.flatnonzero(one.disputed == 0)),
        disputed_accuracy=where(np.flatnonzero(one.disputed)),
    )
