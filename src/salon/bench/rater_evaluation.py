"""Scorers and judges as raters, held against people on one study or several.

Composes `judge` (accuracies, ceilings: `evaluate.judges`) and `stats` (the order of generators).
"""

from __future__ import annotations

import hashlib
from collections import Counter
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
    RaterResult,
    RaterTables,
)
from salon.errors import BadFile, DesignError, StatsError, TooFew, UnknownReference
from salon.evaluate.answers import PairAnswers, PairJudge
from salon.evaluate.judges import find_judges, report_judges
from salon.evaluate.pair_results import JudgeFigures
from salon.evaluate.people import ItemOrder, TestPairs, is_person, item_generators, study_pairs
from salon.evaluate.results import Evaluation, ReportSettings
from salon.judge.scorers.registry import make_scorer
from salon.judge.scoring import MissingScore, PictureScore, ScoreSettings, cached_scores
from salon.models.cache import ResultCache
from salon.report.words import number_repeats
from salon.stats.ceilings import ceilings
from salon.stats.judge_accuracy import AGAINST, UNREAD, WITH, judge_accuracy, kind_table
from salon.stats.rank_agreement import generator_ranks
from salon.stats.result import Estimate
from salon.store.formats import recognize
from salon.store.formats.hpd import CRITERION, PictureFiles
from salon.store.formats.preference_tests import READERS, LabelledPair, PreferenceTest, read_preference_test
from salon.study import Item, Prompt, Signature, Study
from salon.study.interfaces import Scorer, ScorerCard
from salon.study.tables import JUDGMENTS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ORDER_POLICY = (
    "Order of generators: shares of pairs won, by people's votes and by the rater, on the same pairs: those of two "
    "generators that people voted on and the rater answered in a way that could be read; a tie is half a win."
)


@dataclass(frozen=True)
class EvaluatedStudy:
    """One study with its name in the tables, its report, and what judges said."""

    name: str
    study: Study
    pairs: TestPairs
    order: ItemOrder
    report: Evaluation
    answers: dict[str, PairAnswers]


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
    if unknown := [name for name in names if not any(name in one.answers for one in held)]:
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


def _policies(held: Sequence[EvaluatedStudy]) -> list[str]:
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
) -> EvaluatedStudy:
    judges = find_judges(study, folder, settings)
    here = [judge.name for judge in judges if judge.name in names]
    if names and not here:
        raise TooFew("one of the raters asked for is needed", found=_listed(judges), where=f"study {name!r}")
    report = report_judges(
        study, folder, settings, names=here, check=check, progress=lambda step: progress(f"{name}, {step}")
    )
    if not report.judges:
        raise TooFew("a judge of pairs is needed", found="judges of checklists alone", where=f"study {name!r}")
    order = ItemOrder(study)
    pairs = study_pairs(study, order)
    names_shown = {judge.name for judge in report.judges}
    answers = {judge.name: judge.answers.on(pairs) for judge in judges if judge.name in names_shown}
    return EvaluatedStudy(name, study, pairs, order, report, answers)


def _listed(judges: Sequence[PairJudge]) -> str:
    return ", ".join(judge.name for judge in judges) or "none"


def _signature(held: Sequence[EvaluatedStudy], settings: ReportSettings, names: Sequence[str]) -> Signature:
    data = hashlib.sha256("\n".join(one.report.signature_line for one in held).encode()).hexdigest()
    told = {"missing": settings.missing, "draws": settings.draws, "level": settings.level, "studies": len(held)}
    only = {"names": ",".join(names)} if names else {}
    return Signature(method="raters", data=data[:12], settings={**told, **only}, seed=settings.seed)


# -- people ------------------------------------------------------------------------------------------------------------


def _panel_study(held: EvaluatedStudy, settings: ReportSettings) -> PanelStudy:
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
                next_rater=one.ceilings.next_rater if one.ceilings else None,
                oracle=one.ceilings.oracle if one.ceilings else None,
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
    asked = is_person(study)
    tables = (study.tables[kind] for kind in JUDGMENTS if kind in study.tables)
    codes = [study.codes("raters", table.column("rater")) for table in tables]
    return int(asked[np.unique(np.concatenate(codes))].sum()) if codes else 0


def _pooled_ceiling(held: EvaluatedStudy, settings: ReportSettings) -> Estimate | None:
    """One more person on all pairs of all criteria; None where panels are too small."""
    votes, clusters = held.pairs.votes[:, :2], held.pairs.group
    rng = settings.rng(f"{held.name}\npooled ceiling")
    try:
        made = ceilings(votes[:, 0], votes.sum(axis=1), clusters, draws=settings.draws, rng=rng, level=settings.level)
    except StatsError:
        return None
    return made.next_rater


# -- raters ------------------------------------------------------------------------------------------------------------


def _rows(held: Sequence[EvaluatedStudy], settings: ReportSettings) -> list[RaterResult]:
    """Raters by name; one that answers about several studies has one row."""
    found: dict[tuple[str, str], list[tuple[EvaluatedStudy, JudgeFigures]]] = {}
    for one in held:
        for judge in one.report.judges:
            found.setdefault((judge.name, judge.kind), []).append((one, judge))
    return [
        RaterResult(
            rater=name,
            kind=kind,
            simulated=any(judge.simulated for _, judge in met),
            signatures=tuple(dict.fromkeys(judge.signature for _, judge in met if judge.signature)),
            studies=tuple(_on_study(one, judge, settings) for one, judge in met),
        )
        for (name, kind), met in found.items()
    ]


def _mean_accuracy(row: RaterResult) -> float:
    return float(np.mean([one.accuracy.value for one in row.studies if one.accuracy is not None] or [0.0]))


def _on_study(held: EvaluatedStudy, judge: JudgeFigures, settings: ReportSettings) -> RaterOnStudy:
    by_criterion = {one.criterion: one.figures for one in judge.criteria}
    figures = {one.criterion: by_criterion.get(one.criterion) for one in held.report.panel}
    return RaterOnStudy(
        study=held.name,
        accuracy=judge.pooled.accuracy,
        macro=judge.macro.accuracy,
        unread=judge.pooled.unseen,
        criteria={id: None if one is None else one.accuracy for id, one in figures.items()},
        pairs=judge.pooled.pairs,
        panel_pairs=int(held.pairs.decided.sum()),
        order=_generator_order(held, judge.name, settings),
        warnings=tuple(f"{one.name}: {words}" for one in judge.criteria for words in one.warnings),
    )


def _generator_order(held: EvaluatedStudy, judge: str, settings: ReportSettings) -> GeneratorAgreement:
    """People's and the rater's shares of pairs won, over all criteria."""
    names, of_item = item_generators(held.study)
    first, second, votes, said, cluster = _decided(held, held.answers[judge], of_item)
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


def _decided(held: EvaluatedStudy, answers: PairAnswers, of_item: Ints) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """Of pairs of two generators that both spoke on: the two, people's share for the first, the rater's, the prompt."""
    a, b = (of_item[item] for item in held.order.items(held.pairs.keys))
    choice = answers.choice
    rows = np.flatnonzero((a >= 0) & (b >= 0) & (a != b) & answers.asked & (choice != UNREAD))
    votes = held.pairs.votes[rows]
    share = (votes[:, 0] + votes[:, 2] / 2) / votes.sum(axis=1)
    return a[rows], b[rows], share, (choice[rows] + 1) / 2, held.pairs.group[rows]


def generator_points(sides: Ints, cluster: Ints, generators: int, points: Floats) -> Floats:
    """(clusters, generators): `points` to the first of each pair, the rest of 1 to the second."""
    _, row = np.unique(cluster, return_inverse=True)
    shape = int(row.max()) + 1, generators
    made = np.zeros(shape)
    np.add.at(made, (row, sides[0]), points)
    np.add.at(made, (row, sides[1]), 1 - points)
    return made


# --------------------------------------------------------------------------------------------------
# Scorers on the field's test sets, counted as the released evaluations count: HPSv3's Tables 3 and 4.
#
# Of every record the preferred picture is known. A scorer is right where that picture has the higher number; where both
# have the same number it is wrong, as in the released evaluation. Every record counts, also one that repeats a pair.
# --------------------------------------------------------------------------------------------------

NO_CEILING = "a record has one label, as in the released evaluation: no ceiling can be given"
POLICIES = (
    "Every record of a file counts once with its own label, as in the released evaluations; pairs that stand several "
    "times are not united. Pairs without a winner are left out and counted.",
    "Equal numbers count as wrong, as in the released evaluation of HPSv3; their number stands beside.",
)
MISSING = {
    "unparsed": "A record with a picture that has no number counts as wrong and stays in the denominator.",
    "not-asked": "A record with a picture that has no number leaves the denominator.",
}


def read_tests(places: Sequence[Path], files: PictureFiles, pictures: Path) -> list[PreferenceTest]:
    """The test sets in files, whose kinds are known by their beginnings; two of one name are numbered."""
    tests = []
    for number, path in enumerate(places):
        kind = recognize(path)
        if kind not in READERS:
            raise BadFile(
                "a test set of the field is needed: " + ", ".join(READERS), found=f"a file of {kind}", where=str(path),
                remedy="import it as a study, and score it: salon score STUDY --scorer NAME, salon bench raters STUDY",
            )  # fmt: skip
        folder = pictures / str(number)
        folder.mkdir()
        tests.append(read_preference_test(kind, path, files, folder))
    for test, name in zip(tests, number_repeats(test.kind for test in tests)):
        test.name = name
    return tests


def released_test_tables(
    tests: Sequence[PreferenceTest],
    scorers: Sequence[Scorer],
    settings: ReportSettings | None = None,
    scoring: ScoreSettings | None = None,
    *,
    progress: Callable[[str], None] = lambda step: None,
) -> RaterTables:
    """Every scorer on every test set: accuracy over records, and the order of generators."""
    settings = settings or ReportSettings()
    if not tests or not scorers:
        raise TooFew("a test set and a scorer are needed", found=f"{len(tests)} and {len(scorers)}")
    rows, warnings, digest = [], [], hashlib.sha256()
    for scorer, name in zip(scorers, number_repeats(one.name for one in scorers)):
        on_tests = []
        for test in tests:
            margins, unscored = _margins(test, scorer, scoring, progress)
            digest.update(margins.tobytes())
            on_tests.append(_on_test(test, name, margins, settings))
            warnings += [f"{test.name}: {name} gives no number to {count:,} pictures: {why}"
                         for why, count in unscored.items()]  # fmt: skip
        rows.append(
            RaterResult(rater=name, kind="scorer", signatures=(str(scorer.signature),), studies=tuple(on_tests))
        )
    for test in tests:
        warnings += [f"{test.name}: {note}" for note in test.notes]
    signature = Signature(
        method="released tests",
        data=hashlib.sha256("".join(test.sha256 for test in tests).encode()).hexdigest()[:12],
        settings={
            "tests": ",".join(test.name for test in tests), "missing": settings.missing, "draws": settings.draws,
            "level": settings.level, "margins": digest.hexdigest()[:12],
        },
        seed=settings.seed,
    )  # fmt: skip
    return RaterTables(
        level=settings.level,
        studies=tuple(_panel(test, settings) for test in tests),
        raters=tuple(sorted(rows, key=lambda row: (-_mean(row), row.rater))),
        policies=(*POLICIES, MISSING[settings.missing], ORDER_POLICY),
        warnings=tuple(warnings),
        signature=signature,
        signature_line=str(signature),
    )


def _mean(row: RaterResult) -> float:
    return float(np.mean([one.accuracy.value for one in row.studies if one.accuracy is not None] or [0.0]))


def _margins(
    test: PreferenceTest, scorer: Scorer, scoring: ScoreSettings | None, progress: Callable[[str], None]
) -> tuple[Floats, dict[str, int]]:
    """Number of the preferred picture less that of the other, for every record; NaN where one has none."""
    wanted = dict.fromkeys((one.text, name) for one in test.pairs for name in (one.preferred, one.other))
    asked = [
        (Item(id=name, prompt=text, image=str(test.paths[name])), Prompt(id=text, text=text)) for text, name in wanted
    ]
    scored = score_pictures(scorer, asked, scoring, lambda step: progress(f"{test.name}, {step}"))
    values = dict(zip(wanted, scored.values if scored.card.higher_is_better else -scored.values))
    margins = [values[one.text, one.preferred] - values[one.text, one.other] for one in test.pairs]
    return np.array(margins, np.float64), scored.unscored


def _on_test(test: PreferenceTest, name: str, margins: Floats, settings: ReportSettings) -> RaterOnStudy:
    known = ~np.isnan(margins)
    counted = known if settings.missing == "not-asked" else np.ones(len(margins), bool)
    if not counted.any():
        raise TooFew("a record whose pictures both have a number is needed", found="none", where=test.name)
    verdicts = np.where(~known, UNREAD, np.where(np.nan_to_num(margins) > 0, WITH, AGAINST))
    group = np.unique([one.text for one in test.pairs], return_inverse=True)[1]
    figures = judge_accuracy(
        kind_table(verdicts[counted], group[counted]), draws=settings.draws, rng=settings.rng(f"{test.name}\n{name}"),
        level=settings.level,
    ).pooled  # fmt: skip
    accuracy = figures.accuracy
    return RaterOnStudy(
        study=test.name,
        accuracy=accuracy,
        macro=accuracy,
        unread=figures.unseen,
        criteria={CRITERION.id: accuracy},
        pairs=figures.pairs,
        panel_pairs=len(test.pairs),
        equal=int((margins == 0).sum()),
        order=_order(test, name, margins, group, settings),
    )


def _order(
    test: PreferenceTest, name: str, margins: Floats, group: NDArray[np.int64], settings: ReportSettings
) -> GeneratorAgreement:
    models = [(one.preferred_model, one.other_model) for one in test.pairs]
    rows = [k for k, (a, b) in enumerate(models) if a and b and a != b and not np.isnan(margins[k])]
    names = sorted({model for k in rows for model in models[k] if model})
    if len(names) < 2:
        return GeneratorAgreement(
            spearman=None, kendall=None, nmse=None, generators=len(names), pairs=len(rows),
            reason="records do not name two generators",
        )  # fmt: skip
    place = {model: number for number, model in enumerate(names)}
    sides = np.array([[place[str(model)] for model in models[k]] for k in rows], np.int64).T
    chosen = (np.sign(margins[rows]) + 1) / 2
    tables = [
        generator_points(sides, group[rows], len(names), points)
        for points in (np.ones(len(rows)), chosen, np.full(len(rows), 0.5))
    ]
    rng = settings.rng(f"{test.name}\n{name}\norder of generators")
    ranks = generator_ranks(tables[0], tables[1], 2 * tables[2], draws=settings.draws, rng=rng, level=settings.level)
    return GeneratorAgreement(
        spearman=ranks.spearman, kendall=ranks.kendall, nmse=ranks.nmse,
        generators=len(names), pairs=len(rows), reason=ranks.reason,
    )  # fmt: skip


def _panel(test: PreferenceTest, settings: ReportSettings) -> PanelStudy:
    criterion = PanelCriterion(
        criterion=CRITERION.id, name=CRITERION.title, votes=len(test.pairs), pairs=len(test.pairs) + test.tied,
        tied=test.tied, next_rater=None, oracle=None, no_ceiling=NO_CEILING,
    )  # fmt: skip
    return PanelStudy(
        study=test.name,
        data=test.sha256,
        simulated=False,
        raters=1,
        generators=len(_models(test.pairs)),
        criteria=(criterion,),
        next_rater=None,
        count="records",
        repeats=test.repeats,
        signature_line=f"{test.kind}|sha256:{test.sha256}|records:{len(test.pairs)}",
    )


def _models(pairs: Sequence[LabelledPair]) -> set[str]:
    return {model for one in pairs for model in (one.preferred_model, one.other_model) if model}


# --------------------------------------------------------------------------------------------------
# Numbers of one scorer for pictures that are in no study's folder, kept as `salon score` keeps them.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoredPictures:
    """What a scorer said."""

    scorer: Scorer
    card: ScorerCard
    values: NDArray[np.float64]
    """One for each picture, NaN where it has none."""
    unscored: dict[str, int]
    """How many have none, by reason."""


def score_pictures(
    scorer: Scorer,
    asked: Sequence[tuple[Item, Prompt | None]],
    settings: ScoreSettings | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> ScoredPictures:
    """Numbers of items whose `image` is the path of a picture."""
    settings = settings or ScoreSettings()
    kept = ResultCache()
    try:
        results, _ = cached_scores(
            scorer, asked, settings.batch, kept,
            lambda done, wanted: progress(f"{scorer.name}, {done:,} of {wanted:,} pictures"),
        )  # fmt: skip
    finally:
        kept.close()
    values = np.array([one.value if isinstance(one, PictureScore) else np.nan for one in results], np.float64)
    if np.isnan(values).all():
        why = next((one.reason for one in results if isinstance(one, MissingScore)), "no picture")
        raise DesignError(f"{scorer.name} must give a number to at least one picture", found=f"none: {why}")
    unscored = Counter(one.reason for one in results if isinstance(one, MissingScore))
    return ScoredPictures(scorer, getattr(scorer, "card", ScorerCard()), values, dict(unscored))


def open_scorers(names: Sequence[str], settings: ScoreSettings | None = None) -> list[Scorer]:
    """Scorers as `salon score` names them."""
    return [make_scorer(name, settings or ScoreSettings()) for name in names]
