"""What a judge's answers took: calls, failures, tokens, money, time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.evaluate.judges.usage_results import UsageFigures
from salon.stats.result import Estimate

CHANCE = 0.5


def usage_figures(table: pa.Table | None, accuracy: Estimate | None) -> UsageFigures | None:
    """Sums over the verdicts in `table`; None where they are not known call by call."""
    if table is None:
        return None
    failed = _counts(table, "failed")
    reasons = _counts(table.filter(pc.is_null(table.column("failed"))), "unparsed")
    cost = _total(table, "cost")
    per_1000 = None if cost is None else 1000 * cost / max(_questions(table), 1)
    seconds = table.column("seconds").drop_null().to_numpy()
    given = pc.min_max(table.column("at")).as_py()
    return UsageFigures(
        answers=table.num_rows,
        unread=sum(failed.values()) + sum(reasons.values()),
        failed=failed,
        reasons=reasons,
        cost=cost,
        cost_unknown=0 if cost is None else table.column("cost").null_count,
        tokens_in=_whole(_total(table, "tokens_in")),
        tokens_out=_whole(_total(table, "tokens_out")),
        seconds_median=float(np.median(seconds)) if len(seconds) else None,
        seconds_95=float(np.quantile(seconds, 0.95)) if len(seconds) else None,
        first_at=given["min"],
        last_at=given["max"],
        cost_per_1000=per_1000,
        cost_per_point=_per_point(per_1000, accuracy),
    )


def _per_point(cost: float | None, accuracy: Estimate | None) -> Estimate | None:
    """Cost per hundredth of accuracy above chance. An accuracy that may be chance has no upper end: None."""
    if not cost or accuracy is None or accuracy.value <= CHANCE:
        return None

    def at(end: float | None) -> float | None:
        return None if end is None or end <= CHANCE else cost / (100 * (end - CHANCE))

    return replace(
        accuracy, value=cost / (100 * (accuracy.value - CHANCE)), low=at(accuracy.high), high=at(accuracy.low)
    )


def _questions(table: pa.Table) -> int:
    """Different pairs (items, points) by criterion: orders and samples of one are one."""
    names = ("criterion", "a", "b", "point")
    result: int = (
        pa.table({name: table.column(name).cast(pa.string()) for name in names})
        .group_by(list(names))
        .aggregate([])
        .num_rows
    )
    return result


def _counts(table: pa.Table, column: str) -> dict[str, int]:
    """How often each word stands in a column, most often first."""
    return dict(Counter(word for word in table.column(column).cast(pa.string()).to_pylist() if word).most_common())


def _total(table: pa.Table, column: str) -> float | None:
    result: float | None = pc.sum(table.column(column)).as_py()
    return result


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
