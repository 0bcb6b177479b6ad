"""A scoring service on a port of its own, for tests: real uvicorn, scorers that cost nothing, tiny pictures."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import uvicorn
from PIL import Image
from waiting import until

from salon.judge import MissingScore, PictureScore, PictureScorer, ScoreResult, ScorerInput, make_scorer
from salon.select import LoadOrder, ScoringService, ServiceSettings
from salon.select.service import model as scoring_model
from salon.study import ScorerCard, Signature
from salon.web import server as run
from salon.web.scoring import models as routes_models
from salon.web.scoring.access import new_token
from salon.web.scoring.app import create_scoring_app
from salon.web.scoring.settings import SCOPES, ScoringSettings

NAMES = ("gray", "held", "dark", "sure", "words", "wide", "broken")
POISON = 13
"""The gray of pictures on which the scorer `gray` fails."""


_REAL = uvicorn.Server


@dataclass
class Watched:
    """What the scorers of a test were shown."""

    batches: list[int]
    gate: threading.Event
    """While it is not set, the scorer `held` waits."""
    warm: bool = False
    """Whether `held` has looked once: it never waits at its warm-up."""


def _gray(one: ScorerInput) -> float:
    value = float(np.asarray(one.image.convert("L")).mean())
    if round(value) == POISON:
        raise RuntimeError("this picture is poison")
    return value


def _named(watched: Watched) -> Callable[..., PictureScorer]:
    def held(shown: Sequence[ScorerInput]) -> list[ScoreResult]:
        watched.gate.wait(20 if watched.warm else 0)
        watched.warm = True
        return gray(shown)

    def gray(shown: Sequence[ScorerInput]) -> list[ScoreResult]:
        watched.batches.append(len(shown))
        return [PictureScore(_gray(one)) for one in shown]

    looks = {
        "gray": gray,
        "held": held,
        "dark": lambda shown: [PictureScore(255 - _gray(one)) for one in shown],
        "sure": lambda shown: [PictureScore(_gray(one) / 50, 0.5) for one in shown],
        "words": lambda shown: [
            PictureScore(float(len(one.text))) if one.text != "x" else MissingScore("x") for one in shown
        ],
        "wide": lambda shown: [PictureScore(float(one.image.width)) for one in shown],
    }

    def named(name: str, settings: Any = None, kept: Any = None) -> Any:
        if ":" in name:
            return make_scorer(name, settings, kept)
        if name == "broken":
            raise RuntimeError("no such weights: /srv/models/secret/w.bin")
        reads = "image and prompt" if name == "words" else "image"
        card = ScorerCard(reads=reads, is_logit=name == "sure", measures=f"{name}.", higher_is_better=name != "dark")
        return PictureScorer(name, card, Signature(method=f"test-{name}", version="1"), looks[name], batch=1024)

    return named


def png(gray: int = 100, size: tuple[int, int] = (8, 8), mode: str = "RGB") -> bytes:
    """A picture of one gray."""
    target = io.BytesIO()
    Image.new("L", size, gray).convert(mode).save(target, "PNG")
    return target.getvalue()


def b64(data: bytes) -> dict[str, str]:
    """A picture as JSON takes it."""
    return {"base64": base64.b64encode(data).decode()}


@dataclass
class Served:
    """A running service."""

    app: Any
    service: ScoringService
    url: str
    tokens: dict[str, str]
    watched: Watched
    folder: Path
    server: uvicorn.Server

    def client(self, token: str | None = "all", **more: Any) -> httpx2.Client:
        """A client with a token."""
        headers = {} if token is None else {"Authorization": f"Bearer {self.tokens[token]}"}
        return httpx2.Client(base_url=self.url, headers=headers, **{"timeout": 30, **more})


@contextmanager
def serving(
    folder: Path,
    scorers: Sequence[str] = ("gray",),
    *,
    flows: dict[str, Any] | None = None,
    **web: Any,
) -> Iterator[Served]:
    """A service in `folder`; `web` is for its settings and app."""
    patch, watched = pytest.MonkeyPatch(), Watched([], threading.Event())
    watched.gate.set()
    named = _named(watched)
    patch.setattr(scoring_model, "make_scorer", named)
    patch.setattr(
        routes_models, "MEASUREMENTS", dict.fromkeys(("gray", "held", "dark", "sure", "words", "wide", "broken"), "")
    )
    tokens = {name: new_token(folder, name, scopes) for name, scopes in
              (("all", SCOPES), ("score", ("score",)), ("admin", ("admin",)))}  # fmt: skip
    app_options = {name: web.pop(name) for name in ("decisions", "reference", "gates") if name in web}
    service = ScoringService(ServiceSettings(**{"decoders": 2, **(flows or {})}))
    service.open(LoadOrder(scorers=tuple(scorers)))
    listening = run.listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    settings = ScoringSettings(folder=folder, port=port, **web)
    app = create_scoring_app(service, settings, **app_options)
    with _running(app, settings, listening, patch) as server:
        yield Served(app, service, f"http://127.0.0.1:{port}", tokens, watched, folder, server)
    patch.undo()


@contextmanager
def _running(
    app: Any, settings: ScoringSettings, listening: Any, patch: pytest.MonkeyPatch
) -> Iterator[uvicorn.Server]:
    servers: list[uvicorn.Server] = []
    patch.setattr(_REAL, "capture_signals", lambda self: nullcontext())  # only the main thread may have them
    patch.setattr(uvicorn, "Server", lambda config: servers.append(_REAL(config)) or servers[0])
    thread = threading.Thread(target=run.serve_app, args=(app, settings, listening), daemon=True)
    thread.start()
    until(lambda: (servers and servers[0].started) or not thread.is_alive(), "a scoring service that listens")
    assert thread.is_alive(), "the scoring service ended before it listened"
    try:
        yield servers[0]
    finally:
        servers[0].should_exit = True
        thread.join(timeout=60)
        listening.close()
    assert not thread.is_alive(), "the scoring service did not stop"
