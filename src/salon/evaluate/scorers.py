"""Scorers of a study against its fused scores, its ratings or pseudo-scores, on pictures they were not trained on.

Composes `fuse` (targets), `judge` (tables of `salon score`, scorers) and `train` (figures, leak guard, pseudo-scores).

A scorer is named as its table in STUDY/scores is (NAME, or NAME@CRITERION where it has one for each criterion), as
`salon score` names it, or by the folder of a model. Targets: `fused`, `ratings`, `medians`, a folder of pseudo-scores,
or a table with the columns item, criterion and value (`salon fuse -o`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from salon.errors import BadFile, BadValue, DesignError, TooFew
from salon.evaluate.leaks import LeakGuard, find_leaks, load_guard, picture_keys
from salon.evaluate.people import category_labels, item_categories, item_prompts, people_only
from salon.evaluate.pseudo_scores import read_label_card, read_pseudo_scores
from salon.evaluate.results import CheckpointChoice, CostRow, Evaluation, ScoreEvaluationSettings
from salon.evaluate.score_tables import (
    TRAINED,
    Predictions,
    ratings_by_rater,
    read_predictions,
    target_named,
    usual_target,
)
from salon.evaluate.scores import (
    COMMON,
    MISSING_WORDS,
    Prediction,
    ScoreFrame,
    Target,
    choose,
    make_draws,
    rater_level,
    signature_of,
    target_figures,
)
from salon.judge.model_scorers import UNREAD_POLICY, UNTRAINED, RaterSettings, is_untrained_vlm
from salon.models.cards import OnePassCard, read_card
from salon.store.folder import local_path, open_study
from salon.store.near_pictures import PictureKey
from salon.study import Study
from salon.study.study import CompareWithin

Progress = Callable[[str], None]
_STRANGE = ("collapsed", "shifted", "collapsed and shifted", "stretched")
"""What may become of a scale and must be said."""


@dataclass(frozen=True)
class ScoreQuestion:
    """What is to be evaluated, by name; see the module."""

    scorers: Sequence[str] = ()
    models: Sequence[Path] = ()
    checkpoints: Sequence[str] = ()
    """Scorers of which one is chosen on `validation`; only that one sees the test."""
    validation: str | None = None
    against: Sequence[str] = ()
    labels: Sequence[Path] = ()
    """Folders of pseudo-scores that scorers were trained on: their items are in no test."""
    criteria: Sequence[str] = ()
    items: Sequence[str] | None = None
    """Only these are tested; None: all that a target is about."""
    rater: RaterSettings = field(default_factory=RaterSettings)
    """How untrained VLMs are asked."""


def evaluate_scores(
    place: Path,
    asked: ScoreQuestion,
    settings: ScoreEvaluationSettings | None = None,
    *,
    device: str | None = None,
    progress: Progress = lambda step: None,
    on_forecast: Callable[[Sequence[str]], None] = lambda lines: None,
) -> Evaluation:
    """What scorers are worth on the study in `place` against one target or several.

    `on_forecast` hears what VLMs at endpoints will be asked, before the first question is sent.
    """
    settings = settings or ScoreEvaluationSettings()
    study, folder = open_study(place), local_path(place)
    if not (asked.scorers or asked.models or asked.checkpoints):
        raise BadValue("a scorer to evaluate is needed", found="none", remedy="--scorer NAME, or --model FOLDER")
    whole = _frame(study, asked.criteria, settings.within)
    progress("targets")
    aims = [target_named(name, study, whole) for name in asked.against or (usual_target(study),)]
    models = [place for place in asked.models if not is_untrained_vlm(place)]
    scorers = [*asked.scorers, *(f"onepass:{place}" for place in asked.models if is_untrained_vlm(place))]
    tables = read_predictions(
        study, folder, whole, scorers, models, device, progress, rater=asked.rater,
        items=_with_target(whole, aims, asked), on_forecast=on_forecast,
    )  # fmt: skip
    choice, chosen, held = _choose_checkpoint(study, folder, whole, asked, settings, device, progress)
    tables += chosen
    tables = replace(tables, predicted=_with_groups(tables))
    guarded = _Guards.of(study, folder, tables.folders, settings)
    if asked.items is not None:
        aims = [_without(one, whole, sorted(set(whole.items) - set(asked.items))) for one in aims]
    trained = [*held, *guarded.own(), *_labelled_items(asked.labels, study)]
    frame, targets, notes = _test_items(study, whole, aims, trained)
    leaks = guarded.leaks(study, frame)
    progress("figures")
    draws = make_draws(frame, settings.draws, settings.seed)
    people = rater_level(frame, ratings_by_rater(people_only(study), frame), draws, settings)
    predicted = [_cut(one, whole, frame) for one in tables.predicted]
    figures = [target_figures(frame, target, predicted, draws, settings, people) for target in targets]
    signature = signature_of(study.hash[:12], study.revision, frame, targets, predicted, settings)
    warnings = [
        *leaks,
        *(_UNGUARDED.format(name) for name in tables.unguarded),
        *(f"{one.name} against {t.name}: {one.words}" for t in figures for one in t.scorers if one.scale in _STRANGE),
    ]
    untrained = [UNREAD_POLICY] if any(one.group == "base" for one in predicted) else []
    return Evaluation(
        study=study.name, simulated=study.simulated, within=frame.within, drawn=_drawn(frame), level=settings.level,
        leaking=bool(leaks), targets=tuple(figures), choice=choice,
        cost=tuple(_cost(frame, targets[0], predicted, asked, tables.folders)),
        policies=(MISSING_WORDS[settings.missing], *untrained, *COMMON, _drawn_words(frame), *notes),
        warnings=tuple(warnings), signature=signature, signature_line=str(signature),
    )  # fmt: skip


# -- untrained VLMs beside trained ones --------------------------------------------------------------------------------


def _with_target(frame: ScoreFrame, targets: Sequence[Target], asked: ScoreQuestion) -> set[str]:
    """Items that a target is about: VLMs are asked about no others."""
    there = np.any([np.isfinite(one.values).any(axis=1) for one in targets], axis=0)
    found = {item for item, known in zip(frame.items, there) if known}
    return found if asked.items is None else found & set(asked.items)


def _with_groups(tables: Predictions) -> tuple[Prediction, ...]:
    """Each scorer with its group, and each trained one with the labels it learned from and the VLM it began from."""
    bases = [one.name for one in tables.predicted if one.signature.startswith(UNTRAINED)]
    signatures = {one.name: one.signature for one in tables.predicted}
    made = []
    for one in tables.predicted:
        if one.name in bases:
            made.append(replace(one, group="base"))
        elif not one.signature.startswith(TRAINED):
            made.append(one)
        else:
            place = tables.folders.get(one.name)
            card = None if place is None else read_card(place)
            labels, weights = ("", "?")
            if isinstance(card, OnePassCard):
                labels, weights = _labels_words(card), card.backbone.rpartition(" ")[2]
            begun = [name for name in bases if f"data:{weights}|" in signatures[name]]
            base = begun or (bases if len(bases) == 1 else [""])
            made.append(replace(one, group="trained", labels=labels, base=base[0]))
    return tuple(made)


def _labels_words(card: OnePassCard) -> str:
    """The source of a scorer's labels, and the category they are of, where they are of one."""
    return ", ".join(str(card.labels[name]) for name in ("source", "category") if card.labels.get(name))


# -- items -------------------------------------------------------------------------------------------------------------


def _frame(study: Study, criteria: Sequence[str], within: CompareWithin | None) -> ScoreFrame:
    items = tuple(study.ids("items").to_pylist())
    if not items:
        raise TooFew("a study with items is needed", found="none", where=f"study {study.name!r}")
    wanted = [study.criterion(id) for id in criteria] or list(study.criteria)
    prompt, categories, category = item_prompts(study), category_labels(study), item_categories(study)
    within = within or ("category" if len(categories) and (category >= 0).all() else "all")
    alone = prompt < 0
    prompt = np.where(alone, prompt.max(initial=-1) + 1 + np.cumsum(alone), prompt)
    groups, group = _groups(study, within, prompt, categories, category)
    return ScoreFrame(
        items, tuple((one.id, one.title) for one in wanted), groups, group, within, prompt, categories, category
    )


def _groups(
    study: Study, within: CompareWithin, prompt: np.ndarray, categories: tuple[str, ...], category: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray]:
    if within == "all":
        return ("all",), np.zeros(len(prompt), np.int64)
    if within == "prompt":
        numbers, group = np.unique(prompt, return_inverse=True)
        return tuple(str(number) for number in numbers), group
    if (category < 0).any():
        raise DesignError(
            "a category for every item is needed with --within category",
            found=f"{int((category < 0).sum()):,} items without one",
            where=f"study {study.name!r}",
            remedy="--within all or --within prompt",
        )
    return categories, category


def _labelled_items(folders: Sequence[Path], study: Study) -> list[str]:
    """Items of this study that stand in a folder of labels."""
    found: list[str] = []
    for folder in folders:
        if read_label_card(folder).study in ("", study.name):
            found += read_pseudo_scores(folder).items
    return found


def _test_items(
    study: Study, frame: ScoreFrame, targets: Sequence[Target], trained: Sequence[str]
) -> tuple[ScoreFrame, list[Target], list[str]]:
    """Frame and targets without items that were trained or chosen on, and without those that no target is about."""
    known = set(trained)
    there = np.any([np.isfinite(one.values).any(axis=1) for one in targets], axis=0)
    free = np.array([item not in known for item in frame.items])
    if not (there & free).any():
        raise TooFew(
            "items with a target that were not trained on are needed",
            found=f"{int(there.sum()):,} with a target, all of them trained or chosen on" if there.any() else "none",
            where=f"study {study.name!r}",
            remedy="leave out --labels where --model names a scorer's folder: its guard knows what it was trained on; "
            "or rate or compare items that have no labels",
        )
    kept = np.flatnonzero(there & free)
    lost = int((there & ~free).sum())
    notes = [f"{lost:,} items with a target were trained or chosen on and are in no figure."] if lost else []
    return _part(frame, kept), [_of(one, kept) for one in targets], notes


def _without(target: Target, frame: ScoreFrame, items: Sequence[str]) -> Target:
    lost = set(items)
    out = np.array([item in lost for item in frame.items])
    return replace(target, values=np.where(out[:, None], np.nan, target.values))


def _part(frame: ScoreFrame, kept: np.ndarray) -> ScoreFrame:
    numbers, group = np.unique(frame.group[kept], return_inverse=True)
    return replace(
        frame, items=tuple(frame.items[n] for n in kept), groups=tuple(frame.groups[n] for n in numbers), group=group,
        prompt=frame.prompt[kept], category=frame.category[kept],
    )  # fmt: skip


def _of(target: Target, kept: np.ndarray) -> Target:
    scale = None if target.scale_of is None else target.scale_of[kept]
    return replace(target, values=target.values[kept], scale_of=scale)


def _cut(one: Prediction, whole: ScoreFrame, part: ScoreFrame) -> Prediction:
    place = {item: number for number, item in enumerate(whole.items)}
    return replace(one, values=one.values[[place[item] for item in part.items]])


# -- the choice of a checkpoint ----------------------------------------------------------------------------------------


def _choose_checkpoint(
    study: Study,
    folder: Path,
    frame: ScoreFrame,
    asked: ScoreQuestion,
    settings: ScoreEvaluationSettings,
    device: str | None,
    progress: Progress,
) -> tuple[CheckpointChoice | None, Predictions, list[str]]:
    """The best checkpoint on the validation target, with its numbers, and the validation items."""
    if not asked.checkpoints and asked.validation is None:
        return None, Predictions(frame, (), {}), []
    if not asked.checkpoints or asked.validation is None:
        raise BadValue(
            "--checkpoint goes with --validation, and --validation with --checkpoint",
            found="only one of them",
            remedy="--checkpoint NAME --checkpoint NAME --validation LABELS",
        )
    models = [Path(name) for name in asked.checkpoints if Path(name).is_dir()]
    names = [name for name in asked.checkpoints if not Path(name).is_dir()]
    tables = read_predictions(study, folder, frame, names, models, device, progress, rater=asked.rater)
    taught = set().union(*(_taught(place, study) for place in tables.folders.values()))
    target = _without(target_named(asked.validation, study, frame), frame, sorted(taught))
    kept = np.flatnonzero(np.isfinite(target.values).any(axis=1))
    if not len(kept):
        found = "only items that a checkpoint was trained on" if taught else "none"
        raise TooFew("validation items of the study are needed", found=found, where=asked.validation)
    part = _part(frame, kept)
    draws = make_draws(part, settings.draws, settings.seed)
    candidates = [_cut(one, frame, part) for one in tables.predicted]
    choice = choose(part, _of(target, kept), candidates, draws, settings)
    return choice, tables.only(choice.chosen), list(part.items)


def _taught(model: Path, study: Study) -> set[str]:
    """Items of the study on the training side of a one-pass scorer: they choose nothing."""
    file = model / "run" / "split.parquet"
    if not file.is_file() or read_card(model).study != study.name:
        return set()
    return {row["item"] for row in pq.read_table(file).to_pylist() if row["split"] == "train"}


# -- leaks -------------------------------------------------------------------------------------------------------------

_OWN = 0.5
"""Share of a guard's pictures in a study above which the model was trained on that study."""
_UNGUARDED = "{}: a table says nothing of what its model was trained on; with --model its guard is asked."


@dataclass(frozen=True)
class _Guards:
    """What the guards of the models know of the study's pictures."""

    guards: Mapping[Path, LeakGuard | None]
    """None where a model has none and that was allowed."""
    keys: Mapping[str, PictureKey]
    """By item; empty where nobody asks."""
    allow_leak: bool

    @classmethod
    def of(cls, study: Study, folder: Path, models: Mapping[str, Path], settings: ScoreEvaluationSettings) -> _Guards:
        """Of these models, by name."""
        guards = {place: _guard(place, settings) for place in models.values()}
        images = {item.id: folder / item.image for item in study.nouns("items") if guards and item.image}
        there = {item: path for item, path in images.items() if path.is_file()}
        return cls(guards, dict(zip(there, picture_keys(list(there.values())))), settings.allow_leak)

    def own(self) -> list[str]:
        """Items that a model was trained or chosen on, where this is the study it comes from; elsewhere are leaks."""
        found: list[str] = []
        for guard in () if self.allow_leak else self.guards.values():
            known = {key.sha256 for key in guard.pictures} if guard else set()
            here = [item for item, key in self.keys.items() if key.sha256 in known]
            found += here if len({self.keys[item].sha256 for item in here}) > _OWN * len(known) else []
        return found

    def leaks(self, study: Study, frame: ScoreFrame) -> list[str]:
        """What to say of models that were trained on a picture of the frame: refused unless allowed."""
        keys = {item: self.keys[item] for item in frame.items if item in self.keys}
        told = []
        for model, guard in self.guards.items():
            if guard is None:
                told.append(f"LEAK: whether {model.name} was trained on these pictures is not known, it has no guard")
                continue
            found = find_leaks(guard, keys, {})
            if found and not self.allow_leak:
                raise DesignError(
                    "a scorer is evaluated on pictures it was not trained on", found=found.words,
                    where=f"model {str(model)!r}, study {study.name!r}",
                    remedy="take these items out of the study; --allow-leak goes on and says so",
                )  # fmt: skip
            if found:
                told.append(f"LEAK: {model.name} was trained on {found.words}")
        return told


def _guard(model: Path, settings: ScoreEvaluationSettings) -> LeakGuard | None:
    try:
        return load_guard(model, read_card(model).guard)
    except BadFile:
        if not settings.allow_leak:
            raise
        return None


# -- words and cost ----------------------------------------------------------------------------------------------------


def _drawn(frame: ScoreFrame) -> str:
    if frame.within == "prompt":
        return "prompts"
    unit = "prompts" if frame.by_prompt else "items"
    return unit if frame.within == "all" else f"{unit} within each {frame.within}"


def _drawn_words(frame: ScoreFrame) -> str:
    return (
        f"Intervals: {_drawn(frame)} are drawn anew, all criteria of an item and all scorers together; targets and "
        "trained weights stay as they are."
    )


def _cost(
    frame: ScoreFrame, target: Target, predicted: Sequence[Prediction], asked: ScoreQuestion, models: Mapping[str, Path]
) -> list[CostRow]:
    """One pass an item for every scorer; beside it all pairs compared within each group, as one would without one."""
    there = np.isfinite(target.values).any(axis=1)
    n = int(there.sum())
    given = sum(read_label_card(folder).calls_made for folder in asked.labels) if asked.labels else None
    rows = []
    for one in predicted:
        calls, note = (0, "untrained") if one.group == "base" else _label_calls(models.get(one.name), given)
        rows.append(CostRow(name=one.name, label_calls=calls, passes=1, total=n, note=note))
    sizes = np.bincount(frame.group[there])
    pairs = int((sizes * (sizes - 1) // 2).sum())
    told = f"every two items of a {frame.within}" if frame.within != "all" else "every two items"
    return [
        *rows,
        CostRow(name="comparing all pairs", label_calls=0, passes=round(pairs / n, 1), total=pairs, note=told),
    ]


def _label_calls(model: Path | None, given: int | None) -> tuple[int | None, str]:
    """Calls behind the labels of a scorer: by its own card, or those of --labels; None where nobody knows."""
    card = None if model is None else read_card(model)
    if isinstance(card, OnePassCard) and "calls_made" in card.labels:
        return card.labels["calls_made"], f"labels by {card.labels['source']}"
    if card is None and given is not None:
        return given, "label calls of --labels, where it was trained on them"
    return None, "what its labels cost is not known here"
