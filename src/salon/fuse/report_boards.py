"""The boards of a fusion's page: the scores of one criterion in one group, best first, with names that fit.

How much of them a page shows is decided here: a page must stay light, and what it leaves out it counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from salon.fuse.results import AnchorFigure, CurveFigures, FuseReport, GroupFigures, ScoreRow
from salon.report import Block, Details, Table
from salon.report.words import LONGEST_NAME, brief, counted, told_apart, without_shared_start

MOST_OPEN = 15
"""Rows of a table that are shown without a click."""
MOST_ROWS = 60
"""Rows of a table about groups; more are in the JSON."""


@dataclass(frozen=True)
class Names:
    """How items, criteria and groups are printed; a group is named only where there are several."""

    items: dict[str, str]
    criteria: dict[str, str]
    groups: dict[str, str]
    start: str
    """What the names of all criteria begin with: `taste/`. Said once, and cut from each."""

    @classmethod
    def of(cls, report: FuseReport, prompts: Mapping[str, str] | None = None) -> Names:
        """The names of a report; `prompts`: the text of each prompt by its id, where a group is a prompt."""
        places: list[ScoreRow | GroupFigures] = [*report.scores, *report.groups]
        criteria = told_apart((place.criterion for place in places), 48)
        short, start = without_shared_start(list(criteria.values()))
        return cls(
            told_apart(item_of(row) for row in report.scores),
            dict(zip(criteria, short)),
            _group_names((place.group for place in places), prompts or {}),
            start,
        )

    def item(self, label: str) -> str:
        """An item's name as printed."""
        return self.items.get(label) or told_apart([label])[label]

    def place(self, part: ScoreRow | GroupFigures | CurveFigures | AnchorFigure) -> str:
        """`Mood · posters`; what the whole report shares is left out, unless nothing would remain."""
        named = [(part.criterion, self.criteria), (part.group, self.groups)]
        shown = [known[name] for name, known in named if name is not None and len(known) > 1]
        return " · ".join(shown) or (self.criteria[part.criterion] if part.criterion is not None else "all groups")


def _group_names(groups: Iterable[str], prompts: Mapping[str, str]) -> dict[str, str]:
    """A group by its id; a prompt also by its words, as on the terminal: `p1: A jazz night`."""
    titles = {}
    for group in groups:
        text = prompts.get(group, "").strip()
        titles[group] = f"{group}: {text}" if text and text != group else group
    printed = told_apart(titles.values(), LONGEST_NAME if prompts else 48)
    return {group: printed[title] for group, title in titles.items()}


@dataclass(frozen=True)
class Board:
    """Scores of one criterion in one group, best first."""

    name: str
    group: str
    criterion: str
    rows: tuple[ScoreRow, ...]
    figures: GroupFigures | None

    @property
    def first_tier(self) -> int | None:
        """How many cannot be told from the best; None where there are no tiers."""
        tiers = [row.tier for row in self.rows]
        return tiers.count(1) if 1 in tiers else None

    def ends(self, most: int) -> tuple[tuple[ScoreRow, ...], int, int]:
        """The best and the worst rows where all would be too many, where the cut is, and how many are cut."""
        if len(self.rows) <= most:
            return self.rows, len(self.rows), 0
        head = (most + 1) // 2
        tail = most - head
        return self.rows[:head] + self.rows[len(self.rows) - tail :], head, len(self.rows) - most


def item_of(row: ScoreRow) -> str:
    """The item, or the generator where those are scored."""
    return row.item or row.generator or ""


def scale_words(report: FuseReport) -> str:
    """The scale's name, with hyphens that do not break: 1‑5."""
    return brief(report.scale, 24).replace("-", "\u2011")


def boards_of(report: FuseReport, names: Names) -> list[Board]:
    """All boards, criterion by criterion in the report's order."""
    found: dict[tuple[str, str], list[ScoreRow]] = {}
    for row in report.scores:
        found.setdefault((row.criterion, row.group), []).append(row)
    figures = {(group.criterion, group.group): group for group in report.groups}
    order = list(names.criteria)
    return [
        Board(
            names.place(rows[0]),
            names.groups[key[1]],
            key[0],
            tuple(sorted(rows, key=lambda row: row.rank)),
            figures.get(key),
        )
        for key, rows in sorted(found.items(), key=lambda pair: order.index(pair[0][0]))
    ]


def cut(rows: Sequence[object], most: int = MOST_ROWS, noun: str = "group") -> Markup:
    """` 12 more groups in the JSON.` for a caption; nothing where all are shown."""
    left = len(rows) - most
    return Markup(" {} in the JSON.").format(counted(left, f"more {noun}")) if left > 0 else Markup("")


def folded(table: Table, summary: str) -> Block:
    """A long table behind a click."""
    return table if len(table.rows) <= MOST_OPEN else Details(summary, [table])
