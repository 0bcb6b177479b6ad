"""HPDv3 as released: sorted votes, categories, pictures by path, repeated pairs, and the folders of its benchmark."""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest
from PIL import Image
from ran_salon import exit_code

from salon.errors import BadColumns, BadFile, BadValue
from salon.store import Columns, ImportOptions, Policies, TrainingPairSettings, import_files, open_study, write_pairs
from salon.store.formats import ImportResult

PAIR = {"prompt": "an elk", "path1": "images/a.png", "path2": "images/b.png"}


def write(folder: Path, records: object, name: str = "test.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(records))
    return path


def read(folder: Path, records: object, columns: Columns | None = None, **policies: object) -> ImportResult:
    options = ImportOptions(policies=Policies(**policies), columns=columns or Columns())
    return import_files("hpdv3", [write(folder, records)], options)


def outcomes(imported: ImportResult) -> Counter[tuple[str, str, str]]:
    return Counter((one.a, one.b, one.outcome) for one in imported.study.nouns("comparisons"))


def picture(path: Path, gray: int = 90, size: tuple[int, int] = (12, 8), mode: str = "RGB", **save: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, gray).convert(mode).save(path, **save)
    return path


# -- choice_dist -------------------------------------------------------------------------------------------------------


def released_label(choice_dist: list[float]) -> float:
    """The soft label of path1 in the released dataset class: the larger share, whatever the order in the file."""
    ordered = sorted(choice_dist, reverse=True)
    return ordered[0] / sum(ordered)


@pytest.mark.parametrize("votes", [[12, 7], [7, 12], [1, 0], [0, 9], [4, 4], [3.0, 8.0]])
def test_votes_are_those_of_the_released_code_whatever_their_order(tmp_path: Path, votes: list[float]) -> None:
    found = outcomes(read(tmp_path, [{**PAIR, "choice_dist": votes}]))
    share = found["images/a.png", "images/b.png", "a"] / found.total()
    assert found.total() == sum(votes)
    assert share == pytest.approx(released_label(votes))
    if len(set(votes)) == 2:
        out = tmp_path / "pairs.parquet"
        told = write_pairs("hpdv3", [tmp_path / "test.json"], out, TrainingPairSettings(train=1, validation=0))
        assert told.sorted == (votes[1] > votes[0])
        assert pq_share(out) == pytest.approx(released_label(votes))


def pq_share(path: Path) -> float:
    import pyarrow.parquet as pq

    (row,) = pq.read_table(path).to_pylist()
    return row["share"] if row["item_a"] == "images/a.png" else 1 - row["share"]


def test_contradictions_are_counted_and_may_be_refused_or_left_out(tmp_path: Path) -> None:
    records = [{**PAIR, "choice_dist": votes} for votes in ([5, 1], [1, 5], [2, 9], [0.3, 0.7])]
    sorted_ = read(tmp_path, records)
    assert any("choice_dist of 3 of 4 pairs gives path2 more votes" in note for note in sorted_.notes)
    assert "3 of 4" in sorted_.study.note
    assert outcomes(sorted_)["images/a.png", "images/b.png", "a"] == 5 + 5 + 9 + 1
    dropped = read(tmp_path, records, contradictions="drop")
    assert sum(dropped.left_out.values()) == 3
    assert outcomes(dropped).total() == 6
    with pytest.raises(BadValue, match=r"\[1, 5\]") as caught:
        read(tmp_path, records, contradictions="refuse")
    assert "record 2" in caught.value.where
    assert "--contradictions sort" in caught.value.remedy


@pytest.mark.parametrize(
    "votes", [[0, 0], [-1, 3], [1], [1, 2, 3], "5-1", {"a": 1}, [None, 1], [True, False], [10**9, 1], [0.5, -0.5]]
)
def test_votes_that_are_none_are_refused(tmp_path: Path, votes: object) -> None:
    with pytest.raises(BadValue, match="choice_dist"):
        read(tmp_path, [{**PAIR, "choice_dist": votes}])
    with pytest.raises(BadValue, match="choice_dist"):
        write_pairs("hpdv3", [tmp_path / "test.json"], tmp_path / "pairs.parquet")


@pytest.mark.parametrize(
    "records",
    [[], {}, {"pairs": []}, [[PAIR]], ["x"], 7, [{**PAIR, "path2": "images/a.png"}], [{**PAIR, "path1": 1.5}]],
)
def test_wrong_shapes_are_named(tmp_path: Path, records: object) -> None:
    if records == [{**PAIR, "path1": 1.5}]:  # numbers count as their digits
        assert read(tmp_path, records).study.counts["items"] == 2
        return
    with pytest.raises((BadFile, BadValue, BadColumns)) as caught:
        read(tmp_path, records)
    assert "test.json" in str(caught.value)


# -- categories and repeats --------------------------------------------------------------------------------------------


def test_categories_come_along_and_another_field_may_name_them(tmp_path: Path) -> None:
    records = [
        {**PAIR, "category": "Animals", "class": "x"},
        {**PAIR, "path2": "images/c.png", "class": "x"},  # says nothing of what is known already
    ]
    items = {item.id: item.category for item in read(tmp_path, records).study.nouns("items")}
    assert items == {"images/a.png": "Animals", "images/b.png": "Animals", "images/c.png": None}
    other = read(tmp_path, records, Columns(category="class"))
    assert {item.category for item in other.study.nouns("items")} == {"x"}
    with pytest.raises(BadColumns, match="kind"):
        read(tmp_path, records, Columns(category="kind"))
    with pytest.raises(BadValue, match="only once"):
        read(tmp_path, [{**PAIR, "category": "Animals"}, {**PAIR, "category": "Food"}])


def test_repeated_pairs_are_counted(tmp_path: Path) -> None:
    again = {**PAIR, "path1": PAIR["path2"], "path2": PAIR["path1"]}
    imported = read(tmp_path, [PAIR, PAIR, again])
    assert any("2 of 3 records repeat a pair" in note for note in imported.notes)
    assert outcomes(imported).total() == 3


# -- pictures ----------------------------------------------------------------------------------------------------------


class Import(Protocol):
    """`salon import ...` as a user types it: exit code and all that was printed."""

    def __call__(self, *args: object) -> tuple[int, str]: ...


@pytest.fixture
def salon_import(capsys: pytest.CaptureFixture[str]) -> Import:
    def command(*args: object) -> tuple[int, str]:
        code = exit_code("import", *args)
        printed = capsys.readouterr()
        return code, " ".join((printed.out + printed.err).split())

    return command


def test_pictures_come_along_from_beside_the_file_a_root_and_another_machine(
    salon_import: Import, tmp_path: Path
) -> None:
    here, there = tmp_path / "hpdv3", tmp_path / "disk"
    picture(here / "images" / "a.png", 10)
    picture(there / "part" / "b.png", 20)
    picture(there / "images" / "a.png", 30)
    mixed = [{**PAIR, "path2": "/data/old/part/b.png"}]
    file = write(here, mixed)
    code, said = salon_import("hpdv3", file, "--images", "--remap", f"/data/old={there}", "-o", tmp_path / "study")
    assert code == 0, said
    assert "2 of 2 pictures were found, read and kept" in said
    study = open_study(tmp_path / "study")
    pixels = {
        item.id: int(np.asarray(Image.open(tmp_path / "study" / item.image))[0, 0, 0]) for item in study.nouns("items")
    }
    assert pixels == {"images/a.png": 10, "/data/old/part/b.png": 20}
    code, said = salon_import(
        "hpdv3", file, "--images", "--image-root", there, "--remap", f"/data/old={there}", "-o", tmp_path / "other"
    )
    assert code == 0, said
    (first,) = [item for item in open_study(tmp_path / "other").nouns("items") if item.id == "images/a.png"]
    assert np.asarray(Image.open(tmp_path / "other" / first.image))[0, 0, 0] == 30


def test_two_pictures_of_one_name_stay_two(salon_import: Import, tmp_path: Path) -> None:
    for number, part in enumerate(("x", "y")):
        picture(tmp_path / part / "1.png", 50 + number)
    file = write(tmp_path, [{"prompt": "an elk", "path1": "/x/1.png", "path2": "/y/1.png"}])
    remap = ["--remap", f"/x={tmp_path / 'x'}", "--remap", f"/y={tmp_path / 'y'}"]
    code, said = salon_import("hpdv3", file, "--images", *remap, "-o", tmp_path / "study")
    assert code == 0, said
    images = {item.id: item.image for item in open_study(tmp_path / "study").nouns("items")}
    grays = {id: int(np.asarray(Image.open(tmp_path / "study" / image))[0, 0, 0]) for id, image in images.items()}
    assert grays == {"/x/1.png": 50, "/y/1.png": 51}


def test_awkward_pictures_are_kept_and_counted(salon_import: Import, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(tmp_path / "cmyk.jpg", 90, mode="CMYK")
    picture(tmp_path / "deep.png", 90, mode="I;16")
    picture(tmp_path / "turned.jpg", 90, exif=exif)
    picture(tmp_path / "plain.png")
    names = ["cmyk.jpg", "deep.png", "turned.jpg", "plain.png"]
    records = [{"prompt": "an elk", "path1": a, "path2": b} for a, b in pairwise(names)]
    code, said = salon_import("hpdv3", write(tmp_path, records), "--images", "-o", tmp_path / "study")
    assert code == 0, said
    for note in ("CMYK became RGB", "16 bits became 8", "turned upright"):
        assert f"1 pictures are kept as they are; scorers will see them with: {note}" in said
    for name in names:
        assert (tmp_path / "study" / "images" / name).read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("broken", ["missing", "empty", "text", "cut", "folder"])
def test_pictures_that_cannot_be_used_are_an_error_or_are_counted(
    salon_import: Import, tmp_path: Path, broken: str
) -> None:
    for name in ("a", "c"):
        picture(tmp_path / "images" / f"{name}.png")
    bad = tmp_path / "images" / "b.png"
    if broken == "folder":
        bad.mkdir()
    elif broken != "missing":
        whole = picture(bad).read_bytes()
        bad.write_bytes({"empty": b"", "text": b"not a picture", "cut": whole[: len(whole) // 2]}[broken])
    file = write(tmp_path, [PAIR, {**PAIR, "path2": "images/c.png"}])
    code, said = salon_import("hpdv3", file, "--images", "-o", tmp_path / "study")
    assert code == 2
    assert "1 of 3 cannot be used" in said
    assert "images/b.png" in said
    assert not (tmp_path / "study").exists()
    code, said = salon_import("hpdv3", file, "--images", "--missing", "drop", "-o", tmp_path / "study")
    assert code == 0, said
    assert "left out: 1 comparisons about a picture that cannot be used" in said
    assert open_study(tmp_path / "study").counts["comparisons"] == 1


@pytest.mark.parametrize("path", ["/etc/hostname", "../secret.png", "images/../../secret.png", "C:\\x.png", "link.png"])
def test_no_path_leads_out_of_the_folder(salon_import: Import, tmp_path: Path, path: str) -> None:
    inside = tmp_path / "set"
    picture(inside / "images" / "a.png")
    picture(tmp_path / "secret.png")
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    code, said = salon_import("hpdv3", write(inside, [{**PAIR, "path2": path}]), "--images", "-o", tmp_path / "study")
    assert code == 2
    assert "cannot be used" in said


def test_flags_that_do_not_fit_are_refused(salon_import: Import, tmp_path: Path) -> None:
    file = write(tmp_path, [PAIR])
    picture(tmp_path / "images" / "a.png")
    picture(tmp_path / "images" / "b.png")
    for flags, said in (
        (["--image-root", tmp_path], "go with --images"),
        (["--images", "--remap", "nonsense"], "OLD=NEW"),
        (["--images", "--remap", "/data=/no/such/folder"], "folder that is there"),
        (["--images", "--image-root", tmp_path / "nowhere"], "--image-root must be a folder"),
    ):
        code, output = salon_import("hpdv3", file, *flags, "-o", tmp_path / "study")
        assert code == 2
        assert said in output


def test_rankings_bring_their_pictures_too(salon_import: Import, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        picture(tmp_path / f"{name}.png")
    hpdv2 = [{"prompt": "tea", "image_path": ["a.png", "b.png"], "rank": [2, 1]},
             {"prompt": "tea too", "image_path": ["c.png", "gone.png"], "rank": [2, 1]}]  # fmt: skip
    reward = [{"id": "1", "prompt": "tea", "generations": ["a.png", "b.png", "c.png"], "ranking": [1, 2, 2]}]
    code, said = salon_import("hpdv2", write(tmp_path, hpdv2), "--images", "--missing", "drop", "-o", tmp_path / "s")
    assert code == 0, said
    assert open_study(tmp_path / "s").counts["rankings"] == 1
    code, said = salon_import("imagereward", write(tmp_path, reward), "--images", "-o", tmp_path / "r")
    assert code == 0, said
    assert len(list((tmp_path / "r" / "images").iterdir())) == 3


# -- the benchmark -----------------------------------------------------------------------------------------------------

CATEGORIES, MODELS = ("animals", "natural_scenery"), ("kolors", "flux", "sd2")


def benchmark(root: Path, layout: str = "category/model", categories: tuple[str, ...] = CATEGORIES) -> Path:
    for category in categories:
        for model in MODELS:
            folder = root / (f"{category}/{model}" if layout == "category/model" else f"{model}/{category}")
            for number in range(2):
                picture(folder / f"{number}.png", 40 * number)
                (folder / f"{number}.txt").write_text(f"a {category} scene {number}\n{number}")
    return root


def imported_benchmark(root: Path, **policies: object) -> ImportResult:
    return import_files("hpdv3-benchmark", [root], ImportOptions(policies=Policies(**policies)))


@pytest.mark.parametrize("layout", ["category/model", "model/category"])
@pytest.mark.parametrize("categories", [CATEGORIES, ("mugs", "chairs")])
def test_both_layouts_are_told_apart_by_names_or_texts(
    tmp_path: Path, layout: str, categories: tuple[str, ...]
) -> None:
    imported = imported_benchmark(benchmark(tmp_path / "bench", layout, categories))
    items = list(imported.study.nouns("items"))
    assert Counter((item.category, item.generator) for item in items) == {
        (category, model): 2 for category in categories for model in MODELS
    }
    assert imported.study.counts["prompts"] == 4
    assert any(f"read as {layout}" in note for note in imported.notes)
    assert any("12 texts end with the name of their picture" in note for note in imported.notes)
    assert imported.paths[items[0].id].is_file()


def test_texts_are_read_as_the_released_benchmark_reads_them(tmp_path: Path) -> None:
    root = benchmark(tmp_path / "bench")
    text = root / "animals" / "flux" / "0.txt"
    with open(text) as file:
        released = "\n".join(file.readlines())
    assert released == "a animals scene 0\n\n0"
    study = imported_benchmark(root).study
    assert {prompt.text for prompt in study.nouns("prompts") if prompt.id == "animals/0"} == {released}
    first = imported_benchmark(root, prompt_lines="first").study
    assert {prompt.text for prompt in first.nouns("prompts") if prompt.id == "animals/0"} == {"a animals scene 0"}


def test_prompts_are_known_by_text_where_models_number_them_otherwise(tmp_path: Path) -> None:
    root = benchmark(tmp_path / "bench")
    for one, other in (("0", "1"), ("1", "0")):
        (root / "animals" / "flux" / f"{one}.txt").write_text(f"a animals scene {other}\n")
        for model in ("kolors", "sd2"):
            (root / "animals" / model / f"{one}.txt").write_text(f"a animals scene {one}\n")
    imported = imported_benchmark(root)
    assert imported.study.counts["prompts"] == 4
    assert any("known by their text" in note for note in imported.notes)


def test_a_benchmark_with_gaps_says_so(tmp_path: Path) -> None:
    root = benchmark(tmp_path / "bench")
    (root / "animals" / "flux" / "0.txt").unlink()
    with pytest.raises(BadFile, match="1 of 12 without") as caught:
        imported_benchmark(root)
    assert "animals/flux/0.png" in caught.value.found
    imported = imported_benchmark(root, missing="drop")
    assert imported.left_out == {"pictures without a text": 1}
    assert any("from 1 to 2 pictures" in note for note in imported.notes)
    os.mkfifo(root / "animals" / "flux" / "0.txt")
    with pytest.raises(BadFile, match="1 of 12 without"):
        imported_benchmark(root)
    (root / "animals" / "flux" / "0.txt").unlink()
    (root / "animals" / "flux" / "0.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(BadFile, match="UTF-8"):
        imported_benchmark(root)
    (root / "animals" / "flux" / "0.txt").write_text("  \n")
    with pytest.raises(BadValue, match="not blank"):
        imported_benchmark(root)
    picture(root / "flat.png")
    with pytest.raises(BadFile, match=r"flat\.png"):
        imported_benchmark(root)
    for place, found in ((tmp_path / "none", "nothing there"), (root / "flat.png", "a file")):
        with pytest.raises(BadFile, match=found):
            imported_benchmark(place)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadFile, match="none"):
        imported_benchmark(tmp_path / "empty")


def test_folders_that_could_be_either_need_a_word(tmp_path: Path) -> None:
    root = tmp_path / "bench"
    for outer in ("x", "y"):
        for inner in ("u", "v"):
            picture(root / outer / inner / "0.png")
            (root / outer / inner / "0.txt").write_text(f"{outer} {inner}")
    with pytest.raises(BadFile, match="--layout category/model"):
        imported_benchmark(root)
    items = imported_benchmark(root, layout="model/category").study.nouns("items")
    assert {item.generator for item in items} == {"x", "y"}


def test_a_benchmark_becomes_a_study_with_its_pictures(salon_import: Import, tmp_path: Path) -> None:
    root = benchmark(tmp_path / "bench")
    code, said = salon_import("hpdv3-benchmark", root, "--images", "-o", tmp_path / "study")
    assert code == 0, said
    study = open_study(tmp_path / "study")
    assert all((tmp_path / "study" / item.image).is_file() for item in study.nouns("items"))
    assert study.counts["items"] == 12
    (root / "animals" / "flux" / "0.png").write_bytes(b"")
    code, said = salon_import("hpdv3-benchmark", root, "--images", "-o", tmp_path / "again")
    assert code == 2
    assert "an empty file" in said
