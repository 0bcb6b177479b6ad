"""Pictures somebody sends: taken whole, or refused with what is wrong and how often."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from suite_example import picture, small_suite

from salon.bench import (
    Board,
    EntryTerms,
    add_entry,
    bundle as bundle_module,
    new_board,
    open_board,
    open_submission,
    pack,
)
from salon.bench.bundle import BundleZip
from salon.bench.suite_folder import hide
from salon.errors import BadFile, BadValue, SalonError
from salon.store import open_study

TERMS = EntryTerms(name="flux", licence="CC-BY-4.0", by="somebody")


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return new_board(tmp_path / "board", small_suite())


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(4):
        (folder / f"p{number}.png").write_bytes(picture(number))
    return folder


@pytest.fixture
def bundle(pictures: Path, board: Board, tmp_path: Path) -> Path:
    with open_submission(pictures, board.suite, TERMS) as brought:
        return pack(brought, tmp_path / "flux.salon.zip")


def added(board: Board, place: Path, terms: EntryTerms | None = None) -> Path:
    with open_submission(place, board.suite, terms) as brought:
        return add_entry(board, brought)


# -- the way there and back --------------------------------------------------------------------------------------------


def test_a_folder_a_bundle_and_a_table_give_the_same_entry(
    board: Board, bundle: Path, pictures: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("prompt,seed,file\n" + "".join(f"p{n},0,pictures/p{n}.png\n" for n in range(4)))
    cards = []
    for number, (place, terms) in enumerate([(pictures, TERMS), (bundle, None), (table, TERMS)]):
        other = new_board(tmp_path / f"board{number}", board.suite)
        folder = added(other, place, terms)
        cards.append((folder / "entry.json").read_bytes())
        study = open_study(folder)
        assert [item.image for item in study.nouns("items")] == [f"images/p{n}__0.png" for n in range(4)]
        assert (folder / "images" / "p2__0.png").read_bytes() == picture(2)
    assert cards[0] == cards[1] == cards[2]


def test_a_bundle_is_the_same_bytes_again_and_comes_out_of_an_entry_too(
    board: Board, bundle: Path, tmp_path: Path
) -> None:
    folder = added(board, bundle)
    with open_submission(folder, board.suite) as brought:
        again = pack(brought, tmp_path / "again.salon.zip")
    assert again.read_bytes() == bundle.read_bytes()
    assert sorted(zipfile.ZipFile(bundle).namelist()) == [
        "LICENCE.txt", "entry.json", *(f"images/p{n}__0.png" for n in range(4)),
    ]  # fmt: skip


def test_a_name_is_given_once(board: Board, bundle: Path) -> None:
    added(board, bundle)
    with pytest.raises(BadValue, match="name of its own"):
        added(board, bundle, EntryTerms(name="FLUX"))
    added(board, bundle, EntryTerms(name="flux 2"))
    assert [entry.name for entry in open_board(board.folder).entries] == ["flux", "flux 2"]


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_missing_pictures_are_counted(board: Board, pictures: Path) -> None:
    (pictures / "p1.png").unlink()
    with open_submission(pictures, board.suite, TERMS) as brought:
        assert brought.missing == 1
        folder = add_entry(board, brought)
    missing = json.loads((folder / "entry.json").read_text())["pictures"][1]
    assert (missing["image"], missing["missing"]) == (None, "not among the pictures that were sent")


def test_seeds_are_told_by_the_name(pictures: Path, tmp_path: Path) -> None:
    board = new_board(tmp_path / "two", small_suite(images=2, first_seed=5))
    (pictures / "p0__6.png").write_bytes(picture(9))
    with open_submission(pictures, board.suite, TERMS) as brought:
        there = [(one.prompt, one.seed) for one in brought.entry.pictures if one.image]
    assert there == [("p0", 5), ("p0", 6), ("p1", 5), ("p2", 5), ("p3", 5)]
    (pictures / "p0__5.png").write_bytes(picture(9))
    with (
        pytest.raises(BadFile, match="one picture of each prompt") as error,
        open_submission(pictures, board.suite, TERMS),
    ):
        pass
    assert error.value.found == "1 twice: p0.png and p0__5.png"


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("p1.png", picture(1, (24, 32)), "1 are not 32x24 (p1.png: 24x32)"),
        ("p1.png", picture(1)[:60], "1 cannot be read (p1.png: a broken PNG"),
        ("p1.png", b"<svg/>", "1 cannot be read (p1.png: something else"),
        ("p9.png", picture(1), "1 of other prompts or seeds: p9.png"),
        ("p1__7.png", picture(1), "1 of other prompts or seeds: p1__7.png"),
        ("p1.jpg", picture(1), "1 twice: p1.jpg and p1.png"),
    ],
)
def test_wrong_pictures_are_refused(board: Board, pictures: Path, name: str, data: bytes, found: str) -> None:
    (pictures / name).write_bytes(data)
    with pytest.raises(BadFile) as error:
        added(board, pictures, TERMS)
    assert (error.value.found or "").startswith(found)
    assert open_board(board.folder).entries == ()


def test_a_picture_of_no_prompt_is_told_the_prompts(board: Board, pictures: Path) -> None:
    (pictures / "p9.png").write_bytes(picture(1))
    with pytest.raises(BadFile) as error:
        added(board, pictures, TERMS)
    assert "name them PROMPT.png; the prompts are p0, p1, p2 and 1 more" in (error.value.remedy or "")


def test_nothing_leads_out_of_the_folder(board: Board, pictures: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture(3))
    (pictures / "p1.png").unlink()
    (pictures / "p1.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(BadFile, match="leads out of it"):
        added(board, pictures, TERMS)
    table = pictures / "table.jsonl"
    table.write_text('{"prompt": "p0", "file": "../secret.png"}\n')
    with pytest.raises(BadFile, match="leads out of it"):
        added(board, table, TERMS)


def test_an_empty_folder_and_no_name_are_refused(board: Board, pictures: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadFile, match="pictures of the suite's prompts"):
        added(board, tmp_path / "empty", TERMS)
    with pytest.raises(BadValue, match="name for the entry"):
        added(board, pictures, EntryTerms(licence="CC0-1.0"))


def test_licences_are_stated_and_taken(pictures: Path, tmp_path: Path) -> None:
    free = new_board(tmp_path / "free", small_suite(image_licences=("CC0-1.0", "CC-BY-4.0")))
    for licence in ("", "  ", "all rights reserved"):
        with pytest.raises(BadValue, match="licence"):
            added(free, pictures, EntryTerms(name="a", licence=licence))
    added(free, pictures, EntryTerms(name="a", licence="cc0-1.0"))


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "//elsewhere"])
def test_a_link_is_a_web_address(board: Board, pictures: Path, link: str) -> None:
    with pytest.raises(BadValue, match="link"):
        added(board, pictures, EntryTerms(name="a", licence="CC0-1.0", link=link))


def test_pictures_of_private_prompts_are_not_packed(pictures: Path, tmp_path: Path) -> None:
    suite, _ = hide(small_suite(), ["p1"])
    board = new_board(tmp_path / "board", suite)
    folder = added(board, pictures, TERMS)
    with open_submission(folder, board.suite, publish=True) as brought:
        bundle = pack(brought, tmp_path / "public.salon.zip")
    with BundleZip(bundle) as inside:
        assert inside.pictures == ["images/p0__0.png", "images/p2__0.png", "images/p3__0.png"]
    other = new_board(tmp_path / "other", suite)
    missing = json.loads((added(other, bundle) / "entry.json").read_text())["pictures"][1]["missing"]
    assert missing == "the prompt is private: only its keeper has pictures of it"


# -- bundles from strangers --------------------------------------------------------------------------------------------


def rewritten(bundle: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(bundle) as old:
        files = {name: old.read(name) for name in old.namelist()}
    change(files)
    with zipfile.ZipFile(bundle, "w") as new:
        for name, data in files.items():
            new.writestr(name, data)
    return bundle


def with_card(**changes: object) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        files["entry.json"] = json.dumps(json.loads(files["entry.json"]) | changes).encode()

    return change


@pytest.mark.parametrize(
    "name",
    ["../../evil.png", "/etc/evil.png", "images/../../evil.png", "images\\evil.png", "C:/evil.png", "images/.png",
     "images/a/b.png", "run.sh", "answers.parquet", "images/x.svg", "ENTRY.JSON"],
)  # fmt: skip
def test_files_that_no_bundle_holds(board: Board, bundle: Path, name: str, tmp_path: Path) -> None:
    rewritten(bundle, lambda files: files.update({name: picture(1)}))
    with pytest.raises(BadFile, match=r"no bundle holds|stand twice"):
        added(board, bundle)
    assert not list(tmp_path.rglob("*evil*"))


def test_links_folders_and_encrypted_files(board: Board, bundle: Path) -> None:
    info = zipfile.ZipInfo("images/link.png")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(bundle, "a") as file:
        file.writestr(info, "/etc/passwd")
    with pytest.raises(BadFile, match=r"'images/link\.png'"):
        added(board, bundle)


def test_a_name_that_stands_twice(board: Board, bundle: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(bundle, "a") as file:
        file.writestr("images/p0__0.png", picture(1))
    with pytest.raises(BadFile, match="1 names that stand twice"):
        added(board, bundle)


def test_a_list_of_a_million_files_is_not_even_read(
    board: Board, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray(bundle.read_bytes())
    struct.pack_into("<HHI", data, len(data) - 14, 65_535, 65_535, 46_000_000)
    bundle.write_bytes(data)
    monkeypatch.setattr(bundle_module.zipfile, "ZipFile", None)
    with pytest.raises(BadFile, match="a list of 65,535 files in 46,000,000 bytes"):
        added(board, bundle)


def test_a_wide_list_and_a_note_at_the_end(board: Board, bundle: Path) -> None:
    whole = bundle.read_bytes()
    bundle.write_bytes(whole[:-22] + b"PK\x06\x07" + bytes(16) + whole[-22:])
    with pytest.raises(BadFile, match="zip64"):
        added(board, bundle)
    bundle.write_bytes(whole[:-2] + b"\x05\x00hello")
    with pytest.raises(BadFile, match="an end that is none"):
        added(board, bundle)


def test_what_unpacks_too_large(board: Board, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_module, "MOST_BYTES", 1000)
    with zipfile.ZipFile(bundle, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("images/p9__0.png", bytes(100_000))
    with pytest.raises(BadFile, match="too large unpacked"):
        added(board, bundle)
    monkeypatch.setattr(bundle_module, "MOST_BYTES", 200_000)
    monkeypatch.setattr(bundle_module, "MOST_IN_ALL", 50_000)
    with pytest.raises(BadFile, match="at most 50,000"):
        added(board, bundle)


@pytest.mark.parametrize("kept", [0, 1, 21, 22, 500, -1, -30])
def test_a_bundle_that_was_cut_off(board: Board, bundle: Path, kept: int) -> None:
    bundle.write_bytes(bundle.read_bytes()[:kept])
    with pytest.raises(BadFile, match="a bundle is needed"):
        added(board, bundle)


def test_every_flipped_byte_is_refused_or_changes_nothing(board: Board, bundle: Path, tmp_path: Path) -> None:
    """A sweep over the file: whatever byte is wrong, no other picture than the promised one gets onto a board."""
    whole = bundle.read_bytes()
    taken = 0
    for place in range(0, len(whole), 41):
        damaged = bytearray(whole)
        damaged[place] ^= 0x15
        bundle.write_bytes(damaged)
        try:
            with open_submission(bundle, board.suite) as brought:
                found = [brought.read(one) for one in brought.entry.pictures if one.image]
        except SalonError:
            continue
        taken += 1
        assert found == [picture(n) for n in range(4)]
    assert taken < 20


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda files: files.update({"images/p1__0.png": picture(77)}), "1 have another hash"),
        (lambda files: files.pop("images/p1__0.png"), "1 on one side only"),
        (lambda files: files.update({"images/p9__0.png": picture(1)}), "1 on one side only"),
        (lambda files: files.pop("entry.json"), "no entry.json in it"),
        (lambda files: files.update({"entry.json": b"\xff"}), "UTF-8"),
        (lambda files: files.update({"entry.json": b"[" * 100_000}), "JSON object"),
        (with_card(suite="0" * 64), "an entry for 0000000000000000"),
        (with_card(licence=""), "licence"),
        (with_card(title="x" * 300), "title"),
        (with_card(name="a\nb"), "name"),
        (with_card(points=9), "Extra inputs"),
    ],
)  # fmt: skip
def test_a_bundle_that_does_not_hold_what_it_says(
    board: Board, bundle: Path, change: Callable[[dict[str, bytes]], None], told: str
) -> None:
    rewritten(bundle, change)
    with pytest.raises(SalonError, match=told):
        added(board, bundle)
    assert open_board(board.folder).entries == ()


def test_a_strangers_retraction_and_paths_do_not_come_along(board: Board, bundle: Path) -> None:
    rewritten(bundle, with_card(retracted={"reason": "x", "at": "y"}, signature="house|1"))
    added(board, bundle)
    entry = open_board(board.folder).entry("flux")
    assert (entry.retracted, entry.signature) == (None, "")


def test_a_picture_that_needs_turning_is_made_plain_in_a_folder(pictures: Path, tmp_path: Path) -> None:
    from PIL import Image

    board = new_board(tmp_path / "any", replace(small_suite(size=None)))
    (pictures / "p0.png").unlink()
    Image.new("CMYK", (32, 24)).save(pictures / "p0.jpg")
    with open_submission(pictures, board.suite, TERMS) as brought:
        assert brought.notes == ("1 pictures were made plain: p0__0: CMYK became RGB",)
        add_entry(board, brought)
