"""What every picture of a loop is worth: by any scorer, by points of a checklist, and by the record of a drawn poster.

All of them see the original prompt: a revised one that asks for less must not score higher for it. `true-quality` is
the mean over criteria of what `salon.render.quality` says of the flaws on record. It is an oracle: it stands beside the
others, and picks nothing unless it is told to.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from salon.bench.judging import ASKED, LASTING, plan_role
from salon.collect.simulate.true_scorer import TRUTH, mean_quality
from salon.errors import BadValue
from salon.generate.record import read_generations
from salon.judge.folder import judge_folder, read_verdicts
from salon.judge.named import Named, named_vlm
from salon.judge.run import run_plan
from salon.judge.score import FOLDER, read_scores, score_study, scores_file
from salon.judge.vlm import Vlm
from salon.models.kept import Kept
from salon.stats.resample import SHARE, UNBOUNDED, Ends
from salon.store.folder import open_study
from salon.study import Criterion, Scorer, Study
from salon.study.point import Point, settled_point
from salon.study.scorer import ScorerCard

POINTS = "points"
PointsBy = Literal["pixels", "layout", "vlm"]
Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Marks:
    """The numbers of one scorer; items without one are absent."""

    name: str
    values: dict[str, float]
    higher_is_better: bool
    signature: str
    why: dict[str, str]
    """Of an item without a number, the reason."""
    sigma: dict[str, float] = field(default_factory=dict)
    """How sure the scorer is of an item, where it says so."""
    ends: Ends = UNBOUNDED
    """The ends of its scale."""

    def best(self, items: Sequence[str]) -> str | None:
        """The item with the best number, the first of equals; None where none has one."""
        known = [item for item in items if item in self.values]
        sign = 1 if self.higher_is_better else -1
        return max(known, key=lambda item: sign * self.values[item], default=None)


def scorer_marks(folder: Path, scorer: Scorer, watch: Watch = lambda doing, done, wanted: None) -> Marks:
    """The scores of all pictures so far; each is looked at once, whatever the number of calls."""
    study = open_study(folder)
    card: ScorerCard = getattr(scorer, "card", ScorerCard())
    if not study.counts.get("items"):
        return Marks(scorer.name, {}, card.higher_is_better, str(scorer.signature), {})
    score_study(study, folder, scorer, progress=lambda done, wanted: watch(scorer.name, done, wanted), kept=Kept())
    rows = read_scores(scores_file(folder / FOLDER, scorer.name)).to_pylist()
    return Marks(
        scorer.name,
        {row["item"]: row["value"] for row in rows if row["value"] is not None},
        card.higher_is_better,
        str(scorer.signature),
        {row["item"]: row["unscored"] for row in rows if row["value"] is None},
        {row["item"]: row["sigma"] for row in rows if row.get("sigma") is not None},
        (-math.inf if card.low is None else card.low, math.inf if card.high is None else card.high),
    )


def true_marks(folder: Path) -> Marks | None:
    """True quality of every picture with a record; None where no picture has one."""
    known, _ = read_generations(folder)
    records = {line.item: folder / line.layout for line in known.values() if line.ok and line.layout}
    if not records:
        return None
    found = {item: mean_quality(path.read_text(encoding="utf-8")) for item, path in records.items()}
    values = {item: value for item, value in found.items() if value is not None}
    return Marks(TRUTH, values, True, "true-quality", {}, ends=SHARE) if values else None


def point_marks(folder: Path, points: Sequence[Point], opened: AbstractContextManager[Vlm]) -> Marks:
    """Share of the points of its prompt that each picture passes; an answer that cannot be read is no pass.

    A picture with a question that an outage left open has no number.
    """
    study = open_study(folder)
    ids = dict.fromkeys(point.criterion or ASKED.id for point in points)
    asked = Study.build(
        study.name, [Criterion(id=id) for id in ids],
        tables={"prompts": list(study.nouns("prompts")), "items": list(study.nouns("items"))},
    )  # fmt: skip
    if not asked.counts.get("items"):
        return Marks(POINTS, {}, True, "no picture", {})
    plan = plan_role(asked, folder, points)
    if plan is None:
        raise BadValue("points about the prompts of the loop are needed", found="points about other prompts")
    with opened as vlm:
        run_plan(plan, vlm, overwrite=True)
        rows = read_verdicts(judge_folder(folder, vlm.name)).to_pylist()
        signature = str(vlm.signature)
    said: dict[str, list[bool]] = {}
    why: dict[str, str] = {}
    for row in rows:
        if row["failed"] is not None and row["failed"] not in LASTING:
            why[row["a"]] = f"no answer: {row['failed']}"
        said.setdefault(row["a"], []).append(settled_point([row["value"]]) is True)
    values = {item: sum(passed) / len(passed) for item, passed in said.items() if item not in why}
    return Marks(POINTS, values, True, signature, why, ends=SHARE)


# -- who looks -------------------------------------------------------------------------------------------------------


@contextmanager
def diagnosing_vlm(named: Named, folder: Path) -> Iterator[Vlm]:
    """Who looks at the pictures, as the command line names it: a VLM, a script, or a measurement."""
    named.check()
    if named.measured is not None:
        measured = importlib.import_module("salon.judge.measured_diagnosis")  # a reader of text, for those who need it
        pixels = named.measured == "pixels"
        yield measured.pixel_diagnosis(named.judge, named.workers) if pixels else measured.layout_diagnosis(named.judge)
    elif named.looks or named.script is not None:
        with named_vlm(named, Study("refine", ()), folder) as vlm:
            yield vlm
    else:
        raise BadValue(
            "somebody who can look at a picture and write a prompt is needed", found=named.judge,
            remedy="--model NAME --endpoint URL, --transformers FOLDER, --script FILE or --measured pixels",
        )  # fmt: skip


def answering_vlm(by: PointsBy, named: Named, folder: Path, points: Sequence[Point]) -> AbstractContextManager[Vlm]:
    """Who answers points: a measurement, or the VLM that looks."""
    chosen = named if by == "vlm" else Named(measured=by, workers=named.workers, name=f"points-{by}")
    study = open_study(folder)
    return named_vlm(chosen, study, folder.resolve(), points)
