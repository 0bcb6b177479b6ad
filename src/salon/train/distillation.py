"""From a study and a folder of labels to a one-pass scorer: question, split, leak guard, training, card, folder.

Several processes may run it at once, as torchrun or accelerate start them: all train, the first one writes.

    report = distill_study(study_folder, labels_folder, "weights/Qwen3-VL-8B-Instruct", out)

    OUT/                  the VLM, one_pass.json (the card), README.md, guard.parquet
    OUT/run/log.jsonl     what every step gave; beside it TensorBoard's files, split.parquet and, while it runs,
                          checkpoints
"""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from salon.errors import BadFile, BadValue, DesignError, UnknownReference
from salon.evaluate import (
    LeakGuard,
    PseudoPairs,
    PseudoScores,
    find_leaks,
    picture_keys,
    read_pseudo_scores,
    save_guard,
    without_look_alikes,
)
from salon.fuse import item_prompts, split_items
from salon.judge import OnePass
from salon.models import ONE_PASS_CARD, ROLE, ModelCriterion, OnePassCard, fingerprint, write_one_pass_card
from salon.store import PictureKey, escape_md, local_path, open_study, whole_file, whole_folder
from salon.study import SPLITS, Noun, Scale, Signature, Study
from salon.train.distill_loop import TrainedScorer, train_one_pass
from salon.train.distill_settings import DISTILL_FREE, DistillSettings
from salon.train.distill_validation import (
    LEAST_ITEMS,
    LOOK_COLUMNS,
    OnePassData,
    QuestionForm,
    TrainingVerdict,
    ValidationLook,
    look_cells,
    shown_looks,
)
from salon.train.memory_plan import check_training
from salon.train.run_folder import flush, hold_run
from salon.train.training_setup import TorchProcesses, processes

RUN = "run"
_UNFINISHED = ("checkpoints", "best", "format", "format-checkpoints", "format-adapters", ".best.part", ".format.part",
               ".format-adapters.part")  # fmt: skip
Progress = Callable[[int, int, float], None]


class DistillReport(Noun):
    """What a training gave."""

    model: str = Field(description="The scorer's folder.")
    study: str = Field(description="Name of the study.")
    labels: str = Field(description="Source of the labels.")
    simulated: bool = Field(description="True when no model gave the labels.")
    backbone: str = Field(description="What was trained.")
    learn: str = Field(description="full or lora.")
    criteria: tuple[str, ...] = Field(description="What it scores.")
    counts: dict[str, int] = Field(description="Items by split, and those left out.")
    answers: dict[str, int] = Field(description="Answers sampled, unread, out of range, without a partner.")
    verdict: TrainingVerdict = Field(description="Whether the policy learned.")
    written: bool = Field(description="False where the kept state is broken: no scorer was written.")
    before: ValidationLook | None = Field(description="Validation of the model as it began.")
    validation: ValidationLook | None = Field(description="Validation of the state that was kept.")
    looks: tuple[ValidationLook, ...] = Field(description="Every look at the validation items, in the order of steps.")
    best_step: int = Field(description="The step whose weights were kept.")
    steps: int = Field(description="Steps in all.")
    seconds: float = Field(description="Time spent on training, interrupted runs together.")
    notes: tuple[str, ...] = Field(description="Policies and what they left out.")
    signature: Signature = Field(description="What reproduces the scorer.")


def distill_study(
    source: Path,
    labels: Path | PseudoScores,
    model: str,
    out: Path,
    settings: DistillSettings | None = None,
    *,
    criteria: Sequence[str] = (),
    apart: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    memory: int | None = None,
    keep_anyway: bool = False,
    progress: Progress = lambda step, steps, reward: None,
    format_progress: Progress = lambda step, steps, loss: None,
) -> DistillReport | None:
    """Train the VLM `model` to score the items of the study in `source` as `labels` do, and write it to `out`.

    `apart` is a study that will be tested on: training is refused where a picture of it is among these. A policy that
    collapsed or is no better than chance is not written, unless `keep_anyway`; its run stays, and `resume` with
    `keep_anyway` writes it later. None in all processes but the first.
    """
    settings = settings or DistillSettings()
    check_training(model, settings, memory=memory)
    processes()  # joins the others
    here = TorchProcesses()
    here.decide(lambda: _check_target(out, resume=resume, overwrite=overwrite))
    study, folder, labels_used = here.together(lambda: _open_inputs(source, labels, criteria))
    form = one_pass_form(study, labels_used, think=settings.think, role=settings.role)
    sides, keys, notes = here.decide(lambda: study_sides(study, folder, labels_used, settings))
    if apart is not None:
        here.decide(lambda: _refuse_leaks(keys, apart))
    images = {item: folder / image for item, image in _images(study).items() if image}
    prompts = {item.id: item.prompt for item in study.nouns("items") if item.prompt is not None}
    asking = question_form(study, form, settings)
    data = OnePassData(
        labels_used, images, asking, sides["train"], sides["validation"], pixels=settings.pixels, prompts=prompts
    )
    made_of = here.decide(lambda: f"{Path(model).name} {fingerprint(model) or 'by its hub name'}")
    made_by = {"data": study.hash, "backbone": made_of, "labels": _identity(labels_used), "question": form.hash}
    data.order(settings.images, 1, settings.seed)  # refused now where a step is larger than what there is
    with ExitStack() as held_run:
        here.decide(lambda: _claim(held_run, out / RUN, sides, overwrite=overwrite))
        trained = train_one_pass(
            model, data, settings, out / RUN, name=out.name, made_by=made_by, progress=progress,
            format_progress=format_progress,
        )  # fmt: skip
        counts = {f"{side} items": len(items) for side, items in sides.items()}
        counts["items left out"] = len(_images(study)) - sum(counts.values())
        split = {"train": settings.train, "validation": settings.validation, "test": settings.test,
                 "seed": settings.split_seed, "by": "prompt"}  # fmt: skip
        scorer_criteria = tuple(ModelCriterion(id=criterion.id, name=criterion.title) for criterion in form.criteria)
        taught = ScorerSource(
            study.name, study.hash, study.revision, split, counts, scorer_criteria, form.record(), form.hash
        )
        texts = [study_text(study)(item) for side in ("train", "validation") for item in sides[side]]
        guard = LeakGuard.of([keys[item] for side in ("train", "validation") for item in sides[side]],
                         [text for text in texts if text] if settings.show_prompt else [])  # fmt: skip
        make_card = partial(
            one_pass_card, out.name, trained, settings, labels_used, taught, backbone=made_of,
            backbone_name=Path(model).name if Path(model).is_dir() else model,  # no path of this machine
        )  # fmt: skip
        notes = [*_few_notes(trained, sides), *trained.curve.notes(trained.best_step), *notes]
        is_written = here.decide(lambda: keep_anyway or not trained.verdict.is_broken)
        card = here.decide(lambda: _write_scorer(out, trained, make_card, guard) if is_written else make_card(guard={}))
        return _report(out, card, labels_used, notes, is_written=is_written) if trained.is_main else None


def _open_inputs(
    source: Path, labels: Path | PseudoScores, criteria: Sequence[str]
) -> tuple[Study, Path, PseudoScores]:
    study, folder = open_study(source), local_path(source).resolve()
    scores = read_pseudo_scores(labels) if isinstance(labels, Path) else labels
    return study, folder, select_labels(study, scores, criteria)


def _claim(held_run: ExitStack, run: Path, sides: dict[str, tuple[str, ...]], *, overwrite: bool) -> None:
    """Let no other command train in `run` before `held_run` ends; empty it where nothing in it can be resumed."""
    held_run.enter_context(hold_run(run, anew=overwrite or not _unfinished(run)))
    rows = [(item, side) for side, items in sides.items() for item in items]
    table = pa.table({"item": [item for item, _ in rows], "split": [side for _, side in rows]})
    with whole_file(run / "split.parquet") as target:
        pq.write_table(table, target, compression="zstd")


# -- how items are asked about ---------------------------------------------------------------------------------------


def one_pass_form(study: Study, labels: PseudoScores, *, think: bool = True, role: str = ROLE) -> OnePass:
    """The question for the criteria of `labels`, on the scale of the labels."""
    criteria = tuple(
        study.criterion(id).model_copy(update={"scale": Scale(low=labels.low, high=labels.high)})
        for id in labels.criteria
    )
    return OnePass(criteria=criteria, think=think, role=role)


def question_form(study: Study, form: OnePass, settings: DistillSettings) -> QuestionForm:
    """How training asks about the items of a study."""
    text = study_text(study)

    def random_answer(rng: np.random.Generator) -> str:
        ends = [
            (criterion.scale.low, criterion.scale.high) for criterion in form.criteria if criterion.scale is not None
        ]
        return form.answer([float(rng.uniform(*end)) for end in ends])

    prompt_of = text if settings.show_prompt else lambda item: None
    return QuestionForm(lambda item: form.question(prompt_of(item)), form.read, random_answer, think=settings.think)


def study_text(study: Study) -> Callable[[str], str | None]:
    """From an item to the whole text of its prompt; None without a prompt."""
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    of = {item.id: item.prompt for item in study.nouns("items")}

    def text(item: str) -> str | None:
        prompt = of[item]
        return None if prompt is None else prompts[prompt].view(())

    return text


# -- before ----------------------------------------------------------------------------------------------------------


def _check_target(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder with content that --resume or --overwrite does not allow; nothing is touched.

    A scorer that is to be replaced stays until the new one is whole.
    """
    is_used = out.exists() and (not out.is_dir() or any(out.iterdir()))
    is_finished, is_unfinished = (out / ONE_PASS_CARD).is_file(), _unfinished(out / RUN)
    if is_used and not is_finished and not (out / RUN).is_dir():
        raise BadFile("a new folder is needed for the scorer", found="something else", where=str(out))
    if is_unfinished and not (resume or overwrite):
        raise BadFile(
            "a new folder is needed for the scorer",
            found="a run that was not finished",
            where=str(out),
            remedy="--resume goes on with it, --overwrite begins anew",
        )
    if is_finished and not is_unfinished and not overwrite:
        raise BadFile(
            "a new folder is needed for the scorer", found="another scorer", where=str(out), remedy="--overwrite"
        )


def _unfinished(run: Path) -> bool:
    """Whether there is something to resume: a run that was refused before its first step left nothing."""
    return any((run / name).exists() for name in _UNFINISHED)


def select_labels(study: Study, labels: PseudoScores, criteria: Sequence[str]) -> PseudoScores:
    """The labels under `criteria` (all where none are named); refused where they are about other items."""
    items = set(study.ids("items").to_pylist())
    foreign = [item for item in labels.items if item not in items]
    if foreign:
        raise UnknownReference(
            "labels of the items of this study are needed",
            found=f"{len(foreign):,} of {len(labels.items):,} about others, {foreign[0]!r} first",
            where=f"study {study.name!r}",
            remedy="give the study that was labelled, or label this one: salon distill label",
        )
    unknown = [id for id in criteria if id not in labels.criteria]
    if unknown:
        raise UnknownReference(
            "a criterion with labels is needed", found=repr(unknown[0]), remedy="one of " + ", ".join(labels.criteria)
        )
    if not criteria or tuple(criteria) == labels.criteria:
        return labels
    places = [labels.criteria.index(id) for id in criteria]
    pairs = labels.pairs
    if pairs is not None:
        stays = np.isin(pairs.criterion, places)
        number = np.array([places.index(old) for old in pairs.criterion[stays].tolist()], np.int64)
        pairs = PseudoPairs(pairs.a[stays], pairs.b[stays], number, pairs.p[stays], pairs.votes[stays])
    return replace(
        labels, criteria=tuple(criteria), values=labels.values[:, places], sd=labels.sd[:, places],
        n=labels.n[:, places], pairs=pairs,
    )  # fmt: skip


def _images(study: Study) -> dict[str, str | None]:
    return {item.id: item.image for item in study.nouns("items")}


def study_sides(
    study: Study, folder: Path, labels: PseudoScores, settings: DistillSettings
) -> tuple[dict[str, tuple[str, ...]], dict[str, PictureKey], list[str]]:
    """The labelled items on each side of the split by prompt, the keys of their pictures, and what was left out."""
    there = np.asarray(np.isfinite(labels.values).any(1))
    if labels.pairs is not None:
        there[np.concatenate([labels.pairs.a, labels.pairs.b])] = True
    items = [item for item, has_label in zip(labels.items, there) if has_label]
    images = _images(study)
    gone = [item for item in items if not images[item] or not (folder / str(images[item])).is_file()]
    if gone:
        raise BadFile(
            "every item with a label needs its picture",
            found=f"{len(gone):,} without, {gone[0]!r} first",
            where=str(folder),
            remedy="put the pictures back where study.toml says, or label again without these items",
        )
    shares = (settings.train, settings.validation, settings.test)
    if abs(sum(shares) - 1) > 1e-9:
        raise BadValue("--train, --validation and --test add up to 1", found=f"{sum(shares):g}")
    split = split_items(study, item_prompts(study), study.ids("prompts"), shares, seed=settings.split_seed)
    side = dict(zip(study.ids("items").to_pylist(), np.array(SPLITS)[split.of_item].tolist()))
    keys = dict(zip(items, picture_keys([folder / str(images[item]) for item in items])))
    table = pa.table({"item": items, "split": [side[item] for item in items]})
    (apart,), _ = without_look_alikes([table], ["item"], keys, SPLITS)
    notes = [f"items of the study without a label, left out: {len(images) - len(items):,}"]
    lost = table.num_rows - apart.num_rows
    notes += [f"items that look like one on a later side of the split, left out: {lost:,}"] if lost else []
    rows = list(zip(apart.column("item").to_pylist(), apart.column("split").to_pylist()))
    sides = {name: tuple(item for item, of in rows if of == name) for name in SPLITS}
    return sides, keys, notes if len(images) > len(items) else notes[1:]


def _refuse_leaks(keys: dict[str, PictureKey], apart: Path) -> None:
    """No picture of the study to be tested on may be among those trained on: neither its bytes nor its look."""
    study, folder = open_study(apart), local_path(apart).resolve()
    images = {item: folder / image for item, image in _images(study).items() if image and (folder / image).is_file()}
    leaks = find_leaks(LeakGuard.of(keys.values(), []), dict(zip(images, picture_keys(list(images.values())))), {})
    if leaks:
        raise DesignError(
            "nothing that is tested on may be trained on",
            found=leaks.words,
            where=str(apart),
            remedy="take these items out of the study to train on",
        )


def _identity(labels: PseudoScores) -> str:
    """What changes when the labels do, also where only more of the same questions were answered."""
    digest = hashlib.sha256(repr((labels.items, labels.criteria)).encode())
    pairs = () if labels.pairs is None else (labels.pairs.a, labels.pairs.b, labels.pairs.criterion, labels.pairs.p)
    for part in (labels.values, labels.sd, *pairs):
        digest.update(np.ascontiguousarray(part).tobytes())
    return f"{labels.source}, {len(labels.items)} items, {digest.hexdigest()[:12]}"


# -- after -----------------------------------------------------------------------------------------------------------


def _few_notes(trained: TrainedScorer, sides: dict[str, tuple[str, ...]]) -> list[str]:
    """Where validation is too small to choose by: what was done, and what helps."""
    reason = trained.curve.too_few
    if reason is None:
        return []
    total = sum(map(len, sides.values()))
    share = math.ceil(100 * LEAST_ITEMS / total) / 100 if total else 1.0
    helps = "label more items" if share > 0.5 else f"--validation {share:g} or more would hold about {LEAST_ITEMS}"
    return [f"no state was chosen, the last one is kept: {reason}; {helps}"]


def _write_scorer(
    out: Path, trained: TrainedScorer, make_card: Callable[..., OnePassCard], guard: LeakGuard
) -> OnePassCard:
    """Write the scorer, whole or not at all; what only an unfinished run needs goes after that."""
    with whole_folder(out) as folder:
        trained.save(folder)
        card = make_card(guard=save_guard(guard, folder))
        write_one_pass_card(folder, card, one_pass_words(card))
        shutil.copytree(out / RUN, folder / RUN, ignore=shutil.ignore_patterns(*_UNFINISHED))
        flush(folder)
    trained.forget()
    return card


def _report(
    out: Path, card: OnePassCard, labels: PseudoScores, notes: Sequence[str], *, is_written: bool
) -> DistillReport:
    figures = card.figures
    return DistillReport(
        model=str(out), study=card.study, labels=labels.source, simulated=card.simulated, backbone=card.backbone_name,
        learn=card.settings["learn"], criteria=tuple(criterion.id for criterion in card.criteria),
        counts=card.trained_on, answers=figures["answers"], verdict=figures["verdict"], written=is_written,
        before=figures["before"],
        validation=figures["validation"], looks=figures["looks"], best_step=figures["best_step"],
        steps=figures["steps"], seconds=figures["seconds"], notes=tuple(notes), signature=card.signature,
    )  # fmt: skip


# -- the card ----------------------------------------------------------------------------------------------------------

_LABELS = ("source", "judge", "judge_signature", "calls_made", "simulated", "signature")


@dataclass(frozen=True)
class ScorerSource:
    """What a scorer was trained on."""

    study: str
    data: str
    """Content hash of the study."""
    revision: int | None
    split: dict[str, Any]
    items: dict[str, int]
    """Items by split, and those left out."""
    criteria: tuple[ModelCriterion, ...]
    question: dict[str, Any]
    """The record of the question's form."""
    question_hash: str


def one_pass_card(
    name: str,
    trained: TrainedScorer,
    settings: DistillSettings,
    labels: PseudoScores,
    taught: ScorerSource,
    *,
    backbone: str,
    backbone_name: str,
    guard: dict[str, str],
) -> OnePassCard:
    """All there is to know about a one-pass scorer."""
    card = labels.card
    source = labels.source if card is None else card.signature or labels.source
    about: dict[str, Any] = {"source": labels.source, "low": labels.low, "high": labels.high}
    if card is not None:
        about |= {"category": card.settings["category"]} if card.settings.get("category") else {}
        about |= {name: getattr(card, name) for name in _LABELS}
    signature = Signature(
        method="one-pass", data=taught.data[:12], revision=taught.revision,
        settings=settings.model_dump(exclude={"seed"} | DISTILL_FREE)
        | {"backbone": backbone, "labels": source, "question": taught.question_hash}, seed=settings.seed,
    )  # fmt: skip
    return OnePassCard(
        name=name,
        criteria=taught.criteria,
        asked=taught.question,
        show_prompt=settings.show_prompt,
        pixels=settings.pixels,
        max_tokens=settings.max_tokens,
        backbone=backbone,
        backbone_name=backbone_name,
        labels=about,
        settings=settings.model_dump(mode="json"),
        study=taught.study,
        data=taught.data,
        revision=taught.revision,
        simulated=card is not None and card.simulated,
        split=taught.split,
        guard=guard,
        trained_on=taught.items,
        format_steps=settings.format_steps,
        figures={
            "verdict": trained.verdict.model_dump(mode="json"),
            "before": _look_record(trained.curve.at(0)),
            "validation": _look_record(trained.curve.at(trained.best_step)),
            "looks": [look.model_dump(mode="json") for look in trained.curve.looks],
            "steps": trained.steps,
            "best_step": trained.best_step,
            "seconds": round(trained.seconds, 1),
            "processes": trained.processes,
            "precision": trained.precision,
            "answers": trained.counts,
        },
        signature=signature,
    )


def one_pass_words(card: OnePassCard) -> str:
    """The card for people, as Markdown."""
    counts, verdict, best_step = card.figures["answers"], card.figures["verdict"], card.figures["best_step"]
    looks = [ValidationLook.model_validate(look) for look in card.figures["looks"]]
    rows = [look_cells(look, best_step) for look in shown_looks(looks, best_step)]
    stage = f"{card.format_steps:,} supervised steps on the form of an answer alone"
    lines = [
        f"# {escape_md(card.name)}",
        "",
        "A one-pass scorer by Salon: a vision-language model that gives one picture a number for each criterion in one "
        "greedy answer, trained by GRPO to keep the order of pseudo-scores.",
        *(["", "**Simulated: no model gave the labels it learned from.**"] if card.simulated else []),
        "",
        verdict["words"] if verdict["outcome"] == "learned" else f"**{verdict['words']}**",
        "",
        f"- criteria: {', '.join(escape_md(criterion.id) for criterion in card.criteria)}",
        f"- from: {card.backbone_name} ({card.backbone}); trained: {card.settings['learn']}",
        f"- labels: {card.labels['source']} by {escape_md(card.labels.get('judge') or 'unknown')}; "
        "no person labelled anything",
        f"- data: {escape_md(card.study)}, {card.data[:12]}; "
        + ", ".join(f"{count:,} {what}" for what, count in card.trained_on.items()),
        f"- step {card.figures['best_step']} of {card.figures['steps']} kept, {card.figures['processes']} processes, "
        f"{card.figures['precision']}",
        f"- answers sampled: {counts['answers']:,}; not read {counts['unread']:,}, off the scale "
        f"{counts['out_of_range']:,}, without a partner {counts['unranked']:,}",
        *(
            [f"- before that, {stage}: scores drawn at random, without regard to the image"]
            if card.format_steps
            else []
        ),
        "",
        "Validation against the labels, by which the state was chosen (so it leans upwards; `salon distill evaluate` "
        "says what it is worth against people):",
        "",
        f"| {' | '.join(LOOK_COLUMNS)} |",
        "|---|" + "---:|" * (len(LOOK_COLUMNS) - 2) + "---|",
        *(f"| {' | '.join(row)} |" for row in rows or [("no validation items",)]),
        "",
        *([f"{len(rows):,} of {len(looks):,} looks; `one_pass.json` has all.", ""] if len(rows) < len(looks) else []),
        "An answer that cannot be read counts as the mean of those that can. *Scores* counts different scores: at "
        "1, all items got the same, and the policy has collapsed. The reward holds neither mean nor "
        "spread.",
        "",
        f"    {card.signature}",
        "",
    ]
    return "\n".join(lines)


def _look_record(look: ValidationLook | None) -> dict[str, Any] | None:
    return None if look is None else look.model_dump(mode="json")
