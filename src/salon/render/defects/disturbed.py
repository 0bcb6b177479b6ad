"""Flaws of a finished poster: texts out of line, and things nobody asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from salon.render.brief import SUBJECTS
from salon.render.chance import chance
from salon.render.layout import Box, DefectKind, Element, Lettering, Line, Word
from salon.render.marks import Fill, Group
from salon.render.motifs import emblem
from salon.render.poster import Poster
from salon.render.shapes import circle
from salon.render.styles.ways import flat

Disturbed = tuple[Poster, str, tuple[str, ...]]
EDGE = 4.0
"""Pixels that stay between a moved text and the edge of the canvas."""


def misalignment(poster: Poster, strength: float) -> Disturbed:
    """Every text but one pushed sideways, a little up or down, each by its own amount."""
    layout = poster.layout
    rng, short = chance(layout.seeds, "misalignment"), min(layout.width, layout.height)
    texts = [element for element in layout.elements if element.kind == "text"]
    moved, first = [], layout.seeds.of("misalignment")
    for number, element in enumerate(texts):
        side = 1 if (number + first) % 2 else -1
        dx = side * strength * short * rng.uniform(0.035, 0.08)
        dy = strength * short * rng.uniform(-0.008, 0.008)
        dx, dy = _kept_inside(element.box, dx, dy, layout.width, layout.height)
        for one in _with_its_mark(poster, element):
            poster = _moved(poster, one, dx, dy)
        moved.append(f"{element.id} by {dx:+.0f}, {dy:+.0f} px")
    return poster, ", ".join(moved), tuple(element.id for element in texts)


def _with_its_mark(poster: Poster, element: Element) -> list[Element]:
    """The text, and the button it stands on."""
    marks = [e for e in poster.layout.elements if e.id == f"{element.id}-mark"]
    return [*marks, element]


def _kept_inside(box: Box, dx: float, dy: float, width: int, height: int) -> tuple[float, float]:
    low_x, low_y = min(0.0, EDGE - box.x), min(0.0, EDGE - box.y)
    high_x, high_y = max(0.0, width - EDGE - box.right), max(0.0, height - EDGE - box.bottom)
    return round(min(max(dx, low_x), high_x), 2), round(min(max(dy, low_y), high_y), 2)


def _moved(poster: Poster, element: Element, dx: float, dy: float) -> Poster:
    changed: dict[str, Box | Lettering] = {
        "box": _shifted(element.box, dx, dy),
        "frame": _shifted(element.frame, dx, dy),
    }
    if element.lettering:
        lines = tuple(_moved_line(line, dx, dy) for line in element.lettering.lines)
        changed["lettering"] = element.lettering.model_copy(update={"lines": lines})
    marks = (Group(poster.layer(element.id).marks, transform=(1.0, 0.0, 0.0, 1.0, dx, dy)),)
    return poster.replace_element(element.model_copy(update=changed), marks)


def _moved_line(line: Line, dx: float, dy: float) -> Line:
    words = tuple(Word(text=word.text, box=_shifted(word.box, dx, dy)) for word in line.words)
    changed = {"box": _shifted(line.box, dx, dy), "baseline": round(line.baseline + dy, 2), "words": words}
    return line.model_copy(update=changed)


def _shifted(box: Box, dx: float, dy: float) -> Box:
    return Box(x=round(box.x + dx, 2), y=round(box.y + dy, 2), width=box.width, height=box.height)


def extra_element(poster: Poster, strength: float) -> Disturbed:
    """One or two things that the brief does not name, on top of everything but the texts."""
    layout = poster.layout
    rng, short = chance(layout.seeds, "extra-element"), min(layout.width, layout.height)
    colors = layout.palette
    tones = [colors[name] for name in ("surface", "secondary", "primary", "accent", "primary", "ground")]
    others = [subject for subject in SUBJECTS if subject not in (layout.brief.subject, "abstract")]
    added = []
    for number in range(1, 2 + (strength > 0.6)):
        subject = others[int(rng.integers(len(others)))]
        side = short * (0.1 + 0.16 * strength)
        box = _free_place(poster, side, rng)
        disc = Fill(circle(box.x + side / 2, box.y + side / 2, 0.62 * side), colors["surface"])
        marks = (disc, *flat(emblem(subject, box, rng), tones))
        name = f"extra-{number}"
        record = {"id": name, "role": "extra", "kind": "picture", "box": box, "frame": box, "z": 0}
        poster = poster.add_element(Element(**record, recipe=f"{subject}, asked for by nobody"), marks)
        added.append((name, subject))
    return poster, "added: " + ", ".join(subject for _, subject in added), tuple(name for name, _ in added)


def _free_place(poster: Poster, side: float, rng: np.random.Generator) -> Box:
    """Of sixty places the one that covers least text; the first among equals."""
    layout = poster.layout
    texts = [e.box for e in layout.elements if e.kind == "text" or e.role == "extra"]
    reach = 0.13 * side
    best, least = Box(x=0, y=0, width=side, height=side), np.inf
    for _ in range(60):
        x = rng.uniform(reach, layout.width - side - reach)
        y = rng.uniform(reach, layout.height - side - reach)
        box = Box(x=round(x, 2), y=round(y, 2), width=round(side, 2), height=round(side, 2))
        covered = sum(_overlap(box, text, reach) for text in texts)
        if covered < least:
            best, least = box, covered
    return best


def _overlap(one: Box, other: Box, reach: float) -> float:
    across = min(one.right + reach, other.right) - max(one.x - reach, other.x)
    down = min(one.bottom + reach, other.bottom) - max(one.y - reach, other.y)
    return max(0.0, across) * max(0.0, down)


DISTURBANCES: dict[DefectKind, Callable[[Poster, float], Disturbed]] = {
    "misalignment": misalignment,
    "extra-element": extra_element,
}
