"""The scoring service with replicas: the numbers of one process, and no request lost when a process dies."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from plain_scorers import GATE, KILLER
from scoring_server import Served, b64, png, serving
from waiting import until

from salon.errors import BadValue
from salon.select import LoadFailed, LoadOrder, ScoringService, ServiceSettings

GRAY, WORDS, GATED, MORTAL = (f"python:plain_scorers:{name}" for name in ("gray", "words", "gated", "mortal"))
SPEAK = ("flow-grpo", "flow-factory", "unirl", "cosmos")


@pytest.fixture(autouse=True)
def gate(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path_factory.mktemp("gate") / "closed"
    monkeypatch.setenv(GATE, str(path))
    return path


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """The same scorers in one process, and in two replicas."""
    options = {"speak": SPEAK, "reward_weights": "gray=1", "most_images": 4096}
    with (
        serving(tmp_path_factory.mktemp("one"), (GRAY, WORDS), **options) as one,
        serving(tmp_path_factory.mktemp("two"), (GRAY, WORDS), flows={"replicas": 2, "batch": 4}, **options) as two,
    ):
        yield one, two


def replicas(served: Served) -> list:
    return served.service.active.batcher.looker.status()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ask(client: httpx2.Client, *grays: int) -> httpx2.Response:
    return client.post("/v1/score", json={"images": [b64(png(gray)) for gray in grays], "prompt": "four"})


def values(answer: httpx2.Response, criterion: str) -> list:
    assert answer.status_code == 200, answer.text
    return [picture["scores"][criterion]["value"] for picture in answer.json()["images"]]


def test_every_route_gives_the_numbers_of_one_process(pair: tuple[Served, Served]) -> None:
    pictures = [b64(png(gray)) for gray in (200, 10, 90, 10, 55)]
    record = {"images": [png(gray) for gray in range(40)], "prompts": [f"word {k}" for k in range(40)]}
    unirl = [{"history": [{"text": "a", "image_b64": pictures[0]["base64"]}], "required_rewards": ["gray", "words"]}]
    told = []
    for served in pair:
        with served.client() as client:
            answers = [
                client.post("/v1/score", json={"images": pictures, "prompt": "four"}),
                client.post("/v1/compare", json={"images": pictures[:2], "prompt": "four"}),
                client.post("/v1/pick", json={"images": pictures, "weights": {"gray": 1}}),
                client.post("/compute", json={"prompt": ["a"] * 5, "image": [one["base64"] for one in pictures]}),
                client.post("/score", json={"requests": unirl}),
            ]
            assert [answer.status_code for answer in answers] == [200] * 5, [answer.text for answer in answers]
            flow_grpo = client.post("/", content=pickle.dumps(record))
            told.append([*(answer.json() for answer in answers), pickle.loads(flow_grpo.content)])
    assert told[0] == told[1]
    assert told[1][-1]["scores"] == pytest.approx(list(range(40)))
    assert told[1][1]["criteria"][0]["chance"] == pytest.approx(1.0)  # 190 gray levels as log-odds


def test_all_replicas_work_and_say_so(pair: tuple[Served, Served]) -> None:
    served = pair[1]
    with served.client() as client:
        values(ask(client, *range(100, 140)), "gray")
        model = client.get("/v1/models").json()["models"][0]
        ready = client.get("/readyz").json()
        figures = client.get("/metrics").text
    assert [one["state"] for one in model["replicas"]] == ["ready", "ready"]
    assert all(one["answered"] > 0 and one["memory"] > 1 << 20 and is_alive(one["pid"]) for one in model["replicas"])
    assert len({os.getpid(), *(one["pid"] for one in model["replicas"])}) == 3
    assert (ready["replicas"], ready["replicas_ready"], ready["replica_deaths"]) == (2, 2, 0)
    for number in (0, 1):
        labels = f'place="default",replica="{number}",version="{model["version"]}"'
        assert f"salon_scoring_replica_ready{{{labels}}} 1.0" in figures
        assert f"salon_scoring_replica_memory_bytes{{{labels}}}" in figures


def test_a_broken_picture_among_good_ones_is_an_error_of_its_own(pair: tuple[Served, Served]) -> None:
    torn = png(70, (64, 64))[:-30]
    with pair[1].client() as client:
        own = client.post("/v1/score", json={"images": [b64(png(41)), b64(torn)]})
        flow_grpo = client.post("/", content=pickle.dumps({"images": [png(41), torn], "prompts": ["a", "b"]}))
        good = values(ask(client, 41), "gray")
    assert (own.status_code, own.json()["where"]) == (422, "images.1")
    assert flow_grpo.status_code == 422
    assert set(pickle.loads(flow_grpo.content)) == {"error"}
    assert good == [41]


def test_a_replica_killed_in_the_middle_of_a_batch_costs_no_request(tmp_path: Path, gate: Path) -> None:
    flows = {"replicas": 2, "batch": 2, "cache": 0, "deadline": 120}
    with serving(tmp_path, (GATED,), flows=flows) as served, served.client(timeout=120) as client:
        before = {one.pid for one in replicas(served)}
        for number in (0, 1):
            gate.touch()
            with ThreadPoolExecutor(12) as threads:
                asked: list[Future[httpx2.Response]] = [threads.submit(ask, client, 20 + k) for k in range(12)]
                until(lambda n=number: replicas(served)[n].under_way > 0, "a batch under way in the replica")
                os.kill(replicas(served)[number].pid, signal.SIGKILL)
                until(lambda n=number: replicas(served)[n].deaths == 1, "the death of the replica")
                gate.unlink()
                assert [values(one.result(), "gated") for one in asked] == [[20 + k] for k in range(12)]
        until(lambda: all(one.state == "ready" for one in replicas(served)), "both replicas, started again")
        assert not before & {one.pid for one in replicas(served)}
        health = client.get("/readyz").json()
    assert (health["ready"], health["replicas_ready"], health["replica_deaths"]) == (True, 2, 2)


def test_while_all_replicas_are_dead_the_service_is_not_ready_and_requests_wait(tmp_path: Path) -> None:
    flows = {"replicas": 1, "deadline": 120}
    with serving(tmp_path, (GRAY,), flows=flows) as served, served.client(timeout=120) as client:
        os.kill(replicas(served)[0].pid, signal.SIGKILL)
        until(lambda: client.get("/readyz").status_code == 503, "a service that says it is not ready")
        assert values(ask(client, 77), "gray") == [77]  # waits until the replica is back
        assert client.get("/readyz").status_code == 200


def test_a_picture_that_kills_its_replicas_has_no_number_and_the_others_have_theirs(tmp_path: Path) -> None:
    flows = {"replicas": 2, "batch": 8, "deadline": 300}
    options = {"flows": flows, "speak": ("flow-factory",)}
    with serving(tmp_path, (MORTAL,), **options) as served, served.client(timeout=300) as client:
        answer = ask(client, 1, KILLER, 2)
        assert values(answer, "mortal") == [1, None, 2]
        assert "died" in answer.json()["images"][1]["scores"]["mortal"]["unscored"]
        assert values(ask(client, 5), "mortal") == [5]
        body = {"prompt": ["a"], "image": [b64(png(KILLER))["base64"]]}
        assert "died" in client.post("/compute", json=body).json()["error"]


def test_models_are_swapped_and_rolled_back_and_old_replicas_end(tmp_path: Path, gate: Path) -> None:
    with serving(tmp_path, (GATED,), flows={"replicas": 2, "loaded": 2, "deadline": 120}) as served:
        service = served.service
        with served.client(timeout=120) as client, ThreadPoolExecutor(4) as threads:
            gate.touch()
            earlier = threads.submit(ask, client, 9)
            until(lambda: any(one.under_way for one in replicas(served)), "a request under way")
            first = service.active
            old = [one.pid for one in first.batcher.looker.status()]
            second = threads.submit(_load_and_activate, served, GRAY)
            until(lambda: service.active is not first, "another model")
            assert second.result() == ["gray"]
            assert values(ask(client, 50), "gray") == [50]
            assert not earlier.done()  # the old model still has it
            gate.unlink()
            assert values(earlier.result(), "gated") == [9]
            assert client.post("/v1/models/rollback").json()["active"] == first.version
            assert values(ask(client, 51), "gated") == [51]
            assert all(is_alive(pid) for pid in old)
            service.activate(service.versions[1].version)
            assert _load_and_activate(served, WORDS) == ["words"]  # rollback would go to gray: gated may leave now
            assert _load_and_activate(served, MORTAL) == ["mortal"]
            until(lambda: not any(is_alive(pid) for pid in old), "the end of the oldest model's replicas")
            assert values(ask(client, 52), "mortal") == [52]


def _load_and_activate(served: Served, scorer: str) -> list[str]:
    loop = served.service.versions[0].batcher._running.get_loop()
    model = asyncio.run_coroutine_threadsafe(served.service.load(LoadOrder(scorers=(scorer,))), loop).result()
    served.service.activate(model.version)
    return [criterion.criterion for criterion in model.criteria]


def test_requests_under_way_are_finished_and_the_processes_end_with_the_service(tmp_path: Path, gate: Path) -> None:
    with serving(tmp_path, (GATED,), flows={"replicas": 2}) as served, ThreadPoolExecutor(1) as threads:
        pids = [one.pid for one in replicas(served)]
        for pid in pids:
            os.kill(pid, signal.SIGTERM)  # as a service manager sends it to all
        with served.client() as client:
            gate.touch()
            asked = threads.submit(ask, client, 30)
            until(lambda: any(one.under_way for one in replicas(served)), "a request under way")
            served.server.should_exit = True
            gate.unlink()
            assert values(asked.result(), "gated") == [30]
    until(lambda: not any(is_alive(pid) for pid in pids), "the end of the replicas")


def test_what_cannot_be_loaded_is_said_and_leaves_no_process() -> None:
    service = ScoringService(ServiceSettings(replicas=2))
    with pytest.raises(LoadFailed, match="nosuch"):
        service.open(LoadOrder(scorers=("python:plain_scorers:nosuch",)))


def test_scorers_at_endpoints_are_not_multiplied() -> None:
    service = ScoringService(ServiceSettings(replicas=2))
    with pytest.raises(BadValue, match="replicas"):
        service.open(LoadOrder(scorers=("chat:vqascore@http://127.0.0.1:1",)))


def test_devices_are_given_out_in_turn() -> None:
    assert ServiceSettings(devices="cpu, cuda:0").replica_devices == ["cpu", "cuda:0"]
    assert ServiceSettings(replicas=3, devices="cuda:0,cuda:1").replica_devices == ["cuda:0", "cuda:1", "cuda:0"]
    assert ServiceSettings(replicas=2).replica_devices == [None, None]
    assert not ServiceSettings().is_replicated
