"""Colors: by hand, by WCAG's own examples, by another tool's numbers, at the edge."""

import colorsys

import numpy as np
import pytest

from salon.errors import BadValue
from salon.render import colors, contrast, difference, mix, parse_color, to_rgb
from salon.render.colors import from_oklch, oklch, readable_on, to_hex


def test_contrast_by_hand():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)  # WCAG's famous near miss
    assert contrast("#ff0000", "#ffffff") == pytest.approx((1 + 0.05) / (0.2126 + 0.05))


def test_oklch_of_srgb_red_as_published():
    assert oklch("#ff0000") == pytest.approx((0.62796, 0.25768, 29.234), abs=1e-3)


def test_oklch_and_back_for_every_name():
    for color in colors.NAMES.values():
        assert from_oklch(*oklch(color)) == color


def test_a_color_no_screen_can_show_keeps_lightness_and_hue():
    shown = oklch(from_oklch(0.7, 0.4, 150))
    assert shown[0] == pytest.approx(0.7, abs=0.01)
    assert shown[2] == pytest.approx(150, abs=1.5)
    assert shown[1] < 0.3


def test_names_look_like_their_names():
    for name, hue in (("red", 0), ("yellow", 50), ("green", 130), ("blue", 220), ("purple", 270)):
        found = colorsys.rgb_to_hsv(*(value / 255 for value in to_rgb(colors.NAMES[name])))[0] * 360
        assert abs((found - hue + 180) % 360 - 180) < 12, name


def test_parsing():
    assert parse_color(" Navy ") == colors.NAMES["navy"]
    assert parse_color("GREY") == colors.NAMES["gray"]
    assert parse_color("#FA0") == "#ffaa00"
    with pytest.raises(BadValue, match="turquoise"):
        parse_color("turqoise")
    for bad in ("", "#12345", "#gggggg", "url(x)"):
        with pytest.raises(BadValue):
            parse_color(bad)


def test_mixing_and_difference():
    assert mix("#102030", "#c0d0e0", 0) == "#102030"
    assert mix("#102030", "#c0d0e0", 1) == "#c0d0e0"
    assert difference("#000000", "#ffffff") == pytest.approx(1, abs=1e-6)
    assert difference("#808080", mix("#808080", "#ffffff", 0.5)) == pytest.approx(
        difference("#808080", "#ffffff") / 2, abs=0.01
    )


def test_readable_on_takes_the_first_that_reads_and_else_moves_it_as_little_as_needed():
    assert readable_on("#ffffff", "#ffff00", "#0000aa") == "#0000aa"
    moved = readable_on("#ffffff", "#ff9900")
    assert 4.5 <= contrast(moved, "#ffffff") < 5.5


def test_something_always_reads():
    rng = np.random.default_rng(1)
    for ground, ink in rng.integers(0, 256, (300, 2, 3)):
        assert contrast(readable_on(to_hex(*ground), to_hex(*ink)), to_hex(*ground)) >= 4.5
