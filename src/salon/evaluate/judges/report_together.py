"""Several judges as one: what a majority of them, all of them, or the routes of a file say, held against people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from salon.errors import UnknownReference
from salon.evaluate.judges.report_settings import ReportSettings
from salon.evaluate.judges.report_tick_results import PointDisputed, TickFigures, Together
from salon.evaluate.judges.report_ticks import NOT_ASKED, Ints, TickPanel
from salon.stats.judge_accuracy import match_rate
from salon.stats.resample import Resampling
from salon.stats.result import Estimate
from salon.stats.tick_accuracy import NO, UNREAD, YES, tick_accuracy, tick_table
from salon.study.point import Point, Route, Rule, agreed, route_of

RULES: tuple[Rule, ...] = ("majority", "unanimous")
FEWEST = 2


@dataclass(frozen=True)
class Routing:
    """Which judges answer which points: the points with their tags, and where tags go."""

    points: Sequence[Point]
    routes: Sequence[Route]


@dataclass(frozen=True)
class _Said:
    """What several judges say of some rows of a panel."""

    rows: Ints
    settled: Ints
    """YES, NO, or UNREAD where the rule leaves it open."""
    disputed: Ints
    """1 where some say yes and some no."""
    judges: tuple[str, ...]


def together(
    panel: TickPanel, said: Mapping[str, Ints], settings: ReportSettings, routing: Routing | None = None
) -> tuple[Together, ...]:
    """By each rule, over the ticks that two judges or more were asked about; or by the routes given."""
    if routing is not None:
        found = {"routes": _routed(panel, said, routing)}
    else:
        found = {rule: _ruled(panel, said, rule) for rule in RULES} if len(said) >= FEWEST else {}
    return tuple(_figures(panel, rule, one, settings) for rule, one in found.items() if len(one.rows))


def disputed_points(panel: TickPanel, said: Sequence[Ints]) -> tuple[PointDisputed, ...]:
    """Points on which judges disagree, the most disputed first; each tick that two judges were asked about counts."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row, answers in enumerate(np.stack(said, axis=1)):
        if (answers != NOT_ASKED).sum() >= FEWEST:
            criterion, _, point = panel.ticks[row]
            count = counts.setdefault((criterion, point), [0, 0])
            count[0] += 1
            count[1] += bool((answers == YES).any() and (answers == NO).any())
    made = [
        PointDisputed(criterion=criterion, point=point, ticks=ticks, disputed=disputed)
        for (criterion, point), (ticks, disputed) in counts.items()
        if disputed
    ]
    return tuple(sorted(made, key=lambda one: (-one.disputed / one.ticks, -one.ticks, one.criterion, one.point)))


def _ruled(panel: TickPanel, said: Mapping[str, Ints], rule: Rule) -> _Said:
    """All judges that were asked about a tick, where two were."""
    answers = np.stack(list(said.values()), axis=1)
    rows = np.flatnonzero(((answers != NOT_ASKED).sum(axis=1) >= FEWEST) & panel.decided)
    asked = [[code for code in answers[row].tolist() if code != NOT_ASKED] for row in rows]
    return _settled(rows, asked, [rule] * len(rows), tuple(said))


def _routed(panel: TickPanel, said: Mapping[str, Ints], routing: Routing) -> _Said:
    """The judges of each point's route; one that was not asked counts as unread, as `salon judge route` has it."""
    names = tuple(dict.fromkeys(name for route in routing.routes for name in route.judges))
    for name in names:
        if name not in said:
            raise UnknownReference(
                "the judges of every route must have answered points that people ticked",
                found=repr(name),
                remedy="one of " + ", ".join(said) + "; salon judge run STUDY --protocol checklist makes one",
            )
    routes = {point.id: route_of(point, routing.routes) for point in routing.points}
    rows, answers, rules = [], [], []
    for row in np.flatnonzero(panel.decided).tolist():
        route = routes.get(panel.ticks[row][2])
        codes = [] if route is None else [int(said[name][row]) for name in route.judges]
        if route is not None and any(code != NOT_ASKED for code in codes):
            rows.append(row)
            answers.append([UNREAD if code == NOT_ASKED else code for code in codes])
            rules.append(route.rule)
    return _settled(np.array(rows, np.int64), answers, rules, names)


def _settled(rows: Ints, answers: Sequence[Sequence[int]], rules: Sequence[Rule], judges: tuple[str, ...]) -> _Said:
    words = {YES: True, NO: False, UNREAD: None}
    found = [agreed([words[code] for code in codes], rule) for codes, rule in zip(answers, rules)]
    settled = [UNREAD if answer is None else YES if answer else NO for answer in found]
    disputed = [YES in codes and NO in codes for codes in answers]
    return _Said(rows, np.array(settled, np.int64), np.array(disputed, np.int64), judges)


def _figures(panel: TickPanel, rule: str, one: _Said, settings: ReportSettings) -> Together:
    rng = settings.rng("\n".join(("ticks", rule, *one.judges)))
    given: Resampling = {"draws": settings.draws, "rng": rng, "level": settings.level}
    majority, prompt, criterion = (part[one.rows] for part in (panel.majority, panel.prompt, panel.criterion))
    table = tick_table(one.settled, majority, prompt, criterion, of=int(criterion.max()) + 1)
    macro = tick_accuracy(table, **given).macro
    hits = one.settled == majority

    def where(rows: Ints) -> Estimate | None:
        return match_rate(hits[rows], prompt[rows], **given) if len(rows) else None

    return Together(
        rule=rule,
        judges=one.judges,
        macro=TickFigures.of(macro, macro=True),
        disputed=match_rate(one.disputed, prompt, **given),
        settled_accuracy=where(np.flatnonzero(one.disputed == 0)),
        disputed_accuracy=where(np.flatnonzero(one.disputed)),
    )
