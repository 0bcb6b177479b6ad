"""One scoring model: several scorers and trained models served as one, under a version that names what it computes.

Two models with the same version give the same numbers: the version is made of the signatures of all criteria. Loading,
warming up and scoring happen on one thread of the model's own, so that two models can live side by side.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PIL import Image
from pydantic import Field

from salon.errors import BadFile, BadValue, SalonError
from salon.judge.score import ScoreSettings
from salon.judge.scorers.named import RELEASED, scorer_named
from salon.judge.scorers.of_model import scorer_names, split_name
from salon.judge.scorers.picture import PictureScorer, Unscored
from salon.models.file_hashes import FileStamp, files_of, model_files, stamp
from salon.models.kept import Kept
from salon.models.one_pass import is_one_pass
from salon.select.service.errors import LoadFailed
from salon.select.service.parts import Looked, Opened, Part, ScorerPart, ServedCriterion
from salon.study.noun import Noun
from salon.study.prompt import Prompt

_NOT_SERVED = ("table:", "checklist:", "onepass:openai:")
_MOST_KEPT = 4096
_WARM_SIDE = 128

log = logging.getLogger("salon.scoring")


class LoadOrder(Noun):
    """What a scoring model is made of."""

    name: str = Field("model", min_length=1, max_length=100, description="What to call it.")
    scorers: tuple[str, ...] = Field((), description="Names of scorers, as in `salon score --list`.")
    models: tuple[str, ...] = Field((), description="Folders of models trained by salon.")


class Recent(Kept):
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
    parts: Sequence[Part]
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
        lines = sorted(f"{one.criterion}\n{one.signature}" for one in self.criteria)
        return hashlib.sha256("\n\n".join(lines).encode()).hexdigest()[:12]

    def changed_files(self) -> tuple[str, ...]:
        """Files of its weights that are new, gone or other than when they were read: to be loaded again."""
        now = _files(self.order)
        changed = [path for path in self.files.keys() | now.keys() if self.files.get(path) != now.get(path)]
        return tuple(f"{path.parent.name}/{path.name}" for path in sorted(changed))

    def look(self, opened: Sequence[Opened]) -> list[Looked]:
        """Numbers for each picture. A picture that makes a scorer fail has no numbers, and the others have theirs."""
        try:
            return self._look(opened)
        except Exception:
            if len(opened) > 1:
                return [self.look([one])[0] for one in opened]
            log.exception("a scorer failed on the picture %s", opened[0].sha256)
            lost = Unscored("the scorer failed on this picture")
            return [Looked({one.criterion: lost for one in self.criteria}, {}, _bare(opened[0]))]

    def _look(self, opened: Sequence[Opened]) -> list[Looked]:
        results: list[dict[str, Any]] = [{} for _ in opened]
        vectors: list[dict[str, Any]] = [{} for _ in opened]
        for part, names in zip(self.parts, self.names):
            for place, found in enumerate(part.look(opened)):
                results[place] |= {names[id]: result for id, result in found.results.items()}
                vectors[place] |= found.vectors
        return [Looked(found, rows, _bare(one)) for found, rows, one in zip(results, vectors, opened)]

    def chance(self, criterion: str, a: Looked, b: Looked, prompt: Prompt | None) -> float | str:
        """The chance that the first picture is preferred, or why there is none."""
        for part, names in zip(self.parts, self.names):
            for own, named in names.items():
                if named == criterion:
                    mine = [replace(one, results={own: one.results[named]}) for one in (a, b)]
                    return part.chance(own, mine[0], mine[1], prompt)
        raise BadValue("a criterion that is served is needed", found=repr(criterion))

    def warm_up(self) -> None:
        """Look at one picture, so that the first request need not wait for what is loaded late."""
        gray = Image.new("RGB", (_WARM_SIDE, _WARM_SIDE), (120, 130, 140))
        prompt = Prompt(id="warm-up", text="a poster", intent="a poster", description="plain", aesthetics="gray")
        self._look([Opened(gray, "0" * 64, prompt)])

    def close(self) -> None:
        """End the model's thread."""
        self.thread.shutdown(wait=False)


def _bare(opened: Opened) -> Opened:
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
        model = replace(_built(order, settings, thread), files=files)
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


def _built(order: LoadOrder, settings: ScoreSettings, thread: ThreadPoolExecutor) -> ScoringModel:
    if not order.scorers and not order.models:
        raise BadValue("a scorer or a model is needed", found="none", remedy="--scorer NAME or --model FOLDER")
    kept = Recent()
    named, heads = _sorted_out(order)
    parts: list[Part] = [ScorerPart(_scorer(name, settings, kept)) for name in named]
    parts += [_trained(folder, criteria, settings) for folder, criteria in heads]
    names = _names(parts)
    criteria = [
        one.model_copy(update={"criterion": known[one.criterion]})
        for part, known in zip(parts, names)
        for one in part.criteria
    ]
    return ScoringModel(order, parts, tuple(criteria), thread, names=names)


def _sorted_out(order: LoadOrder) -> tuple[list[str], list[tuple[Path, list[str]]]]:
    """Scorers that look at a picture by themselves; and models with the criteria wanted of them, none for all."""
    named = [name for name in order.scorers if split_name(name) is None]
    picked: dict[Path, list[str]] = {}
    for folder, criterion in filter(None, map(split_name, order.scorers)):
        picked.setdefault(folder, []).extend([criterion] if criterion else ())
    heads = [*picked.items(), *((Path(folder), []) for folder in order.models)]
    for folder, criteria in heads:
        if is_one_pass(folder):
            named += scorer_names(folder, criteria)
    return named, [one for one in heads if not is_one_pass(one[0])]


def _files(order: LoadOrder) -> dict[Path, FileStamp | None]:
    """The files of all weights that an order names by a folder, as they are now."""
    models = [*(split_name(name) for name in order.scorers), *((Path(folder), None) for folder in order.models)]
    paths = [path for named in models if named is not None for path in model_files(named[0]).values()]
    for kind, _, place in (name.partition(":") for name in order.scorers):
        if kind in RELEASED and place and Path(place).exists():
            paths += files_of(Path(place)).values()
    return {path: stamp(path) for path in paths}


def _scorer(name: str, settings: ScoreSettings, kept: Kept) -> PictureScorer:
    if name.startswith(_NOT_SERVED):
        raise BadValue("a scorer that looks at pictures is needed", found=repr(name), remedy="salon score --list")
    found = scorer_named(name, settings, kept)
    if not isinstance(found, PictureScorer):
        raise BadValue("a scorer that looks at pictures is needed", found=repr(name), remedy="salon score --list")
    return found


def _trained(folder: Path, criteria: Sequence[str], settings: ScoreSettings) -> Part:
    part: Part = importlib.import_module("salon.select.service.trained").TrainedPart(
        folder, device=settings.device, wanted=criteria
    )
    return part


def _names(parts: Sequence[Part]) -> tuple[Mapping[str, str], ...]:
    """What each criterion is called: by its id, and by the scorer's name where two scorers speak of one."""
    ids = Counter(one.criterion for part in parts for one in part.criteria)
    named = [{one.criterion: one.criterion if ids[one.criterion] == 1 else one.scorer for one in part.criteria}
             for part in parts]  # fmt: skip
    count = Counter(name for known in named for name in known.values())
    if twice := [name for name, times in count.items() if times > 1]:
        raise BadValue("scorers of different names are needed", found=f"{twice[0]!r} twice")
    return tuple(named)
