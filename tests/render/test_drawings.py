"""Drawings from SVG files: every one can be read, and a file that is wrong says what, where and what to do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from salon.errors import BadValue
from salon.render import SUBJECTS, Box, circle, emblem, joined, polygon, rect, rounded, sector
from salon.render.brief import MOTIF_FOLDER, subjects_in
from salon.render.motifs import drawings, motif
from salon.render.motifs.drawings import TONES, bar, drawing, drawing_names, placed, retoned, ribbon, size_of
from salon.render.shapes import arc, bounds

DOCUMENT = '<svg xmlns="http://www.w3.org/2000/svg"><g transform="translate(3 4)">{}</g></svg>'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(drawings, "MOTIF_FOLDER", tmp_path)
    yield tmp_path
    drawings._groups.cache_clear()
    drawing.cache_clear()


def read(folder, content: str):
    """The parts of one drawing with this content."""
    drawings._groups.cache_clear()
    drawing.cache_clear()
    (folder / "kettle.svg").write_text(DOCUMENT.format(f'<g id="pot">{content}</g>'), encoding="utf-8")
    return drawing("kettle", "pot")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_drawing_can_be_read_and_is_about_one_unit_large(subject):
    names = drawing_names(subject)
    assert "emblem" in names
    for name in names:
        left, top, right, bottom = size_of(drawing(subject, name))
        assert 0.1 < max(right - left, bottom - top) < 4, name
        assert all(0 <= part.tone < len(TONES) for part in drawing(subject, name))


@pytest.mark.parametrize(
    ("element", "path"),
    [
        ('<circle class="main" cx="0.1" r="0.5"/>', circle(0.1, 0, 0.5)),
        ('<rect class="main" x="-0.5" y="-1" width="1" height="0.5"/>', rect(-0.5, -1, 1, 0.5)),
        ('<rect class="main" x="-0.5" y="-1" width="1" height="0.5" rx="0.1"/>', rounded(-0.5, -1, 1, 0.5, 0.1)),
        ('<polygon class="main" points="0,0 1,0 1,1"/>', polygon([(0, 0), (1, 0), (1, 1)])),
        ('<line class="main" x1="0" y1="0" x2="1" y2="1" stroke-width="0.1"/>', bar(0, 0, 1, 1, 0.1)),
        ('<polyline class="main" points="0,0 1,0 1,1" stroke-width=".2"/>', ribbon([(0, 0), (1, 0), (1, 1)], 0.2)),
        ('<path class="main" d="M 0 0 L 1 0 L 1 1 Z"/>', polygon([(0, 0), (1, 0), (1, 1)])),
        ('<path class="main" d="m0,0 1 0v1z"/>', polygon([(0, 0), (1, 0), (1, 1)])),
        ('<path class="main" d="M0 0H1V1Z"/>', polygon([(0, 0), (1, 0), (1, 1)])),
    ],
)
def test_a_shape_is_the_outline_it_names(folder, element, path):
    (part,) = read(folder, element)
    assert (part.tone, part.path, part.width) == (3, path, 0.0)


@pytest.mark.parametrize(
    ("start", "end", "flags"), [(180, 360, "0 1"), (20, 160, "0 1"), (-160, 90, "1 1"), (90, 20, "0 0")]
)
def test_an_arc_is_the_part_of_the_circle_between_its_ends(folder, start, end, flags):
    ends = [(0.3 + 0.5 * math.cos(math.radians(a)), 0.5 * math.sin(math.radians(a)) - 0.2) for a in (start, end)]
    (part,) = read(
        folder, '<path class="main" d="M {!r} {!r} A 0.5 0.5 0 {} {!r} {!r}"/>'.format(*ends[0], flags, *ends[1])
    )
    expected = arc(0.3, -0.2, 0.5, start, end)
    assert [command[0] for command in part.path.commands] == [command[0] for command in expected.commands]
    for ours, theirs in zip(part.path.commands, expected.commands):
        assert ours[1:] == pytest.approx(theirs[1:], abs=1e-12)


def test_smooth_commands_mirror_the_control_point_before_them(folder):
    (short,) = read(folder, '<path class="main" d="M 0 0 C 0 1 1 1 1 0 S 2 -1 2 0 Z"/>')
    (long,) = read(folder, '<path class="main" d="M 0 0 C 0 1 1 1 1 0 C 1 -1 2 -1 2 0 Z"/>')
    assert short == long


def test_a_toned_group_is_one_part_and_a_plain_group_is_none(folder):
    disc, hole = '<circle r="0.5"/>', '<circle r="0.2"/>'
    (ring,) = read(folder, f'<g class="accent" fill-rule="evenodd">{disc}{hole}</g>')
    assert ring.path == joined(circle(0, 0, 0.5), circle(0, 0, 0.2), even_odd=True)
    two = read(folder, '<g><circle class="far" r="0.5"/><circle class="detail" r="0.2"/></g>')
    assert [part.tone for part in two] == [1, 5]


def test_transforms_move_turn_and_scale_as_placing_does(folder):
    shape = '<rect class="main" x="0" y="0" width="1" height="0.5"/>'
    (moved,) = read(folder, f'<g transform="translate(2 1) rotate(30) scale(-0.5 0.5)">{shape}</g>')
    (plain,) = read(folder, shape)
    (expected,) = placed((plain,), 2, 1, 0.5, 30, flip=True)
    for ours, theirs in zip(moved.path.commands, expected.path.commands):
        assert ours[1:] == pytest.approx(theirs[1:])


def test_a_drawing_is_used_again_in_other_tones(folder):
    content = '<use href="leaf.svg#blade" class="accent"/><use href="leaf.svg#leaf" data-tones="main=far"/>'
    blade = '<g id="blade"><circle class="main" r="1"/></g>'
    leaf = blade + '<g id="leaf"><use href="#blade"/><circle class="detail" r="2"/></g>'
    (folder / "leaf.svg").write_text(DOCUMENT.format(leaf), encoding="utf-8")
    parts = read(folder, content)
    assert [part.tone for part in parts] == [4, 1, 5]
    assert parts[1:] == retoned(drawing("leaf", "leaf"), {3: 1})


def test_a_hairline_keeps_its_width_and_stays_a_line(folder):
    (part,) = read(folder, '<line class="detail hairline" stroke-width="0.01" x1="0" y1="0" x2="1" y2="0"/>')
    assert part.width == 0.01
    assert bounds(part.path).height == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<circle r="1"/>', "a shape needs the class of its tone"),
        ('<circle class="main" r="wide"/>', "r of <circle> must be a number"),
        ('<text class="main">Tea</text>', "a drawing is made of shapes"),
        ('<path class="main" d="L 1 1"/>', "path data must begin with M"),
        ('<path class="main" d="M 0 0 L 1"/>', "path data must be as SVG writes them"),
        ('<path class="main" d="M 0 0 A 2 1 30 0 1 1 1"/>', "arcs of turned ellipses are not read"),
        ('<circle class="main" r="1" transform="skewX(3)"/>', "transform takes translate, rotate, scale and matrix"),
        ('<polygon class="main" points="0,0 a,1"/>', "the points of a polygon must be numbers"),
        ('<use href="leaf"/>', "use needs the href of a drawing"),
        ('<use href="#lid"/>', "a drawing that exists is needed"),
        ('<use href="#pot"/>', "a drawing may not use itself"),
        ('<circle class="main" r="1" data-tones="main=blue"/>', "data-tones must exchange tones"),
        ("<circle", "a file of drawings must be well-formed SVG"),
    ],
)
def test_a_wrong_file_says_what_and_where(folder, content, message):
    with pytest.raises(BadValue, match=message) as error:
        read(folder, content)
    assert "kettle.svg" in str(error.value)


def test_two_drawings_may_not_share_an_id(folder):
    (folder / "twice.svg").write_text(DOCUMENT.format('<g id="a"/><g id="a"/>'), encoding="utf-8")
    with pytest.raises(BadValue, match="different ids"):
        drawing_names("twice")


def test_one_file_adds_a_subject(folder):
    shapes = '<path class="main" d="M -0.4 0 L -0.3 -1 L 0.3 -1 L 0.4 0 Z"/><circle class="accent" cy="-1" r="0.1"/>'
    pot = f'<g id="{{}}">{shapes}</g>'
    cup = '<g id="cup"><rect class="middle" x="-0.3" y="-0.5" width="0.6" height="0.5"/></g>'
    content = pot.format("emblem") + pot.format("teapot") + cup
    (folder / "teapot.svg").write_text(DOCUMENT.format(content), encoding="utf-8")
    assert subjects_in(folder) == ("teapot",)
    assert subjects_in(MOTIF_FOLDER) == SUBJECTS
    for width, height in ((300, 300), (600, 300), (150, 400)):
        shapes = motif("teapot", Box(x=0, y=0, width=width, height=height), np.random.default_rng(1))
        assert {shape.tone for shape in shapes} >= {0, 3, 4}
    assert len(emblem("teapot", Box(x=0, y=0, width=64, height=64), np.random.default_rng(1))) == 2


def test_a_subject_needs_an_emblem_and_something_to_show(folder):
    (folder / "void.svg").write_text(
        DOCUMENT.format('<g id="emblem"><circle class="main" r="1"/></g>'), encoding="utf-8"
    )
    with pytest.raises(BadValue, match="a drawing called emblem"):
        motif("void", Box(x=0, y=0, width=100, height=100), np.random.default_rng(1))


def test_a_slice_written_by_an_arc_is_the_slice(folder):
    (part,) = read(folder, '<path class="main" d="M 0 -0.06 L -0.34 -0.06 A 0.34 0.34 0 0 1 0.34 -0.06 Z"/>')
    for ours, theirs in zip(part.path.commands, sector(0, -0.06, 0.34, 180, 360).commands, strict=True):
        assert ours[0] == theirs[0]
        assert ours[1:] == pytest.approx(theirs[1:], abs=1e-12)


def test_arcs_that_are_none_or_cannot_reach_are_drawn_as_svg_says(folder):
    (none,) = read(folder, '<path class="main" d="M 0 0 A 1 1 0 0 1 0 0 L 1e-1 0 Z"/>')
    assert none.path.commands == (("M", 0.0, 0.0), ("L", 0.1, 0.0), ("Z",))
    (flat,) = read(folder, '<path class="main" d="M 0 0 A 0 1 0 0 1 1 0 Z"/>')
    assert flat.path.commands == (("M", 0.0, 0.0), ("L", 1.0, 0.0), ("Z",))
    (short,) = read(folder, '<path class="main" d="M -1 0 A 0.5 0.5 0 0 1 1 0 Z"/>')
    assert bounds(short.path).y == pytest.approx(-1, abs=1e-3)
