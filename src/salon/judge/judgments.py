"""A judge's verdicts as ordinary judgments: what its samples and both orders say together, one answer a question.

`verdicts.parquet` keeps every order and sample. The tables beside it hold what `salon check` and `salon fuse` should
count: a pair is won where both orders agree, a tie where they do not, and skipped where one could not be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from salon.judge.pairs import both_orders, settled
from salon.judge.plan import JudgePlan
from salon.judge.points import as_rated, settled_value
from salon.judge.record import Verdict
from salon.study import Checklist, Comparison, Design, Judgment, Rater, Rating, Study
from salon.study.point import settled_point

_TABLES = {"compare": "comparisons", "rate": "ratings", "checklist": "checklists"}


def judged_study(plan: JudgePlan, judge: str, verdicts: Sequence[Verdict], *, simulated: bool) -> Study:
    """The study that holds one judge's judgments of the items of `plan`."""
    protocol = plan.settings.protocol
    complete = protocol != "compare" or (plan.settings.pairs == "all" and plan.settings.limit is None)
    criteria = [plan.study.criterion(id) for id in plan.criteria]
    return Study.build(
        f"{plan.study.name}, judged by {judge}",
        [as_rated(criterion) for criterion in criteria] if protocol == "rate" else criteria,
        compare_within=plan.study.compare_within,
        design=Design(kind="complete" if complete else "unknown"),
        simulated=simulated,
        tables={
            "prompts": plan.study.table("prompts"),
            "items": plan.study.table("items"),
            "raters": [Rater(id=judge, kind="model")],
            _TABLES[protocol]: list(judgments(verdicts)),
        },
    )


def judgments(verdicts: Iterable[Verdict]) -> Iterator[Judgment]:
    """One judgment for each pair, item or checklist and criterion."""
    ordered = sorted(verdicts, key=_about)
    for (criterion, a, b), group in groupby(ordered, key=_about):
        found = list(group)
        about = {"criterion": criterion, "rater": found[0].judge}
        if found[0].protocol == "compare":
            yield _comparison(about | {"a": a, "b": b}, found)
        elif found[0].protocol == "rate":
            value = settled_value([verdict.value for verdict in found])
            yield Rating(**about, item=a, value=value, skipped=_why(found) if value is None else None)
        else:
            yield _checklist(about | {"item": a}, found)


def _about(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.criterion, verdict.a, verdict.b or ""


def _comparison(about: dict[str, str], found: Sequence[Verdict]) -> Comparison:
    first, second = (settled([one.outcome for one in found if one.left == left]) for left in ("a", "b"))
    outcome = both_orders(first, second)
    return Comparison(**about, outcome=outcome, skipped=_why(found) if outcome is None else None)


def _checklist(about: dict[str, str], found: Sequence[Verdict]) -> Checklist:
    points = sorted({one.point or "" for one in found})
    votes = [settled_point([one.value for one in found if one.point == point]) for point in points]
    return Checklist(**about, points=tuple(points), answers=tuple(votes))


def _why(found: Sequence[Verdict]) -> str:
    return "broken image" if any(one.failed == "broken-image" for one in found) else "cannot judge"
