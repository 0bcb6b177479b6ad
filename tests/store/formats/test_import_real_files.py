"""Published human judgments: the counts their authors give."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from salon.store import import_files, read_study, recognize

pytestmark = pytest.mark.data


def test_dsg_is_five_models_by_five_raters_on_160_prompts(salon_data: Path) -> None:
    path = salon_data / "dsg_tifa160" / "tifa160-likert-anns.csv"
    assert recognize(path) == "dsg"
    study = read_study("dsg", [path])
    assert study.counts == {"prompts": 160, "items": 800, "raters": 5, "ratings": 3995}
    cells = Counter(study.ratings.group.tolist())
    assert sum(count == 25 for count in cells.values()) == 156
    assert set(study.ratings.value) == {1, 2, 3, 4, 5}


def test_llmfao_is_59_models_and_124_workers(salon_data: Path) -> None:
    path = salon_data / "llmfao" / "llmfao.csv"
    assert recognize(path) == "comparisons"
    study = read_study("comparisons", [path])
    assert study.counts["comparisons"] == 8931
    assert study.counts["raters"] == 124
    assert len(set(study.table("items").column("generator").to_pylist())) == 59
    assert round(float((study.comparisons.outcome == 2).mean()), 2) == 0.39
    assert (study.comparisons.left == 0).all()


def test_food_has_no_raters(salon_data: Path) -> None:
    imported = import_files("comparisons", [salon_data / "llmfao" / "food.csv"])
    assert imported.study.counts == {"items": 5, "raters": 1, "comparisons": 30}
    assert next(imported.study.nouns("raters")).kind == "crowd"


def test_genai_bench_has_1735_votes(salon_data: Path) -> None:
    path = salon_data / "genai_bench" / "image_generation.csv"
    assert recognize(path) == "genai-bench"
    imported = import_files("genai-bench", [path])
    study = imported.study
    humans = study.comparisons.rater == study.ids("raters").to_pylist().index("human voters")
    assert np.bincount(study.comparisons.outcome[humans]).tolist() == [643, 663, 156, 273]
    assert imported.left_out["judge verdicts that are blank"] == 16455
    assert len(study.comparisons) + sum(imported.left_out.values()) == 1735 * 21  # nothing vanished


def test_imagereward_has_466_rankings(salon_data: Path) -> None:
    path = salon_data / "imagereward" / "test.json"
    assert recognize(path) == "imagereward"
    study = read_study("imagereward", [path])
    lengths = Counter(np.diff(study.rankings.offsets).tolist())
    assert lengths == {4: 194, 5: 2, 6: 45, 7: 159, 8: 43, 9: 23}
    assert len(study.rankings) == 466


def test_pwcmp_has_18_observers(salon_data: Path) -> None:
    path = salon_data / "pwcmp" / "ex3_tmo_cmp_data.csv"
    assert recognize(path) == "pwcmp"
    study = read_study("pwcmp", [path])
    assert study.counts == {"prompts": 5, "items": 35, "raters": 18, "comparisons": 1213}


def test_imagenhub_has_three_raters(salon_data: Path) -> None:
    paths = [salon_data / "imagenhub_t2i" / f"Text-To-Image_rater{i}.tsv" for i in (1, 2, 3)]
    assert {recognize(path) for path in paths} == {"imagenhub"}
    study = read_study("imagenhub", paths)
    assert study.counts == {"prompts": 197, "items": 1379, "raters": 3, "ratings": 197 * 7 * 3 * 2}
