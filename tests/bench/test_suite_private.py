"""Of a private prompt nothing is published: no text, no point, no reason of a judge, no picture."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import suite_example
from PIL import Image

from salon.bench import Suite, build_site, entry_result, new_board, open_board, open_submission, pack, read_logits
from salon.bench.board import read_answers, read_entry, write_answers, write_result
from salon.bench.entry import ANSWERS
from salon.bench.suite_folder import hide
from salon.study import Point, Prompt

TEXTS = (b"zanzibar", b"quokka", b"glow")
"""In the prompt, in a point, and in a judge's reason."""
PICTURES = (".png", ".jpg", ".webp", ".gif")


def secret_suite() -> Suite:
    suite = suite_example.small_suite()
    first = suite.prompts[0].model_copy(update={"prompt": Prompt(id="p0", text="a kite over zanzibar")})
    point = Point(id="p0-red", prompt="p0", text="is there a quokka?", tag="any")
    return replace(suite, prompts=(first, *suite.prompts[1:]), points=(point, *suite.points[1:]))


def magenta(shade: int = 0) -> bytes:
    """The first prompt's picture in a color that no other has."""
    target = io.BytesIO()
    Image.new("RGB", (32, 24), (255, 0, 255) if shade == 0 else (shade, 200, 90)).save(target, "PNG")
    return target.getvalue()


def is_magenta(data: bytes) -> bool:
    red, green, _ = Image.open(io.BytesIO(data)).convert("RGB").resize((1, 1)).getpixel((0, 0))
    return red > 200 and green < 60


def test_nothing_of_a_private_prompt_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_example, "picture", magenta)
    suite, kept = hide(secret_suite(), ["p0"])
    keeper = tmp_path / "private.jsonl"
    keeper.write_text(json.dumps(kept[0].record()))
    board = new_board(tmp_path / "board", suite)
    folder = suite_example.judged(board)
    rows = read_answers(folder).to_pylist()
    answers = [row | {"why": "because of its glow" if row["point"].startswith("p0-") else None} for row in rows]
    write_answers(folder, pa.Table.from_pylist(answers, ANSWERS))
    write_result(folder, entry_result(board.suite, read_entry(folder), read_answers(folder), read_logits(folder)))

    board = open_board(board.folder, private=keeper)  # even with the texts at hand
    build_site(board, tmp_path / "site")
    with open_submission(folder, board.suite, publish=True) as brought:
        pack(brought, tmp_path / "one.salon.zip")
    with zipfile.ZipFile(tmp_path / "one.salon.zip") as bundle:
        files = {name: bundle.read(name) for name in bundle.namelist()}
    for path in (*(tmp_path / "site").rglob("*"), *(tmp_path / "board" / "suite").iterdir()):
        if path.is_file():
            files[str(path)] = path.read_bytes()
    assert [name for name, data in files.items() if any(text in data.lower() for text in TEXTS)] == []
    pictures = [data for name, data in files.items() if name.endswith(PICTURES)]
    assert len(pictures) >= 6  # three public ones in each
    assert not any(is_magenta(data) for data in pictures)
    assert is_magenta(magenta())
