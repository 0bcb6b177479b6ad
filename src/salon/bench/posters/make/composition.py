"""Composition and metaphor: posters built from one bold mark on a plain sheet.

A composition poster has one of the eight operations, sometimes with a second one on the lettering. The sheet is plain,
so that the operation can be seen and does not happen by accident anywhere else. Key points say which operation, on
what, and how: two for each operation.

A metaphor poster shows one thing inside the outline of another; together they mean something that neither says alone.
Its words name the sender and call on the reader; only the picture says what for. Key points are the two things, what
each stands for, and what the poster wants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import distance_transform_edt, gaussian_filter, shift

from salon.bench.posters.make.items import MadeItem, balanced_choice, invented_name, pick, title
from salon.bench.posters.make.lettering import line_in, paint_marks
from salon.bench.posters.tasks import OPERATIONS
from salon.render import (
    NAMES,
    Box,
    Face,
    Fill,
    Glyphs,
    Group,
    Mark,
    MotifShape,
    Subject,
    Tile,
    chance,
    circle,
    contrast,
    emblem,
    flat,
    mix,
    rays,
    rect,
    rounded,
    shape_mark,
)

WIDTH, HEIGHT = 720, 960
STAGE = Box(x=60, y=250, width=600, height=650)
"""Where the picture stands, below the headline."""
_COARSE = 4
"""Pixels between the places tried for what is nested."""
NOUNS: dict[Subject, str] = {
    "bicycle": "bicycle", "bird": "bird", "boat": "sailing boat", "balloon": "hot-air balloon", "candle": "candle",
    "cat": "cat's head", "chair": "armchair", "coffee": "cup of coffee", "fish": "fish", "flower": "flower",
    "fruit": "pear", "hands": "hand", "heart": "heart", "house": "house", "lamp": "lamp", "leaf": "leaf",
    "music": "musical note", "rocket": "rocket", "robot": "robot's head", "train": "train", "umbrella": "umbrella",
}  # fmt: skip
"""What can be told at a glance, as a mark and as a bare outline."""
ROOMY: tuple[Subject, ...] = ("heart", "fruit", "house", "cat", "balloon", "leaf", "chair")
"""Marks with room for another one inside."""
TELLING: tuple[Subject, ...] = tuple(noun for noun in NOUNS if noun not in ("robot", "train", "lamp", "candle"))
"""Marks that a bare outline is enough to tell."""
LOPSIDED: tuple[Subject, ...] = tuple(noun for noun in NOUNS if noun not in ("fish", "bird", "flower", "leaf"))
"""Marks that plainly stand upside down when they do."""
LOOKS = (
    ("cream", "navy", "coral"), ("mint", "forest", "tangerine"), ("sky", "midnight", "scarlet"),
    ("blush", "burgundy", "amber"), ("sand", "petrol", "rust"), ("lavender", "indigo", "fuchsia"),
    ("navy", "ivory", "amber"), ("teal", "cream", "coral"), ("plum", "blush", "mustard"),
)  # fmt: skip
"""Ground, main color, accent."""
FACES = (Face(family="Archivo Black"), Face(family="Poppins", weight=800), Face(family="Playfair Display", weight=900),
         Face(family="Montserrat", weight=800))  # fmt: skip
PROMPT = (
    "How is this poster composed? Say which operations its designer has used (misalignment, segmentation, nesting, "
    "cutouts, repetition, extension, focus shifting, mirroring: one or two of them), on which element, and how "
    "exactly. Answer in a few sentences."
)


@dataclass(frozen=True)
class Scene:
    """What an operation works with."""

    subject: Subject
    ground: str
    main: str
    accent: str
    rng: np.random.Generator
    headline: tuple[Glyphs, ...] = ()

    @property
    def noun(self) -> str:
        """The subject in words."""
        return NOUNS[self.subject]

    def tones(self) -> list[str]:
        """Colors of the mark's parts."""
        return [mix(self.ground, self.main, amount) for amount in (0.1, 0.25, 0.55, 1.0)] + [
            self.accent, max((self.ground, "#ffffff"), key=lambda color: contrast(color, self.main))]  # fmt: skip

    def sheet(self, marks: Sequence[Mark]) -> np.ndarray:
        """The marks on the ground, below the headline."""
        lettering = [replace(run, paint=self.main) for run in self.headline]
        return paint_marks([*marks, *lettering], WIDTH, HEIGHT, self.ground)


Drawing = tuple[np.ndarray, list[str]]


def composition_understanding(number: int, seed: int) -> MadeItem:
    """A poster under an operation; half of them with letters out of line as a second one."""
    rng = chance(seed, "composition_understanding", str(number))
    operation = balanced_choice(OPERATIONS, number, seed, "composition_understanding")
    second = balanced_choice((False, True), number, seed, "composition_understanding", "second")
    ground, main, accent = (NAMES[name] for name in pick(LOOKS, rng))
    subjects = {"nesting": ROOMY, "cutouts": TELLING, "mirroring": LOPSIDED}.get(operation, tuple(NOUNS))
    jumping = second or operation == "misalignment"
    operations = [operation] + ["misalignment"] * (jumping and operation != "misalignment")
    lettering = headline(title(rng, 2), pick(FACES, rng), jumping, rng)
    pixels, points = OPERATION_DRAWERS[operation](Scene(pick(subjects, rng), ground, main, accent, rng, lettering))
    points = points + MISALIGNED * jumping
    return MadeItem("composition understanding", operation, PROMPT, {"gt": points, "operations": operations}, pixels,
                {"operations": len(operations)})  # fmt: skip


# -- lettering -----------------------------------------------------------------------------------------------------

MISALIGNED = [
    "Letters of the headline are shifted out of line on purpose (misalignment).",
    "The shift is upwards and downwards: neighbouring letters stand at different heights.",
]


def headline(text: str, face: Face, jumping: bool, rng: np.random.Generator) -> tuple[Glyphs, ...]:
    """The headline, each letter on the line or every other one above it."""
    line = line_in(text, face, Box(x=60, y=60, width=600, height=150), paint="#000000", size=84, align="center")
    if not jumping:
        return line.glyphs
    high = 0.3 * line.size
    return tuple(replace(run, ys=tuple(y + (high if at % 2 else -high) * float(rng.uniform(0.8, 1.1))
                                       for at, y in enumerate(run.ys))) for run in line.glyphs)  # fmt: skip


# -- operations ----------------------------------------------------------------------------------------------------


def _plain(scene: Scene) -> Drawing:
    """The mark in the middle: with the lettering out of line, that is all there is to tell."""
    return scene.sheet(subject_marks(scene, _middle(430))), []


def _segmented(scene: Scene) -> Drawing:
    marks, box = subject_marks(scene, _middle(470)), ink_box(coverage(scene, _middle(470)))
    count, upright = int(scene.rng.integers(4, 7)), bool(scene.rng.random() < 0.5)
    strips: list[Mark] = []
    for k in range(count):
        off = (k - (count - 1) / 2) * 26
        part = (rect(box.x + k * box.width / count, 0, box.width / count, HEIGHT) if upright else
                rect(0, box.y + k * box.height / count, WIDTH, box.height / count))  # fmt: skip
        dx, dy = (off, 0.0) if upright else (0.0, off)
        strips.append(Group((Group(marks, clip=part),), transform=(1, 0, 0, 1, dx, dy)))
    way = "upright" if upright else "level"
    return scene.sheet(strips), [
        f"The {scene.noun} is cut into separate pieces (segmentation).",
        f"The pieces are {count} {way} strips with gaps between them.",
    ]


def _nested(scene: Scene) -> Drawing:
    subjects = [subject for subject in NOUNS if subject != scene.subject]
    inner = replace(scene, subject=pick(subjects, scene.rng), ground=scene.main, main=scene.ground)
    return scene.sheet(nested_marks(scene, inner)), [
        f"One thing is placed inside the outline of another: the {scene.noun} holds a second picture (nesting).",
        f"Inside the {scene.noun} there is a {inner.noun}.",
    ]


def nested_marks(scene: Scene, inner: Scene) -> tuple[Mark, ...]:
    """A small mark in the widest place of a large one's outline."""
    depth = distance_transform_edt(coverage(scene, _middle(560))[::_COARSE, ::_COARSE] > 0.5)
    y, x = (float(index) * _COARSE for index in np.unravel_index(int(depth.argmax()), depth.shape))
    half = 0.68 * float(depth.max()) * _COARSE
    small = subject_marks(inner, Box(x=x - half, y=y - half, width=2 * half, height=2 * half))
    return (*outline_marks(scene, _middle(560), scene.main), *small)


def _cut_out(scene: Scene) -> Drawing:
    """A hole in the shape of the mark, with a shadow along its edge and a pattern behind."""
    name = pick(("stripes", "dots", "rays"), scene.rng)
    pixels = scene.sheet(())
    alpha = coverage(scene, _middle(520))
    ink = ink_box(alpha)
    part = slice(int(ink.y) - 2, int(ink.bottom) + 2), slice(int(ink.x) - 2, int(ink.right) + 2)
    behind = paint_marks(_pattern(name, scene.accent), WIDTH, HEIGHT, mix(scene.accent, "#ffffff", 0.55))[part]
    open = alpha[part]
    dark = gaussian_filter(shift(1 - open, (9, 9), order=0, mode="nearest"), 6)
    hole = behind * (1 - 0.6 * dark)[..., None]
    pixels[part] = (pixels[part] * (1 - open)[..., None] + hole * open[..., None]).round()
    return pixels, [
        f"The {scene.noun} is cut out of the surface: it is a hole, not a thing (cutouts).",
        f"A pattern of {name} that lies behind the surface shows through the hole.",
    ]


def _pattern(name: str, color: str) -> list[Mark]:
    whole = rect(0, 0, WIDTH, HEIGHT)
    if name == "rays":
        return [Fill(rays(WIDTH / 2, STAGE.middle[1], 900, 18), color)]
    cell = rect(0, 0, 44, 22) if name == "stripes" else circle(22, 22, 12)
    return [Tile((Fill(cell, color),), 44, 44, whole, 45.0)]


def _repeated(scene: Scene) -> Drawing:
    columns, rows = pick(((3, 3), (3, 4), (4, 4), (4, 3)), scene.rng)
    wide, high = STAGE.width / columns, STAGE.height / rows
    side = 0.78 * min(wide, high)
    corners = [(STAGE.x + (column + 0.5) * wide - side / 2, STAGE.y + (row + 0.5) * high - side / 2)
               for row in range(rows) for column in range(columns)]  # fmt: skip
    marks = [mark for x, y in corners for mark in subject_marks(scene, Box(x=x, y=y, width=side, height=side))]
    return scene.sheet(marks), [
        f"The {scene.noun} is repeated many times (repetition).",
        f"The copies stand in a regular grid of {columns} columns and {rows} rows.",
    ]


def _extended(scene: Scene) -> Drawing:
    """The mark breaks out of a frame by a third of its own size."""
    way = pick(("upper", "right", "left"), scene.rng)
    frame = {"upper": Box(x=140, y=430, width=440, height=440), "right": Box(x=60, y=300, width=430, height=540),
             "left": Box(x=230, y=300, width=430, height=540)}[way]  # fmt: skip
    x, y = frame.middle
    start = Box(x=x - 190, y=y - 190, width=380, height=380)
    ink = ink_box(coverage(scene, start))
    out = 0.35 * (ink.height if way == "upper" else ink.width)
    dx = {"upper": 0.0, "right": frame.right + out - ink.right, "left": frame.x - out - ink.x}[way]
    dy = frame.y - out - ink.y if way == "upper" else 0.0
    panel = Fill(rounded(frame.x, frame.y, frame.width, frame.height, 14), mix(scene.ground, scene.main, 0.28))
    moved = Group(subject_marks(scene, start), transform=(1, 0, 0, 1, dx, dy))
    return scene.sheet((panel, moved)), [
        f"The {scene.noun} does not keep to its frame but runs over the edge of it (extension).",
        f"It breaks out at the {way} edge of the frame.",
    ]


def _off_focus(scene: Scene) -> Drawing:
    side = pick(("left", "right"), scene.rng)
    box = Box(x=40 if side == "left" else WIDTH - 200, y=HEIGHT - 200, width=160, height=160)
    return scene.sheet(subject_marks(scene, box)), [
        f"The {scene.noun} stands far off the middle, so that the eye is drawn to the side (focus shifting).",
        f"It is small and stands in the lower {side} corner; the rest of the picture is left empty.",
    ]


def _mirrored(scene: Scene) -> Drawing:
    start = Box(x=200, y=260, width=320, height=300)
    dy, axis = 570 - ink_box(coverage(scene, start)).bottom, 582.0
    upper = Group(subject_marks(scene, start), transform=(1, 0, 0, 1, 0, dy))
    lower = Group((upper,), transform=(1, 0, 0, -1, 0, 2 * axis), opacity=0.6)
    line = Fill(rect(STAGE.x, axis - 2, STAGE.width, 4), scene.main)
    return scene.sheet((lower, upper, line)), [
        f"The {scene.noun} appears together with its mirror image (mirroring).",
        "The mirror image hangs upside down below the original.",
    ]


OPERATION_DRAWERS: dict[str, Callable[[Scene], Drawing]] = {
    "misalignment": _plain, "segmentation": _segmented, "nesting": _nested, "cutouts": _cut_out,
    "repetition": _repeated, "extension": _extended, "focus shifting": _off_focus, "mirroring": _mirrored,
}  # fmt: skip


# -- marks and ink -------------------------------------------------------------------------------------------------


def subject_marks(scene: Scene, box: Box) -> tuple[Mark, ...]:
    """The subject's mark in the box."""
    return flat(_shapes(scene, box), scene.tones())


def outline_marks(scene: Scene, box: Box, color: str) -> tuple[Mark, ...]:
    """The same in one color."""
    return tuple(shape_mark(shape, color) for shape in _shapes(scene, box))


def _shapes(scene: Scene, box: Box) -> tuple[MotifShape, ...]:
    """From chance of its own, so that copies are alike."""
    return emblem(scene.subject, box, chance(0, "composition", scene.subject))


def _middle(side: float) -> Box:
    x, y = STAGE.middle
    return Box(x=x - side / 2, y=y - side / 2, width=side, height=side)


def coverage(scene: Scene, box: Box) -> np.ndarray:
    """How much of each pixel the subject's mark in the box covers, from 0 to 1."""
    black = paint_marks(outline_marks(scene, box, "#000000"), WIDTH, HEIGHT, "#ffffff")[:, :, 0]
    return 1 - black.astype(np.float32) / 255


def ink_box(alpha: np.ndarray) -> Box:
    """The box around what is covered."""
    inked = alpha > 0.5
    rows, columns = np.flatnonzero(inked.any(axis=1)), np.flatnonzero(inked.any(axis=0))
    return Box(x=float(columns[0]), y=float(rows[0]), width=float(columns[-1] - columns[0] + 1),
               height=float(rows[-1] - rows[0] + 1))  # fmt: skip


# -- metaphors ---------------------------------------------------------------------------------------------------------

METAPHOR_PROMPT = (
    "What does this poster want to tell? Describe its picture, explain what each thing in it stands for, and say what "
    "the poster wants its readers to believe or to do, and who is behind it. Answer in at most 150 words."
)


@dataclass(frozen=True)
class Metaphor:
    """A thing inside another one, what they stand for, and what is meant."""

    outer: Subject
    inner: Subject
    stands: tuple[str, str]
    """For what the outer and the inner thing stand."""
    wants: str
    """What the poster wants, after "to"."""
    headlines: tuple[str, str]
    """Words that call without giving away what for."""


METAPHORS: tuple[Metaphor, ...] = (
    Metaphor("heart", "music", ("feeling", "music"), "say that music comes from the heart",
             ("Listen inside", "Hear it beat")),
    Metaphor("house", "heart", ("home", "love"), "say that love makes a home, and win people who take someone in",
             ("Open the door", "Room for one more")),
    Metaphor("leaf", "house", ("nature", "living and building"), "say that houses should suit nature",
             ("Live lightly", "Build anew")),
    Metaphor("fruit", "heart", ("healthy food", "health of the heart"), "say that eating fruit keeps the heart healthy",
             ("Bite well", "Every day one")),
    Metaphor("heart", "bicycle", ("health", "cycling"), "say that cycling keeps the heart healthy",
             ("Keep it going", "Move more")),
    Metaphor("leaf", "bicycle", ("the environment", "cycling"), "say that cycling protects the environment",
             ("Leave it standing", "Take the other way")),
    Metaphor("heart", "fish", ("care", "life in the sea"), "ask people to care for life in the sea",
             ("Deep down", "Hold on to it")),
    Metaphor("house", "bird", ("shelter", "wild birds"), "ask people to give birds a place to nest",
             ("Make space", "Someone moves in")),
    Metaphor("cat", "heart", ("pets", "love"), "ask people to love and adopt a pet", ("Take me along", "Say yes")),
    Metaphor("balloon", "house", ("leaving and rising", "home"), "say that one can leave home behind and begin anew",
             ("Let go", "Up and away")),
    Metaphor("leaf", "rocket", ("nature", "technical progress"), "say that progress should learn from nature",
             ("Lift off clean", "The next stage")),
    Metaphor("house", "coffee", ("home", "hospitality"), "ask people to invite their neighbours in",
             ("Come in", "Next door")),
)  # fmt: skip


def metaphor_poster(number: int, seed: int) -> MadeItem:
    """A poster whose message is a visual metaphor."""
    rng = chance(seed, "metaphor", str(number))
    metaphor = balanced_choice(METAPHORS, number, seed, "metaphor")
    ground, main, accent = (NAMES[name] for name in pick(LOOKS, rng))
    sender = f"{invented_name(rng)} Society"
    face = pick(FACES, rng)
    headline = line_in(
        pick(metaphor.headlines, rng), face, Box(x=60, y=60, width=600, height=150), paint=main, size=84, align="center"
    )
    foot = line_in(
        sender, Face(family="Inter", weight=600), Box(x=60, y=HEIGHT - 70, width=WIDTH - 120, height=50), paint=main,
        size=30, align="center",
    )  # fmt: skip
    scene = Scene(metaphor.outer, ground, main, accent, rng, (*headline.glyphs, *foot.glyphs))
    inner = replace(scene, subject=metaphor.inner, ground=main, main=ground)
    pixels = scene.sheet(nested_marks(scene, inner))
    points = metaphor_points(metaphor, sender)
    truth = {"gt": points, "metaphor": [metaphor.outer, metaphor.inner]}
    hard = {"points": len(points), "metaphor": 1.0}
    return MadeItem("intention understanding", "metaphor", METAPHOR_PROMPT, truth, pixels, hard)


def metaphor_points(metaphor: Metaphor, sender: str) -> list[str]:
    """What a reader should have understood."""
    outer, inner = NOUNS[metaphor.outer], NOUNS[metaphor.inner]
    return [
        f"The picture shows a {inner} inside a {outer}.",
        f"The {outer} stands for {metaphor.stands[0]}.",
        f"The {inner} stands for {metaphor.stands[1]}.",
        f"The poster wants to {metaphor.wants}.",
        f"It comes from the {sender}.",
    ]
