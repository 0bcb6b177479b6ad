"""What the owner sees and does, by plain forms: figures with their n, links shown once, settings checked in place."""

from __future__ import annotations

import re
import tomllib
import zipfile
from collections.abc import Iterator
from io import BytesIO

import pytest
from doors import Served, served
from owner_studio import Owner, answer_all, csrf_of, field, look

from salon.collect import FILE

PAGES = ("/owner", "/owner/raters", "/owner/gallery", "/owner/settings", "/owner/data", "/owner/audit", "/adjudicate")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A studio with answers and their figures; tests leave both as they are."""
    with served(tmp_path_factory.mktemp("owner")) as made:
        answer_all(made)
        look(made.studio)
        yield made


@pytest.fixture
def fresh(tmp_path) -> Iterator[Served]:
    """A studio of the test's own."""
    with served(tmp_path, {"pay": {"per_hour": 60}, "completion_code": "DONE-1"}) as made:
        yield made


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_the_owners_alone_and_holds_nothing_inline(door: Served, path: str) -> None:
    page = door.client(door.owner).get(path)
    assert page.status_code == 200
    assert "style=" not in page.text
    assert not re.search(r"<script(?![^>]*src=)|\son[a-z]+=", page.text)
    assert door.client(door.zoe).get(path).status_code == 403
    assert door.client().get(path).status_code == 401


def test_the_first_page_tells_every_figure_with_its_n(door: Served) -> None:
    text = door.client(door.owner).get("/owner").text
    assert "<strong>12</strong> <span>judgments</span>" in text
    assert "12 of about 12 questions answered" in text
    assert re.search(r'Pairs won by the left side</th><td class="figure">[^<]+</td><td class="number">2 raters', text)
    assert re.search(
        r'Time for a judgment</th><td class="figure">[57]\.\d[^<]*\u202fs</td><td class="number">2 raters', text
    )
    assert 'Repeats answered alike</th><td class="figure">too few yet' in text  # none were planted
    assert re.search(r"Figures of revision \d+, .* old, computed in", text)
    assert "check|data:" in text, "the signature"
    assert "most in one hour: 12" in text


def test_the_gallery_names_items_and_how_often_each_was_judged(door: Served) -> None:
    text = door.client(door.owner).get("/owner/gallery").text
    assert text.count("judged 4 times") == 6  # each of 3 items is in 2 pairs, for 2 raters
    assert "secret-generator" in text, "the owner may know"
    picture = re.search(r'src="(/i/[^"]+)"', text)[1]  # type: ignore[index]
    assert door.client(door.owner).get(picture).headers["content-type"] == "image/webp"
    assert door.client(door.owner).get("/owner/gallery?number=99").status_code == 200


def test_hostile_names_and_numbers_are_refused(door: Served) -> None:
    owner = Owner(door.client(door.owner))
    evil = "<script>alert(1)</script>' OR 1=1 --"
    for path, fields in [
        ("/owner/invite", {"cohort": evil, "count": "1", "once": "a"}),
        ("/owner/invite", {"cohort": "designers", "count": "1e9", "once": "b"}),
        ("/owner/invite", {"cohort": "designers", "count": "²", "once": "c"}),
        ("/owner/raters", {"rater": door.names["zoe"], "do": "__init__", "once": "d"}),
        ("/owner/raters", {"rater": door.names["zoe"], "do": "erase", "once": "d"}),
        ("/owner/settings/plain", {"seen": "x", "times.prompt": evil}),
    ]:
        answer = owner.post(path, **fields)
        assert answer.status_code == 422, (path, fields)
        assert "<script>alert" not in answer.text
    assert owner.post("/owner/raters", rater=evil, do="pause").status_code == 404
    for path in ("/owner/audit?before=x", "/owner/gallery?number=0", f"/owner/export?to={evil}"):
        assert owner.client.get(path).status_code == 422
    assert "alert" not in owner.client.get(f"/owner/raters?done=pause&rater={evil}").text.replace(
        "&lt;script&gt;alert", ""
    )


def test_links_are_shown_once_and_work(fresh: Served) -> None:
    owner = Owner(fresh.client(fresh.owner))
    once = field(owner.client.get("/owner/raters").text, "once")
    made = owner.post("/owner/invite", cohort="designers", count="3", once=once)
    links = re.findall(r'value="(http://[^"]+/enter/[^"]+)"', made.text)
    assert len(set(links)) == 3
    assert all(fresh.client().get(link).headers["location"] == "/" for link in links)
    again = owner.post("/owner/invite", cohort="designers", count="3", once=once)
    assert again.status_code == 409
    assert "/enter/" not in again.text
    assert len(fresh.studio.database.raters()) == 5
    assert "/enter/" not in owner.client.get("/owner/raters").text


def test_pause_go_on_remove_bring_back_erase(fresh: Served) -> None:
    owner, name = Owner(fresh.client(fresh.owner)), fresh.names["zoe"]
    rater = fresh.client(fresh.zoe)

    def status() -> str:
        return fresh.studio.database.rater(name).status

    assert owner.post("/owner/raters", rater=name, do="pause").status_code == 303
    assert (status(), "paused" in rater.get("/").text) == ("paused", True)
    owner.post("/owner/raters", rater=name, do="resume")
    assert (status(), rater.get("/").status_code) == ("active", 200)
    owner.post("/owner/raters", rater=name, do="remove")
    assert (status(), rater.get("/").status_code) == ("removed", 401)
    back = owner.post("/owner/raters", rater=name, do="reinvite", once="k")
    assert (status(), back.text.count("/enter/")) == ("active", 1)
    page = owner.client.get("/owner/erase", params={"rater": name}).text
    assert "deleted for good" in page
    assert owner.post("/owner/erase", rater=name, typed=name.upper()).status_code == 422
    assert status() == "active"
    assert owner.post("/owner/erase", rater=name, typed=name).status_code == 303
    assert owner.client.get("/owner/erase", params={"rater": name}).status_code == 404
    assert name not in owner.client.get("/owner/audit").text, "the audit knows raters by number"


def test_hours_pay_and_codes(fresh: Served) -> None:
    answer_all(fresh)
    fresh.studio.next(fresh.names["zoe"])
    text = fresh.client(fresh.owner).get("/owner/raters").text
    hours, amount = re.findall(r'data-label="(?:Hours|Earned)">([0-9.]+)</td>', text)[:2]
    assert float(amount) == pytest.approx(60 * float(hours), abs=0.31)  # hours are shown to the hundredth
    assert "DONE-1" in text
    assert ">shown<" in text


def test_the_audit_is_read_page_by_page(fresh: Served) -> None:
    for _ in range(120):
        fresh.studio.database.note("owner", "looked")
    client = fresh.client(fresh.owner)
    first = client.get("/owner/audit").text
    before = re.search(r"/owner/audit\?before=(\d+)", first)[1]  # type: ignore[index]
    second = client.get(f"/owner/audit?before={before}").text
    numbers = [int(n) for text in (first, second) for n in re.findall(r'<td class="number">(\d+)</td>', text)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] == 1


# -- settings -------------------------------------------------------------------------------------------------

TOML = """
completion_code = "NEW"
[times]
prompt = 0
compare = 3.5
[[cohorts]]
id = "designers"
[[cohorts.phases]]
id = "main"
protocol = "compare"
criteria = ["overall"]
"""


def settings_page(owner: Owner) -> tuple[str, str]:
    page = owner.client.get("/owner/settings").text
    return page, field(page, "seen")


def test_a_new_studio_toml_is_at_work_at_once_and_kept(fresh: Served) -> None:
    owner = Owner(fresh.client(fresh.owner))
    (fresh.folder / FILE).write_text(TOML.replace("3.5", "0"))
    _, seen = settings_page(owner)
    assert owner.post("/owner/settings", text=TOML, seen=seen).status_code == 303
    assert fresh.app.state.studio.settings.times.compare == 3.5
    assert (fresh.folder / FILE).read_text() == TOML == fresh.studio.database.settings()
    fresh.app.state.studio.welcome(fresh.names["zoe"])
    rater = fresh.client(fresh.zoe).get("/").text
    assert 'data-wait="3.' in rater
    stale = owner.post("/owner/settings", text=TOML, seen=seen)
    assert (stale.status_code, "changed meanwhile" in stale.text) == (422, True)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("compare = 3.5", "compare = -1", "times.compare"),
        ("compare = 3.5", "compare = ", "TOML"),
        ('"overall"', '"beauty"', "cohorts[0].phases[0].criteria"),
        ('completion_code = "NEW"', 'language = "xx"', "language"),
        ('completion_code = "NEW"', 'surprise = "<script>"', "surprise"),
    ],
)
def test_mistakes_are_told_in_place_and_change_nothing(fresh: Served, before: str, after: str, said: str) -> None:
    owner = Owner(fresh.client(fresh.owner))
    (fresh.folder / FILE).write_text(TOML)
    _, seen = settings_page(owner)
    answer = owner.post("/owner/settings", text=TOML.replace(before, after), seen=seen)
    assert answer.status_code == 422
    assert said in re.search(r'role="alert">(.*?)</div>', answer.text, re.S)[1]  # type: ignore[index]
    assert after.replace('"', "&#34;").replace("<", "&lt;").replace(">", "&gt;") in answer.text, "what was typed stays"
    assert fresh.studio.database.settings() is None
    assert str(fresh.folder) not in answer.text


def test_what_was_asked_stays_asked(fresh: Served) -> None:
    owner = Owner(fresh.client(fresh.owner))
    (fresh.folder / FILE).write_text(TOML)
    answer_all(fresh)
    _, seen = settings_page(owner)
    for before, after in [('id = "main"', 'id = "other"'), ('"compare"', '"rank"'), ('id = "designers"', 'id = "x"')]:
        answer = owner.post("/owner/settings", text=TOML.replace(before, after), seen=seen)
        assert (answer.status_code, "has been asked already" in answer.text) == (422, True), after
    more = '[[cohorts.phases]]\nid = "more"\nprotocol = "rate"\ncriteria = ["overall"]\n'
    assert owner.post("/owner/settings", text=TOML + more, seen=seen).status_code == 303
    assert "Which" not in fresh.client(fresh.zoe).get("/").text, "the new phase has begun"


def test_the_plain_things_are_set_by_a_form_and_an_upload_does_too(fresh: Served) -> None:
    owner = Owner(fresh.client(fresh.owner))
    (fresh.folder / FILE).write_text(TOML)
    page, seen = settings_page(owner)
    names = [*re.findall(r'name="(times\.[a-z_]+|break_minutes)"', page)]
    plain = dict.fromkeys(names, "2") | {"language": "de", "completion_code": "", "guidelines": "Look."}
    consent = {"consent.text": "I agree.", "consent.version": "1"}
    assert owner.post("/owner/settings/plain", seen=seen, **plain, **consent).status_code == 303
    kept = tomllib.loads((fresh.folder / FILE).read_text())
    assert (kept["language"], kept["times"]["rate"], "completion_code" in kept) == ("de", 2.0, False)
    assert 'lang="de"' in fresh.client(fresh.zoe).get("/").text
    _, seen = settings_page(owner)
    sly = owner.post("/owner/settings/plain", seen=seen, **plain, **(consent | {"consent.text": "Sign all."}))
    assert (sly.status_code, "needs a new version" in sly.text) == (422, True)
    files = {"file": ("studio.toml", TOML.encode(), "text/plain")}
    assert owner.post("/owner/settings", files=files, text="", seen=seen).status_code == 303
    assert fresh.app.state.studio.settings.language == "en"


# -- messages -------------------------------------------------------------------------------------------------


def test_login_goodbye_and_errors_speak_the_studios_language(tmp_path) -> None:
    with served(tmp_path, {"language": "de"}, password="a long password") as door:
        client = door.client()
        page = client.get("/login")
        assert "Passwort" in page.text
        wrong = client.post("/login", data={"password": "guess"})
        assert (wrong.status_code, "nicht das Passwort" in wrong.text) == (401, True)
        assert client.post("/login", data={"password": "a long password"}).headers["location"] == "/owner"
        bye = client.post("/logout", data={"csrf": csrf_of(client.get("/owner").text)})
        assert "Auf Wiedersehen" in bye.text
        for path, title in [("/owner", "Bitte öffnen Sie Ihren Link"), ("/nowhere", "Hier ist nichts")]:
            assert title in client.get(path).text
        refused = client.get("/", headers={"Host": "x"})
        assert (refused.status_code, "eine andere Adresse" in refused.text) == (421, True)


def test_the_study_goes_home_in_every_form(door: Served) -> None:
    client = door.client(door.owner)
    for to in re.findall(r'name="to" value="([a-z0-9]+)"', client.get("/owner/data").text):
        answer = client.get(f"/owner/export?to={to}")
        if to == "preflib":  # it holds rankings, and nobody ranked
            assert (answer.status_code, "holds rankings" in answer.text) == (422, True)
            continue
        assert answer.status_code == 200, to
        assert zipfile.ZipFile(BytesIO(answer.content)).namelist(), to
    pictures = zipfile.ZipFile(BytesIO(client.get("/owner/export?to=csv&images=true").content)).namelist()
    assert sum(name.endswith(".png") for name in pictures) == 6
