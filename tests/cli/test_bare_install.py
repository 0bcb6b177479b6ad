"""Salon as a plain `pip install` leaves it: only the packages of [project.dependencies], none of an extra.

The environment is real: a folder of links to just those installed packages, and a Python that looks nowhere else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[2]
RUN = """
import contextlib, io, json, os, sys
sys.path[1:1] = [{packages!r}, {source!r}]
os.chdir({folder!r})
from salon.cli.main import run
told = []
for line in {lines!r}:
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            run(line.split())
            code = 0
        except SystemExit as end:
            code = end.code
    told.append((code, text.getvalue()))
print(json.dumps(told))
"""
WORKS = """
--help
simulate -o first --prompts 12
check first --html check.html
null --items 4 --raters 5
plan --prompts 40 --tau 0.2
anchor first
fuse first --prior 3 --html fuse.html
labels first -o labels.csv
export first -o first.jsonl
judge run first --simulated accuracy=0.8,bias=0.1 --name sharp
judge report first --html judges.html
bench list
score --list
generate --help
train heads --help
select best --help
"""
NEEDS = {
    "generate briefs --limit 1 -g atelier -o drawn": "generate",
    "bench run posters -g proof -o board": "generate",
    "simulate -o posters --preset taste-drawn": "generate",
    "serve first": "serve",
    "status first": "serve",
    "serve-scores -s palette": "serve",
    "train heads first -o model": "train",
    "select explain poster.png -s palette": "models",
}


def base_packages() -> set[str]:
    """The distributions that Salon needs without any extra, and what they need."""
    found, waiting = {"salon"}, tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    while waiting:
        need = Requirement(waiting.pop())
        if need.name not in found and (need.marker is None or need.marker.evaluate({"extra": ""})):
            found.add(need.name)
            waiting += distribution(need.name).requires or ()
    return found


def links_to(names: set[str], folder: Path) -> None:
    """A folder that holds what these distributions installed, and nothing else."""
    folder.mkdir()
    for name in names:
        one = distribution(name)
        for top in {file.parts[0] for file in one.files or ()} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(one.locate_file(top))))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Every command line with its exit code and what it said."""
    home = tmp_path_factory.mktemp("bare")
    links_to(base_packages(), home / "packages")
    packages, folder = str(home / "packages"), home / "work"
    folder.mkdir()
    lines = [*WORKS.split("\n")[1:-1], *NEEDS]
    script = RUN.format(packages=packages, source=str(PROJECT / "src"), folder=str(folder), lines=lines)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(lines, json.loads(done.stdout)))


def test_the_environment_is_bare() -> None:
    names = base_packages()
    assert {"numpy", "click", "pillow"} <= names
    assert not names & {"torch", "fastapi", "skia-python", "opencv-python-headless"}


@pytest.mark.parametrize("line", WORKS.split("\n")[1:-1])
def test_what_needs_no_extra_works(told: dict[str, tuple[int, str]], line: str) -> None:
    code, text = told[line]
    assert code == 0, text


@pytest.mark.parametrize(("line", "extra"), NEEDS.items())
def test_what_needs_an_extra_names_it(told: dict[str, tuple[int, str]], line: str, extra: str) -> None:
    code, text = told[line]
    assert (code, f"pip install 'salon[{extra}]'" in text) == (2, True), text
