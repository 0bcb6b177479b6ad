"""OCR engines and rules about pixels on poster tasks that are drawn here; writes docs/methods/poster-ocr-table.md.

    python -m prove.poster_ocr [scratch folder]

Sets and readings are kept in the scratch folder, so that a proof which was stopped goes on. JOBS says how many
processes read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

import numpy as np
from PIL import Image

from prove._page import table, wrapped
from salon.bench import (
    MetricResult,
    PosterFile,
    PosterReport,
    PosterScoreSettings,
    find_files,
    run_engine,
    run_measured,
    score_files,
    task_named,
    with_released,
)
from salon.bench.posters import contestants, pixel_contestant
from salon.bench.posters.item import PosterItem
from salon.bench.posters.item_scores import score_item
from salon.bench.posters.make import make_tasks
from salon.bench.posters.metrics import SIZE
from salon.bench.posters.results import DifficultyCurve
from salon.report import Curve
from salon.report.charts import line_curves
from salon.report.page import standalone_svg
from salon.stats import Estimate

READ = ("logo_ocr", "poster_ocr", "simple_ocr", "hard_ocr", "font_size_ocr", "text_localization")
SEEN = ("font_effect", "text_localization", "alignment", "rotation", "empty_space", "layout_comparison")
ITEMS, SEED = 100, 0
SHRUNK = 3
"""Times smaller that the sheets of font-size OCR are shown once more: nobody fails at 15 pixels."""
SETTINGS = PosterScoreSettings()
DOCS = Path(__file__).parents[1] / "docs/methods"
NAMED = {"rapidocr": "RapidOCR", "tesseract": "Tesseract", pixel_contestant.NAME: "`measure`"}
ENDS = (
    ("hard_ocr", "texture", "texture 0.75 or 1", (0.75, 1), "texture 0.25", (0.25, 0.25)),
    ("hard_ocr", "contrast", "contrast 1.8", (1.8, 1.8), "contrast 7", (7, 7)),
    ("hard_ocr", "tilt", "tilted by 12 degrees", (12, 12), "not tilted", (0, 0)),
)
"""Task, difficulty, and its hard and easy ends."""
STRONG, LEAST, MOST = "rapidocr", 0.3, 0.8
"""The rule by which hard OCR is made: this engine's word recall over the whole set lies between these."""


@dataclass(frozen=True)
class Answers:
    """One contestant: its files and what they are worth, with the released numbers beside."""

    name: str
    files: dict[str, PosterFile]
    report: PosterReport

    def metric(self, task: str, id: str) -> MetricResult | None:
        """A number of the report; None for a task it was not asked."""
        found = next((one for one in self.report.tasks if one.task == task), None)
        return None if found is None else next(one for one in found.metrics if one.id == id)

    def curve(self, task: str, difficulty: str) -> DifficultyCurve:
        """A difficulty curve of the report."""
        return next(one for one in self.report.curves if (one.task, one.difficulty) == (task, difficulty))


# -- answering ---------------------------------------------------------------------------------------------------------


def drawn_set(folder: Path, tasks: Sequence[str]) -> list[PosterFile]:
    """The set, drawn where it is not there yet."""
    wanted = [name for name in tasks if not (folder / task_named(name).place).exists()]
    if wanted:
        make_tasks(folder, wanted, ITEMS, SEED, processes=_jobs())
    return [file for file in find_files([folder]) if file.task.name in tasks]


def answers(name: str, files: Sequence[PosterFile]) -> Answers:
    """What these answers are worth."""
    report = with_released(score_files(files, SETTINGS, contestant=name), files)
    return Answers(name, {file.task.name: file for file in files}, report)


def engine_answers(scratch: Path) -> list[Answers]:
    """Both engines on the texts."""
    files, found = drawn_set(scratch / "set", READ), []
    for name in contestants.ENGINES:
        run_engine(files, name, scratch / "set", scratch / name, workers=_jobs(), watch=_told(name))
        found.append(answers(name, find_files([scratch / name])))
    return found


def shrunk_answers(scratch: Path) -> list[Answers]:
    """Both engines on the sheets of font-size OCR made smaller, as a VLM makes what it is shown smaller."""
    (file,) = drawn_set(scratch / "set", ["font_size_ocr"])
    home, found = scratch / "shrunk", []
    if not (home / file.task.place).exists():
        for item in file.items:
            place = home / item.path
            place.parent.mkdir(parents=True, exist_ok=True)
            image = Image.open(scratch / "set" / item.path)
            image.resize((image.width // SHRUNK, image.height // SHRUNK), Image.Resampling.LANCZOS).save(place)
        file.write(home / file.task.place)
    for name in contestants.ENGINES:
        out = scratch / f"shrunk-{name}"
        run_engine(find_files([home]), name, home, out, workers=_jobs(), watch=_told(name))
        found.append(answers(name, find_files([out])))
    return found


def rule_answers(scratch: Path) -> list[Answers]:
    """The rules, and those who look at nothing, on what can be measured."""
    home = scratch / "set"
    files = drawn_set(home, SEEN)
    run_measured(files, home, scratch / pixel_contestant.NAME, workers=_jobs(), watch=_told(pixel_contestant.NAME))
    blind = [
        answers(name, [contestants.fill_responses(file, name, seed=SEED) for file in files])
        for name in contestants.NAMES
    ]
    return [answers(pixel_contestant.NAME, find_files([scratch / pixel_contestant.NAME])), *blind]


def _jobs() -> int:
    return int(os.environ.get("JOBS", "1"))


def _told(name: str):  # type: ignore[no-untyped-def]
    def watch(done: int, wanted: int) -> None:
        if done % 50 == 0:
            print(f"{name}: {done} of {wanted}", flush=True)

    return watch


# -- telling -----------------------------------------------------------------------------------------------------------


def told(figure: Estimate | None) -> str:
    """A value with its interval."""
    if figure is None:
        return "·"
    ends = "" if figure.low is None or figure.high is None else f" [{figure.low:.3f}, {figure.high:.3f}]"
    return f"{figure.value:.3f}{ends}"


def number(value: float | None) -> str:
    """A value without one."""
    return "·" if value is None else f"{value:.3f}"


def engine_rows(found: Sequence[Answers]) -> list[list[str]]:
    """A line for each metric: chance, each engine, and what the released scoring makes of the same answers."""
    rows = []
    for task in map(task_named, READ):
        for metric in task.metrics:
            ours = [one.metric(task.name, metric.id) for one in found]
            if any(one is None for one in ours):
                continue
            given = [one for one in ours if one is not None]
            title = metric.title + (" ↓" if metric.better == "low" else "")
            released = [f"{number(one.released)} of {one.released_n}" if one.released_n else "·" for one in given]
            values = [told(one.figure) for one in given]
            rows.append([task.title, title, number(given[0].chance), *values, *released])
    return rows


def curve_rows(found: Sequence[Answers]) -> list[list[str]]:
    """A line for each point of each difficulty curve."""
    rows = []
    for curve in found[0].report.curves:
        if curve.difficulty == SIZE:  # in a table of its own
            continue
        others = [one.curve(curve.task, curve.difficulty) for one in found]
        for at, point in enumerate(curve.points):
            values = [told(other.points[at].figure) for other in others]
            rows.append([curve.title, curve.difficulty, f"{round(point.x, 2):g}", f"{point.figure.n}", *values])
    return rows


def rule_kept(found: Sequence[Answers]) -> str:
    """Whether the rule of hard OCR holds on this set, in words."""
    strong = next(one for one in found if one.name == STRONG)
    metric = strong.metric("hard_ocr", "wr")
    assert metric is not None
    assert metric.figure is not None
    holds = "holds" if LEAST <= metric.figure.value <= MOST else "does not hold"
    return f"On this set it {holds}: {told(metric.figure)}."


def hard_rows(found: Sequence[Answers]) -> list[list[str]]:
    """Hard OCR by difficulty, the ground among them."""
    rows = [row[1:] for row in curve_rows(found) if row[0] == task_named("hard_ocr").title]
    kinds = sorted({str(item.subtask) for item in found[0].files["hard_ocr"].items})
    for kind in kinds:
        worth = [[score_item(item, "share").worth["wr"] for item in one.files["hard_ocr"].items if item.subtask == kind]
                 for one in found]  # fmt: skip
        rows.append(["ground", kind, f"{len(worth[0])}", *(f"{float(np.mean(values)):.3f}" for values in worth)])
    return rows


def end_rows(found: Sequence[Answers]) -> list[list[str]]:
    """What the hard end costs: the mean at the easy end less that at the hard one."""
    rows = []
    for task, difficulty, hard, hard_ends, easy, easy_ends in ENDS:
        costs = [_cost(one.files[task], difficulty, hard_ends, easy_ends) for one in found]
        rows.append([task_named(task).title, hard, easy, *costs])
    return rows


def _cost(file: PosterFile, difficulty: str, hard: tuple[float, float], easy: tuple[float, float]) -> str:
    hard_worth, easy_worth = (_worth(file, difficulty, *ends) for ends in (hard, easy))
    rng = np.random.default_rng(SEED)
    drawn = [rng.choice(one, (SETTINGS.draws, len(one))).mean(axis=1) for one in (easy_worth, hard_worth)]
    low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
    return f"{easy_worth.mean() - hard_worth.mean():.3f} [{low:.3f}, {high:.3f}]"


def _worth(file: PosterFile, difficulty: str, low: float, high: float) -> np.ndarray:
    def at(item: PosterItem) -> float:
        return float(item.subtask or 0) if difficulty == SIZE else item.difficulty[difficulty]

    return np.array([score_item(item, "share").worth["wr"] for item in file.items if low <= at(item) <= high])


def size_rows(read: Sequence[Answers], shrunk: Sequence[Answers]) -> list[list[str]]:
    """Word recall by size on the sheets as they are, and made smaller."""
    curves = [[one.curve("font_size_ocr", SIZE).points for one in some] for some in (read, shrunk)]
    rows = []
    for at, point in enumerate(curves[0][0]):
        whole, small = ([told(points[at].figure) for points in some] for some in curves)
        rows.append([f"{point.x:g}", f"{point.figure.n}", *whole, f"{point.x / SHRUNK:.1f}", *small])
    return rows


def rule_rows(found: Sequence[Answers]) -> list[list[str]]:
    """A line for each metric that the rules answer; those who look at nothing beside."""
    rule, *blind = found
    rows = []
    for task in map(task_named, SEEN):
        for metric in task.metrics:
            one = rule.metric(task.name, metric.id)
            others = [other.metric(task.name, metric.id) for other in blind]
            if one is not None:
                beside = [number(o.figure.value if o is not None and o.figure else None) for o in others]
                rows.append([task.title, metric.title, number(one.chance), told(one.figure), *beside])
    return rows


def violation_rows(rule: Answers) -> list[list[str]]:
    """Layouts told apart, by what is wrong with the bad one."""
    file = rule.files["layout_comparison"]
    kinds = sorted({str(item.subtask) for item in file.items})
    right = {kind: [item.response == item.truth for item in file.items if item.subtask == kind] for kind in kinds}
    return [[kind, f"{sum(right[kind])} of {len(right[kind])}"] for kind in kinds]


def draw_curves(read: Sequence[Answers], shrunk: Sequence[Answers]) -> None:
    """The pictures of the page."""
    _draw(
        shrunk, "font_size_ocr", SIZE, "font size in pixels, on sheets made smaller", 1 / SHRUNK, "poster-ocr-size.svg"
    )
    _draw(read, "hard_ocr", "texture", "texture of the ground", 1.0, "poster-ocr-texture.svg")


def _draw(found: Sequence[Answers], task: str, difficulty: str, label: str, scale: float, place: str) -> None:
    curves = []
    for one in found:
        points = one.curve(task, difficulty).points
        low, high = ([float(getattr(p.figure, end) or 0.0) for p in points] for end in ("low", "high"))
        xs, ys = [scale * p.x for p in points], [p.figure.value for p in points]
        banded = all(p.figure.low is not None for p in points)
        curves.append(Curve(NAMED[one.name], xs, ys, *((low, high) if banded else ())))
    drawing = line_curves(
        curves, title=f"{task_named(task).title} over {difficulty}", x_label=label, y_label="word recall",
        y_domain=(0.0, 1.0), width=720,
    )  # fmt: skip
    (DOCS / place).write_text(standalone_svg(drawing), encoding="utf-8")


def page(read: Sequence[Answers], shrunk: Sequence[Answers], seen: Sequence[Answers]) -> str:
    """The page of the docs."""
    versions = " and ".join(contestants.engine_signature(one.name) for one in read)  # type: ignore[arg-type]
    names = [NAMED[one.name] for one in read]
    small = [_cost(one.files["font_size_ocr"], SIZE, (15, 20), (45, 80)) for one in shrunk]
    lost = {NAMED[one.name]: sum(t.missing + sum(t.unread.values()) for t in one.report.tasks) for one in read}
    parts = [
        "# OCR engines and rules on made posters",
        wrapped(f"""Written by `python -m prove.poster_ocr`. Every set is drawn by `salon bench posters make` with seed
        {SEED}, {ITEMS} items of each task, so nobody can have been trained on it. The engines are {versions}, at their
        default settings, on the whole picture. Intervals are 95%, over items
        ([how](poster-tasks.md#intervals), also where all items are alike). Pictures on which nothing was
        read, of {ITEMS * len(READ):,}: {', '.join(f'{name} {count}' for name, count in lost.items())}; they stay in the
        denominator. How every metric is counted:
        [Poster tasks](poster-tasks.md)."""),
        "## What they read",
        wrapped("""“Chance” is what an answer gets that is given without looking. “Released” is what the benchmark's
        published scoring gives the same answers, and of how many posters or boxes: it forgets case and punctuation,
        drops posters below 5%, reads boxes in the best of four ways, and boxes that are not given cost nothing."""),
        table(["task", "metric", "chance", *names, *(f"{name}, released" for name in names)], engine_rows(read)),
        wrapped(f"""Simple less hard OCR: {'; '.join(f'{NAMED[one.name]} {told(one.report.gap)}' for one in read)}. An
        engine gives lines, not texts: a logo counts only if nothing else is read on it, and a poster's text only if its
        words stand together and in order. That is what the tasks ask."""),
        "## How hard is hard",
        wrapped(f"""Hard OCR is made by a rule: over the whole set, the word recall of a strong OCR engine
        ({NAMED[STRONG]}) lies between {LEAST:g} and {MOST:g}, so that both better and worse readers can be told from
        it, as PosterIQ's models can (.04 to .78). {rule_kept(read)} What makes a sheet hard is on record with it:"""),
        table(["difficulty of hard OCR", "at", "items", *names], hard_rows(read)),
        "## What makes it hard",
        wrapped("""Word recall at the easy end less that at the hard one: above 0 where the difficulty hurts."""),
        table(["task", "hard", "easy", *(f"{name} loses" for name in names)], end_rows(read)),
        "![Word recall over texture](poster-ocr-texture.svg)",
        wrapped(f"""Letters of 15 pixels on a clean sheet are no difficulty for an OCR engine. A VLM sees less: it makes
        large pictures smaller. The same sheets at a third of their width and height show where small letters begin to
        hurt: at 45 pixels and more, less 15 or 20, {names[0]} loses {small[0]} there and {names[1]} {small[1]}."""),
        "![Word recall over font size, sheets made smaller](poster-ocr-size.svg)",
        table(["font size", "items", *names, "made smaller", *(f"{name}, smaller" for name in names)],
              size_rows(read, shrunk)),
        wrapped("""Every other curve, as the page of a report draws it. A curve over one
        difficulty mixes in others: posters with few texts have larger type, and more of it is display type."""),
        table(["task", "difficulty", "at", "items", *names], curve_rows(read)),
        "## What rules about pixels reach",
        wrapped("""`measure` sees the prompt and the pixels, has no network and reads nothing. Its rules were made
        looking at sets of another seed. Beside it the ends of every scale (perfect, empty) and those who answer without
        looking. A task that rules solve asks for eyes, not for taste; a VLM that fails it does not see."""),
        table(["task", "metric", "chance", "`measure`", *(one.name for one in seen[1:])], rule_rows(seen)),
        "Layout comparison, by what is wrong with the worse layout:",
        table(["violation", "told apart by `measure`"], violation_rows(seen[0])),
    ]  # fmt: skip
    return "\n\n".join(part.strip() for part in parts) + "\n"


def main() -> None:
    """Draw, read, measure, and write the page."""
    scratch = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(gettempdir()) / "salon-poster-ocr"
    read, shrunk, seen = engine_answers(scratch), shrunk_answers(scratch), rule_answers(scratch)
    draw_curves(read, shrunk)
    place = DOCS / "poster-ocr-table.md"
    place.write_text(page(read, shrunk, seen), encoding="utf-8")
    print(f"wrote {place}")


if __name__ == "__main__":
    main()
