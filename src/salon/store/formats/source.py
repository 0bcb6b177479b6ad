"""One import: what the user may decide about it, its files, and a record of every decision taken.

Each option is described once; flags, help and docs read it here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from salon.study import CompareWithin, Criterion, Design, Study

_FROZEN = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)


class Columns(BaseModel):
    """Which column of the file plays which part; a part left out is guessed from common names."""

    model_config = _FROZEN

    left: str | None = Field(None, description="Column with the first item of a pair.")
    right: str | None = Field(None, description="Column with the second item of a pair.")
    outcome: str | None = Field(None, description="Column with the answer: who won, or a tie.")
    item: str | None = Field(None, description="Column with the item that is rated or ranked.")
    value: str | None = Field(None, description="Column with the rating.")
    rank: str | None = Field(None, description="Column with the rank, one row an item.")
    ranking: str | None = Field(None, description="Column with a whole ranking: 'a>b=c>d' or a JSON list.")
    rater: str | None = Field(None, description="Column that tells raters apart.")
    prompt: str | None = Field(None, description="Column with the prompt, as an id or as text.")
    prompt_text: str | None = Field(
        None, description="Column with the prompt's text, where --prompt holds an id; alone it is the prompt."
    )
    criterion: str | None = Field(None, description="Column with the quality being judged.")
    generator: str | None = Field(None, description="Column with the system that made the item.")
    left_generator: str | None = Field(None, description="Column with the generator of the first item.")
    right_generator: str | None = Field(None, description="Column with the generator of the second item.")
    category: str | None = Field(None, description="Column with the item's category.")
    repeat: str | None = Field(None, description="Column that numbers planted repeats: 0, 1, 2, ...")
    seconds: str | None = Field(None, description="Column with the time an answer took, in seconds.")
    at: str | None = Field(None, description="Column with the time of the answer, ISO 8601.")
    confidence: str | None = Field(None, description="Column with the rater's confidence, a number.")
    rationale: str | None = Field(None, description="Column with the rater's reasons.")


class Policies(BaseModel):
    """What to do where a file is not clear."""

    model_config = _FROZEN

    name: str | None = Field(None, description="Name of the study; the folder's name when left out.")
    criterion_id: str = Field(
        "preference",
        min_length=1,
        description="Criterion of the answers when no column names one; a built-in id brings its rubric and scale.",
    )
    outcome_values: str | None = Field(
        None,
        description="What the file's words mean, e.g. 'left=a,right=b,draw=tie,neither=both_bad,skip=cannot judge'.",
    )
    duplicates: Literal["error", "first", "last", "repeat"] = Field(
        "error",
        description="A rater answers a question twice: stop, keep the first, keep the last, or number them as repeats.",
    )
    missing: Literal["error", "drop", "skipped"] = Field(
        "error",
        description="A row without an answer: stop, leave it out and count it, or keep it as skipped: cannot judge.",
    )
    compare_within: CompareWithin | None = Field(
        None, description="What items may be compared within; prompt if there is a prompt column, else all."
    )
    items_are: Literal["generators", "items"] | None = Field(
        None,
        description="Whether item labels name generators (item = prompt/generator) or items; "
        "generators if one label stands under several prompts.",
    )
    best: Literal["lowest", "highest"] = Field("lowest", description="Which rank is best.")
    scale: str | None = Field(None, description="Scale of the ratings, LOW:HIGH or LOW:HIGH:STEP, e.g. 1:5:1.")
    design: Literal["complete", "fraction", "adaptive", "merge_ranking", "unknown"] | None = Field(
        None, description="How questions were chosen; decides which nulls apply."
    )
    contradictions: Literal["sort", "refuse", "drop"] = Field(
        "sort",
        description="HPDv3: choice_dist gives path2 more votes. Sort it, as the released code does: path1 is the "
        "preferred one; refuse the file; or leave the pair out and count it.",
    )
    layout: Literal["category/model", "model/category"] | None = Field(
        None, description="HPDv3 benchmark: which folder is inside which; guessed from names and texts when left out."
    )
    prompt_lines: Literal["all", "first"] = Field(
        "all",
        description="HPDv3 benchmark: a text whole, its line ends doubled, as the released benchmark scores it; or its "
        "first line alone.",
    )
    encoding: str | None = Field(None, description="Text encoding of the file when it is not UTF-8, e.g. latin-1.")


class ImportOptions(BaseModel):
    """All of it."""

    model_config = _FROZEN

    columns: Columns = Columns()
    policies: Policies = Policies()
    left_known: bool | None = None
    """Whether the first item was shown on the left; None: only where the columns are named left and right."""
    images: Path | None = None
    """A folder in whose `images` the images inside the files, or named by them, are written; None: left out."""
    image_root: Path | None = None
    """Where the relative paths of pictures begin; None: at the folder of the file that names them."""
    remap: tuple[str, ...] = ()
    """OLD=NEW: absolute paths that begin with OLD are looked up below the folder NEW."""


# -- the import --------------------------------------------------------------------------------------------------------

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
class ImportResult:
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
