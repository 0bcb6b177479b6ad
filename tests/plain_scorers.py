"""Scorers that a fresh process can import, for tests of replicas: `python:plain_scorers:gray`."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from salon.judge import PictureScore, PictureScorer, ScoreResult, ScorerInput
from salon.study import ScorerCard, Signature

GATE = "SALON_TEST_GATE"
"""Names a file; while it is there, the scorer `gated` waits."""
KILLER = 13
"""The gray of pictures on which `mortal` kills its process."""


def gray_of(picture: ScorerInput) -> float:
    return float(np.asarray(picture.image.convert("L")).mean())


def _scorer(name: str, look: Any, *, reads: str = "image") -> PictureScorer:
    card = ScorerCard(reads=reads, is_logit=True, measures=f"{name}.")
    return PictureScorer(name, card, Signature(method=f"test-{name}", version="1"), look, batch=1024)


def gray(**_: Any) -> PictureScorer:
    return _scorer("gray", lambda shown: [PictureScore(gray_of(picture)) for picture in shown])


def words(**_: Any) -> PictureScorer:
    return _scorer(
        "words", lambda shown: [PictureScore(float(len(picture.text))) for picture in shown], reads="image and prompt"
    )


def gated(**_: Any) -> PictureScorer:
    def look(shown: Sequence[ScorerInput]) -> list[ScoreResult]:
        path = Path(os.environ[GATE])
        while path.exists():
            time.sleep(0.01)
        return [PictureScore(gray_of(picture)) for picture in shown]

    return _scorer("gated", look)


def mortal(**_: Any) -> PictureScorer:
    def look(shown: Sequence[ScorerInput]) -> list[ScoreResult]:
        values = [gray_of(picture) for picture in shown]
        if KILLER in (round(value) for value in values):
            os.kill(os.getpid(), signal.SIGKILL)
        return [PictureScore(value) for value in values]

    return _scorer("mortal", look)
