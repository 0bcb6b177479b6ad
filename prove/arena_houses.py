"""What an arena makes of the houses' known order, and what its intervals cover; writes docs/methods/arena-houses.md.

    python -m prove.arena_houses [panels]

A panel of simulated designers judges many prompts. Studies are parts of what it said, so what every study should find
is known twice: the houses' expected qualities, and what the panel says of all prompts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np

from prove._arena_truth import (
    POOL,
    PROTOCOLS,
    SIZES,
    STUDIES,
    Figures,
    Judged,
    Recovered,
    chances,
    judged_panel,
    leads,
    reversed_pairs,
    scores,
    snapshot_recovered,
    weighed,
)
from prove._page import table, wrapped
from salon.bench import ArenaSnapshot
from salon.collect import DesignerSettings
from salon.engine import map_processes
from salon.generate.houses import HOUSES
from salon.stats import score_interval

Values = dict[tuple[str, ...], float]
PAGE = Path(__file__).parents[1] / "docs/methods/arena-houses.md"
PANELS = 3
MIDDLE = SIZES[1]
"""Prompts of the studies that are shown criterion by criterion."""
INTRO = """
{panels} panels of {raters} simulated designers judged one poster of each of the six built-in houses for {pool:,}
prompts of their own, under nine criteria, and flagged what nobody asked for. Each panel's answers were cut into
studies, {studies} of every size, and `salon bench arena` fitted each of them alone. No person was asked. The designers'
law: [simulate](simulate.md); the houses' flaws, and what they are expected to be worth: [houses](houses.md).
"""
RECOVERY = """
Pairs of houses whose expected qualities differ under a criterion: *right*, the arena has them in that order;
*surely*, beyond the 95% interval of their duel; *surely wrong*, beyond it in the other order, where 2.5% is the most
that chance explains. *ranks*: boards on which the range of ranks of every house meets its true ones; *best*: boards
with a house of the highest quality in tier 1; both with the number of boards where some have neither ranges nor tiers
(a house whose answers are all alike has no interval). *no scores*: boards that answers did not identify, and that
said so. In brackets 95% intervals over studies.
"""
TURNED = """
**Where a panel settles on another order, more prompts do not help.** What a house is expected to be worth is the mean
of the quality of its posters. A panel compares posters, each designer with sensitivities and favorite styles of their
own: a house with a rare grave flaw wins more comparisons than one whose every poster has a small flaw, at equal means,
and a clean house may lose to one whose styles five designers like. Pairs that a panel puts the other way round beyond
the interval of all its {pool:,} prompts, by rankings; *chance*: what it gives the house that is expected to be better,
the mean of those panels.
"""
NONE_TURNED = "No panel settles on another order for any pair.\n"
COVERAGE = """
Share of 95% intervals that hold what the same panel says of all {pool:,} prompts, with a 95% interval over studies; a
study is a part of these, which at {largest} prompts raises coverage by a point or two. *scores*: of houses under each
of the nine criteria, in logits; *width*: their mean length. *chances*: of one house against another by these scores.
*weighed alike*: of the mean over criteria in the routing table. *lead*: of its first over its second. *any panel*:
intervals of scores that hold the mean of all panels: prompts are drawn anew, designers are not, and the interval does
not speak for other designers.
"""


# -- shares ------------------------------------------------------------------------------------------------------------


def share(held: Sequence[Sequence[bool]]) -> str:
    """Of everything in all studies, with an interval over studies."""
    some = [one for one in held if len(one)]
    if len(some) < 2:
        return "–"
    return _percent([float(np.mean(one)) for one in some], [float(len(one)) for one in some])


def ratio(found: Sequence[Sequence[Recovered]], name: str) -> str:
    """Share of pairs, with an interval over studies."""
    return _percent([sum(getattr(one, name) for one in study) / sum(one.pairs for one in study) for study in found])


def _percent(values: Sequence[float], weights: Sequence[float] | None = None) -> str:
    made = score_interval(values, weights)
    return f"{100 * made.value:.1f} [{100 * made.low:.1f}, {100 * made.high:.1f}]"


def chosen(judged: Sequence[Judged], protocol: str, prompts: int) -> list[tuple[Judged, ArenaSnapshot]]:
    """Studies of one size under one protocol, each with its panel."""
    return [(one, made) for one in judged if one.protocol == protocol for made in one.studies[prompts]]


# -- tables ------------------------------------------------------------------------------------------------------------


def recovery_table(judged: Sequence[Judged]) -> str:
    """One row a protocol and size."""
    rows = []
    for protocol in PROTOCOLS:
        for prompts in SIZES:
            studies = [made for _, made in chosen(judged, protocol, prompts)]
            found = [snapshot_recovered(made) for made in studies]
            boards = [one for study in found for one in study]
            missing = sum(not board.places for made in studies for board in made.boards)
            rows.append([
                protocol, str(prompts), str(len(studies)), *(ratio(found, name) for name in ("right", "sure", "wrong")),
                *(boards_share([getattr(one, name) for one in boards]) for name in ("ranked", "best")),
                f"{missing} of {missing + len(boards)}",
            ])  # fmt: skip
    head = ["answers", "prompts", "studies", "right, %", "surely, %", "surely wrong, %", "ranks", "best", "no scores"]
    return table(head, rows)


def boards_share(held: Sequence[bool | None]) -> str:
    """Share of boards, and of how many where some cannot tell."""
    told = [one for one in held if one is not None]
    if not told:
        return "–"
    return f"{np.mean(told):.1%}" + (f" of {len(told)}" if len(told) < len(held) else "")


def criteria_table(judged: Sequence[Judged]) -> str:
    """One row a criterion: rankings of the middle size."""
    found = [snapshot_recovered(made) for _, made in chosen(judged, "rankings", MIDDLE)]
    rows = []
    for criterion in dict.fromkeys(one.criterion for study in found for one in study):
        own = [[one for one in study if one.criterion == criterion] for study in found]
        told = [study for study in own if study]
        rows.append([
            criterion.removeprefix("taste/"), str(told[0][0].pairs),
            *(ratio(told, name) for name in ("right", "sure", "wrong")),
            *(boards_share([getattr(one, name) for (one,) in told]) for name in ("ranked", "best")),
        ])  # fmt: skip
    return table(["criterion", "pairs", "right, %", "surely, %", "surely wrong, %", "ranks", "best"], rows)


def turned_table(judged: Sequence[Judged]) -> str:
    """Pairs that panels settle the other way round, most panels first."""
    ranked = [one for one in judged if one.protocol == "rankings"]
    given: dict[tuple[str, str, str], list[float]] = {}
    for one in ranked:
        for pair, chance in reversed_pairs(one.pool).items():
            given.setdefault(pair, []).append(chance)
    rows = [
        [criterion.removeprefix("taste/"), f"`{better}`", f"`{worse}`", f"{len(own)} of {len(ranked)}",
         f"{np.mean(own):.2f}"]
        for (criterion, better, worse), own in sorted(given.items(), key=lambda item: (-len(item[1]), item[0]))
    ]  # fmt: skip
    head = ["criterion", "expected to be better", "than", "panels that say otherwise", "chance"]
    return table(head, rows) if rows else NONE_TURNED


def coverage_table(judged: Sequence[Judged]) -> str:
    """One row a protocol and size."""
    rows = []
    for protocol in PROTOCOLS:
        mean = mean_values([scores(one.pool) for one in judged if one.protocol == protocol])
        for prompts in SIZES:
            studies = chosen(judged, protocol, prompts)
            cells = [
                share([held(kind(made), values(kind(one.pool))) for one, made in studies])
                for kind in (scores, chances, weighed)
            ]
            lead = share([held(leads(made), _differences(one.pool)) for one, made in studies])
            other = share([held(scores(made), mean) for _, made in studies])
            wide = [one.high - one.low for _, made in studies for one in scores(made).values() if one.low is not None]
            rows.append([protocol, str(prompts), cells[0], f"{np.mean(wide):.2f}", *cells[1:], lead, other])
    head = ["answers", "prompts", "scores, %", "width", "chances, %", "weighed alike, %", "lead, %", "any panel, %"]
    return table(head, rows)


def held(given: Figures, truth: Values) -> list[bool]:
    """Whether each interval holds what is true."""
    return [one.low <= truth[key] <= one.high for key, one in given.items() if one.low is not None and key in truth]


def values(figures: Figures) -> Values:
    """Without their intervals."""
    return {key: one.value for key, one in figures.items()}


def mean_values(pools: Sequence[Figures]) -> Values:
    """Over panels."""
    return {key: float(np.mean([pool[key].value for pool in pools])) for key in pools[0]}


def _differences(pool: ArenaSnapshot) -> Values:
    """Of all pairs of houses, all criteria alike."""
    own = {house: figure.value for (house,), figure in weighed(pool).items()}
    return {(one, other): own[one] - own[other] for one, other in permutations(own, 2)}


# -- the page ----------------------------------------------------------------------------------------------------------


def recovery_verdict(judged: Sequence[Judged]) -> str:
    """What the middle size comes to."""
    found = [one for _, made in chosen(judged, "rankings", MIDDLE) for one in snapshot_recovered(made)]
    pairs, right, sure, wrong = (sum(getattr(one, k) for one in found) for k in ("pairs", "right", "sure", "wrong"))
    return (
        f"**Of {pairs:,} pairs of houses in studies of {MIDDLE} prompts that were ranked, {right / pairs:.1%} stand in "
        f"the expected order, {sure / pairs:.1%} surely, and {wrong / pairs:.1%} surely in the wrong one. Boards "
        f"with a house of the highest quality in tier 1: {boards_share([one.best for one in found])}.**"
    )


def write_page(judged: Sequence[Judged]) -> None:
    """The page."""
    panels = len({one.panel for one in judged})
    facts = {"panels": panels, "raters": DesignerSettings().raters, "pool": POOL, "studies": STUDIES,
             "largest": max(SIZES)}  # fmt: skip
    signature = f"{judged[0].studies[MIDDLE][0].signature_line}|panels:{panels}|houses:{len(HOUSES)}"
    parts = [
        "# What an arena makes of the houses\n",
        "Written by `make prove ONLY=arena_houses`; how arenas are fitted: [arena](arena.md).\n",
        wrapped(INTRO.format(**facts)) + "\n",
        "## The houses' order\n",
        wrapped(recovery_verdict(judged)) + "\n",
        wrapped(RECOVERY) + "\n",
        recovery_table(judged),
        f"Criterion by criterion, {MIDDLE} prompts that were ranked (`hallucination`: mean flags):\n",
        criteria_table(judged),
        wrapped(TURNED.format(**facts)) + "\n",
        turned_table(judged),
        "## What intervals cover\n",
        wrapped(COVERAGE.format(**facts)) + "\n",
        coverage_table(judged),
        f"Signature of the first study of {MIDDLE} prompts: `{signature}`\n",
    ]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def main(panels: int = PANELS) -> None:
    """Judge, cut, fit, write."""
    tasks = [(panel, protocol) for protocol in PROTOCOLS for panel in range(1, panels + 1)]
    judged: dict[int, Judged] = {}
    for number, result in map_processes(judged_panel, tasks):
        if isinstance(result, Exception):
            raise result
        judged[number] = result
        print(f"panel {tasks[number][0]}, {tasks[number][1]}", flush=True)
    write_page([judged[number] for number in range(len(tasks))])


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:2]))
