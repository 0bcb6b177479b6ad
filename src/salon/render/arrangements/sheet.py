"""The sheet an arrangement works on: measures, inks, and the means to set text and put things in their places.

Sizes come from one module, the body size, a share of the canvas's shorter side by format; the plan's scale gives the
others as multiples. A text that is absent from the plan gives no block, and blocks of `None` are left out everywhere,
so a missing line never leaves a hole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, overload

from salon.render.arrangements.blocks import Block, Piece, ShapeKind, across, column
from salon.render.brief import Align, Format, Place
from salon.render.chance import chance
from salon.render.layout import Box, Face, Role
from salon.render.plan import Plan
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
        self.gap = 1.15 * self.body * max(0.05, plan.air)
        self.align: Align = plan.align
        self.rng = chance(plan.seed, "arrangement", plan.arrangement)
        self.blocks: list[Block] = []
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
    def put(self, block: Block, x: float, y: float) -> Block: ...
    @overload
    def put(self, block: None, x: float, y: float) -> None: ...
    def put(self, block: Block | None, x: float, y: float) -> Block | None:
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
        frame = Box(x=0, y=0, width=width, height=height or self.height)
        how = _How(align or self.align, ink, size, smallest or 0.8 * size, leading, balanced)
        done = self._lettered(role, face or self.plan.text, frame, how)
        box = done.box
        room = box.width if tight else width
        dx = across(box.width, room, done.align) - box.x
        piece = Piece(role, role, Box(x=-dx, y=box.y, width=room, height=box.height), ink, ground, done)
        return Block((piece.moved(dx, -box.y),), room, box.height)

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
    def stack(self, blocks: tuple[Block | None, Block], gaps: float | Sequence[float], width: float) -> Block: ...
    @overload
    def stack(self, blocks: Sequence[Block | None], gaps: float | Sequence[float], width: float) -> Block | None: ...
    def stack(self, blocks: Sequence[Block | None], gaps: float | Sequence[float], width: float) -> Block | None:
        """Blocks below each other under the plan's alignment; gaps in units of the sheet's gap."""
        spaces = [gaps] * len(blocks) if isinstance(gaps, int | float) else gaps
        return column(blocks, [space * self.gap for space in spaces], width=width, align=self.align)


def _fewness(plan: Plan) -> float:
    """Few words may be larger, many must be smaller: a factor on the body size."""
    count = sum(len(text) for role, text in plan.texts.items() if role != "headline")
    return min(1.22, max(0.92, 1.25 - 0.0013 * count))
