"""Scorers on the pictures of an entry: logits for the columns of EPS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from salon.bench.entry import LOGITS, Entry
from salon.bench.judging import entry_study
from salon.bench.preference import declares_logits
from salon.bench.suite import Suite
from salon.errors import BadValue, DesignError
from salon.judge.score import COLUMNS, FOLDER, read_scores, score_row, score_study, scores_file, write_scores
from salon.judge.scorers.table import HOW_TO_DECLARE, TableScorer
from salon.models.kept import Kept
from salon.study import Item
from salon.study.scorer import Scorer, ScorerCard


def check_scorers(suite: Suite, scorers: Mapping[str, Scorer]) -> None:
    """Refuse, before anything is spent, what EPS cannot be made of: no logits, less is better, another scorer."""
    columns = [rule.id for rule in suite.card.preferences]
    frozen = {one.id: one.signature for one in suite.reference.preferences} if suite.reference else {}
    for column, scorer in scorers.items():
        where = f"--scorer {column}"
        if column not in columns:
            remedy = f"one of {', '.join(columns)}" if columns else "name a preference in suite.toml"
            raise BadValue("a column of the suite is needed", found=repr(column), where=where, remedy=remedy)
        card = scorer_card(scorer)
        if isinstance(scorer, TableScorer) and not card.is_logit:
            raise DesignError(
                "EPS needs a table that declares its numbers as logits",
                found=f"{scorer.file}: is_logit {card.is_logit}",
                where=where,
                remedy=HOW_TO_DECLARE.format(card=scorer.file.with_suffix(".toml").name),
            )
        declares_logits(scorer.name, card)
        if not card.higher_is_better:
            raise DesignError("EPS needs a scorer on which more is better", found=scorer.name, where=where)
        if column in frozen and frozen[column] != str(scorer.signature):
            raise DesignError(
                f"the scorer that the reference was frozen with is needed: {frozen[column]}",
                found=str(scorer.signature),
                where=where,
                remedy="name that one; another scorer needs a reference, and so a suite, of its own"
                + (
                    "; tables of one scorer say the same `scorer` on their cards"
                    if isinstance(scorer, TableScorer)
                    else ""
                ),
            )


def scorer_card(scorer: Scorer) -> ScorerCard:
    """The card of a scorer; an empty one where it has none."""
    card: ScorerCard = getattr(scorer, "card", ScorerCard())
    return card


def score_column(
    suite: Suite,
    entry: Entry,
    folder: Path,
    column: str,
    scorer: Scorer,
    watch: Callable[[str, int, int], None] = lambda doing, done, wanted: None,
    kept: Kept | None = None,
) -> pa.Table:
    """Score every picture of an entry; rows of scores.parquet. The scorer's own table stays in ENTRY/scores."""
    study = entry_study(suite, entry)
    if isinstance(scorer, TableScorer):
        rows = table_logits(entry, column, scorer)
        if rows.num_rows:
            file = scores_file(folder / FOLDER, scorer.name)
            write_scores(file, scorer, rows.select(COLUMNS.names), reused=0, data=study.hash[:12])
        return rows
    if not study.counts.get("items"):
        return LOGITS.empty_table()

    def told(done: int, wanted: int) -> None:
        watch(f"{entry.name}: {scorer.name}", done, wanted)

    score_study(study, folder, scorer, progress=told, kept=kept)
    scored = read_scores(scores_file(folder / FOLDER, scorer.name)).to_pylist()
    more = {"preference": column, "scorer": str(scorer.signature)}
    return pa.Table.from_pylist([row | more for row in scored], LOGITS)


def table_logits(entry: Entry, column: str, table: TableScorer) -> pa.Table:
    """Rows of scores.parquet from a table: none where it knows no picture of the entry, BadValue where only some."""
    items = [Item(id=one.item) for one in entry.pictures if one.image is not None]
    lacking = [item.id for item in items if not table.knows(item.id)]
    if lacking and len(lacking) < len(items):
        raise BadValue(
            "a table with a value for every picture of an entry is needed",
            found=f"none for {len(lacking):,} of {len(items):,}, the first {lacking[0]!r}",
            where=f"{table.file}, entry {entry.name!r}",
            remedy="score those pictures too; a picture that was not made needs none",
        )
    results = [] if lacking else table.results(items, [None] * len(items))
    more = {"preference": column, "scorer": str(table.signature)}
    return pa.Table.from_pylist([score_row(item.id, result) | more for item, result in zip(items, results)], LOGITS)
