"""Everything a file can do wrong, through the terminal: a named error or a stated policy, nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from salon.store import open_study

VOTES = "left,right,winner,worker,prompt\n"
RANKS = "rater,prompt,item,rank\n"
RATES = "rater,prompt,item,value\n"


def refused(salon, kind: str, content: str | bytes, name: str, *words: str) -> None:
    """Importing the content fails with this error and these words, and leaves nothing but the file itself."""
    Path("bad.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    told = salon(f"import {kind} bad.csv -o study --json")
    assert told.code == 2
    assert told.error == name, told.err
    for word in words:
        assert word in told.err
    assert [path.name for path in Path().iterdir()] == ["bad.csv"]
    assert salon("check bad.csv --json").code == 2
    assert [path.name for path in Path().iterdir()] == ["bad.csv"]


# -- answers ---------------------------------------------------------------------------------------------------------


def test_the_same_answer_twice(salon) -> None:
    rows = VOTES + "a,b,left,ann,p\n" * 2
    refused(salon, "comparisons", rows, "DuplicateJudgment", "ann", "--duplicates")
    assert salon("import comparisons bad.csv -o study --duplicates first").code == 0
    assert len(open_study("study").comparisons) == 1


def test_a_rater_twice_on_a_pair_with_different_answers(salon) -> None:
    rows = VOTES + "a,b,left,ann,p\na,b,right,ann,p\n"
    refused(salon, "comparisons", rows, "ConflictingJudgment", "ann", "two different answers")
    turned = VOTES + "a,b,left,ann,p\nb,a,left,ann,p\n"  # the same two answers, shown the other way round
    Path("bad.csv").unlink()
    refused(salon, "comparisons", turned, "ConflictingJudgment")
    assert salon("import comparisons bad.csv -o study --duplicates repeat").code == 0
    assert sorted(open_study("study").comparisons.repeat.tolist()) == [0, 1]


def test_items_of_another_prompt_in_a_ranking(salon) -> None:
    """In a study folder, where items say their prompt: named by row."""
    Path("good.csv").write_text(RANKS + "ann,p,a,1\nann,p,b,2\nann,q,c,1\nann,q,d,2\n")
    assert salon("import rankings good.csv -o study").code == 0
    table = next(Path("study").glob("**/rankings.*"))
    rows = {"criterion": "preference", "rater": "ann", "items": ["p/a", "q/c"], "ranks": [1, 2]}
    study = open_study("study")
    items = study.ids("items").to_pylist()
    rows["items"] = [next(i for i in items if i.endswith(end)) for end in ("a", "c")]
    rows["criterion"] = study.criteria[0].id
    table.unlink()
    (table.parent / "rankings.jsonl").write_text(json.dumps(rows) + "\n")
    told = salon("check study --json")
    assert (told.code, told.error) == (2, "WrongPrompt")
    assert "row 1" in told.err


def test_an_incomplete_ranking_is_a_stated_policy(salon) -> None:
    full = "".join(f"{r},p{p},{i},{n}\n" for r in ("ann", "bob") for p in range(6) for n, i in enumerate("abc", 1))
    Path("ranks.csv").write_text(RANKS + full + "cyd,p0,a,1\ncyd,p0,b,2\n")
    assert salon("import rankings ranks.csv -o study").code == 0
    told = salon("check study --draws 200 --json")
    assert told.code == 0
    policies = json.loads(told.out)["criteria"][0]["policies"]
    assert "answers left out because they do not cover every item of their prompt: 1" in policies


def test_ties_in_a_ranking_are_a_stated_policy(salon) -> None:
    rows = "".join(f"{r},p{p},{i},{n}\n" for r in ("ann", "bob") for p in range(6) for i, n in zip("abc", (1, 1, 2)))
    Path("ranks.csv").write_text(RANKS + rows)
    assert salon("import rankings ranks.csv -o study").code == 0
    told = salon("check study --draws 200 --json")
    criterion = json.loads(told.out)["criteria"][0]
    assert criterion["tie_rate"] == pytest.approx(1 / 3)
    assert any("ties (33.3%" in policy for policy in criterion["policies"])


@pytest.mark.parametrize("value", ["nan", "NA", ""])
def test_a_rating_without_a_value_is_refused_by_import_and_left_out_by_check(salon, value: str) -> None:
    Path("blank.csv").write_text(RATES + f"ann,p,a,1\nann,p,b,{value}\nbob,p,a,2\nbob,p,b,3\n")
    told = salon("import ratings blank.csv -o study --json")
    assert (told.code, told.error) == (2, "BadValue")
    assert "row 2" in told.err
    assert not Path("study").exists()
    told = salon("check blank.csv")
    assert told.code != 2
    assert "left out: 1 rows without an answer" in told.err


@pytest.mark.parametrize("value", ["inf", "-inf", "1e999", "three"])
def test_values_that_are_no_numbers(salon, value: str) -> None:
    refused(salon, "ratings", RATES + f"ann,p,a,1\nann,p,b,{value}\n", "BadValue", "row 2")


def test_a_rank_that_is_no_number(salon) -> None:
    refused(salon, "rankings", RANKS + "ann,p,a,1\nann,p,b,second\n", "BadValue")


def test_an_outcome_nobody_knows(salon) -> None:
    refused(salon, "comparisons", VOTES + "a,b,maybe,ann,p\n", "BadValue", "maybe")


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "\n\n", VOTES, "\ufeff"])
def test_empty_files(salon, content: str) -> None:
    refused(salon, "comparisons", content, "BadFile")


def test_wrong_columns_list_what_was_found_and_the_nearest_match(salon) -> None:
    refused(salon, "comparisons", "lefft,right,winner\na,b,left\n", "BadColumns", "'lefft'", "'right'", "--left lefft")


def test_a_byte_order_mark_is_no_part_of_a_name(salon) -> None:
    Path("votes.csv").write_bytes(("\ufeff" + VOTES + "a,b,left,ann,p\n").encode())
    assert salon("import comparisons votes.csv -o study").code == 0
    assert open_study("study").counts["comparisons"] == 1


def test_bytes_that_are_not_utf8(salon) -> None:
    content = (VOTES + "a,b,left,ren\u00e9,p\n").encode("latin-1")
    refused(salon, "comparisons", content, "BadFile", "0xe9", "--encoding")
    assert salon("import comparisons bad.csv -o study --encoding latin-1").code == 0
    assert open_study("study").ids("raters").to_pylist() == ["ren\u00e9"]


def test_a_cell_of_more_than_a_million_characters(salon) -> None:
    refused(salon, "comparisons", VOTES + f"a,b,left,{'x' * 1_000_001},p\n", "BadValue", "1,000,001")


def test_a_long_cell_does_not_flood_the_message(salon) -> None:
    Path("votes.csv").write_text(VOTES + f"a,b,{'x' * 900_000},ann,p\n")
    told = salon("import comparisons votes.csv -o study")
    assert told.code == 2
    assert len(told.err) < 3000


@pytest.mark.parametrize("path", ["nowhere", "nowhere.csv", "."])
def test_nothing_there(salon, path: str) -> None:
    told = salon(f"check {path} --json")
    assert told.code == 2
    assert told.error == "BadFile"


def test_a_file_of_no_known_kind(salon) -> None:
    Path("notes.txt").write_text("Dear diary,\nno judgments today.\n")
    told = salon("check notes.txt --json")
    assert told.code == 2
    assert told.error in ("BadFile", "BadColumns")


# -- shapes ----------------------------------------------------------------------------------------------------------


def votes(raters: int, items: int, prompts: int = 30) -> str:
    rows = [
        f"{chr(97 + i)},{chr(97 + j)},{'left' if (p + r + i) % 3 else 'right'},r{r},p{p}\n"
        for p in range(prompts)
        for r in range(raters)
        for i in range(items)
        for j in range(i)
    ]
    return VOTES + "".join(rows)


@pytest.mark.parametrize(("raters", "items"), [(4, 3), (2, 3), (3, 2)])
def test_shapes_that_cannot_cycle_are_a_stated_policy(salon, raters: int, items: int) -> None:
    Path("votes.csv").write_text(votes(raters, items))
    told = salon("check votes.csv --draws 200 --tie-repeats 3 --json")
    assert told.code == 0
    cycle = json.loads(told.out)["criteria"][0]["tests"][3]
    assert cycle["p"] is None
    assert "cycles need 3 items and 3, 5 or more raters" in cycle["refused"]


def test_one_rater_is_too_little(salon) -> None:
    Path("votes.csv").write_text(votes(1, 3))
    told = salon("check votes.csv --draws 200 --json --gate")
    assert told.code == 1
    (criterion,) = json.loads(told.out)["criteria"]
    assert criterion["agree"] == "cannot tell"
    assert "two decided votes" in criterion["sentence"]


def test_one_item_cannot_be_ranked(salon) -> None:
    Path("ranks.csv").write_text(RANKS + "ann,p,a,1\nbob,p,a,1\n")
    told = salon("import rankings ranks.csv -o study --json")
    if told.code == 0:
        told = salon("check study --json --gate")
        assert told.code == 1
        assert json.loads(told.out)["criteria"][0]["agree"] == "cannot tell"
    else:
        assert told.code == 2


def test_a_file_nested_without_end(salon) -> None:
    Path("deep.json").write_text(5000 * "[")
    Path("votes.csv").write_text(VOTES + "a,b,a,ann,p\n")
    told = salon("check votes.csv --anchor deep.json --json")
    assert (told.code, told.error) == (2, "BadFile")
    assert "nested" in told.err
