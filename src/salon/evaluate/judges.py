"""`salon judge report`: what every judge of a study is worth against its people, whose own signal is checked first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa

from salon.check import CheckSettings, check_study
from salon.errors import StatsError, TooFew, UnknownReference
from salon.evaluate.accuracy import PairCeilings, drawing, judge_agreement, macro_difference, panel_figures
from salon.evaluate.answers import ItemValues, PairJudge, rater_judges, score_files, score_judge, verdict_judge
from salon.evaluate.checklists import Routing, TickJudge, rater_ticks, tick_panel, tick_report, verdict_ticks
from salon.evaluate.judge_figures import COMPARED, figure_correlation, flag_panels, judge_figures
from salon.evaluate.pair_results import JudgeFigures, PanelFigures
from salon.evaluate.people import ItemOrder, TestPairs, people_only, study_pairs
from salon.evaluate.raters import RaterNames, choose_raters, person_judges, person_policies, person_warnings
from salon.evaluate.results import Evaluation, ReportSettings, TickJudgeFigures, TickReport
from salon.judge import JUDGES, RECORD_FILE, judge_names, read_record, read_verdicts
from salon.report import first_names
from salon.study import Signature, Study

NamedJudge = TypeVar("NamedJudge", PairJudge, TickJudge)
Signals = Mapping[str, tuple[str, str]]
"""For each criterion the verdict of a signal check and its sentence."""


def report_judges(
    study: Study,
    folder: Path | None,
    settings: ReportSettings | None = None,
    *,
    names: Sequence[str] = (),
    scores: Sequence[Path] = (),
    routing: Routing | None = None,
    raters: RaterNames = (),
    check: bool = True,
    criteria: Sequence[str] = (),
    progress: Callable[[str], None] = lambda step: None,
) -> Evaluation:
    """What every judge of `study` is worth: those in its `folder`, its raters that are models, and tables of scores.

    `raters` are people of the study to stand beside them, each held against the others.

    `names` limits the report to some judges, `criteria` its pairs to some criteria (flags only where named). `routing`
    puts judges of checklists together. With `check` the people's own signal is tested and shown.
    """
    settings = settings or ReportSettings()
    judges = find_judges(study, folder, settings, scores=scores)
    ticks = find_tick_judges(study, folder, settings)
    known_names = _names(judges, ticks)
    for name in names:
        if name not in known_names:
            raise UnknownReference(
                "a judge of the study is needed",
                found=repr(name),
                where=f"study {study.name!r}",
                remedy="one of " + ", ".join(known_names) if known_names else "salon judge run STUDY makes one",
            )
    judges = [judge for judge in judges if not names or judge.name in names]
    ticks = [judge for judge in ticks if not names or judge.name in names]
    signals = check_people(study, settings, progress, criteria=criteria) if check and (judges or raters) else {}
    return judge_report(
        study, judges, settings, ticks=ticks, routing=routing, raters=raters, signals=signals, criteria=criteria,
        progress=progress,
    )  # fmt: skip


def find_judges(
    study: Study, folder: Path | None, settings: ReportSettings, *, scores: Sequence[Path] = ()
) -> list[PairJudge]:
    """All judges there are: verdicts, raters that are models, score tables. Two of one name are told apart by kind."""
    order = ItemOrder(study)
    everywhere = settings.missing == "unparsed"
    verdicts = (verdict_judge(name, table, study, order, **facts) for name, table, facts in _runs(folder))
    tables = [*(score_files(folder) if folder is not None else ()), *scores]
    return _distinct_names(
        [
            *rater_judges(study, order, everywhere=everywhere),
            *(judge for judge in verdicts if judge is not None),
            *(score_judge(path, study, order, everywhere=everywhere) for path in tables),
        ]
    )


def find_tick_judges(study: Study, folder: Path | None, settings: ReportSettings) -> list[TickJudge]:
    """All that answered checklists: judges of the folder, and raters that are models."""
    judges = rater_ticks(study, everywhere=settings.missing == "unparsed")
    verdicts = (verdict_ticks(name, table, study, **facts) for name, table, facts in _runs(folder))
    return _distinct_names([*judges, *(judge for judge in verdicts if judge is not None)])


def _runs(folder: Path | None) -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
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


def _names(judges: Sequence[PairJudge], ticks: Sequence[TickJudge]) -> list[str]:
    """Names of judges of pairs and of checklists, each once."""
    return list(dict.fromkeys([*(judge.name for judge in judges), *(judge.name for judge in ticks)]))


def _distinct_names(judges: Sequence[NamedJudge]) -> list[NamedJudge]:
    """Judges whose name another one has too get their kind behind it."""
    by_name: dict[str, NamedJudge] = {}
    for judge in judges:
        name = judge.name if judge.name not in by_name else f"{judge.name} ({judge.kind})"
        while name in by_name:
            name += "'"
        by_name[name] = replace(judge, name=name)
    return list(by_name.values())


def check_people(
    study: Study,
    settings: ReportSettings,
    progress: Callable[[str], None] = lambda step: None,
    *,
    criteria: Sequence[str] = (),
) -> Signals:
    """The answers of `salon check` on the people alone, and their sentence; nothing where they cannot be checked."""
    check_settings = CheckSettings(seed=settings.seed, level=settings.level, draws=settings.draws)
    try:
        report = check_study(
            people_only(study), check_settings, criteria=criteria, progress=lambda name: progress(f"people, {name}")
        )
    except StatsError:
        return {}
    return {check.criterion: (check.answer, check.sentence) for check in report.criteria}


# -- the report --------------------------------------------------------------------------------------------------------


def judge_report(
    study: Study,
    judges: Sequence[PairJudge] = (),
    settings: ReportSettings | None = None,
    *,
    ticks: Sequence[TickJudge] = (),
    routing: Routing | None = None,
    raters: RaterNames = (),
    signals: Signals | None = None,
    criteria: Sequence[str] = (),
    progress: Callable[[str], None] = lambda judge: None,
) -> Evaluation:
    """Every judge against the people of `study`, best macro accuracy first: `judges` of pairs, and of checklists.

    `raters` are people of the study, each held against the others.

    A judge's figures do not depend on the judges beside it: its draws are seeded by its own name. `routing` says which
    judges of checklists answer together; without it all do, by majority and by unanimity. `criteria` limits the pairs
    to some; a flag is one of them only where it is named (`Study.ranking_criteria`).
    """
    settings = settings or ReportSettings()
    order, ticked = ItemOrder(study), tick_panel(study)
    pairs = study_pairs(study, order, criteria)
    if not (ticked.decided.any() or pairs.decided.any()):
        flags = [criterion.id for criterion in study.criteria if criterion.is_flag]
        raise TooFew(
            "judges are held against a majority of people on pairs, or on points of checklists",
            found=", ".join(f"{count:,} {kind}" for kind, count in study.counts.items()) or "an empty study",
            where=f"study {study.name!r}",
            remedy="collect comparisons, rankings, ratings or checklists from people first"
            + (f"; --criterion {flags[0]} ranks items by a flag" if flags and not criteria else ""),
        )
    people, notes = choose_raters(study, raters)
    judges = _distinct_names([*judges, *person_judges(study, pairs, people)])
    names = _names(judges, ticks)
    if not names:
        raise TooFew(
            "at least one judge is needed",
            found="none",
            where=f"study {study.name!r}",
            remedy="salon judge run STUDY, salon score STUDY, --scores FILE, or --rater ID for a person",
        )
    on_pairs = _pair_parts(study, order, pairs, judges, settings, signals or {}, progress)
    on_ticks = tick_report(study, ticked, ticks, settings, routing=routing, progress=progress)
    flag_figures = flag_panels(study, judges, settings)
    figures = on_pairs.get("judges", ())
    answered = {figure.name for figure in (*figures, *(on_ticks.judges if on_ticks else ()))}
    answered |= {judge.judge for panel in flag_figures for judge in panel.judges}
    silent = [name for name in names if name not in answered]
    if not answered:
        raise TooFew(
            "a judge with an answer on a pair or a point with a majority is needed",
            found=f"none by {', '.join(silent)}",
            where=f"study {study.name!r}",
            remedy="judge the pairs that people judged, or the points that they ticked",
        )
    signature = _signature(study, judges, ticks, routing, settings, criteria)
    panel = on_pairs.get("panel", ())
    return Evaluation(
        study=study.name,
        simulated=study.simulated,
        signature=signature,
        signature_line=str(signature),
        level=settings.level,
        **on_pairs,
        flags=flag_figures,
        ticks=on_ticks,
        policies=(*judge_policies(figures, panel, on_ticks, settings), *person_policies(figures), *notes),
        warnings=judge_warnings(figures, panel, on_ticks, silent),
    )


def _pair_parts(
    study: Study,
    order: ItemOrder,
    pairs: TestPairs,
    judges: Sequence[PairJudge],
    settings: ReportSettings,
    signals: Signals,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """The parts of an Evaluation about pairs; nothing where no judge has an answer on a pair that people decided."""
    answers = {judge.name: judge.answers.on(pairs) for judge in judges}
    useful = [judge for judge in judges if len(answers[judge.name].rows)]
    if not useful:
        return {}
    tops = PairCeilings(pairs, settings)
    figures: list[JudgeFigures] = []
    for judge in useful:
        progress(judge.name)
        figures.append(judge_figures(study, order, judge, answers[judge.name], tops, settings))
    figures.sort(key=lambda row: (-row.macro.accuracy.value, row.name))
    best = figures[0].name
    for place, row in enumerate(figures[1:], 1):
        resampling = drawing(settings, settings.rng(f"{row.name}\n{best}"))
        difference = macro_difference(answers[row.name], answers[best], resampling)
        figures[place] = row.model_copy(update={"to_best": difference})
    voted = [place for place in range(len(pairs.criteria)) if len(pairs.on(place))]
    return {
        **pairs.counts,
        "panel": tuple(
            panel_figures(pairs, place, tops([place]), signals.get(pairs.criteria[place][0], (None, None)))
            for place in voted
        ),
        "judges": tuple(figures),
        "agreement": tuple(
            judge_agreement(
                (first.name, answers[first.name]),
                (second.name, answers[second.name]),
                drawing(settings, settings.rng(f"{first.name}\n{second.name}")),
            )
            for first, second in combinations(useful, 2)
        ),
        "correlations": tuple(figure_correlation(figures, x, y) for x, y in COMPARED),
    }


def _signature(
    study: Study,
    judges: Sequence[PairJudge],
    ticks: Sequence[TickJudge],
    routing: Routing | None,
    settings: ReportSettings,
    criteria: Sequence[str],
) -> Signature:
    digest = hashlib.sha256()
    for judge in sorted(judges, key=lambda judge: judge.name):
        digest.update(f"{judge.name}\0{judge.kind}\0{_content(judge)}\0".encode("utf-8", "surrogatepass"))
    for tick_judge in sorted(ticks, key=lambda judge: judge.name):
        digest.update(
            f"{tick_judge.name}\0{tick_judge.kind}\0{sorted(tick_judge.answers.items())}\0".encode(
                "utf-8", "surrogatepass"
            )
        )
    if routing is not None:
        digest.update(repr((tuple(routing.points), tuple(routing.routes))).encode("utf-8", "surrogatepass"))
    values = settings.model_dump(exclude={"seed", "worst"})
    values |= {"criteria": ",".join(criteria)} if criteria else {}
    return Signature(
        method="judge-report",
        data=study.hash[:12],
        revision=study.revision,
        settings={**values, "judges": digest.hexdigest()[:12]},
        seed=settings.seed,
    )


def _content(judge: PairJudge) -> str:
    """What a judge said, as a hash; answers inside the study are in the study's own hash."""
    if judge.table is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, judge.table.schema) as stream:
            stream.write_table(judge.table.combine_chunks())
        return hashlib.sha256(sink.getvalue()).hexdigest()
    values = judge.answers.by_criterion if isinstance(judge.answers, ItemValues) else {}
    return hashlib.sha256(b"".join(values[number].tobytes() for number in sorted(values))).hexdigest()


# -- policies and warnings ---------------------------------------------------------------------------------------------

SCORES = (
    "accuracy is agreement with the majority of people, pair by pair: 1 if the judge names the majority's item in both "
    "orders, 0 if it names the other in both, 0.5 if the orders disagree or it sees a tie; a coin reaches 0.5"
)
UNREAD = (
    "a pair with an unread verdict counts 0 in the accuracy and stays in its denominator; parsed only leaves it out; "
    "position bias, ties and conditional accuracy are shares of the pairs that were read"
)
CEILINGS = (
    "next rater and oracle are of people who name an item, for a tie is no vote; pairs on which only one person named "
    "an item say nothing of agreement and are left out of these two, though judges are scored on them"
)
ONE_ORDER = "no position bias can be given for a judge shown one order only, or that scores items one by one: {}"
NUMBERS = "of a judge that gives numbers the larger one wins, and equal numbers tie: {}"
SAMPLES = "several samples of a question count as their vote, and as a tie where two answers lead together: {}"
ABSENT = {
    "unparsed": "a pair without an answer of a rater of the study or a table of scores counts as unread: {}",
    "not-asked": "a pair without an answer of a rater of the study or a table of scores was not asked: left out: {}",
}
MACRO = "macro is the mean over criteria; accuracy = (1 - u)((1 - b - t) c + (b + t)/2) holds for each criterion only"

_LITTLE = "so accuracy against their majority says little"
PEOPLE = {
    "no": f"people agree no more than by chance, {_LITTLE}",
    "no, opposed camps": f"people oppose each other, {_LITTLE}",
    "yes, in camps": f"people agree within camps, not on one order, {_LITTLE}",
    "yes; one taste or camps: cannot tell": "people agree, but whether as one taste or as camps cannot be told, so "
    "their majority may be that of one camp",
    "cannot tell": f"too few answers of people to tell whether they agree, {_LITTLE}",
}
TICKS = (
    "on checklists accuracy is agreement with the majority of people, tick by tick (a tick is one point of one item); "
    "a coin reaches 0.5, a fixed answer (always yes, or always no) may reach far more; balanced accuracy is 0.5 "
    "and kappa 0 for both"
)
TICKS_UNREAD = (
    "a tick without a readable answer counts 0 in the accuracy and stays in its denominator; parsed only leaves it "
    "out; pass rates, kappa and balanced accuracy are of the ticks that were read"
)
TICK_SAMPLES = "of several samples of a tick more than half decide, unread ones counted; else it is unread: {}"
TICKS_ABSENT = {
    "unparsed": "a tick without an answer of a rater of the study counts as unread: {}",
    "not-asked": "a tick without an answer of a rater of the study was not asked: left out: {}",
}
TOGETHER = (
    "judges together: by majority more than half of those asked must say the same, unread ones counted; by unanimity "
    "yes needs them all, and one no is a no; a tick left open counts as unread"
)
FAR_FROM_EVEN, FEW = 0.3, 20


def judge_policies(
    judges: Sequence[JudgeFigures], panel: Sequence[PanelFigures], ticks: TickReport | None, settings: ReportSettings
) -> tuple[str, ...]:
    """What left which denominator."""
    of_pairs = _pair_policies(judges, panel, settings) if judges else ()
    return (*of_pairs, *(() if ticks is None else _tick_policies(ticks, settings)))


def _pair_policies(
    judges: Sequence[JudgeFigures], panel: Sequence[PanelFigures], settings: ReportSettings
) -> tuple[str, ...]:
    tied, pairs = sum(row.tied for row in panel), sum(row.pairs for row in panel)
    policies = [
        SCORES,
        f"pairs without a majority of people leave every denominator ({tied:,} of {pairs:,}); "
        "only 'ties counted' keeps them, as ties that a judge has to see",
        UNREAD,
    ]
    if lone := sum(row.lone for row in panel):
        policies.append(f"{CEILINGS} ({lone:,} of {pairs:,})")
    about = {
        ONE_ORDER: [row.name for row in judges if row.orders == 1],
        NUMBERS: [row.name for row in judges if row.kind in ("points", "scorer")],
        SAMPLES: [row.name for row in judges if row.samples > 1 and row.kind != "person"],
        ABSENT[settings.missing]: [row.name for row in judges if row.kind in ("rater", "scorer")],
    }
    policies += [words.format(first_names(names)) for words, names in about.items() if names]
    unvoted = sum(part.unvoted for row in judges for part in row.criteria)
    if unvoted:
        policies.append(f"pairs that judges were asked about and nobody voted on are left out: {unvoted:,}")
    return (*policies, MACRO)


def _tick_policies(ticks: TickReport, settings: ReportSettings) -> tuple[str, ...]:
    tied, there = sum(row.tied for row in ticks.panel), sum(row.ticks for row in ticks.panel)
    policies = [
        TICKS,
        f"ticks without a majority of people leave every denominator ({tied:,} of {there:,})",
        TICKS_UNREAD,
    ]
    about = {
        TICK_SAMPLES: [row.name for row in ticks.judges if row.samples > 1],
        TICKS_ABSENT[settings.missing]: [row.name for row in ticks.judges if row.kind == "rater"],
    }
    policies += [words.format(first_names(names)) for words, names in about.items() if names]
    unvoted = sum(part.unvoted for row in ticks.judges for part in row.criteria)
    if unvoted:
        policies.append(f"ticks that judges were asked about and nobody answered are left out: {unvoted:,}")
    return (*policies, TOGETHER) if ticks.together else tuple(policies)


def judge_warnings(
    judges: Sequence[JudgeFigures], panel: Sequence[PanelFigures], ticks: TickReport | None, left_out: Sequence[str]
) -> tuple[str, ...]:
    """What should not be taken at its face: judges at chance or above the ceiling, few pairs met, no signal."""
    warnings = (
        [f"left out, without an answer on a pair or a point with a majority: {first_names(left_out)}"]
        if left_out
        else []
    )
    for tick_judge in () if ticks is None else ticks.judges:
        warnings += [*_leaks_and_gaps(tick_judge, "ticks"), *_failures(tick_judge)]
    for signal, words in PEOPLE.items():
        criteria = [criterion.name for criterion in panel if criterion.signal == signal]
        if criteria:
            warnings.append(f"{words}: {first_names(criteria)}")
    for judge in judges:
        if judge.kind == "person":
            continue
        warnings += _leaks_and_gaps(judge, "pairs")
        # far from even, whatever the content: in one order this is all that can be said of position
        if (
            judge.orders == 1
            and judge.says_first is not None
            and (abs(judge.says_first.value - 0.5) > FAR_FROM_EVEN and judge.says_first.n >= FEW)
        ):
            warnings.append(
                f"names the picture shown first in {judge.says_first.value:.0%} of its answers: {judge.name}"
            )
        warnings += _failures(judge)
    return (*warnings, *person_warnings(judges))


def _leaks_and_gaps(judge: JudgeFigures | TickJudgeFigures, about: Literal["pairs", "ticks"]) -> list[str]:
    leaks = [part.name for part in judge.criteria for words in part.warnings if "leak" in words]
    warnings = (
        [f"above what an oracle could reach, suspect a leak: {judge.name} on {first_names(leaks)}"] if leaks else []
    )
    met, there = (sum(getattr(part, name) for part in judge.criteria) for name in ("decided", f"panel_{about}"))
    if met < there:
        warnings.append(f"asked about {met:,} of {there:,} {about} with a majority: {judge.name}")
    return warnings


def _failures(judge: JudgeFigures | TickJudgeFigures) -> list[str]:
    if judge.usage is None or not judge.usage.failed:
        return []
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in judge.usage.failed.items())
    return [f"calls without a reply count as unread, run it again to complete it: {judge.name} ({kinds})"]
