"""The API: a rater answers, an owner looks, and nothing a script can send breaks it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from doors import PLAIN, Served, served
from hypothesis import HealthCheck, given, settings, strategies as st
from postgres import KINDS, fresh_url

LEFT = {"answers": {"overall": "left"}}
_keys = (f"key-{n:08}" for n in count())


@pytest.fixture(params=KINDS)
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    url = None if request.param == "sqlite" else fresh_url(request.param, tmp_path)
    with served(tmp_path, url=url) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Its screens also take ties and a reason."""
    phase = PLAIN["cohorts"][0]["phases"][0] | {"ties": True, "rationale": "optional"}
    cohorts = [{"id": "designers", "phases": [phase]}]
    place = tmp_path_factory.mktemp("api")
    with served(place, {"cohorts": cohorts}, session_burst=10**6, address_burst=10**6) as made:
        yield made


def answer(client, task: int, body: Any = LEFT, key: str | None = None):
    return client.post(f"/api/tasks/{task}/answer", json=body, headers={"Idempotency-Key": key or next(_keys)})


def judged(door: Served) -> int:
    return len(door.studio.database.read_study().comparisons)


def test_a_rater_answers_everything_and_finishes(tmp_path: Path) -> None:
    with served(tmp_path, {"completion_code": "C0DE"}) as door:
        zoe = door.script(door.zoe)
        seen = 0
        while (step := zoe.get("/api/next").json())["step"] == "task":
            assert (step["done"], step["total"], step["stage"]) == (seen, 6, "question")
            said = answer(zoe, step["id"]).json()
            assert (said["saved"], said["repeated"]) == (1, False)
            assert said["next"] == zoe.get("/api/next").json()
            seen += 1
        assert (seen, judged(door)) == (6, 6)
        assert step == {"step": "finished", "reason": "done", "completion_code": "C0DE"}


def test_what_a_browser_gets_names_no_item_and_no_generator(door: Served) -> None:
    text = door.script(door.zoe).get("/api/next").text
    assert "secret" not in text
    assert not any(item in text for item in door.studio.items)


def test_an_answer_is_saved_once_however_often_it_is_sent(door: Served) -> None:
    zoe = door.script(door.zoe)
    task = zoe.get("/api/next").json()["id"]
    first, second = (answer(zoe, task, key="the-same-key").json() for _ in range(2))
    assert (first["repeated"], second["repeated"], judged(door)) == (False, True, 1)
    assert answer(zoe, task).json()["error"] == "AlreadyAnswered"
    following = zoe.get("/api/next").json()["id"]
    assert answer(zoe, following, key="the-same-key").json()["error"] == "KeyReused"
    assert zoe.post("/api/undo").json()["id"] == task
    assert judged(door) == 0


def test_others_tasks_and_none_are_the_same_to_everyone(door: Served) -> None:
    zoe, max = door.script(door.zoe), door.script(door.max)
    task = zoe.get("/api/next").json()["id"]
    for client, path in [(max, f"/api/tasks/{task}"), (zoe, "/api/tasks/999")]:
        for what in ("ready", "answer"):
            said = client.post(f"{path}/{what}", json=LEFT, headers={"Idempotency-Key": next(_keys)})
            assert (said.status_code, said.json()["error"]) == (404, "NotYours")
    assert judged(door) == 0


def test_reading_time_is_kept_by_the_server_and_pictures_wait_for_it(tmp_path: Path) -> None:
    times = {"prompt": 20, "ready_after": 0, "compare": 10, "rate": 5}
    with served(tmp_path, {"times": times}) as door:
        zoe = door.script(door.zoe)
        step = zoe.get("/api/next").json()
        assert (step["stage"], step["pictures"], step["prompt"]) == ("prompt", [], "A poster of the sea")
        step = zoe.post(f"/api/tasks/{step['id']}/ready").json()
        assert (step["stage"], len(step["pictures"])) == ("question", 2)
        early = answer(zoe, step["id"])
        assert (early.status_code, early.json()["error"]) == (425, "TooEarly")
        assert 8 < int(early.headers["retry-after"]) <= 10
        assert judged(door) == 0


def test_what_is_missing_is_named_first(tmp_path: Path) -> None:
    with served(tmp_path, {"consent": {"text": "Agree?"}}) as door:
        step = door.script(door.zoe).get("/api/next").json()
        assert step == {"step": "needs", "what": "consent", "seconds_left": 0.0, "again": False}


def test_the_kind_of_machine_is_kept_and_no_more(door: Served) -> None:
    zoe = door.script(door.zoe)
    for agent in ("Mozilla/5.0 (iPhone) Mobile Mobi", "Mozilla/5.0 (X11)", "curl/8"):
        zoe.headers["User-Agent"] = agent
        assert answer(zoe, zoe.get("/api/next").json()["id"]).status_code == 200
    assert [one.client for one in door.studio.database.given()] == ["phone", "desktop", "script"]


# -- the owner ------------------------------------------------------------------------------------------------


def test_the_owner_sees_progress_and_invites(door: Served) -> None:
    zoe, owner = door.script(door.zoe), door.script(door.owner)
    answer(zoe, zoe.get("/api/next").json()["id"])
    found = {one["rater"]: one for one in owner.get("/api/owner/progress").json()}
    assert (found[door.names["zoe"]]["answered"], found[door.names["max"]]["answered"]) == (1, 0)
    made = owner.post("/api/owner/invite", json={"cohort": "designers", "count": 2}).json()
    token = made[1]["link"].rpartition("/")[2]
    assert door.script(token).get("/api/me").json()["rater"] == made[1]["rater"]
    assert owner.post("/api/owner/invite", json={"cohort": "'; DROP TABLE raters"}).status_code == 422
    assert any(line["what"] == "link given" for line in owner.get("/api/owner/audit").json())


def test_the_owner_pauses_removes_erases_and_brings_back(door: Served) -> None:
    owner, zoe = door.script(door.owner), door.script(door.zoe)
    answer(zoe, zoe.get("/api/next").json()["id"])

    def order(do: str, rater: str = door.names["zoe"]):
        return owner.post("/api/owner/raters", json={"rater": rater, "do": do})

    assert order("pause").json() is None
    assert zoe.get("/api/next").json()["reason"] == "paused"
    assert order("remove").status_code == 200
    assert (zoe.get("/api/me").status_code, judged(door)) == (401, 0)
    token = order("reinvite").json()["link"].rpartition("/")[2]
    assert (door.script(token).get("/api/me").status_code, judged(door)) == (200, 1)
    assert order("erase").status_code == 200
    assert judged(door) == 0
    assert order("erase").status_code == 404
    assert order("sack").status_code == 422


def test_the_owner_takes_the_study_home(door: Served) -> None:
    zoe, owner = door.script(door.zoe), door.script(door.owner)
    answer(zoe, zoe.get("/api/next").json()["id"])
    found = owner.get("/api/owner/export?to=jsonl")
    assert found.headers["content-disposition"] == 'attachment; filename="study.zip"'
    with zipfile.ZipFile(io.BytesIO(found.content)) as packed:
        line = json.loads(packed.read("comparisons.jsonl").splitlines()[0])
    assert line["rater"] == door.names["zoe"]
    assert owner.get("/api/owner/export?to=exe").status_code == 422


def test_raters_reach_nothing_of_the_owner(door: Served) -> None:
    zoe = door.script(door.zoe)
    for path in ("progress", "audit", "export"):
        assert zoe.get(f"/api/owner/{path}").status_code == 403
    assert zoe.post("/api/owner/invite", json={"cohort": "designers"}).status_code == 403
    assert zoe.post("/api/owner/raters", json={"rater": "x", "do": "erase"}).status_code == 403


# -- everything a script can send -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[" * 100_000,
        b'{"answers":{"overall":' + b"[" * 5000 + b"]" * 5000 + b"}}",
        b'{"answers":{"overall":NaN}}',
        b'{"answers":{"overall":1e999}}',
        b'{"answers":{"overall":"\\ud800"}}',
        b'{"rationale":"\\ud800","answers":{"overall":"left"}}',
        b'{"answers":{"overall":"left"},"confidence":NaN}',
        b'{"answers":{"overall":"left","other":1}}',
        b'{"answers":{"\\u0000":"left"}}',
        b"\xff\xfe",
        b'{"skipped":"nonsense"}',
        b'{"answers":{"overall":null}}',
        b'{"answers":{"overall":' + b"9" * 5000 + b"}}",
    ],
)
def test_bad_bodies_are_refused_and_save_nothing(shared: Served, body: bytes) -> None:
    zoe = shared.script(shared.zoe)
    task = zoe.get("/api/next").json()["id"]
    headers = {"Idempotency-Key": next(_keys), "Content-Type": "application/json"}
    said = zoe.post(f"/api/tasks/{task}/answer", content=body, headers=headers)
    assert said.status_code == 422, said.text
    assert said.json()["error"] == "BadValue"
    assert judged(shared) == 0


@pytest.mark.parametrize("key", ["", "short", "x" * 201, "with space", "a;b=c-----", "é" * 10, "tab\tseparated"])
def test_bad_keys_are_refused(shared: Served, key: str) -> None:
    headers = {"Idempotency-Key": key.encode()}
    said = shared.script(shared.zoe).post("/api/tasks/1/answer", json=LEFT, headers=headers)
    assert said.status_code == 422


@pytest.mark.parametrize("task", ["0", "-1", "99999999999999999999", "1e3", "x", "1%00", "1;DROP"])
def test_bad_numbers_are_refused(shared: Served, task: str) -> None:
    zoe = shared.script(shared.zoe)
    assert zoe.post(f"/api/tasks/{task}/ready").status_code == 422
    assert shared.script(shared.owner).get(f"/api/owner/audit?after={task}&most={task}").status_code == 422


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["left", "tie"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["overall", "answers", "skipped", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    body=JSON
    | st.fixed_dictionaries(
        {"answers": st.fixed_dictionaries({"overall": JSON})}, optional={"rationale": JSON, "confidence": JSON}
    )
)
def test_no_json_breaks_the_server(shared: Served, body: Any) -> None:
    max = shared.script(shared.max)
    task = max.get("/api/next").json()["id"]
    content = json.dumps(body).encode()
    headers = {"Idempotency-Key": next(_keys), "Content-Type": "application/json"}
    said = max.post(f"/api/tasks/{task}/answer", content=content, headers=headers)
    assert said.status_code in (200, 422), said.text
    if said.status_code == 200:
        max.post("/api/undo")


def test_only_the_api_has_a_schema(shared: Served) -> None:
    schema = shared.client().get("/api/openapi.json").json()
    assert all(path.startswith("/api/") for path in schema["paths"])
    answers = schema["paths"]["/api/next"]["get"]["responses"]
    assert answers["401"]["content"]["application/json"]["schema"]["$ref"].endswith("ServiceError")
    assert [shared.client().get(path).status_code for path in ("/docs", "/redoc", "/openapi.json")] == [404] * 3
