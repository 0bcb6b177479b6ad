"""Explain the score of a picture, or why one stands above another: scorers, a judged study and measurements together.

explain([Path("poster.png")], models=[Path("taste")], study=study, folder=Path("judged"))
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from salon.errors import BadValue
from salon.judge.measurements.table import MEASUREMENTS
from salon.judge.score import ScoreSettings, results_of
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.picture import Scored
from salon.models.embeddings import encode_pictures
from salon.models.kept import Kept
from salon.select.explain import (
    Contribution,
    Explained,
    Explanation,
    Measured,
    Neighbour,
    Occlusion,
    contributions,
    difference,
    distances,
    nearest,
    spread_of,
    total_of,
)
from salon.select.explain_near import judged_items, measurements_of, said_of
from salon.select.explain_occlusion import occlusion
from salon.select.reference import ScoreReference
from salon.select.scores import scorer_words
from salon.select.weights import Blend, blend, read_weights, score_column
from salon.store.near_pictures import content_hash
from salon.store.pictures import is_inside, read_picture
from salon.study import Item, Prompt, Scorer, Study
from salon.study.noun import Noun
from salon.study.signature import Signature


class ExplainSettings(Noun):
    """How much is explained."""

    neighbours: int = Field(5, ge=0, le=50, description="Judged pictures to name that are nearest by the model.")
    measure: bool = Field(True, description="Measure the picture by rule: contrast, words, palette ...")
    occlusion: int = Field(
        0,
        ge=0,
        le=16,
        description="Cover one of N x N places after the other, and see what the total loses; 0: do not.",
    )
    device: str | None = Field(None, description="Of networks: cpu, cuda, mps  [default: the best there is]")


@dataclass(frozen=True)
class JudgedStudy:
    """A study with judgments, and the items whose picture is there."""

    study: Study
    folder: Path
    items: tuple[Item, ...]
    numbers: tuple[int, ...]
    """Place of each of them in the study."""
    hashes: tuple[str, ...]
    prompts: Mapping[str, Prompt]

    def path(self, item: Item) -> Path:
        """Where its picture is."""
        return self.folder / (item.image or "")

    def prompt_of(self, sha: str) -> Prompt | None:
        """The prompt of the item with this picture, where the study has it."""
        found = next((item for item, other in zip(self.items, self.hashes) if other == sha), None)
        return None if found is None else self.prompts.get(found.prompt or "")


def judged_study(study: Study, folder: Path) -> JudgedStudy:
    """The items of a study that were judged and whose picture is in its folder."""
    judged = judged_items(study)
    there = [
        (number, item)
        for number, item in enumerate(study.nouns("items"))
        if judged[number] and item.image and is_inside(folder / item.image, folder) and (folder / item.image).is_file()
    ]
    hashes = tuple(content_hash(folder / (item.image or "")) for _, item in there)
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    return JudgedStudy(study, folder, tuple(item for _, item in there), tuple(n for n, _ in there), hashes, prompts)


@dataclass(frozen=True)
class _Asked:
    """What an explanation is made with."""

    scorers: Sequence[Scorer]
    made: Blend
    models: Sequence[Path]
    settings: ExplainSettings
    judged: JudgedStudy | None
    kept: Kept = field(default_factory=Kept)


def explain(
    pictures: Sequence[Path],
    *,
    names: Sequence[str] = (),
    models: Sequence[Path] = (),
    judged: JudgedStudy | None = None,
    prompt: Prompt | None = None,
    weights: str | None = None,
    reference: ScoreReference | None = None,
    equal: bool = False,
    settings: ExplainSettings | None = None,
) -> Explanation:
    """Explain one picture, or two of one prompt. Without a prompt, that of the study's item with the same picture."""
    if not 1 <= len(pictures) <= 2:
        raise BadValue("one picture to explain, or two to hold against each other, are needed", found=len(pictures))
    settings = settings or ExplainSettings()
    for path in pictures:
        read_picture(path)  # says what is wrong with one that cannot be read
    kept = Kept()
    words = scorer_words(names, models)
    scorers = [scorer_named(word, ScoreSettings(device=settings.device), kept) for word in words]
    columns = [score_column(one) for one in scorers]
    full = read_weights(weights, [one.criterion for one in columns])
    made = blend(columns, full, reference=reference, equal=equal)
    asked = _Asked(scorers, made, models, settings, judged, kept)
    hashes = [content_hash(path) for path in pictures]
    told = [prompt or (None if judged is None else judged.prompt_of(sha)) for sha in hashes]
    scored = [_contributions(asked, path, one) for path, one in zip(pictures, told)]
    near, notes = _neighbours(asked, pictures, hashes, told)
    explained = []
    for place, path in enumerate(pictures):
        found, more = _measured(asked, path, told[place])
        notes += more
        explained.append(
            Explained(
                picture=path.name, sha256=hashes[place], total=total_of(scored[place]),
                sd=spread_of(made, scored[place]), contributions=scored[place], neighbours=near[place],
                measurements=tuple(found), occlusion=_occluded(asked, path, told[place], total_of(scored[place])),
            )
        )  # fmt: skip
    return Explanation(
        pictures=tuple(explained),
        difference=difference(*scored) if len(scored) == 2 else None,
        scale=made.scale,
        model=", ".join(dict.fromkeys(one.name.partition("@")[0] for one in scorers)),
        study=None if judged is None else judged.study.name,
        simulated=judged is not None and judged.study.simulated,
        notes=tuple(dict.fromkeys(notes)),
        signature=_signature(asked, hashes),
    )


def _contributions(asked: _Asked, path: Path, prompt: Prompt | None) -> tuple[Contribution, ...]:
    results = [results_of(one, [(Item(id="picture", image=str(path)), prompt)])[0] for one in asked.scorers]
    values = [one.value if isinstance(one, Scored) else None for one in results]
    sigmas = [one.sigma if isinstance(one, Scored) else None for one in results]
    gaps = zip(asked.made.criteria, results)
    reasons = {criterion: one.reason for criterion, one in gaps if not isinstance(one, Scored)}
    return contributions(asked.made, values, sigmas, scorers=[one.name for one in asked.scorers], reasons=reasons)


def _measured(asked: _Asked, path: Path, prompt: Prompt | None) -> tuple[list[Measured], list[str]]:
    if not asked.settings.measure:
        return [], []
    folder = None if asked.judged is None else asked.judged.folder
    return measurements_of(path, prompt, list(MEASUREMENTS), folder, asked.kept)


def _occluded(asked: _Asked, path: Path, prompt: Prompt | None, total: float | None) -> Occlusion | None:
    if not asked.settings.occlusion or total is None:
        return None
    return occlusion(path, prompt, asked.scorers, asked.made, total, asked.settings.occlusion)


# -- neighbours --------------------------------------------------------------------------------------------------------


def _neighbours(
    asked: _Asked, pictures: Sequence[Path], hashes: Sequence[str], told: Sequence[Prompt | None]
) -> tuple[list[tuple[Neighbour, ...]], list[str]]:
    none: list[tuple[Neighbour, ...]] = [() for _ in pictures]
    judged = asked.judged
    if judged is None or not asked.settings.neighbours:
        return none, []
    if not judged.items:
        return none, ["the study has no judged item whose picture is there: no neighbours"]
    if not asked.models:
        return none, ["neighbours need a model of heads (--model): other scorers have no vectors of pictures"]
    heads = importlib.import_module("salon.models.preference_model").HeadsModel  # torch only for those who need it
    model, _ = importlib.import_module("salon.judge.scorers.trained").opened(asked.models[0], asked.settings.device)
    if not isinstance(model, heads):
        return none, [f"{model.card.name} is a reward model: it has no vectors of pictures to compare by"]
    parts = [part.name for part in model.network.shape.parts]
    paths = [*pictures, *(judged.path(item) for item in judged.items)]
    rows = encode_pictures(model.encoder, paths, parts=parts)
    n = len(pictures)
    among = {part: vectors[n:] for part, vectors in rows.items()}
    found = []
    for place, sha in enumerate(hashes):
        apart = distances({part: vectors[place] for part, vectors in rows.items()}, among)
        chosen = nearest(apart, asked.settings.neighbours, copies=_copies(sha, judged.hashes))
        found.append(tuple(_neighbour(asked, judged, number, apart[number], told[place]) for number in chosen))
    return found, []


def _copies(sha: str, hashes: Sequence[str]) -> list[bool]:
    """Which pictures are this very one, or stand a second time in the study."""
    seen = {sha}
    found = []
    for other in hashes:
        found.append(other in seen)
        seen.add(other)
    return found


def _neighbour(asked: _Asked, judged: JudgedStudy, number: int, apart: float, prompt: Prompt | None) -> Neighbour:
    item = judged.items[number]
    own = judged.prompts.get(item.prompt or "")
    told = _contributions(asked, judged.path(item), own)
    return Neighbour(
        item=item.id, image=item.image, prompt=item.prompt, distance=float(apart), total=total_of(told),
        scores={part.criterion: part.value for part in told if part.value is not None},
        same_prompt=prompt is not None and own is not None and prompt.view() == own.view(),
        said=said_of(judged.study, judged.numbers[number]),
    )  # fmt: skip


def _signature(asked: _Asked, hashes: Sequence[str]) -> Signature:
    shares = ",".join(f"{id}={share:.4g}" for id, share in asked.made.shares.items())
    return Signature(
        method="explain",
        data=hashlib.sha256("".join(hashes).encode()).hexdigest()[:12],
        settings={
            "scorers": hashlib.sha256("|".join(str(one.signature) for one in asked.scorers).encode()).hexdigest()[:12],
            "weights": shares, "reference": asked.made.reference, "neighbours": asked.settings.neighbours,
            "study": None if asked.judged is None else asked.judged.study.hash[:12],
        },
    )  # fmt: skip
