"""`salon judge` at the terminal: simulated, scripted, and against a real local server."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from chat_server import ChatServer
from images_server import KEY
from judged_study import judged_study, saved
from loaded import start_salon
from ran_salon import salon
from waiting import until

from salon.judge import OpenAIChat, read_verdicts
from salon.store import open_study

PRICES = "[models.tiny-1]\ninput = 10.0\noutput = 100.0\nimage_tokens = 100\n"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    saved(tmp_path / "s", judged_study((judged_study().criterion("type"),), tables={"checklists": []}))
    return tmp_path / "s"


@pytest.fixture
def server():
    with ChatServer() as running:
        yield running


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)


def at(server: ChatServer) -> tuple[str, ...]:
    return ("--model", "tiny-1", "--endpoint", server.url, "--key-env", "JUDGE_KEY")


def rows(study: Path, name: str = "tiny-1") -> list[dict]:
    return read_verdicts(study / "judges" / name).to_pylist()


# -- an endpoint that answers nonsense ---------------------------------------------------------------------------------


def test_a_judge_that_answers_in_the_wrong_form_is_stopped_and_asked_again_when_mended(
    capsys, study: Path, server: ChatServer, tmp_path: Path
) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    named = ("judge", "run", study, "--model", f"openai:tiny-1@{server.url}", "--prices", tmp_path / "prices.toml")
    server.brain = lambda _: "I like the first one best."
    code, said = salon(capsys, *named, "--concurrency", "1")
    assert code == 1
    assert "6 pairs x 2 orders = 12 calls; 12 to ask, at most" in said.err
    assert "I like the first one best." in said.err.partition("error:")[2], "the error quotes a reply"
    assert '{"verdict": "A" or "B"}' in said.err.partition("error:")[2], "and says what was expected"
    assert "not read: no verdict" in said.err.partition("error:")[0], "so does the first question, before the run"
    assert len(server.seen) <= 5, "it does not spend on"
    assert not (study / "judges").exists()
    spent = len(server.seen)
    code, said = salon(capsys, *named, "--dry-run", "--json")
    assert (json.loads(said.out)["stored"], json.loads(said.out)["to_ask"]) == (0, 12), "what is asked again is priced"
    code, said = salon(capsys, *named, "--dry-run")
    assert "the first question" in said.err
    assert "expected:" in said.err
    assert len(server.seen) == spent

    server.brain = lambda _: '{"verdict": "A"}'
    code, said = salon(capsys, *named)
    assert code == 0
    assert "tiny-1: 12 of 12 verdicts read" in said.out
    assert "asked again, because the stored reply could not be read" in said.out
    assert "read as: type = " in said.err
    assert len(server.seen) == spent + 12
    with sqlite3.connect(tmp_path / "s.calls.sqlite") as store:
        kept = store.execute("SELECT why, body FROM unusable").fetchall()
    assert len(kept) == spent
    assert {why for why, _ in kept} == {"unread: no verdict"}


def test_unread_replies_can_be_kept(capsys, study: Path, server: ChatServer) -> None:
    answers = iter(["perhaps"])
    server.brain = lambda _: next(answers, '{"verdict": "A"}')
    code, said = salon(capsys, "judge", "run", study, *at(server), "--most-unread", "0.1", "--json")
    assert code == 0, "one of twelve"
    assert json.loads(said.out)["unparsed"] == 1
    bought = len(server.seen)
    code, said = salon(capsys, "judge", "run", study, *at(server), "--keep-unread", "--json")
    assert (code, json.loads(said.out)["unparsed"], len(server.seen)) == (0, 1, bought)
    code, said = salon(capsys, "judge", "run", study, *at(server), "--json")
    assert (code, json.loads(said.out)["unparsed"], len(server.seen)) == (0, 0, bought + 1)


def test_an_endpoint_is_named_in_one_way_and_this_machine_needs_no_key(
    capsys, study: Path, server: ChatServer, monkeypatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name in (f"openai:tiny-1@{server.url}", f"tiny-1@{server.url}"):
        code, said = salon(capsys, "judge", "run", study, "--model", name, "--json")
        assert (code, json.loads(said.out)["judge"]) == (0, "tiny-1")
    code, said = salon(capsys, "judge", "run", study, "--model", f"tiny-1@{server.url}", "--endpoint", "http://x.y/v1")
    assert code == 2
    assert "named twice" in said.err


# -- without a model -------------------------------------------------------------------------------------------------


def test_a_simulated_judge_follows_the_people(capsys, study: Path) -> None:
    code, said = salon(capsys, "judge", "run", study, "--simulated", "accuracy=1", "--json")
    report = json.loads(said.out)
    assert (code, report["verdicts"], report["unparsed"]) == (0, 12, 0)
    assert {row["outcome"] for row in rows(study, "simulated")} == {"a"}
    code, said = salon(capsys, "judge", "run", study, "--simulated", "accuracy=1,unparsed=1", "--name", "mute")
    assert code == 0
    assert "mute: 0 of 12 verdicts read" in said.out
    assert "no verdict" in said.out
    assert "simulated-judge" in said.out  # the signature
    assert open_study(study / "judges/mute").simulated


def test_a_script_answers(capsys, study: Path, tmp_path: Path) -> None:
    script = tmp_path / "said.jsonl"
    lines = [
        {"text": "B", "items": ["p1-a", "p1-b"]},
        {"none": "refused", "text": "no", "items": ["p1-b", "p1-a"]},
        {"text": "A"},
    ]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, said = salon(capsys, "judge", "run", study, "--script", script)
    assert code == 1  # one question got no reply
    assert "no reply: refused" in said.out
    found = {(row["a"], row["b"], row["left"]): row for row in rows(study, "said")}
    assert found["p1-a", "p1-b", "a"]["outcome"] == "b"
    assert found["p1-a", "p1-b", "b"]["failed"] == "refused"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "one of --model"),
        (("--model", "x", "--simulated", "accuracy=1"), "--model and --simulated"),
        (("--simulated", "luck=1"), "accuracy=0.7"),
        (("--simulated", "accuracy=2"), "between 0 and 1"),
        (("--simulated", "accuracy=1", "--samples", "2"), "temperature"),
        (("--simulated", "accuracy=1", "--criterion", "beauty"), "beauty"),
        (("--simulated", "accuracy=1", "--templates", "none.toml"), "none.toml"),
        (("--simulated", "accuracy=1", "--pairs-file", "none.csv"), "none.csv"),
        (("--script", "none.jsonl"), "none.jsonl"),
        (("--model", "x", "--endpoint", "ftp://x"), "ftp"),
        (("--model", "x", "--prices", "none.toml"), "none.toml"),
        (("--model", "x", "--key-env", "NO_SUCH_KEY"), "NO_SUCH_KEY"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(capsys, study: Path, options: tuple, told: str) -> None:
    code, said = salon(capsys, "judge", "run", study, *options)
    assert code == 2
    assert told in said.err
    assert not list((study / "judges").glob("*"))


# -- at an endpoint --------------------------------------------------------------------------------------------------


def test_every_answer_is_bought_once(capsys, study: Path, server: ChatServer, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    priced = (*at(server), "--prices", tmp_path / "prices.toml")
    code, said = salon(capsys, "judge", "run", study, *priced, "--json")
    report = json.loads(said.out)
    assert (code, report["questions"], report["stored"]) == (0, 12, 0)
    assert report["cost"] == pytest.approx(12 * (100 * 10 + 5 * 100) / 1e6)
    first = (study / "judges/tiny-1/verdicts.parquet").read_bytes()
    code, said = salon(capsys, "judge", "run", study, *priced, "--json")
    assert json.loads(said.out)["stored"] == 12
    assert len(server.seen) == 12
    assert (study / "judges/tiny-1/verdicts.parquet").read_bytes() == first
    assert {row["outcome"] for row in rows(study) if row["left"] == "b"} == {"b"}  # it always says A
    told = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in told


def test_what_it_would_cost_is_told_before_anything_is_sent(capsys, study: Path, server, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    asked = ("judge", "run", study, *at(server), "--prices", tmp_path / "prices.toml", "--max-tokens", 5)
    code, said = salon(capsys, *asked, "--dry-run", "--json")
    forecast = json.loads(said.out)
    assert (code, forecast["questions"], forecast["to_ask"], forecast["pictures"]) == (0, 12, 12, 24)
    assert forecast["cost_at_most"] > 12 * (2 * 100 * 10 + 5 * 100) / 1e6  # the texts come on top
    code, said = salon(capsys, *asked, "--dry-run")
    assert "would be asked 12 of 12 questions" in said.out
    code, said = salon(capsys, *asked, "--budget", "0.000001")
    assert (code, "at least one question" in said.err) == (2, True)
    assert not server.seen
    assert not (study / "judges").exists()
    half = forecast["cost_at_most"] / 2
    code, said = salon(capsys, *asked, "--budget", half)
    assert code == 0  # less is spent than was set aside
    assert "may end before the questions do" in said.err


def test_a_budget_that_ends_keeps_what_was_bought(capsys, study: Path, server, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(PRICES.replace("output = 100.0", "output = 100.0\ncall = 1"))
    asked = ("judge", "run", study, *at(server), "--prices", tmp_path / "prices.toml")
    code, said = salon(capsys, *asked, "--budget", "4.5")
    assert code == 2
    assert "budget" in said.err
    assert not (study / "judges").exists()
    bought = len(server.seen)
    assert 1 <= bought <= 4
    code, said = salon(capsys, *asked, "--json")
    assert (code, json.loads(said.out)["stored"]) == (0, bought)
    assert len(server.seen) == 12


@pytest.mark.parametrize(
    ("what", "told"), [("401", "JUDGE_KEY"), ("no model", "does not exist"), ("invalid model", "tiny-1")]
)
def test_a_wrong_key_or_model_ends_the_run(capsys, study: Path, server, what: str, told: str) -> None:
    server.always = what
    code, said = salon(capsys, "judge", "run", study, *at(server))
    assert code == 2
    assert told in said.err
    assert not (study / "judges").exists()


def test_a_store_of_another_version_is_told_first(capsys, study: Path, server, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "s.calls.sqlite") as store:
        store.execute("CREATE TABLE x (y)")
        store.execute("PRAGMA user_version=99")
    store.close()
    code, said = salon(capsys, "judge", "run", study, *at(server))
    assert (code, "version 99" in said.err) == (2, True)
    assert not server.seen


def test_questions_over_the_context_are_counted_and_the_rest_goes_on(capsys, study: Path, server) -> None:
    server.always = "too long"
    code, said = salon(capsys, "judge", "run", study, *at(server), "--json")
    report = json.loads(said.out)
    assert (code, report["failed"], report["unparsed"]) == (1, {"too-long": 12}, 12)
    assert {row["outcome"] for row in rows(study)} == {None}


def _silent_after(server: ChatServer, answers: int):
    """A model that answers so many questions in all, and lets those that come after wait for a minute."""

    def brain(_: dict) -> str:
        server.takes = 60 if len(server.seen) >= answers else 0
        return '{"verdict": "A"}'

    return brain


def test_killed_twice_it_comes_to_the_same_verdicts(capsys, study: Path, tmp_path: Path) -> None:
    """What was answered before a kill is not asked again: at most the requests in flight are seen twice."""
    undisturbed = tmp_path / "t"
    shutil.copytree(study, undisturbed)
    with ChatServer() as server:
        flags = (*at(server), "--concurrency", "2")
        for answered in (3, 6):
            server.brain = _silent_after(server, answered)
            with start_salon("judge", "run", study, *flags) as process:
                until(lambda process=process: server.takes or process.poll() is not None, "a server that falls silent")
                process.kill()
            assert not (study / "judges").exists()
            server.takes = 0
        server.brain = lambda _: '{"verdict": "A"}'
        code, said = salon(capsys, "judge", "run", study, *flags, "--json")
        assert (code, json.loads(said.out)["questions"]) == (0, 12)
        assert 12 <= len(server.seen) <= 12 + 2 * 2  # two in flight at each kill
        salon(capsys, "judge", "run", undisturbed, *flags)
    first, second = rows(study), rows(undisturbed)
    for row in (*first, *second):
        assert row.pop("seconds") > 0  # what differs between two runs: how long the server took, and when it answered
        assert row.pop("at")
    assert first == second


def test_a_hosted_model_that_changed_is_noticed(capsys, study: Path, server, monkeypatch) -> None:
    monkeypatch.setattr(OpenAIChat, "is_hosted", True)
    watched = ("judge", "run", study, *at(server), "--canaries", 4)
    salon(capsys, *watched, "--limit", 5)
    assert len(server.seen) == 10 + 2 * 4  # both orders of five pairs; each canary twice on its first day
    songs = study / "judges/tiny-1.canaries.jsonl"
    lines = [json.loads(line) | {"day": "2020-01-01", "answer": "B"} for line in songs.read_text().splitlines()]
    songs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, said = salon(capsys, *watched)
    assert code == 0
    assert "canaries answer differently than on 2020-01-01" in said.err
    assert "canaries answer differently" in said.out


def test_batch_files_out_and_in(capsys, study: Path, server, tmp_path: Path) -> None:
    code, said = salon(capsys, "judge", "batch", "out", study, *at(server), "-o", tmp_path / "ask.jsonl", "--json")
    made = json.loads(said.out)
    assert (code, made["written"], len(made["files"])) == (0, 12, 1)
    results = tmp_path / "results.jsonl"
    asked = [json.loads(line) for line in Path(made["files"][0]).read_text().splitlines()]
    choice = {"message": {"role": "assistant", "content": '{"verdict": "B"}'}, "finish_reason": "stop"}
    body = {"model": "tiny-1", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}
    lines = [{"custom_id": one["custom_id"], "response": {"status_code": 200, "body": body}} for one in asked[:-1]]
    results.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"custom_id": "stranger"}]))
    code, said = salon(capsys, "judge", "batch", "in", study, *at(server), results)
    assert code == 1
    assert "11 answers kept, 0 known before, 1 still missing" in said.out
    assert "foreign" in said.out
    code, said = salon(capsys, "judge", "run", study, *at(server), "--json")
    assert (code, json.loads(said.out)["stored"], len(server.seen)) == (0, 11, 1)
    code, said = salon(capsys, "judge", "batch", "out", study, "-o", tmp_path / "x")
    assert (code, "--model" in said.err) == (2, True)


# -- several judges --------------------------------------------------------------------------------------------------


def test_checklists_are_routed_and_put_together(capsys, study: Path, tmp_path: Path) -> None:
    points, routes = tmp_path / "points.toml", tmp_path / "routes.toml"
    points.write_text('[[point]]\nid = "title"\ntag = "text"\n[[point]]\nid = "cups"\ntag = "counting"\n')
    routes.write_text(
        '[[route]]\ntag = "text"\njudges = ["x"]\n[[route]]\ntag = "*"\njudges = ["x", "y"]\nrule = "unanimous"\n'
    )
    given = ("--points", points, "--routes", routes)
    for name, answer in (("x", "PASS"), ("y", "FAIL")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"text": answer}) + "\n")
        asked = ("--protocol", "checklist", *given, "--script", tmp_path / f"{name}.jsonl")
        code, said = salon(capsys, "judge", "run", study, *asked)
        assert code == 0, said.err
    assert {row["point"] for row in rows(study, "y")} == {"cups"}
    code, said = salon(capsys, "judge", "route", study, *given, "-o", tmp_path / "settled.csv")
    assert code == 0
    assert "12 points settled, 6 of them disputed between judges" in said.out
    assert (tmp_path / "settled.csv").read_text().count("false") == 6
