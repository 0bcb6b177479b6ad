"""A trained model as a scorer: the model's own numbers, one table for each criterion, each picture encoded once."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from PIL import Image
from scored_study import study_in
from trained_example import Colors, card_of, colors, save_model  # noqa: F401

from salon.cli.score import score
from salon.errors import BadFile, BadValue
from salon.evaluate import ItemOrder
from salon.evaluate.answers import score_judge
from salon.judge import make_scorer, model_scorers as of_model, score_study, trained_model as trained
from salon.models import ModelScore, known_criteria, load_model
from salon.study import Criterion, Study


def test_scores_are_the_model_s_own(colors: Colors, tmp_path: Path) -> None:  # noqa: F811
    folder, study = save_model(tmp_path / "model"), study_in(tmp_path / "study")
    scorer = make_scorer(f"model:{folder}")
    run = score_study(study, tmp_path / "study", scorer)
    rows = pq.read_table(tmp_path / "study" / run.file).to_pylist()
    model, prompts = load_model(folder), {prompt.id: prompt for prompt in study.nouns("prompts")}
    for item, row in zip(study.nouns("items"), rows):
        if row["value"] is not None:
            image = Image.open(tmp_path / "study" / item.image).convert("RGB")
            (one,) = model.scores([image], [prompts[item.prompt].view()], "c")
            assert row["value"] == pytest.approx(one.value, abs=1e-6)
    assert (run.scored, run.card.criterion, run.card.is_logit) == (8, "c", True)
    assert run.unscored["the item has no picture"] == 1
    assert "criterion:c" in run.signature


def test_criteria_share_what_the_encoder_saw(colors: Colors, tmp_path: Path) -> None:  # noqa: F811
    folder = save_model(tmp_path / "model", "taste/mood", "taste/color")
    study_in(tmp_path / "study", broken=False)
    done = CliRunner().invoke(
        score, [str(tmp_path / "study"), "--model", str(folder), "--json"], catch_exceptions=False
    )
    runs = json.loads(done.output)["scorers"]
    assert [run["scorer"] for run in runs] == ["tiny@taste-mood", "tiny@taste-color"]
    assert [run["card"]["criterion"] for run in runs] == ["taste/mood", "taste/color"]
    assert runs[0]["low"] != runs[1]["low"]
    assert colors.looked == 4  # of two prompts' eight pictures, four are equal


def test_pictures_without_a_study(colors: Colors, tmp_path: Path) -> None:  # noqa: F811
    folder = save_model(tmp_path / "model@home", "taste/mood", "taste/color")
    Image.new("RGB", (8, 8), "teal").save(tmp_path / "one.png")
    arguments = [tmp_path, "--model", folder, "--criterion", "taste/mood", "--prompt", "a fair", "-o", tmp_path / "out"]
    assert CliRunner().invoke(score, [str(one) for one in arguments], catch_exceptions=False).exit_code == 0
    (row,) = pq.read_table(tmp_path / "out" / "tiny@taste-mood.parquet").to_pylist()
    (one,) = load_model(folder).scores([Image.new("RGB", (8, 8), "teal")], ["a fair"], "taste/mood")
    assert row["value"] == pytest.approx(one.value, abs=1e-6)


def test_a_flag_head_is_a_scorer_too_where_lower_is_better(tmp_path: Path) -> None:
    card = card_of("heads", "taste/mood", flag="taste/hallucination")
    assert [one.id for one in known_criteria(card)] == ["taste/mood", "taste/hallucination"]
    assert not of_model.known_criterion(card, "taste/hallucination", where="").higher_is_better
    assert of_model.scores_name(card, "taste/mood") == "tiny@taste-mood"


def test_the_signature_hangs_on_weights_and_not_on_words_about_them(colors: Colors, tmp_path: Path) -> None:  # noqa: F811
    first = str(make_scorer(f"model:{save_model(tmp_path / 'model')}").signature)
    (tmp_path / "model" / "README.md").write_text("another word")
    assert str(make_scorer(f"model:{tmp_path / 'model'}").signature) == first
    weights = bytearray((tmp_path / "model" / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "model" / "model.safetensors").write_bytes(weights)
    assert str(make_scorer(f"model:{tmp_path / 'model'}").signature) != first


class Sure:
    """A reward model as far as a scorer sees it: it looks at pictures itself, and states a sigma."""

    card = card_of("reward")

    def scores(self, images, texts, criterion):  # type: ignore[no-untyped-def]
        odd = [ModelScore(float("nan"), 0.5), ModelScore(1.0, float("inf"))]
        return [odd[number % 2] if "tea" in text else ModelScore(len(text), 0.5) for number, text in enumerate(texts)]


def test_a_reward_model_s_sigma_is_kept_and_what_is_no_number_is_none(tmp_path: Path, monkeypatch) -> None:
    study = study_in(tmp_path / "study", broken=False)
    monkeypatch.setattr(trained, "opened", lambda folder, device: (Sure(), "0"))
    run = score_study(study, tmp_path / "study", trained.trained_scorer(tmp_path))
    rows = pq.read_table(tmp_path / "study" / run.file).to_pylist()
    assert rows[0]["value"] == len("a fair\n\nby the sea")
    assert rows[0]["sigma"] == 0.5
    assert run.unscored == {"the model gave no finite number": 4}


def test_a_report_holds_scores_against_their_own_criterion_only(colors: Colors, tmp_path: Path) -> None:  # noqa: F811
    one = study_in(tmp_path / "study", broken=False)
    criteria = [Criterion(id=id, name=id, question="Which?") for id in "cd"]
    study = Study.build("s", criteria, tables={kind: one.table(kind) for kind in ("prompts", "items")})
    for criterion, held in (("d", [1]), ("elsewhere", [0, 1])):
        folder = save_model(tmp_path / criterion, criterion)
        run = score_study(study, tmp_path / "study", make_scorer(f"model:{folder}"))
        judge = score_judge(tmp_path / "study" / run.file, study, ItemOrder(study))
        assert list(judge.answers.by_criterion) == held


def test_a_criterion_the_model_does_not_know(colors: Colors, tmp_path: Path) -> None:  # noqa: F811
    folder = save_model(tmp_path / "model", "taste/mood", "taste/color")
    with pytest.raises(BadValue, match="taste/mood, taste/color"):
        make_scorer(f"model:{folder}")
    with pytest.raises(BadValue, match="'joy'"):
        of_model.scorer_names(folder, ["joy"])
    with pytest.raises(BadFile, match=r"model\.json"):
        of_model.scorer_names(tmp_path)
