"""`salon bench run` and `salon bench diff` at the terminal: scripted judges, and a real local server that fails."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import ran_salon
from chat_server import ChatServer
from images_server import Seen, picture
from loaded import start_salon
from tiny_bench import tiny_suite
from waiting import until

from salon.bench import entry_folder, open_board, read_published, read_result, save_suite
from salon.bench.board import read_answers
from salon.cli.bench_boards import prompts_by_axis

PRICES = "[models.tiny-1]\ninput = 10.0\noutput = 100.0\nimage_tokens = 100\n"
LINES = (
    '{"text": "FAIL", "point": "p1-red"}\n{"none": "timeout", "text": "down", "point": "p2-large"}\n{"text": "PASS"}\n'
)


class Flaky(ChatServer):
    """Answers with an error while a word of `down` is in what it is asked; `sold` counts its answers by point."""

    def __init__(self, **more: float) -> None:
        super().__init__(lambda body: self._sell(body), **more)
        self.down: set[str] = set()
        self.sold: Counter[str] = Counter()

    def _sell(self, body: dict) -> str:
        text = json.dumps(body)
        name = next(f"p{n}-{point}" for n in range(4) for point in ("red", "large") if f"Is p{n} {point}?" in text)
        self.sold[name] += 1
        return '{"verdict": "PASS"}'

    def _plain_reply(self, what: str, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        down = any(word in seen.body.decode() for word in self.down)
        return super()._plain_reply("400" if down else what, seen, writer)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite, pictures of two generators, and scripted answers, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    save_suite(tiny_suite(preferences=()), tmp_path / "suite")
    for name in ("ann", "bob"):
        (tmp_path / name).mkdir()
        for prompt in range(4):
            (tmp_path / name / f"p{prompt}.png").write_bytes(picture(f"{name} {prompt}", "32x24"))
    (tmp_path / "says.jsonl").write_text(LINES)
    (tmp_path / "prices.toml").write_text(PRICES)
    return tmp_path


def salon(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code, said = ran_salon.salon(capsys, "bench", *arguments)
    return code, said.out + said.err


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    code, text = salon(capsys, *arguments, "--json")
    assert code in (0, 1), text
    return json.loads(text)


def scripted(*files: str) -> list[str]:
    return [word for role, file in zip(("eye", "ear"), files) for word in ("--judge", f"{role}=scripted:{file}")]


def entry(board: str, name: str) -> Path:
    return entry_folder(open_board(Path(board)), name)


def test_a_run_ends_in_a_table_and_says_what_is_provisional(capsys: pytest.CaptureFixture[str], bench: Path) -> None:
    arguments = ("run", "suite", "-g", "folder:ann", "-o", "board", *scripted("says.jsonl", "says.jsonl"))
    code, text = salon(capsys, *arguments)
    assert code == 1
    assert "ann is provisional: Capability between 50.0 and 75.0" in text
    assert "1 answers of eye are open: run again" in text
    Path("says.jsonl").write_text(LINES.replace('"none": "timeout", ', ""))  # the outage is over; its text says nothing
    code, text = salon(capsys, "run", "board", *scripted("says.jsonl", "says.jsonl"))
    assert code == 1, "one of eight answers cannot be read"
    assert "may be unreadable" in text
    code, text = salon(capsys, "run", "board", *scripted("says.jsonl", "says.jsonl"), "--most-unread", "1")
    assert code == 0
    assert "1 published entries of 1" in text
    assert "50.0 [" in text  # p1 fails by its answer, p2 by one that cannot be read


def test_the_plan_counts_calls_and_cost_before_anything_is_made(
    capsys: pytest.CaptureFixture[str], bench: Path
) -> None:
    with Flaky() as server:
        at = ("--judge", f"eye=openai:tiny-1@{server.url}", "--prices", "prices.toml")
        plan = told(capsys, "run", "suite", "-g", "folder:ann", "-o", "board", *at, "--dry-run")
        assert not Path("board").exists()
        assert not Path("board.calls.sqlite").exists()
        assert server.seen == []
        (ann,) = plan["entries"]
        assert (ann["to_make"], plan["calls"]) == (4, 8)  # two points of four pictures
        assert [(one["role"], one["judge"]) for one in ann["judges"]] == [("eye", True), ("ear", False)]
        run_report = told(capsys, "run", "suite", "-g", "folder:ann", "-o", "board", *at)
        assert server.sold.total() == 8
        assert 0 < run_report["cost"] <= plan["cost_at_most"]
        again = told(capsys, "run", "suite", "-g", "folder:ann", "-o", "board", *at, "--dry-run")
        assert (again["calls"], again["entries"][0]["to_make"]) == (0, 0)


def test_an_outage_heals_and_nothing_is_paid_for_twice(capsys: pytest.CaptureFixture[str], bench: Path) -> None:
    with Flaky() as server:
        at = ("--judge", f"eye=openai:tiny-1@{server.url}", "--judge", f"ear=openai:tiny-1@{server.url}")
        server.down = {"Is p2 large?"}
        first = told(capsys, "run", "suite", "-g", "folder:ann", "-o", "board", *at)
        assert [one["failed"] for one in first["entries"][0]["judges"]] == [{"error": 1}, {"error": 1}]
        assert read_result(entry("board", "ann")).capability.at_best == 100.0
        server.down = set()
        second = told(capsys, "run", "board", *at)
        assert second["entries"][0]["status"] == "published"
        # both judges are the same model at the same place: they share the store, and no question is sold twice
        assert set(server.sold.values()) == {1}
        assert server.sold.total() == 8


def test_a_judge_that_answers_nonsense_publishes_nothing(capsys: pytest.CaptureFixture[str], bench: Path) -> None:
    with ChatServer(lambda _: "Sure! The picture looks great.") as server:
        at = ("--judge", f"eye=openai:tiny-1@{server.url}", "--judge", f"ear=openai:tiny-1@{server.url}")
        run = ("run", "suite", "-g", "folder:ann", "-g", "folder:bob", "-o", "board", *at, "--concurrency", 1)
        code, text = salon(capsys, *run)
        assert code == 1
        assert "Sure! The picture looks great." in text
        assert '"PASS" or "FAIL"' in text
        assert [read_published(entry("board", name)) for name in ("ann", "bob")] == [None, None]
        assert len(server.seen) < 16, "it does not spend on"
        server.brain = lambda _: '{"verdict": "PASS"}'
        code, text = salon(capsys, *run)
        assert code == 0
        assert [read_result(entry("board", name)).capability.figure.value for name in ("ann", "bob")] == [100.0, 100.0]


def test_a_spent_budget_leaves_the_rest_open(capsys: pytest.CaptureFixture[str], bench: Path) -> None:
    with Flaky() as server:
        at = ("--judge", f"eye=openai:tiny-1@{server.url}", "--judge", "ear=scripted:says.jsonl")
        paid = ("--prices", "prices.toml", "--concurrency", 1)
        most = (
            told(capsys, "run", "suite", "-g", "folder:ann", "-o", "board", *at, *paid, "--dry-run")["cost_at_most"] / 8
        )
        enough = most + 0.002  # one answer costs 0.0015: the third question may cost more than is left
        first = told(capsys, "run", "suite", "-g", "folder:ann", "-o", "board", *at, *paid, "--budget", enough)
        assert "budget" in first["stopped"]["eye"]
        assert "budget" in first["entries"][0]["open"][0]
        assert server.sold.total() == 2
        Path("says.jsonl").write_text('{"text": "PASS"}\n')
        assert told(capsys, "run", "board", *at, *paid)["entries"][0]["status"] == "published"
        assert set(server.sold.values()) == {1}


def test_killed_in_the_middle_and_run_again(capsys: pytest.CaptureFixture[str], bench: Path) -> None:
    with Flaky(takes=0.1) as server:
        at = ["--judge", f"eye=openai:tiny-1@{server.url}", "--judge", "ear=scripted:yes.jsonl", "--concurrency", "1"]
        Path("yes.jsonl").write_text('{"text": "PASS"}\n')
        command = ["bench", "run", "suite", "-g", "folder:ann", "-o", "board", *at]
        with start_salon(*command) as started:
            until(lambda: server.sold.total() >= 3 or started.poll() is not None, "three answers")
            started.kill()
        server.takes = 0
        assert read_published(entry("board", "ann")) is None
        told(capsys, *command[1:])
        assert server.sold.total() <= 8 + 1  # at most the one that was on its way
        told(capsys, "run", "suite", "-g", "folder:ann", "-o", "calm", *at)
    assert read_result(entry("board", "ann")) == read_result(entry("calm", "ann"))
    assert read_answers(entry("board", "ann")) == read_answers(entry("calm", "ann"))


def test_what_moved_is_told_with_its_reason(capsys: pytest.CaptureFixture[str], bench: Path) -> None:
    Path("yes.jsonl").write_text('{"text": "PASS"}\n')
    both = ("-g", "folder:ann", "-g", "folder:bob")
    told(capsys, "run", "suite", *both, "-o", "one", *scripted("yes.jsonl", "yes.jsonl"))
    shutil.copytree("one", "same")
    code, text = salon(capsys, "diff", "one", "same")
    assert code == 0
    assert "2 entries bit-identical: ann, bob" in text
    no = '{"text": "FAIL", "point": "p3-red", "items": ["p3/bob/0"]}\n{"text": "PASS"}\n'
    Path("no.jsonl").write_text(no)
    told(
        capsys, "run", "suite", "-g", "folder:ann", "-g", "folder:bob", "-o", "two", *scripted("no.jsonl", "yes.jsonl")
    )
    code, text = salon(capsys, "diff", "one", "two")
    assert code == 0
    assert "1 entry bit-identical: ann" in text
    assert "capability, p3: −25.00: eye on p3-red, seed 0: pass became fail" in text
    assert told(capsys, "diff", "one", "two")["entries"][1]["axes"][0]["change"] == -25.0
    assert told(capsys, "diff", "suite", "suite")["entries"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "suite", "-o", "board"), "a generator is needed"),
        (("run", "suite", "-g", "folder:ann"), "a folder for the board is needed"),
        (("run", "nothing", "-g", "atelier", "-o", "board"), "a suite is needed"),
        (("run", "suite", "-g", "folder:ann", "-o", "board", "--judge", "eye"), "ROLE=KIND:NAME"),
        (("run", "suite", "-g", "folder:ann", "-o", "board", "--judge", "nose=simulated:accuracy=1"), "routes name"),
        (("run", "suite", "-g", "folder:ann", "-o", "board", "--judge", "eye=measured:smell"), "that measures"),
        (("run", "suite", "-g", "folder:ann", "-o", "board", "--scorer", "words"), "COLUMN=NAME"),
        (("run", "suite", "-g", "folder:ann", "-g", "folder:ann=bob", "-o", "board"), "a name of its own"),
        (("diff", "suite", "nowhere"), "a suite is needed"),
    ],
)
def test_misuse_says_what_is_needed(
    capsys: pytest.CaptureFixture[str], bench: Path, arguments: tuple[str, ...], said: str
) -> None:
    code, text = salon(capsys, *arguments)
    assert (code, said in text) == (2, True), text
    assert not Path("board").exists()


def test_standings_say_how_many_prompts_each_axis_rests_on() -> None:
    titles = {"capability": "Capability", "eps": "EPS", "overall": "Overall"}
    assert prompts_by_axis({"capability": 192, "eps": 165, "overall": 165}, titles) == (
        "prompts: Capability 192, EPS 165, Overall 165"
    )
    assert prompts_by_axis({"capability": 12, "overall": 12}, titles) == "12 prompts"
