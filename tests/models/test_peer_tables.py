"""HPSv3's Tables 2 and 4 from files in the released layouts: the released arithmetic on the peers' own scores."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from peer_reference import TEXTS

from salon.bench import (
    RewardTableSettings,
    open_scorers,
    read_tests,
    released_test_tables,
    reward_tables,
    score_study_pictures,
)
from salon.evaluate import ReportSettings
from salon.judge import ScoreSettings
from salon.store import PictureFiles, import_files

pytestmark = pytest.mark.data
CPU = ScoreSettings(device="cpu")
PICTURES = ["photo-640x427.jpg", "tall-333x517.png", "small-64x64.png", "odd-1023x767.png"]
PROMPTS = [name for name, text in TEXTS.items() if text.strip() and "\n" not in text][:3]


def peers_scores(folder: Path) -> dict[tuple[str, str], float]:
    expected = json.loads((folder / "expected.json").read_text())
    rows = expected.get("mu") or expected["scores"]
    return {
        (image, prompt): value
        for image, row in zip(expected["images"], rows, strict=True)
        for prompt, value in zip(expected["prompts"], row, strict=True)
    }


@pytest.mark.parametrize("name", ["imagereward", "pickscore"])
def test_tables_of_the_peers_scores(salon_peers: Path, tmp_path: Path, name: str) -> None:
    folder, images = salon_peers / "scorers" / name, salon_peers / "scorers" / "images"
    scores = peers_scores(folder)
    rng = np.random.default_rng(8)
    records = []
    for _ in range(30):
        first, second = rng.choice(PICTURES, 2, replace=False)
        prompt = str(rng.choice(PROMPTS))
        records.append({"prompt": TEXTS[prompt], "path1": first, "path2": second, "name": prompt})
    (tmp_path / "test.json").write_text(json.dumps(records))
    (tmp_path / "kept").mkdir()
    weights = f"{name}:{folder / 'weights'}"
    tests = read_tests([tmp_path / "test.json"], PictureFiles(images), tmp_path / "kept")
    tables = released_test_tables(tests, open_scorers([weights], CPU), ReportSettings(draws=100), CPU)
    right = [scores[one["path1"], one["name"]] > scores[one["path2"], one["name"]] for one in records]
    assert tables.raters[0].studies[0].accuracy.value == pytest.approx(np.mean(right))
    assert tables.raters[0].studies[0].pairs == len(records)

    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number, image in enumerate(PICTURES):  # a model for each picture, two categories
        for place, prompt in enumerate(PROMPTS):
            category = ("animals", "food")[place % 2]
            target = tmp_path / "bench" / category / f"model{number}"
            target.mkdir(parents=True, exist_ok=True)
            (target / f"{place}{Path(image).suffix}").write_bytes((images / image).read_bytes())
            (target / f"{place}.txt").write_text(TEXTS[prompt])
            cells[category, f"model{number}"].append(scores[image, prompt])
    imported = import_files("hpdv3-benchmark", [tmp_path / "bench"])
    scored = score_study_pictures(imported.study, imported.paths, [weights], CPU)
    boards = reward_tables(imported.study, None, RewardTableSettings(overall="categories"), scored=scored).boards
    spread = np.std([value for value in scores.values() if value is not None])
    for board in boards:
        for place in board.places:
            means = {one: np.mean(cells[one, place.generator]) for one in ("animals", "food")}
            expected = np.mean(list(means.values())) if board.category is None else means[board.category]
            assert abs(place.mean.value - expected) / spread < 1e-3
