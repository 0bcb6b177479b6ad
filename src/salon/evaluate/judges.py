"""Judges of pairs against the people of a study: every figure of each, and of every two."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from salon.check.check import check_study
from salon.check.results import CheckSettings
from salon.errors import StatsError, TooFew, UnknownReference
from salon.evaluate.answers import PairAnswers, PairJudge, rater_judges, score_files, score_judge, verdict_judge
from salon.evaluate.checklist_figures import tick_report
from salon.evaluate.checklists import Routing, TickJudge, TickPanel, rater_ticks, tick_panel, verdict_ticks
from salon.evaluate.flags import flag_panels
from salon.evaluate.judge_figures import (
    JudgeOnPanel,
    accuracy_figures,
    band_figures,
    buckets,
    criterion_judged,
    judge_on_panels,
    measure_accuracy,
    same_choice,
    sample_agreement,
    shared_rows,
    thumbnails,
    usage_figures,
    with_ties,
    wordings,
    worst_cases,
)
from salon.evaluate.judge_page import judge_page
from salon.evaluate.people import ItemOrder, VotePanel, is_person, vote_panels
from salon.evaluate.results import (
    FigureCorrelation,
    JudgeAgreement,
    JudgeFigures,
    JudgeReport,
    PanelFigures,
    ReportSettings,
)
from salon.evaluate.words import judge_warnings, policies
from salon.judge.folder import JUDGES, RECORD_FILE, judge_names, read_record, read_verdicts
from salon.report import Page
from salon.stats.ceilings import Ceilings, ceilings
from salon.stats.judge_accuracy import KindTable, accuracy_difference, kind_table, match_rate
from salon.stats.rank_agreement import method_agreement, spearman_p
from salon.stats.result import Estimate
from salon.study import Signature, Study
from salon.study.tables import JUDGMENTS

Signals = Mapping[str, tuple[str, str]]
"""For each criterion the verdict of a signal check and its sentence."""
COMPARED = (
    ("accuracy", "position_bias"),
    ("accuracy", "conditional"),
    ("position_bias", "conditional"),
    ("accuracy", "tie_rate"),
    ("accuracy", "unseen"),
)


@dataclass(frozen=True)
class PairPart:
    """What a report says about judges of pairs; nothing where there are none."""

    panel: tuple[PanelFigures, ...] = ()
    judges: tuple[JudgeFigures, ...] = ()
    agreement: tuple[JudgeAgreement, ...] = ()
    correlations: tuple[FigureCorrelation, ...] = ()


def pair_part(
    study: Study,
    judges: Sequence[PairJudge],
    settings: ReportSettings,
    signals: Signals,
    progress: Callable[[str], None] = lambda judge: None,
    *,
    criteria: Sequence[str] = (),
) -> PairPart:
    """Every judge with an answer on a pair that people decided, best macro accuracy first."""
    places = ItemOrder(study)
    voted = vote_panels(study, places, criteria)
    met = {judge.name: judge_on_panels(judge, voted) for judge in judges}
    useful = [judge for judge in judges if any(len(one.rows) for one in met[judge.name])]
    if not useful:
        return PairPart()
    tops = [_ceilings(panel, settings) for panel in voted]
    made = []
    for judge in useful:
        progress(judge.name)
        made.append(_figures(study, places, judge, met[judge.name], tops, settings))
    made.sort(key=lambda one: (-one.macro.accuracy.value, one.judge))
    made = [made[0], *(_to_best(one, made[0], met, settings) for one in made[1:])]
    names = [judge.name for judge in useful]
    return PairPart(
        panel=tuple(_panel_figures(study, one, top, signals) for one, top in zip(voted, tops) if len(one.keys)),
        judges=tuple(made),
        agreement=tuple(_agree(first, second, met, settings) for first, second in combinations(names, 2)),
        correlations=tuple(_correlation(made, x, y) for x, y in COMPARED),
    )


def _figures(
    study: Study,
    places: ItemOrder,
    judge: PairJudge,
    met: Sequence[JudgeOnPanel],
    tops: Sequence[Ceilings | None],
    settings: ReportSettings,
) -> JudgeFigures:
    rng = settings.rng(judge.name)
    found = measure_accuracy(met, settings, rng)
    asked = [(one, part, top) for one, part, top in zip(met, found.by_criterion, tops) if one.faced.asked.any()]
    agreement, samples = sample_agreement(met, settings, rng)
    worst, worst_of = worst_cases(study, places, judge, met, settings.worst)
    macro = accuracy_figures(found.macro, macro=True)
    return JudgeFigures(
        judge=judge.name,
        kind=judge.kind,
        orders=found.orders,
        simulated=judge.simulated,
        signature=judge.signature,
        macro=macro,
        pooled=accuracy_figures(found.pooled),
        with_ties=with_ties(met, settings, rng),
        buckets=buckets(met, settings, rng),
        says_first=_says_first(study, places, judge, [one.panel.number for one in met], settings, rng),
        criteria=tuple(criterion_judged(study, one, part, top, settings, rng) for one, part, top in asked),
        wordings=wordings(met, settings, rng),
        self_agreement=agreement,
        samples=samples,
        bands=band_figures(study, judge, [one.panel for one in met], settings, rng),
        usage=usage_figures(judge.table, macro.accuracy),
        worst=worst,
        worst_of=worst_of,
    )


def _says_first(
    study: Study,
    places: ItemOrder,
    judge: PairJudge,
    criteria: Sequence[int],
    settings: ReportSettings,
    rng: np.random.Generator,
) -> Estimate | None:
    """Share of answers for the picture shown first; None where nothing was shown side by side."""
    if not isinstance(judge.answers, PairAnswers):
        return None
    hits, keys = judge.answers.named_first(criteria)
    if not len(hits):
        return None
    clusters = keys if study.compare_within == "all" else study.item_groups[places.items(keys)[0]]
    return match_rate(hits, clusters, draws=settings.draws, rng=rng, level=settings.level)


def _ceilings(panel: VotePanel, settings: ReportSettings) -> Ceilings | None:
    """Of the pairs that judges are scored on and two people or more named an item of; None where there are none."""
    raters = panel.votes[:, :2].sum(axis=1)
    rng = np.random.default_rng([settings.seed, panel.number])
    try:
        return ceilings(panel.votes[:, 0], raters, panel.cluster, draws=settings.draws, rng=rng, level=settings.level)
    except StatsError:
        return None


def _panel_figures(study: Study, panel: VotePanel, top: Ceilings | None, signals: Signals) -> PanelFigures:
    criterion = study.criteria[panel.number]
    votes = panel.votes.sum(axis=1)
    low, high = int(votes.min()), int(votes.max())
    signal, sentence = signals.get(criterion.id, (None, None))
    return PanelFigures(
        criterion=criterion.id,
        name=criterion.title,
        votes=int(votes.sum()),
        pairs=len(votes),
        tied=int((~panel.decided).sum()),
        raters=str(low) if low == high else f"{low} to {high}",
        lone=int((panel.votes[:, :2].sum(axis=1) == 1).sum()),
        next_rater=None if top is None else top.next_rater,
        next_rater_range=None if top is None else top.next_rater_range,
        oracle=None if top is None else top.oracle,
        oracle_range=None if top is None else top.oracle_range,
        no_ceiling=None if top is not None else "ceilings need two votes on a pair, and a majority on some",
        signal=signal,
        sentence=sentence,
    )


def _to_best(
    one: JudgeFigures, best: JudgeFigures, met: Mapping[str, Sequence[JudgeOnPanel]], settings: ReportSettings
) -> JudgeFigures:
    """Macro accuracy less the best judge's on the pairs both met, drawn together."""
    rows = shared_rows(met[one.judge], met[best.judge])
    if not sum(map(len, rows)):
        return one
    criteria = np.repeat(np.arange(len(rows)), [len(part) for part in rows])

    def table(name: str) -> KindTable:
        verdicts = [m.faced.by_majority(m.panel.winner)[part] for m, part in zip(met[name], rows)]
        clusters = [m.panel.cluster[part] for m, part in zip(met[name], rows)]
        return kind_table(np.concatenate(verdicts), np.concatenate(clusters), criteria, of=len(rows))

    rng = settings.rng(f"{one.judge}\n{best.judge}")
    found = accuracy_difference(
        table(one.judge), table(best.judge), draws=settings.draws, rng=rng, level=settings.level
    )
    return one.model_copy(update={"to_best": found})


def _agree(
    first: str, second: str, met: Mapping[str, Sequence[JudgeOnPanel]], settings: ReportSettings
) -> JudgeAgreement:
    hits, clusters = same_choice(met[first], met[second])
    if not len(hits):
        return JudgeAgreement(first=first, second=second, agreement=None, pairs=0)
    rng = settings.rng(f"{first}\n{second}")
    rate = match_rate(hits, clusters, draws=settings.draws, rng=rng, level=settings.level)
    return JudgeAgreement(first=first, second=second, agreement=rate, pairs=len(hits))


def _correlation(judges: Sequence[JudgeFigures], x: str, y: str) -> FigureCorrelation:
    """Over the judges of pairs that have both figures; scorers see no order, so theirs are of another kind."""
    both = [(getattr(one.macro, x), getattr(one.macro, y)) for one in judges if one.kind in ("pairs", "rater")]
    known = [(first.value, second.value) for first, second in both if first is not None and second is not None]
    if len(known) < 4:
        reason = "at least four judges of pairs with both figures are needed"
        return FigureCorrelation(x=x, y=y, value=None, low=None, high=None, n=len(known), reason=reason)
    first, second = np.array(known).T
    found = method_agreement(first, second)
    p = None if found.srcc is None else spearman_p(first, second)
    return FigureCorrelation(
        x=x, y=y, value=found.srcc, low=found.srcc_low, high=found.srcc_high, p=p, n=found.n, reason=found.reason
    )


# --------------------------------------------------------------------------------------------------
# What judges are worth against the people of a study: one report for all of them.
# --------------------------------------------------------------------------------------------------


def judge_report(
    study: Study,
    judges: Sequence[PairJudge] = (),
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
    if ticked.decided.any() or any(panel.decided.any() for panel in vote_panels(study, ItemOrder(study), criteria)):
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
    judges: Sequence[PairJudge],
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


def _content(judge: PairJudge) -> str:
    """What a judge said, as a hash; answers inside the study are in the study's own hash."""
    if judge.table is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, judge.table.schema) as stream:
            stream.write_table(judge.table.combine_chunks())
        return hashlib.sha256(sink.getvalue()).hexdigest()
    values = getattr(judge.answers, "by_criterion", {})
    return hashlib.sha256(b"".join(values[number].tobytes() for number in sorted(values))).hexdigest()


# --------------------------------------------------------------------------------------------------
# Judges against the people of a study, whose own signal is checked first.
#
# Composes two stages: `check` says whether the people agree beyond chance at all, `judge` what each judge is worth
# against their majority.
# --------------------------------------------------------------------------------------------------

NamedJudge = TypeVar("NamedJudge", PairJudge, TickJudge)


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
    judges = find_judges(study, folder, settings, scores=scores)
    ticks = find_tick_judges(study, folder, settings)
    _check_names(names, [*judges, *ticks], study)
    judges = [judge for judge in judges if not names or judge.name in names]
    ticks = [judge for judge in ticks if not names or judge.name in names]
    signals = check_people(study, settings, progress, criteria=criteria) if check and judges else {}
    return judge_report(
        study, judges, settings, ticks=ticks, routing=routing, signals=signals, criteria=criteria, progress=progress
    )


def find_judges(
    study: Study, folder: Path | None, settings: ReportSettings, *, scores: Sequence[Path] = ()
) -> list[PairJudge]:
    """All judges there are: verdicts, raters that are models, score tables. Two of one name are told apart by place."""
    places = ItemOrder(study)
    everywhere = settings.missing == "unparsed"
    judges = rater_judges(study, places, everywhere=everywhere)
    for name, table, facts in _run_verdicts(folder):
        judge = verdict_judge(name, table, study, places, **facts)
        judges += [] if judge is None else [judge]
    tables = [*(score_files(folder) if folder is not None else ()), *scores]
    judges += [score_judge(path, study, places, everywhere=everywhere) for path in tables]
    return _distinct_names(judges)


def find_tick_judges(study: Study, folder: Path | None, settings: ReportSettings) -> list[TickJudge]:
    """All that answered checklists: judges of the folder, and raters that are models."""
    judges = rater_ticks(study, everywhere=settings.missing == "unparsed")
    for name, table, facts in _run_verdicts(folder):
        judge = verdict_ticks(name, table, study, **facts)
        judges += [] if judge is None else [judge]
    return _distinct_names(judges)


def _run_verdicts(folder: Path | None) -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
    """Name, verdicts and facts of every judge in a folder; verdicts without a record are named by their place."""
    if folder is None:
        return
    for place in judge_names(folder):
        home = folder / JUDGES / place
        table = read_verdicts(home)
        if (home / RECORD_FILE).is_file():
            record = read_record(home)
            yield record.judge, table, {"simulated": record.simulated, "signature": record.signature}
        else:
            yield home.name, table, {}


def check_people(
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
    asked = is_person(study)
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


def _check_names(names: Sequence[str], judges: Sequence[PairJudge | TickJudge], study: Study) -> None:
    known = list(dict.fromkeys(judge.name for judge in judges))
    for name in names:
        if name not in known:
            raise UnknownReference(
                "a judge of the study is needed",
                found=repr(name),
                where=f"study {study.name!r}",
                remedy="one of " + ", ".join(known) if known else "salon judge run STUDY makes one",
            )


def _distinct_names(judges: list[NamedJudge]) -> list[NamedJudge]:
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
