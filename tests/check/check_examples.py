"""Check reports with realistic numbers, for tests of what is made of a report: full, minimal, hostile, votes, large.

Statistics, nulls and histograms are computed from simulated rankings; intervals, ceilings and rater rows are drawn to
look like those of a study of that size. Run as a script: `python tests/check/check_examples.py full check.html`.
"""

from __future__ import annotations

import itertools
import sys
from functools import cache

import numpy as np

from salon.check.results import (
    AnchorFigures,
    CeilingFigures,
    CheckReport,
    CriterionFigures,
    FactionFigures,
    Figure,
    FlagFigures,
    Interval,
    NullFigures,
    ProtocolFigures,
    ProtocolRow,
    RaterFigures,
    RaterRow,
    ShapeFigures,
    Statistics,
    TestFigures,
)
from salon.stats.nulls import Null, exact_null, monte_carlo_null
from salon.stats.signal import cells_votes, votes_rankings
from salon.study import Signature

HOSTILE = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=2">',
    "]]></title></svg><b>{{ 7 * 7 }} {0} %s",
    "nul\x00bell\x07 & 'quote' `tick` a.b\\c",
    "\u202eright to left " + "long " * 60,
)
"""Names nobody has and somebody will try."""
COHORTS = {
    "aesthetics": {"Preference": 1.5, "Mood": 1.6, "Visual hierarchy": 1.8, "Color harmony": 2.0, "Typography": 1.8},
    "descriptions": {"Preference": 1.5, "Color accuracy": 1.6, "Spatial accuracy": 1.4, "Typography": 1.2},
}
"""Criteria and their noise, in the shape of a published designer study."""
ANCHORS = (
    AnchorFigures(name="Sushi", items=4, raters=5, median_T=0.133, mean_tau=0.144, mean_pmax=0.739, cycle_rate=0.107,
                  source="ten kinds of sushi ranked by 5,000 people"),
    AnchorFigures(name="HPSv2 top-4", items=4, raters=5, median_T=0.267, mean_tau=0.302, mean_pmax=0.790,
                  cycle_rate=0.060, source="images ranked by ten raters each"),
    AnchorFigures(name="Films", items=5, raters=7, median_T=0.05, mean_tau=0.07, mean_pmax=0.66, cycle_rate=0.31,
                  source="star ratings, ties broken at random"),
)  # fmt: skip


def full() -> CheckReport:
    """Nine criteria in two cohorts, a random one and one of two factions; flags, anchors and protocols."""
    rng = np.random.default_rng(7)
    criteria = [
        criterion(name, noise, rng, cohort=cohort, raters=_raters(cohort))
        for cohort, members in COHORTS.items()
        for name, noise in members.items()
    ]
    lost = criterion("Lettering, random control", None, rng, cohort="aesthetics", raters=_raters("aesthetics"))
    mixed = criterion("Humour", 1.7, rng, cohort="descriptions", raters=_raters("descriptions"), verdict="factions")
    criteria += [lost, mixed]
    names = [name for cohort in COHORTS for name in _raters(cohort)]
    flags = (
        ("agrees least in 5 of 5 criteria", "very fast (median 1.4 s)"),
        (),
        (),
        ("prefers the left side (61% left)",),
    )
    return report(
        sorted(criteria, key=lambda c: -c.statistics.mean_tau),
        tuple(rater_row(name, i, rng, flags[i] if i < len(flags) else ()) for i, name in enumerate(names)),
        simulated=True,
        anchors=ANCHORS,
        flags=(flag("Hallucination", names, rng),),
        protocols=(protocol(),),
        warnings=(
            "ties=stable breaks ties alike for every rater and manufactures agreement: shuffled answers give 0.140",
        ),
    )


def minimal() -> CheckReport:
    """One criterion with too little data: almost everything is None."""
    empty = Interval(low=None, high=None)
    names = ("median_T", "mean_tau", "mean_pmax", "cycle_rate")
    lone = CriterionFigures(
        criterion="overall", name="Overall", protocol="rankings", verdict="too little data",
        sentence="One prompt with one rater: nothing can be compared.", prompts=1, judgments=1,
        statistics=Statistics(median_T=None, mean_tau=None, mean_pmax=None, cycle_rate=None,
                              intervals=dict.fromkeys(names, empty)),
        null=None, tests=tuple(TestFigures(name=n, refused="at least 2 raters are needed") for n in ("T", "cycle")),
        shapes=(), alpha=None, mean_W=None, ceilings=None, raters=None,
        factions=FactionFigures(refused="at least 4 raters are needed"), tie_rate=0.0, policies=(),
    )  # fmt: skip
    return report([lone], (RaterRow(rater="Ada", kind="person", cohort=None, judgments=1),), study="one")


def votes() -> CheckReport:
    """Single votes of a crowd: no complete orders, no shapes, agreement on pairs instead."""
    rng = np.random.default_rng(3)
    none = Statistics(median_T=None, mean_tau=None, mean_pmax=None, cycle_rate=None, intervals={})
    criteria = [
        CriterionFigures(
            criterion=name.lower(), name=name, protocol="votes", verdict="shared preference", signal=True,
            sentence="Two voters agree on a pair more often than chance.", prompts=300, judgments=4_812, statistics=none,
            null=None, shapes=(), alpha=estimate(0.18, 0.04), mean_W=None, pair_agreement=estimate(tau, 0.05, 300, "pairs"),
            tests=(TestFigures(name="pairs", statistic=tau, p=0.0005, p_holm=0.001, law="sign flips of blocks, 1,999 draws",
                               n=300, unit="pairs"),),
            ceilings=ceilings({"3-0": 0.4, "2-1": 0.6}, rng), raters=None, factions=None, tie_rate=0.12,
            policies=("Ties count as no vote.",),
        )
        for name, tau in (("Overall", 0.21), ("Alignment", 0.34))
    ]  # fmt: skip
    return report(criteria, (), study="arena votes", design="unknown")


def ragged() -> CheckReport:
    """Several shapes in a criterion, an even number of raters in another, a Monte Carlo null in a third."""
    rng = np.random.default_rng(11)
    mixed = criterion("Ragged", 1.4, rng, shapes=((4, 5, 60), (4, 4, 12), (3, 5, 7), (4, 3, 2)))
    even = criterion("Even panel", 1.4, rng, shapes=((4, 4, 80),))
    large = criterion("Many items", 1.6, rng, shapes=((8, 6, 40),))
    crowd = criterion("Large panel", 2.5, rng, shapes=((3, 20, 40),))
    criteria = sorted([mixed, even, large, crowd], key=lambda c: -c.statistics.mean_tau)
    return report(criteria, tuple(rater_row(f"r{i:02d}", i, rng) for i in range(20)), anchors=ANCHORS, study="ragged")


def hostile() -> CheckReport:
    """Every label is an attack, a very long line or both."""
    rng = np.random.default_rng(5)
    criteria = [
        criterion(name, 1.6, rng, cohort=HOSTILE[i % 2], raters=HOSTILE, sentence=f"Beware: {name}", policies=HOSTILE)
        for i, name in enumerate((*HOSTILE, HOSTILE[0], "x" * 5000))
    ]
    anchor = ANCHORS[0].model_copy(update={"name": HOSTILE[0], "source": HOSTILE[1]})
    return report(
        criteria,
        tuple(rater_row(name, i, rng, (name,)) for i, name in enumerate(HOSTILE)),
        study=HOSTILE[0], design=HOSTILE[1], warnings=HOSTILE, anchors=(anchor,), flags=(flag(HOSTILE[2], HOSTILE, rng),),
        protocols=(protocol(HOSTILE[3]),), line="|".join(HOSTILE),
    )  # fmt: skip


def many() -> CheckReport:
    """Fifty criteria in six cohorts judged by twenty raters."""
    rng = np.random.default_rng(13)
    raters = tuple(f"designer-{i:02d}@studio-north" for i in range(20))
    criteria = [
        criterion(f"Criterion number {i:02d} of the long questionnaire", 1 + 0.1 * i, rng, cohort=f"cohort {i % 6}",
                  raters=raters, shapes=((3, 20, 30),))
        for i in range(50)
    ]  # fmt: skip
    criteria.sort(key=lambda c: -c.statistics.mean_tau)
    return report(criteria, tuple(rater_row(name, i, rng) for i, name in enumerate(raters)), study="large")


EXAMPLES = {"full": full, "minimal": minimal, "votes": votes, "ragged": ragged, "hostile": hostile, "many": many}


def report(criteria, raters, *, study="taste-like", simulated=False, design="complete: every rater ranks every item of "
           "a prompt", line=None, **parts) -> CheckReport:  # fmt: skip
    signature = Signature(method="check", data="4f1c9a0be77d", revision=3, settings={"ties": "random"}, seed=7)
    return CheckReport(
        study=study, simulated=simulated, design=design, signature=signature, signature_line=line or str(signature),
        level=0.95, criteria=tuple(criteria), raters=tuple(raters), seconds=1.25, **parts,
    )  # fmt: skip


def criterion(name, noise, rng, *, cohort=None, raters=(), shapes=((4, 5, 80),), verdict=None, sentence=None,
              policies=("Strict rankings: no tie was allowed.",)) -> CriterionFigures:  # fmt: skip
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
    ends = {k: Interval(low=None if v is None else max(v - 0.04, -1), high=None if v is None else v + 0.04)
            for k, v in statistics.items()}  # fmt: skip
    first = max(zip(cells, parts), key=lambda pair: pair[0].n)[1][0]
    size = first.shape[1]
    panel = tuple(raters) if raters else tuple(f"r{i:02d}" for i in range(size))
    return CriterionFigures(
        criterion=f"taste/{name[:40]}", name=name, protocol="rankings", cohort=cohort,
        verdict=verdict or ("random" if noise is None else "shared preference"), signal=noise is not None,
        sentence=sentence or _sentence(noise, verdict), prompts=sum(n), judgments=sum(c.n * c.raters for c in cells),
        statistics=Statistics(**statistics, intervals=ends),
        null=NullFigures(
            median_T=float(nulls[0].median_T) if len(nulls) == 1 else None, mean_tau=0.0,
            mean_pmax=float(np.average([float(x.mean_pmax) for x in nulls], weights=n)),
            cycle_rate=float(nulls[0].cycle_rate) if cyclic else None, method=_method(nulls[0]),
        ),
        tests=_tests(noise, sum(n), bool(cyclic)),
        shapes=tuple(shape_figures(c, null) for c, null in zip(cells, nulls)),
        alpha=estimate(statistics["mean_tau"] * 0.98, 0.04), mean_W=estimate((statistics["mean_tau"] * (size - 1) + 1) / size, 0.03),
        ceilings=ceilings(_buckets(cells), rng), raters=rater_figures(panel, statistics["mean_tau"], rng),
        factions=factions(panel, verdict), tie_rate=0.0, policies=policies,
    )  # fmt: skip


def shape_figures(cells, null: Null) -> ShapeFigures:
    support = sorted(null.t_counts)
    counts = dict.fromkeys(support, 0.0)
    for at, count in zip(cells.t_numerators.tolist(), cells.counts.tolist()):
        counts[at] = counts.get(at, 0.0) + count
    return ShapeFigures(
        items=cells.items, raters=cells.raters, prompts=cells.n, null_method=_method(null),
        t_support=tuple(v / cells.t_denominator for v in support), t_counts=tuple(counts[v] for v in support),
        t_null=tuple(null.t_counts[v] / null.total for v in support),
        pmax_support=tuple(float(v) for v in null.pmax_pmf), pmax_counts=tuple(map(float, cells.pmax_counts)),
        pmax_null=tuple(float(v) for v in null.pmax_pmf.values()),
    )  # fmt: skip


def estimate(middle: float, half: float, n: int = 80, unit: str = "prompts") -> Figure:
    return Figure(value=middle, low=middle - half, high=middle + half, n=n, unit=unit, level=0.95,
                  method="bootstrap of prompts, 2000 draws")  # fmt: skip


def ceilings(buckets: dict[str, float], rng: np.random.Generator) -> CeilingFigures:
    nudge = float(rng.normal(0, 0.008))
    return CeilingFigures(
        next_rater=estimate(0.615 + nudge, 0.013), oracle=estimate(0.757 + nudge, 0.024),
        next_rater_range=(0.598 + nudge, 0.634 + nudge), oracle_range=(0.69 + nudge, 0.862 + nudge),
        panel=estimate(0.741 + nudge, 0.011), leave_one_out=estimate(0.602 + nudge, 0.017),
        leave_one_out_dropped=estimate(0.641 + nudge, 0.024), cap=estimate(0.767 + nudge, 0.014),
        buckets={name: estimate(share, 0.03) for name, share in buckets.items()}, pairs=480, tied_share=0.0, left_out=0,
    )  # fmt: skip


def factions(panel: tuple[str, ...], verdict: str | None) -> FactionFigures:
    if len(panel) < 4:
        return FactionFigures(refused="at least 4 raters are needed")
    found = verdict == "factions"
    return FactionFigures(
        p=0.002 if found else 0.41, p_holm=0.022 if found else 1.0, power=0.93 if found else 0.55,
        split=(panel[:3], panel[3:]), within=0.28 if found else 0.15, between=0.01 if found else 0.12,
        contrast=0.26 if found else 0.01, law="simulated one-order panels, 500 draws",
    )  # fmt: skip


def rater_figures(panel: tuple[str, ...], tau: float, rng: np.random.Generator) -> RaterFigures:
    size = len(panel)
    drawn = rng.normal(tau, 0.05, (size, size))
    matrix = (drawn + drawn.T) / 2
    matrix[0, :] -= 0.06
    matrix[:, 0] -= 0.06
    pairs = list(itertools.combinations(range(size), 2))
    best, worst = (pick(pairs, key=lambda p: matrix[p]) for pick in (max, min))
    blank = [[None if i == j else float(matrix[i, j]) for j in range(size)] for i in range(size)]
    return RaterFigures(
        raters=panel, tau=tuple(map(tuple, blank)),
        error=tuple(tuple(None if i == j else 0.055 for j in range(size)) for i in range(size)),
        prompts=tuple(tuple(80 for _ in range(size)) for _ in range(size)),
        mean_tau={name: float(np.mean([v for v in row if v is not None])) for name, row in zip(panel, blank)},
        most_agreeing=(panel[best[0]], panel[best[1]]), least_agreeing=(panel[worst[0]], panel[worst[1]]),
    )  # fmt: skip


def rater_row(name: str, index: int, rng: np.random.Generator, flags: tuple[str, ...] = ()) -> RaterRow:
    return RaterRow(
        rater=name, kind="person", cohort=name.split("-")[0] if "-" in name else None, judgments=1_040 - 3 * index,
        mean_tau=estimate(0.05 if flags else float(rng.normal(0.15, 0.02)), 0.03, 400),
        left_rate=estimate(0.61 if flags else float(rng.normal(0.5, 0.01)), 0.02, 2_400, "comparisons"), tie_rate=0.031,
        median_seconds=1.4 if index == 0 else 21.0 + index, longest_run=7 + index % 3, flags=flags,
    )  # fmt: skip


def flag(name: str, raters, rng: np.random.Generator) -> FlagFigures:
    top = {rater: float(0.04 + 0.2 * rng.random() ** 3) for rater in raters}
    return FlagFigures(
        criterion="taste/hallucination", name=name, levels=(0.0, 1.0, 2.0), labels=("No", "Minor", "Major"),
        shares=(estimate(0.55, 0.02), estimate(0.35, 0.02), estimate(0.10, 0.01)), alpha=estimate(0.141, 0.05),
        positive_from=1.0, positive_rate={r: 0.3 + share for r, share in top.items()}, top_rate=top,
        splits={"No / Minor": 0.53, "No / Minor / Major": 0.21, "No": 0.16, "Minor / Major": 0.05, "Minor": 0.05},
        kappa=None,
    )  # fmt: skip


def protocol(name: str = "Overall") -> ProtocolFigures:
    rows = (("Kendall's W of induced orders", 0.795, 0.697), ("Split-half Spearman", 0.836, 0.757),
            ("Triplets in order of quality tier", 0.92, 0.86), ("Fleiss κ on the same pairs", 0.373, 0.306))  # fmt: skip
    made = [ProtocolRow(name=n, comparisons=estimate(a, 0.03), ratings=estimate(b, 0.04)) for n, a, b in rows]
    made.append(
        ProtocolRow(name="Ties", comparisons=None, ratings=estimate(0.21, 0.02), note="comparisons allow no tie")
    )
    return ProtocolFigures(criterion=name, group="landscapes", items=50, raters=15, rows=tuple(made))


def _raters(cohort: str) -> tuple[str, ...]:
    return tuple(f"{cohort}-{letter}" for letter in "ABCDE")


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
    cycle = {"statistic": 9.0, "p": min(1.0, 40 * p), "p_holm": min(1.0, 200 * p), "law": "binomial, rate 0.210232",
             "n": n, "unit": "prompts"} if cycles else {"refused": even}  # fmt: skip
    return (
        TestFigures(name="T", statistic=61.2, p=p, p_holm=min(1.0, 20 * p), law="chi-square, 8 degrees of freedom", n=n,
                    unit="prompts"),
        TestFigures(name="p_max", statistic=48.9, p=2 * p, p_holm=min(1.0, 40 * p), p_naive=p / 3,
                    law="1.444 chi2(1) + 1.049 chi2(1)", n=n, unit="prompts"),
        TestFigures(name="cycle", **cycle),
    )  # fmt: skip


def _buckets(cells) -> dict[str, float]:
    shares = {}
    for c in cells:
        counts = np.asarray(c.pmax_counts, float)
        levels = range(-(-c.raters // 2), c.raters + 1)
        shares |= {f"{m}-{c.raters - m}": float(k / counts.sum()) for m, k in zip(levels, counts) if k}
    return shares


def _sentence(noise: float | None, verdict: str | None) -> str:
    if noise is None:
        return "These answers look like those of random raters; a model trained on them would learn noise."
    if verdict == "factions":
        return "Raters fall into two groups that keep together from prompt to prompt."
    return "Raters share a preference: two of them agree on a pair more often than chance, beyond the interval."


if __name__ == "__main__":
    from salon.check.report import check_page

    check_page(EXAMPLES[sys.argv[1]]()).write(sys.argv[2])
