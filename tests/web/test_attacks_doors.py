"""Attacks on the door: forged forms, other people's tasks, guesses at once, and people who should be out."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from argon2 import PasswordHasher
from doors import PLAIN, Served, served
from fastapi.routing import iter_route_contexts
from owner_studio import START, Owner, answer_all, csrf_of, field, walk
from postgres import KINDS, fresh_url
from waiting import until

from salon.collect import RawAnswer, change_settings
from salon.collect.studio.rater_side import EntrySide
from salon.errors import DesignError
from salon.store import open_database
from salon.web.settings import owner_token

LEFT = {"answers": {"overall": "left"}}
CHANGING = ("POST", "PUT", "PATCH", "DELETE")


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made


@pytest.fixture(params=KINDS)
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    """A studio on each kind of database."""
    url = None if request.param == "sqlite" else fresh_url(request.param, tmp_path)
    with served(tmp_path, url=url) as made:
        yield made


def changing_routes(door: Served) -> list[tuple[str, str]]:
    """Every route that is not only read, whoever added it."""
    found = [
        (method, one.path.replace("{task}", "1"))
        for one in iter_route_contexts(door.app.routes)
        for method in one.methods or ()
        if method not in ("GET", "HEAD")
    ]
    assert len(found) >= 20
    assert {method for method, _ in found} <= set(CHANGING)
    return found


def everything(door: Served) -> tuple[Any, ...]:
    """What an attack must leave as it was."""
    database = door.studio.database
    people = [(one.id, one.status) for one in database.raters()]
    answers = [(one.id, one.undone) for one in database.given()]
    links = [(one.number, one.revoked_at) for one in database.links()]
    entries = [(database.profile(id), database.consents(id)) for id, _ in people]
    return people, answers, links, entries, database.settings(), database.revision(), len(database.audit())


# -- forged forms ---------------------------------------------------------------------------------------------


def test_no_route_takes_a_form_that_another_site_could_send(tmp_path: Path) -> None:
    """A page of another site can send these kinds of body with a browser's cookies, and no header of its own."""
    with served(tmp_path, session_burst=10_000, address_burst=10_000) as door:
        _send_forms(door)


def _send_forms(door: Served) -> None:
    answer_all(door)
    judge = door.studio.invite_adjudicator().token
    name = door.names["zoe"]
    fields = {"rater": name, "do": "remove", "typed": name, "cohort": "designers", "count": "1", "once": "x"}
    fields |= {"password": "x", "key": "k" * 20, "answer0": "left", "answer": "0", "place": "0", "ruling": "1"}
    stranger = csrf_of(door.client(door.max).get("/withdraw").text)
    before = everything(door)
    bodies: list[dict[str, Any]] = [
        {"data": fields},
        {"data": fields | {"csrf": stranger}},
        {"data": fields | {"csrf": ""}},
        {"data": fields, "files": {"file": ("x.csv", b"x")}},
        {"content": b'{"rater":"x"}', "headers": {"Content-Type": "text/plain"}},
        {"content": b'{"rater":"x"}', "headers": {"Content-Type": "application/json"}},
        {"params": {"csrf": stranger, "X-CSRF-Token": stranger}},
    ]
    for token in (door.zoe, door.owner, judge):
        client = door.client(token)
        for method, path in changing_routes(door):
            for body in bodies:
                said = client.request(method, path, **body)
                assert said.status_code in (403, 422), (method, path, body)
                assert said.status_code == 403 or "files" in body, "only a file where none is taken is told first"
    assert everything(door) == before


def test_a_right_token_from_a_wrong_site_opens_nothing(door: Served) -> None:
    client = door.client(door.owner)
    own = {"X-CSRF-Token": csrf_of(client.get("/owner").text)}
    before = everything(door)
    for sent in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
        for method, path in changing_routes(door):
            assert client.request(method, path, headers=own | sent).status_code == 403, (method, path)
    assert everything(door) == before


def test_nothing_that_is_only_read_changes_anything(door: Served) -> None:
    """Links and pictures of other sites can make a browser send any GET."""
    answer_all(door)
    judge = door.studio.invite_adjudicator().token
    before = everything(door)
    reads = [one.path for one in iter_route_contexts(door.app.routes) if "GET" in (one.methods or ())]
    for token in (door.zoe, door.owner, judge):
        client = door.client(token)
        for path in reads:
            client.get(path.replace("{name}", "x").replace("{token}", "x"), params={"rater": door.names["zoe"]})
    assert everything(door) == before


# -- what belongs to others -----------------------------------------------------------------------------------


def test_pages_of_others_tasks_are_nobodys(door: Served) -> None:
    zoe, max = door.client(door.zoe), door.client(door.max)
    task = zoe.get("/api/next").json()["id"]
    csrf = csrf_of(max.get("/").text)
    for what in ("ready", "answer", "pair"):
        fields = {"csrf": csrf, "key": "long-enough", "answer0": "left", "pair": "1", "pairs": ""}
        theirs, none = (max.post(f"/tasks/{number}/{what}", data=fields) for number in (task, 99_999))
        assert theirs.status_code == none.status_code == 404, what
        told = [re.sub("[0-9a-f]{16}|task [0-9]+", "", said.text) for said in (theirs, none)]
        assert told[0] == told[1], "another's task and none sound alike"
    assert not door.studio.database.given()


def test_the_key_of_another_rater_gives_nothing_away(door: Served) -> None:
    zoe, max = door.script(door.zoe), door.script(door.max)
    said = []
    for client in (zoe, max):
        task = client.get("/api/next").json()["id"]
        said.append(client.post(f"/api/tasks/{task}/answer", json=LEFT, headers={"Idempotency-Key": "same-key"}).json())
    assert [one["repeated"] for one in said] == [False, False]


def test_a_session_is_one_persons_whatever_else_is_sent(door: Served) -> None:
    """A bearer's token goes before a cookie, in every check alike: no mixture of two sessions is a third."""
    client = door.client(door.owner, headers={"Authorization": f"Bearer {door.zoe}"})
    assert client.get("/api/me").json()["rater"] == door.names["zoe"]
    assert client.get("/owner").status_code == 403
    assert client.post("/api/owner/invite", json={"cohort": "designers"}).status_code == 403
    client.headers["Authorization"] = "Bearer "
    assert client.get("/owner").status_code == 401, "an empty token is no reason to look at the cookie"


# -- rates ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trick", ["cookie", "two cookies", "spelling"])
def test_no_trick_gives_one_session_the_rate_of_many(tmp_path: Path, trick: str) -> None:
    with served(tmp_path, session_rate=0.001, session_burst=3) as door:
        browser = door.client(door.zoe)
        own = browser.cookies["salon"]
        bare = door.client()
        said = []
        for k in range(5):
            headers: list[tuple[str, str]] = [("Authorization", f"Bearer {door.zoe}"), ("Cookie", f"salon={k}")]
            if trick == "two cookies":
                headers = [("Cookie", f"salon={k}"), ("Cookie", f"salon={own}")]
            if trick == "spelling":
                headers = [("Authorization", f"bEARER{' ' * (k + 1)}{door.zoe}")]
            said.append(bare.get("/api/me", headers=headers).status_code)
        assert said == [200, 200, 200, 429, 429]


def test_passwords_guessed_at_once_are_counted_before_they_are_tried(tmp_path: Path, monkeypatch) -> None:
    tried, together = [], threading.Event()

    def slow(self: PasswordHasher, known: str, given: str) -> bool:
        tried.append(given)
        together.wait(5)
        return False

    monkeypatch.setattr(PasswordHasher, "verify", slow)
    with served(tmp_path, password="open sesame", failures_burst=4) as door, ThreadPoolExecutor(12) as pool:
        keeper = door.app.state.auth

        def guess(number: int) -> str:
            try:
                keeper.login(str(number), "10.0.0.1")
            except Exception as error:
                return type(error).__name__
            return "in"

        waiting = [pool.submit(guess, number) for number in range(12)]
        until(lambda: sum(one.done() for one in waiting) >= 8, "eight refusals")
        together.set()
        assert sorted(one.result() for one in waiting) == ["NotSignedIn"] * 4 + ["TooMany"] * 8
    assert len(tried) == 4


def test_every_guess_costs_one_hash_and_a_right_one_is_not_counted(tmp_path: Path, monkeypatch) -> None:
    """What a guess costs does not depend on how wrong it is: always one verification, of one and the same hash."""
    real, hashes = PasswordHasher.verify, []

    def counted(self: PasswordHasher, known: str, given: str) -> bool:
        hashes.append(known)
        return real(self, known, given)

    monkeypatch.setattr(PasswordHasher, "verify", counted)
    with served(tmp_path, password="open sesame", failures_burst=3) as door:
        client = door.client()
        guesses = ["o", "open sesam", "x" * 1000, "open sesame"]
        for password in ["open sesame"] * 5:
            assert client.post("/login", data={"password": password, "csrf": _csrf(client)}).status_code == 303
        said = [client.post("/login", data={"password": one, "csrf": _csrf(client)}).status_code for one in guesses]
    assert said == [401, 401, 401, 429]
    assert len(hashes) == 5 + 3
    assert len(set(hashes)) == 1


def _csrf(client) -> str:
    return field(client.get("/login").text, "csrf")


# -- people who should be out ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["remove", "withdraw", "erase"])
def test_who_is_out_is_out_by_every_door(either: Served, how: str) -> None:
    door, name = either, either.names["zoe"]
    walk(door.studio, name, most=2)
    browser, script = door.client(door.zoe), door.script(door.zoe)
    task = browser.get("/api/next").json()
    picture, csrf = task["pictures"][0]["screen"], csrf_of(browser.get("/").text)
    getattr(door.studio, how)(name)
    assert door.studio.database.read_study().counts.get("comparisons", 0) == 0
    fields = {"csrf": csrf, "key": "after-the-end", "answer0": "left"}
    said = [
        browser.get("/"),
        browser.get(picture),
        browser.post(f"/tasks/{task['id']}/answer", data=fields),
        browser.post("/withdraw", data=fields),
        browser.post("/undo", data=fields),
        script.post(f"/api/tasks/{task['id']}/answer", json=LEFT, headers={"Idempotency-Key": "after-the-end"}),
        script.get("/api/next"),
        door.client().get(f"/enter/{door.zoe}"),
    ]
    assert [one.status_code for one in said] == [401] * len(said)
    assert len(door.studio.database.given()) == (0 if how == "erase" else 2)


def test_a_request_under_way_does_not_bring_back_who_left(either: Served, monkeypatch) -> None:
    """Another device withdraws between the look at the rater's status and the page."""
    studio, name = either.studio, either.names["zoe"]
    real = EntrySide.missing

    def meanwhile(self: EntrySide, rater: str, now: int) -> Any:
        studio.database.withdraw(rater)
        return real(self, rater, now)

    monkeypatch.setattr(EntrySide, "missing", meanwhile)
    studio.next(name)
    assert studio.database.rater(name).status == "withdrawn"


def test_pausing_who_withdrew_does_not_bring_the_answers_back(door: Served) -> None:
    name = door.names["zoe"]
    walk(door.studio, name, most=2)
    door.studio.withdraw(name)
    said = door.script(door.owner).post("/api/owner/raters", json={"rater": name, "do": "pause"})
    assert (said.status_code, door.studio.database.rater(name).status) == (200, "withdrawn")
    assert door.studio.database.read_study().counts.get("comparisons", 0) == 0


def test_who_is_paused_changes_nothing_by_any_door(either: Served) -> None:
    """Answers of a paused rater stay: they are neither added to nor taken back."""
    name = either.names["zoe"]
    browser, script = either.client(either.zoe), either.script(either.zoe)
    for number in range(2):
        task = script.get("/api/next").json()["id"]
        script.post(f"/api/tasks/{task}/answer", json=LEFT, headers={"Idempotency-Key": f"key-number-{number}"})
    task, csrf = script.get("/api/next").json()["id"], csrf_of(browser.get("/").text)
    either.studio.pause(name)
    fields = {"csrf": csrf, "key": "while-paused", "answer0": "left"}
    said = [
        browser.post(f"/tasks/{task}/answer", data=fields),
        browser.post("/undo", data=fields),
        script.post(f"/api/tasks/{task}/answer", json=LEFT, headers={"Idempotency-Key": "while-paused"}),
        script.post("/api/undo"),
    ]
    assert [one.status_code for one in said] == [403] * len(said)
    assert [one.undone for one in either.studio.database.given()] == [False, False]
    either.studio.resume(name)
    assert script.post("/api/undo").status_code == 200


def test_an_adjudicator_can_be_removed(door: Served) -> None:
    answer_all(door)
    judge = door.studio.invite_adjudicator()
    browser = door.client(judge.token)
    assert browser.get("/adjudicate").status_code == 200
    owner = door.script(door.owner)
    for do in ("pause", "resume", "reinvite"):
        assert owner.post("/api/owner/raters", json={"rater": judge.rater, "do": do}).status_code == 422
    page = Owner(door.client(door.owner))
    assert f'name="rater" value="{judge.rater}"' in page.client.get("/owner/raters").text
    assert page.post("/owner/raters", rater=judge.rater, do="remove").status_code == 303
    assert browser.get("/adjudicate").status_code == 401
    assert f'name="rater" value="{judge.rater}"' not in page.client.get("/owner/raters").text
    assert door.client().get(f"/enter/{judge.token}").status_code == 401
    assert door.client(door.zoe).get("/").status_code == 200, "nobody else's link ended"


def test_no_cohort_of_raters_has_the_say_over_disputes(door: Served) -> None:
    cohorts = [PLAIN["cohorts"][0] | {"id": "adjudicators"}]
    with pytest.raises(DesignError, match="another name"):
        change_settings(door.studio, tomli_w.dumps(PLAIN | {"cohorts": cohorts}))


def test_the_owners_link_can_be_changed(door: Served) -> None:
    first, is_new = owner_token(door.folder, door.studio.database)
    assert is_new
    assert owner_token(door.folder, door.studio.database) == (first, False)
    browser = door.client(first)
    (door.folder / ".studio" / "owner").unlink()
    second, _ = owner_token(door.folder, door.studio.database)
    assert browser.get("/owner").status_code == 401
    assert door.client(second).get("/owner").status_code == 200
    third, is_new = owner_token(door.folder, door.studio.database, renew=True)
    assert is_new
    assert door.client().get(f"/enter/{second}").status_code == 401
    assert door.client(third).get("/owner").status_code == 200


def test_a_new_consent_text_comes_before_the_next_question_for_scripts_too(door: Served) -> None:
    zoe = door.script(door.zoe)
    task = zoe.get("/api/next").json()["id"]
    (door.folder / "studio.toml").write_text(tomli_w.dumps(PLAIN))
    door.app.state.studio = change_settings(
        door.studio, tomli_w.dumps(PLAIN | {"consent": {"text": "And now?", "version": "2"}})
    )
    said = zoe.post(f"/api/tasks/{task}/answer", json=LEFT, headers={"Idempotency-Key": "key-number-1"}).json()
    assert said["next"]["what"] == "consent"
    assert zoe.get("/api/next").json()["what"] == "consent"
    assert len(door.studio.database.tasks_of(door.names["zoe"])) == 1, "nothing more was asked"


# -- forms from before a change -------------------------------------------------------------------------------

ADULT = {"id": "adult", "text": "Are you of age?", "options": ["yes", "no"], "accept": ["yes"]}
BLIND = {"id": "blind", "text": "Are you colour-blind?", "options": ["yes", "no"], "accept": ["no"]}


def change(door: Served, **settings: Any) -> Any:
    """The owner changes the studio while it runs."""
    door.app.state.studio = change_settings(door.app.state.studio, tomli_w.dumps(PLAIN | settings))
    return door.app.state.studio


def test_a_form_from_before_a_change_says_nothing_else_by_its_place(door: Served) -> None:
    change(door, screener=[ADULT, BLIND], profile=["country", "city"])
    zoe, max = door.client(door.zoe), door.client(door.max)
    csrf = csrf_of(zoe.get("/").text)
    studio = change(door, screener=[BLIND, ADULT], profile=["city", "country"])
    zoe.post("/screener", data={"csrf": csrf, "question.adult": "yes", "question.blind": "no"})
    zoe.post("/profile", data={"csrf": csrf, "field.country": "Italy", "field.city": "Rome"})
    said = studio.database.profile(door.names["zoe"])
    assert said["screener"] == {"adult": "yes", "blind": "no"}
    assert said["profile"] == {"country": "Italy", "city": "Rome"}
    csrf = csrf_of(max.get("/").text)
    max.post("/screener", data={"csrf": csrf, "question.adult": "yes", "question.blind": "no"})
    studio = change(door, profile=["city", "country", "years"])
    max.post("/profile", data={"csrf": csrf, "field.country": "Italy", "field.city": "Rome"})
    assert "profile" not in studio.database.profile(door.names["max"]), "years were never asked"
    assert 'name="field.years"' in max.get("/").text


def test_a_screener_that_changes_asks_what_is_new_and_lets_in_who_was_in(door: Served) -> None:
    change(door, screener=[ADULT])
    zoe = door.client(door.zoe)
    csrf = csrf_of(zoe.get("/").text)
    zoe.post("/screener", data={"csrf": csrf, "question.adult": "yes"})
    assert "/tasks/" in zoe.get("/").text
    studio = change(door, screener=[ADULT, BLIND])
    assert 'name="question.blind"' in zoe.get("/").text
    zoe.post("/screener", data={"csrf": csrf, "question.adult": "no", "question.blind": "no"})
    assert studio.database.profile(door.names["zoe"])["screener"] == {"adult": "yes", "blind": "no"}, "it stands"
    assert "/tasks/" in zoe.get("/").text
    change(door, screener=[ADULT | {"options": ["yes, I am", "no"], "accept": ["yes, I am"]}])
    assert 'value="yes, I am"' in zoe.get("/").text, "an answer that is no option any more is asked for anew"
    zoe.post("/screener", data={"csrf": csrf, "question.adult": "yes, I am"})
    assert "/tasks/" in zoe.get("/").text
    change(door, screener=[])
    assert "/tasks/" in zoe.get("/").text


def test_no_time_of_the_browsers_own_is_believed(door: Served) -> None:
    """A script may say anything about time; the server's clock is the one that counts."""
    name = door.names["zoe"]
    step = door.studio.next(name, now=START)
    given = RawAnswer.model_validate(LEFT)
    door.studio.submit(name, step.id, given, key="one-long-key", now=START + 5000)
    zoe = door.script(door.zoe)
    zoe.headers["Date"] = "Thu, 01 Jan 1970 00:00:00 GMT"
    task = zoe.get("/api/next").json()["id"]
    body = LEFT | {"answered_at": 1, "seconds": 0.1}
    refused = zoe.post(f"/api/tasks/{task}/answer", json=body, headers={"Idempotency-Key": "two-long-key"})
    assert refused.status_code == 422, "there is no place for it"


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_others_on_the_machine_cannot_read_the_database(tmp_path: Path) -> None:
    with open_database(f"sqlite:///{tmp_path / 'new.db'}", create=True) as database:
        database.note("owner", "looked")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}, modes
