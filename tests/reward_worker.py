"""Four processes that share out pictures; numbers as hexadecimal floats.

Their folder holds a model of two criteria (`make_model`), reference.json and pictures. The process of a rank scores its
share of every dealing, each with an empty cache. They are forked, for to import the libraries takes longer than all the
rest.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from waiting import LONGEST

from salon.flows.select.reward import reward
from salon.models import preference_model
from salon.models.encoder import EncoderPart, Vectors
from salon.models.preference import Criterionwise, ModelCard
from salon.models.preference_heads import HeadShape, PreferenceHeads
from salon.study.signature import Signature

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
    criteria = tuple(Criterionwise(id=id, name=id, view=()) for id in ("taste/mood", "taste/color"))
    card = ModelCard(
        kind="heads", criteria=criteria, name="tiny", backbone="pixels", backbone_name="pixels", form="scalar",
        is_logit=True, study="s", data="0", licence="none", signature=Signature(method="test", version="test"),
    )  # fmt: skip
    shape = HeadShape(form="scalar", parts=(PART,), text_width=26, criteria=("taste/mood", "taste/color"), width=64)
    preference_model.save_heads(folder, PreferenceHeads(shape), card, readme="tiny")
    return folder


def shares(folder: Path, rank: int) -> dict[int, list[str]]:
    """By the number of processes: the rewards of this one's pictures."""
    preference_model.encoder_named = lambda name, **options: Pixels()
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


def dealt_to_four(folder: Path) -> list[dict[Any, Any]]:
    """Start them: what each found, by the number of processes."""
    fork = multiprocessing.get_context("fork")
    ends = []
    for rank in range(max(DEALINGS)):
        here, there = fork.Pipe(duplex=False)
        fork.Process(target=_send, args=(folder, rank, there), daemon=True).start()
        there.close()  # so that the end of a process that fails is seen here
        ends.append(here)
    return [_received(one) for one in ends]


def _received(end: Any) -> dict[Any, Any]:
    assert end.poll(LONGEST), "a process has sent nothing"
    return end.recv()
