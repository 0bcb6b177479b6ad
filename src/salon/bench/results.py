"""What an entry is worth: the JSON of ENTRY/result.json and what pages print. Shares are given from 0 to 100.

Nothing here depends on any other entry. What does (ranks, tie groups, arenas) is in `standings` and `arena`.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from salon.stats.result import Estimate
from salon.study.noun import Noun
from salon.study.signature import Signature

FORMAT: Final = "salon.result/1"
Status = Literal["complete", "provisional"]


class Coverage(Noun):
    """What a number rests on, and what is not there."""

    wanted: int = Field(description="Pictures that the suite asks for and the axis counts.")
    made: int = Field(description="Pictures that are there; each missing one counts as a failure.")
    asked: int = Field(description="Answers (or scores) wanted of the pictures that are there.")
    given: int = Field(description="Answers that were read, or scores that were given.")
    unread: int = Field(description="Answers that could not be read, pictures that could not be scored: failures.")
    open: int = Field(description="Not answered yet: a judge's outage. While there are any, the axis is provisional.")


class AxisResult(Noun):
    """One axis of one entry, 0 to 100."""

    figure: Estimate = Field(description="The value with its interval; everything open counts as a failure.")
    at_best: float = Field(description="The value if everything open turned out well; the value itself if complete.")
    coverage: Coverage

    @property
    def complete(self) -> bool:
        """Whether nothing is open."""
        return self.coverage.open == 0


class GroupResult(Noun):
    """One tag, or one group of tags."""

    id: str = Field(description="Id of the tag, or name of the group.")
    kind: Literal["tag", "group"]
    capability: Estimate | None
    eps: dict[str, Estimate] = Field(default_factory=dict, description="By column; empty where EPS does not count.")
    reward: dict[str, Estimate] = Field(
        default_factory=dict, description="Mean logit by column (HPSv3's table); only where every picture has one."
    )
    prompts: int


class PictureResult(Noun):
    """One picture: what every point and scorer said."""

    item: str
    seed: int
    image: str | None = Field(description="Path inside the entry's folder; null where there is no picture.")
    missing: str | None = Field(default=None, description="Why there is none.")
    passed: float = Field(description="1 or 0 (or the share of points, by the suite's rule); open points fail.")
    passed_at_best: float
    points: dict[str, Literal["pass", "fail", "unread", "open"]] = Field(
        default_factory=dict, description="By id; what the judges of its route say together."
    )
    said: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="By id of the point and judge of its route: pass, fail, unread."
    )
    logits: dict[str, float] = Field(default_factory=dict, description="By column of EPS.")
    sigmas: dict[str, float] = Field(default_factory=dict)
    wins: dict[str, float] = Field(
        default_factory=dict, description="By column: chance to be preferred to the reference, 0 to 1; 0 if missing."
    )


class PromptResult(Noun):
    """One prompt of one entry."""

    prompt: str
    tag: str
    passed: float = Field(description="Mean over its pictures, 0 to 1.")
    passed_at_best: float
    eps: dict[str, float] = Field(default_factory=dict, description="By column, 0 to 1; empty where not eligible.")
    eps_at_best: dict[str, float] = Field(default_factory=dict)
    pictures: tuple[PictureResult, ...]


class EntryResult(Noun):
    """Everything published about an entry; the same suite, pictures, answers and scores give the same bytes."""

    format: Literal["salon.result/1"] = FORMAT
    entry: str
    suite: str = Field(description="Name and version: 'posters/1'.")
    suite_hash: str
    status: Status = Field(description="Provisional while anything is open; only complete results are published.")
    capability: AxisResult
    points: AxisResult = Field(description="Share of all points that hold, beside Capability.")
    eps: dict[str, AxisResult] = Field(default_factory=dict, description="By column; empty without a reference.")
    overall: AxisResult | None = Field(description="None without EPS.")
    headline: str | None = Field(default=None, description="The column of EPS that enters Overall.")
    weights: dict[str, float] = Field(default_factory=dict, description="Shares of 'capability' and 'eps' in Overall.")
    groups: tuple[GroupResult, ...]
    prompts: tuple[PromptResult, ...]
    oracle: AxisResult | None = Field(
        default=None, description="Capability by a judge that knows how pictures were made; never on the board."
    )
    digest: str = Field(description="Hash of the pictures, answers and scores it was made from.")
    policies: tuple[str, ...]
    signature: Signature
    signature_line: str
