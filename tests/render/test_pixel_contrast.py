"""Contrast measured in the pixels: by hand, against the record, and falling with the knob."""

import numpy as np
import pytest

from prove._pixel_contrast import pixel_contrast, split_contrast
from prove._read_posters import FADED, fade
from salon.render import Box, Brief, Element, Face, Lettering, contrast, to_rgb
from salon.render.layout import TextLine, TextWord

BRIEF = Brief(
    id="ferry",
    headline="Slow Ferry North",
    subhead="Six islands in four days",
    when="From 2 June",
    cta="Reserve a bunk",
    subject="boat",
    palette=("navy", "cream"),
)


def test_by_hand():
    pixels = np.array([(0, 0, 0)] * 30 + [(255, 255, 255)] * 70, np.uint8)
    assert split_contrast(pixels) == pytest.approx(21)  # (1 + .05) / (0 + .05)
    assert split_contrast(np.full((50, 3), 120, np.uint8)) == 1


def test_soft_edges_count_for_neither_side():
    ramp = np.linspace(20, 230, 40).astype(np.uint8)[:, None].repeat(3, axis=1)
    pixels = np.concatenate([np.full((400, 3), 20, np.uint8), ramp, np.full((200, 3), 230, np.uint8)])
    assert split_contrast(pixels) == pytest.approx(contrast("#141414", "#e6e6e6"))


def test_only_the_words_are_looked_at():
    pixels = np.zeros((60, 60, 3), np.uint8)
    pixels[20:40, 20:40] = to_rgb("#336699")
    pixels[25:35, 25:35] = to_rgb("#ffeecc")
    box = Box(x=21, y=21, width=18, height=18)
    line = TextLine(text="o", box=box, baseline=38, words=(TextWord(text="o", box=box),))
    lettering = Lettering(text="o", asked="o", face=Face(family="Inter"), size=20, leading=1, lines=(line,))
    element = Element(id="headline", role="headline", kind="text", box=box, frame=box, z=0, lettering=lettering)
    assert pixel_contrast(pixels, element) == pytest.approx(contrast("#ffeecc", "#336699"))


@pytest.mark.parametrize("style", ["Minimalist", "Papercut", "Cinema 4D", "Japanese"])
def test_the_knob_takes_contrast_from_the_pixels(style):
    texts = fade((BRIEF.model_copy(update={"style": style}), 5))
    assert {text.role for text in texts} == {"headline", "subhead", "when", "cta"}
    for text in texts:
        assert text.falls, text
        assert text.seen[0] >= 4.2  # 4.5 on record, less what soft edges take
        assert text.seen[FADED.index(1.0)] < 1.4
        np.testing.assert_allclose(text.seen, text.recorded, rtol=0.15)
