"""Visitors from a panel: who they are, where they end, and that nothing tells a code too early or an id at all."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from doors import PLAIN, Served, served
from owner_studio import csrf_of
from postgres import KINDS, fresh_url

from salon.collect import EntryStep, NoMoreQuestions, RawAnswer, ShownTask, read_panel_ids
from salon.collect.settings import StudioSettings, read_settings
from salon.errors import BadValue
from salon.store import EXPORTS, FIELD_FILES

PID = "5f9e8d7c6b5a49382716aaaa"
QUERY = {"PROLIFIC_PID": PID, "STUDY_ID": "65f0study", "SESSION_ID": "65f0session"}
ENDS: dict[str, Any] = {
    "done": {"code": "C-DONE", "pay": 1.5},
    "screened_out": {"code": "C-SCREENED", "pay": 0.2},
    "failed_checks": {"code": "C-FAILED"},
    "over_quota": {"code": "C-FULL"},
    "timed_out": {"code": "C-LATE"},
    "no_consent": {},
}
SCREENER = [{"id": "age", "text": "How old are you?", "options": ["young", "old", "child"], "accept": ["young", "old"]}]
CODES = {end["code"] for end in ENDS.values() if "code" in end}


def panel_settings(**more: Any) -> dict[str, Any]:
    """A studio's settings with a panel."""
    panel = ENDS | {key: more.pop(key) for key in list(more) if key in ("quotas", "kind", "minutes", "missed_checks")}
    return {"panel": panel | more.pop("panel", {})} | more


def come(door: Served, **query: str) -> Any:
    """A browser that opened the panel's link."""
    client = door.client()
    client.first = client.get("/panel?" + urlencode(QUERY | query))
    return client


def fields_of(client: Any) -> dict[str, str]:
    return {"csrf": csrf_of(client.get("/").text)}


def rater_of(door: Served, pid: str = PID) -> str:
    visitor = door.studio.database.visitor_of(pid)
    assert visitor is not None
    return visitor.rater


def answer_all(door: Served, rater: str, *, attention: str = "right", most: int = 1000) -> NoMoreQuestions | ShownTask:
    """Answer through the studio, attention checks right or wrong."""
    for number in range(most):
        step = door.studio.next(rater)
        if not isinstance(step, ShownTask):
            assert isinstance(step, NoMoreQuestions)
            return step
        side = "left"
        if step.shown.question.why == "attention":
            wanted = ("left", "right")[step.shown.place(str(step.shown.question.expected_item))]
            side = wanted if attention == "right" else {"left": "right", "right": "left"}[wanted]
        given = RawAnswer.parse({"answers": {"overall": side}})
        door.studio.submit(rater, step.id, given, key=f"{rater}-{step.id}-{number}")
    last = door.studio.next(rater)
    assert isinstance(last, ShownTask)
    return last


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, panel_settings()) as made:
        yield made


# -- the way in ------------------------------------------------------------------------------------------------


def test_a_visitor_comes_in_and_no_address_holds_the_id_any_more(door: Served) -> None:
    client = come(door)
    assert (client.first.status_code, client.first.headers["location"]) == (303, "/")
    page = client.get("/")
    assert page.status_code == 200
    assert "overall" in page.text.lower()
    assert PID not in page.text
    assert rater_of(door).startswith("designers-")


def test_who_comes_again_is_the_same_rater_on_any_device(door: Served) -> None:
    come(door)
    rater = rater_of(door)
    answer_all(door, rater, most=1)
    again = come(door, SESSION_ID="another")
    assert again.get("/api/me").json()["rater"] == rater
    assert len(door.studio.database.visitors()) == 1
    visitor = door.studio.database.visitor(rater)
    assert visitor is not None
    assert visitor.ids.session == "another"


@pytest.mark.parametrize("kind", KINDS)
def test_forty_requests_at_once_make_one_rater(tmp_path: Path, kind: str) -> None:
    url = fresh_url(kind, tmp_path) if kind == "postgresql" else None
    with served(tmp_path, panel_settings(quotas=[{"places": 7}]), url=url) as door:
        before = len(door.studio.database.raters())
        statuses: list[int] = []
        ids = [PID] * 20 + [f"other{k}" for k in range(20)]

        def visit(pid: str) -> None:
            visitor = door.studio.admit(
                read_panel_ids(door.studio.panel, [("PROLIFIC_PID", pid)])  # type: ignore[arg-type]
            )
            statuses.append(0 if visitor is None else 1)

        threads = [threading.Thread(target=visit, args=(pid,)) for pid in ids]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        visitors = door.studio.database.visitors()
        assert len(statuses) == 40
        assert len({visitor.ids.participant for visitor in visitors}) == len(visitors) == 7
        assert len(door.studio.database.raters()) == before + 7


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, "Something is missing"),
        ({"PROLIFIC_PID": ""}, "Something is missing"),
        ({"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, "not filled in"),
        ({"PROLIFIC_PID": PID, "SESSION_ID": "{{%SESSION_ID%}}"}, "not filled in"),
        ({"PROLIFIC_PID": "PROLIFIC_PID"}, "not filled in"),
        ({"PROLIFIC_PID": "undefined"}, "not filled in"),
        ({"PROLIFIC_PID": "a b"}, "not in order"),
        ({"PROLIFIC_PID": "<script>alert(1)</script>"}, "not filled in"),
        ({"PROLIFIC_PID": "é" * 5}, "not in order"),
        ({"PROLIFIC_PID": "x" * 101}, "not in order"),
        ({"PROLIFIC_PID": [PID, "other"]}, "not in order"),
        ({"PROLIFIC_PID": "\x00"}, "not in order"),
    ],
)
def test_a_link_that_is_not_in_order_gets_a_clear_page(door: Served, query: dict[str, Any], words: str) -> None:
    before = len(door.studio.database.raters())
    answer = door.client().get("/panel?" + urlencode(query, doseq=True))
    assert answer.status_code == 400
    assert words in answer.text
    assert "<script>alert" not in answer.text
    assert PID not in answer.text
    assert not any(code in answer.text for code in CODES)
    assert len(door.studio.database.raters()) == before


def test_without_a_panel_nobody_comes_in(tmp_path: Path) -> None:
    with served(tmp_path) as door:
        assert door.client().get("/panel?" + urlencode(QUERY)).status_code == 404
        assert door.client().get("/panel/abc?" + urlencode(QUERY)).status_code == 404


@pytest.mark.parametrize(
    ("kind", "panel", "query"),
    [
        ("mturk", {}, {"workerId": "A1", "hitId": "H1", "assignmentId": "B1"}),
        ("cloudresearch", {}, {"participantId": "A1", "projectId": "H1", "assignmentId": "B1"}),
        ("other", {"participant": "RID", "study": "pr", "session": "s"}, {"RID": "A1", "pr": "H1", "s": "B1"}),
    ],
)
def test_names_of_other_panels(tmp_path: Path, kind: str, panel: dict[str, str], query: dict[str, str]) -> None:
    with served(tmp_path, panel_settings(kind=kind, panel=panel)) as door:
        assert door.client().get("/panel?" + urlencode(query)).status_code == 303
        visitor = door.studio.database.visitor_of("A1")
        assert visitor is not None
        assert (visitor.ids.study, visitor.ids.session) == ("H1", "B1")


def test_only_studies_that_the_owner_named(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(panel={"studies": ["65f0study"]})) as door:
        assert come(door).first.status_code == 303
        other = come(door, STUDY_ID="stolen", PROLIFIC_PID="b1").first
        assert other.status_code == 400
        assert "another study" in other.text


def test_a_secret_address_leads_into_one_cohort_and_the_open_one_fills_the_emptiest(tmp_path: Path) -> None:
    cohorts = [PLAIN["cohorts"][0] | {"id": name} for name in ("designers", "crowd", "closed")]
    with served(tmp_path, panel_settings(cohorts=cohorts, panel={"cohorts": ["designers", "crowd"]})) as door:
        page = door.client(door.owner).get("/owner/panel").text
        ways = re.findall(r'value="http://127.0.0.1:8000(/panel[^?"]*)', page)
        assert len(ways) == 3
        for k in range(4):
            assert door.client().get(f"{ways[2]}?PROLIFIC_PID=c{k}").status_code == 303
        for k in range(4):
            assert door.client().get(f"{ways[0]}?PROLIFIC_PID=d{k}").status_code == 303
        cohorts_of = [visitor.cohort for visitor in door.studio.database.visitors()]
        assert cohorts_of == ["crowd"] * 4 + ["designers"] * 4
        assert door.client().get("/panel/designers?PROLIFIC_PID=e1").status_code == 404


def test_an_address_may_not_make_raters_without_end(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(), visitors_burst=3, visitors_rate=0.001) as door:
        client = door.client()
        statuses = [client.get(f"/panel?PROLIFIC_PID=a{k}").status_code for k in range(5)]
        assert statuses == [303, 303, 303, 429, 429]
        assert client.get("/panel?PROLIFIC_PID=a1").status_code == 303


# -- outcomes --------------------------------------------------------------------------------------------------


def prolific(code: str) -> str:
    return f"https://app.prolific.com/submissions/complete?cc={code}"


def test_done(door: Served) -> None:
    client = come(door)
    answer_all(door, rater_of(door))
    page = client.get("/").text
    assert "C-DONE" in page
    assert f'href="{prolific("C-DONE")}"' in page
    assert client.get("/api/next").json() == {"step": "finished", "reason": "done", "completion_code": "C-DONE"}


def test_screened_out(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(screener=SCREENER)) as door:
        client = come(door)
        client.post("/screener", data=fields_of(client) | {"question.age": "child"})
        page = client.get("/").text
        assert prolific("C-SCREENED") in page
        assert "looks for other raters" in page
        assert "C-SCREENED" in come(door).get("/").text


def test_no_consent(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(consent={"text": "We keep your answers."})) as door:
        client = come(door)
        page = client.get("/").text
        assert "I do not agree" in page
        assert client.post("/panel/refuse", data=fields_of(client)).status_code == 303
        refused = client.get("/")
        assert "not taking part" in refused.text
        assert "return your participation" in refused.text
        assert "not taking part" in come(door).get("/").text
        step = door.studio.next(rater_of(door))
        assert isinstance(step, NoMoreQuestions)


def test_who_came_by_a_personal_link_is_not_asked_to_refuse(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(consent={"text": "We keep your answers."})) as door:
        client = door.client(door.zoe)
        assert "I do not agree" not in client.get("/").text
        assert client.post("/panel/refuse", data=fields_of(client)).status_code == 422
        assert isinstance(door.studio.next(door.names["zoe"]), EntryStep)


def test_who_is_done_cannot_refuse_any_more(door: Served) -> None:
    client = come(door)
    answer_all(door, rater_of(door))
    assert client.post("/panel/refuse", data=fields_of(client)).status_code == 303
    assert "C-DONE" in client.get("/").text


def test_who_was_removed_comes_back_when_the_owner_says_so(door: Served) -> None:
    come(door)
    rater = rater_of(door)
    door.studio.remove(rater)
    assert come(door).first.status_code == 401
    door.studio.reinvite(rater)
    back = come(door)
    assert back.first.status_code == 303
    assert back.get("/api/me").json()["rater"] == rater


def test_withdrawing_is_no_consent_and_coming_back_says_so(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(panel={"no_consent": {"code": "C-NONE"}})) as door:
        client = come(door)
        left = client.post("/withdraw", data={"csrf": csrf_of(client.get("/withdraw").text)})
        assert "C-NONE" in left.text
        back = come(door).first
        assert back.status_code == 200
        assert "C-NONE" in back.text
        assert "C-DONE" not in back.text


CHECKED = {"checks": {"repeats": 0, "attention": 3}}


def checked(**more: Any) -> dict[str, Any]:
    phase = PLAIN["cohorts"][0]["phases"][0] | CHECKED
    return panel_settings(cohorts=[{"id": "designers", "phases": [phase]}], **more)


def test_failed_checks_end_the_visit_at_the_limit_and_not_before(tmp_path: Path) -> None:
    with served(tmp_path, checked(missed_checks=2)) as door:
        client = come(door)
        rater = rater_of(door)
        missed, statuses = 0, []
        while isinstance(step := door.studio.next(rater), ShownTask):
            right = step.shown.question.expected_item
            side = "left" if right is None else ("right", "left")[step.shown.place(right)]
            missed += right is not None
            door.studio.submit(rater, step.id, RawAnswer.parse({"answers": {"overall": side}}), key=f"key-{step.id}")
            statuses.append((missed, door.studio.database.rater(rater).status))
        assert missed == 2
        assert {status for count, status in statuses if count < 2} == {"active"}
        assert statuses[-1] == (2, "paused")
        page = client.get("/").text
        assert prolific("C-FAILED") in page
        assert "C-DONE" not in page
        assert client.get("/api/next").json()["completion_code"] == "C-FAILED"
        assert door.studio.database.read_study().counts["comparisons"] > 0  # answers stay until the owner says so


def test_the_api_gives_no_question_after_the_check_that_was_one_too_many(tmp_path: Path) -> None:
    with served(tmp_path, checked(missed_checks=1)) as door:
        client = come(door)
        step = client.get("/api/next").json()
        csrf = client.get("/api/me").json()["csrf"]
        for number in range(20):
            if step["step"] != "task":
                break
            wanted = step["instructed"]
            side = "left" if wanted is None else ("right", "left")[int(wanted)]
            sent = client.post(
                f"/api/tasks/{step['id']}/answer",
                json={"answers": {"overall": side}},
                headers={"Idempotency-Key": f"a-long-key-{number}", "X-CSRF-Token": csrf},
            )
            assert sent.status_code == 200, sent.text
            step = sent.json()["next"]
        assert step == {"step": "finished", "reason": "failed checks", "completion_code": "C-FAILED"}


def test_the_owner_lets_a_failed_visitor_go_on(tmp_path: Path) -> None:
    with served(tmp_path, checked(missed_checks=3)) as door:
        come(door)
        rater = rater_of(door)
        assert answer_all(door, rater, attention="wrong").reason == "paused"
        door.studio.resume(rater)
        assert isinstance(answer_all(door, rater), NoMoreQuestions)
        assert door.studio.end_of_visit(rater, "done").outcome == "done"


def test_over_quota_at_the_door_and_free_again_after_a_removal(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(quotas=[{"places": 1}])) as door:
        come(door)
        before = len(door.studio.database.raters())
        full = come(door, PROLIFIC_PID="second")
        assert full.first.status_code == 200
        assert prolific("C-FULL") in full.first.text
        assert len(door.studio.database.raters()) == before
        door.studio.remove(rater_of(door))
        assert come(door, PROLIFIC_PID="second").first.status_code == 303


def test_places_for_answers_to_the_screener(tmp_path: Path) -> None:
    quotas = [{"places": 1, "question": "age", "answers": ["young"]}, {"places": 9}]
    with served(tmp_path, panel_settings(quotas=quotas, screener=SCREENER)) as door:
        said = {"a1": "young", "a2": "young", "a3": "old"}
        pages = {}
        for pid, age in said.items():
            client = come(door, PROLIFIC_PID=pid)
            client.post("/screener", data=fields_of(client) | {"question.age": age})
            pages[pid] = client.get("/").text
        assert [("C-FULL" in page) for page in pages.values()] == [False, True, False]
        owner = door.client(door.owner).get("/owner/panel").text
        assert "age: young" in owner


def test_places_by_cohort(tmp_path: Path) -> None:
    cohorts = [PLAIN["cohorts"][0] | {"id": name} for name in ("designers", "crowd")]
    quotas = [{"places": 1, "cohort": "crowd"}, {"places": 3}]
    with served(tmp_path, panel_settings(quotas=quotas, cohorts=cohorts)) as door:
        for k in range(5):
            come(door, PROLIFIC_PID=f"a{k}")
        found = [visitor.cohort for visitor in door.studio.database.visitors()]
        assert sorted(map(str, found)) == ["crowd", "designers", "designers"]


def test_too_late(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(minutes=30, quotas=[{"places": 1}])) as door:
        client = come(door)
        rater = rater_of(door)
        visitor = door.studio.database.visitor(rater)
        assert visitor is not None
        late = visitor.joined_at + 30 * 60_000
        assert isinstance(door.studio.next(rater, now=late - 1), ShownTask)
        ids = read_panel_ids(door.studio.panel, [("PROLIFIC_PID", "second")])  # type: ignore[arg-type]
        assert door.studio.admit(ids, now=late - 1) is None
        assert door.studio.admit(ids, now=late) is not None
        step = door.studio.next(rater, now=late)
        assert isinstance(step, NoMoreQuestions)
        page = client.get("/").text
        assert prolific("C-LATE") in page


def test_enough_answers_of_others_is_over_quota_for_who_gave_none(tmp_path: Path) -> None:
    phase = PLAIN["cohorts"][0]["phases"][0] | {"stop": {"kind": "fixed", "raters_each": 1}}
    with served(tmp_path, panel_settings(cohorts=[{"id": "designers", "phases": [phase]}])) as door:
        come(door)
        answer_all(door, rater_of(door))
        late = come(door, PROLIFIC_PID="second").get("/").text
        assert "C-FULL" in late
        assert "C-DONE" not in late
        assert "C-DONE" in come(door).get("/").text


def test_a_code_of_ones_own_and_an_address_with_ids(tmp_path: Path) -> None:
    redirect = "https://panel.example.org/back?who={participant}&of={session}&cc={code}"
    ends = {"done": {"code": "D-{personal}", "redirect": redirect}}
    with served(tmp_path, panel_settings(panel=ends)) as door:
        codes = []
        for pid in ("a1", "a~2"):
            client = come(door, PROLIFIC_PID=pid)
            answer_all(door, rater_of(door, pid))
            page = client.get("/").text
            codes.append(re.search(r"D-([0-9a-f]{8})", page)[1])  # type: ignore[index]
            assert f"who={pid}&amp;of=65f0session&amp;cc=D-{codes[-1]}" in page
        assert codes[0] != codes[1]


def test_sent_back_at_once(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(panel={"at_once": True})) as door:
        client = come(door)
        assert "http-equiv" not in client.get("/").text
        answer_all(door, rater_of(door))
        assert f'http-equiv="refresh" content="0; url={prolific("C-DONE")}"' in client.get("/").text


# -- nobody can tell too early ---------------------------------------------------------------------------------


def test_the_code_of_done_appears_nowhere_before_done(tmp_path: Path) -> None:
    """A visitor asks for everything there is, after each step, with every word an address may hold."""
    settings = checked(consent={"text": "Text"}, screener=SCREENER, missed_checks=2, guidelines="Look.", profile=["x"])
    settings["completion_code"] = "C-OLD"
    with served(tmp_path, settings, session_burst=10**6, address_burst=10**6) as door:
        client = come(door)
        rater = rater_of(door)
        tricks = [{}, {"outcome": "done", "code": "done", "note": "done", "reason": "done"}]
        seen = []

        def pry() -> None:
            for path in ("/", "/panel", "/panel/done", "/panel/refuse", "/api/next", "/api/me", "/withdraw"):
                for trick in tricks:
                    query = urlencode((QUERY if path == "/panel" else {}) | trick)
                    answer = client.get(f"{path}?{query}")
                    seen.append(answer.text + json.dumps(dict(answer.headers)))
            for path in ("/welcome", "/panel/done", "/panel"):
                seen.append(client.post(path, data=fields_of(client) | {"outcome": "done", "status": "done"}).text)

        pry()
        client.post("/consent", data=fields_of(client) | {"version": "1"})
        pry()
        client.post("/screener", data=fields_of(client) | {"question.age": "old"})
        client.post("/profile", data=fields_of(client) | {"field.x": ""})
        client.get("/")
        client.post("/guidelines", data=fields_of(client))
        while isinstance(step := door.studio.next(rater), ShownTask):
            pry()
            wanted = step.shown.question.expected_item
            side = "left" if wanted is None else ("left", "right")[step.shown.place(wanted)]
            door.studio.submit(rater, step.id, RawAnswer.parse({"answers": {"overall": side}}), key=f"key-{step.id}")
        assert len(seen) > 100
        assert not [text for text in seen if "C-DONE" in text or "C-OLD" in text]
        assert "C-DONE" in client.get("/").text


@pytest.mark.parametrize(
    ("panel", "words"),
    [
        ({"done": {"code": "A"}, "failed_checks": {"code": "A"}}, "has the code of done"),
        ({"over_quota": {"code": "OLD"}}, "completion_code"),
        (
            {"done": {"redirect": "https://a.org/x"}, "timed_out": {"redirect": "https://a.org/x"}},
            "has the redirect of done",
        ),
        ({"done": {"redirect": "javascript:alert(1)"}}, "begins with https"),
        ({"done": {"redirect": "http://panel.example.org/"}}, "begins with https"),
        ({"done": {"redirect": "https://user:word@panel.example.org/"}}, "begins with https"),
        ({"done": {"redirect": 'https://a.org/"><script>'}}, "begins with https"),
        ({"kind": "other"}, "needs participant"),
        ({"id_pattern": "("}, "regular expression"),
        ({"cohorts": ["nobody"]}, "nobody"),
        ({"quotas": [{"places": 3, "cohort": "nobody"}]}, "nobody"),
        ({"quotas": [{"places": 3, "question": "age"}]}, "go together"),
        ({"quotas": [{"places": 3, "question": "age", "answers": ["x"]}]}, "screener"),
        ({"participant": "a b"}, "pattern"),
    ],
)
def test_settings_that_cannot_work_are_refused(panel: dict[str, Any], words: str) -> None:
    import tomli_w

    with pytest.raises(BadValue, match=words):
        read_settings(tomli_w.dumps(PLAIN | {"panel": panel, "completion_code": "OLD"}))


def test_no_time_limit_shorter_than_a_rest() -> None:
    phase = PLAIN["cohorts"][0]["phases"][0]
    cohort = {"id": "c", "phases": [phase, phase | {"id": "later", "rest_hours": 2}]}
    with pytest.raises(ValueError, match="rest"):
        StudioSettings.model_validate({"cohorts": [cohort], "panel": {"minutes": 60}})


# -- ids stay where they are -----------------------------------------------------------------------------------


def test_a_planted_id_is_in_no_export_page_log_or_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    planted = {"PROLIFIC_PID": "zqxwperson", "STUDY_ID": "zqxwstudy", "SESSION_ID": "zqxwsession"}
    with served(tmp_path, panel_settings(pay={"flat": 2})) as door:
        client = door.client()
        assert client.get("/panel?" + urlencode(planted)).status_code == 303
        door.client().get("/panel?" + urlencode(planted | {"SESSION_ID": "zqxw session"}))
        answer_all(door, rater_of(door, "zqxwperson"))
        texts = [client.get("/").text]
        for to in {*EXPORTS, *FIELD_FILES} - {"preflib"}:  # which holds rankings alone
            door.studio.export(tmp_path / f"export-{to}", to, images=False)
        owner = door.client(door.owner)
        for path in ("", "/panel", "/raters", "/gallery", "/settings", "/data", "/audit", "/payments"):
            texts.append(owner.get(f"/owner{path}").text)
        for path in ("progress", "audit", "live"):
            texts.append(owner.get(f"/api/owner/{path}").text)
        texts.append(repr(door.studio.database.visitors()) + repr(door.studio.database.audit()))
        texts.append(repr(door.studio.progress()) + repr(door.studio.database.read_study()))
        ours = [record for record in caplog.records if record.name.startswith(("salon", "uvicorn", "sqlalchemy"))]
        texts += [record.getMessage() + str(record.exc_info) for record in ours]
        files = [file for file in tmp_path.rglob("*") if file.is_file() and not file.name.startswith("studio.db")]
        assert len(files) > 20
        held = [file for file in files if b"zqxw" in file.read_bytes()]
        assert held == []
        assert not [text for text in texts if "zqxw" in text]
        named = owner.get("/owner/payments?with_panel_ids=true").text
        assert "zqxwperson,zqxwstudy,zqxwsession" in named
        assert owner.get("/owner/payments?bonus_only=true").text == ""


def test_erasing_a_rater_erases_the_ids(tmp_path: Path) -> None:
    planted = {"PROLIFIC_PID": "zqxwperson", "SESSION_ID": "zqxwsession"}
    with served(tmp_path, panel_settings()) as door:
        door.client().get("/panel?" + urlencode(planted))
        rater = rater_of(door, "zqxwperson")
        answer_all(door, rater, most=1)
        door.studio.erase(rater)
        assert door.studio.database.visitors() == []
        files = list(door.folder.glob("studio.db*"))
        assert files
        assert not [file for file in files if b"zqxw" in file.read_bytes()]
        door.client().get("/panel?" + urlencode(planted))
        assert rater_of(door, "zqxwperson") != rater


# -- payments --------------------------------------------------------------------------------------------------


def test_base_pay_bonus_and_outcomes_by_hand(tmp_path: Path) -> None:
    bonus = [{"measure": "attention", "least": 1.0, "amount": 0.75}, {"measure": "answers", "least": 99, "amount": 5}]
    settings = checked(missed_checks=1, pay={"per_answer": 0.1, "flat": 1, "bonus": bonus, "currency": "GBP"})
    with served(tmp_path, settings) as door:
        for pid, attention in (("good", "right"), ("bad", "wrong")):
            come(door, PROLIFIC_PID=pid)
            end = answer_all(door, rater_of(door, pid), attention=attention)
            door.studio.end_of_visit(rater_of(door, pid), end.reason)
        owner = door.client(door.owner)
        head, *rows = [line.split(",") for line in owner.get("/owner/payments?with_panel_ids=true").text.splitlines()]
        table = {row[head.index("participant")]: dict(zip(head, row)) for row in rows}
        good, bad = table["good"], table["bad"]
        assert (good["outcome"], good["code"], good["attention"], good["attention_missed"]) == (
            "done",
            "C-DONE",
            "3",
            "0",
        )
        assert int(good["answers"]) == 9
        assert (good["base"], good["bonus"], good["total"]) == ("3.40", "0.75", "4.15")  # 9 x .10 + 1 + 1.50
        assert (bad["outcome"], bad["attention_missed"], bad["bonus"]) == ("failed checks", "1", "0.00")
        assert bad["base"] == f"{int(bad['answers']) * 0.1:.2f}"
        assert owner.get("/owner/payments?bonus_only=true").text == "good,0.75\n"
        assert door.client(door.zoe).get("/owner/payments").status_code == 403


# -- MTurk -----------------------------------------------------------------------------------------------------

WORKER = {
    "workerId": "AWORKER",
    "hitId": "HHIT",
    "assignmentId": "BASSIGNMENT",
    "turkSubmitTo": "https://www.mturk.com",
}


def test_mturk_previews_opens_a_tab_and_submits_the_assignment(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(kind="mturk")) as door:
        preview = door.client().get("/panel?" + urlencode(WORKER | {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}))
        assert preview.status_code == 200
        assert "preview" in preview.text
        assert door.studio.database.visitors() == []
        frame = door.client()
        first = frame.get("/panel?" + urlencode(WORKER))
        assert first.status_code == 200
        assert "x-frame-options" not in first.headers
        assert (
            "frame-ancestors https://www.mturk.com https://workersandbox.mturk.com"
            in first.headers["content-security-policy"]
        )
        link = re.search(r'href="(/panel[^"]*open=1)"', first.text)[1].replace("&amp;", "&")  # type: ignore[index]
        tab = door.client()
        assert tab.get(link).status_code == 303
        task = tab.get("/")
        assert task.headers["x-frame-options"] == "DENY"
        answer_all(door, rater_of(door, "AWORKER"))
        end = tab.get("/")
        assert 'action="https://www.mturk.com/mturk/externalSubmit"' in end.text
        assert 'name="assignmentId" value="BASSIGNMENT"' in end.text
        assert "form-action 'self' https://www.mturk.com" in end.headers["content-security-policy"]
        assert end.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in end.headers["content-security-policy"]
        again = frame.get("/panel?" + urlencode(WORKER)).text
        assert "externalSubmit" in again
        assert 'value="C-DONE"' in again


@pytest.mark.parametrize(
    "site", ["https://evil.example.org", "http://www.mturk.com", "https://www.mturk.com@evil.org", "javascript:x", "//"]
)
def test_assignments_are_submitted_to_mturk_alone(tmp_path: Path, site: str) -> None:
    with served(tmp_path, panel_settings(kind="mturk")) as door:
        answer = door.client().get("/panel?" + urlencode(WORKER | {"turkSubmitTo": site}))
        assert answer.status_code == 400
        assert "evil" not in answer.text


# -- the owner's page ------------------------------------------------------------------------------------------


def test_the_owner_sees_the_way_in_and_how_visits_ended(tmp_path: Path) -> None:
    with served(tmp_path, panel_settings(quotas=[{"places": 5}], language="de")) as door:
        come(door)
        page = door.client(door.owner).get("/owner/panel").text
        assert "/panel?PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;STUDY_ID={{%STUDY_ID%}}" in page
        assert "1 came, 1 are at work" in page
        answer_all(door, rater_of(door))
        come(door).get("/")
        page = door.client(door.owner).get("/owner/panel").text
        assert "1 came, 0 are at work" in page


def test_the_owner_without_a_panel_is_told_how_to_open_one(tmp_path: Path) -> None:
    with served(tmp_path) as door:
        assert "[panel]" in door.client(door.owner).get("/owner/panel").text
