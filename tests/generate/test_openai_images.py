"""The OpenAI images protocol against a real local server: what comes back, what fails, what is paid twice (nothing)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from images_server import KEY, ImagesServer, picture

from salon.calls import Budget, BudgetSpent, CallStore, Limits, NotServed, Prices
from salon.calls.errors import QuotaSpent, Unreachable, WrongKey
from salon.errors import BadValue
from salon.generate.openai_images import OpenAIImages
from salon.study import Ask, FailedPicture, GeneratedPicture, Generator, Prompt

QUICK = Limits(first_wait=0.01, attempts=3)
HASTY = Limits(first_wait=0.01, attempts=3, read=0.6)
PRICES = Prices.parse({"models": {"painter": {"image": "0.10", "output": "1000"}}})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ImagesServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ImagesServer() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CallStore]:
    with CallStore(tmp_path / "calls.sqlite") as opened:
        yield opened


def generator(server: ImagesServer, store: CallStore, **settings) -> OpenAIImages:
    settings = {"base_url": server.url, "limits": QUICK} | settings
    return OpenAIImages("painter", store=store, **settings)


def ask(text: str, seed: int = 0, **more) -> Ask:
    return Ask(prompt=Prompt(id=text, text=text), seed=seed, **more)


def one(made_by: Generator, wanted: Ask) -> GeneratedPicture | FailedPicture:
    ((index, result),) = made_by.make([wanted])
    assert index == 0
    return result


def test_pictures_come_with_what_the_server_told(server: ImagesServer, store: CallStore) -> None:
    painter = generator(server, store, prices=PRICES, quality="high", options={"background": "opaque"})
    assert isinstance(painter, Generator)
    results = dict(painter.make([ask("a cat", width=48, height=32), ask("a dog")]))
    assert results[0].image == picture("a cat 0", "48x32")
    # 0.10 per picture and 100 tokens at 1,000 a million
    assert results[1].facts | {"seconds": 0} == {
        "seconds": 0,
        "attempts": 1,
        "tokens_in": 10,
        "tokens_out": 100,
        "cost": 0.2,
        "request_id": "req-1",
        "revised_prompt": "a dog 0, revised",
        "model": "painter",
    }
    sent = next(seen for seen in server.seen if seen.prompt == "a cat")
    assert sent.path == "/v1/images/generations"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.fields == {
        "model": "painter",
        "prompt": "a cat",
        "n": 1,
        "size": "48x32",
        "quality": "high",
        "background": "opaque",
    }


def test_an_ask_with_a_picture_is_an_edit(server: ImagesServer, store: CallStore) -> None:
    start = picture("start", format="JPEG")
    assert isinstance(
        one(generator(server, store, options={"seed_hint": 3}), ask("bluer", image=start)), GeneratedPicture
    )
    (sent,) = server.seen
    assert sent.path == "/v1/images/edits"
    assert b"Content-Type: image/jpeg" in sent.body
    assert sent.fields == {"model": "painter", "prompt": "bluer", "n": "1", "seed_hint": "3", "image": start}


@pytest.mark.parametrize(
    ("script", "kind", "requests"),
    [
        (["429 0", "ok"], None, 2),
        (["429 date 0", "500", "ok"], None, 3),
        (["503", "reset", "ok"], None, 3),
        (["truncated", "slow", "ok"], None, 3),
        (["not json", "ok"], None, 2),
        (["broken image", "ok"], None, 2),
        (["broken image", "no image", "ok"], "broken-image", 2),  # two bought answers at most
        (["html", "empty", "ok"], "broken-image", 2),
        (["500", "502", "504", "ok"], "error", 3),
        (["slow", "slow", "slow", "ok"], "timeout", 3),
        (["moderated", "ok"], "refused", 1),
        (["400", "ok"], "error", 1),
        (["redirect", "ok"], "error", 1),
    ],
)
def test_every_way_to_fail(
    server: ImagesServer, store: CallStore, script: list[str], kind: str | None, requests: int
) -> None:
    server.script["a cat"] = list(script)
    result = one(generator(server, store, limits=HASTY if "slow" in script else QUICK), ask("a cat"))
    assert len(server.seen) == requests
    if kind is None:
        assert isinstance(result, GeneratedPicture)
        assert result.image == picture("a cat 0")
        assert result.facts["attempts"] == requests
    else:
        assert isinstance(result, FailedPicture)
        assert result.kind == kind, result.reason


def test_a_failure_is_tried_again_by_the_next_run_and_an_answer_never(server: ImagesServer, store: CallStore) -> None:
    server.script["a cat"] = ["broken image", "broken image"]
    asks = [ask("a cat"), ask("a dog")]
    painter = generator(server, store, prices=PRICES)
    first = dict(painter.make(asks))
    assert isinstance(first[0], FailedPicture)
    assert painter.notes() == ["answers that could not be used: 2, cost 0.40"]
    again = generator(server, store)
    second = dict(again.make(asks))
    assert second[0].image == picture("a cat 0")
    assert second[1].image == first[1].image
    assert server.counts == {"a cat": 3, "a dog": 1}
    assert again.notes() == ["answers from calls.sqlite, at no cost: 1"]


def test_seeds_are_samples_of_their_own(server: ImagesServer, store: CallStore) -> None:
    results = dict(generator(server, store).make([ask("a cat", seed) for seed in (0, 1, 1)]))
    assert len(results) == 3
    assert server.counts == {"a cat": 2}  # the third is the second


def test_several_pictures_per_call_keep_their_seeds_when_resumed(server: ImagesServer, store: CallStore) -> None:
    two = generator(server, store, n=2, prices=PRICES)
    whole = dict(two.make([ask("a cat", seed) for seed in range(4)]))
    assert [whole[seed].image for seed in range(4)] == [picture(f"a cat {seed % 2}") for seed in range(4)]
    assert whole[0].facts["cost"] == pytest.approx((2 * 0.1 + 0.2) / 2)
    assert one(generator(server, store, n=2), ask("a cat", 3)).image == whole[3].image
    assert server.counts == {"a cat": 2}


def test_pictures_by_address_are_fetched_once_and_kept(server: ImagesServer, store: CallStore) -> None:
    server.script["a cat"] = ["url HERE/files/cat.png"]
    made = one(generator(server, store), ask("a cat"))
    assert made.image == picture("cat.png")
    fetch = server.seen[-1]
    assert fetch.method == "GET"
    assert one(generator(server, store), ask("a cat")).image == made.image
    assert len(server.seen) == 2


def test_an_address_that_expired_makes_the_next_run_ask_again(server: ImagesServer, store: CallStore) -> None:
    server.script["a cat"] = ["url HERE/files/gone.png", "url HERE/files/cat.png"]
    assert isinstance(one(generator(server, store), ask("a cat")), FailedPicture)
    assert one(generator(server, store), ask("a cat")).image == picture("cat.png")
    assert store.totals().unusable == 1


def test_a_picture_that_could_not_be_fetched_yet_is_not_bought_again(server: ImagesServer, store: CallStore) -> None:
    server.script["a cat"] = ["url HERE/files/busy.png"]
    assert isinstance(one(generator(server, store), ask("a cat")), FailedPicture)
    assert one(generator(server, store), ask("a cat")).image == picture("busy.png")
    assert server.counts == {"a cat": 1}


@pytest.mark.parametrize(
    "address", ["http://example.com/a.png", "file:///etc/passwd", "https://10.0.0.1/a.png", "https://[::1]/a.png"]
)
def test_addresses_that_lead_inside_are_not_followed(
    store: CallStore, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    from salon.calls.transport import ScriptedTransport

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    net = ScriptedTransport({"data": [{"url": address}]})
    painter = OpenAIImages("painter", store=store, base_url="https://painter.example/v1", transport=net)
    result = one(painter, ask("a cat"))
    assert isinstance(result, FailedPicture)
    assert "not followed" in result.reason
    assert len(net.requests) == 1


def test_a_picture_on_another_host_is_fetched_without_the_key(
    store: CallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx2

    from salon.calls.transport import ScriptedTransport

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    file = httpx2.Response(200, content=picture("cat"), headers={"content-type": "image/png"})
    net = ScriptedTransport({"data": [{"url": "https://files.invalid/cat.png"}]}, file)
    painter = OpenAIImages("painter", store=store, base_url="https://painter.invalid/v1", transport=net)
    assert one(painter, ask("a cat")).image == picture("cat")
    assert ["authorization" in request.headers for request in net.requests] == [True, False]


@pytest.mark.parametrize(
    ("always", "error"),
    [("wrong key", WrongKey), ("no credit", QuotaSpent), ("404", NotServed), ("403", NotServed)],
)
def test_what_no_other_call_would_survive_stops_the_run(
    server: ImagesServer, store: CallStore, always: str, error: type[Exception]
) -> None:
    server.always = always
    with pytest.raises(error) as raised:
        list(generator(server, store).make([ask(str(number)) for number in range(100)]))
    assert len(server.seen) <= QUICK.start
    assert KEY not in str(raised.value)
    assert error is not WrongKey or "OPENAI_API_KEY" in raised.value.remedy


def test_a_404_after_answers_is_the_fate_of_one_call(server: ImagesServer, store: CallStore) -> None:
    painter = generator(server, store)
    assert isinstance(one(painter, ask("a cat")), GeneratedPicture)
    server.script["a dog"] = ["404"]
    assert isinstance(one(painter, ask("a dog")), FailedPicture)


def test_nobody_there(store: CallStore) -> None:
    painter = OpenAIImages("painter", store=store, base_url="http://127.0.0.1:9/v1", key=None, limits=QUICK)
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9"):
        list(painter.make([ask("a cat")]))


def test_no_key_is_said_before_anything_is_sent(
    server: ImagesServer, store: CallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(WrongKey, match="OPENAI_API_KEY"):
        generator(server, store).make([ask("a cat")])
    assert not server.seen


def test_the_budget_is_never_exceeded_and_what_was_paid_is_delivered(server: ImagesServer, store: CallStore) -> None:
    server.takes = 0.02
    prices = Prices.parse({"models": {"painter": {"image": "0.10"}}})
    painter = generator(server, store, prices=prices, budget=Budget("0.35"))
    results = []
    with pytest.raises(BudgetSpent, match=r"0\.30 of 0\.35 spent"):
        results.extend(painter.make([ask(str(number)) for number in range(20)]))
    assert len(results) == len(server.seen) == len(store) == 3


def test_a_budget_in_money_needs_a_price(server: ImagesServer, store: CallStore) -> None:
    with pytest.raises(BadValue, match="price for 'painter'"):
        generator(server, store, budget=Budget(1)).make([ask("a cat")])


@pytest.mark.parametrize("bad", [{"strength": 0.5}, {"width": 64}])
def test_asks_beyond_its_abilities_are_refused_at_once(server: ImagesServer, store: CallStore, bad: dict) -> None:
    with pytest.raises(BadValue, match="prompt 'a cat'"):
        generator(server, store).make([ask("a cat", **bad)])


def test_settings_that_cannot_work(store: CallStore) -> None:
    with pytest.raises(BadValue, match="https"):
        OpenAIImages("painter", store=store, base_url="http://example.com/v1")
    with pytest.raises(BadValue, match="'size'"):
        OpenAIImages("painter", store=store, options={"size": "1x1"})
    with pytest.raises(BadValue, match="n must be"):
        OpenAIImages("painter", store=store, n=0)


def test_the_signature_follows_what_is_sent_and_not_the_key(store: CallStore) -> None:
    def signature(**settings) -> str:
        return str(OpenAIImages("painter", store=store, **settings).signature)

    assert signature() == signature(key="OTHER_KEY", limits=QUICK)
    assert len({signature(), signature(quality="high"), signature(options={"style": "vivid"})}) == 3


def test_a_consumer_that_stops_stops_the_run(server: ImagesServer, store: CallStore) -> None:
    server.takes = 0.02
    limits = QUICK.model_copy(update={"concurrency": 2, "grace": 5.0})
    running = generator(server, store, limits=limits).make([ask(str(number)) for number in range(100)])
    next(running)
    running.close()
    assert len(server.seen) < 10
    assert len(store) == len(server.seen)  # those in flight came home
    assert store.totals().in_flight == 0
