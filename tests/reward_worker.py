"""Four processes that share out pictures: python reward_worker.py FOLDER, numbers as hexadecimal floats.

FOLDER holds a model of two criteria (`make_model`), reference.json and pictures. The process of a rank scores its share
of every dealing, each with an empty cache. They are forked before anything is loaded but the libraries, whose import
takes longer than all the rest.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas  # noqa: F401  before the fork: pyarrow loads it at the first table
import torch
from PIL import Image

from salon.judge import trained_model as trained  # noqa: F401  before the fork: its libraries are loaded once
from salon.models import EncoderPart, HeadShape, ModelCard, ModelCriterion, PreferenceHeads, Vectors, preference_model
from salon.select import reward
from salon.study import Signature

DEALINGS = (1, 2, 4)
PART = EncoderPart("pixels", 192, False)


class Pixels:
    """An encoder: the picture at 8 x 8, and letters counted."""

    name = signature = "pixels"
    text_width, parts, licence = 26, (PART,), "none"

    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        return np.stack([np.asarray(one.resize((8, 8)), np.float32).ravel() / 255 for one in images])

    def texts(self, texts: Sequence[str]) -> Vectors:
        return np.array([[text.count(chr(97 + n)) for n in range(26)] for text in texts], np.float32)


def make_model(folder: Path) -> Path:
    """Heads of two criteria, as training leaves them but for the training."""
    torch.manual_seed(3)
    criteria = tuple(ModelCriterion(id=id, name=id, view=()) for id in ("taste/mood", "taste/color"))
    card = ModelCard(
        kind="heads", criteria=criteria, name="tiny", backbone="pixels", backbone_name="pixels", form="scalar",
        is_logit=True, study="s", data="0", licence="none", signature=Signature(method="test", version="test"),
    )  # fmt: skip
    shape = HeadShape(form="scalar", parts=(PART,), text_width=26, criteria=("taste/mood", "taste/color"), width=64)
    preference_model.save_heads(folder, PreferenceHeads(shape), card, readme="tiny")
    return folder


def shares(folder: Path, rank: int) -> dict[int, list[str]]:
    """By the number of processes: the rewards of this one's pictures."""
    preference_model.open_encoder = lambda name, **options: Pixels()
    pictures = sorted((folder / "pictures").iterdir())
    prompts = [f"a poster about {path.stem}" for path in pictures]
    found = {}
    for processes in (number for number in DEALINGS if rank < number):
        with tempfile.TemporaryDirectory() as cache:
            os.environ["SALON_CACHE"] = cache
            taste = reward(
                f"model:{folder}/model", weights="mood=3,color=1", reference=folder / "reference.json", clip=3
            )
            given = taste(pictures[rank::processes], prompts[rank::processes])
        found[processes] = [float(one or 0).hex() for one in given]
    return found


def _send(folder: Path, rank: int, end: Any) -> None:
    end.send({"pid": os.getpid(), **shares(folder, rank)})


def main(folder: Path) -> None:
    """Start them, and print what each found."""
    fork = multiprocessing.get_context("fork")
    ends = []
    for rank in range(max(DEALINGS)):
        here, there = fork.Pipe(duplex=False)
        fork.Process(target=_send, args=(folder, rank, there), daemon=True).start()
        there.close()  # so that the end of a process that fails is seen here
        ends.append(here)
    json.dump([_received(one) for one in ends], sys.stdout)


def _received(end: Any) -> dict[str, Any]:
    if not end.poll(100):
        sys.exit("a process has sent nothing for 100 s")
    return end.recv()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
