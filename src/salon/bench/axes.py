"""The axes of an entry: Capability, EPS, and how a suite makes figures of them.

Capability. The rule of a point's route (`salon.study.point.agreed`) decides each point of each picture twice: once
with every missing answer taken as FAIL, once as PASS. If both agree, the point is settled; otherwise it is open.

    holds          the rule says PASS with open answers as FAIL
    may hold       the rule says PASS with open answers as PASS
    a picture      passes if all its points hold (`passes = "all"`), or counts with the share of points that hold

A missing picture fails every point, and an unreadable answer is not a PASS. Removing a picture or an answer therefore
never raises a number.

EPS: how often a picture would be preferred to the frozen reference of its prompt.

    EPS = 100 mean over eligible prompts p, mean over pictures k of p, of P(k preferred to the reference of p)
    P   = s(mu_k - mu_ref(p)),  s(x) = 1/(1 + e^-x)                    as ImageBench, sigma dropped
    P   = E[s(z)], z ~ N(mu_k - mu_ref, sigma_k^2 + sigma_ref^2)       `integrate`, as HPSv3 defines its logits

P is exactly 1/2 for a picture at the reference under both formulas. P = 0 for a missing picture and for one that could
not be scored. A picture that is not scored yet has P = 0, and 1 at best. EPS needs a scorer whose card declares logits,
and only scores by the scorer of the frozen reference can be compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit

from salon.bench.entry import ANSWERS, LOGITS, AxisResult, Coverage, EntryPicture, has_image
from salon.bench.suite import FARTHEST, PreferenceReference, PreferenceRule, ReferencePoint, Suite, SuiteCard
from salon.bench.suite_folder import prompts_hash
from salon.errors import BadColumns, BadFile, BadValue, ConflictingJudgment, DesignError, TooFew, UnknownReference
from salon.stats import Estimate, bootstrap_interval, score_interval, win_chance
from salon.study import Point, Route, ScorerCard, agreed, find_route

Floats = NDArray[np.float64]
DIGITS = 9
"""Figures are published to so many digits: the last ones of a sum differ between machines."""


@dataclass(frozen=True)
class PromptAxis:
    """Values of all prompts of a suite in its order, 0 to 1; weight 0 where a prompt does not count."""

    values: Floats
    at_best: Floats
    weights: Floats
    coverage: Coverage

    def over(self, rows: Sequence[int] | NDArray[np.int64]) -> PromptAxis:
        """The same over some of the prompts."""
        return PromptAxis(self.values[rows], self.at_best[rows], self.weights[rows], self.coverage)

    @property
    def counts(self) -> bool:
        """Whether any prompt counts."""
        return bool((self.weights > 0).any())


@dataclass(frozen=True)
class AxisEstimator:
    """Figures by a suite's settings. Chance comes from the suite's seed alone: never from a name or another entry."""

    card: SuiteCard

    def figure(self, *axes: PromptAxis, shares: Sequence[float] = (1.0,)) -> Estimate:
        """Mean of an axis, or the sum of several with their shares, from 0 to 100 with its interval."""
        values = np.column_stack([axis.values for axis in axes])
        weights = np.column_stack([axis.weights for axis in axes])
        return percent(self._estimate(values, weights, shares))

    def result(self, axis: PromptAxis) -> AxisResult:
        """An axis with its bound and coverage."""
        return AxisResult(figure=self.figure(axis), at_best=at_best(axis), coverage=axis.coverage)

    def _estimate(self, values: Floats, weights: Floats, shares: Sequence[float]) -> Estimate:
        card = self.card
        if card.interval == "score":
            return score_interval(values, weights, shares, level=card.level)
        rng = np.random.default_rng(card.seed)
        return bootstrap_interval(values, weights, shares, draws=card.draws, rng=rng, level=card.level)


def at_best(axis: PromptAxis) -> float:
    """The mean if everything open turned out well, from 0 to 100."""
    return round(100 * float((axis.weights * axis.at_best).sum() / axis.weights.sum()), DIGITS)


def percent(estimate: Estimate) -> Estimate:
    """An estimate between 0 and 1 as a figure between 0 and 100."""
    return estimate.transform(lambda end: round(100 * end, DIGITS))


# -- Capability --------------------------------------------------------------------------------------------------------

AnswerWord = Literal["pass", "fail", "unread"]
Status = Literal["pass", "fail", "unread", "open"]
Answers = dict[tuple[str, str, str], AnswerWord]
"""(item, point, judge) -> what was said."""
_MEANS: dict[AnswerWord, bool | None] = {"pass": True, "fail": False, "unread": None}


@dataclass(frozen=True)
class SettledPicture:
    """One picture with all its points settled."""

    picture: EntryPicture
    points: dict[str, Status]
    may_hold: int
    """Points that hold if every open answer is PASS."""
    replies: dict[str, dict[str, str]]
    """By point and judge; judges that were not asked, or have not answered, are not there."""
    expected: int
    """Answers wanted, of a picture that is there."""
    share: bool
    """Whether the picture counts with the share of its points."""

    @property
    def holds(self) -> int:
        """Points that hold."""
        return sum(status == "pass" for status in self.points.values())

    @property
    def passed(self) -> float:
        """1 or 0, or the share of points; everything open fails."""
        return self._worth(self.holds)

    @property
    def passed_at_best(self) -> float:
        """The same if everything open passes."""
        return self._worth(self.may_hold)

    def _worth(self, holds: int) -> float:
        return holds / len(self.points) if self.share else float(holds == len(self.points))


def index_answers(answers: pa.Table, pictures: Sequence[EntryPicture], points: Iterable[Point]) -> Answers:
    """The table's rows by item, point and judge; a second answer, a strange item, point or word is refused."""
    for name in ANSWERS.names[:4]:
        if name not in answers.column_names:
            raise BadColumns.missing(name, answers.column_names, where="answers")
    items, ids = {picture.item for picture in pictures}, {point.id for point in points}
    by_key: Answers = {}
    for item, point, judge, verdict in zip(
        *(answers.column(name).to_pylist() for name in ANSWERS.names[:4]), strict=True
    ):
        where = f"judge {judge!r} on point {point!r} of item {item!r}"
        if item not in items or point not in ids:
            raise UnknownReference("answers are about the entry's pictures and the suite's points", found=where)
        if verdict not in get_args(AnswerWord):
            raise BadValue("an answer is pass, fail or unread", found=repr(verdict), where=where)
        if (item, point, judge) in by_key:
            raise ConflictingJudgment("one answer of every judge to every point", found="two", where=where)
        by_key[item, point, judge] = verdict
    return by_key


def settle_points(suite: Suite, answers: Answers, pictures: Sequence[EntryPicture]) -> list[SettledPicture]:
    """Every picture by the suite's routes."""
    return _settle(suite, answers, pictures, suite.routes)


def settle_by_judge(
    judge: str, suite: Suite, answers: Answers, pictures: Sequence[EntryPicture]
) -> list[SettledPicture]:
    """Every picture by one judge alone, such as the suite's oracle."""
    return _settle(suite, answers, pictures, [Route(tag="*", judges=(judge,))])


def judges_by_point(suite: Suite) -> dict[str, tuple[str, ...]]:
    """The judges of every point, by its id."""
    return {point.id: find_route(point, suite.routes).judges for point in suite.points}


def capability_coverage(settled: Sequence[SettledPicture]) -> Coverage:
    """What Capability rests on."""
    verdicts = [word for picture in settled for by_judge in picture.replies.values() for word in by_judge.values()]
    expected, unread = sum(picture.expected for picture in settled), verdicts.count("unread")
    return Coverage(
        wanted=len(settled),
        made=sum(has_image(picture.picture) for picture in settled),
        asked=expected,
        given=len(verdicts) - unread,
        unread=unread,
        open=expected - len(verdicts),
    )


def _settle(
    suite: Suite, answers: Answers, pictures: Sequence[EntryPicture], routes: Sequence[Route]
) -> list[SettledPicture]:
    points_by_prompt: dict[str, list[Point]] = {suite_prompt.id: [] for suite_prompt in suite.prompts}
    for suite_point in suite.points:
        for prompt in points_by_prompt if suite_point.prompt is None else [suite_point.prompt]:
            points_by_prompt[prompt].append(suite_point)
    empty = [prompt for prompt, points in points_by_prompt.items() if not points]
    if empty:
        raise TooFew("every prompt needs a point", found=f"{len(empty)} without, the first {empty[0]!r}")
    route = {point.id: find_route(point, routes) for point in suite.points}
    return [_picture(picture, points_by_prompt[picture.prompt], route, answers, suite) for picture in pictures]


def _picture(
    picture: EntryPicture, points: Sequence[Point], route: Mapping[str, Route], answers: Answers, suite: Suite
) -> SettledPicture:
    share = suite.card.passes == "share"
    if not has_image(picture):
        return SettledPicture(picture, {point.id: "fail" for point in points}, 0, {}, 0, share)
    verdicts = {
        point.id: (
            {
                judge: answers[picture.item, point.id, judge]
                for judge in route[point.id].judges
                if (picture.item, point.id, judge) in answers
            }
        )
        for point in points
    }
    states = {point.id: _status(verdicts[point.id], route[point.id]) for point in points}
    return SettledPicture(
        picture=picture,
        points=states,
        may_hold=sum(status in ("pass", "open") for status in states.values()),
        replies={point: dict(by_judge) for point, by_judge in verdicts.items()},
        expected=sum(len(route[point.id].judges) for point in points),
        share=share,
    )


def _status(verdicts: Mapping[str, AnswerWord], route: Route) -> Status:
    """What the judges say together, whatever the open answers turn out to be; else open. A split is no PASS."""
    worst, best = (
        agreed([_MEANS[verdicts[judge]] if judge in verdicts else opened for judge in route.judges], route.rule)
        for opened in (False, True)
    )
    if worst is True:
        return "pass"
    if best is True:
        return "open"
    return "unread" if best is None and "unread" in verdicts.values() else "fail"


# -- EPS ---------------------------------------------------------------------------------------------------------------

CHANCE_DIGITS = 12
"""Chances are published to so many digits: the last ones of a logistic function differ between machines."""


@dataclass(frozen=True, slots=True)
class Logit:
    """A scorer's number for one picture; `value` is None where it could not be scored."""

    value: float | None
    sigma: float | None
    scorer: str | None


Logits = dict[tuple[str, str], Logit]
"""(column, item) -> the scorer's number; absent: not scored yet."""


@dataclass(frozen=True)
class EpsColumn:
    """One EPS column of an entry: chances for every eligible picture, in the suite's order."""

    rule: PreferenceRule
    pictures: tuple[EntryPicture, ...]
    wins: tuple[float, ...]
    wins_at_best: tuple[float, ...]
    coverage: Coverage


def index_logits(logits: pa.Table, suite: Suite, pictures: Sequence[EntryPicture]) -> Logits:
    """The table's rows by column and item; a second score, a strange item or column, NaN are refused."""
    for name in LOGITS.names:
        if name not in logits.column_names:
            raise BadColumns.missing(name, logits.column_names, where="scores")
    items, columns = {picture.item for picture in pictures}, {rule.id for rule in suite.card.preferences}
    by_key: Logits = {}
    for row in logits.select(LOGITS.names).to_pylist():
        key = row["preference"], row["item"]
        where = f"column {key[0]!r}, item {key[1]!r}"
        if key[1] not in items or key[0] not in columns:
            raise UnknownReference("scores are of the entry's pictures, in the suite's columns", found=where)
        if key in by_key:
            raise ConflictingJudgment("one score of every picture in a column", found="two", where=where)
        value, sigma, unscored = row["value"], row["sigma"], row["unscored"]
        if (value is None) == (unscored is None):
            raise BadValue("a score has a value or a reason for having none", found=dict(row), where=where)
        if value is not None and not abs(value) <= FARTHEST:
            raise BadValue(f"a logit is a finite number, {FARTHEST:g} at most", found=value, where=where)
        if sigma is not None and not 0 <= sigma <= FARTHEST:
            raise BadValue(f"a sigma is a finite number from 0 up, {FARTHEST:g} at most", found=sigma, where=where)
        by_key[key] = Logit(value, sigma, row["scorer"])
    first: dict[str, str | None] = {}
    for (column, item), logit in by_key.items():
        if first.setdefault(column, logit.scorer) != logit.scorer:
            raise DesignError(
                "one scorer for all pictures of a column",
                found=f"{first[column]} and {logit.scorer}",
                where=f"column {column!r}, item {item!r}",
            )
    return by_key


def eps_column(
    suite: Suite, rule: PreferenceRule, reference: PreferenceReference, logits: Logits, pictures: Sequence[EntryPicture]
) -> EpsColumn:
    """One column against its frozen reference."""
    check_scorer(reference, logits)
    reference_points = {point.prompt: point for point in reference.points}
    counted_prompts = [suite_prompt.id for suite_prompt in suite.prompts if suite.tag_of(suite_prompt.id).eps]
    lacking = [prompt for prompt in counted_prompts if prompt not in reference_points]
    if lacking:
        raise UnknownReference(
            "a reference for every prompt that EPS counts is needed",
            found=f"none for {len(lacking)} prompts, the first {lacking[0]!r}",
            where=f"column {reference.id!r}",
        )
    eligible = tuple(picture for picture in pictures if suite.tag_of(picture.prompt).eps)
    scored = [logits.get((rule.id, picture.item)) if has_image(picture) else None for picture in eligible]
    wins = _wins(scored, [reference_points[picture.prompt] for picture in eligible], suite.card.integrate)
    opened = [logit is None and has_image(picture) for logit, picture in zip(scored, eligible, strict=True)]
    picture_count, scored_count = (
        sum(map(has_image, eligible)),
        sum(logit is not None and logit.value is not None for logit in scored),
    )
    return EpsColumn(
        rule=rule,
        pictures=eligible,
        wins=tuple(wins),
        wins_at_best=tuple(1.0 if is_open else win for win, is_open in zip(wins, opened, strict=True)),
        coverage=Coverage(
            wanted=len(eligible),
            made=picture_count,
            asked=picture_count,
            given=scored_count,
            unread=picture_count - scored_count - sum(opened),
            open=sum(opened),
        ),
    )


def column_reference(suite: Suite, rule: PreferenceRule) -> PreferenceReference | None:
    """The frozen reference of a column, None before freezing; one for other prompts is refused."""
    if suite.reference is None:
        return None
    needed = prompts_hash(suite)
    if suite.reference.prompts != needed:
        raise BadFile(
            f"a reference for the prompts of this suite ({needed[:12]}) is needed",
            found=f"one for other prompts ({suite.reference.prompts[:12]})",
            where=f"{suite.card.name}/{suite.card.version}",
            remedy="freeze a reference for these prompts, as a new version of the suite",
        )
    return next((candidate for candidate in suite.reference.preferences if candidate.id == rule.id), None)


def check_scorer(reference: PreferenceReference, logits: Logits) -> None:
    """Refuse a scorer without logits, and scores by another scorer than the reference's."""
    require_logits(reference.scorer, reference.card)
    for (column, item), logit in logits.items():
        if column == reference.id and logit.scorer != reference.signature:
            raise DesignError(
                "scores by the scorer that the reference was frozen with are needed",
                found=f"{logit.scorer}, where the reference has {reference.signature}",
                where=f"column {column!r}, item {item!r}",
                remedy="score the pictures with that scorer, or freeze a new version of the suite",
            )


def require_logits(name: str, card: ScorerCard) -> None:
    """Refuse a scorer whose differences are no log odds: s(difference) would be no probability."""
    if not card.is_logit or not card.higher_is_better:
        raise DesignError(
            "EPS needs a scorer whose card declares logits, higher being better",
            found=f"{name}: is_logit {card.is_logit}, higher_is_better {card.higher_is_better}",
            remedy="salon train heads --form scalar and salon train reward make such models; heads that only compare "
            "(the default form) have no score of a single picture",
        )


def _wins(scored: Sequence[Logit | None], points: Sequence[ReferencePoint], integrate: bool) -> list[float]:
    there = [
        (place, logit, logit.value - points[place].value)
        for place, logit in enumerate(scored)
        if logit is not None and logit.value is not None
    ]
    apart = np.array([gap for _, _, gap in there])
    if integrate:
        spreads = []
        for place, logit, _ in there:
            point = points[place]
            if logit.sigma is None or point.sigma is None:
                raise DesignError(
                    "an integrated EPS needs sigma of every picture and of the reference",
                    found="a score without sigma" if logit.sigma is None else "a reference without sigma",
                    where=f"prompt {point.prompt!r}",
                    remedy="take a scorer that states sigma, or set integrate = false in suite.toml",
                )
            spreads.append(float(np.hypot(logit.sigma, point.sigma)))
        chances = integrated_chance(apart, spreads)
    else:
        chances = expit(apart)
    wins = [0.0] * len(scored)
    for (place, _, _), chance in zip(there, chances, strict=True):
        wins[place] = round(float(chance), CHANCE_DIGITS)
    return wins


def integrated_chance(apart: np.ndarray, spread: Sequence[float]) -> np.ndarray:
    """E[s(z)], exactly 1/2 where the means are equal, whatever the spread."""
    if not len(apart):
        return apart
    above = win_chance(np.abs(apart), np.asarray(spread))
    return np.where(apart == 0, 0.5, np.where(apart > 0, above, 1 - above))
