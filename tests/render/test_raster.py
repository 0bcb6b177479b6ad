"""Pixels: by hand where arithmetic says what must come out, by another tool for blur, equal wherever drawn."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from every_mark import EVERY, PAPER, SIDE, STAR, glyphs, layers
from PIL import Image
from scipy.ndimage import gaussian_filter

from salon.errors import BadValue
from salon.render import Fill, Group, Layer, Linear, Mark, Shadow, Stroke, Tile, outlines, paint_png, shapes
from salon.render.marks import Grain, Radial, Soft
from salon.render.paint.raster import paint

HERE = Path(__file__).parent


def painted(*marks: Mark, width: int = 40, height: int = 40) -> np.ndarray:
    return paint((Layer("a", marks),), width, height).astype(int)


def covering(color: str, **look) -> Fill:
    return Fill(shapes.rect(-5, -5, 60, 60), color, **look)


def test_no_marks_leave_white_paper():
    assert (painted(width=7, height=3) == 255).all()
    assert painted(width=7, height=3).shape == (3, 7, 3)


def test_edges_fall_where_they_should():
    pixels = painted(Fill(shapes.rect(10, 5, 20, 8), "#123456"))
    assert (pixels[5:13, 10:30] == [0x12, 0x34, 0x56]).all()
    pixels[5:13, 10:30] = 255
    assert (pixels == 255).all()


def test_half_a_pixel_is_half_covered():
    pixels = painted(Fill(shapes.rect(10.5, 0, 10, 40), "#000000"))
    assert pixels[20, 10, 0] == pytest.approx(127.5, abs=2)


def test_even_odd_leaves_a_hole():
    hole = painted(Fill(shapes.ring(20, 20, 15, 8), "#000000"))
    assert hole[20, 20, 0] == 255
    assert hole[20, 8, 0] == 0


B, S = np.array([200, 120, 40]) / 255, np.array([90, 180, 220]) / 255
BLENDED = {
    "normal": S,
    "multiply": B * S,
    "screen": B + S - B * S,
    "overlay": np.where(B < 0.5, 2 * B * S, 1 - 2 * (1 - B) * (1 - S)),
    "difference": abs(B - S),
}


@pytest.mark.parametrize("blend", BLENDED)
@pytest.mark.parametrize("opacity", [1.0, 0.25])
def test_blends_by_formula(blend, opacity):
    expected = 255 * (B + opacity * (BLENDED[blend] - B))
    marks = (covering("#5ab4dc", blend=blend, opacity=opacity), covering("#5ab4dc"))
    for top in (marks[0], Group(marks[1:], blend=blend, opacity=opacity)):
        pixels = painted(covering("#c87828"), top)
        assert pixels[20, 20] == pytest.approx(expected, abs=1.6)


LADDER = ((0.0, "#000000", 1.0), (0.4, "#c80000", 1.0), (1.0, "#640000", 1.0))


@pytest.mark.parametrize("angle", [0, 35, 90])
@pytest.mark.parametrize("side", [100, 300])  # computed at every pixel, and drawn small
def test_gradients_by_formula(side, angle):
    middle = side / 2
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    line = Linear(*(middle - middle * np.array([c, s])), *(middle + middle * np.array([c, s])), LADDER)
    if angle == 90:  # exactly upright, which has a way of its own
        line = replace(line, x0=middle, x1=middle)
    y, x = np.mgrid[:side, :side] + 0.5
    place = ((x - middle) * c + (y - middle) * s + middle) / side
    pixels = painted(Fill(shapes.rect(0, 0, side, side), line), width=side, height=side)
    off = abs(pixels[..., 0] - np.interp(place, [0, 0.4, 1], [0, 200, 100]))
    assert off.max() <= 3  # at the crest of the ladder, where four pixels are one cell
    assert np.quantile(off, 0.98) <= 1.6


def test_a_radial_gradient_by_formula():
    y, x = np.mgrid[:300, :300] + 0.5
    place = np.hypot(x - 150, y - 150) / 140
    pixels = painted(Fill(shapes.rect(0, 0, 300, 300), Radial(150, 150, 140, LADDER)), width=300, height=300)
    off = abs(pixels[..., 0] - np.interp(place, [0, 0.4, 1], [0, 200, 100]))
    assert off.mean() < 1
    assert off[place > 0.05].max() < 8


@pytest.mark.parametrize("blur", [2, 6, 15])
def test_blur_is_gaussian(blur):
    sharp = painted(Fill(STAR, "#000000"), width=SIDE, height=SIDE)[..., 0].astype(float)
    true = gaussian_filter(sharp, blur, mode="constant", cval=255)
    for mark in (Fill(STAR, "#000000", blur=blur), Soft((Fill(STAR, "#000000"),), blur)):
        off = abs(painted(mark, width=SIDE, height=SIDE)[..., 0] - true)
        assert off.mean() < 1.3
        assert off.max() < 12


def test_a_shadow_falls_outside_and_keeps_its_direction():
    card = Fill(shapes.rect(70, 90, 100, 60), "#ffffff")
    shadow = Shadow(0, 30, 0, "#ff0000", 1.0)
    for turned in (0, 180):
        group = Group((card,), transform=shapes.turn(turned, 120, 120), shadow=shadow)
        pixels = painted(group, width=SIDE, height=SIDE)
        assert tuple(pixels[165, 120]) == (255, 0, 0)
        assert tuple(pixels[140, 120]) == tuple(pixels[75, 120]) == (255, 255, 255)


def test_leaving_out_hidden_shadow_changes_nothing_seen():
    big = Fill(STAR, "#fff8e7")
    shadow = Shadow(4, 6, 8, "#000000", 1.0)
    left_out = painted(PAPER, Group((big,), shadow=shadow), width=SIDE, height=SIDE)
    # A clip that cuts nothing keeps the whole shadow.
    whole = painted(PAPER, Group((big,), shapes.rect(-99, -99, 999, 999), shadow=shadow), width=SIDE, height=SIDE)
    assert abs(left_out - whole).max() <= 2


def test_a_pattern_repeats():
    tile = Tile((Fill(shapes.rect(0, 0, 5, 10), "#000000"),), 10, 10, shapes.rect(0, 0, 40, 40))
    assert (painted(tile)[..., 0] == np.tile([0] * 5 + [255] * 5, 4)).all()


def test_a_turned_pattern_has_as_much_ink():
    dot = Fill(shapes.circle(10, 10, 6), "#000000")
    area = shapes.rect(0, 0, SIDE, SIDE)
    ink = [(255 - painted(Tile((dot,), 20, 20, area, angle=a), width=SIDE, height=SIDE)).mean() for a in (0, 30, 77)]
    assert ink == pytest.approx([255 * np.pi * 36 / 400] * 3, rel=0.02)


def test_grain_keeps_the_mean_and_grows_with_amount():
    spreads = []
    for amount in (0.1, 0.3, 0.6):
        pixels = painted(covering("#808080"), Grain(shapes.rect(0, 0, 40, 40), amount, 5))
        assert pixels.mean() == pytest.approx(128, abs=6)
        spreads.append(pixels.std())
    assert spreads == sorted(spreads)
    assert spreads[1] > 2 * spreads[0]


def test_grain_differs_by_seed_and_is_coarser_with_larger_specks():
    def noise(seed, speck):
        pixels = painted(covering("#808080"), Grain(shapes.rect(0, 0, 40, 40), 0.5, seed, speck))
        return pixels[..., 0] - 128

    assert (noise(1, 1) != noise(2, 1)).any()
    neighbours = [np.corrcoef(n[:, 1:].ravel(), n[:, :-1].ravel())[0, 1] for n in (noise(1, 1), noise(1, 4))]
    assert abs(neighbours[0]) < 0.15
    assert neighbours[1] > 0.6


def test_letters_keep_to_the_shapers_boxes():
    mark = glyphs("H", 60, 180, 160, paint="#000000")
    seen = np.argwhere(painted(mark, width=SIDE, height=SIDE)[..., 0] < 128)
    extents = shapes.bounds(outlines(mark))
    assert tuple(seen.min(axis=0)) == pytest.approx((extents.y, extents.x), abs=1)
    assert tuple(seen.max(axis=0) + 1) == pytest.approx((extents.bottom, extents.right), abs=1)


def test_scale_draws_the_same_smaller():
    names = [name for name in EVERY if name != "grain"]
    for name in names:
        half = paint(layers(name), SIDE, SIDE, 0.5).astype(float)
        shrunk = paint(layers(name), SIDE, SIDE).astype(float).reshape(SIDE // 2, 2, SIDE // 2, 2, 3).mean(axis=(1, 3))
        assert abs(half - shrunk).mean() < 2.0, name


def test_a_png_holds_the_pixels():
    with Image.open(io.BytesIO(paint_png(layers("glyphs"), SIDE, SIDE))) as image:
        assert (np.asarray(image) == paint(layers("glyphs"), SIDE, SIDE)).all()


@pytest.mark.parametrize(("width", "height", "scale"), [(0, 10, 1), (10, 99_999, 1), (10, 10, 0.01), (10, 10, 1e5)])
def test_absurd_sizes_are_refused(width, height, scale):
    with pytest.raises(BadValue, match="pixels a side"):
        paint((), width, height, scale)


@pytest.mark.parametrize(
    "mark",
    [
        Fill(shapes.polygon(()), "#000000"),
        Stroke(shapes.line(5, 5, 5, 5), "#000000", 0),
        Soft((), 30),
        Group((), shadow=Shadow(1, 1, 5)),
        Group((covering("#000000"),), clip=shapes.polygon(())),
        Group((covering("#000000"),), transform=(0, 0, 0, 0, 0, 0), shadow=Shadow(1, 1, 5)),
        Soft((Fill(shapes.rect(900, 900, 10, 10), "#000000"),), 3),
    ],
)
def test_nothing_to_see_draws_nothing(mark):
    assert (painted(mark) == 255).all()


def every_hash() -> str:
    """One hash over all kinds of marks."""
    whole = hashlib.sha256()
    for name in EVERY:
        whole.update(paint(layers(name), SIDE, SIDE).tobytes())
    return whole.hexdigest()


def test_the_same_bytes_in_threads_processes_and_again():
    first = every_hash()
    with ThreadPoolExecutor(3) as threads:
        assert {job.result() for job in [threads.submit(every_hash) for _ in range(3)]} == {first}
    command = "import sys; sys.path.insert(0, sys.argv[1]); import test_raster; print(test_raster.every_hash())"
    run = subprocess.run(
        [sys.executable, "-c", command, str(HERE)], capture_output=True, text=True, check=True, timeout=300
    )
    assert run.stdout.strip() == first


MISSING = """
import sys
class Broken:
    def find_spec(self, name, *_):
        if name == 'skia':
            raise {error}
sys.meta_path.insert(0, Broken())
import salon.errors
try:
    import salon.render.paint.raster
except salon.errors.SalonError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("ImportError('libEGL.so.1: cannot open shared object file')", "libegl1 libgl1"),
        ("ModuleNotFoundError('No module named skia')", "pip install 'salon[generate]'"),
    ],
)
def test_a_missing_library_is_named(error, remedy):
    script = MISSING.format(error=error)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert remedy in run.stdout
    assert "Traceback" not in run.stderr
