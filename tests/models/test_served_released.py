"""Released scorers in the service: swapped under load without a lost request, and changed weights are noticed."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scoring_server import Served, png, serving
from tiny_clip import save_clip
from waiting import until

from salon.models import fingerprint
from salon.select import LoadOrder
from salon.select.service.model import load_scoring


def change_middle(path: Path) -> None:
    """Other weights in the middle of the file; names, sizes and both ends as they were."""
    data = bytearray(path.read_bytes())
    middle = len(data) * 3 // 5 // 4 * 4
    data[middle : middle + 4000] = bytes(4000)
    path.write_bytes(data)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    save_clip(root / "first")
    shutil.copytree(root / "first", root / "second")
    change_middle(root / "second" / "model.safetensors")
    return root


def ask(served: Served, gray: int) -> tuple[int, str, float]:
    with served.client() as client:
        sent = [("images", (f"{gray}.png", png(gray, (40, 30))))]
        answer = client.post("/v1/score", files=sent, data={"prompt": "a red square"})
    told = answer.json()
    return answer.status_code, told.get("version", ""), told["images"][0]["scores"]["clip"]["value"]


def test_two_folders_that_differ_in_the_middle_are_two_versions(models: Path) -> None:
    loaded = [load_scoring(LoadOrder(scorers=(f"clip:{models / name}",))) for name in ("first", "second", "first")]
    versions = [one.version for one in loaded]
    assert versions[0] == versions[2] != versions[1]
    for one, name in zip(loaded, ("first", "second")):
        assert fingerprint(models / name) in one.criteria[0].signature
        one.close()


def test_a_released_scorer_is_swapped_under_load_without_a_lost_request(models: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    answers: list[tuple[int, str, float]] = []
    with serving(
        tmp_path, (f"clip:{models / 'first'}",), flows={"batch": 4, "batch_wait": 0.002, "cache": 0}, model_root=models
    ) as served:
        first = served.service.active.version

        def keep_asking(gray: int) -> None:
            while not stop.is_set():
                answers.append(ask(served, gray))

        def until_answered_by(version: str) -> None:
            before = len(answers)
            until(lambda: version in [one[1] for one in answers[before:]], f"an answer of {version}")

        with ThreadPoolExecutor(4) as threads, served.client("admin") as admin:
            asking = [threads.submit(keep_asking, 40 + number) for number in range(4)]
            try:
                until_answered_by(first)
                for _ in range(2):
                    order = {"name": "next", "scorers": ["clip:second"], "activate": True}
                    swapped = admin.post("/v1/models/load", json=order)
                    assert swapped.status_code == 200, swapped.text
                    second = swapped.json()["active"]
                    until_answered_by(second)
                    assert admin.post("/v1/models/rollback").json()["active"] == first
                    until_answered_by(first)
            finally:
                stop.set()
            for one in asking:
                one.result()
    assert {status for status, _, _ in answers} == {200}
    assert {version for _, version, _ in answers} == {first, second}
    assert first != second
    values = {version: {value for _, answered, value in answers if answered == version} for version in (first, second)}
    assert values[first].isdisjoint(values[second])  # each answer is of one model


def test_changed_weights_are_noticed_and_loaded_anew(models: Path, tmp_path: Path) -> None:
    root = tmp_path / "models"
    shutil.copytree(models / "first", root / "mine")
    with (
        serving(tmp_path / "service", (f"clip:{root / 'mine'}",), flows={"cache": 0}, model_root=root) as served,
        served.client("all") as client,
    ):
        before = ask(served, 50)
        assert client.get("/v1/models").json()["models"][0]["changed"] == []
        assert client.get("/readyz").json() == {"ready": True, "version": before[1], "changed": 0}
        change_middle(root / "mine" / "model.safetensors")
        (root / "mine" / "extra.txt").write_text("new")
        told = client.get("/v1/models").json()["models"][0]
        assert told["changed"] == ["mine/extra.txt", "mine/model.safetensors"]
        assert client.get("/readyz").json()["changed"] == 2
        assert "salon_scoring_changed_files 2.0" in client.get("/metrics").text
        assert ask(served, 50) == before  # answers come from memory, under the version that was loaded
        loaded = client.post("/v1/models/load", json={"scorers": ["clip:mine"], "activate": True}).json()
        assert loaded["active"] != before[1]
        assert [one["changed"] for one in loaded["models"] if one["active"]] == [[]]
        after = ask(served, 51)
    assert (after[0], after[1]) == (200, loaded["active"])


def test_no_word_of_a_request_leaves_the_model_root(models: Path, tmp_path: Path) -> None:
    with serving(tmp_path, ("gray",), model_root=models) as served, served.client("admin") as admin:
        for name in (f"clip:{models / 'first'}", "clip:../first", "clip:none", "clip:", "table:first", "sneaky:first"):
            answer = admin.post("/v1/models/load", json={"scorers": [name]})
            assert (answer.status_code, answer.json()["error"]) == (403, "LoadRefused"), answer.text
        answer = admin.post("/v1/models/load", json={"scorers": ["hpsv2:first"]})
        assert (answer.status_code, answer.json()["error"]) == (422, "LoadFailed")
        assert str(models) not in answer.text
