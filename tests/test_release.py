"""Wheel and sdist: everything that Salon needs at run time is in them, and they work without the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
BUILD = "import hatchling.build as build, sys; print(getattr(build, sys.argv[1])(sys.argv[2]))"


def build(kind: str, source: Path, out: Path) -> Path:
    """What hatchling builds of a source folder: the whole wheel or sdist, by its path."""
    out.mkdir(exist_ok=True)
    words = [sys.executable, "-c", BUILD, f"build_{kind}", str(out)]
    built = subprocess.run(words, cwd=source, capture_output=True, text=True, check=True, timeout=300)
    return out / built.stdout.split()[-1]


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel by name; its own RECORD left out."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "src/salon"], cwd=ROOT, capture_output=True, text=True, check=True)
    missing = {name.removeprefix("src/") for name in listed.stdout.splitlines()} - set(contents(wheel))
    assert missing == set()
    assert wheel.stat().st_size < 5e6


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    assert contents(build("wheel", source, tmp_path / "wheel")) == contents(wheel)


def test_the_wheel_works_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    """Help, a simulated study, its check with a page, and pictures by a built-in generator, from the unpacked wheel."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")

    def salon(*words: str) -> str:
        environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
        command = [sys.executable, "-m", "salon", *words]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert "salon demo" in salon("demo", "--help")
    salon("simulate", "-o", "study", "--prompts", "6")
    salon("check", "study", "--html", "check.html")
    assert "<html" in (tmp_path / "check.html").read_text(encoding="utf-8")
    salon("generate", "briefs", "--limit", "1", "-g", "atelier", "--size", "96x136", "-o", "drawn")
    where = "import salon, sys; sys.stdout.write(salon.__file__)"
    words = [sys.executable, "-c", where]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    imported = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert Path(imported.stdout).is_relative_to(tmp_path / "installed")


def test_the_citation_names_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["title"], citation["version"], citation["license"]) == ("Salon", project["version"], "Apache-2.0")
    assert citation["cff-version"] == "1.2.0"
    assert citation["authors"]
