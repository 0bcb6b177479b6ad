"""A trained model as a judge: both orders, its own log-odds as chances, broken pictures named, nothing asked twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scored_study import study_in
from trained_example import card_of, colors, save_model  # noqa: F401

from salon.cli.main import run as salon
from salon.errors import BadValue
from salon.judge import JudgeSettings, judge_study, read_verdicts, trained_model as trained_judge
from salon.judge.trained_model import TrainedJudge
from salon.models import ResultCache, load_model
from salon.store import open_study

ALL = JudgeSettings(pairs="all")


def verdicts(folder: Path, name: str) -> list[dict]:
    return read_verdicts(folder / "judges" / name).to_pylist()


def test_both_orders_say_the_same_and_chances_are_the_model_s(colors, tmp_path: Path, capsys) -> None:  # noqa: F811
    study, model = study_in(tmp_path / "study", broken=False), save_model(tmp_path / "model", form="antisymmetric")
    with pytest.raises(SystemExit) as left:
        salon(["judge", "run", str(tmp_path / "study"), "--trained", str(model), "--pairs", "all", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert left.value.code == 0
    assert (told["judge"], told["verdicts"], told["unparsed"]) == ("model", 24, 0)
    rows = verdicts(tmp_path / "study", "model")
    by_pair: dict = {}
    for row in rows:
        by_pair.setdefault((row["a"], row["b"]), []).append(row)
    for first, second in by_pair.values():
        assert {first["left"], second["left"]} == {"a", "b"}
        assert first["outcome"] == second["outcome"]
        assert first["chance"] == pytest.approx(second["chance"], abs=1e-6)
    red, teal = (tmp_path / "study/images/p1" / f"{color}.png" for color in ("red", "teal"))
    logits = trained_judge.pair_logits(load_model(model), [red], [teal], ["a tea house"], "c")
    (row,) = [row for row in rows if (row["a"], row["b"], row["left"]) == ("p1-red", "p1-teal", "a")]
    assert row["chance"] == pytest.approx(1 / (1 + np.exp(-logits[0])), abs=1e-6)
    judged = open_study(tmp_path / "study" / "judges" / "model")
    assert len(judged.comparisons) == 12
    assert study.counts["items"] == judged.counts["items"]


def test_what_is_known_is_not_worked_out_again(colors, tmp_path: Path, monkeypatch) -> None:  # noqa: F811
    study, model = study_in(tmp_path / "study", broken=False), save_model(tmp_path / "model")
    kept = ResultCache(tmp_path / "kept.sqlite")
    first = judge_study(study, tmp_path / "study", TrainedJudge("m", model, study, result_cache=kept), ALL, looks=False)
    monkeypatch.setattr(trained_judge, "pair_logits", None)
    again = judge_study(study, tmp_path / "study", TrainedJudge("m", model, study, result_cache=kept), ALL, looks=False)
    assert (first.stored, again.stored) == (0, 24)
    assert first.signature == again.signature


class Even:
    """A model that cannot choose, and counts how it was asked."""

    card = card_of("reward", "c", "d")

    def pair_logits(self, a, b, texts, criterion):  # type: ignore[no-untyped-def]
        return np.zeros(len(a))


@pytest.mark.parametrize("ties", [False, True])
def test_even_odds_are_a_tie_with_or_without_one_on_the_menu(tmp_path: Path, monkeypatch, ties: bool) -> None:
    study = study_in(tmp_path / "study", broken=False)
    monkeypatch.setattr(trained_judge, "opened", lambda folder, device: (Even(), "0"))
    settings = JudgeSettings(pairs="all", ties=ties)
    judge = TrainedJudge("even", tmp_path, study, result_cache=ResultCache(tmp_path / "kept.sqlite"))
    judge_study(study, tmp_path / "study", judge, settings, looks=False)
    judged = open_study(tmp_path / "study" / "judges" / "even")
    assert {one.outcome for one in judged.nouns("comparisons")} == {"tie"}


def test_broken_pictures_get_no_reply_and_single_pictures_are_refused(colors, tmp_path: Path) -> None:  # noqa: F811
    study, model = study_in(tmp_path / "study"), save_model(tmp_path / "model")
    judge = TrainedJudge("m", model, study)
    done = judge_study(study, tmp_path / "study", judge, ALL, looks=False)
    assert done.failed == {"broken-image": 18}  # nine pairs with 'broken' or 'bare', both orders
    with pytest.raises(BadValue, match="salon score"):
        list(judge.reply([_about_one(study, tmp_path / "study")]))


def _about_one(study, folder: Path):  # type: ignore[no-untyped-def]
    conversation = trained_judge.Conversation
    sight = {"item": "p0-red", "path": folder / "images/p0/red.png"}
    return conversation.model_validate({"parts": (sight,), "about": ("c",)})
