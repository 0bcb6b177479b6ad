"""Shaped lines against the pixels of another rasteriser, against another layout engine, and by property."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import skia
from PIL import ImageFont

from salon.errors import BadValue
from salon.render import FAMILIES, Box, Face, Glyphs, Path, outlines
from salon.render.typeset.fonts import SLANT, LoadedFont, load_font
from salon.render.typeset.shape import ShapedLine, shape_line

WIDTH, HEIGHT, X, Y = 1100, 260, 90, 160


@functools.cache
def typeface(key: str) -> skia.Typeface:
    """The font as Skia's own FreeType reads it."""
    font = load_font(key)
    plain = skia.Typeface.MakeFromData(skia.Data.MakeWithCopy(font.data), font.index)
    if not font.variations:
        return plain
    position = skia.FontArguments.VariationPosition
    places = position.Coordinates(
        [position.Coordinate(int.from_bytes(tag.encode(), "big"), place) for tag, place in font.variations.items()]
    )
    wanted = position(places)  # Skia keeps pointers to both: they must outlive the clone
    arguments = skia.FontArguments()
    arguments.setVariationDesignPosition(wanted)
    return plain.makeClone(arguments)


def skia_font(font: LoadedFont, size: float) -> skia.Font:
    cut = skia.Font(typeface(font.key), size)
    cut.setHinting(skia.FontHinting.kNone)
    cut.setSubpixel(True)
    cut.setEdging(skia.Font.Edging.kAntiAlias)
    if font.synthetic_oblique:
        cut.setSkewX(-SLANT)
    return cut


def ink_of(draw) -> np.ndarray:
    surface = skia.Surface(WIDTH, HEIGHT)
    canvas = surface.getCanvas()
    canvas.clear(skia.ColorWHITE)
    draw(canvas, skia.Paint(AntiAlias=True, Color=skia.ColorBLACK))
    return 255 - surface.toarray()[..., 0].astype(int)


def drawn(line: ShapedLine) -> np.ndarray:
    """The line painted from the letters Skia's FreeType draws, which have not seen HarfBuzz."""

    def draw(canvas, paint):
        for run in line.runs:
            font = skia_font(load_font(run.face), line.size)
            for glyph, x, y in zip(run.ids, run.xs, run.ys):
                letter = font.getPath(glyph)
                letter.offset(x + X, y + Y)
                canvas.drawPath(letter, paint)

    return ink_of(draw)


def assert_bounds(pixels: np.ndarray, box: Box) -> None:
    """The box is the inked pixels' within one pixel on every side."""
    rows, columns = np.nonzero(pixels > 8)
    seen = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
    told = np.array([box.x + X, box.y + Y, box.right + X, box.bottom + Y])
    assert np.abs(seen - told).max() <= 1.0, (seen, told)


@pytest.mark.parametrize("name", FAMILIES)
def test_ink_boxes_are_the_pixels(name):
    weight, italic = FAMILIES[name].weights[-1], name < "M"
    line = shape_line("Qjuf Ágy", Face(family=name, weight=weight, italic=italic), 88.5)
    pixels = drawn(line)
    assert_bounds(pixels, line.ink)
    if line.words[0].box.right + 2 < line.words[1].box.x:
        middle = int((line.words[0].box.right + line.words[1].box.x) / 2) + X
        first, second = pixels.copy(), pixels.copy()
        first[:, middle:], second[:, :middle] = 0, 0
        assert_bounds(first, line.words[0].box)
        assert_bounds(second, line.words[1].box)


@pytest.mark.parametrize("text", ["مهرجان الضوء 2026", "שלום Tel Aviv (12)", "東京の夜、静か", "Zażółć ★ 서울", "नमस्ते"])
def test_ink_boxes_of_other_scripts(text):
    line = shape_line(text, Face(family="Playfair Display", weight=700), 72)
    assert_bounds(drawn(line), line.ink)


@pytest.mark.parametrize("key", ["Inter:700", "Lobster:400:italic", "Bodoni Moda:900:italic", "Noto Sans JP:600"])
def test_outlines_are_the_glyphs(key):
    line = shape_line("Rhythm & Büro 58", load_font(key).face, 96)
    run = line.runs[0]
    mark = Glyphs(key, 96, run.ids, tuple(x + X for x in run.xs), tuple(y + Y for y in run.ys), "#000000")
    difference = np.abs(ink_of(lambda canvas, paint: canvas.drawPath(skia_path(outlines(mark)), paint)) - drawn(line))
    assert difference.mean() < 0.1
    assert (difference > 64).sum() < 50  # single pixels in narrow corners


def skia_path(path: Path) -> skia.Path:
    out = skia.Path()
    pens = {"M": out.moveTo, "L": out.lineTo, "Q": out.quadTo, "C": out.cubicTo}
    for name, *numbers in path.commands:
        pens[name](*numbers) if numbers else out.close()
    return out


@pytest.mark.parametrize("key", ["Poppins:700", "Anton:400", "Amiri:400", "Zilla Slab:500:italic", "Lobster:400"])
@pytest.mark.parametrize("text", ["Tomorrow AVATAR To. Wave", "office waffle fjord", "Łódź, Ålesund & Győr 1920"])
def test_advance_is_that_of_another_layout_engine(key, text):
    """Pillow lays out with Raqm; at a size of one em per font unit its pixels are font units."""
    font = load_font(key)
    other = ImageFont.truetype(str(font.file), font.upem, layout_engine=ImageFont.Layout.RAQM)
    assert shape_line(text, font.face, font.upem).advance == pytest.approx(other.getlength(text), abs=len(text) * 0.5)


@pytest.mark.parametrize("text", ["مهرجان الضوء 2026 م", "הופעה חיה 20:30 ב-Tel Aviv"])
def test_mixed_directions_are_laid_out_like_raqm(text):
    font = load_font("Amiri:400" if "م" in text else "Heebo:400")
    other = ImageFont.truetype(str(font.file), 80, layout_engine=ImageFont.Layout.RAQM)
    mask = other.getmask(text, mode="L")
    theirs = np.asarray(mask).reshape(mask.size[::-1]).sum(0).astype(float)
    ours = drawn(shape_line(text, font.face, 80)).sum(0)[X : X + len(theirs)]
    assert np.corrcoef(ours, theirs)[0, 1] > 0.95
    assert np.corrcoef(ours, theirs[::-1])[0, 1] < 0.5


def test_everything_scales_with_size():
    small, large = (shape_line("Fjord & Höhe", Face(family="Lora"), size) for size in (20, 200))
    assert large.advance == pytest.approx(10 * small.advance)
    assert large.ink.width == pytest.approx(10 * small.ink.width, abs=0.06)
    assert large.runs[0].ids == small.runs[0].ids


def test_tracking_opens_every_gap_but_the_last_and_parts_ligatures():
    face = Face(family="EB Garamond")
    plain, open_ = (shape_line("office", face, 100, tracking=tracking) for tracking in (0, 0.1))
    assert len(plain.runs[0].ids) < len(open_.runs[0].ids) == 6
    closed = shape_line("office", face, 100, tracking=1e-12)
    assert open_.advance == pytest.approx(closed.advance + 5 * 10)
    assert open_.ink.width == pytest.approx(closed.ink.width + 5 * 10, abs=0.02)


@pytest.mark.parametrize(("text", "family"), [("Summer", "Pacifico"), ("مهرجان", "Inter"), ("नमस्ते", "Inter")])
def test_joined_letters_are_never_torn_apart(text, family):
    face = Face(family=family)
    assert shape_line(text, face, 50, tracking=0.2) == shape_line(text, face, 50)


def test_shifts_move_glyphs_and_accents_stay_on_their_letters():
    face = Face(family="Inter")
    before, after = shape_line("abc", face, 40), shape_line("abc", face, 40, shifts=[0, 3, -2])
    assert np.subtract(after.runs[0].xs, before.runs[0].xs) == pytest.approx([0, 3, -2])
    text = "x\u0301g"  # no composed form: a letter and its mark, two glyphs
    moved = np.subtract(shape_line(text, face, 40, shifts=[5, 0, 0]).runs[0].xs, shape_line(text, face, 40).runs[0].xs)
    assert moved == pytest.approx([5, 5, 0])


def test_words_are_in_reading_order():
    line = shape_line("שלום לכל העולם", Face(family="Heebo"), 40)
    assert [word.text for word in line.words] == ["שלום", "לכל", "העולם"]
    assert line.words[0].box.x > line.words[1].box.right > line.words[2].box.right
    assert line.words[0].box.right == pytest.approx(line.ink.right, abs=0.02)


def test_nothing_has_no_ink():
    for text in ("", "   ", "\u200b"):
        line = shape_line(text, Face(family="Inter"), 40)
        assert (line.runs, line.ink.width) == ((), 0)


def test_a_line_end_inside_a_line_is_a_space():
    assert shape_line("a\nb", Face(family="Inter"), 40) == shape_line("a b", Face(family="Inter"), 40)


def test_bad_text_is_refused_before_shaping():
    with pytest.raises(BadValue, match=r"U\+D83D"):
        shape_line("half an emoji \ud83d", Face(family="Inter"), 40)
