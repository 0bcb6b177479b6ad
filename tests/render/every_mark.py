"""One small picture for each kind of mark, on 240 x 240 pixels."""

from __future__ import annotations

from salon.render import Fill, Glyphs, Group, Layer, Linear, Mark, Shadow, Stroke, Tile, shapes
from salon.render.marks import Grain, Radial, Soft
from salon.render.typeset.fonts import load_font

SIDE = 240
PAPER = Fill(shapes.rect(0, 0, SIDE, SIDE), "#e8d9b5")
BLUE, RED = "#1d5c8a", "#c8442f"
SLOPE = Linear(20, 30, 220, 200, ((0, RED, 1.0), (0.5, "#f2c14e", 1.0), (1, BLUE, 0.2)))
UPRIGHT = Linear(0, 30, 0, 200, ((0, RED, 1.0), (0.5, "#f2c14e", 1.0), (0.5, BLUE, 1.0), (1, BLUE, 0.2)))
GLOW = Radial(120, 120, 100, ((0, "#ffffff", 1.0), (1, BLUE, 1.0)))
BLOCK = shapes.rect(20, 30, 200, 170)


def glyphs(text: str, x: float, y: float, size: float, **look) -> Glyphs:
    """Unkerned letters, enough to see that they are drawn."""
    font = load_font("Anton:400")
    ids = tuple(font.hb.get_nominal_glyph(ord(letter)) for letter in text)
    steps = [font.hb.get_glyph_h_advance(glyph) * size / font.upem for glyph in ids]
    xs = tuple(x + sum(steps[:i]) for i in range(len(ids)))
    return Glyphs("Anton:400", size, ids, xs, (y,) * len(ids), look.pop("paint", BLUE), **look)


def dots(**look) -> Tile:
    """A pattern of dots that keep inside their cells."""
    return Tile((Fill(shapes.circle(10, 10, 5), RED),), 20, 20, shapes.circle(120, 120, 100), **look)


def stripes(**look) -> Tile:
    """A pattern that touches the edges of its cells."""
    return Tile((Fill(shapes.rect(0, 0, 12, 24), RED),), 24, 24, BLOCK, **look)


STAR = shapes.star(120, 120, 100, 45, 5)
CARD = Fill(shapes.rounded(60, 70, 120, 90, 16), "#fff8e7")
EVERY: dict[str, tuple[Mark, ...]] = {
    "fill": (Fill(STAR, BLUE),),
    "ring": (Fill(shapes.ring(120, 120, 90, 50), RED, 0.6),),
    "fill, sloping gradient": (Fill(BLOCK, SLOPE),),
    "fill, upright gradient": (Fill(BLOCK, UPRIGHT, 0.8),),
    "fill, radial gradient": (Fill(shapes.circle(120, 120, 100), GLOW),),
    "fill, blurred": (Fill(STAR, BLUE, 0.8, blur=2.5),),
    "fill, much blurred": (Fill(STAR, BLUE, blur=14, blend="multiply"),),
    "multiply": (Fill(STAR, BLUE, 0.9, "multiply"),),
    "screen": (Fill(STAR, BLUE, blend="screen"),),
    "overlay": (Fill(BLOCK, SLOPE, blend="overlay"),),
    "difference": (Fill(STAR, BLUE, blend="difference"),),
    "stroke": (Stroke(STAR, RED, 14),),
    "stroke, dashed": (Stroke(shapes.wave(10, 230, 120, 50, 110), SLOPE, 10, 0.9, cap="round", dash=(20, 16, 4)),),
    "stroke, round": (Stroke(shapes.polyline(((40, 200), (120, 40), (200, 200))), BLUE, 30, join="round"),),
    "glyphs": (glyphs("Ag&8", 20, 150, 100),),
    "glyphs, outlined": (glyphs("Ag&8", 20, 150, 100, outline=3.0, paint=RED),),
    "glyphs, glowing": (glyphs("Ag&8", 20, 150, 100, blur=8.0), glyphs("Ag&8", 20, 150, 100, paint=SLOPE)),
    "tile": (dots(),),
    "tile, turned": (dots(angle=30, opacity=0.7, blend="multiply"),),
    "tile, to the edge": (stripes(),),
    "tile, to the edge, turned": (stripes(angle=45),),
    "soft": (Soft((Fill(STAR, RED), Fill(shapes.circle(170, 170, 50), BLUE)), 12, 0.8),),
    "soft, screen": (Soft((Fill(STAR, RED),), 20, blend="screen"),),
    "group, clipped": (Group((Fill(BLOCK, RED), Fill(shapes.circle(200, 60, 80), BLUE)), clip=STAR),),
    "group, much in a clip": (
        Group(
            (
                *(Fill(shapes.circle(x, y, 30), RED, 0.7, "multiply") for x in (60, 120, 180) for y in (60, 120, 180)),
                Fill(shapes.rect(100, 0, 40, 240), BLUE),
            ),
            clip=STAR,
        ),
    ),
    "group, turned": (Group((CARD, Fill(STAR, RED, blend="multiply")), transform=shapes.turn(25, 120, 120)),),
    "group, faded": (Group((Fill(BLOCK, RED), Fill(STAR, BLUE)), opacity=0.5),),
    "group, shadow": (Group((CARD,), shadow=Shadow(10, 14, 9)),),
    "group, large shadow": (Group((Fill(BLOCK, "#fff8e7"),), shadow=Shadow(-8, 10, 6, RED, 0.7)),),
    "group, all": (
        Group((Fill(BLOCK, RED),), STAR, shapes.turn(20, 120, 120), 0.8, "multiply", Shadow(6, 10, 5, BLUE, 0.8)),
    ),
    "grain": (Grain(shapes.circle(120, 120, 100), 0.4, 7),),
}


def layers(name: str) -> tuple[Layer, ...]:
    """The picture of one kind."""
    return Layer("ground", (PAPER,)), Layer("mark", EVERY[name])
