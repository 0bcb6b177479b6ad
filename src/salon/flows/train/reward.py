"""From a study or a file of labels to a reward model: labels, training, card, leak guard, model folder.

Composes `fuse` (what the raters preferred, split by prompt) and `train`. Several processes may run it at once, as
torchrun starts them: all train, the first one writes.

MODEL/run/labels.parquet     the labels of a study
MODEL/run/log.jsonl          what every step gave; beside it TensorBoard's files and, while it runs, checkpoints
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field

from salon.errors import BadFile, BadValue
from salon.fuse.labels import LabelSettings, make_labels
from salon.fuse.splits import check_splits
from salon.models.preference import CARD
from salon.models.reward_model import save_reward
from salon.models.reward_network import CRITERION, RewardParts, open_parts
from salon.models.weights import fingerprint
from salon.store.atomic import whole_file, whole_folder
from salon.store.folder import local, open_study
from salon.store.near_pictures import content_hash
from salon.study import Signature
from salon.study.noun import Noun
from salon.study.split import SPLITS
from salon.train.head_figures import HeadFigures, validation_figures
from salon.train.leaks import Guard, picture_keys, save_guard, without_look_alikes
from salon.train.rater_weights import agreement_weights
from salon.train.reward_card import Learned, reward_card, reward_words
from salon.train.reward_data import PairFile
from salon.train.reward_folder import CHECKPOINTS, RunFolder, flush, own_run
from salon.train.reward_loop import Fitted, fit
from salon.train.reward_settings import RewardSettings
from salon.train.reward_setup import processes
from salon.train.reward_survey import Survey, check_columns, survey_pairs
from salon.train.validation_words import validation_warnings

RUN = "run"
_GUARDED = ("split", "group", "item_a", "item_b", "image_a", "image_b", "text")


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
    instruction: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> RewardReport | None:
    """Train a reward model on `source`, a study folder or a Parquet file of labels, and write it to `out`.

    `backbone` is a VLM (folder or hub name), a reward model of Salon's, or a folder of released HPSv3 weights. A file's
    pictures are below `images`, its own folder unless given. None in all processes but the first.
    """
    settings = settings or RewardSettings()
    here = processes()
    if here.is_main_process:
        _check_target(out, resume=resume, overwrite=overwrite)
    with own_run(out / RUN, anew=overwrite) if here.is_main_process else nullcontext():
        here.wait_for_everyone()
        pairs, learned, notes = _opened(source, out / RUN, settings, criteria, images, is_main=here.is_main_process)
        here.wait_for_everyone()
        pairs = _weighed(pairs)
        survey = survey_pairs(pairs)
        parts = open_parts(
            backbone, instruction=instruction,
            pixels=settings.pixels or None, dropout=settings.dropout, seed=settings.seed,
        )  # fmt: skip
        _check_criteria(parts, survey)
        made_of = f"{Path(backbone).name} {fingerprint(backbone) or 'by its hub name'}"
        run = RunFolder(out / RUN, settings, learned.data, made_of)
        fitted = fit(parts, pairs, survey, run, progress=progress)
        if not fitted.is_main:
            return None
        figures = _figures(fitted, pairs, survey)
        report = _written(out, fitted, parts, pairs, survey, learned, figures, made_of, backbone)
        run.forget()
        warned = validation_warnings(report.validation)
        return report.model_copy(update={"notes": (*notes, *_notes(survey, settings), *warned)})


# -- before ----------------------------------------------------------------------------------------------------------


def _check_target(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder that holds what nobody asked to go on with or to replace.

    A model that is to be replaced stays until the new one is whole.
    """
    there = out.exists() and (not out.is_dir() or any(out.iterdir()))
    done, run = (out / CARD).is_file(), (out / RUN).is_dir()
    begun = run and (not done or (out / RUN / CHECKPOINTS).is_dir())
    if there and not done and not run:
        raise BadFile(
            "a new folder is needed for the model", found="a folder or file of something else", where=str(out)
        )
    if done and not begun and not overwrite:
        raise BadFile(
            "a new folder is needed for the model", found="another model", where=str(out), remedy="--overwrite"
        )
    if begun and not resume and not overwrite:
        raise BadFile(
            "a new folder is needed for the model", found="a run that was not finished", where=str(out),
            remedy="--resume goes on with it, --overwrite begins anew",
        )  # fmt: skip


def _opened(
    source: Path, run: Path, settings: RewardSettings, criteria: Sequence[str], images: Path | None, *, is_main: bool
) -> tuple[PairFile, Learned, list[str]]:
    """The labelled pairs, what is known of them, and what is to be said about it."""
    if source.suffix == ".parquet" or source.is_file():
        file, learned, notes = source, _of_file(source), []
        images = images or source.parent
        check_file(source)
    else:
        file, learned, notes = _of_study(source, run, settings, criteria, is_main=is_main)
        images = local(source).resolve()
    pairs = PairFile(file, images, settings, tuple(criteria), learned.names)
    return pairs, learned, notes


def _weighed(pairs: PairFile) -> PairFile:
    """The same pairs with a weight for each rater, where that is asked for."""
    if pairs.settings.rater_weights == "none":
        return pairs
    if pairs.settings.labels != "raters":
        raise BadValue("--rater-weights go with --labels raters", found=f"--labels {pairs.settings.labels}")
    check_columns(pairs.path, pairs.settings)
    votes = pa.concat_tables(pairs.tables()).rename_columns({"image_a": "item_a", "image_b": "item_b"})
    return replace(pairs, rater_weights=agreement_weights(votes))


def _of_file(source: Path) -> Learned:
    if not source.is_file():
        raise BadFile("a study folder or a Parquet file of labels is needed", found="nothing", where=str(source))
    return Learned(source.stem, content_hash(source), None, False, {"column": "split"}, {})


def _of_study(
    source: Path, run: Path, settings: RewardSettings, criteria: Sequence[str], *, is_main: bool
) -> tuple[Path, Learned, list[str]]:
    study, file = open_study(source), run / "labels.parquet"
    shares = {"train": settings.train, "validation": settings.validation, "test": settings.test}
    asked = LabelSettings(
        rows="raters" if settings.labels == "raters" else "pairs", ties="keep", seed=settings.split_seed, **shares
    )
    labels = make_labels(study, asked, criteria=criteria)
    table, left_out = _without_look_alikes(labels.table, local(source).resolve())
    if is_main:
        with whole_file(file) as target:
            pq.write_table(table, target, compression="zstd")
    names = {criterion.id: criterion.title for criterion in study.criteria}
    learned = Learned(
        study.name, study.hash, study.revision, study.simulated, {**shares, "seed": settings.split_seed}, names
    )
    return file, learned, [*labels.report.notes, *left_out]


def _without_look_alikes(table: pa.Table, folder: Path) -> tuple[pa.Table, list[str]]:
    columns = ("image_a", "image_b")
    names = dict.fromkeys(name for column in columns for name in table.column(column).to_pylist())
    there = [name for name in names if name and (folder / name).is_file()]  # what is missing is told later
    keys = dict(zip(there, picture_keys([folder / name for name in there])))
    (table,), notes = without_look_alikes([table], columns, keys, SPLITS)
    return table, notes


def check_file(source: Path) -> None:
    """Nothing may stand on two sides of a file's split; a file without that column is all for training."""
    with pq.ParquetFile(source) as plain:
        wanted = [name for name in _GUARDED if name in plain.schema_arrow.names]
        apart = "split" in wanted and len(plain.read(columns=["split"]).column(0).unique()) > 1
    if apart:
        with pq.ParquetFile(source, read_dictionary=wanted) as file:  # names kept once, rows as numbers
            check_splits(file.read(columns=wanted))


def _check_criteria(parts: RewardParts, survey: Survey) -> None:
    if len(survey.criteria) > 1 and CRITERION not in parts.questions.instruction:
        raise BadValue(
            f"an instruction for several criteria has {CRITERION} in it",
            found=f"{len(survey.criteria)} criteria, and one question for all",
            remedy="add it, or choose one with --criterion",
        )


# -- after -----------------------------------------------------------------------------------------------------------


def _figures(fitted: Fitted, pairs: PairFile, survey: Survey) -> tuple[HeadFigures, ...]:
    if fitted.validation is None:
        return ()
    table = pairs.validation()
    groups = pc.fill_null(table.column("group"), "")
    table = table.set_column(table.schema.get_field_index("group"), "group", groups)
    for name in ("for_a", "for_b"):
        counts = pc.fill_null(table.column(name), 0).cast(pa.int64())
        table = table.set_column(table.schema.get_field_index(name), name, counts)
    rng = np.random.default_rng(pairs.settings.seed)
    return validation_figures(table, fitted.validation.logits, survey.criteria, rng=rng)


def _written(
    out: Path,
    fitted: Fitted,
    parts: RewardParts,
    pairs: PairFile,
    survey: Survey,
    learned: Learned,
    figures: tuple[HeadFigures, ...],
    made_of: str,
    backbone: str,
) -> RewardReport:
    settings = pairs.settings
    with whole_folder(out) as folder:
        guard = save_guard(_guard(pairs), folder)
        card = reward_card(
            out.name,
            fitted,
            settings,
            survey,
            learned,
            figures,
            backbone=made_of,
            backbone_name=Path(backbone).name if Path(backbone).is_dir() else backbone,  # no path of this machine
            guard=guard,
            instruction=parts.questions.instruction,
        )
        save_reward(folder, card, reward_words(card), fitted.network, parts)
        shutil.copytree(out / RUN, folder / RUN, ignore=shutil.ignore_patterns("checkpoints", "best.safetensors"))
        flush(folder)
    told = card.figures
    return RewardReport(
        model=str(out), study=learned.study, simulated=learned.simulated, backbone=backbone, law=settings.law,
        learn=settings.learn, counts=card.trained_on, validation=figures, best_step=told["best_step"],
        steps=fitted.steps, seconds=told["seconds"], notes=(), signature=card.signature,
    )  # fmt: skip


def _guard(pairs: PairFile) -> Guard:
    """Hashes of everything that shaped the model: training and validation."""
    return Guard.of(picture_keys([pairs.images / name for name in pairs.pictures()]), pairs.texts())


def _notes(survey: Survey, settings: RewardSettings) -> list[str]:
    told = []
    if survey.dropped:
        told.append(f"pairs dropped below a larger camp of {settings.confident:g}: {survey.dropped:,}")
    if not survey.rows.get("validation"):
        told.append("no validation pairs: the last weights were kept")
    return told
