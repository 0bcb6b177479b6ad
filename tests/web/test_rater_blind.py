"""What a rater's browser gets names no generator, no file and no item, and never a prompt in two views."""

from __future__ import annotations

import re

import pytest
from doors import BASE, make_folder
from rater_studio import FLAW, OVERALL, TYPE, close, open_studio, phase
from starlette.testclient import TestClient

from salon.collect import RawAnswer, ShownTask
from salon.study import Criterion, Item, Prompt, Study
from salon.web.app import create_app
from salon.web.settings import WebSettings

SECRET = re.compile(rb"secret|generator|p\d-\d|images/", re.IGNORECASE)
METADATA = re.compile(rb"tEXt|iTXt|zTXt|eXIf|iCCP|EXIF|ICCP|XMP ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures whose names, folders and metadata name their generator."""
    folder = tmp_path_factory.mktemp("blind") / "study"
    make_folder(folder)
    return folder


@pytest.fixture
def client(folder, tmp_path):
    """A browser of a rater in a studio of this study and these phases."""
    opened = []

    def entered(study, *phases, **more):
        studio = open_studio(folder, study, tmp_path / "studio.db", *phases, **more)
        opened.append(studio)
        invited = studio.invite("designers")[0]
        client = TestClient(create_app(studio, WebSettings(folder=folder)), base_url=BASE, follow_redirects=True)
        assert client.get(f"/enter/{invited.token}").status_code == 200
        return studio, client, invited.rater

    yield entered
    for studio in opened:
        close(studio)


def pictures_study():
    items = [
        Item(id=f"p{p}-{k}", prompt=f"p{p}", generator="secret-generator", image=f"images/secret-generator-{p}-{k}.png")
        for p in range(2)
        for k in range(3)
    ]
    prompts = [Prompt(id=f"p{p}", text="A poster of the sea") for p in range(2)]
    return Study.build("small", [OVERALL, TYPE, FLAW], tables={"prompts": prompts, "items": items})


def everything(client):
    """Each answer of the studio on the way to what comes next: the page, the API, and all they lead to."""
    page = client.get("/")
    yield page
    yield client.get("/api/next")
    for address in sorted(set(re.findall(r'(?:src|href)="(/[^"#]*)"', page.text))):
        yield client.get(address)


@pytest.mark.parametrize("kind", ["compare", "rank", "choose", "rate", "regions"])
def test_nothing_that_reaches_a_browser_tells_where_a_picture_comes_from(client, kind):
    _, browser, _ = client(pictures_study(), phase("c", kind, "overall", questions_each=1))
    kinds = set()
    for answer in everything(browser):
        assert answer.status_code == 200, answer.url
        sent = b"\n".join([str(answer.url).encode(), repr(sorted(answer.headers.items())).encode(), answer.content])
        if "/static/" not in str(answer.url):
            assert not SECRET.search(sent), (answer.url, SECRET.search(sent))
        if answer.headers["content-type"].startswith("image/") and "/i/" in str(answer.url):
            assert not METADATA.search(answer.content)
        kinds.add(answer.headers["content-type"].partition(";")[0])
    assert {"text/html", "application/json", "image/webp"} <= kinds


def test_a_repeat_comes_under_new_names_on_other_sides(client):
    asked = phase("c", "compare", "overall", checks={"repeats": 2, "gap": 1})
    studio, browser, rater = client(pictures_study(), asked)
    seen, repeated = {}, 0
    while isinstance(task := studio.next(rater), ShownTask):
        shown = task.shown
        assert "repeat" not in browser.get("/").text
        pair = frozenset(shown.order)
        if pair in seen:
            repeated += 1
            assert seen[pair].order == shown.order[::-1]
            assert not set(seen[pair].code_names) & set(shown.code_names)
        seen[pair] = shown
        studio.submit(rater, task.id, RawAnswer(answers={"overall": "left"}), key=f"key-{task.id}")
    assert repeated == 2


def test_no_page_shows_a_prompt_in_the_views_of_two_criteria(client):
    prompts = [
        Prompt(id=f"p{p}", intent=f"intent-{p}", description=f"told-{p}", aesthetics=f"look-{p}") for p in "0123"
    ]
    items = [Item(id=f"p{p}-{k}", prompt=f"p{p}") for p in "0123" for k in range(2)]
    criteria = [
        Criterion(id="style", view=("intent", "aesthetics")),
        Criterion(id="facts", view=("intent", "description")),
    ]
    study = Study.build("views", criteria, tables={"prompts": prompts, "items": items})
    studio, browser, rater = client(study, phase("c", "compare", "style", "facts"))
    seen = set()
    while isinstance(task := studio.next(rater), ShownTask):
        seen |= set(re.findall(r"(?:told|look)-\d", browser.get("/").text))
        given = RawAnswer(answers=dict.fromkeys(task.shown.question.criteria, "left"))
        studio.submit(rater, task.id, given, key=f"key-{task.id}")
    assert sorted(word[-1] for word in seen) == ["0", "1", "2", "3"]  # every prompt, each in one view
    assert {word[:4] for word in seen} == {"told", "look"}
