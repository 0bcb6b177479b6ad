"""The sheet an arrangement works on: measures, inks, and ready-made groups of text to put in their places.

Sizes come from one module, the body size, a share of the canvas's shorter side by format; the plan's scale gives the
others as multiples. A text that is absent from the plan gives no block, and blocks of `None` are left out everywhere,
so a missing line never leaves a hole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from salon.render.arrangements.blocks import Block, Piece, ShapeKind, across, column, row
from salon.render.brief import Align, Format, Place
from salon.render.chance import chance
from salon.render.colors import difference
from salon.render.families import find_family
from salon.render.layout import Box, Face
from salon.render.plan import Plan
from salon.render.setting import SetText, set_text

Over = Literal["ground", "surface", "accent"]

BODY: dict[Format, float] = {
    "poster": 0.0275,
    "flyer": 0.0275,
    "card": 0.0300,
    "square": 0.0310,
    "slide": 0.0325,
    "logo": 0.0290,
}
"""Body size as a share of the shorter side."""

BREATH = 0.015
"""Share of the height by which a headline's centre keeps inside its third."""


class NoRoom(Exception):
    """The texts do not fit this arrangement at this size: try smaller, or another."""


class Sheet:
    """An empty canvas with its measures, and what an arrangement puts on it.

    From the lowest: `sheets` and `backs` (panels and shapes below the picture), `pictures`, `panels`, `shapes` and
    `blocks`.
    """

    def __init__(self, plan: Plan, zoom: float = 1.0) -> None:
        self.plan = plan
        self.width, self.height = plan.width, plan.height
        self.short = min(self.width, self.height)
        self.landscape = self.width > 1.15 * self.height
        self.margin = plan.margin * self.short
        self.body = BODY[plan.brief.format] * self.short * _fewness(plan) * zoom
        self.gap = 1.15 * self.body * plan.air
        self.align: Align = plan.align
        self.rng = chance(plan.seed, "arrangement", plan.arrangement)
        self.blocks: list[Block] = []
        self.pictures: list[Box] = []
        self.panels: list[Box] = []
        self.sheets: list[Box] = []
        self.shapes: list[Piece] = []
        self.backs: list[Piece] = []
        self._set: dict[tuple, SetText] = {}

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
            return str(getattr(palette, self.plan.headline_ink))
        return palette.ink_soft if role in ("body", "brand") else palette.ink

    # Putting things on the sheet

    def put(self, block: Block | None, x: float, y: float) -> Block | None:
        """The block, at (x, y) of the canvas."""
        if block is None:
            return None
        placed = block.at(x, y)
        self.blocks.append(placed)
        return placed

    def put_across(self, block: Block | None, y: float) -> Block | None:
        """The block between the margins, by the plan's alignment."""
        if block is None:
            return None
        return self.put(block, self.margin + across(block.width, self.measure, self.align), y)

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
        role: str,
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
    ) -> Block | None:
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
        align = align or self.align
        face = face or self.plan.text
        # Arrangements measure a text before they place it: the second time is free.
        key = (role, width, height, size, face.key, align, ink)
        if key not in self._set:
            self._set[key] = set_text(
                words,
                face,
                Box(x=0, y=0, width=width, height=height or self.height),
                size=size,
                smallest=smallest or 0.8 * size,
                leading=leading,
                align=align,
                tracking=self.plan.tracking.get(role, 0.0),
                paint=ink,
                balanced=balanced,
                role=role,
                **self._kerning(role),
            )
        done = self._set[key]
        box = done.box
        room = box.width if tight else width
        dx = {"left": -box.x, "center": (room - box.width) / 2 - box.x, "right": room - box.right}[align]
        frame = Box(x=-dx, y=box.y, width=room, height=box.height)
        piece = Piece(role, role, frame, ink, ground, done)
        return Block((piece.moved(dx, -box.y),), room, box.height)

    def _kerning(self, role: str) -> dict:
        if role != "headline" or not self.plan.kerning:
            return {}
        return {"kerning": self.plan.kerning, "shifts_rng": chance(self.plan.seed, "kerning")}

    def headline(
        self, width: float, height: float, *, over: Over = "ground", align: Align | None = None, loud: float = 1.0
    ) -> Block:
        """The headline as large as the frame and the scale allow; NoRoom where it would not lead the page."""
        wanted = self.body * self.plan.scale.headline * loud
        upper = self.plan.texts["headline"].isupper()
        block = self.text(
            "headline",
            width,
            height,
            size=wanted,
            smallest=min(wanted, 1.55 * self.body),
            over=over,
            face=self.plan.display,
            leading=1.0 if upper else 1.08,
            align=align,
        )
        if block is None:
            raise NoRoom
        return block

    def subhead(self, width: float, *, over: Over = "ground", align: Align | None = None) -> Block | None:
        """The sub-head, at its step of the scale."""
        size = self.body * self.plan.scale.subhead
        return self.text("subhead", width, size=size, over=over, leading=1.26, align=align, smallest=0.75 * size)

    def running(self, width: float, *, over: Over = "ground", align: Align | None = None) -> Block | None:
        """The body text, its lines no longer than is comfortable to read."""
        size = self.body * self.plan.scale.body
        return self.text("body", min(width, 33 * size), size=size, over=over, leading=1.45, align=align, balanced=False)

    def brand(self, width: float, *, over: Over = "ground", align: Align | None = None) -> Block | None:
        """The brand, small and firm."""
        size = self.body * self.plan.scale.small
        return self.text("brand", width, size=size, over=over, face=self.bold, align=align, tight=True, leading=1.2)

    @property
    def bold(self) -> Face:
        """The text face in its firm cut."""
        face = self.plan.text
        return face.model_copy(update={"weight": find_family(face.family).nearest(max(700, face.weight))})

    # Groups

    def facts(self, width: float, *, over: Over = "ground", align: Align | None = None) -> Block | None:
        """When and where, together."""
        align = align or self.align
        size = self.body * self.plan.scale.body
        when = self.text("when", width, size=1.22 * size, over=over, face=self.bold, leading=1.25, align=align)
        where = self.text("where", width, size=size, over=over, leading=1.35, align=align)
        return column((when, where), 0.55 * self.body, width=width, align=align)

    def wide_facts(self, width: float, *, over: Over = "ground") -> Block | None:
        """When at the left end and where at the right end of one line; below each other where they are too long."""
        half = (width - 2 * self.gap) / 2
        both = all(self.plan.texts.get(role) for role in ("when", "where"))
        if not both or self.align == "center":
            return self.facts(width, over=over)
        size = self.body * self.plan.scale.body
        when = self.text("when", half, size=size, over=over, face=self.bold, leading=1.3, align="left")
        where = self.text("where", half, size=size, over=over, leading=1.3, align="right")
        return row(when, where, width=width, level="top")

    def action(self, width: float, *, over: Over = "ground") -> Block | None:
        """The call to action with its mark: a filled pill or box, an outline, or a line under it."""
        palette, size = self.plan.palette, self.body * self.plan.scale.body
        ground = self.color(over)
        fill, ink = (palette.on_accent, palette.accent) if over == "accent" else (palette.accent, palette.on_accent)
        way = self.plan.cta
        if way in ("pill", "box") and difference(fill, ground) < 0.12:
            way = "outline"
        filled = way in ("pill", "box")
        colors = (ink, fill) if filled else (self.ink("cta", over), ground)
        pad_x, pad_y = (0.0, 0.0) if way == "line" else (1.25 * size, 0.72 * size)
        words = self.text(
            "cta", width - 2 * pad_x, size=1.04 * size, face=self.bold, tight=True, leading=1.25, colors=colors
        )
        if words is None:
            return None
        wide, high = words.width + 2 * pad_x, words.height + 2 * pad_y
        if way == "line":
            frame = Box(x=0, y=words.height + 0.38 * size, width=wide, height=max(1.0, 0.14 * size))
            mark = Piece("cta-mark", "ornament", frame, palette.accent if over == "ground" else colors[0], shape="rule")
            return Block((mark, *words.pieces), wide, frame.bottom)
        mark = Piece(
            "cta-mark", "ornament", Box(x=0, y=0, width=wide, height=high), fill if filled else colors[0], shape=way
        )
        return Block((mark, *words.at(pad_x, pad_y).pieces), wide, high)

    def rule(self, width: float, color: str, *, weight: float = 0.16) -> Block:
        """A line across `width`."""
        number = 1 + sum(shape.shape == "rule" for shape in self.shapes)
        frame = Box(x=0, y=0, width=width, height=max(1.0, weight * self.body))
        return Block((Piece(f"rule-{number}", "ornament", frame, color, shape="rule"),), width, frame.height)

    def closing(self, width: float, *, over: Over = "ground") -> Block | None:
        """Facts and call to action: side by side where there is room, below each other otherwise."""
        action = self.action(width, over=over)
        beside = action is not None and self.align != "center" and width - action.width - 2 * self.gap > 14 * self.body
        if not beside:
            facts = self.facts(width, over=over)
            return column((facts, action), 1.35 * self.gap, width=width, align=self.align)
        facts = self.facts(width - action.width - 2 * self.gap, over=over)
        if facts is None:
            return column((action,), 0, width=width, align=self.align)
        pair = (facts, action) if self.align == "left" else (action, facts)
        return row(*pair, width=width, level="bottom" if self.plan.cta == "line" else "middle")

    def stack(self, blocks: Sequence[Block | None], gaps: float | Sequence[float], width: float) -> Block | None:
        """Blocks below each other under the plan's alignment; gaps in units of the sheet's gap."""
        spaces = [gaps] * len(blocks) if isinstance(gaps, int | float) else gaps
        return column(blocks, [space * self.gap for space in spaces], width=width, align=self.align)


def _fewness(plan: Plan) -> float:
    """Few words may be larger, many must be smaller: a factor on the body size."""
    count = sum(len(text) for role, text in plan.texts.items() if role != "headline")
    return min(1.22, max(0.92, 1.25 - 0.0013 * count))
