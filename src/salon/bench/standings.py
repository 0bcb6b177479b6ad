"""Standings: ranks of the entries of a board on one axis, with what is not known about them.

Every entry answered the same prompts, so entries are compared prompt by prompt. With u_ie what prompt i adds to the
error of entry e's mean (salon.stats.prompt_means), n prompts and E entries,

    C = n/(n - 1) u'u + I f^2,   f = 1/(2n)        covariance of the values, shared prompts included

n counts the prompts of the axis; of Overall, u = sum_j c_j sqrt(n_j/(n_j - 1)) u_j and f^2 = sum_j (c_j/2n_j)^2.
f is the error of one prompt that turned out otherwise by half: a difference that rests on a single prompt is never one
that counts, and entries that passed everything are not thereby known exactly. Ranks, rank intervals, tiers and groups
of entries that cannot be told apart: salon.stats.tiers, all pairs at once, t tails with n - 1 degrees of freedom.

Standings depend on who stands there, so they are computed when shown and are no part of a result. Only complete
results have a place; provisional ones are listed without. Retracted entries are left out by the caller, who knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from pydantic import Field

from salon.bench.axis import Floats
from salon.bench.results import AxisResult, EntryResult, PromptResult
from salon.bench.suite import CAPABILITY, EPS, OVERALL
from salon.errors import BadValue, DesignError, UnknownReference
from salon.stats.prompt_means import influences
from salon.stats.result import Estimate
from salon.stats.tiers import RankIntervals, rank_intervals
from salon.study.noun import Noun
from salon.study.signature import Signature

POINTS = "points"
SEED = 0
"""Of the simulated maxima behind simultaneous intervals: the same entries have the same ranks."""
ONE_PROMPT = "one prompt: no two entries are told apart"


class Standing(Noun):
    """One entry's place."""

    entry: str
    figure: Estimate
    rank: int = Field(description="By value; equal values share the better rank.")
    low: int = Field(description="The best rank the entry may truly have.")
    high: int = Field(description="The worst one; all intervals of a standing hold at once.")
    tier: int = Field(description="1: entries that cannot be told from the best; then the same among the rest.")
    tied: tuple[str, ...] = Field(description="Entries that it cannot be told apart from, best first.")


class Standings(Noun):
    """All complete entries on one axis, best first."""

    axis: str
    places: tuple[Standing, ...]
    groups: tuple[tuple[str, ...], ...] = Field(description="Runs of entries that cannot be told apart; runs overlap.")
    provisional: tuple[str, ...] = Field(description="Entries without a place until nothing is open.")
    prompts: int
    level: float
    method: str
    signature_line: str


def standings(results: Sequence[EntryResult], axis: str = OVERALL) -> Standings:
    """Places on 'capability', 'points', 'overall' or an EPS column, from results of one suite."""
    _same_suite(results)
    complete = sorted((one for one in results if one.status == "complete"), key=lambda one: one.entry)
    axes = [axis_of(one, axis) for one in complete]
    ranked, prompts = _ranked(complete, axes, axis)
    order = sorted(range(len(complete)), key=lambda place: ranked.rank[place]) if ranked else range(len(complete))
    names = [one.entry for one in complete]
    return Standings(
        axis=axis,
        places=tuple(_place(place, names, axes, ranked, order) for place in order),
        groups=tuple(tuple(names[place] for place in run) for run in ranked.groups) if ranked else (),
        provisional=tuple(sorted(one.entry for one in results if one.status != "complete")),
        prompts=prompts,
        level=axes[0].figure.level if axes else 0.95,
        method=_method(ranked, prompts),
        signature_line=str(_signature(complete, axis)),
    )


def axis_of(result: EntryResult, axis: str) -> AxisResult:
    """One axis of a result by its name; UnknownReference where it has none of that name."""
    named = {CAPABILITY: result.capability, POINTS: result.points, **result.eps, OVERALL: result.overall}
    found = named.get(axis)
    if found is None:
        known = ", ".join(name for name, one in named.items() if one is not None)
        raise UnknownReference(f"an axis named {axis!r} is needed", found=known, where=f"entry {result.entry!r}")
    return found


def _same_suite(results: Sequence[EntryResult]) -> None:
    hashes = sorted({one.suite_hash for one in results})
    if len(hashes) > 1:
        raise DesignError(
            "entries of one and the same suite are needed to compare them",
            found=f"results under {', '.join(one[:12] for one in hashes)}",
            remedy="run every entry with the same frozen suite",
        )
    names = [one.entry for one in results]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise BadValue("every entry stands once", found=f"more than once: {', '.join(twice)}")


def _place(
    place: int, names: Sequence[str], axes: Sequence[AxisResult], ranked: RankIntervals | None, order: Sequence[int]
) -> Standing:
    if ranked is None:
        return Standing(entry=names[place], figure=axes[place].figure, rank=1, low=1, high=1, tier=1, tied=())
    apart = ranked.better[place] | ranked.better[:, place]
    return Standing(
        entry=names[place],
        figure=axes[place].figure,
        rank=int(ranked.rank[place]),
        low=int(ranked.low[place]),
        high=int(ranked.high[place]),
        tier=int(ranked.tier[place]),
        tied=tuple(names[other] for other in order if other != place and not apart[other]),
    )


# -- the covariance of all entries ----------------------------------------------------------------------------------


def _ranked(results: Sequence[EntryResult], axes: Sequence[AxisResult], axis: str) -> tuple[RankIntervals | None, int]:
    """Rank intervals, and the number of prompts behind them."""
    if len(results) < 2:
        return None, axes[0].figure.n if axes else 0
    parts = [(share, *_table(results, name)) for name, share in _shares(results[0], axis).items()]
    prompts = min(int((w > 0).all(axis=1).sum()) for _, _, w in parts)
    ranked = rank_intervals(
        [one.figure.value / 100 for one in axes],
        shared_covariance(parts) if prompts > 1 else np.eye(len(axes)),  # errors as large as the scale
        df=max(prompts - 1, 1),
        level=axes[0].figure.level,
        rng=np.random.default_rng(SEED),
    )
    return ranked, prompts


def _method(ranked: RankIntervals | None, prompts: int) -> str:
    if ranked is None:
        return "no ranks: fewer than two complete entries"
    return ranked.method if prompts > 1 else ONE_PROMPT


def _signature(results: Sequence[EntryResult], axis: str) -> Signature:
    """Of the results that have a place."""
    digests = "".join(f"{one.entry}\0{one.digest}\0" for one in results)
    settings = {"axis": axis, "entries": len(results), "frozen": results[0].suite_hash[:12] if results else None}
    data = hashlib.sha256(digests.encode()).hexdigest()[:12]
    return Signature(method="bench.standings", data=data, settings=settings, seed=SEED)


def _shares(result: EntryResult, axis: str) -> dict[str, float]:
    """What an axis is made of, with shares."""
    if axis != OVERALL or result.headline is None:
        return {axis: 1.0}
    shares = {CAPABILITY: result.weights[CAPABILITY], result.headline: result.weights[EPS]}
    return {name: share for name, share in shares.items() if share > 0}


def shared_covariance(parts: Sequence[tuple[float, Floats, Floats]]) -> Floats:
    """(entries, entries), prompts shared; never without an error of its own for every entry."""
    counted = [np.count_nonzero(w[:, 0]) for _, _, w in parts]
    u = sum(share * np.sqrt(n / (n - 1)) * influences(x, w) for n, (share, x, w) in zip(counted, parts, strict=True))
    own = sum((share / (2 * n)) ** 2 for n, (share, _, _) in zip(counted, parts, strict=True))
    values: Floats = u.T @ u + own * np.eye(u.shape[1])
    return values


def _table(results: Sequence[EntryResult], axis: str) -> tuple[Floats, Floats]:
    """(prompts, entries) values and weights of a plain axis."""
    pairs = np.array([[_value(prompt, axis) for prompt in one.prompts] for one in results])
    return pairs[..., 0].T, pairs[..., 1].T


def _value(prompt: PromptResult, axis: str) -> tuple[float, float]:
    """Value and weight of a prompt."""
    if axis == CAPABILITY:
        return prompt.passed, 1.0
    if axis == POINTS:
        states = [status for picture in prompt.pictures for status in picture.points.values()]
        return states.count("pass") / len(states), float(len(states))
    return (prompt.eps[axis], 1.0) if axis in prompt.eps else (0.0, 0.0)
