"""The generic kinds: the same study from any table format, guesses that are said, policies that are obeyed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import little_files as little
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from salon.errors import BadColumns, BadValue, ConflictingJudgment, DuplicateJudgment, WrongPrompt
from salon.store import Columns, ImportOptions, Policies, import_files, read_study


def options(left_known: bool | None = None, columns: dict | None = None, **policies) -> ImportOptions:
    return ImportOptions(columns=Columns(**(columns or {})), policies=Policies(**policies), left_known=left_known)


def table_of(text: str) -> pa.Table:
    return pa_csv.read_csv(pa.py_buffer(text.encode()))


def votes(study) -> list[tuple]:
    return [(c.rater, c.a, c.b, c.outcome) for c in study.nouns("comparisons")]


BY_HAND = [
    ("ann", "p1/fox", "p1/owl", "a"),
    ("ann", "p1/owl", "p1/elk", "b"),
    ("ann", "p1/fox", "p1/elk", "tie"),
    ("bob", "p1/fox", "p1/owl", "b"),
    ("bob", "p1/owl", "p1/elk", "both_bad"),
    ("ann", "p2/fox", "p2/owl", "a"),
]


def test_comparisons_by_hand(tmp_path: Path) -> None:
    imported = import_files("comparisons", [little.write(tmp_path, "v.csv", little.COMPARISONS)])
    study = imported.study
    assert votes(study) == BY_HAND
    assert study.counts == {"prompts": 2, "items": 5, "raters": 2, "comparisons": 6}
    assert {c.left for c in study.nouns("comparisons")} == {"a"}  # columns are named left and right
    item = next(study.nouns("items"))
    assert (item.id, item.prompt, item.generator) == ("p1/fox", "p1", "fox")
    assert imported.columns == {part: part for part in ("left", "right", "prompt")} | {
        "outcome": "winner",
        "rater": "worker",
    }
    said = " ".join(imported.notes)
    assert "--outcome winner" in said
    assert "taken for generators" in said
    assert "shown on the left" in said
    assert study.name == "v"


def same_table_in(folder: Path, form: str) -> Path:
    rows = table_of(little.COMPARISONS)
    path = folder / f"v.{form}"
    match form:
        case "parquet":
            pq.write_table(rows, path)
        case "json":
            path.write_text(json.dumps(rows.to_pylist()))
        case "jsonl":
            path.write_text("\n".join(json.dumps(row) for row in rows.to_pylist()))
        case "csv.gz":
            path.write_bytes(gzip.compress(little.COMPARISONS.encode()))
        case "utf16.csv":
            path.write_bytes(little.COMPARISONS.encode("utf-16"))
        case "bom.csv":
            path.write_bytes(b"\xef\xbb\xbf" + little.COMPARISONS.encode())
        case "semicolon.csv":
            path.write_text(little.COMPARISONS.replace(",", ";"))
        case "tsv":
            path.write_text(little.COMPARISONS.replace(",", "\t"))
        case "crlf.csv":
            path.write_bytes(little.COMPARISONS.replace("\n", "\r\n").encode())
        case "quoted.csv":
            quoted = "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in little.COMPARISONS.split())
            path.write_text(quoted)
    return path


@pytest.mark.parametrize(
    "form",
    ["parquet", "json", "jsonl", "csv.gz", "utf16.csv", "bom.csv", "semicolon.csv", "tsv", "crlf.csv", "quoted.csv"],
)
def test_every_form_of_the_same_table_is_the_same_study(tmp_path: Path, form: str) -> None:
    plain = read_study("comparisons", [little.write(tmp_path, "plain.csv", little.COMPARISONS)])
    imported = import_files("comparisons", [same_table_in(tmp_path, form)])
    assert imported.study.hash == plain.hash
    assert any("byte order mark" in note for note in imported.notes) == (form in ("utf16.csv", "bom.csv"))


def test_several_files_are_one_study_and_places_name_the_file(tmp_path: Path) -> None:
    lines = little.COMPARISONS.splitlines(keepends=True)
    one = little.write(tmp_path, "one.csv", "".join(lines[:4]))
    two = little.write(tmp_path, "two.csv", lines[0] + "".join(lines[4:]))
    assert votes(read_study("comparisons", [one, two])) == BY_HAND
    bad = little.write(tmp_path, "two.csv", lines[0] + "fox,owl,perhaps,ann,p3\n")
    with pytest.raises(BadValue, match=r"two.csv, data row 1"):
        read_study("comparisons", [one, bad])


def test_column_flags_overrule_guesses(tmp_path: Path) -> None:
    text = "x,y,who won,left,right\nfox,owl,x wins,1,2\n"
    path = little.write(tmp_path, "v.csv", text)
    chosen = options(columns={"left": "x", "right": "y", "outcome": "who won"}, outcome_values="x wins=a,y wins=b")
    study = read_study("comparisons", [path], chosen)
    assert votes(study) == [("anonymous", "fox", "owl", "a")]
    assert next(study.nouns("comparisons")).left == "unknown"
    assert study.compare_within == "all"
    known = chosen.model_copy(update={"left_known": True})
    assert next(read_study("comparisons", [path], known).nouns("comparisons")).left == "a"


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        *(("left", "a"), ("A", "a"), ("model_a", "a"), ("leftvote", "a"), ("[[A>B]]", "a"), ("A > B", "a")),
        *(("right", "b"), ("b", "b"), ("Model_B", "b"), (" Right ", "b"), ("rightvote", "b")),
        *(("tie", "tie"), ("draw", "tie"), ("TIE", "tie"), ("tievote", "tie"), ("a=b", "tie")),
        *(("both_bad", "both_bad"), ("tie (bothbad)", "both_bad"), ("bothbad_vote", "both_bad")),
    ],
)
def test_words_that_are_known(tmp_path: Path, word: str, meaning: str) -> None:
    study = read_study("comparisons", [little.write(tmp_path, "v.csv", f"left,right,winner\nfox,owl,{word}\n")])
    assert votes(study)[0][3] == meaning


def test_the_winner_may_be_named(tmp_path: Path) -> None:
    text = "left,right,winner\nTacos,Pizza,Pizza\nTacos,Sushi,Tacos\nPizza,Sushi,tie\n"
    assert [v[3] for v in votes(read_study("comparisons", [little.write(tmp_path, "v.csv", text)]))] == [
        "b",
        "a",
        "tie",
    ]
    numbered = "left,right,winner\n10,11,10\n11,12,12\n"
    assert [v[3] for v in votes(read_study("comparisons", [little.write(tmp_path, "n.csv", numbered)]))] == ["a", "b"]
    with pytest.raises(BadValue, match=r"row 2.*winner"):
        read_study("comparisons", [little.write(tmp_path, "v.csv", "left,right,winner\na1,a2,a1\na1,a2,a3\n")])


def test_numbers_as_outcomes_need_a_meaning(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.csv", "item_a,item_b,choice\nfox,owl,1\nowl,elk,0\n")
    with pytest.raises(BadValue, match="--outcome-values '1=a,0=b'"):
        read_study("comparisons", [path])
    assert [v[3] for v in votes(read_study("comparisons", [path], options(outcome_values="1=b,0=a")))] == ["b", "a"]
    for column, first in (("is_A_selected", "a"), ("left_wins", "a"), ("b_is_better", "b")):
        path = little.write(tmp_path, "v.csv", f"item_a,item_b,{column}\nfox,owl,1\nowl,elk,0\n")
        found = read_study("comparisons", [path], options(columns={"outcome": column}))
        assert votes(found)[0][3] == first
        assert votes(found)[1][3] != first


@pytest.mark.parametrize("bad", ["left", "left=maybe", "=a", "left=a,,right=b"])
def test_outcome_values_that_say_nothing(tmp_path: Path, bad: str) -> None:
    path = little.write(tmp_path, "v.csv", little.COMPARISONS)
    with pytest.raises(BadValue):
        read_study("comparisons", [path], options(outcome_values=bad))


def test_duplicates_and_conflicts(tmp_path: Path) -> None:
    same = little.write(
        tmp_path, "s.csv", little.COMPARISONS + "owl,fox,right,ann,p1\n"
    )  # the same pair the other way round
    with pytest.raises(DuplicateJudgment, match=r"s.csv"):
        read_study("comparisons", [same])
    path = little.write(tmp_path, "c.csv", little.COMPARISONS + "fox,owl,right,ann,p1\n")
    with pytest.raises(ConflictingJudgment):
        read_study("comparisons", [path])
    first = import_files("comparisons", [path], options(duplicates="first"))
    assert votes(first.study) == BY_HAND
    assert list(first.left_out.values()) == [1]
    last = read_study("comparisons", [path], options(duplicates="last"))
    assert votes(last) == [*BY_HAND[1:], ("ann", "p1/fox", "p1/owl", "b")]
    repeat = read_study("comparisons", [path], options(duplicates="repeat"))
    assert [c.repeat for c in repeat.nouns("comparisons")] == [0, 0, 0, 0, 0, 0, 1]


def test_a_crowd_may_answer_often_under_any_policy(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.csv", "left,right,winner\n" + "fox,owl,left\n" * 3)
    for policy in ("error", "first", "repeat"):
        assert len(votes(read_study("comparisons", [path], options(duplicates=policy)))) == 3


@pytest.mark.parametrize("seed", range(3))
def test_duplicates_equal_the_slow_definition(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [(*rng.permutation(4)[:2], rng.integers(3), rng.choice(["left", "right"])) for _ in range(60)]
    text = "left,right,rater,winner\n" + "".join(f"i{a},i{b},r{r},{w}\n" for a, b, r, w in rows)
    path = little.write(tmp_path, "v.csv", text)
    seen: dict[tuple, list[int]] = {}
    for number, (a, b, r, _) in enumerate(rows):
        seen.setdefault((frozenset((a, b)), r), []).append(number)
    firsts = sorted(places[0] for places in seen.values())
    lasts = sorted(places[-1] for places in seen.values())
    for policy, kept in (("first", firsts), ("last", lasts)):
        found = votes(read_study("comparisons", [path], options(duplicates=policy)))
        assert [f"{r}{a}{b}" for r, a, b, _ in found] == ["r{2}i{0}i{1}".format(*rows[n]) for n in kept]
    numbered = [0] * len(rows)
    for places in seen.values():
        for repeat, number in enumerate(places):
            numbered[number] = repeat
    repeats = read_study("comparisons", [path], options(duplicates="repeat"))
    assert [c.repeat for c in repeats.nouns("comparisons")] == numbered


def test_rows_without_an_answer(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.csv", little.COMPARISONS + "cat,dog,,ann,p1\n")
    with pytest.raises(BadValue, match=r"data row 7.*winner"):
        read_study("comparisons", [path])
    dropped = import_files("comparisons", [path], options(missing="drop"))
    assert votes(dropped.study) == BY_HAND
    assert dropped.left_out == {"rows without an answer": 1}
    assert "p1/cat" not in dropped.study.ids("items").to_pylist()  # nothing of a dropped row stays behind
    kept = read_study("comparisons", [path], options(missing="skipped"))
    assert kept.comparisons.skipped == 1
    skip = little.write(tmp_path, "s.csv", little.COMPARISONS + "cat,dog,skip,ann,p1\n")
    assert read_study("comparisons", [skip]).comparisons.skipped == 1


@pytest.mark.parametrize("word", ["NA", "n/a", "#N/A", "null"])
def test_words_for_a_cell_without_a_value(tmp_path: Path, word: str) -> None:
    """R, databases and spreadsheets write them: rows without an answer, unless an item has that name."""
    path = little.write(tmp_path, "v.csv", little.COMPARISONS + f"cat,dog,{word},ann,p1\n")
    with pytest.raises(BadValue, match=r"every row needs an answer[\s\S]*--missing drop"):
        read_study("comparisons", [path])
    assert votes(read_study("comparisons", [path], options(missing="drop"))) == BY_HAND
    winners = "left,right,winner\nfox,owl,fox\nfox,NA,NA\nfox,owl,n/a\n"
    named = import_files("comparisons", [little.write(tmp_path, "w.csv", winners)], options(missing="drop"))
    assert [one.outcome for one in named.study.nouns("comparisons")] == ["a", "b"]
    path = little.write(tmp_path, "r.csv", little.RATINGS.replace("4.5", word))
    with pytest.raises(BadValue, match=r"every row needs an answer[\s\S]*data row 2, column 'stars'"):
        read_study("ratings", [path])
    assert import_files("ratings", [path], options(missing="drop")).left_out == {"rows without an answer": 1}


def test_unknown_words_are_told_all_at_once(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.csv", "left,right,winner\nfox,owl,links\nfox,owl,rechts\nfox,owl,tie\n")
    with pytest.raises(BadValue, match=r"found: 'links', 'rechts'\n[\s\S]*data row 1[\s\S]*'links=MEANING,...'"):
        read_study("comparisons", [path])


def test_ratings_by_hand_and_their_scale(tmp_path: Path) -> None:
    path = little.write(tmp_path, "r.csv", little.RATINGS)
    study = read_study("ratings", [path], options(scale="1:5:0.5", criterion_id="beauty"))
    found = [(r.criterion, r.rater, r.item, r.value) for r in study.nouns("ratings")]
    assert found[:2] == [("beauty", "ann", "fox", 3.0), ("beauty", "ann", "owl", 4.5)]
    assert study.criteria[0].scale.step == 0.5
    with pytest.raises(BadValue, match="between 2 and 5"):
        read_study("ratings", [path], options(scale="2:5"))
    for scale in ("5", "a:b", "5:1", "1:5:0", "1:2:3:4", "nan:5"):
        with pytest.raises(BadValue):
            read_study("ratings", [path], options(scale=scale))


def test_a_built_in_criterion_brings_its_rubric(tmp_path: Path) -> None:
    path = little.write(tmp_path, "r.csv", little.RATINGS.replace("4.5", "4"))
    study = read_study("ratings", [path], options(criterion_id="ppaint/overall"))
    assert study.criteria[0].rubric
    assert study.criteria[0].scale.high == 5


@pytest.mark.parametrize("blank", ["NaN", "nan", "N/A", "null", "NULL", "NA", "<NA>", " ", ""])
def test_what_tables_write_for_no_value_is_none(tmp_path: Path, blank: str) -> None:
    rated = little.write(tmp_path, "r.csv", little.RATINGS.replace("4.5", f'"{blank}"'))
    with pytest.raises(BadValue, match=r"every row needs an answer[\s\S]*data row 2"):
        read_study("ratings", [rated])
    voted = little.write(tmp_path, "v.csv", f'left,right,winner,rater\nfox,owl,left,ann\nowl,hen,"{blank}",ann\n')
    assert len(read_study("comparisons", [voted], options(missing="drop")).comparisons) == 1
    unnamed = little.write(tmp_path, "u.csv", f'left,right,winner,rater\nfox,owl,left,ann\nowl,hen,left,"{blank}"\n')
    with pytest.raises(BadValue, match="rater"):
        read_study("comparisons", [unnamed])


@pytest.mark.parametrize(
    ("left", "right"),
    [("Left image", "Right image"), ("the left one", "the right one"), ("Image 1", "Image 2"), ("FIRST", "Second"),
     ("Option A", "Option B"), ("Left is better", "Right is much better"), ("Model (left)", "Model (right)")],
)  # fmt: skip
def test_sides_in_words_need_no_flag(tmp_path: Path, left: str, right: str) -> None:
    rows = f"fox,owl,{left},ann\nfox,hen,{right},ann\nowl,hen,Tie,ann\n"
    path = little.write(tmp_path, "v.csv", f"Model (left),Model (right),Which is better?,Rater\n{rows}")
    study = read_study("comparisons", [path])
    assert [vote.outcome for vote in study.nouns("comparisons")] == ["a", "b", "tie"]
    assert {vote.left for vote in study.nouns("comparisons")} == {"a"}, "the left column was shown on the left"
    named = read_study("comparisons", [path], options(columns={"left": "Model (left)", "right": "Model (right)"}))
    assert {vote.left for vote in named.nouns("comparisons")} == {"a"}


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e999", "3,5", "three", "1 2", "0x10"])
def test_ratings_that_are_no_numbers(tmp_path: Path, value: str) -> None:
    path = little.write(tmp_path, "r.csv", little.RATINGS.replace("4.5", f'"{value}"'))
    with pytest.raises(BadValue, match=r"finite number[\s\S]*data row 2, column 'stars'"):
        read_study("ratings", [path])


def test_ratings_of_generators_need_no_item_column(tmp_path: Path) -> None:
    text = "model,rating,rater,prompt\nm1,3,ann,a red fox\nm2,4,ann,a red fox\nm1,2,ann,an owl\n"
    study = read_study("ratings", [little.write(tmp_path, "r.csv", text)])
    assert study.counts == {"prompts": 2, "items": 3, "raters": 1, "ratings": 3}
    prompt = next(study.nouns("prompts"))
    assert prompt.text == "a red fox"
    assert next(study.nouns("items")).id == f"{prompt.id}/m1"


def test_prompt_ids_from_text_are_the_same_in_every_file(tmp_path: Path) -> None:
    head = "item,rating,rater,prompt\n"
    one = read_study("ratings", [little.write(tmp_path, "1.csv", head + "x,1,ann,a red fox\ny,1,ann,an owl\n")])
    two = read_study("ratings", [little.write(tmp_path, "2.csv", head + "z,1,ann,an owl\n")])
    assert one.ids("prompts")[1] == two.ids("prompts")[0]


def test_prompt_ids_with_their_text(tmp_path: Path) -> None:
    text = "item,rating,rater,prompt_id,prompt\nx,1,ann,7,a fox\ny,2,ann,7,a fox\n"
    study = read_study("ratings", [little.write(tmp_path, "r.csv", text)])
    assert [(p.id, p.text) for p in study.nouns("prompts")] == [("7", "a fox")]
    with pytest.raises(BadValue, match="one prompt text"):
        read_study("ratings", [little.write(tmp_path, "r.csv", text.replace("2,ann,7,a fox", "2,ann,7,an owl"))])


def test_a_column_of_texts_alone_is_the_prompt(tmp_path: Path) -> None:
    path = little.write(tmp_path, "r.csv", "item,rating,rater,brief\nx,1,ann,a red fox\nx,2,ann,an owl\n")
    study = read_study("ratings", [path], options(columns={"prompt_text": "brief"}))
    assert [prompt.text for prompt in study.nouns("prompts")] == ["a red fox", "an owl"]
    assert study.compare_within == "prompt"


def test_items_under_two_prompts(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.csv", little.COMPARISONS)
    with pytest.raises(WrongPrompt, match="--items-are generators"):
        read_study("comparisons", [path], options(items_are="items"))
    once = little.write(tmp_path, "o.csv", "left,right,winner,prompt\nfox,owl,left,p1\ncat,dog,left,p2\n")
    assert [i.id for i in read_study("comparisons", [once]).nouns("items")] == ["fox", "cat", "owl", "dog"]
    assert [i.prompt for i in read_study("comparisons", [once]).nouns("items")] == ["p1", "p2", "p1", "p2"]
    forced = read_study("comparisons", [once], options(items_are="generators"))
    assert next(forced.nouns("items")).id == "p1/fox"


def test_comparing_within_a_category(tmp_path: Path) -> None:
    text = "left,right,winner,category\nfox,owl,left,wild\ncat,dog,left,tame\n"
    study = read_study("comparisons", [little.write(tmp_path, "v.csv", text)], options(compare_within="category"))
    assert [i.category for i in study.nouns("items")] == ["wild", "tame", "wild", "tame"]
    crossing = little.write(tmp_path, "x.csv", text + "fox,dog,left,wild\n")
    with pytest.raises(BadValue, match="one category"):
        read_study("comparisons", [crossing], options(compare_within="category"))


def test_facts_of_judgments(tmp_path: Path) -> None:
    text = "item,rating,rater,seconds,repeat,when,sure,rationale\nx,1,ann,2.5,0,2024-01-01,0.5,dull\nx,2,ann,,1,,,\n"
    chosen = options(columns={"at": "when", "confidence": "sure"})
    one, two = read_study("ratings", [little.write(tmp_path, "r.csv", text)], chosen).nouns("ratings")
    assert (one.seconds, one.repeat, one.at, one.confidence, one.rationale) == (2.5, 0, "2024-01-01", 0.5, "dull")
    assert (two.seconds, two.repeat, two.at) == (None, 1, None)
    for bad in ("0.5", "-1", "40000"):
        with pytest.raises(BadValue, match="repeat"):
            read_study("ratings", [little.write(tmp_path, "r.csv", text.replace(",,1,", f",,{bad},"))])
    with pytest.raises(BadValue, match="negative"):
        read_study("ratings", [little.write(tmp_path, "r.csv", text.replace("2.5", "-1"))])


RANKED = [("ann", ("p1/fox", "p1/owl", "p1/elk"), (1, 2, 2)), ("bob", ("p1/owl", "p1/elk", "p1/fox"), (1, 2, 3))]


@pytest.mark.parametrize(
    "text",
    [
        little.RANKINGS_LONG,
        little.RANKINGS_WIDE,
        'ranking,rater,prompt\n"[""fox"", [""owl"", ""elk""]]",ann,p1\n"[""owl"", ""elk"", ""fox""]",bob,p1\n',
    ],
)
def test_rankings_long_wide_and_json(tmp_path: Path, text: str) -> None:
    study = read_study("rankings", [little.write(tmp_path, "r.csv", text)], options(items_are="generators"))
    assert [(r.rater, r.items, r.ranks) for r in study.nouns("rankings")] == RANKED


def test_rankings_in_parquet_lists(tmp_path: Path) -> None:
    table = pa.table({"ranking": [["fox", "owl"], ["owl", "fox"]], "rater": [1, 2]})
    pq.write_table(table, tmp_path / "r.parquet")
    study = read_study("rankings", [tmp_path / "r.parquet"])
    assert [(r.rater, r.items) for r in study.nouns("rankings")] == [("1", ("fox", "owl")), ("2", ("owl", "fox"))]


def test_other_separators_and_other_ranks(tmp_path: Path) -> None:
    study = read_study("rankings", [little.write(tmp_path, "r.csv", "ranking;rater\nfox,owl;ann\n")])
    assert next(study.nouns("rankings")).items == ("fox", "owl")
    text = "item,rank,rater\nfox,0,ann\nowl,1.5,ann\nelk,1.5,ann\n"
    imported = import_files("rankings", [little.write(tmp_path, "r.csv", text)])
    assert next(imported.study.nouns("rankings")).ranks == (1, 2, 2)
    assert any("numbered anew" in note for note in imported.notes)
    highest = read_study("rankings", [little.write(tmp_path, "r.csv", text)], options(best="highest"))
    assert next(highest.nouns("rankings")).items == ("owl", "elk", "fox")
    assert next(highest.nouns("rankings")).ranks == (1, 1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "ranking,rater\nfox>fox,ann\n",
        "ranking,rater\nfox>>owl,ann\n",
        "ranking,rater\n[1,ann\n",
        'ranking,rater\n"[{}]",ann\n',
        'ranking,rater\n"[true]",ann\n',
        'ranking,rater\n"[]",ann\n',
        'ranking,rater\n"[[]]",ann\n',
        "item,rank,rater\nfox,1,ann\nfox,2,ann\n",
        "item,rank,rater\nfox,first,ann\n",
        "item,rank,rater\nfox,,ann\n",
        "ranking,rater\n,ann\n",
    ],
)
def test_rankings_that_are_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadValue):
        read_study("rankings", [little.write(tmp_path, "r.csv", text)])


def test_a_million_votes_in_columns(tmp_path: Path) -> None:
    """Every row is where it was: the columnar path against plain numpy on the same draws."""
    rng, n = np.random.default_rng(5), 200_000
    prompt, worker = rng.integers(0, 500, n), np.arange(n)
    left = rng.integers(0, 12, n)
    right = (left + rng.integers(1, 12, n)) % 12
    won = rng.integers(0, 3, n)
    table = pa.table({"prompt": prompt, "left": left, "right": right, "worker": worker, "winner": won})
    table = table.set_column(4, "winner", pa.array(np.array(["left", "right", "tie"])[won]))
    pq.write_table(table, tmp_path / "v.parquet", row_group_size=10_000)
    pa_csv.write_csv(table, tmp_path / "v.csv")
    study = read_study("comparisons", [tmp_path / "v.parquet"])
    ids = np.array(study.ids("items").to_pylist())
    assert (ids[study.comparisons.a] == np.char.add(np.char.add(prompt.astype(str), "/"), left.astype(str))).all()
    assert (ids[study.comparisons.b] == np.char.add(np.char.add(prompt.astype(str), "/"), right.astype(str))).all()
    assert (study.comparisons.outcome == won).all()
    assert read_study("comparisons", [tmp_path / "v.csv"]).hash == study.hash


# -- tables as tools export them -------------------------------------------------------------------------------


def test_a_tsv_may_turn_out_to_hold_semicolons(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.tsv", "left;right;winner\nfox;owl;left\n")
    assert [vote[3] for vote in votes(read_study("comparisons", [path]))] == ["a"]


def test_a_number_of_votes_is_not_taken_for_the_vote(tmp_path: Path) -> None:
    path = little.write(
        tmp_path, "v.csv", 'Vote #,Image A,Image B,Preferred\n"1,000",fox,owl,B\n"1,001",fox,owl,skip\n'
    )
    study = read_study("comparisons", [path])
    assert len(study.comparisons) == 1
    assert study.comparisons.skipped == 1


def test_a_column_that_was_guessed_wrong_can_be_named(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.csv", "left,right,result,answer\nfox,owl,ok,left\n")
    with pytest.raises(BadValue, match="'ok'") as refused:
        read_study("comparisons", [path])
    assert "--outcome COLUMN" in str(refused.value)
    assert len(read_study("comparisons", [path], options(columns={"outcome": "answer"})).comparisons) == 1


def test_a_column_for_each_item_is_told_the_way_out(tmp_path: Path) -> None:
    path = little.write(tmp_path, "form.csv", "Timestamp,Name,How good? [1],How good? [2]\n9:10,Ann,4,2\n")
    with pytest.raises(BadColumns, match="columns for item and value") as refused:
        read_study("ratings", [path])
    assert "a row of each answer" in str(refused.value)


def test_ratings_without_a_scale_say_where_they_end(tmp_path: Path) -> None:
    path = little.write(tmp_path, "r.csv", "item,rater,rating\nfox,ann,2\nowl,ann,4.5\n")
    said = "no scale is stated; values run from 2 to 4.5 (--scale LOW:HIGH:STEP)"
    assert said in import_files("ratings", [path]).notes
    assert said not in import_files("ratings", [path], options(scale="1:5")).notes


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ((1, 3, 5), (1, 5, 1)),
        ((2, 5), (1, 5, 1)),
        ((0, 5), (0, 5, 1)),
        ((0.5, 3, 5), (0.5, 5, 0.5)),
        ((1, 4.5, 5), (1, 5, 0.5)),
        ((1, 7), (1, 7, 1)),
        ((3, 40, 100), (0, 100, 1)),
        ((2, 4), None),
        ((5, 5), None),
        ((-1, 5), None),
        ((1.25, 5), None),
    ],
)
def test_a_scale_is_guessed_where_the_values_show_one(
    tmp_path: Path, values: tuple[float, ...], scale: tuple[float, float, float] | None
) -> None:
    rows = "".join(f"f{n},u{n % 2},{value}\n" for n, value in enumerate(values))
    path = little.write(tmp_path, "r.csv", "movieId,userId,rating\n" + rows)
    imported = import_files("ratings", [path])
    guessed = imported.study.criteria[0].scale
    assert scale == (guessed and (guessed.low, guessed.high, guessed.step))
    assert ("is taken as" in str(imported.notes)) == (scale is not None)
    said = import_files("ratings", [path], options(scale="-10:200")).study.criteria[0].scale
    assert said is not None
    assert (said.low, said.high) == (-10, 200)


def test_a_criterion_whose_ends_nobody_took_has_the_scale_of_its_file(tmp_path: Path) -> None:
    rows = "item,rater,criterion,rating\nfox,ann,mood,1\nowl,ann,mood,5\nfox,ann,hue,2\nowl,ann,hue,4\n"
    criteria = import_files("ratings", [little.write(tmp_path, "r.csv", rows)]).study.criteria
    assert [one.scale and one.scale.high for one in criteria] == [5, 5]
