"""Models and scorers against the people of a study, on what the models were not trained on.

Which pairs are used, and what a leak is: `salon.evaluate`.

A learning curve shows what more data would bring: heads trained on growing parts of the training prompts, all on the
same test pairs. Prompts join in an order given by a hash, so a larger part holds every smaller one, and the same seed
gives the same parts on every machine. At each part heads are trained once for every seed. The accuracy of a part is the
mean over seeds, its interval resamples the test prompts, and the standard deviation over seeds stands beside it. A
curve that still rises at its end asks for more prompts; a flat one for better features or more raters.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from salon.check import CeilingFigures
from salon.errors import BadFile, BadValue, DesignError, TooFew
from salon.evaluate import (
    CurveSettings,
    EvaluateSettings,
    Evaluation,
    Floats,
    LearningCurve,
    LearningPoint,
    LoadedModel,
    OpenStudy,
    PairCeilings,
    PairContestant,
    Progress,
    RaterNames,
    StudyEntry,
    TestPairs,
    check_leaks,
    choose_raters,
    criterion_rows,
    evaluate,
    is_own,
    load_guard,
    match_criteria,
    model_margins,
    open_for_models,
    person_contestants,
    score_margins,
    test_pairs_for,
    text_of,
)
from salon.judge import (
    UNREAD_POLICY,
    UNTRAINED,
    MissingScore,
    PictureScore,
    RaterSettings,
    ScoreSettings,
    UntrainedScorer,
    cached_scores,
    expand_raters,
    is_untrained_vlm,
    make_scorer,
    split_rater,
)
from salon.models import (
    Encoder,
    HeadsModel,
    OnePassCard,
    PreferenceModel,
    ResultCache,
    is_one_pass,
    load_model,
    read_card,
    read_model_card,
)
from salon.report import number_repeats
from salon.stats import match_rate
from salon.study import Item, Prompt, Scorer, ScorerCard
from salon.train.head_loop import train_heads
from salon.train.settings import HeadSettings
from salon.train.train_heads import prepare_study

_SCORED_AT_ONCE = 32


def evaluate_models(
    models: Sequence[Path],
    studies: Sequence[Path],
    settings: EvaluateSettings | None = None,
    *,
    scorers: Sequence[str] = (),
    raters: RaterNames = (),
    criteria: Sequence[str] = (),
    curve: CurveSettings | None = None,
    device: str | None = None,
    rater: RaterSettings | None = None,
    progress: Progress = lambda step: None,
    on_forecast: Callable[[Sequence[str]], None] = lambda lines: None,
) -> Evaluation:
    """What models (folders) and scorers (names, as for `salon score`) are worth on one study folder or several.

    `curve` asks for a learning curve of the first model of heads, on the first study. A folder with a VLM and no card
    is asked as an untrained rater, as `rater` says. `raters` are people of the first study, each held against the
    others. `on_forecast` gets what VLMs at endpoints will be asked.
    """
    settings = settings or EvaluateSettings()
    if not models and not scorers and not raters:
        remedy = "salon evaluate MODEL STUDY, --scorer NAME or --rater ID"
        raise BadValue("a model, a scorer or a rater to evaluate is needed", found="none", remedy=remedy)
    words = [*(f"onepass:{place}" for place in models if is_untrained_vlm(place)), *scorers]
    loaded = _load([place for place in models if not is_untrained_vlm(place)], settings, device, progress)
    scoring = ScoreSettings(device=device, rater=rater or RaterSettings())
    scorers_by_name = {word: make_scorer(word, scoring) for word in words if split_rater(word) is None}
    places = [open_for_models(place, loaded, criteria, progress) for place in studies]
    trials = [test_pairs_for(opened, loaded, settings) for opened in places]
    untrained = [_untrained(words, opened, trial, scoring, criteria) for opened, (trial, _) in zip(places, trials)]
    people, people_notes = choose_raters(places[0].study, raters)
    on_forecast(
        [line for entry, opened, (trial, _) in zip(untrained, places, trials) for line in _costs(entry, opened, trial)]
    )
    entered: list[StudyEntry] = []
    notes: list[str] = []
    curve_result = None
    for opened, (trial, trial_notes), study_raters in zip(places, trials, untrained):
        notes += trial_notes
        contestants = [_model_contestant(entry, opened, trial, settings, scoring, progress) for entry in loaded]
        for word in words:
            own = study_raters[word] if word in study_raters else (scorers_by_name[word],)
            contestants.append(_scorer_contestant(own, opened, trial, progress))
        if not entered:
            contestants += person_contestants(opened.study, trial, people)
            notes += people_notes
        if curve is not None and not entered:
            curve_result = _learning_curve(opened, loaded, trial, settings, curve, progress)
        names = number_repeats(entry.name for entry in contestants)
        entered.append((trial, [replace(entry, name=name) for entry, name in zip(contestants, names)]))
    notes += [UNREAD_POLICY] if any(untrained) else []
    return evaluate(entered, settings, learning_curve=curve_result, notes=notes, progress=progress)


def _load(
    folders: Sequence[Path], settings: EvaluateSettings, device: str | None, progress: Progress
) -> list[LoadedModel]:
    """The models with their guards; those on one encoder share it."""
    models: list[LoadedModel] = []
    encoders: dict[str, Encoder] = {}
    for folder in folders:
        progress(f"loading {folder.name}")
        model = None
        if not is_one_pass(folder):
            model = load_model(folder, device=device, encoder=encoders.get(read_model_card(folder).backbone))
        if isinstance(model, HeadsModel):
            encoders[model.card.backbone] = model.encoder
        card = read_card(folder)
        try:
            guard = load_guard(folder, card.guard)
        except BadFile:
            if not settings.allow_leak:
                raise
            guard = None
        models.append(LoadedModel(card.name, folder, card, model, guard))
    return models


# -- contestants -------------------------------------------------------------------------------------------------------


def _model_contestant(
    loaded: LoadedModel, opened: OpenStudy, trial: TestPairs, settings: EvaluateSettings, scoring: ScoreSettings,
    progress: Progress,
) -> PairContestant:  # fmt: skip
    leaks = check_leaks(loaded, opened, trial, settings)
    progress(f"{loaded.name} on {trial.study}")
    card = loaded.card
    if loaded.model is None or isinstance(card, OnePassCard):
        criteria = match_criteria(card, [id for id, _ in trial.criteria])
        scorers = {id: make_scorer(f"onepass:{loaded.folder}@{own}", scoring) for id, own in criteria.items()}
        contestant = _scorer_contestant(tuple(scorers.values()), opened, trial, progress, about=tuple(scorers))
        return replace(
            contestant,
            name=loaded.name,
            kind="one-pass",
            settings=card.settings,
            leaks=leaks,
            guarded=loaded.guard is not None,
        )
    margins = model_margins(loaded.model, trial, opened.paths, _reader(loaded.model, opened, trial))
    return PairContestant(
        name=loaded.name,
        kind=card.kind,
        margin=margins.margin,
        speaks=margins.speaks,
        is_logit=True,
        turned=margins.turned,
        form=card.form,
        signature=str(card.signature),
        settings=card.settings,
        leaks=leaks,
        guarded=loaded.guard is not None,
    )


def _reader(model: PreferenceModel, opened: OpenStudy, trial: TestPairs) -> Callable[[int], Sequence[str]]:
    """The texts that the model reads under each criterion: whole prompts, or the parts that its card names."""
    views = {criterion.id: criterion.view for criterion in model.card.criteria}
    model_criteria = match_criteria(model.card, [id for id, _ in trial.criteria])

    def read(place: int) -> Sequence[str]:
        view = views[model_criteria[trial.criteria[place][0]]]
        if not view:
            return list(trial.text)
        prompts = (opened.prompts.get(opened.prompt_of[item] or "") for item in trial.item_a)
        return [prompt.view(view) if prompt and text else text for prompt, text in zip(prompts, trial.text)]

    return read


def _scorer_contestant(
    scorers: Sequence[Scorer],
    opened: OpenStudy,
    trial: TestPairs,
    progress: Progress,
    *,
    about: Sequence[str | None] = (),
) -> PairContestant:
    """What scorers of one maker say, each about its criterion; `about` names the criteria where cards do not."""
    cards: list[ScorerCard] = [getattr(scorer, "card", ScorerCard()) for scorer in scorers]
    margin, speaks = np.full(len(trial), np.nan), np.zeros(len(trial), bool)
    unscored: dict[str, int] = {}
    for scorer, card, criterion in zip(scorers, cards, about or [card.criterion for card in cards]):
        values, gaps = _values(scorer, opened, trial, progress)
        rows = criterion_rows(trial, criterion)
        margin[rows] = score_margins(trial, values, higher_is_better=card.higher_is_better)[rows]
        speaks |= rows
        unscored = unscored or gaps  # all criteria of a VLM come from the same answers
    first = scorers[0]
    untrained = str(first.signature).startswith(UNTRAINED)
    return PairContestant(
        name=getattr(first, "title", first.name),
        kind="untrained" if untrained else "scorer",
        margin=margin,
        speaks=speaks,
        is_logit=cards[0].is_logit,
        signature=str(first.signature),
        unscored=unscored,
    )


def _untrained(
    words: Sequence[str], opened: OpenStudy, trial: TestPairs, scoring: ScoreSettings, criteria: Sequence[str]
) -> dict[str, tuple[Scorer, ...]]:
    """Untrained VLMs by name, one scorer for each criterion of the trial; they are asked about all at once."""
    rater = scoring.rater.on(opened.study, opened.folder, criteria)
    settings = scoring.model_copy(update={"rater": rater})
    ids = [id for id, _ in trial.criteria]
    raters = [word for word in words if split_rater(word) is not None]
    return {word: tuple(make_scorer(name, settings) for name in expand_raters([word], ids)) for word in raters}


def _costs(raters: Mapping[str, Sequence[Scorer]], opened: OpenStudy, trial: TestPairs) -> list[str]:
    """What endpoints will be asked, a line each."""
    items = _items_with_prompts(opened, trial)
    lines = [own[0].forecast_words(items) for own in raters.values() if isinstance(own[0], UntrainedScorer)]
    return [line for line in lines if line]


def _values(
    scorer: Scorer, opened: OpenStudy, trial: TestPairs, progress: Progress
) -> tuple[dict[str, float], dict[str, int]]:
    """The numbers of the trial's items, and how many have none and why; results are kept as `salon score` does."""
    items = _items_with_prompts(opened, trial)

    def tell(completed: int, total: int) -> None:
        progress(f"{scorer.name}, {completed:,} of {total:,} items")

    results, _ = cached_scores(scorer, items, _SCORED_AT_ONCE, ResultCache(), tell)
    values = {id: result.value for id, result in zip(trial.items, results) if isinstance(result, PictureScore)}
    return values, dict(Counter(result.reason for result in results if isinstance(result, MissingScore)))


def _items_with_prompts(opened: OpenStudy, trial: TestPairs) -> list[tuple[Item, Prompt | None]]:
    """The items of a trial with the whole path of their picture, each with its prompt."""
    whole = {item.id: item for item in opened.study.nouns("items")}
    pairs = []
    for id in trial.items:
        item = whole[id]
        if id in opened.paths:
            item = item.model_copy(update={"image": str(opened.paths[id])})
        pairs.append((item, opened.prompts.get(item.prompt or "")))
    return pairs


# -- the learning curve ------------------------------------------------------------------------------------------------


def _learning_curve(
    opened: OpenStudy,
    models: Sequence[LoadedModel],
    trial: TestPairs,
    settings: EvaluateSettings,
    curve: CurveSettings,
    progress: Progress,
) -> LearningCurve:
    """Heads with the settings of the first model of heads that was trained on the study, on parts of its prompts."""
    own = next((loaded for loaded in models if isinstance(loaded.model, HeadsModel) and is_own(loaded, opened)), None)
    if own is None or not isinstance(own.model, HeadsModel):
        raise DesignError(
            "a learning curve needs heads that were trained on this study",
            found=", ".join(f"{loaded.name} ({getattr(loaded.card, 'kind', 'one-pass')})" for loaded in models)
            or "no model",
            where=f"study {trial.study!r}",
        )
    card, encoder = own.model.card, own.model.encoder
    head_settings = HeadSettings.model_validate(card.settings)
    criteria = [criterion.id for criterion in card.criteria]
    prepared = prepare_study(opened.study, opened.folder, head_settings, criteria=criteria, encoder=encoder)
    groups, splits = text_of(prepared.labels, "group").to_pylist(), text_of(prepared.labels, "split").to_pylist()
    training = [group for group, split in zip(groups, splits) if split == "train"]
    reader = _reader(own.model, opened, trial)

    def fit(prompts: frozenset[str], seed: int) -> Floats:
        part = replace(
            prepared, labels=_training_rows(prepared.labels, prompts), votes=_training_rows(prepared.votes, prompts)
        )
        # The first seed at full share gives the model itself.
        with_seed = head_settings.model_copy(update={"seed": head_settings.seed + seed})
        trained = train_heads(part.data(with_seed), with_seed)
        fitted = HeadsModel(card, trained.network.cpu(), encoder)
        return model_margins(fitted, trial, opened.paths, reader).margin

    return learning_curve(own.name, trial, Counter(training), fit, settings, curve, progress=progress)


def _training_rows(table: pa.Table, prompts: frozenset[str]) -> pa.Table:
    """Training rows of these prompts, and all others."""
    mask = [
        split != "train" or group in prompts
        for group, split in zip(text_of(table, "group").to_pylist(), text_of(table, "split").to_pylist())
    ]
    return table.filter(pa.array(mask, pa.bool_()))


# -- the curve ---------------------------------------------------------------------------------------------------------

Fit = Callable[[frozenset[str], int], Floats]
"""Log-odds of the trial's pairs by heads trained on these prompts with this seed; TooFew where they do not suffice."""


def learning_curve(
    model: str,
    trial: TestPairs,
    prompts: dict[str, int],
    fit: Fit,
    settings: EvaluateSettings,
    curve: CurveSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda step: None,
) -> LearningCurve:
    """The curve of one model; `prompts` are the training prompts, each with the number of its pairs."""
    curve = curve or CurveSettings()
    points: list[LearningPoint] = []
    spoken = np.zeros(len(trial), bool)
    for share in sorted(set(curve.curve_shares)):
        selected = nested_prompts(list(prompts), share, settings.seed)
        progress(f"learning curve, {len(selected):,} prompts")
        try:
            margins = [fit(selected, seed) for seed in range(curve.curve_seeds)]
        except TooFew:
            continue
        contestants = [
            PairContestant(f"seed {seed}", "heads", margin, ~np.isnan(margin)) for seed, margin in enumerate(margins)
        ]
        pairs = sum(prompts[name] for name in selected)
        points.append(_point(share, len(selected), pairs, contestants, trial, settings))
        spoken = contestants[0].speaks
    if not points:
        raise TooFew(
            "a learning curve needs a part of the prompts that heads can be trained on",
            found=f"{len(prompts):,} training prompts",
            remedy="larger --curve-shares, or more prompts",
        )
    top = PairCeilings(trial, settings, required=settings.ceiling)(np.unique(trial.criterion[spoken]).tolist())
    return LearningCurve(model=model, points=tuple(points), ceiling=CeilingFigures.of(top))


def nested_prompts(prompts: Sequence[str], share: float, seed: int) -> frozenset[str]:
    """The first of the prompts in an order drawn by hash; at least one."""
    if not 0 < share <= 1:
        raise BadValue("a share of the prompts above 0 and up to 1 is needed", found=share, remedy="--curve-shares 0.5")

    def place(name: str) -> bytes:
        return hashlib.sha256(f"curve\0{seed}\0{name}".encode("utf-8", "surrogatepass")).digest()

    return frozenset(sorted(prompts, key=place)[: max(1, round(share * len(prompts)))])


def _point(
    share: float,
    prompts: int,
    pairs: int,
    contestants: Sequence[PairContestant],
    trial: TestPairs,
    settings: EvaluateSettings,
) -> LearningPoint:
    answers = [contestant.on(trial) for contestant in contestants]
    rows = answers[0].rows
    points = np.stack([answer.scores[rows] for answer in answers])
    rng = settings.rng("curve", f"{share:g}")
    accuracy = match_rate(points.mean(axis=0), trial.group[rows], draws=settings.draws, rng=rng, level=settings.level)
    each = points.mean(axis=1)
    return LearningPoint(
        share=share,
        prompts=prompts,
        pairs=pairs,
        accuracy=accuracy,
        sd=float(each.std(ddof=1)) if len(each) > 1 else None,
        seeds=len(each),
    )
