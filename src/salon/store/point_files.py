"""Files of points and of routes.

Points: TOML with `[[point]]` tables, or JSONL, with the fields of `salon.study.point.Point`:

    id        name of the point
    text      what is asked; the id where it is left out
    prompt    the prompt whose items it is asked about; every item where it is left out
    criterion the criterion it belongs to; may be left out where the run has only one
    tag       the kind of task, for routing: text, counting, color ...
    rule      how pixels answer it, for judges that measure

Routes are a TOML file. A point goes by its tag to the first route that names it; `*` stands for every other tag:

    [[route]]
    tag = "text"
    judges = ["ocr-vlm"]

    [[route]]
    tag = "*"
    judges = ["gpt", "qwen", "gemma"]
    rule = "majority"          # or "unanimous": yes only where all say yes
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from salon.errors import BadFile
from salon.study.point import Point, Route


def read_points(path: Path) -> list[Point]:
    """The points in a TOML or JSONL file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        records: list[Any] = (
            tomllib.loads(text).get("point", [])
            if path.suffix == ".toml"
            else [json.loads(line) for line in text.splitlines() if line.strip()]
        )
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BadFile("points as TOML ([[point]]) or JSONL are needed", found=error, where=str(path)) from None
    if not records or not all(isinstance(record, dict) for record in records):
        raise BadFile("at least one point is needed, each with an id", found="none", where=str(path))
    return [Point.parse(record, where=f"{path}, point {number}") for number, record in enumerate(records, 1)]


def read_routes(path: Path) -> list[Route]:
    """The routes in a TOML file."""
    try:
        records = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("route", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFile("routes in TOML are needed", found=str(error), where=str(path)) from None
    if not isinstance(records, list) or not records:
        raise BadFile("at least one [[route]] is needed", found="none", where=str(path))
    return [Route.parse(record, where=f"{path}, route {number}") for number, record in enumerate(records, 1)]
