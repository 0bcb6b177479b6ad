"""docs/claims.md names what exists: every test, proof and benchmark, and the page that a proof writes."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "claims.md"
MILLION = ROOT / "tests" / "engine" / "test_million.py"
HOLDS = ("reached", "missed", "withdrawn", "see there")


class Row(NamedTuple):
    """One line of a table: what is claimed, how it is shown, what that gave, whether it holds."""

    claim: str
    command: str
    measured: str
    holds: str

    @property
    def commands(self) -> list[list[str]]:
        """As typed, without what is set in the environment before."""
        found = [shlex.split(text) for text in re.findall(r"`([^`]+)`", self.command)]
        return [words[1:] if re.match(r"[A-Z]+=", words[0]) else words for words in found]

    def named(self, target: str) -> list[str]:
        """What `make TARGET ONLY=...` is told to run."""
        found = [words[2:] for words in self.commands if words[:2] == ["make", target]]
        return [word.removeprefix("ONLY=") for words in found for word in words]


def rows() -> list[Row]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [Row(*row) for row in cells if row[0] != "claim"]


@cache
def functions(path: Path) -> dict[str, bool]:
    """The test functions of a file, and whether each is left out unless slow ones are asked for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    whole = any(ast.unparse(part) == "pytestmark = pytest.mark.slow" for part in tree.body)
    return {
        part.name: whole or any(ast.unparse(mark) == "pytest.mark.slow" for mark in part.decorator_list)
        for part in ast.walk(tree)
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name.startswith("test_")
    }


def faults_of_tests(words: list[str]) -> Iterator[str]:
    """What is wrong with a call of pytest: a test that is not there, or that this call would leave out."""
    marked = words[2] if words[1] == "-m" else None
    for name in words[3:] if marked else words[1:]:
        file, _, function = name.partition("::")
        there = functions(ROOT / file) if (ROOT / file).is_file() else {}
        if not there or (function and function not in there):
            yield f"there is no {name}"
        elif function and marked in (None, "slow") and there[function] != (marked == "slow"):
            yield f"{name} runs {'only with' if there[function] else 'without'} -m slow"


def faults_of_proofs(row: Row) -> Iterator[str]:
    for room, target in (("prove", "prove"), ("benchmarks", "bench")):
        for name in row.named(target):
            if name.startswith("_") or not (ROOT / room / f"{name}.py").is_file():
                yield f"there is no {target} named {name}"
    for page in re.findall(r"\]\((evidence/(?!benchmarks)[\w-]+\.md)\)", row.measured):
        text = (PAGE.parent / page).read_text(encoding="utf-8")
        written = {
            name for pair in re.findall(r"make prove ONLY=(\w+)|python -m prove[. ](\w+)", text) for name in pair
        }
        if not written & set(row.named("prove")):
            yield f"{page} does not say that {row.named('prove')} wrote it"


def test_there_are_claims_of_every_stage() -> None:
    assert len(rows()) > 50
    headings = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [
        "Install", "Check", "Fuse", "Generate", "Collect", "Judge", "Train", "Bench", "Posters", "Distill",
        "Select and serve",
    ]  # fmt: skip


def test_every_row_is_whole() -> None:
    for row in rows():
        assert all(row), row
        assert row.holds.startswith(HOLDS), row
        assert {words[0] for words in row.commands} <= {"pytest", "make", "salon"}, row
        assert row.commands, row


def test_tests_that_are_named_exist_and_run() -> None:
    asked = [words for row in rows() for words in row.commands if words[0] == "pytest"]
    assert [fault for words in asked for fault in faults_of_tests(words)] == []


def test_proofs_and_benchmarks_exist_and_pages_name_their_proof() -> None:
    assert [fault for row in rows() for fault in faults_of_proofs(row)] == []


def test_a_wrong_name_would_be_found() -> None:
    assert list(faults_of_tests(["pytest", "tests/test_claims.py::test_nothing"]))
    assert list(faults_of_tests(["pytest", "-m", "slow", "tests/test_claims.py::test_every_row_is_whole"]))
    assert list(faults_of_tests(["pytest", "tests/engine/test_million.py::" + next(iter(functions(MILLION)))]))
    assert list(faults_of_proofs(Row("", "`make prove ONLY=nothing`", "", "")))
    assert list(faults_of_proofs(Row("", "`make prove ONLY=size`", "[page](evidence/coverage.md)", "")))
