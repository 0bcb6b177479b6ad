"""Scenes in a room: coffee, bread, lamp, candle, chair, book, robot."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.drawings import Drawing, DrawingPart, drawing, placed, retoned, ribbon
from salon.render.motifs.sketch import Sketch, sky, still_life
from salon.render.shapes import circle, ellipse, joined, polygon, rect, rounded, star, turned

# Coffee


def coffee(s: Sketch) -> None:
    """A steaming cup on a table among its tools, or cups seen from above."""
    if s.chance(0.35):
        coffee_from_above(s)
    else:
        tools = [
            (drawing("coffee", "moka-pot"), 1.0),
            (drawing("coffee", "paper-cup"), 0.86),
            (drawing("coffee", "jar"), 0.72),
            (retoned(drawing("coffee", "small-cup"), {3: 4, 4: 3}), 0.5),
        ]
        s.rng.shuffle(tools)
        still_life(s, cup_with_steam(s), tools, 0.66)


def coffee_from_above(s: Sketch) -> None:
    """Full cups on their saucers, a leaf of milk in each, beans between them."""
    sky(s, 1)
    count = max(1, round(max(s.wide, 1 / s.wide) * 0.9))
    r = s.unit * (0.36 if count == 1 else 0.33)
    places = []
    for i in range(count):
        along = (i + 0.5) / count + (s.between(-0.04, 0.04) if count == 1 else 0)
        across = s.between(0.44, 0.56)
        places.append((s.x(across), s.y(along)) if s.wide < 1 else (s.x(along), s.y(across)))
        s.add(0.3, (2, 4)[i % 2], circle(*places[i], r * 1.2))
        s.put(0.5, drawing("coffee", "cup-from-above"), *places[i], r, turn=s.between(-60, 60))
    for _ in range(int(34 * s.width * s.height / s.unit**2)):
        bean_at = (s.x(s.between(0.03, 0.97)), s.y(s.between(0.03, 0.97)))
        if all(math.dist(bean_at, place) > r * 1.42 for place in places):
            s.put(0.4, drawing("coffee", "bean"), *bean_at, s.unit * 0.055, turn=s.between(0, 360))


def cup_with_steam(s: Sketch) -> Drawing:
    """A wide cup on its saucer with two or three plumes of steam; one unit tall."""
    plumes = []
    xs = s.one_of((-0.16, 0.1), (-0.2, 0.0, 0.2))
    for i, x in enumerate(xs):
        top = -1.0 + 0.09 * (i % 2) + s.between(0, 0.04)
        side = s.one_of(-1, 1) * 0.045
        points = [(x + side * math.sin(k * 0.9), -0.6 + (top + 0.6) * k / 8) for k in range(9)]
        plumes.append(DrawingPart(3, ribbon(points, 0.05)))
    return (*plumes, *drawing("coffee", "small-cup"))


# Bread


def bread(s: Sketch) -> None:
    """A loaf, a basket of long loaves, slices and ears of wheat."""
    main, second = s.one_of(("basket", "round-loaf"), ("tin-loaf", "basket"), ("round-loaf", "basket"))
    small = [
        (drawing("bread", second), 1.1 if second == "basket" else 0.62),
        (drawing("bread", "slice-of-bread"), 0.6),
        (drawing("bread", "wheat-bunch"), 1.05),
        (drawing("bread", "rolls"), 0.4),
    ]
    s.rng.shuffle(small)
    if main != "basket":
        small = [(loaf, share * 1.5) for loaf, share in small]
    still_life(s, drawing("bread", main), small, 0.72 if main == "basket" else 0.42)


# Lamp


def lamp(s: Sketch) -> None:
    """Lamps on long cords, each with its cone of light over a laid table; or bare bulbs that glow in the dark."""
    sky(s, 3)
    s.one_of(lamps_over_a_table, lamps_over_a_table, bulbs)(s)


def bulbs(s: Sketch) -> None:
    """Bulbs at several heights, rings of light about them, one far larger than the rest."""
    count = max(1, round(s.wide * 1.7)) if s.wide > 0.9 else 1
    lead = int(s.rng.integers(count))
    for i in range(count):
        x = s.x((i + 0.5) / count) + (s.unit * s.between(-0.06, 0.06) if count == 1 else 0.0)
        size = min(s.unit * (0.62 if i == lead else 0.34), s.width / count * 0.9)
        y = s.y(s.between(0.46, 0.54) if i == lead else s.between(0.3, 0.66))
        s.add(0.1, 2, circle(x, y, size * 0.92))
        s.add(0.2, 1, circle(x, y, size * 0.66))
        s.add(0.3, 5, rect(x - size * 0.02, s.top, size * 0.04, y - size * 0.4 - s.top))
        s.put(0.5, drawing("lamp", "bulb"), x, y, size)


def lamps_over_a_table(s: Sketch) -> None:
    """One lamp, or several in a row, over a table."""
    level = 0.82
    count = max(1, round(s.wide * 1.15))
    shade = drawing("lamp", s.one_of("dome-shade", "cone-shade", "bell-shade"))
    drops = [s.between(0.26, 0.34) + (0.1 if i % 2 else 0.0) for i in range(count)]
    for i, drop in enumerate(drops):
        x = s.x((i + 0.5) / count) + s.unit * s.between(-0.04, 0.04)
        size = s.unit * (0.34 if count > 1 else s.between(0.42, 0.5))
        y = s.y(drop)
        reach = size * (0.95 if count > 1 else 1.0)
        s.add(
            0.1,
            2,
            polygon([(x - size * 0.4, y), (x + size * 0.4, y), (x + reach, s.y(level)), (x - reach, s.y(level))]),
        )
        s.add(0.2, 1, ellipse(x, s.y(level), reach, size * 0.1))
        s.add(0.5, 5, rect(x - size * 0.016, s.top, size * 0.032, y - size * 0.4 - s.top))
        s.put(0.55, shade, x, y, size)
        kind = ("leafy-pot", "three-books", "wine-glass")[(int(s.rng.integers(3)) + i) % 3]
        s.put(0.4, drawing("lamp", kind), x + size * s.between(-0.2, 0.2), s.y(level), size * 0.62)
    s.add(0.3, 4, rect(s.left, s.y(level), s.width, s.height))
    s.add(0.35, 5, rect(s.left, s.y(level), s.width, s.unit * 0.018))


# Candle


def candle(s: Sketch) -> None:
    """Candles of many heights in the dark, each with rings of light about its flame."""
    sky(s, 3)
    level = 0.86
    count = max(3, round(s.wide * 3.2)) if s.wide > 0.6 else 3
    step = s.width / (count + 0.4)
    lead = int(s.rng.integers(1, count - 1))
    order = sorted(range(count), key=lambda i: -abs(i - lead))
    for rank, i in enumerate(order):
        x = s.left + step * (i + 0.7) + step * s.between(-0.08, 0.08)
        near = 1 - abs(i - lead) / count
        tall = s.height * (0.54 * near * s.between(0.82, 1.0) + 0.1)
        wide = min(step * s.between(0.42, 0.56), tall * 0.5)
        depth = 0.4 + 0.4 * rank / count
        _candle(s, depth, x, s.y(level + 0.03), wide, tall, s.one_of("plain", "stick", "twisted"))
    s.add(0.3, 2, rect(s.left, s.y(level), s.width, s.height))


def _candle(s: Sketch, depth: float, x: float, foot: float, wide: float, tall: float, kind: str) -> None:
    """One candle on the table with its flame and light."""
    flame_high = wide * 1.15
    top = foot - tall
    s.add(0.1, 2, circle(x, top - flame_high * 0.5, wide * 1.9))
    s.add(0.2, 1, circle(x, top - flame_high * 0.5, wide * 1.15))
    if kind == "stick":
        base = foot - tall * 0.34
        s.add(depth, 4, *(part.path for part in placed(drawing("candle", "candlestick"), x, foot, tall * 0.34)))
    else:
        base = foot
    body = rounded(
        x - wide / 2 * (0.7 if kind == "stick" else 1),
        top,
        wide * (0.7 if kind == "stick" else 1),
        base - top,
        wide * 0.12,
    )
    s.add(depth, 5, body)
    if kind == "twisted":
        rise = wide * 0.5
        bands = [
            polygon(
                [
                    (x - wide / 2, y),
                    (x + wide / 2, y - rise),
                    (x + wide / 2, y - rise * 0.55),
                    (x - wide / 2, y + rise * 0.45),
                ]
            )
            for y in np.arange(top + rise * 1.6, base - rise * 0.5, rise * 1.3).tolist()
        ]
        s.add(depth, 2, joined(*bands))
    s.add(depth, 3, rect(x - wide * 0.03, top - wide * 0.18, wide * 0.06, wide * 0.2))
    s.put(depth, drawing("candle", "flame"), x, top - wide * 0.1, flame_high)


# Chair


def chair(s: Sketch) -> None:
    """A chair in a quiet room with a plant and a lamp, or a cabinet of chairs."""
    chairs = [drawing("chair", "armchair"), drawing("chair", "shell-chair"), drawing("chair", "wing-chair")]
    s.rng.shuffle(chairs)
    things = [
        (drawing("chair", "plant"), 1.35),
        (drawing("chair", "floor-lamp"), 1.75),
        (chairs[1], 1.0),
        (chairs[2], 1.0),
    ]
    if s.wide < 0.6:
        still_life(s, chairs[0], [(chairs[1], 1.0), (chairs[2], 1.0)])
        return
    if s.chance(0.5):
        things[0], things[1] = things[1], things[0]
    still_life(s, chairs[0], things if s.wide > 1.3 else things[:2], 0.5, 0.78)


# Book


def book(s: Sketch) -> None:
    """Shelves full of spines, or an open book from which a sky rises."""
    if s.chance(0.5):
        book_shelves(s)
    else:
        open_book(s)


def book_shelves(s: Sketch) -> None:
    """Rows of books, a few leaning, with a gap for a pot or a cup here and there."""
    sky(s, 1)
    rows = max(2, round(s.height / (s.unit * 0.44)))
    board = s.unit * 0.03
    for j in range(rows):
        foot, room = s.top + (j + 1) * s.height / rows - board, s.height / rows - board
        s.add(0.2, 0, rect(s.left, foot - room, s.width, room * 0.12))
        x, k = s.left + s.unit * s.between(-0.05, 0.01), int(s.rng.integers(9))
        while x < s.right:
            if s.chance(0.05):
                s.put(0.5, drawing("chair", "plant"), x + room * 0.34, foot, room * 0.72)
                x += room * 0.68
            wide, tall = room * s.between(0.13, 0.25), room * s.between(0.62, 0.84)
            lean = s.chance(0.12) and s.right - x > room * 0.5
            s.put(
                0.5,
                spine(s, (3, 4, 2, 3, 5, 4)[k % 6], wide / tall),
                x + (tall * 0.2 if lean else 0),
                foot,
                tall,
                turn=-14 if lean else 0,
            )
            x, k = x + wide * (1.04 if not lean else 1.2) + (tall * 0.22 if lean else 0), k + 1
        s.add(0.6, 3, rect(s.left, foot, s.width, board))


def spine(s: Sketch, tone: int, wide: float) -> Drawing:
    """The back of a book, one unit tall, its lower left corner at the origin."""
    detail = {3: 5, 4: 5, 2: 3, 5: 3}[tone]
    bands = s.one_of(
        joined(rect(0, -0.9, wide, 0.05), rect(0, -0.16, wide, 0.05)),
        rect(wide * 0.24, -0.84, wide * 0.52, 0.42),
        joined(rect(0, -0.82, wide, 0.12), circle(wide / 2, -0.2, wide * 0.24)),
        rect(wide * 0.4, -0.8, wide * 0.2, 0.6),
    )
    return (DrawingPart(tone, rect(0, -1, wide, 1)), DrawingPart(detail, bands))


def open_book(s: Sketch) -> None:
    """Mountains and a sun that rise from a book."""
    sky(s)
    level = 0.84
    size = min(s.width * 0.86, s.height * 0.9)
    x, y = s.x(0.5), s.y(level)
    s.add(0.1, 1, circle(x, y - size * 0.28, min(size * 0.62, s.height * 0.6)))
    s.add(0.2, 4, circle(x + size * s.between(-0.16, 0.16), y - size * s.between(0.42, 0.52), size * 0.17))
    for k, (dx, rise) in enumerate(((-0.3, 0.36), (-0.14, 0.54), (0.1, 0.44), (0.27, 0.32))):
        peak = y - size * (rise + s.between(-0.03, 0.03))
        tone = (2, 3, 2, 3)[k]
        base = x + size * dx
        s.add(0.3 + 0.02 * k, tone, polygon([(base, peak), (base + size * 0.2, y), (base - size * 0.2, y)]))
        snow = size * 0.07
        s.add(
            0.3 + 0.02 * k,
            5,
            polygon(
                [
                    (base, peak),
                    (base + snow * 0.55, peak + snow * 1.2),
                    (base, peak + snow),
                    (base - snow * 0.5, peak + snow * 1.2),
                ]
            ),
        )
    s.add(0.25, 2, rect(s.left, s.y(level) - s.height * 0.02, s.width, s.height))
    s.put(0.6, drawing("book", "open-pages"), x, y + s.height * 0.06, size)
    for _ in range(5 + int(6 * max(0, 1 / s.wide - 1)) + int(4 * s.wide)):
        px, py = s.x(s.between(0.06, 0.94)), s.y(s.between(0.04, 0.42))
        if math.dist((px, py), (x, y)) > size * 0.62:
            s.add(0.4, s.one_of(3, 4), star(px, py, s.unit * s.between(0.018, 0.035), s.unit * 0.009, 4))


# Robot


def robot(s: Sketch) -> None:
    """A robot that greets us, gears behind it: whole in a slim box, else from the waist up, others beside it."""
    sky(s)
    x = s.x(s.between(0.45, 0.55))
    for dx, y, r in ((-0.34, 0.24, 0.28), (0.4, 0.14, 0.2), (0.44, 0.66, 0.24)):  # wheels cut off by the edges
        radius = s.unit * r * s.between(0.85, 1.15)
        teeth, shift = s.one_of(10, 12, 14), s.between(-0.05, 0.05)
        s.put(0.1, gear(teeth), s.x(0.5 + dx + shift), s.y(y), radius, turn=s.between(0, 30))
    head = s.one_of(0, 1, 2)
    if s.wide < 0.6:
        s.add(0.3, 2, rect(s.left, s.y(0.86), s.width, s.height))
        s.put(0.6, automaton(head, whole=True), x, s.y(0.9), min(s.height * 0.62, s.width * 1.25))
        return
    size = min(s.height * 0.84, s.width * 0.98)
    if s.wide > 1.3:
        for side in (-1, 1):
            pale = retoned(automaton((head + 1 + (side > 0)) % 3, whole=False), {3: 2, 4: 3, 2: 1})
            s.put(0.4, pale, x + side * s.width * 0.31, s.bottom + 1, size * 0.68)
    s.put(0.6, automaton(head, whole=False), x, s.bottom + 1, size)


@cache
def gear(teeth: int) -> Drawing:
    """A toothed wheel of radius one."""
    (cog,), step = drawing("robot", "cog"), 360 / teeth
    cogs = [turned(cog.path, k * step, 0, 0) for k in range(teeth)]
    return (DrawingPart(1, joined(circle(0, 0, 0.8), *cogs)), DrawingPart(0, circle(0, 0, 0.36)))


@cache
def automaton(head: int, whole: bool) -> Drawing:
    """A robot with one arm raised: from the waist, or with legs; about one unit tall, its foot at the origin."""
    face = drawing("robot", ("square-head", "domed-head", "one-eyed-head")[head])
    if not whole:
        return (*drawing("robot", "body"), *face)
    return (*drawing("robot", "legs"), *placed((*drawing("robot", "standing-body"), *face), 0, -0.3))
