"""A page for each entry: its axes, where it is strong and weak, its best and worst pictures, where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from salon.bench.results import AxisResult, PictureResult
from salon.bench.site.board_table import rank_range, tied_words
from salon.bench.site.frame import SitePage, Step
from salon.bench.site.material import Material, Shown
from salon.bench.site.pictures import Pictures
from salon.bench.site.places import web_link
from salon.bench.site.prompt_pages import shot_maker
from salon.bench.site.shots import Shot, ShotMaker, Shots
from salon.bench.site.spread import spread_sections
from salon.bench.site.strengths import strength_sections
from salon.bench.site.wording import code_line, opening
from salon.report import Card, Cell, Column, Figure, Note, Section, Table, charts, numbers
from salon.report.svg import element
from salon.report.words import brief, sentence
from salon.store.thumbs import Thumb

PICTURES = 6
"""Best ones, and worst ones."""


@dataclass(frozen=True)
class GeneratorPages:
    """Pages of all entries."""

    material: Material
    pictures: Pictures

    def pages(self) -> Iterator[SitePage]:
        """In the board's order, retracted ones last."""
        shown = (*self.material.ordered, *self.material.retracted)
        for place, one in enumerate(shown):
            before = shown[place - 1] if place else None
            yield self._page(one, before, shown[place + 1] if place + 1 < len(shown) else None)

    def _page(self, one: Shown, before: Shown | None, after: Shown | None) -> SitePage:
        entry = one.entry
        return SitePage(
            path=f"generators/{self.material.entry_pages[one.name]}.html",
            title=brief(entry.label, 100),
            subtitle=brief(entry.about, 400) if entry.about else "",
            head=self.material.head,
            kicker="Entry" + ("" if one.published else " · provisional: not on the board"),
            banner=f"Retracted: {sentence(brief(entry.retracted.reason, 400))}" if entry.retracted else "",
            cards=self._cards(one) if one.published and not entry.retracted else (),
            sections=[*self._sections(one)],
            before=self._step(before),
            after=self._step(after),
            notes=one.result.policies if one.result else (),
            signature=one.result.signature_line if one.result else "",
        )

    def _step(self, one: Shown | None) -> Step | None:
        if one is None:
            return None
        return Step(brief(self.material.labels[one.name], 30), f"{self.material.entry_pages[one.name]}.html")

    def _cards(self, one: Shown) -> list[Card]:
        return [
            Card(axis.title, numbers.fixed(found.figure.value, 1), self._place_words(one, axis.id, found))
            for axis in self.material.axes[:3]
            if (found := axis.of(one.computed))
        ]

    def _place_words(self, one: Shown, axis: str, found: AxisResult) -> str:
        standing = self.material.standing[axis].get(one.name)
        of = len(self.material.published)
        rank = f"; rank {standing.rank} of {of}, may be {rank_range(standing)}" if standing and of > 1 else ""
        return f"{numbers.interval(found.figure.low, found.figure.high, 1)}{rank}"

    def _sections(self, one: Shown) -> Iterator[Section]:
        if one.result is None:
            yield Section("Results", [Note("Not judged yet.")])
        elif not one.entry.retracted:
            yield Section("Axes", [self._axes(one)], "Each with its interval, what it rests on, and what is missing.")
            yield from strength_sections(self.material, one)
            yield from self._criteria(one)
            yield from spread_sections(self.material, one)
            yield from self._extremes(one)
        yield Section("Where it comes from", [self._about(one)])

    def _axes(self, one: Shown) -> Table:
        result = one.computed
        rows = [
            self._axis_row(one, axis.title, axis.id, found) for axis in self.material.axes if (found := axis.of(result))
        ]
        rows.append(self._axis_row(one, "Points", "points", result.points))
        if result.oracle:
            rows.append(self._axis_row(one, "Oracle (not on the board)", "oracle", result.oracle))
        columns = [
            Column("axis", "Axis"),
            Column("figure", "Value", "estimate", 1),
            Column("rank", "Ranks"),
            Column("pictures", "Pictures"),
            Column("answers", "Answers"),
            Column("unread", "Unread", "count"),
            Column("open", "Open", "count"),
        ]
        return Table(columns, rows, sortable=False, label="Axes")

    def _axis_row(self, one: Shown, title: str, id: str, found: AxisResult) -> dict[str, object]:
        standing = self.material.standing.get(id, {}).get(one.name) if one.published else None
        cover = found.coverage
        best = "" if found.complete else f"at best {numbers.fixed(found.at_best, 1)}"
        return {
            "axis": title,
            "figure": Cell(
                found.figure, why=f"{found.figure.method}, n = {found.figure.n} {found.figure.unit}", under=best
            ),
            "rank": Cell(rank_range(standing) or numbers.MISSING, under=tied_words(standing, self.material.labels, 2)),
            "pictures": f"{numbers.count(cover.made)} of {numbers.count(cover.wanted)}",
            "answers": f"{numbers.count(cover.given)} of {numbers.count(cover.asked)}",
            "unread": cover.unread,
            "open": cover.open,
        }

    def _criteria(self, one: Shown) -> Iterator[Section]:
        rows = [
            (axis.title, found.figure.value, found.figure.low, found.figure.high, "")
            for axis in self.material.axes[2:]
            if (found := axis.of(one.computed))
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
            yield Section("By criterion", [Figure(drawing)], "EPS of each criterion's own scorer; 50 is the reference.")

    def _extremes(self, one: Shown) -> Iterator[Section]:
        """Its best and worst pictures by the headline's chance, or by points where there is none."""
        seen = sorted(self._seen(one), key=lambda pair: self._worth(pair[1]), reverse=True)
        if len(seen) < 2:
            return
        half = min(PICTURES, len(seen) // 2)
        by = "chance against the reference" if self.material.headline else "points that hold"
        best, worst = ([self._shot(one, *pair) for pair in pairs] for pairs in (seen[:half], seen[-half:][::-1]))
        yield Section("Its best pictures", [Shots(best, small=True)], f"By {by}.")
        yield Section(
            "Its worst pictures", [Shots(worst, small=True)], f"By {by}; missing pictures are not shown here."
        )

    def _seen(self, one: Shown) -> Iterator[tuple[str, PictureResult]]:
        for prompt in one.computed.prompts:
            for picture in prompt.pictures:
                if isinstance(self.pictures.get((one.name, picture.item)), Thumb) and self._is_ordered(picture):
                    yield prompt.prompt, picture

    def _worth(self, picture: PictureResult) -> tuple[float, float]:
        held = sum(state == "pass" for state in picture.points.values()) / max(1, len(picture.points))
        return picture.wins.get(self.material.headline or "", 0.0), held

    def _is_ordered(self, picture: PictureResult) -> bool:
        """Pictures of prompts where preference does not count are neither best nor worst by it."""
        return self.material.headline is None or self.material.headline in picture.wins

    def _shot(self, one: Shown, prompt: str, picture: PictureResult) -> Shot:
        text = self._texts[prompt]
        return self._maker.shot(
            one.name,
            prompt,
            picture,
            title=opening(text, 60) or brief(prompt, 60),
            href=f"../prompts/{self.material.prompt_pages[prompt]}.html",
            alt=opening(text, 120) or brief(prompt, 120),
        )

    def _about(self, one: Shown) -> Table:
        entry = one.entry
        link = web_link(entry.link)
        told: list[tuple[str, object]] = [
            ("Name", entry.name),
            ("Submitted by", entry.by),
            ("Generator", entry.generator),
            ("Its signature", code_line(entry.signature) if entry.signature else ""),
            (
                "Link",
                element("a", brief(link, 80), href=link, rel="noopener nofollow") if link else entry.link,
            ),
            ("Licence of its pictures", entry.licence),
            ("Pictures", f"{sum(bool(p.image) for p in entry.pictures)} of {len(entry.pictures)}"),
            ("Digest of pictures, answers, scores", code_line(one.result.digest) if one.result else ""),
        ]
        if one.result and not entry.retracted:
            place = f"../data/results/{self.material.entry_pages[one.name]}.json"
            told.append(("Download", Markup(element("a", "every answer and score as JSON", href=place))))
        rows = [{"what": what, "is": held} for what, held in told if held]
        return Table([Column("what", "What"), Column("is", "Is")], rows, sortable=False, label="Where it comes from")

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {one.prompt.id: self.material.words_of(one) for one in self.material.suite.prompts}

    @cached_property
    def _maker(self) -> ShotMaker:
        return shot_maker(self.material, self.pictures)
