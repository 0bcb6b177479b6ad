"""A studio whose pictures are in an object store: streamed, blind, bounded, and closed while the store is away."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from doors import Served, served

from salon.collect import Studio, StudioSettings
from salon.store import open_database
from salon.study import Study
from salon.web.app import create_app
from salon.web.settings import WebSettings


class ObjectServer:
    """The part of S3 that reading needs, over a folder; it can be out of order, and counts what was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.is_down, self.asked = folder, False, list[str]()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.reply(body=False)

            def do_GET(self) -> None:
                self.reply(body=True)

            def reply(self, *, body: bool) -> None:
                server.asked.append(self.path)
                path = server.folder / self.path.partition("?")[0].lstrip("/").removeprefix("posters/")
                if server.is_down or not path.is_file():
                    self.send_response(503 if server.is_down else 404)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                data = path.read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("ETag", '"x"')
                self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
                self.end_headers()
                if body:
                    self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObjectServer]:
    server = ObjectServer(tmp_path / "bucket")
    yield server
    server.close()


@pytest.fixture
def door(tmp_path: Path, store: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A studio whose pictures were moved into the bucket before it opened."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with served(tmp_path) as made:
        shutil.move(made.folder / "images", store.folder / "images")
        (made.folder / "pictures.toml").write_text(f'address = "s3://posters"\nendpoint = "{store.address}"\n')
        made.app = create_app(made.studio, WebSettings(folder=made.folder))
        yield made


def pictures_on(page: str) -> list[str]:
    return re.findall(r'<img src="(/i/[^"]+)"', page)


def test_raters_see_stored_pictures_and_nothing_names_them(door: Served, store: ObjectServer) -> None:
    zoe = door.client(door.zoe)
    answer = zoe.get("/")
    addresses = pictures_on(answer.text)
    assert len(addresses) == 2
    assert "secret-generator" not in answer.text
    assert store.address not in answer.text
    for address in addresses:
        picture = zoe.get(address)
        assert (picture.status_code, picture.headers["content-type"]) == (200, "image/webp")
        assert b"secret-generator" not in picture.content
        assert zoe.get(address.replace("-screen.webp", "-full.png")).status_code == 200
    assert door.client(door.max).get(addresses[0]).status_code == 404
    before = len(store.asked)
    assert zoe.get("/").status_code == 200
    assert zoe.get(addresses[0]).status_code == 200
    assert len(store.asked) == before, "what was read is on the disk"


def test_after_a_restart_addresses_stay(door: Served) -> None:
    zoe = door.client(door.zoe)
    addresses = pictures_on(zoe.get("/").text)
    door.app = create_app(door.studio, WebSettings(folder=door.folder))
    again = door.client(door.zoe)
    assert again.get(addresses[0]).status_code == 200
    assert pictures_on(again.get("/").text) == addresses


def test_the_owner_sees_the_gallery_without_waiting_for_the_store(door: Served, store: ObjectServer) -> None:
    owner = door.client(door.owner)
    page = owner.get("/owner/gallery").text
    assert store.asked == []
    addresses = re.findall(r'"(/i/[^"]+thumbnail.webp)"', page)
    assert len(set(addresses)) == 6
    assert owner.get(addresses[0]).status_code == 200


def test_while_the_store_is_away_no_question_is_shown_and_none_is_answered(door: Served, store: ObjectServer) -> None:
    store.is_down = True
    zoe = door.client(door.zoe)
    closed = zoe.get("/")
    assert closed.status_code == 503
    assert closed.headers["retry-after"] == "5"
    assert "again" in closed.text
    assert "secret" not in closed.text
    assert store.address not in closed.text
    asked = zoe.get("/api/next")
    assert asked.status_code == 503
    assert "pictures" not in asked.json()
    assert door.studio.database.read_study().counts.get("comparisons", 0) == 0
    store.is_down = False
    assert len(pictures_on(zoe.get("/").text)) == 2


def test_an_answer_during_an_outage_is_saved_once_and_the_next_question_waits(
    door: Served, store: ObjectServer
) -> None:
    zoe = door.script(door.zoe)
    task = zoe.get("/api/next").json()["id"]
    store.is_down = True
    shutil.rmtree(door.folder / ".pictures")
    shutil.rmtree(door.folder / ".variants")
    send = {"json": {"answers": {"overall": "left"}}, "headers": {"Idempotency-Key": "one-key-of-mine"}}
    assert zoe.post(f"/api/tasks/{task}/answer", **send).status_code == 503
    store.is_down = False
    again = zoe.post(f"/api/tasks/{task}/answer", **send).json()
    assert (again["saved"], again["repeated"]) == (1, True)
    assert door.studio.database.read_study().counts["comparisons"] == 1


@pytest.mark.parametrize(
    "image", ["file:///etc/passwd", "http://169.254.169.254/x.png", "s3://other/x.png", "../x.png"]
)
def test_an_item_that_names_another_place_is_not_fetched(
    tmp_path: Path, store: ObjectServer, door: Served, image: str
) -> None:
    study = door.studio.database.read_study()
    items = [item.model_copy(update={"image": image}) for item in study.nouns("items")]
    tables = {"prompts": list(study.nouns("prompts")), "items": items}
    with open_database(f"sqlite:///{tmp_path / 'other.db'}", create=True) as database:
        database.put_study(Study.build("other", study.criteria, tables=tables))
        settings = StudioSettings.model_validate(door.studio.settings.model_dump())
        studio = Studio(database, settings, door.folder)
        token = studio.invite("designers", 1)[0].token
        app = create_app(studio, WebSettings(folder=door.folder))
        other = Served(studio, app, door.folder, token, token, token, {})
        assert pictures_on(other.client(token).get("/").text) == []
        studio.close()
    assert store.asked == []


def test_sizes_on_the_disk_have_a_bound(door: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently used sizes go; the newest is always there to be sent."""
    swept: list[int] = []
    monkeypatch.setattr("salon.web.images.sweep_folder", lambda folder, most: swept.append(most))
    zoe = door.client(door.zoe)
    for address in pictures_on(zoe.get("/").text):
        assert zoe.get(address).status_code == 200
    assert swept == [1024 << 20] * 2
