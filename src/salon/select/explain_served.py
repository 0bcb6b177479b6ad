"""What a scoring service knows beside its scores: judged pictures near those it is asked about, and measurements.

The study is looked at once, before it serves.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from salon.errors import BadValue
from salon.judge.measurements.table import MEASUREMENTS
from salon.models.embeddings import encode_pictures
from salon.models.encoder import Vectors
from salon.select.explain import Measured, Neighbour, distances, nearest
from salon.select.explain_near import measurements_of, said_of
from salon.select.explain_picture import JudgedStudy, judged_study
from salon.select.service.batch import Asked
from salon.select.service.model import Recent
from salon.select.service.parts import Looked
from salon.store.folder import open_study


class Neighbourhood:
    """The judged pictures of a study as the vectors of one model."""

    def __init__(self, judged: JudgedStudy, model: str, vectors: Mapping[str, Vectors]) -> None:
        self.judged, self.model, self.vectors = judged, model, vectors

    def nearest(self, looked: Looked, sha: str, k: int) -> tuple[tuple[Neighbour, ...], str]:
        """The k nearest, or none and why: another model may be serving by now."""
        own = looked.vectors.get(self.model)
        if own is None:
            return (), f"neighbours are known by the vectors of {self.model}, which does not serve now"
        apart = distances(own, self.vectors)
        found = nearest(apart, k, copies=[other == sha for other in self.judged.hashes])
        return tuple(self._neighbour(number, float(apart[number])) for number in found), ""

    def _neighbour(self, number: int, apart: float) -> Neighbour:
        item = self.judged.items[number]
        said = said_of(self.judged.study, self.judged.numbers[number])
        return Neighbour(item=item.id, image=item.image, prompt=item.prompt, distance=apart, said=said)


def neighbourhood(study: Path, model: Path, *, device: str | None = None) -> Neighbourhood:
    """The neighbourhood of a study's judged pictures under the model in a folder; BadValue unless it is of heads."""
    heads = importlib.import_module("salon.models.preference_model").HeadsModel  # torch only for those who need it
    loaded, _ = importlib.import_module("salon.judge.scorers.trained").opened(model, device)
    if not isinstance(loaded, heads):
        raise BadValue("a model of heads is needed for neighbours", found=f"{loaded.card.name}, a reward model")
    judged = judged_study(open_study(study), study)
    if not judged.items:
        raise BadValue("a study with judged pictures is needed", found="none", where=str(study))
    parts = [part.name for part in loaded.network.shape.parts]
    paths = [judged.path(item) for item in judged.items]
    return Neighbourhood(judged, loaded.card.name, encode_pictures(loaded.encoder, paths, parts=parts))


class Measuring:
    """Measures pictures that were sent, one after the other: reading the text in one takes a second or more."""

    def __init__(self, study: Path | None = None) -> None:
        self.study = study
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="salon-measure")
        self._kept = Recent()  # what strangers send is not kept on the disk

    def measured(self, asked: Asked) -> tuple[list[Measured], list[str]]:
        """All measurements of a picture, where they stand in the study, and notes; call it on `thread`."""
        with tempfile.TemporaryDirectory(prefix="salon-") as folder:
            path = Path(folder) / "picture"
            path.write_bytes(asked.data)
            return measurements_of(path, asked.prompt, list(MEASUREMENTS), self.study, self._kept)
