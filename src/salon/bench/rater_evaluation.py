"""Scorers and judges as raters: against the people of studies, and on the field's released test sets.

Accuracies and ceilings come from `evaluate.judges`, the order of generators from `stats`.

Released tests (HPSv3's Tables 3 and 4) are counted as the released evaluations count. The preferred picture of every
record is known. A scorer is right if that picture has the higher number; equal numbers are wrong. Every record counts,
also one that repeats a pair.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from salon.bench.rater_results import (
    GeneratorAgreement,
    PanelCriterion,
    PanelStudy,
    RaterOnStudy,
    RaterResult,
    RaterTables,
)
from salon.errors import BadFile, DesignError, StatsError, TooFew, UnknownReference
from salon.evaluate import (
    Evaluation,
    ItemOrder,
    JudgeFigures,
    PairAnswers,
    ReportSettings,
    TestPairs,
    find_judges,
    is_person,
    item_generators,
    report_judges,
    study_pairs,
)
from salon.judge import MissingScore, PictureScore, ScoreSettings, cached_scores, expand_raters, make_scorer
from salon.models import ResultCache
from salon.report import number_repeats
from salon.stats import AGAINST, UNREAD, WITH, Estimate, ceilings, generator_ranks, judge_accuracy, kind_table
from salon.store import CRITERION, PictureFiles, PreferenceTest, read_preference_test, recognize
from salon.store.formats.preference_tests import READERS
from salon.study import JUDGMENTS, Item, Prompt, Scorer, ScorerCard, Signature, Study

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
    evaluations, warnings = [], []
    for number, (study, folder) in enumerate(studies):
        earlier_names = [evaluation.name for evaluation, _ in studies[:number]]
        again = earlier_names.count(study.name)
        name = f"{study.name} #{again + 1}" if again else study.name
        try:
            evaluations.append(_evaluate_study(name, study, folder, settings, names, check, progress))
        except TooFew as error:
            if len(studies) == 1:
                raise
            warnings.append(f"{name}: left out: {error.needed}; found {error.found}")
    if not evaluations:
        raise TooFew("raters and people who judged the same pairs are needed", found="; ".join(warnings))
    if unknown := [name for name in names if not any(name in evaluation.answers for evaluation in evaluations)]:
        raise UnknownReference("a rater of one of the studies is needed", found=", ".join(map(repr, unknown)))
    rows = _rows(evaluations, settings)
    data = hashlib.sha256(
        "\n".join(evaluation.report.signature_line for evaluation in evaluations).encode()
    ).hexdigest()
    options = {
        "missing": settings.missing,
        "draws": settings.draws,
        "level": settings.level,
        "studies": len(evaluations),
    }
    only = {"names": ",".join(names)} if names else {}
    signature = Signature(method="raters", data=data[:12], settings={**options, **only}, seed=settings.seed)
    policies_by_study = [evaluation.report.policies for evaluation in evaluations]
    policies = [
        words if all(words in study_policies for study_policies in policies_by_study) else f"{evaluation.name}: {words}"
        for evaluation in evaluations
        for words in evaluation.report.policies
    ]
    return RaterTables(
        level=settings.level,
        studies=tuple(_panel_study(evaluation, settings) for evaluation in evaluations),
        raters=_best_first(rows),
        policies=(*dict.fromkeys(policies), ORDER_POLICY),
        warnings=(
            *warnings,
            *(f"{evaluation.name}: {words}" for evaluation in evaluations for words in evaluation.report.warnings),
        ),
        signature=signature,
        signature_line=str(signature),
    )


def _best_first(rows: Sequence[RaterResult]) -> tuple[RaterResult, ...]:
    """By mean accuracy over studies, then by name."""

    def order(row: RaterResult) -> tuple[float, str]:
        accuracies = [result.accuracy.value for result in row.studies if result.accuracy is not None]
        return -float(np.mean(accuracies or [0.0])), row.rater

    return tuple(sorted(rows, key=order))


def _evaluate_study(
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
        raise TooFew(
            "one of the raters asked for is needed",
            found=", ".join(judge.name for judge in judges) or "none",
            where=f"study {name!r}",
        )
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


# -- people ------------------------------------------------------------------------------------------------------------


def _panel_study(evaluation: EvaluatedStudy, settings: ReportSettings) -> PanelStudy:
    from_people = is_person(evaluation.study)
    tables = (evaluation.study.tables[kind] for kind in JUDGMENTS if kind in evaluation.study.tables)
    codes = [evaluation.study.codes("raters", table.column("rater")) for table in tables]
    answering = int(from_people[np.unique(np.concatenate(codes))].sum()) if codes else 0
    return PanelStudy(
        study=evaluation.name,
        data=evaluation.study.hash,
        simulated=evaluation.study.simulated,
        raters=answering,
        generators=len(item_generators(evaluation.study)[0]),
        criteria=tuple(
            PanelCriterion(
                criterion=criterion.criterion,
                name=criterion.name,
                votes=criterion.votes,
                pairs=criterion.pairs,
                tied=criterion.tied,
                next_rater=criterion.ceilings.next_rater if criterion.ceilings else None,
                oracle=criterion.ceilings.oracle if criterion.ceilings else None,
                no_ceiling=criterion.no_ceiling,
                signal=criterion.signal,
            )
            for criterion in evaluation.report.panel
        ),
        next_rater=_pooled_ceiling(evaluation, settings),
        signature_line=evaluation.report.signature_line,
    )


def _pooled_ceiling(evaluation: EvaluatedStudy, settings: ReportSettings) -> Estimate | None:
    """One more person on all pairs of all criteria; None where panels are too small."""
    votes, clusters = evaluation.pairs.votes[:, :2], evaluation.pairs.group
    rng = settings.rng(f"{evaluation.name}\npooled ceiling")
    try:
        result = ceilings(votes[:, 0], votes.sum(axis=1), clusters, draws=settings.draws, rng=rng, level=settings.level)
    except StatsError:
        return None
    return result.next_rater


# -- raters ------------------------------------------------------------------------------------------------------------


def _rows(evaluations: Sequence[EvaluatedStudy], settings: ReportSettings) -> list[RaterResult]:
    """One row for each rater, over all studies it answers about."""
    by_rater: dict[tuple[str, str], list[tuple[EvaluatedStudy, JudgeFigures]]] = {}
    for evaluation in evaluations:
        for judge in evaluation.report.judges:
            by_rater.setdefault((judge.name, judge.kind), []).append((evaluation, judge))
    return [
        RaterResult(
            rater=name,
            kind=kind,
            simulated=any(judge.simulated for _, judge in met),
            signatures=tuple(dict.fromkeys(judge.signature for _, judge in met if judge.signature)),
            studies=tuple(_on_study(evaluation, judge, settings) for evaluation, judge in met),
        )
        for (name, kind), met in by_rater.items()
    ]


def _on_study(evaluation: EvaluatedStudy, judge: JudgeFigures, settings: ReportSettings) -> RaterOnStudy:
    by_criterion = {criterion.criterion: criterion.figures for criterion in judge.criteria}
    figures = {criterion.criterion: by_criterion.get(criterion.criterion) for criterion in evaluation.report.panel}
    return RaterOnStudy(
        study=evaluation.name,
        accuracy=judge.pooled.accuracy,
        macro=judge.macro.accuracy,
        unread=judge.pooled.unseen,
        criteria={id: None if criterion is None else criterion.accuracy for id, criterion in figures.items()},
        pairs=judge.pooled.pairs,
        panel_pairs=int(evaluation.pairs.decided.sum()),
        order=_generator_order(evaluation, judge.name, settings),
        warnings=tuple(f"{criterion.name}: {words}" for criterion in judge.criteria for words in criterion.warnings),
    )


def _generator_order(evaluation: EvaluatedStudy, judge: str, settings: ReportSettings) -> GeneratorAgreement:
    """People's and the rater's shares of pairs won, over all criteria."""
    names, of_item = item_generators(evaluation.study)
    first, second, votes, rater_shares, cluster = _pair_shares(evaluation, evaluation.answers[judge], of_item)
    present, pair = np.unique(np.stack([first, second]), return_inverse=True)
    if len(present) < 2:
        return GeneratorAgreement(
            spearman=None, kendall=None, nmse=None, generators=len(present), pairs=len(first),
            reason="items do not name two generators" if len(names) < 2 else "no pair of two generators was answered",
        )  # fmt: skip
    rng = settings.rng(f"{judge}\norder of generators")
    return _agreement(pair.reshape(2, -1), cluster, len(present), votes, rater_shares, rng, settings)


def _agreement(
    sides: Ints,
    cluster: Ints,
    generators: int,
    people_shares: Floats,
    rater_shares: Floats,
    rng: np.random.Generator,
    settings: ReportSettings,
) -> GeneratorAgreement:
    """Agreement on the order of generators: `sides` are pairs of them, shares are those of the first of each pair."""
    people, rater, half = (
        generator_points(sides, cluster, generators, points)
        for points in (people_shares, rater_shares, np.full(len(rater_shares), 0.5))
    )
    ranks = generator_ranks(people, rater, 2 * half, draws=settings.draws, rng=rng, level=settings.level)
    return GeneratorAgreement(
        spearman=ranks.spearman,
        kendall=ranks.kendall,
        nmse=ranks.nmse,
        generators=generators,
        pairs=len(rater_shares),
        reason=ranks.reason,
    )


def _pair_shares(
    evaluation: EvaluatedStudy, answers: PairAnswers, of_item: Ints
) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """Of pairs of two generators that both spoke on: the two, people's share for the first, the rater's, the prompt."""
    a, b = (of_item[item] for item in evaluation.order.items(evaluation.pairs.keys))
    choice = answers.choice
    rows = np.flatnonzero((a >= 0) & (b >= 0) & (a != b) & answers.asked & (choice != UNREAD))
    votes = evaluation.pairs.votes[rows]
    share = (votes[:, 0] + votes[:, 2] / 2) / votes.sum(axis=1)
    return a[rows], b[rows], share, (choice[rows] + 1) / 2, evaluation.pairs.group[rows]


def generator_points(sides: Ints, cluster: Ints, generators: int, points: Floats) -> Floats:
    """(clusters, generators): `points` to the first of each pair, the rest of 1 to the second."""
    _, row = np.unique(cluster, return_inverse=True)
    shape = int(row.max()) + 1, generators
    table = np.zeros(shape)
    np.add.at(table, (row, sides[0]), points)
    np.add.at(table, (row, sides[1]), 1 - points)
    return table


# -- released test sets ------------------------------------------------------------------------------------------------

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
    for scorer, name in zip(scorers, number_repeats(candidate.name for candidate in scorers)):
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
        raters=_best_first(rows),
        policies=(*POLICIES, MISSING[settings.missing], ORDER_POLICY),
        warnings=tuple(warnings),
        signature=signature,
        signature_line=str(signature),
    )


def _margins(
    test: PreferenceTest, scorer: Scorer, scoring: ScoreSettings | None, progress: Callable[[str], None]
) -> tuple[Floats, dict[str, int]]:
    """Number of the preferred picture less that of the other, for every record; NaN where one has none."""
    keys = dict.fromkeys((pair.text, name) for pair in test.pairs for name in (pair.preferred, pair.other))
    questions = [
        (Item(id=name, prompt=text, image=str(test.paths[name])), Prompt(id=text, text=text)) for text, name in keys
    ]
    scored = score_pictures(scorer, questions, scoring, lambda step: progress(f"{test.name}, {step}"))
    values = dict(zip(keys, scored.values if scored.card.higher_is_better else -scored.values))
    margins = [values[pair.text, pair.preferred] - values[pair.text, pair.other] for pair in test.pairs]
    return np.array(margins, np.float64), scored.unscored


def _on_test(test: PreferenceTest, name: str, margins: Floats, settings: ReportSettings) -> RaterOnStudy:
    has_margin = ~np.isnan(margins)
    in_denominator = has_margin if settings.missing == "not-asked" else np.ones(len(margins), bool)
    if not in_denominator.any():
        raise TooFew("a record whose pictures both have a number is needed", found="none", where=test.name)
    verdicts = np.where(~has_margin, UNREAD, np.where(np.nan_to_num(margins) > 0, WITH, AGAINST))
    group = np.unique([pair.text for pair in test.pairs], return_inverse=True)[1]
    figures = judge_accuracy(
        kind_table(verdicts[in_denominator], group[in_denominator]),
        draws=settings.draws,
        rng=settings.rng(f"{test.name}\n{name}"),
        level=settings.level,
    ).pooled
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
    models = [(pair.preferred_model, pair.other_model) for pair in test.pairs]
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
    rng = settings.rng(f"{test.name}\n{name}\norder of generators")
    return _agreement(sides, group[rows], len(names), np.ones(len(rows)), chosen, rng, settings)


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
        generators=len({model for pair in test.pairs for model in (pair.preferred_model, pair.other_model) if model}),
        criteria=(criterion,),
        next_rater=None,
        count="records",
        repeats=test.repeats,
        signature_line=f"{test.kind}|sha256:{test.sha256}|records:{len(test.pairs)}",
    )


# -- scores of pictures that are in no study folder --------------------------------------------------------------------


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
    questions: Sequence[tuple[Item, Prompt | None]],
    settings: ScoreSettings | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> ScoredPictures:
    """Numbers of items whose `image` is the path of a picture."""
    settings = settings or ScoreSettings()
    cache = ResultCache()
    try:
        results, _ = cached_scores(
            scorer, questions, settings.batch, cache,
            lambda completed, total: progress(f"{scorer.name}, {completed:,} of {total:,} pictures"),
        )  # fmt: skip
    finally:
        cache.close()
    values = np.array([result.value if isinstance(result, PictureScore) else np.nan for result in results], np.float64)
    if np.isnan(values).all():
        why = next((result.reason for result in results if isinstance(result, MissingScore)), "no picture")
        raise DesignError(f"{scorer.name} must give a number to at least one picture", found=f"none: {why}")
    unscored = Counter(result.reason for result in results if isinstance(result, MissingScore))
    return ScoredPictures(scorer, getattr(scorer, "card", ScorerCard()), values, dict(unscored))


def open_scorers(names: Sequence[str], settings: ScoreSettings | None = None) -> list[Scorer]:
    """Scorers as `salon score` names them."""
    return [make_scorer(name, settings or ScoreSettings()) for name in expand_raters(names, ())]
