"""The best of the items of every prompt, as one report.

A picture that was wanted and not made is not chosen from: the choice is among those that were made, and how many were
wanted stands beside it. A prompt without a single picture has no pick, and is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import Field

from salon.errors import TooFew
from salon.select.pick import POLICY, Outcome, Pick, PickSettings, pick
from salon.select.route import Choice
from salon.select.score_table import ScoreTable
from salon.select.weights import Blend, ScoreColumn
from salon.study.noun import Noun
from salon.study.signature import Signature

FORMAT: Final = "salon-best-1"
NOT_MADE = "a picture that was not made is not chosen from: the choice is among those that were, and both are counted"
NO_ERRORS = "no scorer states an error: only items with equal totals are called tied, near ones may be luck"
LUCK = "the score of a chosen item overstates it: of several noisy numbers the largest was lucky"


class Offered(Noun):
    """A picture that may be chosen for a prompt."""

    item: str
    prompt: str | None = None
    generator: str | None = None
    image: str | None = Field(None, description="Path inside the folder that was chosen from.")


class NotMade(Noun):
    """A picture that was wanted and is not there."""

    prompt: str
    generator: str
    kind: str
    reason: str


class RunnerUp(Noun):
    """The item that stands next to the best, and what speaks for which of the two."""

    item: str
    index: int = Field(description="Place among the items as they were given, from 0.")
    ahead: dict[str, float] = Field(
        description="By criterion, what it adds to the best item's total less what it adds to this one's; the largest "
        "first. They sum to the difference of the totals."
    )


class PromptPick(Noun):
    """What was chosen for one prompt."""

    prompt: str | None = Field(description="Id; null for items without a prompt, which are one group.")
    text: str = ""
    wanted: int = Field(description="Pictures that were to be there.")
    not_made: dict[str, int] = Field(default_factory=dict, description="Of these, not made, by kind of failure.")
    outcome: Outcome | Literal["none made"]
    items: tuple[Offered, ...]
    route: Choice | None = Field(None, description="Who was called to draw it, and why; null unless routes decided.")
    values: dict[str, tuple[float | None, ...]] = Field(description="By criterion, scores of the items in order.")
    pick: Pick | None
    runner_up: RunnerUp | None = Field(None, description="Second by bound; null where fewer than two have a score.")

    @property
    def chosen(self) -> Offered | None:
        """The chosen item."""
        return None if self.pick is None or self.pick.index is None else self.items[self.pick.index]


class BestReport(Noun):
    """One choice for every prompt."""

    format: Literal["salon-best-1"] = FORMAT
    place: str
    prompts: int
    items: int
    chosen: int
    outcomes: dict[str, int] = Field(description="Prompts by what came of them.")
    tied: int = Field(description="Prompts whose chosen item cannot be told from another.")
    unscored: int = Field(description="Items without a score under a criterion that counts.")
    reasons: dict[str, int] = Field(description="Why scores are missing, and how often.")
    wanted: int = Field(description="Pictures that were to be there.")
    not_made: dict[str, int] = Field(description="Pictures not made, by kind of failure.")
    columns: tuple[ScoreColumn, ...]
    weights: dict[str, float] = Field(description="By criterion; they sum to 1.")
    scale: str
    settings: PickSettings
    picks: tuple[PromptPick, ...]
    policies: tuple[str, ...] = (POLICY, NOT_MADE, LUCK)
    notes: tuple[str, ...] = ()
    signature: Signature

    def rows(self) -> list[dict[str, Any]]:
        """One row for each prompt, for a table."""
        return [_row(one) for one in self.picks]


def choose_best(
    offered: Sequence[Offered],
    table: ScoreTable,
    blend: Blend,
    settings: PickSettings,
    *,
    place: str,
    texts: Mapping[str, str] | None = None,
    not_made: Sequence[NotMade] = (),
    routes: Mapping[str, Choice] | None = None,
    notes: Sequence[str] = (),
) -> BestReport:
    """Choose one item of every prompt, prompts in the order in which they come."""
    groups: dict[str | None, list[Offered]] = {}
    for one in offered:
        groups.setdefault(one.prompt, []).append(one)
    if not groups and not not_made:
        raise TooFew("items to choose from are needed", found="none", where=place)
    lacking: dict[str | None, list[NotMade]] = {}
    for lost in not_made:
        groups.setdefault(lost.prompt, [])
        lacking.setdefault(lost.prompt, []).append(lost)
    told = {
        prompt: _told(prompt, some, texts or {}, lacking.get(prompt, ()), routes or {})
        for prompt, some in groups.items()
    }
    picks = tuple(_picked(told[prompt], some, table, blend, settings) for prompt, some in groups.items())
    made = [one.pick for one in picks if one.pick is not None]
    return BestReport(
        place=place,
        prompts=len(picks),
        items=len(offered),
        chosen=sum(one.chosen is not None for one in picks),
        outcomes=dict(Counter(one.outcome for one in picks).most_common()),
        tied=sum(one.chosen is not None and bool(one.tied) for one in made),
        unscored=sum(one.unscored for one in made),
        reasons=dict(Counter(table.reasons.values()).most_common()),
        wanted=sum(one.wanted for one in picks),
        not_made=dict(Counter(lost.kind for lost in not_made).most_common()),
        columns=table.columns,
        weights=blend.shares,
        scale=blend.scale,
        settings=settings,
        picks=picks,
        policies=(POLICY, NOT_MADE, LUCK, *_error_words(made)),
        notes=(*notes, *dict.fromkeys(note for one in made for note in one.notes)),
        signature=_signature(table, settings, made),
    )


def _error_words(made: Sequence[Pick]) -> tuple[str, ...]:
    best = [one.best for one in made if one.best is not None]
    return (NO_ERRORS,) if best and all(one.sd is None for one in best) else ()


def _told(
    prompt: str | None,
    some: Sequence[Offered],
    texts: Mapping[str, str],
    lost: Sequence[NotMade],
    routes: Mapping[str, Choice],
) -> dict[str, Any]:
    """What is known of a prompt before anything is chosen."""
    return {
        "prompt": prompt,
        "text": texts.get(prompt or "", ""),
        "wanted": len(some) + len(lost),
        "not_made": dict(Counter(one.kind for one in lost).most_common()),
        "items": tuple(some),
        "route": routes.get(prompt or ""),
    }


def _picked(
    told: Mapping[str, Any], some: Sequence[Offered], table: ScoreTable, blend: Blend, settings: PickSettings
) -> PromptPick:
    if not some:
        return PromptPick(**told, outcome="none made", values={}, pick=None)
    names = [one.item for one in some]
    values, sds = table.rows(names)
    made = pick(values, sds, blend, items=names, settings=settings)
    shown = {
        id: tuple(None if x != x else float(x) for x in values[:, d])  # NaN is no JSON
        for d, id in enumerate(table.criteria)
    }
    return PromptPick(**told, outcome=made.outcome, values=shown, pick=made, runner_up=_runner_up(made))


def _runner_up(made: Pick) -> RunnerUp | None:
    ranked = [one for one in made.standings if one.rank is not None]
    if len(ranked) < 2:
        return None
    best, second = ranked[:2]
    ahead = {id: part - second.contributions[id] for id, part in best.contributions.items()}
    return RunnerUp(
        item=second.item, index=second.index, ahead=dict(sorted(ahead.items(), key=lambda criterion: -criterion[1]))
    )


def _signature(table: ScoreTable, settings: PickSettings, made: Sequence[Pick]) -> Signature:
    scorers = ",".join(dict.fromkeys(column.scorer for column in table.columns))
    told = dict(made[0].signature.settings) if made else {}
    seed = settings.seed if settings.ties == "seed" else None
    return Signature(method="select-best", data=table.data or None, settings={**told, "scorers": scorers}, seed=seed)


def _row(one: PromptPick) -> dict[str, Any]:
    chosen = one.chosen
    best = None if one.pick is None or chosen is None else one.pick.best
    return {
        "prompt": one.prompt,
        "outcome": one.outcome,
        "chosen": None if chosen is None else chosen.item,
        "generator": None if chosen is None else chosen.generator,
        "image": None if chosen is None else chosen.image,
        "total": None if best is None else best.total,
        "sd": None if best is None else best.sd,
        "bound": None if best is None else best.bound,
        "margin": None if one.pick is None else one.pick.margin,
        "tied": 0 if one.pick is None else len(one.pick.tied),
        "items": len(one.items),
        "unscored": 0 if one.pick is None else one.pick.unscored,
        "not_made": sum(one.not_made.values()),
    }
