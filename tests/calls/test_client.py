"""The client against a real local server: every failure, limits, secrets, back-pressure and stopping."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from images_server import KEY, ImagesServer
from waiting import LONGEST, until

from salon.calls import Budget, BudgetSpent, Call, CallAnswer, CallStore, Client, Limits, Refusal, Secret, Service
from salon.calls.errors import Unreachable
from salon.calls.store import StoreWriter
from salon.calls.transport import ScriptedTransport
from salon.errors import BadValue

QUICK = Limits(first_wait=0.01, attempts=3)
HASTY = Limits(first_wait=0.01, attempts=3, read=0.6)


@pytest.fixture
def server() -> Iterator[ImagesServer]:
    with ImagesServer() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CallStore]:
    with CallStore(tmp_path / "calls.sqlite") as opened:
        yield opened


def service(server: ImagesServer, **more) -> Service:
    return Service(server.url, **{"limits": QUICK} | more)


def call(server: ImagesServer, text: str, **more) -> Call:
    return Call(url=f"{server.url}/images/generations", body={"prompt": text}, **more)


def numbered(server: ImagesServer, count: int) -> list[Call]:
    return [call(server, str(number)) for number in range(count)]


def test_every_call_is_answered_once_in_the_order_they_finish(server: ImagesServer, store: CallStore) -> None:
    server.script["0"] = ["after 30"]
    with Client(service(server), store) as client:
        outcomes = list(client.each(numbered(server, 30)))
    order = [index for index, _ in outcomes]
    assert sorted(order) == list(range(30))
    # with s successes 4 + s requests may be in flight: for 30 to have come, 13 must have been answered
    assert order.index(0) >= 13
    assert all(isinstance(outcome, CallAnswer) and not outcome.stored for _, outcome in outcomes)
    assert client.account.sent == len(store) == 30
    assert client.account.tokens_out == store.totals().tokens_out == 3000


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (["429", "429", "429"], "busy"),
        (["500", "503", "529"], "server"),
        (["slow", "slow", "slow"], "timeout"),
        (["reset", "truncated", "reset"], "broken"),
        (["not json", "not json"], "unusable"),
        (["422"], "rejected"),
        (["redirect"], "redirect"),
    ],
)
def test_refusals_say_what_happened(server: ImagesServer, store: CallStore, script: list[str], kind: str) -> None:
    server.script["x"] = list(script)
    with Client(service(server, limits=HASTY if "slow" in script else QUICK), store) as client:
        ((_, refusal),) = client.each([call(server, "x")])
        assert isinstance(refusal, Refusal)
        assert (refusal.kind, refusal.attempts) == (kind, len(script))
        assert len(store) == store.totals().in_flight == 0
        ((_, answer),) = client.each([call(server, "x")])
        assert isinstance(answer, CallAnswer)  # a refusal is never kept
    # requests that were sent and not answered may have been charged
    assert store.totals().lost == client.account.lost == sum(what in {"slow", "reset", "truncated"} for what in script)


@pytest.mark.parametrize("told", ["0.4", "date 1.4"])
def test_retry_after_holds_back_the_whole_host(server: ImagesServer, store: CallStore, told: str) -> None:
    server.script["0"] = [f"429 {told}"]
    limits = QUICK.model_copy(update={"start": 1})
    with Client(service(server, limits=limits), store) as client:
        assert len(list(client.each(numbered(server, 4)))) == 4
    gaps = [after.at - before.at for before, after in itertools.pairwise(server.seen)]
    assert gaps[0] >= 0.39  # a date has whole seconds: 1.4 from now is at least 0.4


def test_a_wait_beyond_patience_is_not_begun(server: ImagesServer, store: CallStore) -> None:
    server.script["x"] = ["429 3600"]
    began = time.monotonic()
    with Client(service(server), store) as client:
        ((_, refusal),) = client.each([call(server, "x")])
    assert refusal.kind == "busy"
    assert time.monotonic() - began < 60


def test_concurrency_grows_to_the_limit_and_not_beyond(server: ImagesServer, store: CallStore) -> None:
    limits = QUICK.model_copy(update={"start": 1, "concurrency": 6})
    server.script = {str(number): ["together 6"] for number in range(20, 30)}  # by then it may have grown to its limit
    with Client(service(server, limits=limits), store) as client:
        list(client.each(numbered(server, 30)))
    assert server.peak == 6


def test_total_time_of_one_request(server: ImagesServer, store: CallStore) -> None:
    server.always, server.slow = "slow", 0.5
    limits = Limits(total=0.1, attempts=1)
    with Client(service(server, limits=limits), store) as client:
        ((_, refusal),) = client.each([call(server, "x")])
    assert refusal.kind == "timeout"


def test_an_answer_that_is_too_large_is_not_read_to_its_end(server: ImagesServer, store: CallStore) -> None:
    server.always = "huge"
    limits = QUICK.model_copy(update={"largest": 1_000_000})
    with Client(service(server, limits=limits), store) as client:
        ((_, refusal),) = client.each([call(server, "x")])
    assert (refusal.kind, refusal.attempts) == ("too-large", 1)


def test_keys_are_sent_home_only_and_kept_nowhere(
    server: ImagesServer, store: CallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = Secret("SOME_KEY")
    monkeypatch.setenv("SOME_KEY", KEY)
    echo = httpx2.Response(200, json={"you_sent": KEY})
    home = Service("https://home.invalid/v1", (secret,))
    net = ScriptedTransport(echo)
    addresses = ["https://home.invalid/v1/x", "https://home.invalid:8443/v1/x", "https://elsewhere.invalid/x"]
    with Client(home, store, transport=net) as client:
        ours, other_port, other_host = (client.each([Call(url=url)]) for url in addresses)
        ((_, answer),) = ours
        assert answer.data() == {"you_sent": "[SOME_KEY]"}
        list(other_port), list(other_host)
    assert [request.headers.get("authorization") for request in net.requests] == [f"Bearer {KEY}", None, None]
    assert KEY not in repr(home) + repr(client.account)
    store.close()
    assert not [file for file in store.path.parent.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    store.__init__(store.path)  # for the fixture to close


@pytest.mark.parametrize("bad", ["", "  ", "a\nb", "ключ"])
def test_keys_that_cannot_be_sent(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    from salon.calls.errors import WrongKey

    monkeypatch.setenv("SOME_KEY", bad)
    with pytest.raises(WrongKey, match="SOME_KEY") as raised:
        Secret("SOME_KEY").filled()
    assert not bad.strip() or bad not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["http://example.com/v1", "ftp://localhost/", "https://me:pass@host/v1", "host/v1", "https://[bad/v1"]
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(BadValue) as raised:
        Service(url)
    assert "pass" not in (raised.value.found or "")


def test_plain_http_where_it_is_allowed() -> None:
    for url in ("http://localhost:1/", "http://127.0.0.1/", "http://[::1]:8/", "https://example.com/"):
        Service(url)
    Service("http://example.com/", allow_http=True)


def test_the_same_call_twice_in_one_run_is_sent_once(server: ImagesServer, store: CallStore) -> None:
    server.takes = 0.05
    with Client(service(server), store) as client:
        outcomes = dict(client.each([call(server, "x")] * 5))
    assert len(server.seen) == 1
    assert sorted(outcome.stored for outcome in outcomes.values()) == [False, True, True, True, True]


def test_two_clients_at_once_never_buy_the_same(server: ImagesServer, store: CallStore) -> None:
    server.takes = 0.01
    with CallStore(store.path) as second, Client(service(server), store) as one, Client(service(server), second) as two:
        both = [client.each(numbered(server, 40)) for client in (one, two)]
        outcomes = [next(running) for _ in range(40) for running in both]
        assert all(next(running, None) is None for running in both)
    assert len(outcomes) == 80
    assert max(server.counts.values()) == 1


def test_repeats_are_bought_one_by_one(server: ImagesServer, store: CallStore) -> None:
    with Client(service(server), store) as client:
        list(client.each(call(server, "x", repeat=number) for number in range(3)))
    assert len(server.seen) == len(store) == 3


def test_calls_are_read_lazily_and_a_slow_consumer_holds_them_back(server: ImagesServer, store: CallStore) -> None:
    taken = 0

    def calls() -> Iterator[Call]:
        nonlocal taken
        for number in itertools.count():
            taken += 1
            yield call(server, str(number))

    limits = QUICK.model_copy(update={"concurrency": 2})
    with Client(service(server, limits=limits), store) as client:
        running = client.each(calls())
        assert taken == 0
        next(running)
        until(lambda: len(server.seen) >= 4, "four requests")
        time.sleep(0.1)
        assert taken == len(server.seen) == 4  # twice the most in flight
        for _ in range(10):
            next(running)
        assert taken == 14
        running.close()
    assert store.totals().in_flight == 0


def test_an_error_in_the_calls_ends_the_run_cleanly(server: ImagesServer, store: CallStore) -> None:
    def calls() -> Iterator[Call]:
        yield from numbered(server, 3)
        raise LookupError("no more")

    with Client(service(server), store) as client, pytest.raises(LookupError, match="no more"):
        list(client.each(calls()))
    assert len(server.seen) == len(store) <= 3
    assert store.totals().in_flight == 0


def test_claims_granted_to_calls_that_were_cancelled_are_given_back(
    server: ImagesServer, store: CallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = StoreWriter._commit

    def slow(ledger: StoreWriter, batch: list) -> None:
        time.sleep(0.1)
        commit(ledger, batch)

    monkeypatch.setattr(StoreWriter, "_commit", slow)
    with Client(service(server, limits=QUICK.model_copy(update={"concurrency": 2})), store) as client:
        answers = client.each(numbered(server, 50))
        next(answers)
        answers.close()
        assert store.totals().in_flight == 0


def test_no_grace_cuts_requests_off_and_counts_them(server: ImagesServer, store: CallStore) -> None:
    server.script |= {str(number): ["slow"] for number in range(1, 5)}
    limits = Limits(grace=0)
    with Client(service(server, limits=limits), store) as client:
        running = client.each(numbered(server, 5))
        next(running)
        until(lambda: len(server.seen) >= 5, "five requests")
        running.close()
    assert len(store) == 1
    assert store.totals().lost == 4
    assert store.totals().in_flight == 0


def test_a_budget_of_calls_counts_retries(server: ImagesServer, store: CallStore) -> None:
    server.script["0"] = ["500", "500"]
    limits = QUICK.model_copy(update={"start": 1})
    terms = service(server, limits=limits, budget=Budget(calls=4))
    with Client(terms, store) as client, pytest.raises(BudgetSpent, match="4 calls"):
        list(client.each(numbered(server, 10)))
    assert len(server.seen) == 4


def test_an_error_in_the_work_stops_the_run_and_what_is_paid_is_delivered(
    server: ImagesServer, store: CallStore
) -> None:
    server.takes = 0.02

    async def work(caller, one: Call) -> CallAnswer | Refusal:
        answer = await caller.ask(one)
        if one.body["prompt"] == "1":
            raise LookupError("a fault of ours")
        return answer

    delivered = []
    with Client(service(server), store) as client, pytest.raises(LookupError, match="a fault of ours"):
        delivered.extend(client.over(numbered(server, 500), work))
    assert len(delivered) == len(store) - 1 == len(server.seen) - 1
    assert len(server.seen) < 200


def test_a_word_instead_of_a_key_does_not_spoil_answers(store: CallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "EMPTY")
    home = Service("https://home.invalid/v1", (Secret("SOME_KEY"),))
    with Client(home, store, transport=ScriptedTransport({"text": "EMPTY"})) as client:
        ((_, answer),) = client.each([Call(url="https://home.invalid/v1/x")])
    assert answer.data() == {"text": "EMPTY"}


@pytest.mark.parametrize("bypassed", [False, True])
def test_a_proxy_named_in_the_environment_is_used(
    server: ImagesServer, store: CallStore, monkeypatch: pytest.MonkeyPatch, bypassed: bool
) -> None:
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1").removeprefix("http://"))
    monkeypatch.setenv("no_proxy", "elsewhere.invalid" if bypassed else "")
    home = Service("http://elsewhere.invalid/v1", limits=Limits(first_wait=0.01, attempts=1), allow_http=True)
    asked = Call(url="http://elsewhere.invalid/v1/images/generations", body={"prompt": "far"})
    with Client(home, store) as client:
        if bypassed:
            with pytest.raises(Unreachable):
                list(client.each([asked]))
        else:
            list(client.each([asked]))
    assert len(server.seen) == (0 if bypassed else 1)


@pytest.mark.parametrize(
    "proxy",
    ["ftp://me:secret@127.0.0.1:1", "me:secret@127.0.0.1:99999", "http://me:secret@[::1", "http://me:secret@host:port",
     "socks5://me:secret@127.0.0.1:1", "http://"],
)  # fmt: skip
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    store: CallStore, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setattr("salon.calls.transport.find_spec", lambda name: None)
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "")
    home = Service("http://elsewhere.invalid/v1", limits=Limits(first_wait=0.01, attempts=1), allow_http=True)
    with Client(home, store) as client, pytest.raises(BadValue, match="HTTP_PROXY") as refused:
        list(client.each([Call(url="http://elsewhere.invalid/v1/x", body={})]))
    assert "secret" not in str(refused.value)


CTRL_C = """
import sys
from salon.calls.call import Call
from salon.calls.client import Client
from salon.calls.service import Limits
from salon.calls.service import Service
from salon.calls.store import CallStore
url, path = sys.argv[1:]
calls = [Call(url=url + "/images/generations", body={"prompt": str(number)}) for number in range(1000)]
with CallStore(path) as store, Client(Service(url, limits=Limits(concurrency=2)), store) as client:
    for index, answer in client.each(calls):
        print(index, flush=True)
"""


def test_ctrl_c_brings_home_what_is_in_flight(server: ImagesServer, tmp_path: Path) -> None:
    server.takes = 0.05
    path = tmp_path / "calls.sqlite"
    child = subprocess.Popen(
        [sys.executable, "-c", CTRL_C, server.url, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    child.stdout.readline()
    os.kill(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=LONGEST)
    assert said.strip().splitlines()[-1] == "KeyboardInterrupt"
    assert said.count("Traceback") == 1
    with CallStore(path) as store:
        assert len(store) == len(server.seen) < 1000, "those that were not begun are not sent"
        assert store.totals().lost == 0
