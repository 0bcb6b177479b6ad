"""Judges against the people of a study, whose own signal is checked first.

Composes two stages: `check` says whether the people agree beyond chance at all, `judge` what each judge is worth
against their majority.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from salon.check.check import check_study
from salon.check.settings import CheckSettings
from salon.errors import StatsError, UnknownReference
from salon.judge.folder import JUDGES, RECORD, judge_names, read_record, read_verdicts
from salon.judge.report import Signals, judge_report
from salon.judge.report_judges import Judge, rater_judges, verdict_judge
from salon.judge.report_page import judge_page
from salon.judge.report_panel import Places, people
from salon.judge.report_scores import score_files, score_judge
from salon.judge.report_settings import ReportSettings
from salon.judge.results import JudgeReport
from salon.judge.worst import thumbnails
from salon.report import Page
from salon.study import Study
from salon.study.tables import JUDGMENTS


def report_judges(
    study: Study,
    folder: Path | None,
    settings: ReportSettings | None = None,
    *,
    names: Sequence[str] = (),
    scores: Sequence[Path] = (),
    check: bool = True,
    progress: Callable[[str], None] = lambda step: None,
) -> JudgeReport:
    """What every judge of `study` is worth: those in its `folder`, its raters that are models, and tables of scores.

    `names` limits the report to some; with `check` the people's own signal is tested and shown.
    """
    settings = settings or ReportSettings()
    judges = _named(found_judges(study, folder, settings, scores=scores), names, study)
    signals = checked(study, settings, progress) if check else {}
    return judge_report(study, judges, settings, signals=signals, progress=progress)


def found_judges(
    study: Study, folder: Path | None, settings: ReportSettings, *, scores: Sequence[Path] = ()
) -> list[Judge]:
    """All judges there are: verdicts, raters that are models, score tables. Two of one name are told apart by place."""
    places = Places(study)
    everywhere = settings.missing == "unparsed"
    judges = rater_judges(study, places, everywhere=everywhere)
    if folder is not None:
        judges += [_run_judge(folder / JUDGES / name, study, places) for name in judge_names(folder)]
    tables = [*(score_files(folder) if folder is not None else ()), *scores]
    judges += [score_judge(path, study, places, everywhere=everywhere) for path in tables]
    return _told_apart(judges)


def _run_judge(home: Path, study: Study, places: Places) -> Judge:
    """The judge in a folder; verdicts from elsewhere, without a record of how they were made, are named by it."""
    table = read_verdicts(home)
    if not (home / RECORD).is_file():
        return verdict_judge(home.name, table, study, places)
    record = read_record(home)
    facts = {"simulated": record.simulated, "signature": record.signature}
    return verdict_judge(record.judge, table, study, places, **facts)


def checked(study: Study, settings: ReportSettings, progress: Callable[[str], None] = lambda step: None) -> Signals:
    """Verdict and sentence of a signal check on the people alone; nothing where they cannot be checked."""
    given = CheckSettings(seed=settings.seed, level=settings.level, draws=min(settings.draws, 500))
    try:
        report = check_study(people_only(study), given, progress=lambda name: progress(f"people, {name}"))
    except StatsError:
        return {}
    return {one.criterion: (one.verdict, one.sentence) for one in report.criteria}


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
    return judge_page(report, thumbnails(study, folder, shown))


def _named(judges: list[Judge], names: Sequence[str], study: Study) -> list[Judge]:
    known = [judge.name for judge in judges]
    for name in names:
        if name not in known:
            raise UnknownReference(
                "a judge of the study is needed",
                found=repr(name),
                where=f"study {study.name!r}",
                remedy="one of " + ", ".join(known) if known else "salon judge run STUDY makes one",
            )
    return [judge for judge in judges if not names or judge.name in names]


def _told_apart(judges: list[Judge]) -> list[Judge]:
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
