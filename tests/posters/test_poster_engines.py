"""OCR engines on pictures drawn here: they read, they place, and their answers are scored like anyone's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fontpkg import path as font_path
from PIL import Image, ImageDraw, ImageFont
from public_files import made

from salon.bench import PosterFile, PosterScoreSettings, score_files
from salon.bench.posters.contestants import OcrLine, engine_response, place_of, rapidocr, table_lines, tesseract

BOXES = [[20, 20, 380, 100], [20, 150, 250, 200], [20, 250, 140, 280]]
TEXTS = ["SUMMER", "Lemon tart", "from July"]


@pytest.fixture(scope="module")
def poster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("drawn") / "p.png"
    image = Image.new("RGB", (400, 300), "white")
    draw = ImageDraw.Draw(image)
    for text, (x1, y1, x2, y2) in zip(TEXTS, BOXES):
        font = ImageFont.truetype(str(font_path("Inter")), 40)
        ink = font.getbbox(text)
        small = Image.new("RGB", (ink[2] - ink[0], ink[3] - ink[1]), "white")
        ImageDraw.Draw(small).text((-ink[0], -ink[1]), text, fill="black", font=font)
        image.paste(small.resize((x2 - x1, y2 - y1)), (x1, y1))
    del draw
    image.save(place)
    return place


def asked(name: str) -> PosterFile:
    file = made(name, 1)
    return file.edited({0: {"texts": TEXTS, "text_bbox": BOXES, "size": [400, 300]}})


@pytest.mark.parametrize("engine", [rapidocr, tesseract])
def test_engines_read_and_place_a_clean_poster(engine, poster: Path) -> None:  # type: ignore[no-untyped-def]
    lines = engine(poster)
    for name, metric, least in (("poster_ocr", "share", 1.0), ("text_localization", "mean", 0.6)):
        file = asked(name)
        answered = file.edited({0: {"response": engine_response(file.items[0], lines)}})
        found = score_files([answered], PosterScoreSettings(draws=100)).tasks[0]
        value = next(one.figure.value for one in found.metrics if one.id == metric and one.figure)
        assert value >= least, (name, answered.records[0]["response"])
        assert found.bad_boxes == 0


def test_a_text_is_placed_around_its_lines_or_where_something_like_it_stands() -> None:
    lines = [
        OcrLine("Lemon", (0.1, 0.1, 0.3, 0.2)),
        OcrLine("tart", (0.1, 0.2, 0.2, 0.3)),
        OcrLine("x", (0, 0, 1, 1)),
    ]
    assert place_of("Lemon tart", lines) == (0.1, 0.1, 0.3, 0.3)
    assert place_of("Lamon", lines) == (0.1, 0.1, 0.3, 0.2)
    assert place_of("Oranges", lines) is None
    assert place_of("Oranges", []) is None
    item = asked("text_localization").items[0]
    assert json.loads(engine_response(item, lines, "pixel")) == [{"text": "Lemon tart", "bbox": [40, 30, 120, 90]}]


def test_tesseracts_table_is_put_together_by_lines() -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    rows = ["5\t1\t1\t1\t1\t1\t10\t20\t30\t10\t90\tLemon", '5\t1\t1\t1\t1\t2\t50\t18\t20\t12\t90\t"tart',
            "5\t1\t1\t1\t2\t1\t10\t40\t30\t10\t90\t ", "4\t1\t1\t1\t2\t0\t10\t40\t30\t10\t-1\t"]  # fmt: skip
    assert table_lines(head + "\n".join(rows), 100, 100) == [OcrLine('Lemon "tart', (0.1, 0.18, 0.7, 0.3))]
