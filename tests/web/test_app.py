"""The whole application: which routes there are, and that none is open by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import Served, served
from fastapi.routing import iter_route_contexts
from starlette.websockets import WebSocketDisconnect

from salon.report import ground
from salon.web.app import Readiness

OPEN = {
    "/healthz",
    "/favicon.ico",
    "/static/look.css",
    "/static/favicon.svg",
    "/login",
    "/enter/{token}",
    "/panel",
    "/panel/{key}",
    "/api/openapi.json",
}
"""What everyone may ask for."""


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("app")) as made:
        yield made


def routes(door: Served) -> list[tuple[str, str]]:
    """Every method and path, placeholders and all."""
    found = [(method, one.path) for one in iter_route_contexts(door.app.routes) for method in one.methods or ()]
    assert len(found) > 20
    return found


def filled(path: str) -> str:
    return path.replace("{task}", "1").replace("{name}", "x").replace("{token}", "x")


def test_without_a_session_nothing_is_open_but_the_door(door: Served) -> None:
    client = door.client()
    for method, path in routes(door):
        if path not in OPEN:
            assert client.request(method, filled(path)).status_code == 401, (method, path)


def test_no_session_changes_anything_without_its_csrf_token(door: Served) -> None:
    for token in (door.zoe, door.owner):
        client = door.client(token)
        for method, path in routes(door):
            if method not in ("GET", "HEAD"):
                answer = client.request(method, filled(path), data={"password": "x"})
                assert answer.status_code == 403, (method, path)
                assert "page of this studio" in answer.text


def test_owners_and_raters_have_routes_of_their_own(door: Served) -> None:
    shared = {"/logout", "/api/me", "/i/{name}"}
    for token, own in [(door.zoe, False), (door.owner, True)]:
        client = door.script(token)
        for method, path in routes(door):
            if path not in OPEN | shared and path.startswith(("/api/owner", "/owner", "/adjudicate")) != own:
                assert client.request(method, filled(path)).status_code == 403, (method, path)


def test_health_says_no_while_nothing_can_be_saved(tmp_path: Path) -> None:
    with served(tmp_path) as door:
        now = [0.0]
        door.app.state.readiness = Readiness(door.studio.database, clock=lambda: now[0])
        client = door.client()
        assert client.get("/healthz").status_code == 200
        with door.studio.database.engine.connect() as connection:  # a disk that is full or read-only refuses likewise
            connection.exec_driver_sql("PRAGMA query_only=ON")
        assert client.get("/healthz").status_code == 200, "looked at once a second"
        now[0] = 1
        answer = client.get("/healthz")
        assert (answer.status_code, answer.json()) == (503, {"ok": False})


def test_head_answers_like_get_without_a_body(door: Served) -> None:
    client = door.client(door.zoe)
    for path in ("/", "/healthz", "/login", "/static/base.css", "/api/me", "/nowhere"):
        head, whole = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (whole.status_code, b""), path
        assert head.headers["content-type"] == whole.headers["content-type"]


def test_health_icon_and_static_files(door: Served) -> None:
    client = door.client()
    assert client.get("/healthz").json() == {"ok": True}
    assert client.get("/favicon.ico").headers["content-type"].startswith("image/svg+xml")
    for path in ("/static/base.css", "/static/look.css"):
        sheet = client.get(path)
        assert sheet.headers["content-type"].startswith("text/css")
        assert sheet.headers["cache-control"] == "no-cache"
        again = client.get(path, headers={"If-None-Match": sheet.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert sheet.text == ground(), "the studio stands on the ground of the reports"
    assert client.get("/static/").status_code == 404, "no list of files"


def test_nobody_is_offered_a_websocket(door: Served) -> None:
    with pytest.raises(WebSocketDisconnect), door.client().websocket_connect("/api/next"):
        pass


def test_the_login_page_needs_no_script_and_no_inline_style(door: Served) -> None:
    page = door.client().get("/login").text
    assert 'type="password"' in page
    assert "“salon serve”" in page  # in plain words: nothing here reads Markdown
    assert "<script" not in page
    assert "style=" not in page
