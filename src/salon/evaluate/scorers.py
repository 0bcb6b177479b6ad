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
    Prediction,
    ScoreFrame,
    Target,
    choose,
    make_draws,
    rater_level,
    signature_of,
    target_figures,
)
from salon.judge import UNREAD_POLICY, UNTRAINED, RaterSettings, is_untrained_vlm
from salon.models import OnePassCard, read_card
from salon.store import PictureKey, has_picture, local_path, open_study
from salon.study import CompareWithin, Study

Progress = Callable[[str], None]
MISSING_WORDS = {
    "worst": "Missing predictions: in correlations they get the numbers that make SRCC lowest, in MAE and RMSE the "
    "largest error of the scale; means and spreads are of the predictions there are. So leaving out a hard item never "
    "improves MAE, RMSE or an SRCC above 0; PLCC and KRCC are of the same numbers. SRCC over scored items alone stands "
    "beside it.",
    "scored": "Missing predictions: left out of every figure. Leaving out a hard item can raise a correlation: look at "
    "the coverage.",
}
COMMON = (
    "Correlations are means over groups and criteria, each counting alike; groups with fewer than 3 items or with one "
    "target value have none. Where all predictions of a group are equal its correlation counts 0.",
    "MAE and RMSE only where a scorer is on the target's scale: its card names the same ends or, without a card, all "
    "its numbers lie inside.",
)
DRAWN_WORDS = (
    "Intervals: {} are drawn anew, all criteria of an item and all scorers together; targets and trained weights "
    "stay as they are."
)
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
    question: ScoreQuestion,
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
    if not (question.scorers or question.models or question.checkpoints):
        raise BadValue("a scorer to evaluate is needed", found="none", remedy="--scorer NAME, or --model FOLDER")
    whole = _frame(study, question.criteria, settings.within)
    progress("targets")
    aims = [target_named(name, study, whole) for name in question.against or (usual_target(study),)]
    models = [place for place in question.models if not is_untrained_vlm(place)]
    scorers = [*question.scorers, *(f"onepass:{place}" for place in question.models if is_untrained_vlm(place))]
    has_target = np.any([np.isfinite(target.values).any(axis=1) for target in aims], axis=0)
    with_target = {item for item, has in zip(whole.items, has_target) if has}  # VLMs are asked about no others
    with_target &= with_target if question.items is None else set(question.items)
    tables = read_predictions(
        study, folder, whole, scorers, models, device, progress, rater=question.rater,
        items=with_target, on_forecast=on_forecast,
    )  # fmt: skip
    choice, chosen, validation_items = _choose_checkpoint(study, folder, whole, question, settings, device, progress)
    tables += chosen
    tables = replace(tables, predicted=_with_groups(tables))
    guarded = _Guards.of(study, folder, tables.folders, settings)
    if question.items is not None:
        aims = [_without(scorer, whole, sorted(set(whole.items) - set(question.items))) for scorer in aims]
    trained = [*validation_items, *guarded.own(), *_labelled_items(question.labels, study)]
    frame, targets, notes = _test_items(study, whole, aims, trained)
    leaks = guarded.leaks(study, frame)
    progress("figures")
    draws = make_draws(frame, settings.draws, settings.seed)
    people = rater_level(frame, ratings_by_rater(people_only(study), frame), draws, settings)
    predicted = [_cut(scorer, whole, frame) for scorer in tables.predicted]
    figures = [target_figures(frame, target, predicted, draws, settings, people) for target in targets]
    signature = signature_of(study.hash[:12], study.revision, frame, targets, predicted, settings)
    warnings = [
        *leaks,
        *(_UNGUARDED.format(name) for name in tables.unguarded),
        *(
            f"{scorer.name} against {t.name}: {scorer.words}"
            for t in figures
            for scorer in t.scorers
            if scorer.scale in _STRANGE
        ),
    ]
    untrained = [UNREAD_POLICY] if any(scorer.group == "base" for scorer in predicted) else []
    return Evaluation(
        study=study.name, simulated=study.simulated, within=frame.within, drawn=_drawn(frame), level=settings.level,
        leaking=bool(leaks), targets=tuple(figures), choice=choice,
        cost=tuple(_cost(frame, targets[0], predicted, question, tables.folders)),
        policies=(MISSING_WORDS[settings.missing], *untrained, *COMMON, DRAWN_WORDS.format(_drawn(frame)), *notes),
        warnings=tuple(warnings), signature=signature, signature_line=str(signature),
    )  # fmt: skip


# -- untrained VLMs beside trained ones --------------------------------------------------------------------------------


def _with_groups(tables: Predictions) -> tuple[Prediction, ...]:
    """Each scorer with its group, and each trained one with the labels it learned from and the VLM it began from."""
    bases = [prediction.name for prediction in tables.predicted if prediction.signature.startswith(UNTRAINED)]
    signatures = {prediction.name: prediction.signature for prediction in tables.predicted}
    grouped = []
    for prediction in tables.predicted:
        if prediction.name in bases:
            grouped.append(replace(prediction, group="base"))
        elif not prediction.signature.startswith(TRAINED):
            grouped.append(prediction)
        else:
            place = tables.folders.get(prediction.name)
            card = None if place is None else read_card(place)
            labels, weights = ("", "?")
            if isinstance(card, OnePassCard):
                sources = (card.labels.get(name) for name in ("source", "category"))
                labels, weights = ", ".join(str(word) for word in sources if word), card.backbone.rpartition(" ")[2]
            own_bases = [name for name in bases if f"data:{weights}|" in signatures[name]]
            base = own_bases or (bases if len(bases) == 1 else [""])
            grouped.append(replace(prediction, group="trained", labels=labels, base=base[0]))
    return tuple(grouped)


# -- items -------------------------------------------------------------------------------------------------------------


def _frame(study: Study, criteria: Sequence[str], within: CompareWithin | None) -> ScoreFrame:
    items = tuple(study.ids("items").to_pylist())
    if not items:
        raise TooFew("a study with items is needed", found="none", where=f"study {study.name!r}")
    chosen = [study.criterion(id) for id in criteria] or list(study.criteria)
    prompt, categories, category = item_prompts(study), category_labels(study), item_categories(study)
    within = within or ("category" if len(categories) and (category >= 0).all() else "all")
    alone = prompt < 0
    prompt = np.where(alone, prompt.max(initial=-1) + 1 + np.cumsum(alone), prompt)
    groups, group = _groups(study, within, prompt, categories, category)
    return ScoreFrame(
        items,
        tuple((criterion.id, criterion.title) for criterion in chosen),
        groups,
        group,
        within,
        prompt,
        categories,
        category,
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
    items: list[str] = []
    for folder in folders:
        if read_label_card(folder).study in ("", study.name):
            items += read_pseudo_scores(folder).items
    return items


def _test_items(
    study: Study, frame: ScoreFrame, targets: Sequence[Target], trained: Sequence[str]
) -> tuple[ScoreFrame, list[Target], list[str]]:
    """Frame and targets without items that were trained or chosen on, and without those that no target is about."""
    trained_items = set(trained)
    there = np.any([np.isfinite(target.values).any(axis=1) for target in targets], axis=0)
    free = np.array([item not in trained_items for item in frame.items])
    if not (there & free).any():
        raise TooFew(
            "items with a target that were not trained on are needed",
            found=f"{int(there.sum()):,} with a target, all of them trained or chosen on" if there.any() else "none",
            where=f"study {study.name!r}",
            remedy="leave out --labels where --model names a scorer's folder: its guard knows what it was trained on; "
            "or rate or compare items that have no labels",
        )
    selected = np.flatnonzero(there & free)
    lost = int((there & ~free).sum())
    notes = [f"{lost:,} items with a target were trained or chosen on and are in no figure."] if lost else []
    return _part(frame, selected), [_of(target, selected) for target in targets], notes


def _without(target: Target, frame: ScoreFrame, items: Sequence[str]) -> Target:
    lost = set(items)
    out = np.array([item in lost for item in frame.items])
    return replace(target, values=np.where(out[:, None], np.nan, target.values))


def _part(frame: ScoreFrame, rows: np.ndarray) -> ScoreFrame:
    numbers, group = np.unique(frame.group[rows], return_inverse=True)
    return replace(
        frame, items=tuple(frame.items[n] for n in rows), groups=tuple(frame.groups[n] for n in numbers), group=group,
        prompt=frame.prompt[rows], category=frame.category[rows],
    )  # fmt: skip


def _of(target: Target, rows: np.ndarray) -> Target:
    scale = None if target.scale_of is None else target.scale_of[rows]
    return replace(target, values=target.values[rows], scale_of=scale)


def _cut(prediction: Prediction, whole: ScoreFrame, part: ScoreFrame) -> Prediction:
    place = {item: number for number, item in enumerate(whole.items)}
    return replace(prediction, values=prediction.values[[place[item] for item in part.items]])


# -- the choice of a checkpoint ----------------------------------------------------------------------------------------


def _choose_checkpoint(
    study: Study,
    folder: Path,
    frame: ScoreFrame,
    question: ScoreQuestion,
    settings: ScoreEvaluationSettings,
    device: str | None,
    progress: Progress,
) -> tuple[CheckpointChoice | None, Predictions, list[str]]:
    """The best checkpoint on the validation target, with its numbers, and the validation items."""
    if not question.checkpoints and question.validation is None:
        return None, Predictions(frame, (), {}), []
    if not question.checkpoints or question.validation is None:
        raise BadValue(
            "--checkpoint goes with --validation, and --validation with --checkpoint",
            found="only one of them",
            remedy="--checkpoint NAME --checkpoint NAME --validation LABELS",
        )
    models = [Path(name) for name in question.checkpoints if Path(name).is_dir()]
    names = [name for name in question.checkpoints if not Path(name).is_dir()]
    tables = read_predictions(study, folder, frame, names, models, device, progress, rater=question.rater)
    taught = set().union(*(_taught(place, study) for place in tables.folders.values()))
    target = _without(target_named(question.validation, study, frame), frame, sorted(taught))
    selected = np.flatnonzero(np.isfinite(target.values).any(axis=1))
    if not len(selected):
        reason = "only items that a checkpoint was trained on" if taught else "none"
        raise TooFew("validation items of the study are needed", found=reason, where=question.validation)
    part = _part(frame, selected)
    draws = make_draws(part, settings.draws, settings.seed)
    candidates = [_cut(prediction, frame, part) for prediction in tables.predicted]
    choice = choose(part, _of(target, selected), candidates, draws, settings)
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
        there = {item: path for item, path in images.items() if has_picture(path)}
        return cls(guards, dict(zip(there, picture_keys(list(there.values())))), settings.allow_leak)

    def own(self) -> list[str]:
        """Items that a model was trained or chosen on, where this is the study it comes from; elsewhere are leaks."""
        items: list[str] = []
        for guard in () if self.allow_leak else self.guards.values():
            trained = {key.sha256 for key in guard.pictures} if guard else set()
            here = [item for item, key in self.keys.items() if key.sha256 in trained]
            items += here if len({self.keys[item].sha256 for item in here}) > _OWN * len(trained) else []
        return items

    def leaks(self, study: Study, frame: ScoreFrame) -> list[str]:
        """What to say of models that were trained on a picture of the frame: refused unless allowed."""
        keys = {item: self.keys[item] for item in frame.items if item in self.keys}
        warnings = []
        for model, guard in self.guards.items():
            if guard is None:
                warnings.append(
                    f"LEAK: whether {model.name} was trained on these pictures is not known, it has no guard"
                )
                continue
            leaks = find_leaks(guard, keys, {})
            if leaks and not self.allow_leak:
                raise DesignError(
                    "a scorer is evaluated on pictures it was not trained on", found=leaks.words,
                    where=f"model {str(model)!r}, study {study.name!r}",
                    remedy="take these items out of the study; --allow-leak goes on and says so",
                )  # fmt: skip
            if leaks:
                warnings.append(f"LEAK: {model.name} was trained on {leaks.words}")
        return warnings


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


def _cost(
    frame: ScoreFrame,
    target: Target,
    predicted: Sequence[Prediction],
    question: ScoreQuestion,
    models: Mapping[str, Path],
) -> list[CostRow]:
    """One pass an item for every scorer; beside it all pairs compared within each group, as one would without one."""
    there = np.isfinite(target.values).any(axis=1)
    n = int(there.sum())
    label_calls = sum(read_label_card(folder).calls_made for folder in question.labels) if question.labels else None
    rows = []
    for prediction in predicted:
        calls, note = (
            (0, "untrained") if prediction.group == "base" else _label_calls(models.get(prediction.name), label_calls)
        )
        rows.append(CostRow(name=prediction.name, label_calls=calls, passes=1, total=n, note=note))
    sizes = np.bincount(frame.group[there])
    pairs = int((sizes * (sizes - 1) // 2).sum())
    note_pairs = f"every two items of a {frame.within}" if frame.within != "all" else "every two items"
    return [
        *rows,
        CostRow(name="comparing all pairs", label_calls=0, passes=round(pairs / n, 1), total=pairs, note=note_pairs),
    ]


def _label_calls(model: Path | None, label_calls: int | None) -> tuple[int | None, str]:
    """Calls behind the labels of a scorer: by its own card, or those of --labels; None where nobody knows."""
    card = None if model is None else read_card(model)
    if isinstance(card, OnePassCard) and "calls_made" in card.labels:
        return card.labels["calls_made"], f"labels by {card.labels['source']}"
    if card is None and label_calls is not None:
        return label_calls, "label calls of --labels, where it was trained on them"
    return None, "what its labels cost is not known here"
