"""`chat:FILE@ENDPOINT` wherever a scorer may be named; `--field`, batches for Anthropic, `--verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from judged_study import judged_study, saved
from PIL import Image
from ran_salon import salon

import salon as package
from salon.bench import open_scorers
from salon.judge import RaterSettings, ScoreSettings, read_verdicts
from salon.select import LoadOrder, ScoringService, ServiceSettings
from salon.select.service.model import DecodedPicture

GOOD = '{"alignment": 4, "coherence": 3, "style": 5}'
THREE = "chat:alignment-coherence-style@openai:tiny@"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    saved(tmp_path / "s", judged_study((judged_study().criterion("type"),), tables={"checklists": []}))
    return tmp_path / "s"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server() -> Any:
    with ChatServer(lambda _: GOOD) as running:
        yield running


def test_a_study_is_scored_by_all_scores_of_a_template(capsys: Any, study: Path, server: ChatServer) -> None:
    word = f"{THREE}{server.url}"
    code, said = salon(capsys, "score", study, "-s", word, "--field", "reasoning_effort=low", "--dry-run")
    assert code == 0
    assert "calls, 0 answered already" in said.err
    assert not server.seen
    code, said = salon(capsys, "score", study, "-s", word, "--field", "reasoning_effort=low", "--json")
    assert code == 0
    runs = json.loads(said.out)["scorers"]
    assert [run["card"]["criterion"] for run in runs] == ["alignment", "coherence", "style"]
    assert {run["low"] for run in runs} == {3.0, 4.0, 5.0}
    assert len(server.seen) == runs[0]["items"]  # one call for each picture, whatever the number of scores
    assert {seen.fields["reasoning_effort"] for seen in server.seen} == {"low"}
    assert study.with_name("s.calls.sqlite").exists()


def test_pictures_outside_a_study_are_scored(capsys: Any, tmp_path: Path, server: ChatServer) -> None:
    (tmp_path / "renders").mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "renders" / "a.png")
    code, said = salon(capsys, "score", tmp_path / "renders", "-s", f"{THREE}{server.url}@style", "--prompt", "a fox")
    assert code == 0, said.err
    assert "5" in said.out


def test_an_answer_that_cannot_be_read_is_missing_with_its_reason(capsys: Any, study: Path, server: ChatServer) -> None:
    said_so = iter([GOOD, "nice"])
    server.brain = lambda _: next(said_so, GOOD)
    word = f"{THREE}{server.url}@style"
    code, said = salon(capsys, "score", study, "-s", word, "--most-unread", "0.5", "--concurrency", "1")
    assert code == 0
    assert "1 without a value: the answer gives no score: not JSON" in said.out


def test_a_reward_asks_many_pictures_at_once(tmp_path: Path) -> None:
    with ChatServer(lambda _: GOOD, takes=0.05) as server:
        terms = RaterSettings(calls=tmp_path / "calls.sqlite")
        reward = package.reward(f"{THREE}{server.url}", equal=True, endpoint=terms)
        images = [Image.new("RGB", (8, 8), (n, 0, 0)) for n in range(8)]
        assert reward(images, ["a fox"] * 8) == [pytest.approx(4.0)] * 8
        assert len(server.seen) == 8
        assert server.peak > 1
        server.brain = lambda _: "no"
        batch = reward.judged([Image.new("RGB", (9, 9))], ["a fox"])
        assert batch.rewards == [None]
        assert "the answer gives no score: not JSON" in str(batch.reasons[0])


def test_a_bench_and_a_service_take_it(tmp_path: Path, server: ChatServer) -> None:
    settings = ScoreSettings(rater=RaterSettings(calls=tmp_path / "calls.sqlite"))
    word = f"{THREE}{server.url}"
    assert len(open_scorers([word, "contrast"], settings)) == 4
    service = ScoringService(ServiceSettings(), settings)
    model = service.open(LoadOrder(name="m", scorers=(word,), models=()))
    assert [criterion.criterion for criterion in model.criteria] == ["alignment", "coherence", "style"]
    prompt = package.Prompt(id="p", text="a fox")
    [answer] = model.look([DecodedPicture(Image.new("RGB", (8, 8), "teal"), "f" * 64, prompt)])
    assert {name: result.value for name, result in answer.results.items()} == json.loads(GOOD)  # type: ignore[union-attr]


# -- judges ------------------------------------------------------------------------------------------------------------


def test_fields_of_a_judge(capsys: Any, study: Path) -> None:
    with ChatServer() as server:
        named = ("judge", "run", study, "--model", f"openai:tiny-1@{server.url}")
        code, said = salon(capsys, *named, "--field", "reasoning_effort=high", "--field", "a.b=1")
        assert code == 0, said.err
        assert all(seen.fields["reasoning_effort"] == "high" for seen in server.seen)
        assert server.seen[0].fields["a"] == {"b": 1}
        code, said = salon(capsys, *named, "--field", "seed=3", "--name", "other")
        assert code == 2
        assert "setting of its own" in said.err


def test_anthropic_batches_out_and_in(capsys: Any, study: Path, tmp_path: Path) -> None:
    terms = ("--model", "anthropic:claude-tiny", "--key-env", "none")
    code, said = salon(capsys, "judge", "batch", "out", study, *terms, "-o", tmp_path / "ask.json", "--json")
    assert code == 0
    requests = json.loads(Path(json.loads(said.out)["files"][0]).read_text())["requests"]
    assert len(requests) == json.loads(said.out)["written"] == 12
    assert requests[0]["params"]["model"] == "claude-tiny"
    message = {"type": "message", "model": "claude-tiny-1", "content": [{"type": "text", "text": '{"verdict": "A"}'}]}
    message |= {"stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 4}}
    lines = [
        {"custom_id": entry["custom_id"], "result": {"type": "succeeded", "message": message}} for entry in requests
    ]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, said = salon(capsys, "judge", "batch", "in", study, *terms, tmp_path / "results.jsonl")
    assert code == 0
    assert "12 answers kept" in said.out
    code, said = salon(capsys, "judge", "run", study, *terms)  # every answer is there: nothing is sent
    assert code == 0, said.err
    rows = read_verdicts(study / "judges" / "claude-tiny").to_pylist()
    assert {(row["unparsed"], row["model"]) for row in rows} == {(None, "claude-tiny-1")}


# -- verify ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Red in two pictures times the length of the prompt, worked out by hand."""
    (tmp_path / "redness.py").write_text(
        "def red(images, prompts):\n"
        "    return [None if not p else i.getpixel((0, 0))[0] * len(p) / 10 for i, p in zip(images, prompts)]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "reference"
    (folder / "images").mkdir(parents=True)
    for name, red in (("a.png", 10), ("b.png", 20)):
        Image.new("RGB", (4, 4), (red, 0, 0)).save(folder / "images" / name)
    (folder / "prompts.json").write_text(json.dumps([{"name": "x", "text": "fox"}, {"name": "y", "text": "hares"}]))
    record = {"scorer": "red", "images": ["a.png", "b.png"], "prompts": ["x", "y"], "scores": [[3, 5], [6, 10]]}
    (folder / "expected.json").write_text(json.dumps(record))
    return folder


def change(reference: Path, **fields: Any) -> None:
    file = reference / "expected.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def test_a_scorer_that_gives_the_reference_numbers_is_verified(capsys: Any, reference: Path) -> None:
    code, said = salon(capsys, "score", "--verify", reference, "-s", "python:redness:red")
    assert code == 0, said.err
    assert "within 0.001 sd" in said.out
    assert "yes" in said.out
    change(reference, scores=[[3, None], [6, 10]])  # where the release fails nothing is compared
    code, said = salon(capsys, "score", "--verify", reference, "-s", "python:redness:red", "--json")
    assert (code, json.loads(said.out)["verified"][0]["pairs"]) == (0, 3)


def test_the_largest_difference_is_said_and_leaves_with_1(capsys: Any, reference: Path) -> None:
    change(reference, scores=[[3, 5.5], [6.1, 10]])
    code, said = salon(capsys, "score", "--verify", reference, "-s", "python:redness:red", "--json")
    [result] = json.loads(said.out)["verified"]
    assert (code, result["passed"], result["at"]) == (1, False, "a.png with y")
    assert result["largest"] == pytest.approx(0.5)
    code, _ = salon(capsys, "score", "--verify", reference, "-s", "python:redness:red", "--tolerance", "0.3")
    assert code == 0


def test_a_number_that_is_missing_is_a_failure(capsys: Any, reference: Path) -> None:
    (reference / "images" / "b.png").unlink()
    code, said = salon(capsys, "score", "--verify", reference, "-s", "python:redness:red", "--tolerance", "9")
    assert code == 1
    assert "2 without a value: the picture cannot be read" in said.out


def test_twins_have_the_numbers_that_count(capsys: Any, reference: Path) -> None:
    change(reference, scores=[[99, 99], [6, 10]])
    (reference / "images.json").write_text(json.dumps([{"name": "a.png", "twin": "b.png"}, {"name": "b.png"}]))
    Image.new("RGB", (4, 4), (20, 0, 0)).save(reference / "images" / "a.png")
    code, _ = salon(capsys, "score", "--verify", reference, "-s", "python:redness:red")
    assert code == 0


@pytest.mark.parametrize("fields", [{"scores": [[1]]}, {"prompts": ["x", "z"]}, {"scores": None}, {"images": 3}])
def test_a_reference_that_is_none_is_refused(capsys: Any, reference: Path, fields: dict[str, Any]) -> None:
    change(reference, **fields)
    code, said = salon(capsys, "score", "--verify", reference, "-s", "python:redness:red")
    assert code == 2
    assert "reference numbers" in said.err


def test_a_folder_without_reference_is_refused(capsys: Any, tmp_path: Path) -> None:
    for more in ((), ("-s", "contrast")):
        code, _ = salon(capsys, "score", "--verify", tmp_path, *more)
        assert code == 2
