"""The best of several items, and why.

    total_i = weighted mean of its criteria (`weights`), sd_i its standard deviation where scorers state one
    bound_i = total_i - k sd_i

The item with the highest bound is chosen. What is said beside it:

    tied           items that cannot be told from the chosen one: |total_i - total_best| <= z sqrt(sd_i² + sd_best²),
                   z for a two-sided test at `level`; without sds, equal totals only. Ties are declared, not settled:
                   the highest bound is chosen all the same.
    equal bounds   the first in the given order, or one drawn by seed (from sorted ids: their order does not matter)
    good enough    a bound below `least` is not: then nothing is chosen
    no score       an item without a finite number under a criterion that counts is never chosen; it is counted. So
                   is one with an infinite sd, and one with numbers beyond 1e60: no sum could hold their squares
    sds            a criterion that has an sd for some scored items only is taken as having none, and that is noted

The chosen total overstates: of several noisy numbers the largest one was lucky (`salon.stats.uncertain_scores`).

`choose_best` does this for every prompt. A picture that was wanted and not made cannot be chosen; how many were wanted
is counted beside the choice. A prompt without a single picture has no pick, and is counted.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from scipy.special import ndtri

from salon.errors import BadValue, TooFew
from salon.select.route import RouteChoice
from salon.select.scores import ScoreTable
from salon.select.settings import PickSettings
from salon.select.weights import FARTHEST, Blend, ScorerColumn
from salon.study import Noun, Signature

Floats = NDArray[np.float64]
PickOutcome = Literal["best", "only", "equal", "none good enough", "none scored"]
UNSCORED_ITEM_POLICY = "an item without a finite score under a criterion that counts is never chosen, and is counted"
_CLOSE = 1e-12
"""Relative distance of two totals that are one number but for rounding."""


class ItemStanding(Noun):
    """One item as it stood when the choice was made."""

    item: str = Field(description="Id of the item.")
    index: int = Field(description="Place among the items as they were given, from 0.")
    rank: int | None = Field(description="By bound, 1 the best, equal ones alike; null without a score.")
    total: float | None = Field(
        description="Weighted mean of what its criteria add; null where one that counts has no score."
    )
    sd: float | None = Field(description="Null where a scorer states none.")
    bound: float | None = Field(description="Total less k standard deviations.")
    contributions: dict[str, float] = Field(description="What each criterion adds to the total.")
    missing: tuple[str, ...] = Field((), description="Criteria that count and gave no finite number.")
    tied: bool = Field(False, description="No significant difference to the chosen one (or the best, if none is).")


class Pick(Noun):
    """What was chosen, why, and among what."""

    chosen: str | None = Field(description="Id of the chosen item; null where none was.")
    index: int | None = Field(description="Place of the chosen one among the items as they were given, from 0.")
    outcome: PickOutcome = Field(description="What came of it.")
    why: str = Field(description="One sentence.")
    tied: tuple[str, ...] = Field(description="Others that do not differ significantly from it.")
    margin: float | None = Field(description="Bound of the best less the next; null where there is no next.")
    n: int = Field(description="Items to choose from.")
    unscored: int = Field(description="Of these, without a score under a criterion that counts.")
    standings: tuple[ItemStanding, ...] = Field(description="Best first; items without a score last.")
    weights: dict[str, float] = Field(description="By criterion; they sum to 1.")
    scale: str = Field(description="What totals are measured in, in words.")
    notes: tuple[str, ...] = Field(default=(), description="What else must be known.")
    missing: str = Field(default=UNSCORED_ITEM_POLICY, description="How missing scores were treated.")
    signature: Signature = Field(description="What reproduces the choice.")

    @property
    def best(self) -> ItemStanding | None:
        """The highest bound, whether it was good enough or not."""
        return self.standings[0] if self.standings[0].rank is not None else None


def pick(
    values: ArrayLike,
    sds: ArrayLike | None,
    blend: Blend,
    *,
    items: Sequence[str] | None = None,
    settings: PickSettings | None = None,
) -> Pick:
    """The best of n items by `values` (n, D), columns as `blend.criteria`; None and NaN are missing scores.

    `sds` has the same shape, NaN or None where a scorer states no standard deviation.
    """
    settings = settings or PickSettings()
    count = len(np.asarray(values, dtype=object))
    names = tuple(map(str, range(count))) if items is None else tuple(items)
    if len(names) != count:
        raise BadValue("a row of scores for each item is needed", found=f"{count} rows for {len(names)} items")
    if len(set(names)) < count:
        again = next(name for name in names if names.count(name) > 1)
        raise BadValue("each item may stand once", found=f"{again!r} {names.count(again)} times")
    table = _numbers(values)
    if table.size == 0:
        raise TooFew("at least one item is needed to choose from", found="none")
    table = blend.checked(table[:, None] if table.ndim == 1 and len(blend.terms) == 1 else table)
    if sds is None:
        given_errors: Floats | None = None
    else:
        # (n, D) standard deviations as they were given, NaN where there is none
        given = _numbers(sds)
        given_errors = given[:, None] if given.ndim == 1 and table.shape[1] == 1 else given
        if given_errors.shape != table.shape:
            raise BadValue(
                "a standard deviation for each score is needed", found=f"{given_errors.shape} for {table.shape}"
            )
        if (given_errors < 0).any():
            raise BadValue("a standard deviation is a number from 0 up", found=float(given_errors[given_errors < 0][0]))
    far = ~(np.abs(table) <= FARTHEST)
    if given_errors is not None:  # an sd that is left out instead would only make a bound rise
        far |= given_errors > FARTHEST
    table = np.where(far, np.nan, table)
    errors, notes = (None, ()) if given_errors is None else _stated_errors(given_errors, table, blend)
    totals = blend.totals(table)
    spreads = np.zeros(len(totals)) if errors is None else blend.spreads(errors)
    bounds = totals - settings.k * spreads
    # items by falling bound; the first or a drawn one of equals; those without a score last
    place = np.arange(len(names))
    if settings.ties == "seed":
        permutation = np.random.default_rng([settings.seed, 11]).permutation(len(names))
        place = np.empty(len(names), np.int64)
        place[np.argsort(np.array(names, dtype=object), kind="stable")] = permutation
    rounded = np.array([np.nan if np.isnan(bound) else float(f"{bound:.12g}") for bound in bounds])
    order = np.lexsort((place, -np.nan_to_num(rounded, nan=-np.inf)))
    best = int(order[0])
    reach = float(ndtri((1 + settings.level) / 2)) * np.hypot(spreads, spreads[best])
    tied = np.abs(totals - totals[best]) <= reach + _CLOSE * np.maximum(1.0, np.abs(totals[best]))  # False for NaN
    tied[best] = False
    stated = None if errors is None else spreads
    standings = [_standing(int(i), names, table, blend, totals, stated, bounds, tied) for i in order]
    digest = hashlib.sha256(json.dumps(names, ensure_ascii=False).encode())
    for part in (table, errors):
        digest.update(b"\0" if part is None else np.ascontiguousarray(part).tobytes())
    return _build_pick(standings, blend, settings, notes, digest.hexdigest()[:12])


# -- what is given -----------------------------------------------------------------------------------------------------


def _numbers(values: ArrayLike) -> Floats:
    """None becomes NaN."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadValue("a table of numbers, items by criteria, is needed", found=type(values).__name__) from None


def _stated_errors(errors: Floats, table: Floats, blend: Blend) -> tuple[Floats | None, tuple[str, ...]]:
    """(n, D) standard deviations, 0 under a criterion that has none; None where no criterion has any."""
    scored = np.isfinite(table)
    stated = np.isfinite(errors) & scored
    whole = stated.any(axis=0) & (stated == scored).all(axis=0)
    partly = stated.any(axis=0) & ~whole & blend.counts
    notes = tuple(
        f"{criterion}: {int(stated[:, d].sum())} of {int(scored[:, d].sum())} scores have a standard deviation; "
        "taken as having none"
        for d, criterion in enumerate(blend.criteria)
        if partly[d]
    )
    if not (whole & blend.counts).any():
        return None, notes
    return np.where(whole & stated, errors, 0.0), notes


# -- the choice --------------------------------------------------------------------------------------------------------


def _standing(
    i: int,
    names: tuple[str, ...],
    table: Floats,
    blend: Blend,
    totals: Floats,
    spreads: Floats | None,
    bounds: Floats,
    tied: NDArray[np.bool_],
) -> ItemStanding:
    parts = zip(blend.criteria, blend.contributions(table[i : i + 1])[0], blend.counts)
    counting = {id: float(part) for id, part, counts in parts if counts}
    missing = tuple(id for id, part in counting.items() if not math.isfinite(part))
    above = bounds > bounds[i] + _CLOSE * max(1.0, abs(float(bounds[i])))
    return ItemStanding(
        item=names[i],
        index=i,
        rank=None if missing else 1 + int(above.sum()),
        total=None if missing else float(totals[i]),
        sd=None if missing or spreads is None else float(spreads[i]),
        bound=None if missing else float(bounds[i]),
        contributions={id: part for id, part in counting.items() if math.isfinite(part)},
        missing=missing,
        tied=not missing and bool(tied[i]),
    )


def _build_pick(
    standings: Sequence[ItemStanding], blend: Blend, settings: PickSettings, notes: tuple[str, ...], data: str
) -> Pick:
    ranked = [standing for standing in standings if standing.rank is not None]
    outcome, why = _decide(ranked, len(standings), settings)
    chosen = ranked[0] if outcome in ("best", "only", "equal") else None
    fields = {
        "k": settings.k,
        "least": settings.least,
        "level": settings.level,
        "ties": settings.ties,
        "weights": ",".join(f"{id}={share:.6g}" for id, share in blend.shares.items() if share > 0),
        "reference": blend.reference,
    }
    seed = settings.seed if settings.ties == "seed" else None
    return Pick(
        chosen=None if chosen is None else chosen.item,
        index=None if chosen is None else chosen.index,
        outcome=outcome,
        why=why,
        tied=tuple(standing.item for standing in ranked if standing.tied),
        margin=None if len(ranked) < 2 else float((ranked[0].bound or 0) - (ranked[1].bound or 0)),
        n=len(standings),
        unscored=len(standings) - len(ranked),
        standings=tuple(standings),
        weights=blend.shares,
        scale=blend.scale,
        notes=notes,
        signature=Signature(method="select-pick", data=data, settings=fields, seed=seed),
    )


def _decide(ranked: Sequence[ItemStanding], n: int, settings: PickSettings) -> tuple[PickOutcome, str]:
    """What comes of the standings, and why."""
    if not ranked:
        return "none scored", "No item has a score under every criterion that counts."
    best = ranked[0]
    bound = f"{best.bound:.4g}" + ("" if best.sd is None else f" ({best.total:.4g} less {settings.k:g} sd)")
    if settings.least is not None and (best.bound or 0.0) < settings.least:
        return "none good enough", f"The best bound, {bound} of {best.item}, is below {settings.least:.4g}."
    if n == 1:
        return "only", f"The only item there is, at {bound}."
    same = sum(standing.rank == 1 for standing in ranked)
    if len(ranked) > 1 and ranked[1].rank == 1:
        how = "the first" if settings.ties == "first" else f"drawn with seed {settings.seed}"
        return "equal", f"{same} items are equal at {bound}; {how} is taken."
    tied = sum(standing.tied for standing in ranked)
    verb = "does" if tied == 1 else "do"
    ties = f"; {tied} {verb} not differ significantly from it at {settings.level:g}" if tied else ""
    return "best", f"Highest bound of {len(ranked)}: {bound}{ties}."


# -- every prompt ------------------------------------------------------------------------------------------------------

BEST_FORMAT: Final = "salon-best-1"
MISSING_POLICY = (
    "a picture that was not made is not chosen from: the choice is among those that were, and both are counted"
)
NO_ERRORS = "no scorer states an error: only items with equal totals are called tied, near ones may be luck"
LUCK_POLICY = "the score of a chosen item overstates it: of several noisy numbers the largest was lucky"


class OfferedPicture(Noun):
    """A picture that may be chosen for a prompt."""

    item: str = Field(description="Id of the item.")
    prompt: str | None = Field(default=None, description="Id of its prompt.")
    generator: str | None = Field(default=None, description="Who made it.")
    image: str | None = Field(None, description="Path inside the folder that was chosen from.")


class MissingPicture(Noun):
    """A picture that was wanted and is not there."""

    prompt: str
    generator: str
    kind: str
    reason: str


class RunnerUp(Noun):
    """The item that stands next to the best, and what speaks for which of the two."""

    item: str = Field(description="Id of the item.")
    index: int = Field(description="Place among the items as they were given, from 0.")
    ahead: dict[str, float] = Field(
        description="By criterion, what it adds to the best item's total less what it adds to this one's; the largest "
        "first. They sum to the difference of the totals."
    )


class PromptPick(Noun):
    """What was chosen for one prompt."""

    prompt: str | None = Field(description="Id; null for items without a prompt, which are one group.")
    text: str = Field(default="", description="The prompt's text.")
    wanted: int = Field(description="Pictures that were to be there.")
    not_made: dict[str, int] = Field(default_factory=dict, description="Of these, not made, by kind of failure.")
    outcome: PickOutcome | Literal["none made"] = Field(description="What came of it.")
    items: tuple[OfferedPicture, ...] = Field(description="The pictures, in their order.")
    route: RouteChoice | None = Field(
        None, description="Who was called to draw it, and why; null unless routes decided."
    )
    values: dict[str, tuple[float | None, ...]] = Field(description="By criterion, scores of the items in order.")
    pick: Pick | None = Field(description="The choice; null where nothing was made.")
    runner_up: RunnerUp | None = Field(None, description="Second by bound; null where fewer than two have a score.")

    @property
    def chosen(self) -> OfferedPicture | None:
        """The chosen item."""
        return None if self.pick is None or self.pick.index is None else self.items[self.pick.index]

    def row(self) -> dict[str, Any]:
        """The choice as a row of a table."""
        chosen = self.chosen
        best = None if self.pick is None or chosen is None else self.pick.best
        return {
            "prompt": self.prompt,
            "outcome": self.outcome,
            "chosen": None if chosen is None else chosen.item,
            "generator": None if chosen is None else chosen.generator,
            "image": None if chosen is None else chosen.image,
            "total": None if best is None else best.total,
            "sd": None if best is None else best.sd,
            "bound": None if best is None else best.bound,
            "margin": None if self.pick is None else self.pick.margin,
            "tied": 0 if self.pick is None else len(self.pick.tied),
            "items": len(self.items),
            "unscored": 0 if self.pick is None else self.pick.unscored,
            "not_made": sum(self.not_made.values()),
        }


class BestReport(Noun):
    """One choice for every prompt."""

    format: Literal["salon-best-1"] = Field(default=BEST_FORMAT, description="Name and version of this form.")
    place: str = Field(description="The study, folder or file that was chosen from.")
    prompts: int = Field(description="Prompts there are.")
    items: int = Field(description="Pictures to choose from.")
    chosen: int = Field(description="Prompts for which one was chosen.")
    outcomes: dict[str, int] = Field(description="Prompts by what came of them.")
    tied: int = Field(description="Prompts whose chosen item is tied with another.")
    unscored: int = Field(description="Items without a score under a criterion that counts.")
    reasons: dict[str, int] = Field(description="Why scores are missing, and how often.")
    wanted: int = Field(description="Pictures that were to be there.")
    not_made: dict[str, int] = Field(description="Pictures not made, by kind of failure.")
    columns: tuple[ScorerColumn, ...] = Field(description="The scores, and on which scale each is.")
    weights: dict[str, float] = Field(description="By criterion; they sum to 1.")
    scale: str = Field(description="What totals are measured in, in words.")
    settings: PickSettings = Field(description="How one of several is chosen.")
    picks: tuple[PromptPick, ...] = Field(description="One for each prompt.")
    policies: tuple[str, ...] = Field(
        default=(UNSCORED_ITEM_POLICY, MISSING_POLICY, LUCK_POLICY),
        description="How missing pictures and scores were treated.",
    )
    notes: tuple[str, ...] = Field(default=(), description="What else must be known.")
    signature: Signature = Field(description="What reproduces the choice.")

    def rows(self) -> list[dict[str, Any]]:
        """One row for each prompt, for a table."""
        return [prompt_pick.row() for prompt_pick in self.picks]


def choose_best(
    offered: Sequence[OfferedPicture],
    table: ScoreTable,
    blend: Blend,
    settings: PickSettings,
    *,
    place: str,
    texts: Mapping[str, str] | None = None,
    not_made: Sequence[MissingPicture] = (),
    routes: Mapping[str, RouteChoice] | None = None,
    notes: Sequence[str] = (),
) -> BestReport:
    """Choose one item of every prompt, prompts in the order in which they come."""
    groups: dict[str | None, list[OfferedPicture]] = {}
    for entry in offered:
        groups.setdefault(entry.prompt, []).append(entry)
    if not groups and not not_made:
        raise TooFew("items to choose from are needed", found="none", where=place)
    lacking: dict[str | None, list[MissingPicture]] = {}
    for missing in not_made:
        groups.setdefault(missing.prompt, [])
        lacking.setdefault(missing.prompt, []).append(missing)
    prompt_picks = []
    for prompt, pictures in groups.items():
        lost = lacking.get(prompt, [])
        facts = {
            "prompt": prompt,
            "text": (texts or {}).get(prompt or "", ""),
            "wanted": len(pictures) + len(lost),
            "not_made": dict(Counter(picture.kind for picture in lost).most_common()),
            "items": tuple(pictures),
            "route": (routes or {}).get(prompt or ""),
        }
        prompt_picks.append(_pick_prompt(facts, pictures, table, blend, settings))
    picks = tuple(prompt_picks)
    item_picks = [entry.pick for entry in picks if entry.pick is not None]
    best = [choice.best for choice in item_picks if choice.best is not None]
    error_words = (NO_ERRORS,) if best and all(standing.sd is None for standing in best) else ()
    scorers = ",".join(dict.fromkeys(column.scorer for column in table.columns))
    fields = dict(item_picks[0].signature.settings) if item_picks else {}
    seed = settings.seed if settings.ties == "seed" else None
    signature = Signature(
        method="select-best", data=table.data or None, settings={**fields, "scorers": scorers}, seed=seed
    )
    return BestReport(
        place=place,
        prompts=len(picks),
        items=len(offered),
        chosen=sum(entry.chosen is not None for entry in picks),
        outcomes=dict(Counter(entry.outcome for entry in picks).most_common()),
        tied=sum(entry.chosen is not None and bool(entry.tied) for entry in item_picks),
        unscored=sum(entry.unscored for entry in item_picks),
        reasons=dict(Counter(table.reasons.values()).most_common()),
        wanted=sum(entry.wanted for entry in picks),
        not_made=dict(Counter(missing.kind for missing in not_made).most_common()),
        columns=table.columns,
        weights=blend.shares,
        scale=blend.scale,
        settings=settings,
        picks=picks,
        policies=(UNSCORED_ITEM_POLICY, MISSING_POLICY, LUCK_POLICY, *error_words),
        notes=(*notes, *dict.fromkeys(note for entry in item_picks for note in entry.notes)),
        signature=signature,
    )


def _pick_prompt(
    facts: Mapping[str, Any],
    pictures: Sequence[OfferedPicture],
    table: ScoreTable,
    blend: Blend,
    settings: PickSettings,
) -> PromptPick:
    if not pictures:
        return PromptPick(**facts, outcome="none made", values={}, pick=None)
    names = [picture.item for picture in pictures]
    values, sds = table.rows(names)
    choice = pick(values, sds, blend, items=names, settings=settings)
    by_criterion = {
        id: tuple(None if x != x else float(x) for x in values[:, d])  # NaN is no JSON
        for d, id in enumerate(table.criteria)
    }
    runner_up = None
    ranked = [standing for standing in choice.standings if standing.rank is not None]
    if len(ranked) > 1:
        best, second = ranked[:2]
        ahead = {id: part - second.contributions[id] for id, part in best.contributions.items()}
        ordered = dict(sorted(ahead.items(), key=lambda criterion: -criterion[1]))
        runner_up = RunnerUp(item=second.item, index=second.index, ahead=ordered)
    return PromptPick(**facts, outcome=choice.outcome, values=by_criterion, pick=choice, runner_up=runner_up)
