"""What the built-in houses are worth on made generation files. Writes docs/methods/poster-generation-table.md.

    python -m prove.poster_generation [FOLDER]

FOLDER keeps prompts, posters and verdicts, and a second run goes on there; without it everything is made anew.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from prove._page import table, wrapped
from salon.bench import (
    MetricResult,
    PosterFile,
    PosterReport,
    PosterScoreSettings,
    find_files,
    generate_named,
    score_files,
)
from salon.bench.posters.item_scores import PointVerdict, point_verdicts
from salon.bench.posters.make import make_tasks
from salon.bench.posters.make.briefs import PROMPTS
from salon.bench.posters.measurement import measure_files
from salon.generate import CallTerms, GenerateSettings
from salon.models import READER
from salon.report import estimate
from salon.stats import score_interval

PAGE = Path(__file__).parents[1] / "docs/methods/poster-generation-table.md"
ITEMS, SEED, SIZE = 17, 0, "736x1040"
FADED = "proof+low-contrast@0.8"
GENERATORS = ("proof", FADED, "atelier", "carnival", "ledger", "mirage", "apprentice")
KINDS = ("text", "color", "place", "largest", "contrast", "margin")
INTRO = """
{items} prompts of each of the five tasks (seed {seed}), drawn at {size} px by every house and by a variant of `proof`
whose inks are faded by 0.8. Judged by pixels ({reader}); the oracle is the record of how a poster was drawn. *dense*:
mean share of the key points, all of which pixels can answer. *strict*: share of posters that meet all. *style*: by the
oracle alone, since pixels do not name styles. Intervals: 95%, posters drawn again {draws:,} times.
"""
VARIANT = """
Poster by poster, `{faded}` is worth at most what `proof` is on {below} of {n} dense prompts, and more on {above}.
"""
AGREED = """
Points that both pixels and oracle answer, over all generators and tasks; *passes kept*: of those that hold by the
oracle, the share that holds by pixels; *failures found*: the same of those that do not. Intervals: 95%, score
intervals over prompts.
"""


def made(home: Path) -> dict[str, tuple[PosterReport, list[PosterFile]]]:
    """Every generator's report and judged files."""
    if not (home / "set").is_dir():
        make_tasks(home / "set", list(PROMPTS), ITEMS, SEED)
    found = {}
    for name in GENERATORS:
        out = home / name.replace("@", "_")
        terms = CallTerms(home / "calls")
        generate_named(find_files([home / "set"]), name, out, GenerateSettings(size=SIZE), terms)
        for way in ("layout", "pixels"):
            measure_files(find_files([out]), way, pictures=out, workers=None)  # type: ignore[arg-type]
        files = find_files([out])
        found[name] = (score_files(files, PosterScoreSettings(), contestant=name, pictures=out), files)
        print(name, flush=True)
    return found


def metric(report: PosterReport, task: str, id: str) -> MetricResult:
    """One metric of a report."""
    return next(m for t in report.tasks if t.task == task for m in t.metrics if m.id == id)


def house_row(name: str, report: PosterReport) -> list[str]:
    """One generator: dense by pixels and oracle, style by the oracle."""
    share, strict = (metric(report, "gen_dense", id) for id in ("share", "strict"))
    style = metric(report, "gen_style", "accuracy").oracle
    told = [estimate(m.figure.value, m.figure.low, m.figure.high, 3) if m.figure else "–" for m in (share, strict)]
    return [f"`{name}`", *told, f"{share.oracle:.3f}", f"{strict.oracle:.3f}", f"{style:.3f}"]


def kind_row(name: str, report: PosterReport) -> list[str]:
    """One generator: what it meets of each kind of dense point, by pixels."""
    task = next(one for one in report.tasks if one.task == "gen_dense")
    met = {one.kind: one.met for one in task.points}
    return [f"`{name}`", *(f"{figure.value:.2f}" if (figure := met.get(kind)) else "–" for kind in KINDS[:-1])]


def verdicts(files: Sequence[PosterFile]) -> Iterator[tuple[str, PointVerdict]]:
    """Points on which pixels and oracle both say something, each with its prompt."""
    for file in files:
        if file.task.answer == "points":
            for item in file.items:
                for point in point_verdicts(file, item):
                    if point.holds is not None and point.oracle is not None:
                        yield item.name, point


def agreed(some: Sequence[tuple[str, PointVerdict]]) -> str:
    """The share of equal answers with its interval over prompts."""
    by_prompt: dict[str, list[bool]] = defaultdict(list)
    for prompt, point in some:
        by_prompt[prompt].append(point.holds == point.oracle)
    if len(by_prompt) < 2:
        return "–"
    same = score_interval([np.mean(own) for own in by_prompt.values()], [float(len(own)) for own in by_prompt.values()])
    return f"{estimate(same.value, same.low, same.high, 3)} ({len(some):,})"


def agreement_row(kind: str, points: Sequence[tuple[str, PointVerdict]]) -> list[str]:
    """One kind of point: how often pixels say what the oracle says."""
    some = [one for one in points if kind in ("all", one[1].kind)]
    return [kind, agreed(some), agreed([one for one in some if one[1].oracle]),
            agreed([one for one in some if not one[1].oracle])]  # fmt: skip


def worths(report: PosterReport, files: Sequence[PosterFile]) -> dict[str, float]:
    """What each dense poster is worth by pixels."""
    file = next(one for one in files if one.task.name == "gen_dense")
    return {item.name: float(np.mean([p.holds is True for p in point_verdicts(file, item)])) for item in file.items}


def write_page(found: dict[str, tuple[PosterReport, list[PosterFile]]]) -> None:
    """The page."""
    parent, faded = (worths(*found[name]) for name in ("proof", FADED))
    above = sum(faded[name] > parent[name] for name in parent)
    points = [one for _, files in found.values() for one in verdicts(files)]
    facts = {"items": ITEMS, "seed": SEED, "size": SIZE, "reader": READER, "draws": PosterScoreSettings().draws,
             "faded": FADED, "n": len(parent), "above": above, "below": len(parent) - above}  # fmt: skip
    parts = [
        "# What houses reach on made prompts\n",
        "Written by `make prove ONLY=poster_generation`; see [Posters that generators make](poster-generation.md).\n",
        wrapped(INTRO.format(**facts)) + "\n",
        table(["generator", "dense", "strict", "dense, oracle", "strict, oracle", "style, oracle"],
              [house_row(name, report) for name, (report, _) in found.items()]),
        "Dense points met, by pixels and kind:\n",
        table(["generator", *KINDS[:-1]], [kind_row(name, report) for name, (report, _) in found.items()]),
        wrapped(VARIANT.format(**facts)) + "\n",
        "## Pixels against the oracle\n",
        wrapped(AGREED) + "\n",
        table(["points", "agree", "passes kept", "failures found"],
              [agreement_row(kind, points) for kind in (*KINDS, "all")]),
    ]  # fmt: skip
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def main() -> None:
    """Make, judge, score, write."""
    if len(sys.argv) > 1:
        write_page(made(Path(sys.argv[1])))
        return
    with TemporaryDirectory(prefix="salon-") as folder:
        write_page(made(Path(folder)))


if __name__ == "__main__":
    main()
