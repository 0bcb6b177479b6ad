"""Who beats whom: for every two generators the share of answers won, and the chance that a fit gives it."""

from __future__ import annotations

from pydantic import Field

from salon.report.estimate import Figure
from salon.study.noun import Noun


class Duel(Noun):
    """Two generators that met."""

    first: str
    second: str
    share: Figure = Field(description="Share of answers that preferred the first; a tie is half an answer for each.")
    fitted: Figure | None = Field(
        description="The chance that the board's scores give it, ties half; null where scores are no log-odds."
    )
    wins: int = Field(description="Answers for the first.")
    losses: int = Field(description="Answers for the second.")
    ties: int
    prompts: int


class WinMatrix(Noun):
    """All duels of one board. Each pair stands once, the generator that is better on the board first."""

    generators: tuple[str, ...] = Field(description="Best first: rows and columns of the matrix.")
    duels: tuple[Duel, ...]
    never_met: int = Field(description="Pairs of generators without an answer.")

    def duel(self, row: str, column: str) -> Duel | None:
        """The duel of two generators seen from `row`: shares turned where it stands the other way round."""
        for one in self.duels:
            if (one.first, one.second) == (row, column):
                return one
            if (one.first, one.second) == (column, row):
                return _turned(one)
        return None


def _turned(one: Duel) -> Duel:
    return Duel(
        first=one.second,
        second=one.first,
        share=_other(one.share),
        fitted=None if one.fitted is None else _other(one.fitted),
        wins=one.losses,
        losses=one.wins,
        ties=one.ties,
        prompts=one.prompts,
    )


def _other(share: Figure) -> Figure:
    low, high = (None if end is None else 1 - end for end in (share.high, share.low))
    return share.model_copy(update={"value": 1 - share.value, "low": low, "high": high})
