"""Answers in the files of the field: written, and read back by the importers of those files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from salon.errors import BadFile
from salon.store import FIELD_FILES, export_field, import_files, recognize
from salon.study import Comparison, Criterion, Item, Prompt, Ranking, Rater, Study

OUTCOMES = ["a", "b", "b", "tie", "both_bad"]


def votes() -> Study:
    """Five raters on one pair, one on another, one who skipped."""
    items = [Item(id=f"i{k}", prompt="p", generator=f"house{k}", image=f"images/{k}.png") for k in range(3)]
    given = [
        Comparison(
            criterion="taste/fit",
            rater=f"r{k}",
            a="i1",
            b="i0",
            outcome=outcome,
            left="b",
            at=f"2026-01-0{k + 1}T10:00:00+00:00",
        )
        for k, outcome in enumerate(OUTCOMES)
    ]
    given += [
        Comparison(criterion="taste/fit", rater="r0", a="i1", b="i2", outcome="a", left="a"),
        Comparison(criterion="taste/fit", rater="r1", a="i1", b="i2", skipped="cannot judge"),
    ]
    return Study.build(
        "posters",
        [Criterion(id="taste/fit")],
        tables={
            "prompts": [Prompt(id="p", text="A jazz night, “late”")],
            "items": items,
            "raters": [Rater(id=f"r{k}") for k in range(5)],
            "comparisons": given,
        },
    )


def orders() -> Study:
    items = [Item(id=f"i{k}", prompt="p", image=f"{k}.png") for k in range(3)]
    given = [
        Ranking(criterion="fit", rater="r0", items=("i2", "i0", "i1"), ranks=(1, 2, 3)),
        Ranking(criterion="fit", rater="r1", items=("i2", "i1", "i0"), ranks=(1, 1, 2)),
    ]
    return Study.build(
        "orders",
        [Criterion(id="fit")],
        tables={
            "prompts": [Prompt(id="p", text="A cat")],
            "items": items,
            "raters": [Rater(id="r0"), Rater(id="r1")],
            "rankings": given,
        },
    )


def read_back(folder: Path, kind: str) -> Study:
    (file,) = folder.iterdir()
    assert recognize(file) == kind
    return import_files(kind, [file]).study


def named_outcomes(study: Study) -> list[tuple[str, str, str]]:
    """Rater, and the images of winner and loser, or the tie."""
    images = {item.id: item.image or item.id for item in study.nouns("items")}
    found = []
    for one in study.nouns("comparisons"):
        if one.outcome in ("a", "b"):
            pair = (one.a, one.b) if one.outcome == "a" else (one.b, one.a)
            found.append((one.rater, images[pair[0]], images[pair[1]]))
        elif one.outcome:
            found.append((one.rater, one.outcome, one.outcome))
    return sorted(found)


@pytest.mark.parametrize("kind", ["hpdv2", "pickapic"])
def test_votes_come_back_as_they_were_without_both_bad_and_skipped(kind: str, tmp_path: Path) -> None:
    written = export_field(votes(), tmp_path / "out", kind)
    assert written.left_out == {"both bad": 1, "skipped": 1}
    assert list(written.rows.values()) == [5]
    told = [one for one in named_outcomes(votes()) if one[1] != "both_bad"]
    if kind == "pickapic":  # it names images by their ids
        told = sorted(
            (rater, *(f"i{name[7]}" if "images/" in name else name for name in pair)) for rater, *pair in told
        )
    assert named_outcomes(read_back(tmp_path / "out", kind)) == told


def test_hpdv3_holds_the_majority_and_its_share(tmp_path: Path) -> None:
    written = export_field(votes(), tmp_path / "out", "hpdv3")
    assert written.left_out == {"tie": 1, "both bad": 1, "skipped": 1}
    text = (tmp_path / "out" / "taste-fit.json").read_text()
    assert '"path1": "images/0.png"' in text  # b won two of three
    assert '"choice_dist": [\n   2,\n   1\n  ]' in text
    assert len(read_back(tmp_path / "out", "hpdv3").comparisons) > 0


def test_arena_takes_votes_whose_sides_nobody_recorded(tmp_path: Path) -> None:
    whole = votes()
    rows = [one.model_copy(update={"left": None}) for one in whole.nouns("comparisons")]
    tables = {kind: list(whole.nouns(kind)) for kind in ("prompts", "items", "raters")} | {"comparisons": rows}
    export_field(Study.build("s", whole.criteria, tables=tables), tmp_path / "out", "arena")
    assert len((tmp_path / "out" / "taste-fit.jsonl").read_text().splitlines()) > 4


def test_arena_puts_the_left_one_first(tmp_path: Path) -> None:
    export_field(votes(), tmp_path / "out", "arena")
    lines = (tmp_path / "out" / "taste-fit.jsonl").read_text().splitlines()
    assert '"model_a": "house0", "model_b": "house1", "winner": "model_b"' in lines[0]  # i1 won, shown on the right
    assert '"winner": "tie (bothbad)"' in lines[4]
    back = read_back(tmp_path / "out", "arena")
    assert back.comparisons.outcome.tolist().count(3) == 1


@pytest.mark.parametrize("kind", ["preflib", "hpdv2"])
def test_orders_come_back_with_their_ties(kind: str, tmp_path: Path) -> None:
    export_field(orders(), tmp_path / "out", kind)
    back = read_back(tmp_path / "out", kind)
    digit = {item.id: re.search(r"\d", item.image or item.id)[0] for item in back.nouns("items")}
    found = [
        dict(sorted((digit[item], rank) for item, rank in zip(one.items, one.ranks))) for one in back.nouns("rankings")
    ]
    assert {"0": 2, "1": 3, "2": 1} in found
    assert {"0": 2, "1": 1, "2": 1} in found


@pytest.mark.parametrize("kind", FIELD_FILES)
def test_a_study_without_such_answers_writes_nothing(kind: str, tmp_path: Path) -> None:
    empty = Study.build("empty", [Criterion(id="fit")], tables={"items": [Item(id="x")]})
    with pytest.raises(BadFile, match=kind) as refused:
        export_field(empty, tmp_path / "out", kind)
    assert "jsonl, huggingface hold every answer" in str(refused.value)
    assert not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    with pytest.raises(BadFile, match="empty folder"):
        export_field(votes(), tmp_path / "full", kind)
