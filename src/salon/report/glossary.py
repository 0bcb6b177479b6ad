"""One sentence for each technical term of a page, shown where the term stands: on hover, or on a tap.

`explain_terms` marks terms in the finished HTML of a page: the first of each kind in each section, in paragraphs,
captions and lists. Each becomes a button that opens a popover, which needs no script; its title is the same sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup, escape

from salon.report.svg import element


@dataclass(frozen=True)
class Term:
    """A term, the words it is recognised by, and what it means in one sentence."""

    name: str
    phrases: tuple[str, ...]
    sentence: str

    @property
    def anchor(self) -> str:
        """The id of its explanation on a page."""
        return "term-" + re.sub(r"[^a-z]+", "-", self.name.lower()).strip("-")


GLOSSARY = (
    Term(
        "Mean tau",
        ("mean τ", "τ"),
        "Kendall's τ of two rankings, averaged: one if both order all items alike, zero for random raters, "
        "minus one if reversed.",
    ),
    Term("T", ("T, the mean τ",), "The mean τ over all pairs of raters of one prompt."),
    Term(
        "p max",
        ("p max",),
        "The share of raters on the larger side of a pair: a half if they are split evenly, one if all agree.",
    ),
    Term(
        "Cycle",
        ("cycle rate", "cycles", "Cycles", "cycle"),
        "A majority that prefers x to y, y to z and z to x, so that no order fits it.",
    ),
    Term(
        "Ceiling",
        ("ceilings", "Ceilings", "ceiling"),
        "The accuracy that one more rater, or a perfect predictor, would reach against this panel.",
    ),
    Term(
        "Next rater",
        ("next rater", "Next rater", "one more rater", "one more person"),
        "How often one more rater of the same kind would agree with the panel's majority.",
    ),
    Term(
        "Oracle",
        ("oracle", "Oracle"),
        "A predictor that knows the true odds of every pair; no model can do better except by luck.",
    ),
    Term(
        "Panel",
        ("panel's majority", "the majority of people", "panel"),
        "All raters who judged a prompt, taken together.",
    ),
    Term(
        "Leave one out",
        ("leave-one-out", "Leave one out"),
        "Each rater compared with the majority of the other raters.",
    ),
    Term(
        "Cap",
        ("the cap",),
        "A figure of some papers: one for each decided pair, a half for the others; it is not a bound.",
    ),
    Term(
        "Beta law",
        ("beta law",),
        "A standard distribution fitted to how strongly raters prefer one item of a pair.",
    ),
    Term(
        "Laws of pair odds",
        ("laws of pair odds", "law of pair odds"),
        "Possible distributions of how often raters prefer one item of a pair; the votes rule out some of them.",
    ),
    Term(
        "Holm",
        ("Holm's", "Holm"),
        "A correction for testing several hypotheses at once: the adjusted p can be read like the p of a single test.",
    ),
    Term("p value", ("p value",), "The chance of data at least this extreme if the null hypothesis were true."),
    Term(
        "Null",
        ("the null", "random raters", "Random raters"),
        "What the numbers would look like if every rater ordered the items at random.",
    ),
    Term(
        "Interval",
        ("intervals", "interval"),
        "The range of values that fit the data; a wide one means that little is known.",
    ),
    Term(
        "Power",
        ("power",),
        "The chance that a test finds an effect of a stated size; with little power, a negative result is "
        "inconclusive.",
    ),
    Term(
        "Krippendorff's alpha",
        ("Krippendorff's α", "α"),
        "Agreement of all raters beyond chance: one is perfect, zero is chance; it allows for missing answers.",
    ),
    Term("Fleiss kappa", ("Fleiss κ",), "Agreement beyond chance on categories: one is perfect, zero is chance."),
    Term(
        "Kendall's W",
        ("Kendall's W",),
        "Agreement of several rankings: one if all are alike, zero if they have nothing in common.",
    ),
    Term(
        "Camps",
        ("camps", "factions", "Factions"),
        "Groups of raters with different orders: they agree within a group more than between groups.",
    ),
    Term("Cohort", ("cohorts", "cohort"), "Raters who answered under one protocol."),
    Term(
        "Reference anchor",
        ("reference anchors", "Reference anchors", "reference anchor"),
        "Judgments from another domain, cut down to the shape of this study, to compare agreement with.",
    ),
    Term(
        "Rating anchor",
        ("rating anchors", "Rating anchors", "rating anchor"),
        "An item whose ratings agree so well that it ties the comparisons to the rating scale.",
    ),
    Term(
        "Tier",
        ("first tier", "tiers", "tier"),
        "Items whose differences are not significant: no item of the first tier is significantly worse than the best.",
    ),
    Term(
        "Latent score",
        ("latent scores", "latent score"),
        "The score on the internal scale of the model, before it is mapped to the rating scale.",
    ),
    Term("Davidson", ("Davidson",), "A Bradley-Terry model that also explains ties."),
    Term(
        "Bradley-Terry",
        ("Bradley-Terry", "bradley-terry"),
        "A model that gives each item a strength; the odds that one beats another are the ratio of their strengths.",
    ),
    Term("Elo", ("Elo",), "A rating updated after each comparison, as in chess."),
    Term(
        "SRCC",
        ("SRCC",),
        "Spearman rank correlation: one if two lists order all items alike, zero if they are unrelated.",
    ),
    Term("PLCC", ("PLCC",), "Pearson linear correlation between two lists of scores."),
    Term("MAE", ("MAE",), "Mean absolute error: how far two scores of an item are apart on average."),
    Term(
        "Accuracy",
        ("an accuracy", "a low accuracy", "accuracy of", "point of accuracy", "accuracy, mean"),
        "The share of pairs on which a judge names the item that the majority of people prefers.",
    ),
    Term(
        "Balanced accuracy",
        ("balanced accuracy",),
        "The mean of the accuracy on yes and the accuracy on no: a half for a fixed answer.",
    ),
    Term(
        "Position bias",
        ("position bias", "answers by position", "pairs decided by position"),
        "The share of pairs whose answers follow the position of the pictures instead of their content.",
    ),
    Term(
        "Leak",
        ("leak guard", "a leak", "Leak"),
        "A model that was trained on the items it is tested on; its accuracy says nothing about new items.",
    ),
    Term(
        "Collapsed scale",
        ("collapsed scale", "collapse into a band", "collapsed"),
        "Scores that vary much less than those of people, although their order may be right.",
    ),
    Term(
        "EPS",
        ("EPS",),
        "The mean chance that an entry's picture is preferred to the frozen reference for the same prompt.",
    ),
    Term("Provisional", ("provisional",), "Not complete yet: answers are missing, and the number may change."),
)
"""At most 40 terms. No digits: every number of a page is one of its report."""

_BY_PHRASE = {phrase: term for term in GLOSSARY for phrase in term.phrases}
_LIVE = re.compile(r'<(p|figcaption|li)\b(?! class="banner)[^>]*>.*?</\1>', re.DOTALL)
"""Elements whose words are explained: no table, no heading, no summary, no chart, no banner."""
_TAG = re.compile(r"(<[^>]*>)")
_QUOTED = ("a", "button", "data", "code", "q", "strong", "h3")
"""Tags inside them whose words are left alone."""


@cache
def _phrases() -> re.Pattern[str]:
    longest_first = sorted(_BY_PHRASE, key=len, reverse=True)
    return re.compile(r"(?<![\w-])(" + "|".join(str(escape(phrase)) for phrase in longest_first) + r")(?![\w-])")


def explain_terms(html: str) -> tuple[str, Markup]:
    """The HTML with its terms marked, section by section, and the explanations to put at the end of the page."""
    used: dict[str, Term] = {}
    sections = re.split(r"(?=<section )", html)
    marked = [_mark_section(section, used) for section in sections]
    explanations = [
        element("div", element("strong", term.name), f" {term.sentence}", id=anchor, popover="auto", class_="explained")
        for anchor, term in used.items()
    ]
    return "".join(marked), Markup("\n").join(explanations)


def _mark_section(html: str, used: dict[str, Term]) -> str:
    seen: set[str] = set()

    def mark_phrase(match: re.Match[str]) -> str:
        term = _BY_PHRASE[Markup(match[1]).unescape()]
        if term.anchor in seen:
            return match[1]
        seen.add(term.anchor)
        used[term.anchor] = term
        return (
            f'<button type="button" class="term" popovertarget="{term.anchor}" title="{escape(term.sentence)}">'
            f"{match[1]}</button>"
        )

    def mark_element(match: re.Match[str]) -> str:
        quoted, parts = 0, []
        for part in _TAG.split(match[0]):
            if part.startswith("<"):
                name = re.match(r"</?(\w+)", part)
                if name and name[1] in _QUOTED:
                    quoted += -1 if part.startswith("</") else 1
                parts.append(part)
            else:
                parts.append(part if quoted else _phrases().sub(mark_phrase, part))
        return "".join(parts)

    return _LIVE.sub(mark_element, html)
