"""A format: lines of `winner;loser;judge`."""

from __future__ import annotations

from salon.store.formats.column_mapping import load_cells, open_sheets
from salon.store.formats.files import Head
from salon.store.formats.judgment_tables import draft_comparisons
from salon.store.formats.source import Draft, Source


class Duel:
    """Recognised by its columns; the winner is also the answer."""

    name = "duel"
    about = "Duels: winner, loser and judge, one line a vote (CSV)."

    def recognise(self, head: Head) -> bool:
        return head.has("winner", "loser", "judge")

    def read(self, source: Source) -> Draft:
        columns = {"left": "winner", "right": "loser", "outcome": "winner", "rater": "judge"}
        return draft_comparisons(source, load_cells(source, open_sheets(source), columns))
