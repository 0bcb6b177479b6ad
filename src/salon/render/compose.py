"""From a brief to a poster: which style, colors, faces and arrangement, then a place for everything.

`plan_poster` decides by a generator's habits and a seed; `lay_out` lets the arrangement find the places and the style
draw, and keeps the record.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from salon.errors import BadValue
from salon.render.arrangements import ARRANGEMENTS, Arrangement, suitable
from salon.render.brief import SIZES, STYLES, Align, Brief, Place
from salon.render.colors import contrast, oklch
from salon.render.layout import TEXT_ROLES, Box, Element, Face, Layout, LayoutGrid, Lettering, Role, TextLine, TextWord
from salon.render.marks import Fill, Group, Layer, Mark, Stroke
from salon.render.palettes import harmonise, rechecked
from salon.render.plan import Palette, PosterPlan, Stage, Style, TypeScale
from salon.render.poster import Poster
from salon.render.random_streams import Seeds, chance
from salon.render.shapes import circle, ellipse, rect, rounded, turn
from salon.render.sheet import NoRoom, Piece, PosterSheet, shifted
from salon.render.styles import style_named
from salon.render.typeset.setting import SetText, TooMuchText

__all__ = ["DrawingHabits", "lay_out", "plan_poster"]

SMALLEST, LARGEST, LONGEST_RATIO = 64, 8192, 3.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DrawingHabits:
    """A house's way of working; what a brief asks for wins over it."""

    house: str = "plain"
    styles: tuple[str, ...] = ()
    """Styles it likes, best first; empty for any that suits the mood."""
    arrangements: tuple[str, ...] = ()
    """Arrangements it likes; empty for those of the style."""
    margin: float = 0.07
    air: float = 1.0
    loudness: float = 1.0
    """Factor on the size of headlines."""


def plan_poster(
    brief: Brief, habits: DrawingHabits, seed: int | Seeds, *, width: int | None = None, height: int | None = None
) -> PosterPlan:
    """Every decision about a poster. The same brief, habits, seed and size give the same plan."""
    width, height = _size(brief, width, height)
    if (seed.own if isinstance(seed, Seeds) else seed) < 0:
        raise BadValue("a seed of 0 or more is needed", found=seed, where=f"brief {brief.id}")
    rng = chance(seed, "style")
    if brief.style:
        style = style_named(brief.style)
    else:
        names = [name for name in habits.styles or STYLES if brief.mood in style_named(name).moods]
        style = style_named(_pick(names or habits.styles or STYLES, rng, fall=0.8 if habits.styles else 1.0))
    plain = harmonise(brief.palette, brief.mood, chance(seed, "palette"))
    palette = rechecked(style.tune(plain, chance(seed, "tune")))
    arrangement = _arrangement(brief, habits, style, width, height, chance(seed, "arrangement"))
    faces = chance(seed, "faces")
    display, text = (
        Face(family=family, weight=weight)
        for family, weight in (_pick(pairs, faces, fall=0.6) for pairs in (style.displays, style.texts))
    )
    texts: dict[str, str] = {role: words for role in TEXT_ROLES if (words := getattr(brief, role)) and words.strip()}
    # Capitals where the style wants them and the headline is short enough to bear it.
    upper = style.case == "upper" and len(brief.headline) <= 70
    # The fewer letters a headline has, the more times the body size it may take.
    loudness = 10 * min(1.9, max(1.0, 8 / len(brief.headline)))
    return PosterPlan(
        brief=brief,
        house=habits.house,
        seed=seed,
        width=width,
        height=height,
        texts=texts | {"headline": brief.headline.upper() if upper else brief.headline},
        style=style.name,
        palette=palette,
        display=display,
        text=text,
        arrangement=arrangement.name,
        headline_at=brief.headline_at or _place(brief, arrangement, chance(seed, "place")),
        align=brief.align or _align(brief, arrangement, chance(seed, "align")),
        scale=TypeScale(headline=loudness * style.scale * habits.loudness, subhead=1.6),
        margin=habits.margin,
        air=habits.air,
        tracking={"headline": style.tracking} if style.tracking else {},
        headline_ink=_headline_ink(palette, chance(seed, "headline ink")),
        cta=_pick(("pill", "box", "line", "outline"), chance(seed, "cta"), fall=0.6),
    )


def _size(brief: Brief, width: int | None, height: int | None) -> tuple[int, int]:
    usual = SIZES[brief.format]
    if width is None:
        width = usual[0] if height is None else round(height * usual[0] / usual[1])
    if height is None:
        height = round(width * usual[1] / usual[0])
    if not (min(width, height) >= SMALLEST and max(width, height) <= LARGEST):
        raise BadValue(
            f"width and height from {SMALLEST} to {LARGEST} px are needed",
            found=f"{width} x {height}",
            where=f"brief {brief.id}",
        )
    if max(width, height) > LONGEST_RATIO * min(width, height):
        raise BadValue(
            f"a canvas no longer than {LONGEST_RATIO:g} times its breadth is needed",
            found=f"{width} x {height}",
            where=f"brief {brief.id}",
            remedy="ask for a squarer canvas",
        )
    return width, height


def _arrangement(
    brief: Brief, habits: DrawingHabits, style: Style, width: int, height: int, rng: np.random.Generator
) -> Arrangement:
    """One that suits the format, the canvas and the place asked for; the house's and the style's favourites first."""
    fits = {a.name for a in suitable(brief.format, width, height, brief.headline_at)}
    if not fits:
        fits = {a.name for a in suitable(brief.format, width, height)}
    if brief.align:
        fits = {name for name in fits if brief.align in ARRANGEMENTS[name].aligns} or fits
    for favourites in (habits.arrangements, style.arrangements, tuple(ARRANGEMENTS)):
        names = [name for name in favourites if name in fits]
        if names:
            return ARRANGEMENTS[_pick(names, rng, fall=0.75)]
    raise BadValue(
        f"a canvas that suits a {brief.format} is needed", found=f"{width} x {height}", where=f"brief {brief.id}"
    )


def _place(brief: Brief, arrangement: Arrangement, rng: np.random.Generator) -> Place:
    """A place the arrangement likes; low only where little else has to stand below the headline."""
    if brief.format == "logo":
        return arrangement.places[0]
    much = brief.body or sum(map(bool, (brief.subhead, brief.cta, brief.when or brief.where))) > 1
    places = [place for place in arrangement.places if place != "bottom" or not much]
    return _pick(places or arrangement.places, rng, fall=0.6)


def _align(brief: Brief, arrangement: Arrangement, rng: np.random.Generator) -> Align:
    """The arrangement's favourite, now and then its second; the side that reading starts from, never the other."""
    align = arrangement.aligns[0 if rng.random() < 0.75 else 1]
    if align == "center":
        return align
    # By the first letter with a direction.
    directions = (unicodedata.bidirectional(character) for character in brief.headline)
    first = next((direction for direction in directions if direction in ("L", "R", "AL")), "L")
    return "left" if first == "L" else "right"


def _headline_ink(palette: Palette, rng: np.random.Generator) -> str:
    """Now and then a headline in color, where it is one and reads as well as ink must."""
    colors = {name: getattr(palette, name) for name in ("accent", "primary")}
    choices = [
        name for name, color in colors.items() if oklch(color)[1] > 0.08 and contrast(color, palette.ground) >= 5
    ]
    return choices[0] if choices and rng.random() < 0.4 else "ink"


def _pick(choices: Sequence[T], rng: np.random.Generator, *, fall: float) -> T:
    """One of `choices`, each `fall` times as likely as the one before it."""
    weights = fall ** np.arange(len(choices))
    return choices[int(np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(), side="right"))]


# Layout


ZOOMS = (1.0, 0.92, 0.84, 0.76, 0.68, 0.6)
"""Factors on the body size that are tried until the texts fit."""
COLUMNS = 12
LAST_RESORT = "stack"
COMFORTABLE = {"headline": 60, "subhead": 80, "body": 240, "cta": 30, "when": 40, "where": 60, "brand": 30}
"""Characters by role that find room together in every format."""


def lay_out(plan: PosterPlan) -> Poster:
    """The poster a plan describes: the same plan gives the same layout, byte for byte.

    Text too long for the planned arrangement is set smaller, then in another arrangement that puts the headline in
    the same place; what fits nowhere raises `TooMuchText` with the text's role and what would fit.
    """
    style = style_named(plan.style)
    sheet, name = _arranged(plan)
    return _record(replace(plan, arrangement=name), sheet, style)


def find_room(plan: PosterPlan) -> None:
    """Raises what `lay_out` raises where the texts of a plan find no room; several times faster."""
    _arranged(plan)


def _arranged(plan: PosterPlan) -> tuple[PosterSheet, str]:
    """A filled sheet and the arrangement that filled it."""
    able = [a.name for a in suitable(plan.brief.format, plan.width, plan.height, plan.headline_at)]
    planned = [plan.arrangement] if plan.headline_at in ARRANGEMENTS[plan.arrangement].places else []
    names = list(dict.fromkeys((*planned, *able, LAST_RESORT)))
    for zooms in (ZOOMS[:3], ZOOMS[3:]):
        for name in names:
            for zoom in zooms:
                sheet = PosterSheet(replace(plan, arrangement=name), zoom)
                try:
                    ARRANGEMENTS[name].draw(sheet)
                    _check(sheet)
                except (NoRoom, TooMuchText):
                    continue
                return sheet, name
    role = max(plan.texts, key=lambda role: len(plan.texts[role]) / COMFORTABLE[role])
    raise TooMuchText(
        f"texts that fit a {plan.brief.format} of {plan.width} x {plan.height} px are needed",
        found=f"{sum(map(len, plan.texts.values())):,} characters, {len(plan.texts[role]):,} of them in the {role}",
        where=f"{role} of brief {plan.brief.id}",
        remedy=f"shorten the {role}: up to {COMFORTABLE[role]} characters always fit a canvas of usual shape",
    )


def _check(sheet: PosterSheet) -> None:
    """NoRoom unless texts keep to the canvas and off one another, and the headline is in its third."""
    placed = {piece.role for block in sheet.blocks for piece in block.pieces if piece.set}
    if placed != {role for role, text in sheet.plan.texts.items() if text}:
        raise NoRoom
    inks = [(piece.role, _upright(piece)) for block in sheet.blocks for piece in block.pieces if piece.set]
    edge = 0.4 * sheet.margin
    for at, (role, ink) in enumerate(inks):
        outside = min(ink.x, ink.y, sheet.width - ink.right, sheet.height - ink.bottom) < edge
        if outside or any(ink.meets(earlier) for _, earlier in inks[:at]):
            raise NoRoom
        lowest, highest = sheet.third()
        if role == "headline" and not lowest - 0.01 <= ink.y + ink.height / 2 <= highest + 0.01:
            raise NoRoom


# The record


class _Record:
    """Elements and layers in step, lowest first."""

    def __init__(self, plan: PosterPlan, sheet: PosterSheet, style: Style) -> None:
        self.plan, self.sheet, self.style = plan, sheet, style
        breath = 0.5 * sheet.gap
        bare = [
            block.box
            for block in sheet.blocks
            # A turned block, on a strip of its own, crosses a picture that has most of its room on one side.
            if not (sheet.plan.headline_at != "middle" and any(piece.rotation for piece in block.pieces))
            and not any(block.box.meets(panel) for panel in sheet.panels)
        ]
        self.quiet = (
            *(_on_canvas(panel, 0.0, sheet) for panel in sheet.panels),
            *(_on_canvas(box, breath, sheet) for box in bare),
        )
        self.elements: list[Element] = []
        self.layers: list[Layer] = []

    def stage(self, part: str, palette: Palette | None = None) -> Stage:
        """What the style sees, with chance of its own for each part."""
        plan = self.plan
        return Stage(
            width=plan.width,
            height=plan.height,
            format=plan.brief.format,
            palette=palette or plan.palette,
            subject=plan.brief.subject,
            mood=plan.brief.mood,
            align=plan.align,
            quiet=self.quiet,
            rng=chance(plan.seed, "draw", part),
        )

    def add(
        self,
        name: str,
        role: Role,
        kind: Literal["text", "shape", "picture"],
        box: Box,
        marks: tuple[Mark, ...],
        *,
        frame: Box | None = None,
        rotation: float = 0.0,
        color: str | None = None,
        over: str | None = None,
        lettering: Lettering | None = None,
        recipe: str | None = None,
    ) -> None:
        """One more element on top."""
        element = Element(
            id=name,
            role=role,
            kind=kind,
            box=_rounded(box),
            frame=_rounded(frame or box),
            z=len(self.elements),
            rotation=rotation,
            color=color,
            over=over,
            lettering=lettering,
            recipe=recipe,
        )
        self.elements.append(element)
        self.layers.append(Layer(name, marks))


def _record(plan: PosterPlan, sheet: PosterSheet, style: Style) -> Poster:
    """Everything drawn by the style, in order of depth."""
    record = _Record(plan, sheet, style)
    whole = Box(x=0, y=0, width=plan.width, height=plan.height)
    ground = style.ground(record.stage("ground"))
    record.add("ground", "ground", "shape", whole, ground, color=plan.palette.ground, recipe=f"ground of {style.name}")
    _add_panels(record, sheet.sheets, "sheet")
    for piece in sheet.backs:
        _add_piece(record, piece)
    for box in sheet.pictures:
        marks = style.picture(record.stage("picture", _palette_below(plan, sheet, box)), box)
        record.add("picture", "picture", "picture", box, marks, recipe=f"{plan.brief.subject} in {style.name}")
    _add_panels(record, sheet.panels, "panel")
    finish = style.finish(record.stage("finish"))
    if finish:
        record.add("finish", "ornament", "shape", whole, finish, recipe=f"finish of {style.name}")
    pieces = [*sheet.shapes, *(piece for block in sheet.blocks for piece in block.pieces)]
    for piece in sorted(pieces, key=lambda piece: piece.set is not None):
        _add_piece(record, piece)
    return Poster(_layout(plan, sheet, tuple(record.elements)), tuple(record.layers))


def _palette_below(plan: PosterPlan, sheet: PosterSheet, picture: Box) -> Palette:
    """The colors for a picture: where it stands on a sheet, the sheet's is the ground it must stand out from."""
    p = plan.palette
    discs = [shifted(piece.frame, piece.dx, piece.dy) for piece in sheet.backs if piece.color == p.surface]
    if not any(box.holds(picture) for box in (*sheet.sheets, *discs)):
        return p
    return replace(p, ground=p.surface, surface=p.ground, ink=p.on_surface, on_surface=p.ink)


def _add_panels(record: _Record, boxes: list[Box], word: str) -> None:
    for number, box in enumerate(boxes, 1):
        name, style = f"{word}-{number}", record.style
        marks = style.panel(record.stage(name), box)
        color = record.plan.palette.surface
        record.add(name, "panel", "shape", box, marks, color=color, recipe=f"panel of {style.name}")


def _layout(plan: PosterPlan, sheet: PosterSheet, elements: tuple[Element, ...]) -> Layout:
    gutter = 0.02 * sheet.short
    seeds = plan.seed if isinstance(plan.seed, Seeds) else Seeds(plan.seed)
    palette = {name: getattr(plan.palette, name) for name in plan.palette.__slots__}
    return Layout(
        width=plan.width,
        height=plan.height,
        house=plan.house,
        seed=seeds.own,
        kept=dict(seeds.kept) or None,
        style=plan.style,
        arrangement=plan.arrangement,
        palette=palette,
        grid=LayoutGrid(
            margin=round(sheet.margin, 2),
            columns=COLUMNS,
            gutter=round(gutter, 2),
            baseline=round(1.45 * sheet.body, 2),
        ),
        brief=plan.brief,
        elements=elements,
    )


def _add_piece(record: _Record, piece: Piece) -> None:
    frame = shifted(piece.frame, piece.dx, piece.dy)

    if piece.set is None:
        marks = _turned(_shape_marks(piece, frame, record.sheet), piece, frame)
        upright, turn, color = _upright(piece), piece.rotation, piece.color
        record.add(
            piece.id, piece.role, "shape", upright, marks, frame=frame, rotation=turn, color=color, recipe=piece.shape
        )
        return
    text = _moved_text(piece.set, piece.dx, piece.dy)
    lettered = record.style.letter(record.stage(piece.id), piece.role, text.glyphs)
    lettering = Lettering(
        text=text.text,
        asked=getattr(record.plan.brief, piece.role),
        face=text.face,
        size=text.size,
        leading=text.leading,
        tracking=text.tracking,
        align=text.align,
        lines=tuple(_turned_line(line, piece.rotation, frame) for line in text.lines),
        effects=lettered.effects,
    )
    marks = _turned(lettered.marks, piece, frame)
    box = _upright(piece)
    record.add(
        piece.id,
        piece.role,
        "text",
        box,
        marks,
        frame=frame,
        rotation=piece.rotation,
        color=piece.color,
        over=piece.over,
        lettering=lettering,
    )


def _shape_marks(piece: Piece, box: Box, sheet: PosterSheet) -> tuple[Mark, ...]:
    x, y, width, height = box.x, box.y, box.width, box.height
    stroke = max(1.0, 0.11 * sheet.body)
    match piece.shape:
        case "pill":
            return (Fill(rounded(x, y, width, height, min(height / 2, 1.6 * sheet.body)), piece.color),)
        case "outline":
            path = rounded(x + stroke / 2, y + stroke / 2, width - stroke, height - stroke, 1.6 * sheet.body)
            return (Stroke(path, piece.color, stroke),)
        case "disc":
            return (Fill(ellipse(x + width / 2, y + height / 2, width / 2, height / 2), piece.color),)
        case "ring":
            return (Stroke(circle(x + width / 2, y + height / 2, width / 2 - stroke), piece.color, stroke),)
    return (Fill(rect(x, y, width, height), piece.color),)


# Places


def _on_canvas(box: Box, breath: float, sheet: PosterSheet) -> Box:
    left, top = max(0.0, box.x - breath), max(0.0, box.y - breath)
    right, bottom = min(float(sheet.width), box.right + breath), min(float(sheet.height), box.bottom + breath)
    return Box(x=left, y=top, width=right - left, height=bottom - top)


def _moved_text(text: SetText, dx: float, dy: float) -> SetText:
    """The set text at its place."""
    glyphs = tuple(
        replace(run, xs=tuple(x + dx for x in run.xs), ys=tuple(y + dy for y in run.ys)) for run in text.glyphs
    )
    lines = tuple(
        TextLine(
            text=line.text,
            box=_rounded(shifted(line.box, dx, dy)),
            baseline=round(line.baseline + dy, 2),
            words=tuple(TextWord(text=word.text, box=_rounded(shifted(word.box, dx, dy))) for word in line.words),
        )
        for line in text.lines
    )
    return replace(text, lines=lines, glyphs=glyphs, box=shifted(text.box, dx, dy))


def _turned(marks: tuple[Mark, ...], piece: Piece, frame: Box) -> tuple[Mark, ...]:
    if not piece.rotation:
        return marks
    return (Group(marks, transform=turn(piece.rotation, *frame.middle)),)


def _turned_line(line: TextLine, angle: float, frame: Box) -> TextLine:
    """The line with upright boxes around its turned ink."""
    if not angle:
        return line
    words = tuple(TextWord(text=word.text, box=_rounded(_turned_box(word.box, angle, frame))) for word in line.words)
    return line.model_copy(update={"box": _rounded(_turned_box(line.box, angle, frame)), "words": words})


def _upright(piece: Piece) -> Box:
    """The upright box around a piece's ink after turning."""
    if not piece.rotation:
        return piece.ink
    return _turned_box(piece.ink, piece.rotation, shifted(piece.frame, piece.dx, piece.dy))


def _turned_box(box: Box, angle: float, frame: Box) -> Box:
    a, b, c, d, e, f = turn(angle, *frame.middle)
    corners = [(x, y) for x in (box.x, box.right) for y in (box.y, box.bottom)]
    xs, ys = [a * x + c * y + e for x, y in corners], [b * x + d * y + f for x, y in corners]
    return Box(x=min(xs), y=min(ys), width=max(xs) - min(xs), height=max(ys) - min(ys))


def _rounded(box: Box) -> Box:
    return Box(x=round(box.x, 2), y=round(box.y, 2), width=round(box.width, 2), height=round(box.height, 2))
