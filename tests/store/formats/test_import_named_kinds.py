"""Every named kind: a little made-up file gives exactly the study one would write by hand."""

from __future__ import annotations

import json
from pathlib import Path

import little_files as little
import pytest

from salon.check import AnchorSettings, anchor
from salon.errors import BadColumns, BadFile, BadValue, SalonError
from salon.store import KINDS, Columns, ImportOptions, Policies, import_files, read_study, recognize


def comparisons(study) -> list[tuple]:
    return [(c.rater, c.a, c.b, c.outcome, c.left) for c in study.nouns("comparisons")]


def rankings(study) -> list[tuple]:
    return [(r.rater, r.items, r.ranks) for r in study.nouns("rankings")]


def ratings(study) -> list[tuple]:
    return [(r.criterion, r.rater, r.item, r.value) for r in study.nouns("ratings")]


def kinds_of_raters(study) -> dict[str, str]:
    return {rater.id: rater.kind for rater in study.nouns("raters")}


@pytest.mark.parametrize(("kind", "name"), little.FILES)
def test_every_little_file_is_recognised_and_read(tmp_path: Path, kind: str, name: str) -> None:
    path = little.write(tmp_path, name, little.FILES[kind, name]())
    assert recognize(path) == kind
    imported = import_files(kind, [path])
    assert sum(imported.study.counts.get(judged, 0) for judged in ("comparisons", "rankings", "ratings"))
    assert imported.study.note.startswith(f"imported from {name} as {kind}")
    json.dumps(imported.record(), allow_nan=False)


def test_all_kinds_have_a_little_file_and_a_sentence() -> None:
    assert {kind for kind, _ in little.FILES} == {kind for kind, form in KINDS.items() if not form.folder}
    assert all(form.about.endswith(".") and form.name == name for name, form in KINDS.items())


@pytest.mark.parametrize("text", [little.PREFLIB, little.PREFLIB_OLD])
def test_preflib_both_layouts(tmp_path: Path, text: str) -> None:
    study = read_study("preflib", [little.write(tmp_path, "x.toc", text)])
    order = ("Fox", "Owl", "Elk")
    assert rankings(study) == [
        *((f"voter-{voter}", order, (1, 2, 3)) for voter in (1, 2, 3)),
        ("voter-4", ("Elk", "Fox", "Owl"), (1, 2, 2)),
    ]
    assert study.compare_within == "all"
    assert study.design.kind == "complete"


def test_preflib_incomplete_orders_and_names_that_repeat(tmp_path: Path) -> None:
    text = little.PREFLIB.replace("Owl", "Fox").replace("3: 1,2,3", "3: 2,1")
    study = read_study("preflib", [little.write(tmp_path, "x.toi", text)])
    assert rankings(study)[0] == ("voter-1", ("2", "1"), (1, 2))
    assert study.design.kind == "unknown"


@pytest.mark.parametrize(
    "line", ["x: 1,2,3", "3; 1,2", "3: 1,9", "3: 1,{2", "3: 1,1", "3: ", "-1: 1,2", "99999999999: 1,2", "999999999: 1"]
)
def test_preflib_bad_ballots_name_their_line(tmp_path: Path, line: str) -> None:
    path = little.write(tmp_path, "x.soc", little.PREFLIB.replace("3: 1,2,3", line))
    with pytest.raises((BadFile, BadValue), match="line 8"):
        read_study("preflib", [path])


def test_sushi(tmp_path: Path) -> None:
    study = read_study("sushi", [little.write(tmp_path, "s.order", little.SUSHI)])
    assert rankings(study)[0] == ("rater-1", ("sushi-2", "sushi-0", "sushi-1", "sushi-3"), (1, 2, 3, 4))
    assert study.counts == {"items": 4, "raters": 3, "rankings": 3}


@pytest.mark.parametrize("row", ["0 4 2 0 1", "1 4 2 0 1 3", "0 4 2 0 1 9", "0 4 2 0 1 1", "0 4 a b c d"])
def test_sushi_bad_rows(tmp_path: Path, row: str) -> None:
    path = little.write(tmp_path, "s.order", little.SUSHI + row + "\n")
    with pytest.raises((BadFile, BadValue), match="line 5"):
        read_study("sushi", [path])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("u.data", little.MOVIELENS_U_DATA),
        ("u.data", "user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + little.MOVIELENS_U_DATA),
        ("ratings.dat", little.MOVIELENS_DAT),
    ],
)
def test_movielens(tmp_path: Path, name: str, text: str) -> None:
    path = little.write(tmp_path, name, text)
    assert recognize(path) == "movielens"
    study = read_study("movielens", [path])
    assert ratings(study) == [("rating", "1", "10", 3.0), ("rating", "1", "11", 5.0), ("rating", "2", "10", 4.0)]
    assert study.compare_within == "all"
    assert study.criteria[0].scale is not None
    assert study.criteria[0].scale.levels == (1, 2, 3, 4, 5)


def test_movielens_half_stars_and_values_off_the_scale(tmp_path: Path) -> None:
    study = read_study("movielens", [little.write(tmp_path, "r.csv", little.MOVIELENS_CSV)])
    assert [value for *_, value in ratings(study)] == [3.0, 4.5, 0.5]
    assert study.criteria[0].scale is not None
    assert (study.criteria[0].scale.low, study.criteria[0].scale.step) == (0.5, 0.5)
    with pytest.raises(BadValue, match=r"between 0\.5 and 5"):
        read_study("movielens", [little.write(tmp_path, "r.csv", little.MOVIELENS_CSV.replace("4.5", "45"))])


def test_hpdv2_train_and_test_together(tmp_path: Path) -> None:
    train = little.write(tmp_path, "train.json", little.as_json(little.HPDV2_TRAIN))
    test = little.write(tmp_path, "test.json", little.as_json(little.HPDV2_TEST))
    study = read_study("hpdv2", [train, test])
    assert comparisons(study) == [
        ("u1", "f1.jpg", "f2.jpg", "a", "unknown"),
        ("u1", "f2.jpg", "f3.jpg", "b", "unknown"),
    ]
    assert rankings(study) == [
        ("u1", ("o1.jpg", "o2.jpg", "o3.jpg"), (1, 2, 3)),
        ("u2", ("o2.jpg", "o3.jpg", "o1.jpg"), (1, 2, 3)),
    ]
    assert {prompt.text for prompt in study.nouns("prompts")} == {"a red fox", "a grey owl"}
    assert kinds_of_raters(study) == {"u1": "person", "u2": "person"}


def test_hpdv2_ranks_from_zero_and_no_people(tmp_path: Path) -> None:
    record = {"prompt": "x", "image_path": ["a", "b"], "rank": [1, 0]}
    study = read_study("hpdv2", [little.write(tmp_path, "t.json", little.as_json([record]))])
    assert rankings(study) == [("consensus", ("b", "a"), (1, 2))]
    assert kinds_of_raters(study) == {"consensus": "crowd"}


def test_the_photograph_of_hpdv2_is_no_generator_and_no_part_of_an_anchor(tmp_path: Path) -> None:
    """Nine generators in one order; the photograph, everybody's favorite, stands after them on half of the prompts."""
    records = []
    for number in range(20):
        size = 9 + number % 2
        order = [*range(2, 11), 1][:size] if size == 10 else list(range(1, 10))
        people = [{"rank": order, "user_hash": f"u{n}"} for n in range(5)]
        images = [f"{number}-{place}.jpg" for place in range(size)]
        records.append({"prompt": f"p{number}", "image_path": images, "rank": order, "raw_annotations": people})
    imported = import_files("hpdv2", [little.write(tmp_path, "test.json", little.as_json(records))])
    items = {item.id: item for item in imported.study.nouns("items")}
    assert (items["1-9.jpg"].generator, items["1-9.jpg"].source) == (None, "photograph")
    assert items["1-8.jpg"].generator == "place-8"
    assert any("tenth image" in note for note in imported.notes)
    report = anchor(imported.study, AnchorSettings(draws=100, top_generators=4))
    assert (report.mean_tau, report.clusters) == (1, 20)
    assert any("10 left out" in policy for policy in report.policies)
    assert any(
        "10 kept" in policy for policy in anchor(imported.study, AnchorSettings(draws=100, photographs="keep")).policies
    )


def test_hpdv3_counts_votes_and_never_claims_a_side(tmp_path: Path) -> None:
    imported = import_files("hpdv3", [little.write(tmp_path, "all.json", little.as_json(little.HPDV3))])
    first = ("anonymous", "e1.jpg", "e2.jpg")
    assert comparisons(imported.study) == [
        *([(*first, "a", "unknown")] * 3),
        (*first, "b", "unknown"),
        ("anonymous", "e3.jpg", "e2.jpg", "a", "unknown"),
    ]
    assert kinds_of_raters(imported.study) == {"anonymous": "crowd"}
    assert imported.study.table("items").column("generator").to_pylist() == ["m1", None, None]
    assert any("left is unknown" in note for note in imported.notes)


def test_pickapic_ties_people_and_rows_without_a_label(tmp_path: Path) -> None:
    columns = {**little.PICKAPIC, "has_label": [True, False, True]}
    imported = import_files("pickapic", [little.write(tmp_path, "p.parquet", little.as_parquet(columns))])
    assert comparisons(imported.study) == [("7", "i1", "i2", "a", "unknown"), ("8", "i4", "i5", "b", "unknown")]
    assert imported.left_out == {"rows without a label (has_label is false)": 1}
    assert {item.id for item in imported.study.nouns("items")} == {"i1", "i2", "i4", "i5"}
    assert {item.generator for item in imported.study.nouns("items")} == {"m1", "m2"}


def test_pickapic_without_ids_names_images_by_their_bytes(tmp_path: Path) -> None:
    columns = {name: little.PICKAPIC[name] for name in ("caption", "label_0", "label_1", "jpg_0")}
    columns["jpg_1"] = [b"\xff\xd8two", b"\xff\xd8three", b"\xff\xd8five"]
    study = read_study("pickapic", [little.write(tmp_path, "p.parquet", little.as_parquet(columns))])
    (_, _, second, _, _), (_, first, *_), _ = comparisons(study)
    assert second == first  # jpg_1 of the first row is jpg_0 of the second
    assert len(first) == 32


@pytest.mark.parametrize("ids", [True, False])
def test_pickapic_images_on_request(tmp_path: Path, ids: bool) -> None:
    columns = {**little.PICKAPIC, "jpg_1": [{"bytes": b"\x89PNG2"}, {"bytes": b"\x89PNG3"}, {"bytes": b"\x89PNG5"}]}
    if not ids:
        columns = {name: cells for name, cells in columns.items() if not name.endswith("_uid")}
    path = little.write(tmp_path, "p.parquet", little.as_parquet(columns))
    study = read_study("pickapic", [path], ImportOptions(images=tmp_path / "kept"))
    images = [item.image for item in study.nouns("items")]
    assert all(images)
    found = {(tmp_path / "kept" / image).read_bytes() for image in images}
    assert b"\xff\xd8one" in found
    assert b"\x89PNG5" in found
    assert {image.rsplit(".")[-1] for image in images} == {"jpg", "png"}
    broken = little.write(tmp_path, "q.parquet", little.as_parquet({**columns, "jpg_0": ["x", "y", "z"]}))
    with pytest.raises(BadFile, match="image bytes"):
        read_study("pickapic", [broken], ImportOptions(images=tmp_path / "kept"))


def test_images_where_files_have_none(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.csv", little.COMPARISONS)
    with pytest.raises(BadValue, match="--images means nothing"):
        read_study("comparisons", [path], ImportOptions(images=tmp_path))


def test_pickapic_labels_that_make_no_sense(tmp_path: Path) -> None:
    columns = {**little.PICKAPIC, "label_0": [1.0, 1.0, 0.0], "label_1": [0.0, 1.0, 1.0]}
    with pytest.raises(BadValue, match="row 2"):
        read_study("pickapic", [little.write(tmp_path, "p.parquet", little.as_parquet(columns))])


def test_imagereward_keeps_ties_and_gaps(tmp_path: Path) -> None:
    study = read_study("imagereward", [little.write(tmp_path, "t.json", little.as_json(little.IMAGEREWARD))])
    assert rankings(study) == [
        ("consensus", ("b.webp", "a.webp", "c.webp"), (1, 2, 2)),
        ("consensus", ("d.webp", "e.webp"), (1, 5)),
    ]
    assert [prompt.id for prompt in study.nouns("prompts")] == ["r1", "r2"]


def test_arena_questions_turns_and_words(tmp_path: Path) -> None:
    study = read_study("arena", [little.write(tmp_path, "b.json", little.as_json(little.ARENA))])
    assert comparisons(study) == [
        ("u1", "q1/turn-1/m1", "q1/turn-1/m2", "a", "a"),
        ("u1", "q1/turn-1/m2", "q1/turn-1/m3", "both_bad", "a"),
        ("u2", "q2/turn-2/m1", "q2/turn-2/m2", "tie", "a"),
    ]
    assert {item.generator for item in study.nouns("items")} == {"m1", "m2", "m3"}


def test_arena_one_item_a_generator_on_request(tmp_path: Path) -> None:
    path = little.write(tmp_path, "b.json", little.as_json(little.ARENA))
    study = read_study("arena", [path], ImportOptions(policies=Policies(items_are="items")))
    assert {item.id for item in study.nouns("items")} == {"m1", "m2", "m3"}
    assert study.compare_within == "all"


def test_arena_kaggle_columns_and_fastchat_log(tmp_path: Path) -> None:
    study = read_study("arena", [little.write(tmp_path, "k.csv", little.ARENA_KAGGLE)])
    assert comparisons(study) == [
        ("anonymous", "1/m1", "1/m2", "a", "a"),
        ("anonymous", "2/m2", "2/m3", "tie", "a"),
    ]
    imported = import_files("arena", [little.write(tmp_path, "l.jsonl", little.as_lines(little.ARENA_LOG))])
    assert comparisons(imported.study) == [
        ("anonymous", "vote-1/m1", "vote-1/m2", "a", "a"),
        ("anonymous", "vote-2/m2", "vote-2/m3", "both_bad", "a"),
    ]
    assert imported.left_out == {"log entries that are no votes": 1}


def test_arena_two_winners_are_refused(tmp_path: Path) -> None:
    path = little.write(tmp_path, "k.csv", little.ARENA_KAGGLE.replace(",0,0,1", ",1,0,1"))
    with pytest.raises(BadValue, match="exactly one"):
        read_study("arena", [path])


def test_genai_bench_judges_are_models_and_unparsed_is_counted(tmp_path: Path) -> None:
    imported = import_files("genai-bench", [little.write(tmp_path, "v.csv", little.GENAI_BENCH)])
    assert comparisons(imported.study) == [
        ("human voters", "0/A", "0/B", "a", "a"),
        ("judge-x", "0/A", "0/B", "a", "a"),
        ("human voters", "1/A", "1/B", "both_bad", "a"),
        ("judge-x", "1/A", "1/B", "both_bad", "a"),
        ("judge-y", "1/A", "1/B", "b", "a"),
        ("human voters", "2/A", "2/B", "tie", "a"),
        ("judge-y", "2/A", "2/B", "tie", "a"),
    ]
    assert kinds_of_raters(imported.study) == {"human voters": "crowd", "judge-x": "model", "judge-y": "model"}
    assert imported.left_out == {"judge verdicts that are blank": 1, "judge verdicts that are none of the four": 1}


def test_genai_bench_one_file_a_judge(tmp_path: Path) -> None:
    lines = little.as_lines(little.GENAI_BENCH_JUDGE)
    paths = [little.write(tmp_path, f"{judge}/pairwise.jsonl", lines) for judge in ("x", "y")]
    study = read_study("genai-bench", paths)
    assert [rater for rater, *_ in comparisons(study)] == ["human voters", "x", "human voters", "y"]
    assert [c.rationale for c in study.nouns("comparisons")] == [None, "A.", None, "A."]


def test_label_studio(tmp_path: Path) -> None:
    imported = import_files("label-studio", [little.write(tmp_path, "e.json", little.as_json(little.LABEL_STUDIO))])
    study = imported.study
    assert comparisons(study) == [
        ("5", "fox-1.png", "fox-2.png", "a", "a"),
        ("bob@example.org", "fox-1.png", "fox-2.png", "tie", "unknown"),
    ]
    assert ratings(study) == [("stars", "5", "fox-1.png", 4.0)]
    assert rankings(study) == [("bob@example.org", ("task-1/y", "task-1/x"), (1, 2))]
    assert [c.id for c in study.criteria] == ["pw", "stars", "rank"]
    assert next(study.nouns("comparisons")).seconds == 4.25
    assert imported.left_out == {"annotations that were cancelled": 1}


def test_label_studio_words_and_fields_by_flag(tmp_path: Path) -> None:
    tasks = json.loads(json.dumps(little.LABEL_STUDIO))
    tasks[0]["annotations"][1]["result"][0]["value"]["choices"] = ["Image 2"]
    path = little.write(tmp_path, "e.json", little.as_json(tasks))
    with pytest.raises(BadValue, match="outcome-values"):
        read_study("label-studio", [path])
    options = ImportOptions(
        columns=Columns(left="image2", right="image1"),
        policies=Policies(outcome_values="left=a,right=b,Image 2=a"),
    )
    assert [c[1:4] for c in comparisons(read_study("label-studio", [path], options))] == [
        ("fox-2.png", "fox-1.png", "a"),
        ("fox-2.png", "fox-1.png", "a"),
    ]
    with pytest.raises(BadColumns, match="image1"):
        read_study("label-studio", [path], ImportOptions(columns=Columns(left="imge1", right="image2")))


def test_argilla(tmp_path: Path) -> None:
    study = read_study("argilla", [little.write(tmp_path, "r.json", little.as_json(little.ARGILLA))])
    assert comparisons(study) == [
        ("u1", "r1/response-1", "r1/response-2", "a", "unknown"),
        ("u2", "r1/response-1", "r1/response-2", "tie", "unknown"),
        ("judge-x", "r1/response-1", "r1/response-2", "b", "unknown"),
    ]
    assert rankings(study) == [("u1", ("r1/response-2", "r1/response-1"), (1, 2))]
    assert ratings(study) == [("quality", "u1", "r1", 4.0)]
    assert kinds_of_raters(study) == {"u1": "person", "u2": "person", "judge-x": "model"}


def test_dsg(tmp_path: Path) -> None:
    study = read_study("dsg", [little.write(tmp_path, "d.csv", little.DSG)])
    assert ratings(study)[0] == ("consistency", "501", "t_1/m1", 3.0)
    assert study.criteria[0].rate_question == "How consistent is it?"
    with pytest.raises(BadValue, match="between 1 and 5"):
        read_study("dsg", [little.write(tmp_path, "d.csv", little.DSG.replace(",5\n", ",6\n"))])


def test_imagenhub_one_file_a_rater(tmp_path: Path) -> None:
    paths = [little.write(tmp_path, f"T2I_rater{i}.tsv", little.IMAGENHUB) for i in (1, 2)]
    study = read_study("imagenhub", paths)
    assert study.counts == {"prompts": 2, "items": 4, "raters": 2, "ratings": 16}
    assert ratings(study)[:2] == [
        ("semantic-consistency", "rater1", "sample_0.jpg/M1", 1.0),
        ("perceptual-quality", "rater1", "sample_0.jpg/M1", 0.5),
    ]
    with pytest.raises(BadValue, match="'M2'"):
        read_study("imagenhub", [little.write(tmp_path, "T_r.tsv", little.IMAGENHUB.replace("[0.5, 1]", "[0.5]"))])


def test_pwcmp(tmp_path: Path) -> None:
    study = read_study("pwcmp", [little.write(tmp_path, "p.csv", little.PWCMP)])
    assert comparisons(study) == [
        ("o1", "window/m1", "window/m2", "a", "unknown"),
        ("o1", "window/m2", "window/m3", "b", "unknown"),
        ("o2", "door/m1", "door/m2", "b", "unknown"),
    ]


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in little.FILES} - {"comparisons", "ratings", "rankings"}))
def test_column_flags_are_refused_where_a_layout_is_fixed(tmp_path: Path, kind: str) -> None:
    name = next(name for found, name in little.FILES if found == kind)
    path = little.write(tmp_path, name, little.FILES[kind, name]())
    with pytest.raises(BadValue, match="means nothing"):
        read_study(kind, [path], ImportOptions(columns=Columns(value="x")))


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("hpdv2", {"file_path": ["only-one.jpg"]}),
        ("hpdv2", {"human_preference": [1, 1, 0]}),
        ("hpdv2", {"human_preference": [2, 0]}),
        ("hpdv2", {"prompt": None}),
        ("hpdv2", {"prompt": ["a"]}),
        ("hpdv2", {"prompt": "\ud800"}),
        ("hpdv2", {"prompt": "x" * 1_000_001}),
        ("hpdv3", {"choice_dist": [0, 0]}),
        ("hpdv3", {"choice_dist": [10**9, 0]}),
        ("hpdv3", {"confidence": float("nan")}),
        ("hpdv3", {"confidence": 10**400}),
        ("hpdv3", {"path1": ""}),
        ("imagereward", {"ranking": [1, 2]}),
        ("imagereward", {"ranking": [1.5, 2, 3]}),
        ("imagereward", {"ranking": [1, 2, float("inf")]}),
        ("imagereward", {"generations": ["a", "a", "b"]}),
        ("imagereward", {"generations": {"a": 1}}),
        ("label-studio", {"annotations": {"a": 1}}),
        ("label-studio", {"annotations": [{"result": [{"type": "pairwise", "value": {"selected": "up"}}]}]}),
        ("argilla", {"responses": {"q": {"value": 1}}}),
        ("argilla", {"fields": []}),
    ],
)
def test_records_that_break_their_promise_are_named(tmp_path: Path, kind: str, change: dict) -> None:
    records = {
        "hpdv2": little.HPDV2_TRAIN,
        "hpdv3": little.HPDV3,
        "imagereward": little.IMAGEREWARD,
        "label-studio": little.LABEL_STUDIO,
        "argilla": little.ARGILLA,
    }[kind]
    path = little.write(tmp_path, "x.json", little.as_json([{**records[0], **change}, *records[1:]]))
    with pytest.raises((BadValue, BadColumns), match="record 1"):
        read_study(kind, [path])


def test_recognition_lists_the_kinds_when_nothing_fits(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"none fits") as caught:
        recognize(little.write(tmp_path, "x.csv", "alpha,beta\n1,2\n"))
    assert all(kind in caught.value.needed for kind in KINDS)
    with pytest.raises(BadFile, match="several fit"):
        recognize(little.write(tmp_path, "y.csv", "item,rating,rank,rater\na,1,2,ann\n"))
    with pytest.raises(BadFile, match="nothing there"):
        recognize(tmp_path / "absent.csv")
    with pytest.raises(SalonError, match="known kind"):
        import_files("excel", [tmp_path])
    with pytest.raises(BadFile, match="at least one"):
        import_files("ratings", [])
