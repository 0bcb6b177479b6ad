"""Explain the score of a picture, or why one stands above another: scorers, a judged study and measurements together.

    explain([Path("poster.png")], models=[Path("taste")], judged_study=open_judged_study(study, folder))

Occlusion paints one place of a grid after the other over with the picture's mean color and scores again. A covered
picture is unlike those that the scorers learned from, so the map is a hint and no proof.

A scoring service knows its study beforehand: `Neighborhood` holds the vectors of its judged pictures.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from salon.errors import BadFile, BadValue
from salon.judge import (
    MEASUREMENTS,
    SCORES_FOLDER,
    PictureScore,
    ScoreSettings,
    make_scorer,
    read_scores,
    score_items,
    scores_file,
)
from salon.models import ResultCache, Vectors, encode_pictures
from salon.select.explanation import (
    Contribution,
    Explanation,
    Neighbor,
    Occlusion,
    PictureExplanation,
    PictureMeasurement,
    RaterOpinion,
    compare_contributions,
    contributions,
    distances,
    nearest,
    rank_among,
    spread_of,
    total_of,
)
from salon.select.scores import list_scorers
from salon.select.service.looking import SentPicture
from salon.select.service.model import ModelAnswer, RecentValues
from salon.select.settings import ExplainSettings
from salon.select.weights import Blend, ScoreReference, blend_columns, describe_scorer, read_weights
from salon.stats import Estimate
from salon.store import content_hash, has_picture, is_inside, open_study, read_picture
from salon.study import Item, Prompt, Scorer, Signature, Study


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
        match = next((item for item, item_hash in zip(self.items, self.hashes) if item_hash == sha), None)
        return None if match is None else self.prompts.get(match.prompt or "")


def open_judged_study(study: Study, folder: Path) -> JudgedStudy:
    """The items of a study that were judged and whose picture is in its folder."""
    is_judged = judged_mask(study)
    there = [
        (number, item)
        for number, item in enumerate(study.nouns("items"))
        if is_judged[number]
        and item.image
        and is_inside(folder / item.image, folder)
        and has_picture(folder / item.image)
    ]
    hashes = tuple(content_hash(folder / (item.image or "")) for _, item in there)
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    return JudgedStudy(study, folder, tuple(item for _, item in there), tuple(n for n, _ in there), hashes, prompts)


@dataclass(frozen=True)
class _ExplainTask:
    """What an explanation is made with."""

    scorers: Sequence[Scorer]
    blend: Blend
    models: Sequence[Path]
    settings: ExplainSettings
    judged_study: JudgedStudy | None
    cache: ResultCache


def explain(
    pictures: Sequence[Path],
    *,
    names: Sequence[str] = (),
    models: Sequence[Path] = (),
    judged_study: JudgedStudy | None = None,
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
    importlib.import_module("salon.judge.scorers.rules")  # names the extra that is missing before a picture is read
    for path in pictures:
        read_picture(path)  # says what is wrong with one that cannot be read
    cache = ResultCache()
    words = list_scorers(names, models)
    scorers = [make_scorer(word, ScoreSettings(device=settings.device), cache) for word in words]
    columns = [describe_scorer(entry) for entry in scorers]
    full = read_weights(weights, [entry.criterion for entry in columns])
    blend = blend_columns(columns, full, reference=reference, equal=equal)
    task = _ExplainTask(scorers, blend, models, settings, judged_study, cache)
    hashes = [content_hash(path) for path in pictures]
    prompts = [prompt or (None if judged_study is None else judged_study.prompt_of(sha)) for sha in hashes]
    scored = [_contributions(task, path, entry) for path, entry in zip(pictures, prompts)]
    near, notes = _find_neighbors(task, pictures, hashes, prompts)
    explained = []
    for place, path in enumerate(pictures):
        total, occlusion = total_of(scored[place]), None
        measurements: list[PictureMeasurement] = []
        if settings.measure:
            folder = None if judged_study is None else judged_study.folder
            measurements, more = measure_picture(path, prompts[place], list(MEASUREMENTS), folder, cache)
            notes += more
        if settings.occlusion and total is not None:
            occlusion = occlude(path, prompts[place], scorers, blend, total, settings.occlusion)
        explained.append(
            PictureExplanation(
                picture=path.name,
                sha256=hashes[place],
                total=total,
                sd=spread_of(blend, scored[place]),
                contributions=scored[place],
                neighbours=near[place],
                measurements=tuple(measurements),
                occlusion=occlusion,
            )
        )
    signatures = "|".join(str(scorer.signature) for scorer in scorers)
    signature = Signature(
        method="explain",
        data=hashlib.sha256("".join(hashes).encode()).hexdigest()[:12],
        settings={
            "scorers": hashlib.sha256(signatures.encode()).hexdigest()[:12],
            "weights": ",".join(f"{id}={share:.4g}" for id, share in blend.shares.items()),
            "reference": blend.reference,
            "neighbours": settings.neighbours,
            "study": None if judged_study is None else judged_study.study.hash[:12],
        },
    )
    return Explanation(
        pictures=tuple(explained),
        difference=compare_contributions(*scored) if len(scored) == 2 else None,
        scale=blend.scale,
        model=", ".join(dict.fromkeys(entry.name.partition("@")[0] for entry in scorers)),
        study=None if judged_study is None else judged_study.study.name,
        simulated=judged_study is not None and judged_study.study.simulated,
        notes=tuple(dict.fromkeys(notes)),
        signature=signature,
    )


def _contributions(task: _ExplainTask, path: Path, prompt: Prompt | None) -> tuple[Contribution, ...]:
    results = [score_items(entry, [(Item(id="picture", image=str(path)), prompt)])[0] for entry in task.scorers]
    values = [entry.value if isinstance(entry, PictureScore) else None for entry in results]
    sigmas = [entry.sigma if isinstance(entry, PictureScore) else None for entry in results]
    gaps = zip(task.blend.criteria, results)
    reasons = {criterion: entry.reason for criterion, entry in gaps if not isinstance(entry, PictureScore)}
    return contributions(task.blend, values, sigmas, scorers=[entry.name for entry in task.scorers], reasons=reasons)


# -- neighbours --------------------------------------------------------------------------------------------------------


def _find_neighbors(
    task: _ExplainTask, pictures: Sequence[Path], hashes: Sequence[str], prompts: Sequence[Prompt | None]
) -> tuple[list[tuple[Neighbor, ...]], list[str]]:
    none: list[tuple[Neighbor, ...]] = [() for _ in pictures]
    judged_study = task.judged_study
    if judged_study is None or not task.settings.neighbours:
        return none, []
    if not judged_study.items:
        return none, ["the study has no judged item whose picture is there: no neighbours"]
    if not task.models:
        return none, ["neighbours need a model of heads (--model): other scorers have no vectors of pictures"]
    paths = [*pictures, *(judged_study.path(item) for item in judged_study.items)]
    name, rows = _picture_vectors(task.models[0], task.settings.device, paths)
    if rows is None:
        return none, [f"{name} is a reward model: it has no vectors of pictures to compare by"]
    n = len(pictures)
    among = {part: vectors[n:] for part, vectors in rows.items()}
    neighbors = []
    for place, sha in enumerate(hashes):
        apart = distances({part: vectors[place] for part, vectors in rows.items()}, among)
        known_hashes = {sha}
        is_copy = []
        for item_hash in judged_study.hashes:
            is_copy.append(item_hash in known_hashes)
            known_hashes.add(item_hash)
        chosen = nearest(apart, task.settings.neighbours, copies=is_copy)
        neighbors.append(
            tuple(_neighbor(task, judged_study, number, apart[number], prompts[place]) for number in chosen)
        )
    return neighbors, []


def _picture_vectors(
    folder: Path, device: str | None, paths: Sequence[Path]
) -> tuple[str, Mapping[str, Vectors] | None]:
    """The name of a model and its vectors of pictures, by part; None unless it is a model of heads."""
    from salon.judge import opened
    from salon.models import HeadsModel as heads  # torch only for those who need it

    model, _ = opened(folder, device)
    if not isinstance(model, heads):
        return model.card.name, None
    parts = [part.name for part in model.network.shape.parts]
    return model.card.name, encode_pictures(model.encoder, paths, parts=parts)


def _neighbor(
    task: _ExplainTask, judged_study: JudgedStudy, number: int, apart: float, prompt: Prompt | None
) -> Neighbor:
    item = judged_study.items[number]
    own = judged_study.prompts.get(item.prompt or "")
    parts = _contributions(task, judged_study.path(item), own)
    return Neighbor(
        item=item.id, image=item.image, prompt=item.prompt, distance=float(apart), total=total_of(parts),
        scores={part.criterion: part.value for part in parts if part.value is not None},
        same_prompt=prompt is not None and own is not None and prompt.view() == own.view(),
        said=rater_opinions(judged_study.study, judged_study.numbers[number]),
    )  # fmt: skip


# -- what raters said --------------------------------------------------------------------------------------------------

_Answer = tuple[int, int, float]
"""Criterion, rater, and what the rater's answer gives the item."""


def judged_mask(study: Study) -> NDArray[np.bool_]:
    """(items,) whether anybody compared, ranked or rated it."""
    mask = np.zeros(study.table("items").num_rows, bool)
    for some in (study.comparisons.a, study.comparisons.b, study.rankings.items, study.ratings.item):
        mask[some] = True
    return mask


def rater_opinions(study: Study, item: int) -> tuple[RaterOpinion, ...]:
    """What raters said of an item: by criterion the share of comparisons it won, and its mean rating.

    A ranking is a comparison with each other item in it; ties count half, answers "both bad" nothing. Means are over
    raters, each counted once, with a t interval; there is none for a single rater.
    """
    view, rankings, ratings = study.comparisons, study.rankings, study.ratings
    won: list[_Answer] = []
    for row in np.flatnonzero(((view.a == item) | (view.b == item)) & (view.outcome < 3)):
        share = 0.5 if view.outcome[row] == 2 else float((view.outcome[row] == 0) == (view.a[row] == item))
        won.append((int(view.criterion[row]), int(view.rater[row]), share))
    for place in np.flatnonzero(rankings.items == item):
        ranking = int(np.searchsorted(rankings.offsets, place, side="right")) - 1
        ranks = rankings.ranks[rankings.offsets[ranking] : rankings.offsets[ranking + 1]]
        others, own = np.delete(ranks, place - rankings.offsets[ranking]), rankings.ranks[place]
        if len(others):
            share = float((others > own).mean() + (others == own).mean() / 2)
            won.append((int(rankings.criterion[ranking]), int(rankings.rater[ranking]), share))
    rated = [
        (int(ratings.criterion[row]), int(ratings.rater[row]), float(ratings.value[row]))
        for row in np.flatnonzero(ratings.item == item)
    ]
    return (*_figures(study, "won", won), *_figures(study, "rated", rated))


def _figures(study: Study, kind: str, answers: Sequence[_Answer]) -> list[RaterOpinion]:
    by: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for criterion, rater, value in answers:
        by[criterion][rater].append(value)
    opinions = []
    for criterion, raters in sorted(by.items()):
        figure = _mean(np.array([np.mean(values) for values in raters.values()]), share=kind == "won")
        opinions.append(
            RaterOpinion(criterion=study.criteria[criterion].id, kind=kind, figure=figure, raters=len(raters))
        )
    return opinions


def _mean(values: NDArray[np.float64], *, share: bool) -> Estimate:
    from scipy.stats import t as student

    mean, n = float(values.mean()), len(values)
    if n < 2 or float(values.std()) == 0:  # raters who all agree have a spread that they do not show
        return Estimate(mean, None, None, n, "rater", method="no interval: one rater, or no two that differ")
    half = float(student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))
    low, high = (max(0.0, mean - half), min(1.0, mean + half)) if share else (mean - half, mean + half)
    return Estimate(mean, low, high, n, "rater", method="t interval over raters")


# -- measurements ------------------------------------------------------------------------------------------------------


def measure_picture(
    picture: Path, prompt: Prompt | None, names: Sequence[str], folder: Path | None, cache: ResultCache
) -> tuple[list[PictureMeasurement], list[str]]:
    """Measurements of a picture, and where they stand among those that the study's folder keeps; and notes."""
    from salon.judge.scorers import rules  # it reads pictures: only for those who measure

    measurements, unknown = [], []
    for name in names:
        scorer = rules.measurement_scorer(name, cache)
        (result,) = scorer.results([Item(id="picture", image=str(picture))], [prompt])
        kept_there = None if folder is None else _study_values(folder, name, str(scorer.signature))
        description = MEASUREMENTS[name].tells
        if not isinstance(result, PictureScore):
            measurements.append(PictureMeasurement(name=name, tells=description, value=None, unmeasured=result.reason))
            continue
        if kept_there is None:
            unknown.append(name)
            measurements.append(PictureMeasurement(name=name, tells=description, value=result.value))
            continue
        values, missing = kept_there
        below, quartiles = rank_among(result.value, values)
        measurements.append(
            PictureMeasurement(
                name=name,
                tells=description,
                value=result.value,
                below=below,
                n=len(values),
                missing=missing,
                quartiles=quartiles,
            )
        )
    if folder is None or not unknown:
        return measurements, []
    how = " ".join(f"-s {name}" for name in unknown)
    return measurements, [f"the study has no scores of {', '.join(unknown)} to stand among: salon score STUDY {how}"]


def _study_values(folder: Path, name: str, signature: str) -> tuple[NDArray[np.float64], int] | None:
    """Values that the study's folder keeps of a measurement, and items without one; None where it keeps no such."""
    file = scores_file(folder / SCORES_FOLDER, name)
    try:
        record = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        column = read_scores(file).column("value")
    except (OSError, ValueError, BadFile):
        return None
    if not isinstance(record, dict) or record.get("signature") != signature:
        return None
    values = column.drop_null().to_numpy()
    return (values, column.null_count) if len(values) else None


# -- occlusion ---------------------------------------------------------------------------------------------------------


def occlude(
    picture: Path, prompt: Prompt | None, scorers: Sequence[Scorer], blend: Blend, total: float, grid: int
) -> Occlusion:
    """The total less that of the picture with each of grid x grid places covered; None where that has no total."""
    image = read_picture(picture).image
    values = np.full((grid * grid, len(scorers)), np.nan)
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:
        items = [
            (Item(id=str(n), image=str(path)), prompt)
            for n, path in enumerate(_cover_places(image, grid, Path(folder)))
        ]
        for d, (scorer, term) in enumerate(zip(scorers, blend.terms, strict=True)):
            if term.share > 0:
                results = score_items(scorer, items)
                values[:, d] = [entry.value if isinstance(entry, PictureScore) else math.nan for entry in results]
    drops = total - blend.totals(values)
    rows = drops.reshape(grid, grid).tolist()
    return Occlusion(
        grid=grid, drops=tuple(tuple(entry if math.isfinite(entry) else None for entry in row) for row in rows)
    )


def _cover_places(image: Image.Image, grid: int, folder: Path) -> Iterator[Path]:
    """The picture with one place covered, row by row; files, for scorers open files."""
    width, height = image.size
    paint = tuple(int(part) for part in np.asarray(image).reshape(-1, 3).mean(axis=0).round())
    for row in range(grid):
        for column in range(grid):
            box = (width * column // grid, height * row // grid,
                   width * (column + 1) // grid, height * (row + 1) // grid)  # fmt: skip
            covered = image.copy()
            if box[2] > box[0] and box[3] > box[1]:
                covered.paste(paint, box)
            path = folder / f"{row}-{column}.png"
            covered.save(path, compress_level=1)
            yield path


# -- for a scoring service ---------------------------------------------------------------------------------------------


class Neighborhood:
    """The judged pictures of a study as the vectors of one model."""

    def __init__(self, judged_study: JudgedStudy, model: str, vectors: Mapping[str, Vectors]) -> None:
        self.judged, self.model, self.vectors = judged_study, model, vectors

    def nearest(self, looked: ModelAnswer, sha: str, k: int) -> tuple[tuple[Neighbor, ...], str]:
        """The k nearest, or none and why: another model may be serving by now."""
        own = looked.vectors.get(self.model)
        if own is None:
            return (), f"neighbours are known by the vectors of {self.model}, which does not serve now"
        apart = distances(own, self.vectors)
        places = nearest(apart, k, copies=[item_hash == sha for item_hash in self.judged.hashes])
        return tuple(self._neighbor(number, float(apart[number])) for number in places), ""

    def _neighbor(self, number: int, apart: float) -> Neighbor:
        item = self.judged.items[number]
        opinions = rater_opinions(self.judged.study, self.judged.numbers[number])
        return Neighbor(item=item.id, image=item.image, prompt=item.prompt, distance=apart, said=opinions)


def open_neighborhood(study: Path, model: Path, *, device: str | None = None) -> Neighborhood:
    """The neighbourhood of a study's judged pictures under the model in a folder; BadValue unless it is of heads."""
    judged_study = open_judged_study(open_study(study), study)
    if not judged_study.items:
        raise BadValue("a study with judged pictures is needed", found="none", where=str(study))
    name, vectors = _picture_vectors(model, device, [judged_study.path(item) for item in judged_study.items])
    if vectors is None:
        raise BadValue("a model of heads is needed for neighbours", found=f"{name}, a reward model")
    return Neighborhood(judged_study, name, vectors)


class MeasuringWorker:
    """Measures pictures that were sent, one after the other: reading the text in one takes a second or more."""

    def __init__(self, study: Path | None = None) -> None:
        self.study = study
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="salon-measure")
        self._kept = RecentValues()  # what strangers send is not kept on the disk

    def measured(self, picture: SentPicture) -> tuple[list[PictureMeasurement], list[str]]:
        """All measurements of a picture, where they stand in the study, and notes; call it on `thread`."""
        with tempfile.TemporaryDirectory(prefix="salon-") as folder:
            path = Path(folder) / "picture"
            path.write_bytes(picture.data)
            return measure_picture(path, picture.prompt, list(MEASUREMENTS), self.study, self._kept)
