"""What the sections of a check report share: names that fit, cohort colours, numbers and reasons in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from markupsafe import Markup

from salon.check.results import CheckReport, CriterionFigures, ShapeFigures, Statistics
from salon.report import Badge, numbers, svg, value
from salon.report.svg import clean

LONGEST_NAME = 72
RATER_NAME = 40
UNBROKEN = 24
TURNS = [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F]
MOST_COLORS = 4
SHORT_START = 4
"""A shared beginning of names shorter than this is kept."""
VERDICTS = {
    "shared preference": ("shared preference", "clear"),
    "factions": ("factions", "split"),
    "random": ("random", "none"),
    "not distinguishable with this design": ("not distinguishable", "open"),
    "too little data": ("too little data", "thin"),
}
Triple = tuple[float | None, float | None, float | None]


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


def brief(name: str, most: int = LONGEST_NAME) -> str:
    """A name that fits a line: cut in the middle, so that both its ends tell it from its neighbours."""
    words = " ".join(one_way(name).split()) or "(no name)"
    if len(words) <= most:
        return words
    return f"{words[: most * 2 // 3]}…{words[-(most // 3) :]}"


def without_shared_start(names: Sequence[str]) -> tuple[list[str], str]:
    """Names without a beginning all of them share, up to a separator, and that beginning: room for what differs."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names)) if len(names) > 1 else ()
    start = "".join(letters[0] for letters in same)
    cut = max((start.rfind(mark) + 1 for mark in "-_/@. "), default=0)
    if cut < SHORT_START or any(not name[cut:].strip() for name in names):
        return list(names), ""
    return [name[cut:] for name in names], start[:cut]


def one_way(words: str) -> str:
    """Words without the characters that turn the direction of the text after them, or that XML forbids."""
    return clean(words.translate(dict.fromkeys(TURNS)))


def whole(name: str) -> Markup:
    """A rater's name that does not break at its hyphens."""
    shown = brief(name, RATER_NAME)
    return svg.element("span", shown, class_="whole") if len(shown) <= UNBROKEN else Markup.escape(shown)


def sentence(words: str) -> str:
    """Words that start large and end with a stop."""
    started = one_way(words[:1].upper() + words[1:])
    return started if started.endswith((".", "!", "?")) or not started else f"{started}."


def badge(criterion: CriterionFigures) -> Badge:
    """The verdict as a badge."""
    words, tone = VERDICTS[criterion.verdict]
    return Badge(words, tone, criterion.verdict)


def triple(statistics: Statistics, name: str) -> Triple | None:
    """A statistic with its interval, or None where there is none."""
    found = getattr(statistics, name)
    ends = statistics.intervals.get(name)
    return None if found is None else (found, ends and ends.low, ends and ends.high)


def counted(n: int, noun: str, nouns: str = "") -> Markup:
    """`1 prompt`, `80 prompts`."""
    return Markup("{} {}").format(value(n, None, numbers.count(n)), noun if n == 1 else nouns or f"{noun}s")


def fixed(x: float | None, decimals: int = 3) -> Markup:
    """A number that is not an estimate with an interval."""
    return value(x, None, numbers.fixed(x, decimals))


def holm(p: float | None) -> Markup:
    """The adjusted p as a second line."""
    return Markup("") if p is None else Markup("Holm {}").format(value(p, None, numbers.p_value(p)))


def level_words(report: CheckReport) -> Markup:
    """95%."""
    return value(report.level, None, numbers.percent(report.level))


def listed(names: Iterable[object]) -> Markup:
    """`a`, `a and b`, `a, b and c`; what is not Markup is escaped."""
    words = [Markup("{}").format(name) for name in names]
    if len(words) < 2:
        return words[0] if words else Markup("none")
    return Markup(", ").join(words[:-1]) + Markup(" and ") + words[-1]


def gathered(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """(name, reason) pairs as one (reason, names) entry for each reason."""
    names: dict[str, list[str]] = {}
    for name, reason in pairs:
        names.setdefault(reason, []).append(name)
    return [(reason, list(dict.fromkeys(found))) for reason, found in names.items()]


def main_shape(criterion: CriterionFigures) -> ShapeFigures | None:
    """The shape most prompts have; the first of equals."""
    return max(criterion.shapes, key=lambda shape: shape.prompts, default=None)


def measured(criteria: Sequence[CriterionFigures]) -> list[CriterionFigures]:
    """Criteria with a mean tau."""
    return [c for c in criteria if c.statistics.mean_tau is not None]
