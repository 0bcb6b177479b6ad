"""Tables of scores of a study as boards of its generators: mean reward by generator and category, ranked.

Composes `judge` (tables written by `salon score`), `stats` (means over the same prompts) and `bench` (the table).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.bench.picture_scores import ScoredPictures, named_scorers, score_pictures
from salon.bench.reward_order import POLICY as ORDER_POLICY
from salon.bench.reward_order import PeopleVotes, people_votes, reward_order
from salon.bench.reward_table import RewardBoard, RewardOrder, RewardPlace, RewardScorer, RewardTables
from salon.errors import BadValue, DesignError, TooFew, UnknownReference
from salon.evaluate.duels import category_labels, item_categories, item_generators, item_prompts
from salon.judge.score import FOLDER as SCORES
from salon.judge.score import ScoreSettings, read_run, read_scores, scores_file, scores_there
from salon.report.words import numbered
from salon.stats.paired_means import PairedMeans, paired_means, stratified
from salon.study import Signature, Study
from salon.study.noun import Noun
from salon.study.scorer import ScorerCard

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
POLICIES = {
    "refuse": "Missing: a generator that lacks a picture or a score on a prompt of a board has no mean there, so "
    "that leaving out a picture never raises one; --missing shared takes the prompts that all have.",
    "shared": "Missing: only prompts on which every generator has a scored picture count, for all alike; the others "
    "are counted as left out. Leaving out a hard prompt can raise a mean.",
}
COMMON = (
    "A prompt counts once, with the mean of a generator's pictures for it. Intervals are over prompts; ranks of a "
    "board hold together, leads each alone: of twenty at 95% about one misses.",
    "Means are on the scorer's own scale; only differences under one scorer say anything.",
)


OVERALL = (
    "The mean of all categories is the mean of the categories' means, as in HPSv3's released benchmark, whatever the "
    "number of their prompts; its interval draws prompts within categories. A category of one prompt leaves none."
)


class RewardSettings(Noun):
    """How `salon bench rewards` works."""

    missing: Literal["refuse", "shared"] = Field(
        "refuse",
        description="Of a generator that lacks a prompt: refuse gives it no mean, shared drops the prompt for all.",
    )
    overall: Literal["prompts", "categories"] = Field(
        "prompts",
        description="What the mean of all categories is: over all prompts, or of the categories' means, as HPSv3's "
        "released benchmark has it.",
    )
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")


@dataclass(frozen=True)
class _Items:
    """Numbers of generator, prompt and category of every item; -1 where it has none."""

    names: tuple[str, ...]
    generator: Ints
    prompt: Ints
    category: Ints


def reward_tables(
    study: Study,
    folder: Path | None,
    settings: RewardSettings | None = None,
    *,
    names: Sequence[str] = (),
    by_category: bool = True,
    scored: Sequence[ScoredPictures] = (),
    people: Study | None = None,
) -> RewardTables:
    """Boards of the generators of `study` under the tables of scores called `names` in its folder, or under all.

    `scored` are numbers of scorers for the study's items, in their order; with them no folder is looked into. `people`
    are votes that the order of generators is held against.
    """
    settings = settings or RewardSettings()
    generators, of_item = item_generators(study)
    items = _Items(generators, of_item, item_prompts(study), item_categories(study))
    if not (items.generator[items.prompt >= 0] >= 0).any():
        raise DesignError(
            "items that name their generator and their prompt are needed",
            found="none",
            where=f"study {study.name!r}",
        )
    scorers, boards = [], []
    if scored or folder is None:
        tables = _scored_tables(scored)
    else:
        tables = [_scores(study, folder, name) for name in names or _known(folder, study)]
    for values, scorer in tables:
        name = scorer.name
        scorers.append(scorer)
        categories = category_labels(study) if by_category else ()
        for number, category in [(None, None), *enumerate(categories)]:
            among = np.ones(len(values), bool) if number is None else items.category == number
            table = _table(values, items, among, weighed=number is None and settings.overall == "categories")
            if table is not None:
                boards.append(_board(name, category, table, settings))
    votes = None if people is None else people_votes(people)
    orders = [] if votes is None else [_order(scorer.name, values, items, votes, settings) for values, scorer in tables]
    signature = _signature(study, scorers, settings, by_category, votes)
    said = [POLICIES[settings.missing], *([OVERALL] if settings.overall == "categories" else []), *COMMON]
    return RewardTables(
        study=study.name,
        study_hash=study.hash,
        simulated=study.simulated,
        level=settings.level,
        missing=settings.missing,
        scorers=tuple(scorers),
        boards=tuple(boards),
        generators=generators,
        orders=tuple(orders),
        policies=(*said, *([] if votes is None else [ORDER_POLICY])),
        signature=signature,
        signature_line=str(signature),
    )


def check_generator(tables: RewardTables, generator: str) -> None:
    """UnknownReference where no board has the generator."""
    if generator not in tables.generators:
        raise UnknownReference(
            "a generator of the study is needed", found=repr(generator), remedy=f"one of {', '.join(tables.generators)}"
        )


def reward_scorers(
    study: Study, paths: Mapping[str, Path], names: Sequence[str], settings: ScoreSettings,
    progress: Callable[[str], None] = lambda step: None,
) -> list[ScoredPictures]:  # fmt: skip
    """Score the items of `study`, whose pictures are at `paths`, by scorers as `salon score` names them."""
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    asked = [
        (
            item.model_copy(update={"image": str(paths[item.id])}) if item.id in paths else item,
            prompts.get(item.prompt or ""),
        )
        for item in study.nouns("items")
    ]
    scorers = named_scorers(names, settings)
    lower = [one.name for one in scorers if not getattr(one, "card", ScorerCard()).higher_is_better]
    if lower:
        raise DesignError("a reward is higher for the better picture", found=f"{lower[0]}: lower is better")
    return [score_pictures(scorer, asked, settings, progress) for scorer in scorers]


# -- tables of scores --------------------------------------------------------------------------------------------------


def _scored_tables(scored: Sequence[ScoredPictures]) -> list[tuple[Floats, RewardScorer]]:
    names = numbered(one.scorer.name for one in scored)
    return [
        (
            one.values,
            RewardScorer(
                name=name,
                signature=str(one.scorer.signature),
                is_logit=one.card.is_logit,
                measures=one.card.measures,
                digest=hashlib.sha256(one.values.tobytes()).hexdigest()[:12],
                unscored=one.unscored,
            ),
        )
        for one, name in zip(scored, names)
    ]


def _known(folder: Path, study: Study) -> list[str]:
    """All tables whose card does not say that lower is better."""
    found = scores_there(folder)
    runs = {name: read_run(scores_file(folder / SCORES, name)) for name in found}
    kept = [name for name, run in runs.items() if run is None or run.card.higher_is_better]
    if not kept:
        raise TooFew(
            "a table of scores is needed",
            found=f"only such where lower is better: {', '.join(found)}" if found else "none",
            where=f"study {study.name!r}",
            remedy="salon score STUDY --model MODEL, or --scorer NAME",
        )
    return kept


def _scores(study: Study, folder: Path, name: str) -> tuple[Floats, RewardScorer]:
    """The value of every item of the study, NaN where it has none; and whose they are."""
    file = scores_file(folder / SCORES, name)
    if not file.is_file():
        raise UnknownReference(
            "a table of scores of the study is needed",
            found=repr(name),
            remedy=f"one of {', '.join(scores_there(folder)) or 'none'}",
        )
    run = read_run(file)
    if run is not None and not run.card.higher_is_better:
        raise DesignError("a reward is higher for the better picture", found=f"{name}: lower is better")
    values = _values(study, file)
    told = RewardScorer(
        name=name,
        signature=None if run is None else run.signature,
        is_logit=run is not None and run.card.is_logit,
        measures="" if run is None else run.card.measures,
        digest=hashlib.sha256(values.tobytes()).hexdigest()[:12],
    )
    return values, told


def _values(study: Study, file: Path) -> Floats:
    table = read_scores(file)
    items, values = (table.column(column).to_pylist() for column in ("item", "value"))
    known = dict(zip(items, values))
    if len(known) < len(items):
        raise BadValue("one score of every item", found=f"{len(items)} of {len(known)} items", where=str(file))
    strange = [item for item, value in known.items() if value is not None and not np.isfinite(value)]
    if strange:
        raise BadValue("a score is a finite number", found=f"{known[strange[0]]} of {strange[0]!r}", where=str(file))
    found = [known.get(item) for item in study.ids("items").to_pylist()]
    made = np.array([np.nan if value is None else value for value in found], np.float64)
    if np.isnan(made).all():
        raise BadValue("scores of items of the study are needed", found="scores of other items", where=str(file))
    return made


# -- one board ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """Pictures of one scorer by prompt and generator."""

    names: list[str]
    asked: Floats
    """(prompts, generators): pictures listed."""
    scored: Floats
    """Of these, with a number."""
    total: Floats
    """The sums of their numbers."""
    strata: Ints | None
    """The category of every prompt, where categories weigh alike."""

    @property
    def lacks(self) -> NDArray[np.bool_]:
        """Where fewer pictures are scored than others have: that is a missing picture too."""
        return np.asarray(self.scored < self.asked.max(axis=1, keepdims=True))

    def used(self, settings: RewardSettings) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The prompts that count, and the generators that have a mean over them."""
        if settings.missing == "shared":
            kept = np.asarray((self.scored > 0).all(axis=1))
            return kept, np.full(len(self.names), bool(kept.any()))
        return np.ones(len(self.asked), bool), np.asarray(~self.lacks.any(axis=0))


def _table(values: Floats, items: _Items, among: NDArray[np.bool_], *, weighed: bool) -> _Table | None:
    """None where there are no pictures."""
    used = among & (items.generator >= 0) & (items.prompt >= 0)
    if weighed:
        used &= items.category >= 0
    if not used.any():
        return None
    prompt, stratum = items.prompt, None
    if weighed:  # a prompt that stands in two categories counts in both
        pairs, prompt = np.unique(np.stack([items.prompt, items.category]), axis=1, return_inverse=True)
        prompt, stratum = prompt.reshape(-1), pairs[1]
    shape = int(prompt.max()) + 1, len(items.names)
    asked, scored, total = (np.zeros(shape) for _ in range(3))
    place = prompt[used], items.generator[used]
    there = ~np.isnan(values[used])
    np.add.at(asked, place, 1)
    np.add.at(scored, place, there)
    np.add.at(total, place, np.where(there, values[used], 0.0))
    rows, present = np.flatnonzero(asked.sum(axis=1)), np.flatnonzero(asked.sum(axis=0))
    asked, scored, total = (table[np.ix_(rows, present)] for table in (asked, scored, total))
    names = [items.names[number] for number in present]
    return _Table(names, asked, scored, total, None if stratum is None else stratum[rows])


def _order(scorer: str, values: Floats, items: _Items, people: PeopleVotes, settings: RewardSettings) -> RewardOrder:
    """Means over all categories, of the generators and prompts that the board of all has them of."""
    table = _table(values, items, np.ones(len(values), bool), weighed=settings.overall == "categories")
    rng = np.random.default_rng([settings.seed, 10])
    if table is None:
        return reward_order(scorer, people, (), np.empty((0, 0)), None, rng=rng, level=settings.level)
    kept, whole = table.used(settings)
    x = table.total[kept][:, whole] / table.scored[kept][:, whole]
    names = [name for name, there in zip(table.names, whole) if there]
    strata = None if table.strata is None else table.strata[kept]
    return reward_order(scorer, people, names, x, strata, rng=rng, level=settings.level)


def _board(scorer: str, category: str | None, table: _Table, settings: RewardSettings) -> RewardBoard:
    """One board, from the pictures of its prompts and generators."""
    names, scored, lacks = table.names, table.scored, table.lacks
    kept, whole = table.used(settings)
    made = None
    if whole.any():
        x = table.total[kept][:, whole] / scored[kept][:, whole]
        rng = np.random.default_rng([settings.seed, 9])
        if table.strata is None:
            made = paired_means(x, rng=rng, level=settings.level)
        else:
            made = replace(
                paired_means(stratified(x, table.strata[kept]), rng=rng, level=settings.level),
                beats=(None,) * x.shape[1],
            )
    order = {int(generator): number for number, generator in enumerate(np.flatnonzero(whole))}
    places = [
        _place(name, made, order.get(g), int(scored[:, g].sum()), int(lacks[:, g].sum()))
        for g, name in enumerate(names)
    ]
    return RewardBoard(
        scorer=scorer,
        category=category,
        places=tuple(sorted(places, key=lambda one: (one.mean is None, -one.mean.value if one.mean else 0.0))),
        prompts=int(kept.sum()),
        left_out=int((~kept).sum()),
        reason=_why(made, whole, int(kept.sum())),
    )


def _place(name: str, made: PairedMeans | None, number: int | None, pictures: int, lacking: int) -> RewardPlace:
    if made is None or number is None:
        nothing = dict.fromkeys(("mean", "lead", "beats", "rank", "rank_low", "rank_high", "tier"))
        return RewardPlace(generator=name, **nothing, pictures=pictures, lacking=lacking)
    ranks, values = made.ranks, [one.value for one in made.means]
    return RewardPlace(
        generator=name,
        mean=made.means[number],
        lead=made.leads[number],
        beats=made.beats[number],
        rank=1 + sum(value > values[number] for value in values),
        rank_low=None if ranks is None else int(ranks.low[number]),
        rank_high=None if ranks is None else int(ranks.high[number]),
        tier=None if ranks is None else int(ranks.tier[number]),
        pictures=pictures,
        lacking=lacking,
    )


def _why(made: PairedMeans | None, whole: NDArray[np.bool_], prompts: int) -> str | None:
    if made is None:
        return "no prompt has a score of every generator" if not prompts else "every generator lacks a prompt"
    if made.ranks is None and whole.sum() > 1:
        return "one prompt: nothing is told apart" if prompts == 1 else "two generators differ alike on every prompt"
    return None


def _signature(
    study: Study, scorers: Sequence[RewardScorer], settings: RewardSettings, by_category: bool,
    votes: PeopleVotes | None,
) -> Signature:  # fmt: skip
    told = {
        "scorers": ",".join(f"{one.name}@{one.digest}" for one in scorers),
        "missing": settings.missing,
        "by_category": by_category,
        "overall": settings.overall,
        "level": settings.level,
        **({} if votes is None else {"people": votes.data[:12]}),
    }
    return Signature(method="rewards", data=study.hash[:12], revision=study.revision, settings=told, seed=settings.seed)
