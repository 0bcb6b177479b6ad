"""A page for each entry: its axes, where it is strong and weak, its best and worst pictures, where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from markupsafe import Markup

from salon.bench.entry import AxisResult, Coverage, EntryResult, GroupResult, PictureResult
from salon.bench.site.frame import PageLink, SitePage, capital, code_line, facts_table, opening_words
from salon.bench.site.index_page import rank_range, tied_words
from salon.bench.site.prompt_pages import PictureShot, ShotMaker, Shots, shot_maker
from salon.bench.site.site_data import Pictures, SiteData, SiteEntry, web_link
from salon.report import (
    Block,
    Card,
    Cell,
    Chart,
    Column,
    Details,
    Note,
    Section,
    Table,
    brief,
    charts,
    columns_of,
    element,
    join_names,
    numbers,
    sentence,
)
from salon.store import Thumb

PICTURES = 6
"""Best ones, and worst ones."""


@dataclass(frozen=True)
class GeneratorPages:
    """Pages of all entries."""

    site: SiteData
    pictures: Pictures

    def pages(self) -> Iterator[SitePage]:
        """In the board's order, retracted ones last."""
        entries = (*self.site.ordered, *self.site.retracted)
        for place, site_entry in enumerate(entries):
            before = entries[place - 1] if place else None
            yield self._page(site_entry, before, entries[place + 1] if place + 1 < len(entries) else None)

    def _page(self, site_entry: SiteEntry, before: SiteEntry | None, after: SiteEntry | None) -> SitePage:
        entry = site_entry.entry
        return SitePage(
            path=f"generators/{self.site.entry_pages[site_entry.name]}.html",
            title=brief(entry.label, 100),
            subtitle=brief(entry.about, 400) if entry.about else "",
            head=self.site.head,
            kicker="Entry" + ("" if site_entry.published else " · provisional: not on the board"),
            banner=f"Retracted: {sentence(brief(entry.retracted.reason, 400))}" if entry.retracted else "",
            cards=self._cards(site_entry) if site_entry.published and not entry.retracted else (),
            sections=[*self._sections(site_entry)],
            before=self._step(before),
            after=self._step(after),
            notes=site_entry.result.policies if site_entry.result else (),
            signature=site_entry.result.signature_line if site_entry.result else "",
        )

    def _step(self, site_entry: SiteEntry | None) -> PageLink | None:
        if site_entry is None:
            return None
        return PageLink(brief(self.site.labels[site_entry.name], 30), f"{self.site.entry_pages[site_entry.name]}.html")

    def _cards(self, site_entry: SiteEntry) -> list[Card]:
        return [
            Card(
                axis.title,
                numbers.fixed(axis_result.figure.value, 1),
                self._place_words(site_entry, axis.id, axis_result),
            )
            for axis in self.site.axes[:3]
            if (axis_result := axis.of(site_entry.computed))
        ]

    def _place_words(self, site_entry: SiteEntry, axis: str, axis_result: AxisResult) -> str:
        standing = self.site.standing[axis].get(site_entry.name)
        of = len(self.site.published)
        rank = f"; rank {standing.rank} of {of}, may be {rank_range(standing)}" if standing and of > 1 else ""
        return f"{numbers.interval(axis_result.figure.low, axis_result.figure.high, 1)}{rank}"

    def _sections(self, site_entry: SiteEntry) -> Iterator[Section]:
        if site_entry.result is None:
            yield Section("Results", [Note("Not judged yet.")])
        elif not site_entry.entry.retracted:
            yield Section(
                "Axes", [self._axes(site_entry)], "Each with its interval, what it rests on, and what is missing."
            )
            yield from strength_sections(self.site, site_entry)
            yield from self._criteria(site_entry)
            yield from spread_sections(self.site, site_entry)
            yield from self._extremes(site_entry)
        yield Section("Where it comes from", [self._about(site_entry)])

    def _axes(self, site_entry: SiteEntry) -> Table:
        result = site_entry.computed
        rows = [
            self._axis_row(site_entry, axis.title, axis.id, axis_result)
            for axis in self.site.axes
            if (axis_result := axis.of(result))
        ]
        rows.append(self._axis_row(site_entry, "Points", "points", result.points))
        if result.oracle:
            rows.append(self._axis_row(site_entry, "Oracle (not on the board)", "oracle", result.oracle))
        columns = [
            Column("axis", "Axis"),
            *columns_of(AxisResult, "figure"),
            Column("rank", "Ranks"),
            Column("pictures", "Pictures"),
            Column("answers", "Answers"),
            *columns_of(Coverage, "unread", "open"),
        ]
        return Table(columns, rows, sortable=False, label="Axes")

    def _axis_row(self, site_entry: SiteEntry, title: str, id: str, axis_result: AxisResult) -> dict[str, object]:
        standing = self.site.standing.get(id, {}).get(site_entry.name) if site_entry.published else None
        cover = axis_result.coverage
        best = "" if axis_result.complete else f"at best {numbers.fixed(axis_result.at_best, 1)}"
        return {
            **vars(cover),
            "axis": title,
            "figure": Cell(
                axis_result.figure,
                why=f"{axis_result.figure.method}, n = {axis_result.figure.n} {axis_result.figure.unit}",
                under=best,
            ),
            "rank": Cell(rank_range(standing) or numbers.MISSING, under=tied_words(standing, self.site.labels, 2)),
            "pictures": f"{numbers.count(cover.made)} of {numbers.count(cover.wanted)}",
            "answers": f"{numbers.count(cover.given)} of {numbers.count(cover.asked)}",
        }

    def _criteria(self, site_entry: SiteEntry) -> Iterator[Section]:
        rows = [
            (axis.title, axis_result.figure.value, axis_result.figure.low, axis_result.figure.high, "")
            for axis in self.site.axes[2:]
            if (axis_result := axis.of(site_entry.computed))
        ]
        if len(rows) > 1:
            drawing = charts.dot_intervals(
                rows,
                title="EPS by criterion",
                within=(0.0, 100.0),
                x_label="EPS",
                null_label="reference, 50",
                row_nulls=[50.0] * len(rows),
                sort=False,
            )
            yield Section("By criterion", [Chart(drawing)], "EPS of each criterion's own scorer; 50 is the reference.")

    def _extremes(self, site_entry: SiteEntry) -> Iterator[Section]:
        """Its best and worst pictures by the headline's chance, or by points where there is none."""
        ranked = sorted(self._seen(site_entry), key=lambda pair: self._worth(pair[1]), reverse=True)
        if len(ranked) < 2:
            return
        half = min(PICTURES, len(ranked) // 2)
        by = "chance against the reference" if self.site.headline else "points that hold"
        best, worst = (
            [self._shot(site_entry, *pair) for pair in pairs] for pairs in (ranked[:half], ranked[-half:][::-1])
        )
        yield Section("Its best pictures", [Shots(best, small=True)], f"By {by}.")
        yield Section(
            "Its worst pictures", [Shots(worst, small=True)], f"By {by}; missing pictures are not shown here."
        )

    def _seen(self, site_entry: SiteEntry) -> Iterator[tuple[str, PictureResult]]:
        for prompt in site_entry.computed.prompts:
            for picture in prompt.pictures:
                if isinstance(self.pictures.get((site_entry.name, picture.item)), Thumb) and self._is_ordered(picture):
                    yield prompt.prompt, picture

    def _worth(self, picture: PictureResult) -> tuple[float, float]:
        share = sum(state == "pass" for state in picture.points.values()) / max(1, len(picture.points))
        return picture.wins.get(self.site.headline or "", 0.0), share

    def _is_ordered(self, picture: PictureResult) -> bool:
        """Pictures of prompts where preference does not count are neither best nor worst by it."""
        return self.site.headline is None or self.site.headline in picture.wins

    def _shot(self, site_entry: SiteEntry, prompt: str, picture: PictureResult) -> PictureShot:
        text = self._texts[prompt]
        return self._maker.shot(
            site_entry.name,
            prompt,
            picture,
            title=opening_words(text, 60) or brief(prompt, 60),
            href=f"../prompts/{self.site.prompt_pages[prompt]}.html",
            alt=opening_words(text, 120) or brief(prompt, 120),
        )

    def _about(self, site_entry: SiteEntry) -> Table:
        entry = site_entry.entry
        link = web_link(entry.link)
        facts: list[tuple[str, object]] = [
            ("Name", entry.name),
            ("Submitted by", entry.by),
            ("Generator", entry.generator),
            ("Its signature", code_line(entry.signature) if entry.signature else ""),
            ("Link", element("a", brief(link, 80), href=link, rel="noopener nofollow") if link else entry.link),
            ("Licence of its pictures", entry.licence),
            ("Pictures", f"{sum(bool(p.image) for p in entry.pictures)} of {len(entry.pictures)}"),
            ("Digest of pictures, answers, scores", code_line(site_entry.result.digest) if site_entry.result else ""),
        ]
        if site_entry.result and not entry.retracted:
            place = f"../data/results/{self.site.entry_pages[site_entry.name]}.json"
            facts.append(("Download", Markup(element("a", "every answer and score as JSON", href=place))))
        return facts_table(facts, "Where it comes from")

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {prompt.id: self.site.words_of(prompt) for prompt in self.site.suite.prompts}

    @cached_property
    def _maker(self) -> ShotMaker:
        return shot_maker(self.site, self.pictures)


# -- strengths and weaknesses: its tags beside the middle of the board -------------------------------------------------

MOST_NAMES = 6


@dataclass(frozen=True)
class TagComparison:
    """One tag or group: the entry's number and the middle of the board."""

    name: str
    group: GroupResult
    capability: float | None
    eps: float | None

    @property
    def ahead(self) -> int:
        """1 if the interval is above the middle, -1 if below, 0 if it contains it or there is none."""
        figure = self.group.capability
        if figure is None or self.capability is None or figure.low is None or figure.high is None:
            return 0
        return int(figure.low > self.capability) - int(figure.high < self.capability)


def strength_sections(site: SiteData, site_entry: SiteEntry) -> Iterator[Section]:
    """A chart of groups, a sentence on tags, and a table of all tags."""
    tags = compare_tags(site, site_entry, "tag", [(tag.id, tag.name) for tag in site.suite.tags])
    groups = compare_tags(site, site_entry, "group", [(name, capital(name)) for name in site.tag_groups])
    if not tags:
        return
    blocks: list[Block | str] = [_sentence(tags)] if len(site.published) > 1 else []
    rows = [(row, row.group.capability) for row in groups if row.group.capability]
    if len(rows) > 1:
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
        blocks.append(Chart(drawing, heading="By group of tags"))
    columns = [
        Column("name", "Tag"),
        *columns_of(GroupResult, "prompts", "capability"),
        Column("middle", "Middle", "number", 0, "Median of the published entries."),
    ]
    if site.headline:
        columns += [
            *columns_of(GroupResult, "eps"),
            Column("eps_middle", "Middle", "number", 0, "Median of the published entries."),
            *columns_of(GroupResult, "reward"),
        ]
    headline = site.headline or ""
    tag_rows = [
        {
            **vars(row.group),
            "name": row.name,
            "middle": row.capability,
            "eps": row.group.eps.get(headline),
            "eps_middle": row.eps,
            "reward": row.group.reward.get(headline),
        }
        for row in tags
    ]
    table = Table(columns, tag_rows, label="Tags")
    blocks.append(Details(f"All {len(tags)} tags", [table], open=len(tags) <= 12))
    yield Section("Strengths and weaknesses", blocks, "Capability by kind of task, beside the middle of the board.")


def compare_tags(
    site: SiteData, site_entry: SiteEntry, kind: str, names: Sequence[tuple[str, str]]
) -> list[TagComparison]:
    """The entry beside the median of published entries, in the suite's order."""
    comparisons = []
    for id, name in names:
        own = site.groups[site_entry.name].get((kind, id))
        if own is None:
            continue
        field = [group for rival in site.published if (group := site.groups[rival.name].get((kind, id)))]
        column = site.headline or ""
        capability = site.middle([group.capability.value for group in field if group.capability])
        eps = site.middle([group.eps[column].value for group in field if column in group.eps])
        comparisons.append(TagComparison(name, own, capability, eps))
    return comparisons


def _sentence(tags: Sequence[TagComparison]) -> str:
    """Tags whose interval leaves the middle out."""
    strong = [row.name for row in tags if row.ahead > 0]
    weak = [row.name for row in tags if row.ahead < 0]
    if not strong and not weak:
        return f"The interval of each of {len(tags)} tags holds the middle of the board."
    parts = [
        f"{word} the middle of the board in {_name_list(names)}"
        for word, names in (("above", strong), ("below", weak))
        if names
    ]
    words = "; ".join(parts)
    return f"Its interval lies {words}. By chance alone about one tag in twenty would."


def _name_list(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return join_names([*names[:MOST_NAMES], *([f"{more} more"] if more > 0 else [])]).unescape()


# -- how the chances of its prompts spread -----------------------------------------------------------------------------

BINS = 20
FEWEST = 8
"""Prompts below which a distribution says nothing."""


def spread_sections(site: SiteData, site_entry: SiteEntry) -> Iterator[Section]:
    """The chances of an entry's prompts against the reference, over those of all published entries."""
    column = site.headline
    if column is None or site_entry.result is None:
        return
    own = _chances(site_entry.result, column)
    everybody = [chance for rival in site.published for chance in _chances(rival.result, column)]
    if len(own) < FEWEST or not everybody:
        return
    drawing = charts.histogram_over_null(
        (np.arange(BINS) + 0.5) * 100 / BINS,
        _counts(own),
        _counts(everybody) / len(everybody),
        title="Chances against the reference, prompt by prompt",
        x_label="chance to be preferred to the reference, %",
        medians=(float(np.median(own)), float(np.median(everybody))),
        keys=True,
        names=("this entry", "all entries"),
        decimals=1,
    )
    yield Section(
        "Prompt by prompt", [Chart(drawing)], "EPS is the mean of these chances. 50 is a picture at the reference."
    )


def _chances(result: EntryResult | None, column: str) -> list[float]:
    return [100 * prompt.eps[column] for prompt in (result.prompts if result else ()) if column in prompt.eps]


def _counts(chances: list[float]) -> np.ndarray:
    return np.histogram(chances, BINS, (0, 100))[0]
