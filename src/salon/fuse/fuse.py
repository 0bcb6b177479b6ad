"""The fusion of a study: choose what is scored and by which method, score every group, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from salon.errors import BadValue, DesignError, NotIdentified, TooFew
from salon.fuse.figures import (
    anchor_figures,
    curve_figures,
    group_figures,
    policies,
    rater_figures,
    score_rows,
    warnings,
)
from salon.fuse.fits import is_plugin_fit, load_fit, protocol_of, protocols_of
from salon.fuse.groups import BOTH_BAD, TIE, Codes, Floats, FuseGroup, Ints, cluster_codes, item_column, study_groups
from salon.fuse.results import (
    ANCHORED,
    PAIRED,
    RATED,
    Cluster,
    CompareFigures,
    FuseReport,
    FuseSettings,
    GapRow,
    Method,
    MethodPair,
)
from salon.fuse.scores import OWN_CLUSTER, AnchoredFusion, fit_anchored, rating_scale, score_groups
from salon.stats import CrowdPrior, MethodAgreement, method_agreement
from salon.study import Signature, Study

FEWEST_PROMPTS = 5
"""Prompts from which generators can stand for their items: fewer say little about a generator."""


@dataclass(frozen=True)
class ScoreUnit:
    """What is scored, and in words why, where it was not asked for."""

    by: Literal["item", "generator"]
    reason: str = ""


def choose_unit(study: Study, settings: FuseSettings, criteria: Sequence[str]) -> ScoreUnit:
    """What was asked for; else generators where comparisons hold most prompts too loosely to order their items."""
    from scipy import sparse
    from scipy.sparse import csgraph

    if settings.by != "auto":
        return ScoreUnit(settings.by)
    item = ScoreUnit("item")
    if study.compare_within != "prompt" or len(study.rankings) or len(study.ratings):
        return item
    names, generator = item_column(study, "generator")
    view = study.comparisons
    numbers = [n for n, criterion in enumerate(study.criteria) if not criteria or criterion.id in criteria]
    rows = np.isin(view.criterion, numbers) & (view.repeat == 0) & (view.outcome != BOTH_BAD)
    a, b, criterion = view.a[rows], view.b[rows], view.criterion[rows]
    if len(names) < 2 or not len(a) or (generator[a] < 0).any() or (generator[b] < 0).any():
        return item
    loose = prompts = 0
    for number in np.unique(criterion):
        of = criterion == number
        first, second = generator[a[of]], generator[b[of]]
        units, place = _number_used(first, second)
        graph = sparse.coo_array((np.ones(len(first)), place), shape=(len(units), len(units)))
        if csgraph.connected_components(graph, directed=False)[0] > 1:
            return item  # generators would not share a scale either
        connected = _connected_prompts(study.item_groups, a[of], b[of])
        loose, prompts = loose + int((~connected).sum()), prompts + len(connected)
    met = len(_number_used(generator[a], generator[b])[0])
    items = len(_number_used(a, b)[0])
    if prompts < FEWEST_PROMPTS or loose * 2 <= prompts or items < 2 * met:
        return item
    return ScoreUnit(
        "generator",
        f"scores are of the {met} generators: under {loose:,} of {prompts:,} prompts the items were compared once or "
        "are not connected (--by item scores items all the same)",
    )


def _connected_prompts(group_of: Codes, a: Codes, b: Codes) -> np.ndarray:
    """For each prompt with comparisons: do these connect its items, and are there as many as items?"""
    from scipy import sparse
    from scipy.sparse import csgraph

    items, place = _number_used(a, b)
    graph = sparse.coo_array((np.ones(len(a)), place), shape=(len(items), len(items)))
    count, part = csgraph.connected_components(graph, directed=False)
    groups, (of_item,) = _number_used(group_of[items])
    group_of_part = np.zeros(count, np.int64)
    group_of_part[part] = of_item  # comparisons stay within a prompt, and so do the parts they connect
    parts = np.bincount(group_of_part, minlength=len(groups))
    votes = np.bincount(of_item[place[0]], minlength=len(groups))
    return np.asarray((parts == 1) & (votes >= np.bincount(of_item, minlength=len(groups))))


def _number_used(*codes: Codes) -> tuple[Ints, tuple[Ints, ...]]:
    """The codes that occur, in rising order, and the place among them of each; a table of marks needs no sorting."""
    low = min(int(part.min()) for part in codes)
    used = np.zeros(max(int(part.max()) for part in codes) - low + 1, np.bool_)
    for part in codes:
        used[part - low] = True
    place = np.cumsum(used) - 1
    return np.flatnonzero(used) + low, tuple(place[part - low] for part in codes)


# -- comparing methods -------------------------------------------------------------------------------------------------

GAPS: tuple[tuple[str, float], ...] = (
    ("group", 1200.0),
    ("group", 900.0),
    ("group", 700.0),
    ("group", 500.0),
    ("pooled", 350.0),
    ("pooled", 400.0),
    ("pooled", 450.0),
)
"""The rows of PPaint's Table 14."""
KS_LEVEL = 0.05
ELO: Method = "anchored-elo"
DAVIDSON: Method = "anchored-davidson"


def compare_methods(
    groups: Sequence[FuseGroup], settings: FuseSettings, progress: Callable[[str], None]
) -> CompareFigures:
    """The cross-method table and the ablation of the gap between rating levels."""
    scores: dict[str, list[Floats]] = {}
    for method, pulled in ((ELO, True), (DAVIDSON, True), (DAVIDSON, False), (ELO, False)):
        name = method if pulled else method.removeprefix("anchored-")
        progress(f"comparing: {name}")
        scores[name] = calibrated_scores(fit_anchored(groups, method, settings, None, pulled=pulled))
    by_group = [_agreement(x, y, settings) for x, y in zip(scores[ELO], scores[DAVIDSON])]
    gaps = []
    for calibration, gap in GAPS:
        progress(f"gap {gap:g}")
        changed = settings.model_copy(update={"calibration": calibration, "gap": gap})
        elo, davidson = (calibrated_scores(fit_anchored(groups, method, changed, None)) for method in (ELO, DAVIDSON))
        agreement = _mean(ELO, DAVIDSON, [_agreement(x, y, settings) for x, y in zip(elo, davidson)])
        gaps.append(GapRow(calibration=calibration, gap=gap, agreement=agreement))
    return CompareFigures(
        pairs=tuple(
            _mean(first, second, [_agreement(x, y, settings) for x, y in zip(scores[first], scores[second])])
            for first, second in combinations(scores, 2)
        ),
        by_group=tuple(_mean(ELO, DAVIDSON, [agreement]) for agreement in by_group),
        group_names=tuple((group.criterion, group.label) for group in groups),
        gaps=tuple(gaps),
        tie_margin=settings.tie_margin,
    )


def calibrated_scores(fused: AnchoredFusion) -> list[Floats]:
    """The calibrated scores of every group."""
    return [curve.apply(fit.latent) for curve, fit in zip(fused.curves, fused.fits)]


def _agreement(x: Floats, y: Floats, settings: FuseSettings) -> MethodAgreement:
    return method_agreement(x, y, tie_margin=settings.tie_margin)


def _mean(first: str, second: str, agreements: Sequence[MethodAgreement]) -> MethodPair:
    """Averages over groups; correlations over the groups that have one."""
    srcc = [agreement.srcc for agreement in agreements if agreement.srcc is not None]
    plcc = [agreement.plcc for agreement in agreements if agreement.plcc is not None]
    return MethodPair(
        first=first,
        second=second,
        srcc=float(np.mean(srcc)) if srcc else None,
        plcc=float(np.mean(plcc)) if plcc else None,
        mae=float(np.mean([agreement.mae for agreement in agreements])),
        decisions=float(np.mean([agreement.decisions for agreement in agreements])),
        ks_pass=sum(agreement.ks_p > KS_LEVEL for agreement in agreements),
        groups=len(agreements),
        srcc_low=min(srcc) if srcc else None,
    )


# -- fusion ------------------------------------------------------------------------------------------------------------

ENOUGH_CLUSTERS = 5
"""From this many raters (or prompts) in every group on, errors ask what others would have said."""
ENOUGH_BESIDE_PROMPTS = 3
"""Raters from which errors over prompts are over raters too."""

ENOUGH_TO_SHRINK = 10
"""Items of every group from which their means can be drawn to the mean of all."""
UNEVEN = 2
"""Ratings of the most rated item over those of the least, from which they are."""

USUAL_PRIOR = 3.0
"""Logits; taken with method auto where the comparisons alone identify no finite scores."""


def fuse_study(
    study: Study,
    settings: FuseSettings | None = None,
    *,
    criteria: Sequence[str] = (),
    compare: bool = False,
    progress: Callable[[str], None] = lambda step: None,
) -> FuseReport:
    """One score with its interval for each item (or generator) and criterion of `study`.

    >>> import salon
    >>> report = salon.fuse_study(salon.open_study("study"))      # doctest: +SKIP
    >>> report.scores[0].value, report.scores[0].low, report.scores[0].high      # doctest: +SKIP
    """
    began = time.perf_counter()
    settings = settings or FuseSettings()
    progress("sorting judgments into groups")
    unit = choose_unit(study, settings, criteria)
    settings = settings.model_copy(update={"by": unit.by})
    all_groups = list(study_groups(study, settings, criteria))
    if not all_groups:
        raise _nothing_to_fuse(study)
    method = _method(all_groups, settings)
    _check_interval(method, settings)
    groups, left_out = _usable(all_groups, method)
    chosen = [unit.reason] if unit.reason else []
    if method == "shrunk-mean" and settings.method == "auto":
        shrinkage_note = _shrinkage_note(groups)
        chosen.append(shrinkage_note)
    sizes = _sizes(all_groups).items()
    unread = [f"{size:,} {name}" for name, size in sizes if size and name not in protocols_of(method)]
    unread_notes = [f"{method} does not read {' and '.join(unread)}"] if unread else []
    left_out = [*chosen, *left_out, *unread_notes]
    if compare:
        _check_comparable(groups)
    cluster = _cluster(study, groups, method, settings)
    try:
        scored = score_groups(groups, method, settings, cluster, progress)
    except NotIdentified as error:
        if settings.method != "auto" or settings.prior is not None or method in RATED:
            raise
        settings = settings.model_copy(update={"prior": USUAL_PRIOR})
        where = error.where or f"study {study.name!r}"
        left_out.append(f"{where}: {error.found}, so scores are held finite by --prior {USUAL_PRIOR:g}")
        scored = score_groups(groups, method, settings, cluster, progress)
    progress("residuals")
    name, low, high = _scale(groups, method)
    signature = _signature(study, settings, method, cluster, criteria, compare)
    return FuseReport(
        study=study.name,
        simulated=study.simulated,
        method=method,
        by=unit.by,
        scale=name,
        scale_low=low,
        scale_high=high,
        level=settings.level,
        cluster=cluster,
        scores=tuple(row for group in scored for row in score_rows(group, unit.by)),
        groups=tuple(group_figures(group, settings) for group in scored),
        raters=tuple(rater_figures(study, scored)),
        rating_anchors=tuple(anchor_figures(scored)),
        curves=tuple(curve_figures(scored, settings)),
        compare=compare_methods(_usable(all_groups, "anchored-davidson")[0], settings, progress) if compare else None,
        policies=policies(study, groups, method, settings, cluster),
        warnings=warnings(study, scored, left_out, method, settings, cluster),
        signature=signature,
        signature_line=str(signature),
        seconds=time.perf_counter() - began,
    )


def _nothing_to_fuse(study: Study) -> TooFew:
    """Why there is nothing to fuse."""
    counts = {kind: n for kind, n in study.counts.items() if kind in ("comparisons", "rankings", "ratings")}
    judged = ", ".join(f"{n:,} {kind}" for kind, n in counts.items())
    bad = bool(len(study.comparisons)) and bool((study.comparisons.outcome == BOTH_BAD).all())
    return TooFew(
        "a fusion needs judgments that say something about items of one group",
        found=f"{judged}: all 'both bad', skipped, repeated or outside every group" if judged else "none",
        where=f"study {study.name!r}",
        remedy="--both-bad tie takes 'both bad' as a tie" if bad else None,
    )


def _check_interval(method: str, settings: FuseSettings) -> None:
    """Errors asked for by name must be those that are given."""
    able = {"bootstrap": PAIRED, "sandwich": (*PAIRED, "plackett-luce")}.get(settings.interval)
    if able is not None and method not in able:
        raise BadValue(
            f"--interval {settings.interval} is for {', '.join(able)}",
            found=f"method {method}",
            remedy="--interval auto",
        )


def _check_comparable(groups: Sequence[FuseGroup]) -> None:
    """Before the work is done: methods can only be held against each other on the rating scale."""
    for group in groups:
        if not len(group.compared) or not _rated_too(group):
            raise DesignError(
                "--compare needs comparisons and ratings of the same items in every group",
                found=f"{len(group.compared):,} comparisons and {len(group.rated):,} ratings",
                where=group.where,
                remedy="leave out --compare",
            )


def _method(groups: Sequence[FuseGroup], settings: FuseSettings) -> str:
    """The method asked for, or the one that suits most of the judgments."""
    if settings.method != "auto":
        return settings.method
    compared = [g for g in groups if len(g.compared)]
    if compared and all(g.scale is not None and _rated_too(g) for g in compared):
        return "anchored-davidson"
    sizes = _sizes(groups)
    most = max(sizes, key=lambda name: sizes[name])
    if most == "comparisons":
        tied = [g.compared.outcome == TIE for g in compared]
        return "davidson" if any(t.any() for t in tied) and not any(t.all() for t in tied) else "bradley-terry"
    if most == "rankings":
        return "plackett-luce"
    return "shrunk-mean" if settings.by == "item" and _uneven(groups) else "mean"


def _uneven(groups: Sequence[FuseGroup]) -> bool:
    """Whether means of few ratings stand beside means of many, among items enough to tell how much items differ."""
    rated = [np.bincount(group.rated.item) for group in groups if len(group.rated)]
    counts = [count[count > 0] for count in rated]
    enough = all(len(count) >= ENOUGH_TO_SHRINK for count in counts)
    return enough and any(count.max() >= UNEVEN * count.min() for count in counts)


def _shrinkage_note(groups: Sequence[FuseGroup]) -> str:
    counts = np.concatenate([np.bincount(group.rated.item, minlength=group.items) for group in groups])
    return (
        f"items have from {counts[counts > 0].min():,} to {counts.max():,} ratings: means are drawn to the mean of all "
        "items, the more the fewer ratings an item has (--method mean takes them as they are)"
    )


def _rated_too(group: FuseGroup) -> bool:
    """Whether some items were both compared and rated."""
    return bool(np.isin(group.rated.item, np.concatenate([group.compared.a, group.compared.b])).any())


def _usable(groups: Sequence[FuseGroup], method: str) -> tuple[list[FuseGroup], list[str]]:
    """Groups and items that the method can score, and in words what it cannot."""
    protocol = protocol_of(method)
    usable: list[FuseGroup] = []
    silent, single, partly = [], [], []
    for group in groups:
        judged_items = np.bincount(group.by_kind[protocol].named, minlength=group.items) > 0
        if not judged_items.any():
            silent.append(group)
        elif judged_items.sum() < 2:
            single.append(group)
        else:
            partly += [] if judged_items.all() else [group]
            usable.append((group if judged_items.all() else group.among(judged_items)).reading(protocols_of(method)))
    notes = [
        *_group_notes(silent, f"no {protocol}, so {method} cannot score it"),
        *_group_notes(single, f"fewer than two items with {protocol}, so nothing to compare"),
        *_group_notes(partly, f"items without {protocol} are not scored"),
    ]
    if not usable:
        raise (TooFew if single else DesignError)(
            f"{method} needs at least one group of two items with {protocol}",
            found="; ".join(notes[:3]),
            remedy="choose a --method for the judgments there are" if silent else "compare two items or more",
        )
    return usable, notes


def _sizes(groups: Sequence[FuseGroup]) -> dict[str, int]:
    """How many judgments of each kind there are."""
    return {kind: sum(len(group.by_kind[kind]) for group in groups) for kind in ("comparisons", "rankings", "ratings")}


def _group_notes(groups: Sequence[FuseGroup], fate: str) -> list[str]:
    """One line for each criterion, however many groups share a fate."""
    criteria: dict[str, list[FuseGroup]] = {}
    for group in groups:
        criteria.setdefault(group.criterion, []).append(group)
    return [
        f"{mine[0].where}{f' and {len(mine) - 1:,} more groups' if len(mine) > 1 else ''}: {fate}"
        for mine in criteria.values()
    ]


def _cluster(study: Study, groups: Sequence[FuseGroup], method: str, settings: FuseSettings) -> Cluster:
    """What a repetition of the study would draw anew."""
    if settings.cluster != "auto":
        # clusters asked for by name must be there, two in every group
        kinds = {"answer": (), "both": ("rater", "prompt")}.get(settings.cluster, (settings.cluster,))
        for kind in kinds:
            for group, count in zip(groups, _kinds(groups, method, kind)):
                if count < 2:
                    codes = cluster_codes(group.by_kind[protocol_of(method)], kind)
                    raise TooFew(
                        f"an error over {kind}s needs at least two of them in every group",
                        found=f"no {kind}s" if (codes < 0).all() else f"one {kind}",
                        where=group.where,
                        remedy="--cluster answer takes these raters and prompts as given",
                    )
        return settings.cluster
    crowded = any(study.crowds[group.raters].any() for group in groups)
    if settings.by == "generator" and min(_kinds(groups, method, "prompt")) >= ENOUGH_CLUSTERS:
        # A leaderboard is meant for prompts that nobody has asked yet, and for people who have not been asked.
        enough_raters = not crowded and min(_kinds(groups, method, "rater")) >= ENOUGH_BESIDE_PROMPTS
        return "both" if enough_raters else "prompt"
    if method in OWN_CLUSTER:
        return "answer" if crowded else OWN_CLUSTER[method]
    if crowded or min(len(group.raters) for group in groups) < ENOUGH_CLUSTERS:
        return "answer"
    return "rater"


def _kinds(groups: Sequence[FuseGroup], method: str, cluster: str) -> list[int]:
    """How many raters, or prompts, answered in each group."""
    return [len(np.unique(cluster_codes(group.by_kind[protocol_of(method)], cluster))) for group in groups]


def _scale(groups: Sequence[FuseGroup], method: str) -> tuple[str, float | None, float | None]:
    if method in ANCHORED:
        scale = rating_scale(groups)
        return f"{scale.low:g}-{scale.high:g}", scale.low, scale.high
    if method in RATED:
        ends = {(g.scale.low, g.scale.high) for g in groups if g.scale is not None}
        if len(ends) == 1 and all(g.scale is not None for g in groups):
            low, high = next(iter(ends))
            return f"{low:g}-{high:g}", low, high
        return "ratings as given", None, None
    if is_plugin_fit(method):
        return f"{load_fit(method).name}, its own", None, None
    return {"elo": "elo", "thurstone": "probit"}.get(method, "logit"), None, None


def _signature(
    study: Study,
    settings: FuseSettings,
    method: str,
    cluster: Cluster,
    criteria: Sequence[str],
    compare: bool,
) -> Signature:
    """The settings that this fusion read, and no others."""
    unread = {"seed"}
    unread |= set() if compare else {"tie_margin"}
    unread |= set() if settings.interval == "bootstrap" else {"draws"}
    unread |= set() if settings.by == "generator" else {"split"}
    anchored, elo = method in ANCHORED or compare, "elo" in method or compare
    unread |= set() if anchored else {"calibration", "anchors_each", "anchor_center", "gap", "pull", "penalty"}
    unread |= set() if elo else {"passes", "shuffles", "gap", "pull", "tau"}
    plain = {name: value for name, value in settings if name not in unread} | {"method": method, "cluster": cluster}
    if method == "crowd" and settings.prior is None:
        plain["prior"] = CrowdPrior().scores
    if is_plugin_fit(method):
        plain["plugin"] = load_fit(method).origin
    if criteria:
        plain["criteria"] = ",".join(criteria)
    if compare:
        plain["compare"] = True
    return Signature(method="fuse", data=study.hash[:12], revision=study.revision, settings=plain, seed=settings.seed)
