"""Pieces and blocks: texts and ornaments that have a size, and come to their place by being moved.

A block's own corner is (0, 0) until it is moved. Its height runs from the top of the highest ink to the foot of the
lowest, so that distances between blocks are the ones an eye sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from salon.render.brief import Align, Place
from salon.render.layout import Box, Role
from salon.render.typeset.setting import SetText

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


@dataclass(frozen=True, slots=True)
class Block:
    """Pieces that stay together, from (x, y)."""

    pieces: tuple[Piece, ...]
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0

    def at(self, x: float, y: float) -> Block:
        """The block with its upper left corner at (x, y)."""
        pieces = tuple(piece.moved(x - self.x, y - self.y) for piece in self.pieces)
        return replace(self, pieces=pieces, x=x, y=y)

    @property
    def box(self) -> Box:
        """The area it takes."""
        return Box(x=self.x, y=self.y, width=self.width, height=self.height)

    @property
    def bottom(self) -> float:
        """The y of its foot."""
        return self.y + self.height

    def piece(self, name: str) -> Piece:
        """The piece with this id."""
        return next(piece for piece in self.pieces if piece.id == name)


def column(blocks: Sequence[Block | None], gap: float | Sequence[float], *, width: float, align: Align) -> Block | None:
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
    return Block(tuple(pieces), width, y) if pieces else None


def row(left: Block | None, right: Block | None, *, width: float, level: Place) -> Block | None:
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
    return Block(pieces, width, height)


def across(width: float, room: float, align: Align) -> float:
    """The x at which something of `width` stands in a `room` that starts at 0."""
    return (room - width) * {"left": 0.0, "center": 0.5, "right": 1.0}[align]


def shifted(box: Box, dx: float, dy: float) -> Box:
    """The box moved."""
    return Box(x=box.x + dx, y=box.y + dy, width=box.width, height=box.height)
