"""The whole check: every criterion, every rater, one report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from salon.check.criterion import Checked, check_criterion, power_for
from salon.check.flags import flag_figures
from salon.check.protocols import protocol_figures
from salon.check.raters import rater_rows
from salon.check.results import AnchorFigures, CheckReport, CriterionFigures
from salon.check.settings import CheckSettings
from salon.check.signal import Lookup
from salon.check.together import study_ceilings
from salon.check.verdict import adjust, judge, rejected
from salon.errors import TooFew
from salon.stats.nulls import Null
from salon.store.nulls import quick_null
from salon.study import Signature, Study
from salon.study.rater import told_of_models

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


MANY_SIDES, FAR_FROM_EVEN = 100, 0.1


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
    signature = _signature(study, settings, criteria)  # hashes the study, which is part of reading it
    began = time.perf_counter()
    null = _lookup(settings)
    checked: list[Checked] = []
    for number in study.ranking_criteria(criteria):
        progress(study.criteria[number].title)
        found = check_criterion(study, number, settings, null)
        checked += [] if found is None else [found]
    flags = flag_figures(study, settings, criteria)
    if not checked and not flags:
        raise TooFew(
            "a check needs comparisons, rankings or ratings",
            found=", ".join(f"{count:,} {kind}" for kind, count in study.counts.items()) or "an empty study",
            where=f"study {study.name!r}",
        )
    judged = _verdicts(study, checked, settings)
    ordered = sorted(judged, key=_strength, reverse=True)
    matched = protocol_figures(study, settings)
    return CheckReport(
        study=study.name,
        simulated=study.simulated,
        design=_design(study),
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
        anchors=_anchors(ordered, anchors),
        warnings=_warnings(study, ordered),
        seconds=time.perf_counter() - began,
    )


def _lookup(settings: CheckSettings) -> Lookup:
    """Nulls by shape, each found once."""
    known: dict[tuple[int, int], Null] = {}

    def null(items: int, raters: int) -> Null:
        if (items, raters) not in known:
            known[items, raters] = quick_null(items, raters, draws=settings.null_draws, seed=settings.seed)
        return known[items, raters]

    return null


def _verdicts(study: Study, checked: Sequence[Checked], settings: CheckSettings) -> list[CriterionFigures]:
    refused = _refusal(study)
    criteria = adjust([one.figures for one in checked])
    silent = sum(not rejected(criterion, settings.alpha) for criterion in criteria if criterion.main_test is not None)
    judged = []
    for criterion, one in zip(criteria, checked):
        asked = not refused and criterion.main_test is not None and not rejected(criterion, settings.alpha)
        power = power_for(one, settings, silent) if asked else None
        verdict = judge(criterion, settings, power=power, refused=refused)
        update = {"agree": verdict.agree, "taste": verdict.taste, "sentence": verdict.sentence}
        judged.append(criterion.model_copy(update=update))
    return judged


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


def _strength(criterion: CriterionFigures) -> float:
    if criterion.statistics.mean_tau is not None:
        return criterion.statistics.mean_tau
    return criterion.pair_agreement.value if criterion.pair_agreement is not None else -1.0


def _signature(study: Study, settings: CheckSettings, criteria: Sequence[str]) -> Signature:
    plain = {name: value for name, value in settings if name != "seed"}
    if criteria:
        plain["criteria"] = ",".join(criteria)
    return Signature(method="check", data=study.hash[:12], revision=study.revision, settings=plain, seed=settings.seed)


def _design(study: Study) -> str:
    kinds = {
        "complete": "complete: every rater answers for every item of a prompt",
        "fraction": "a fixed fraction of all questions",
        "adaptive": "adaptive: later questions depend on earlier answers",
        "merge_ranking": "merge ranking: each order found by the pairs a merge sort asks; transitive by construction",
        "unknown": "not stated; taken as fixed beforehand",
    }
    stop = "" if study.design.stop == "fixed" else "; answers were added until the result looked certain"
    return kinds[study.design.kind] + stop


def _anchors(criteria: Sequence[CriterionFigures], given: Sequence[AnchorFigures]) -> tuple[AnchorFigures, ...]:
    """The given anchors, and the published ones, whose shape occurs in the study."""
    shapes = {(shape.items, shape.raters) for criterion in criteria for shape in criterion.shapes}
    return tuple(anchor for anchor in (*given, *PUBLISHED) if (anchor.items, anchor.raters) in shapes)


def _warnings(study: Study, criteria: Sequence[CriterionFigures]) -> tuple[str, ...]:
    said = []
    if study.simulated:
        said.append("simulated study: no person gave these answers")
    said += told_of_models(study.models)
    if refusal := _refusal(study):
        said.append(refusal)
    if study.design.kind == "unknown":
        said.append(
            "the study does not state its design (salon import --design, or study.toml): fixed questions and a fixed "
            "number of answers are assumed"
        )
    if study.design.transitive_by_construction:
        said.append("orders were found by merge ranking: no rater can be intransitive, so that figure is left out")
    for criterion in criteria:
        if criterion.tie_control is not None:
            said.append(
                f"{criterion.name}: --ties stable breaks ties the same way for every rater, which manufactures "
                f"agreement: with every rater's values shuffled, mean tau is still {criterion.tie_control:+.3f} "
                f"(of {criterion.statistics.mean_tau or 0:+.3f} reported)"
            )
        said += _unmoved(criterion)
    if lone := [one.name for one in criteria if one.prompts == 1 and one.ceilings and one.ceilings.panel.low is None]:
        said.append(f"intervals need two prompts or more, so the numbers of a single one have none: {', '.join(lone)}")
    return (*said, *_position_warnings(study))


def _unmoved(criterion: CriterionFigures) -> list[str]:
    """Ceilings that have no interval though there are prompts enough."""
    made = criterion.ceilings
    if made is None or criterion.prompts < 2:
        return []
    told = (("panel", made.panel), ("leave one out", made.leave_one_out), ("cap", made.cap))
    names = [name for name, figure in told if figure.method.startswith("no interval: no width")]
    if not names:
        return []
    return [
        f"{criterion.name}: prompts are all alike, so draws of prompts say nothing more and {', '.join(names)} have "
        "no interval"
    ]


def _position_warnings(study: Study) -> list[str]:
    """A side that wins far too often: then agreement may be about the side and not about the item."""
    view = study.comparisons
    known = (view.left < 2) & (view.outcome < 2)
    share = float((view.outcome == view.left)[known].mean()) if known.any() else 0.5
    if known.sum() < MANY_SIDES or abs(share - 0.5) < FAR_FROM_EVEN:
        return []
    return [
        f"the item on the left won {share:.0%} of {int(known.sum()):,} decided comparisons: where raters saw the same "
        "side, agreement and position cannot be told apart"
    ]
