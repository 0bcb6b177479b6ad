"""A loop from beginning to end: drawn, looked at, revised, scored, reported. `salon select refine` calls it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from salon.collect.simulate.true_scorer import TRUTH
from salon.errors import BadValue
from salon.judge.vlm import Vlm
from salon.select.refine.record import FOLDER
from salon.select.refine.refine import RefineSettings, run_loop
from salon.select.refine.report import report_loop
from salon.select.refine.results import RefineReport
from salon.select.refine.scores import POINTS, Marks, point_marks, scorer_marks, true_marks
from salon.store.atomic import write_json
from salon.study import Generator, Prompt, Scorer
from salon.study.point import Point

REPORT = "report.json"
Watch = Callable[[str, int, int], None]
Opening = Callable[[], AbstractContextManager[Vlm]]
"""Opens who answers points; called when the pictures are there."""


def refine_study(
    prompts: Sequence[Prompt],
    generator: Generator,
    vlm: Vlm,
    settings: RefineSettings,
    folder: Path,
    *,
    scorers: Sequence[Scorer] = (),
    points: Sequence[Point] = (),
    answering: Opening | None = None,
    pick: str | None = None,
    watch: Watch = lambda doing, done, wanted: None,
) -> RefineReport:
    """Run the loop in `folder`, or go on with it; score every picture; leave refine/report.json.

    `pick` names the scorer that chooses what is looked at, where a round has several pictures, and the best of all
    rounds: by default the first of `scorers`, else the points. True quality only where it is named.
    """
    home = folder.resolve()
    marking = _Marking(home, scorers, points, answering, watch)
    chosen = marking.picking(pick)
    choose = {"choose": lambda several: _best(marking.of(chosen), several)} if chosen and settings.images > 1 else {}
    notes = run_loop(prompts, generator, vlm, settings, home, watch=watch, **choose)
    report = report_loop(home, generator, vlm.name, settings, marking.all(), pick=chosen, notes=notes)
    write_json(home / FOLDER / REPORT, report, indent=None)
    return report.model_copy(update={"study": str(folder)})


def _best(marks: Marks | None, several: Sequence[Sequence[str]]) -> list[str]:
    """The best picture of each prompt; the first where none has a number."""
    return [(marks.best(items) if marks else None) or items[0] for items in several]


class _Marking:
    """Everything that gives numbers to the pictures of one loop."""

    def __init__(
        self, home: Path, scorers: Sequence[Scorer], points: Sequence[Point], answering: Opening | None, watch: Watch
    ) -> None:
        self.home, self.points, self.answering, self.watch = home, points, answering, watch
        self.scorers = {scorer.name: scorer for scorer in scorers}
        if len(self.scorers) < len(scorers) or {POINTS, TRUTH} & self.scorers.keys():
            names = ", ".join(scorer.name for scorer in scorers)
            raise BadValue("scorers with different names, none of them points or true-quality, are needed", found=names)

    def picking(self, pick: str | None) -> str | None:
        """The name of the scorer that chooses."""
        names = [*self.scorers, *([POINTS] if self.points else [])]
        if pick is not None and pick not in (*names, TRUTH):
            raise BadValue(
                "one of the loop's scorers is needed to pick by", found=repr(pick),
                remedy=f"one of {', '.join((*names, TRUTH))}",
            )  # fmt: skip
        return pick or next(iter(names), None)

    def of(self, name: str) -> Marks | None:
        """The numbers of one scorer; None where there is nothing to give one to."""
        if name in self.scorers:
            return scorer_marks(self.home, self.scorers[name], self.watch)
        if name == TRUTH:
            return true_marks(self.home)
        return point_marks(self.home, self.points, self.answering()) if self.answering is not None else None

    def all(self) -> list[Marks]:
        """The numbers of all, the oracle last."""
        names = [*self.scorers, *([POINTS] if self.points else []), TRUTH]
        return [marks for name in names if (marks := self.of(name)) is not None]
