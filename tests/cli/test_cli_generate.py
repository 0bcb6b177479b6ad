"""`salon generate`, `ready` and `gallery` at the terminal; and a run that is killed in the middle."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from loaded import Started, start_salon
from PIL import Image
from ran_salon import salon
from waiting import until

from salon.generate.record import FILE
from salon.store import open_study

DOTS = Path(__file__).parent.parent / "generate"


@pytest.fixture(autouse=True)
def _dots(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(DOTS)
    monkeypatch.setenv("DOTS_COUNTS", str(tmp_path / "counts.txt"))


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.txt"
    path.write_text("a poster of the sea\na jazz night flyer\na card for a tea house\n")
    return path


OWN = ("-g", "python:dots:from_environment")


def test_pictures_are_made_counted_and_not_made_again(capsys, prompts, tmp_path):
    code, said = salon(capsys, "generate", prompts, *OWN, "-o", tmp_path / "s", "--seeds", 2)
    assert code == 0, said.err
    assert "6 of 6 pictures are in" in said.out
    code, said = salon(capsys, "generate", prompts, *OWN, "-o", tmp_path / "s", "--seeds", 2, "--json")
    report = json.loads(said.out)
    assert (code, report["made"], report["reused"], report["failures"]) == (0, 0, 6, [])
    assert len((tmp_path / "counts.txt").read_text().splitlines()) == 6
    code, said = salon(capsys, "ready", tmp_path / "s")
    assert (code, "ready to be shown" in said.out) == (0, True)


def test_some_failed(capsys, prompts, tmp_path):
    (tmp_path / "mine").mkdir()
    code, said = salon(capsys, "generate", prompts, "-g", f"folder:{tmp_path / 'mine'}", "-o", tmp_path / "s")
    assert code == 1
    assert "failed: 3 missing" in said.out
    assert "next: the same command again tries what failed" in said.out
    code, said = salon(capsys, "ready", tmp_path / "s", "--json")
    assert (code, json.loads(said.out)["ready"]) == (1, False)


def test_a_dry_run_says_what_would_be_made_and_makes_nothing(capsys, prompts, tmp_path):
    flags = ("generate", prompts, *OWN, "-o", tmp_path / "s", "--seeds", 5, "--limit", 2, "--dry-run")
    code, said = salon(capsys, *flags)
    assert (code, "would make 10 of 10 pictures of 2 prompts" in said.out) == (0, True)
    assert not (tmp_path / "s").exists()
    salon(capsys, "generate", prompts, *OWN, "-o", tmp_path / "s", "--limit", 2)
    plan = json.loads(salon(capsys, *flags, "--json")[1].out)
    assert plan["make"] == 8
    assert plan["generators"] == [{"generator": "dots", "make": 8, "there": 2}]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-g", "folder:"], "folder:PATH"),
        (["-g", "python:nowhere:Thing"], "nowhere"),
        (["-g", "python:json:JSONDecoder"], "make"),
        ([*OWN, "--size", "huge"], "--size"),
        ([*OWN, "--seeds", "0"], "--seeds"),
        ([*OWN, "--strength", "0.5"], "--image"),
        ([*OWN, *OWN], "each generator may stand once"),
        ([], "--generator"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_2(capsys, prompts, tmp_path, flags, said):
    code, printed = salon(capsys, "generate", prompts, "-o", tmp_path / "s", *flags)
    assert code == 2
    assert said in printed.err
    assert "Traceback" not in printed.err
    assert not (tmp_path / "s").exists()


def test_a_gallery_and_a_sheet_are_written(capsys, prompts, tmp_path):
    salon(capsys, "generate", prompts, *OWN, "-o", tmp_path / "s")
    page, sheet = tmp_path / "g.html", tmp_path / "sheet.png"
    code, said = salon(capsys, "gallery", tmp_path / "s", "-o", page, "--embed", "--sheet", sheet, "--json")
    assert code == 0, said.err
    assert json.loads(said.out)["pictures"] == 3
    assert page.is_file()
    assert sheet.read_bytes().startswith(b"\x89PNG")
    assert salon(capsys, "gallery", tmp_path / "s")[0] == 2
    assert salon(capsys, "gallery", tmp_path / "s", "--sheet", tmp_path / "sheet.jpg")[0] == 2


def picture() -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (64, 96), "teal").save(target, "PNG")
    return target.getvalue()


class Painter(BaseHTTPRequestHandler):
    """A server that speaks the OpenAI images protocol, and refuses jazz."""

    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        refused = b"jazz" in asked
        answer = {"data": [{"b64_json": base64.b64encode(picture()).decode()}]}
        body = json.dumps({"error": {"message": "no jazz", "code": "moderation_blocked"}} if refused else answer)
        self.send_response(400 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        """Nothing on the terminal."""


@pytest.fixture
def painter():
    with ThreadingHTTPServer(("127.0.0.1", 0), Painter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"openai:painter@http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_a_hosted_generator_within_a_budget(capsys, prompts, painter, tmp_path):
    (tmp_path / "prices.toml").write_text("[models.painter]\nimage = 0.04\n")
    asked = ("generate", prompts, "-g", painter, "-o", tmp_path / "s", "--prices", tmp_path / "prices.toml")
    assert salon(capsys, *asked, "--dry-run", "--json")[0] == 0
    assert not list(tmp_path.glob("s*"))
    code, said = salon(capsys, *asked, "--budget", 1, "--json")
    report = json.loads(said.out)
    assert (code, report["made"], report["cost"]) == (1, 2, pytest.approx(0.08))
    assert [failure["kind"] for failure in report["failures"]] == ["refused"]
    code, said = salon(capsys, *asked, "--budget", 0.02, "--seeds", 2)
    assert (code, "budget" in said.err) == (2, True)
    assert open_study(tmp_path / "s").counts["items"] == 2


# -- killed ----------------------------------------------------------------------------------------------------------


def start(prompts, folder, *flags, pause="0.004") -> Started:
    environment = os.environ | {"DOTS_PAUSE": pause, "PYTHONPATH": str(DOTS)}
    return start_salon("generate", prompts, *OWN, "-o", folder, *flags, env=environment)


def wait_for(path, count):
    until(lambda: path.is_file() and path.read_bytes().count(b"\n") >= count, f"{count} lines in {path}")


@pytest.fixture
def eighty(tmp_path):
    path = tmp_path / "eighty.txt"
    path.write_text("".join(f"design number {n}\n" for n in range(80)))
    return path


def test_killed_in_the_middle_a_run_of_320_resumes_without_making_again_what_is_stored(eighty, tmp_path):
    folder, counts = tmp_path / "s", tmp_path / "counts.txt"
    for stored in (90, 190):  # killed twice
        running = start(eighty, folder, "--seeds", "4")
        wait_for(folder / FILE, stored)
        running.kill()
        running.communicate()
        assert open_study(folder).counts["prompts"] == 80
    before = (folder / FILE).read_bytes().count(b"\n")
    finished = start(eighty, folder, "--seeds", "4", "--json", pause="0")
    out, err = finished.communicate(timeout=120)
    assert finished.returncode == 0, err
    report = json.loads(out)
    assert (report["made"], report["reused"]) == (320 - before, before)
    # each kill may lose the one picture that was being made, and nothing else
    asked = counts.read_text().splitlines()
    assert len(set(asked)) == 320
    assert len(asked) <= 322
    assert len(list(open_study(folder).nouns("items"))) == len(list(folder.glob("images/*/*.png"))) == 320


def test_stopped_with_control_c_the_study_holds_what_was_made(eighty, tmp_path):
    running = start(eighty, tmp_path / "s", pause="0.1")
    wait_for(tmp_path / "s" / FILE, 5)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "run the same command again to go on" in err
    assert open_study(tmp_path / "s").counts["items"] == (tmp_path / "s" / FILE).read_bytes().count(b"\n")


def test_two_processes_cannot_generate_into_one_study(capsys, eighty, tmp_path):
    running = start(eighty, tmp_path / "s", pause="1")  # longer than anything here
    wait_for(tmp_path / "s" / FILE, 1)
    code, said = salon(capsys, "generate", eighty, *OWN, "-o", tmp_path / "s")
    running.kill()
    running.communicate()
    assert (code, "one run at a time" in said.err) == (2, True)
