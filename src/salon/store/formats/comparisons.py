"""Comparisons in a table: one row a vote, the columns named by the user or guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from salon.errors import BadValue, shorten
from salon.store.formats.columnar import (
    FACTS,
    Labels,
    constant,
    judgment_facts,
    name_items,
    name_prompts,
    name_raters,
    number_labels,
    refer,
)
from salon.store.formats.criteria import name_criteria
from salon.store.formats.mapping import Cells, open_sheets, plain, read_cells
from salon.store.formats.source import Draft, Source
from salon.store.formats.words import (
    ANSWERS,
    BLANKS,
    SKIPS,
    WORDS,
    is_number,
    meaning_of,
    parse_values,
    spelled,
    switch_words,
)

NEEDED = ("left", "right", "outcome")
OPTIONAL = ("rater", "prompt", "prompt_text", "criterion", "left_generator", "right_generator", "category", *FACTS)


def read_comparisons(source: Source) -> Draft:
    """A study from a table of votes."""
    return draft_comparisons(source, read_cells(source, open_sheets(source), NEEDED, OPTIONAL))


def draft_comparisons(source: Source, cells: Cells) -> Draft:
    """A study from votes whose columns are known."""
    meaning = outcomes(source, cells)
    if source.options.policies.missing == "drop":
        kept = meaning >= 0
        source.leave_out("rows without an answer", int((~kept).sum()))
        cells, meaning = cells.keep(kept), meaning[kept]
    prompts = name_prompts(source, cells)
    items = name_items(source, cells, ("left", "right"), prompts[0] if prompts else None)
    criterion, criteria = name_criteria(source, cells)
    rater, raters = name_raters(source, cells)
    columns = {
        "criterion": criterion,
        "rater": rater,
        "a": items.refer(0),
        "b": items.refer(1),
        **_answers(meaning),
        **_left(source, cells),
        **judgment_facts(cells),
    }
    tables = {"items": items.table, "raters": raters, "comparisons": pa.table(columns)}
    if prompts:
        tables["prompts"] = prompts[1]
    return Draft(criteria, tables, source.options.policies.compare_within or ("prompt" if prompts else "all"))


def _answers(meaning: np.ndarray) -> dict[str, Any]:
    """Numbers into ANSWERS + SKIPS (-1: blank) as the columns outcome and skipped."""
    outcome = np.where(meaning < len(ANSWERS), meaning, -1)
    columns: dict[str, Any] = {"outcome": refer(outcome, pa.array(ANSWERS))}
    unanswered = (meaning < 0) | (meaning >= len(ANSWERS))
    if unanswered.any():
        reason = np.where(meaning < 0, 0, meaning - len(ANSWERS))
        columns["skipped"] = refer(np.where(unanswered, reason, -1), pa.array(SKIPS))
    return columns


def _left(source: Source, cells: Cells) -> dict[str, Any]:
    known = source.options.left_known
    if known is None:
        left, right = (plain(cells.names[side]).split("_") for side in ("left", "right"))
        known = "left" in left and "left" not in right
        said = "was shown on the left" if known else "may have been shown on either side"
        source.say(f"the item in column {cells.names['left']!r} {said} (--left-known, --left-unknown)")
    return {"left": constant("a", len(cells))} if known else {}


def outcomes(source: Source, cells: Cells) -> np.ndarray:
    """Every row's answer as a number into ANSWERS + SKIPS, -1 where the cell is blank."""
    labels = number_labels([cells.column("outcome")])
    words = [spelled(word) for word in labels.texts.to_pylist()]
    vocabulary, complete = _vocabulary(source, cells, words)
    strange = {word for word in words if word and word not in vocabulary}
    items = set() if complete or not strange else _item_labels(cells)
    blank = {"", *(BLANKS & strange - items)}
    unknown = [number for number, word in enumerate(words) if word in strange - blank]
    if unknown and not any(words[number] in items for number in unknown):
        raise _unknown_word(cells, labels, unknown)
    if unknown:
        meaning = _by_item_label(cells, labels, vocabulary, blank)
    else:
        meanings = [-1 if word in blank else _number(vocabulary[word]) for word in words]
        meaning = np.array([*meanings, -1], np.int64)[labels.codes]
    _check_answered(source, cells, meaning)
    return meaning


def _vocabulary(source: Source, cells: Cells, words: list[str]) -> tuple[dict[str, str], bool]:
    """What the file's words mean, and whether that is all they can mean."""
    given = source.options.policies.outcome_values
    if given is not None:
        return parse_values(given), True
    column = cells.names["outcome"]
    known = WORDS | {word: meaning for word in words if (meaning := meaning_of(word)) is not None}
    if not any(is_number(word) for word in words):
        return known, False
    switch = switch_words(column)
    if switch is not None:
        source.say(f"in column {column!r}, 1 means that the item it names was chosen and 0 the other")
        return switch, True
    if set(filter(is_number, words)) <= _item_labels(cells):
        return known, False
    row = next(row for row, word in enumerate(cells.text("outcome")) if is_number(spelled(word.as_py() or "")))
    raise BadValue(
        "the meaning of numbers in an outcome column must be given",
        found=", ".join(sorted(set(words))[:6]),
        where=cells.where(row, "outcome"),
        remedy="say which item a number stands for, e.g. --outcome-values '1=a,0=b'",
    )


def _item_labels(cells: Cells) -> set[str]:
    texts = number_labels([cells.column("left"), cells.column("right")]).texts.to_pylist()
    return {spelled(text) for text in texts}


def _number(meaning: str) -> int:
    return (ANSWERS + SKIPS).index(meaning)


def _by_item_label(cells: Cells, labels: Labels, vocabulary: dict[str, str], blank: set[str]) -> np.ndarray:
    """The answer names the winning item; words for ties and skips keep their meaning."""
    together = number_labels([cells.column(part) for part in ("outcome", "left", "right")]).codes
    outcome, left, right = np.split(together, 3)
    words = [spelled(word) for word in labels.texts.to_pylist()]
    numbers = [-1 if word in blank else _other_than_a_side(vocabulary.get(word)) for word in words]
    meaning = np.array([*numbers, -1], np.int64)[labels.codes]
    meaning = np.where(outcome < 0, -1, np.where(outcome == left, 0, np.where(outcome == right, 1, meaning)))
    bad = np.flatnonzero(meaning == -2)
    if len(bad):
        raise _unknown_word(cells, labels, [int(labels.codes[bad[0]])], int(bad[0]))
    return meaning


def _other_than_a_side(meaning: str | None) -> int:
    return -2 if meaning in (None, "a", "b") else _number(meaning)


def _unknown_word(cells: Cells, labels: Labels, numbers: Sequence[int], row: int | None = None) -> BadValue:
    at = int(np.flatnonzero(np.isin(labels.codes, numbers))[0]) if row is None else row
    words = [shorten(str(labels.texts[number].as_py()), 40) for number in numbers[:6]]
    return BadValue(
        "the answer must be a known word or one of the row's two items",
        found=", ".join(map(repr, words)) + (f" and {len(numbers) - 6:,} more" if len(numbers) > 6 else ""),
        where=cells.where(at, "outcome"),
        remedy=f"say what every word means: --outcome-values '{words[0]}=MEANING,...' with MEANING one of "
        + ", ".join(ANSWERS + SKIPS)
        + "; or name another column: --outcome COLUMN",
    )


def _check_answered(source: Source, cells: Cells, meaning: np.ndarray) -> None:
    blank = np.flatnonzero(meaning < 0)
    if not len(blank):
        return
    refuse_blank(source, cells, "outcome", blank)


def refuse_blank(source: Source, cells: Cells, part: str, blank: np.ndarray) -> None:
    """Rows without an answer: an error, or the policy in words."""
    policy = source.options.policies.missing
    if policy == "error":
        raise BadValue(
            "every row needs an answer",
            found=f"{len(blank):,} rows without",
            where=cells.where(int(blank[0]), part),
            remedy="--missing drop leaves them out and counts them; --missing skipped keeps them as 'cannot judge'",
        )
    if policy == "skipped":
        source.say(f"{len(blank):,} rows without an answer are kept as skipped: cannot judge")
