"""Where an entry is strong and weak: its tags beside the middle of the board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from salon.bench.results import GroupResult
from salon.bench.site.material import Material, Shown
from salon.bench.site.wording import capital
from salon.report import Block, Column, Details, Figure, Section, Table, charts
from salon.report.words import listed
from salon.stats.result import Estimate

NAMED = 6


@dataclass(frozen=True)
class Compared:
    """One tag or group: the entry's number and the middle of the board."""

    name: str
    held: GroupResult
    capability: float | None
    eps: float | None

    @property
    def ahead(self) -> int:
        """1 where the interval lies above the middle, -1 below, 0 where it holds it (or there is nothing to hold)."""
        figure = self.held.capability
        if figure is None or self.capability is None or figure.low is None or figure.high is None:
            return 0
        return int(figure.low > self.capability) - int(figure.high < self.capability)


def strength_sections(material: Material, one: Shown) -> Iterator[Section]:
    """A chart of groups, a sentence on tags, and a table of all tags."""
    tags = compared(material, one, "tag", [(tag.id, tag.name) for tag in material.suite.tags])
    groups = compared(material, one, "group", [(name, capital(name)) for name in material.tag_groups])
    if not tags:
        return
    blocks: list[Block | str] = [_sentence(tags)] if len(material.published) > 1 else []
    rows = [(row, row.held.capability) for row in groups if row.held.capability]
    if len(rows) > 1:
        blocks.append(_chart(rows))
    blocks.append(Details(f"All {len(tags)} tags", [_table(material, tags)], open=len(tags) <= 12))
    yield Section("Strengths and weaknesses", blocks, "Capability by kind of task, beside the middle of the board.")


def compared(material: Material, one: Shown, kind: str, names: Sequence[tuple[str, str]]) -> list[Compared]:
    """The entry beside the median of published entries, in the suite's order."""
    found = []
    for id, name in names:
        held = material.groups[one.name].get((kind, id))
        if held is None:
            continue
        field = [group for other in material.published if (group := material.groups[other.name].get((kind, id)))]
        column = material.headline or ""
        capability = material.middle([group.capability.value for group in field if group.capability])
        eps = material.middle([group.eps[column].value for group in field if column in group.eps])
        found.append(Compared(name, held, capability, eps))
    return found


def _sentence(tags: Sequence[Compared]) -> str:
    """Tags whose interval leaves the middle out."""
    strong = [row.name for row in tags if row.ahead > 0]
    weak = [row.name for row in tags if row.ahead < 0]
    if not strong and not weak:
        return f"No tag of {len(tags)} can be told from the middle of the board by its own interval."
    parts = [
        f"{word} the middle of the board in {_named(names)}"
        for word, names in (("above", strong), ("below", weak))
        if names
    ]
    words = "; ".join(parts)
    return f"Its interval lies {words}. By chance alone about one tag in twenty would."


def _named(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return listed([*names[:NAMED], *([f"{more} more"] if more > 0 else [])]).unescape()


def _chart(rows: Sequence[tuple[Compared, Estimate]]) -> Figure:
    dots = [(row.name, capability.value, capability.low, capability.high, "") for row, capability in rows]
    middles = [row.capability for row, _ in rows]
    drawing = charts.dot_intervals(
        dots,
        title="Capability by group of tags",
        within=(0.0, 100.0),
        x_label="Capability",
        null_label="middle of the board",
        row_nulls=middles if any(middle is not None for middle in middles) else (),
    )
    return Figure(drawing, heading="By group of tags")


def _table(material: Material, tags: Sequence[Compared]) -> Table:
    columns = [
        Column("name", "Tag"),
        Column("prompts", "Prompts", "count"),
        Column("capability", "Capability", "estimate", 0),
        Column("middle", "Middle", "number", 0, "Median of the published entries."),
    ]
    if material.headline:
        columns += [
            Column("eps", "EPS", "estimate", 0),
            Column("eps_middle", "Middle", "number", 0, "Median of the published entries."),
            Column("reward", "Mean logit", "estimate", 2),
        ]
    return Table(columns, [_row(material, row) for row in tags], label="Tags")


def _row(material: Material, row: Compared) -> dict[str, object]:
    column = material.headline or ""
    return {
        "name": row.name,
        "prompts": row.held.prompts,
        "capability": row.held.capability,
        "middle": row.capability,
        "eps": row.held.eps.get(column),
        "eps_middle": row.eps,
        "reward": row.held.reward.get(column),
    }
