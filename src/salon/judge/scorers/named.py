"""A scorer from the words that name it on the command line.

    words, contrast, palette ...       a measurement, by rule
    effnet-lite2+minilm+ocr            pictures against prompts, by small networks inside packages
    minilm+ocr                         the text in the picture against the prompt
    clip:FOLDER ... hpsv3:FOLDER       a released scorer, from a folder with its weights or a hub name
    model:FOLDER@CRITERION             a model of your own, made by `salon train` or `salon distill train`
    onepass:FOLDER@CRITERION           a one-pass scorer, made by `salon distill train`, or an untrained VLM
    onepass:openai:MODEL@URL@CRITERION  an untrained VLM at an endpoint
    checklist:FILE@VLM                 a weighed checklist, asked of the VLM in a folder
    table:FILE                         scores made elsewhere: item, value, sigma
    NAME, python:MODULE:NAME           a plugin: a scorer or a reward function of another package, or of a module

Each kind is imported when it is named, so its libraries are only needed by those who use it.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from salon.errors import BadValue
from salon.judge.measurements.table import MEASUREMENTS
from salon.judge.score import ScoreSettings
from salon.judge.scorers.of_model import split_name
from salon.judge.untrained import RaterName, split_rater
from salon.models.kept import Kept
from salon.models.one_pass import is_one_pass
from salon.study import Scorer
from salon.study.plugins import plugin_lines

COMPOSITES: dict[str, tuple[str, str]] = {
    "effnet-lite2+minilm+ocr": ("composite", "things and words in the picture against the prompt"),
    "minilm+ocr": ("text_match", "words in the picture against the prompt"),
}
RELEASED: dict[str, tuple[str, str]] = {
    "clip": ("clip_score", "CLIP score; any CLIP"),
    "pickscore": ("pickscore", "PickScore"),
    "hpsv2": ("hpsv2", "HPSv2.1"),
    "hpsv2-published": ("hpsv2_published", "HPSv2.1 under the torchvision of its publication: no antialias"),
    "laion": ("laion_aesthetic", "LAION-Aesthetic-V2"),
    "imagereward": ("image_reward", "ImageReward"),
    "mps": ("mps", "MPS"),
    "hpsv3": ("hpsv3", "HPSv3, with its sigma"),
}
_OTHERS = (
    ("model:FOLDER@CRITERION", "a model trained by salon train; --model FOLDER takes all its criteria"),
    ("onepass:FOLDER@CRITERION", "a VLM trained by salon distill train; --model FOLDER takes all its criteria"),
    ("onepass:FOLDER", "an untrained VLM, asked for all criteria of the study at once"),
    ("onepass:openai:MODEL@URL", "the same at an endpoint"),
    ("checklist:FILE@VLM", "weighed yes-or-no questions"),
    ("table:FILE", "scores made elsewhere"),
    ("python:MODULE:NAME", "a scorer, or a reward function, of your own"),
)


def scorer_lines() -> list[tuple[str, str]]:
    """How each scorer is named, and what it is; for `--list`."""
    composites = [(name, told) for name, (_, told) in COMPOSITES.items()]
    released = [(f"{name}:FOLDER", told) for name, (_, told) in RELEASED.items()]
    rules = [(name, rule.tells.rstrip(".")) for name, rule in MEASUREMENTS.items()]
    plugins = [line for group in ("scorers", "rewards") for line in plugin_lines(group, builtin_scorers())]
    return [*rules, *composites, *released, *_OTHERS, *plugins]


def builtin_scorers() -> list[str]:
    """Words that no plugin may take."""
    others = [form.partition(":")[0] for form, _ in _OTHERS]
    return [*MEASUREMENTS, *COMPOSITES, *RELEASED, *others]


def scorer_named(text: str, settings: ScoreSettings | None = None, kept: Kept | None = None) -> Scorer:
    """The scorer that `text` names, under these settings; BadValue with the nearest name otherwise."""
    settings = settings or ScoreSettings()
    kind, _, place = text.partition(":")
    scorer: Scorer
    if text in MEASUREMENTS:
        scorer = _part("measured").measured(text, kept)
        return scorer
    if text in COMPOSITES:
        make = getattr(_part("composite"), COMPOSITES[text][0])
        scorer = make(kept, text=settings.text, batch=settings.batch)
        return scorer
    if kind in RELEASED and place:
        return _released(kind, place, settings)
    if (rater := split_rater(text)) is not None:
        return _untrained(rater, settings)
    if (model := split_name(text)) is not None:
        return _trained(kind, *model, settings)
    if kind == "table" and place:
        scorer = _part("table").TableScorer(Path(place))
        return scorer
    if kind == "checklist" and "@" in place:
        return _checklist(place, settings)
    plugin: Scorer | None = _part("plugged").plugged_scorer(text, builtin_scorers(), batch=settings.batch)
    if plugin is None:
        raise _unknown(text)
    return plugin


def _released(kind: str, place: str, settings: ScoreSettings) -> Scorer:
    options: dict[str, Any] = {"device": settings.device, "batch": settings.batch}
    if kind != "laion":  # it reads no prompt
        options["text"] = settings.text
    if kind == "hpsv3":
        options |= {"instruction": settings.instruction, "other_instruction": settings.other_instruction}
    scorer: Scorer = getattr(_part("released"), RELEASED[kind][0])(place, **options)
    return scorer


def _trained(kind: str, folder: Path, criterion: str | None, settings: ScoreSettings) -> Scorer:
    options: dict[str, Any] = {"device": settings.device, "batch": settings.batch}
    if kind == "onepass" or is_one_pass(folder):
        one_pass: Scorer = _part("one_pass").one_pass_scorer(folder, criterion, **options)
        return one_pass
    scorer: Scorer = _part("trained").trained_scorer(folder, criterion, **options)
    return scorer


def _untrained(rater: RaterName, settings: ScoreSettings) -> Scorer:
    if rater.is_endpoint and settings.engine != "here":
        raise BadValue(
            "--engine is for networks that run in Salon's own processes",
            found=f"{settings.engine} with an endpoint",
            remedy="an endpoint is asked many questions at once already: see --concurrency",
        )
    make: Callable[..., Scorer] = _part("untrained").untrained_scorer
    return make(rater, settings.rater, device=settings.device, batch=settings.batch)


def _checklist(place: str, settings: ScoreSettings) -> Scorer:
    file, _, vlm = place.partition("@")
    part = _part("checklist")
    questions = part.read_questions(Path(file))
    answering = importlib.import_module("salon.judge.local_vlm").LocalVlm(vlm, device=settings.device or "auto")
    scorer: Scorer = part.checklist_scorer(answering, questions, text=settings.text, batch=settings.batch)
    return scorer


def _part(name: str) -> Any:
    return importlib.import_module(f"salon.judge.scorers.{name}")


def _unknown(text: str) -> BadValue:
    known = [name for name, _ in scorer_lines()]
    near = difflib.get_close_matches(text, known, n=2, cutoff=0.4)
    return BadValue(
        "the name of a scorer is needed",
        found=repr(text),
        remedy=(f"did you mean {' or '.join(near)}? " if near else "") + "salon score --list names all",
    )
