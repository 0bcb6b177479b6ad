"""A filmstrip: rounds side by side, each with its picture, its prompt, what was said of it and its numbers.

What changed in a prompt since the round before is marked word by word. Everything shown may come from a model: all of
it is text here, escaped, and never more than text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from markupsafe import Markup

from salon.report.block import Badge, Block
from salon.report.svg import element
from salon.report.words import brief, one_way

_GRID = (
    "display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,{least}),1fr));gap:1.6rem 1.4rem;"
    "align-items:start;margin:1.2rem 0"
)
_IMAGE = "display:block;width:100%;height:{height};object-fit:contain;background:var(--null-wash)"
_NONE = (
    "display:flex;height:6rem;align-items:center;justify-content:center;background:var(--null-wash);color:var(--soft);"
    "font-size:.8125rem;padding:.6rem;text-align:center;overflow-wrap:anywhere"
)
_HEAD = "display:flex;justify-content:space-between;align-items:baseline;gap:.5rem;margin:0 0 .4rem;font-size:.875rem"
_LINE = "margin:.55rem 0 0;font-size:.8125rem;line-height:1.45;overflow-wrap:anywhere"
_LABEL = "color:var(--soft);display:block;font-size:.6875rem;letter-spacing:.06em;text-transform:uppercase"
_NUMBER = "display:flex;justify-content:space-between;gap:.6rem;margin:.25rem 0 0;font-size:.8125rem"
_LIST = "margin:.15rem 0 0;padding:0;list-style:none"
_NEW = "text-decoration:underline;text-decoration-thickness:2px;text-underline-offset:2px;font-weight:600"
_OLD = "color:var(--soft)"
AROUND = 8
"""Words that stay on either side of a change where a longer stretch did not change."""
LONGEST = 160
"""Words of a prompt without changes that are shown."""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Frame:
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

    frames: Sequence[Frame]
    label: str = ""
    small: bool = False
    """Small frames, for what is only held against the others."""

    def __html__(self) -> str:
        grid = _GRID.format(least="9.5rem" if self.small else "13rem")
        heading = element("p", self.label, style=f"{_LINE};color:var(--soft)") if self.label else None
        return Markup("").join([heading or "", element("div", *map(self._frame, self.frames), style=grid)])

    def _frame(self, frame: Frame) -> Markup:
        title = element("strong", frame.title)
        return element(
            "div",
            element("p", title, Markup(frame.badge.__html__()) if frame.badge else None, style=_HEAD),
            self._picture(frame),
            *(element("p", element("span", name), value, style=_NUMBER) for name, value in frame.numbers),
            _labelled("prompt", marked_changes(frame.before, frame.prompt)) if frame.prompt else None,
            _labelled("what was said", _remarks(frame.remarks)) if frame.remarks else None,
            element("p", frame.note, style=_LINE) if frame.note else None,
        )

    def _picture(self, frame: Frame) -> Markup:
        if not frame.picture:
            return element("div", brief(frame.missing, 160), style=_NONE)
        style = _IMAGE.format(height="9rem" if self.small else "17rem")
        return Markup('<img src="{}" alt="{}" style="{}">').format(frame.picture, brief(frame.alt), style)


def _labelled(label: str, inside: Markup) -> Markup:
    return element("div", element("span", label, style=_LABEL), inside, style=_LINE)


def _remarks(remarks: Sequence[tuple[str, str]]) -> Markup:
    lines = (
        element("li", element("strong", brief(about, 40)), f": {brief(finding, 300)}", style="margin:.15rem 0 0")
        for about, finding in remarks
    )
    return element("ul", *lines, style=_LIST)


# -- what changed ----------------------------------------------------------------------------------------------------


def marked_changes(before: str | None, after: str) -> Markup:
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
        yield element("del", " ".join(old[i1:i2]), style=_OLD)
    if j2 > j1:
        yield element("ins", " ".join(new[j1:j2]), style=_NEW)


def _shortened(words: Sequence[str], *, first: bool, last: bool) -> str:
    head, tail = (0 if first else AROUND), (0 if last else AROUND)
    if (first and last) or len(words) <= head + tail + AROUND:
        return " ".join(words[:LONGEST])
    kept = [*words[:head], "…", *(words[-tail:] if tail else [])]
    return " ".join(kept)
