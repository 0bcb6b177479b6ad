"""Parts of check reports with realistic numbers. Statistics, nulls and histograms are computed from simulated rankings;
intervals, ceilings and rater rows are drawn to look like those of a study of that size.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

from salon.check import CheckReport, CriterionFigures, Interval, PanelCeilings, RaterSummary
from salon.check.results import (
    FactionFigures,
    FlagFigures,
    NullFigures,
    ProtocolFigures,
    ProtocolRater,
    ProtocolRow,
    RaterAgreement,
    ShapeFigures,
    Statistics,
    TestFigures,
)
from salon.stats import Estimate, Null, cells_votes, exact_null, monte_carlo_null, votes_rankings
from salon.study import Signature


def report(
    criteria,
    raters,
    *,
    study="taste-like",
    simulated=False,
    design="complete: every rater ranks every item of a prompt",
    line=None,
    **parts,
) -> CheckReport:
    signature = Signature(method="check", data="4f1c9a0be77d", revision=3, settings={"ties": "random"}, seed=7)
    return CheckReport(
        study=study,
        simulated=simulated,
        design=design,
        signature=signature,
        signature_line=line or str(signature),
        level=0.95,
        criteria=tuple(criteria),
        raters=tuple(raters),
        seconds=1.25,
        **parts,
    )


def criterion(
    name,
    noise,
    rng,
    *,
    cohort=None,
    raters=(),
    shapes=((4, 5, 80),),
    verdict=None,
    sentence=None,
    policies=("Strict rankings: no tie was allowed.",),
) -> CriterionFigures:
    """One criterion simulated at its shapes: items' hidden worth plus `noise`; None is no preference at all."""
    parts = [_simulated(items, size, n, noise, rng) for items, size, n in shapes]
    cells = [cells_votes(votes_rankings(ranks), ranks.shape[1], ranks.shape[2]) for ranks, _ in parts]
    nulls = [null for _, null in parts]
    n = [c.n for c in cells]
    taus = np.concatenate([np.repeat(c.T, c.counts) for c in cells])
    cyclic = [(c.n, c.cycle_count) for c in cells if c.raters % 2 or c.raters > 4]
    statistics = {
        "median_T": float(np.median(taus)),
        "mean_tau": float(taus.mean()),
        "mean_pmax": float(np.average([c.mean_pmax for c in cells], weights=n)),
        "cycle_rate": sum(k for _, k in cyclic) / sum(m for m, _ in cyclic) if cyclic else None,
    }
    ends = {
        k: Interval(
            low=None if v is None else max(v - 0.04, 0.0 if k == "cycle_rate" else -1.0),
            high=None if v is None else v + 0.04,
        )
        for k, v in statistics.items()
    }
    first = max(zip(cells, parts), key=lambda pair: pair[0].n)[1][0]
    size = first.shape[1]
    panel = tuple(raters) if raters else tuple(f"r{i:02d}" for i in range(size))
    return CriterionFigures(
        criterion=f"taste/{name[:40]}",
        name=name,
        protocol="rankings",
        cohort=cohort,
        agree="no" if noise is None else "yes",
        taste=None if noise is None else verdict or "one taste",
        sentence=sentence or _sentence(noise, verdict),
        prompts=sum(n),
        judgments=sum(c.n * c.raters for c in cells),
        statistics=Statistics(**statistics, intervals=ends),
        null=NullFigures(
            median_T=float(nulls[0].median_T) if len(nulls) == 1 else None,
            mean_tau=0.0,
            mean_pmax=float(np.average([float(x.mean_pmax) for x in nulls], weights=n)),
            cycle_rate=float(nulls[0].cycle_rate) if cyclic else None,
            method=_method(nulls[0]),
        ),
        tests=_tests(noise, sum(n), bool(cyclic)),
        shapes=tuple(shape_figures(c, null) for c, null in zip(cells, nulls)),
        alpha=estimate(statistics["mean_tau"] * 0.98, 0.04),
        mean_W=estimate((statistics["mean_tau"] * (size - 1) + 1) / size, 0.03),
        ceilings=ceilings(_buckets(cells), rng),
        raters=rater_figures(panel, statistics["mean_tau"], rng),
        factions=factions(panel, verdict),
        tie_rate=0.0,
        policies=policies,
    )


def shape_figures(cells, null: Null) -> ShapeFigures:
    support = sorted(null.t_counts)
    counts = dict.fromkeys(support, 0.0)
    for at, count in zip(cells.t_numerators.tolist(), cells.counts.tolist()):
        counts[at] = counts.get(at, 0.0) + count
    return ShapeFigures(
        items=cells.items,
        raters=cells.raters,
        prompts=cells.n,
        null_method=_method(null),
        t_support=tuple(v / cells.t_denominator for v in support),
        t_counts=tuple(counts[v] for v in support),
        t_null=tuple(null.t_counts[v] / null.total for v in support),
        pmax_support=tuple(float(v) for v in null.pmax_pmf),
        pmax_counts=tuple(map(float, cells.pmax_counts)),
        pmax_null=tuple(float(v) for v in null.pmax_pmf.values()),
    )


def estimate(middle: float, half: float, n: int = 80, unit: str = "prompts") -> Estimate:
    return Estimate(
        value=middle,
        low=middle - half,
        high=middle + half,
        n=n,
        unit=unit,
        level=0.95,
        method="bootstrap of prompts, 2000 draws",
    )


def ceilings(buckets: dict[str, float], rng: np.random.Generator) -> PanelCeilings:
    nudge = float(rng.normal(0, 0.008))
    return PanelCeilings(
        next_rater=estimate(0.615 + nudge, 0.013),
        oracle=estimate(0.757 + nudge, 0.024),
        next_rater_range=(0.598 + nudge, 0.634 + nudge),
        oracle_range=(0.69 + nudge, 0.862 + nudge),
        panel=estimate(0.741 + nudge, 0.011),
        leave_one_out=estimate(0.602 + nudge, 0.017),
        leave_one_out_dropped=estimate(0.641 + nudge, 0.024),
        cap=estimate(0.767 + nudge, 0.014),
        buckets={name: estimate(share, 0.03) for name, share in buckets.items()},
        pairs=480,
        tied_share=0.0,
        left_out=0,
    )


def factions(panel: tuple[str, ...], verdict: str | None) -> FactionFigures:
    if len(panel) < 4:
        return FactionFigures(refused="at least 4 raters are needed")
    found = verdict == "camps"
    return FactionFigures(
        p=0.002 if found else 0.41,
        p_holm=0.022 if found else 1.0,
        power=0.93 if found else 0.55,
        gap=estimate(0.13, 0.04) if found else estimate(-0.09, 0.05),
        split=(panel[:3], panel[3:]) if found else None,
        within=(0.28, 0.26) if found else (0.15, 0.14),
        between=0.01 if found else 0.12,
        least=0.14 if found else 0.03,
        law="t with 63 degrees of freedom; camps chosen on other prompts",
    )


def rater_figures(panel: tuple[str, ...], tau: float, rng: np.random.Generator) -> RaterAgreement:
    size = len(panel)
    drawn = rng.normal(tau, 0.05, (size, size))
    matrix = (drawn + drawn.T) / 2
    matrix[0, :] -= 0.06
    matrix[:, 0] -= 0.06
    pairs = list(itertools.combinations(range(size), 2))
    best, worst = (pick(pairs, key=lambda p: matrix[p]) for pick in (max, min))
    blank = [[None if i == j else float(matrix[i, j]) for j in range(size)] for i in range(size)]
    return RaterAgreement(
        raters=panel,
        tau=tuple(map(tuple, blank)),
        error=tuple(tuple(None if i == j else 0.055 for j in range(size)) for i in range(size)),
        prompts=tuple(tuple(80 for _ in range(size)) for _ in range(size)),
        mean_tau={name: float(np.mean([v for v in row if v is not None])) for name, row in zip(panel, blank)},
        most_agreeing=(panel[best[0]], panel[best[1]]),
        least_agreeing=(panel[worst[0]], panel[worst[1]]),
    )


def rater_row(name: str, index: int, rng: np.random.Generator, flags: tuple[str, ...] = ()) -> RaterSummary:
    return RaterSummary(
        rater=name,
        kind="person",
        cohort=name.split("-")[0] if "-" in name else None,
        judgments=1_040 - 3 * index,
        mean_tau=estimate(0.05 if flags else float(rng.normal(0.15, 0.02)), 0.03, 400),
        left_rate=estimate(0.61 if flags else float(rng.normal(0.5, 0.01)), 0.02, 2_400, "comparisons"),
        tie_rate=0.031,
        median_seconds=1.4 if index == 0 else 21.0 + index,
        longest_run=7 + index % 3,
        flags=flags,
    )


def flag(name: str, raters, rng: np.random.Generator) -> FlagFigures:
    top = {rater: float(0.04 + 0.2 * rng.random() ** 3) for rater in raters}
    return FlagFigures(
        criterion="taste/hallucination",
        name=name,
        levels=(0.0, 1.0, 2.0),
        labels=("No", "Minor", "Major"),
        shares=(estimate(0.55, 0.02), estimate(0.35, 0.02), estimate(0.10, 0.01)),
        alpha=estimate(0.141, 0.05),
        positive_from=1.0,
        positive_rate={r: 0.3 + share for r, share in top.items()},
        top_rate=top,
        splits={"No / Minor": 0.53, "No / Minor / Major": 0.21, "No": 0.16, "Minor / Major": 0.05, "Minor": 0.05},
        kappa=None,
    )


def protocol(name: str | None = "Overall") -> ProtocolFigures:
    rows = (
        ("Kendall's W of induced orders", 0.795, 0.697),
        ("Split-half Spearman", 0.836, 0.757),
        ("Triplets in order of quality tier", 0.92, 0.86),
        ("Fleiss κ on the same pairs", 0.373, 0.306),
    )
    made = [
        ProtocolRow(
            name=n,
            comparisons=estimate(a, 0.03),
            ratings=estimate(b, 0.04),
            difference=estimate(a - b, 0.02),
            ahead=14,
            groups=15,
        )
        for n, a, b in rows
    ]
    made.append(
        ProtocolRow(name="Ties", comparisons=None, ratings=estimate(0.21, 0.02), note="comparisons allow no tie")
    )
    return ProtocolFigures(criterion=name, group="landscapes", items=50, raters=15, rows=tuple(made))


def protocol_rater(name: str) -> ProtocolRater:
    return ProtocolRater(
        rater=name,
        mean_rating=2.31,
        extreme_share=0.81,
        left_rate=0.528,
        tie_rate=0.257,
        displacement=(5.38, 6.64),
        to_consensus=(0.923, 0.714),
    )


def _simulated(items: int, raters: int, n: int, noise: float | None, rng: np.random.Generator):
    worth = np.zeros((n, 1, items)) if noise is None else rng.normal(size=(n, 1, items))
    seen = worth + (noise or 1.0) * rng.normal(size=(n, raters, items))
    return (-seen).argsort(axis=2).argsort(axis=2), _null(items, raters)


@cache
def _null(items: int, raters: int) -> Null:
    if items * raters <= 25:
        return exact_null(items, raters)
    return monte_carlo_null(items, raters, draws=20_000, rng=np.random.default_rng(1))


def _method(null: Null) -> str:
    return "exact" if null.exact else f"Monte Carlo, n={null.draws:,}"


def _tests(noise: float | None, n: int, cycles: bool) -> tuple[TestFigures, ...]:
    p = 0.42 if noise is None else 3.2e-6 * noise
    even = "an odd number of raters, or more than 4, is needed for a cycle of strict majorities (found 4)"
    cycle = (
        {
            "statistic": 9.0,
            "p": min(1.0, 40 * p),
            "p_holm": min(1.0, 200 * p),
            "law": "binomial, rate 0.210232",
            "n": n,
            "unit": "prompts",
        }
        if cycles
        else {"refused": even}
    )
    return (
        TestFigures(
            name="agreement",
            statistic=0.11,
            p=p / 40,
            p_holm=min(1.0, p / 4),
            p_opposite=1 - p / 40,
            p_opposite_holm=1.0,
            law="total agreement over prompts, exact, one-sided",
            n=n,
            unit="prompts",
        ),
        TestFigures(
            name="T",
            statistic=61.2,
            p=p,
            p_holm=min(1.0, 20 * p),
            law="chi-square, 8 degrees of freedom",
            n=n,
            unit="prompts",
        ),
        TestFigures(
            name="p_max",
            statistic=48.9,
            p=2 * p,
            p_holm=min(1.0, 40 * p),
            p_naive=p / 3,
            law="1.444 chi2(1) + 1.049 chi2(1)",
            n=n,
            unit="prompts",
        ),
        TestFigures(name="cycle", **cycle),
    )


def _buckets(cells) -> dict[str, float]:
    """Named as the check names them: '4-1', or '4-1 of 5' where panels differ in size."""
    shares, several = {}, len({c.raters for c in cells}) > 1
    for c in cells:
        counts = np.asarray(c.pmax_counts, float)
        levels = range(-(-c.raters // 2), c.raters + 1)
        of = f" of {c.raters}" if several else ""
        shares |= {f"{m}-{c.raters - m}{of}": float(k / counts.sum()) for m, k in zip(levels, counts) if k}
    return shares


def _sentence(noise: float | None, verdict: str | None) -> str:
    if noise is None:
        return "These answers look like those of random raters; a model trained on them would learn noise."
    if verdict == "camps":
        return "Raters fall into two groups that keep together from prompt to prompt."
    return "Raters share a preference: two of them agree on a pair more often than chance, beyond the interval."
