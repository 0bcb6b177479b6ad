"""A small studio served to tests: two raters, an owner, six pictures."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from argon2 import PasswordHasher
from PIL import Image, PngImagePlugin
from starlette.testclient import TestClient

from salon.collect import Studio, StudioSettings
from salon.store import open_database, open_study, save_study
from salon.study import Criterion, Item, Prompt, Scale, Study
from salon.web.app import create_app
from salon.web.settings import WebSettings, write_password

BASE = "http://localhost:8000"
PLAIN: dict[str, Any] = {
    "times": {"prompt": 0, "compare": 0, "rate": 0, "guidelines": 0},
    "welcome": False,
    "cohorts": [
        {
            "id": "designers",
            "phases": [
                {"id": "main", "protocol": "compare", "criteria": ["overall"], "checks": {"repeats": 0}, "ties": False}
            ],
        }
    ],
}


@dataclass
class Served:
    """A studio, its app, and the tokens of those who may come in."""

    studio: Studio
    app: Any
    folder: Path
    zoe: str
    max: str
    owner: str
    names: dict[str, str]

    def client(self, token: str | None = None, **more: Any) -> TestClient:
        """A browser; with a token it has opened its link."""
        client = TestClient(self.app, base_url=BASE, raise_server_exceptions=False, follow_redirects=False, **more)
        client.portal = _loop()
        if token is not None:
            assert client.get(f"/enter/{token}").status_code == 303
        return client

    def script(self, token: str) -> TestClient:
        """A program that sends its token with every request."""
        return self.client(headers={"Authorization": f"Bearer {token}"})


def make_folder(folder: Path) -> Study:
    """A study of two prompts with three pictures each, whose files name their generator."""
    pictures = {
        Item(
            id=f"p{p}-{k}", prompt=f"p{p}", generator="secret-generator", image=f"images/secret-generator-{p}-{k}.png"
        ): (Image.new("RGB", (900, 600 + p), color))
        for p in range(2)
        for k, color in enumerate(("red", "green", "blue"))
    }
    prompts = [Prompt(id=f"p{p}", text="A poster of the sea") for p in range(2)]
    criteria = [Criterion(id="overall", scale=Scale(low=1, high=5, step=1))]
    study = Study.build("small", criteria, tables={"prompts": prompts, "items": list(pictures)})
    save_study(study, folder)
    (folder / "images").mkdir()
    note = PngImagePlugin.PngInfo()
    note.add_text("Software", "secret-generator")
    for item, picture in pictures.items():
        picture.save(folder / str(item.image), pnginfo=note)
    return study


@cache
def _loop() -> BlockingPortal:
    """One event loop for all requests, as in a server; a client left alone starts one, and its threads, for each."""
    opened = start_blocking_portal()
    atexit.register(opened.__exit__, None, None, None)
    return opened.__enter__()


@cache
def _made() -> Path:
    """A study with its new database, made once and copied for each test."""
    place = Path(mkdtemp(prefix="salon-doors-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    study = make_folder(place / "study")
    with open_database(f"sqlite:///{place / 'study' / 'studio.db'}", create=True) as database:
        database.put_study(study)
    return place / "study"


@contextmanager
def served(
    place: Path,
    settings: dict[str, Any] | None = None,
    password: str | None = None,
    url: str | None = None,
    **web: Any,
) -> Iterator[Served]:
    """A studio in the new folder `place`/study; `url` is that of an empty database, when it is to be another."""
    folder = Path(shutil.copytree(_made(), place / "study"))
    if password is not None:
        write_password(folder, PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(password))
    with open_database(url or f"sqlite:///{folder / 'studio.db'}") as database:
        if url is not None:
            database.put_study(open_study(folder))
        studio = Studio(database, StudioSettings.model_validate(PLAIN | (settings or {})), folder)
        zoe, max = studio.invite("designers", 2)
        app = create_app(studio, WebSettings(folder=folder, **web))
        names = {"zoe": zoe.rater, "max": max.rater}
        yield Served(studio, app, folder, zoe.token, max.token, database.new_link("owner"), names)
        studio.close()
