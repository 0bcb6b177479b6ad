"""The README is run as it stands: its files written, its commands typed in order, its Python executed."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import get_args

import httpx2
import pytest
from test_docs import FENCE, ROOT, blocks

from salon.check.results import Verdict
from salon.cli.main import run

README = ROOT / "README.md"


def lines() -> list[str]:
    """Every line a reader would type, in order, comments left out."""
    typed = [line for block in blocks(README, "console") for line in block.splitlines() if line.startswith("$ ")]
    return [re.split(r"\s+#", line[2:])[0].strip() for line in typed]


def opened(line: str) -> str:
    """Open a studio as the README does, on a free port; follow the link it prints, and close it with Ctrl-C."""
    command = [sys.executable, "-c", "from salon.cli.main import run; run()", *shlex.split(line)[1:], "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            said = [server.stdout.readline() for _ in range(2)]
            link = said[1].strip()
            with httpx2.Client(follow_redirects=True) as browser:
                page = browser.get(link)
            assert page.status_code == 200, f"{said} {server.stderr.read() if server.poll() is not None else page.text}"
            assert page.url.path == "/owner"
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)
    assert server.returncode == 0
    return "".join(said)


def type_salon(line: str) -> str:
    """Run one `salon` line, with `> file` as the shell would; gives what it printed."""
    if line.startswith("salon serve") and "--check-config" not in line:
        return opened(line)
    command, _, target = line.partition(" > ")
    out = StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as left:
        run(shlex.split(command)[1:])
    assert left.value.code == 0, f"{line}\n{out.getvalue()}"
    if target:
        Path(target.strip()).write_text(out.getvalue(), encoding="utf-8")
    return out.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which everything the README says has been done; `printed` holds what each command said."""
    made = tmp_path_factory.mktemp("readme")
    (votes,) = blocks(README, "csv")
    (made / "votes.csv").write_text(votes, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.setenv("SALON_CACHE", str(made / "cache"))
        said = {line: type_salon(line) for line in lines() if line.startswith("salon ")}
    (made / "printed").write_text("\n".join(f"$ {line}\n{text}" for line, text in said.items()), encoding="utf-8")
    return made


def test_every_command_runs_and_leaves_its_files(folder: Path) -> None:
    files = ("study/study.toml", "check.html", "check.json", "fuse.html", "fuse.json", "scores.csv", "labels.parquet")
    for file in (*files, "simulated/study.toml", "upload/README.md"):
        assert (folder / file).exists(), file
    printed = (folder / "printed").read_text(encoding="utf-8")
    assert "3875/18432" in printed
    assert "Traceback" not in printed


def test_output_shown_is_output_printed(folder: Path) -> None:
    printed = {" ".join(line.split()) for line in (folder / "printed").read_text(encoding="utf-8").splitlines()}
    shown = [line for block in blocks(README, "console") for line in block.splitlines() if not line.startswith("$ ")]
    assert shown
    for line in shown:
        assert line == "..." or " ".join(line.split()) in printed, f"the README shows what is not printed: {line}"


def test_the_verdicts_it_names_are_the_verdicts(folder: Path) -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    for verdict in get_args(Verdict):
        assert f"*{verdict}*" in text, verdict
    printed = (folder / "printed").read_text(encoding="utf-8")
    assert re.search("preference: (" + "|".join(get_args(Verdict)) + ")", printed)


def test_a_recognised_file_needs_no_import(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "`salon check votes.csv`" in README.read_text(encoding="utf-8")
    monkeypatch.chdir(folder)
    assert type_salon("salon check votes.csv").startswith("votes: 1 criteri")


def test_the_python_block_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (block,) = blocks(README, "python")
    exec(compile(block, "README.md", "exec"), {"__name__": "the README"})
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_make_lines_are_targets() -> None:
    made = [line.split()[1] for line in lines() if line.startswith("make ")]
    assert made, "the README names no make target"
    for target in made:
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_nothing_is_typed_that_no_test_types() -> None:
    for line in lines():
        assert line.startswith(("salon ", "make ")) or line == "source .venv/bin/activate", f"no test runs: {line}"
    for language, _ in FENCE.findall(README.read_text(encoding="utf-8")):
        assert language in {"console", "csv", "python"}, f"no test reads a {language or 'plain'} block"
