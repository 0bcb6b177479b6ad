"""A server described by a template: what is sent, where the picture is found, and templates that are refused."""

from __future__ import annotations

import base64
from pathlib import Path

import httpx2
import pytest
from images_server import ImagesServer, picture

from salon.calls import Budget, BudgetSpent, CallStore, Prices
from salon.calls.errors import WrongKey
from salon.calls.transport import ScriptedTransport
from salon.errors import BadFile, BadValue
from salon.generate.http import HttpGenerator, HttpTemplate, value_at
from salon.study import Ask, FailedPicture, GeneratedPicture, Generator, Prompt

STUDIO = """
name = "studio"
url = "https://studio.invalid/generate"
[headers]
Authorization = "Key ${STUDIO_KEY}"
X-Mode = "fast"
[body]
text = "A poster: {prompt}"
seed = "{seed}"
size = "{width}x{height}"
steps = 20
nested = { list = ["{width}", "{{seed}}", true] }
[answer]
image = "images[0].data"
facts = { model = "meta.model", timings = "meta.timings", none = "meta.none" }
[defaults]
width = 512
height = 768
[limits]
first_wait = 0.01
attempts = 2
"""
ANSWER = {
    "images": [{"data": base64.b64encode(picture("studio")).decode()}],
    "meta": {"model": "s-2", "timings": {"draw": 1}},
}


def ask(text: str = "a cat", seed: int = 0, **more) -> Ask:
    return Ask(prompt=Prompt(id=text, text=text), seed=seed, **more)


def template(tmp_path: Path, text: str = STUDIO) -> HttpTemplate:
    (tmp_path / "studio.toml").write_text(text)
    return HttpTemplate.load(tmp_path / "studio.toml")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUDIO_KEY", "s3cret-key")


@pytest.fixture
def store(tmp_path: Path):
    with CallStore(tmp_path / "calls.sqlite") as opened:
        yield opened


def test_placeholders_are_filled_and_keep_their_type(tmp_path: Path, store: CallStore) -> None:
    net = ScriptedTransport(500, ANSWER)
    studio = HttpGenerator(template(tmp_path), store=store, transport=net)
    assert isinstance(studio, Generator)
    assert studio.abilities.seeded
    ((_, made),) = studio.make([ask('a "quoted" {cat}', seed=7, width=64)])
    assert made.image == picture("studio")
    assert made.facts.items() >= {"model": "s-2", "timings": '{"draw": 1}', "attempts": 2}.items()
    assert "none" not in made.facts
    sent = net.requests[-1]
    assert httpx2.Response(200, content=sent.content).json() == {
        "text": 'A poster: a "quoted" {cat}',
        "seed": 7,
        "size": "64x768",
        "steps": 20,
        "nested": {"list": [64, "{seed}", True]},
    }
    assert (sent.headers["authorization"], sent.headers["x-mode"]) == ("Key s3cret-key", "fast")
    assert "s3cret" not in str(studio.signature) + repr(studio.template)


def test_a_real_server_that_answers_with_bytes_asked_by_get(tmp_path: Path, store: CallStore) -> None:
    with ImagesServer() as server:
        text = f"""
            name = "files"
            url = "{server.url.removesuffix("/v1")}/files/{{prompt}}?s={{seed}}"
            method = "GET"
            answer = {{ form = "bytes" }}
        """
        ((_, made),) = HttpGenerator(template(tmp_path, text), store=store).make([ask("ä/b c", seed=3)])
        assert server.seen[0].path == "/files/%C3%A4%2Fb%20c?s=3"
    assert made.image == picture("%C3%A4%2Fb%20c?s=3")


def test_a_real_server_that_answers_with_an_address(tmp_path: Path, store: CallStore) -> None:
    with ImagesServer() as server:
        server.script["a cat"] = ["url HERE/files/cat.png"]
        text = f"""
            name = "studio"
            url = "{server.url}/images/generations"
            body = {{ prompt = "{{prompt}}" }}
            answer = {{ form = "url", image = "data[0].url" }}
        """
        studio = HttpGenerator(template(tmp_path, text), store=store)
        assert not studio.abilities.seeded
        results = dict(studio.make([ask(), ask("a dog")]))
    assert results[0].image == picture("cat.png")
    assert isinstance(results[1], FailedPicture)  # it answered with base64 where an address was promised
    assert results[1].kind == "broken-image"


def test_without_a_seed_to_send_each_seed_is_a_sample_of_its_own(tmp_path: Path, store: CallStore) -> None:
    net = ScriptedTransport(ANSWER)
    plain = STUDIO.replace('seed = "{seed}"\n', "")
    results = list(
        HttpGenerator(template(tmp_path, plain), store=store, transport=net).make([ask(seed=0), ask(seed=1)])
    )
    assert len(results) == len(net.requests) == 2


def test_image_to_image(tmp_path: Path, store: CallStore) -> None:
    text = STUDIO.replace("steps = 20", 'init = "{image}"\ndenoise = "{strength}"')
    net = ScriptedTransport(ANSWER)
    studio = HttpGenerator(template(tmp_path, text), store=store, transport=net)
    assert studio.abilities.image_to_image
    assert not studio.abilities.text_to_image
    ((_, made),) = studio.make([ask(image=b"start", strength=0.4)])
    assert isinstance(made, GeneratedPicture)
    body = httpx2.Response(200, content=net.requests[0].content).json()
    assert (body["init"], body["denoise"]) == ("c3RhcnQ=", 0.4)
    with pytest.raises(BadValue, match=r"no value for \{image\}"):
        studio.make([ask()])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"images": []}, "no images[0].data: 0 is not in list"),
        ({"pictures": 1}, "'images' is not in pictures"),
        ({"images": [{"data": "!!"}]}, "not base64"),
        ({"images": [{"data": None}]}, "holds no picture"),
        ({"images": [{"data": "R0lGODdh"}]}, "broken"),
        (httpx2.Response(200, text="hello"), "not JSON"),
    ],
)
def test_answers_without_a_picture(tmp_path: Path, store: CallStore, answer: object, said: str) -> None:
    studio = HttpGenerator(template(tmp_path), store=store, transport=ScriptedTransport(answer))
    ((_, failure),) = studio.make([ask()])
    assert failure.kind == "broken-image"
    assert said in failure.reason


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"{seed}"', '"{sede}"', "{seed}"),
        ('"A poster: {prompt}"', '"A poster"', "needs {prompt}"),
        ('"Key ${STUDIO_KEY}"', '"Key abc"', "environment variable"),
        ('"Key ${STUDIO_KEY}"', '"${A} ${B}"', "one environment variable"),
        ("steps = 20", 'key = "${STUDIO_KEY}"', "headers"),
        ('url = "https://studio.invalid/generate"', 'url = "https://studio.invalid/{prompt}"\nmethod = "GET"', "GET"),
        ('image = "images[0].data"', 'form = "bytes"\nimage = "x"', "answer.image"),
        ('image = "images[0].data"', "", "answer.image"),
        ('image = "images[0].data"', 'form = "carrier pigeon"', "answer.form"),
        ("attempts = 2", "attempts = 0", "limits.attempts"),
        ("[limits]", "[limit]", "limit"),
        ("name =", "name", "TOML"),
    ],
)
def test_templates_that_are_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in STUDIO
    with pytest.raises((BadValue, BadFile)) as raised:
        template(tmp_path, STUDIO.replace(old, new))
    assert said in str(raised.value)
    assert "studio.toml" in str(raised.value)


def test_plain_http_is_refused_unless_allowed(tmp_path: Path, store: CallStore) -> None:
    text = STUDIO.replace("https://", "http://")
    with pytest.raises(BadValue, match="https"):
        HttpGenerator(template(tmp_path, text), store=store)
    HttpGenerator(template(tmp_path, text.replace("[headers]", "allow_http = true\n[headers]")), store=store)


def test_asks_that_do_not_fit_are_refused_before_anything_is_sent(tmp_path: Path, store: CallStore) -> None:
    studio = HttpGenerator(template(tmp_path), store=store, transport=ScriptedTransport(ANSWER))
    with pytest.raises(BadValue, match="never sent"):
        studio.make([ask(image=b"start")])
    bare = HttpGenerator(template(tmp_path, STUDIO.replace("width = 512", "")), store=store)
    with pytest.raises(BadValue, match=r"\{width\}"):
        bare.make([ask()])


def test_budget_and_key(tmp_path: Path, store: CallStore, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = Prices.parse({"models": {"studio": {"image": "0.5"}}})
    studio = HttpGenerator(
        template(tmp_path), store=store, prices=prices, budget=Budget(1), transport=ScriptedTransport(ANSWER)
    )
    made = []
    with pytest.raises(BudgetSpent):
        made.extend(studio.make([ask(seed=seed) for seed in range(5)]))
    assert [result.facts["cost"] for _, result in made] == [0.5, 0.5]
    monkeypatch.delenv("STUDIO_KEY")
    with pytest.raises(WrongKey, match="STUDIO_KEY"):
        studio.make([ask()])


def test_paths_by_hand() -> None:
    content = {"a": [{"b c": 1}, [2, 3]], "d": {"0": 4}}
    assert value_at(content, "a[0].b c") == 1
    assert value_at(content, "a[1][1]") == 3
    assert value_at(content, "d.0") == 4
    assert value_at(content, "") is content
    with pytest.raises(LookupError, match="'x' is not in a, d"):
        value_at(content, "x.y")
