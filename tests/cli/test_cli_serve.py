"""`salon serve`, `invite`, `status` and `backup`: a studio from its folder, on a real port."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from runpy import run_path
from typing import Any

import click
import httpx2
import pytest
import tomli_w
from beside import Beside
from click.testing import CliRunner, Result
from loaded import start_salon
from PIL import Image

from salon.cli.check import check
from salon.cli.studio import backup, invite, restore, serve, status
from salon.cli.study import export
from salon.collect import RawAnswer, open_studio
from salon.collect.settings import read_settings
from salon.collect.studio.setup import default_settings
from salon.errors import BadFile, BadValue, DesignError, SalonError
from salon.store import folder as study_folder, open_database, save_study
from salon.study import Criterion, Item, Prompt, Scale, Study, builtin_criterion

OVERALL = Criterion(id="overall", scale=Scale(low=1, high=5, step=1))


def study(items: int = 2, *criteria: Criterion) -> Study:
    made = [Item(id=f"i{k}", prompt="p", image=f"images/{k}.png") for k in range(items)]
    return Study.build(
        "small", criteria or [OVERALL], tables={"prompts": [Prompt(id="p", text="A cat")], "items": made}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "study"
    save_study(study(), place)
    (place / "images").mkdir()
    for k in range(2):
        Image.new("RGB", (40, 60), (k * 90, 0, 0)).save(place / "images" / f"{k}.png")
    return place


def call(command: click.Command, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def refused(command: click.Command, *arguments: object) -> SalonError:
    error = call(command, *arguments).exception
    assert isinstance(error, SalonError)
    return error


def read(command: click.Command, *arguments: object) -> Any:
    result = call(command, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@contextmanager
def running(folder: Path, *flags: str) -> Iterator[str]:
    """The owner's link of a studio served by another process, which leaves in peace afterwards."""
    with start_salon("serve", folder, "--port", "0", "--json", "--show-link", *flags) as server:
        try:
            lines = [server.stdout.readline() for _ in range(5)]
            link = json.loads("".join(lines))["owner"] if lines[0] else pytest.fail(server.stderr.read())
            assert httpx2.get(f"{link.partition('/enter/')[0]}/healthz", timeout=60).status_code == 200  # it is open
            yield link
        finally:
            server.send_signal(signal.SIGINT)
            _, said = server.communicate(timeout=60)
    assert (server.returncode, "Traceback" in said, "/enter/" in said) == (0, False, False)


def test_a_studio_from_its_folder_to_a_saved_answer_and_the_same_link_after_a_restart(folder: Path) -> None:
    with running(folder) as link:
        base = link.partition("/enter/")[0]
        made = read(invite, folder, "--cohort", "raters")["links"][0]
        assert made["link"].startswith(f"{base}/enter/"), "links begin where the studio is served"
        with httpx2.Client(base_url=base, timeout=60) as rater:
            assert rater.get(made["link"]).status_code == 303
            task = rater.get("/api/next").json()
            assert task["step"] == "task"
            cookie = dict(rater.cookies)
        assert read(status, folder)["raters"][0]["status"] == "active"
        _attack(base)
    with running(folder) as again:
        assert again.partition("/enter/")[2] == link.partition("/enter/")[2]
        base = again.partition("/enter/")[0]
        with httpx2.Client(base_url=base, cookies=cookie, timeout=60) as rater:
            assert rater.get("/api/next").json()["id"] == task["id"]


def test_the_script_of_the_guide_answers_and_erases(folder: Path) -> None:
    (folder / "studio.toml").write_text(default_settings(study()) + "\n[times]\nprompt = 1\ncompare = 0\n")
    script = run_path(str(Path(__file__).parents[2] / "examples" / "studio" / "answer.py"))
    with running(folder) as link:
        (made,) = read(invite, folder, "--cohort", "raters")["links"]
        answered = script["always_left"](made["link"])
        told = read(status, folder)
        assert answered == told["raters"][0]["answered"] > 0
        script["erase"](link, made["rater"])
        assert read(status, folder)["raters"] == []


def _attack(base: str) -> None:
    """Requests no browser sends; each is refused, and the studio stays up."""
    host, port = base.removeprefix("http://").split(":")
    for lines in (
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example",
        "GET /healthz HTTP/1.1\r\nHost: evil.example",
        "GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example",
        "GET /healthz HTTP/1.1",
        "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999",
        "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: x",
        "GET /%s HTTP/1.1\r\nHost: localhost" % ("a" * 100_000),
        "NONSENSE",
    ):
        with socket.create_connection((host, int(port)), timeout=20) as wire:
            wire.sendall(lines.encode() + b"\r\nConnection: close\r\n\r\n")
            first = wire.makefile("rb").readline().decode()
        assert first.split()[1] in ("400", "413", "414", "421", "431"), (lines[:60], first)
    assert httpx2.get(f"{base}/healthz", timeout=60).json() == {"ok": True}


def test_first_start_writes_what_it_asks_and_keeps_the_settings(folder: Path) -> None:
    read(invite, folder, "--cohort", "raters", "--count", 2)
    text = (folder / "studio.toml").read_text()
    assert 'protocol = "compare"' in text
    with open_database(f"sqlite:///{folder / 'studio.db'}") as database:
        assert database.settings() == text
        assert len(database.raters()) == 2
    (folder / "studio.toml").write_text(text.replace("raters = 5", "raters = 7"))
    read(invite, folder, "--cohort", "raters")
    with open_database(f"sqlite:///{folder / 'studio.db'}") as database:
        assert "raters = 7" in database.settings()


def test_what_was_asked_stays_though_the_file_is_changed_while_the_studio_is_closed(folder: Path) -> None:
    (link,) = read(invite, folder, "--cohort", "raters")["links"]
    text = (folder / "studio.toml").read_text()
    (folder / "studio.toml").write_text(f"{text}\n[times]\nprompt = 0\ncompare = 0\n")
    with open_studio(folder) as studio:
        rater = link["rater"]
        step = studio.next(rater)
        studio.submit(rater, step.id, RawAnswer(answers={"overall": "left"}), key="k" * 16)
    kept = (folder / "studio.toml").read_text()
    (folder / "studio.toml").write_text(kept.replace('id = "main"', 'id = "other"'))
    assert "has been asked already" in str(refused(serve, folder, "--port", 0))
    (folder / "studio.toml").write_text(kept.replace("raters = 5", "raters = 9"))
    assert len(read(invite, folder, "--cohort", "raters")["links"]) == 1


def test_pictures_fresh_from_a_generator_are_asked_about_overall(tmp_path: Path) -> None:
    bare = Study.build(
        "fresh",
        [],
        tables={
            "items": [Item(id="x", prompt="p"), Item(id="y", prompt="p")],
            "prompts": [Prompt(id="p", text="A cat")],
        },
    )
    save_study(bare, tmp_path / "fresh")
    read(invite, tmp_path / "fresh", "--cohort", "raters")
    assert "hps/overall" in (tmp_path / "fresh" / "studio.toml").read_text()


def test_the_criterion_is_named_and_can_be_chosen(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("salon.web.workers.serve_app", lambda *_, **__: None)
    items = [Item(id="x", prompt="p"), Item(id="y", prompt="p")]
    bare = Study.build("fresh", [], tables={"items": items, "prompts": [Prompt(id="p", text="A cat")]})
    for name in ("fresh", "chosen"):
        save_study(bare, tmp_path / name)
    question = builtin_criterion("hps/overall").question
    told = " ".join(call(serve, tmp_path / "fresh", "--port", 0).output.split())
    assert f"asks hps/overall: {question}" in told
    assert "nobody chose this criterion" in told
    assert "never served" in str(refused(serve, tmp_path / "fresh", "--criteria", "taste/mood"))
    assert "built-in criterion" in str(refused(serve, tmp_path / "chosen", "--criteria", "taste/moo"))
    told = call(serve, tmp_path / "chosen", "--port", 0, "--criteria", "taste/mood").output
    assert "asks taste/mood: " in told
    assert "nobody chose" not in told
    assert "taste/mood" in (tmp_path / "chosen" / "study.toml").read_text()


def test_a_studio_that_cannot_open_leaves_nothing_behind(folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert "one of raters" in str(refused(invite, folder, "--cohort", "raterz"))
    assert sorted(path.name for path in folder.iterdir()) == before
    phase = {"id": "main", "protocol": "compare", "criteria": ["nix"]}
    (folder / "studio.toml").write_text(tomli_w.dumps({"cohorts": [{"id": "raters", "phases": [phase]}]}))
    assert "nix" in str(refused(invite, folder, "--cohort", "raters"))
    assert sorted(path.name for path in folder.iterdir()) == sorted([*before, "studio.toml"])


def test_plain_prompts_are_shown_whole_and_a_part_they_lack_is_told_before_anybody_comes(folder: Path) -> None:
    save_study(study(2, builtin_criterion("taste/mood")), folder, overwrite=True)
    read(invite, folder, "--cohort", "raters")
    assert "view = []" in (folder / "studio.toml").read_text()
    for name in ("studio.db", "studio.db-wal", "studio.db-shm"):
        (folder / name).unlink(missing_ok=True)
    text = (folder / "studio.toml").read_text().replace("view = []", "")
    (folder / "studio.toml").write_text(text)
    error = str(refused(invite, folder, "--cohort", "raters"))
    assert "no intent, aesthetics in prompt 'p'" in error
    assert "phase 'main'" in error
    assert "view = []" in error
    assert not (folder / "studio.db").exists()
    result = call(serve, folder, "--check-config", "--json")
    wrong = [line["name"] for line in json.loads(result.stdout)["checks"] if not line["ok"]]
    assert wrong == ["studio.toml"]


def test_single_items_are_rated_and_nothing_to_ask_is_said() -> None:
    assert 'protocol = "rate"' in default_settings(study(1))
    with pytest.raises(DesignError, match="criterion"):
        default_settings(study(1, Criterion(id="no scale")))


def test_status_and_backup(folder: Path, tmp_path: Path) -> None:
    assert "no such file" in str(refused(status, folder))
    read(invite, folder, "--cohort", "raters", "--count", 3)
    assert "3 raters" in call(status, folder).output
    copy = tmp_path / "copy.db"
    assert read(backup, folder, copy)["bytes"] == copy.stat().st_size
    refused(backup, folder, copy)
    assert call(backup, folder, copy, "--overwrite").exit_code == 0
    assert len(read(status, folder, "--db", f"sqlite:///{copy}")["raters"]) == 3


def test_a_backup_moves_a_studio_and_its_links_stay_good(folder: Path, tmp_path: Path) -> None:
    made = read(invite, folder, "--cohort", "raters", "--count", 3)["links"]
    read(backup, folder, tmp_path / "copy.db")
    moved = f"sqlite:///{tmp_path / 'moved.db'}"
    assert read(restore, folder, tmp_path / "copy.db", "--db", moved)["counts"]["raters"] == 3
    with open_database(moved) as database:
        assert database.who(made[0]["link"].rpartition("/")[2]).rater == made[0]["rater"]
    assert "empty database" in str(refused(restore, folder, tmp_path / "copy.db", "--db", moved))


def test_a_study_is_read_while_it_is_collected_and_not_replaced_under_the_studio(folder: Path, tmp_path: Path) -> None:
    with running(folder) as link:
        base = link.partition("/enter/")[0]
        for made in read(invite, folder, "--cohort", "raters", "--count", 2)["links"]:
            with httpx2.Client(base_url=base, timeout=60) as rater:
                rater.get(made["link"])
        assert read(export, folder, "-o", tmp_path / "out")["counts"]["raters"] == 2, "the database is the truth"
        assert read(export, f"sqlite:///{folder / 'studio.db'}", "-o", tmp_path / "same")["counts"]["raters"] == 2
        assert (tmp_path / "out" / "images" / "0.png").is_file()
        assert "comparisons" in str(refused(check, folder)), "nobody has answered yet"
        with pytest.raises(BadFile, match="studio is open"):
            save_study(study(), folder, overwrite=True)
        assert "studio is open" in str(refused(serve, folder, "--port", 0))
    save_study(study(), folder, overwrite=True)
    assert len(read(status, folder)["raters"]) == 2, "and afterwards its database stays where it is"


def test_links_and_answers_put_there_while_the_study_is_saved_stay(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = study_folder._add_tree
    read(invite, folder, "--cohort", "raters", "--count", 3)
    read(backup, folder, tmp_path / "copy.db")
    for command in (invite, folder, "--cohort", "raters"), (restore, folder, tmp_path / "copy.db"):
        (folder / "studio.db").unlink()
        other = Beside(lambda command=command: read(*command), monkeypatch)

        def copied(old: Path, new: Path, other: Beside = other, **options: Any) -> None:
            keep(old, new, **options)
            other.begin()  # everything is copied, and the new folder not yet in its place

        with monkeypatch.context() as patch:
            patch.setattr(study_folder, "_add_tree", copied)
            save_study(study(), folder, overwrite=True)
            other.end()
        assert len(read(status, folder)["raters"]) == (1 if command[0] is invite else 3)


def test_mistakes_are_named(folder: Path, tmp_path: Path) -> None:
    assert isinstance(refused(serve, tmp_path / "nowhere"), BadFile)
    assert "--base-url" in str(refused(serve, folder, "--host", "0.0.0.0"))
    assert "cohort" in str(refused(invite, folder, "--cohort", "x\nSet-Cookie: a"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        error = refused(serve, folder, "--port", taken.getsockname()[1])
    assert isinstance(error, BadValue)
    assert "--port 0" in str(error)
    (folder / "studio.toml").write_text("seed = 'x'")
    assert "seed" in str(refused(invite, folder, "--cohort", "raters"))


def test_check_config_finds_what_is_wrong_and_changes_nothing(folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert read(serve, folder, "--check-config")["ok"]
    assert sorted(path.name for path in folder.iterdir()) == before
    (folder / "studio.toml").write_text("seed = -1")
    (folder / "images" / "0.png").write_bytes(b"no picture")
    result = call(serve, folder, "--check-config", "--json", "--base-url", "http://studio.example.org")
    assert result.exit_code == 1
    wrong = [line["name"] for line in json.loads(result.stdout)["checks"] if not line["ok"]]
    assert wrong == ["studio.toml", "pictures", "address"]


def test_a_password_is_kept_as_its_hash(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("salon.cli.studio._serve", lambda *_, **__: None)
    result = CliRunner().invoke(serve, [str(folder), "--password"], input="open sesame!\nopen sesame!\n")
    assert result.exit_code == 0
    kept = (folder / ".studio" / "password").read_text()
    assert kept.startswith("$argon2id$")
    assert "sesame" not in result.output + kept
    short = CliRunner().invoke(serve, [str(folder), "--password"], input="short\nshort\n")
    assert isinstance(short.exception, BadValue)


def test_a_studio_says_what_it_asks_of_each_person_and_keeps_to_a_budget(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("salon.web.workers.serve_app", lambda *_, **__: None)
    told = call(serve, folder, "--check-config").output
    assert re.search(r"raters: \d+ questions each, about \d+ minutes", told)
    assert "raters: " in call(serve, folder, "--port", 0, "--minutes", 1).output
    settings = read_settings((folder / "studio.toml").read_text())
    (phase,) = settings.cohorts[0].phases
    assert phase.ties
    assert settings.times.compare == 0
    assert phase.questions_each is None or phase.questions_each <= 6
    assert "never opened" in str(refused(serve, folder, "--minutes", 5))


def test_invite_needs_no_cohort_where_there_is_one(folder: Path) -> None:
    assert read(invite, folder)["cohort"] == "raters"
    text = (folder / "studio.toml").read_text()
    (folder / "studio.toml").write_text(text + text[text.index("[[cohorts]]") :].replace('"raters"', '"others"'))
    assert "--cohort others" in str(refused(invite, folder))


def test_the_owners_link_is_printed_once_and_can_be_renewed(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("salon.web.workers.serve_app", lambda *_, **__: None)
    first = read(serve, folder, "--port", 0)["owner"]
    assert "/enter/" in first
    assert read(serve, folder, "--port", 0)["owner"] is None
    said = call(serve, folder, "--port", 0).output
    assert "/enter/" not in said
    assert "--show-link" in said
    token = first.rpartition("/")[2]
    assert read(serve, folder, "--port", 0, "--show-link")["owner"].endswith(token)
    renewed = read(serve, folder, "--port", 0, "--new-link")["owner"]
    assert not renewed.endswith(token)
    assert read(serve, folder, "--port", 0, "--show-link")["owner"].endswith(renewed.rpartition("/")[2])
