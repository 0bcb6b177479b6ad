"""Models and scorers against the people of a study, on what the models were not trained on.

Composes `fuse` (votes and splits), `judge` (scorers) and `train` (models, leak guard, figures).

Which pairs, and what a leak is: `evaluate_pairs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from salon.errors import BadFile, BadValue, DesignError
from salon.flows.train.evaluate_pairs import (
    LoadedModel,
    Opened,
    Progress,
    checked,
    is_own,
    open_for,
    text_of,
    trial_for,
)
from salon.flows.train.heads import prepare_study
from salon.judge.score import ScoreSettings, kept_results
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.picture import Scored, Unscored
from salon.models.encoder import Encoder
from salon.models.kept import Kept
from salon.models.preference import PreferenceModel, read_card
from salon.models.preference_model import HeadsModel, load_model
from salon.report.words import numbered
from salon.study import Scorer
from salon.study.scorer import ScorerCard
from salon.train.evaluate import evaluate
from salon.train.evaluate_data import Contestant, Floats, Trial
from salon.train.evaluate_predict import matched, model_margins, score_margins, spoken
from salon.train.evaluate_results import EvaluateReport, LearningCurve
from salon.train.evaluate_settings import CurveSettings, EvaluateSettings
from salon.train.leaks import load_guard
from salon.train.learning_curve import learning_curve
from salon.train.loop import train_heads
from salon.train.settings import HeadSettings

_SCORED_AT_ONCE = 32


def evaluate_models(
    models: Sequence[Path],
    studies: Sequence[Path],
    settings: EvaluateSettings | None = None,
    *,
    scorers: Sequence[str] = (),
    criteria: Sequence[str] = (),
    curve: CurveSettings | None = None,
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
    named = [scorer_named(name, ScoreSettings(device=device)) for name in scorers]
    entered, notes, drawn = [], [], None
    for place in studies:
        opened = open_for(place, loaded, criteria, progress)
        trial, said = trial_for(opened, loaded, settings)
        notes += said
        contestants = [_model_contestant(one, opened, trial, settings, progress) for one in loaded]
        contestants += [_scorer_contestant(one, opened, trial, progress) for one in named]
        if curve is not None and not entered:
            drawn = _learning_curve(opened, loaded, trial, settings, curve, progress)
        names = numbered(one.name for one in contestants)
        entered.append((trial, [replace(one, name=name) for one, name in zip(contestants, names)]))
    return evaluate(entered, settings, learning_curve=drawn, notes=notes, progress=progress)


def _load(
    folders: Sequence[Path], settings: EvaluateSettings, device: str | None, progress: Progress
) -> list[LoadedModel]:
    """The models with their guards; those on one encoder share it."""
    made: list[LoadedModel] = []
    encoders: dict[str, Encoder] = {}
    for folder in folders:
        progress(f"loading {folder.name}")
        model = load_model(folder, device=device, encoder=encoders.get(read_card(folder).backbone))
        if isinstance(model, HeadsModel):
            encoders[model.card.backbone] = model.encoder
        try:
            guard = load_guard(folder, model.card.guard)
        except BadFile:
            if not settings.allow_leak:
                raise
            guard = None
        made.append(LoadedModel(model.card.name, folder, model, guard))
    return made


# -- contestants -------------------------------------------------------------------------------------------------------


def _model_contestant(
    one: LoadedModel, opened: Opened, trial: Trial, settings: EvaluateSettings, progress: Progress
) -> Contestant:
    leaks = checked(one, opened, trial, settings)
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
    known = matched(model.card, [id for id, _ in trial.criteria])

    def read(place: int) -> Sequence[str]:
        view = views[known[trial.criteria[place][0]]]
        if not view:
            return trial.text
        prompts = (opened.prompts.get(opened.prompt_of[item] or "") for item in trial.item_a)
        return [prompt.view(view) if prompt and text else text for prompt, text in zip(prompts, trial.text)]

    return read


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
    whole = {item.id: item for item in opened.study.nouns("items")}
    asked = []
    for id in trial.items:
        item = whole[id]
        if id in opened.paths:
            item = item.model_copy(update={"image": str(opened.paths[id])})
        asked.append((item, opened.prompts.get(item.prompt or "")))

    def tell(done: int, wanted: int) -> None:
        progress(f"{scorer.name}, {done:,} of {wanted:,} items")

    found, _ = kept_results(scorer, asked, _SCORED_AT_ONCE, Kept(), tell)
    values = {id: one.value for id, one in zip(trial.items, found) if isinstance(one, Scored)}
    return values, dict(Counter(one.reason for one in found if isinstance(one, Unscored)))


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
    given = HeadSettings.model_validate(card.settings)
    wanted = [criterion.id for criterion in card.criteria]
    prepared = prepare_study(opened.study, opened.folder, given, criteria=wanted, encoder=encoder)
    groups, splits = text_of(prepared.labels, "group").to_pylist(), text_of(prepared.labels, "split").to_pylist()
    training = [group for group, split in zip(groups, splits) if split == "train"]
    reader = _reader(one.model, opened, trial)

    def fit(prompts: frozenset[str], seed: int) -> Floats:
        part = replace(prepared, labels=_of(prepared.labels, prompts), votes=_of(prepared.votes, prompts))
        with_seed = given.model_copy(update={"seed": given.seed + seed})  # the first at full share is the model itself
        trained = train_heads(part.data(with_seed), with_seed)
        model = HeadsModel(card, trained.network.cpu(), encoder)
        return model_margins(model, trial, opened.paths, reader).margin

    return learning_curve(one.name, trial, Counter(training), fit, settings, curve, progress=progress)


def _of(table: pa.Table, prompts: frozenset[str]) -> pa.Table:
    """Training rows of these prompts, and all others."""
    kept = [
        split != "train" or group in prompts
        for group, split in zip(text_of(table, "group").to_pylist(), text_of(table, "split").to_pylist())
    ]
    return table.filter(pa.array(kept, pa.bool_()))
