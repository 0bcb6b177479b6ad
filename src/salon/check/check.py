"""The whole check: every criterion, its verdict, every rater and flag, one report.

A verdict is two short answers in plain words. Do raters agree more than chance? One test answers: the total agreement
over prompts (or over votes on pairs) against random raters, Holm over criteria. Rejected: yes. Not rejected: no where
the design would have shown the smallest tau worth seeing, else cannot tell. If yes, as one taste or as camps? The
faction test answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from salon.check.criterion import CriterionCheck, check_criterion, criterion_power, result_or_none, study_ceilings
from salon.check.protocols import protocol_figures
from salon.check.raters import rater_rows
from salon.check.results import (
    FLAGS_NOT_RANKED as FLAGS_NOT_RANKED,
    MAIN,
    Agree,
    AnchorFigures,
    CheckReport,
    CheckSettings,
    CriterionFigures,
    FactionFigures,
    FlagFigures,
    Taste,
    TestFigures,
    unranked_flags as unranked_flags,
)
from salon.errors import TooFew
from salon.stats import SHARE, Estimate, Null, alpha_bootstrap, bootstrap_totals, fleiss_kappa, holm, split_pattern
from salon.store import quick_null
from salon.study import Signature, Study, describe_model_raters

PUBLISHED = (
    AnchorFigures(
        name="Sushi", items=4, raters=5, median_T=0.133, mean_tau=0.144, mean_pmax=0.739, cycle_rate=0.107,
        source="published: TASTE, Table 2",
    ),
    AnchorFigures(
        name="HPSv2 top-4", items=4, raters=5, median_T=0.267, mean_tau=0.302, mean_pmax=0.790, cycle_rate=0.060,
        source="published: TASTE, Table 2",
    ),
)  # fmt: skip
"""Anchors shown where the shape is theirs; the paper's MovieLens row rests on a shared tie-break and is left out."""

DESIGNS = {
    "complete": "complete: every rater answers for every item of a prompt",
    "fraction": "a fixed fraction of all questions",
    "adaptive": "adaptive: later questions depend on earlier answers",
    "merge_ranking": "merge ranking: each order found by the pairs a merge sort asks; transitive by construction",
    "unknown": "not stated; taken as fixed beforehand",
}
MANY_SIDES, FAR_FROM_EVEN = 100, 0.1
"""From this many decided comparisons on, a side that wins so much more than half of them deserves a warning."""


def check_study(
    study: Study,
    settings: CheckSettings | None = None,
    *,
    criteria: Sequence[str] = (),
    anchors: Sequence[AnchorFigures] = (),
    progress: Callable[[str], None] = lambda criterion: None,
) -> CheckReport:
    """Is there signal in the study's judgments, and how good can a model get on them?

    `criteria` limits the check to some; `progress` is called with the name of each criterion before its turn.
    """
    settings = settings or CheckSettings()
    plain = {name: value for name, value in settings if name != "seed"}
    if criteria:
        plain["criteria"] = ",".join(criteria)
    # Hashes the study, which is part of reading it.
    signature = Signature(
        method="check", data=study.hash[:12], revision=study.revision, settings=plain, seed=settings.seed
    )
    began = time.perf_counter()

    @cache
    def null(items: int, raters: int) -> Null:
        return quick_null(items, raters, draws=settings.null_draws, seed=settings.seed)

    checks: list[CriterionCheck] = []
    for number in study.ranking_criteria(criteria):
        progress(study.criteria[number].title)
        if (check := check_criterion(study, number, settings, null)) is not None:
            checks.append(check)
    flags = flag_figures(study, settings, criteria)
    if not checks and not flags:
        raise TooFew(
            "a check needs comparisons, rankings or ratings",
            found=", ".join(f"{count:,} {kind}" for kind, count in study.counts.items()) or "an empty study",
            where=f"study {study.name!r}",
        )
    ordered = sorted(_add_verdicts(study, checks, settings), key=lambda c: c.signal_strength, reverse=True)
    shapes = {(shape.items, shape.raters) for criterion in ordered for shape in criterion.shapes}
    matched = protocol_figures(study, settings)
    stop = "" if study.design.stop == "fixed" else "; answers were added until the result looked certain"
    return CheckReport(
        study=study.name,
        simulated=study.simulated,
        design=DESIGNS[study.design.kind] + stop,
        signature=signature,
        signature_line=str(signature),
        level=settings.level,
        criteria=tuple(ordered),
        together=study_ceilings(study, ordered, settings),
        raters=rater_rows(study, ordered, settings),
        flags=flags,
        protocols=matched.criteria,
        protocols_together=matched.together,
        protocol_raters=matched.raters,
        anchors=tuple(anchor for anchor in (*anchors, *PUBLISHED) if (anchor.items, anchor.raters) in shapes),
        warnings=_warnings(study, ordered),
        seconds=time.perf_counter() - began,
    )


def _add_verdicts(study: Study, checks: Sequence[CriterionCheck], settings: CheckSettings) -> list[CriterionFigures]:
    """The figures of each criterion with its adjusted p values and its verdict."""
    refused = _refusal(study)
    criteria = adjust_p_values([check.figures for check in checks])
    silent = [criterion.main_test is not None and not is_rejected(criterion, settings.alpha) for criterion in criteria]
    figures = []
    for criterion, check, is_silent in zip(criteria, checks, silent):
        power = criterion_power(check, settings, sum(silent)) if is_silent and not refused else None
        verdict = judge_criterion(criterion, settings, power=power, refused=refused)
        figures.append(criterion.model_copy(update=asdict(verdict)))
    return figures


def _refusal(study: Study) -> str | None:
    """Why no fixed-R null applies, or None."""
    if not study.design.adaptive:
        return None
    how = (
        "questions followed the answers"
        if study.design.kind == "adaptive"
        else "answers were added until it looked sure"
    )
    return (
        f"The design is adaptive ({how}), so the laws of a fixed design do not apply: figures are descriptive and the "
        "tests below are not valid."
    )


def _warnings(study: Study, criteria: Sequence[CriterionFigures]) -> tuple[str, ...]:
    warnings = []
    if study.simulated:
        warnings.append("simulated study: no person gave these answers")
    warnings += describe_model_raters(study.models)
    if refusal := _refusal(study):
        warnings.append(refusal)
    if study.design.kind == "unknown":
        warnings.append(
            "the study does not state its design (salon import --design, or study.toml): fixed questions and a fixed "
            "number of answers are assumed"
        )
    if study.design.transitive_by_construction:
        warnings.append("orders were found by merge ranking: no rater can be intransitive, so that figure is left out")
    for criterion in criteria:
        if criterion.tie_control is not None:
            warnings.append(
                f"{criterion.name}: --ties stable breaks ties the same way for every rater, which manufactures "
                f"agreement: with every rater's values shuffled, mean tau is still {criterion.tie_control:+.3f} "
                f"(of {criterion.statistics.mean_tau or 0:+.3f} reported)"
            )
        if criterion.ceilings is not None and criterion.prompts > 1:
            ceilings = criterion.ceilings
            estimates = {"panel": ceilings.panel, "leave one out": ceilings.leave_one_out, "cap": ceilings.cap}
            names = [name for name, top in estimates.items() if top and top.method.startswith("no interval: no width")]
            if names:
                warnings.append(
                    f"{criterion.name}: prompts are all alike, so draws of prompts say nothing more and "
                    f"{', '.join(names)} have no interval"
                )
    lone = [
        c.name for c in criteria if c.prompts == 1 and c.ceilings and c.ceilings.panel and c.ceilings.panel.low is None
    ]
    if lone:
        warnings.append(
            f"intervals need two prompts or more, so the numbers of a single one have none: {', '.join(lone)}"
        )
    # Where one side wins far too often, agreement may be about the side and not about the item.
    view = study.comparisons
    decided = (view.left < 2) & (view.outcome < 2)
    share = float((view.outcome == view.left)[decided].mean()) if decided.any() else 0.5
    if decided.sum() >= MANY_SIDES and abs(share - 0.5) >= FAR_FROM_EVEN:
        warnings.append(
            f"the item on the left won {share:.0%} of {int(decided.sum()):,} decided comparisons: where raters saw the "
            "same side, agreement and position cannot be separated"
        )
    return tuple(warnings)


# -- verdicts ----------------------------------------------------------------------------------------------------------

NEAR = 2.0
"""A p within this factor of its level is near it, and the sentence says so."""


@dataclass(frozen=True)
class CriterionVerdict:
    """The two answers and the sentence that explains them."""

    agree: Agree
    taste: Taste | None
    sentence: str


def adjust_p_values(criteria: list[CriterionFigures]) -> list[CriterionFigures]:
    """Holm over criteria: of the tests that answer, of their other side, of those that describe, and of factions."""
    tests = [(test, test.p) for criterion in criteria for test in criterion.tests if test.p is not None]
    main = iter(holm([p for test, p in tests if test.name in MAIN]).tolist())
    opposite = iter(holm([test.p_opposite for test, _ in tests if test.p_opposite is not None]).tolist())
    descriptive = iter(holm([p for test, p in tests if test.name not in MAIN]).tolist())
    panels = [c.factions.p for c in criteria if c.factions is not None and c.factions.p is not None]
    factions = iter(holm(panels).tolist())
    adjusted = []
    for criterion in criteria:
        renewed = []
        for test in criterion.tests:
            if test.p is not None:
                p_holm = next(main if test.name in MAIN else descriptive)
                p_opposite_holm = None if test.p_opposite is None else next(opposite)
                test = test.model_copy(update={"p_holm": p_holm, "p_opposite_holm": p_opposite_holm})
            renewed.append(test)
        panel = criterion.factions
        if panel is not None and panel.p is not None:
            panel = panel.model_copy(update={"p_holm": next(factions)})
        adjusted.append(criterion.model_copy(update={"tests": tuple(renewed), "factions": panel}))
    return adjusted


def is_rejected(criterion: CriterionFigures, alpha: float) -> bool:
    """Does the main test find more agreement than chance?"""
    test = criterion.main_test
    return test is not None and test.p_holm is not None and test.p_holm <= alpha


def judge_criterion(
    criterion: CriterionFigures, settings: CheckSettings, *, power: Estimate | None, refused: str | None
) -> CriterionVerdict:
    """The two answers. `power` is the chance that this design shows `smallest_tau`; `refused` why no null applies."""
    if refused:
        return CriterionVerdict("cannot tell", None, refused)
    test = criterion.main_test
    if test is None:
        reasons = [refused_test.refused for refused_test in criterion.tests if refused_test.refused]
        why = reasons[0] if reasons else "no two answers to one question"
        return CriterionVerdict("cannot tell", None, f"No test could be made: {why}.")
    if is_rejected(criterion, settings.alpha):
        return _judge_agreeing(criterion, test, settings)
    if test.p_opposite_holm is not None and test.p_opposite_holm <= settings.alpha:
        return CriterionVerdict(
            "no",
            "camps",
            f"Raters oppose each other more than chance would ({_strength_words(criterion, test)}; "
            f"p {_p_words(test.p_opposite_holm)}).",
        )
    return _judge_silent(criterion, test, settings, power)


def _judge_silent(
    criterion: CriterionFigures, test: TestFigures, settings: CheckSettings, power: Estimate | None
) -> CriterionVerdict:
    tau = f"a mean tau of {settings.smallest_tau:g}"
    strength = f"{_strength_words(criterion, test)}; p {_p_words(test.p_holm or 0)}"
    tail = _near_level_words(test.p_holm or 0, settings.alpha)
    odd = [test.name for test in criterion.tests if test.name not in MAIN and (test.p_holm or 1) <= settings.alpha]
    if odd:  # histograms that are not those of random raters, though the total is; that is no agreement
        tail += f" Yet over prompts {' and '.join(odd)} do not spread as under random raters: see their histograms."
    if power is not None and power.value >= settings.power:
        edge = power.low is not None and power.low < settings.power
        also = f" That is close to the {settings.power:.0%} that a 'no' needs." if edge else ""
        return CriterionVerdict(
            "no",
            None,
            f"Raters agree no more than random raters would ({strength}), and {tau} would have shown with "
            f"{_chance_words(power.value)} probability.{also}{tail}",
        )
    chance = "an unknown" if power is None else f"only {_chance_words(power.value)}"
    return CriterionVerdict(
        "cannot tell",
        None,
        f"No agreement beyond chance is shown ({strength}), but {tau} would have shown with {chance} probability: more "
        f"prompts or raters are needed.{tail}",
    )


def _judge_agreeing(criterion: CriterionFigures, test: TestFigures, settings: CheckSettings) -> CriterionVerdict:
    agree = f"Raters agree more than chance ({_strength_words(criterion, test)}; p {_p_words(test.p_holm or 0)})"
    near = _near_level_words(test.p_holm or 0, settings.alpha)
    factions = criterion.factions
    if factions is None or factions.p is None or factions.p_holm is None:
        why = "raters cannot be followed over prompts" if factions is None else str(factions.refused)
        if criterion.protocol == "votes":
            why = "camps are looked for in complete orders, and there are none"
        return CriterionVerdict(
            "yes", "cannot tell", f"{agree}. Whether as one taste or as camps cannot be told: {why}.{near}"
        )
    near += _near_level_words(factions.p_holm, settings.alpha, "The p of camps")
    if factions.p <= settings.alpha:
        if factions.p_holm <= settings.alpha:
            return CriterionVerdict("yes", "camps", f"{agree}, {_camp_words(factions)}.{near}")
        return CriterionVerdict(
            "yes",
            "cannot tell",
            f"{agree}. The sign of camps (p {factions.p:.3f}) does not hold among as many criteria (p "
            f"{factions.p_holm:.3f} after Holm), but one taste cannot be claimed either.{near}",
        )
    if factions.power is None or factions.power < settings.power:
        chance = "an unknown" if factions.power is None else f"only {_chance_words(factions.power)}"
        return CriterionVerdict(
            "yes",
            "cannot tell",
            f"{agree}. Whether as one taste or as camps cannot be told: two camps with this mean tau would have shown "
            f"with {chance} probability.{near}",
        )
    if factions.gap is not None and factions.gap.value > 0:
        return CriterionVerdict(
            "yes",
            "cannot tell",
            f"{agree}. Whether as one taste or as camps cannot be told: two groups of raters agree less with each "
            f"other than one order allows (gap {factions.gap.value:+.3f}), but not significantly "
            f"(p {_p_words(factions.p)}).{near}",
        )
    return CriterionVerdict(
        "yes",
        "one taste",
        f"{agree}, and one shared order with each rater's own noise explains it: two camps would have shown with "
        f"{_chance_words(factions.power)} probability.{near}",
    )


def _strength_words(criterion: CriterionFigures, test: TestFigures) -> str:
    """How much two raters agree, in the words of the statistic."""
    tau = criterion.statistics.mean_tau
    if tau is not None:
        return f"mean tau {tau:+.3f}"
    value = criterion.pair_agreement.value if criterion.pair_agreement is not None else test.statistic or 0.0
    return f"mean agreement of two votes {value:+.3f} on a scale of -1 to 1"


def _near_level_words(p: float, alpha: float, what: str = "This p") -> str:
    if not alpha / NEAR < p < alpha * NEAR:
        return ""
    return f" {what} is close to the level {alpha:g}: a few answers more or less could change the answer."


def _camp_words(factions: FactionFigures) -> str:
    first, second = (", ".join(camp) for camp in factions.split or ((), ()))
    within = " and ".join(f"{tau:+.3f}" for tau in factions.within or ())
    return (
        f"but not on one order: {first} against {second} "
        f"(mean tau {within} within the camps, {factions.between or 0:+.3f} between, where one order allows no less "
        f"than {factions.least or 0:+.3f}; p {factions.p_holm or 0:.2g} after Holm)"
    )


def _p_words(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-4 else "< 0.0001"


def _chance_words(p: float) -> str:
    return ">99%" if p > 0.995 else f"{p:.0%}"


# -- ordinal flags -----------------------------------------------------------------------------------------------------


def flag_figures(study: Study, settings: CheckSettings, criteria: Collection[str] = ()) -> tuple[FlagFigures, ...]:
    """One entry for every flag (see `Criterion.is_flag`) and cohort of raters; of all flags, or of `criteria`."""
    view, table = study.ratings, study.table("raters")
    names = table.column("cohort").to_pylist() if "cohort" in table.column_names else [None] * table.num_rows
    cohorts = np.array(names, object)
    figures = []
    for number, criterion in enumerate(study.criteria):
        if not criterion.is_flag or (criteria and criterion.id not in criteria):
            continue
        rows = np.flatnonzero((view.criterion == number) & (view.repeat == 0))
        of = cohorts[view.rater[rows]]
        for cohort in sorted(set(of.tolist()), key=lambda name: (name is None, name)):
            figures.append(_flag_figures(study, number, rows[of == cohort], cohort, settings))
    return tuple(figures)


def _flag_figures(
    study: Study, number: int, rows: NDArray[np.int64], cohort: str | None, settings: CheckSettings
) -> FlagFigures:
    view, criterion = study.ratings, study.criteria[number]
    assert criterion.scale is not None
    levels = criterion.scale.levels
    labels = criterion.scale.labels or tuple(f"{level:g}" for level in levels)
    short = tuple(label.split(":")[0] for label in labels)
    items, unit = np.unique(view.item[rows], return_inverse=True)
    level = np.abs(view.value[rows][:, None] - np.array(levels)).argmin(axis=1)
    counts = np.bincount(unit * len(levels) + level, minlength=len(items) * len(levels)).reshape(len(items), -1)
    clusters = np.unique(
        np.where(study.item_groups[items] >= 0, study.item_groups[items], -1 - items), return_inverse=True
    )[1]
    rng = np.random.default_rng([settings.seed, number])
    patterns = split_pattern(counts)
    total = sum(patterns.values())
    return FlagFigures(
        criterion=criterion.id,
        name=criterion.title,
        cohort=cohort,
        items=len(items),
        answers=len(rows),
        levels=levels,
        labels=short,
        shares=_level_shares(counts, clusters, settings, rng),
        alpha=_flag_alpha(unit, view.value[rows], clusters, settings, rng),
        positive_from=settings.flag_from,
        positive_rate=_rater_rates(study, rows, view.value[rows] >= settings.flag_from),
        top_rate=_rater_rates(study, rows, level == len(levels) - 1),
        splits={" / ".join(short[i] for i in used): n / total for used, n in patterns.items()},
        kappa=result_or_none(lambda: fleiss_kappa(counts).kappa),
    )


def _level_shares(
    counts: NDArray[np.int64], clusters: NDArray[np.int64], settings: CheckSettings, rng: np.random.Generator
) -> tuple[Estimate, ...]:
    """Share of every level, prompts drawn again."""
    table = np.zeros((int(clusters.max()) + 1, counts.shape[1]))
    np.add.at(table, clusters, counts)

    def share_of(level: int) -> Estimate:
        def share(totals: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(totals[:, level] / totals.sum(axis=1))

        return bootstrap_totals(share, table, draws=settings.draws, rng=rng, level=settings.level, ends=SHARE)

    return tuple(share_of(level) for level in range(counts.shape[1]))


def _flag_alpha(
    unit: NDArray[np.int64],
    value: NDArray[np.float64],
    clusters: NDArray[np.int64],
    settings: CheckSettings,
    rng: np.random.Generator,
) -> Estimate | None:
    """Krippendorff's alpha, ordinal; it does not ask which rater gave which flag."""
    order = np.argsort(unit, kind="stable")
    slot = np.arange(len(unit)) - np.searchsorted(unit[order], unit[order])
    values = np.full((len(clusters), int(slot.max()) + 1), np.nan)
    values[unit[order], slot] = value[order]
    return result_or_none(
        lambda: alpha_bootstrap(
            values, clusters, level="ordinal", draws=settings.draws, rng=rng, confidence=settings.level
        )
    )


def _rater_rates(study: Study, rows: NDArray[np.int64], hit: NDArray[np.bool_]) -> dict[str, float]:
    raters, who = np.unique(study.ratings.rater[rows], return_inverse=True)
    share = np.bincount(who, weights=hit) / np.bincount(who)
    return {study.label("raters", int(rater)): float(value) for rater, value in zip(raters, share)}
