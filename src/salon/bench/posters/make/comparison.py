"""Two layouts of one poster, one of them with a violation that was planted and is named on record.

Violations of place and size: texts out of line, crowded, all of one size, on top of one another, cut by the edge. Those
that the renderer plants are on its record of defects; the others are done here to the finished poster. Each is measured
in the two layouts, and a pair in which it hardly shows is not used: the measure and its least value stand in MEASURES.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from salon.bench.posters.make.briefs import make_brief
from salon.bench.posters.make.deal import dealt, in_place
from salon.bench.posters.make.lettering import label
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.posters import pixels_of
from salon.errors import BadValue
from salon.render.brief import Brief
from salon.render.chance import chance
from salon.render.draw import draw_poster
from salon.render.layout import Box, DefectKind, Element
from salon.render.marks import Group, Layer
from salon.render.paint.raster import paint
from salon.render.poster import Poster

WIDTH = 480
STRENGTHS = (0.4, 0.6, 0.8, 1.0)
_ATTEMPTS = 100
_GAP, _HEAD = 24, 56
PROMPT = (
    "The picture shows two layouts, A on the left and B on the right, of one poster. One of them is sound; in the "
    "other the texts are badly placed or sized. Which layout is better? Answer with one letter, A or B."
)


def layout_comparison(number: int, seed: int) -> Made:
    """A sound layout and a spoiled one side by side."""
    letter = dealt(("A", "B"), number, seed, "layout_comparison", "letter")
    violation = dealt(tuple(VIOLATIONS), number, seed, "layout_comparison", "violation")
    strength = dealt(STRENGTHS, number, seed, "layout_comparison", "strength")
    sound, spoiled = both(violation, strength, number, seed)
    pixels = _side_by_side(in_place(pixels_of(sound), [pixels_of(spoiled)], "AB".index(letter)))
    measured = round(MEASURES[violation][0](sound, spoiled), 3)
    truth = {"gt": letter, "violation": violation, "measured": measured}
    return Made("layout comparison", violation, PROMPT, truth, pixels, {"strength": strength})


def both(violation: str, strength: float, number: int, seed: int) -> tuple[Poster, Poster]:
    """The poster as it should be and as it was spoiled, from the first brief whose layout can be spoiled like that."""
    for attempt in range(_ATTEMPTS):
        rng = chance(seed, "layout_comparison", str(number), str(attempt))
        brief = make_brief(f"comparison-{number}", rng, texts=6)
        drawing = int(rng.integers(1 << 31))
        try:
            sound = draw_poster(brief, seed=drawing, width=WIDTH)
        except BadValue:
            continue
        spoiled = VIOLATIONS[violation](brief, drawing, sound, strength)
        if spoiled is not None and shows(violation, sound, spoiled):
            return sound, spoiled
    raise BadValue("a layout that can be spoiled is needed", found="none", where=f"{violation}, item {number}")


# -- violations ----------------------------------------------------------------------------------------------------

Violation = Callable[[Brief, int, Poster, float], Poster | None]


def _planted(kind: DefectKind, least: float) -> Violation:
    """A flaw that the renderer knows, from `least` on; None where this brief does not show it."""

    def spoil(brief: Brief, drawing: int, sound: Poster, strength: float) -> Poster | None:
        poster = draw_poster(brief, seed=drawing, width=WIDTH, knobs={kind: least + (1 - least) * strength})
        shown = any(defect.kind == kind for defect in poster.layout.defects)
        return poster if shown and poster.layout.arrangement == sound.layout.arrangement else None

    return spoil


def _overlap(brief: Brief, drawing: int, sound: Poster, strength: float) -> Poster | None:
    """The text nearest below or above the headline pushed into it."""
    head, others = _texts(sound)
    if head.rotation or not others:
        return None
    near = min(others, key=lambda one: abs(one.box.middle[1] - head.box.middle[1]))
    deep = (0.3 + 0.7 * strength) * min(near.box.height, 0.5 * head.box.height)
    below = near.box.middle[1] > head.box.middle[1]
    dy = head.box.bottom - deep - near.box.y if below else head.box.y + deep - near.box.bottom
    poster = shifted(sound, near, 0.0, dy)
    return poster if poster.element(near.id).box.meets(head.box) else None


def _cut_off(brief: Brief, drawing: int, sound: Poster, strength: float) -> Poster | None:
    """The headline pushed over the nearer edge: a part of its width is lost."""
    head, _ = _texts(sound)
    lost = 0.35 * strength * head.box.width
    left = head.box.middle[0] <= sound.layout.width / 2
    dx = -head.box.x - lost if left else sound.layout.width - head.box.right + lost
    return None if head.rotation else shifted(sound, head, dx, 0.0)


def _texts(poster: Poster) -> tuple[Element, list[Element]]:
    """The headline, and the other texts that stand on nothing of their own."""
    texts = [one for one in poster.layout.elements if one.kind == "text"]
    head = next(one for one in texts if one.role == "headline")
    return head, [one for one in texts if one.role not in ("headline", "cta")]


def shifted(poster: Poster, element: Element, dx: float, dy: float) -> Poster:
    """The poster with one of its elements moved, on record and in its marks."""
    box, frame = (
        Box(x=one.x + dx, y=one.y + dy, width=one.width, height=one.height) for one in (element.box, element.frame)
    )
    marks = (Group(poster.layer(element.id).marks, transform=(1.0, 0.0, 0.0, 1.0, dx, dy)),)
    return poster.replace_element(element.model_copy(update={"box": box, "frame": frame}), marks)


VIOLATIONS: dict[str, Violation] = {
    "misalignment": _planted("misalignment", 0.7),
    "crowding": _planted("crowding", 0.6),
    "broken hierarchy": _planted("broken-hierarchy", 0.85),
    "overlap": _overlap,
    "cut off": _cut_off,
}
"""Name to what spoils a layout that way."""


# -- measures ------------------------------------------------------------------------------------------------------


def shows(violation: str, sound: Poster, spoiled: Poster) -> bool:
    """Whether the spoiled layout has the violation plainly, and the sound one has not."""
    measure, least = MEASURES[violation]
    return measure(sound, spoiled) >= least


def _strayed(sound: Poster, spoiled: Poster) -> float:
    """The median text's way sideways from its place in the sound layout, in widths of the poster."""
    ways = [abs(spoiled.element(one.id).box.x - one.box.x) for one in sound.layout.elements if one.kind == "text"]
    return float(np.median(ways)) / WIDTH


def _margin_lost(sound: Poster, spoiled: Poster) -> float:
    """The share of the margin that is gone: the distance of the nearest text from an edge of the poster."""
    before, after = (min(_to_edge(one.box, poster) for one in poster.layout.elements if one.kind == "text")
                     for poster in (sound, spoiled))  # fmt: skip
    return 1 - max(after, 0.0) / before if before > 0 else 0.0


def _to_edge(box: Box, poster: Poster) -> float:
    return min(box.x, box.y, poster.layout.width - box.right, poster.layout.height - box.bottom)


def _leveled(sound: Poster, spoiled: Poster) -> float:
    """How many times more the headline stood out by its size before; 0 where it still does or never did."""
    before, after = (_lead(poster) for poster in (sound, spoiled))
    return before / after if before >= 1.7 and after <= 1.3 else 0.0


def _lead(poster: Poster) -> float:
    sizes = {one.role: one.lettering.size for one in poster.layout.elements if one.lettering}
    return sizes["headline"] / max(size for role, size in sizes.items() if role != "headline")


def _covered(sound: Poster, spoiled: Poster) -> float:
    """The largest share of a text that lies under or over the headline."""
    head, others = _texts(spoiled)
    return max((_shared(head.box, one.box) for one in others), default=0.0)


def _shared(head: Box, box: Box) -> float:
    across = min(head.right, box.right) - max(head.x, box.x)
    down = min(head.bottom, box.bottom) - max(head.y, box.y)
    return max(across, 0.0) * max(down, 0.0) / (box.width * box.height)


def _lost(sound: Poster, spoiled: Poster) -> float:
    """The share of the headline's width that is off the poster."""
    box = _texts(spoiled)[0].box
    return (max(0.0, -box.x) + max(0.0, box.right - WIDTH)) / box.width


MEASURES: dict[str, tuple[Callable[[Poster, Poster], float], float]] = {
    "misalignment": (_strayed, 0.045),
    "crowding": (_margin_lost, 0.5),
    "broken hierarchy": (_leveled, 1.4),
    "overlap": (_covered, 0.3),
    "cut off": (_lost, 0.1),
}
"""What is measured of a violation, sound layout against spoiled one, and the least of it that counts."""


def _side_by_side(pictures: list[np.ndarray]) -> np.ndarray:
    """Two pictures under their letters."""
    height, width, _ = pictures[0].shape
    whole = np.full((height + _HEAD + _GAP, 2 * width + 3 * _GAP, 3), 255, np.uint8)
    letters = [mark for at in (0, 1) for mark in label("AB"[at], _GAP + at * (width + _GAP), 12, 34)]
    whole[:_HEAD] = paint([Layer("letters", tuple(letters))], whole.shape[1], _HEAD)
    for at, picture in enumerate(pictures):
        left = _GAP + at * (width + _GAP)
        whole[_HEAD : _HEAD + height, left : left + width] = picture
    return whole
