"""The 24 tasks, one description each, and the closed vocabularies of their answers.

19 tasks ask a model about a poster, 5 ask a generator to make one. A description says where the records of a public
file hold the truth, what kind of answer is read from a response, and which metrics count. Files, parsers, metrics,
contestants, reports and makers all go by it.

**What a maker of a task has to do.** `salon.bench.posters.make` gives

    MADE: tuple[str, ...]                         names of the tasks it can make
    make_tasks(folder: Path, tasks: Sequence[str], n: int, seed: int) -> list[Path]

`make_tasks` writes FOLDER/<side>/<file>.json (`PosterTask.place`: und_task/simple_ocr.json) in the public layout and
the pictures beside it, FOLDER/<path>, with `path` as the records give it (forward slashes, relative to FOLDER). A
record has `task` (one of `PosterTask.strings`), `subtask` (a word or a number; a name of its own where the task knows
kinds), `name`, `path`, `prompt` (all that a model is told, options with their letters among it) and the truth in
`PosterTask.truth[0]`:

    text      gt "NIKE"                                      texts, lines  texts ["SALE", "50% off"] (lines: also gt)
    letter    gt "C"                                         label         gt ["left-aligned"] or "Memphis"
    effects   gt ["red", "stone", "ice"] (the color first)   patches       gt [0, 1, 8]
    boxes     text_bbox [[x1, y1, x2, y2], ...] in pixels, largest area first, size [w, h], texts in the same order
    points    gt ["the title is mirrored", ...]              rating        gt 6.5

The same seed gives the same bytes. Letters and labels are balanced, so that "always A" is at chance. Numbers that make
an item hard may stand in `difficulty`, {"rotation": 4.0, "clutter": 0.3}: the report draws a curve over each of them.
`files.new_file(task, records)` checks the records and gives what to write; `item.read_item` will read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import Literal

from salon.errors import BadValue

STYLES = (
    "Acid Graphics", "Cinema 4D Style", "Cyberpunk Style", "Diffuse Glow Style", "Flat Design", "Glitch Art",
    "Illustrative Style", "Japanese Style", "Memphis Style", "Minimalist Style", "New Chinese Aesthetic",
    "Papercut Style", "Pixel Art", "Pop Art", "Retro Style", "Typographic Minimalism", "Vaporwave Style",
)  # fmt: skip
"""As the public files spell them; the word Style may be left off or added (`option_spellings`)."""
ATTRIBUTES = (
    "angular", "artistic", "attention-grabbing", "attractive", "bad", "boring", "calm", "capitals", "charming",
    "clumsy", "complex", "cursive", "delicate", "disorderly", "display", "dramatic", "formal", "fresh", "friendly",
    "gentle", "graceful", "happy", "italic", "legible", "modern", "monospace", "playful", "pretentious", "serif",
    "sharp", "sloppy", "soft", "strong", "technical", "thin", "warm", "wide",
)  # fmt: skip
CLASSIC_EFFECTS = (
    "bold", "glow", "gradient_fill", "highlight", "italic", "outline", "reflection", "shadow", "underline",
)  # fmt: skip
COLORS = (
    "azure", "beige", "black", "blue", "colorful", "gray", "green", "indigo", "orange", "pink", "purple", "red",
    "reddish-brown", "silvery", "white", "yellow",
)  # fmt: skip
OPERATIONS = (
    "misalignment", "segmentation", "nesting", "cutouts", "repetition", "extension", "focus shifting", "mirroring",
)  # fmt: skip
ALIGNMENTS = ("left-aligned", "center-aligned", "right-aligned")
ROTATIONS = ("counterclockwise rotation", "clockwise rotation", "no rotation")
FONT_SIZES = tuple(range(15, 81, 5))
GRID = 7
"""Patches of an empty-space poster, a side; ids run from 0, row by row."""

SYNONYMS: dict[str, tuple[str, ...]] = {
    "left-aligned": ("left", "left aligned", "left alignment", "flush left", "align left"),
    "center-aligned": ("center", "centre", "centered", "centred", "center aligned", "centre aligned",
                       "center alignment", "align center"),
    "right-aligned": ("right", "right aligned", "right alignment", "flush right", "align right"),
    "counterclockwise rotation": ("counterclockwise", "counter clockwise", "anticlockwise", "anti clockwise", "ccw",
                                  "counter clockwise rotation", "anticlockwise rotation", "rotated counterclockwise",
                                  "rotated counter clockwise"),
    "clockwise rotation": ("clockwise", "cw", "rotated clockwise"),
    "no rotation": ("none", "not rotated", "unrotated", "no", "without rotation"),
    "gray": ("grey",),
    "silvery": ("silver",),
    "colorful": ("colourful", "multicolored", "multicolor", "multi colored"),
}  # fmt: skip
"""What else is said for a label, folded: lower case, hyphens and underscores as spaces."""


def fold_label(label: str) -> str:
    """A label as it is compared: lower case, hyphens and underscores as spaces, one space between words."""
    return " ".join(label.lower().replace("-", " ").replace("_", " ").split())


def option_spellings(options: tuple[str, ...]) -> dict[str, str]:
    """Every folded way to say one of these options, and the option it says."""
    ways = {word: option for option in options for word in (fold_label(option), *SYNONYMS.get(option, ()))}
    if options != STYLES:
        return ways
    bare = {way.removesuffix(" style"): option for way, option in ways.items()}
    return ways | bare | {f"{way} style": option for way, option in bare.items()}


# -- tasks -------------------------------------------------------------------------------------------------------------


Side = Literal["understanding", "generation"]
AnswerKind = Literal[
    "text", "texts", "lines", "letter", "label", "effects", "boxes", "layout", "patches", "points", "rating",
    "attributes",
]  # fmt: skip
GROUPS = ("OCR", "Font", "Layout", "Understanding", "Rating")
"""Groups of the understanding side, in the order of the published table."""
GENERATION = "Generation"
FOLDERS: dict[Side, str] = {"understanding": "und_task", "generation": "gen_task"}


@dataclass(frozen=True)
class Metric:
    """One number of a task."""

    id: str
    title: str
    k: int | None = None
    """Options of a k-option score, (k acc - 1)/(k - 1); None for what is no such score."""
    better: Literal["high", "low"] = "high"
    grouped: bool = True
    """Whether it enters the mean of its group, as in the published table; the others are only reported."""


@dataclass(frozen=True)
class PosterTask:
    """One task of the benchmark."""

    name: str
    title: str
    group: str
    answer: AnswerKind
    metrics: tuple[Metric, ...]
    strings: tuple[str, ...]
    """What `task` says in its records."""
    truth: tuple[str, ...] = ("gt",)
    """Fields that hold the truth; the first that is there counts."""
    options: tuple[str, ...] = ()
    """The answers on the menu, where there is one."""
    strata: Literal["none", "task", "subtask"] = "none"
    """Parts whose means are averaged: the two halves of font matching, the font sizes."""
    side: Side = "understanding"
    stem: str | None = None
    """Name of the public file where it is not that of the task."""

    @property
    def file(self) -> str:
        """Name of its public file."""
        return f"{self.stem or self.name}.json"

    @property
    def place(self) -> str:
        """Where its file stands in the public tree."""
        return f"{FOLDERS[self.side]}/{self.file}"

    @property
    def judged(self) -> bool:
        """Whether its records need a judge's `judge` field before they can be scored."""
        return self.answer in ("points", "attributes") or self.side == "generation"

    def metric(self, id: str) -> Metric:
        """The metric with that id."""
        return next(metric for metric in self.metrics if metric.id == id)


_COLORS, _EFFECTS = len(COLORS), 48
_SCORE = "Score"


def _choice(k: int) -> tuple[Metric, ...]:
    return (Metric("score", _SCORE, k=k),)


def _letters(k: int) -> tuple[str, ...]:
    return tuple(ascii_uppercase[:k])


_WR = Metric("wr", "Word recall")
_POINTS = (Metric("share", "Points, mean share"), Metric("strict", "Points, all covered", grouped=False))
_RECALL = "Recall"

TASKS: tuple[PosterTask, ...] = (
    PosterTask("logo_ocr", "Logo OCR", "OCR", "text", (Metric("accuracy", "Exact match"),), ("logo ocr",)),
    PosterTask(
        "poster_ocr", "Poster OCR", "OCR", "texts", (Metric("share", "Texts found"),), ("poster ocr",), ("texts",)
    ),
    PosterTask("simple_ocr", "Simple OCR", "OCR", "lines", (_WR,), ("simple ocr",), ("gt", "texts")),
    PosterTask("hard_ocr", "Hard OCR", "OCR", "lines", (_WR,), ("hard ocr",), ("gt", "texts")),
    PosterTask(
        "font_size_ocr",
        "Font-size OCR",
        "OCR",
        "lines",
        (_WR, Metric("sd", "Spread across sizes", better="low", grouped=False)),
        ("font size ocr",),
        ("gt", "text"),
        strata="subtask",
    ),
    PosterTask(
        "font_matching",
        "Font matching",
        "Font",
        "letter",
        _choice(9),
        ("font matching 1", "font matching 2"),
        options=_letters(9),
        strata="task",
    ),
    PosterTask(
        "font_attributes", "Font attributes", "Font", "letter", _choice(2), ("font attributes",), options=_letters(2)
    ),
    PosterTask("font_effect", "Font effect 1", "Font", "letter", _choice(4), ("font effect",), options=_letters(4)),
    PosterTask(
        "font_effect_2",
        "Font effect 2",
        "Font",
        "effects",
        (Metric("color", "Color score", k=_COLORS), Metric("effect", "Effect score", k=_EFFECTS)),
        ("font effect 2",),
        options=COLORS,
    ),
    PosterTask(
        "text_localization",
        "Text localisation",
        "Layout",
        "boxes",
        (
            Metric("top1", "Top-1 IoU"),
            Metric("top3", "Top-3 IoU"),
            Metric("mean", "Mean IoU"),
            Metric("recall", _RECALL),
            Metric("assigned", "Mean IoU, best assignment", grouped=False),
        ),
        ("text localization",),
        ("text_bbox", "gt"),
    ),
    PosterTask(
        "alignment", "Alignment", "Layout", "label", _choice(3), ("alignment",), ("gt", "alignment"), options=ALIGNMENTS
    ),
    PosterTask(
        "rotation", "Rotation", "Layout", "label", _choice(3), ("rotation",), ("rotation", "gt"), options=ROTATIONS
    ),
    PosterTask(
        "empty_space",
        "Empty space",
        "Layout",
        "patches",
        (Metric("iou", "IoU"), Metric("match", "Count matched")),
        ("empty space",),
    ),
    PosterTask(
        "layout_comparison",
        "Layout comparison",
        "Layout",
        "letter",
        _choice(2),
        ("layout comparison",),
        options=_letters(2),
        stem="layout_comprison",
    ),
    PosterTask(
        "layout_generation",
        "Layout generation",
        "Layout",
        "layout",
        (
            Metric("bias", "Center bias", better="low", grouped=False),
            Metric("area", "Area ratio"),
            Metric("recall", _RECALL, grouped=False),
        ),
        ("layout generation",),
        ("text_bbox", "gt"),
    ),
    PosterTask(
        "style_understanding",
        "Style",
        "Understanding",
        "label",
        _choice(17),
        ("style understanding",),
        ("gt", "style"),
        options=STYLES,
    ),
    PosterTask(
        "composition_understanding", "Composition", "Understanding", "points", _POINTS, ("composition understanding",)
    ),
    PosterTask(
        "intention_understanding", "Intention", "Understanding", "points", _POINTS, ("intention understanding",)
    ),
    PosterTask(
        "overall_rating",
        "Overall rating",
        "Rating",
        "rating",
        (Metric("pearson", "Correlation with people"),),
        ("overall rating",),
    ),
    PosterTask("gen_dense", "Dense posters", GENERATION, "points", _POINTS, ("poster dense",), side="generation"),
    PosterTask(
        "gen_font",
        "Font richness",
        GENERATION,
        "attributes",
        (Metric("richness", "Richness"),),
        ("poster font",),
        (),
        options=ATTRIBUTES,
        side="generation",
    ),
    PosterTask(
        "gen_style",
        "Style followed",
        GENERATION,
        "label",
        (Metric("accuracy", "Accuracy"),),
        ("poster style",),
        ("style", "gt"),
        options=STYLES,
        side="generation",
    ),
    PosterTask(
        "gen_composition",
        "Composition followed",
        GENERATION,
        "points",
        _POINTS,
        ("poster composition",),
        side="generation",
    ),
    PosterTask(
        "gen_intention", "Intention conveyed", GENERATION, "points", _POINTS, ("poster intention",), side="generation"
    ),
)
BY_NAME = {task.name: task for task in TASKS}
_BY_STRING = {string: task for task in TASKS for string in task.strings}


def task_named(name: str) -> PosterTask:
    """The task of that name; BadValue names those there are."""
    if name not in BY_NAME:
        raise BadValue("the name of a poster task is needed", found=repr(name), remedy="one of " + ", ".join(BY_NAME))
    return BY_NAME[name]


def metric_title(task: str, metric: str) -> str:
    """What a metric of a task is called on a page: Word recall, not wr."""
    return next(candidate.title for candidate in task_named(task).metrics if candidate.id == metric)


def task_of(string: object, *, where: str) -> PosterTask:
    """The task that a record's `task` field means."""
    if not isinstance(string, str) or string not in _BY_STRING:
        raise BadValue(
            "a record of a known poster task is needed",
            found=f"task {string!r}",
            where=where,
            remedy="known are "
            + ", ".join(repr(known_string) for known_string in _BY_STRING)
            + "; another version's file is not read",
        )
    return _BY_STRING[string]
