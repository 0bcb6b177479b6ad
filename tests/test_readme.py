"""README and docs/start.md are run as they stand: files written, commands typed in order, Python executed."""

from __future__ import annotations

import re
import shlex
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import get_args

import pytest
from test_docs import FENCE, ROOT, blocks

from salon.check.results import Agree, Taste
from salon.cli.main import run

README, START = ROOT / "README.md", ROOT / "docs" / "start.md"


def lines(page: Path) -> list[str]:
    """Every line a reader would type, in order, comments left out."""
    typed = [line for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]
    return [re.split(r"\s+#", line[2:])[0].strip() for line in typed]


def shown(page: Path) -> list[str]:
    """Every line that a page says is printed, spaces squeezed."""
    under = [line for block in blocks(page, "console") for line in block.splitlines() if not line.startswith("$ ")]
    apart = [line for block in blocks(page, "text") for line in block.splitlines()]
    return [" ".join(line.split()) for line in (*under, *apart) if line.strip() not in ("", "...")]


def type_salon(line: str) -> str:
    """Run one `salon` line; gives what it printed."""
    out = StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as left:
        run(shlex.split(line)[1:])
    assert left.value.code == 0, f"{line}\n{out.getvalue()}"
    return out.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which everything that the two pages say has been done; `printed` holds what each command said."""
    made = tmp_path_factory.mktemp("readme")
    (votes,) = blocks(README, "csv")
    (made / "votes.csv").write_text(votes, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        patch.setenv("SALON_CACHE", str(made / "cache"))
        typed = dict.fromkeys(line for page in (README, START) for line in lines(page) if line.startswith("salon "))
        said = {line: type_salon(line) for line in typed}
    (made / "printed").write_text("\n".join(f"$ {line}\n{text}" for line, text in said.items()), encoding="utf-8")
    return made


def test_every_command_runs_and_leaves_its_files(folder: Path) -> None:
    pages = (
        "gallery.html",
        "check.html",
        "generators.html",
        "judges.html",
        "site/index.html",
        "picked/best/index.html",
    )
    made = ("drawn/study.toml", "judged/judges/almost-sharp/study.toml", "taste/model.json", "study/study.toml")
    for file in (*pages, *made):
        assert (folder / file).exists(), file
    assert "Traceback" not in (folder / "printed").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [README, START], ids=lambda page: page.name)
def test_output_shown_is_output_printed(folder: Path, page: Path) -> None:
    printed = {" ".join(line.split()) for line in (folder / "printed").read_text(encoding="utf-8").splitlines()}
    assert shown(page)
    for line in shown(page):
        assert line in printed, f"{page.name} shows what is not printed: {line}"


def test_start_explains_what_the_readme_types() -> None:
    """The pipeline of the README is that of docs/start.md, which leaves votes and paintings to the README."""
    apart = [line for line in lines(README) if line not in lines(START) and "paintings" not in line]
    assert [line.split()[1] for line in apart] == ["test", "import", "check", "fuse"]


def test_the_verdicts_it_names_are_the_verdicts(folder: Path) -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    for answer in (*get_args(Agree), *get_args(Taste)):
        assert f"*{answer}*" in text, answer
    printed = (folder / "printed").read_text(encoding="utf-8")
    assert re.search("preference: do raters agree more than chance\\? (" + "|".join(get_args(Agree)) + ")", printed)


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
    made = [line.split()[1] for line in lines(README) if line.startswith("make ")]
    assert made, "the README names no make target"
    for target in made:
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_nothing_is_typed_that_no_test_types() -> None:
    for page in (README, START):
        for line in lines(page):
            assert line.startswith(("salon ", "make ")) or line == "source .venv/bin/activate", f"no test runs: {line}"
        for language, _ in FENCE.findall(page.read_text(encoding="utf-8")):
            assert language in {"console", "csv", "python", "text"}, f"no test reads a {language or 'plain'} block"
