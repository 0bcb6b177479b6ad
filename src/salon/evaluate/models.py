"""Models and scorers against people on pairs, past the leak guard of every model.

Of a study that a model was trained on, the split that its card names is taken; of any other study all pairs. A study is
taken for the one it was trained on when the data are the same, or when it holds more than half of the pictures in the
model's guard (a study that has grown since). Several models are tested on the pairs that all of them may be tested on.

A model is asked about every pair. Heads are given vectors from the cache, so no picture is looked at twice; others see
the pictures. Where the order of a pair leaves a trace (the pairwise form) it is shown both ways round and the mean of
the two log-odds counts.
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadFile, DesignError, TooFew
from salon.evaluate.accuracy import (
    PairCeilings,
    accuracies,
    calibration,
    drawing,
    generator_order,
    judge_criterion,
    model_buckets,
    order_flips,
    paired_comparisons,
    panel_figures,
    tau,
)
from salon.evaluate.answers import Floats, PairAnswers, PairContestant
from salon.evaluate.leaks import LeakGuard, Leaks, find_leaks, picture_keys
from salon.evaluate.pair_results import UNGUARDED, JudgeFigures, LeakFigures, LearningCurve, SeedSpread
from salon.evaluate.people import Bools, Ints, TestPairs, make_test_pairs, people_only
from salon.evaluate.results import EvaluateSettings, Evaluation
from salon.evaluate.validation import chance_warnings, few_warnings
from salon.fuse.labels import LabelSettings, make_labels
from salon.models.cards import AnyCard, PreferenceModel
from salon.models.embeddings import encode_pictures, encode_texts
from salon.models.encoders import Encoder, Vectors
from salon.report.words import first_names
from salon.store.folder import local_path, open_study
from salon.store.near_pictures import PictureKey
from salon.store.pictures import read_picture
from salon.study import Prompt, Signature, Study

Progress = Callable[[str], None]

# -- the evaluation ----------------------------------------------------------------------------------------------------

StudyEntry = tuple[TestPairs, Sequence[PairContestant]]
_SEED = "seed"


def evaluate(
    entries: Sequence[StudyEntry],
    settings: EvaluateSettings | None = None,
    *,
    learning_curve: LearningCurve | None = None,
    notes: Sequence[str] = (),
    progress: Callable[[str], None] = lambda name: None,
) -> Evaluation:
    """What contestants are worth on one study or several; names of contestants tell them apart within a study."""
    settings = settings or EvaluateSettings()
    signature = _signature(entries, settings)
    shared = {"signature": signature, "signature_line": str(signature), "level": settings.level}
    parts = [_study_parts(pairs, contestants, settings, progress) for pairs, contestants in entries]
    also = tuple(Evaluation(**shared, **part, policies=()) for part in parts[1:])
    leaking = any(_is_leaking(one) for _, contestants in entries for one in contestants)
    main = Evaluation(
        **shared,
        **{**parts[0], "leaking": leaking},
        seeds=_seed_spreads(entries[0][1], parts[0]["judges"]),
        learning_curve=learning_curve,
        also=also,
        policies=(),
    )
    return main.model_copy(update={"policies": model_policies([main, *also], notes)})


def _study_parts(
    pairs: TestPairs, contestants: Sequence[PairContestant], settings: EvaluateSettings, progress: Progress
) -> dict[str, Any]:
    """The parts of an Evaluation of one study, the most accurate first."""
    useful = [one for one in contestants if (pairs.decided & one.speaks).any()]
    if not useful:
        raise TooFew(
            "a pair with a majority that a model or scorer speaks about is needed",
            found=f"{int(pairs.decided.sum()):,} pairs with a majority of {len(pairs):,}",
            where=f"study {pairs.study!r}, criteria {', '.join(id for id, _ in pairs.criteria)}",
            remedy="evaluate on the criteria that the model was trained on",
        )
    tops = PairCeilings(pairs, settings, required=settings.ceiling)
    figures = []
    answers = {one.name: one.on(pairs) for one in useful}
    for one in useful:
        progress(one.name)
        figures.append(_contestant_figures(one, answers[one.name], tops, settings))
    figures.sort(key=lambda one: (-one.pooled.accuracy.value, one.name))
    comparisons = paired_comparisons([(one.name, answers[one.name]) for one in figures], settings)
    to_best = {one.second: one.difference for one in comparisons if one.first == figures[0].name}
    judges = tuple(
        one.model_copy(update={"to_best": to_best[one.name].transform(operator.neg)}) if one.name in to_best else one
        for one in figures
    )
    spoken = {place for one in useful for place in np.unique(pairs.criterion[answers[one.name].rows]).tolist()}
    return {
        "study": pairs.study,
        "simulated": pairs.simulated,
        "data": pairs.data,
        "split": pairs.split,
        "leaking": any(_is_leaking(one) for one in contestants),
        "prompts": len(np.unique(pairs.group)),
        "pairs": len(pairs),
        "tied": int((~pairs.decided).sum()),
        "votes": int(pairs.votes.sum()),
        "panel": tuple(panel_figures(pairs, place, tops([place]), (None, None)) for place in sorted(spoken)),
        "judges": judges,
        "comparisons": comparisons,
        "warnings": study_warnings(pairs, contestants, judges),
    }


def _contestant_figures(
    one: PairContestant, answers: PairAnswers, tops: PairCeilings, settings: EvaluateSettings
) -> JudgeFigures:
    """What a model or scorer is worth; its draws are seeded by its own name and taken in this order."""
    rng = settings.rng(one.name)
    given = drawing(settings, rng)
    pairs, rows = answers.pairs, answers.rows
    reached = accuracies(answers, tops, rng)
    spoken = [place for place, part in enumerate(reached.by_criterion) if part is not None]
    return JudgeFigures(
        name=one.name,
        kind=one.kind,
        form=one.form,
        signature=one.signature,
        macro=reached.macro,
        pooled=reached.pooled,
        buckets=model_buckets(answers, rows, tops(spoken), given),
        tau=tau(answers, np.arange(len(pairs)), given),
        criteria=tuple(
            judge_criterion(
                answers,
                place,
                reached.by_criterion[place],
                tops([place]),
                buckets=model_buckets(answers, rows[pairs.criterion[rows] == place], tops([place]), given),
                tau=tau(answers, pairs.on(place), given),
            )
            for place in spoken
        ),
        calibration=calibration(one, pairs, settings.bins, given),
        generators=generator_order(answers, given),
        order_flips=order_flips(one, pairs, given),
        leak=_leak_figures(one),
        unscored=dict(one.unscored),
    )


def _leak_figures(one: PairContestant) -> LeakFigures | None:
    if one.kind in UNGUARDED:
        return None
    leaks = one.leaks or Leaks((), (), ())
    return LeakFigures(
        guarded=one.guarded or one.leaks is not None,
        pictures=len(leaks.pictures),
        near=len(leaks.near),
        texts=len(leaks.texts),
        words=leaks.words if one.leaks is not None or one.guarded else "no leak guard",
    )


def _is_leaking(one: PairContestant) -> bool:
    """Trained on what it is tested on, or nobody knows."""
    return one.kind not in UNGUARDED and (bool(one.leaks) or not one.guarded)


def _seed_spreads(contestants: Sequence[PairContestant], judges: Sequence[JudgeFigures]) -> tuple[SeedSpread, ...]:
    """Models whose settings differ in their seed alone, two or more of a kind."""
    accuracy = {one.name: one.pooled.accuracy.value for one in judges}
    alike: dict[str, list[str]] = {}
    for one in contestants:
        if one.name in accuracy and _SEED in one.settings:
            rest = {key: value for key, value in one.settings.items() if key != _SEED}
            alike.setdefault(json.dumps(rest, sort_keys=True, default=str), []).append(one.name)
    spreads = []
    for names in alike.values():
        x = np.array([accuracy[name] for name in names])
        if len(names) > 1:
            numbers = {"mean": x.mean(), "sd": x.std(ddof=1), "low": x.min(), "high": x.max()}
            spreads.append(SeedSpread(names=tuple(names), n=len(x), **{key: float(v) for key, v in numbers.items()}))
    return tuple(spreads)


def _signature(entries: Sequence[StudyEntry], settings: EvaluateSettings) -> Signature:
    digest = hashlib.sha256()
    for pairs, contestants in entries:
        digest.update(f"{pairs.data}\0{pairs.split}\0".encode())
        for one in sorted(contestants, key=lambda one: one.name):
            digest.update(f"{one.name}\0{one.signature}\0".encode("utf-8", "surrogatepass"))
            digest.update(np.ascontiguousarray(one.margin).tobytes())
    return Signature(
        method="evaluate",
        data=entries[0][0].data[:12],
        settings={**settings.model_dump(exclude={"seed"}), "contestants": digest.hexdigest()[:12]},
        seed=settings.seed,
    )


# -- what models say ---------------------------------------------------------------------------------------------------

ONE_WAY = ("pairwise",)
"""Forms of heads that may answer otherwise when a pair is turned round."""
_TOGETHER = 64
"""Pairs whose pictures are held in memory at once."""

Texts = Callable[[int], Sequence[str]]
"""For the place of a criterion in the trial the text that the model reads, for every pair."""


class Margins(NamedTuple):
    """Log-odds of all pairs; NaN where the model does not know the criterion."""

    margin: Floats
    turned: Floats | None
    speaks: Bools


@runtime_checkable
class ReadsVectors(Protocol):
    """A model that can be given vectors in the place of pictures."""

    encoder: Encoder

    def conditioned(self, texts: Sequence[str], criterion: str) -> list[str]: ...

    def vector_logits(
        self, a: Mapping[str, Vectors], b: Mapping[str, Vectors], texts: Vectors, criterion: str
    ) -> NDArray[np.float64]: ...


def model_margins(model: PreferenceModel, trial: TestPairs, paths: Mapping[str, Path], texts: Texts) -> Margins:
    """What `model` says about the pairs of `trial`; `paths` finds each item's picture."""
    known = match_criteria(model.card, [id for id, _ in trial.criteria])
    ask = _by_vectors(model, trial, paths) if isinstance(model, ReadsVectors) else _by_pictures(model, trial, paths)
    both = model.card.form in ONE_WAY
    straight, turned = np.full(len(trial), np.nan), np.full(len(trial), np.nan)
    speaks = np.zeros(len(trial), bool)
    for place, (criterion, _) in enumerate(trial.criteria):
        if criterion not in known:
            continue
        rows = np.flatnonzero(trial.criterion == place)
        read = [texts(place)[int(row)] for row in rows]
        speaks[rows] = True
        a, b = list(trial.item_a[rows]), list(trial.item_b[rows])
        straight[rows] = ask(a, b, read, known[criterion])
        if both:
            turned[rows] = -ask(b, a, read, known[criterion])
    return Margins((straight + turned) / 2 if both else straight, turned if both else None, speaks)


def match_criteria(card: AnyCard, criteria: Sequence[str]) -> dict[str, str]:
    """Criteria of a study, each with the model's own that it is held against: the same id, or the only one of both."""
    taught = [one.id for one in card.criteria]
    if len(taught) == len(criteria) == 1:
        return {criteria[0]: taught[0]}
    return {id: id for id in criteria if id in taught}


_Ask = Callable[[Sequence[str], Sequence[str], Sequence[str], str], Floats]


def _by_vectors(model: ReadsVectors, trial: TestPairs, paths: Mapping[str, Path]) -> _Ask:
    items = trial.items
    row = {item: number for number, item in enumerate(items)}
    pictures = encode_pictures(model.encoder, _paths(items, paths))

    def ask(a: Sequence[str], b: Sequence[str], texts: Sequence[str], criterion: str) -> Floats:
        first, second = (
            {part: rows[[row[item] for item in side]] for part, rows in pictures.items()} for side in (a, b)
        )
        words = encode_texts(model.encoder, model.conditioned(texts, criterion))
        return model.vector_logits(first, second, words, criterion)

    return ask


def _by_pictures(model: PreferenceModel, trial: TestPairs, paths: Mapping[str, Path]) -> _Ask:
    where = dict(zip(trial.items, _paths(trial.items, paths)))

    def ask(a: Sequence[str], b: Sequence[str], texts: Sequence[str], criterion: str) -> Floats:
        found = []
        for start in range(0, len(a), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            images = {item: read_picture(where[item]).image for item in {*a[part], *b[part]}}
            first, second = ([images[item] for item in side[part]] for side in (a, b))
            found.append(model.pair_logits(first, second, texts[part], criterion))
        return np.concatenate(found)

    return ask


def _paths(items: Sequence[str], paths: Mapping[str, Path]) -> list[Path]:
    missing = [item for item in items if item not in paths]
    if missing:
        raise BadFile(
            "a picture for every item of the test is needed",
            found=f"{len(missing):,} of {len(items):,} items without one ({', '.join(missing[:3])})",
            remedy="give items their pictures (docs/guide/import.md, Pictures)",
        )
    return [paths[item] for item in items]


def score_margins(trial: TestPairs, values: Mapping[str, float], *, higher_is_better: bool = True) -> Floats:
    """Differences of the numbers that a scorer gave to items; NaN where one of the two has none."""
    first, second = (np.array([values.get(item, np.nan) for item in side]) for side in (trial.item_a, trial.item_b))
    result: Floats = first - second if higher_is_better else second - first
    return result


def criterion_rows(trial: TestPairs, criterion: str | None) -> Bools:
    """Pairs of one criterion, or all: what a scorer speaks about."""
    known: Ints = trial.criterion
    if criterion is None:
        return np.ones(len(trial), bool)
    return np.array([trial.criteria[place][0] == criterion for place in known], bool)


# -- the pairs of a study ----------------------------------------------------------------------------------------------

_OWN = 0.5
"""Share of a guard's pictures in a study above which the model was trained on that study."""


@dataclass(frozen=True)
class LoadedModel:
    """A model with its place and its guard."""

    name: str
    folder: Path
    card: AnyCard
    model: PreferenceModel | None
    """None for a one-pass scorer, whose numbers come from its answers."""
    guard: LeakGuard | None
    """None where it has none and that was allowed."""


@dataclass(frozen=True)
class OpenStudy:
    """A study with what contestants need of it."""

    study: Study
    folder: Path
    labels: pa.Table
    """Of the people alone, all splits, ties kept."""
    paths: Mapping[str, Path]
    """By item, of those with a picture."""
    keys: Mapping[str, PictureKey]
    prompts: Mapping[str, Prompt]
    prompt_of: Mapping[str, str | None]
    """By item."""


def open_for_models(
    place: Path, models: Sequence[LoadedModel], criteria: Sequence[str] = (), progress: Progress = lambda step: None
) -> OpenStudy:
    """A study folder, its votes under `criteria` (those that a model knows, when none are named), its pictures."""
    study, folder = open_study(place), local_path(place)
    known = study.ids("criteria").to_pylist()
    wanted = [study.criterion(id).id for id in criteria]
    if models and not wanted:
        spoken = {id for one in models for id in match_criteria(one.card, known)}
        wanted = [id for id in known if id in spoken]
        if not wanted:
            taught = sorted({one.id for loaded in models for one in loaded.card.criteria})
            raise TooFew(
                "a criterion of the study that a model was trained on is needed",
                found=f"criteria {', '.join(known)}",
                where=f"study {study.name!r}",
                remedy=f"the models know {', '.join(taught)}",
            )
    labels = make_labels(people_only(study), LabelSettings(ties="keep", train=1, validation=0, test=0), criteria=wanted)
    items = {item.id: item for item in study.nouns("items")}
    met = pc.unique(
        pa.chunked_array([*text_of(labels.table, "item_a").chunks, *text_of(labels.table, "item_b").chunks])
    )
    paths = {id: folder / image for id in met.to_pylist() if (image := items[id].image)}
    progress(f"looking at {len(paths):,} pictures of {study.name}")
    keys = dict(zip(paths, picture_keys(list(paths.values())))) if models else {}  # scorers have no guard
    return OpenStudy(
        study, folder, labels.table, paths, keys,
        {prompt.id: prompt for prompt in study.nouns("prompts")}, {id: item.prompt for id, item in items.items()},
    )  # fmt: skip


def test_pairs_for(
    opened: OpenStudy, models: Sequence[LoadedModel], settings: EvaluateSettings
) -> tuple[TestPairs, list[str]]:
    """The pairs that all models may be tried on, and what to say about them."""
    rows = np.ones(opened.labels.num_rows, bool)
    own = [one for one in models if settings.split != "all" and is_own(one, opened)]
    for one in own:
        rows &= _in_split(opened, one, settings.split)
    study = opened.study
    word = settings.split if own else "all"
    notes = _notes(opened, models) if own else [*_notes(opened, models), *_foreign_notes(opened, models, settings)]
    table = opened.labels.filter(pa.array(rows))
    if not table.num_rows and len(own) > 1:
        raise TooFew(
            f"pairs in the {word} split of every model are needed",
            found="none",
            where=f"study {study.name!r}, models {', '.join(one.name for one in own)}",
            remedy="train the models with the same --split-seed and shares, or evaluate them one by one",
        )
    generators = {item.id: item.generator for item in study.nouns("items") if item.generator}
    names = {criterion.id: criterion.title for criterion in study.criteria}
    trial = make_test_pairs(
        table,
        split=word,
        names=names,
        generators=generators,
        study=study.name,
        data=study.hash,
        simulated=study.simulated,
    )
    return trial, notes


def _foreign_notes(opened: OpenStudy, models: Sequence[LoadedModel], settings: EvaluateSettings) -> list[str]:
    if not models or settings.split == "all":
        return []
    return [f"no model was trained on {opened.study.name}, so all its prompts are taken"]


def _notes(opened: OpenStudy, models: Sequence[LoadedModel]) -> list[str]:
    """Criteria of different names that are held against each other."""
    known = pc.unique(text_of(opened.labels, "criterion")).to_pylist()
    pairs = [(one.name, *pair) for one in models for pair in match_criteria(one.card, known).items()]
    return [
        f"{id} of {opened.study.name} is held against {own}, the only criterion that {name} knows"
        for name, id, own in pairs
        if id != own
    ]


def is_own(one: LoadedModel, opened: OpenStudy) -> bool:
    """Whether the model was trained on this study, perhaps in an earlier state."""
    if one.card.data == opened.study.hash:
        return True
    if one.guard is None or not one.guard.pictures:
        return one.card.study == opened.study.name
    here = {key.sha256 for key in opened.keys.values()}
    return sum(key.sha256 in here for key in one.guard.pictures) > _OWN * len(one.guard.pictures)


def _in_split(opened: OpenStudy, one: LoadedModel, split: str) -> np.ndarray:
    """Rows of the labels in a split of the model; the split depends on the study's prompts alone, not on its votes."""
    card = one.card
    if not {"train", "validation", "test", "seed"} <= card.split.keys():
        raise BadFile(
            "a model's card with its split is needed",
            found=f"keys {', '.join(card.split) or 'none'}",
            where=str(one.folder),
            remedy="--split all",
        )
    shares = {name: card.split[name] for name in ("train", "validation", "test")}
    asked = LabelSettings(ties="keep", seed=card.split["seed"], **shares)
    criteria = pc.unique(text_of(opened.labels, "criterion")).to_pylist()
    table = make_labels(people_only(opened.study), asked, criteria=criteria).table
    return np.asarray(pc.equal(text_of(table, "split"), split))


def text_of(table: pa.Table, column: str) -> pa.ChunkedArray:
    """A column of words, whatever holds them."""
    return table.column(column).cast(pa.string())


def check_leaks(one: LoadedModel, opened: OpenStudy, trial: TestPairs, settings: EvaluateSettings) -> Leaks | None:
    """What of the trial the model was trained on; DesignError unless that is allowed."""
    if one.guard is None:
        return None
    pictures = {item: opened.keys[item] for item in trial.items if item in opened.keys}
    texts = {opened.prompt_of[item] or item: text for item, text in zip(trial.item_a, trial.text)}
    leaks = find_leaks(one.guard, pictures, texts)
    if leaks and not settings.allow_leak:
        raise DesignError(
            "a model is evaluated on what it was not trained on",
            found=leaks.words,
            where=f"model {str(one.folder)!r}, study {trial.study!r}, split {trial.split}",
            remedy="evaluate on its test split or on another study; --allow-leak prints the numbers, marked as leaking",
        )
    return leaks


# -- policies and warnings ---------------------------------------------------------------------------------------------

ACCURACY = (
    "accuracy is agreement with the majority of people, pair by pair, all criteria pooled: 1 if the number is on the "
    "majority's side, 0 if on the other, 0.5 for equal numbers; a coin reaches 0.5"
)
NO_NUMBER = (
    "a pair with an item that has no number counts 0 in the accuracy and stays in its denominator; tau, calibration, "
    "order flips and the order of generators leave it out"
)
CEILINGS = (
    "ceilings are of the same pairs: quote next rater (one more person against this panel) and oracle (a predictor "
    "that knows every pair's odds); in a bucket they follow from the law of the odds of all pairs"
)
TAU = (
    "tau is Kendall's tau-b between two orders of a prompt's items, by majorities won (the modal rater) and by pairs "
    "won by the numbers, mean over prompts whose pairs were all voted on"
)
CHANCES = "chances are held against single votes, a tie being half a vote for either; bins hold equally many pairs"
PAIRED = (
    "differences are over the pairs both speak about, prompts drawn together; p flips signs prompt by prompt and is "
    "adjusted for all comparisons of the study (Holm)"
)
GENERATORS = "generators are ordered by the votes and by the pairs they win; prompts are drawn again, generators fixed"


def model_policies(studies: Sequence[Evaluation], notes: Sequence[str] = ()) -> tuple[str, ...]:
    """What left which denominator."""
    tied, pairs = sum(one.tied for one in studies), sum(one.pairs for one in studies)
    said = [
        ACCURACY,
        f"pairs without a majority are in no accuracy ({tied:,} of {pairs:,}), but in calibration and most ceilings",
        NO_NUMBER,
        CEILINGS,
        TAU,
    ]
    everyone = [one for study in studies for one in study.judges]
    if any(one.calibration is not None for one in everyone):
        said.append(CHANCES)
    if any(one.generators and one.generators.generators for one in everyone):
        said.append(GENERATORS)
    if any(study.comparisons for study in studies):
        said.append(PAIRED)
    if turned := [one.name for one in everyone if one.order_flips is not None]:
        said.append(f"pairs are shown both ways round and the mean log-odds counts: {first_names(turned)}")
    if scorers := [one.name for one in everyone if one.kind in UNGUARDED]:
        said.append(
            f"what scorers were trained on is not known here, so they have no leak guard: {first_names(scorers)}"
        )
    return (*said, *notes)


def study_warnings(
    trial: TestPairs, contestants: Sequence[PairContestant], made: Sequence[JudgeFigures]
) -> tuple[str, ...]:
    """What should not be taken at its face."""
    found = []
    if made and made[0].pooled.accuracy.low is None:
        why = "intervals need two prompts or more" if made[0].pooled.accuracy.n == 1 else "all prompts say the same"
        found.append(f"{why}, so these numbers have none: they may be luck")
    if made:
        found += few_warnings(made[0].pooled.pairs, made[0].pooled.accuracy.n)
    for figures in made:
        found += [f"{figures.name}: {words}" for words in chance_warnings(figures.pooled.accuracy)]
    useful = {one.name for one in made}
    if silent := [one.name for one in contestants if one.name not in useful]:
        found.append(f"left out, as they speak about none of the pairs with a majority: {first_names(silent)}")
    for one in contestants:
        if one.kind not in UNGUARDED and not one.guarded:
            found.append(f"{one.name} has no leak guard: nobody can say whether it was trained on these pairs")
        if one.leaks:
            found.append(f"LEAK: {one.name} was trained on {one.leaks.words}")
    bare = [one.name for one in made if one.pooled.ceilings is None]
    if bare:
        found.append(f"no ceiling can be given, so these accuracies cannot be read: {first_names(bare)}")
    for figures in made:
        name, overall, criteria = figures.name, figures.pooled, figures.criteria
        above = [part.name for part in criteria for words in part.warnings if "leak" in words]
        if above:
            found.append(f"{name} is above what an oracle could reach, suspect a leak: {first_names(above)}")
        if overall.unscored:
            found.append(f"{name} gives no number on {overall.unscored:,} of {overall.pairs:,} pairs")
        asked = len(trial.criteria)
        if len(criteria) < asked:
            found.append(f"{name} speaks about {len(criteria)} of {asked} criteria, and is measured on these")
    return tuple(found)
