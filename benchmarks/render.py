"""Posters of 1024 x 1448: from brief to PNG by phase, PNG writing, a simple poster beside Pillow, growth with pixels.

Processor milliseconds of one core, warm: each poster is made twice, the second counts. `posters` takes every style once
(one brief, house "plain"); its peer is Chromium drawing the SVG of the same posters to PNG (wall time, page and
browser already open), left out where there is none. Limits: for posters, writing every pixel once, packing it, the
PNG filter and ISA-L's fastest deflate; for PNG, the filter and one copy; for the simple poster and growth, writing and
packing every pixel once.
"""

from __future__ import annotations

import io
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from isal import isal_zlib
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from salon.render import (
    STYLES,
    Box,
    Brief,
    DrawingHabits,
    Face,
    Fill,
    Group,
    Layer,
    Linear,
    Poster,
    Shadow,
    encode_png,
    lay_out,
    plan_poster,
    set_text,
    shapes,
    write_svg,
)
from salon.render.paint.png import _filtered
from salon.render.paint.raster import paint
from salon.render.typeset.fonts import load_font
from tools.chromium import FLAGS, executable

WIDTH, HEIGHT = 1024, 1448
RUNS = 5


def fewest(function: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Milliseconds of the fastest of RUNS runs."""
    times = []
    for _ in range(RUNS):
        start = clock()
        function()
        times.append(1e3 * (clock() - start))
    return min(times)


def brief(style: str) -> Brief:
    """The same order for every style."""
    return Brief(
        id="lake",
        headline="Summer by the lake",
        subhead="Three days of music and light",
        body="Bring a blanket, friends and an open ear. Food stalls, boats and late concerts under the stars.",
        cta="Get tickets",
        when="12-14 July 2026",
        where="Old Harbour, Lindau",
        brand="Seeklang",
        subject="mountain",
        style=style,
    )


def phases(style: str) -> tuple[dict[str, float], Poster, np.ndarray, bytes]:
    """Milliseconds of each phase of one poster, and what came of them."""
    plan = plan_poster(brief(style), DrawingHabits(), 1)
    poster = lay_out(plan)
    pixels = paint(poster.layers, plan.width, plan.height)
    times = {
        "plan": fewest(lambda: plan_poster(brief(style), DrawingHabits(), 1)),
        "layout": fewest(lambda: lay_out(plan)),
        "paint": fewest(lambda: paint(poster.layers, plan.width, plan.height)),
        "png": fewest(lambda: encode_png(pixels)),
    }
    return times, poster, pixels, encode_png(pixels)


def written_and_packed(width: int, height: int) -> float:
    """What any rasteriser must do at least: write each pixel of the canvas, and pack it to three bytes."""
    canvas, rgb = np.empty((height, width, 4), np.uint8), np.empty((height, width, 3), np.uint8)
    return fewest(lambda: (canvas.fill(200), np.copyto(rgb, canvas[..., 2::-1])))


def in_chromium(posters: list[Poster]) -> float | str:
    """Wall milliseconds a poster from SVG file to PNG, or why not."""
    program = executable()
    if program is None:
        return "no Chromium here"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        times = []
        for poster in posters:
            path = Path(folder) / "poster.svg"
            path.write_text(write_svg(poster.layers, WIDTH, HEIGHT, title="poster"), encoding="utf-8")
            start = time.perf_counter()
            page.goto(path.as_uri())
            page.screenshot()
            times.append(1e3 * (time.perf_counter() - start))
        browser.close()
    return float(np.mean(times))


def posters() -> tuple[dict, list[np.ndarray]]:
    """The line of whole posters, and their pixels."""
    made = [phases(style) for style in STYLES]
    mean = {name: float(np.mean([times[name] for times, *_ in made])) for name in made[0][0]}
    whole = [sum(times.values()) for times, *_ in made]
    pixels = [each for _, _, each, _ in made]
    least = written_and_packed(WIDTH, HEIGHT) + np.mean([fewest(partial(_deflated, p)) for p in pixels])
    browser = in_chromium([poster for _, poster, _, _ in made])
    line = _line("render: posters", sum(mean.values()), "Chromium, SVG to PNG", browser, float(least))
    slowest = int(np.argmax(whole))
    extra = {
        "phases": {name: round(value, 1) for name, value in mean.items()},
        "per_second": round(1e3 / sum(mean.values()), 1),
        "slowest": f"{STYLES[slowest]}, {whole[slowest]:.0f} ms",
        "kilobytes": round(float(np.mean([len(data) for *_, data in made])) / 1e3),
    }
    return line | extra, pixels


def _deflated(pixels: np.ndarray) -> bytes:
    return isal_zlib.compress(_filtered(pixels), 0)


def png(pictures: list[np.ndarray]) -> dict:
    """The line of PNG writing: the same pixels by Pillow at its fastest level and at its default."""

    def by_pillow(pixels: np.ndarray, level: int) -> bytes:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG", compress_level=level)
        return file.getvalue()

    ways: dict[str, Callable[[np.ndarray], bytes]] = {
        "ours": encode_png,
        "Pillow, level 1": lambda pixels: by_pillow(pixels, 1),
        "Pillow, level 6": lambda pixels: by_pillow(pixels, 6),
        "limit": lambda pixels: _filtered(pixels).tobytes(),
    }
    times = {name: float(np.mean([fewest(partial(way, p)) for p in pictures])) for name, way in ways.items()}
    sizes = {name: round(float(np.mean([len(way(p)) for p in pictures])) / 1e3) for name, way in ways.items()}
    line = _line("render: PNG", times["ours"], "Pillow, level 1", times["Pillow, level 1"], times["limit"])
    return line | {"level_6": round(times["Pillow, level 6"], 2), "kilobytes": sizes}


def simple_layers() -> tuple[Layer, ...]:
    """A poster that Pillow can draw too: gradient, disc, card with shadow, headline."""
    ground = Fill(shapes.rect(0, 0, WIDTH, HEIGHT), Linear(0, 0, 0, HEIGHT, ((0, "#f2c14e", 1.0), (1, "#c8442f", 1.0))))
    disc = Fill(shapes.circle(512, 480, 300), "#fff3d6")
    card = Group((Fill(shapes.rounded(90, 900, 844, 420, 30), "#fffaf0"),), shadow=Shadow(0, 14, 24))
    frame = Box(x=130, y=950, width=764, height=320)
    text = set_text(
        "Summer by the lake", Face(family="Anton"), frame, size=150, smallest=40, leading=1.05, align="left",
        paint="#1d2b3a",
    )  # fmt: skip
    return Layer("ground", (ground,)), Layer("picture", (disc, card)), Layer("headline", text.glyphs)


def by_pillow() -> Image.Image:
    """The same with Pillow, antialiased by drawing the disc and the card twice as large."""
    ramp = Image.linear_gradient("L").resize((WIDTH, HEIGHT))
    picture = Image.composite(*(Image.new("RGB", (WIDTH, HEIGHT), color) for color in ("#c8442f", "#f2c14e")), ramp)
    shadow = Image.new("L", (WIDTH, HEIGHT))
    ImageDraw.Draw(shadow).rounded_rectangle((90, 914, 934, 1334), 30, fill=90)
    picture.paste("#000000", mask=shadow.filter(ImageFilter.GaussianBlur(24)))
    large = Image.new("L", (2 * WIDTH, 2 * HEIGHT))
    ImageDraw.Draw(large).ellipse((424, 360, 1624, 1560), fill=255)
    picture.paste("#fff3d6", mask=large.resize((WIDTH, HEIGHT), Image.Resampling.BOX))
    large.paste(0, (0, 0, *large.size))
    ImageDraw.Draw(large).rounded_rectangle((180, 1800, 1868, 2640), 60, fill=255)
    picture.paste("#fffaf0", mask=large.resize((WIDTH, HEIGHT), Image.Resampling.BOX))
    font = ImageFont.truetype(str(load_font("Anton:400").file), 140)
    ImageDraw.Draw(picture).multiline_text((130, 950), "Summer by\nthe lake", "#1d2b3a", font)
    return picture


def simple_and_growth() -> list[dict]:
    """The lines of the simple poster, and of its cost at four times the pixels."""
    layers = simple_layers()
    ours, twice = (fewest(lambda scale=scale: paint(layers, WIDTH, HEIGHT, scale)) for scale in (1, 2))
    least = [written_and_packed(scale * WIDTH, scale * HEIGHT) for scale in (1, 2)]
    growth = _line("render: growth", twice, "four times the cost of a quarter of the pixels", 4 * ours, least[1])
    return [_line("render: simple poster, pixels", ours, "Pillow", fewest(by_pillow), least[0]), growth]


def _line(name: str, ours: float, peer_name: str, peer: float | str, limit: float) -> dict:
    known = isinstance(peer, float)
    return {
        "name": name,
        "ours": round(ours, 2),
        "peer_name": peer_name,
        "peer": round(peer, 2) if known else peer,
        "ratio": round(peer / ours, 2) if known else None,
        "limit": round(limit, 2),
        "unit": "ms",
    }


def main() -> None:
    """Print the lines."""
    line, pictures = posters()
    for each in (line, png(pictures), *simple_and_growth()):
        print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()
