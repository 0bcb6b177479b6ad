"""What a judge report says about checklists: the `ticks` of its JSON.

A tick is one point of one item. The majority of people say that it is met (yes) or not (no).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.evaluate.judges.usage_results import UsageFigures
from salon.stats.result import Estimate
from salon.stats.tick_accuracy import Ticked, identity_gap
from salon.study.noun import Noun

TickKind = Literal["checklist", "rater"]


class TickFigures(Noun):
    """A judge against the people who ticked: on one criterion, on all ticks pooled, or as the mean over criteria."""

    accuracy: Estimate = Field(description="Headline: unread answers count 0, evenly split panels are left out.")
    parsed_only: Estimate | None = Field(description="Over the ticks that were read.")
    balanced: Estimate | None = Field(
        description="Mean of `on_yes` and `on_no`: 0.5 for a coin and for a fixed answer."
    )
    kappa: Estimate | None = Field(description="Cohen's kappa with the majority: 0 by chance.")
    on_yes: Estimate | None = Field(description="Where people say yes, share on which the judge does.")
    on_no: Estimate | None = Field(description="Where people say no, share on which the judge does.")
    pass_rate: Estimate | None = Field(description="Share of the read ticks that the judge passes.")
    people_pass: Estimate | None = Field(description="Share of the same ticks that people pass.")
    lean: Estimate | None = Field(description="The judge's pass rate less that of people: above 0 it is too kind.")
    constant: Estimate = Field(description="Accuracy of the better fixed answer, always yes or always no: chance.")
    gain: Estimate = Field(description="Accuracy less `constant`.")
    unread: Estimate = Field(description="u: share of ticks without a readable answer.")
    ticks: int = Field(description="Ticks in the denominator.")
    identity_gap: float | None = Field(
        default=None,
        description="|accuracy - (1-u)(y on_yes + (1-y) on_no)|, y = `people_pass`: rounding only. None for means over "
        "criteria.",
    )

    @classmethod
    def of(cls, found: Ticked, *, macro: bool = False) -> TickFigures:
        """A kernel's figures as part of a report."""
        plain = ("ticks", "identity_gap")
        return cls(
            **{name: getattr(found, name) for name in cls.model_fields if name not in plain},
            ticks=found.ticks,
            identity_gap=None if macro else identity_gap(found),
        )


class TickSplit(Noun):
    """Accuracy where the panel split so."""

    split: str = Field(description="'4-1': four of five say the same; '60-80%' where panels are of many sizes.")
    accuracy: Estimate = Field(description="Accuracy on these ticks.")
    ticks: int = Field(description="How many there are.")


class CriterionTicked(Noun):
    """One judge on the points of one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Its name.")
    figures: TickFigures | None = Field(description="None when the judge met no tick with a majority.")
    asked: int = Field(description="Ticks that were asked about and that people answered.")
    decided: int = Field(description="Of those, ticks on which people have a majority: the denominator.")
    panel_ticks: int = Field(description="All ticks with a majority, asked or not.")
    unvoted: int = Field(description="Ticks asked about that nobody answered: left out.")
    warnings: tuple[str, ...] = Field(default=(), description="What to be careful with.")


class PointTicked(Noun):
    """One judge on one point, over all items it was asked about."""

    criterion: str = Field(description="Id of the criterion.")
    point: str = Field(description="Name of the point.")
    accuracy: Estimate = Field(description="Unread answers count 0.")
    ticks: int = Field(description="Items with a majority of people.")
    people_yes: int = Field(description="Items that people pass.")
    judge_yes: int = Field(description="Items that the judge passes.")
    unread: int = Field(description="Items without a readable answer.")


class WorstTick(Noun):
    """A tick on which people were clear and the judge said the other."""

    criterion: str = Field(description="Id of the criterion.")
    prompt: str | None = Field(description="Id of the prompt.")
    item: str = Field(description="Id of the item.")
    point: str = Field(description="Name of the point.")
    people: bool = Field(description="What most people say.")
    votes: tuple[int, int] = Field(description="People for that, and against it.")
    said: str | None = Field(default=None, description="The judge's words, shortened.")


class TickJudged(Noun):
    """All that is known about one judge's ticks."""

    judge: str = Field(description="Name of the judge.")
    kind: TickKind = Field(description="Where its answers come from: a checklist it was given, a rater of the study.")
    simulated: bool = Field(default=False, description="True when no model answered.")
    signature: str | None = Field(default=None, description="What made its answers, where that is known.")
    macro: TickFigures = Field(description="Means over criteria.")
    pooled: TickFigures = Field(description="All ticks of all criteria together.")
    splits: tuple[TickSplit, ...] = Field(default=(), description="By how people split, clearest first.")
    criteria: tuple[CriterionTicked, ...] = Field(description="Criterion by criterion.")
    points: tuple[PointTicked, ...] = Field(description="Point by point, hardest first.")
    self_agreement: Estimate | None = Field(default=None, description="Chance that two samples of a question agree.")
    samples: int = Field(default=1, description="Most samples of one question; more than half of them decide.")
    usage: UsageFigures | None = Field(
        default=None, description="What its answers took; null where they are not known call by call."
    )
    to_best: Estimate | None = Field(default=None, description="Macro accuracy less the best judge's, on shared ticks.")
    worst: tuple[WorstTick, ...] = Field(default=(), description="Where it is most clearly against people.")
    worst_of: int = Field(default=0, description="Ticks on which it was against the majority.")


class TicksAgree(Noun):
    """How often two judges say the same, where both could be read."""

    first: str = Field(description="Name of a judge.")
    second: str = Field(description="Name of another.")
    agreement: Estimate = Field(description="Share of the ticks.")
    kappa: Estimate | None = Field(description="The same beyond chance; null where both always say one thing.")
    ticks: int = Field(description="Ticks on which both could be read.")


class Together(Noun):
    """What several judges say together, held against people."""

    rule: str = Field(description="majority: more than half of those asked; unanimous: yes where all say yes; routes.")
    judges: tuple[str, ...] = Field(description="Their names.")
    macro: TickFigures = Field(description="Means over criteria; a tick the rule leaves open counts as unread.")
    disputed: Estimate = Field(description="Share of ticks on which some say yes and some no.")
    settled_accuracy: Estimate | None = Field(description="Accuracy where those who could be read all say the same.")
    disputed_accuracy: Estimate | None = Field(description="Accuracy where they do not.")


class PointDisputed(Noun):
    """A point on which judges contradict each other."""

    criterion: str = Field(description="Id of the criterion.")
    point: str = Field(description="Name of the point.")
    ticks: int = Field(description="Items on which two judges or more were asked.")
    disputed: int = Field(description="Items on which some say yes and some no.")


class TickPanelFigures(Noun):
    """The people who ticked, on one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Its name.")
    answers: int = Field(description="Answers of people.")
    ticks: int = Field(description="Ticks with answers: points, each counted once an item.")
    points: int = Field(description="Different points.")
    tied: int = Field(description="Ticks without a majority: out of every denominator.")
    raters: str = Field(description="Answers to a tick: '5', or '1 to 7'.")
    pass_rate: Estimate | None = Field(description="Share of ticks with a majority that people pass.")
    two_people: Estimate | None = Field(default=None, description="Chance that two people agree.")
    kappa: Estimate | None = Field(default=None, description="The same beyond chance: correlation of two answers.")
    next_rater: Estimate | None = Field(
        default=None, description="Accuracy of one more person: a point of the range, and the range's interval."
    )
    next_rater_range: tuple[float, float] | None = Field(
        default=None, description="The same over all laws of the ticks' odds that fit the answers. Quote this one."
    )
    oracle: Estimate | None = Field(
        default=None, description="Accuracy of one who knows every tick's odds: a point, and the range's interval."
    )
    oracle_range: tuple[float, float] | None = Field(
        default=None, description="The same over all laws of the ticks' odds that fit the answers. Quote this one."
    )
    no_ceiling: str | None = Field(default=None, description="Why there are no ceilings.")


class TickReport(Noun):
    """Judges of checklists against people."""

    panel: tuple[TickPanelFigures, ...] = Field(description="The people, criterion by criterion.")
    judges: tuple[TickJudged, ...] = Field(description="Best macro accuracy first.")
    agreement: tuple[TicksAgree, ...] = Field(description="Every two judges with ticks in common.")
    together: tuple[Together, ...] = Field(description="Several judges as one, by each rule or by the routes given.")
    disputed: tuple[PointDisputed, ...] = Field(description="Points on which judges disagree, most disputed first.")
