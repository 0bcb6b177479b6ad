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
    accuracy_levels,
    calibration,
    drawing,
    generator_order,
    judge_criterion,
    model_buckets,
    order_flips,
    paired_comparisons,
    panel_figures,
    spoken_criteria,
    tau,
)
from salon.evaluate.answers import Floats, PairAnswers, PairContestant
from salon.evaluate.leaks import LeakGuard, Leaks, find_leaks, picture_keys
from salon.evaluate.pair_results import (
    UNGUARDED,
    WITHOUT_GUARD,
    JudgeFigures,
    LeakFigures,
    LearningCurve,
    SeedSpread,
    chance_warnings,
    few_warnings,
)
from salon.evaluate.people import Bools, Ints, TestPairs, make_test_pairs, people_only
from salon.evaluate.raters import (
    person_figures,
    person_policies,
    person_warnings,
    require_others,
    require_person_ceilings,
)
from salon.evaluate.results import EvaluateSettings, Evaluation
from salon.fuse import LabelSettings, make_labels
from salon.models import AnyCard, Encoder, PreferenceModel, Vectors, encode_pictures, encode_texts
from salon.report import first_names
from salon.store import PictureKey, local_path, open_study, read_picture
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
    digest = hashlib.sha256()
    for pairs, contestants in entries:
        digest.update(f"{pairs.data}\0{pairs.split}\0".encode())
        for contestant in sorted(contestants, key=lambda contestant: contestant.name):
            digest.update(f"{contestant.name}\0{contestant.signature}\0".encode("utf-8", "surrogatepass"))
            digest.update(np.ascontiguousarray(contestant.margin).tobytes())
    signature = Signature(
        method="evaluate",
        data=entries[0][0].data[:12],
        settings={**settings.model_dump(exclude={"seed"}), "contestants": digest.hexdigest()[:12]},
        seed=settings.seed,
    )
    shared = {"signature": signature, "signature_line": str(signature), "level": settings.level}
    parts = [_study_parts(pairs, contestants, settings, progress) for pairs, contestants in entries]
    also = tuple(Evaluation(**shared, **part, policies=()) for part in parts[1:])
    leaking = any(_is_leaking(contestant) for _, contestants in entries for contestant in contestants)
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
    answers = {judge.name: judge.on(pairs) for judge in contestants}
    useful = [judge for judge in contestants if len(answers[judge.name].rows)]
    if not useful:
        require_others(pairs, contestants)
        raise TooFew(
            "a pair with a majority that a model or scorer speaks about is needed",
            found=f"{int(pairs.decided.sum()):,} pairs with a majority of {len(pairs):,}",
            where=f"study {pairs.study!r}, criteria {', '.join(id for id, _ in pairs.criteria)}",
            remedy="evaluate on the criteria that the model was trained on",
        )
    tops = PairCeilings(pairs, settings, required=settings.ceiling)
    figures = []
    for judge in useful:
        progress(judge.name)
        figures.append(_contestant_figures(judge, answers[judge.name], tops, settings))
    if settings.ceiling:
        require_person_ceilings(pairs.study, figures)
    figures.sort(key=lambda judge: (-judge.pooled.accuracy.value, judge.name))
    comparisons = paired_comparisons([(judge.name, answers[judge.name]) for judge in figures], settings)
    to_best = {judge.second: judge.difference for judge in comparisons if judge.first == figures[0].name}
    judges = tuple(
        judge.model_copy(update={"to_best": to_best[judge.name].transform(operator.neg)})
        if judge.name in to_best
        else judge
        for judge in figures
    )
    spoken = {place for judge in useful for place in np.unique(pairs.criterion[answers[judge.name].rows]).tolist()}
    return {
        "study": pairs.study,
        "simulated": pairs.simulated,
        "data": pairs.data,
        "split": pairs.split,
        "leaking": any(_is_leaking(judge) for judge in contestants),
        **pairs.counts,
        "panel": tuple(panel_figures(pairs, place, tops([place]), (None, None)) for place in sorted(spoken)),
        "judges": judges,
        "comparisons": comparisons,
        "warnings": study_warnings(pairs, contestants, judges),
    }


def _contestant_figures(
    contestant: PairContestant, answers: PairAnswers, tops: PairCeilings, settings: EvaluateSettings
) -> JudgeFigures:
    """What a model or scorer is worth; its draws are seeded by its own name and taken in this order."""
    rng = settings.rng(contestant.name)
    resampling, tops = drawing(settings, rng), tops.of(answers)
    pairs, rows = answers.pairs, answers.rows
    reached = accuracies(answers, tops, rng)
    spoken = spoken_criteria(reached)
    return JudgeFigures(
        name=contestant.name,
        kind=contestant.kind,
        form=contestant.form,
        signature=contestant.signature,
        **accuracy_levels(reached, tops),
        buckets=model_buckets(answers, rows, tops(spoken), resampling),
        tau=tau(answers, np.arange(len(pairs)), resampling),
        criteria=tuple(
            judge_criterion(
                answers,
                place,
                reached.by_criterion[place],
                tops([place]),
                buckets=model_buckets(answers, rows[pairs.criterion[rows] == place], tops([place]), resampling),
                tau=tau(answers, pairs.on(place), resampling),
            )
            for place in spoken
        ),
        calibration=calibration(contestant, pairs, settings.bins, resampling),
        generators=generator_order(answers, resampling),
        order_flips=order_flips(contestant, pairs, resampling),
        leak=_leak_figures(contestant),
        unscored=dict(contestant.unscored),
        **person_figures(contestant, answers, resampling),
    )


def _leak_figures(contestant: PairContestant) -> LeakFigures | None:
    if contestant.kind in WITHOUT_GUARD:
        return None
    leaks = contestant.leaks or Leaks((), (), ())
    return LeakFigures(
        guarded=contestant.guarded or contestant.leaks is not None,
        pictures=len(leaks.pictures),
        near=len(leaks.near),
        texts=len(leaks.texts),
        words=leaks.words if contestant.leaks is not None or contestant.guarded else "no leak guard",
    )


def _is_leaking(contestant: PairContestant) -> bool:
    """Trained on what it is tested on, or nobody knows."""
    return contestant.kind not in WITHOUT_GUARD and (bool(contestant.leaks) or not contestant.guarded)


def _seed_spreads(contestants: Sequence[PairContestant], judges: Sequence[JudgeFigures]) -> tuple[SeedSpread, ...]:
    """Models whose settings differ in their seed alone, two or more of a kind."""
    accuracy = {model.name: model.pooled.accuracy.value for model in judges}
    alike: dict[str, list[str]] = {}
    for model in contestants:
        if model.name in accuracy and _SEED in model.settings:
            rest = {key: value for key, value in model.settings.items() if key != _SEED}
            alike.setdefault(json.dumps(rest, sort_keys=True, default=str), []).append(model.name)
    spreads = []
    for names in alike.values():
        x = np.array([accuracy[name] for name in names])
        if len(names) > 1:
            numbers = {"mean": x.mean(), "sd": x.std(ddof=1), "low": x.min(), "high": x.max()}
            spreads.append(SeedSpread(names=tuple(names), n=len(x), **{key: float(v) for key, v in numbers.items()}))
    return tuple(spreads)


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
    own_criterion = match_criteria(model.card, [id for id, _ in trial.criteria])
    ask = _by_vectors(model, trial, paths) if isinstance(model, ReadsVectors) else _by_pictures(model, trial, paths)
    both = model.card.form in ONE_WAY
    straight, turned = np.full(len(trial), np.nan), np.full(len(trial), np.nan)
    speaks = np.zeros(len(trial), bool)
    for place, (criterion, _) in enumerate(trial.criteria):
        if criterion not in own_criterion:
            continue
        rows = np.flatnonzero(trial.criterion == place)
        read = [texts(place)[int(row)] for row in rows]
        speaks[rows] = True
        a, b = list(trial.item_a[rows]), list(trial.item_b[rows])
        straight[rows] = ask(a, b, read, own_criterion[criterion])
        if both:
            turned[rows] = -ask(b, a, read, own_criterion[criterion])
    return Margins((straight + turned) / 2 if both else straight, turned if both else None, speaks)


def match_criteria(card: AnyCard, criteria: Sequence[str]) -> dict[str, str]:
    """Criteria of a study, each with the model's own that it is held against: the same id, or the only one of both."""
    taught = [criterion.id for criterion in card.criteria]
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
        logits = []
        for start in range(0, len(a), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            images = {item: read_picture(where[item]).image for item in {*a[part], *b[part]}}
            first, second = ([images[item] for item in side[part]] for side in (a, b))
            logits.append(model.pair_logits(first, second, texts[part], criterion))
        return np.concatenate(logits)

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
    places: Ints = trial.criterion
    if criterion is None:
        return np.ones(len(trial), bool)
    return np.array([trial.criteria[place][0] == criterion for place in places], bool)


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
    ids = study.ids("criteria").to_pylist()
    chosen = [study.criterion(id).id for id in criteria]
    if models and not chosen:
        spoken = {id for model in models for id in match_criteria(model.card, ids)}
        chosen = [id for id in ids if id in spoken]
        if not chosen:
            taught = sorted({model.id for loaded in models for model in loaded.card.criteria})
            raise TooFew(
                "a criterion of the study that a model was trained on is needed",
                found=f"criteria {', '.join(ids)}",
                where=f"study {study.name!r}",
                remedy=f"the models know {', '.join(taught)}",
            )
    labels = make_labels(people_only(study), LabelSettings(ties="keep", train=1, validation=0, test=0), criteria=chosen)
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
    own = [model for model in models if settings.split != "all" and is_own(model, opened)]
    for model in own:
        rows &= _in_split(opened, model, settings.split)
    study = opened.study
    word = settings.split if own else "all"
    # criteria of different names that are held against each other
    ids = pc.unique(text_of(opened.labels, "criterion")).to_pylist()
    pairs = [(model.name, *pair) for model in models for pair in match_criteria(model.card, ids).items()]
    notes = [
        f"{id} of {opened.study.name} is held against {own}, the only criterion that {name} knows"
        for name, id, own in pairs
        if id != own
    ]
    if models and not own and settings.split != "all":
        notes.append(f"no model was trained on {study.name}, so all its prompts are taken")
    table = opened.labels.filter(pa.array(rows))
    if not table.num_rows and len(own) > 1:
        raise TooFew(
            f"pairs in the {word} split of every model are needed",
            found="none",
            where=f"study {study.name!r}, models {', '.join(model.name for model in own)}",
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


def is_own(model: LoadedModel, opened: OpenStudy) -> bool:
    """Whether the model was trained on this study, perhaps in an earlier state."""
    if model.card.data == opened.study.hash:
        return True
    if model.guard is None or not model.guard.pictures:
        return model.card.study == opened.study.name
    here = {key.sha256 for key in opened.keys.values()}
    return sum(key.sha256 in here for key in model.guard.pictures) > _OWN * len(model.guard.pictures)


def _in_split(opened: OpenStudy, model: LoadedModel, split: str) -> np.ndarray:
    """Rows of the labels in a split of the model; the split depends on the study's prompts alone, not on its votes."""
    card = model.card
    if not {"train", "validation", "test", "seed"} <= card.split.keys():
        raise BadFile(
            "a model's card with its split is needed",
            found=f"keys {', '.join(card.split) or 'none'}",
            where=str(model.folder),
            remedy="--split all",
        )
    shares = {name: card.split[name] for name in ("train", "validation", "test")}
    label_settings = LabelSettings(ties="keep", seed=card.split["seed"], **shares)
    criteria = pc.unique(text_of(opened.labels, "criterion")).to_pylist()
    table = make_labels(people_only(opened.study), label_settings, criteria=criteria).table
    return np.asarray(pc.equal(text_of(table, "split"), split))


def text_of(table: pa.Table, column: str) -> pa.ChunkedArray:
    """A column of words, whatever holds them."""
    return table.column(column).cast(pa.string())


def check_leaks(model: LoadedModel, opened: OpenStudy, trial: TestPairs, settings: EvaluateSettings) -> Leaks | None:
    """What of the trial the model was trained on; DesignError unless that is allowed."""
    if model.guard is None:
        return None
    pictures = {item: opened.keys[item] for item in trial.items if item in opened.keys}
    texts = {opened.prompt_of[item] or item: text for item, text in zip(trial.item_a, trial.text)}
    leaks = find_leaks(model.guard, pictures, texts)
    if leaks and not settings.allow_leak:
        raise DesignError(
            "a model is evaluated on what it was not trained on",
            found=leaks.words,
            where=f"model {str(model.folder)!r}, study {trial.study!r}, split {trial.split}",
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
    tied, pairs = sum(judge.tied for judge in studies), sum(judge.pairs for judge in studies)
    policies = [
        ACCURACY,
        f"pairs without a majority are in no accuracy ({tied:,} of {pairs:,}), but in calibration and most ceilings",
        NO_NUMBER,
        CEILINGS,
        TAU,
    ]
    everyone = [judge for study in studies for judge in study.judges]
    if any(judge.calibration is not None for judge in everyone):
        policies.append(CHANCES)
    if any(judge.generators and judge.generators.generators for judge in everyone):
        policies.append(GENERATORS)
    if any(study.comparisons for study in studies):
        policies.append(PAIRED)
    policies += person_policies(everyone)
    if turned := [judge.name for judge in everyone if judge.order_flips is not None]:
        policies.append(f"pairs are shown both ways round and the mean log-odds counts: {first_names(turned)}")
    if scorers := [judge.name for judge in everyone if judge.kind in UNGUARDED]:
        policies.append(
            f"what scorers were trained on is not known here, so they have no leak guard: {first_names(scorers)}"
        )
    return (*policies, *notes)


def study_warnings(
    trial: TestPairs, contestants: Sequence[PairContestant], judges: Sequence[JudgeFigures]
) -> tuple[str, ...]:
    """What should not be taken at its face."""
    warnings = []
    if judges and judges[0].pooled.accuracy.low is None:
        why = "intervals need two prompts or more" if judges[0].pooled.accuracy.n == 1 else "all prompts say the same"
        warnings.append(f"{why}, so these numbers have none: they may be luck")
    if judges:
        warnings += few_warnings(judges[0].pooled.pairs, judges[0].pooled.accuracy.n)
    for figures in judges:
        if figures.kind != "person":
            warnings += [f"{figures.name}: {words}" for words in chance_warnings(figures.pooled.accuracy)]
    useful = {contestant.name for contestant in judges}
    if silent := [contestant.name for contestant in contestants if contestant.name not in useful]:
        warnings.append(f"left out, as they speak about none of the pairs with a majority: {first_names(silent)}")
    for contestant in contestants:
        if contestant.kind not in WITHOUT_GUARD and not contestant.guarded:
            warnings.append(
                f"{contestant.name} has no leak guard: nobody can say whether it was trained on these pairs"
            )
        if contestant.leaks:
            warnings.append(f"LEAK: {contestant.name} was trained on {contestant.leaks.words}")
    bare = [contestant.name for contestant in judges if contestant.pooled.ceilings is None]
    if bare:
        warnings.append(f"no ceiling can be given, so these accuracies cannot be read: {first_names(bare)}")
    for figures in judges:
        name, overall, criteria = figures.name, figures.pooled, figures.criteria
        above = [part.name for part in criteria for words in part.warnings if "leak" in words]
        if above and figures.kind != "person":
            warnings.append(f"{name} is above what an oracle could reach, suspect a leak: {first_names(above)}")
        if overall.unscored:
            warnings.append(f"{name} gives no number on {overall.unscored:,} of {overall.pairs:,} pairs")
        criteria_count = len(trial.criteria)
        if len(criteria) < criteria_count and figures.kind != "person":
            warnings.append(
                f"{name} speaks about {len(criteria)} of {criteria_count} criteria, and is measured on these"
            )
    return (*warnings, *person_warnings(judges))
