"""Scenes of what lives: flower, leaf, fruit, bird, cat, hands, eye, heart."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.layout import Box
from salon.render.motifs.drawings import Drawing, DrawingPart, drawing, fitted, retoned, ribbon
from salon.render.motifs.sketch import Sketch, clouds, hill, rays, sky, still_life, wall
from salon.render.shapes import circle, joined, polygon, rect, ring, sector, star

# Flower


def flower(s: Sketch) -> None:
    """A meadow seen from among the stems, or a bunch in a vase."""
    if s.chance(0.35) and 0.5 < s.wide < 1.4:
        flowers_in_a_vase(s)
    else:
        meadow(s)


def meadow(s: Sketch) -> None:
    """Blooms on long stems at three depths, cut off by the edges."""
    sky(s)
    s.add(0.05, 1, circle(s.x(s.between(0.25, 0.75)), s.y(s.between(0.3, 0.45)), s.unit * s.between(0.36, 0.44)))
    kinds = ["daisy", "poppy", "tulip", "coneflower"]
    s.rng.shuffle(kinds)
    tones: tuple[dict[int, int], ...] = ({3: 2, 4: 1, 5: 1}, {3: 4, 4: 5, 5: 3}, {})
    # All foliage is one tone, so that only blooms overlap blooms.
    for row, (depth, size, stem, low, high) in enumerate(
        ((0.2, 0.24, 2, 0.14, 0.4), (0.45, 0.36, 2, 0.2, 0.5), (0.7, 0.5, 2, 0.44, 0.7))
    ):
        size *= s.unit * (1.0 if s.wide > 0.6 else 1.15)
        count = max(1, round(s.width / size * (0.9, 0.75, 0.62)[row]))
        shift = s.between(-0.2, 0.2)
        for i in range(count):
            x = s.x((i + 0.5 + shift * (1 if count > 1 else 0.6)) / count)
            t = ((i * 0.618 + row * 0.37) % 1 + s.between(0, 0.25)) % 1
            _stalk(
                s,
                depth,
                stem,
                kinds[row % 3 if i % 2 else (row + 1) % 4],
                tones[row],
                x,
                s.y(low + (high - low) * t),
                size,
            )
    s.add(0.9, 2, hill(s, 0.95, s.between(-0.02, 0.02), 0.015))


def _stalk(
    s: Sketch, depth: float, stem: int, bloom: str, tones: dict[int, int], x: float, y: float, size: float
) -> None:
    """One flower: a bent stem with two leaves down to the lower edge, the bloom on top."""
    bend = size * s.between(-0.3, 0.3)
    foot = s.bottom + size * 0.1
    s.add(depth, stem, ribbon([(x, y), (x + bend * 0.5, y + (foot - y) * 0.4), (x + bend, foot)], size * 0.05))
    for side in (-1, 1):
        at = s.between(0.42, 0.62)
        s.put(
            depth,
            drawing("leaf", "blade", stem),
            x + bend * at,
            y + (foot - y) * at,
            size * s.between(0.55, 0.75),
            turn=side * s.between(28, 44),
        )
    s.put(depth + 0.02, retoned(drawing("flower", bloom), tones), x, y, size, turn=s.between(-12, 12))


def flowers_in_a_vase(s: Sketch) -> None:
    """Five blooms in a round vase on a table."""
    level = 0.8
    wall(s, level)
    size = min(s.height * 0.3, s.width * 0.34)
    x, foot = s.x(s.between(0.46, 0.54)), s.y(level + 0.06)
    neck = foot - size * 1.12
    blooms: tuple[tuple[str, float, float, float, dict[int, int]], ...] = (
        ("daisy", -0.9, -1.02, 0.9, {}),
        ("tulip", 0.95, -0.95, 0.75, {3: 4, 4: 5}),
        ("coneflower", 0.05, -1.55, 0.85, {}),
        ("poppy", -0.3, -0.55, 1.0, {3: 4, 4: 5, 5: 3}),
        ("daisy", 0.58, -0.42, 0.8, {3: 5, 5: 3}),
    )
    for _, dx, dy, _, _ in blooms:
        tip = (x + dx * size, neck + dy * size)
        s.add(
            0.4,
            3,
            ribbon(
                [(x + dx * size * 0.08, neck + size * 0.1), (x + dx * size * 0.5, neck + dy * size * 0.4), tip],
                size * 0.05,
            ),
        )
    for turn in (-70, -38, 36, 74):
        s.put(0.42, drawing("leaf", "blade", 2), x, neck, size * s.between(0.85, 1.05), turn=turn + s.between(-6, 6))
    for bloom, dx, dy, share, tones in blooms:
        s.put(
            0.5, retoned(drawing("flower", bloom), tones), x + dx * size, neck + dy * size, size * share, turn=dx * 18
        )
    s.put(0.7, drawing("flower", "vase"), x, foot, size * 1.2)


# Leaf


def leaf(s: Sketch) -> None:
    """Sprays that fill the sheet, or three great leaves before a disc."""
    sky(s)
    if s.chance(0.45) or not 0.6 < s.wide < 1.9:
        leaf_sprays(s)
    else:
        great_leaves(s)


def leaf_sprays(s: Sketch) -> None:
    """Stems side by side, each with leaves to left and right; every stem of another kind."""
    s.add(0.05, 1, circle(s.x(s.between(0.2, 0.8)), s.y(s.between(0.2, 0.5)), s.unit * s.between(0.34, 0.44)))
    count = max(2, round(s.width / (s.unit * s.between(0.36, 0.44))))
    step = s.width / count
    looks = [
        ("halved-leaf", {}),
        ("blade-leaf", {3: 4}),
        ("halved-leaf", {3: 4, 2: 3}),
        ("blade-leaf", {}),
        ("halved-leaf", {3: 2, 2: 3}),
    ]
    s.rng.shuffle(looks)
    for i in range(count):
        name, tones = looks[i % 5]
        kind = retoned(drawing("leaf", name), tones)
        x, top = s.x(0) + (i + 0.5) * step, s.y(s.between(0.08, 0.3))
        size = step * s.between(0.66, 0.8)
        bend = step * s.between(-0.14, 0.14)
        depth = 0.3 + 0.1 * (i % 3)
        s.add(
            depth,
            3,
            ribbon(
                [(x + bend, top + size * 0.4), (x, (top + s.bottom) / 2), (x - bend, s.bottom + size)], step * 0.028
            ),
        )
        s.put(depth, kind, x + bend, top + size * 0.8, size * 0.8, turn=bend / step * 60)
        pairs = max(2, round((s.bottom - top) / (size * 0.62)))
        for k in range(1, pairs + 1):
            y = top + size * 0.5 + (s.bottom - top) * k / pairs
            for side in (-1, 1):
                s.put(
                    depth,
                    kind,
                    x,
                    y + side * size * 0.1,
                    size * (0.7 + 0.05 * min(k, 4)),
                    turn=side * 52,
                )


def great_leaves(s: Sketch) -> None:
    """Monstera, palm and a halved leaf rising from the lower edge, pale ones hanging into the sky."""
    s.add(0.05, 4, circle(s.x(s.between(0.35, 0.65)), s.y(s.between(0.3, 0.4)), s.unit * s.between(0.24, 0.3)))
    kinds = [drawing("leaf", name) for name in ("monstera", "halved-leaf", "palm-leaf")]
    s.rng.shuffle(kinds)
    size = s.unit * s.between(0.78, 0.9)
    pale = {3: 1, 2: 1, 5: 0}
    for share, turn in ((0.02, 140), (0.98, 218)):
        s.put(0.2, retoned(kinds[0], pale), s.x(share), s.y(-0.04), size * 0.85, turn=turn + s.between(-12, 12))
    for share, turn in ((-0.04, 62), (1.04, -62)):
        faint = retoned(kinds[2], {3: 1, 2: 2, 5: 2})
        s.put(0.3, faint, s.x(share), s.y(0.74), size * 0.8, turn=turn + s.between(-14, 14))
    side = s.one_of(-1, 1)
    left, right = retoned(kinds[1], {3: 2, 2: 1}), retoned(kinds[2], {3: 4, 2: 3, 5: 3})
    s.put(0.5, left, s.x(0.5 - side * 0.4), s.y(1.02), size * 0.95, turn=side * s.between(-14, 4))
    s.put(0.6, right, s.x(0.5 + side * 0.42), s.y(1.0), size * 0.85, turn=side * s.between(0, 16))
    s.put(0.8, kinds[0], s.x(0.5 + side * s.between(0.0, 0.06)), s.y(1.05), size, turn=-side * s.between(2, 12))


# Fruit


def fruit(s: Sketch) -> None:
    """Fruit on a table, or cut fruit in rows like a printed cloth."""
    if s.chance(0.5) and s.wide > 0.6:
        small = [
            (drawing("fruit", "lemon"), 0.42),
            (drawing("fruit", "pear"), 0.92),
            (drawing("fruit", "orange-half"), 0.56),
            (drawing("fruit", "cherries"), 0.6),
            (retoned(drawing("fruit", "apple"), {4: 3, 3: 4}), 0.7),
        ]
        s.rng.shuffle(small)
        still_life(s, drawing("fruit", s.one_of("bowl", "pear", "apple")), small, 0.6)
    else:
        fruit_cloth(s)


def fruit_cloth(s: Sketch) -> None:
    """Large fruit in staggered rows."""
    sky(s)
    names = ["apple", "pear", "cherries", "orange-half", "melon-slice", "lemon"]
    s.rng.shuffle(names)
    square = Box(x=-0.5, y=-0.5, width=1.0, height=1.0)
    kinds = [fitted(drawing("fruit", name), square) for name in names[: s.one_of(3, 4)]]
    columns = max(2, round(s.width / s.unit * 2.4))
    step = s.width / columns
    rows = max(2, round(s.height / step))
    for j in range(-1, rows + 1):
        for i in range(-1, columns + 1):
            kind = kinds[(i + 2 * j) % len(kinds)]
            x, y = s.left + step * (i + (0.25 if j % 2 else 0.75)), s.top + s.height / rows * (j + 0.5)
            if (i + j) % 2:
                s.add(0.2, 1, circle(x, y, step * 0.45))
            s.put(0.5, kind, x, y, step * 0.72, turn=s.between(-14, 14))


# Bird


def bird(s: Sketch) -> None:
    """Song birds on leafy branches, or swallows crossing the sun."""
    sky(s)
    s.one_of(birds_on_branches, swallows)(s)


def birds_on_branches(s: Sketch) -> None:
    """Song birds on one bough, or on three in a slim box, before a disc."""
    s.add(0.1, 1, circle(s.x(s.between(0.35, 0.65)), s.y(s.between(0.36, 0.46)), s.unit * s.between(0.36, 0.42)))
    levels = (0.7,) if s.wide > 0.6 else (0.34, 0.62, 0.9)
    side = s.one_of(-1, 1)
    for k, level in enumerate(levels):
        _branch(s, level, side if k % 2 == 0 else -side, k)


def _branch(s: Sketch, level: float, side: int, k: int) -> None:
    """A bough from one edge with leaves, berries and its birds."""
    start, stop = (-0.05, 1.05) if s.wide > 1.2 else (-0.05, s.between(0.84, 0.96))
    dip, lift = s.unit * s.between(0.03, 0.07), s.unit * s.between(0.06, 0.12)

    def place(t: float) -> tuple[float, float]:
        share = start + (stop - start) * t
        return s.x(share if side > 0 else 1 - share), s.y(level) + dip * math.sin(3 * t) - lift * t

    s.add(0.4, 3, ribbon([place(t) for t in np.linspace(0, 1, 9).tolist()], s.unit * 0.03))
    for i in range(int(7 * max(1.0, s.wide))):
        t = (i + 0.7) / int(7 * max(1.0, s.wide))
        x, y = place(t)
        turn = side * (s.between(20, 50) if i % 2 else s.between(120, 150))
        s.put(0.35, drawing("leaf", "blade", (2, 4)[i % 3 == 2]), x, y, s.unit * s.between(0.16, 0.24), turn=turn)
        if i % 3 == 1:
            s.add(0.45, 4, circle(x, y + s.unit * 0.05, s.unit * 0.022))
    count = max(1, round(s.wide * 1.1))
    size = s.unit * (0.58 if count == 1 else 0.46) * (1.1 if s.wide < 0.6 else 1.0)
    for i in range(count):
        x, y = place((i + 0.5 + s.between(-0.06, 0.06)) / count if count > 1 else s.between(0.45, 0.58))
        look = ({}, {3: 4, 4: 3}, {3: 2, 4: 4, 2: 3})[(i + k) % 3]
        s.put(
            0.6, retoned(drawing("bird", "songbird"), look), x, y - size * 0.02, size, flip=(side < 0) != (i % 2 == 1)
        )


def swallows(s: Sketch) -> None:
    """One great swallow before the sun, others behind it."""
    x, y = s.x(s.between(0.44, 0.56)), s.y(s.between(0.4, 0.46))
    side = s.one_of(-1, 1)
    s.add(0.1, 4, circle(x + side * s.unit * 0.12, y - s.unit * 0.04, s.unit * s.between(0.26, 0.32)))
    clouds(s, 0.2, 1, 2 + int(s.wide), 0.3, 0.7)
    size = s.unit * 0.7
    count = int(4 * max(s.wide, 1 / s.wide)) + 1
    for k in range(count):
        px, py = s.x((k + s.between(0.2, 0.8)) / count), s.y(s.between(0.06, 0.72))
        if math.dist((px, py), (x, y)) > size * 0.5:
            s.put(
                0.4,
                retoned(drawing("bird", "swallow"), {3: 2, 2: 3, 5: 2, 4: 2}),
                px,
                py,
                s.unit * s.between(0.14, 0.26),
                flip=side < 0,
                turn=side * s.between(-22, 4),
            )
    s.put(0.6, drawing("bird", "swallow"), x, y + s.unit * 0.1, size, flip=side < 0, turn=side * s.between(-20, 0))
    s.add(0.7, 1, hill(s, 0.84, s.between(-0.05, 0.05), 0.03))
    s.add(0.8, 2, hill(s, 0.91, s.between(-0.04, 0.04), 0.02))


# Cat


def cat(s: Sketch) -> None:
    """A cat on a sill before the moon, or a great cat's face looking over the lower edge."""
    s.one_of(cat_on_a_sill, cat_face if s.wide > 0.6 else cat_on_a_sill)(s)


def cat_on_a_sill(s: Sketch) -> None:
    """A cat before the moon, its tail hanging down, beside a flower pot where there is room."""
    sky(s, 2)
    level = 0.76
    x, r = s.x(s.between(0.42, 0.58)), s.unit * s.between(0.32, 0.38)
    y = s.y(level) - r * 1.1
    s.add(0.1, 1, circle(x, y, r * 1.25))
    if s.chance(0.6):
        s.add(0.15, 5, circle(x, y, r))
    else:
        s.put(0.15, drawing("moon", "crescent", 5), x, y - r * 0.1, r * 1.9, turn=-24)
    for _ in range(int(12 * max(s.wide, 1 / s.wide))):
        px, py = s.x(s.between(0.04, 0.96)), s.y(s.between(0.04, 0.6))
        if math.dist((px, py), (x, y)) > r * 1.35:
            s.add(0.12, s.one_of(5, 4), star(px, py, s.unit * s.between(0.012, 0.03), s.unit * 0.006, 4))
    s.add(0.3, 4, rect(s.left, s.y(level), s.width, s.unit * 0.06))
    s.add(0.25, 1, rect(s.left, s.y(level), s.width, s.height))
    size = min(s.height * 0.5, s.unit * 0.78)
    side = s.one_of(-1, 1)
    s.put(
        0.6,
        drawing("cat", "sitting-cat"),
        x + side * s.unit * s.between(0.02, 0.12),
        s.y(level) + 1,
        size,
        flip=side < 0,
    )
    if s.wide > 1.1:
        s.put(0.5, drawing("cat", "flower-pot"), s.x(0.5 - side * 0.36), s.y(level) + 1, size * 0.9)


def cat_face(s: Sketch) -> None:
    """A cat's face among great leaves, a butterfly near its ear."""
    sky(s)
    size = min(s.width * 0.86, s.height * 0.82)
    x = s.x(s.between(0.44, 0.56))
    y = s.bottom - size * 0.3
    s.add(0.1, 1, circle(x + size * s.between(-0.1, 0.1), y - size * 0.26, size * 0.62))
    leaf = retoned(drawing("leaf", "monstera"), {3: 2, 5: 1})
    for k in range(-3, 4):
        if k:
            place = x + size * (0.36 * k + (0.16 if k > 0 else -0.16))
            s.put(0.2, leaf, place, s.bottom, size * s.between(0.56, 0.72), turn=7 * k + s.between(-8, 8))
    wings = (x + s.one_of(-1, 1) * size * 0.5, max(y - size * 0.74, s.top + s.unit * 0.12))
    s.put(0.3, drawing("cat", "butterfly"), *wings, s.unit * 0.17, turn=s.between(-25, 25))
    s.put(0.6, drawing("cat", "cat-head"), x, y, size)


# Hands


def hands(s: Sketch) -> None:
    """Many hands raised together, or two that reach for one heart."""
    sky(s)
    s.one_of(raised_hands, reaching_hands)(s)


def raised_hands(s: Sketch) -> None:
    """Two rows of hands below a heart or a disc."""
    r = s.unit * s.between(0.15, 0.2)
    x = s.x(s.between(0.4, 0.6))
    if s.chance(0.5):
        s.add(0.1, 1, rays(x, s.y(0.2), math.hypot(s.width, s.height), 24, s.between(0, 15)))
    else:
        s.add(0.1, 1, circle(x, s.y(0.24), r * 2.1))
    if s.chance(0.5):
        s.put(0.2, drawing("heart", "heart", 4), x, s.y(0.22), r * 2)
    else:
        s.add(0.2, 4, circle(x, s.y(0.2), r))
    size = min(s.height * 0.52, s.unit * 0.66)
    for row, (depth, share, top) in enumerate(((0.4, 0.72, 0.36), (0.7, 1.0, 0.52))):
        step = size * share * 0.52
        count = max(2, round(s.width / step))
        for k in range(count):
            place = s.x((k + 0.5 + (0.25 if row else -0.1)) / count)
            look = ({4: 5}, {3: 2, 4: 3}, {3: 4, 4: 3}, {4: 2})[(k * 2 + row + k // 2) % 4]
            high = s.y(top + s.between(0, 0.14))
            s.put(
                depth + 0.02 * (k % 2),
                retoned(drawing("hands", s.one_of("open-hand", "open-hand", "fist", "two-fingers")), look),
                place,
                high,
                size * share,
                turn=s.between(-10, 10),
                flip=s.chance(0.5),
            )


def reaching_hands(s: Sketch) -> None:
    """Two open hands from opposite edges, a heart between them."""
    toward = 90 if s.wide < 0.72 else 0 if s.wide > 1.4 else s.one_of(45, 135)
    x, y = s.x(0.5), s.y(0.5)
    r = s.unit * s.between(0.13, 0.16)
    s.add(0.1, 1, rays(x, y, math.hypot(s.width, s.height), s.one_of(20, 24, 28), s.between(0, 15)))
    s.add(0.2, 2, circle(x, y, r * 2))
    size = min(max(s.height, s.width) * 0.5, s.unit * 0.72)
    reach = size * 0.42 + r * 1.1
    lean = s.one_of(-1, 1) * s.between(4, 10)
    for side, look in ((1, {}), (-1, {3: 4, 4: 3})):
        turn = toward - 90 + (0 if side > 0 else 180)
        angle = math.radians(toward)
        place = (x + side * reach * math.cos(angle), y + side * reach * math.sin(angle))
        s.put(0.5, retoned(drawing("hands", "open-hand"), look), *place, size, turn=turn + lean, flip=side < 0)
    s.put(0.7, drawing("heart", "heart", 5), x, y, r * 2.1)
    s.put(0.75, drawing("heart", "heart", 4), x, y, r * 1.5)


# Eye


def eye(s: Sketch) -> None:
    """One great eye in rays, or eyes in rows that look several ways."""
    sky(s)
    if s.wide < 0.6 or s.chance(0.35):
        rows_of_eyes(s)
    else:
        great_eye(s)


def great_eye(s: Sketch) -> None:
    """One eye in rays."""
    x, y = s.x(0.5), s.y(s.between(0.46, 0.52))
    size = min(s.width * 0.84, s.height * 1.15)
    s.add(0.1, 1, rays(x, y, math.hypot(s.width, s.height), s.one_of(20, 24, 28), s.between(0, 15)))
    s.add(0.2, 2, circle(x, y, min(size * 0.56, s.height * 0.47)))
    s.put(0.5, open_eye(s.one_of(0, 1), 0), x, y, size)
    if s.height > size * 1.1:
        for side in (-1, 1):
            level = y + side * (s.height / 2 - s.unit * 0.12)
            for k in range(-2, 3):
                drop = star(
                    x + k * s.unit * 0.17, level + abs(k) * side * -s.unit * 0.03, s.unit * 0.05, s.unit * 0.02, 4
                )
                s.add(0.3, (3, 4)[k % 2], drop)


def rows_of_eyes(s: Sketch) -> None:
    """Eyes in rows that look several ways."""
    columns = max(1, round(s.width / s.unit * s.one_of(1, 2))) if s.wide > 0.6 else 1
    step = s.width / columns
    rows = max(2, round(s.height / (step * 0.56)))
    turn = s.one_of(0, 1)
    for j in range(rows):
        level = s.height / rows
        s.add(0.1, (1, 0, 2, 0)[(j + turn) % 4], rect(s.left, s.top + j * level, s.width, level + 1))
        for i in range(-1, columns + 1):
            x, y = (
                s.left + (i + (0.5 if j % 2 == 0 else 1.0 if columns > 1 else 0.5)) * step,
                s.top + (j + 0.55) * level,
            )
            look = {2: 4, 4: 2} if (i + j) % 2 else {}
            s.put(
                0.5,
                retoned(open_eye((i + j + turn) % 2, s.one_of(-1, 0, 0, 1)), look),
                x,
                y,
                min(step * 0.84, level * 1.34),
            )


@cache
def open_eye(kind: int, gaze: int) -> Drawing:
    """An open eye one unit wide that looks to the left (-1), at us (0) or to the right (1)."""
    x = 0.15 * gaze
    wedges = [sector(x, 0, 0.21, k * 30, k * 30 + 15, 0.1) for k in range(12)]
    return (
        *drawing("eye", "lids"),
        DrawingPart(2, circle(x, 0, 0.225)),
        DrawingPart(4, joined(*wedges) if kind == 0 else ring(x, 0, 0.2, 0.16)),
        DrawingPart(3, circle(x, 0, 0.12)),
        DrawingPart(5, circle(x + 0.06, -0.06, 0.04)),
    )


# Heart


def heart(s: Sketch) -> None:
    """Hearts within hearts, a cut jewel of a heart, or a garden of them."""
    sky(s)
    s.one_of(ringed_heart, heart_jewel, heart_garden)(s)


def ringed_heart(s: Sketch) -> None:
    """A heart that beats outwards over the whole box."""
    x, y = s.x(s.between(0.42, 0.58)), s.y(s.between(0.46, 0.52))
    tones = s.one_of((1, 0, 1, 2, 3, 4), (1, 2, 1, 5, 4, 3), (2, 1, 4, 5, 3, 4))
    far = max(s.width, s.height) * 1.9
    near = s.unit * 0.34
    for k, tone in enumerate(tones):
        s.put(0.1 + 0.15 * k, drawing("heart", "heart", tone), x, y, far * (near / far) ** (k / (len(tones) - 1)))
    s.put(0.95, drawing("heart", "heart", 5), x, y, near * 0.42)


def heart_jewel(s: Sketch) -> None:
    """A heart of facets before rays."""
    x, y, size = s.x(0.5), s.y(s.between(0.47, 0.52)), min(s.width * 0.86, s.height * 0.8)
    s.add(0.1, 1, rays(x, y, math.hypot(s.width, s.height), s.one_of(20, 26, 32), s.between(0, 12), size * 0.1))
    s.add(0.2, 2, circle(x, y, size * 0.56))
    corners = [
        (0, 0.46),
        (-0.34, 0.16),
        (-0.52, -0.14),
        (-0.4, -0.38),
        (-0.2, -0.4),
        (0, -0.24),
        (0.2, -0.4),
        (0.4, -0.38),
        (0.52, -0.14),
        (0.34, 0.16),
    ]
    middle = (s.between(-0.06, 0.06), s.between(-0.06, 0.02))
    tones = (4, 3, 4, 5, 4, 3, 4, 3, 4, 3)
    for k, tone in enumerate(tones):
        points = [middle, corners[k], corners[(k + 1) % 10]]
        s.add(0.5, tone, polygon([(x + size * a, y + size * b) for a, b in points]))
    for _ in range(int(5 * max(s.wide, 1 / s.wide))):
        px, py = s.x(s.between(0.05, 0.95)), s.y(s.between(0.05, 0.95))
        if math.dist((px, py), (x, y)) > size * 0.64:
            s.put(
                0.4,
                drawing("heart", "heart", s.one_of(3, 4)),
                px,
                py,
                s.unit * s.between(0.06, 0.1),
                turn=s.between(-20, 20),
            )


def heart_garden(s: Sketch) -> None:
    """Hearts on stems like flowers, one much taller than the rest."""
    s.add(0.1, 1, circle(s.x(s.between(0.35, 0.65)), s.y(0.4), s.unit * s.between(0.36, 0.44)))
    count = max(3, round(s.wide * 4.2)) if s.wide > 0.6 else 3
    lead = int(s.rng.integers(1, count - 1))
    for i in range(count):
        x = s.x((i + 0.5) / count)
        size = s.unit * (0.42 if i == lead else s.between(0.2, 0.28))
        y = s.y(0.34 if i == lead else s.between(0.44, 0.66))
        depth = 0.6 if i == lead else 0.4
        s.add(depth, 3, ribbon([(x, y), (x + size * 0.1, (y + s.bottom) / 2), (x, s.bottom + size)], size * 0.05))
        for side in (-1, 1):
            s.put(
                depth,
                drawing("heart", "pointed-leaf"),
                x,
                y + (s.bottom - y) * s.between(0.62, 0.8),
                size * 0.6,
                turn=side * 46,
            )
        tone = 4 if i == lead else (3, 2, 4)[i % 3]
        s.put(depth + 0.1, drawing("heart", "heart", tone), x, y, size, turn=s.between(-10, 10))
        s.put(depth + 0.12, drawing("heart", "heart", 5 if tone != 2 else 3), x, y, size * 0.4)
    s.add(0.9, 3, rect(s.left, s.y(0.95), s.width, s.height))
