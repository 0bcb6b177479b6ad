"""Files in the public layout, made here with every variant of a field that the public ones have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from salon.bench import TASKS, PosterFile, task_named
from salon.bench.posters.files import parse_file
from salon.bench.posters.tasks import ATTRIBUTES, COLORS, STYLES

Record = dict[str, Any]
EFFECTS = ("stone", "ice cubes", "neon-light", "wood", "gold foil", "fur", "balloon", "lava")
LINES = ["Orange bridge", "under Winter", "SAILS quietly", "past lemon", "garden walls"]


def records(name: str, n: int = 12) -> list[Record]:
    """`n` records of the task, truths as the public file holds them."""
    task = task_named(name)
    return [
        {
            "task": task.strings[i * len(task.strings) // n],
            "subtask": 15 + 5 * (i % 14) if name == "font_size_ocr" else f"kind {i % 3}",
            "name": f"{i:04d}.png",
            "path": f"images\\{name}\\{i:04d}.png" if name.startswith("gen") else f"images/{name}/{i:04d}.png",
            "prompt": f"Question {i} – 问题",
            **_truth(name, i),
        }
        for i in range(n)
    ]


def _truth(name: str, i: int) -> Record:
    lines = [f"{line}{i}" for line in LINES]
    boxes = [[10.0 + i, 20, 310, 220], [10, 230, 160, 300], [200, 310, 260, 330.5], [5, 350, 60, 370]]
    held = {
        "logo_ocr": {"gt": f"Brand {i} & Söhne"},
        "poster_ocr": {"texts": ["SUMMER SALE", f"from {i + 10} July", "限时特价", "7"], "size": [400, 400]},
        "simple_ocr": {"gt": lines, "texts": lines, "font": ["Inter.ttf"]},
        "hard_ocr": {"gt": lines, "texts": lines, "background": "b.jpg", "text_color": [12, 200, 7]},
        "font_size_ocr": {"gt": "\n".join(lines), "text": "\n".join(lines)},
        "font_matching": {"gt": "ABCDEFGHI"[i % 9], "font": "Lobster"},
        "font_attributes": {"gt": "AB"[i % 2]},
        "font_effect": {"gt": "ABCD"[i % 4]},
        "font_effect_2": _effects(i),
        "text_localization": {"texts": ["one", "two", "three", "four"], "text_bbox": boxes, "size": [400, 400]},
        "alignment": {"gt": [("left-aligned", "center-aligned", "right-aligned")[i % 3]]},
        "rotation": _rotation(i),
        "empty_space": {"gt": [(i + j) % 49 for j in range(4 + i % 5)]},
        "layout_comparison": {"gt": "AB"[i % 2]},
        "layout_generation": {"gt": boxes[: 1 + i % 4], "text_bbox": boxes[: 1 + i % 4], "size": [400, 400]},
        "style_understanding": {"gt": STYLES[i % 17]},
        "composition_understanding": {"gt": ["the title is mirrored", "the circle is cut out"]},
        "intention_understanding": {"gt": ["phones stand for food", "screens are eaten"]},
        "overall_rating": {"gt": 2.0 + (i * 7 % 12) * 0.5},
        "gen_dense": {
            "theme": "舞会",
            "elements": [["a fox", "a hen"], ["a moon"]] if i % 2 else ["a fox", "一轮月亮"],
            "gt": ["a fox is there", "a moon is there", "a hen is there"],
        },
        "gen_font": {"theme": "jazz", "texts": '["Blue Night", "20:00"]'},
        "gen_style": {"label": "孟菲斯", "style": STYLES[i % 17]},
        "gen_composition": {"id": i, "gt": ["the title is mirrored", "the circle is cut out"]},
        "gen_intention": {"id": i, "gt": ["phones stand for food"]},
    }
    return held[name]  # type: ignore[return-value]


def _effects(i: int) -> Record:
    effects = [EFFECTS[(i + j) % len(EFFECTS)] for j in range(1 + i % 2)]
    color = COLORS[(3 * i) % 16]
    return {"gt": [color, *effects], "text": "word", "color": color, "effects": effects}


def _rotation(i: int) -> Record:
    turn = ("counterclockwise rotation", "clockwise rotation", "no rotation")[i % 3]
    return {"gt": [turn, "left-aligned"], "rotation": [turn], "alignment": ["left-aligned"]}


def made(name: str, n: int = 12, **style: Any) -> PosterFile:
    """The same as a file."""
    text = json.dumps(records(name, n), **({"ensure_ascii": False, "indent": 4} | style))
    return parse_file(text, Path(task_named(name).place))


ALL = tuple(task.name for task in TASKS)
UNDERSTANDING = tuple(task.name for task in TASKS if task.side == "understanding")
SHOWN = frozenset(ATTRIBUTES[:3])
