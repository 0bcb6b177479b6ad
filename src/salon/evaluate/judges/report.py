"""What judges are worth against the people of a study: one report for all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import pyarrow as pa

from salon.errors import TooFew
from salon.evaluate.judges.report_flags import flag_panels
from salon.evaluate.judges.report_judges import Judge
from salon.evaluate.judges.report_pairs import Signals, pair_part
from salon.evaluate.judges.report_panel import Places, panels
from salon.evaluate.judges.report_settings import ReportSettings
from salon.evaluate.judges.report_tick_figures import tick_report
from salon.evaluate.judges.report_ticks import TickJudge, TickPanel, tick_panel
from salon.evaluate.judges.report_together import Routing
from salon.evaluate.judges.report_words import judge_warnings, policies
from salon.evaluate.judges.results import JudgeReport
from salon.study import Signature, Study


def judge_report(
    study: Study,
    judges: Sequence[Judge] = (),
    settings: ReportSettings | None = None,
    *,
    ticks: Sequence[TickJudge] = (),
    routing: Routing | None = None,
    signals: Signals | None = None,
    criteria: Sequence[str] = (),
    progress: Callable[[str], None] = lambda judge: None,
) -> JudgeReport:
    """Every judge against the people of `study`, best macro accuracy first: `judges` of pairs, and of checklists.

    A judge's figures do not depend on the judges beside it: its draws are seeded by its own name. `routing` says which
    judges of checklists answer together; without it all do, by majority and by unanimity. `criteria` limits the pairs
    to some; a flag is one of them only where it is named (`Study.ranking_criteria`).
    """
    settings = settings or ReportSettings()
    ticked = tick_panel(study)
    names = list(dict.fromkeys([*(judge.name for judge in judges), *(judge.name for judge in ticks)]))
    _check_people(study, ticked, criteria)
    if not names:
        raise TooFew(
            "at least one judge is needed",
            found="none",
            where=f"study {study.name!r}",
            remedy="salon judge run STUDY, salon score STUDY, or --scores FILE",
        )
    pairs = pair_part(study, judges, settings, signals or {}, progress, criteria=criteria)
    points = tick_report(study, ticked, ticks, settings, routing=routing, progress=progress)
    flags = flag_panels(study, judges, settings)
    met = {one.judge for one in pairs.judges} | {one.judge for one in (points.judges if points else ())}
    met |= {one.judge for panel in flags for one in panel.judges}
    left_out = [name for name in names if name not in met]
    if not met:
        raise TooFew(
            "a judge with an answer on a pair or a point with a majority is needed",
            found=f"none by {', '.join(left_out)}",
            where=f"study {study.name!r}",
            remedy="judge the pairs that people judged, or the points that they ticked",
        )
    signature = _signature(study, judges, ticks, routing, settings, criteria)
    return JudgeReport(
        study=study.name,
        simulated=study.simulated,
        signature=signature,
        signature_line=str(signature),
        level=settings.level,
        panel=pairs.panel,
        judges=pairs.judges,
        agreement=pairs.agreement,
        correlations=pairs.correlations,
        flags=flags,
        ticks=points,
        policies=policies(pairs.judges, pairs.panel, points, settings),
        warnings=judge_warnings(pairs.judges, pairs.panel, points, left_out),
    )


def _check_people(study: Study, ticked: TickPanel, criteria: Sequence[str]) -> None:
    """Somebody decided something; TooFew says what there is instead."""
    if ticked.decided.any() or any(panel.decided.any() for panel in panels(study, Places(study), criteria)):
        return
    flags = [one.id for one in study.criteria if one.is_flag]
    raise TooFew(
        "judges are held against a majority of people on pairs, or on points of checklists",
        found=", ".join(f"{count:,} {kind}" for kind, count in study.counts.items()) or "an empty study",
        where=f"study {study.name!r}",
        remedy="collect comparisons, rankings, ratings or checklists from people first"
        + (f"; --criterion {flags[0]} ranks items by a flag" if flags and not criteria else ""),
    )


def _signature(
    study: Study,
    judges: Sequence[Judge],
    ticks: Sequence[TickJudge],
    routing: Routing | None,
    settings: ReportSettings,
    criteria: Sequence[str],
) -> Signature:
    digest = hashlib.sha256()
    for judge in sorted(judges, key=lambda one: one.name):
        digest.update(f"{judge.name}\0{judge.kind}\0{_content(judge)}\0".encode("utf-8", "surrogatepass"))
    for one in sorted(ticks, key=lambda one: one.name):
        digest.update(f"{one.name}\0{one.kind}\0{sorted(one.answers.items())}\0".encode("utf-8", "surrogatepass"))
    if routing is not None:
        digest.update(repr((tuple(routing.points), tuple(routing.routes))).encode("utf-8", "surrogatepass"))
    shown = settings.model_dump(exclude={"seed", "worst"})
    shown |= {"criteria": ",".join(criteria)} if criteria else {}
    return Signature(
        method="judge-report",
        data=study.hash[:12],
        revision=study.revision,
        settings={**shown, "judges": digest.hexdigest()[:12]},
        seed=settings.seed,
    )


def _content(judge: Judge) -> str:
    """What a judge said, as a hash; answers inside the study are in the study's own hash."""
    if judge.table is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, judge.table.schema) as stream:
            stream.write_table(judge.table.combine_chunks())
        return hashlib.sha256(sink.getvalue()).hexdigest()
    values = getattr(judge.answers, "by_criterion", {})
    return hashlib.sha256(b"".join(values[number].tobytes() for number in sorted(values))).hexdigest()
