"""The pairs of a study that models may be tried on, past the leak guard of every one of them.

Of a study that a model was trained on, the split that its card names; of any other study all pairs. A study is taken
for the one it was trained on when the data are the same, or when it holds more than half of the pictures in the model's
guard (a study that has grown since). Several models are tried on the pairs that all of them may be tried on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadFile, DesignError, TooFew
from salon.evaluate.judges.judge_report import people_only
from salon.evaluate.leaks import Guard, Leaks, find_leaks, picture_keys
from salon.evaluate.pairs.evaluate_data import Trial, make_trial
from salon.evaluate.pairs.evaluate_predict import matched
from salon.evaluate.pairs.evaluate_settings import EvaluateSettings
from salon.fuse.labels import LabelSettings, make_labels
from salon.models.cards import Card
from salon.models.preference import PreferenceModel
from salon.store.folder import local, open_study
from salon.store.near_pictures import PictureKey
from salon.study import Prompt, Study

Progress = Callable[[str], None]
_OWN = 0.5
"""Share of a guard's pictures in a study above which the model was trained on that study."""


@dataclass(frozen=True)
class LoadedModel:
    """A model with its place and its guard."""

    name: str
    folder: Path
    card: Card
    model: PreferenceModel | None
    """None for a one-pass scorer, whose numbers come from its answers."""
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


def open_for(
    place: Path, models: Sequence[LoadedModel], criteria: Sequence[str] = (), progress: Progress = lambda step: None
) -> Opened:
    """A study folder, its votes under `criteria` (those that a model knows, when none are named), its pictures."""
    study, folder = open_study(place), local(place)
    known = study.ids("criteria").to_pylist()
    wanted = [study.criterion(id).id for id in criteria]
    if models and not wanted:
        spoken = {id for one in models for id in matched(one.card, known)}
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
    return Opened(
        study, folder, labels.table, paths, keys,
        {prompt.id: prompt for prompt in study.nouns("prompts")}, {id: item.prompt for id, item in items.items()},
    )  # fmt: skip


def trial_for(opened: Opened, models: Sequence[LoadedModel], settings: EvaluateSettings) -> tuple[Trial, list[str]]:
    """The pairs that all models may be tried on, and what to say about them."""
    rows = np.ones(opened.labels.num_rows, bool)
    own = [one for one in models if settings.split != "all" and is_own(one, opened)]
    for one in own:
        rows &= _in_split(opened, one, settings.split)
    study = opened.study
    word = settings.split if own else "all"
    notes = _notes(opened, models) if own else [*_notes(opened, models), *_foreign(opened, models, settings)]
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
    trial = make_trial(
        table,
        split=word,
        names=names,
        generators=generators,
        study=study.name,
        data=study.hash,
        simulated=study.simulated,
    )
    return trial, notes


def _foreign(opened: Opened, models: Sequence[LoadedModel], settings: EvaluateSettings) -> list[str]:
    if not models or settings.split == "all":
        return []
    return [f"no model was trained on {opened.study.name}, so all its prompts are taken"]


def _notes(opened: Opened, models: Sequence[LoadedModel]) -> list[str]:
    """Criteria of different names that are held against each other."""
    known = pc.unique(text_of(opened.labels, "criterion")).to_pylist()
    pairs = [(one.name, *pair) for one in models for pair in matched(one.card, known).items()]
    return [
        f"{id} of {opened.study.name} is held against {own}, the only criterion that {name} knows"
        for name, id, own in pairs
        if id != own
    ]


def is_own(one: LoadedModel, opened: Opened) -> bool:
    """Whether the model was trained on this study, perhaps in an earlier state."""
    if one.card.data == opened.study.hash:
        return True
    if one.guard is None or not one.guard.pictures:
        return one.card.study == opened.study.name
    here = {key.sha256 for key in opened.keys.values()}
    return sum(key.sha256 in here for key in one.guard.pictures) > _OWN * len(one.guard.pictures)


def _in_split(opened: Opened, one: LoadedModel, split: str) -> np.ndarray:
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


def checked(one: LoadedModel, opened: Opened, trial: Trial, settings: EvaluateSettings) -> Leaks | None:
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
