"""The whole public release of PosterIQ through Salon; writes docs/methods/posteriq-release-table.md.

    python -m prove.posteriq_release FOLDER

FOLDER is ArtmeScienceLab/PosterIQ-Benchmark at 1fed754, with und_task/ and gen_task/ in it; without a name it is
posteriq/ below SALON_DATA. What the released scoring gives is read from peers/posteriq/ beside SALON_DATA: its own code
was run on answers in many styles. Nothing of the release is copied.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from prove._page import table, wrapped
from salon.bench import PosterFile, PosterReport, PosterScoreSettings, find_files, score_files
from salon.bench.posters.compat import released_scores
from salon.bench.posters.contestants import Name, fill_responses
from salon.bench.posters.files import open_file, open_files

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SALON_DATA") or ROOT.parent / "shared/data")
FILES, ITEMS = 24, (7765, 822)
"""Of the release: files, and records for understanding and generation."""
SEEDS = 100
EXACT = 1e-9


@dataclass(frozen=True)
class Blind:
    """Random answers to one k-option metric, over all seeds."""

    title: str
    values: tuple[float, ...]
    held: int
    """Seeds whose interval holds 0."""


def same_bytes(files: Sequence[PosterFile]) -> int:
    """Items of files that are written back as the same bytes, read as items, and written so again after an answer was
    put in and taken away."""
    count = 0
    with TemporaryDirectory() as scratch:
        for file in files:
            place = Path(scratch) / file.task.place
            file.write(place)
            answered = file.edited({item.number: {"response": "x"} for item in file.items})
            bare = answered.edited({item.number: {"response": None} for item in file.items})
            alike = place.read_bytes() == file.path.read_bytes() == bare.text.encode("utf-8", "surrogatepass")
            count += len(open_file(place).items) if alike else 0
    return count


def not_perfect(report: PosterReport) -> list[str]:
    """Metrics on which perfect answers are not at the end of the scale."""
    metrics = [(task.task, metric) for task in report.tasks for metric in task.metrics]
    return [
        f"{task}.{metric.id}"
        for task, metric in metrics
        if metric.figure is None or abs(metric.figure.value - (metric.better == "high")) > EXACT
    ]


def blind(files: Sequence[PosterFile], name: Name = "random") -> list[Blind]:
    """Answers given without looking, on every k-option metric."""
    asked = [file for file in files if any(metric.k for metric in file.task.metrics)]
    reports = [
        score_files([fill_responses(file, name, seed=seed) for file in asked], PosterScoreSettings(draws=500))
        for seed in range(SEEDS)
    ]
    rows = []
    for at, file in enumerate(asked):
        for place, metric in enumerate(file.task.metrics):
            figures = [report.tasks[at].metrics[place].figure for report in reports]
            known = [one for one in figures if one is not None and one.low is not None and one.high is not None]
            if metric.k and known:
                held = sum(one.low <= 0 <= one.high for one in known)  # type: ignore[operator]
                rows.append(Blind(f"{file.task.title}, {metric.title.lower()}", tuple(x.value for x in known), held))
    return rows


def released_numbers(home: Path) -> tuple[int, int, int, int]:
    """Numbers and crashes of the released code, and how many of each come out here."""
    wanted = json.loads((home / "released_scores.json").read_text(encoding="utf-8"))
    numbers = crashes = same_numbers = same_crashes = 0
    for style, reference in wanted.items():
        ours = released_scores(
            [file for kind in ("bench", "score") for file in open_files(home / "answers" / f"{style}_{kind}.json")]
        )
        for name, value in reference["figures"].items():
            task, id = name.split(".")
            number = ours[task].get(id)
            if value is None:
                crashes += 1
                same_crashes += number is not None and number.crash == reference["crashes"][name]
            else:
                numbers += 1
                there = number is not None and number.value is not None
                same_numbers += there and math.isclose(number.value, value, rel_tol=0, abs_tol=EXACT)  # type: ignore[union-attr, arg-type]
    return numbers, same_numbers, crashes, same_crashes


def page(files: Sequence[PosterFile], peers: Path) -> str:
    """The page, all of it computed."""
    sides = [sum(len(f.items) for f in files if f.task.side == side) for side in ("understanding", "generation")]
    perfect = score_files([fill_responses(file, "perfect") for file in files], PosterScoreSettings(draws=100))
    metrics = sum(len(task.metrics) for task in perfect.tasks)
    short = not_perfect(perfect)
    rows = blind(files)
    held, tried = sum(row.held for row in rows), sum(len(row.values) for row in rows)
    numbers, same_numbers, crashes, same_crashes = released_numbers(peers)
    checks = [
        ["files, and items for understanding and generation", f"{FILES}; {ITEMS[0]:,} + {ITEMS[1]:,}",
         f"{len(files)}; {sides[0]:,} + {sides[1]:,}"],
        ["items read, and written back as the same bytes", f"{sum(ITEMS):,}", f"{same_bytes(files):,}"],
        ["metrics on which perfect answers are worth 1 (or 0 where less is better)", f"{metrics}",
         f"{metrics - len(short)}" + (f"; not {', '.join(short)}" if short else "")],
        [f"95% intervals of random answers that hold 0 ({len(rows)} k-option metrics, {SEEDS} seeds)",
         f"about {0.95 * tried:.0f} of {tried}", f"{held} of {tried}"],
        ["numbers of the released scoring that `--compat released` gives, to 1e-9", f"{numbers}", f"{same_numbers}"],
        ["exceptions of the released scoring that it names", f"{crashes}", f"{same_crashes}"],
    ]  # fmt: skip
    parts = [
        "# The whole release of PosterIQ",
        wrapped("""Written by `make prove ONLY=posteriq_release` (`python -m prove.posteriq_release FOLDER`)
        from the public release
        (ArtmeScienceLab/PosterIQ-Benchmark at 1fed754). The first four rows are about all of its files. The last two
        are about answers in 23 styles to a rewritten miniature of them, on which the released code itself was run. How
        every metric is counted: [Poster tasks](poster-tasks.md)."""),
        table(["check", "needed", "found"], checks),
        wrapped(f"""Random answers by metric: the mean over {SEEDS} seeds, with its standard error."""),
        table(["metric", "mean", "intervals that hold 0"], [_blind_row(row) for row in rows]),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _blind_row(row: Blind) -> list[str]:
    mean, error = np.mean(row.values), np.std(row.values, ddof=1) / np.sqrt(len(row.values))
    return [row.title, f"{mean:+.3f} ± {error:.3f}", f"{row.held} of {len(row.values)}"]


def main() -> int:
    """Check the release, and write the page."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA / "posteriq"
    peers = DATA.parent / "peers" / "posteriq"
    for needed in (folder / "und_task", folder / "gen_task", peers / "released_scores.json"):
        if not needed.exists():
            print(f"{needed} is needed; name the folder of the release and set SALON_DATA", file=sys.stderr)
            return 2
    place = ROOT / "docs/methods/posteriq-release-table.md"
    place.write_text(page(find_files([folder]), peers), encoding="utf-8")
    print(f"wrote {place.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
