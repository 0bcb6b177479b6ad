"""From a study or a file of labels to a reward model: labels, training, card, leak guard, model folder.

Several processes may run it at once, as torchrun starts them: all train, the first one writes.

    MODEL/run/labels.parquet     the labels of a study
    MODEL/run/log.jsonl          what every step gave; beside it TensorBoard's files
    MODEL/run/checkpoints        while it runs; so are `pairs` (what is learned from), `data.json` (its hash),
                                 `tars-*.npy` (where pictures are) and `guard-*.bin` (pictures read so far)
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from salon.errors import BadFile, BadValue
from salon.evaluate import HeadFigures, picture_keys, validation_warnings, without_look_alikes
from salon.fuse import LabelSettings, make_labels
from salon.models import (
    CRITERION,
    MODEL_CARD,
    ModelCard,
    ModelCriterion,
    RewardParts,
    fingerprint,
    open_parts,
    save_reward,
)
from salon.store import escape_md, local_path, open_study, whole_file, whole_folder
from salon.study import SPLITS, Noun, Signature
from salon.train.head_data import agreement_weights
from salon.train.memory_plan import check_training
from salon.train.name_hashes import GuardLog, contains, guarded_names, hash_names, write_guard
from salon.train.pair_files import PairShards, is_shards
from salon.train.reward_data import PAIRS_FOLDER, LabeledPair, PairFile, pair_rows, read_pair
from salon.train.reward_loop import FittedReward, fit
from salon.train.reward_survey import (
    TEST_SET_SETTINGS,
    Survey,
    TestSet,
    check_columns,
    pair_figures,
    read_test_set,
    survey_pairs,
    surveyed_pictures,
)
from salon.train.run_folder import BEST, CHECKPOINTS, RunFolder, flush, hold_run
from salon.train.settings import REWARD_FREE, RewardSettings
from salon.train.train_heads import also_words, validation_words
from salon.train.training_setup import loaded_dtype, processes

RUN = "run"
DATA = "data.json"
_PASSING = (CHECKPOINTS, BEST, PAIRS_FOLDER, DATA, "tars-*.npy", "guard-*.bin")
"""What only an unfinished run needs."""


class RewardReport(Noun):
    """What a training gave."""

    model: str = Field(description="The model's folder.")
    study: str = Field(description="Name of the study or file.")
    simulated: bool = Field(description="True when no person gave the answers.")
    backbone: str = Field(description="What was tuned.")
    law: str = Field(description="The law of a vote.")
    learn: str = Field(description="What was trained: full, lora or head.")
    counts: dict[str, int] = Field(description="Pairs by split, and those dropped.")
    validation: tuple[HeadFigures, ...] = Field(description="All criteria together, then each; none without pairs.")
    also: dict[str, tuple[HeadFigures, ...]] = Field(description="The same on further pairs (--also), by their names.")
    best_step: int = Field(description="The step whose weights were kept.")
    steps: int = Field(description="Steps in all.")
    seconds: float = Field(description="Time spent on training, interrupted runs together.")
    notes: tuple[str, ...] = Field(description="Policies and what they left out.")
    signature: Signature = Field(description="What reproduces the model.")


def train_reward(
    source: Path,
    backbone: str,
    out: Path,
    settings: RewardSettings | None = None,
    *,
    criteria: Sequence[str] = (),
    images: Path | None = None,
    also: Sequence[Path] = (),
    instruction: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    memory: int | None = None,
    progress: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> RewardReport | None:
    """Train a reward model on `source` and write it to `out`.

    `source` is a study folder, a Parquet file of labels, or a folder of Parquet or Arrow files. `backbone` is a VLM
    (folder or hub name), a reward model of Salon's, or a folder of released HPSv3 weights. Pictures that files name are
    below `images`, their own folder unless given, or in the tars there. `also` are further sources or studies that the
    model is tried on while it trains; their pictures are beside them. `memory` is what one process may use, what is
    there unless given: a training whose weights and optimizer cannot fit is refused. None in all processes but the
    first.
    """
    settings = settings or RewardSettings()
    check_training(backbone, settings, memory=memory)
    here = processes()
    if here.is_main_process:
        _check_target(out, resume=resume, overwrite=overwrite)
    with hold_run(out / RUN, anew=overwrite) if here.is_main_process else nullcontext():
        here.wait_for_everyone()
        pairs, learned, notes = _open_source(
            source, out / RUN, settings, criteria, images, is_main=here.is_main_process
        )
        here.wait_for_everyone()
        pairs = _with_rater_weights(pairs)
        if here.is_main_process:  # the others read what it wrote
            survey_pairs(pairs)
        here.wait_for_everyone()
        survey = survey_pairs(pairs)
        pairs = replace(pairs, guard=GuardLog(out / RUN, here.process_index, surveyed_pictures(pairs)))
        parts = open_parts(
            backbone, instruction=instruction,
            pixels=settings.pixels or None, dropout=settings.dropout, dtype=loaded_dtype(settings), seed=settings.seed,
        )  # fmt: skip
        if len(survey.criteria) > 1 and CRITERION not in parts.questions.instruction:
            raise BadValue(
                f"an instruction for several criteria has {CRITERION} in it",
                found=f"{len(survey.criteria)} criteria, and one question for all",
                remedy="add it, or choose one with --criterion",
            )
        tests = _test_sets(also, settings, survey, pairs.names)
        made_of = f"{Path(backbone).name} {fingerprint(backbone) or 'by its hub name'}"
        run = RunFolder(out / RUN, settings, learned.data, made_of)
        fitted = fit(parts, pairs, survey, run, also=tests, progress=progress)
        if not fitted.is_main:
            return None
        figures: tuple[HeadFigures, ...] = ()
        if fitted.validation is not None:
            logits = fitted.validation.logits
            figures = pair_figures(pairs.validation(), logits, survey.criteria, seed=settings.seed)
        test_figures = {test_set.name: test_set.figures(result.logits) for test_set, result in zip(tests, fitted.also)}
        report = _write_model(out, fitted, parts, pairs, survey, learned, figures, test_figures, made_of, backbone)
        run.forget()
        if survey.dropped:
            notes.append(f"pairs dropped below a larger camp of {settings.confident:g}: {survey.dropped:,}")
        if not survey.rows.get("validation"):
            notes.append("no validation pairs: the last weights were kept")
        return report.model_copy(update={"notes": (*notes, *validation_warnings(report.validation))})


# -- before ----------------------------------------------------------------------------------------------------------


def _check_target(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder with content that --resume or --overwrite does not allow.

    A model that is to be replaced stays until the new one is whole.
    """
    is_used = out.exists() and (not out.is_dir() or any(out.iterdir()))
    is_finished, run = (out / MODEL_CARD).is_file(), (out / RUN).is_dir()
    is_unfinished = run and (not is_finished or (out / RUN / CHECKPOINTS).is_dir())
    if is_used and not is_finished and not run:
        raise BadFile(
            "a new folder is needed for the model", found="a folder or file of something else", where=str(out)
        )
    if is_finished and not is_unfinished and not overwrite:
        raise BadFile(
            "a new folder is needed for the model", found="another model", where=str(out), remedy="--overwrite"
        )
    if is_unfinished and not resume and not overwrite:
        raise BadFile(
            "a new folder is needed for the model", found="a run that was not finished", where=str(out),
            remedy="--resume goes on with it, --overwrite begins anew",
        )  # fmt: skip


def _open_source(
    source: Path, run: Path, settings: RewardSettings, criteria: Sequence[str], images: Path | None, *, is_main: bool
) -> tuple[PairFile, TrainingSource, list[str]]:
    """The labelled pairs, what is known of them, and what is to be said about it."""
    if is_shards(source):
        file = source
        notes: list[str] = []
        images = images or (source if source.is_dir() else source.parent)
        data = PairShards(source).content_hash(run / DATA if is_main else None)
        learned = TrainingSource(source.stem, data, None, False, {"column": "split"}, {})
    else:
        file, learned, notes = _study_pairs(source, run, settings, criteria, is_main=is_main)
        images = local_path(source).resolve()
    return PairFile(file, images, settings, tuple(criteria), learned.names, run=run), learned, notes


def _with_rater_weights(pairs: PairFile) -> PairFile:
    """The same pairs with a weight for each rater, where that is asked for."""
    if pairs.settings.rater_weights == "none":
        return pairs
    if pairs.settings.labels != "raters":
        raise BadValue("--rater-weights go with --labels raters", found=f"--labels {pairs.settings.labels}")
    check_columns(pairs)
    names = {"image_a": "item_a", "image_b": "item_b"}
    columns = ["criterion", "image_a", "image_b", "rater", "label", "split"]
    votes = (table.select(columns).rename_columns(names) for _, table in pairs.tables())
    return replace(pairs, rater_weights=agreement_weights(votes))


def _study_pairs(
    source: Path, run: Path, settings: RewardSettings, criteria: Sequence[str], *, is_main: bool
) -> tuple[Path, TrainingSource, list[str]]:
    study, file = open_study(source), run / "labels.parquet"
    shares = {"train": settings.train, "validation": settings.validation, "test": settings.test}
    label_settings = LabelSettings(
        rows="raters" if settings.labels == "raters" else "pairs", ties="keep", seed=settings.split_seed, **shares
    )
    labels = make_labels(study, label_settings, criteria=criteria)
    folder, columns = local_path(source).resolve(), ("image_a", "image_b")
    pictures = dict.fromkeys(name for column in columns for name in labels.table.column(column).to_pylist())
    there = [name for name in pictures if name and (folder / name).is_file()]  # missing ones are reported later
    keys = dict(zip(there, picture_keys([folder / name for name in there])))
    (table,), left_out = without_look_alikes([labels.table], columns, keys, SPLITS)
    if is_main:
        with whole_file(file) as target:
            pq.write_table(table, target, compression="zstd")
    names = {criterion.id: criterion.title for criterion in study.criteria}
    learned = TrainingSource(
        study.name, study.hash, study.revision, study.simulated, {**shares, "seed": settings.split_seed}, names
    )
    return file, learned, [*labels.report.notes, *left_out]


def _test_sets(
    sources: Sequence[Path], settings: RewardSettings, survey: Survey, names: Mapping[str, str]
) -> list[TestSet]:
    """Further pairs to be tried on; a study's are all its pairs."""
    tests: list[TestSet] = []
    plain = settings.model_copy(update=TEST_SET_SETTINGS)
    for source in sources:
        with tempfile.TemporaryDirectory() as temporary:
            if is_shards(source):
                pairs = PairFile(source, source if source.is_dir() else source.parent, plain, names=names)
            else:
                study, file = open_study(source), Path(temporary) / "labels.parquet"
                everything = LabelSettings(ties="keep", train=1, validation=0, test=0)
                pq.write_table(make_labels(study, everything).table, file)
                pairs = PairFile(file, local_path(source).resolve(), plain, names=names)
            tests.append(read_test_set(source.resolve().stem, pairs, survey.criteria))
    if len({test_set.name for test_set in tests}) < len(tests):
        raise BadValue(
            "--also: sources of different names are needed", found=", ".join(test_set.name for test_set in tests)
        )
    return tests


# -- after -----------------------------------------------------------------------------------------------------------


def _write_model(
    out: Path,
    fitted: FittedReward,
    parts: RewardParts,
    pairs: PairFile,
    survey: Survey,
    learned: TrainingSource,
    figures: tuple[HeadFigures, ...],
    also: dict[str, tuple[HeadFigures, ...]],
    made_of: str,
    backbone: str,
) -> RewardReport:
    settings = pairs.settings
    assert fitted.network is not None  # in the process that writes
    with whole_folder(out) as folder:
        # The guard has hashes of everything that shaped the model: the pairs drawn, and those it was chosen by.
        draws = fitted.steps * settings.batch
        run = out / RUN
        noted = guarded_names(run)
        for rows in _learned_pairs(pairs, draws):
            hashes = (hash_names(pa.array(names)) for names in zip(*((row.image_a, row.image_b) for row in rows)))
            known_a, known_b = (contains(noted, names) for names in hashes)
            for row, is_known in zip(rows, known_a & known_b):
                if not is_known:
                    read_pair(row, pairs)
        guard = write_guard(run, (row.text for rows in _learned_pairs(pairs, draws) for row in rows), folder)
        card = reward_card(
            out.name,
            fitted,
            settings,
            survey,
            learned,
            figures,
            also,
            backbone=made_of,
            backbone_name=Path(backbone).name if Path(backbone).is_dir() else backbone,  # no path of this machine
            guard=guard,
            instruction=parts.questions.instruction,
        )
        save_reward(folder, card, reward_words(card), fitted.network, parts)
        shutil.copytree(out / RUN, folder / RUN, ignore=shutil.ignore_patterns(*_PASSING))
        flush(folder)
    record = card.figures
    return RewardReport(
        model=str(out), study=learned.study, simulated=learned.simulated, backbone=backbone, law=settings.law,
        learn=settings.learn, counts=card.trained_on, validation=figures, also=also, best_step=record["best_step"],
        steps=fitted.steps, seconds=record["seconds"], notes=(), signature=card.signature,
    )  # fmt: skip


def _learned_pairs(pairs: PairFile, draws: int) -> Iterator[list[LabeledPair]]:
    rows = chain(pairs.drawn(draws), pair_rows([pairs.validation()]))
    while part := list(islice(rows, 8192)):
        yield part


# -- the card ----------------------------------------------------------------------------------------------------------

_STEPS = ("steps", "best_step", "seconds", "processes", "precision", "shard")


@dataclass(frozen=True)
class TrainingSource:
    """What a model was trained on."""

    study: str
    data: str
    """Content hash of the study or file."""
    revision: int | None
    simulated: bool
    split: dict[str, Any]
    names: Mapping[str, str]
    """Of criteria, by id."""


def reward_card(
    name: str,
    fitted: FittedReward,
    settings: RewardSettings,
    survey: Survey,
    learned: TrainingSource,
    figures: tuple[HeadFigures, ...],
    also: Mapping[str, tuple[HeadFigures, ...]],
    *,
    backbone: str,
    backbone_name: str,
    guard: dict[str, str],
    instruction: str,
) -> ModelCard:
    """All there is to know about a trained reward model."""
    assert fitted.network is not None  # in the process that writes
    plain: dict[str, Any] = settings.model_dump(exclude={"seed"} | REWARD_FREE)
    signature = Signature(
        method="reward", data=learned.data[:12], revision=learned.revision,
        settings=plain | {
            "backbone": backbone, "criteria": ",".join(survey.criteria), "positions": fitted.network.positions,
            "instruction": hashlib.sha256(instruction.encode()).hexdigest()[:12],
        }, seed=settings.seed,
    )  # fmt: skip
    return ModelCard(
        kind="reward",
        name=name,
        criteria=tuple(ModelCriterion(id=id, name=learned.names.get(id, id)) for id in survey.criteria),
        backbone=backbone,
        backbone_name=backbone_name,
        form=settings.law,
        positions=fitted.network.positions,
        is_logit=settings.law == "ranknet",
        settings=settings.model_dump(),
        study=learned.study,
        data=learned.data,
        revision=learned.revision,
        simulated=learned.simulated,
        split=learned.split,
        guard=guard,
        trained_on={**{f"{split} pairs": n for split, n in survey.rows.items()}, "pairs dropped": survey.dropped},
        figures={
            "validation": [figure.model_dump(mode="json") for figure in figures],
            "also": {name: [figure.model_dump(mode="json") for figure in rows] for name, rows in also.items()},
            "steps": fitted.steps,
            "best_step": fitted.state.best_step if settings.choose == "best" and figures else fitted.steps,
            "seconds": round(fitted.state.seconds, 1),
            "processes": fitted.processes,
            "precision": "float32" if fitted.precision == "no" else "bfloat16",
            "shard": fitted.shard,
        },
        licence="that of the backbone",
        signature=signature,
    )


def reward_words(card: ModelCard) -> str:
    """The card for people, as Markdown."""
    lines = [
        f"# {escape_md(card.name)}",
        "",
        "A reward model by Salon: a vision-language model and a head that gives each picture, under its prompt, a "
        "score mu and its own uncertainty sigma.",
        *(["", "**Simulated: no person gave the answers it learned from.**"] if card.simulated else []),
        "",
        f"- law of a vote: {card.form}; trained: {card.settings['learn']}",
        f"- backbone: {card.backbone_name} ({card.backbone}); positions of its tokens: {card.positions}",
        f"- data: {escape_md(card.study)}, {card.data[:12]}",
        f"- criteria: {', '.join(escape_md(criterion.id) for criterion in card.criteria)}",
        "- trained on: " + ", ".join(f"{count:,} {what}" for what, count in card.trained_on.items()),
        "- " + ", ".join(f"{name.replace('_', ' ')} {card.figures[name]}" for name in _STEPS),
        f"- licence: {card.licence}; that of the data is its own",
        "",
        *validation_words(card),
        *also_words(card),
        "",
        f"    {card.signature}",
        "",
    ]
    return "\n".join(lines)
