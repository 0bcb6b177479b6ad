"""Scorers and judges as raters, held against people on one study or several.

Composes `judge` (accuracies, ceilings: `evaluate.judges`) and `stats` (the order of generators).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from salon.bench.rater_tables import (
    GeneratorAgreement,
    PanelCriterion,
    PanelStudy,
    RaterOnStudy,
    RaterRow,
    RaterTables,
)
from salon.errors import StatsError, TooFew, UnknownReference
from salon.evaluate.duels import item_generators
from salon.evaluate.judges.judge_report import found_judges, report_judges
from salon.evaluate.judges.report_figures import Met, meet
from salon.evaluate.judges.report_judges import Judge
from salon.evaluate.judges.report_panel import Panel, Places, panels, people
from salon.evaluate.judges.report_settings import ReportSettings
from salon.evaluate.judges.results import JudgeFigures, JudgeReport
from salon.stats.ceilings import ceilings
from salon.stats.generator_ranks import generator_ranks
from salon.stats.judge_accuracy import UNREAD
from salon.stats.result import Estimate
from salon.study import Signature, Study
from salon.study.tables import JUDGMENTS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ORDER_POLICY = (
    "Order of generators: shares of pairs won, by people's votes and by the rater, on the same pairs: those of two "
    "generators that people voted on and the rater answered in a way that could be read; a tie is half a win."
)


@dataclass(frozen=True)
class Held:
    """One study with its name in the tables, its report, and what judges said."""

    name: str
    study: Study
    panels: Sequence[Panel]
    places: Places
    report: JudgeReport
    met: dict[str, list[Met]]


def rater_tables(
    studies: Sequence[tuple[Study, Path | None]],
    settings: ReportSettings | None = None,
    *,
    names: Sequence[str] = (),
    check: bool = True,
    progress: Callable[[str], None] = lambda step: None,
) -> RaterTables:
    """What scorers and judges are worth on studies (each with its folder, where it has one), as unpublished tables.

    Raters are those of `salon judge report`; `names` limits them, `check` tests the people's own signal.
    """
    settings = settings or ReportSettings()
    held, warnings = [], []
    for number, (study, folder) in enumerate(studies):
        name = _name([one.name for one, _ in studies[:number]], study.name)
        try:
            held.append(_held(name, study, folder, settings, names, check, progress))
        except TooFew as error:
            if len(studies) == 1:
                raise
            warnings.append(f"{name}: left out: {error.needed}; found {error.found}")
    if not held:
        raise TooFew("raters and people who judged the same pairs are needed", found="; ".join(warnings))
    if unknown := [name for name in names if not any(name in one.met for one in held)]:
        raise UnknownReference("a rater of one of the studies is needed", found=", ".join(map(repr, unknown)))
    rows = _rows(held, settings)
    signature = _signature(held, settings, names)
    return RaterTables(
        level=settings.level,
        studies=tuple(_panel_study(one, settings) for one in held),
        raters=tuple(sorted(rows, key=lambda row: (-_mean_accuracy(row), row.rater))),
        policies=(*_policies(held), ORDER_POLICY),
        warnings=(*warnings, *(f"{one.name}: {words}" for one in held for words in one.report.warnings)),
        signature=signature,
        signature_line=str(signature),
    )


def _policies(held: Sequence[Held]) -> list[str]:
    """What holds for all studies once; what holds for one with its name."""
    said = [one.report.policies for one in held]
    told = [
        words if all(words in other for other in said) else f"{one.name}: {words}"
        for one in held
        for words in one.report.policies
    ]
    return list(dict.fromkeys(told))


def _name(taken: Sequence[str], name: str) -> str:
    """Two studies of one name are told apart by a number."""
    again = taken.count(name)
    return f"{name} #{again + 1}" if again else name


def _held(
    name: str,
    study: Study,
    folder: Path | None,
    settings: ReportSettings,
    names: Sequence[str],
    check: bool,
    progress: Callable[[str], None],
) -> Held:
    judges = found_judges(study, folder, settings)
    here = [judge.name for judge in judges if judge.name in names]
    if names and not here:
        raise TooFew("one of the raters asked for is needed", found=_listed(judges), where=f"study {name!r}")
    report = report_judges(
        study, folder, settings, names=here, check=check, progress=lambda step: progress(f"{name}, {step}")
    )
    if not report.judges:
        raise TooFew("a judge of pairs is needed", found="judges of checklists alone", where=f"study {name!r}")
    places = Places(study)
    voted = panels(study, places)
    shown = {one.judge for one in report.judges}
    met = {judge.name: meet(judge, voted) for judge in judges if judge.name in shown}
    return Held(name, study, voted, places, report, met)


def _listed(judges: Sequence[Judge]) -> str:
    return ", ".join(judge.name for judge in judges) or "none"


def _signature(held: Sequence[Held], settings: ReportSettings, names: Sequence[str]) -> Signature:
    data = hashlib.sha256("\n".join(one.report.signature_line for one in held).encode()).hexdigest()
    told = {"missing": settings.missing, "draws": settings.draws, "level": settings.level, "studies": len(held)}
    only = {"names": ",".join(names)} if names else {}
    return Signature(method="raters", data=data[:12], settings={**told, **only}, seed=settings.seed)


# -- people ------------------------------------------------------------------------------------------------------------


def _panel_study(held: Held, settings: ReportSettings) -> PanelStudy:
    return PanelStudy(
        study=held.name,
        data=held.study.hash,
        simulated=held.study.simulated,
        raters=_answering(held.study),
        generators=len(item_generators(held.study)[0]),
        criteria=tuple(
            PanelCriterion(
                criterion=one.criterion,
                name=one.name,
                votes=one.votes,
                pairs=one.pairs,
                tied=one.tied,
                next_rater=one.next_rater,
                oracle=one.oracle,
                no_ceiling=one.no_ceiling,
                signal=one.signal,
            )
            for one in held.report.panel
        ),
        next_rater=_pooled_ceiling(held, settings),
        signature_line=held.report.signature_line,
    )


def _answering(study: Study) -> int:
    """People (or crowds) with an answer."""
    asked = people(study)
    tables = (study.tables[kind] for kind in JUDGMENTS if kind in study.tables)
    codes = [study.codes("raters", table.column("rater")) for table in tables]
    return int(asked[np.unique(np.concatenate(codes))].sum()) if codes else 0


def _pooled_ceiling(held: Held, settings: ReportSettings) -> Estimate | None:
    """One more person on all pairs of all criteria; None where panels are too small."""
    votes = np.concatenate([panel.votes[:, :2] for panel in held.panels])
    clusters = np.concatenate([panel.cluster for panel in held.panels])
    rng = settings.rng(f"{held.name}\npooled ceiling")
    try:
        made = ceilings(votes[:, 0], votes.sum(axis=1), clusters, draws=settings.draws, rng=rng, level=settings.level)
    except StatsError:
        return None
    return made.next_rater


# -- raters ------------------------------------------------------------------------------------------------------------


def _rows(held: Sequence[Held], settings: ReportSettings) -> list[RaterRow]:
    """Raters by name; one that answers about several studies has one row."""
    found: dict[tuple[str, str], list[tuple[Held, JudgeFigures]]] = {}
    for one in held:
        for judge in one.report.judges:
            found.setdefault((judge.judge, judge.kind), []).append((one, judge))
    return [
        RaterRow(
            rater=name,
            kind=kind,
            simulated=any(judge.simulated for _, judge in met),
            signatures=tuple(dict.fromkeys(judge.signature for _, judge in met if judge.signature)),
            studies=tuple(_on_study(one, judge, settings) for one, judge in met),
        )
        for (name, kind), met in found.items()
    ]


def _mean_accuracy(row: RaterRow) -> float:
    return float(np.mean([one.accuracy.value for one in row.studies if one.accuracy is not None] or [0.0]))


def _on_study(held: Held, judge: JudgeFigures, settings: ReportSettings) -> RaterOnStudy:
    by_criterion = {one.criterion: one.figures for one in judge.criteria}
    figures = {one.criterion: by_criterion.get(one.criterion) for one in held.report.panel}
    return RaterOnStudy(
        study=held.name,
        accuracy=judge.pooled.accuracy,
        macro=judge.macro.accuracy,
        unread=judge.pooled.unseen,
        criteria={id: None if one is None else one.accuracy for id, one in figures.items()},
        pairs=judge.pooled.pairs,
        panel_pairs=sum(int(panel.decided.sum()) for panel in held.panels),
        order=_generator_order(held, judge.judge, settings),
        warnings=tuple(f"{one.name}: {words}" for one in judge.criteria for words in one.warnings),
    )


def _generator_order(held: Held, judge: str, settings: ReportSettings) -> GeneratorAgreement:
    """People's and the rater's shares of pairs won, over all criteria."""
    names, of_item = item_generators(held.study)
    parts = [_decided(held, one, of_item) for one in held.met[judge]]
    first, second, votes, said, cluster = (np.concatenate(column) for column in zip(*parts))
    present, pair = np.unique(np.stack([first, second]), return_inverse=True)
    if len(present) < 2:
        return GeneratorAgreement(
            spearman=None, kendall=None, nmse=None, generators=len(present), pairs=len(first),
            reason="items do not name two generators" if len(names) < 2 else "no pair of two generators was answered",
        )  # fmt: skip
    sides = pair.reshape(2, -1)
    tables = [
        generator_points(sides, cluster, len(present), points) for points in (votes, said, np.full(len(said), 0.5))
    ]
    rng = settings.rng(f"{judge}\norder of generators")
    made = generator_ranks(tables[0], tables[1], 2 * tables[2], draws=settings.draws, rng=rng, level=settings.level)
    return GeneratorAgreement(
        spearman=made.spearman,
        kendall=made.kendall,
        nmse=made.nmse,
        generators=len(present),
        pairs=len(first),
        reason=made.reason,
    )


def _decided(held: Held, met: Met, of_item: Ints) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """Of pairs of two generators that both spoke on: the two, people's share for the first, the rater's, the prompt."""
    a, b = (of_item[item] for item in held.places.items(met.panel.keys))
    choice = met.faced.choice
    rows = np.flatnonzero((a >= 0) & (b >= 0) & (a != b) & met.faced.asked & (choice != UNREAD))
    votes = met.panel.votes[rows]
    share = (votes[:, 0] + votes[:, 2] / 2) / votes.sum(axis=1)
    return a[rows], b[rows], share, (choice[rows] + 1) / 2, met.panel.cluster[rows]


def generator_points(sides: Ints, cluster: Ints, generators: int, points: Floats) -> Floats:
    """(clusters, generators): `points` to the first of each pair, the rest of 1 to the second."""
    _, row = np.unique(cluster, return_inverse=True)
    shape = int(row.max()) + 1, generators
    made = np.zeros(shape)
    np.add.at(made, (row, sides[0]), points)
    np.add.at(made, (row, sides[1]), 1 - points)
    return made
