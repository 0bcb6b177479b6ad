"""Hand-made fusions for the tests of the page: every field set, sizes and holes as each test asks.

Run as a script it writes a page: `python tests/fuse/fuse_example.py full fuse.html`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from salon.fuse import FuseReport, MethodPair, RaterFit, ScoreRow, fuse_page
from salon.fuse.results import (
    AnchorFigure,
    CompareFigures,
    CurveFigures,
    GapRow,
    GraphFigures,
    GroupFigures,
    PairResidual,
)
from salon.study import Signature

A, B = 1.15, 0.1
HOSTILE = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=2">',
    "]]></title></svg><b>{{ 7 * 7 }}",
    "nul\x00bell\x07 & 'quote' `tick`",
    "\u202eright to left " + "long " * 60,
    "\u202eright to left " + "long " * 60 + "!",
    "לוח מודעות ארוך מאוד " * 3,
)
"""Names nobody has and somebody will try; two of them differ only where they are cut."""


def fusion(
    criteria: tuple[str, ...] = ("Mood", "Typography"),
    groups: tuple[str, ...] = ("posters", "covers"),
    items: int = 12,
    *,
    label: Callable[[str, int], str] = "{}/{:03d}".format,
    calibrated: bool = True,
    errors: bool = True,
    compare: bool = True,
    pooled: bool = True,
    raters: tuple[str, ...] = ("Ada", "Bo", "Chi", "Dee", "Eli"),
) -> FuseReport:
    """A fusion of `items` in each group under each criterion."""
    rng = np.random.default_rng(3)
    places = [(criterion, group) for criterion in criteria for group in groups]
    boards = [_board(rng, c, g, [label(g, i) for i in range(items)], calibrated, errors) for c, g in places]
    anchors = [_anchor(row, rng) for board in boards for row in board if row.rating_anchor]
    return FuseReport(
        study="posters-2026",
        simulated=True,
        method="anchored-davidson" if calibrated else "bradley-terry",
        by="item",
        scale="1-5" if calibrated else "logit",
        scale_low=1.0 if calibrated else None,
        scale_high=5.0 if calibrated else None,
        level=0.95,
        cluster="rater",
        scores=tuple(row for board in boards for row in board),
        groups=tuple(_group(c, g, board, rng, errors) for (c, g), board in zip(places, boards)),
        raters=tuple(_rater(name, rng) for name in raters),
        rating_anchors=tuple(anchors),
        curves=_curves(places, anchors, pooled) if calibrated else (),
        compare=_compare(places, rng) if compare else None,
        policies=("both bad answers are left out and counted", "repeated answers are left out"),
        warnings=("Simulated study: no person gave these answers.", "levels without a rating anchor: 2 in covers"),
        signature=Signature(method="fuse", data="0123456789ab", settings={"level": 0.95}, seed=42, version="0"),
        signature_line="fuse|data:0123456789ab|level:0.95|seed:42|salon:0",
        seconds=1.25,
    )


def _board(
    rng: np.random.Generator, criterion: str, group: str, labels: list[str], calibrated: bool, errors: bool
) -> list[ScoreRow]:
    latent = np.sort(rng.normal(0, 1.2, len(labels)))[::-1]
    noise = rng.uniform(0.15, 0.4, len(labels))
    rows = []
    for i, (label, q, se) in enumerate(zip(rng.permutation(labels).tolist(), latent.tolist(), noise.tolist())):
        value = 1 + 4 / (1 + np.exp(-(A * q + B))) if calibrated else q
        slope = A * (value - 1) * (5 - value) / 4 if calibrated else 1.0
        error = float(slope * se)
        rows.append(
            ScoreRow(
                item=label,
                criterion=criterion,
                group=group,
                value=float(value),
                low=float(value) - 1.96 * error if errors else None,
                high=float(value) + 1.96 * error if errors else None,
                error=error if errors else None,
                latent=q,
                latent_error=se if errors else None,
                n=60 + i,
                rank=i + 1,
                rank_low=max(1, i - 3) if errors else None,
                rank_high=min(len(labels), i + 4) if errors else None,
                tier=1 + i // max(2, len(labels) // 4) if errors else None,
                rating_anchor=calibrated and i in {1, len(labels) // 2, len(labels) - 2},
            )
        )
    return rows


def _group(criterion: str, group: str, board: list[ScoreRow], rng: np.random.Generator, errors: bool) -> GroupFigures:
    names = [row.item or "" for row in board]
    n = len(names)
    graph = GraphFigures(
        items=n,
        compared=n,
        edges=n * 2,
        fraction=min(1.0, 4 / max(1, n - 1)),
        components=1,
        degree_min=2,
        degree_mean=4.0,
        degree_max=9,
        diameter=4,
        mean_path=2.125,
        undefeated=tuple(names[:1]),
        winless=tuple(names[-5:]),
    )
    worst = [
        PairResidual(first=names[0], second=names[-1], n=5.0, observed=0.2, expected=0.81, z=float(-rng.uniform(3, 4)))
    ]
    return GroupFigures(
        criterion=criterion,
        group=group,
        items=n,
        raters=5,
        comparisons=3060,
        rankings=0,
        ratings=250,
        ties=0.216,
        both_bad=17,
        repeats=12,
        graph=graph,
        solver="newton",
        iterations=6,
        gradient=3.1e-11,
        log_likelihood=-2511.27,
        tie=0.74,
        tie_error=0.035,
        fit_p=float(rng.uniform()),
        worst_pairs=tuple(worst),
        rating_anchors=3,
        missing_levels=(2.0,) if group == "covers" else (),
        alike=tuple(tuple(names[i : i + 4]) for i in range(0, n - 3, 3)) if errors else (),
        errors="sandwich, clustered by rater",
        df=4.0 if errors else None,
    )


def _anchor(row: ScoreRow, rng: np.random.Generator) -> AnchorFigure:
    target = float(np.clip(row.value + rng.normal(0, 0.2), 1, 5))
    return AnchorFigure(
        item=row.item or "",
        criterion=row.criterion,
        group=row.group,
        level=float(round(target)),
        target=target,
        spread=float(rng.uniform(0.1, 0.5)),
        latent=row.latent,
        fitted=row.value,
    )


def _rater(name: str, rng: np.random.Generator) -> RaterFit:
    z = float(rng.normal())
    return RaterFit(
        rater=name,
        answers=612,
        agreement=0.71 + 0.02 * z,
        expected_agreement=0.71,
        z=z,
        reliability=0.91,
        reliability_error=0.021,
        left_bias=0.04,
        left_bias_error=0.05,
        offset=-0.31,
        gain=1.12,
        inconsistency=0.52,
    )


def _curves(places: list[tuple[str, str]], anchors: list[AnchorFigure], pooled: bool) -> tuple[CurveFigures, ...]:
    def curve(criterion: str | None, group: str | None, n: int) -> CurveFigures:
        return CurveFigures(
            criterion=criterion, group=group, a=A, b=B, a_error=0.04, b_error=None, residual=0.171, anchors=n
        )

    return (curve(None, None, len(anchors)),) if pooled else tuple(curve(c, g, 3) for c, g in places)


def _compare(places: list[tuple[str, str]], rng: np.random.Generator) -> CompareFigures:
    def pair(first: str, second: str, groups: int = len(places)) -> MethodPair:
        srcc = float(rng.uniform(0.98, 0.999))
        return MethodPair(
            first=first, second=second, srcc=srcc, plcc=srcc - 0.001, mae=float(rng.uniform(0.1, 0.3)),
            decisions=float(rng.uniform(0.95, 0.99)), ks_pass=groups, groups=groups, srcc_low=srcc - 0.02,
        )  # fmt: skip

    methods = ("anchored-elo", "anchored-davidson", "elo", "davidson")
    pairs = [pair(a, b) for i, a in enumerate(methods) for b in methods[i + 1 :]]
    gaps = [
        GapRow(calibration=kind, gap=float(gap), agreement=pair("anchored-elo", "anchored-davidson"))
        for kind in ("pooled", "group")
        for gap in (350, 400, 500, 700, 1000, 1200)
    ]
    pairs[0] = pairs[0].model_copy(update={"srcc": None, "srcc_low": None})
    return CompareFigures(
        pairs=tuple(pairs),
        by_group=tuple(pair("anchored-elo", "anchored-davidson", 1) for _ in places),
        group_names=tuple(places),
        gaps=tuple(gaps),
        tie_margin=0.05,
    )


CRITERIA = ("Mood", "Typography", "Color Harmony", "Hierarchy", "Lettering")
PROMPTS = tuple(f"prompt-{i:03d}" for i in range(80))
EXAMPLES: dict[str, Callable[[], FuseReport]] = {
    "full": fusion,
    "one": lambda: fusion(("Mood",), ("posters",), 1000, calibrated=False, compare=False),
    "ppaint": lambda: fusion(CRITERIA, ("posters", "covers", "banners"), 50),
    "by group": lambda: fusion(CRITERIA, ("posters", "covers", "banners"), 12, pooled=False),
    "prompts": lambda: fusion(("Mood", "Typography"), PROMPTS, 4, calibrated=False, compare=False),
    "criteria": lambda: fusion(CRITERIA, ("posters",), 4, calibrated=False, compare=False),
    "no errors": lambda: fusion(calibrated=False, errors=False, compare=False, raters=()),
    "many": lambda: fusion(("Mood", "Typography"), tuple(f"g{i}" for i in range(40)), 50),
    "huge": lambda: fusion(("Mood",), ("posters",), 4_000, compare=False),
    "hostile": lambda: fusion(
        HOSTILE[:3], HOSTILE[2:5], len(HOSTILE), label=lambda group, i: HOSTILE[i], raters=HOSTILE
    ),
    "empty": lambda: fusion((), (), compare=False, raters=()),
}  # fmt: skip


if __name__ == "__main__":
    fuse_page(EXAMPLES[sys.argv[1]]()).write(sys.argv[2])
