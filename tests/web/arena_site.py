"""A public arena with small pictures, served on a port of its own, and visitors without a browser."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import uvicorn
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from salon.bench import BoardFitter, PublicArena, PublicArenaSettings, open_public_arena
from salon.store import save_study
from salon.study import Criterion, Item, Prompt, Study
from salon.web.arena.app import create_arena_app
from salon.web.arena.captcha import leading_zeros
from salon.web.arena.settings import ArenaWebSettings
from salon.web.server import listen

GENERATORS = ("ada-xl", "bo-turbo", "cy-vision", "di-render", "eve-paint")
QUICK = {"difficulty": 4, "least_seconds": 0.0, "votes_a_minute": 1000, "votes_an_hour": 100_000, "voters_a_day": 1000}


def draw_arena(folder: Path, *, prompts: int = 6, generators: tuple[str, ...] = GENERATORS) -> Study:
    """A study of colored pictures whose files and metadata name their generators."""
    items = [
        Item(id=f"{name}-{p}", prompt=f"p{p}", generator=name, image=f"pictures/{name}/{p}.png")
        for name in generators
        for p in range(prompts)
    ]
    asked = [Prompt(id=f"p{p}", text=f"A poster for concert number {p} at the harbor") for p in range(prompts)]
    criterion = Criterion(id="best", name="Overall", question="Which poster would you rather hang on your wall?")
    study = Study.build("Posters of the season", [criterion], tables={"prompts": asked, "items": items})
    save_study(study, folder)
    rng = np.random.default_rng(1)
    for item in items:
        said = PngInfo()
        said.add_text("Software", f"made by {item.generator}")
        path = folder / item.image
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 255, (6 + generators.index(item.generator), 9, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((360, 240), Image.Resampling.BICUBIC).save(path, pnginfo=said)
    return study


@contextmanager
def served_arena(folder: Path, db: str | None = None, *, web: dict[str, Any] | None = None,
                 **settings: Any) -> Iterator[tuple[str, PublicArena]]:  # fmt: skip
    """The address of an arena while it is served, and the arena."""
    with ExitStack() as stack:
        rules = PublicArenaSettings(**{"least_votes": 1} | settings)
        arena = stack.enter_context(open_public_arena(folder, db, rules, create=True))
        listening = stack.enter_context(listen("127.0.0.1", 0))
        port = listening.getsockname()[1]
        app = create_arena_app(arena, ArenaWebSettings(folder=folder, port=port, **QUICK | (web or {})))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}", arena
        finally:
            server.should_exit = True
            thread.join()


def solve(page: str) -> dict[str, str]:
    """The fields of a newcomer's form, its puzzle solved."""
    text, bits = re.search(r'name="puzzle" value="([^"]*)" data-bits="(\d+)"', page).groups()
    number = 0
    while leading_zeros(hashlib.sha256(f"{text}:{number}".encode()).digest()) < int(bits):
        number += 1
    return {"puzzle": text, "solution": str(number)}


class Visitor:
    """Somebody with a cookie jar."""

    def __init__(self, address: str, **headers: str) -> None:
        limits = httpx2.Limits(max_keepalive_connections=0)  # nothing is left open
        self.http = httpx2.Client(
            base_url=address, headers={"User-Agent": "test", **headers}, timeout=60, limits=limits
        )

    def enter(self) -> Visitor:
        """Agree, with the puzzle solved."""
        answer = self.http.post("/consent", data=solve(self.http.get("/").text))
        assert answer.status_code == 303, answer.text
        return self

    def ballot(self) -> tuple[str, str]:
        """The open ballot's token, and its page."""
        page = self.http.get("/vote").text
        return re.search(r'name="ballot" value="([^"]*)"', page)[1], page

    def vote(self, answer: str = "left", token: str | None = None) -> httpx2.Response:
        """Vote on the open ballot, or on that of a token."""
        return self.http.post("/vote", data={"ballot": token or self.ballot()[0], "answer": answer})

    def pictures(self) -> list[str]:
        """Addresses of the pictures of the open ballot."""
        return re.findall(r'<img src="([^"]*)"', self.ballot()[1])


def fit(arena: PublicArena) -> Any:
    """Fit and keep the board now."""
    return BoardFitter(arena).refit()
