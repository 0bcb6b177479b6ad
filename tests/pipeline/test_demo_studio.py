"""The demo's studio: designers answer what they are asked, and every answer is in the study."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from salon.cli.demo_studio import DESIGNERS, collect_answers
from salon.collect import open_studio
from salon.generate import GenerateSettings, generate_items, house_generator, read_prompts


def test_every_pair_is_answered_by_every_designer_and_mostly_rightly(tmp_path: Path) -> None:
    houses = [house_generator(name) for name in ("apprentice", "carnival", "proof")]
    generate_items(read_prompts("briefs")[:3], houses, GenerateSettings(size="92x130"), tmp_path / "posters")
    found = collect_answers(tmp_path)
    with open_studio(tmp_path / "studio", create=False) as studio:
        study = studio.database.read_study()
        items = [item.id for item in studio.items.values()]
        prompts = {item.id: item.prompt for item in studio.items.values()}
    assert study.simulated
    rows = study.table("comparisons").to_pylist()
    pairs = {(a, b) for a, b in combinations(sorted(items), 2) if prompts[a] == prompts[b]}
    for rater in {row["rater"] for row in rows}:
        assert {tuple(sorted((row["a"], row["b"]))) for row in rows if row["rater"] == rater} == pairs
    assert found.designers == len({row["rater"] for row in rows}) == DESIGNERS
    assert found.answers == len(rows) >= DESIGNERS * len(pairs)
    assert found.right.value > 0.65
    assert (tmp_path / "studio" / str(next(iter(studio.items.values())).image)).is_file(), "it can be opened and seen"
    assert collect_answers(tmp_path).answers >= DESIGNERS * len(pairs), "a second demo begins anew"
