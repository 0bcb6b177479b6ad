"""What the sections of a check report share: names told apart, cohort colours, verdicts as badges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from salon.check.results import Agree, CheckReport, CriterionFigures, ShapeFigures, Statistics, Taste
from salon.report import Badge, numbers, value
from salon.report.block import Tone
from salon.report.words import brief

MOST_COLORS = 4
VERDICTS: dict[tuple[Agree, Taste | None], tuple[str, Tone]] = {
    ("yes", "one taste"): ("agree: one taste", "clear"),
    ("yes", "camps"): ("agree: in camps", "split"),
    ("yes", "cannot tell"): ("agree: one taste or camps?", "clear"),
    ("no", "camps"): ("opposed camps", "split"),
    ("no", None): ("no agreement", "none"),
    ("cannot tell", None): ("cannot tell", "thin"),
}
"""The two answers as a badge: words and tone."""
Triple = tuple[float, float | None, float | None]


@dataclass(frozen=True)
class Cohorts:
    """One colour for each cohort, by first appearance. More cohorts than colours: one colour, and no claim."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, report: CheckReport) -> Cohorts:
        return cls(tuple(dict.fromkeys(name_of_cohort(c) for c in report.criteria)))

    @property
    def told_apart(self) -> bool:
        return 1 < len(self.names) <= MOST_COLORS

    def group(self, criterion: CriterionFigures) -> str:
        """What a chart's legend calls the criterion's cohort."""
        return name_of_cohort(criterion) if self.told_apart else ""

    @property
    def groups(self) -> tuple[str, ...]:
        return self.names if self.told_apart else ("",)

    def tone(self, criterion: CriterionFigures) -> str:
        return f"cohort-{self.groups.index(self.group(criterion)) + 1}"

    @property
    def legend(self) -> list[tuple[str, str]]:
        """(swatch, words) of each cohort, or of what is drawn."""
        if not self.told_apart:
            return [("cohort-1", "observed")]
        return [(f"cohort-{i + 1}", name) for i, name in enumerate(self.names)]


def heading(title: str) -> str:
    """What a number is called on the terminal, as the head of a column of a page: Mean τ for mean tau."""
    return title[0].upper() + title[1:].replace("tau", "τ").replace("_", " ")


def name_of_cohort(criterion: CriterionFigures) -> str:
    """The cohort's name; raters of several cohorts have none in common."""
    return brief(criterion.cohort or "no single cohort")


def named_apart(report: CheckReport) -> CheckReport:
    """The report with criterion names short enough to print and no two alike: cohort, protocol or number added."""
    names = [brief(c.name) for c in report.criteria]
    for extra in ("cohort", "protocol"):
        again = Counter(names)
        names = [
            f"{name} ({brief(getattr(c, extra), 24)})" if again[name] > 1 and getattr(c, extra) else name
            for name, c in zip(names, report.criteria)
        ]
    again = Counter(names)
    names = [f"{name} #{i + 1}" if again[name] > 1 else name for i, name in enumerate(names)]
    criteria = tuple(c.model_copy(update={"name": name}) for c, name in zip(report.criteria, names))
    return report.model_copy(update={"criteria": criteria})


def badge(criterion: CriterionFigures) -> Badge:
    """The verdict as a badge."""
    words, tone = VERDICTS[criterion.agree, criterion.taste]
    return Badge(words, tone, f"Do raters agree more than chance? {criterion.answer}")


def triple(statistics: Statistics, name: str) -> Triple | None:
    """A statistic with its interval, or None where there is none."""
    found = getattr(statistics, name)
    ends = statistics.intervals.get(name)
    return None if found is None else (found, ends.low if ends else None, ends.high if ends else None)


def holm(p: float | None) -> Markup:
    """The adjusted p as a second line."""
    return Markup("") if p is None else Markup("Holm {}").format(value(p, None, numbers.p_value(p)))


def main_shape(criterion: CriterionFigures) -> ShapeFigures | None:
    """The shape most prompts have; the first of equals."""
    return max(criterion.shapes, key=lambda shape: shape.prompts, default=None)


def measured(criteria: Sequence[CriterionFigures]) -> list[CriterionFigures]:
    """Criteria with a mean tau."""
    return [c for c in criteria if c.statistics.mean_tau is not None]
