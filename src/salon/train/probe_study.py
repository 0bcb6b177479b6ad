"""Probes of a scorer: the model, or any scorer that `salon score` names, over the items it was not trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from salon.errors import BadFile
from salon.evaluate.leaks import load_guard
from salon.judge.score import ScoreSettings
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.of_model import model_folder, scorers_behind
from salon.models.cards import model_card
from salon.store.near_pictures import content_hash
from salon.study import Study
from salon.train.probe_page import example
from salon.train.probe_results import ProbeReport, ProbeSettings
from salon.train.probes import probe_scorer


def probe_study(
    study: Study,
    folder: Path,
    place: str,
    settings: ProbeSettings,
    scoring: ScoreSettings,
    *,
    criteria: Sequence[str] = (),
    step: Callable[[str], None] | None = None,
) -> list[ProbeReport]:
    """One report for each scorer that `place` stands for."""
    leave_out = trained_on(study, folder, place)
    return [
        probe_scorer(study, folder, scorer_named(named, scoring), settings, leave_out=leave_out, step=step)
        for named in scorers_behind(place, criteria)
    ]


def trained_on(study: Study, folder: Path, place: str) -> frozenset[str]:
    """Items whose pictures the model behind `place` was trained on, by its leak guard; none for other scorers."""
    model = model_folder(place)
    guard = None if model is None else model_card(model).guard
    seen = {key.sha256 for key in load_guard(model, guard).pictures} if model and guard else set()
    return frozenset(item.id for item in study.nouns("items") if item.image and _hash(folder / item.image) in seen)


def shown_item(study: Study, folder: Path, leave_out: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """The first item with a picture, under every alteration; nothing where there is none."""
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    for item in study.nouns("items"):
        if item.image is not None and item.id not in leave_out:
            prompt = prompts.get(item.prompt or "")
            try:
                return example(folder / item.image, prompt.view() if prompt else "")
            except BadFile:
                continue
    return []


def _hash(path: Path) -> str:
    return content_hash(path) if path.is_file() else ""
