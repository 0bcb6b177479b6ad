"""Scorers on the field's test sets, counted as the released evaluations count: HPSv3's Tables 3 and 4.

Of every record the preferred picture is known. A scorer is right where that picture has the higher number; where both
have the same number it is wrong, as in the released evaluation. Every record counts, also one that repeats a pair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from salon.bench.picture_scores import score_pictures
from salon.bench.rater_evaluation import ORDER_POLICY, generator_points
from salon.bench.rater_tables import (
    GeneratorAgreement,
    PanelCriterion,
    PanelStudy,
    RaterOnStudy,
    RaterRow,
    RaterTables,
)
from salon.errors import BadFile, TooFew
from salon.evaluate.judges.report_settings import ReportSettings
from salon.judge.score import ScoreSettings
from salon.report.words import numbered
from salon.stats.generator_ranks import generator_ranks
from salon.stats.judge_accuracy import AGAINST, UNREAD, WITH, judge_accuracy, kind_table
from salon.store.formats import recognize
from salon.store.formats.hpd import CRITERION
from salon.store.formats.picture_files import PictureFiles
from salon.store.formats.preference_tests import READERS, LabelledPair, PreferenceTest, read_preference_test
from salon.study import Item, Prompt, Signature
from salon.study.scorer import Scorer

Floats = NDArray[np.float64]
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
    for test, name in zip(tests, numbered(test.kind for test in tests)):
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
    for scorer, name in zip(scorers, numbered(one.name for one in scorers)):
        on_tests = []
        for test in tests:
            margins, unscored = _margins(test, scorer, scoring, progress)
            digest.update(margins.tobytes())
            on_tests.append(_on_test(test, name, margins, settings))
            warnings += [f"{test.name}: {name} gives no number to {count:,} pictures: {why}"
                         for why, count in unscored.items()]  # fmt: skip
        rows.append(RaterRow(rater=name, kind="scorer", signatures=(str(scorer.signature),), studies=tuple(on_tests)))
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


def _mean(row: RaterRow) -> float:
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
