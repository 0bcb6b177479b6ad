"""Judges against the people of a study, whose own signal is checked first.

Composes two stages: `check` says whether the people agree beyond chance at all, `judge` what each judge is worth
against their majority.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from salon.check.check import check_study
from salon.check.settings import CheckSettings
from salon.errors import StatsError, UnknownReference
from salon.evaluate.judges.report import judge_report
from salon.evaluate.judges.report_judges import Judge, rater_judges, verdict_judge
from salon.evaluate.judges.report_page import judge_page
from salon.evaluate.judges.report_pairs import Signals
from salon.evaluate.judges.report_panel import Places, people
from salon.evaluate.judges.report_scores import score_files, score_judge
from salon.evaluate.judges.report_settings import ReportSettings
from salon.evaluate.judges.report_ticks import TickJudge, rater_ticks, verdict_ticks
from salon.evaluate.judges.report_together import Routing
from salon.evaluate.judges.results import JudgeReport
from salon.evaluate.judges.worst import thumbnails
from salon.judge.folder import JUDGES, RECORD, judge_names, read_record, read_verdicts
from salon.report import Page
from salon.study import Study
from salon.study.tables import JUDGMENTS

Named = TypeVar("Named", Judge, TickJudge)


def report_judges(
    study: Study,
    folder: Path | None,
    settings: ReportSettings | None = None,
    *,
    names: Sequence[str] = (),
    scores: Sequence[Path] = (),
    routing: Routing | None = None,
    check: bool = True,
    criteria: Sequence[str] = (),
    progress: Callable[[str], None] = lambda step: None,
) -> JudgeReport:
    """What every judge of `study` is worth: those in its `folder`, its raters that are models, and tables of scores.

    `names` limits the report to some judges, `criteria` its pairs to some criteria (flags only where named). `routing`
    puts judges of checklists together. With `check` the people's own signal is tested and shown.
    """
    settings = settings or ReportSettings()
    judges = found_judges(study, folder, settings, scores=scores)
    ticks = found_tick_judges(study, folder, settings)
    _check_names(names, [*judges, *ticks], study)
    judges = [judge for judge in judges if not names or judge.name in names]
    ticks = [judge for judge in ticks if not names or judge.name in names]
    signals = checked(study, settings, progress, criteria=criteria) if check and judges else {}
    return judge_report(
        study, judges, settings, ticks=ticks, routing=routing, signals=signals, criteria=criteria, progress=progress
    )


def found_judges(
    study: Study, folder: Path | None, settings: ReportSettings, *, scores: Sequence[Path] = ()
) -> list[Judge]:
    """All judges there are: verdicts, raters that are models, score tables. Two of one name are told apart by place."""
    places = Places(study)
    everywhere = settings.missing == "unparsed"
    judges = rater_judges(study, places, everywhere=everywhere)
    for name, table, facts in _run_verdicts(folder):
        judge = verdict_judge(name, table, study, places, **facts)
        judges += [] if judge is None else [judge]
    tables = [*(score_files(folder) if folder is not None else ()), *scores]
    judges += [score_judge(path, study, places, everywhere=everywhere) for path in tables]
    return _told_apart(judges)


def found_tick_judges(study: Study, folder: Path | None, settings: ReportSettings) -> list[TickJudge]:
    """All that answered checklists: judges of the folder, and raters that are models."""
    judges = rater_ticks(study, everywhere=settings.missing == "unparsed")
    for name, table, facts in _run_verdicts(folder):
        judge = verdict_ticks(name, table, study, **facts)
        judges += [] if judge is None else [judge]
    return _told_apart(judges)


def _run_verdicts(folder: Path | None) -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
    """Name, verdicts and facts of every judge in a folder; verdicts without a record are named by their place."""
    if folder is None:
        return
    for place in judge_names(folder):
        home = folder / JUDGES / place
        table = read_verdicts(home)
        if (home / RECORD).is_file():
            record = read_record(home)
            yield record.judge, table, {"simulated": record.simulated, "signature": record.signature}
        else:
            yield home.name, table, {}


def checked(
    study: Study,
    settings: ReportSettings,
    progress: Callable[[str], None] = lambda step: None,
    *,
    criteria: Sequence[str] = (),
) -> Signals:
    """The answers of `salon check` on the people alone, and their sentence; nothing where they cannot be checked.

    They are those of `salon check` on the same answers: no draws move a verdict.
    """
    given = CheckSettings(seed=settings.seed, level=settings.level, draws=settings.draws)
    try:
        report = check_study(
            people_only(study), given, criteria=criteria, progress=lambda name: progress(f"people, {name}")
        )
    except StatsError:
        return {}
    return {one.criterion: (one.answer, one.sentence) for one in report.criteria}


def people_only(study: Study) -> Study:
    """The study without the judgments of models."""
    asked = people(study)
    if asked.all():
        return study
    tables = dict(study.tables)
    for kind in JUDGMENTS:
        if kind in tables:
            tables[kind] = tables[kind].filter(pa.array(asked[study.codes("raters", tables[kind].column("rater"))]))
    return replace(study, tables=tables)


def report_page(report: JudgeReport, study: Study, folder: Path | None) -> Page:
    """The page of a report, with the pictures of its worst disagreements."""
    shown = [item for one in report.judges for case in one.worst for item in (case.panel_choice, case.judge_choice)]
    shown += [] if report.ticks is None else [case.item for one in report.ticks.judges for case in one.worst]
    return judge_page(report, thumbnails(study, folder, shown))


def _check_names(names: Sequence[str], judges: Sequence[Judge | TickJudge], study: Study) -> None:
    known = list(dict.fromkeys(judge.name for judge in judges))
    for name in names:
        if name not in known:
            raise UnknownReference(
                "a judge of the study is needed",
                found=repr(name),
                where=f"study {study.name!r}",
                remedy="one of " + ", ".join(known) if known else "salon judge run STUDY makes one",
            )


def _told_apart(judges: list[Named]) -> list[Named]:
    """Judges whose name another one has too get their kind behind it."""
    taken: set[str] = set()
    made = []
    for judge in judges:
        name = judge.name if judge.name not in taken else f"{judge.name} ({judge.kind})"
        while name in taken:
            name += "'"
        taken.add(name)
        made.append(replace(judge, name=name))
    return made
