"""Words of reports: names that fit a line, counts, lists, sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Protocol

from markupsafe import Markup

from salon.report import numbers
from salon.report.svg import clean, element
from salon.report.values import value
from salon.stats import Estimate

LONGEST_NAME = 72
RATER_NAME = 40
UNBROKEN = 24
TURNS = [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F]
SIMULATED = "Simulated study: no person gave these answers."
SHORT_START = 4
"""A shared beginning of names shorter than this is kept."""


class HasLevel(Protocol):
    """Any report whose intervals have one level."""

    @property
    def level(self) -> float:
        """The level, 0 to 1."""
        ...


def brief(name: str, most: int = LONGEST_NAME) -> str:
    """A name that fits a line: cut in the middle, so that both its ends tell it from its neighbours."""
    words = " ".join(one_way(name).split()) or "(no name)"
    if len(words) <= most:
        return words
    return f"{words[: most * 2 // 3]}…{words[-(most // 3) :]}"


def number_repeats(names: Iterable[str]) -> list[str]:
    """Names in their order; one that stood before gets a number behind it."""
    counts: Counter[str] = Counter()
    labels = []
    for name in names:
        counts[name] += 1
        labels.append(name if counts[name] == 1 else f"{name} #{counts[name]}")
    return labels


def distinct_names(names: Iterable[str], most: int = LONGEST_NAME) -> dict[str, str]:
    """Each name and how it is printed: brief, and numbered where two would read alike."""
    printed = {name: brief(name, most) for name in names}
    again = Counter(printed.values())
    return {name: f"{words} #{i + 1}" if again[words] > 1 else words for i, (name, words) in enumerate(printed.items())}


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


def unbroken_name(name: str) -> Markup:
    """A rater's name that does not break at its hyphens."""
    short_name = brief(name, RATER_NAME)
    return element("span", short_name, class_="whole") if len(short_name) <= UNBROKEN else Markup.escape(short_name)


def breakable(name: str) -> Markup:
    """A generator's name, which goes on in a new line before what is added to it: proof|+misalignment|@0.4."""
    return Markup("<wbr>").join(re.split(r"(?=[+@/])", name))


def sentence(words: str) -> str:
    """Words that start large and end with a stop."""
    started = one_way(words[:1].upper() + words[1:])
    return started if started.endswith((".", "!", "?")) or not started else f"{started}."


def count_noun(n: int, noun: str, nouns: str = "") -> Markup:
    """`1 prompt`, `80 prompts`."""
    return Markup("{} {}").format(value(n, None, numbers.count(n)), noun if n == 1 else nouns or f"{noun}s")


def fixed(x: float | None, decimals: int = 3) -> Markup:
    """A number that is not an estimate with an interval."""
    return value(x, None, numbers.fixed(x, decimals))


def law_range(span: tuple[float, float]) -> Markup:
    """A ceiling's range over all laws of pair odds that fit the votes."""
    return Markup("{}\u00a0– {}").format(fixed(span[0]), fixed(span[1]))


def law_range_note(figure: Estimate) -> Markup:
    """The interval of such a range, and the point in it."""
    law = "a beta law lies outside, nearest" if "does not fit" in figure.method else "beta law"
    point = Markup("{} {}").format(law, fixed(figure.value))
    if figure.low is None or figure.high is None:
        return point
    return Markup("interval {}; {}").format(law_range((figure.low, figure.high)), point)


def score_text(x: float | None, sd: float | None = None) -> Markup:
    """A score on any scale, with the standard deviation that its scorer states."""
    decimals = numbers.score_decimals(x)
    return fixed(x, decimals) if sd is None else Markup("{} ± {}").format(fixed(x, decimals), fixed(sd, decimals))


def level_words(report: HasLevel) -> Markup:
    """95%."""
    return value(report.level, None, numbers.percent(report.level))


def join_names(names: Iterable[object]) -> Markup:
    """`a`, `a and b`, `a, b and c`; what is not Markup is escaped."""
    words = [Markup("{}").format(name) for name in names]
    if len(words) < 2:
        return words[0] if words else Markup("none")
    return Markup(", ").join(words[:-1]) + Markup(" and ") + words[-1]


def first_names(names: Iterable[str], most: int = 12) -> str:
    """The first different names in a plain line, and how many more there are."""
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - most} more" if len(distinct) > most else ""
    return ", ".join(distinct[:most]) + more


def group_by_reason(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """(name, reason) pairs as one (reason, names) entry for each reason."""
    names: dict[str, list[str]] = {}
    for name, reason in pairs:
        names.setdefault(reason, []).append(name)
    return [(reason, list(dict.fromkeys(group))) for reason, group in names.items()]
