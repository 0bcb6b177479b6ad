"""The sheet that an arrangement fills: measures, and texts and ornaments as blocks that come to their place by moving.

A block's own corner is (0, 0) until it is moved. Its height runs from the top of the highest ink to the foot of the
lowest, so that distances between blocks are the ones an eye sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, overload

from salon.render.brief import Align, Format, Place
from salon.render.colors import difference
from salon.render.layout import Box, Face, Role
from salon.render.plan import PosterPlan
from salon.render.random_streams import chance
from salon.render.typeset.families import find_family
from salon.render.typeset.setting import SetText, set_text

Over = Literal["ground", "surface", "accent"]


class _How(NamedTuple):
    """How a text is set."""

    align: Align
    paint: str
    size: float
    smallest: float
    leading: float
    balanced: bool


BODY: dict[Format, float] = {
    "poster": 0.0275,
    "flyer": 0.0275,
    "card": 0.0285,
    "square": 0.0275,
    "slide": 0.0325,
    "logo": 0.0290,
}
"""Body size as a share of the shorter side."""

BREATH = 0.015
"""Share of the height by which a headline's centre keeps inside its third."""


class NoRoom(Exception):
    """The texts do not fit this arrangement at this size: try smaller, or another."""


class PosterSheet:
    """An empty canvas with its measures, and what an arrangement puts on it.

    From the lowest: `sheets` and `backs` (panels and shapes below the picture), `pictures`, `panels`, `shapes` and
    `blocks`.
    """

    def __init__(self, plan: PosterPlan, zoom: float = 1.0) -> None:
        self.plan = plan
        self.width, self.height = plan.width, plan.height
        self.short = min(self.width, self.height)
        self.landscape = self.width > 1.15 * self.height
        self.margin = plan.margin * self.short
        # Few words may be larger, many must be smaller.
        count = sum(len(text) for role, text in plan.texts.items() if role != "headline")
        fewness = min(1.22, max(0.92, 1.25 - 0.0013 * count))
        self.body = BODY[plan.brief.format] * self.short * fewness * zoom
        self.gap = 1.15 * self.body * max(0.05, plan.air)
        self.align: Align = plan.align
        self.rng = chance(plan.seed, "arrangement", plan.arrangement)
        self.blocks: list[TextBlock] = []
        self.pictures: list[Box] = []
        self.panels: list[Box] = []
        self.sheets: list[Box] = []
        self.shapes: list[Piece] = []
        self.backs: list[Piece] = []
        self._set: dict[tuple[str, str, float, float, _How], SetText] = {}

    # Measures

    @property
    def measure(self) -> float:
        """The width between the margins."""
        return self.width - 2 * self.margin

    @property
    def foot(self) -> float:
        """The y of the lower margin."""
        return self.height - self.margin

    def third(self, place: Place | None = None) -> tuple[float, float]:
        """Lowest and highest y that a headline's centre may have for its place (the plan's, unless given)."""
        at = ("top", "middle", "bottom").index(place or self.plan.headline_at)
        return self.height * (at / 3 + BREATH), self.height * ((at + 1) / 3 - BREATH)

    # Colors

    def color(self, over: Over) -> str:
        """The color a text stands on."""
        return str(getattr(self.plan.palette, over))

    def ink(self, role: str, over: Over) -> str:
        """The color of a text by what it stands on."""
        palette = self.plan.palette
        if over != "ground":
            return palette.on_surface if over == "surface" else palette.on_accent
        if role == "headline":
            chosen = self.plan.headline_ink
            return chosen if chosen.startswith("#") else str(getattr(palette, chosen))
        return palette.ink_soft if role in ("body", "brand") else palette.ink

    # Putting things on the sheet

    @overload
    def put(self, block: TextBlock, x: float, y: float) -> TextBlock: ...
    @overload
    def put(self, block: None, x: float, y: float) -> None: ...
    def put(self, block: TextBlock | None, x: float, y: float) -> TextBlock | None:
        """The block, at (x, y) of the canvas."""
        if block is None:
            return None
        placed = block.at(x, y)
        self.blocks.append(placed)
        return placed

    def put_picture(self, x: float, y: float, width: float, height: float, *, least: float = 0.22) -> None:
        """The picture; NoRoom when its shorter side is below `least` of the canvas's."""
        if min(width, height) < least * self.short:
            raise NoRoom
        self.pictures.append(Box(x=x, y=y, width=width, height=height))

    def put_panel(self, x: float, y: float, width: float, height: float, *, below: bool = False) -> None:
        """A surface that text stands on; with `below`, the picture stands on it too."""
        (self.sheets if below else self.panels).append(Box(x=x, y=y, width=width, height=height))

    def put_bar(self, top: float, bottom: float) -> None:
        """A panel across the canvas that bleeds off its sides, and off the head or the foot where it reaches them."""
        bleed = 0.03 * self.short
        y = top - bleed if top <= 0 else top
        end = bottom + bleed if bottom >= self.height else bottom
        self.put_panel(-bleed, y, self.width + 2 * bleed, end - y)

    def put_shape(self, kind: ShapeKind, box: Box, color: str, *, rotation: float = 0.0, below: bool = False) -> None:
        """A plain shape below the texts; with `below`, below the picture too."""
        name = f"{kind}-{1 + sum(shape.shape == kind for shape in (*self.shapes, *self.backs))}"
        piece = Piece(name, "ornament", box, color, shape=kind, rotation=rotation)
        (self.backs if below else self.shapes).append(piece)

    # Texts

    def text(
        self,
        role: Role,
        width: float,
        height: float | None = None,
        *,
        size: float,
        over: Over = "ground",
        face: Face | None = None,
        leading: float = 1.3,
        align: Align | None = None,
        smallest: float | None = None,
        tight: bool = False,
        balanced: bool = True,
        colors: tuple[str, str] | None = None,
    ) -> TextBlock | None:
        """One text in a frame `width` wide: its ink starts exactly at the edge it is aligned to.

        With `tight` the block is as wide as the ink. `colors` are ink and what it stands on, where they are not the
        usual ones of `over`.
        """
        words = self.plan.texts.get(role)
        if not words:
            return None
        if width <= 0 or (height is not None and height <= 0):
            raise NoRoom
        ink, ground = colors or (self.ink(role, over), self.color(over))
        frame = Box(x=0, y=0, width=width, height=height or self.height)
        how = _How(align or self.align, ink, size, smallest or 0.8 * size, leading, balanced)
        setting = self._lettered(role, face or self.plan.text, frame, how)
        box = setting.box
        room = box.width if tight else width
        dx = across(box.width, room, setting.align) - box.x
        piece = Piece(role, role, Box(x=-dx, y=box.y, width=room, height=box.height), ink, ground, setting)
        return TextBlock((piece.moved(dx, -box.y),), _area(room, box.height))

    def _lettered(self, role: str, face: Face, frame: Box, how: _How) -> SetText:
        """The text of a role, set. Arrangements measure a text before they place it: the second time is free."""
        key = (role, face.key, frame.width, frame.height, how)
        if key not in self._set:
            uneven = role == "headline" and bool(self.plan.kerning)
            self._set[key] = set_text(
                self.plan.texts[role],
                face,
                frame,
                tracking=self.plan.tracking.get(role, 0.0),
                role=role,
                kerning=self.plan.kerning if uneven else 0.0,
                shifts_rng=chance(self.plan.seed, "kerning") if uneven else None,
                **how._asdict(),
            )
        return self._set[key]

    @overload
    def stack(
        self, blocks: tuple[TextBlock | None, TextBlock], gaps: float | Sequence[float], width: float
    ) -> TextBlock: ...
    @overload
    def stack(
        self, blocks: Sequence[TextBlock | None], gaps: float | Sequence[float], width: float
    ) -> TextBlock | None: ...
    def stack(
        self, blocks: Sequence[TextBlock | None], gaps: float | Sequence[float], width: float
    ) -> TextBlock | None:
        """Blocks below each other under the plan's alignment; gaps in units of the sheet's gap."""
        spaces = [gaps] * len(blocks) if isinstance(gaps, int | float) else gaps
        return column(blocks, [space * self.gap for space in spaces], width=width, align=self.align)


# Pieces and blocks


ShapeKind = Literal["pill", "box", "rule", "outline", "disc", "ring", "slant"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One element to be: a set text, or a plain shape in one color. (dx, dy) is how far it has been moved."""

    id: str
    role: Role
    frame: Box
    color: str
    over: str | None = None
    set: SetText | None = None
    shape: ShapeKind | None = None
    rotation: float = 0.0
    dx: float = 0.0
    dy: float = 0.0

    @property
    def ink(self) -> Box:
        """Where it is drawn, before turning."""
        return shifted(self.frame if self.set is None else self.set.box, self.dx, self.dy)

    @property
    def text(self) -> SetText:
        """The text of a piece that is one."""
        assert self.set is not None
        return self.set

    def moved(self, dx: float, dy: float) -> Piece:
        """The piece further right by dx and further down by dy."""
        return replace(self, dx=self.dx + dx, dy=self.dy + dy)


def _area(width: float, height: float) -> Box:
    return Box(x=0, y=0, width=width, height=height)


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Pieces that stay together, from (x, y)."""

    pieces: tuple[Piece, ...]
    box: Box
    """The area it takes."""

    def at(self, x: float, y: float) -> TextBlock:
        """The block with its upper left corner at (x, y)."""
        pieces = tuple(piece.moved(x - self.box.x, y - self.box.y) for piece in self.pieces)
        return TextBlock(pieces, Box(x=x, y=y, width=self.box.width, height=self.box.height))

    @property
    def x(self) -> float:
        """The x of its left edge."""
        return self.box.x

    @property
    def y(self) -> float:
        """The y of its head."""
        return self.box.y

    @property
    def width(self) -> float:
        """From its left edge to its right one."""
        return self.box.width

    @property
    def height(self) -> float:
        """From head to foot."""
        return self.box.height

    @property
    def bottom(self) -> float:
        """The y of its foot."""
        return self.box.bottom

    def piece(self, name: str) -> Piece:
        """The piece with this id."""
        return next(piece for piece in self.pieces if piece.id == name)


def column(
    blocks: Sequence[TextBlock | None], gap: float | Sequence[float], *, width: float, align: Align
) -> TextBlock | None:
    """Blocks below each other, `gap` apart (one number, or one for the space above each), absent ones left out."""
    gaps = [gap] * len(blocks) if isinstance(gap, int | float) else list(gap)
    pieces: list[Piece] = []
    y = 0.0
    for block, above in zip(blocks, gaps):
        if block is None:
            continue
        y += above if pieces else 0.0
        pieces += block.at(across(block.width, width, align), y).pieces
        y += block.height
    return TextBlock(tuple(pieces), _area(width, y)) if pieces else None


def row(left: TextBlock | None, right: TextBlock | None, *, width: float, level: Place) -> TextBlock | None:
    """One block at the left end and one at the right end of `width`."""
    present = [block for block in (left, right) if block is not None]
    if not present:
        return None
    height = max(block.height for block in present)
    share = {"top": 0.0, "middle": 0.5, "bottom": 1.0}[level]
    pieces: tuple[Piece, ...] = ()
    for block in present:
        x = 0.0 if block is left else width - block.width
        pieces += block.at(x, share * (height - block.height)).pieces
    return TextBlock(pieces, _area(width, height))


def across(width: float, room: float, align: Align) -> float:
    """The x at which something of `width` stands in a `room` that starts at 0."""
    return (room - width) * {"left": 0.0, "center": 0.5, "right": 1.0}[align]


def shifted(box: Box, dx: float, dy: float) -> Box:
    """The box moved."""
    return Box(x=box.x + dx, y=box.y + dy, width=box.width, height=box.height)


# Texts in their usual dress, and the groups they form


def set_headline(s: PosterSheet, width: float, height: float, *, over: Over = "ground", loud: float = 1.0) -> TextBlock:
    """The headline as large as the frame and the scale allow; NoRoom where it would not lead the page."""
    size = s.body * s.plan.scale.headline * loud
    upper = s.plan.texts["headline"].isupper()
    block = s.text(
        "headline",
        width,
        height,
        size=size,
        smallest=min(size, 1.55 * s.body),
        over=over,
        face=s.plan.display,
        leading=1.0 if upper else 1.08,
    )
    if block is None:
        raise NoRoom
    return block


def set_subhead(s: PosterSheet, width: float, *, over: Over = "ground") -> TextBlock | None:
    """The sub-head, at its step of the scale."""
    size = s.body * s.plan.scale.subhead
    return s.text("subhead", width, size=size, over=over, leading=1.26, smallest=0.75 * size)


def set_body(s: PosterSheet, width: float, *, over: Over = "ground") -> TextBlock | None:
    """The body text, its lines no longer than is comfortable to read."""
    size = s.body * s.plan.scale.body
    short = len(s.plan.texts.get("body", "")) < 160
    return s.text("body", min(width, 33 * size), size=size, over=over, leading=1.45, balanced=short)


def set_brand(s: PosterSheet, width: float, *, over: Over = "ground") -> TextBlock | None:
    """The brand, small and firm."""
    size = s.body * s.plan.scale.small
    return s.text("brand", width, size=size, over=over, face=firm(s), tight=True, leading=1.2)


def firm(s: PosterSheet) -> Face:
    """The text face in its firm cut."""
    face = s.plan.text
    return face.model_copy(update={"weight": find_family(face.family).nearest(max(700, face.weight))})


def set_facts(s: PosterSheet, width: float, *, over: Over = "ground") -> TextBlock | None:
    """When and where, together."""
    size = s.body * s.plan.scale.body
    when = s.text("when", width, size=1.22 * size, over=over, face=firm(s), leading=1.25)
    where = s.text("where", width, size=size, over=over, leading=1.35)
    return column((when, where), 0.55 * s.body, width=width, align=s.align)


def set_wide_facts(s: PosterSheet, width: float, *, over: Over = "ground") -> TextBlock | None:
    """When at the left end and where at the right end of one line; below each other where they are too long."""
    lengths = [len(s.plan.texts.get(role, "")) for role in ("when", "where")]
    if not all(lengths) or s.align == "center":
        return set_facts(s, width, over=over)
    size = 0.94 * s.body * s.plan.scale.body
    share = min(0.62, max(0.38, lengths[0] / sum(lengths)))
    room = width - 1.5 * s.gap
    when = s.text("when", share * room, size=size, over=over, face=firm(s), leading=1.3, align="left")
    where = s.text("where", (1 - share) * room, size=size, over=over, leading=1.3, align="right")
    return row(when, where, width=width, level="top")


def set_action(s: PosterSheet, width: float, *, over: Over = "ground") -> TextBlock | None:
    """The call to action with its mark: a filled pill or box, an outline, or a line under it."""
    palette, size = s.plan.palette, 1.04 * s.body * s.plan.scale.body
    ground = s.color(over)
    fill, ink = (palette.on_accent, palette.accent) if over == "accent" else (palette.accent, palette.on_accent)
    way = s.plan.cta
    if way in ("pill", "box") and difference(fill, ground) < 0.12:
        way = "outline"
    filled = way in ("pill", "box")
    colors = (ink, fill) if filled else (s.ink("cta", over), ground)
    pad = 0.0 if way == "line" else 1.2 * size
    words = s.text("cta", width - 2 * pad, size=size, face=firm(s), tight=True, leading=1.25, colors=colors)
    if words is None:
        return None
    mark = palette.accent if way == "line" and over == "ground" else fill if filled else colors[0]
    if way == "line":
        frame = Box(x=0, y=words.height + 0.38 * size, width=words.width, height=max(1.0, 0.14 * size))
        line = Piece("cta-mark", "ornament", frame, mark, shape="rule")
        return TextBlock((line, *words.pieces), _area(words.width, frame.bottom))
    # Centred from capitals to last baseline, so that descenders do not push the words up.
    (piece,) = words.pieces
    first, last = (piece.text.lines[at].baseline + piece.dy for at in (0, -1))
    capitals, above = 0.71 * piece.text.size, 0.74 * size
    frame = Box(x=0, y=0, width=words.width + 2 * pad, height=last - first + capitals + 2 * above)
    button = Piece("cta-mark", "ornament", frame, mark, shape=way)
    return TextBlock((button, *words.at(pad, above + capitals - first).pieces), _area(frame.width, frame.height))


def set_rule(s: PosterSheet, width: float, color: str, *, weight: float = 0.16) -> TextBlock:
    """A line across `width`."""
    number = 1 + sum(shape.shape == "rule" for shape in s.shapes)
    frame = Box(x=0, y=0, width=width, height=max(1.0, weight * s.body))
    return TextBlock((Piece(f"rule-{number}", "ornament", frame, color, shape="rule"),), _area(width, frame.height))


def set_closing(s: PosterSheet, width: float, *, over: Over = "ground") -> TextBlock | None:
    """Facts and call to action: side by side where there is room, below each other otherwise."""
    button = set_action(s, width, over=over)
    room = width if button is None else width - button.width - 2 * s.gap
    if button is None or s.align == "center" or room < 14 * s.body:
        return column((set_facts(s, width, over=over), button), 1.35 * s.gap, width=width, align=s.align)
    notes = set_facts(s, room, over=over)
    if notes is None:
        return column((button,), 0, width=width, align=s.align)
    pair = (notes, button) if s.align == "left" else (button, notes)
    return row(*pair, width=width, level="bottom" if s.plan.cta == "line" else "middle")


def set_footer(s: PosterSheet, width: float, *, over: Over = "ground") -> TextBlock | None:
    """Facts, call to action and brand; the brand opposite the others where only one of them is there."""
    name = set_brand(s, 0.4 * width, over=over)
    texts = s.plan.texts
    lone = bool(texts.get("cta")) != bool(texts.get("when") or texts.get("where"))
    room = 0.0 if name is None else width - name.width - 2 * s.gap
    if name is None or not lone or s.align == "center" or room < 13 * s.body:
        name = set_brand(s, width, over=over)
        return column((set_closing(s, width, over=over), name), 1.9 * s.gap, width=width, align=s.align)
    notes = set_action(s, room, over=over) if texts.get("cta") else set_facts(s, room, over=over)
    pair = (notes, name) if s.align == "left" else (name, notes)
    return row(*pair, width=width, level="middle" if texts.get("cta") else "bottom")
