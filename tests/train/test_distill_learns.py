"""The proof that a tiny VLM learns, cut to a few steps: every part of it runs, on what users call."""

from __future__ import annotations

from pathlib import Path

import pytest

from prove import distill_seeds
from prove.distill_learns import PLAIN, Run, learn

FEW = {"steps": 2, "images": 4, "group": 4, "at_once": 16, "validate_every": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    place = tmp_path_factory.mktemp("learns") / "run"
    few = PLAIN.model_copy(update=FEW)
    return learn(place, 0, count=24, lessons=10, plain=few, kinds=("trained", "shuffled"))


def test_three_scorers_are_tested_on_the_same_unseen_posters(run: Run) -> None:
    assert set(run.test) == {"base", "trained", "shuffled"}
    assert len({one["wanted"] for one in run.test.values()}) == 1
    assert run.test["base"]["wanted"] >= 3


def test_labels_come_from_a_judge_and_not_from_the_truth(run: Run) -> None:
    assert 0.5 < run.labels_srcc < 0.999
    assert run.calls > 0


def test_rewards_are_kept_step_by_step(run: Run) -> None:
    assert [len(run.reward[kind]) for kind in ("trained", "shuffled")] == [2, 2]
    assert [step for step, _ in run.order["trained"]] == [0, 1, 2]
    assert set(run.difference) == {"base", "shuffled"}
    for low, high, value in run.difference.values():
        assert low is None or low <= value <= high


def test_the_folder_is_left_as_a_scorer(run: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = Path(tmp_path_factory.getbasetemp())
    assert list(folder.glob("learns*/run/trained/one_pass.json"))


def test_a_seed_is_reported_whether_it_learned_or_not(tmp_path: Path) -> None:
    """Two steps teach nothing: the run is kept all the same, and counted as not learned."""
    run = distill_seeds.learn(tmp_path / "run", 3, "steady", count=40, lessons=5, changed=FEW)
    assert (run.seed, run.steps, run.learned) == (3, 2, False)
    assert [look["step"] for look in run.looks] == [0, 1, 2]
    assert run.outcome in ("unknown", "unreadable", "constant")
    assert run.test["wanted"] >= 3
    row = distill_seeds._row(run)
    assert row[0] == "3"
    assert row[3] == "2 of 2"
    assert row[-1] == run.outcome
