"""Whole posters by the renderer: texts to read and to find, places to foresee, styles and intentions to name.

Texts, boxes and styles are those of the layout record that the poster was drawn from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from salon.bench.posters.make.briefs import OCCASIONS, make_brief
from salon.bench.posters.make.deal import dealt, pick
from salon.bench.posters.make.made import Made, pixel_box
from salon.bench.posters.make.metaphors import metaphor_poster
from salon.bench.posters.make.typefaces import as_seen
from salon.bench.posters.make.words import invented_name
from salon.errors import BadValue
from salon.render.brief import STYLES, SUBJECTS, Brief, Style
from salon.render.chance import chance
from salon.render.compose import Hand, lay_out, plan_poster
from salon.render.layout import Element
from salon.render.paint.raster import paint
from salon.render.poster import Poster

WIDTH = 768
SHORT = 640
"""Width of posters that are looked at as a whole rather than read."""
COUNTS = (2, 3, 4, 5, 6, 7)
FEW = (1, 2, 3, 4)
ABSTRACT: Style = "Typographic Minimalism"
"""The style that draws a character of type instead of the subject."""
_HAND = Hand("made")
_LONGEST_TRY = 20


def drawn_poster(brief: Brief, seed: int, *, width: int = WIDTH) -> Poster:
    """The poster of a brief; its texts are in capitals where the face makes them look like that."""
    plan = plan_poster(brief, _HAND, seed, width=width)
    faces = {role: plan.display if role == "headline" else plan.text for role in plan.texts}
    return lay_out(replace(plan, texts={role: as_seen(text, faces[role]) for role, text in plan.texts.items()}))


def fitting(task: str, number: int, seed: int, **wanted: Any) -> tuple[Poster, Brief]:
    """A poster from the first of a row of briefs whose texts find room."""
    width = wanted.pop("width", WIDTH)
    for attempt in range(_LONGEST_TRY):
        rng = chance(seed, task, str(number), str(attempt))
        brief = make_brief(f"{task}-{number}", rng, **wanted)
        try:
            return drawn_poster(brief, int(rng.integers(1 << 31)), width=width), brief
        except BadValue:  # these texts in this style: others will do
            continue
    raise BadValue("a brief that can be drawn is needed", found=f"{_LONGEST_TRY} that cannot", where=f"{task} {number}")


def pixels_of(poster: Poster) -> np.ndarray:
    """The poster painted."""
    return paint(poster.layers, poster.layout.width, poster.layout.height)


def text_elements(poster: Poster) -> list[Element]:
    """Its texts, the largest area first."""
    texts = [one for one in poster.layout.elements if one.kind == "text"]
    return sorted(texts, key=lambda one: -one.box.width * one.box.height)


def located(poster: Poster) -> dict[str, Any]:
    """Texts and boxes as the public files hold them: in pixels, the largest first."""
    size = [poster.layout.width, poster.layout.height]
    found = [(pixel_box(one.box, *size), one.lettering.text) for one in text_elements(poster) if one.lettering]
    found.sort(key=lambda pair: -_area(pair[0]))
    return {
        "texts": [text for _, text in found],
        "text_bbox": [box for box, _ in found],
        "bbox_areas": [_area(box) for box, _ in found],
        "size": size,
    }


def _area(box: list[int]) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _hardness(poster: Poster) -> dict[str, float]:
    sizes = [one.lettering.size for one in text_elements(poster) if one.lettering]
    return {"texts": len(sizes), "smallest type": round(min(sizes), 1)}


# -- reading and finding -------------------------------------------------------------------------------------------


def poster_ocr(number: int, seed: int) -> Made:
    """A poster with two to seven texts to read."""
    count = dealt(COUNTS, number, seed, "poster_ocr")
    poster, _ = fitting("poster_ocr", number, seed, texts=count)
    prompt = (
        "Read every text on this poster. Give a JSON list of strings, one for each text, exactly as written on the "
        "poster and without line breaks inside a text."
    )
    return Made("poster ocr", "poster", prompt, located(poster), pixels_of(poster), _hardness(poster))


def logo_ocr(number: int, seed: int) -> Made:
    """A sign with an invented name to read."""
    rng = chance(seed, "logo_ocr", str(number))
    style = dealt(STYLES, number, seed, "logo_ocr")
    name = " ".join(invented_name(rng) for _ in range(1 + int(rng.random() < 0.3)))
    brief = Brief(id=f"logo-{number}", category="logo", format="logo", headline=name, style=style,
                  subject=pick(SUBJECTS, rng))  # fmt: skip
    poster = drawn_poster(brief, int(rng.integers(1 << 31)), width=512)
    text = text_elements(poster)[0]
    prompt = "What is the name in this logo? Answer with the name only, in capitals and small letters as drawn."
    truth = {"gt": text.lettering.text if text.lettering else name, "style": style}
    return Made("logo ocr", style, prompt, truth, pixels_of(poster), {"letters": len(truth["gt"])})


def text_localization(number: int, seed: int) -> Made:
    """A poster whose texts are named and to be found."""
    count = dealt(COUNTS, number, seed, "text_localization")
    poster, _ = fitting("text_localization", number, seed, texts=count)
    truth = located(poster)
    prompt = (
        "Find these texts on the poster and give the tight box around the letters of each; a text may run over several "
        f"lines.\n{_numbered(truth['texts'])}\nAnswer with a JSON list of boxes [x1, y1, x2, y2] in this order, as "
        "shares of the picture's width and height from 0 to 1, (0, 0) being the upper left corner."
    )
    return Made("text localization", "poster", prompt, truth, pixels_of(poster), _hardness(poster))


def layout_generation(number: int, seed: int) -> Made:
    """A poster without its texts, which are to be placed; the truth is where they stood."""
    count = dealt(FEW, number, seed, "layout_generation")
    poster, _ = fitting("layout_generation", number, seed, texts=count, roles=("subhead", "when", "where"))
    truth = located(poster)
    for element in text_elements(poster):
        poster = poster.drop_element(element.id)
    prompt = (
        "All texts have been taken off this poster. Put them back as the designer specified; percentages are of the "
        f"picture's width (across) and height (down).\n{specification(truth)}\nAnswer with a JSON list of boxes "
        "[x1, y1, x2, y2] in this order, as shares of the picture's width and height from 0 to 1, (0, 0) being the "
        "upper left corner."
    )
    return Made("layout generation", "specification", prompt, {"gt": truth["text_bbox"], **truth}, pixels_of(poster),
                {"texts": len(truth["texts"])})  # fmt: skip


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
    for other, (left, _, right, _) in enumerate(boxes[:at], 1):
        if abs(x1 - left) <= 1:
            return f"left edge in line with that of text {other}"
        if abs(x2 - right) <= 1:
            return f"right edge in line with that of text {other}"
        if abs(x1 + x2 - left - right) <= 2:
            return f"centered on text {other} from left to right"
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


def _numbered(texts: list[str]) -> str:
    return "\n".join(f"{at}. {text}" for at, text in enumerate(texts, 1))


# -- style and intention -------------------------------------------------------------------------------------------


def style_understanding(number: int, seed: int) -> Made:
    """A poster in one of the seventeen styles."""
    style = dealt(STYLES, number, seed, "style_understanding")
    poster, _ = fitting("style_understanding", number, seed, texts=3, style=style, width=SHORT)
    prompt = f"In which visual style is this poster designed? Answer with one of these names: {', '.join(STYLES)}."
    truth = {"gt": poster.layout.style, "style": poster.layout.style}
    return Made("style understanding", poster.layout.style, prompt, truth, pixels_of(poster))


def intention_understanding(number: int, seed: int) -> Made:
    """A poster of which is asked what it wants: half of them by the points of its brief, half by a metaphor."""
    if dealt((False, True), number, seed, "intention_understanding", "metaphor"):
        return metaphor_poster(number, seed)
    occasion = dealt(OCCASIONS, number, seed, "intention_understanding")
    count = dealt((3, 4, 5, 6, 7), number, seed, "intention_understanding", "texts")
    poster, brief = fitting("intention_understanding", number, seed, texts=count, occasion=occasion, width=SHORT,
                            always=("subhead", "body"))  # fmt: skip
    prompt = (
        "What does this poster want to tell, and to whom does it speak? Say what it is for, what it offers or asks, "
        "when and where, who is behind it, and what its picture shows. Answer in a few sentences."
    )
    truth = {"gt": intentions(brief, poster.layout.style)}
    return Made("intention understanding", "poster", prompt, truth, pixels_of(poster),
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
