"""A study's answers in the files that others of the field read: HPD, Pick-a-Pic, FastChat's votes, PrefLib.

One file for each criterion (PrefLib: for each criterion and group of items). None of these formats holds everything a
study does, so what had to be left out is counted and reported. `salon import` reads each of them back.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from salon.errors import BadFile, InputError
from salon.store.atomic_files import whole_file, whole_folder
from salon.store.folder import EXPORTS
from salon.study import JUDGMENTS, Item, Study

Row = dict[str, Any]
_LABELS = {"a": (1.0, 0.0), "b": (0.0, 1.0), "tie": (0.5, 0.5)}
_WINNERS = {"a": "model_a", "b": "model_b", "tie": "tie", "both_bad": "tie (bothbad)"}


@dataclass
class FieldExport:
    """What an export to a file of the field wrote, and what it had to leave out."""

    rows: dict[str, int] = field(default_factory=dict)
    """Records in each file."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Answers without a place in the format, by reason."""


def export_field(study: Study, path: Path | str, to: str) -> FieldExport:
    """Write the answers of `study` into the new folder `path` as `to`, one of FIELD_FILES."""
    if to not in FIELD_FILES:
        raise InputError(f"a format of the field is one of {', '.join(FIELD_FILES)}", found=repr(to))
    place = Path(path).resolve()
    export = FieldExport()
    with whole_folder(place) as folder:
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise BadFile("a new or empty folder is needed", found="something there", where=str(place))
        for name, data, rows in FIELD_FILES[to](_StudyAnswers(study, export)):
            with whole_file(folder / name) as file:
                file.write(data)
            export.rows[name] = rows
        if not export.rows:
            needs = "rankings" if to == "preflib" else "comparisons or rankings" if to == "hpdv2" else "comparisons"
            raise BadFile(
                f"{to} holds {needs}",
                found=", ".join(kind for kind in JUDGMENTS if kind in study.counts) or "none in this study",
                where=study.name,
                remedy="preflib and hpdv2 hold rankings, all but preflib comparisons; "
                f"{', '.join(EXPORTS)} hold every answer",
            )
    return export


class _StudyAnswers:
    """The study's answers as plain rows, with what the formats want to know about items."""

    def __init__(self, study: Study, export: FieldExport) -> None:
        self.study, self.left_out = study, export.left_out
        self.items: dict[str, Item] = {item.id: item for item in study.nouns("items")}
        self.prompts = {prompt.id: prompt.view() for prompt in study.nouns("prompts")}

    def given(self, kind: str) -> Iterator[tuple[str, list[Row]]]:
        """Answers of a kind by criterion, without the skipped ones."""
        if kind not in self.study.counts:
            return
        by: dict[str, list[Row]] = defaultdict(list)
        for row in self.study.table(kind).to_pylist():
            if row.get("skipped"):
                self.left_out["skipped"] += 1
            else:
                by[row["criterion"]].append(row)
        yield from by.items()

    def prompt(self, item: str) -> str:
        """The text of an item's prompt; its category where it has none."""
        record = self.items[item]
        return self.prompts.get(record.prompt or "") or record.category or self.study.name

    def image(self, item: str) -> str:
        """The path of an item's image; its id where it has none."""
        return self.items[item].image or item


# -- HPDv2, HPDv3 -------------------------------------------------------------------------------------------------


def _hpdv2(answers: _StudyAnswers) -> Iterator[tuple[str, bytes, int]]:
    for criterion, rows in answers.given("comparisons"):
        yield _json_file(f"{_plain(criterion)}-train.json", list(_hpdv2_votes(answers, rows)))
    for criterion, rows in answers.given("rankings"):
        yield _json_file(f"{_plain(criterion)}-test.json", list(_hpdv2_orders(answers, rows)))


def _hpdv2_votes(answers: _StudyAnswers, rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        if row["outcome"] not in _LABELS:
            answers.left_out["both bad"] += 1
            continue
        yield {
            "prompt": answers.prompt(row["a"]),
            "file_path": [answers.image(row["a"]), answers.image(row["b"])],
            "human_preference": list(_LABELS[row["outcome"]]),
            "user_hash": row["rater"],
        }


def _hpdv2_orders(answers: _StudyAnswers, rows: Iterable[Row]) -> Iterator[Row]:
    """One record for each set of items: everybody's ranks, and the order of the mean ranks."""
    sets: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        sets[tuple(sorted(row["items"]))].append(row)
    for items, set_rows in sets.items():
        ranks = [dict(zip(row["items"], row["ranks"])) for row in set_rows]
        means = {item: sum(rank_of[item] for rank_of in ranks) / len(ranks) for item in items}
        places = {item: 1 + sum(mean < means[item] for mean in means.values()) for item in items}
        yield {
            "prompt": answers.prompt(items[0]),
            "image_path": [answers.image(item) for item in items],
            "rank": [places[item] for item in items],
            "raw_annotations": [
                {"rank": [rank_of[item] for item in items], "user_hash": row["rater"]}
                for rank_of, row in zip(ranks, set_rows)
            ],
        }


def _hpdv3(answers: _StudyAnswers) -> Iterator[tuple[str, bytes, int]]:
    """Pairs by majority, the preferred image first; ties and even pairs have no place there."""
    for criterion, rows in answers.given("comparisons"):
        votes: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        for row in rows:
            if row["outcome"] not in ("a", "b"):
                answers.left_out["tie" if row["outcome"] == "tie" else "both bad"] += 1
                continue
            winner, loser = (row["a"], row["b"]) if row["outcome"] == "a" else (row["b"], row["a"])
            first, second = sorted((winner, loser))
            votes[first, second][0 if winner == first else 1] += 1
        yield _json_file(f"{_plain(criterion)}.json", list(_hpdv3_pairs(answers, votes)))


def _hpdv3_pairs(answers: _StudyAnswers, votes: dict[tuple[str, str], list[int]]) -> Iterator[Row]:
    for (first, second), (wins, losses) in votes.items():
        if wins == losses:
            answers.left_out["in pairs that split evenly"] += wins + losses
            continue
        better, worse = (first, second) if wins > losses else (second, first)
        yield {
            "prompt": answers.prompt(better),
            "path1": answers.image(better),
            "path2": answers.image(worse),
            "confidence": max(wins, losses) / (wins + losses),
            "choice_dist": [max(wins, losses), min(wins, losses)],
            "model1": answers.items[better].generator,
            "model2": answers.items[worse].generator,
        }


# -- Pick-a-Pic, FastChat -----------------------------------------------------------------------------------------


def _pickapic(answers: _StudyAnswers) -> Iterator[tuple[str, bytes, int]]:
    for criterion, rows in answers.given("comparisons"):
        records = list(_pickapic_rows(answers, rows))
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(records), sink)
        yield f"{_plain(criterion)}.parquet", sink.getvalue().to_pybytes(), len(records)


def _pickapic_rows(answers: _StudyAnswers, rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        if row["outcome"] not in _LABELS:
            answers.left_out["both bad"] += 1
            continue
        labels = _LABELS[row["outcome"]]
        yield {
            "caption": answers.prompt(row["a"]),
            "image_0_uid": row["a"],
            "image_1_uid": row["b"],
            "label_0": labels[0],
            "label_1": labels[1],
            "model_0": answers.items[row["a"]].generator,
            "model_1": answers.items[row["b"]].generator,
            "user_id": row["rater"],
            "created_at": row.get("at"),
        }


def _arena(answers: _StudyAnswers) -> Iterator[tuple[str, bytes, int]]:
    """Votes between generators; model_a is the one that stood on the left, where that is known."""
    for criterion, rows in answers.given("comparisons"):
        lines = [json.dumps(row, ensure_ascii=False) for row in _arena_rows(answers, rows)]
        yield f"{_plain(criterion)}.jsonl", ("\n".join(lines) + "\n").encode(), len(lines)


def _arena_rows(answers: _StudyAnswers, rows: Iterable[Row]) -> Iterator[Row]:
    turned = {"a": "b", "b": "a"}
    for row in rows:
        a, b, outcome = row["a"], row["b"], row["outcome"]
        if row.get("left") == "b":
            a, b, outcome = b, a, turned.get(outcome, outcome)
        models = [answers.items[item].generator for item in (a, b)]
        if None in models:
            answers.left_out["of items without a generator"] += 1
            continue
        vote = {"model_a": models[0], "model_b": models[1], "winner": _WINNERS[outcome], "judge": row["rater"]}
        at = row.get("at")
        prompt = answers.items[a].prompt
        yield (
            vote
            | ({"question_id": prompt} if prompt else {})
            | ({"tstamp": datetime.fromisoformat(at).timestamp()} if at else {})
        )


# -- PrefLib ------------------------------------------------------------------------------------------------------


def _preflib(answers: _StudyAnswers) -> Iterator[tuple[str, bytes, int]]:
    """Orders of one group of items in a file; .soc and .toc where everybody ranked all, else .soi and .toi."""
    for criterion, rows in answers.given("rankings"):
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            within, item = answers.study.compare_within, answers.items[row["items"][0]]
            groups["all" if within == "all" else getattr(item, within) or "all"].append(row)
        for number, (group, group_rows) in enumerate(groups.items(), 1):
            items = sorted({item for row in group_rows for item in row["items"]})
            tied = any(len(set(row["ranks"])) < len(row["ranks"]) for row in group_rows)
            whole = all(len(row["items"]) == len(items) for row in group_rows)
            suffix = ("to" if tied else "so") + ("c" if whole else "i")
            text = _ballots(f"{answers.study.name}, {criterion}, {group}", items, group_rows, suffix)
            yield f"{_plain(criterion)}-{number}.{suffix}", text.encode(), len(group_rows)


def _ballots(title: str, items: list[str], rows: list[Row], suffix: str) -> str:
    number = {item: k for k, item in enumerate(items, 1)}
    orders = Counter(_order(row, number) for row in rows)
    head = [
        f"# TITLE: {title}".replace("\n", " "),
        f"# DATA TYPE: {suffix}",
        f"# NUMBER ALTERNATIVES: {len(items)}",
        *(f"# ALTERNATIVE NAME {k}: {item}".replace("\n", " ") for item, k in number.items()),
        f"# NUMBER VOTERS: {len(rows)}",
        f"# NUMBER UNIQUE ORDERS: {len(orders)}",
    ]
    return "\n".join([*head, *(f"{count}: {order}" for order, count in orders.most_common())]) + "\n"


def _order(row: Row, number: dict[str, int]) -> str:
    levels: dict[int, list[str]] = defaultdict(list)
    for item, rank in zip(row["items"], row["ranks"]):
        levels[rank].append(str(number[item]))
    parts = [level[0] if len(level) == 1 else "{" + ",".join(level) + "}" for _, level in sorted(levels.items())]
    return ",".join(parts)


# -- names and files ----------------------------------------------------------------------------------------------

FIELD_FILES: dict[str, Callable[[_StudyAnswers], Iterator[tuple[str, bytes, int]]]] = {
    "hpdv2": _hpdv2,
    "hpdv3": _hpdv3,
    "pickapic": _pickapic,
    "arena": _arena,
    "preflib": _preflib,
}


def _json_file(name: str, rows: list[Row]) -> tuple[str, bytes, int]:
    return name, json.dumps(rows, ensure_ascii=False, indent=1).encode(), len(rows)


def _plain(criterion: str) -> str:
    """A criterion's id as part of a file name."""
    return re.sub(r"[^\w.-]+", "-", criterion).strip("-.") or "criterion"
