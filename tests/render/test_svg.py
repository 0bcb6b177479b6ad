"""The SVG: well formed whatever the words, and in a browser the same picture as the raster."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from every_mark import EVERY, SIDE, layers
from PIL import Image

from salon.render import Layer, write_svg
from salon.render.paint.raster import paint

NS = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('1')</script> & \"quoted\" ]]> \x00\x1b \ud800 السلام 世界"

BLURRED = ("fill, much blurred", "glyphs, glowing", "soft")


def test_one_group_per_element_with_its_words():
    document = ET.fromstring(write_svg(layers("glyphs"), SIDE, SIDE, title="Café", labels={"mark": "Ag&8"}))
    assert document.find(f"{NS}title").text == "Café"
    assert [group.get("id") for group in document.findall(f"{NS}g")] == ["ground", "mark"]
    assert document.findall(f"{NS}g")[1].get("aria-label") == "Ag&8"
    assert document.get("viewBox") == f"0 0 {SIDE} {SIDE}"


def test_hostile_words_stay_words():
    text = write_svg((Layer(HOSTILE),), 10, 10, title=HOSTILE, labels={HOSTILE: HOSTILE})
    document = ET.fromstring(text)
    assert "script" not in {element.tag.removeprefix(NS) for element in document.iter()}
    assert document.find(f"{NS}title").text == HOSTILE.replace("\x00\x1b \ud800", " ")
    text.encode("utf-8")


def test_every_reference_has_its_definition():
    everything = tuple(Layer(name, marks) for name, marks in EVERY.items())
    text = write_svg(everything, SIDE, SIDE, title="all")
    ids = [element.get("id") for element in ET.fromstring(text).find(f"{NS}defs").iter() if element.get("id")]
    wanted = {part.split(")")[0] for part in text.split("url(#")[1:]}
    assert wanted == set(ids)
    assert len(ids) == len(set(ids))


def test_equal_definitions_are_written_once():
    twice = write_svg((Layer("a", EVERY["overlay"] * 2),), SIDE, SIDE, title="")
    assert twice.count("<linearGradient") == 1


@pytest.fixture(scope="module")
def tab(chromium):
    page = chromium.new_page(viewport={"width": SIDE, "height": SIDE})
    yield page
    page.close()


def in_browser(tab, path, text: str) -> np.ndarray:
    path.write_text(text, encoding="utf-8")
    tab.goto(path.as_uri())
    return np.asarray(Image.open(io.BytesIO(tab.screenshot())).convert("RGB")).astype(float)


@pytest.mark.browser
@pytest.mark.parametrize("name", [name for name in EVERY if name != "grain"])
def test_a_browser_draws_the_same(tab, tmp_path, name):
    seen = in_browser(tab, tmp_path / "mark.svg", write_svg(layers(name), SIDE, SIDE, title=name))
    ours = paint(layers(name), SIDE, SIDE).astype(float)
    drawn = np.abs(ours - paint(layers(name)[:1], SIDE, SIDE)).mean()
    difference = np.abs(seen - ours).mean()
    assert drawn > 2, "nothing was drawn"
    # Blurs are approximate in both, by different means: a level or so of 255, as far from a true Gaussian as ours.
    assert difference < (1.2 if name in BLURRED else 0.6)
    assert difference < drawn / 15


@pytest.mark.browser
def test_grain_is_as_strong_in_a_browser(tab, tmp_path):
    """Each viewer has its own noise: brightness and contrast must agree, not pixels."""
    seen = in_browser(tab, tmp_path / "grain.svg", write_svg(layers("grain"), SIDE, SIDE, title="grain"))
    ours = paint(layers("grain"), SIDE, SIDE).astype(float)
    inside = (slice(60, 180), slice(60, 180))
    assert seen[inside].mean() == pytest.approx(ours[inside].mean(), abs=3)
    assert seen[inside].std(axis=(0, 1)) == pytest.approx(ours[inside].std(axis=(0, 1)), rel=0.25)
