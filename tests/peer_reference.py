"""The numbers that peers' own code gave, as the tests read them: small ones here, scores beside SALON_DATA."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from salon.study import Item, Prompt

GOLDEN = Path(__file__).parent / "golden" / "scorers"
PICTURES: list[dict[str, Any]] = json.loads((GOLDEN / "images.json").read_text())
TEXTS: dict[str, str] = {one["name"]: one["text"] for one in json.loads((GOLDEN / "prompts.json").read_text())}
TWINS: dict[str, str] = {one["name"]: one.get("twin", one["name"]) for one in PICTURES}
"""The picture whose numbers Salon gives for each: upright, on white, in RGB."""
HERE = [one["name"] for one in PICTURES if (GOLDEN / "images" / one["name"]).is_file()]


def golden(name: str) -> Any:
    """A JSON file of the small reference."""
    return json.loads((GOLDEN / f"{name}.json").read_text())


def asked(folder: Path, names: list[str], prompts: list[str | None]) -> tuple[list[Item], list[Prompt | None]]:
    """Every picture with every prompt, in the order of the expected tables."""
    items, texts = [], []
    for name in names:
        for number, prompt in enumerate(prompts):
            items.append(Item(id=f"{name} {number}", image=str(folder / name)))
            texts.append(None if prompt is None else Prompt(id=prompt, text=TEXTS[prompt]))
    return items, texts
