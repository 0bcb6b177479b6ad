"""Whatever a trained model is, its folder stands for its scorers; only its card is read for that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from salon.evaluate import LeakGuard, picture_keys, save_guard
from salon.judge import expand_model, model_folder, scorer_names, scores_name, split_model_name
from salon.models import MODEL_CARD, ModelCard, ModelCriterion, OnePassCard, read_card, write_one_pass_card
from salon.study import Item, Signature, Study
from salon.train import training_items

_SIGNED = Signature(method="test", version="test")


def heads(folder: Path, *ids: str, **facts: object) -> Path:
    """A folder with the card of heads, and nothing else."""
    folder.mkdir()
    told = {"backbone": "b", "backbone_name": "b", "form": "scalar", "is_logit": True, "study": "s", "data": "0"}
    criteria = tuple(ModelCriterion(id=id, name=id) for id in ids)
    card = ModelCard(kind="heads", name="tiny", criteria=criteria, signature=_SIGNED, **(told | facts))
    (folder / MODEL_CARD).write_text(card.model_dump_json())
    return folder


def one_pass(folder: Path, *ids: str) -> Path:
    """A folder with the card of a one-pass scorer, and nothing else."""
    folder.mkdir()
    told = {"asked": {}, "show_prompt": False, "pixels": 64, "max_tokens": 8, "backbone": "b", "backbone_name": "b"}
    criteria = tuple(ModelCriterion(id=id, name=id) for id in ids)
    write_one_pass_card(
        folder, OnePassCard(name="vlm", criteria=criteria, study="s", data="0", signature=_SIGNED, **told), ""
    )
    return folder


@pytest.mark.parametrize(("make", "kind"), [(heads, "model"), (one_pass, "onepass")])
def test_a_folder_stands_for_all_criteria_of_its_model(make, kind: str, tmp_path: Path) -> None:
    folder = make(tmp_path / "taste@home", "taste/mood", "taste/color")
    both = [f"{kind}:{folder}@taste/mood", f"{kind}:{folder}@taste/color"]
    assert scorer_names(folder) == expand_model(str(folder)) == expand_model(f"model:{folder}") == both
    assert expand_model(str(folder), ["taste/color"]) == both[1:]
    assert expand_model(both[0]) == both[:1]
    assert [split_model_name(one) for one in both] == [(folder, "taste/mood"), (folder, "taste/color")]
    assert {model_folder(one) for one in (*both, str(folder), f"model:{folder}")} == {folder}
    assert scores_name(read_card(folder), "taste/mood").endswith("@taste-mood")


def test_other_scorers_are_no_model(tmp_path: Path) -> None:
    for text in ("words", "clip:weights", "table:scores.csv", f"model:{tmp_path}", "model:"):
        assert model_folder(text) is None
        assert expand_model(text) == [text]


def test_a_flag_head_is_left_out_where_only_the_better_is_asked_for(tmp_path: Path) -> None:
    folder = heads(tmp_path / "model", "taste/mood", flag="taste/hallucination")
    assert [name.rpartition("@")[2] for name in scorer_names(folder)] == ["taste/mood", "taste/hallucination"]
    assert expand_model(str(folder), flag=False) == [f"model:{folder}@taste/mood"]
    assert scorer_names(folder, ["taste/hallucination"], flag=False) == [f"model:{folder}@taste/hallucination"]


def test_items_trained_on_are_known_however_the_model_is_named(tmp_path: Path) -> None:
    for color in ("teal", "pink"):
        Image.new("RGB", (8, 8), color).save(tmp_path / f"{color}.png")
    study = Study.build("s", [], tables={"items": [Item(id=one, image=f"{one}.png") for one in ("teal", "pink")]})
    (tmp_path / "kept").mkdir()
    guard = save_guard(LeakGuard.of(picture_keys([tmp_path / "teal.png"]), []), tmp_path / "kept")
    folder = heads(tmp_path / "model", "c", guard=guard)
    (tmp_path / "kept" / guard["file"]).rename(folder / guard["file"])
    for place in (str(folder), f"model:{folder}", f"model:{folder}@c"):
        assert training_items(study, tmp_path, place) == {"teal"}
    assert training_items(study, tmp_path, "words") == frozenset()


def test_naming_a_model_loads_no_network_library() -> None:
    code = "import sys, salon.judge.model_scorers; print([m for m in ('torch', 'transformers') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]"
