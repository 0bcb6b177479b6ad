"""Texts in their usual dress, and the groups they form: when with where, the call to action with its mark.

Every function gives a block to be placed, or None where the plan has no such text.
"""

from __future__ import annotations

from salon.render.arrangements.blocks import Block, Piece, ShapeKind, column, row
from salon.render.arrangements.sheet import NoRoom, Over, Sheet
from salon.render.colors import difference
from salon.render.layout import Box, Face
from salon.render.typeset.families import find_family


def headline(s: Sheet, width: float, height: float, *, over: Over = "ground", loud: float = 1.0) -> Block:
    """The headline as large as the frame and the scale allow; NoRoom where it would not lead the page."""
    wanted = s.body * s.plan.scale.headline * loud
    upper = s.plan.texts["headline"].isupper()
    block = s.text(
        "headline",
        width,
        height,
        size=wanted,
        smallest=min(wanted, 1.55 * s.body),
        over=over,
        face=s.plan.display,
        leading=1.0 if upper else 1.08,
    )
    if block is None:
        raise NoRoom
    return block


def subhead(s: Sheet, width: float, *, over: Over = "ground") -> Block | None:
    """The sub-head, at its step of the scale."""
    size = s.body * s.plan.scale.subhead
    return s.text("subhead", width, size=size, over=over, leading=1.26, smallest=0.75 * size)


def running(s: Sheet, width: float, *, over: Over = "ground") -> Block | None:
    """The body text, its lines no longer than is comfortable to read."""
    size = s.body * s.plan.scale.body
    short = len(s.plan.texts.get("body", "")) < 160
    return s.text("body", min(width, 33 * size), size=size, over=over, leading=1.45, balanced=short)


def brand(s: Sheet, width: float, *, over: Over = "ground") -> Block | None:
    """The brand, small and firm."""
    size = s.body * s.plan.scale.small
    return s.text("brand", width, size=size, over=over, face=firm(s), tight=True, leading=1.2)


def firm(s: Sheet) -> Face:
    """The text face in its firm cut."""
    face = s.plan.text
    return face.model_copy(update={"weight": find_family(face.family).nearest(max(700, face.weight))})


def facts(s: Sheet, width: float, *, over: Over = "ground") -> Block | None:
    """When and where, together."""
    size = s.body * s.plan.scale.body
    when = s.text("when", width, size=1.22 * size, over=over, face=firm(s), leading=1.25)
    where = s.text("where", width, size=size, over=over, leading=1.35)
    return column((when, where), 0.55 * s.body, width=width, align=s.align)


def wide_facts(s: Sheet, width: float, *, over: Over = "ground") -> Block | None:
    """When at the left end and where at the right end of one line; below each other where they are too long."""
    lengths = [len(s.plan.texts.get(role, "")) for role in ("when", "where")]
    if not all(lengths) or s.align == "center":
        return facts(s, width, over=over)
    size = 0.94 * s.body * s.plan.scale.body
    share = min(0.62, max(0.38, lengths[0] / sum(lengths)))
    room = width - 1.5 * s.gap
    when = s.text("when", share * room, size=size, over=over, face=firm(s), leading=1.3, align="left")
    where = s.text("where", (1 - share) * room, size=size, over=over, leading=1.3, align="right")
    return row(when, where, width=width, level="top")


def action(s: Sheet, width: float, *, over: Over = "ground") -> Block | None:
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
    return _underlined(words, size, mark) if way == "line" else _boxed(words, size, pad, mark, way)


def _underlined(words: Block, size: float, color: str) -> Block:
    frame = Box(x=0, y=words.height + 0.38 * size, width=words.width, height=max(1.0, 0.14 * size))
    mark = Piece("cta-mark", "ornament", frame, color, shape="rule")
    return Block((mark, *words.pieces), words.width, frame.bottom)


def _boxed(words: Block, size: float, pad: float, color: str, shape: ShapeKind) -> Block:
    """Words in a box, centred from capitals to last baseline, so that descenders do not push them up."""
    (piece,) = words.pieces
    first, last = (piece.text.lines[at].baseline + piece.dy for at in (0, -1))
    capitals, above = 0.71 * piece.text.size, 0.74 * size
    frame = Box(x=0, y=0, width=words.width + 2 * pad, height=last - first + capitals + 2 * above)
    mark = Piece("cta-mark", "ornament", frame, color, shape=shape)
    return Block((mark, *words.at(pad, above + capitals - first).pieces), frame.width, frame.height)


def rule(s: Sheet, width: float, color: str, *, weight: float = 0.16) -> Block:
    """A line across `width`."""
    number = 1 + sum(shape.shape == "rule" for shape in s.shapes)
    frame = Box(x=0, y=0, width=width, height=max(1.0, weight * s.body))
    return Block((Piece(f"rule-{number}", "ornament", frame, color, shape="rule"),), width, frame.height)


def closing(s: Sheet, width: float, *, over: Over = "ground") -> Block | None:
    """Facts and call to action: side by side where there is room, below each other otherwise."""
    button = action(s, width, over=over)
    room = width if button is None else width - button.width - 2 * s.gap
    if button is None or s.align == "center" or room < 14 * s.body:
        return column((facts(s, width, over=over), button), 1.35 * s.gap, width=width, align=s.align)
    notes = facts(s, room, over=over)
    if notes is None:
        return column((button,), 0, width=width, align=s.align)
    pair = (notes, button) if s.align == "left" else (button, notes)
    return row(*pair, width=width, level="bottom" if s.plan.cta == "line" else "middle")


def footer(s: Sheet, width: float, *, over: Over = "ground") -> Block | None:
    """Facts, call to action and brand; the brand opposite the others where only one of them is there."""
    name = brand(s, 0.4 * width, over=over)
    texts = s.plan.texts
    lone = bool(texts.get("cta")) != bool(texts.get("when") or texts.get("where"))
    room = 0.0 if name is None else width - name.width - 2 * s.gap
    if name is None or not lone or s.align == "center" or room < 13 * s.body:
        name = brand(s, width, over=over)
        return column((closing(s, width, over=over), name), 1.9 * s.gap, width=width, align=s.align)
    kept = action(s, room, over=over) if texts.get("cta") else facts(s, room, over=over)
    pair = (kept, name) if s.align == "left" else (name, kept)
    return row(*pair, width=width, level="middle" if texts.get("cta") else "bottom")
