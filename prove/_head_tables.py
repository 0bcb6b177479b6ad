"""The tables of `prove.heads`: accuracies with their intervals, beside what can be reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from prove._head_runs import FOLDS, SEED, Bench, Floats, Run, hits
from prove._page import table
from salon.collect import PlantedTruth
from salon.judge import COMPOSITES, MEASUREMENTS
from salon.stats import Ceilings, Estimate, bootstrap_totals, ceilings, holm, paired_difference
from salon.train import HeadSettings
from salon.train.settings import HEAD_ENCODER

PROMPTS = 80
SEEDS = (0, 1, 2)
DRAWS = 2000
BUCKETS = ("5-0", "4-1", "3-2")
LOOK = "effnet-lite2+look"
FORMS = {
    f"{form}{words}": HeadSettings(form=form, encoder=encoder)
    for encoder, words in ((HEAD_ENCODER, ""), (LOOK, ", look"))
    for form in ("scalar", "pairwise", "antisymmetric")
}
"""The three forms over two encoders: what is shown and the prompt, or the look of a page alone."""
VARIED = "scalar, look"
"""The form that the variants change one thing of: the quickest to train."""
VARIANTS = {
    "shared trunk": {"trunk": "shared"},
    "majority for a label (hard)": {"labels": "hard"},
    "weighed by agreement": {"weigh": "agreement"},
    "each rater's own answer": {"labels": "raters"},
    "the same, reliability learned": {"labels": "raters", "rater_weights": "learned"},
}
SHARES = (0.25, 0.5, 1.0)
SCORED = 0
"""The tenth of the prompts on which scorers are asked: most of them read each picture with OCR, which takes seconds."""
SCORERS = (*MEASUREMENTS, *COMPOSITES)


@dataclass(frozen=True)
class Row:
    """A predictor on all test pairs: the mean of its hits over seeds, and what its runs cost."""

    name: str
    right: Floats
    """(pairs,) NaN where it was not asked."""
    seeds: tuple[float, ...] = ()
    """Accuracy of each seed."""
    runs: tuple[Run, ...] = ()


@dataclass
class Found:
    """Everything that the page tells."""

    bench: Bench
    planted: Sequence[PlantedTruth]
    seconds: dict[str, float] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    curve: dict[float, Estimate] = field(default_factory=dict)
    scorers: dict[str, tuple[Floats, float]] = field(default_factory=dict)
    fresh: dict[str, Estimate] = field(default_factory=dict)
    """Accuracy of forms on the fresh study."""


# -- figures -----------------------------------------------------------------------------------------------------------


def accuracy(bench: Bench, right: Floats, where: np.ndarray | None = None) -> Estimate:
    """Share of pairs with the majority named, with an interval over prompts."""
    chosen = ~np.isnan(right) & (True if where is None else where)
    _, prompt = np.unique(bench.column("group")[chosen].astype(str), return_inverse=True)
    counts = np.column_stack([np.bincount(prompt, weights=right[chosen]), np.bincount(prompt)])
    rng = np.random.default_rng(SEED)
    return bootstrap_totals(lambda t: t[:, 0] / t[:, 1], counts, draws=DRAWS, rng=rng)


def ceiling(bench: Bench, where: np.ndarray | None = None) -> Ceilings:
    """What can be reached on these pairs."""
    chosen = np.ones(bench.pairs.num_rows, bool) if where is None else where
    k, n = (np.asarray(bench.pairs.column(name))[chosen] for name in ("for_a", "votes"))
    return ceilings(k, n, bench.column("group")[chosen].astype(str), draws=DRAWS, rng=np.random.default_rng(SEED))


def beyond_house(bench: Bench, logits: Floats) -> Estimate:
    """Correlation of log-odds with vote shares, both less their mean over pairs of the same two houses and criterion.

    Whoever only recognises houses has 0 here. Interval over prompts, the means taken for known.
    """
    generator = {item.id: item.generator for item in bench.study.nouns("items")}
    houses = [f"{generator[a]} {generator[b]}" for a, b in zip(bench.column("item_a"), bench.column("item_b"))]
    _, cell = np.unique([f"{c} {h}" for c, h in zip(bench.column("criterion"), houses)], return_inverse=True)
    x, y = (_centred(values, cell) for values in (logits, np.asarray(bench.pairs.column("share"))))
    _, prompt = np.unique(bench.column("group").astype(str), return_inverse=True)
    sums = np.column_stack([np.bincount(prompt, weights=w) for w in (x * y, x * x, y * y)])
    rng = np.random.default_rng(SEED)
    return bootstrap_totals(lambda t: t[:, 0] / np.sqrt(t[:, 1] * t[:, 2]), sums, draws=DRAWS, rng=rng)


def _centred(values: Floats, cell: NDArray[np.intp]) -> Floats:
    return values - (np.bincount(cell, weights=values) / np.bincount(cell))[cell]


def told(figure: Estimate) -> str:
    """.679 [.658, .701]."""
    value = f"{figure.value:.3f}".lstrip("0")
    if figure.low is None or figure.high is None:
        return value
    return f"{value} [{f'{figure.low:.3f}'.lstrip('0')}, {f'{figure.high:.3f}'.lstrip('0')}]"


def best_form(rows: Mapping[str, Row]) -> str:
    """The form with the lowest mean validation loss: the test pairs have no say."""
    return min((form for form in FORMS if form in rows), key=lambda form: _validation_loss(rows[form]))


def _validation_loss(row: Row) -> float:
    return float(np.mean([run.validation_loss for run in row.runs]))


def _spread(row: Row) -> str:
    if len(row.seeds) < 2:
        return "–"
    return f"{min(row.seeds):.3f} to {max(row.seeds):.3f} ({len(row.seeds)})".replace("0.", ".")


# -- tables ------------------------------------------------------------------------------------------------------------


def forms_table(found: Found) -> str:
    bench, bucket = found.bench, found.bench.column("bucket")
    known = [found.rows[name] for name in (*FORMS, "ridge", "house", "shuffled") if name in found.rows]
    if any(len(row.seeds) > 1 for row in known):
        known.insert(len(FORMS), together(found))
    rows = []
    for row in known:
        cells = [told(accuracy(bench, row.right, bucket == one)) for one in BUCKETS]
        seconds, beyond = ("–", "–") if not row.runs else (f"{_seconds(row):.0f}", _beyond(bench, row))
        rows.append([row.name, told(accuracy(bench, row.right)), *cells, beyond, _spread(row), seconds])
    top = ceiling(bench)
    tops = [ceiling_of_bucket(top, one) for one in BUCKETS]
    rows.append(["*ceiling: next rater*", told(top.next_rater), *tops, "", "", ""])
    rows.append(["*ceiling: oracle*", told(top.oracle), "", "", "", "", "", ""])
    pairs = [f"{one} ({int((bucket == one).sum()):,})" for one in BUCKETS]
    return table(
        ["heads", f"all ({bench.pairs.num_rows:,} pairs)", *pairs, "beyond the house (r)", "seeds", "seconds"], rows
    )


def _beyond(bench: Bench, row: Row) -> str:
    return signed(beyond_house(bench, mean_logits(row)))


def ceiling_of_bucket(top: Ceilings, bucket: str) -> str:
    """One more rater on pairs with this split: (m + a) / (R + 2a)."""
    larger, smaller = map(int, bucket.split("-"))
    a = top.fit.a
    return f"{(larger + a) / (larger + smaller + 2 * a):.3f}".lstrip("0") if np.isfinite(a) else ".500"


def criteria_table(found: Found) -> str:
    bench, criterion = found.bench, found.bench.column("criterion")
    tau = {one.criterion: one.tau for one in found.planted}
    forms = [form for form in FORMS if form in found.rows]
    rows = []
    for name in dict.fromkeys(criterion):
        where = criterion == name
        top = ceiling(bench, where)
        cells = [told(accuracy(bench, found.rows[form].right, where)) for form in (*forms, "house")]
        rows.append([name.removeprefix("taste/"), f"{tau[name]:.2f}", told(top.next_rater), told(top.oracle), *cells])
    each = bench.pairs.num_rows // len(tau)
    return table([f"criterion ({each} pairs)", "planted tau", "next rater", "oracle", *forms, "knows the house"], rows)


def variants_table(found: Found) -> str:
    bench = found.bench
    plain = first_seed(found, VARIED)
    rows = [["as it is", told(accuracy(bench, plain)), "", f"{_seconds(found.rows[VARIED]):.0f}"]]
    for name in VARIANTS:
        if name in found.rows:
            row = found.rows[name]
            apart = paired_difference(
                row.right, plain, bench.column("group").astype(str), draws=DRAWS, rng=np.random.default_rng(SEED)
            )
            rows.append([name, told(accuracy(bench, row.right)), signed(apart.difference), f"{_seconds(row):.0f}"])
    return table(["variant", "accuracy", "less the plain form", "seconds"], rows)


def first_seed(found: Found, form: str) -> Floats:
    """Hits of the first seed alone."""
    return hits(found.bench, seed_logits(found.rows[form], 0))


def together(found: Found) -> Row:
    """The chosen form with the log-odds of its seeds averaged, as one predictor."""
    best = found.rows[best_form(found.rows)]
    right = hits(found.bench, mean_logits(best))
    return Row(f"{best.name}, {len(best.seeds)} seeds together", right, (float(right.mean()),))


def mean_logits(row: Row) -> Floats:
    """(pairs,) mean log-odds of all seeds."""
    return np.mean([seed_logits(row, number) for number in range(len(row.seeds))], axis=0)


def seed_logits(row: Row, number: int) -> Floats:
    """(pairs,) log-odds of one seed: each run holds those of its fold."""
    return np.nansum([run.logits for run in row.runs[number * FOLDS : (number + 1) * FOLDS]], axis=0)


def signed(figure: Estimate) -> str:
    """+.012 [-.003, +.027]."""
    ends = [figure.value, *(() if figure.low is None else (figure.low, figure.high))]
    first, *others = (f"{value:+.3f}".replace("0.", ".", 1) for value in ends)
    return f"{first} [{', '.join(others)}]" if others else first


def _seconds(row: Row) -> float:
    return float(np.mean([run.seconds for run in row.runs]))


def head_on_tenth(found: Found) -> Floats:
    """Hits of the chosen form's first seed on the tenth that scorers were asked."""
    return np.where(found.bench.tenths == SCORED, first_seed(found, best_form(found.rows)), np.nan)


def best_scorer(found: Found) -> tuple[str, Estimate]:
    figures = {name: accuracy(found.bench, hits(found.bench, l)) for name, (l, _) in found.scorers.items()}
    name = max(figures, key=lambda one: figures[one].value)
    return name, figures[name]


def scorers_table(found: Found) -> str:
    bench, head = found.bench, head_on_tenth(found)
    asked = ~np.isnan(head)
    prompt = bench.column("group").astype(str)
    rng = np.random.default_rng(SEED)
    compared = {
        name: paired_difference(head[asked], hits(bench, logits)[asked], prompt[asked], draws=DRAWS, rng=rng)
        for name, (logits, _) in found.scorers.items()
    }
    adjusted = dict(zip(compared, holm([one.p for one in compared.values()]).tolist()))
    rows = [["**head**", told(accuracy(bench, head)), "100%", "", "", ""]]
    for name, (logits, scored) in found.scorers.items():
        right = hits(bench, logits)
        rows.append([f"`{name}`", told(accuracy(bench, right)), f"{scored:.0%}", signed(compared[name].difference),
                     f"{adjusted[name]:.4f}".lstrip("0"), _best_at(bench, right, head)])  # fmt: skip
    rows[1:] = sorted(rows[1:], key=lambda row: row[1], reverse=True)
    names = ["", "accuracy", "scored", "head less scorer", "p", "best at"]
    return table(names, rows)


def _best_at(bench: Bench, right: Floats, head: Floats) -> str:
    criterion = bench.column("criterion")
    means = {name: float(np.nanmean(right[criterion == name])) for name in dict.fromkeys(criterion)}
    best = max(means, key=lambda name: means[name])
    at = float(np.nanmean(head[criterion == best]))
    return f"{best.removeprefix('taste/')} {means[best]:.2f}, head {at:.2f}".replace("0.", ".")
