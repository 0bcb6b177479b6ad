"""One shape of error for programs, one page for people, and nothing about the inside of the server."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from doors import Served, served

from salon.collect import TooEarly
from salon.errors import BadFile, BadValue, NotIdentified, SalonError
from salon.store.database import connection as database
from salon.web import errors

SECRET = "/home/owner/.studio/secret"
SHAPE = {"error", "needed", "found", "where", "remedy", "request"}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("errors")) as made:
        yield made


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (database.NotYours("x"), 404),
        (database.AlreadyAnswered("x"), 409),
        (database.BadLink("x"), 401),
        (database.NotActive("x"), 403),
        (TooEarly(2.5), 425),
        (BadValue("x"), 422),
        (NotIdentified("x"), 422),
        (BadFile("x"), 500),
        (SalonError("x"), 500),
        (database.WrongSchema("x"), 500),
    ],
)
def test_each_error_has_its_status(error: SalonError, status: int) -> None:
    assert errors.status_of(error) == status


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError(SECRET), 500),
        (BadFile("a file is needed", where=SECRET), 500),
        (database.Unavailable("a database is needed", where=SECRET), 503),
        (SalonError("odd", found=SECRET), 500),
    ],
)
@pytest.mark.parametrize("path", ["/api/next", "/enter/x"])
def test_faults_tell_nothing_but_a_number_that_the_log_knows(
    door: Served, monkeypatch, caplog, path: str, error: Exception, status: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(door.studio.database, "who", fail)
    client = door.client(headers={"Authorization": f"Bearer {door.zoe}"})
    with caplog.at_level(logging.ERROR, "salon.web"):
        answer = client.get(path)
    assert answer.status_code == status
    assert not any(word in answer.text for word in ("secret", "Traceback", "odd", "RuntimeError"))
    number = answer.headers["x-request-id"]
    assert number in answer.text
    assert number in caplog.text
    assert SECRET in caplog.text
    assert answer.headers["content-security-policy"]


def test_programs_get_json_and_people_a_page(door: Served) -> None:
    client = door.client()
    for path, status in [("/api/nowhere", 404), ("/api/next", 401)]:
        answer = client.get(path)
        assert (answer.status_code, set(answer.json())) == (status, SHAPE)
    assert client.delete("/api/next").json()["error"] == "WrongMethod"
    page = client.get("/nowhere")
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>Nothing here</h1>" in page.text
    assert "A page of this studio is needed." in page.text
    assert "<script" not in page.text
    assert "style=" not in page.text


def test_what_was_sent_is_never_part_of_a_page(door: Served) -> None:
    evil = "<script>alert(1)</script>"
    client = door.client(door.zoe)
    for path in (f"/{evil}", f"/i/{evil}", f"/enter/{evil}", f"/static/{evil}"):
        assert "alert" not in client.get(path).text
    csrf = client.get("/api/me").json()["csrf"]
    wrong = client.post("/api/tasks/1/answer", json={evil: evil}, headers={"X-CSRF-Token": csrf})
    assert wrong.status_code == 422
    assert wrong.headers["content-type"] == "application/json"


def test_too_early_says_when(door: Served) -> None:
    answer = errors.error_response(TooEarly(2.5), "/api/tasks/1/answer", "id")
    assert (answer.status_code, answer.headers["retry-after"]) == (425, "3")
