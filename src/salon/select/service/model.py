"""One scoring model: several scorers and trained models served as one, under a version that names what it computes.

Two models with the same version give the same numbers: the version is made of the signatures of all criteria. Loading,
warming up and scoring happen on one thread of the model's own, so that two models can live side by side. Each part
takes decoded pictures with their prompts and gives a number, or the reason why there is none, for each of its criteria.

What the service may say instead of an answer:

SalonError
├── InputError
│   └── BadPicture         one of the pictures sent cannot be read
├── UnknownVersion         no model of that version is loaded
├── LoadFailed             a model could not be loaded; what served before serves on
├── LoadRefused            a model that may not be loaded over HTTP
├── LoadInProgress         another model is being loaded
├── QueueFull              more pictures wait than may; says how long to wait
└── DeadlineExceeded       no answer within the time a request has
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from PIL import Image
from pydantic import Field
from scipy.special import expit

from salon.errors import BadFile, BadValue, InputError, SalonError
from salon.judge import (
    RELEASED,
    MissingScore,
    PictureScore,
    PictureScorer,
    ScoreResult,
    ScorerInput,
    ScoreSettings,
    expand_raters,
    make_scorer,
    scorer_names,
    split_model_name,
)
from salon.models import FileStamp, ResultCache, Vectors, file_stamp, is_one_pass, list_files, model_files
from salon.study import Noun, Prompt, ScorerCard


class BadPicture(InputError):
    """One of the pictures sent cannot be read."""


class UnknownVersion(SalonError):
    """No model of that version is loaded."""


class LoadFailed(SalonError):
    """A model could not be loaded; what served before serves on."""


class LoadRefused(SalonError):
    """A model that may not be loaded over HTTP."""


class LoadInProgress(SalonError):
    """Another model is being loaded."""


class QueueFull(SalonError):
    """More pictures wait than may."""

    def __init__(self, found: str, *, wait: float) -> None:
        self.wait = max(1, math.ceil(wait))
        super().__init__("fewer requests at once are needed", found=found, remedy=f"try again in {self.wait} seconds")


class DeadlineExceeded(SalonError):
    """No answer within the time a request has."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"an answer within {seconds:g} seconds is needed",
            found="none yet",
            remedy="send fewer pictures at once, or try again when the service has less to do",
        )


# -- parts -------------------------------------------------------------------------------------------------------------


class ServedCriterion(Noun):
    """One number that a scoring model gives."""

    criterion: str
    """Id of the criterion; the scorer's name where it was made for none, or where two scorers speak of one."""
    scorer: str
    card: ScorerCard
    signature: str
    scale: str | None = None
    """Numbers with the same words here may be added as they stand."""
    flag: bool = False
    """Of a model's flag head: says what to hold back, not what is better."""


@dataclass(frozen=True)
class DecodedPicture:
    """A decoded picture and what it was made for."""

    image: Any
    sha256: str
    prompt: Prompt | None
    width: int = 0
    height: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelAnswer:
    """What a model says of one picture with its prompt."""

    results: Mapping[str, ScoreResult]
    """By criterion."""
    vectors: Mapping[str, Mapping[str, Vectors]] = field(default_factory=dict, repr=False)
    """Of models of heads, by the model's name: one row for each part of the picture."""
    picture: DecodedPicture | None = None
    """Without its pixels."""


class ModelPart(Protocol):
    """A scorer or a trained model inside a scoring model."""

    criteria: tuple[ServedCriterion, ...]

    def look(self, opened: Sequence[DecodedPicture]) -> list[ModelAnswer]:
        """Numbers for each picture; those of others do not depend on it."""
        ...

    def chance(self, criterion: str, a: ModelAnswer, b: ModelAnswer, prompt: Prompt | None) -> float | str:
        """The chance that the first picture is preferred, or why there is none."""
        ...


def scorer_text(card: ScorerCard, prompt: Prompt | None) -> str | MissingScore:
    """What a scorer reads of a prompt, or why it cannot."""
    if card.reads == "image":
        return ""
    if prompt is None:
        return MissingScore("no prompt was sent, and the scorer reads one")
    try:
        return prompt.view(card.view)
    except BadValue as error:
        return MissingScore(f"{error.needed}: {error.found}")


class ScorerPart:
    """Any scorer of pictures."""

    def __init__(self, scorer: PictureScorer) -> None:
        self.scorer = scorer
        signature = str(scorer.signature)
        id = scorer.card.criterion or scorer.name
        served = ServedCriterion(criterion=id, scorer=scorer.name, card=scorer.card, signature=signature)
        self.criteria: tuple[ServedCriterion, ...] = (served,)

    def look(self, opened: Sequence[DecodedPicture]) -> list[ModelAnswer]:
        """Numbers for each picture."""
        texts = [scorer_text(self.scorer.card, picture.prompt) for picture in opened]
        inputs = [
            ScorerInput(picture.image, picture.prompt, text, Path(picture.sha256), picture.sha256)
            for picture, text in zip(opened, texts)
            if isinstance(text, str)
        ]
        results = iter(self.scorer.look(inputs))
        id = self.criteria[0].criterion
        return [ModelAnswer({id: next(results) if isinstance(text, str) else text}) for text in texts]

    def chance(self, criterion: str, a: ModelAnswer, b: ModelAnswer, prompt: Prompt | None) -> float | str:
        """The logistic function of the difference, for scorers whose numbers are logits."""
        card = self.scorer.card
        if not card.is_logit:
            return f"{self.scorer.name} gives numbers whose differences are no log-odds"
        left, right = a.results[criterion], b.results[criterion]
        if not isinstance(left, PictureScore) or not isinstance(right, PictureScore):
            return "a picture has no value"
        return float(expit((left.value - right.value) * (1 if card.higher_is_better else -1)))


# -- the model ---------------------------------------------------------------------------------------------------------

_NOT_SERVED = ("table:", "checklist:", "onepass:openai:")
_MOST_KEPT = 4096
_WARM_SIDE = 128

log = logging.getLogger("salon.scoring")


class LoadOrder(Noun):
    """What a scoring model is made of."""

    name: str = Field("model", min_length=1, max_length=100, description="What to call it.")
    scorers: tuple[str, ...] = Field((), description="Names of scorers, as in `salon score --list`.")
    models: tuple[str, ...] = Field((), description="Folders of models trained by salon.")


class RecentValues(ResultCache):
    """Values of the last pictures, in memory alone: what strangers send is not kept on the disk."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, Any] = OrderedDict()

    def many(self, keys: Iterable[str]) -> dict[str, Any]:
        """The values known of `keys`."""
        return {key: self._values[key] for key in keys if key in self._values}

    def keep(self, values: Mapping[str, Any]) -> None:
        """Remember values, and forget the oldest."""
        self._values.update(values)
        while len(self._values) > _MOST_KEPT:
            self._values.popitem(last=False)

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class ScoringModel:
    """A loaded scoring model."""

    order: LoadOrder
    parts: Sequence[ModelPart]
    criteria: tuple[ServedCriterion, ...]
    thread: ThreadPoolExecutor = field(repr=False)
    loaded_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    names: tuple[Mapping[str, str], ...] = ()
    """For each part: what it calls its criteria, to what they are called here."""
    files: Mapping[Path, FileStamp | None] = field(default_factory=dict, repr=False)
    """The files of its weights with their stamps from before they were read."""

    @property
    def version(self) -> str:
        """Twelve hex digits over the signatures of all criteria."""
        lines = sorted(f"{criterion.criterion}\n{criterion.signature}" for criterion in self.criteria)
        return hashlib.sha256("\n\n".join(lines).encode()).hexdigest()[:12]

    def changed_files(self) -> tuple[str, ...]:
        """Files of its weights that are new, gone or other than when they were read: to be loaded again."""
        now = _files(self.order)
        changed = [path for path in self.files.keys() | now.keys() if self.files.get(path) != now.get(path)]
        return tuple(f"{path.parent.name}/{path.name}" for path in sorted(changed))

    def look(self, opened: Sequence[DecodedPicture]) -> list[ModelAnswer]:
        """Numbers for each picture. A picture that makes a scorer fail has no numbers, and the others have theirs."""
        try:
            return self._look(opened)
        except Exception:
            if len(opened) > 1:
                return [self.look([entry])[0] for entry in opened]
            log.exception("a scorer failed on the picture %s", opened[0].sha256)
            lost = MissingScore("the scorer failed on this picture")
            return [ModelAnswer({entry.criterion: lost for entry in self.criteria}, {}, _without_pixels(opened[0]))]

    def _look(self, opened: Sequence[DecodedPicture]) -> list[ModelAnswer]:
        results: list[dict[str, Any]] = [{} for _ in opened]
        vectors: list[dict[str, Any]] = [{} for _ in opened]
        for part, names in zip(self.parts, self.names):
            for place, answer in enumerate(part.look(opened)):
                results[place] |= {names[id]: result for id, result in answer.results.items()}
                vectors[place] |= answer.vectors
        return [
            ModelAnswer(answer, rows, _without_pixels(picture))
            for answer, rows, picture in zip(results, vectors, opened)
        ]

    def chance(self, criterion: str, a: ModelAnswer, b: ModelAnswer, prompt: Prompt | None) -> float | str:
        """The chance that the first picture is preferred, or why there is none."""
        for part, names in zip(self.parts, self.names):
            for own, served_name in names.items():
                if served_name == criterion:
                    mine = [replace(answer, results={own: answer.results[served_name]}) for answer in (a, b)]
                    return part.chance(own, mine[0], mine[1], prompt)
        raise BadValue("a criterion that is served is needed", found=repr(criterion))

    def warm_up(self) -> None:
        """Look at one picture, so that the first request need not wait for what is loaded late."""
        gray = Image.new("RGB", (_WARM_SIDE, _WARM_SIDE), (120, 130, 140))
        prompt = Prompt(id="warm-up", text="a poster", intent="a poster", description="plain", aesthetics="gray")
        self._look([DecodedPicture(gray, "0" * 64, prompt)])

    def close(self) -> None:
        """End the model's thread."""
        self.thread.shutdown(wait=False)


def _without_pixels(opened: DecodedPicture) -> DecodedPicture:
    """Without its pixels."""
    return replace(opened, image=None)


def load_scoring(order: LoadOrder, settings: ScoreSettings | None = None) -> ScoringModel:
    """Load and warm up; LoadFailed says why it cannot be done. The work is done on the new model's thread."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="salon-model")
    try:
        return thread.submit(_load, order, settings or ScoreSettings(), thread).result()
    except BaseException:
        thread.shutdown(wait=False)
        raise


def _load(order: LoadOrder, settings: ScoreSettings, thread: ThreadPoolExecutor) -> ScoringModel:
    try:
        files = _files(order)
        model = replace(_build(order, settings, thread), files=files)
        model.warm_up()
        if changed := model.changed_files():
            raise BadFile(
                "weights that stay as they are while they are loaded are needed", found=f"{changed[0]} changed"
            )
    except SalonError as error:
        raise LoadFailed(
            f"the model {order.name!r} was not loaded: {error.needed}", found=error.found, where=error.where,
            remedy=error.remedy,
        ) from error  # fmt: skip
    except Exception as error:
        raise LoadFailed(
            f"the model {order.name!r} was not loaded", found=f"{type(error).__name__}: {error}"
        ) from error
    return model


def _build(order: LoadOrder, settings: ScoreSettings, thread: ThreadPoolExecutor) -> ScoringModel:
    if not order.scorers and not order.models:
        raise BadValue("a scorer or a model is needed", found="none", remedy="--scorer NAME or --model FOLDER")
    cache = RecentValues()
    scorer_words, heads = _split_order(order)
    parts: list[ModelPart] = [ScorerPart(_scorer(name, settings, cache)) for name in scorer_words]
    if heads:
        from salon.select.service import trained_part as trained  # torch only for those who need it

        parts += [trained.TrainedPart(folder, device=settings.device, criteria=criteria) for folder, criteria in heads]
    # what each criterion is called: by its id, and by the scorer's name where two scorers speak of one
    ids = Counter(criterion.criterion for part in parts for criterion in part.criteria)
    names_by_part = [
        {
            criterion.criterion: criterion.criterion if ids[criterion.criterion] == 1 else criterion.scorer
            for criterion in part.criteria
        }
        for part in parts
    ]
    count = Counter(name for part_names in names_by_part for name in part_names.values())
    if twice := [name for name, times in count.items() if times > 1]:
        raise BadValue("scorers of different names are needed", found=f"{twice[0]!r} twice")
    names = tuple(names_by_part)
    criteria = [
        criterion.model_copy(update={"criterion": part_names[criterion.criterion]})
        for part, part_names in zip(parts, names)
        for criterion in part.criteria
    ]
    return ScoringModel(order, parts, tuple(criteria), thread, names=names)


def _split_order(order: LoadOrder) -> tuple[list[str], list[tuple[Path, list[str]]]]:
    """Scorers that look at a picture by themselves; and models with the criteria wanted of them, none for all."""
    scorer_words = expand_raters([name for name in order.scorers if split_model_name(name) is None], ())
    picked: dict[Path, list[str]] = {}
    for folder, criterion in filter(None, map(split_model_name, order.scorers)):
        picked.setdefault(folder, []).extend([criterion] if criterion else ())
    heads = [*picked.items(), *((Path(folder), []) for folder in order.models)]
    for folder, criteria in heads:
        if is_one_pass(folder):
            scorer_words += scorer_names(folder, criteria)
    return scorer_words, [entry for entry in heads if not is_one_pass(entry[0])]


def _files(order: LoadOrder) -> dict[Path, FileStamp | None]:
    """The files of all weights that an order names by a folder, as they are now."""
    models = [*(split_model_name(name) for name in order.scorers), *((Path(folder), None) for folder in order.models)]
    paths = [path for parts in models if parts is not None for path in model_files(parts[0]).values()]
    for kind, _, place in (name.partition(":") for name in order.scorers):
        if kind in RELEASED and place and Path(place).exists():
            paths += list_files(Path(place)).values()
    return {path: file_stamp(path) for path in paths}


def _scorer(name: str, settings: ScoreSettings, cache: ResultCache) -> PictureScorer:
    scorer = None if name.startswith(_NOT_SERVED) else make_scorer(name, settings, cache)
    if not isinstance(scorer, PictureScorer):
        raise BadValue("a scorer that looks at pictures is needed", found=repr(name), remedy="salon score --list")
    return scorer
