"""The page of benchmarks is what their lines say, and no benchmark is missing from it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import _page

ROOT = Path(__file__).parent.parent
LINE = {"name": "alpha_1e6", "ours": 0.0412, "peer_name": "a|b", "peer": 1.5, "ratio": 36.4, "limit": 0.02, "unit": "s"}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_page, "KEPT", tmp_path / "lines.jsonl")
    monkeypatch.setattr(_page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(_page, "machine", lambda: "an abacus")
    return tmp_path


def test_every_benchmark_has_its_place():
    there = {path.stem for path in _page.HERE.glob("[a-z]*.py")}
    placed = [name for names in _page.ROOMS.values() for name in names]
    assert sorted(placed) == sorted(there)


def test_a_second_run_replaces_the_lines_of_the_first_and_leaves_others(kept: Path):
    _page.keep("alpha_1e6", [LINE])
    _page.keep("null_4_5", [LINE | {"name": "null_4_5", "ours": 3}])
    _page.keep("alpha_1e6", [LINE | {"ours": 0.05, "peers": {"x": 2.0, "y": [1, 2]}}])
    page = (kept / "page.md").read_text()
    assert "| alpha_1e6 | 0.05 | 1.5 (a&#124;b) | 36.4 | 0.02 | s | peers x 2, y 1, 2 |" in page
    assert "0.0412" not in page
    assert "| null_4_5 | 3 |" in page
    assert "an abacus" in page


def test_figures_of_another_machine_go(kept: Path, monkeypatch: pytest.MonkeyPatch):
    _page.keep("alpha_1e6", [LINE])
    monkeypatch.setattr(_page, "machine", lambda: "a slide rule")
    _page.keep("null_4_5", [LINE | {"name": "null_4_5"}])
    assert [json.loads(line)["benchmark"] for line in (kept / "lines.jsonl").read_text().splitlines()] == ["null_4_5"]


def test_the_page_in_the_docs_is_written_from_the_kept_lines():
    rows = [json.loads(line) for line in _page.KEPT.read_text().splitlines()]
    assert _page.PAGE.read_text() == _page.page(rows)


def test_every_benchmark_and_proof_begins_in_a_clone():
    """`make bench` and `make prove` find what they import from the top of the project alone, as tests do not."""
    there = [
        f"{folder}.{path.stem}" for folder in ("benchmarks", "prove") for path in (ROOT / folder).glob("[a-z]*.py")
    ]
    code = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    done = subprocess.run([sys.executable, "-c", code, *there], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
