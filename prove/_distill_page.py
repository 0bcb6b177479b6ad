"""The page of `prove.distill_policy`: tables with intervals over seeds, differences paired by seed, two drawings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import t

from prove._page import table, wrapped
from salon.report.charts import dot_intervals
from salon.report.page import standalone_svg

DOCS = Path(__file__).parents[1] / "docs/evidence"
WIDTH = 760
Told = dict[str, float]


def interval(values: Sequence[float], digits: int = 3) -> str:
    """Mean and 95% interval over seeds (Student's t)."""
    mean, low, high = ends(values)
    return f"{mean:.{digits}f}" if low is None else f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def ends(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Mean, and both ends where there are two values or more."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None, None
    reach = float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean, mean - reach, mean + reach


def difference(one: Sequence[Told], other: Sequence[Told], name: str, *, more: bool) -> str:
    """The mean difference, paired by seed, and what its interval shows of "the first is better"."""
    gaps = [a[name] - b[name] for a, b in zip(one, other)]
    mean, low, high = ends(gaps)
    if low is None or high is None:
        return f"{mean:+.3f}"
    better, worse = (low > 0, high < 0) if more else (high < 0, low > 0)
    verdict = "yes" if better else "the other way" if worse else "not told apart"
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}] {verdict}"


def figure_table(rows: Sequence[tuple[str, str, Sequence[Told]]]) -> str:
    """(name, calls, results of all seeds) as a table."""
    head = ["labels by", "calls", "SRCC", "MAE", "predicted mean", "predicted spread"]
    return table(
        head,
        [[name, calls, *(interval([one[key] for one in told], 2 if key in ("mean", "spread") else 3)
                         for key in ("srcc", "mae", "mean", "spread"))] for name, calls, told in rows if told],
    )  # fmt: skip


def difference_table(rows: Sequence[tuple[str, Sequence[Told], Sequence[Told]]]) -> str:
    """(claim, the better one, the other) as a table."""
    body = [
        [claim, difference(one, other, "srcc", more=True), difference(one, other, "mae", more=False)]
        for claim, one, other in rows
        if one and len(one) == len(other)
    ]
    return table(["is it better?", "SRCC, difference", "MAE, difference"], body)


def draw(name: str, rows: Sequence[tuple[str, Sequence[float], str]], truth: float | None, **words: str) -> None:
    """Dots with intervals, one for each (label, values, group)."""
    drawing = dot_intervals(
        [(label, *ends(values), group) for label, values, group in rows],
        reference_lines=[] if truth is None else [("truth", truth)],
        sort=False,
        width=WIDTH,
        **words,
    )
    (DOCS / name).write_text(standalone_svg(drawing), encoding="utf-8")


def page(parts: Sequence[str]) -> None:
    """Write the page."""
    (DOCS / "distill-policy.md").write_text("\n".join(parts), encoding="utf-8")


def paragraph(text: str) -> str:
    """Wrapped, with an empty line after it."""
    return wrapped(text) + "\n"


Get = Callable[..., Sequence[Told]]
