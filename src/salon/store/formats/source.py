"""One import under way: its files and options, and a record of every decision taken, for the summary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.study import Criterion, Design, Study
from salon.study.study import CompareWithin

LEFT_OUT = "left out"
"""How a note about rows that did not reach the study begins."""
CROWD = "anonymous"
"""Id of the rater that stands for people a file does not tell apart."""


@dataclass
class Source:
    """What is read, how, and what was decided on the way."""

    kind: str
    paths: tuple[Path, ...]
    options: Any
    notes: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    columns: dict[str, str] = field(default_factory=dict)
    paths_of: dict[str, Path] = field(default_factory=dict)
    """Where the pictures of items were found, by item."""

    def say(self, note: str) -> None:
        """Record a decision once."""
        if note not in self.notes:
            self.notes.append(note)

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count rows that do not reach the study."""
        if count:
            self.left_out[reason] += count

    def say_crowd(self) -> None:
        """Record that raters cannot be told apart."""
        self.say(f"no rater ids in the file: all answers belong to the crowd {CROWD!r}, no per-rater figures are made")


@dataclass(frozen=True)
class Draft:
    """What a reader found: tables and the metadata it is sure of."""

    criteria: tuple[Criterion, ...]
    tables: dict[str, pa.Table]
    compare_within: CompareWithin = "prompt"
    design: Design = field(default_factory=Design)


@dataclass(frozen=True)
class Imported:
    """A study, and what was decided while reading it."""

    study: Study
    kind: str
    files: tuple[str, ...]
    columns: dict[str, str]
    notes: tuple[str, ...]
    left_out: dict[str, int]
    paths: dict[str, Path] = field(default_factory=dict)
    """Where the pictures of items were found, by item."""

    def record(self) -> dict[str, Any]:
        """All of it but the study's rows, for --json."""
        return {
            "name": self.study.name,
            "kind": self.kind,
            "files": list(self.files),
            "counts": self.study.counts,
            "criteria": [criterion.id for criterion in self.study.criteria],
            "compare_within": self.study.compare_within,
            "design": self.study.design.kind,
            "columns": self.columns,
            "notes": list(self.notes),
            "left_out": self.left_out,
            "data": self.study.hash[:12],
        }
