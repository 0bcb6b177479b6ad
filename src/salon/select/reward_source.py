"""A reward: pictures and prompts in, one number each out, higher being better.

    reward = Reward({"taste/mood": mood, "words": words}, weights={"taste/mood": 3, "words": 1}, reference=frozen)
    reward(pictures, prompts)          [0.31, None, -1.2]
    reward.judged(pictures, prompts)   the same with what each criterion added, for logs

Of a picture with scores x_d under the criteria d, of weights w_d (see `weights`) and frozen levels m_d, s_d:

    r = sum_d (w_d / sum w) clip(sign_d (x_d - m_d) / s_d)

Nothing in it depends on the other pictures of a call: no statistics of a batch, no running mean. Scorers are asked
about one picture at a time unless told otherwise, since networks round differently in company.
So the same picture with the same prompt has bit for bit the same reward, however pictures are dealt to processes.

A picture without a score under a criterion that counts has no reward: None, with the reason. Weights are not shared out
among the rest, since that would be another reward. A criterion of weight 0 is reported and decides nothing.

Calls may come from several threads; scorers are asked by one at a time. What a scorer raises is raised here, with a
note whose it is.

`reward` makes one from the words that name its scorers, as `salon score` names them:

    salon.reward("model:taste")                                              all criteria of a model
    salon.reward("model:taste@taste/mood", "words", weights="mood=3,words=1", reference="reference.json", clip=3)

Pictures come as trainers hold them:

    path                 str or Path: the file itself
    bytes                of a PNG, JPEG, WebP or GIF
    PIL image            any mode
    {"bytes", "path"}    as the library `datasets` keeps a picture that was not decoded
    array or tensor      numpy or torch, uint8 from 0 to 255 or floats from 0 to 1, 1, 3 or 4 channels: one picture, or
                         all pictures of a call in one with four axes

Channels stand first (CHW) or last (HWC). Where both ends could be the channels, torch has them first and numpy last.
Floats become bytes by round(255 x), as image pipelines do it. Further than .01 outside of 0 to 1 they are refused:
a picture from -1 to 1 would be scored as another picture. Pixels that are no finite numbers are what a network gives
when it overflows: such a picture has no score, and that is no error.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import math
import os
import struct
import tempfile
import threading
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from salon.errors import BadValue
from salon.judge import RaterSettings, ScoreSettings, expand_model, make_scorer
from salon.select.weights import Blend, ScoreReference, blend_columns, describe_scorer, read_reference, read_weights
from salon.study import Item, Prompt, Scorer, ScorerCard, Signature

Text = str | Prompt | None
"""A prompt as callers have it."""
_FILES_AT_ONCE = 64
"""Pictures that lie as files at the same time."""


@dataclass(frozen=True)
class RewardBatch:
    """Rewards of one call, with what they are made of; every list has one entry for each picture."""

    rewards: list[float | None]
    parts: dict[str, list[float | None]]
    """By criterion, what it added to the reward: its share times its clipped score in units of the reference."""
    scores: dict[str, list[float | None]]
    """By criterion, the scorer's own number."""
    reasons: list[str | None]
    """Why there is no reward."""

    @property
    def missing(self) -> int:
        """Pictures without a reward."""
        return sum(value is None for value in self.rewards)


class Reward:
    """One reward of one or several criteria; `scorers` by criterion, any that follow `salon.study.Scorer`."""

    def __init__(
        self,
        scorers: Scorer | Mapping[str, Scorer],
        *,
        weights: str | Mapping[str, float] | None = None,
        reference: ScoreReference | None = None,
        clip: float | None = None,
        equal: bool = False,
        alone: bool = True,
        name: str = "salon",
    ) -> None:
        """`clip` bounds each criterion's score, in standard deviations of the reference; `equal` declares that all
        criteria are on one scale and are added as they stand. Several criteria need one of a reference or `equal`.
        `alone` asks scorers about one picture at a time; without it networks look at many together."""
        self.scorers = dict(scorers) if isinstance(scorers, Mapping) else {criterion_of(scorers): scorers}
        if not self.scorers:
            raise BadValue("at least one scorer is needed for a reward", found="none")
        self.columns = [describe_scorer(scorer, id) for id, scorer in self.scorers.items()]
        self.blend: Blend = blend_columns(
            self.columns, read_weights(weights, list(self.scorers)), reference=reference, equal=equal
        )
        self.clip = _check_clip(clip, reference)
        self.name = self.__name__ = name
        self.alone, self._lock = alone, threading.Lock()
        self.signature = self._signature()

    def __call__(self, pictures: Any, prompts: Sequence[Text] | None = None) -> list[float | None]:
        """One number for each picture, None where it could not be scored."""
        return self.judged(pictures, prompts).rewards

    def each(self) -> dict[str, CriterionReward]:
        """One reward for each criterion that counts, for trainers that normalise or weigh several themselves.

            trainer = GRPOTrainer(model, reward_funcs=[trl_reward(one) for one in reward.each().values()], ...)

        Each gives the criterion's clipped score in units of the reference, without its weight. They share a cache by
        the content of picture and prompt: the first that is asked about a picture has all criteria scored.
        """
        cache = ScoreCache(self)
        return {term.criterion: CriterionReward(cache, term.criterion) for term in self.blend.terms if term.share > 0}

    def judged(self, pictures: Any, prompts: Sequence[Text] | None = None) -> RewardBatch:
        """Rewards with what each criterion added, and why a picture has none."""
        picture_list = each_picture(pictures)
        texts = _prompts(prompts, len(picture_list))
        values = np.full((len(picture_list), len(self.scorers)), np.nan)
        reasons: list[str | None] = [None] * len(picture_list)
        for start in range(0, len(picture_list), _FILES_AT_ONCE):
            part = slice(start, start + _FILES_AT_ONCE)
            values[part], reasons[part] = self._scored(picture_list[part], texts[part], start)
        parts = self._parts(values)
        totals = [math.fsum(row) for row in parts]  # the same sum whatever the order of the criteria
        rewards = [None if math.isnan(total) else total for total in totals]
        all_reasons = [
            None if r is not None else (why or "a scorer gave no number") for r, why in zip(rewards, reasons)
        ]
        return RewardBatch(rewards, _by(self.scorers, parts), _by(self.scorers, values), all_reasons)

    def _scored(
        self, pictures: list[Any], prompts: list[Prompt | None], start: int
    ) -> tuple[NDArray[np.float64], list[str | None]]:
        """(pictures, criteria) the scorers' own numbers, NaN where there is none, and why."""
        values = np.full((len(pictures), len(self.scorers)), np.nan)
        reasons: list[str | None] = [None] * len(pictures)
        with tempfile.TemporaryDirectory(prefix="salon-") as folder:
            entries = [picture_item(entry, Path(folder) / str(n), start + n) for n, entry in enumerate(pictures)]
            able = [n for n, entry in enumerate(entries) if isinstance(entry, Item)]
            items, texts = [entries[n] for n in able], [prompts[n] for n in able]
            for column, (id, scorer) in enumerate(self.scorers.items() if able else ()):
                for n, (value, why) in zip(able, self._asked(id, scorer, items, texts), strict=True):
                    values[n, column] = math.nan if value is None else value
                    if why is not None and self.blend.terms[column].share > 0:
                        reasons[n] = reasons[n] or f"{id}: {why}"
        for n, entry in enumerate(entries):
            reasons[n] = entry if isinstance(entry, str) else reasons[n]
        return values, reasons

    def _asked(
        self, id: str, scorer: Scorer, items: list[Any], prompts: list[Prompt | None]
    ) -> list[tuple[float | None, str | None]]:
        """Number and, where there is none, the reason, as far as the scorer gives one."""
        try:
            with self._lock:
                # An endpoint gets a request for each picture anyway, and many at once.
                together = 1 if self.alone and not getattr(scorer, "is_endpoint", False) else len(items)
                ask = getattr(scorer, "results", None) or scorer.score
                starts = range(0, len(items), together)
                results = [result for n in starts for result in ask(items[n : n + together], prompts[n : n + together])]
        except Exception as error:  # as it was raised, and with whose it is: nothing is scored in its place
            error.add_note(f"raised by the scorer {scorer.name!r} of {id!r}, asked about {len(items)} pictures")
            raise
        if len(results) != len(items):
            raise BadValue(
                "a scorer gives one number for each picture",
                found=f"{len(results)} for {len(items)}",
                where=f"scorer {scorer.name!r} of {id!r}",
            )
        return [_read_result(result) for result in results]

    def _parts(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(pictures, criteria) what each criterion adds; NaN where one that counts has no number."""
        added = self.blend.contributions(values)
        if self.clip is not None:
            most = self.clip * np.array([term.share for term in self.blend.terms])
            added = np.clip(added, -most, most)
        return added

    def _signature(self) -> Signature:
        identity = "\n".join(f"{id} {scorer.signature}" for id, scorer in self.scorers.items())
        settings: dict[str, Any] = {
            "weights": ",".join(f"{id}={share:g}" for id, share in self.blend.shares.items()),
            "scorers": hashlib.sha256(identity.encode()).hexdigest()[:12],
            "reference": self.blend.reference,
            "clip": self.clip,
            "alone": self.alone,
        }
        return Signature(method="reward", settings=settings)


# -- one criterion at a time -------------------------------------------------------------------------------------------

_MOST_CACHED = 16_384
"""Pictures whose scores are remembered, by `each`."""


class ScoreCache:
    """Scores of a reward's criteria by the content of picture and prompt; the last ones asked for are kept."""

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self._known: OrderedDict[str, tuple[dict[str, float | None], str | None]] = OrderedDict()
        self._lock = threading.Lock()

    def scores(
        self, pictures: list[Any], prompts: list[Prompt | None]
    ) -> list[tuple[dict[str, float | None], str | None]]:
        """The scorers' own numbers of each picture by criterion, and why it has no reward."""
        keys = [
            f"{picture_digest(picture)} {'' if prompt is None else prompt.model_dump_json()}"
            for picture, prompt in zip(pictures, prompts, strict=True)
        ]  # outside of the lock
        with self._lock:  # whoever asks for another criterion of the same pictures waits, and finds them
            places = {key: place for place, key in enumerate(keys) if key not in self._known}
            new = list(places.values())
            batch = self.reward.judged([pictures[n] for n in new], [prompts[n] for n in new])
            for row, key in enumerate(places):
                values = {id: scores[row] for id, scores in batch.scores.items()}
                self._known[key] = values, batch.reasons[row]
            results = [self._known[key] for key in keys]
            while len(self._known) > _MOST_CACHED:
                self._known.popitem(last=False)
        return results


class CriterionReward(Reward):
    """One criterion of a reward, with the scores of all of them shared."""

    def __init__(self, cache: ScoreCache, criterion: str) -> None:
        parent = cache.reward
        name = f"{parent.name}/{criterion}"
        super().__init__({criterion: parent.scorers[criterion]}, alone=parent.alone, name=name)
        term = next(term for term in parent.blend.terms if term.criterion == criterion)
        self.blend = parent.blend.model_copy(update={"terms": (term.model_copy(update={"share": 1.0}),)})
        self.clip, self._cache, self._criterion = parent.clip, cache, criterion
        self.signature = self._signature()

    def judged(self, pictures: Any, prompts: Sequence[Text] | None = None) -> RewardBatch:
        """Rewards under the criterion, scored once for all criteria."""
        picture_list = each_picture(pictures)
        known = self._cache.scores(picture_list, _prompts(prompts, len(picture_list)))
        scores = [values[self._criterion] for values, _ in known]
        table = np.array([math.nan if score is None else score for score in scores], float).reshape(-1, 1)
        (rewards,) = _by(self.scorers, self._parts(table)).values()
        reasons = [
            None if reward is not None else (why or "a scorer gave no number")
            for reward, (_, why) in zip(rewards, known)
        ]
        return RewardBatch(rewards, {self._criterion: rewards}, {self._criterion: scores}, reasons)


def picture_digest(picture: Any) -> str:
    """SHA-256 of what a picture is made of; of a file its bytes."""
    if isinstance(picture, Mapping):
        data = picture.get("bytes")
        return picture_digest(picture.get("path") if data is None else data)
    if isinstance(picture, str | os.PathLike):
        try:
            return hashlib.sha256(Path(picture).read_bytes()).hexdigest()
        except (OSError, ValueError):
            return f"unreadable {os.fspath(picture)!r}"
    if isinstance(picture, bytes | bytearray | memoryview):
        return hashlib.sha256(picture).hexdigest()
    if isinstance(picture, Image.Image):
        return hashlib.sha256(as_png(picture)).hexdigest()
    if _is_array(picture):
        pixels = _plain(picture)
        kind = f"{type(picture).__name__} {pixels.dtype} {pixels.shape} "
        return hashlib.sha256(kind.encode() + np.ascontiguousarray(pixels).tobytes()).hexdigest()
    return f"{type(picture).__name__}"


# -- with a gradient ---------------------------------------------------------------------------------------------------


class DifferentiableReward:
    """A reward whose numbers are a tensor with a gradient back to the pictures.

        reward = salon.reward("pickscore:weights", grad=True)
        loss = -reward(images, prompts).mean()          images (n, 3, height, width) from 0 to 1

    The same weights, reference and clipping as `Reward`; where a criterion is clipped its gradient is 0. Every
    criterion that counts needs a released scorer. Pictures are resized as tensors: docs/methods/scorers.md says how far
    the numbers are from those of files. What cannot be scored raises BadValue.
    """

    def __init__(self, reward: Reward) -> None:
        self.reward, self.name, self.signature = reward, reward.name, reward.signature
        for term in reward.blend.terms:
            scorer = reward.scorers[term.criterion]
            if term.share > 0 and "differentiable" not in inspect.signature(scorer.score).parameters:
                raise BadValue(
                    "scorers with a gradient are needed", found=scorer.name, where=term.criterion,
                    remedy="released scorers have one: clip, pickscore, hpsv2, laion, imagereward, mps, hpsv3, hpsv3++",
                )  # fmt: skip

    def __call__(self, images: Any, prompts: Sequence[Text] = ()) -> Any:
        """(n,) rewards."""
        return sum(self.parts(images, prompts).values())

    def parts(self, images: Any, prompts: Sequence[Text] = ()) -> dict[str, Any]:
        """By criterion, what it adds to the rewards: tensors (n,)."""
        parts = {}
        for term in self.reward.blend.terms:
            if term.share > 0:
                scorer: Any = self.reward.scorers[term.criterion]
                values = (scorer.score(images, prompts, differentiable=True) - term.center) * (term.sign / term.unit)
                clipped = values if self.reward.clip is None else values.clamp(-self.reward.clip, self.reward.clip)
                if not bool(clipped.isfinite().all()):
                    raise BadValue("finite scores are needed", found="others", where=f"scorer {scorer.name!r}")
                parts[term.criterion] = term.share * clipped
        return parts


def text_prompt(text: str) -> Prompt:
    """A prompt of which only the text is known: it is all of it, and the client's sentence too."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Prompt(id=digest, text=text, intent=text)


def criterion_of(scorer: Scorer) -> str:
    """What a scorer's numbers are called where several are weighed: its criterion, or its own name."""
    return getattr(scorer, "card", ScorerCard()).criterion or scorer.name


def _check_clip(clip: float | None, reference: ScoreReference | None) -> float | None:
    if clip is None:
        return None
    if reference is None:
        raise BadValue(
            "clipping is in standard deviations of a reference", found=f"clip {clip:g} and no reference",
            remedy="make one with salon select reference",
        )  # fmt: skip
    if not (math.isfinite(clip) and clip > 0):
        raise BadValue("clipping needs a number above 0", found=clip)
    return float(clip)


def _prompts(prompts: Sequence[Text] | None, count: int) -> list[Prompt | None]:
    if prompts is None:
        return [None] * count
    if isinstance(prompts, str) or len(prompts) != count:
        found = "one text" if isinstance(prompts, str) else f"{len(prompts)} prompts for {count} pictures"
        raise BadValue("one prompt for each picture is needed", found=found, remedy="a list of the same length")
    for number, text in enumerate(prompts):
        if text is not None and not isinstance(text, str | Prompt):
            raise BadValue(
                "a prompt is a text, a salon.Prompt or None", found=type(text).__name__, where=f"prompt {number}",
                remedy="the adapters take texts out of conversations",
            )  # fmt: skip
    return [text_prompt(text) if isinstance(text, str) else text for text in prompts]


def _read_result(result: Any) -> tuple[float | None, str | None]:
    """What a scorer said of one picture: a number, a result with value or reason, or nothing."""
    reason = getattr(result, "reason", None)
    value = None if reason is not None else getattr(result, "value", result)
    if value is None:
        return None, reason or "the scorer gave no number"
    if not math.isfinite(value):
        return None, f"the scorer gave {value}"
    return float(value), None


def _by(criteria: Mapping[str, Scorer], table: NDArray[np.float64]) -> dict[str, list[float | None]]:
    return {
        id: [None if math.isnan(value) else value for value in column] for id, column in zip(criteria, table.T.tolist())
    }


# -- by the names of scorers -------------------------------------------------------------------------------------------


@overload
def reward(
    *scorers: str | Scorer,
    weights: str | Mapping[str, float] | None = None,
    reference: str | Path | None = None,
    clip: float | None = None,
    equal: bool = False,
    alone: bool = True,
    name: str = "salon",
    device: str | None = None,
    batch: int = 8,
    endpoint: RaterSettings | None = None,
    grad: Literal[False] = False,
) -> Reward: ...


@overload
def reward(
    *scorers: str | Scorer,
    weights: str | Mapping[str, float] | None = None,
    reference: str | Path | None = None,
    clip: float | None = None,
    equal: bool = False,
    alone: bool = True,
    name: str = "salon",
    device: str | None = None,
    batch: int = 8,
    endpoint: RaterSettings | None = None,
    grad: Literal[True],
) -> DifferentiableReward: ...


def reward(
    *scorers: str | Scorer,
    weights: str | Mapping[str, float] | None = None,
    reference: str | Path | None = None,
    clip: float | None = None,
    equal: bool = False,
    alone: bool = True,
    name: str = "salon",
    device: str | None = None,
    batch: int = 8,
    endpoint: RaterSettings | None = None,
    grad: bool = False,
) -> Reward | DifferentiableReward:
    """A reward of the scorers named, each under its criterion; see `salon.select.reward_source.Reward`.

    `reference` is a file written by `salon select reference`. `batch` is how many pictures a network looks at together
    where `alone` is False. `endpoint` has the terms of scorers at endpoints: key, budget, concurrency. With `grad` the
    rewards of tensors have a gradient: `DifferentiableReward`.
    """
    opened = open_scorers(scorers, device=device, batch=batch, endpoint=endpoint)
    frozen = None if reference is None else read_reference(Path(reference))
    numbers = Reward(opened, weights=weights, reference=frozen, clip=clip, equal=equal, alone=alone, name=name)
    return DifferentiableReward(numbers) if grad else numbers


def open_scorers(
    scorers: Sequence[str | Scorer],
    *,
    device: str | None = None,
    batch: int = 8,
    endpoint: RaterSettings | None = None,
) -> dict[str, Scorer]:
    """Scorers by criterion (by their own name where they were made for none); a model's folder stands for all of its
    criteria but the flag. BadValue where two scorers speak of the same criterion."""
    settings = ScoreSettings(device=device, batch=batch, rater=endpoint or RaterSettings())
    names = [
        entry for text in scorers for entry in (expand_model(text, flag=False) if isinstance(text, str) else [text])
    ]
    by_criterion: dict[str, Scorer] = {}
    for entry in names:
        scorer = make_scorer(entry, settings) if isinstance(entry, str) else entry
        id = criterion_of(scorer)
        if id in by_criterion:
            raise BadValue(
                "one scorer for each criterion is needed", found=f"{by_criterion[id].name} and {scorer.name} for {id!r}"
            )
        by_criterion[id] = scorer
    return by_criterion


# -- pictures ----------------------------------------------------------------------------------------------------------

_CHANNELS = (1, 3, 4)
_SLACK = 0.01
"""How far outside of 0 to 1 a float may lie: decoders overshoot a little."""
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
"""Modes that a PNG holds as they are."""
_COLOR_TYPES = {"L": 0, "RGB": 2, "RGBA": 6}
"""Those that are written here, with their number in the format."""
_REMEDY = "a path, the bytes of a PNG or JPEG, a PIL image, or an array or tensor of numpy or torch"


def each_picture(pictures: Any) -> list[Any]:
    """The pictures of one call, one by one; an array or tensor with four axes is cut along the first."""
    if isinstance(pictures, str | bytes | os.PathLike | Image.Image | Mapping):
        raise BadValue("a list of pictures is needed", found=f"one {type(pictures).__name__}", remedy="[picture]")
    if _is_array(pictures):
        if len(pictures.shape) != 4:
            raise BadValue(
                "pictures as one array have four axes: NCHW or NHWC",
                found=f"shape {tuple(pictures.shape)}",
                remedy="a list of pictures, or array[None] for a single one",
            )
        return (
            list(_plain(pictures)) if isinstance(pictures, np.ndarray) else [pictures[n] for n in range(len(pictures))]
        )
    if not isinstance(pictures, Sequence):
        raise BadValue("a list of pictures is needed", found=type(pictures).__name__, remedy=_REMEDY)
    return list(pictures)


def picture_item(picture: Any, place: Path, number: int) -> Item | str:
    """The picture as an item whose image is a file, written to `place` where it is none yet; or why there is none.

    BadValue where it is nothing that a picture could be.
    """
    if picture is None:
        return "there is no picture"
    if isinstance(picture, Mapping):
        if not {"bytes", "path"} & set(picture):
            raise _no_picture(f"a record of {', '.join(map(repr, list(picture)[:5])) or 'nothing'}", number)
        data = picture.get("bytes")
        return picture_item(picture.get("path") if data is None else data, place, number)
    if isinstance(picture, str | os.PathLike):
        return Item(id=place.name, image=os.fspath(picture)) if os.fspath(picture) else "an empty path"
    if isinstance(picture, bytes | bytearray | memoryview):
        place.write_bytes(picture)
        return Item(id=place.name, image=str(place))
    if not isinstance(picture, Image.Image):
        if not _is_array(picture):
            raise _no_picture(type(picture).__name__, number)
        pixels = _bytes(picture, number)
        if isinstance(pixels, str):
            return pixels
        picture = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    place.write_bytes(as_png(picture))
    return Item(id=place.name, image=str(place))


def as_png(image: Image.Image) -> bytes:
    """The image as an uncompressed PNG: lossless, as fast to write as to copy, and the same bytes everywhere."""
    if image.mode in _COLOR_TYPES and "transparency" not in image.info:
        return _png(np.asarray(image), _COLOR_TYPES[image.mode])
    target = io.BytesIO()
    (image if image.mode in _PNG_MODES else image.convert("RGB")).save(target, "PNG", compress_level=0)
    return target.getvalue()


def _png(pixels: NDArray[np.uint8], color_type: int) -> bytes:
    """Rows without filters in blocks that are stored and not compressed (Pillow tries five filters for every row)."""
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + pixels.size // height), np.uint8)  # every row begins with the number of its filter, 0
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _is_array(picture: Any) -> bool:
    """An array of numpy or anything that says of itself how it becomes one, as tensors do."""
    return isinstance(picture, np.ndarray) or (hasattr(picture, "shape") and hasattr(picture, "detach"))


def _plain(picture: Any) -> NDArray[Any]:
    """As numpy, off any graph and device; bfloat16 is unknown to numpy."""
    if isinstance(picture, np.ndarray):
        return picture
    there = picture.detach().cpu()
    return np.asarray((there.float() if there.is_floating_point() else there).numpy())


def _bytes(picture: Any, number: int) -> NDArray[np.uint8] | str:
    """(height, width, channels) from 0 to 255, or why the picture has none."""
    pixels = _plain(picture)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or not pixels.size:
        raise _no_picture(f"shape {tuple(pixels.shape)}", number)
    first, last = pixels.shape[0] in _CHANNELS, pixels.shape[2] in _CHANNELS
    if not first and not last:
        raise _no_picture(f"shape {tuple(pixels.shape)} without 1, 3 or 4 channels at either end", number)
    image_bytes = pixels if pixels.dtype == np.uint8 else _from_floats(pixels, number)
    if isinstance(image_bytes, str):
        return image_bytes
    turned = first and not (last and isinstance(picture, np.ndarray))
    return np.ascontiguousarray(image_bytes.transpose(1, 2, 0) if turned else image_bytes)


def _from_floats(pixels: NDArray[Any], number: int) -> NDArray[np.uint8] | str:
    """round(255 x), or why there are no pixels."""
    if not np.issubdtype(pixels.dtype, np.floating):
        raise _no_picture(f"numbers of the kind {pixels.dtype}; uint8 or floats are needed", number)
    low, high = float(pixels.min()), float(pixels.max())  # either is NaN where any number is
    if not (math.isfinite(low) and math.isfinite(high)):
        return "its pixels are no finite numbers"
    if low < -_SLACK or high > 1 + _SLACK:
        raise BadValue(
            "floats of a picture lie from 0 to 1",
            found=f"{low:g} to {high:g}",
            where=f"picture {number}",
            remedy="(x / 2 + 0.5) brings -1 to 1 there, x / 255 brings 0 to 255",
        )
    scaled = pixels.astype(np.float32) * np.float32(255)
    np.rint(scaled, out=scaled)
    return np.clip(scaled, 0, 255, out=scaled).astype(np.uint8)


def _no_picture(found: str, number: int) -> BadValue:
    return BadValue("a picture is needed", found=found, where=f"picture {number}", remedy=_REMEDY)
