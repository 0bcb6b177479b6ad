"""What scorers and judges are worth as raters: against panels of people, on one study or several.

Three tables of the field from the same numbers: agreement by criterion beside its ceilings, preference accuracy with a
column a study (HPSv3, Table 4), and the order of generators (HPSv3, Table 3).

BOARD/raters/0001.json    the first snapshot; a later one has a later number, and none is ever changed
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from salon.stats import Estimate
from salon.study import Format, Noun, Signature

FORMAT: Final = "salon.raters/1"
FOLDER = "raters"
Correlation = Annotated[Estimate | None, Format("estimate", 2)]
SquaredError = Annotated[Estimate | None, Format("estimate", 3)]
RaterKind = Literal["pairs", "points", "scorer", "rater"]


class PanelCriterion(Noun):
    """People on one criterion, and what can be reached against them."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Its title.")
    votes: int = Field(description="Votes of people on its pairs.")
    pairs: int = Field(description="Pairs with votes.")
    tied: int = Field(title="No winner", description="Of these, pairs without a majority: in no accuracy.")
    next_rater: Estimate | None = Field(description="Ceiling: accuracy of one more person against this panel.")
    oracle: Estimate | None = Field(description="Ceiling: accuracy of a predictor that knows every pair's odds.")
    no_ceiling: str | None = Field(default=None, description="Why there are no ceilings.")
    signal: str | None = Field(default=None, description="Do these people agree? The answers of `salon check`.")


class PanelStudy(Noun):
    """The people of one study."""

    study: str = Field(description="Name; numbered where two studies share one.")
    data: str = Field(description="Hash of the study.")
    simulated: bool = Field(description="True when no person gave the answers.")
    raters: int = Field(description="People (or crowds) who answered.")
    generators: int = Field(description="Generators of its items; 0 where items do not name theirs.")
    criteria: tuple[PanelCriterion, ...] = Field(description="One for each criterion.")
    next_rater: Estimate | None = Field(description="One more person, over all pairs of all criteria.")
    count: Literal["pairs", "records"] = Field(
        default="pairs",
        description="What is counted: pairs with the votes of all people, or records as released evaluations do.",
    )
    repeats: int = Field(default=0, title="Repeat a pair", description="Records that repeat a pair; each counts.")
    signature_line: str = Field(description="What reproduces its figures.")


class GeneratorAgreement(Noun):
    """Do people and a rater put generators in the same order? Values are shares of pairs won, on the same pairs."""

    spearman: Correlation = Field(description="Rank correlation of the two orders.")
    kendall: Correlation = Field(description="Tau-b.")
    nmse: SquaredError = Field(
        title="Normalised MSE",
        description="Normalised mean squared error: both sides stretched to [0, 1] over generators; 0 is best.",
    )
    generators: int = Field(description="Generators in both orders.")
    pairs: int = Field(description="Pairs of different generators that people decided on and the rater saw.")
    reason: str | None = Field(default=None, description="Why there is none.")


class RaterOnStudy(Noun):
    """One rater on one study."""

    study: str = Field(description="Name of the study.")
    accuracy: Estimate | None = Field(description="All pairs of all criteria; unread pairs count 0, ties 1/2.")
    macro: Estimate | None = Field(description="Mean over criteria.")
    unread: Estimate | None = Field(description="Share of pairs without an answer that could be read.")
    criteria: dict[str, Estimate | None] = Field(description="Accuracy by id of the criterion; null: not asked.")
    pairs: int = Field(title="Counted", description="Pairs (or records) in the denominator.")
    panel_pairs: int = Field(title="Records", description="Pairs with a majority of people, asked or not.")
    equal: int | None = Field(
        default=None,
        title="Equal numbers",
        description="Records with equal numbers, which count as wrong; null where pairs are counted.",
    )
    order: GeneratorAgreement = Field(description="Generators in the same order?")
    warnings: tuple[str, ...] = Field(default=(), description="What a reader should know, a sentence each.")


class RaterResult(Noun):
    """One scorer or judge."""

    rater: str = Field(description="Name of the scorer or judge.")
    kind: RaterKind = Field(description="Scorer, judge or other model.")
    simulated: bool = Field(default=False, description="True for a judge of planted worth.")
    signatures: tuple[str, ...] = Field(default=(), description="What made its answers, study by study, where known.")
    studies: tuple[RaterOnStudy, ...] = Field(description="Those that it answered about.")

    def on(self, study: str) -> RaterOnStudy | None:
        """Its figures on one study."""
        return next((result for result in self.studies if result.study == study), None)


class RaterTables(Noun):
    """All raters on all studies."""

    format: Literal["salon.raters/1"] = Field(default=FORMAT, description="Name and version of this form.")
    number: int = Field(default=0, description="0: not published.")
    level: float = Field(description="Confidence level of all intervals.")
    studies: tuple[PanelStudy, ...] = Field(description="The people, study by study.")
    raters: tuple[RaterResult, ...] = Field(description="Best mean accuracy over studies first.")
    policies: tuple[str, ...] = Field(description="How answers were treated, a sentence each.")
    warnings: tuple[str, ...] = Field(default=(), description="What a reader should know, a sentence each.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")
