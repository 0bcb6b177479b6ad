"""What an entry is worth: a pure function of the suite, the entry's own pictures, and the answers and scores they got.

    Capability = 100 mean over prompts of the share of its pictures that pass        (salon.bench.capability)
    EPS        = 100 mean over eligible prompts of the chance against the reference  (salon.bench.preference)
    Overall    = w_c Capability + w_e EPS, one draw of prompts for both

Intervals: salon.stats.prompt_means, by the suite's `interval`, `level`, `draws` and `seed`. No other entry, no name, no
clock and no order of rows enters, so that nothing anybody else does can move a published number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pyarrow as pa

from salon.bench.axis import DIGITS, Axis, Floats, Measure, at_best
from salon.bench.capability import (
    Answers,
    SettledPicture,
    capability_coverage,
    read_answers,
    routed,
    settle_by,
    settle_points,
)
from salon.bench.entry import Entry, Pictured
from salon.bench.preference import Column, Logits, column_reference, eps_column, read_logits
from salon.bench.results import AxisResult, Coverage, EntryResult, GroupResult, PictureResult, PromptResult
from salon.bench.suite import CAPABILITY, EPS, Suite
from salon.bench.wanted import wanted_pictures
from salon.stats.paired_means import mean_interval
from salon.stats.result import Estimate
from salon.study.signature import Signature

POLICIES = (
    "A missing picture fails every point and has no chance against the reference; it stays in every denominator.",
    "An answer that cannot be read is no PASS; a picture that cannot be scored has no chance against the reference.",
    "An answer or score not given yet counts as a failure, `at_best` as a success; while there is any, the result is "
    "provisional and is not published.",
    "Answers of judges that a point's route does not name count nowhere.",
    "A mean logit is given only where every picture has one.",
)


def entry_result(suite: Suite, entry: Entry, answers: pa.Table, logits: pa.Table) -> EntryResult:
    """Everything published about an entry, from its answers (ANSWERS) and its scores (LOGITS)."""
    pictures = wanted_pictures(suite, entry)
    said, scores = read_answers(answers, pictures, suite.points), read_logits(logits, suite, pictures)
    judged = _judged(suite, pictures, said, scores)
    measure = Measure(suite.card)
    digest = inputs_digest(pictures, said=_used(suite, said), logits=scores)
    signature = _signature(suite, digest)
    return EntryResult(
        entry=entry.name,
        suite=f"{suite.card.name}/{suite.card.version}",
        suite_hash=suite.hash,
        status="complete" if _complete(judged) else "provisional",
        capability=measure.result(judged.capability),
        points=measure.result(judged.points),
        eps={name: measure.result(axis) for name, axis in judged.eps.items()},
        overall=_overall(suite, judged, measure),
        headline=judged.headline,
        weights=dict(suite.card.weights),
        groups=_groups(suite, judged, measure, scores),
        prompts=_prompts(suite, judged, scores),
        oracle=_oracle(suite, said, pictures, measure),
        digest=digest,
        policies=POLICIES,
        signature=signature,
        signature_line=str(signature),
    )


def inputs_digest(pictures: Sequence[Pictured], *, said: Answers | None = None, logits: Logits) -> str:
    """Hash of the pictures and of the answers and scores they got; no order of rows enters."""
    content = {
        "pictures": sorted([one.prompt, one.seed, one.item, one.sha256 or one.image or ""] for one in pictures),
        "answers": sorted([*key, word] for key, word in (said or {}).items()),
        "scores": sorted(
            [*key, one.value is None, one.value or 0.0, one.sigma or 0.0, one.scorer or ""]
            for key, one in logits.items()
        ),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


# -- axes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Judged:
    """All pictures settled and scored, and the axes over prompts."""

    settled: dict[str, list[SettledPicture]]
    """By prompt."""
    columns: dict[str, Column]
    capability: Axis
    points: Axis
    eps: dict[str, Axis]
    headline: str | None
    """The column that enters Overall."""


def _judged(suite: Suite, pictures: Sequence[Pictured], said: Answers, scores: Logits) -> _Judged:
    settled = settle_points(suite, said, pictures)
    columns = {}
    for rule in suite.card.preferences:
        reference = column_reference(suite, rule)
        if reference is not None:
            columns[rule.id] = eps_column(suite, rule, reference, scores, pictures)
    by_prompt = _by_prompt(settled)
    return _Judged(
        settled=by_prompt,
        columns=columns,
        capability=_capability_axis(by_prompt, settled),
        points=_points_axis(by_prompt, settled),
        eps={name: _eps_axis(suite, column) for name, column in columns.items()},
        headline=next((rule.id for rule in suite.card.preferences if rule.headline and rule.id in columns), None),
    )


def _by_prompt(settled: Sequence[SettledPicture]) -> dict[str, list[SettledPicture]]:
    found: dict[str, list[SettledPicture]] = {}
    for one in settled:
        found.setdefault(one.picture.prompt, []).append(one)
    return found


def _capability_axis(by_prompt: Mapping[str, Sequence[SettledPicture]], settled: Sequence[SettledPicture]) -> Axis:
    return Axis(
        values=np.array([fmean(one.passed for one in group) for group in by_prompt.values()]),
        at_best=np.array([fmean(one.passed_at_best for one in group) for group in by_prompt.values()]),
        weights=np.ones(len(by_prompt)),
        coverage=capability_coverage(settled),
    )


def _points_axis(by_prompt: Mapping[str, Sequence[SettledPicture]], settled: Sequence[SettledPicture]) -> Axis:
    """Every point counts once: a prompt counts with its number of points."""
    holds, may_hold, points = (
        np.array([sum(of(one) for one in group) for group in by_prompt.values()], np.float64)
        for of in (lambda one: one.holds, lambda one: one.may_hold, lambda one: len(one.points))
    )
    return Axis(holds / points, may_hold / points, points, capability_coverage(settled))


def _eps_axis(suite: Suite, column: Column) -> Axis:
    row = {one.prompt.id: place for place, one in enumerate(suite.prompts)}
    rows = [row[picture.prompt] for picture in column.pictures]
    counts, wins, best = (
        np.bincount(rows, weights=of, minlength=len(row)) for of in (None, column.wins, column.wins_at_best)
    )
    each = np.maximum(counts, 1)
    return Axis(wins / each, best / each, (counts > 0).astype(np.float64), column.coverage)


def _overall(suite: Suite, judged: _Judged, measure: Measure) -> AxisResult | None:
    if judged.headline is None:
        return None
    axes = judged.capability, judged.eps[judged.headline]
    shares = suite.card.weights[CAPABILITY], suite.card.weights[EPS]
    bound = sum(share * at_best(axis) for share, axis in zip(shares, axes, strict=True))
    return AxisResult(
        figure=measure.figure(*axes, shares=shares),
        at_best=round(bound, DIGITS),
        coverage=_both(axes[0].coverage, axes[1].coverage),
    )


def _both(capability: Coverage, eps: Coverage) -> Coverage:
    """Capability counts every picture; answers and scores add up."""
    added = {name: getattr(capability, name) + getattr(eps, name) for name in ("asked", "given", "unread", "open")}
    return capability.model_copy(update=added)


def _oracle(suite: Suite, said: Answers, pictures: Sequence[Pictured], measure: Measure) -> AxisResult | None:
    judge = suite.card.oracle
    if judge is None or not any(by == judge for _, _, by in said):
        return None
    settled = settle_by(judge, suite, said, pictures)
    return measure.result(_capability_axis(_by_prompt(settled), settled))


def _complete(judged: _Judged) -> bool:
    return not any(axis.coverage.open for axis in (judged.capability, *judged.eps.values()))


# -- groups, prompts and pictures ------------------------------------------------------------------------------------


def _groups(suite: Suite, judged: _Judged, measure: Measure, scores: Logits) -> tuple[GroupResult, ...]:
    """Every tag that has prompts, then every group of tags."""
    tags: dict[str, list[int]] = {}
    groups: dict[str, list[int]] = {}
    for place, one in enumerate(suite.prompts):
        tags.setdefault(one.tag, []).append(place)
        groups.setdefault(suite.tag_of(one.prompt.id).group, []).append(place)
    rewards = _rewards(suite, judged, scores)
    return tuple(
        GroupResult(
            id=group,
            kind=kind,
            capability=measure.figure(judged.capability.over(rows)),
            eps={name: measure.figure(axis.over(rows)) for name, axis in judged.eps.items() if axis.over(rows).counts},
            reward={
                column: _mean_logit(values[rows], suite.card.level)
                for column, values in rewards.items()
                if not np.isnan(values[rows]).any()
            },
            prompts=len(rows),
        )
        for kind, named in (("tag", tags), ("group", groups))
        for group, rows in named.items()
    )


def _rewards(suite: Suite, judged: _Judged, scores: Logits) -> dict[str, Floats]:
    """By column the mean logit of every prompt; NaN where a picture has none."""
    return {
        rule.id: np.array(
            [
                fmean(_value(scores, rule.id, one.picture) for one in judged.settled[prompt.prompt.id])
                for prompt in suite.prompts
            ]
        )
        for rule in suite.card.preferences
    }


def _value(scores: Logits, column: str, picture: Pictured) -> float:
    logit = scores.get((column, picture.item))
    return np.nan if picture.image is None or logit is None or logit.value is None else logit.value


def _mean_logit(values: Floats, level: float) -> Estimate:
    """Mean with its t interval over prompts; none from one prompt, or from prompts that are all alike."""
    figure = mean_interval(values, level=level)
    return figure.transform(lambda end: round(end, DIGITS))


def _prompts(suite: Suite, judged: _Judged, scores: Logits) -> tuple[PromptResult, ...]:
    columns = [rule.id for rule in suite.card.preferences]
    wins = {
        name: {picture.item: win for picture, win in zip(column.pictures, column.wins, strict=True)}
        for name, column in judged.columns.items()
    }
    return tuple(
        PromptResult(
            prompt=one.prompt.id,
            tag=one.tag,
            passed=float(judged.capability.values[row]),
            passed_at_best=float(judged.capability.at_best[row]),
            eps={name: float(axis.values[row]) for name, axis in judged.eps.items() if axis.weights[row]},
            eps_at_best={name: float(axis.at_best[row]) for name, axis in judged.eps.items() if axis.weights[row]},
            pictures=tuple(_picture(settled, columns, wins, scores) for settled in judged.settled[one.prompt.id]),
        )
        for row, one in enumerate(suite.prompts)
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
        said=settled.said,
        logits={column: logit.value for column, logit in own.items() if logit.value is not None},
        sigmas={column: logit.sigma for column, logit in own.items() if logit.sigma is not None},
        wins={column: by_item[picture.item] for column, by_item in wins.items() if picture.item in by_item},
    )


# -- what it was made from -------------------------------------------------------------------------------------------


def _used(suite: Suite, said: Answers) -> Answers:
    """Answers that count: by judges of the point's route, and by the oracle."""
    judges = routed(suite)
    return {key: word for key, word in said.items() if key[2] in judges[key[1]] or key[2] == suite.card.oracle}


def _signature(suite: Suite, digest: str) -> Signature:
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
    return Signature(method="bench.result", data=digest[:12], settings=settings, seed=card.seed)
