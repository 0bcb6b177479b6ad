"""Attacks below the application, on the server as `salon serve` runs it: what a raw connection can send."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
import uvicorn
from doors import Served, served
from waiting import until

from salon.errors import BadValue
from salon.web import server as run
from salon.web.server import RepeatLimit
from salon.web.settings import WebSettings, check_web_settings

HOST = b"Host: localhost\r\n"


@contextmanager
def server(folder: Path, **settings: object) -> Iterator[tuple[Served, int]]:
    """A studio behind uvicorn as `salon serve` runs it, with settings of its own."""
    servers: list[uvicorn.Server] = []
    real = uvicorn.Server
    with served(folder, **settings) as door:
        listening = run.listen("127.0.0.1", 0)
        web = WebSettings(folder=door.folder, **settings)
        thread = threading.Thread(target=run.serve_app, args=(door.app, web, listening), daemon=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(real, "capture_signals", lambda self: nullcontext())  # only the main thread may have them
            patch.setattr(uvicorn, "Server", lambda config: servers.append(real(config)) or servers[0])
            thread.start()
            until(lambda: servers and servers[0].started, "a studio that listens")
        yield door, listening.getsockname()[1]
        servers[0].should_exit = True
        thread.join(timeout=60)
        listening.close()


@pytest.fixture(scope="module")
def open_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, int]]:
    """A studio on a port of its own, and the server that listens there."""
    with server(tmp_path_factory.mktemp("server"), body_seconds=0.5, most_body=2000) as (door, port):
        yield door, port


def say(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """What comes back for bytes sent as they are, until the server ends the connection or falls silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        answer = bytearray()
        with suppress(OSError):  # who hangs up early has spoken before
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        with suppress(OSError):
            while more := connection.recv(65536):
                answer += more
                connection.settimeout(0.5)
        return bytes(answer)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def test_a_whole_request_is_answered_without_saying_by_whom(open_door) -> None:
    answer = say(open_door[1], b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    assert status(answer) == 200
    assert b"server:" not in answer.lower()
    assert b"content-security-policy:" in answer.lower()


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5, 6\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Content-Length: +5\r\n",
        b"X-Evil: a\x00b\r\n",
        b"X-Evil : a\r\n",
        b"Host: evil.example\r\n",
    ],
    ids=["two lengths", "lengths differ", "a list", "odd coding", "a sign", "NUL", "a space", "two hosts"],
)
def test_a_second_request_cannot_hide_in_the_first(open_door, head: bytes) -> None:
    """Where a proxy and a server disagree about the end of a request, the rest is taken for another's."""
    door, port = open_door
    hidden = b"0\r\n\r\nGET /enter/" + door.zoe.encode() + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    answer = say(port, b"POST /login HTTP/1.1\r\n" + HOST + head + b"\r\n" + hidden)
    assert b"set-cookie" not in answer.lower()
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert status(answer) in (0, 400, 413, 421, 422)


def test_a_body_that_trickles_is_given_up(open_door) -> None:
    head = b"POST /login HTTP/1.1\r\n" + HOST + b"Content-Type: application/x-www-form-urlencoded\r\n"
    answer = say(open_door[1], head + b"Content-Length: 500\r\n\r\n", *[b"x"] * 4, pause=0.2)
    assert status(answer) == 413


def test_a_body_that_lies_about_its_length_is_cut(open_door) -> None:
    chunk = b"%x\r\n%s\r\n" % (1500, b"x" * 1500)
    answer = say(open_door[1], b"POST /login HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n", chunk * 3)
    assert status(answer) == 413


@pytest.mark.parametrize(
    "line", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"A" * 100_000 + b"\r\n\r\n"]
)
def test_what_is_no_request_is_refused_and_the_studio_goes_on(open_door, line: bytes) -> None:
    assert status(say(open_door[1], line)) in (0, 400, 404, 413, 421)
    assert status(say(open_door[1], b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")) == 200


# -- connections that say nothing -------------------------------------------------------------------------------

HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
KEEP = HEALTH.replace(b"close", b"keep-alive")


def whole_answer(connection: socket.socket) -> bytes:
    """The answer of /healthz, head and body."""
    answer = b""
    while b"}" not in answer and (more := connection.recv(65536)):
        answer += more
    return answer


def closed(connection: socket.socket) -> bool:
    """Does the server end the connection, whatever it had still to say?"""
    connection.settimeout(10)
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def test_a_head_that_trickles_is_given_up_at_the_first_request_and_at_the_second(tmp_path: Path) -> None:
    with server(tmp_path, header_seconds=1) as (_, port), ExitStack() as stack:
        silent, slow, second = (stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(3))
        slow.sendall(b"GET /healthz HTTP/1.1\r\nX-A: ")
        second.sendall(KEEP)
        assert whole_answer(second).startswith(b"HTTP/1.1 200")
        assert closed(silent)
        assert closed(slow)
        time.sleep(0.5)  # resting between two requests for longer than a head may take is no fault
        second.sendall(KEEP)
        assert whole_answer(second).startswith(b"HTTP/1.1 200")
        second.sendall(b"GET /healthz HTTP/1.1\r\nX-A: ")
        assert closed(second)


def test_silent_connections_lock_nobody_out(tmp_path: Path) -> None:
    with server(tmp_path, header_seconds=60, most_connections=20) as (_, port), ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(60)]
        for connection in silent:
            connection.sendall(b"GET / HTTP/1.1\r\n")
        assert status(say(port, HEALTH)) == 200
        assert closed(silent[0]), "who has waited longest gives way"


@pytest.mark.parametrize(("proxies", "believed"), [(("127.0.0.1", "::1"), True), (("10.0.0.0/8",), False)])
def test_only_a_trusted_proxy_says_for_whom_it_asks(tmp_path: Path, proxies: tuple[str, ...], believed: bool) -> None:
    settings = {"base_url": "http://localhost:8000", "trusted_proxies": proxies, "failures_burst": 2}
    with server(tmp_path, **settings) as (_, port):
        said = [
            status(
                say(
                    port,
                    b"GET /enter/guess HTTP/1.1\r\n" + HOST + b"Connection: close\r\n"
                    b"X-Forwarded-For: 203.0.113.%d\r\n\r\n" % k,
                )
            )
            for k in range(4)
        ]
    assert said == ([401] * 4 if believed else [401, 401, 429, 429])


def test_a_proxy_that_is_no_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="--trusted-proxy"):
        check_web_settings(WebSettings(folder=tmp_path, trusted_proxies=("proxy.example",)))


def test_what_an_attacker_provokes_does_not_fill_the_log() -> None:
    now = [0.0]
    limit = RepeatLimit(3, clock=lambda: now[0])
    records = [logging.LogRecord("x", logging.WARNING, "", 0, "bad %s", (k,), None) for k in range(12)]
    assert [limit.filter(record) for record in records[:10]] == [True] * 3 + [False] * 7
    now[0] = 61
    assert limit.filter(records[10])
    assert "7 more like it" in records[10].getMessage()
    assert limit.filter(logging.LogRecord("x", logging.WARNING, "", 0, "another", (), None))
    faults = [logging.LogRecord("x", logging.ERROR, "", 0, "fault %s", (k,), None) for k in range(12)]
    assert all(limit.filter(record) for record in faults), "a fault of ours is always written"
