"""Places and terminals that nobody wishes for: loops of links, names that are no UTF-8, terminals without letters."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from salon.cli.main import run

VOTES = "left,right,winner,worker,prompt\n" + "".join(
    f"{a},{b},{won},{worker},p\n" for worker in "vw" for a, b, won in (("x", "y", "left"), ("y", "z", "left"))
)
IMPORT = ["import", "comparisons", "votes.csv", "--left", "left", "--right", "right", "--outcome", "winner",
          "--rater", "worker", "--prompt", "prompt", "-o"]  # fmt: skip
ODD = os.fsdecode(b"odd \xff\xfe name")


@pytest.fixture(autouse=True)
def _votes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text(VOTES)


class _Full(io.RawIOBase):
    """A disk without room."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(28, "No space left on device")


def _run(monkeypatch: pytest.MonkeyPatch, arguments: list[str], encoding: str = "utf-8") -> tuple[int, str, str]:
    """Exit code and what a terminal of that encoding was sent."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit) as left:
        run(arguments)
    said = []
    for stream in (out, err):
        stream.flush()
        said.append(stream.buffer.getvalue().decode(encoding, "replace"))  # type: ignore[attr-defined]
    return int(left.value.code or 0), said[0], said[1]


@pytest.mark.parametrize("place", ["loop", "loop/deeper"])
def test_a_link_that_leads_to_itself_is_named(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    os.symlink("loop", "loop")
    for arguments in ([*IMPORT, place], ["check", place], ["init", place], ["check", "votes.csv", "--html", place]):
        code, out, err = _run(monkeypatch, [*arguments, "--json"])
        assert code == 2, err
        assert "loop" in json.loads(out)["where"]
        assert "Salon failed" not in err
    assert sorted(os.listdir()) == ["loop", "votes.csv"]


def test_a_folder_whose_name_is_no_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = _run(monkeypatch, [*IMPORT, f"{ODD}/study"])
    assert (code, "odd \\udcff\\udcfe name" in out) == (0, True), err
    code, out, err = _run(monkeypatch, ["fuse", "votes.csv", "-o", f"{ODD}/scores.csv", "--json"])
    assert (code, len(json.loads(out)["scores"])) == (0, 3), err
    assert _run(monkeypatch, ["bench", "new", f"{ODD} suite"])[0] == 0


@pytest.mark.parametrize("name", ["what?", "a%20b", "two\nlines", ODD])
def test_a_studio_is_kept_in_its_folder_whatever_that_is_called(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert _run(monkeypatch, [*IMPORT, name])[0] == 0
    code, _, err = _run(monkeypatch, ["invite", name, "--cohort", "raters"])
    assert (code, err) == (0, "")
    assert sorted(os.listdir()) == sorted([name, "votes.csv"])
    assert "studio.db" in os.listdir(name)
    code, out, err = _run(monkeypatch, ["status", name, "--json"])
    assert (code, len(json.loads(out)["raters"])) == (0, 1), err
    code, out, err = _run(monkeypatch, ["fuse", name, "--json"])
    assert (code, "studio's database" in err) == (0, True), err


@pytest.mark.parametrize("backup", ["votes.csv", "nothing.db"])
def test_a_restore_that_fails_leaves_a_study_that_can_be_read(monkeypatch: pytest.MonkeyPatch, backup: str) -> None:
    assert _run(monkeypatch, [*IMPORT, "study"])[0] == 0
    assert _run(monkeypatch, ["restore", "study", backup])[0] == 2
    code, out, err = _run(monkeypatch, ["fuse", "study", "--json"])
    assert (code, len(json.loads(out)["scores"])) == (0, 3), err


def test_json_on_a_terminal_obeys_nobodys_names(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = "x\x9b31m\u202e\x7f é"
    Path("votes.csv").write_text(VOTES.replace("x,", f"{odd},"), encoding="utf-8")
    code, out, err = _run(monkeypatch, ["fuse", "votes.csv", "--json"])
    assert (code, any(one["item"] == odd for one in json.loads(out)["scores"])) == (0, True), err
    assert all(mark not in out for mark in "\x9b\u202e\x7f")
    assert "é" in out
    code, out, _ = _run(monkeypatch, ["check", f"no{odd}", "--json"])
    assert (code, json.loads(out)["where"].endswith(odd), out.isascii()) == (2, True, True)


def test_a_text_that_cannot_be_written_is_the_names_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("salon.cli.main._main", lambda _: ODD.encode())
    code, _, err = _run(monkeypatch, ["check", ODD])
    assert code == 2
    assert "UTF-8" in err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_without_letters_still_gets_every_number(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    code, out, err = _run(monkeypatch, ["fuse", "votes.csv"], encoding)
    assert (code, "bradley-terry" in out) == (0, True), err
    code, out, err = _run(monkeypatch, ["fuse", "votes.csv", "--json"], encoding)
    assert (code, len(json.loads(out)["scores"])) == (0, 3), err


def test_a_full_disk_behind_the_output_is_told_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("salon.cli.main._discard_stdout", lambda: None)  # the test's own output stays open
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(_Full(), 16), write_through=True))
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit) as left:
        run(["null", "--items", "3", "--raters", "3", "--json"])
    err.flush()
    assert left.value.code == 2
    assert "No space left" in err.buffer.getvalue().decode()  # type: ignore[attr-defined]
    monkeypatch.undo()


def test_python_m_salon_is_salon() -> None:
    told = subprocess.run([sys.executable, "-m", "salon", "--version"], capture_output=True, text=True, timeout=300)
    assert (told.returncode, told.stdout) == (0, f"salon {version('salon')}\n"), told.stderr
