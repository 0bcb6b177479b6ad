"""What every request passes: its host, its rate, its size; and what every answer carries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import Served, served
from loops import awaited

from salon.errors import BadValue
from salon.web.errors import TooMany
from salon.web.guard import HEADERS, RequestGuard, address_of, host_name
from salon.web.limits import Buckets
from salon.web.settings import WebSettings, check_web_settings


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("guard"), most_body=2000) as made:
        yield made


# -- headers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/healthz", "/login", "/nowhere", "/api/next", "/api/nowhere", "/i/x", "/enter/x"])
def test_every_answer_carries_the_headers(door: Served, path: str) -> None:
    answer = door.client().get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert answer.headers["cache-control"] == "no-store"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "server" not in answer.headers


def test_a_request_id_is_ours_never_the_browsers(door: Served) -> None:
    sent = {"X-Request-Id": "evil\tvalue"}
    first, second = (door.client().get("/healthz", headers=sent).headers["x-request-id"] for _ in range(2))
    assert first != second
    assert "evil" not in first


def test_nothing_sent_comes_back_as_a_header(door: Served) -> None:
    for path in ("/enter/x%0d%0aSet-Cookie:%20a=b", "/%0d%0aX-Evil:%201", "/i/x%0d%0aX-Evil:%201"):
        answer = door.client().get(path)
        assert answer.status_code in (401, 404)
        assert not {"x-evil", "set-cookie"} & set(answer.headers)


# -- host -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("localhost@evil.example", 421),
        ("localhost:8000evil", 421),
        ("[::1", 421),
        ("", 421),
    ],
)
def test_the_studio_answers_under_its_own_names_only(door: Served, host: str, status: int) -> None:
    assert door.client().get("/healthz", headers={"Host": host}).status_code == status


def test_links_never_follow_the_host_header(tmp_path: Path) -> None:
    with served(tmp_path, base_url="https://studio.example.org", host="0.0.0.0") as door:
        client = door.client(headers={"Host": "studio.example.org", "X-Forwarded-Host": "evil.example"})
        bearer = {"Authorization": f"Bearer {door.owner}"}
        made = client.post("/api/owner/invite", json={"cohort": "designers"}, headers=bearer).json()
        assert made[0]["link"].startswith("https://studio.example.org/enter/")
        assert client.get("/healthz", headers={"Host": "localhost"}).status_code == 421


def test_names_in_host_headers() -> None:
    assert [host_name(host) for host in ("A.b:1", "[::1]", "a:b:c", "a b", "[x]y")] == ["a.b", "::1", "", "", ""]


@pytest.mark.parametrize(
    "settings",
    [{"host": "0.0.0.0"}, {"base_url": "ftp://x"}, {"base_url": "https://x/path"}, {"base_url": "https://a@x"}],
)
def test_addresses_that_cannot_be_served(settings: dict[str, str]) -> None:
    with pytest.raises(BadValue, match="--base-url"):
        check_web_settings(WebSettings(folder=Path(), **settings))


# -- size -----------------------------------------------------------------------------------------------------


def test_long_bodies_are_refused_whether_they_say_so_or_not(door: Served) -> None:
    client = door.client()
    assert client.post("/login", data={"password": "x" * 3000}).status_code == 413
    assert client.post("/login", content=iter([b"x" * 900] * 4)).status_code == 413
    assert client.post("/login", headers={"Content-Length": "-5"}).status_code == 413
    assert client.post("/login", data={"password": "x" * 1500}).status_code == 422, "longer than a password may be"


def test_long_addresses_and_headers_are_refused(door: Served) -> None:
    client = door.client()
    assert client.get("/" + "a" * 40_000).status_code == 413
    assert client.get("/healthz", params={"x": "a" * 40_000}).status_code == 413
    assert client.get("/healthz", headers={"Cookie": "salon=" + "a" * 40_000}).status_code == 413


def _send(folder: Path, receive) -> tuple[list[dict], list[bool]]:
    """What the guard sends, and whether the routes ran, for a body that comes from `receive`."""
    sent, ran = [], []

    async def app(scope, receive, send):
        ran.append(True)

    async def send(message):
        sent.append(message)

    guard = RequestGuard(app, WebSettings(folder=folder, body_seconds=0.1))
    scope = {"type": "http", "path": "/api/x", "headers": [(b"host", b"localhost")], "client": ("1.2.3.4", 5)}
    awaited(guard(scope, receive, send))
    return sent, ran


def test_a_body_that_never_ends_is_given_up(tmp_path: Path) -> None:
    async def trickle():
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"x", "more_body": True}

    sent, ran = _send(tmp_path, trickle)
    assert (sent[0]["status"], ran) == (413, [])


def test_half_a_body_is_no_answer(tmp_path: Path) -> None:
    parts = iter([{"type": "http.request", "body": b"half", "more_body": True}, {"type": "http.disconnect"}])

    async def broken():
        return next(parts)

    assert _send(tmp_path, broken) == ([], [])


# -- rate -----------------------------------------------------------------------------------------------------


def test_a_bucket_gives_its_burst_then_its_rate_and_forgets_the_oldest() -> None:
    now = [0.0]
    buckets = Buckets(2.0, 3, most=2, clock=lambda: now[0])
    for _ in range(3):
        buckets.take("a")
    with pytest.raises(TooMany) as refused:
        buckets.take("a")
    assert refused.value.wait == 1
    buckets.take("b")
    now[0] = 0.5  # one more of 2 a second
    buckets.take("a")
    with pytest.raises(TooMany):
        buckets.take("a")
    buckets.take("c")  # "b" was seen longest ago
    assert sorted(buckets._left) == ["a", "c"]


def test_one_session_and_one_address_are_slowed_down_and_no_other(tmp_path: Path) -> None:
    slow = {"session_rate": 0.001, "session_burst": 3, "address_rate": 0.001, "address_burst": 8}
    with served(tmp_path, **slow) as door:
        said = [door.script(door.zoe).get("/api/me").status_code for _ in range(4)]
        assert said == [200, 200, 200, 429]
        assert door.script(door.max).get("/api/me").status_code == 200
        said = [door.client().get("/healthz").status_code for _ in range(4)]
        assert said == [200, 200, 200, 429]
        assert door.client(client=("10.1.1.1", 1)).get("/healthz").status_code == 200


def test_an_ipv6_network_is_one_place() -> None:
    places = ("2001:db8::1", "2001:db8::ffff", "2001:db8:0:1::1", "10.0.0.1")
    found = [address_of({"client": (place, 1)}) for place in places]
    assert found[0] == found[1]
    assert len(set(found)) == 3
    assert address_of({}) == "unknown"
