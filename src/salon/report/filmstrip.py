"""A filmstrip: rounds side by side, each with its picture, its prompt, what was said of it and its numbers.

What changed in a prompt since the round before is marked word by word. Everything shown may come from a model: all of
it is text here, escaped, and never more than text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from markupsafe import Markup

from salon.report.blocks import Badge, Block, Column, Note, Table
from salon.report.page import Section
from salon.report.svg import element
from salon.report.words import brief, fixed, join_names, one_way

Size = Literal["", "four", "small", "wide", "pairs", "duel"]
"""How large frames are: as large as a prompt needs, four in a row, small, wide, wide enough for two pictures, or two
large ones side by side."""
AROUND = 8
"""Words that stay on either side of a change where a longer stretch did not change."""
LONGEST = 160
"""Words of a prompt without changes that are shown."""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class FilmFrame:
    """One picture of a filmstrip and what goes with it; what is empty is left out."""

    title: str
    picture: str = ""
    """A data URL."""
    alt: str = ""
    missing: str = "no picture"
    """What stands in the picture's place."""
    prompt: str = ""
    before: str | None = None
    """The prompt it replaced, where it did."""
    remarks: Sequence[tuple[str, str]] = ()
    """What was said of the picture: (about, finding)."""
    note: str = ""
    """What else has to be said: that an answer was not read."""
    numbers: Sequence[tuple[str, Markup | str]] = ()
    """(scorer, number)."""
    badge: Badge | None = None


@dataclass(frozen=True)
class Filmstrip(Block):
    """Frames from left to right, as many in a row as there is room for."""

    frames: Sequence[FilmFrame]
    label: str = ""
    size: Size = ""

    def __html__(self) -> str:
        heading = element("p", self.label, class_="film-label") if self.label else ""
        return Markup("").join([heading, film_grid(*map(_frame, self.frames), size=self.size)])


def film_grid(*frames: Markup, size: Size = "") -> Markup:
    """A grid of frames."""
    return element("div", *frames, class_=f"film {size}".rstrip())


def picture_or_note(picture: str, alt: str, missing: str = "no picture") -> Markup:
    """A picture, or what stands in its place."""
    if not picture:
        return element("div", brief(missing, 160), class_="unshown")
    return Markup('<img class="shown" src="{}" alt="{}">').format(picture, brief(alt))


def labelled_text(label: str, inside: str | Markup) -> Markup:
    """Words under a picture, and what they are."""
    return element("div", element("span", label, class_="told-label"), inside, class_="told")


def _frame(frame: FilmFrame) -> Markup:
    title = element("strong", frame.title)
    return element(
        "div",
        element("p", title, Markup(frame.badge.__html__()) if frame.badge else None, class_="frame-head"),
        picture_or_note(frame.picture, frame.alt, frame.missing),
        element(
            "div",
            *(
                element("p", element("span", name), element("span", value), class_="frame-number")
                for name, value in frame.numbers
            ),
            labelled_text("prompt", mark_changes(frame.before, frame.prompt)) if frame.prompt else None,
            labelled_text("what was said", _remarks(frame.remarks)) if frame.remarks else None,
            element("p", frame.note, class_="told") if frame.note else None,
        ),
        class_="frame",
    )


def _remarks(remarks: Sequence[tuple[str, str]]) -> Markup:
    lines = (
        element("li", element("strong", brief(about, 40)), f": {brief(finding, 300)}") for about, finding in remarks
    )
    return element("ul", *lines)


def strip_section(strips: Sequence[Block], prompts: int, summary: str) -> Section:
    """The filmstrips of a report, of so many prompts in all."""
    more = f" The first {len(strips)} of {prompts} prompts are shown." if len(strips) < prompts else ""
    return Section("Filmstrips", strips, summary + more)


def missing_section(missing: Sequence[tuple[str, str, int]], caption: str) -> list[Section]:
    """What is missing, why, and how often; nothing where nothing is."""
    rows = [{"what": what, "why": why, "count": count} for what, why, count in missing]
    columns = [Column("what", "What"), Column("why", "Why"), Column("count", "How often", "count")]
    return [Section("Missing", [Table(columns, rows, caption=caption, sortable=False)])] if rows else []


def waiting_section(waiting: Mapping[str, int]) -> list[Section]:
    """What chains wait for, and how many; nothing where none does."""
    if not waiting:
        return []
    counts = join_names(Markup("{} for {}").format(fixed(count, 0), what) for what, count in waiting.items())
    words = Markup("Chains wait: {}. The same command goes on; until then these numbers are provisional.").format(
        counts
    )
    return [Section("Not done", [Note(words, tone="open")])]


# -- what changed ----------------------------------------------------------------------------------------------------


def mark_changes(before: str | None, after: str) -> Markup:
    """`after` with the words that `before` has not marked as new, and those it has lost marked as old.

    Long stretches without a change are cut to their ends. Without a `before` nothing is marked.
    """
    new = _WORD.findall(one_way(after))
    if before is None:
        return Markup.escape(" ".join(new[:LONGEST]) + (" …" if len(new) > LONGEST else ""))
    old = _WORD.findall(one_way(before))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    codes = matcher.get_opcodes()
    parts = [part for number, code in enumerate(codes) for part in _marked(code, old, new, number, len(codes))]
    return Markup(" ").join(parts)


def _marked(
    code: tuple[str, int, int, int, int], old: Sequence[str], new: Sequence[str], number: int, count: int
) -> Iterator[Markup]:
    kind, i1, i2, j1, j2 = code
    if kind == "equal":
        yield Markup.escape(_shortened(new[j1:j2], first=number == 0, last=number == count - 1))
        return
    if i2 > i1:
        yield element("del", " ".join(old[i1:i2]))
    if j2 > j1:
        yield element("ins", " ".join(new[j1:j2]))


def _shortened(words: Sequence[str], *, first: bool, last: bool) -> str:
    head, tail = (0 if first else AROUND), (0 if last else AROUND)
    if (first and last) or len(words) <= head + tail + AROUND:
        return " ".join(words[:LONGEST])
    parts = [*words[:head], "…", *(words[-tail:] if tail else [])]
    return " ".join(parts)
