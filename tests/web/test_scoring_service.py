"""The scoring service as callers see it: scores, comparisons, picks, models, tokens, batches, swaps; real uvicorn."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from loops import awaited
from scoring_server import POISON, Served, b64, png, serving
from waiting import until

from salon.select import Decision, Gate, GateSettings, ScorerColumn
from salon.select.gate import make_gate


class Log:
    """Decisions in a list."""

    def __init__(self) -> None:
        self.kept: list[Decision] = []

    def record(self, decision: Decision) -> str:
        self.kept.append(decision)
        return f"d{len(self.kept)}"


@pytest.fixture(scope="module")
def log() -> Log:
    return Log()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, log: Log) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("scores")
    root = folder / "pictures"
    root.mkdir()
    (root / "a.png").write_bytes(png(40))
    gates = {"dull": dull_gate("test-gray|salon:1"), "other": dull_gate("test-gray|salon:0")}
    with serving(folder, ("gray", "dark", "sure", "words"), decisions=log, roots=(root,), gates=gates) as made:
        yield made


def dull_gate(signature: str) -> Gate:
    """Holds back dark pictures: twenty of gray 0 to 19 were flagged, twenty of 100 to 119 were not."""
    column = ScorerColumn(criterion="gray", scorer="gray", signature=signature)
    values, flagged = [*range(20), *range(100, 120)], [True] * 20 + [False] * 20
    settings = GateSettings(recall=0.5, confidence=0.5)
    return make_gate("gray", "gray", column, values, flagged, settings, study="s", data="d")


def files(*grays: int) -> list:
    return [("images", (f"{gray}.png", png(gray))) for gray in grays]


# -- answers ---------------------------------------------------------------------------------------------------------


def test_a_form_base64_and_a_path_give_the_same_numbers(served: Served, log: Log) -> None:
    with served.client() as client:
        answers = [
            client.post("/v1/score", files=[("images", ("x/a.png", png(40)))], data={"prompt": "four"}),
            client.post("/v1/score", json={"images": [b64(png(40)) | {"name": "a.png"}], "prompt": "four"}),
            client.post("/v1/score", json={"images": [{"path": "a.png", "name": "a.png"}], "prompt": {"text": "four"}}),
        ]
    assert [one.status_code for one in answers] == [200] * 3, answers[0].text
    first, *others = (one.json() for one in answers)
    assert all(one["images"] == first["images"] for one in others)
    scores = first["images"][0]["scores"]
    assert scores["gray"]["value"] == 40
    assert scores["dark"]["value"] == 215
    assert scores["words"]["value"] == 4
    assert scores["gray"]["interval"] is None
    low, high = scores["sure"]["interval"]
    assert (low, high) == pytest.approx((0.8 - 1.959964 * 0.5, 0.8 + 1.959964 * 0.5))
    assert first["images"][0]["name"] == "a.png"
    assert first["version"] == served.service.active.version
    assert first["criteria"][0]["signature"] == "test-gray|salon:1"
    kept = log.kept[-3]
    assert first["decision"] == f"d{len(log.kept) - 2}"
    assert (kept.endpoint, kept.owner, kept.prompt, kept.values["gray"]) == ("score", "all", "four", (40.0,))
    assert kept.sigmas == {"sure": (0.5,)}


def test_what_cannot_be_scored_says_why_and_has_no_number(served: Served) -> None:
    with served.client() as client:
        silent = client.post("/v1/score", files=files(50)).json()["images"][0]["scores"]["words"]
        x = client.post("/v1/score", files=files(50), data={"prompt": "x"}).json()["images"][0]["scores"]["words"]
    assert silent["value"] is None
    assert "prompt" in silent["unscored"]
    assert (x["value"], x["unscored"]) == (None, "x")


def test_only_the_criteria_asked_for(served: Served) -> None:
    with served.client() as client:
        told = client.post("/v1/score", json={"images": [b64(png(9))], "criteria": ["gray"]}).json()
        wrong = client.post("/v1/score", json={"images": [b64(png(9))], "criteria": ["grey"]})
    assert list(told["images"][0]["scores"]) == ["gray"]
    assert wrong.status_code == 422
    assert "did you mean gray" in wrong.json()["remedy"]


def test_a_comparison_is_a_chance_where_the_scorer_is_a_logit(served: Served, log: Log) -> None:
    with served.client() as client:
        told = client.post("/v1/compare", files=files(100, 50)).json()
        three = client.post("/v1/compare", files=files(1, 2, 3))
    by = {one["criterion"]: one for one in told["criteria"]}
    assert by["sure"]["chance"] == pytest.approx(1 / (1 + math.exp(-(100 - 50) / 50)))
    assert (by["gray"]["chance"], by["gray"]["better"], by["gray"]["difference"]) == (None, "first", 50)
    assert "no log-odds" in by["gray"]["cannot"]
    assert by["dark"]["better"] == "first"  # higher is worse there: 155 against 205
    assert by["words"]["better"] is None
    assert log.kept[-1].facts["chance sure"] == pytest.approx(by["sure"]["chance"])
    assert three.status_code == 422


def test_the_best_of_several_with_weights_ties_and_none_good_enough(served: Served, log: Log) -> None:
    with served.client() as client:
        best = client.post("/v1/pick", json={"images": [b64(png(g)) for g in (10, 90, 30)], "weights": {"gray": 1}})
        two = [b64(png(10)), b64(png(90))]
        mixed = client.post("/v1/pick", json={"images": two, "weights": {"gray": 1, "dark": 1}})
        equal = client.post("/v1/pick", json={"images": [b64(png(10)), b64(png(10))], "weights": {"gray": 1}})
        none = client.post("/v1/pick", json={"images": [b64(png(10))], "weights": {"gray": 1}, "least": 50})
        close = client.post("/v1/pick", json={"images": [b64(png(50)), b64(png(60))], "weights": {"sure": 1}})
        zero = client.post("/v1/pick", json={"images": [b64(png(10))], "weights": {"gray": 0}})
        unscored = client.post("/v1/pick", json={"images": [b64(png(10))], "weights": {"words": 1}})
    told = best.json()
    assert (told["chosen"], told["outcome"], told["weights"]["gray"]) == (1, "best", 1.0)
    assert [one["index"] for one in told["standings"]] == [1, 2, 0]
    assert mixed.status_code == 422
    assert "reference" in mixed.json()["needed"]
    assert (equal.json()["outcome"], equal.json()["tied"]) == ("equal", [1])
    assert (none.json()["chosen"], none.json()["outcome"]) == (None, "none good enough")
    assert close.json()["tied"] == [0]  # 1.0 and 1.2, each with an sd of 0.5
    assert zero.status_code == 422
    assert unscored.json()["outcome"] == "none scored"
    assert any(one.endpoint == "pick" and one.chosen == 1 and one.weights["gray"] == 1 for one in log.kept)


def test_pictures_are_seen_upright_in_rgb_and_the_answer_says_what_was_done(served: Served) -> None:
    with served.client() as client:
        clear = client.post("/v1/score", files=[("images", ("a", png(0, mode="RGBA")))]).json()["images"][0]
        deep = client.post("/v1/score", files=[("images", ("a", png(80, mode="I;16")))]).json()["images"][0]
    assert (clear["scores"]["gray"]["value"], clear["notes"]) == (0, [])
    assert deep["notes"] == ["16 bits became 8"]


def test_a_gate_holds_back_by_its_promise_and_only_the_scorer_it_was_made_with(served: Served, log: Log) -> None:
    with served.client() as client:
        told = client.post("/v1/gate", files=files(2, 200), data={"request": '{"gate": "dull"}'}).json()
        other = client.post("/v1/gate", json={"images": [b64(png(9))], "gate": "other"})
        none = client.post("/v1/gate", json={"images": [b64(png(9))]})
        assert client.get("/v1/models").json()["gates"] == ["dull", "other"]
    assert [(one["held"], one["value"]) for one in told["images"]] == [(True, 2), (False, 200)]
    assert (told["passed"], told["holds"], told["criterion"]) == ([1], "below", "gray")
    assert "at least 0.5" in told["promise"]
    assert log.kept[-1].facts["passed"] == "1"
    assert other.status_code == 422
    assert "signature" in other.json()["found"]
    assert none.status_code == 422
    assert "dull, other" in none.json()["remedy"]


# -- tokens ----------------------------------------------------------------------------------------------------------


def test_scopes_and_revoking(served: Served) -> None:
    with served.client("score") as score, served.client("admin") as admin, served.client(None) as nobody:
        assert score.get("/v1/models").status_code == 200
        assert score.post("/v1/models/rollback").status_code == 403
        assert score.get("/metrics").status_code == 403
        assert admin.post("/v1/score", files=files(1)).status_code == 403
        assert nobody.post("/v1/score", files=files(1)).status_code == 401
        assert nobody.get("/healthz").status_code == nobody.get("/readyz").status_code == 200
        assert nobody.get("/v1/models").json()["error"] == "NotSignedIn"


def test_a_page_of_another_site_may_not_ask(served: Served) -> None:
    with served.client() as client:
        answer = client.post("/v1/score", files=files(1), headers={"Origin": "https://evil.example"})
        own = client.post("/v1/score", files=files(1), headers={"Origin": served.url})
        rebound = client.get("/healthz", headers={"Host": "evil.example"})
    assert (answer.status_code, own.status_code, rebound.status_code) == (403, 200, 421)


# -- batches -----------------------------------------------------------------------------------------------------------


def test_requests_share_batches_and_a_poisoned_picture_fails_alone(tmp_path: Path) -> None:
    with serving(tmp_path, ("held",), flows={"batch": 8, "batch_wait": 0.05}) as served, served.client() as client:
        served.watched.gate.clear()
        with ThreadPoolExecutor(12) as threads:
            asked = [threads.submit(client.post, "/v1/score", files=files(20 + k)) for k in range(10)]
            asked.append(threads.submit(client.post, "/v1/score", files=files(POISON)))
            torn = threads.submit(client.post, "/v1/score", files=[("images", ("torn.png", png(70, (64, 64))[:-30]))])
            batcher = served.service.active.batcher
            until(lambda: len(batcher._open) >= 11, "eleven pictures, of which at most two batches are under way")
            served.watched.gate.set()
            told = [one.result() for one in asked]
        values = [one.json()["images"][0]["scores"]["held"] for one in told]
        assert [one["value"] for one in values[:-1]] == [20 + k for k in range(10)]
        assert "failed" in values[-1]["unscored"]
        assert torn.result().status_code == 422
        assert torn.result().json()["where"] == "images.0"
        assert max(served.watched.batches) > 1
        figures = client.get("/metrics").text
    assert 'salon_scoring_requests_total{route="/v1/score",status="200"} 11.0' in figures
    assert "salon_scoring_batch_pictures_count" in figures


def test_the_queue_is_bounded_late_answers_are_refused_and_copies_are_looked_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, ("held",), flows={"batch": 1, "queue": 2}) as served, served.client() as client:
        batcher, gate = served.service.active.batcher, served.watched.gate
        gate.clear()
        assert client.post("/v1/score", json={"images": [b64(png(1))], "seconds": 0.2}).status_code == 504
        gate.set()
        until(lambda: batcher.idle, "the end of what came too late")
        gate.clear()
        with ThreadPoolExecutor(8) as threads:
            asked = []
            for under_way in (1, 2):  # one after the other: all at once could be one too many for the queue
                asked.append(threads.submit(client.post, "/v1/score", files=files(29 + under_way)))
                until(lambda n=under_way: len(batcher._batches) == n, "a picture that is under way")
            asked += [threads.submit(client.post, "/v1/score", files=files(gray)) for gray in (32, 33)]
            until(lambda: served.service.waiting == 2, "a queue that is full")
            copies = [threads.submit(client.post, "/v1/score", files=files(30)) for _ in range(3)]
            full = client.post("/v1/score", files=files(99))
            assert full.status_code == 503
            assert int(full.headers["retry-after"]) >= 1
            gate.set()
            assert [one.result().status_code for one in (*asked, *copies)] == [200] * 7
        assert sum(served.watched.batches) <= 5 + 1  # the late one may have been with the scorer already; and warm-up
        again = client.post("/v1/score", files=files(31))
        assert again.status_code == 200
        assert served.service.active.batcher.hits >= 4


def test_a_large_request_does_not_hold_up_a_small_one(tmp_path: Path) -> None:
    with serving(tmp_path, ("held",), flows={"batch": 2, "batch_wait": 0}) as served, served.client() as client:
        served.watched.gate.clear()
        order: list[str] = []

        def ask(name: str, grays: list[int]) -> int:
            status = client.post("/v1/score", files=files(*grays)).status_code
            order.append(name)
            return status

        with ThreadPoolExecutor(2) as threads:
            large = threads.submit(ask, "large", list(range(20, 60)))
            until(lambda: served.service.waiting >= 30, "the large request")
            small = threads.submit(ask, "small", [200])
            until(lambda: served.service.waiting >= 37, "the small request")
            served.watched.gate.set()
            assert (large.result(), small.result()) == (200, 200)
    assert order == ["small", "large"]


# -- swap --------------------------------------------------------------------------------------------------------------


def test_models_are_swapped_and_rolled_back_under_load_without_a_lost_request(tmp_path: Path) -> None:
    stop, seen, wrong = threading.Event(), [], []
    with serving(tmp_path, ("gray",), flows={"batch": 4, "batch_wait": 0.002, "cache": 0}) as served:
        old = served.service.active.version

        def ask(number: int) -> None:
            with served.client() as client:
                while not stop.is_set():
                    answer = client.post("/v1/score", files=files(20 + number, 60 + number))
                    if answer.status_code != 200:
                        wrong.append(answer.text)
                        continue
                    told = answer.json()
                    names = {tuple(one["scores"]) for one in told["images"]}
                    seen.append((told["version"], *names))

        def until_answers_of(version: str) -> None:
            before = len(seen)
            until(lambda: version in [one[0] for one in seen[before:]], f"an answer of {version}")

        with ThreadPoolExecutor(4) as threads, served.client("admin") as admin:
            for number in range(4):
                threads.submit(ask, number)
            new = None
            try:
                for _ in range(3):
                    loaded = admin.post("/v1/models/load", json={"name": "next", "scorers": ["wide"], "activate": True})
                    assert loaded.status_code == 200, loaded.text
                    new = loaded.json()["active"]
                    until_answers_of(new)
                    back = admin.post("/v1/models/rollback")
                    assert back.json()["active"] == old
                    until_answers_of(old)
                broken = admin.post("/v1/models/load", json={"scorers": ["broken"], "activate": True})
            finally:
                stop.set()
        assert broken.status_code == 422
        assert broken.json()["error"] == "LoadFailed"
        assert broken.json()["found"] == "RuntimeError: no such weights: w.bin"  # where it lies is for the log
        assert served.service.active.version == old
    assert wrong == []
    assert set(seen) == {(old, ("gray",)), (new, ("wide",))}  # an answer is one version's, and names it


def test_what_may_be_loaded_over_http(served: Served) -> None:
    with served.client("admin") as admin:
        for sent in (
            {"scorers": ["clip:/weights"]},
            {"scorers": ["table:x"]},
            {"models": ["../x"]},
            {"models": ["/etc"]},
        ):
            answer = admin.post("/v1/models/load", json=sent)
            assert (answer.status_code, answer.json()["error"]) == (403, "LoadRefused"), answer.text
        assert admin.post("/v1/models/load", json={}).status_code == 422
        assert admin.post("/v1/models/activate", json={"version": "nope"}).status_code == 404
        assert admin.post("/v1/models/rollback").status_code == 404


def test_requests_under_way_are_finished_when_the_service_is_stopped(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        with serving(tmp_path, ("held",)) as served:
            served.watched.gate.clear()
            client = served.client()
            waiting = threads.submit(client.post, "/v1/score", files=files(77))
            until(lambda: not served.service.active.batcher.looker.moves(0), "a request under way")
            served.server.should_exit = True
            time.sleep(0.1)
            served.watched.gate.set()
        assert waiting.result().json()["images"][0]["scores"]["held"]["value"] == 77
        client.close()


def test_many_clients_at_once_from_one_loop(served: Served) -> None:
    async def ask() -> list[int]:
        headers = {"Authorization": f"Bearer {served.tokens['score']}"}
        async with httpx2.AsyncClient(base_url=served.url, headers=headers, timeout=30) as client:
            both = await asyncio.gather(*(client.post("/v1/score", files=files(k)) for k in range(20, 52)))
        return [one.status_code for one in both]

    assert awaited(ask()) == [200] * 32
