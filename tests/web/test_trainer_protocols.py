"""The scoring service as trainers call it: bytes built after each protocol's description, against a real server."""

from __future__ import annotations

import base64
import io
import json
import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
import pytest
from PIL import Image
from scoring_server import POISON, Served, b64, png, serving

from salon.errors import BadValue
from salon.web.scoring.access import ScoringSettings, check_scoring_settings
from salon.web.scoring.app import create_scoring_app
from salon.web.scoring.trainers import rewards_of

SPEAK = ("flow-grpo", "flow-factory", "unirl", "cosmos")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("trainers")
    scorers = ("gray", "dark", "sure", "words")
    with serving(folder, scorers, speak=SPEAK, reward_weights="gray=1", failures_burst=1000, most_images=128) as opened:
        yield opened


def jpeg(gray: int) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (16, 16), (gray,) * 3).save(target, "JPEG", quality=95)
    return target.getvalue()


def text64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# -- flow_grpo ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_flow_grpo_gets_a_pickle_of_floats(served: Served, protocol: int) -> None:
    record = {"images": [jpeg(40), jpeg(200)], "prompts": np.array(["a fair", "the sea"])}
    with served.client() as client:
        answer = client.post("/", content=pickle.dumps(record, protocol))
    assert answer.status_code == 200, answer.content
    told = pickle.loads(answer.content)
    assert told["outputs"] == told["scores"] == pytest.approx([40, 200])
    assert all(type(value) is float for value in told["outputs"])
    assert told["version"] == served.service.active.version


def test_verl_omni_and_geneval_bodies_are_read(served: Served) -> None:
    with served.client() as client:
        single = client.post("/", content=pickle.dumps({"images": [jpeg(9)], "prompts": ["x"], "metadata": {}}))
        metadata = {"images": [jpeg(9)], "meta_datas": list(np.array([{"prompt": "a", "n": 1}])), "only_strict": True}
        geneval = client.post("/", content=pickle.dumps(metadata))
        bare = client.post("/", content=pickle.dumps({"images": [jpeg(9)]}))
    assert [pickle.loads(answer.content)["scores"] for answer in (single, geneval, bare)] == [[pytest.approx(9)]] * 3


def test_rewards_are_grouped_by_the_tags_of_geneval_and_none_is_called_strict(served: Served) -> None:
    tags = ["counting", "colors", "counting"]
    record = {
        "images": [jpeg(10), jpeg(20), jpeg(30)],
        "meta_datas": [
            {"prompt": f"{n} cats", "tag": tag, "include": [{"class": "cat"}]} for n, tag in enumerate(tags)
        ],
        "only_strict": False,
    }
    with served.client() as client:
        told = pickle.loads(client.post("/", content=pickle.dumps(record)).content)
        few = client.post("/", content=pickle.dumps(record | {"meta_datas": record["meta_datas"][:2]}))
    assert told["rewards"] == told["scores"] == pytest.approx([10, 20, 30])
    assert told["group_rewards"] == {"counting": [pytest.approx(10), pytest.approx(30)], "colors": [pytest.approx(20)]}
    assert not [name for name in told if "strict" in name]
    assert few.status_code == 422
    assert "one prompt" in pickle.loads(few.content)["error"]


@pytest.mark.parametrize(
    ("record", "word"),
    [
        ({"images": [jpeg(POISON)], "prompts": ["a"]}, "failed on this picture"),
        ({"images": [b"no picture"], "prompts": ["a"]}, "images.0"),
        ({"images": [jpeg(1)], "prompts": ["a", "b"]}, "one prompt"),
        ({"images": [], "prompts": []}, "1 to 128"),
        ({"images": ["text"], "prompts": ["a"]}, "images"),
        ([1, 2], "list of images"),
    ],
)
def test_flow_grpo_errors_are_pickles_without_numbers(served: Served, record: object, word: str) -> None:
    with served.client() as client:
        answer = client.post("/", content=pickle.dumps(record))
    assert answer.status_code == 422
    told = pickle.loads(answer.content)
    assert set(told) == {"error"}
    assert word in told["error"]


def test_the_page_to_try_it_stays_at_the_same_address(served: Served) -> None:
    with served.client(token=None) as client:
        assert client.get("/").headers["content-type"].startswith("text/html")
        refused = client.post("/", content=pickle.dumps({"images": [jpeg(1)]}))
    assert refused.status_code == 401
    assert "token" in pickle.loads(refused.content)["error"]


# -- Flow-Factory ------------------------------------------------------------------------------------------------------


def test_flow_factory_health_and_compute(served: Served) -> None:
    body = {"prompt": ["a", "b"], "image": [text64(png(40)), text64(png(90))], "video": None, "condition_images": None,
            "condition_videos": None}  # fmt: skip
    with served.client() as client:
        assert client.get("/health").status_code == 200
        assert client.post("/compute", json=body).json()["rewards"] == [40, 90]
        poison = client.post("/compute", json=body | {"image": [text64(png(40)), text64(png(POISON))]})
        video = client.post("/compute", json=body | {"video": [[text64(png(40))]]})
        broken = client.post("/compute", content=b"{")
    for answer, word in ((poison, "1 of 2 without; picture 1"), (video, "still pictures"), (broken, "JSON")):
        assert answer.status_code == 200  # its client repeats other answers and hides their words
        assert set(answer.json()) == {"error"}
        assert word in answer.json()["error"]


# -- UniRL -------------------------------------------------------------------------------------------------------------


def turn(gray: int, text: str = "four") -> dict[str, str]:
    return {"text": text, "image_b64": text64(jpeg(gray))}


def test_unirl_names_parts_and_errors(served: Served) -> None:
    names = ["gray", "dark", "sure", "words", "salon"]
    requests = [
        {"history": [turn(40)], "required_rewards": names, "metadata": {"id": 1}},
        {"history": [turn(40, "x")], "required_rewards": ["words", "gray", "hpsv9"]},
        {"history": [turn(40), turn(50)], "required_rewards": ["gray"]},
        {"history": [{"text": "a", "image_b64": "bm8="}], "required_rewards": ["gray"]},
        {"history": [{"text": "a", "video_path": "/etc/passwd"}], "required_rewards": ["gray"]},
    ]
    with served.client() as client:
        assert set(client.get("/health").json()["rewards"]) == set(names)
        answer = client.post("/score", json={"requests": requests}).json()
    first = answer["results"][0]
    assert first["gray"] == {"reward": 40, "value": 40}
    assert first["dark"] == {"reward": -215, "value": 215}  # higher is worse there, and a trainer raises rewards
    assert list(first["sure"]) == ["reward", "value", "sigma"]
    assert first["words"]["reward"] == 4
    assert first["salon"] == {"reward": 40}
    assert answer["errors"][0] == {}
    assert (list(answer["results"][1]), list(answer["errors"][1])) == (["gray"], ["words", "hpsv9"])
    assert answer["results"][2:] == [{}] * 3
    words = [reasons["gray"] for reasons in answer["errors"][2:]]
    assert [word in text for word, text in zip(("one turn", "picture", "still picture"), words)] == [True] * 3


# -- cosmos-rl ---------------------------------------------------------------------------------------------------------


def npy(pixels: np.ndarray) -> bytes:
    target = io.BytesIO()
    np.save(target, pixels, allow_pickle=pixels.dtype == object)
    return target.getvalue()


def enqueue_body(pixels: np.ndarray, prompts: list[str], **reward_fn: float) -> bytes:
    record = {"media_type": "image", "prompts": prompts, "reward_fn": reward_fn}
    return json.dumps(record).encode() + b"\n" + npy(pixels)


def grays(*values: int) -> np.ndarray:
    return np.stack([np.full((6, 5, 3), value, np.uint8) for value in values])


def pull(client: httpx2.Client, id: str, name: str) -> httpx2.Response:
    for _ in range(200):
        answer = client.post("/api/reward/pull", data={"uuid": id, "type": name})
        if answer.status_code != 400:
            break
        time.sleep(0.02)
    return answer


def test_cosmos_enqueues_and_pulls(served: Served) -> None:
    with served.client() as client, served.client("score") as other:
        assert client.post("/api/reward/ping", data={"info_data": "{}"}).status_code == 200
        body = enqueue_body(grays(40, 90), ["a", "x"], gray=1.0, words=0.5)
        id = client.post("/api/reward/enqueue", content=body).json()["uuid"]
        gray, words = pull(client, id, "gray"), pull(client, id, "words")
        stranger = other.post("/api/reward/pull", data={"uuid": id, "type": "gray"})
        unknown = client.post("/api/reward/pull", data={"uuid": id, "type": "dark"})
    assert gray.json()["scores"] == {"gray": [40, 90]}
    assert gray.json()["input_info"]["shape"] == [2, 6, 5, 3]
    assert (words.status_code, set(words.json())) == (422, {"message"})
    assert "picture 1: words: x" in words.json()["message"]
    assert stranger.status_code == unknown.status_code == 422


def test_cosmos_says_400_while_a_job_is_under_way(tmp_path: Path) -> None:
    with serving(tmp_path, ("held",), speak=("cosmos",)) as opened, opened.client() as client:
        opened.watched.gate.clear()
        id = client.post("/api/reward/enqueue", content=enqueue_body(grays(7), ["a"], held=1)).json()["uuid"]
        assert client.post("/api/reward/pull", data={"uuid": id, "type": "held"}).status_code == 400
        opened.watched.gate.set()
        assert pull(client, id, "held").json()["scores"] == {"held": [7]}
        assert client.post("/compute", json={}).status_code == 404  # not asked for: not there


@pytest.mark.parametrize(
    "body",
    [
        b"no line",
        b"{}\n" + npy(grays(1)),
        enqueue_body(grays(1), ["a", "b"], gray=1),
        enqueue_body(grays(1), ["a"], hpsv9=1),
        enqueue_body(grays(1).astype(float), ["a"], gray=1),
        enqueue_body(np.array([{"a": 1}], object), ["a"], gray=1),
        enqueue_body(grays(1)[..., :1], ["a"], gray=1),
        enqueue_body(grays(1), ["a"], gray=1)[:-1],
        enqueue_body(grays(1), ["a"], gray=1).replace(b"(1, 6, 5, 3)", b"(9, 6, 5, 3)"),
        enqueue_body(grays(1), ["a"], gray=1).replace(b"(1, 6, 5, 3)", b"(1, 6,10**9)"),
    ],
)
def test_cosmos_bodies_that_do_not_fit_are_refused(served: Served, body: bytes) -> None:
    with served.client() as client:
        answer = client.post("/api/reward/enqueue", content=body)
    assert answer.status_code == 422
    assert set(answer.json()) == {"message"}


# -- a prompt for each picture -----------------------------------------------------------------------------------------


def test_our_own_route_takes_a_prompt_for_each_picture(served: Served) -> None:
    images = [b64(png(40)), b64(png(40)), b64(png(40))]
    with served.client() as client:
        answer = client.post("/v1/score", json={"images": images, "prompts": ["four", {"text": "a fair"}, None]})
        few = client.post("/v1/score", json={"images": images, "prompts": ["four"]})
        both = client.post("/v1/score", json={"images": images, "prompts": ["a"] * 3, "prompt": "a"})
        elsewhere = client.post("/v1/pick", json={"images": images, "prompts": ["a"] * 3})
    assert [picture["scores"]["words"]["value"] for picture in answer.json()["images"]] == [4, 6, None]
    assert [reply.status_code for reply in (few, both, elsewhere)] == [422] * 3


# -- who may ask -------------------------------------------------------------------------------------------------------


def test_a_token_may_stand_in_the_address(served: Served) -> None:
    """For trainers that can set nothing but an address: http://salon:TOKEN@host."""
    body = {"prompt": ["a"], "image": [text64(png(40))]}
    for password, status in ((served.tokens["score"], 200), ("wrong", 401), (served.tokens["admin"], 403)):
        with httpx2.Client(base_url=served.url, auth=("salon", password)) as client:
            assert client.post("/compute", json=body).status_code == status


def test_a_trusted_network_needs_no_token_for_scores_alone(tmp_path: Path) -> None:
    for folder, network, status in (("in", "127.0.0.0/8", 200), ("out", "10.0.0.0/8", 401)):
        (tmp_path / folder).mkdir()
        options = {"speak": SPEAK, "trusted_networks": (network,)}
        with serving(tmp_path / folder, ("gray",), **options) as opened, opened.client(token=None) as client:
            assert client.post("/", content=pickle.dumps({"images": [jpeg(40)]})).status_code == status
            empty = client.post("/compute", json={"prompt": ["a"], "image": [text64(png(40))]},
                                headers={"Authorization": "Bearer"})  # fmt: skip
            assert empty.status_code == status
            other_site = client.post("/", content=b"", headers={"Origin": "https://evil.example"})
            assert other_site.status_code == (403 if status == 200 else 401)
            assert client.get("/metrics").status_code in (401, 403)
            wrong = client.post("/v1/score", json={"images": [b64(png(1))]}, headers={"Authorization": "Bearer wrong"})
            assert wrong.status_code == 401


@pytest.mark.parametrize("network", ["0.0.0.0/0", "::/0", "10.0.0.1/8", "home"])
def test_networks_of_everybody_are_refused(tmp_path: Path, network: str) -> None:
    with pytest.raises(BadValue, match="--trusted-network"):
        check_scoring_settings(ScoringSettings(folder=tmp_path, trusted_networks=(network,)))


def test_criteria_of_different_scales_need_weights_or_a_reference(served: Served) -> None:
    model, settings = served.service.active.model, ScoringSettings(folder=served.folder, speak=("flow-grpo",))
    with pytest.raises(BadValue, match="reference"):
        create_scoring_app(served.service, settings)
    assert rewards_of(model, "dark=2", None).blend("salon").shares["dark"] == 1


def test_single_criteria_need_neither(tmp_path: Path) -> None:
    sample = {"history": [turn(40)], "required_rewards": ["gray", "dark", "salon"]}
    with serving(tmp_path, ("gray", "dark"), speak=("unirl",)) as opened, opened.client() as client:
        assert set(client.get("/health").json()["rewards"]) == {"gray", "dark"}
        answer = client.post("/score", json={"requests": [sample]}).json()
    assert list(answer["results"][0]) == ["gray", "dark"]
    assert "reference" in answer["errors"][0]["salon"]
