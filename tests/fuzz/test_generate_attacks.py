"""Files, prompts and pictures that mean harm, or that nobody meant: a named error, and nothing else is lost."""

from __future__ import annotations

import io
import json
import os
import struct
import unicodedata
import zlib
from pathlib import Path

import pytest
from PIL import Image

from salon.collect import read_layout
from salon.errors import BadFile, BadValue
from salon.generate import GenerateReport, GenerateSettings, check_ready, generate_items, read_generations, read_prompts
from salon.generate.folder import folder_generators
from salon.generate.prompts import read_table_rows
from salon.generate.record import FILE, lock_record
from salon.render import Brief, draw_poster, read_brief
from salon.render.brief_text import LONGEST
from salon.store import read_picture
from salon.store.pictures import MOST_PIXELS
from salon.study import Item, Prompt

# -- pictures --------------------------------------------------------------------------------------------------------


def chunk(kind: bytes, data: bytes, checksum: int | None = None) -> bytes:
    found = zlib.crc32(kind + data) if checksum is None else checksum
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", found)


def png(*sizes: tuple[int, int], checksum: int | None = None) -> bytes:
    heads = [chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)) for width, height in sizes]
    width, height = sizes[-1]
    pixels = chunk(b"IDAT", zlib.compress(bytes((1 + (width + 7) // 8) * height)), checksum)
    return b"\x89PNG\r\n\x1a\n" + b"".join(heads) + pixels + chunk(b"IEND", b"")


def test_a_second_size_behind_a_small_one_is_not_decoded() -> None:
    side = 8500  # above the limit here, below the one at which Pillow begins to warn
    assert read_picture(png((8, 8))).width == 8
    assert side * side > MOST_PIXELS
    with pytest.raises(BadFile, match=r"8,500 x 8,500"):
        read_picture(png((1, 1), (side, side)))


def test_a_png_with_a_wrong_checksum_or_without_an_end_is_broken() -> None:
    with pytest.raises(BadFile, match="broken PNG"):
        read_picture(png((8, 8), checksum=0))
    with pytest.raises(BadFile, match="broken PNG"):
        read_picture(png((8, 8))[:-12])


# -- folders ---------------------------------------------------------------------------------------------------------


def picture(path: Path, color: str = "red") -> None:
    target = io.BytesIO()
    Image.new("RGB", (16, 16), color).save(target, "PNG")
    path.write_bytes(target.getvalue())


def taken(ids: list[str], source: Path, study: Path) -> GenerateReport:
    prompts = [Prompt(id=id, text="x") for id in ids]
    return generate_items(prompts, folder_generators(str(source), prompts), GenerateSettings(), study)


def test_links_in_circles_pipes_and_devices_are_failures_and_the_rest_is_taken(tmp_path: Path) -> None:
    source = tmp_path / "pics"
    source.mkdir()
    (source / "circle.png").symlink_to("circle.png")
    (source / "device.png").symlink_to("/dev/zero")
    (source / "outside.png").symlink_to("/etc/passwd")
    (source / "loop").symlink_to("..")
    os.mkfifo(source / "pipe.png")
    picture(source / "good.png")
    report = taken(["circle", "device", "outside", "pipe", "good"], source, tmp_path / "study")
    assert (report.made, report.failed) == (1, 4)
    assert {failure.kind for failure in report.failures} == {"outside", "broken-image"}


def test_names_that_are_no_text_are_told(tmp_path: Path) -> None:
    source = tmp_path / "pics"
    source.mkdir()
    for name in (b"p1\xff.png", b"note\xff.txt"):
        Path(os.fsdecode(bytes(source) + b"/" + name)).write_bytes(b"no picture")
    report = taken(["p1"], source, tmp_path / "study")
    assert report.failures[0].kind == "broken-image"
    assert any("note?.txt" in note for note in report.notes)


def test_table_of_files_that_cannot_be(tmp_path: Path) -> None:
    files = ["a\0.png", "x" * 300 + ".png", "../../etc/passwd", "good.png"]
    lines = [json.dumps({"prompt": f"p{number}", "file": file}) for number, file in enumerate(files)]
    (tmp_path / "table.jsonl").write_text("\n".join(lines))
    picture(tmp_path / "good.png")
    report = taken([f"p{number}" for number in range(4)], tmp_path / "table.jsonl", tmp_path / "study")
    assert (report.made, report.failed) == (1, 3)


def test_ids_that_differ_by_case_or_by_encoding_find_their_own_files(tmp_path: Path) -> None:
    source = tmp_path / "pics"
    source.mkdir()
    for name, color in (("A", "red"), ("a", "blue"), (unicodedata.normalize("NFD", "café"), "green")):
        picture(source / f"{name}.png", color)
    report = taken(["A", "a", "café"], source, tmp_path / "study")
    assert report.made == 3
    assert check_ready(tmp_path / "study").ready
    files = {line.prompt: line.facts["file"] for line in read_generations(tmp_path / "study")[0].values()}
    assert (files["A"], files["a"]) == ("A.png", "a.png")


# -- prompts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\u2028", "\u0085", "\x0b", "\x1c"])
def test_only_line_ends_end_a_line(tmp_path: Path, end: str) -> None:
    text = f"a{end}b"
    (tmp_path / "p.jsonl").write_text(json.dumps({"id": "p", "text": text}, ensure_ascii=False) + "\n")
    (tmp_path / "p.csv").write_text(f"id,text\np,{text}\n")
    for name in ("p.jsonl", "p.csv"):
        assert [prompt.text for prompt in read_prompts(str(tmp_path / name))] == [text]
        assert read_table_rows(tmp_path / name, ["text"])[0][1]["text"] == text


@pytest.mark.parametrize("content", ['prompt = ["a"]', "brief = [1]"])
def test_toml_without_tables(tmp_path: Path, content: str) -> None:
    (tmp_path / "p.toml").write_text(content)
    with pytest.raises(BadFile, match="tables are needed"):
        read_prompts(str(tmp_path / "p.toml"))


def test_a_prompt_of_empty_lines_is_read() -> None:
    assert read_brief(Prompt(id="p", text="please " + "\n" * 5000 + "x")).headline == "Please"  # took for ever once


def test_a_book_is_no_prompt_for_a_poster() -> None:
    with pytest.raises(BadValue, match=f"{LONGEST:,} characters"):
        read_brief(Prompt(id="p", text="word " * 50_000))


# -- posters and their layouts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{"width": 0, "height": 0}, {"width": 0}, {"seed": -1}, {"width": 10**9}])
def test_posters_of_no_size_or_seed(asked: dict[str, int]) -> None:
    with pytest.raises(BadValue, match="needed"):
        draw_poster(Brief(id="b", headline="Late Tram"), **asked)


def test_a_layout_nested_without_end(tmp_path: Path) -> None:
    (tmp_path / "layouts").mkdir()
    (tmp_path / "layouts" / "p.json").write_text("[" * 100_000)
    with pytest.raises(BadFile, match="layout JSON"):
        read_layout(tmp_path, Item(id="i", prompt="p", image="images/p.png"))


# -- the record ------------------------------------------------------------------------------------------------------


def test_a_record_edited_by_hand_is_told_by_its_line(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[" * 100_000 + "\n{}\n")
    with pytest.raises(BadFile, match=f"{FILE}:1"):
        read_generations(tmp_path)


def test_a_pipe_in_place_of_the_record_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE)
    with pytest.raises(BadFile, match="no file"), lock_record(tmp_path):
        pass
