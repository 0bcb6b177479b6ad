"""Public files: read in every variant, written back as the same bytes, refused when they are something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from public_files import ALL, LINES, made, records

from salon.bench import GROUPS, TASKS, find_files, task_named
from salon.bench.posters.files import find_picture, new_file, open_file, parse_file
from salon.bench.posters.item import texts_in
from salon.errors import BadFile, BadValue

STYLES = (
    {"indent": 4, "ensure_ascii": False},
    {"indent": 2, "ensure_ascii": True},
    {"indent": None, "ensure_ascii": True},
    {"indent": None, "separators": (",", ":"), "ensure_ascii": False},
)


def test_the_tasks_are_those_of_the_benchmark() -> None:
    assert len(TASKS) == 24
    assert sum(task.side == "understanding" for task in TASKS) == 19
    in_groups = {name: sum(m.grouped for t in TASKS if t.group == name for m in t.metrics) for name in GROUPS}
    assert in_groups == {"OCR": 5, "Font": 5, "Layout": 10, "Understanding": 3, "Rating": 1}


@pytest.mark.parametrize("name", ALL)
def test_every_public_shape_is_read_and_written_back_identically(name: str, tmp_path: Path) -> None:
    for number, style in enumerate(STYLES):
        place = tmp_path / f"{number}.json"
        place.write_bytes(json.dumps(records(name), **style).encode())
        opened = open_file(place)
        assert opened.task == task_named(name)
        assert len(opened.items) == 12
        assert list(opened.records) == records(name)
        opened.edited({}).write(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == place.read_bytes()


RARER = [
    ("font_effect_2", {"gt": ["silvery"], "effects": []}, ("silvery",)),  # one public record has no effect
    ("font_effect_2", {"gt": ["red", "a", "b", "c", "d"]}, ("red", "a", "b", "c", "d")),
    ("rotation", {"alignment": ["left-aligned", "right-aligned"]}, "counterclockwise rotation"),
    ("font_size_ocr", {"gt": ["one line", "two"], "text": ["one line", "two"]}, ("one line", "two")),
    ("poster_ocr", {"path_original": "D:\\\\a\\b.png", "text_bbox": [[1, 2, 3, 4]], "bbox_areas": [4.0]}, None),
    ("simple_ocr", {"gt": None}, tuple(f"{line}0" for line in LINES)),  # texts alone
    ("layout_generation", {"gt": None}, None),
    ("overall_rating", {"gt": 7}, 7.0),
    ("gen_dense", {"elements": [], "gt": ["a fox is there"]}, ("a fox is there",)),
    ("gen_font", {"texts": "['single', 'quotes']"}, None),
    ("composition_understanding", {"gt": ["only one"], "response": "x", "judge": ["Yes"]}, ("only one",)),
]


@pytest.mark.parametrize(("name", "change", "truth"), RARER)
def test_rarer_shapes_are_read_and_written_back_identically_too(
    name: str, change: dict, truth: object, tmp_path: Path
) -> None:
    first, *others = records(name)
    held = {key: value for key, value in (first | change).items() if value is not None}
    for style in STYLES:
        text = json.dumps([held, *others], **style)
        opened = parse_file(text, tmp_path / "a.json")
        assert truth is None or opened.items[0].truth == truth
        opened.edited({}).write(tmp_path / "a.json")
        assert (tmp_path / "a.json").read_bytes() == text.encode()
        answered = opened.edited({0: {"response": "said"}})
        assert answered.edited({0: {"response": held.get("response")}}).text == text


@pytest.mark.parametrize("style", STYLES)
def test_response_and_judge_go_in_as_the_files_own_writer_would_put_them(style: dict) -> None:
    said = {"response": 'Über "all"\nlines', "judge": ["Yes", "No, 不"]}
    wanted = [record | said for record in records("composition_understanding")]
    filled = made("composition_understanding", **style).edited(dict.fromkeys(range(12), said))
    assert filled.text == json.dumps(wanted, **style)
    assert filled.items[3].response == said["response"]
    assert filled.items[3].judge == ("Yes", "No, 不")
    other = filled.edited({3: {"response": "B"}})
    assert other.records[3]["response"] == "B"
    assert other.edited({3: said}).text == filled.text
    gone = filled.edited({i: {"response": None, "judge": None} for i in range(12)})
    assert gone.text == json.dumps(records("composition_understanding"), **style)


def test_odd_hands_are_kept() -> None:
    record = records("logo_ocr", 1)[0]
    text = (
        "\ufeff [ " + json.dumps(record).replace('": ', '"  : ').replace("}", ',\r\n "x": 2.50, "y": 1E3 }') + "\r\n]\n"
    )
    opened = parse_file(text, Path("odd.json"))
    assert opened.edited({0: {"response": "a"}}).edited({0: {"response": None}}).text == text
    assert "2.50" in opened.edited({0: {"response": "\ud83d"}}).text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "JSON list"),
        ("[]", "empty list"),
        ("[1]", "int"),
        ("[{}", "JSON list"),
        ("[" * 100_000, "JSON list"),
        ('[{"task": "poster smell"}]', "another version"),
        (json.dumps(records("logo_ocr", 1) + records("alignment", 1)), "logo_ocr and alignment"),
        (json.dumps(records("logo_ocr", 1)) + "x", "after the end"),
    ],
)
def test_what_is_no_public_file_is_refused(text: str, says: str) -> None:
    with pytest.raises((BadFile, BadValue), match=says):
        parse_file(text, Path("bad.json"))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("logo_ocr", {"gt": None}),
        ("logo_ocr", {"path": 3}),
        ("font_effect", {"gt": "E"}),
        ("alignment", {"gt": ["justified"]}),
        ("text_localization", {"size": None}),
        ("text_localization", {"text_bbox": [[1, 2, 3]]}),
        ("layout_generation", {"text_bbox": [[9, 2, 3, 4]]}),
        ("empty_space", {"gt": [49]}),
        ("overall_rating", {"gt": float("nan")}),
        ("hard_ocr", {"difficulty": {"clutter": "much"}}),
    ],
)
def test_records_of_another_version_are_refused_by_number(name: str, change: dict) -> None:
    held = records(name, 3)
    held[1] |= change
    with pytest.raises(BadValue, match="another version") as refused:
        _ = parse_file(json.dumps(held), Path("f.json")).items
    assert refused.value.where == "f.json, record 2"


def test_texts_are_found_however_they_are_held() -> None:
    assert texts_in(["a", ["b", "c"]]) == ("a", "b", "c")
    assert texts_in('["a", "b"]') == texts_in("['a', 'b']") == ("a", "b")
    assert texts_in("[not a list") == ("[not a list",)
    assert texts_in(None) == ()


def test_pictures_are_looked_up_below_the_users_folder_only(tmp_path: Path) -> None:
    place = tmp_path / "set" / "images" / "a.png"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"x")
    (tmp_path / "secret.png").write_bytes(b"x")
    for path in ("images/a.png", "images\\a.png", "elsewhere/images/a.png", "/images/a.png"):
        assert find_picture(tmp_path / "set", path) == place, path
    assert find_picture(tmp_path / "set", "../secret.png") is None
    assert find_picture(place.parent, "other/deep/a.png") == place


def test_files_are_found_in_the_public_tree_and_only_once(tmp_path: Path) -> None:
    for name in ("logo_ocr", "gen_style"):
        made(name).write(tmp_path / task_named(name).place)
    assert [one.task.name for one in find_files([tmp_path])] == ["logo_ocr", "gen_style"]
    made("logo_ocr").write(tmp_path / "again.json")
    with pytest.raises(BadFile, match="several of logo_ocr"):
        find_files([tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadFile, match="none"):
        find_files([tmp_path / "empty"])


def test_made_records_are_checked_before_they_are_written() -> None:
    assert new_file(task_named("alignment"), records("alignment")).text == made("alignment").text
    with pytest.raises(BadValue):
        new_file(task_named("alignment"), [records("alignment")[0] | {"gt": []}])
