"""A simulated designer study and the report on it: every block and chart, with realistic numbers.

Nine criteria in two cohorts, 80 prompts each, four items and five raters per prompt. Run as a script it
writes the page: `python tests/report/report_example.py check.html`.
"""

from __future__ import annotations

import itertools
import sys
from functools import cache
from typing import Any

import numpy as np

from salon.report import (
    SMALL,
    Badge,
    Card,
    Chart,
    ChartRow,
    Column,
    Note,
    Page,
    Prose,
    Section,
    Table,
    VerdictLine,
    Verdicts,
    charts,
    estimate_value,
    value,
)
from salon.report.values import path

PROMPTS, ITEMS, RATERS = 80, 4, 5
PAIRS = list(itertools.combinations(range(ITEMS), 2))
COHORTS = {
    "intent and aesthetics": {
        "Preference": 0.62, "Mood": 0.6, "Hierarchy": 0.55, "Color Harmony": 0.45, "Typography": 0.5,
    },
    "intent and description": {"Overall": 0.62, "Color Accuracy": 0.58, "Spatial Relations": 0.72, "Lettering": 0.02},
}  # fmt: skip
REFERENCES = [("Sushi", 0.107), ("MovieLens", 0.146), ("HPSv2", 0.060)]
HOSTILE = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=2">',
    "]]></title></svg><b>{{ 7 * 7 }}",
    "nul\x00bell\x07lone\ud800 & 'quote' `tick`",
    "\u202eright to left " + "long " * 60,
)
"""Rater names nobody has and somebody will try."""
LEVELS = ["5–0", "4–1", "3–2"]
NULL_SHARES = [1 / 16, 5 / 16, 10 / 16]
NULL_CYCLES = 3875 / 18432
VERDICTS = {
    "shared": Badge("shared preference", "clear"),
    "random": Badge("random raters", "none"),
    "factions": Badge("factions", "split"),
    "open": Badge("not distinguishable", "open", "with this design"),
    "thin": Badge("too little data", "thin"),
}


@cache
def null_of_t() -> tuple[list[float], list[float]]:
    """Support and probabilities of T at four items and five raters, by enumeration of 24^4 panels."""
    orders = np.array([_signs(p) for p in itertools.permutations(range(ITEMS))])
    votes = orders[:1]
    for _ in range(RATERS - 1):
        votes = (votes[:, None, :] + orders[None, :, :]).reshape(-1, len(PAIRS))
    support, counts = np.unique(np.round(_t_of(votes), 9), return_counts=True)
    return support.tolist(), (counts / counts.sum()).tolist()


def study(rng: np.random.Generator, raters: tuple[str, ...] = ("Ada", "Bo", "Chi", "Dee", "Eli")) -> dict[str, Any]:
    """The document `check --json` would give for a simulated study."""
    support, null = null_of_t()
    criteria = {}
    for cohort, members in COHORTS.items():
        for name, strength in members.items():
            criteria[name] = {"cohort": cohort, **_criterion(strength, support, raters, rng)}
    return {"raters": list(raters), "null_T": {"support": support, "pmf": null}, "criteria": criteria}


def report(document: dict[str, Any]) -> Page:
    """The document as a page; every number of it carries its path."""
    names = list(document["criteria"])
    best = max(names, key=lambda name: document["criteria"][name]["mean_tau"]["value"])
    top = document["criteria"][best]
    return Page(
        title="Is there signal in these judgments?",
        subtitle="A simulated study: 45 designers, 720 posters, nine criteria under two briefs. Each prompt has "
        "four posters, each ranked by five raters.",
        kicker="Salon · signal check",
        cards=[
            Card("Criteria with a shared preference", "8 of 9", "after Holm across 27 tests", "clear"),
            Card("No better than random raters", "1 of 9", "Lettering", "none"),
            Card(f"Strongest signal: {best}", estimate_value(top["mean_tau"], path("criteria", best, "mean_tau")),
                 "mean τ between two raters"),
            Card("What one more rater would reach", value(0.615, None, "61.5%"), "an oracle: 75.7% [73.9%, 77.4%]"),
        ],
        sections=[_verdict_section(document), _signal_section(document), _distribution_section(document),
                  _cycle_section(document), _rater_section(document), _ceiling_section(document),
                  _protocol_section(), _plan_section()],
        notes=["Intervals: 95%, bootstrap of prompts, 2 000 draws. Ties: none allowed. Missing answers: none.",
               "T and the splits of a panel are not independent evidence: T is a function of the splits."],
        signature="salon 0.1.0 | check | data sha256:4f1c9a0be77d | items 4 raters 5 null exact | ties refuse | "
        "bootstrap 2000 | holm | seed 7 | revision 3",
    )  # fmt: skip


def _verdict_section(document: dict[str, Any]) -> Section:
    rows = [
        VerdictLine(name, VERDICTS[c["verdict"]], c["sentence"], f"Cohort: {c['cohort']}")
        for name, c in document["criteria"].items()
    ]
    return Section("Verdicts", [Verdicts(rows)], "What the answers say about each criterion, in plain words.")


def _signal_section(document: dict[str, Any]) -> Section:
    criteria = document["criteria"]
    rows = [_dot(name, c, "mean_tau") for name, c in criteria.items()]
    columns = [
        Column("name", "Criterion"),
        Column("prompts", "Prompts", "count"),
        Column("median_T", "Median T", "number"),
        Column("mean_tau", "Mean τ", "estimate"),
        Column("mean_pmax", "Mean p max", "estimate"),
        Column("tests.T.p", "p (T)", "p", hint="chi-square against the exact null"),
        Column("tests.pmax.p", "p (p max)", "p", hint="weighted chi-square law"),
        Column("verdict_badge", "Verdict", "badge"),
    ]
    table_rows = [{**c, "name": name, "verdict_badge": VERDICTS[c["verdict"]]} for name, c in criteria.items()]
    drawing = charts.dot_intervals(
        rows, 0.0, [("Sushi", 0.144), ("HPSv2", 0.302)], title="Criteria by mean tau", x_label="mean τ between raters"
    )
    prose = Prose.of(
        "Two raters drawn at random agree on the order of two posters a little more often than chance. The null is "
        "exact: {shapes} panels of five raters and four posters were enumerated, and a cycle of majorities arises "
        "in {cycles} of them when nobody has a preference.",
        shapes=value(331776, None, "331\u202f776"),
        cycles=value("3875/18432", None, "3875/18432"),
    )
    table = Table(columns, table_rows, "Signal by criterion.", "criteria", list(criteria))
    caption = "Criteria ordered by mean τ. Grey: random raters. Dashed: anchors from other domains at the same shape."
    return Section("Signal", [prose, Chart(drawing, caption), table], "Agreement beyond random raters.")


def _distribution_section(document: dict[str, Any]) -> Section:
    null, figures, splits = document["null_T"], [], []
    cohorts = list(COHORTS)
    for name, c in document["criteria"].items():
        tone = f"cohort-{cohorts.index(c['cohort']) + 1}"
        histogram = charts.histogram_over_null(
            null["support"],
            c["T_counts"],
            null["pmf"],
            title=f"T of {name}",
            tone=tone,
            top_share=0.26,
            x_range=(-0.2, 0.9),
            width=SMALL,
        )
        bars = charts.pmax_bars(
            LEVELS[::-1], c["splits"][::-1], NULL_SHARES[::-1], title=f"Splits of {name}", tone=tone,
            top_share=0.7, height=165, width=SMALL,
        )  # fmt: skip
        figures.append(Chart(histogram, heading=name))
        splits.append(Chart(bars, heading=name))
    legend = [("cohort-1", cohorts[0]), ("cohort-2", cohorts[1]), ("null-line", "random raters, exact")]
    told = "Mean pair τ of one prompt (T) over its exact null; solid line: median, dashed: the null's median."
    return Section(
        "Distributions",
        [
            ChartRow(figures, told, legend),
            ChartRow(splits, "Item pairs by how the five raters split, against the folded binomial null.", legend),
        ],
        "Every prompt counts once.",
    )


def _cycle_section(document: dict[str, Any]) -> Section:
    rows = [_dot(name, c, "cycle_rate") for name, c in document["criteria"].items()]
    drawing = charts.dot_intervals(
        rows, NULL_CYCLES, REFERENCES, title="Cycle rates", x_label="share of prompts with a cycle of majorities"
    )
    note = Note(
        "Cycles at or below the null do not rule factions out: two factions of three and two raters with little noise "
        "give the same rates as one weak shared order.",
        "open",
        "Read with care.",
    )
    return Section("Cycles", [Chart(drawing), note], "Does the majority contradict itself?")


def _rater_section(document: dict[str, Any]) -> Section:
    raters = document["raters"]
    figures = [
        Chart(
            charts.heat_map(c["rater_tau"], raters, raters, title=f"Raters on {name}",
                            limit=0.4, value_name="mean τ", width=SMALL),
            heading=name,
        )
        for name, c in itertools.islice(document["criteria"].items(), 3)
    ]  # fmt: skip
    first = next(iter(document["criteria"].values()))
    wide = charts.heat_map(
        first["rater_tau"], raters, raters, n=[[PROMPTS] * RATERS] * RATERS, title="Raters", value_name="mean τ"
    )
    flags = [[Badge("disagrees", "alert"), Badge("fast", "alert")], [], [], [Badge("left side", "open")], None]
    rows = [
        {"rater": r, "mean_tau": m, "position": 0.5 + 0.02 * i, "seconds": 21.4 + i, "answers": 480, "flags": flags[i]}
        for i, (r, m) in enumerate(zip(raters, first["rater_means"]))
    ]
    columns = [
        Column("rater", "Rater"),
        Column("answers", "Answers", "count"),
        Column("mean_tau", "τ to the rest", "estimate"),
        Column("position", "Left wins", "percent"),
        Column("seconds", "Median time", "duration"),
        Column("flags", "Flags", "badge"),
    ]
    table = Table(columns, rows, "Raters, with flags that hold across criteria.")
    answers = [(r, [40 + 20 * i, 140, 300 - 20 * i]) for i, r in enumerate(raters)]
    flag_split = charts.bucket_bar(answers, ["Major", "Minor", "No"], title="Flags by rater")
    return Section(
        "Raters",
        [ChartRow(figures), Chart(wide, "Mean τ of each pair of raters."), table, Chart(flag_split, "Flags given.")],
        "Who agrees with whom.",
    )


def _ceiling_section(document: dict[str, Any]) -> Section:
    rows = [(name, c["splits"]) for name, c in document["criteria"].items()]
    drawing = charts.bucket_bar(rows, LEVELS, NULL_SHARES, title="Item pairs by split")
    ceilings = charts.bar_list(
        [("panel (counts itself)", 0.741), ("one more rater", 0.615), ("leave one out, ties half", 0.602),
         ("oracle", 0.757), ("chance", 0.5)],
        title="Ceilings", percent=True,
    )  # fmt: skip
    return Section(
        "Ceilings",
        [
            Chart(drawing, "How often the five raters were of one mind."),
            Chart(ceilings, "What a model can reach against this panel. Quote the next rater and the oracle."),
        ],
        "How good can a model get?",
    )


def _protocol_section() -> Section:
    rows = [
        {"what": "Kendall W of induced rankings", "compare": (0.795, 0.761, 0.829), "rate": (0.697, 0.655, 0.738)},
        {"what": "Split-half Spearman", "compare": (0.836, 0.80, 0.871), "rate": (0.757, 0.71, 0.80)},
        {"what": "Triplet separation over quality tiers", "compare": (0.92, 0.88, 0.95), "rate": (0.86, 0.81, 0.9)},
        {"what": "Fleiss κ on the same pairs", "compare": (0.373, 0.33, 0.415), "rate": (0.306, 0.263, 0.349)},
    ]
    columns = [
        Column("what", "Agreement"),
        Column("compare", "Comparisons", "estimate"),
        Column("rate", "Ratings", "estimate"),
    ]
    table = Table(columns, rows, "The same raters, items and criteria under two protocols.", sortable=False)
    return Section("Protocols", [table], "Comparisons against ratings.")


def _plan_section() -> Section:
    prompts = [10, 20, 40, 60, 80, 120, 160]
    curves = []
    for raters, rate in ((3, 0.008), (5, 0.018), (7, 0.031), (9, 0.05)):
        power = [1 - 0.95 * float(np.exp(-rate * n)) for n in prompts]
        band = 0.02
        curves.append(
            charts.Curve(f"{raters} raters", prompts, power, [p - band for p in power], [p + band for p in power])
        )
    drawing = charts.line_curves(
        curves, title="Power of the test of T", x_label="prompts", y_label="chance to detect τ = 0.10",
        y_domain=(0, 1), reference_lines=[("80% power", 0.8)], percent=True,
    )  # fmt: skip
    caption = "Power of the test of T at four items per prompt."
    return Section("Next time", [Chart(drawing, caption)], "How many prompts would have been enough.")


def _criterion(
    strength: float, support: list[float], raters: tuple[str, ...], rng: np.random.Generator
) -> dict[str, Any]:
    quality = rng.normal(size=(PROMPTS, 1, ITEMS)) * strength
    order = quality + rng.normal(size=(PROMPTS, RATERS, ITEMS))
    signs = np.stack([np.sign(order[..., b] - order[..., a]) for a, b in PAIRS], axis=-1)
    votes = signs.sum(axis=1)
    t = _t_of(votes)
    pmax = (RATERS + np.abs(votes)) / 2 / RATERS
    cycles = np.array([_has_cycle(v) for v in votes], dtype=float)
    tau = np.einsum("nrk,nsk->rs", signs, signs) / (PROMPTS * len(PAIRS))
    others = (tau.sum(axis=1) - 1) / (RATERS - 1)
    shared = strength > 0.3
    return {
        "prompts": PROMPTS,
        "median_T": float(np.median(t)),
        "mean_tau": _estimate(t),
        "mean_pmax": _estimate(pmax.mean(axis=1)),
        "cycle_rate": _estimate(cycles),
        "T_counts": [int(np.isclose(t, s).sum()) for s in support],
        "splits": [int(np.isclose(pmax, level).sum()) for level in (1.0, 0.8, 0.6)],
        "rater_tau": [[None if i == j else float(tau[i, j]) for j in range(len(raters))] for i in range(len(raters))],
        "rater_means": [{"value": float(m), "low": float(m) - 0.05, "high": float(m) + 0.05} for m in others],
        "tests": {"T": {"p": 3.1e-12 if shared else 0.4213}, "pmax": {"p": 0.00049 if shared else 0.73}},
        "verdict": "shared" if shared else "random",
        "sentence": (
            "Raters share a preference: two of them agree more often than chance, and by more than the interval."
            if shared
            else "These answers look like those of random raters; a model trained on them would learn noise."
        ),
    }


def _estimate(values: np.ndarray) -> dict[str, float]:
    middle, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    return {"value": middle, "low": middle - 1.96 * error, "high": middle + 1.96 * error}


def _dot(name: str, criterion: dict[str, Any], field: str) -> tuple[str, float, float, float, str]:
    e = criterion[field]
    return name, e["value"], max(e["low"], 0.0) if field == "cycle_rate" else e["low"], e["high"], criterion["cohort"]


def _signs(order: tuple[int, ...]) -> list[int]:
    return [1 if order.index(a) < order.index(b) else -1 for a, b in PAIRS]


def _t_of(votes: np.ndarray) -> np.ndarray:
    """T = sum over pairs of ((2k-R)^2 - R) / (2 C(p,2) C(R,2)); votes hold 2k - R."""
    return (votes**2 - RATERS).sum(axis=-1) / (2 * len(PAIRS) * RATERS * (RATERS - 1) / 2)


def _has_cycle(votes: np.ndarray) -> bool:
    """A tournament without a cycle has win counts 0, 1, ..., p-1."""
    wins = [0] * ITEMS
    for (a, b), v in zip(PAIRS, votes):
        wins[a if v > 0 else b] += 1
    return sorted(wins) != list(range(ITEMS))


if __name__ == "__main__":
    report(study(np.random.default_rng(7))).write(sys.argv[1])
