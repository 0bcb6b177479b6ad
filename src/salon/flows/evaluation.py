"""Models and scorers against the people of a study, on what the models were not trained on.

Composes `fuse` (votes and splits), `judge` (scorers) and `train` (models, leak guard, figures).

Which pairs. Of a study that a model was trained on, the split that its card names; of any other study all pairs. A
study is taken for the one it was trained on when the data are the same, or when it holds more than half of the pictures
in the model's guard (a study that has grown since). Several models are tried on the pairs that all of them may be
tried on. Whatever was selected goes past every model's guard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadFile, BadValue, DesignError, TooFew
from salon.flows.judge_report import people_only
from salon.flows.training import prepare_study
from salon.fuse.labels import LabelSettings, make_labels
from salon.judge.score import ScoreSettings, results_of
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.picture import Scored, Unscored
from salon.models.kept import Kept
from salon.models.preference import PreferenceModel
from salon.models.preference_model import HeadsModel, load_model
from salon.store.folder import local, open_study
from salon.store.near_pictures import PictureKey
from salon.study import Prompt, Scorer, Study
from salon.study.scorer import ScorerCard
from salon.train.evaluate import evaluate
from salon.train.evaluate_data import Contestant, Floats, Trial, make_trial
from salon.train.evaluate_predict import model_margins, score_margins, spoken
from salon.train.evaluate_results import EvaluateReport, LearningCurve
from salon.train.evaluate_settings import CurveSettings, EvaluateSettings
from salon.train.leaks import Guard, Leaks, find_leaks, load_guard, picture_keys
from salon.train.learning_curve import learning_curve
from salon.train.loop import train_heads
from salon.train.settings import HeadSettings

Progress = Callable[[str], None]
_SCORED_AT_ONCE = 32
_OWN = 0.5
"""Share of a guard's pictures in a study above which the model was trained on that study."""


@dataclass(frozen=True)
class LoadedModel:
    """A model with its place and its guard."""

    name: str
    folder: Path
    model: PreferenceModel
    guard: Guard | None
    """None where it has none and that was allowed."""


@dataclass(frozen=True)
class Opened:
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


def evaluate_models(
    models: Sequence[Path],
    studies: Sequence[Path],
    settings: EvaluateSettings | None = None,
    *,
    scorers: Sequence[str] = (),
    criteria: Sequence[str] = (),
    curve: CurveSettings | None = None,
    scoring: ScoreSettings | None = None,
    device: str | None = None,
    progress: Progress = lambda step: None,
) -> EvaluateReport:
    """What models (folders) and scorers (names, as for `salon score`) are worth on one study folder or several.

    `curve` asks for a learning curve of the first model of heads, on the first study.
    """
    settings = settings or EvaluateSettings()
    if not models and not scorers:
        raise BadValue("a model or a scorer is needed", found="none", remedy="salon evaluate MODEL STUDY")
    loaded = _load(models, settings, device, progress)
    named = [scorer_named(name, scoring) for name in scorers]
    entered, notes = [], []
    for place in studies:
        opened = open_for(place, loaded, criteria, progress)
        trial, said = _trial(opened, loaded, settings)
        notes += said
        contestants = [_model_contestant(one, opened, trial, settings, progress) for one in loaded]
        contestants += [_scorer_contestant(one, opened, trial, progress) for one in named]
        entered.append((trial, _told_apart(contestants)))
        if curve is not None and len(entered) == 1:
            found = _learning_curve(opened, loaded, trial, settings, curve, progress)
    drawn = found if curve is not None else None
    return evaluate(entered, settings, learning_curve=drawn, notes=notes, progress=progress)


def _load(
    folders: Sequence[Path], settings: EvaluateSettings, device: str | None, progress: Progress
) -> list[LoadedModel]:
    made = []
    for folder in folders:
        progress(f"loading {folder.name}")
        model = load_model(folder, device=device)
        try:
            guard = load_guard(folder, model.card.guard)
        except BadFile:
            if not settings.allow_leak:
                raise
            guard = None
        made.append(LoadedModel(model.card.name, folder, model, guard))
    return made


# -- the pairs ---------------------------------------------------------------------------------------------------------


def open_for(
    place: Path, models: Sequence[LoadedModel], criteria: Sequence[str] = (), progress: Progress = lambda step: None
) -> Opened:
    """A study folder, its votes under `criteria` (those that a model knows, when none are named), its pictures."""
    study, folder = open_study(place), local(place)
    known = study.ids("criteria").to_pylist()
    wanted = [study.criterion(id).id for id in criteria]
    if models and not wanted:
        wanted = [id for id in known if any(id in {one.id for one in loaded.model.card.criteria} for loaded in models)]
        if not wanted:
            taught = sorted({one.id for loaded in models for one in loaded.model.card.criteria})
            raise TooFew(
                "a criterion of the study that a model was trained on is needed",
                found=f"criteria {', '.join(known)}",
                where=f"study {study.name!r}",
                remedy=f"the models know {', '.join(taught)}",
            )
    labels = make_labels(people_only(study), LabelSettings(ties="keep", train=1, validation=0, test=0), criteria=wanted)
    items = {item.id: item for item in study.nouns("items")}
    met = pc.unique(pa.chunked_array([*_text(labels.table, "item_a").chunks, *_text(labels.table, "item_b").chunks]))
    paths = {id: folder / items[id].image for id in met.to_pylist() if items[id].image}
    progress(f"looking at {len(paths):,} pictures of {study.name}")
    keys = picture_keys(list(paths.values())) if models else [PictureKey("", "")] * len(paths)
    return Opened(
        study, folder, labels.table, paths, dict(zip(paths, keys)),
        {prompt.id: prompt for prompt in study.nouns("prompts")}, {id: item.prompt for id, item in items.items()},
    )  # fmt: skip


def _trial(opened: Opened, models: Sequence[LoadedModel], settings: EvaluateSettings) -> tuple[Trial, list[str]]:
    """The pairs that all models may be tried on, and what to say about them."""
    rows = np.ones(opened.labels.num_rows, bool)
    own = [one for one in models if settings.split != "all" and is_own(one, opened)]
    for one in own:
        rows &= _in_split(opened, one, settings.split)
    study = opened.study
    word = settings.split if own else "all"
    notes = []
    if foreign := [one.name for one in models if one not in own] if settings.split != "all" else []:
        notes.append(f"{study.name} was not trained on, so all its prompts are taken for {', '.join(foreign)}")
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
    facts = {"study": study.name, "data": study.hash, "simulated": study.simulated}
    return make_trial(table, split=word, names=names, generators=generators, **facts), notes


def is_own(one: LoadedModel, opened: Opened) -> bool:
    """Whether the model was trained on this study, perhaps in an earlier state."""
    if one.model.card.data == opened.study.hash:
        return True
    if one.guard is None or not one.guard.pictures:
        return one.model.card.study == opened.study.name
    here = {key.sha256 for key in opened.keys.values()}
    return sum(key.sha256 in here for key in one.guard.pictures) > _OWN * len(one.guard.pictures)


def _in_split(opened: Opened, one: LoadedModel, split: str) -> np.ndarray:
    """Rows of the labels in a split of the model; the split depends on the study's prompts alone, not on its votes."""
    card = one.model.card
    if not {"train", "validation", "test", "seed"} <= card.split.keys():
        raise BadFile(
            "a model's card with its split is needed",
            found=f"keys {', '.join(card.split) or 'none'}",
            where=str(one.folder),
            remedy="--split all",
        )
    shares = {name: card.split[name] for name in ("train", "validation", "test")}
    asked = LabelSettings(ties="keep", seed=card.split["seed"], **shares)
    criteria = pc.unique(_text(opened.labels, "criterion")).to_pylist()
    table = make_labels(people_only(opened.study), asked, criteria=criteria).table
    return np.asarray(pc.equal(_text(table, "split"), split))


def _text(table: pa.Table, column: str) -> pa.ChunkedArray:
    return table.column(column).cast(pa.string())


# -- contestants -------------------------------------------------------------------------------------------------------


def _model_contestant(
    one: LoadedModel, opened: Opened, trial: Trial, settings: EvaluateSettings, progress: Progress
) -> Contestant:
    leaks = _checked(one, opened, trial, settings)
    progress(f"{one.name} on {trial.study}")
    card = one.model.card
    found = model_margins(one.model, trial, opened.paths, _reader(one.model, opened, trial))
    return Contestant(
        name=one.name,
        kind=card.kind,
        margin=found.margin,
        speaks=found.speaks,
        is_logit=True,
        turned=found.turned,
        form=card.form,
        signature=str(card.signature),
        settings=card.settings,
        leaks=leaks,
        guarded=one.guard is not None,
    )


def _reader(model: PreferenceModel, opened: Opened, trial: Trial) -> Callable[[int], Sequence[str]]:
    """The texts that the model reads under each criterion: whole prompts, or the parts that its card names."""
    views = {one.id: one.view for one in model.card.criteria}

    def read(place: int) -> Sequence[str]:
        view = views.get(trial.criteria[place][0], ())
        if not view:
            return trial.text
        prompts = (opened.prompts.get(opened.prompt_of[item] or "") for item in trial.item_a)
        return [prompt.view(view) if prompt and text else text for prompt, text in zip(prompts, trial.text)]

    return read


def _checked(one: LoadedModel, opened: Opened, trial: Trial, settings: EvaluateSettings) -> Leaks | None:
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


def _scorer_contestant(scorer: Scorer, opened: Opened, trial: Trial, progress: Progress) -> Contestant:
    card: ScorerCard = getattr(scorer, "card", ScorerCard())
    values, unscored = _values(scorer, opened, trial, progress)
    return Contestant(
        name=scorer.name,
        kind="scorer",
        margin=score_margins(trial, values, higher_is_better=card.higher_is_better),
        speaks=spoken(trial, card.criterion),
        is_logit=card.is_logit,
        signature=str(scorer.signature),
        unscored=unscored,
    )


def _values(
    scorer: Scorer, opened: Opened, trial: Trial, progress: Progress
) -> tuple[dict[str, float], dict[str, int]]:
    """The numbers of the trial's items, and how many have none and why; results are kept as `salon score` does."""
    kept, key = Kept(), getattr(scorer, "key", lambda item, prompt: None)
    whole = {item.id: item for item in opened.study.nouns("items")}
    asked = []
    for id in trial.items:
        item = whole[id]
        if id in opened.paths:
            item = item.model_copy(update={"image": str(opened.paths[id])})
        asked.append((item, opened.prompts.get(item.prompt or "")))
    keys = [key(item, prompt) for item, prompt in asked]
    known = {one: Scored(**record) for one, record in kept.many({one for one in keys if one}).items()}
    found = [known.get(one) for one in keys]
    open_ = [place for place, result in enumerate(found) if result is None]
    for start in range(0, len(open_), _SCORED_AT_ONCE):
        part = open_[start : start + _SCORED_AT_ONCE]
        progress(f"{scorer.name}, item {start + 1:,} of {len(open_):,}")
        for place, result in zip(part, results_of(scorer, [asked[place] for place in part]), strict=True):
            found[place] = result
        fresh = {keys[place]: found[place] for place in part if keys[place] and isinstance(found[place], Scored)}
        kept.keep({one: result._asdict() for one, result in fresh.items()})
    values = {id: one.value for id, one in zip(trial.items, found) if isinstance(one, Scored)}
    reasons = [one.reason for one in found if isinstance(one, Unscored)]
    return values, {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


def _told_apart(contestants: Sequence[Contestant]) -> list[Contestant]:
    """Contestants whose name another one has too get a number behind it."""
    taken: dict[str, int] = {}
    made = []
    for one in contestants:
        taken[one.name] = taken.get(one.name, 0) + 1
        made.append(one if taken[one.name] == 1 else replace(one, name=f"{one.name} #{taken[one.name]}"))
    return made


# -- the learning curve ------------------------------------------------------------------------------------------------


def _learning_curve(
    opened: Opened, models: Sequence[LoadedModel], trial: Trial, settings: EvaluateSettings, curve: CurveSettings,
    progress: Progress,
) -> LearningCurve:  # fmt: skip
    """Heads with the settings of the first model of heads that was trained on the study, on parts of its prompts."""
    one = next((one for one in models if isinstance(one.model, HeadsModel) and is_own(one, opened)), None)
    if one is None:
        raise DesignError(
            "a learning curve needs heads that were trained on this study",
            found=", ".join(f"{one.name} ({one.model.card.kind})" for one in models) or "no model",
            where=f"study {trial.study!r}",
        )
    card, encoder = one.model.card, one.model.encoder
    given = HeadSettings.model_validate(card.settings).model_copy(update={"flags": False})
    wanted = [criterion.id for criterion in card.criteria]
    prepared = prepare_study(opened.study, opened.folder, given, criteria=wanted, encoder=encoder)
    groups, splits = _text(prepared.labels, "group").to_pylist(), _text(prepared.labels, "split").to_pylist()
    training = [group for group, split in zip(groups, splits) if split == "train"]
    reader = _reader(one.model, opened, trial)

    def fit(prompts: frozenset[str], seed: int) -> Floats:
        part = replace(prepared, labels=_of(prepared.labels, prompts), votes=_of(prepared.votes, prompts))
        with_seed = given.model_copy(update={"seed": seed})
        trained = train_heads(part.data(with_seed), with_seed)
        model = HeadsModel(card, trained.network.cpu(), encoder)
        return model_margins(model, trial, opened.paths, reader).margin

    counts = {group: training.count(group) for group in dict.fromkeys(training)}
    return learning_curve(one.name, trial, counts, fit, settings, curve, progress=progress)


def _of(table: pa.Table, prompts: frozenset[str]) -> pa.Table:
    """Training rows of these prompts, and all others."""
    kept = [
        split != "train" or group in prompts
        for group, split in zip(_text(table, "group").to_pylist(), _text(table, "split").to_pylist())
    ]
    return table.filter(pa.array(kept, pa.bool_()))
