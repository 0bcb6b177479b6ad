"""The result of an entry, and the standings of all entries of a board.

    Capability = 100 mean over prompts of the share of its pictures that pass        (salon.bench.axes)
    EPS        = 100 mean over eligible prompts of the chance against the reference  (salon.bench.axes)
    Overall    = w_c Capability + w_e EPS, one draw of prompts for both

Intervals: salon.stats.prompt_means, by the suite's `interval`, `level`, `draws` and `seed`. A result is a pure function
of the suite, the entry's own pictures, and their answers and scores. No other entry, no name, no clock and no order of
rows enters, so nothing that anybody else does can move a published number.

Standings compare entries prompt by prompt, for all answered the same prompts. With u_ie what prompt i adds to the error
of entry e's mean (salon.stats.prompt_means), n prompts and E entries,

    C = n/(n - 1) u'u + I f^2,   f = 1/(2n)        covariance of the values, shared prompts included

n counts the prompts of the axis; of Overall, u = sum_j c_j sqrt(n_j/(n_j - 1)) u_j and f^2 = sum_j (c_j/2n_j)^2. f is
the error of one prompt that turned out differently by half. So a difference that rests on a single prompt is never
significant, and entries that passed everything are not thereby known exactly. Ranks, rank intervals, tiers and groups
of entries that cannot be told apart: salon.stats.tiers, all pairs at once, t tails with n - 1 degrees of freedom.

Standings depend on which entries are compared, so they are computed when shown and are no part of a result. Only
complete results have a place; provisional ones are listed without. The caller leaves out retracted entries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pyarrow as pa
from pydantic import Field

from salon.bench.axes import (
    DIGITS,
    Answers,
    AxisEstimator,
    EpsColumn,
    Floats,
    Logits,
    PromptAxis,
    SettledPicture,
    at_best,
    capability_coverage,
    column_reference,
    eps_column,
    index_answers,
    index_logits,
    judges_by_point,
    settle_by_judge,
    settle_points,
)
from salon.bench.entry import (
    AxisResult,
    Entry,
    EntryPicture,
    EntryResult,
    GroupResult,
    PictureResult,
    PromptResult,
    required_pictures,
)
from salon.bench.suite import CAPABILITY, EPS, OVERALL, Suite
from salon.errors import BadValue, DesignError, UnknownReference
from salon.stats import Estimate, RankIntervals, influences, mean_interval, rank_intervals
from salon.study import Noun, Signature

POLICIES = (
    "A missing picture fails every point and has no chance against the reference; it stays in every denominator.",
    "Unreadable answers count as FAIL; a picture that cannot be scored has no chance against the reference.",
    "An answer or score not given yet counts as a failure, `at_best` as a success; while there is any, the result is "
    "provisional and is not published.",
    "Answers of judges that a point's route does not name count nowhere.",
    "A mean logit is given only where every picture has one.",
)


def entry_result(suite: Suite, entry: Entry, answers: pa.Table, logits: pa.Table) -> EntryResult:
    """Everything published about an entry, from its answers (ANSWERS) and its scores (LOGITS)."""
    pictures = required_pictures(suite, entry)
    verdicts, scores = index_answers(answers, pictures, suite.points), index_logits(logits, suite, pictures)
    axes = _compute_axes(suite, pictures, verdicts, scores)
    measure = AxisEstimator(suite.card)
    judges = judges_by_point(suite)
    used = {key: word for key, word in verdicts.items() if key[2] in judges[key[1]] or key[2] == suite.card.oracle}
    digest = inputs_digest(pictures, verdicts=used, logits=scores)
    card = suite.card
    settings = {
        "suite": f"{card.name}/{card.version}",
        "frozen": suite.hash[:12] or None,
        "passes": card.passes,
        "sigma": "integrated" if card.integrate else "dropped",
        "interval": card.interval,
        "level": card.level,
        "weights": "+".join(f"{weight:g} {name}" for name, weight in card.weights.items()),
        "metrics": ",".join(f"{name}{number}" for name, number in sorted(card.metrics.items())),
    }
    if card.interval == "bootstrap":
        settings["draws"] = card.draws
    signature = Signature(method="bench.result", data=digest[:12], settings=settings, seed=card.seed)
    return EntryResult(
        entry=entry.name,
        suite=f"{suite.card.name}/{suite.card.version}",
        suite_hash=suite.hash,
        status="complete"
        if not any(axis.coverage.open for axis in (axes.capability, *axes.eps.values()))
        else "provisional",
        capability=measure.result(axes.capability),
        points=measure.result(axes.points),
        eps={name: measure.result(axis) for name, axis in axes.eps.items()},
        overall=_overall(suite, axes, measure),
        headline=axes.headline,
        weights=dict(suite.card.weights),
        groups=_groups(suite, axes, measure, scores),
        prompts=_prompts(suite, axes, scores),
        oracle=_oracle(suite, verdicts, pictures, measure),
        digest=digest,
        policies=POLICIES,
        signature=signature,
        signature_line=str(signature),
    )


def inputs_digest(pictures: Sequence[EntryPicture], *, verdicts: Answers | None = None, logits: Logits) -> str:
    """Hash of the pictures and of the answers and scores they got; no order of rows enters."""
    content = {
        "pictures": sorted(
            [value.prompt, value.seed, value.item, value.sha256 or value.image or ""] for value in pictures
        ),
        "answers": sorted([*key, word] for key, word in (verdicts or {}).items()),
        "scores": sorted(
            [*key, value.value is None, value.value or 0.0, value.sigma or 0.0, value.scorer or ""]
            for key, value in logits.items()
        ),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


# -- axes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _EntryAxes:
    """All pictures settled and scored, and the axes over prompts."""

    settled: dict[str, list[SettledPicture]]
    """By prompt."""
    columns: dict[str, EpsColumn]
    capability: PromptAxis
    points: PromptAxis
    eps: dict[str, PromptAxis]
    headline: str | None
    """The column that enters Overall."""


def _compute_axes(suite: Suite, pictures: Sequence[EntryPicture], verdicts: Answers, scores: Logits) -> _EntryAxes:
    settled = settle_points(suite, verdicts, pictures)
    columns = {}
    for rule in suite.card.preferences:
        reference = column_reference(suite, rule)
        if reference is not None:
            columns[rule.id] = eps_column(suite, rule, reference, scores, pictures)
    by_prompt = _by_prompt(settled)
    holds, may_hold, points = (
        np.array([sum(of(picture) for picture in group) for group in by_prompt.values()], np.float64)
        for of in (lambda picture: picture.holds, lambda picture: picture.may_hold, lambda picture: len(picture.points))
    )
    points_axis = PromptAxis(holds / points, may_hold / points, points, capability_coverage(settled))
    return _EntryAxes(
        settled=by_prompt,
        columns=columns,
        capability=_capability_axis(by_prompt, settled),
        points=points_axis,
        eps={name: _eps_axis(suite, column) for name, column in columns.items()},
        headline=next((rule.id for rule in suite.card.preferences if rule.headline and rule.id in columns), None),
    )


def _by_prompt(settled: Sequence[SettledPicture]) -> dict[str, list[SettledPicture]]:
    by_prompt: dict[str, list[SettledPicture]] = {}
    for picture in settled:
        by_prompt.setdefault(picture.picture.prompt, []).append(picture)
    return by_prompt


def _capability_axis(
    by_prompt: Mapping[str, Sequence[SettledPicture]], settled: Sequence[SettledPicture]
) -> PromptAxis:
    return PromptAxis(
        values=np.array([fmean(picture.passed for picture in group) for group in by_prompt.values()]),
        at_best=np.array([fmean(picture.passed_at_best for picture in group) for group in by_prompt.values()]),
        weights=np.ones(len(by_prompt)),
        coverage=capability_coverage(settled),
    )


def _eps_axis(suite: Suite, column: EpsColumn) -> PromptAxis:
    row = {prompt.id: place for place, prompt in enumerate(suite.prompts)}
    rows = [row[picture.prompt] for picture in column.pictures]
    counts, wins, best = (
        np.bincount(rows, weights=of, minlength=len(row)) for of in (None, column.wins, column.wins_at_best)
    )
    each = np.maximum(counts, 1)
    return PromptAxis(wins / each, best / each, (counts > 0).astype(np.float64), column.coverage)


def _overall(suite: Suite, entry_axes: _EntryAxes, measure: AxisEstimator) -> AxisResult | None:
    if entry_axes.headline is None:
        return None
    axes = entry_axes.capability, entry_axes.eps[entry_axes.headline]
    shares = suite.card.weights[CAPABILITY], suite.card.weights[EPS]
    bound = sum(share * at_best(axis) for share, axis in zip(shares, axes, strict=True))
    capability = axes[0].coverage
    eps = axes[1].coverage
    added = {name: getattr(capability, name) + getattr(eps, name) for name in ("asked", "given", "unread", "open")}
    both = capability.model_copy(update=added)
    return AxisResult(figure=measure.figure(*axes, shares=shares), at_best=round(bound, DIGITS), coverage=both)


def _oracle(
    suite: Suite, verdicts: Answers, pictures: Sequence[EntryPicture], measure: AxisEstimator
) -> AxisResult | None:
    judge = suite.card.oracle
    if judge is None or not any(by == judge for _, _, by in verdicts):
        return None
    settled = settle_by_judge(judge, suite, verdicts, pictures)
    return measure.result(_capability_axis(_by_prompt(settled), settled))


# -- groups, prompts and pictures ------------------------------------------------------------------------------------


def _groups(suite: Suite, entry_axes: _EntryAxes, measure: AxisEstimator, scores: Logits) -> tuple[GroupResult, ...]:
    """Every tag that has prompts, then every group of tags."""
    tags: dict[str, list[int]] = {}
    groups: dict[str, list[int]] = {}
    for place, suite_prompt in enumerate(suite.prompts):
        tags.setdefault(suite_prompt.tag, []).append(place)
        groups.setdefault(suite.tag_of(suite_prompt.id).group, []).append(place)
    rewards = {
        rule.id: np.array(
            [
                fmean(_logit_or_nan(scores, rule.id, settled.picture) for settled in entry_axes.settled[prompt.id])
                for prompt in suite.prompts
            ]
        )
        for rule in suite.card.preferences
    }
    return tuple(
        GroupResult(
            id=group,
            kind=kind,
            capability=measure.figure(entry_axes.capability.over(rows)),
            eps={
                name: measure.figure(axis.over(rows)) for name, axis in entry_axes.eps.items() if axis.over(rows).counts
            },
            reward={
                column: _mean_logit(values[rows], suite.card.level)
                for column, values in rewards.items()
                if not np.isnan(values[rows]).any()
            },
            prompts=len(rows),
        )
        for kind, rows_by_id in (("tag", tags), ("group", groups))
        for group, rows in rows_by_id.items()
    )


def _logit_or_nan(scores: Logits, column: str, picture: EntryPicture) -> float:
    logit = scores.get((column, picture.item))
    return np.nan if picture.image is None or logit is None or logit.value is None else logit.value


def _mean_logit(values: Floats, level: float) -> Estimate:
    """Mean with its t interval over prompts; none from one prompt, or from prompts that are all alike."""
    figure = mean_interval(values, level=level)
    return figure.transform(lambda end: round(end, DIGITS))


def _prompts(suite: Suite, entry_axes: _EntryAxes, scores: Logits) -> tuple[PromptResult, ...]:
    columns = [rule.id for rule in suite.card.preferences]
    wins = {
        name: {picture.item: win for picture, win in zip(column.pictures, column.wins, strict=True)}
        for name, column in entry_axes.columns.items()
    }
    return tuple(
        PromptResult(
            prompt=prompt.id,
            tag=prompt.tag,
            passed=float(entry_axes.capability.values[row]),
            passed_at_best=float(entry_axes.capability.at_best[row]),
            eps={name: float(axis.values[row]) for name, axis in entry_axes.eps.items() if axis.weights[row]},
            eps_at_best={name: float(axis.at_best[row]) for name, axis in entry_axes.eps.items() if axis.weights[row]},
            pictures=tuple(_picture(settled, columns, wins, scores) for settled in entry_axes.settled[prompt.id]),
        )
        for row, prompt in enumerate(suite.prompts)
    )


def _picture(
    settled: SettledPicture, columns: Sequence[str], wins: Mapping[str, Mapping[str, float]], scores: Logits
) -> PictureResult:
    picture = settled.picture
    own = {name: scores[name, picture.item] for name in columns if (name, picture.item) in scores and picture.image}
    return PictureResult(
        item=picture.item,
        seed=picture.seed,
        image=picture.image,
        missing=picture.missing,
        passed=settled.passed,
        passed_at_best=settled.passed_at_best,
        points=settled.points,
        said=settled.replies,
        logits={column: logit.value for column, logit in own.items() if logit.value is not None},
        sigmas={column: logit.sigma for column, logit in own.items() if logit.sigma is not None},
        wins={column: by_item[picture.item] for column, by_item in wins.items() if picture.item in by_item},
    )


# -- what it was made from -------------------------------------------------------------------------------------------


# -- standings ---------------------------------------------------------------------------------------------------------

POINTS = "points"
SEED = 0
"""Of the simulated maxima behind simultaneous intervals: the same entries have the same ranks."""
ONE_PROMPT = "one prompt: no two entries can be compared"


class Standing(Noun):
    """One entry's place."""

    entry: str
    figure: Estimate
    rank: int = Field(description="By value; equal values share the better rank.")
    low: int = Field(description="The best rank the entry may truly have.")
    high: int = Field(description="The worst one; all intervals of a standing hold at once.")
    tier: int = Field(description="1: no significant difference to the best; then the same among the rest.")
    tied: tuple[str, ...] = Field(description="Entries that do not differ significantly from it, best first.")


class Standings(Noun):
    """All complete entries on one axis, best first."""

    axis: str
    places: tuple[Standing, ...]
    groups: tuple[tuple[str, ...], ...] = Field(
        description="Runs of entries without a significant difference; they overlap."
    )
    provisional: tuple[str, ...] = Field(description="Entries without a place until nothing is open.")
    prompts: int
    level: float
    method: str
    signature_line: str


def standings(results: Sequence[EntryResult], axis: str = OVERALL) -> Standings:
    """Places on 'capability', 'points', 'overall' or an EPS column, from results of one suite."""
    hashes = sorted({item.suite_hash for item in results})
    if len(hashes) > 1:
        raise DesignError(
            "entries of one and the same suite are needed to compare them",
            found=f"results under {', '.join(item[:12] for item in hashes)}",
            remedy="run every entry with the same frozen suite",
        )
    entry_names = [item.entry for item in results]
    if len(set(entry_names)) < len(entry_names):
        twice = sorted({name for name in entry_names if entry_names.count(name) > 1})
        raise BadValue("every entry stands once", found=f"more than once: {', '.join(twice)}")
    complete = sorted((result for result in results if result.status == "complete"), key=lambda result: result.entry)
    axes = [axis_of(result, axis) for result in complete]
    ranked, prompts = _rank_entries(complete, axes, axis)
    order = sorted(range(len(complete)), key=lambda place: ranked.rank[place]) if ranked else range(len(complete))
    names = [result.entry for result in complete]
    digests = "".join(f"{result.entry}\0{result.digest}\0" for result in complete)
    settings = {"axis": axis, "entries": len(complete), "frozen": complete[0].suite_hash[:12] if complete else None}
    data = hashlib.sha256(digests.encode()).hexdigest()[:12]
    standings_signature = Signature(method="bench.standings", data=data, settings=settings, seed=SEED)
    return Standings(
        axis=axis,
        places=tuple(_place(place, names, axes, ranked, order) for place in order),
        groups=tuple(tuple(names[place] for place in run) for run in ranked.groups) if ranked else (),
        provisional=tuple(sorted(result.entry for result in results if result.status != "complete")),
        prompts=prompts,
        level=axes[0].figure.level if axes else 0.95,
        method="no ranks: fewer than two complete entries"
        if ranked is None
        else ranked.method
        if prompts > 1
        else ONE_PROMPT,
        signature_line=str(standings_signature),
    )


def axis_of(result: EntryResult, axis: str) -> AxisResult:
    """One axis of a result by its name; UnknownReference where it has none of that name."""
    by_name = {CAPABILITY: result.capability, POINTS: result.points, **result.eps, OVERALL: result.overall}
    axis_result = by_name.get(axis)
    if axis_result is None:
        names = ", ".join(name for name, candidate in by_name.items() if candidate is not None)
        raise UnknownReference(f"an axis named {axis!r} is needed", found=names, where=f"entry {result.entry!r}")
    return axis_result


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
        tied=tuple(names[rival] for rival in order if rival != place and not apart[rival]),
    )


# -- the covariance of all entries ----------------------------------------------------------------------------------


def _rank_entries(
    results: Sequence[EntryResult], axes: Sequence[AxisResult], axis: str
) -> tuple[RankIntervals | None, int]:
    """Rank intervals, and the number of prompts behind them."""
    if len(results) < 2:
        return None, axes[0].figure.n if axes else 0
    parts = [(share, *_table(results, name)) for name, share in _shares(results[0], axis).items()]
    prompts = min(int((w > 0).all(axis=1).sum()) for _, _, w in parts)
    ranked = rank_intervals(
        [axis_result.figure.value / 100 for axis_result in axes],
        shared_covariance(parts) if prompts > 1 else np.eye(len(axes)),  # errors as large as the scale
        df=max(prompts - 1, 1),
        level=axes[0].figure.level,
        rng=np.random.default_rng(SEED),
    )
    return ranked, prompts


def _shares(result: EntryResult, axis: str) -> dict[str, float]:
    """What an axis is made of, with shares."""
    if axis != OVERALL or result.headline is None:
        return {axis: 1.0}
    shares = {CAPABILITY: result.weights[CAPABILITY], result.headline: result.weights[EPS]}
    return {name: share for name, share in shares.items() if share > 0}


def shared_covariance(parts: Sequence[tuple[float, Floats, Floats]]) -> Floats:
    """(entries, entries), prompts shared; never without an error of its own for every entry."""
    prompt_counts = [np.count_nonzero(w[:, 0]) for _, _, w in parts]
    u = sum(
        share * np.sqrt(n / (n - 1)) * influences(x, w) for n, (share, x, w) in zip(prompt_counts, parts, strict=True)
    )
    own = sum((share / (2 * n)) ** 2 for n, (share, _, _) in zip(prompt_counts, parts, strict=True))
    values: Floats = u.T @ u + own * np.eye(u.shape[1])
    return values


def _table(results: Sequence[EntryResult], axis: str) -> tuple[Floats, Floats]:
    """(prompts, entries) values and weights of a plain axis."""
    pairs = np.array([[_prompt_value(prompt, axis) for prompt in result.prompts] for result in results])
    return pairs[..., 0].T, pairs[..., 1].T


def _prompt_value(prompt: PromptResult, axis: str) -> tuple[float, float]:
    """Value and weight of a prompt."""
    if axis == CAPABILITY:
        return prompt.passed, 1.0
    if axis == POINTS:
        states = [status for picture in prompt.pictures for status in picture.points.values()]
        return states.count("pass") / len(states), float(len(states))
    return (prompt.eps[axis], 1.0) if axis in prompt.eps else (0.0, 0.0)
