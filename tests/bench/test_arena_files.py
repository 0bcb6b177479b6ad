"""Win matrices, routing and numbered snapshots by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from salon.bench import publish_snapshot
from salon.bench.arena import BoardFit, weighted_job, win_matrix
from salon.bench.snapshots import read_snapshots
from salon.errors import BadFile
from salon.stats import score_interval
from salon.study import Noun


class Small(Noun):
    """A snapshot with one word."""

    number: int = 0
    word: str


# -- numbered files ----------------------------------------------------------------------------------------------------


def test_snapshots_are_numbered_once_and_never_changed(tmp_path):
    one, new = publish_snapshot(tmp_path / "arena", Small(word="first"))
    assert (one.number, new) == (1, True)
    file = tmp_path / "arena/0001.json"
    before = file.read_bytes()
    assert publish_snapshot(tmp_path / "arena", Small(word="second"))[0].number == 2
    same, new = publish_snapshot(tmp_path / "arena", Small(word="first"))
    assert (same.number, new) == (1, False)
    assert file.read_bytes() == before
    assert [one.word for one in read_snapshots(tmp_path / "arena", Small)] == ["first", "second"]
    assert sorted(path.name for path in (tmp_path / "arena").iterdir()) == ["0001.json", "0002.json"]
    assert read_snapshots(tmp_path / "none", Small) == []


def test_a_number_taken_meanwhile_is_left_alone(tmp_path, monkeypatch):
    publish_snapshot(tmp_path, Small(word="first"))
    monkeypatch.setattr("salon.bench.snapshots.read_snapshots", lambda folder, kind: [])  # a list read too early
    assert publish_snapshot(tmp_path, Small(word="late"))[0].number == 2
    assert json.loads((tmp_path / "0001.json").read_text())["word"] == "first"


def test_a_snapshot_under_another_number_is_refused(tmp_path):
    publish_snapshot(tmp_path, Small(word="first"))
    (tmp_path / "0002.json").write_bytes((tmp_path / "0001.json").read_bytes())
    with pytest.raises(BadFile, match="bears the number"):
        read_snapshots(tmp_path, Small)
    (tmp_path / "0002.json").write_text("{")
    with pytest.raises(BadFile, match="a snapshot is needed"):
        read_snapshots(tmp_path, Small)


# -- win matrices ------------------------------------------------------------------------------------------------------


def test_a_win_matrix_by_hand():
    # a-b on two prompts: a, a, tie | b; b-a turned round once; c never meets b
    first, second = np.array([0, 0, 1, 0, 2]), np.array([1, 1, 0, 1, 0])
    outcome, prompt = np.array([0, 0, 2, 1, 0]), np.array([0, 0, 0, 1, 7])
    made = win_matrix(first, second, outcome, prompt, ["a", "b", "c"], lambda i, j: None)
    assert made.never_met == 1
    duel = made.duel("a", "b")
    assert (duel.wins, duel.losses, duel.ties, duel.prompts) == (2, 1, 1, 2)
    assert duel.share.value == pytest.approx((2 + 0.5) / 4)
    wanted = score_interval([2.5 / 3, 0.0], [3, 1])
    assert (duel.share.low, duel.share.high) == pytest.approx((wanted.low, wanted.high))
    lost = made.duel("a", "c")
    assert (lost.share.value, lost.losses) == (0.0, 1)
    assert lost.share.method == "Wilson"
    assert lost.share.high > 0.5  # one answer says little
    assert made.duel("b", "c") is None
    assert made.duel("b", "a").wins == 1
    assert win_matrix(first[:0], first[:0], first[:0], first[:0], [], lambda i, j: None) is None


def test_answers_without_a_prompt_are_clusters_of_their_own():
    none = np.full(10, -1)
    duel = win_matrix(
        np.zeros(10, int), np.ones(10, int), np.arange(10) % 2, none, ["a", "b"], lambda i, j: None
    ).duels[0]
    assert duel.prompts == 0
    assert duel.share.n == 10


# -- routing -----------------------------------------------------------------------------------------------------------


def fit(scores, seed, names=("a", "b", "c"), size=0.05):
    return BoardFit(names, np.array(scores), (size * np.random.default_rng(seed).normal(size=(30, len(scores))),))


def test_weights_are_shares_and_errors_are_joint():
    one, other = fit([1.0, 0.0, -1.0], 1), fit([-1.0, 0.5, 0.5], 2)
    job = weighted_job("x", {"p": 3.0, "q": 1.0}, None, {"p": one, "q": other}, level=0.95, seed=0)
    assert job.weights == {"p": 0.75, "q": 0.25}
    assert [(c.generator, c.score.value) for c in job.candidates] == [
        ("a", pytest.approx(0.5)),
        ("b", pytest.approx(0.125)),
        ("c", pytest.approx(-0.625)),
    ]
    half = 2.0452 * np.sqrt(((0.75 * one.deviations[0] + 0.25 * other.deviations[0])[:, 0] ** 2).sum())  # t, 29 df
    assert job.candidates[0].score.high - 0.5 == pytest.approx(half, rel=1e-4)
    assert job.margin.value == pytest.approx(0.375)
    # the same board twice is the board: errors that go together do not cancel
    twice = weighted_job("x", {"p": 1, "q": 1}, None, {"p": one, "q": one}, level=0.95, seed=0)
    alone = weighted_job("x", {"p": 1}, None, {"p": one}, level=0.95, seed=0)
    assert twice.candidates == alone.candidates


def test_errors_over_raters_and_prompts_hold_for_weighted_means_and_leads():
    """Three parts: raters + prompts - cells of the weighted mean itself, not of each board."""
    rng = np.random.default_rng(3)
    boards = {
        name: BoardFit(("a", "b"), np.array([1.0, 0.0]), tuple(rng.normal(size=(n, 2)) for n in (5, 20, 30)), "both")
        for name in "pq"
    }
    job = weighted_job("x", {"p": 1, "q": 3}, None, boards, level=0.95, seed=0)
    moved = [0.25 * p + 0.75 * q for p, q in zip(boards["p"].deviations, boards["q"].deviations)]
    r, p, c = (float((part[:, 0] ** 2).sum()) for part in moved)
    assert job.candidates[0].error == pytest.approx(np.sqrt(max(r + p - c, r, p, c)))
    r, p, c = (float(((part[:, 0] - part[:, 1]) ** 2).sum()) for part in moved)
    variance = max(r + p - c, r, p, c)
    nu = max(variance**2 / (r**2 / 4 + p**2 / 19), 4)
    half = stats.t.ppf(0.975, 2 / (1 / nu + 1 / 4)) * np.sqrt(variance)
    assert job.margin.high - job.margin.value == pytest.approx(half)
    assert job.margin.unit == "block of raters and prompts"


def test_who_is_missing_on_a_board_is_named():
    boards = {"p": fit([1.0, 0.0, -1.0], 1), "q": fit([0.3, 0.2], 2, names=("b", "a"))}
    job = weighted_job("x", {"p": 1, "q": 1}, "mug", boards, level=0.95, seed=0)
    assert job.left_out == ("c",)
    assert job.recommended == "a"  # (1 + 0.2) / 2
    absent = weighted_job("x", {"p": 1, "r": 1}, None, boards, level=0.95, seed=0)
    assert (absent.recommended, absent.reason) == (None, "no scores in logits under r")
    apart = {"p": fit([1.0, 0.0], 1, names=("a", "b")), "q": fit([1.0, 0.0], 2, names=("c", "d"))}
    assert "fewer than two" in weighted_job("x", {"p": 1, "q": 1}, None, apart, level=0.95, seed=0).reason


def test_a_fold_without_a_fit_leaves_no_interval():
    board = fit([1.0, 0.0], 1, names=("a", "b"))
    board.deviations[0][3, 0] = np.nan
    job = weighted_job("x", {"p": 1}, None, {"p": board}, level=0.95, seed=0)
    assert job.recommended == "a"
    assert job.margin.low is None
    assert job.candidates[0].tier is None
    assert job.best == ("a", "b")  # nobody is sure to be the best
