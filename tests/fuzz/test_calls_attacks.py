"""Servers that mean harm, or know no better: one call is refused, the run goes on, and no key is ever written down."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import httpx2
import pytest
from images_server import ImagesServer, picture
from loops import awaited

from salon.calls import CallsStopped, CallStore, Limits, Prices, read_json
from salon.calls.store import StoreWriter
from salon.calls.transport import ScriptedTransport, ScriptLine
from salon.errors import BadValue
from salon.generate import GenerateReport, GenerateSettings, generate_items
from salon.generate.http import HttpGenerator, HttpTemplate
from salon.generate.openai_images import OpenAIImages
from salon.study import Prompt

KEY = 'sk-very/secret"0123456789'
QUICK = Limits(first_wait=0.01, attempts=2, unusable=1, patience=5, grace=0.2)
PICTURE = base64.b64encode(picture("x")).decode()
DEEP = b"[" * 100_000


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def generated(folder: Path, *lines: ScriptLine, prompts: int = 1) -> GenerateReport:
    asked = [Prompt(id=f"p{number}", text=f"cat {number}") for number in range(prompts)]
    with CallStore(folder / "calls.sqlite") as store:
        model = OpenAIImages("m", store=store, limits=QUICK, transport=ScriptedTransport(*lines))
        try:
            return generate_items(asked, [model], GenerateSettings(), folder / "study")
        finally:
            model._client.close()


def response(status: int, body: bytes, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, headers={"content-type": "application/json", **headers}, content=body)


@pytest.mark.parametrize(
    "body",
    [DEEP, b'{"error": {"message": "cut \\ud800"}}', b'{"error": {"message": {"a": NaN}, "code": ["x"]}}'],
)
@pytest.mark.parametrize("status", [200, 400])
def test_bodies_that_break_readers_cost_one_picture(tmp_path: Path, status: int, body: bytes) -> None:
    report = generated(tmp_path, response(status, body))
    assert (report.made, report.failed) == (0, 1)


@pytest.mark.parametrize("told", ['{"a": [1]}', '"half \\ud83d"', "NaN", json.dumps("x" * 2_000_000)])
def test_a_picture_that_was_paid_for_is_kept_whatever_is_told_beside_it(tmp_path: Path, told: str) -> None:
    body = f'{{"data": [{{"b64_json": "{PICTURE}", "revised_prompt": {told}}}]}}'
    assert generated(tmp_path, response(200, body.encode())).made == 1
    assert (tmp_path / "study" / "generations.jsonl").stat().st_size < 10_000


def test_a_count_of_tokens_that_no_store_can_hold(tmp_path: Path) -> None:
    answer = {"data": [{"b64_json": PICTURE}], "usage": {"input_tokens": 2**70, "output_tokens": 1}}
    assert generated(tmp_path, answer, prompts=3).made == 3


@pytest.mark.parametrize(
    "url",
    [
        f"https://{'a' * 70}.example/x.png",
        "https://.example/x.png",
        "https://example.invalid/\x01.png",
        "https://example.invalid/\ud800.png",
        "https://example.invalid/" + "a" * 70_000,
        "https://[::ffff:127.0.0.1]/x.png",
        "https://0x7f.1/x.png",
    ],
)
def test_addresses_that_cannot_be_or_lead_inside(tmp_path: Path, url: str) -> None:
    body = json.dumps({"data": [{"url": url}]}).encode()
    assert generated(tmp_path, response(200, body), 404).failed == 1


def test_a_server_that_asks_for_years_of_patience_does_not_hold_the_run(tmp_path: Path) -> None:
    report = generated(tmp_path, httpx2.Response(429, headers={"retry-after": "1000000000"}), prompts=12)
    assert report.failed == 12


ESCAPES = [
    lambda key: key,
    lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    lambda key: json.dumps(key)[1:-1].replace("/", "\\u002F").replace("-", "\\u002d"),
    lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
]


@pytest.mark.parametrize("escape", ESCAPES)
def test_an_echoed_key_is_nowhere_on_the_disk(tmp_path: Path, escape) -> None:
    body = json.dumps({"data": [{"b64_json": PICTURE}]})[:-1] + f', "debug": "{escape(KEY)}"}}'
    report = generated(tmp_path, response(200, body.encode(), **{"x-request-id": KEY}))
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"0123456789" not in written
    assert escape(KEY).encode() not in written
    assert KEY not in str(report)


@pytest.mark.parametrize("escape", ESCAPES)
def test_an_echoed_key_is_in_no_reason(tmp_path: Path, escape) -> None:
    report = generated(tmp_path, response(400, f'{{"error": {{"message": "no: {escape(KEY)}"}}}}'.encode()))
    assert report.failed == 1
    assert "[OPENAI_API_KEY]" in str(report)
    assert KEY not in str(report)
    assert "0123456789" not in str(report)


def test_a_key_with_a_stray_space_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY} ")
    with ImagesServer() as server, CallStore(tmp_path / "calls.sqlite") as store:
        model = OpenAIImages("m", store=store, base_url=server.url, limits=QUICK)
        with pytest.raises(CallsStopped) as stopped:  # it is not the key of this server
            generate_items([Prompt(id="p", text="cat")], [model], GenerateSettings(), tmp_path / "study")
        model._client.close()
    assert KEY not in str(stopped.value)


def test_prices_below_zero_do_not_fill_the_purse() -> None:
    for price in (-1, {"low": -1}, float("nan")):
        with pytest.raises(BadValue):
            Prices.parse({"models": {"m": {"images": {"1024x1024": price}}}})


TEMPLATE = {"name": "t", "url": "https://t.invalid/x", "body": {"prompt": "{prompt}"}, "answer": {"image": "a"}}


@pytest.mark.parametrize(
    "change",
    [
        {"headers": {"X-Name": "näme"}},
        {"headers": {"X Name": "x"}},
        {"headers": {"X-Name": "x\r\nHost: y"}},
        {"headers": {"X-Auth-Token": "abc"}},
        {"url": "https://t.invalid/x?api_key=abc"},
    ],
)
def test_templates_that_cannot_be_sent_or_hold_a_key(change: dict[str, object]) -> None:
    with pytest.raises(BadValue) as refused:
        HttpTemplate.parse(TEMPLATE | change).check()
    assert "abc" not in str(refused.value)


def test_the_signature_of_a_template_is_short_and_tells_no_headers(tmp_path: Path) -> None:
    template = HttpTemplate.parse(TEMPLATE | {"headers": {"X-Studio": "unusual"}})
    with CallStore(tmp_path / "calls.sqlite") as store:
        assert "unusual" not in str(HttpGenerator(template, store=store).signature)


def test_one_bad_write_does_not_cost_the_others_their_answers(tmp_path: Path) -> None:
    async def write() -> list[object]:
        with CallStore(tmp_path / "calls.sqlite") as store:
            ledger = StoreWriter(store)
            done = [ledger(store.lose, "a", "x"), ledger(store.lose, "b", object()), ledger(store.lose, "c", "x")]
            outcomes = await asyncio.gather(*done, return_exceptions=True)
            ledger.close()
            return [*outcomes, store.totals().lost]

    first, second, third, lost = awaited(write())
    assert (first, third, lost) == (None, None, 2)
    assert isinstance(second, Exception)


def test_json_that_can_be_kept() -> None:
    assert read_json(b'{"a": "\\ud83d\\ude00", "b": "\\ud83d", "c": NaN}') == {"a": "😀", "b": "?", "c": None}
    with pytest.raises(ValueError, match="deep"):
        read_json(DEEP)
