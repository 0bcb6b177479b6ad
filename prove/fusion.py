"""Anchored fusion on simulated PPaint-like studies, at their fixed settings and around them.

python -m prove.fusion [studies]

Writes docs/evidence/fusion.md: the diagnostics of both protocols, agreement of the methods, the gap, recovery of
what was planted, and a grid that shows where the targets fail.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from prove._page import table, wrapped
from prove._painted import DEFAULTS, TRUTHS, Case, case
from salon.check.protocols import MEASURES, matched_groups, measure_group
from salon.collect.simulate.ppaint_like import ppaint_plan
from salon.fuse import FuseSettings, Method, MethodPair
from salon.fuse.fuse import calibrated_scores, compare_methods
from salon.fuse.results import CompareFigures
from salon.fuse.scores import fit_anchored
from salon.stats import counts_dominance, induced_outcomes, method_agreement

Floats = NDArray[np.float64]
Errors = dict[str, dict[str, Floats]]
"""Method, truth: mean absolute error in every study; NaN where the method has no scores."""

OUT = Path(__file__).parents[1] / "docs/evidence/fusion.md"
STUDIES, GRID_STUDIES = 20, 8
ELO: Method = "anchored-elo"
DAVIDSON: Method = "anchored-davidson"
RATING_METHODS: tuple[Method, ...] = ("mean", "z-score", "sureal", "offset-scale")
EVERYONE = {"anchors_each": 50}
PAPER_PAIRS = {
    (ELO, DAVIDSON): ".9951, .9941, .157, 98.5%, 15",
    (ELO, "davidson"): ".9897, .9773, .517, 97.5%, 3",
    (ELO, "elo"): ".9896, .9899, .343, 97.5%, 12",
    (DAVIDSON, "davidson"): ".9970, .9899, .435, 98.8%, 5",
    (DAVIDSON, "elo"): ".9967, .9960, .262, 98.6%, 12",
    ("davidson", "elo"): ".9993, .9918, .282, 99.5%, 8",
}
PAPER_GAPS = (".9852, .241, 12", ".9885, .187, 13", ".9917, .144, 13", ".9943, .128, 13", ".9950, .185, 15",
              ".9951, .157, 15", ".9947, .142, 15")  # fmt: skip
PAPER_DIAGNOSTICS = {
    "w": (0.795, 0.697),
    "split_half": (0.836, 0.757),
    "triplets": (0.92, 0.86),
    "accuracy": (0.787, 0.694),
}
NO_LEAN: dict[str, Any] = {"sides": 0.0}
ONE_LOGIT: dict[str, Any] = {"tau": 400.0}
LAST_PASS: dict[str, Any] = {"elo": "last-pass"}
GRID: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("as fixed", {}, {}),
    ("no lean to the left (`sides=0`)", NO_LEAN, {}),
    ("taste x 0", {"taste": 0.0}, {}),
    ("taste x .5", {"taste": 0.5}, {}),
    ("taste x 1.5", {"taste": 1.5}, {}),
    ("rating noise x .5", {"rating_noise": 0.5}, {}),
    ("rating noise x 2", {"rating_noise": 2.0}, {}),
    ("all raters use one scale (`scale_use=0`)", {"scale_use": 0.0}, {}),
    ("tau = 400", {}, ONE_LOGIT),
    ("tau = 400, no lean", NO_LEAN, ONE_LOGIT),
    ("mean of 10 shuffles", {}, {"shuffles": 10}),
    ("mean of 10 shuffles, tau = 400", {}, {"shuffles": 10, **ONE_LOGIT}),
    ("mean of 10 shuffles, tau = 400, no lean", NO_LEAN, {"shuffles": 10, **ONE_LOGIT}),
    ("1,500 passes", {}, {"passes": 1500}),
    ("PPaint's rule (`elo=last-pass`)", {}, LAST_PASS),
    ("PPaint's rule, no lean", NO_LEAN, LAST_PASS),
    ("PPaint's rule, 1,500 passes", {}, {"passes": 1500, **LAST_PASS}),
    ("targets are medians", {}, {"anchor_center": "median"}),
    ("a prior of 3 logits", {}, {"prior": 3.0}),
)
"""Name, changes of the simulator (taste and rating noise: times the fixed value), changes of the fusion."""


def main(studies: int) -> None:
    cases = [case(seed) for seed in range(1, studies + 1)]
    compared = [_told(compare_methods(one.groups, DEFAULTS, lambda step: None)) for one in cases]
    errors = _recovered(cases)
    parts = [
        _head(cases),
        _targets(compared, errors),
        _diagnostics(cases),
        _pairs(compared),
        _margins(cases),
        _gaps(compared),
        _recovery(errors),
        _grid(min(GRID_STUDIES, studies)),
    ]
    OUT.write_text("\n".join(parts), encoding="utf-8")
    _say(f"wrote {OUT.name}")


def _told(figures: CompareFigures) -> CompareFigures:
    first = figures.pairs[0]
    _say(f"compared: SRCC {first.srcc:.4f}, decisions {first.decisions:.4f}, KS {first.ks_pass}")
    return figures


def _say(text: str) -> None:
    print(text, flush=True)


def _head(cases: Sequence[Case]) -> str:
    law = ", ".join(f"{name} {value:g}" for name, value in ppaint_plan()["law"].items())
    groups = [group for one in cases for group in one.groups]
    undefeated = sum(not counts_dominance(group.pair_counts).identified for group in groups)
    made = f"""
        {len(cases)} simulated studies (seeds 1 to {len(cases)}) of 3 categories x 50 items x 5 criteria, 5 raters and
        612 pairs for each category. The simulator's settings were fixed beforehand from published figures of agreement
        and scale use, never from a result of fusion: {law} (`src/salon/collect/simulate/ppaint_like.toml`). No answer
        here was given by a person. Fusion at its defaults: no prior ({undefeated} of {len(groups)} groups need one),
        two rating anchors a level, one curve for all groups."""
    figures = """
        Figures are means over studies; in brackets the worst study. ± is the half-width of a 95% interval over studies
        (t)."""
    see = "Written by `make prove ONLY=fusion`; see [anchored fusion](../methods/anchored-fusion.md) for the method."
    return "\n\n".join(["# Anchored fusion on simulated studies", see, wrapped(made), wrapped(figures)]) + "\n"


# -- targets ---------------------------------------------------------------------------------------------------------


def _targets(compared: Sequence[CompareFigures], errors: Errors) -> str:
    first = [one.pairs[0] for one in compared]
    rows = [
        _target("SRCC of anchored Elo and anchored Davidson", ">= .99", [p.srcc for p in first], 0.99, "{:.4f}"),
        _target("their decisions, tie margin 0", ">= 98%", [p.decisions for p in first], 0.98, "{:.1%}"),
        _target("groups that pass KS", "15 of 15", [p.ks_pass for p in first], 15, "{:.2f}"),
    ]
    for name in (ELO, DAVIDSON, f"{ELO}, all items", f"{DAVIDSON}, all items"):
        gains = _gain(errors, name, "score").tolist()
        rows.append(_target(f"MAE to the planted score below rating means, {name}", ">= 25%", gains, 0.25, "{:.1%}"))
    head = ["figure", "target", "mean", "worst", "studies that meet it", "met by the mean"]
    return f"## Targets\n\n{table(head, rows)}"


def _target(name: str, target: str, found: Sequence[float], least: float, form: str) -> list[str]:
    x = np.asarray(found, float)
    verdict = "yes" if x.mean() >= least else "**no**"
    return [name, target, form.format(x.mean()), form.format(x.min()), f"{(x >= least).sum()} of {len(x)}", verdict]


# -- the two protocols -----------------------------------------------------------------------------------------------


def _diagnostics(cases: Sequence[Case]) -> str:
    found = np.array([_protocols(one) for one in cases])  # studies, groups, protocols, measures
    rows = []
    for name, paper in PAPER_DIAGNOSTICS.items():
        mine = found[..., list(MEASURES).index(name)]
        by_study, ahead = mine.mean(axis=1), (mine[..., 0] > mine[..., 1]).sum(axis=1)
        gap = by_study[:, 0] - by_study[:, 1]
        rows.append(
            [
                MEASURES[name].name,
                "{:.3f}, {:.3f}".format(*paper),
                *(f"{x:.3f}" for x in by_study.mean(axis=0)),
                f"{gap.mean():+.3f} ({gap.min():+.3f})",
                f"{ahead.mean():.1f} ({ahead.min()})",
                f"{(gap > 0).sum()} of {len(gap)}",
            ]
        )
    head = ["diagnostic", "PPaint: comparisons, ratings", "comparisons", "ratings", "difference", "groups ahead, of 15",
            "studies ahead"]  # fmt: skip
    return f"## Comparisons against ratings\n\n{table(head, rows)}"


def _protocols(one: Case) -> list[Floats]:
    _say("diagnostics")
    return [measure_group(group) for group in matched_groups(one.study, seed=0)]


# -- agreement of methods --------------------------------------------------------------------------------------------


def _pairs(compared: Sequence[CompareFigures]) -> str:
    rows = []
    for found in zip(*(one.pairs for one in compared)):
        paper = PAPER_PAIRS[found[0].first, found[0].second]
        rows.append([found[0].first, found[0].second, *_agreement(found), paper])
    head = ["", "", "SRCC", "PLCC", "MAE", "decisions", "KS of 15", "PPaint, Table 12"]
    return f"## Agreement of the methods\n\nAll on the pooled curve; tie margin 0.\n\n{table(head, rows)}"


def _agreement(found: Iterable[MethodPair]) -> list[str]:
    x = np.array([[p.srcc, p.plcc, p.mae, p.decisions, p.ks_pass] for p in found], float)
    better = np.array([1, 1, -1, 1, 1])
    forms = ("{:.4f}", "{:.4f}", "{:.3f}", "{:.1%}", "{:.1f}")
    worst = better * (better * x).min(axis=0)
    return [f"{form.format(m)} ({form.format(w)})" for form, m, w in zip(forms, x.mean(axis=0), worst)]


def _margins(cases: Sequence[Case]) -> str:
    """The two anchored methods where scores that lie close count as ties."""
    scores = [
        [calibrated_scores(fit_anchored(one.groups, method, DEFAULTS, None)) for method in (ELO, DAVIDSON)]
        for one in cases
    ]
    couples = [couple for elo, davidson in scores for couple in zip(elo, davidson)]
    rows = []
    for margin in (0.0, 0.05, 0.1, 0.2):
        alike, opposite = np.mean([_decided(x, y, margin) for x, y in couples], axis=0)
        rows.append([f"{margin:g}", f"{alike:.1%}", f"{opposite:.1%}"])
    words = f"""
        Share of item pairs that anchored Elo and anchored Davidson decide alike when scores within a margin are a tie,
        and that they decide in opposite ways. The paper prints no margin; a tie as a third outcome makes agreement no
        easier. For scale: of normal scores whose SRCC is .9900, {_normal_decisions(0.99):.1%} of pairs are decided
        alike at margin 0; at the paper's .9951 {_normal_decisions(0.9951):.1%}, not its 98.5%; 98% needs
        {_srcc_for(0.98):.4f}. Scores in tiers, with gaps between them, are decided alike more often."""
    head = ["margin", "alike", "opposite"]
    return f"## Decisions and the tie margin\n\n{wrapped(words)}\n\n{table(head, rows)}"


def _decided(x: Floats, y: Floats, margin: float) -> tuple[float, float]:
    first, second = np.triu_indices(len(x), 1)
    made = induced_outcomes(np.stack([x, y]), first, second, margin=margin)
    return float(np.mean(made[:, 0] == made[:, 1])), float(np.mean(made[:, 0] * made[:, 1] < 0))


def _normal_decisions(srcc: float) -> float:
    """Of two normal scores: r = 2 sin(pi srcc / 6), tau = (2 / pi) asin r, decisions = (1 + tau) / 2."""
    return float(0.5 + np.arcsin(2 * np.sin(np.pi * srcc / 6)) / np.pi)


def _srcc_for(decisions: float) -> float:
    return float(6 / np.pi * np.arcsin(np.sin(np.pi * (decisions - 0.5)) / 2))


def _gaps(compared: Sequence[CompareFigures]) -> str:
    rows = []
    for paper, found in zip(PAPER_GAPS, zip(*(one.gaps for one in compared))):
        agreement = _agreement([row.agreement for row in found])
        rows.append([found[0].calibration, f"{found[0].gap:g}", *agreement, paper])
    head = ["curve", "gap", "SRCC", "PLCC", "MAE", "decisions", "KS of 15", "PPaint, Table 14: SRCC, MAE, KS"]
    words = "Anchored Elo at each gap against anchored Davidson."
    return f"## The gap between rating levels\n\n{words}\n\n{table(head, rows)}"


# -- recovery --------------------------------------------------------------------------------------------------------


def _recovered(cases: Sequence[Case]) -> Errors:
    found = {method: _errors(cases, [one.rated(method) for one in cases]) for method in RATING_METHODS}
    for method in (ELO, DAVIDSON):
        for words, changes in (("", {}), (", all items", EVERYONE)):
            for curve in ("pooled", "group"):
                settings = DEFAULTS.model_copy(update={**changes, "calibration": curve})
                name = f"{method}{words}{', a curve for each group' * (curve == 'group')}"
                found[name] = _errors(cases, [one.fused(method, settings) for one in cases])
                _say(f"recovery of {name}: {found[name]['score'].mean():.4f}")
    return found


def _errors(cases: Sequence[Case], scores: Sequence[Floats | None]) -> dict[str, Floats]:
    return {truth: np.array([one.error(x, truth) for one, x in zip(cases, scores)]) for truth in TRUTHS}


def _gain(errors: Errors, name: str, truth: str) -> Floats:
    """How far below that of rating means the error lies, as a share."""
    return np.asarray(1 - errors[name][truth] / errors["mean"][truth])


def _recovery(errors: Errors) -> str:
    rows = []
    for name, mine in errors.items():
        failed = int(np.isnan(mine["score"]).sum())
        row = [name + f" ({failed} studies without a fit)" * (failed > 0)]
        for truth in TRUTHS:
            gain = "" if name == "mean" else _with_interval(_gain(errors, name, truth))
            row += [f"{np.nanmean(mine[truth]):.3f}", gain]
        rows.append(row)
    head = ["method", *(text for truth in TRUTHS for text in (f"MAE to `{truth}`", "gain"))]
    words = """
        Mean absolute error on the 1-5 scale. `score`: the population's value, what endlessly many such raters would say
        on average. `panel_score`: the same with this panel's taste. `panel_rating`: this panel's own mean rating, had
        each rater rated endlessly often; rating means aim at it. *gain*: how far below the error of rating means. *all
        items*: every item whose mean rating rounds to 2, 3 or 4 is a rating anchor; otherwise two a level."""
    return f"## Recovery of what was planted\n\n{wrapped(words)}\n\n{table(head, rows)}"


def _with_interval(x: Floats) -> str:
    known = x[np.isfinite(x)]
    half = stats.t.ppf(0.975, len(known) - 1) * stats.sem(known) if len(known) > 1 else float("nan")
    return f"{known.mean():+.1%} ± {100 * half:.1f}"


# -- grid ------------------------------------------------------------------------------------------------------------


def _grid(studies: int) -> str:
    rows = []
    for name, simulator, fusion in GRID:
        settings = DEFAULTS.model_copy(update=fusion)
        found = [_grid_case(case(seed, **simulator), settings) for seed in range(1, studies + 1)]
        rows.append([name, *_grid_row(np.array(found))])
        _say(" | ".join(rows[-1]))
    head = ["setting", "SRCC", "MAE between", "decisions", "KS of 15", "MAE of rating means", f"gain, {ELO}",
            f"gain, {DAVIDSON}", f"gain, {DAVIDSON}, all items", "the same to `panel_rating`"]  # fmt: skip
    words = f"""
        {studies} studies a row, one thing changed at a time: anchored Elo against anchored Davidson, then gains over
        rating means in the error to the planted `score`. Where taste, noise or scale use differ from the fixed
        settings, the planted score is no longer exactly what endlessly many raters would say, which counts against all
        methods."""
    return f"## Around the settings\n\n{wrapped(words)}\n\n{table(head, rows)}"


def _grid_case(one: Case, settings: FuseSettings) -> list[float]:
    elo, davidson = (calibrated_scores(fit_anchored(one.groups, method, settings, None)) for method in (ELO, DAVIDSON))
    agree = [method_agreement(x, y) for x, y in zip(elo, davidson)]
    everyone, means = one.fused(DAVIDSON, settings.model_copy(update=EVERYONE)), one.rated("mean")
    errors = [one.error(x, "score") for x in (means, np.concatenate(elo), np.concatenate(davidson), everyone)]
    return [
        *np.mean([[a.srcc, a.mae, a.decisions] for a in agree], axis=0),
        sum(a.ks_pass for a in agree),
        errors[0],
        *(1 - error / errors[0] for error in errors[1:]),
        1 - one.error(everyone, "panel_rating") / one.error(means, "panel_rating"),
    ]


def _grid_row(found: Floats) -> list[str]:
    m, low = found.mean(axis=0), found.min(axis=0)
    return [
        f"{m[0]:.4f} ({low[0]:.4f})",
        f"{m[1]:.3f}",
        f"{m[2]:.1%}",
        f"{m[3]:.1f} ({low[3]:.0f})",
        f"{m[4]:.3f}",
        *(_with_interval(found[:, column]) for column in range(5, 9)),
    ]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
