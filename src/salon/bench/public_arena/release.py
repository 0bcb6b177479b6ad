"""The votes of a public arena as a dataset: a study that opens again, a table of votes, and a data card.

    OUT/data/*.parquet, study.toml, README.md      prompts, items, voters, comparisons, rankings (`salon check OUT`)
    OUT/votes.parquet                              every vote: pictures in the order shown, answer, chance, weight

No cookie, address, device, number or time of day leaves the database. Voters get new names in a random order at every
release, and rows are sorted by day and name, so that two releases cannot be joined by a voter's name or place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from salon.bench.public_arena.anomalies import Anomalies
from salon.bench.public_arena.arena import PublicArena
from salon.bench.public_arena.live_board import vote_weights
from salon.bench.public_arena.settings import PublicArenaSettings
from salon.bench.public_arena.votes import BOTH_BAD, LEFT, NONE_GOOD, RIGHT, TIE, ArenaVotes
from salon.study import Comparison, Design, Ranking, Rater, Study

VOTES = "votes"
OUTCOMES = {LEFT: "a", RIGHT: "b", TIE: "tie", BOTH_BAD: "both_bad"}
_WORDS = {LEFT: "left", RIGHT: "right", TIE: "tie", BOTH_BAD: "both_bad"}


@dataclass(frozen=True)
class Release:
    """A study of the votes, and the table of votes with what a study has no place for."""

    study: Study
    votes: pa.Table
    left_out: int
    """Votes about pictures that are gone, and 'all bad' of four, which have no place in the study."""


def release_votes(arena: PublicArena, votes: ArenaVotes, anomalies: Anomalies | None, *, seed: int) -> Release:
    """All votes under fresh names; `seed` draws the names, so give one that nobody can guess."""
    field = arena.field
    day = [datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d") for at in votes.at.tolist()]
    present, code = np.unique(votes.voter, return_inverse=True)
    name = np.random.default_rng(seed).permutation(len(present))[code]
    flagged = set() if anomalies is None else {voter.voter for voter in anomalies.voters}
    width = max(5, len(str(len(present))))
    order = sorted(range(len(votes)), key=lambda row: (day[row], int(name[row]), int(votes.shown[row, 0])))
    weight = vote_weights(votes, arena.settings)
    rows: list[dict[str, Any]] = []
    comparisons, rankings, left_out = list[Comparison](), list[Ranking](), 0
    for row in order:
        items = [field.item(int(number)) for number in votes.shown[row] if number >= 0]
        ids = [item.id for item in items if item is not None]
        answer, rater = int(votes.answer[row]), f"voter-{name[row] + 1:0{width}}"
        about: dict[str, Any] = {"criterion": arena.criterion, "rater": rater, "at": day[row],
                 "seconds": round(float(votes.seconds[row]), 1)}  # fmt: skip
        if len(ids) < len(items) or (len(items) > 2 and answer == NONE_GOOD):
            left_out += 1
        elif len(items) == 2:
            comparisons.append(Comparison(**about, a=ids[0], b=ids[1], outcome=OUTCOMES[answer], left="a"))
        else:
            rankings.append(_ranking(about, ids, answer))
        if len(ids) == len(items):
            rows.append(
                {
                    "voter": rater,
                    "day": day[row],
                    "items": ids,
                    "generators": [item.generator for item in items if item is not None],
                    "answer": _WORDS[answer] if len(items) == 2 else str(answer),
                    "seconds": about["seconds"],
                    "chance": float(votes.chance[row]),
                    "even": float(votes.even[row]),
                    "weight": float(weight[row]),
                    "repeated": bool(votes.repeated[row]),
                    "set_aside": int(votes.voter[row]) in flagged,
                }
            )
    named = sorted({row["voter"] for row in rows})
    study = Study.build(
        f"{arena.name}-votes",
        [field.criterion],
        tables={
            "prompts": list(field.prompts),
            "items": list(field.items),
            "raters": [Rater(id=rater) for rater in named],
            **({"comparisons": _numbered(comparisons)} if comparisons else {}),
            **({"rankings": _numbered(rankings)} if rankings else {}),
        },
        design=Design(kind="adaptive", order_randomized=True, note=_design_note(arena.settings)),
        note=_note(votes, flagged, anomalies),
        simulated=field.study.simulated,
    )
    return Release(study, pa.Table.from_pylist(rows), left_out)


def write_release(release: Release, output: Path, *, form: str, overwrite: bool = False) -> None:
    """Write the dataset as a folder; with its card where `form` is huggingface."""
    import pyarrow.csv
    import pyarrow.parquet

    from salon.store import export_study, whole_file

    export_study(release.study, output, form, overwrite=overwrite)
    if form == "csv":
        table = release.votes
        for column in ("items", "generators"):
            joined = [" ".join(values) for values in table.column(column).to_pylist()]
            table = table.set_column(table.column_names.index(column), column, pa.array(joined, pa.string()))
        with whole_file(output / f"{VOTES}.csv", overwrite=overwrite) as file:
            pyarrow.csv.write_csv(table, file)
        return
    with whole_file(output / f"{VOTES}.parquet", overwrite=overwrite) as file:
        pyarrow.parquet.write_table(release.votes, file)


def _ranking(about: dict[str, Any], ids: Sequence[str], answer: int) -> Ranking:
    """The order of four; pictures that were not placed share the last rank."""
    best = [int(digit) - 1 for digit in str(answer)]
    rest = [at for at in range(len(ids)) if at not in best]
    ranks = [*range(1, len(best) + 1), *[len(best) + 1] * len(rest)]
    return Ranking(**about, items=tuple(ids[at] for at in [*best, *rest]), ranks=tuple(ranks))


def _numbered(judgments: list[Any]) -> list[Any]:
    """A voter's second answer to one question is a repeat, as in every study."""
    met: dict[tuple[str, frozenset[str]], int] = {}
    numbered = []
    for judgment in judgments:
        items = (judgment.a, judgment.b) if isinstance(judgment, Comparison) else judgment.items
        key = (judgment.rater, frozenset(items))
        repeat = met.get(key, 0)
        met[key] = repeat + 1
        numbered.append(judgment.model_copy(update={"repeat": repeat}) if repeat else judgment)
    return numbered


def _design_note(settings: PublicArenaSettings) -> str:
    return (
        f"A public arena: {settings.random:.0%} of ballots drew their generators evenly, the others where intervals "
        "shrink most. chance in votes is the chance of the ballot's pairs, even what it would be under even dealing."
    )


def _note(votes: ArenaVotes, flagged: set[int], anomalies: Anomalies | None) -> str:
    floods = 0 if anomalies is None else len(anomalies.floods)
    return (
        f"{len(votes):,} votes of anonymous voters; voters have new names at every release, and times are days. "
        f"Nothing is left out for what it says: {len(flagged):,} voters whose votes differ from all others are marked "
        f"set_aside in votes, {int(votes.repeated.sum()):,} second votes of one place on the same pictures repeated. "
        f"Windows in which one generator did unlike its own history: {floods}."
    )
