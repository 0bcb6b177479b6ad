"""Attacks by what is sent and by what a study holds: nothing runs, nothing breaks, nothing of the machine is told."""

from __future__ import annotations

import io
import logging
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from doors import BASE, Served, served
from fastapi.routing import iter_route_contexts
from owner_studio import Owner, answer_all, csrf_of, field, look
from PIL import Image
from postgres import KINDS, fresh_url
from starlette.testclient import TestClient

from salon.collect import FILE, RawAnswer, ShownTask, Studio, StudioSettings
from salon.store import open_database, save_study
from salon.study import Criterion, Item, Prompt, Scale, Study
from salon.web.app import create_app
from salon.web.settings import WebSettings

SHAPE = {"error", "needed", "found", "where", "remedy", "request"}
SQL = "'; DROP TABLE raters; --"
LOTS = {"session_burst": 10**6, "address_burst": 10**6, "failures_burst": 10**6}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A studio in which everything is answered; tests leave it so."""
    with served(tmp_path_factory.mktemp("inputs"), **LOTS) as made:
        answer_all(made)
        look(made.studio)
        yield made


# -- everything that can be sent, everywhere ------------------------------------------------------------------

ODD = [SQL, '" OR ""="', "%", "_", "\\", "\x00", "${7*7}{{7*7}}", "<svg/onload=alert(1)>", "../../etc/passwd", "\u202e"]
ODD += ["\r\nSet-Cookie: a=b", "9" * 400, "-1", "NaN", "1e999", "\ufffd" * 50, "a" * 5000, "__class__", "%s%n", "😀"]


def _asked(door: Served) -> Iterator[tuple[str, str]]:
    for one in iter_route_contexts(door.app.routes):
        for method in one.methods or ():
            yield method, one.path


@pytest.mark.parametrize("who", ["nobody", "zoe", "owner", "judge"])
def test_odd_values_break_no_route_and_learn_nothing(door: Served, who: str) -> None:
    judge = door.studio.invite_adjudicator().token if who == "judge" else ""
    token = {"nobody": None, "judge": judge}.get(who) or getattr(door, who, None)
    client = door.client() if token is None else door.script(token)
    names = ("rater", "cohort", "count", "do", "once", "key", "answer", "place", "ruling", "note", "to", "number", "x")
    for method, path in _asked(door):
        for turn in range(0, len(ODD), 2 if "{" in path else 7):
            odd = ODD[turn:] + ODD[:turn]
            there, fields = re.sub(r"\{\w+\}", quote(odd[0], safe=""), path), dict(zip(names, odd))
            for body in ({"json": fields}, {"data": fields}) if method == "POST" else ({},):
                _check_told(client.request(method, there, params=fields, **body), door, (method, there))


def _check_told(said: Any, door: Served, where: object) -> None:
    """No fault, the one shape of error, and nothing about the machine."""
    assert said.status_code < 500, where
    assert "a=b" not in said.headers.get("set-cookie", ""), where
    text = said.text if "image" not in said.headers.get("content-type", "") else ""
    for secret in (str(door.folder), "site-packages", "Traceback", sys.prefix, "sqlalchemy", "sqlite"):
        assert secret not in text, (where, secret)
    if said.status_code >= 400 and str(said.url.path).startswith("/api/"):
        assert set(said.json()) == SHAPE, where
        assert said.json()["request"] == said.headers["x-request-id"], where


FORM = b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n%s\r\n--x--\r\n'


@pytest.mark.parametrize("charset", ["undefined", "punycode", "idna", "utf-7", "zlib", "utf-16", "\xff"])
@pytest.mark.parametrize("way", ["cookie", "bearer"])
def test_forms_in_charsets_that_only_python_knows(door: Served, charset: str, way: str) -> None:
    client = door.client(door.owner) if way == "cookie" else door.script(door.owner)
    kind = f"multipart/form-data; boundary=x; charset={charset}".encode("latin-1")
    for path in ("/owner/raters", "/owner/import", "/owner/settings", "/logout" if way == "bearer" else "/owner/erase"):
        said = client.post(path, content=FORM % b"\xff\xfe-\x80", headers={"Content-Type": kind})
        assert said.status_code in (200, 403, 422), (path, said.status_code)


@pytest.mark.parametrize(
    "kind", ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=" + "x" * 300]
)
@pytest.mark.parametrize("body", [b"", b"--x", b"--x\r\n\r\n\r\n--x--", b"\x00" * 1000, b"--\r\nContent-Disposition:"])
def test_broken_forms_are_no_forms(door: Served, kind: str, body: bytes) -> None:
    said = door.client(door.owner).post("/owner/raters", content=body, headers={"Content-Type": kind})
    assert said.status_code in (403, 422)


@pytest.mark.parametrize("toml", ["a = " + "[" * 100_000, "a = " + "{a=" * 50_000, "seed = " + "9" * 5000, "\x00"])
def test_a_studio_toml_without_end_is_told_in_place(door: Served, toml: str) -> None:
    owner = Owner(door.client(door.owner))
    seen = field(owner.client.get("/owner/settings").text, "seen")
    for sent in ({"text": toml}, {"files": {"file": ("studio.toml", toml.encode())}}):
        said = owner.post("/owner/settings", seen=seen, **sent)
        assert said.status_code == 422
        assert "studio.toml" in said.text


def test_a_studio_toml_that_was_spoilt_by_hand_is_told_in_place(tmp_path: Path) -> None:
    with served(tmp_path) as door:
        owner = Owner(door.client(door.owner))
        (door.folder / FILE).write_text("[[[")
        page = owner.client.get("/owner/settings").text
        names = re.findall(r'name="(times\.[a-z_]+|break_minutes)"', page)
        plain = dict.fromkeys(names, "2") | {"language": "en", "completion_code": "", "guidelines": ""}
        plain |= {"consent.text": "", "consent.version": "1", "seen": field(page, "seen")}
        said = owner.post("/owner/settings/plain", **plain)
        assert (said.status_code, "TOML" in said.text) == (422, True)


# -- the databases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_names_made_of_sql_are_only_names(tmp_path: Path, kind: str) -> None:
    """Ids of everything, from the study to the key of an answer, come back as they went in."""
    names = [f"{SQL} {part}" for part in ("one", 'two"', "three%_\\", "fo\u00fcr\u202e")]
    criterion = Criterion(id=names[0], scale=Scale(low=1, high=5, step=1))
    items = [Item(id=f"{names[2]} {k}", prompt=names[1]) for k in range(3)]
    study = Study.build(SQL, [criterion], tables={"prompts": [Prompt(id=names[1], text=SQL)], "items": items})
    phase = {"id": names[3], "protocol": "compare", "criteria": [names[0]], "checks": {"repeats": 0}}
    asked = StudioSettings.model_validate(
        {"cohorts": [{"id": SQL, "phases": [phase]}], "times": {"prompt": 0, "compare": 0}}
    )
    save_study(study, tmp_path / "study")
    with open_database(fresh_url(kind, tmp_path)) as database:
        database.put_study(study)
        studio = Studio(database, asked, tmp_path / "study")
        (invited,) = studio.invite(SQL)
        assert invited.rater.startswith(SQL)
        while isinstance(step := studio.next(invited.rater), ShownTask):
            given = RawAnswer(answers={names[0]: "left"}, rationale=SQL if step.phase.rationale != "none" else None)
            studio.submit(invited.rater, step.id, given, key=f"{SQL} {step.id}")
        app = create_app(studio, WebSettings(folder=tmp_path / "study"))
        owner = TestClient(app, base_url=BASE, headers={"Authorization": f"Bearer {database.new_link('owner')}"})
        (row,) = owner.get("/api/owner/progress").json()
        assert (row["rater"], row["judgments"]) == (invited.rater, {names[0]: 3})
        for do in ("pause", "resume", "remove", "reinvite"):
            said = owner.post("/api/owner/raters", json={"rater": invited.rater, "do": do})
            assert said.status_code == 200, do
        for page in ("/owner", "/owner/raters", "/owner/gallery", "/owner/audit"):
            assert owner.get(page).status_code == 200, page
        back = database.read_study()
        assert {item.id for item in back.nouns("items")} == {item.id for item in items}
        assert len(back.comparisons) == 3
        studio.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_database_cannot_hold_is_the_senders_mistake(tmp_path: Path, kind: str) -> None:
    with served(tmp_path, url=None if kind == "sqlite" else fresh_url(kind, tmp_path)) as door:
        owner, page = door.script(door.owner), Owner(door.client(door.owner))
        for do in ("pause", "resume", "remove", "reinvite", "erase"):
            for name in ("\x00", f"{door.names['zoe']}\x00"):
                said = owner.post("/api/owner/raters", json={"rater": name, "do": do})
                assert said.status_code in (404, 422), do
        assert page.client.get("/owner/erase?rater=%00").status_code in (404, 422)
        assert page.post("/owner/raters", rater="\x00", do="pause").status_code in (404, 422)
        zoe = door.script(door.zoe)
        task = zoe.get("/api/next").json()["id"]
        given = {"answer0": "left", "key": "nul\x00nul-nul"}
        assert zoe.post(f"/tasks/{task}/answer", data=given).headers["location"] == "/?note=not_accepted"
        assert [one.status for one in door.studio.database.raters()] == ["active", "invited"]


# -- hostile studies ------------------------------------------------------------------------------------------

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg/onload=alert(3)>{{7*7}}javascript:alert(4)"
MARKDOWN = (
    f"# {EVIL}\n\n[a](javascript:alert(5)) [b](JaVaScRiPt&colon;alert(6)) [c](data:text/html;base64,PHNjcmlwdD4=)"
    "\n\n![d](vbscript:x) <iframe src=//evil.example></iframe> <a href=x onclick=alert(7)>e</a>\n\n"
    '<javascript:alert(8)>\n\n[f]: javascript:alert(9)\n[f] ["](/x"onmouseover="alert(10))'
)


class Looked(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.bad += [f"{tag} {name}" for name in given if name.startswith("on") or name in ("style", "srcdoc")]
        if tag in ("iframe", "object", "embed", "base"):
            self.bad.append(tag)
        if tag == "script" and not given.get("src", "").startswith("/static/"):
            self.bad.append("script")
        for name in ("href", "src", "action", "formaction", "data-full"):
            address = given.get(name, "").strip().lower()
            if address and not re.match(r"/(?!/)|#|https?:|/x", address):
                self.bad.append(f"{tag} {name} {address}")


def _hostile(folder: Path) -> Study:
    """A study whose every text is an attack."""
    scale = Scale(low=1, high=3, step=1, labels=(EVIL, EVIL + "2", EVIL + "3"))
    criterion = Criterion(
        id=f"c {EVIL}", name=EVIL, question=EVIL, rate_question=EVIL, rubric=MARKDOWN + EVIL, scale=scale
    )
    items = [
        Item(id=f"{k} {EVIL}", prompt=f"p {EVIL}", generator=EVIL, image=f"images/{k}<img src=x onerror=a>.png")
        for k in range(3)
    ]
    prompts = [Prompt(id=f"p {EVIL}", text=EVIL + MARKDOWN)]
    study = Study.build(EVIL, [criterion], tables={"prompts": prompts, "items": items})
    save_study(study, folder)
    (folder / "images").mkdir()
    for item in items:
        Image.new("RGB", (60, 40), "teal").save(folder / str(item.image))
    return study


@pytest.mark.parametrize("kind", ["compare", "rate", "rank", "choose", "checklist", "regions", "text"])
def test_nothing_in_a_study_runs_in_a_browser(tmp_path: Path, kind: str) -> None:
    study = _hostile(tmp_path / "study")
    phase: dict[str, Any] = {"id": EVIL[:90], "protocol": kind, "criteria": [f"c {EVIL}"], "checks": {"repeats": 0}}
    phase |= {"points": [EVIL]} if kind == "checklist" else {}
    told = {
        "cohorts": [{"id": EVIL[:60], "phases": [phase], "note": EVIL}],
        "times": {"prompt": 0, "compare": 0, "rate": 0, "guidelines": 0},
        "consent": {"text": MARKDOWN, "version": EVIL},
        "guidelines": MARKDOWN,
        "profile": [EVIL],
        "screener": [{"id": EVIL, "text": EVIL, "options": [EVIL, "no"], "accept": [EVIL]}],
        "completion_code": EVIL,
        "references": [
            {"criterion": f"c {EVIL}", "level": 1, "image": "images/0<img src=x onerror=a>.png", "note": EVIL}
        ],
    }
    with open_database(fresh_url("sqlite", tmp_path)) as database:
        database.put_study(study)
        studio = Studio(database, StudioSettings.model_validate(told), tmp_path / "study")
        app = create_app(studio, WebSettings(folder=tmp_path / "study"))
        rater = _Rater(app, studio)
        pages = rater.pages()
        owner = TestClient(app, base_url=BASE, headers={"Authorization": f"Bearer {database.new_link('owner')}"})
        where = ["/owner", "/owner/raters", "/owner/gallery", "/owner/settings", "/owner/data", "/owner/audit"]
        where += ["/adjudicate", f"/owner/erase?rater={quote(rater.name)}"]
        pages += [owner.get(path) for path in where]
        studio.close()
    assert len(pages) >= 13
    for page in pages:
        looked = Looked()
        looked.feed(page.text)
        assert page.status_code == 200, (page.url, page.text)
        assert not looked.bad, (page.url, looked.bad)
        assert "{{7*7}}" in page.text or "49" not in page.text, "no text is a template"
        assert "javascript" not in page.headers.get("location", "")


class _Rater:
    """A rater's browser that goes through every page once."""

    def __init__(self, app: Any, studio: Studio) -> None:
        (invited,) = studio.invite(EVIL[:60])
        self.name, self.client = invited.rater, TestClient(app, base_url=BASE)
        self.client.get(f"/enter/{invited.token}")

    def pages(self) -> list[Any]:
        """Welcome, consent, screener, profile, guidelines, the question, leaving."""
        seen = []
        for path, fields in [
            ("/welcome", {}),
            ("/consent", {"version": EVIL}),
            ("/screener", {f"question.{EVIL}": EVIL}),
            ("/profile", {f"field.{EVIL}": EVIL}),
            ("/guidelines", {}),
        ]:
            seen.append(self.client.get("/"))
            assert f'action="{path}"' in seen[-1].text, path
            self.client.post(path, data={"csrf": csrf_of(seen[-1].text)} | fields)
        return [*seen, self.client.get("/"), self.client.get("/withdraw")]


# -- uploads and pictures -------------------------------------------------------------------------------------


def test_a_picture_that_is_also_a_page_is_served_as_a_picture_only(tmp_path: Path) -> None:
    """A PNG with a page behind its end, or in its texts, is a good PNG: what browsers get is drawn anew."""
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "teal").save(file, "PNG")
    both = file.getvalue() + b"<html><script>alert(1)</script></html>"
    with served(tmp_path) as door:
        owner = Owner(door.client(door.owner))
        page = owner.post("/owner/pictures", files=[("files", ("x.html", both, "text/html"))]).text
        kept = re.search(r"references/[0-9a-f]{24}\.png", page)[0]  # type: ignore[index]
        images = door.app.state.images
        images._references.append(door.folder / kept)
        address = images.reference_address(kept, "full", rater=door.names["zoe"])
        said = door.client(door.zoe).get(address)
        assert (said.status_code, said.headers["content-type"]) == (200, "image/png")
        assert said.headers["x-content-type-options"] == "nosniff"
        assert b"script" not in said.content
        for name in (kept, kept.partition("/")[2], ".studio/secret", "studio.db", "studio.toml"):
            for path in (f"/{name}", f"/static/{name}", f"/static/../{name}", f"/i/{name}"):
                assert owner.client.get(path).status_code == 404, path


# -- the log --------------------------------------------------------------------------------------------------


def test_no_token_password_or_cookie_reaches_a_log(tmp_path: Path, caplog, monkeypatch) -> None:
    """Neither when all goes well nor when it does not: refused, too fast, or a fault of ours."""
    with caplog.at_level(logging.DEBUG), served(tmp_path, password="open sesame please") as door:
        client = door.client(door.zoe)
        cookie = client.cookies["salon"]
        csrf = client.get("/api/me").json()["csrf"]
        made = door.script(door.owner).post("/api/owner/invite", json={"cohort": "designers"}).json()[0]["link"]
        door.client().post("/login", data={"password": "open sesame pleasf"})
        door.client().get("/enter/made-up-token-made-up-token")
        client.post("/undo", data={"csrf": "wrong"})
        for asked in ("who", "who_of_link"):
            monkeypatch.setattr(door.studio.database, asked, lambda *_, **__: 1 / 0)
        assert door.client().get(f"/enter/{door.zoe}").status_code == 500
        assert client.get("/").status_code == 500
    assert "ZeroDivisionError" in caplog.text, "the fault itself is there"
    secrets = [door.zoe, door.owner, made.rpartition("/")[2], cookie, csrf, "pleas", "made-up-token"]
    ours = [record for record in caplog.records if not record.name.startswith("httpx")]  # the test's own client
    written = "\n".join(logging.Formatter().format(record) for record in ours)
    assert [secret for secret in secrets if secret in written] == []


def test_a_failing_statement_is_told_without_its_values(tmp_path: Path) -> None:
    with served(tmp_path) as door:
        database, name = door.studio.database, door.names["zoe"]
        with pytest.raises(Exception) as failed, database.writing() as connection:
            connection.exec_driver_sql("INSERT INTO profiles VALUES (?, ?, ?)", (name, "a private matter", None))
    assert "private matter" not in str(failed.value)
    assert "NOT NULL" in str(failed.value)
