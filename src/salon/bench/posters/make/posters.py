"""Whole posters by the renderer: texts to read, find and place, styles, intentions, layouts to compare, ratings.

Texts, boxes and styles are those of the layout record that the poster was drawn from.

Comparisons show two layouts of one poster, one of them with a planted violation of place or size: texts out of line,
crowded, all of one size, on top of one another, or cut by the edge. The renderer plants some and records them as
defects; the others are done here to the finished poster. Each violation is measured in both layouts; a pair in which it
hardly shows is not used (MEASURES has the measure and its least value).

Ratings: posters with none to six planted flaws. Their worth is that of `render.quality`, the product of
(1 - weight x strength) over the flaws that can be seen without the brief, times ten. It is a stipulation, not a finding
about people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from salon.bench.posters.make.briefs import OCCASIONS, make_brief
from salon.bench.posters.make.composition import metaphor_poster
from salon.bench.posters.make.items import (
    MadeItem,
    as_displayed,
    balanced_choice,
    insert_at,
    invented_name,
    pick,
    pick_some,
    pixel_box,
)
from salon.bench.posters.make.lettering import label
from salon.errors import BadValue
from salon.render import (
    STYLES,
    SUBJECTS,
    Box,
    Brief,
    DefectKind,
    DrawingHabits,
    Element,
    Group,
    Layer,
    Poster,
    Style,
    chance,
    draw_poster,
    lay_out,
    plan_poster,
)
from salon.render.paint.raster import paint

WIDTH = 768
SHORT = 640
"""Width of posters that are looked at as a whole rather than read."""
COUNTS = (2, 3, 4, 5, 6, 7)
FEW = (1, 2, 3, 4)
ABSTRACT: Style = "Typographic Minimalism"
"""The style that draws a character of type instead of the subject."""
_HAND = DrawingHabits("made")
_LONGEST_TRY = 20


def draw_brief(brief: Brief, seed: int, *, width: int = WIDTH) -> Poster:
    """The poster of a brief; its texts are in capitals where the face makes them look like that."""
    plan = plan_poster(brief, _HAND, seed, width=width)
    faces = {role: plan.display if role == "headline" else plan.text for role in plan.texts}
    return lay_out(replace(plan, texts={role: as_displayed(text, faces[role]) for role, text in plan.texts.items()}))


def draw_fitting_brief(task: str, number: int, seed: int, **options: Any) -> tuple[Poster, Brief]:
    """A poster from the first of several briefs whose texts fit."""
    width = options.pop("width", WIDTH)
    for attempt in range(_LONGEST_TRY):
        rng = chance(seed, task, str(number), str(attempt))
        brief = make_brief(f"{task}-{number}", rng, **options)
        try:
            return draw_brief(brief, int(rng.integers(1 << 31)), width=width), brief
        except BadValue:  # these texts in this style: others will do
            continue
    raise BadValue("a brief that can be drawn is needed", found=f"{_LONGEST_TRY} that cannot", where=f"{task} {number}")


def poster_pixels(poster: Poster) -> np.ndarray:
    """The poster painted."""
    return paint(poster.layers, poster.layout.width, poster.layout.height)


def text_elements(poster: Poster) -> list[Element]:
    """Its texts, the largest area first."""
    texts = [element for element in poster.layout.elements if element.kind == "text"]
    return sorted(texts, key=lambda element: -element.box.width * element.box.height)


def text_places(poster: Poster) -> dict[str, Any]:
    """Texts and boxes as the public files hold them: in pixels, the largest first."""
    size = [poster.layout.width, poster.layout.height]
    places = [
        (pixel_box(element.box, *size), element.lettering.text)
        for element in text_elements(poster)
        if element.lettering
    ]
    places.sort(key=lambda pair: -_area(pair[0]))
    return {
        "texts": [text for _, text in places],
        "text_bbox": [box for box, _ in places],
        "bbox_areas": [_area(box) for box, _ in places],
        "size": size,
    }


def _area(box: list[int]) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _hardness(poster: Poster) -> dict[str, float]:
    sizes = [element.lettering.size for element in text_elements(poster) if element.lettering]
    return {"texts": len(sizes), "smallest type": round(min(sizes), 1)}


# -- reading and finding -------------------------------------------------------------------------------------------


def poster_ocr(number: int, seed: int) -> MadeItem:
    """A poster with two to seven texts to read."""
    count = balanced_choice(COUNTS, number, seed, "poster_ocr")
    poster, _ = draw_fitting_brief("poster_ocr", number, seed, texts=count)
    prompt = (
        "Read every text on this poster. Give a JSON list of strings, one for each text, exactly as written on the "
        "poster and without line breaks inside a text."
    )
    return MadeItem("poster ocr", "poster", prompt, text_places(poster), poster_pixels(poster), _hardness(poster))


def logo_ocr(number: int, seed: int) -> MadeItem:
    """A sign with an invented name to read."""
    rng = chance(seed, "logo_ocr", str(number))
    style = balanced_choice(STYLES, number, seed, "logo_ocr")
    name = " ".join(invented_name(rng) for _ in range(1 + int(rng.random() < 0.3)))
    brief = Brief(id=f"logo-{number}", category="logo", format="logo", headline=name, style=style,
                  subject=pick(SUBJECTS, rng))  # fmt: skip
    poster = draw_brief(brief, int(rng.integers(1 << 31)), width=512)
    text = text_elements(poster)[0]
    prompt = "What is the name in this logo? Answer with the name only, in capitals and small letters as drawn."
    truth = {"gt": text.lettering.text if text.lettering else name, "style": style}
    return MadeItem("logo ocr", style, prompt, truth, poster_pixels(poster), {"letters": len(truth["gt"])})


def text_localization(number: int, seed: int) -> MadeItem:
    """A poster whose texts are named and to be found."""
    count = balanced_choice(COUNTS, number, seed, "text_localization")
    poster, _ = draw_fitting_brief("text_localization", number, seed, texts=count)
    truth = text_places(poster)
    numbered = "\n".join(f"{at}. {text}" for at, text in enumerate(truth["texts"], 1))
    prompt = (
        "Find these texts on the poster and give the tight box around the letters of each; a text may run over several "
        f"lines.\n{numbered}\nAnswer with a JSON list of boxes [x1, y1, x2, y2] in this order, as "
        "shares of the picture's width and height from 0 to 1, (0, 0) being the upper left corner."
    )
    return MadeItem("text localization", "poster", prompt, truth, poster_pixels(poster), _hardness(poster))


def layout_generation(number: int, seed: int) -> MadeItem:
    """A poster without its texts, which are to be placed; the truth is where they stood."""
    count = balanced_choice(FEW, number, seed, "layout_generation")
    poster, _ = draw_fitting_brief("layout_generation", number, seed, texts=count, roles=("subhead", "when", "where"))
    truth = text_places(poster)
    for element in text_elements(poster):
        poster = poster.drop_element(element.id)
    prompt = (
        "All texts have been taken off this poster. Put them back as the designer specified; percentages are of the "
        f"picture's width (across) and height (down).\n{specification(truth)}\nAnswer with a JSON list of boxes "
        "[x1, y1, x2, y2] in this order, as shares of the picture's width and height from 0 to 1, (0, 0) being the "
        "upper left corner."
    )
    return MadeItem(
        "layout generation",
        "specification",
        prompt,
        {"gt": truth["text_bbox"], **truth},
        poster_pixels(poster),
        {"texts": len(truth["texts"])},
    )


def specification(truth: dict[str, Any]) -> str:
    """Size and place of every text in words, the first on the sheet and the others by those before them."""
    width, height = truth["size"]
    boxes = truth["text_bbox"]
    lines = []
    for at, (text, (x1, y1, x2, y2)) in enumerate(zip(truth["texts"], boxes)):
        size = f"{100 * (x2 - x1) / width:.1f} % wide, {100 * (y2 - y1) / height:.1f} % high"
        places = (_across(boxes, at, width), _down(boxes, at, height))
        lines.append(f"{at + 1}. “{text}”: {size}, {places[0]}, {places[1]}.")
    return "\n".join(lines)


def _across(boxes: list[list[int]], at: int, width: int) -> str:
    """Where a box stands from left to right: in line with an earlier one, or measured."""
    x1, _, x2, _ = boxes[at]
    for number, (left, _, right, _) in enumerate(boxes[:at], 1):
        if abs(x1 - left) <= 1:
            return f"left edge in line with that of text {number}"
        if abs(x2 - right) <= 1:
            return f"right edge in line with that of text {number}"
        if abs(x1 + x2 - left - right) <= 2:
            return f"centered on text {number} from left to right"
    return f"left edge at {100 * x1 / width:.1f} %"


def _down(boxes: list[list[int]], at: int, height: int) -> str:
    """Where a box stands from top to bottom: below or above the nearest earlier one, or measured."""
    _, y1, _, y2 = boxes[at]
    earlier = list(enumerate(boxes[:at], 1))
    below = [(y1 - box[3], f"with its top {{}} % below the bottom of text {n}") for n, box in earlier]
    above = [(box[1] - y2, f"with its bottom {{}} % above the top of text {n}") for n, box in earlier]
    free = [(gap, words) for gap, words in (*below, *above) if gap >= 0]
    if not free:
        return f"top at {100 * y1 / height:.1f} %"
    gap, words = min(free)
    return words.format(f"{100 * gap / height:.1f}")


# -- style and intention -------------------------------------------------------------------------------------------


def style_understanding(number: int, seed: int) -> MadeItem:
    """A poster in one of the seventeen styles."""
    style = balanced_choice(STYLES, number, seed, "style_understanding")
    poster, _ = draw_fitting_brief("style_understanding", number, seed, texts=3, style=style, width=SHORT)
    prompt = f"In which visual style is this poster designed? Answer with one of these names: {', '.join(STYLES)}."
    truth = {"gt": poster.layout.style, "style": poster.layout.style}
    return MadeItem("style understanding", poster.layout.style, prompt, truth, poster_pixels(poster))


def intention_understanding(number: int, seed: int) -> MadeItem:
    """A poster whose purpose is asked: half of them by the points of its brief, half by a metaphor."""
    if balanced_choice((False, True), number, seed, "intention_understanding", "metaphor"):
        return metaphor_poster(number, seed)
    occasion = balanced_choice(OCCASIONS, number, seed, "intention_understanding")
    count = balanced_choice((3, 4, 5, 6, 7), number, seed, "intention_understanding", "texts")
    poster, brief = draw_fitting_brief(
        "intention_understanding", number, seed, texts=count, occasion=occasion, width=SHORT, always=("subhead", "body")
    )
    prompt = (
        "What does this poster want to tell, and to whom does it speak? Say what it is for, what it offers or asks, "
        "when and where, who is behind it, and what its picture shows. Answer in a few sentences."
    )
    truth = {"gt": intentions(brief, poster.layout.style)}
    return MadeItem("intention understanding", "poster", prompt, truth, poster_pixels(poster),
                {"points": len(truth["gt"]), "metaphor": 0.0})  # fmt: skip


def intentions(brief: Brief, style: str) -> list[str]:
    """What a reader should have understood of a poster, a sentence for each point."""
    points = [f"The poster wants to {brief.intent}."]
    points += [f"The date it gives is {brief.when}."] if brief.when else []
    points += [f"The place it gives is {brief.where}."] if brief.where else []
    points += [f"It calls on the reader: {brief.cta}."] if brief.cta else []
    points += [f"It comes from {brief.brand}."] if brief.brand else []
    if brief.subject != "abstract" and style != ABSTRACT:
        points.append(f"The picture shows this motif: {brief.subject}.")
    return points


# -- layouts to compare ------------------------------------------------------------------------------------------------

COMPARISON_WIDTH = 480
STRENGTHS = (0.4, 0.6, 0.8, 1.0)
_PAIR_ATTEMPTS = 100
_GAP, _HEAD = 24, 56
COMPARISON_PROMPT = (
    "The picture shows two layouts, A on the left and B on the right, of one poster. One of them is sound; in the "
    "other the texts are badly placed or sized. Which layout is better? Answer with one letter, A or B."
)


def layout_comparison(number: int, seed: int) -> MadeItem:
    """A sound layout and a spoiled one side by side."""
    letter = balanced_choice(("A", "B"), number, seed, "layout_comparison", "letter")
    violation = balanced_choice(tuple(VIOLATIONS), number, seed, "layout_comparison", "violation")
    strength = balanced_choice(STRENGTHS, number, seed, "layout_comparison", "strength")
    sound, spoiled = draw_pair(violation, strength, number, seed)
    pictures = insert_at(poster_pixels(sound), [poster_pixels(spoiled)], "AB".index(letter))
    height, width, _ = pictures[0].shape
    whole = np.full((height + _HEAD + _GAP, 2 * width + 3 * _GAP, 3), 255, np.uint8)
    letters = [mark for at in (0, 1) for mark in label("AB"[at], _GAP + at * (width + _GAP), 12, 34)]
    whole[:_HEAD] = paint([Layer("letters", tuple(letters))], whole.shape[1], _HEAD)
    for at, picture in enumerate(pictures):
        left = _GAP + at * (width + _GAP)
        whole[_HEAD : _HEAD + height, left : left + width] = picture
    measured = round(MEASURES[violation][0](sound, spoiled), 3)
    truth = {"gt": letter, "violation": violation, "measured": measured}
    return MadeItem("layout comparison", violation, COMPARISON_PROMPT, truth, whole, {"strength": strength})


def draw_pair(violation: str, strength: float, number: int, seed: int) -> tuple[Poster, Poster]:
    """The poster as it should be and as it was spoiled, from the first brief whose layout can be spoiled like that."""
    for attempt in range(_PAIR_ATTEMPTS):
        rng = chance(seed, "layout_comparison", str(number), str(attempt))
        brief = make_brief(f"comparison-{number}", rng, texts=6)
        drawing = int(rng.integers(1 << 31))
        try:
            sound = draw_poster(brief, seed=drawing, width=COMPARISON_WIDTH)
        except BadValue:
            continue
        spoiled = VIOLATIONS[violation](brief, drawing, sound, strength)
        if spoiled is not None and shows_violation(violation, sound, spoiled):
            return sound, spoiled
    raise BadValue("a layout that can be spoiled is needed", found="none", where=f"{violation}, item {number}")


# -- violations ----------------------------------------------------------------------------------------------------

Violation = Callable[[Brief, int, Poster, float], Poster | None]


def _plant_defect(kind: DefectKind, least: float) -> Violation:
    """A flaw that the renderer knows, from `least` on; None where this brief does not show it."""

    def spoil(brief: Brief, drawing: int, sound: Poster, strength: float) -> Poster | None:
        poster = draw_poster(brief, seed=drawing, width=COMPARISON_WIDTH, knobs={kind: least + (1 - least) * strength})
        is_planted = any(defect.kind == kind for defect in poster.layout.defects)
        return poster if is_planted and poster.layout.arrangement == sound.layout.arrangement else None

    return spoil


def _overlap(brief: Brief, drawing: int, sound: Poster, strength: float) -> Poster | None:
    """The text nearest below or above the headline pushed into it."""
    head, rest = _texts(sound)
    if head.rotation or not rest:
        return None
    near = min(rest, key=lambda element: abs(element.box.middle[1] - head.box.middle[1]))
    deep = (0.3 + 0.7 * strength) * min(near.box.height, 0.5 * head.box.height)
    below = near.box.middle[1] > head.box.middle[1]
    dy = head.box.bottom - deep - near.box.y if below else head.box.y + deep - near.box.bottom
    poster = shift_element(sound, near, 0.0, dy)
    return poster if poster.element(near.id).box.meets(head.box) else None


def _cut_off(brief: Brief, drawing: int, sound: Poster, strength: float) -> Poster | None:
    """The headline pushed over the nearer edge: a part of its width is lost."""
    head, _ = _texts(sound)
    lost = 0.35 * strength * head.box.width
    left = head.box.middle[0] <= sound.layout.width / 2
    dx = -head.box.x - lost if left else sound.layout.width - head.box.right + lost
    return None if head.rotation else shift_element(sound, head, dx, 0.0)


def _texts(poster: Poster) -> tuple[Element, list[Element]]:
    """The headline, and the other texts that stand on nothing of their own."""
    texts = [element for element in poster.layout.elements if element.kind == "text"]
    head = next(element for element in texts if element.role == "headline")
    return head, [element for element in texts if element.role not in ("headline", "cta")]


def shift_element(poster: Poster, element: Element, dx: float, dy: float) -> Poster:
    """The poster with one of its elements moved, on record and in its marks."""
    box, frame = (
        Box(x=rectangle.x + dx, y=rectangle.y + dy, width=rectangle.width, height=rectangle.height)
        for rectangle in (element.box, element.frame)
    )
    marks = (Group(poster.layer(element.id).marks, transform=(1.0, 0.0, 0.0, 1.0, dx, dy)),)
    return poster.replace_element(element.model_copy(update={"box": box, "frame": frame}), marks)


VIOLATIONS: dict[str, Violation] = {
    "misalignment": _plant_defect("misalignment", 0.7),
    "crowding": _plant_defect("crowding", 0.6),
    "broken hierarchy": _plant_defect("broken-hierarchy", 0.85),
    "overlap": _overlap,
    "cut off": _cut_off,
}
"""Name to what spoils a layout that way."""


# -- measures ------------------------------------------------------------------------------------------------------


def shows_violation(violation: str, sound: Poster, spoiled: Poster) -> bool:
    """Whether the spoiled layout has the violation plainly, and the sound one has not."""
    measure, least = MEASURES[violation]
    return measure(sound, spoiled) >= least


def _strayed(sound: Poster, spoiled: Poster) -> float:
    """The median text's way sideways from its place in the sound layout, in widths of the poster."""
    ways = [
        abs(spoiled.element(element.id).box.x - element.box.x)
        for element in sound.layout.elements
        if element.kind == "text"
    ]
    return float(np.median(ways)) / COMPARISON_WIDTH


def _margin_lost(sound: Poster, spoiled: Poster) -> float:
    """The share of the margin that is gone: the distance of the nearest text from an edge of the poster."""
    before, after = (
        min(
            min(box.x, box.y, poster.layout.width - box.right, poster.layout.height - box.bottom)
            for box in (element.box for element in poster.layout.elements if element.kind == "text")
        )
        for poster in (sound, spoiled)
    )
    return 1 - max(after, 0.0) / before if before > 0 else 0.0


def _leveled(sound: Poster, spoiled: Poster) -> float:
    """How many times more the headline stood out by its size before; 0 where it still does or never did."""
    before, after = (_lead(poster) for poster in (sound, spoiled))
    return before / after if before >= 1.7 and after <= 1.3 else 0.0


def _lead(poster: Poster) -> float:
    sizes = {element.role: element.lettering.size for element in poster.layout.elements if element.lettering}
    return sizes["headline"] / max(size for role, size in sizes.items() if role != "headline")


def _covered(sound: Poster, spoiled: Poster) -> float:
    """The largest share of a text that lies under or over the headline."""
    head, rest = _texts(spoiled)
    return max((_shared(head.box, element.box) for element in rest), default=0.0)


def _shared(head: Box, box: Box) -> float:
    across = min(head.right, box.right) - max(head.x, box.x)
    down = min(head.bottom, box.bottom) - max(head.y, box.y)
    return max(across, 0.0) * max(down, 0.0) / (box.width * box.height)


def _lost(sound: Poster, spoiled: Poster) -> float:
    """The share of the headline's width that is off the poster."""
    box = _texts(spoiled)[0].box
    return (max(0.0, -box.x) + max(0.0, box.right - COMPARISON_WIDTH)) / box.width


MEASURES: dict[str, tuple[Callable[[Poster, Poster], float], float]] = {
    "misalignment": (_strayed, 0.045),
    "crowding": (_margin_lost, 0.5),
    "broken hierarchy": (_leveled, 1.4),
    "overlap": (_covered, 0.3),
    "cut off": (_lost, 0.1),
}
"""What is measured of a violation, sound layout against spoiled one, and the least of it that counts."""


# -- overall quality ---------------------------------------------------------------------------------------------------

CRITERION = "taste/aesthetics-preference"
VISIBLE: tuple[DefectKind, ...] = (
    "low-contrast", "clashing-colors", "broken-hierarchy", "misalignment", "crowding", "bad-kerning",
    "wrong-font-pairing", "misspelling", "extra-element",
)  # fmt: skip
"""Flaws that show without the brief."""
LOADS = (0, 1, 2, 3, 4, 5, 6)
_RATING_ATTEMPTS = 20
RATING_PROMPT = (
    "How good is this poster as a piece of design, all in all? Look at readability, hierarchy, alignment, spacing, "
    "colors and type. Answer with one number from 0 (as bad as can be) to 10 (without a flaw)."
)


def overall_rating(number: int, seed: int) -> MadeItem:
    """A poster with a load of flaws and its worth from 0 to 10."""
    load = balanced_choice(LOADS, number, seed, "overall_rating")
    poster = _draw_flawed(load, number, seed)
    planted = {defect.kind: defect.strength for defect in poster.layout.defects}
    truth = {"gt": round(10 * poster.layout.quality[CRITERION], 1), "defects": planted}
    return MadeItem("overall rating", "poster", RATING_PROMPT, truth, poster_pixels(poster), {"flaws": len(planted)})


def _draw_flawed(load: int, number: int, seed: int) -> Poster:
    for attempt in range(_RATING_ATTEMPTS):
        rng = chance(seed, "overall_rating", str(number), str(attempt))
        knobs = {kind: round(float(rng.uniform(0.4, 1.0)), 2) for kind in pick_some(VISIBLE, load, rng)}
        brief = make_brief(f"rating-{number}", rng, texts=5)
        try:
            poster = draw_poster(brief, seed=int(rng.integers(1 << 31)), width=SHORT, knobs=knobs)
        except BadValue:
            continue
        if {defect.kind for defect in poster.layout.defects} == set(knobs):
            return poster
    raise BadValue("a poster that shows its flaws is needed", found="none", where=f"overall_rating {number}")
