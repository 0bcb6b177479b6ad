"""What scorers give to generators: mean reward by generator and category, ranked (the table of HPSv3's benchmark).

With several scorers, such as the criteria of a model trained on a panel, the rows of one generator are its quality
report: where it is ahead of the others and where behind (TASTE, section 7.2, use iii).

Order of generators (HPSv3's Table 3): do mean rewards put generators in the order that people do? People's value of a
generator is its share of votes over pairs of two generators, a tie half for either; a scorer's is its mean over the
prompts of the benchmark. The two need not have a prompt in common, so each is drawn again by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.bench.rater_evaluation import ScoredPictures, generator_points, open_scorers, score_pictures
from salon.bench.rater_results import Correlation, SquaredError
from salon.bench.settings import RewardTableSettings
from salon.errors import BadValue, DesignError, TooFew, UnknownReference
from salon.evaluate import category_labels, item_categories, item_generators, item_prompts, people_only
from salon.fuse import LabelSettings, make_labels
from salon.judge import SCORES_FOLDER as SCORES, ScoreSettings, list_scores, read_score_run, read_scores, scores_file
from salon.report import number_repeats
from salon.stats import Estimate, PairedMeans, mean_ranks, paired_means, stratify_values
from salon.study import Format, Noun, ScorerCard, Signature, Study

Reward = Annotated[Estimate | None, Format("estimate", 2)]
Verdict = Literal["ahead", "behind", "not told apart", "alone", "no mean"]


class RewardPlace(Noun):
    """One generator on a board of rewards."""

    generator: str = Field(description="Name of the generator.")
    mean: Reward = Field(description="Mean over prompts of the mean of its pictures, on the scorer's scale.")
    lead: Reward = Field(description="Its mean less the mean of all others on the same prompts.")
    beats: Reward = Field(description="Share of the others that its picture exceeds, ties half; 0 to 1.")
    rank: Annotated[int | None, Format("estimate", 0)] = Field(description="By mean; null without one.")
    rank_low: int | None = Field(description="Best rank it may truly have; all intervals of a board hold at once.")
    rank_high: int | None = Field(description="Worst rank it may truly have.")
    tier: int | None = Field(description="1: does not differ significantly from the best.")
    pictures: int = Field(description="Scored pictures.")
    lacking: int = Field(description="Prompts of the board on which a picture or its score is missing.")

    @property
    def verdict(self) -> Verdict:
        """Whether the interval of its lead lies above 0, below it, or holds it."""
        if self.mean is None:
            return "no mean"
        if self.lead is None:
            return "alone"
        if self.lead.low is None or self.lead.high is None:
            return "not told apart"
        return "ahead" if self.lead.low > 0 else "behind" if self.lead.high < 0 else "not told apart"


class RewardBoard(Noun):
    """One scorer, in one category or in all."""

    scorer: str = Field(description="Name of the table of scores.")
    category: str | None = Field(description="Null: all categories together.")
    places: tuple[RewardPlace, ...] = Field(description="Best first, then those without a mean.")
    prompts: int = Field(description="Prompts behind every mean.")
    left_out: int = Field(description="Prompts left out because a generator lacks them; 0 unless missing = 'shared'.")
    reason: str | None = Field(default=None, description="Why there is no mean at all, or no rank intervals.")


class RewardScorer(Noun):
    """A table of scores."""

    name: str = Field(description="Name of the table.")
    signature: str | None = Field(description="Of the scorer, where the table says it.")
    is_logit: bool = Field(description="Whether a difference of 1 is odds of e; else the scale is the scorer's own.")
    measures: str = Field(description="What it speaks about, in its own words.")
    digest: str = Field(description="Hash of the scores used.")
    unscored: dict[str, int] = Field(
        default_factory=dict,
        description="Pictures without a number, by reason, where they were scored by this command.",
    )


class RewardOrder(Noun):
    """Do the means of one scorer put generators in the order that people do?"""

    scorer: str = Field(description="Name of the scorer.")
    people: str = Field(description="Name of the study of people's votes.")
    spearman: Correlation = Field(description="Spearman's correlation over generators.")
    kendall: Correlation = Field(description="Tau-b.")
    nmse: SquaredError = Field(
        title="Normalised MSE",
        description="Normalised mean squared error: both sides stretched to [0, 1] over generators; 0 is best.",
    )
    generators: Annotated[tuple[str, ...], Format("count")] = Field(description="Those that both have.")
    left_out: tuple[str, ...] = Field(description="Generators that people voted on or that have a mean, but not both.")
    prompts: int = Field(description="Prompts behind the means.")
    pairs: int = Field(description="Pairs behind people's shares.")
    reason: str | None = Field(default=None, description="Why there is none.")


class RewardTables(Noun):
    """All scorers on one study."""

    format: Literal["salon.rewards/1"] = Field(default="salon.rewards/1", description="Name and version of this form.")
    study: str = Field(description="Name of the study.")
    study_hash: str = Field(description="Hash of its contents.")
    simulated: bool = Field(description="True when no person gave the answers.")
    level: float = Field(description="Confidence level of all intervals.")
    missing: Literal["refuse", "shared"] = Field(
        description="What is done where a generator lacks a picture or a score."
    )
    scorers: tuple[RewardScorer, ...] = Field(description="The tables of scores that were read.")
    boards: tuple[RewardBoard, ...] = Field(description="By scorer; all categories together first.")
    generators: tuple[str, ...] = Field(description="Generators of the study.")
    orders: tuple[RewardOrder, ...] = Field(default=(), description="Beside people's order, where people were named.")
    policies: tuple[str, ...] = Field(description="How gaps were treated, a sentence each.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")

    def of(self, generator: str) -> list[tuple[RewardBoard, RewardPlace]]:
        """The quality report of one generator: its place on every board."""
        return [(board, place) for board in self.boards for place in board.places if place.generator == generator]


# -- boards ------------------------------------------------------------------------------------------------------------

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
    settings: RewardTableSettings | None = None,
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
    settings = settings or RewardTableSettings()
    generators, of_item = item_generators(study)
    items = _Items(generators, of_item, item_prompts(study), item_categories(study))
    if not (items.generator[items.prompt >= 0] >= 0).any():
        raise DesignError(
            "items that name their generator and their prompt are needed", found="none", where=f"study {study.name!r}"
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
    options = {
        "scorers": ",".join(f"{scorer.name}@{scorer.digest}" for scorer in scorers),
        "missing": settings.missing,
        "by_category": by_category,
        "overall": settings.overall,
        "level": settings.level,
        **({} if votes is None else {"people": votes.data[:12]}),
    }
    signature = Signature(
        method="rewards", data=study.hash[:12], revision=study.revision, settings=options, seed=settings.seed
    )
    policies = [POLICIES[settings.missing], *([OVERALL] if settings.overall == "categories" else []), *COMMON]
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
        policies=(*policies, *([] if votes is None else [ORDER_POLICY])),
        signature=signature,
        signature_line=str(signature),
    )


def check_generator(tables: RewardTables, generator: str) -> None:
    """UnknownReference where no board has the generator."""
    if generator not in tables.generators:
        raise UnknownReference(
            "a generator of the study is needed", found=repr(generator), remedy=f"one of {', '.join(tables.generators)}"
        )


def score_study_pictures(
    study: Study, paths: Mapping[str, Path], names: Sequence[str], settings: ScoreSettings,
    progress: Callable[[str], None] = lambda step: None,
) -> list[ScoredPictures]:  # fmt: skip
    """Score the items of `study`, whose pictures are at `paths`, by scorers as `salon score` names them."""
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    questions = [
        (
            item.model_copy(update={"image": str(paths[item.id])}) if item.id in paths else item,
            prompts.get(item.prompt or ""),
        )
        for item in study.nouns("items")
    ]
    scorers = open_scorers(names, settings)
    lower = [candidate.name for candidate in scorers if not getattr(candidate, "card", ScorerCard()).higher_is_better]
    if lower:
        raise DesignError("a reward is higher for the better picture", found=f"{lower[0]}: lower is better")
    return [score_pictures(scorer, questions, settings, progress) for scorer in scorers]


# -- tables of scores --------------------------------------------------------------------------------------------------


def _scored_tables(scored: Sequence[ScoredPictures]) -> list[tuple[Floats, RewardScorer]]:
    names = number_repeats(pictures.scorer.name for pictures in scored)
    return [
        (
            pictures.values,
            RewardScorer(
                name=name,
                signature=str(pictures.scorer.signature),
                is_logit=pictures.card.is_logit,
                measures=pictures.card.measures,
                digest=hashlib.sha256(pictures.values.tobytes()).hexdigest()[:12],
                unscored=pictures.unscored,
            ),
        )
        for pictures, name in zip(scored, names)
    ]


def _known(folder: Path, study: Study) -> list[str]:
    """All tables whose card does not say that lower is better."""
    tables = list_scores(folder)
    runs = {name: read_score_run(scores_file(folder / SCORES, name)) for name in tables}
    usable = [name for name, run in runs.items() if run is None or run.card.higher_is_better]
    if not usable:
        raise TooFew(
            "a table of scores is needed",
            found=f"only such where lower is better: {', '.join(tables)}" if tables else "none",
            where=f"study {study.name!r}",
            remedy="salon score STUDY --model MODEL, or --scorer NAME",
        )
    return usable


def _scores(study: Study, folder: Path, name: str) -> tuple[Floats, RewardScorer]:
    """The value of every item of the study, NaN where it has none; and whose they are."""
    file = scores_file(folder / SCORES, name)
    if not file.is_file():
        raise UnknownReference(
            "a table of scores of the study is needed",
            found=repr(name),
            remedy=f"one of {', '.join(list_scores(folder)) or 'none'}",
        )
    run = read_score_run(file)
    if run is not None and not run.card.higher_is_better:
        raise DesignError("a reward is higher for the better picture", found=f"{name}: lower is better")
    values = _values(study, file)
    scorer = RewardScorer(
        name=name,
        signature=None if run is None else run.signature,
        is_logit=run is not None and run.card.is_logit,
        measures="" if run is None else run.card.measures,
        digest=hashlib.sha256(values.tobytes()).hexdigest()[:12],
    )
    return values, scorer


def _values(study: Study, file: Path) -> Floats:
    table = read_scores(file)
    items, values = (table.column(column).to_pylist() for column in ("item", "value"))
    value_by_item = dict(zip(items, values))
    if len(value_by_item) < len(items):
        raise BadValue("one score of every item", found=f"{len(items)} of {len(value_by_item)} items", where=str(file))
    strange = [item for item, value in value_by_item.items() if value is not None and not np.isfinite(value)]
    if strange:
        raise BadValue(
            "a score is a finite number", found=f"{value_by_item[strange[0]]} of {strange[0]!r}", where=str(file)
        )
    item_values = [value_by_item.get(item) for item in study.ids("items").to_pylist()]
    numbers = np.array([np.nan if value is None else value for value in item_values], np.float64)
    if np.isnan(numbers).all():
        raise BadValue("scores of items of the study are needed", found="scores of other items", where=str(file))
    return numbers


# -- one board ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ScoreTable:
    """Pictures of one scorer by prompt and generator."""

    names: list[str]
    listed: Floats
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
        return np.asarray(self.scored < self.listed.max(axis=1, keepdims=True))

    def used(self, settings: RewardTableSettings) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The prompts that count, and the generators that have a mean over them."""
        if settings.missing == "shared":
            is_shared = np.asarray((self.scored > 0).all(axis=1))
            return is_shared, np.full(len(self.names), bool(is_shared.any()))
        return np.ones(len(self.listed), bool), np.asarray(~self.lacks.any(axis=0))


def _table(values: Floats, items: _Items, among: NDArray[np.bool_], *, weighed: bool) -> _ScoreTable | None:
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
    listed, scored, total = (np.zeros(shape) for _ in range(3))
    place = prompt[used], items.generator[used]
    there = ~np.isnan(values[used])
    np.add.at(listed, place, 1)
    np.add.at(scored, place, there)
    np.add.at(total, place, np.where(there, values[used], 0.0))
    rows, present = np.flatnonzero(listed.sum(axis=1)), np.flatnonzero(listed.sum(axis=0))
    listed, scored, total = (table[np.ix_(rows, present)] for table in (listed, scored, total))
    names = [items.names[number] for number in present]
    return _ScoreTable(names, listed, scored, total, None if stratum is None else stratum[rows])


def _order(
    scorer: str, values: Floats, items: _Items, people: PeopleVotes, settings: RewardTableSettings
) -> RewardOrder:
    """Means over all categories, of the generators and prompts that the board of all has them of."""
    table = _table(values, items, np.ones(len(values), bool), weighed=settings.overall == "categories")
    rng = np.random.default_rng([settings.seed, 10])
    if table is None:
        return reward_order(scorer, people, (), np.empty((0, 0)), None, rng=rng, level=settings.level)
    counted_prompts, whole = table.used(settings)
    x = table.total[counted_prompts][:, whole] / table.scored[counted_prompts][:, whole]
    names = [name for name, there in zip(table.names, whole) if there]
    strata = None if table.strata is None else table.strata[counted_prompts]
    return reward_order(scorer, people, names, x, strata, rng=rng, level=settings.level)


def _board(scorer: str, category: str | None, table: _ScoreTable, settings: RewardTableSettings) -> RewardBoard:
    """One board, from the pictures of its prompts and generators."""
    names, scored, lacks = table.names, table.scored, table.lacks
    counted_prompts, whole = table.used(settings)
    means = None
    if whole.any():
        x = table.total[counted_prompts][:, whole] / scored[counted_prompts][:, whole]
        rng = np.random.default_rng([settings.seed, 9])
        if table.strata is None:
            means = paired_means(x, rng=rng, level=settings.level)
        else:
            means = replace(
                paired_means(stratify_values(x, table.strata[counted_prompts]), rng=rng, level=settings.level),
                beats=(None,) * x.shape[1],
            )
    order = {int(generator): number for number, generator in enumerate(np.flatnonzero(whole))}
    places = [
        _place(name, means, order.get(g), int(scored[:, g].sum()), int(lacks[:, g].sum()))
        for g, name in enumerate(names)
    ]
    prompts = int(counted_prompts.sum())
    if means is None:
        why: str | None = (
            "no prompt has a score of every generator" if not prompts else "every generator lacks a prompt"
        )
    elif means.ranks is None and whole.sum() > 1:
        why = "one prompt: nothing can be compared" if prompts == 1 else "two generators differ alike on every prompt"
    else:
        why = None
    return RewardBoard(
        scorer=scorer,
        category=category,
        places=tuple(sorted(places, key=lambda place: (place.mean is None, -place.mean.value if place.mean else 0.0))),
        prompts=int(counted_prompts.sum()),
        left_out=int((~counted_prompts).sum()),
        reason=why,
    )


def _place(name: str, means: PairedMeans | None, number: int | None, pictures: int, lacking: int) -> RewardPlace:
    if means is None or number is None:
        nothing = dict.fromkeys(("mean", "lead", "beats", "rank", "rank_low", "rank_high", "tier"))
        return RewardPlace(generator=name, **nothing, pictures=pictures, lacking=lacking)
    ranks, values = means.ranks, [mean.value for mean in means.means]
    return RewardPlace(
        generator=name,
        mean=means.means[number],
        lead=means.leads[number],
        beats=means.beats[number],
        rank=1 + sum(value > values[number] for value in values),
        rank_low=None if ranks is None else int(ranks.low[number]),
        rank_high=None if ranks is None else int(ranks.high[number]),
        tier=None if ranks is None else int(ranks.tier[number]),
        pictures=pictures,
        lacking=lacking,
    )


# -- order of generators -----------------------------------------------------------------------------------------------

DRAWS = 2000
ORDER_POLICY = (
    "Order of generators: people's shares of votes won, a tie half a win, beside the scorer's means; over the "
    "generators that both have and the pairs among them. Prompts of people and of the benchmark are drawn again apart "
    "from each other, generators are held fixed. Normalised MSE: both sides stretched to [0, 1] over generators; HPSv3 "
    "prints such a number without a formula."
)


@dataclass(frozen=True)
class PeopleVotes:
    """What people said of generators."""

    study: str
    data: str
    names: tuple[str, ...]
    sides: Ints
    """(2, pairs): the two generators, as numbers into `names`."""
    share: Floats
    """Of the votes on each pair, for the first."""
    prompt: Ints


def people_votes(study: Study) -> PeopleVotes:
    """The votes of the people of a study by generator; TooFew where items do not name two."""
    settings = LabelSettings(ties="keep", train=1, validation=0, test=0)
    rows = make_labels(people_only(study), settings).table.to_pylist()
    generator = {item.id: item.generator for item in study.nouns("items")}
    sides = [(generator[row["item_a"]], generator[row["item_b"]]) for row in rows]
    used = [k for k, (a, b) in enumerate(sides) if a and b and a != b]
    names = sorted({name for k in used for name in sides[k] if name})
    if len(names) < 2:
        raise TooFew(
            "votes between pictures of two generators are needed",
            found=f"{len(names)} generators",
            where=f"study {study.name!r}",
            remedy="items name their generator: model1 and model2 of HPDv3",
        )
    place = {name: number for number, name in enumerate(names)}
    codes = np.array([[place[str(name)] for name in sides[k]] for k in used], np.int64).T
    share = np.array([rows[k]["share"] for k in used], np.float64)
    prompt = np.unique([str(rows[k]["group"]) for k in used], return_inverse=True)[1]
    return PeopleVotes(study.name, study.hash, tuple(names), codes, share, prompt)


def reward_order(
    scorer: str,
    people: PeopleVotes,
    names: Sequence[str],
    values: Floats,
    strata: Ints | None,
    *,
    rng: np.random.Generator,
    level: float,
) -> RewardOrder:
    """The agreement of one scorer: `values` are (prompts, generators) of `names`, complete."""
    shared = [name for name in people.names if name in names]
    alone = sorted({*people.names, *names} - set(shared))
    fields: dict[str, Any] = {
        "scorer": scorer,
        "people": people.study,
        "generators": tuple(shared),
        "left_out": tuple(alone),
    }
    if len(shared) < 3 or not len(values):
        reason = f"an order of generators needs at least 3 that both have; there are {len(shared)}"
        return RewardOrder(
            **fields, spearman=None, kendall=None, nmse=None, prompts=len(values), pairs=0, reason=reason
        )
    x = values[:, [list(names).index(name) for name in shared]]
    x = x if strata is None else stratify_values(x, strata)
    number = np.array([shared.index(name) if name in shared else -1 for name in people.names])
    sides = number[people.sides]
    used = (sides >= 0).all(axis=0)
    if not used.any():
        reason = "people compared no two of the generators that both have"
        return RewardOrder(**fields, spearman=None, kendall=None, nmse=None, prompts=len(x), pairs=0, reason=reason)
    points = (people.share[used], np.full(int(used.sum()), 0.5))
    won, half = (generator_points(sides[:, used], people.prompt[used], len(shared), weights) for weights in points)
    result = mean_ranks(x, won, 2 * half, draws=DRAWS, rng=rng, level=level)
    return RewardOrder(
        **fields,
        spearman=result.spearman,
        kendall=result.kendall,
        nmse=result.nmse,
        prompts=len(x),
        pairs=int(used.sum()),
        reason=result.reason,
    )
