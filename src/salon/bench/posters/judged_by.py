"""By whose words contestants were judged, and whether their judged tasks can be held against each other.

A judge that is asked in other words gives other verdicts. So contestants are ranked on judged tasks only where one
protocol was used for all of them. Tasks without verdicts, and verdicts that a reference contestant brings along, are
by no protocol and differ from none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from pydantic import Field

from salon.bench.posters.contestants import NAMES
from salon.bench.posters.files import PosterFile
from salon.bench.posters.judge_protocol import OWN, RELEASED, released_hash
from salon.bench.posters.run_card import JudgeCard
from salon.study.noun import Noun

Protocol = Literal["released", "salon", "mixed", "not recorded", "none"]


class JudgedBy(Noun):
    """How a contestant's judged tasks were judged."""

    contestant: str = Field(description="Its name.")
    protocol: Protocol = Field(description="By whose prompts; mixed where verdicts are by both.")
    prompts: str | None = Field(None, description="SHA-256 of the released prompts' hashes; null for other protocols.")
    judges: tuple[str, ...] = Field((), description="Who gave verdicts.")
    tasks: tuple[str, ...] = Field((), description="Judged tasks that hold verdicts.")

    @property
    def title(self) -> str:
        """The protocol in a few words."""
        words = {
            "released": f"released prompts ({(self.prompts or '')[:8]})",
            "salon": "Salon’s prompts",
            "mixed": "released and Salon’s prompts",
        }
        return words.get(self.protocol, self.protocol)


def judged_by(name: str, files: Sequence[PosterFile], judges: Sequence[JudgeCard]) -> JudgedBy:
    """How a contestant was judged, by the verdicts in its files and by what their folder says of them."""
    tasks = tuple(file.task.name for file in files if file.task.judged and _has_verdicts(file))
    if not tasks or (name in NAMES and not judges):
        return JudgedBy(contestant=name, protocol="none")
    used = {card.protocol for card in judges}
    protocol: Protocol = "not recorded"
    if used:
        protocol = "released" if used == {RELEASED} else "salon" if used == {OWN} else "mixed"
    return JudgedBy(
        contestant=name,
        protocol=protocol,
        prompts=released_hash() if RELEASED in used else None,
        judges=tuple(dict.fromkeys(card.judge for card in judges)),
        tasks=tasks,
    )


def protocols_differ(judged: Sequence[JudgedBy], tasks: Collection[str]) -> bool:
    """Whether verdicts on these tasks were not all given by one protocol, so that nobody can be ranked on them."""
    protocols = [one.protocol for one in judged if not set(one.tasks).isdisjoint(tasks)]
    return len(protocols) > 1 and (len(set(protocols)) > 1 or "mixed" in protocols)


def differences(judged: Sequence[JudgedBy]) -> list[str]:
    """A sentence for the reader where contestants were judged by different protocols."""
    tasks = {task for one in judged for task in one.tasks}
    if not any(protocols_differ(judged, [task]) for task in tasks):
        return []
    whose = "; ".join(f"{one.contestant}: {one.title}" for one in judged if one.tasks)
    return [f"Judged by different protocols ({whose}): not comparable, and not ranked, where verdicts count."]


def _has_verdicts(file: PosterFile) -> bool:
    return any(item.judge and any(said.strip() for said in item.judge) for item in file.items)
