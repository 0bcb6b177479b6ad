"""Parts of the prompts are nested, points are means over seeds, and parts too small are left out."""

from __future__ import annotations

import numpy as np
import pytest
from trial_example import planted_trial

from salon.errors import BadValue, TooFew
from salon.evaluate import CurveSettings, EvaluateSettings
from salon.train.model_evaluation import learning_curve, nested_prompts

QUICK = EvaluateSettings(draws=100)
PROMPTS = {f"prompt {number}": 6 for number in range(80)}


def test_parts_are_nested_and_depend_on_the_seed_alone():
    parts = [nested_prompts(list(PROMPTS), share, seed=0) for share in (0.1, 0.5, 1.0)]
    assert [len(part) for part in parts] == [8, 40, 80]
    assert parts[0] < parts[1] < parts[2]
    assert nested_prompts(list(PROMPTS)[::-1], 0.5, seed=0) == parts[1]
    assert nested_prompts(list(PROMPTS), 0.5, seed=1) != parts[1]
    assert len(nested_prompts(["only"], 0.01, seed=0)) == 1
    with pytest.raises(BadValue):
        nested_prompts(list(PROMPTS), 0.0, seed=0)


def test_the_curve_by_hand():
    trial, _ = planted_trial(prompts=20, criteria=1)
    truth = np.where(trial.winner == 0, 1, trial.winner).astype(float)

    def fit(prompts, seed):
        """With few prompts TooFew; else seed 0 is always right, and seed 1 always wrong."""
        if len(prompts) < 20:
            raise TooFew("more prompts")
        return truth if seed == 0 else -truth

    curve = learning_curve("m", trial, PROMPTS, fit, QUICK, CurveSettings(curve_shares=(1.0, 0.5, 0.1), curve_seeds=2))
    assert [(point.prompts, point.pairs, point.seeds) for point in curve.points] == [(40, 240, 2), (80, 480, 2)]
    assert curve.points[0].accuracy.value == 0.5
    assert curve.points[0].sd == pytest.approx(np.std([0, 1], ddof=1))
    assert curve.ceiling.pairs == 120


def test_nothing_to_train_on():
    trial, _ = planted_trial(prompts=4, criteria=1)

    def fit(prompts, seed):
        raise TooFew("more prompts")

    with pytest.raises(TooFew, match="learning curve"):
        learning_curve("m", trial, PROMPTS, fit, QUICK)
