"""Explanations, later choices and the drift watch over HTTP: whose they are, what is refused, what is never kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from scoring_server import Served, b64, png, serving

from salon.judge import MEASUREMENTS
from salon.judge.scorers.rules import measurement_scorer
from salon.select import DecisionSettings, DriftSettings, WatchedLog, explain_picture as explain_served, feedback_study
from salon.study import Item, Prompt

SHAPE = {"error", "needed", "found", "where", "remedy", "request"}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedLog]:
    folder = tmp_path_factory.mktemp("watched")
    made = WatchedLog(DecisionSettings(folder=folder, keep_prompt="text"), DriftSettings(window=20, reference_size=20))
    yield made
    made.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, log: WatchedLog) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("scores"), ("sure", "gray", "dark"), decisions=log) as made:
        yield made
        for client in _clients.values():
            client.close()
        _clients.clear()


_clients: dict = {}


def client_of(served: Served, token: str | None):
    """One client for each token: making one takes longer than an answer."""
    if token not in _clients:
        _clients[token] = served.client(token)
    return _clients[token]


def pick(served: Served, *grays: int, token: str = "all") -> dict:
    body = {"images": [b64(png(gray)) for gray in grays], "prompt": "A jazz night", "weights": {"sure": 1}}
    answer = client_of(served, token).post("/v1/pick", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def say(served: Served, token: str | None = "all", **said: object) -> tuple[int, dict]:
    record = {"rater": "ana", "criterion": "overall", **said}
    answer = client_of(served, token).post("/v1/feedback", json=record)
    return answer.status_code, answer.json()


def test_a_later_choice_is_kept_once_and_becomes_a_judgment(served: Served, log: WatchedLog) -> None:
    picked = pick(served, 40, 90, 60)
    assert picked["chosen"] == 1
    status, kept = say(served, decision=picked["decision"], chosen=2, reason="calmer")
    assert (status, kept["new"], kept["agrees"]) == (200, True, False)
    status, again = say(served, decision=picked["decision"], chosen=kept["chosen"])
    assert (status, again["new"], again["id"]) == (200, False, kept["id"])
    status, other = say(served, decision=picked["decision"], chosen=0)
    assert (status, other["error"], set(other)) == (409, "ConflictingJudgment", SHAPE)
    assert say(served, decision=picked["decision"], chosen=1, rater="ben")[1]["agrees"] is True
    made = feedback_study(log.settings.folder)
    assert (made.choices, made.comparisons) == (2, 4)
    assert made.study.nouns("prompts").__next__().text == "A jazz night"


def test_nobody_reads_or_writes_what_is_not_theirs(served: Served, log: WatchedLog) -> None:
    picked = pick(served, 41, 91)
    before = len(log.said())
    unknown = say(served, "score", decision="000001-0000000000-000000000000", chosen=0)
    foreign = say(served, "score", decision=picked["decision"], chosen=0)
    assert unknown[0] == foreign[0] == 404
    assert {**unknown[1], "found": "", "request": ""} == {**foreign[1], "found": "", "request": ""}  # no telling which
    assert say(served, None, decision=picked["decision"], chosen=0)[0] == 401
    assert say(served, "admin", decision=picked["decision"], chosen=0)[0] == 403
    assert len(log.said()) == before


@pytest.mark.parametrize(
    "bad",
    [{"chosen": 2}, {"chosen": -1}, {"chosen": "0" * 64}, {"chosen": True}, {"chosen": 0.5}, {"chosen": [0]},
     {"chosen": 0, "rater": ""}, {"chosen": 0, "rater": " "}, {"chosen": 0, "criterion": "a\x00b"},
     {"chosen": 0, "criterion": "x" * 300}, {"chosen": 0, "more": 1}],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_the_one_shape(served: Served, bad: dict) -> None:
    picked = pick(served, 42, 92)
    status, told = say(served, **{"decision": picked["decision"], **bad})
    assert status == 422, told
    assert set(told) == SHAPE


def test_the_log_holds_no_token_and_no_path(served: Served, log: WatchedLog) -> None:
    pick(served, 43, 93)
    text = "".join(path.read_text() for path in log.settings.folder.glob("*.jsonl"))
    assert "A jazz night" in text
    assert not any(token in text for token in served.tokens.values())
    assert str(log.settings.folder.parent) not in text


def test_why_over_http(served: Served) -> None:
    body = {"images": [b64(png(40)), b64(png(90)) | {"name": "b.png"}], "weights": {"sure": 1}}
    client = client_of(served, "all")
    found = client.post("/v1/explain", json=body).json()
    mixed = client.post("/v1/explain", json={"images": body["images"], "equal_scales": True}).json()
    refused = client.post("/v1/explain", json={"images": body["images"]})
    three = client.post("/v1/explain", json={"images": body["images"] * 2})
    assert "ExplainIn" in client.get("/v1/openapi.json").json()["components"]["schemas"]
    assert [one["picture"] for one in found["pictures"]] == ["picture 0", "b.png"]
    for one in (*found["pictures"], *mixed["pictures"]):
        assert one["total"] == pytest.approx(math.fsum(part["adds"] for part in one["contributions"]))
    assert found["difference"]["total"] == pytest.approx(-1.0)  # 40 and 90 over 50
    assert mixed["difference"]["adds"].keys() == {"sure", "gray", "dark"}
    assert "no causes" in found["caution"]
    assert (refused.status_code, three.status_code) == (422, 422)
    assert set(refused.json()) == SHAPE


def test_measurements_over_http_stand_beside_the_score(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quick = {name: rule for name, rule in MEASUREMENTS.items() if name in ("palette", "naturalness")}
    monkeypatch.setattr(explain_served, "MEASUREMENTS", quick)  # the others read text, which takes seconds
    body = {"images": [b64(png(90, (120, 120))), b64(png(90))], "prompt": "a plain red poster", "weights": {"sure": 1}}
    client = client_of(served, "all")
    plain, told = (client.post("/v1/explain", json={**body, "measure": on}).json() for on in (False, True))
    assert [one["measurements"] for one in plain["pictures"]] == [[], []]
    large, small = ({part["name"]: part for part in one["measurements"]} for one in told["pictures"])
    assert large.keys() == small.keys() == quick.keys()
    (tmp_path / "a.png").write_bytes(png(90, (120, 120)))
    item, red = Item(id="a", image=str(tmp_path / "a.png")), Prompt(id="p", text=body["prompt"])
    assert large["palette"]["value"] == measurement_scorer("palette").score([item], [red])[0]
    assert (small["naturalness"]["value"], "96 pixels" in small["naturalness"]["unmeasured"]) == (None, True)


def test_the_watch_alarms_over_http_and_for_prometheus(served: Served, log: WatchedLog) -> None:
    assert client_of(served, "score").get("/v1/drift").status_code == 403
    client = client_of(served, "all")
    for gray in range(100, 125):
        pick(served, gray)
    quiet = client.get("/v1/drift").json()
    for gray in range(180, 225):
        pick(served, gray)
    loud = client.get("/v1/drift").json()
    metrics = client.get("/metrics").text
    assert quiet["alarm"] is False
    assert loud["alarm"] is True
    assert "salon_scoring_drift_alarm 1.0" in metrics
    assert 'salon_scoring_drift_psi{criterion="sure"}' in metrics
    assert "salon_scoring_agreement" in metrics
    assert loud["signature"]["method"] == "drift-ks-spending"


def test_without_a_log_there_is_nothing_to_say_it_about(tmp_path: Path) -> None:
    with serving(tmp_path, ("gray",)) as bare, bare.client() as client:
        said = client.post("/v1/feedback", json={"decision": "x", "chosen": 0, "rater": "a", "criterion": "c"})
        assert (said.status_code, set(said.json())) == (404, SHAPE)
        assert client.get("/v1/drift").status_code == 404
        assert client.post("/v1/score", json={"images": [b64(png())]}).json()["decision"] is None
