"""The page of an evaluation says what its JSON says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from browser import chromium, page_faults
from trial_example import contestant, planted_trial

from salon.evaluate import EvaluateSettings, evaluate, evaluation_page
from salon.evaluate.leaks import Leaks
from salon.evaluate.tables import honesty
from salon.report import disagreements
from salon.report.values import numbers_in
from salon.stats import Estimate, PairCalibration
from salon.train.model_evaluation import learning_curve

__all__ = ["chromium"]

QUICK = EvaluateSettings(draws=100)


@pytest.fixture(scope="module")
def report():
    """Everything there can be on a page: two studies, several contestants, a curve, seeds, order flips, a leak."""
    entered = []
    for seed in (0, 1):
        trial, z = planted_trial(prompts=12, seed=seed, simulated=bool(seed))
        noise = np.random.default_rng(seed).normal(0, 1, (3, len(z)))
        odd = {"turned": z + noise[1], "form": "pairwise", "leaks": Leaks(("p0-0",), (), ())}
        entered.append(
            (trial, [contestant(trial, z + noise[0], "<one>", settings={"seed": 0}),
                     contestant(trial, z + noise[1] / 2, "two", settings={"seed": 1}, **odd),
                     contestant(trial, noise[2], "coin", "scorer")])
        )  # fmt: skip
    trial, z = planted_trial(prompts=12)
    curve = learning_curve("two", trial, {f"t{n}": 6 for n in range(40)}, lambda prompts, seed: z * len(prompts), QUICK)
    return evaluate(entered, QUICK, learning_curve=curve)


def test_every_number_is_the_documents(report):
    html = evaluation_page(report).html()
    assert disagreements(html, json.loads(report.model_dump_json())) == []
    assert len(numbers_in(html)) > 200


def test_what_may_not_be_overlooked(report):
    html = evaluation_page(report).html()
    assert "LEAK: a model was trained on" in html
    assert "Simulated study" in html
    assert "&lt;one&gt;" in html
    assert "<one>" not in html
    for section in ("Across studies", "By criterion", "The panel", "Between judges", "Calibration",
                    "Order of generators", "Growth and chance", "Policies"):  # fmt: skip
        assert f">{section}<" in html


def test_a_lonely_model_without_ceilings():
    trial, z = planted_trial(prompts=4, raters=1, criteria=1)
    report = evaluate([(trial, [contestant(trial, z)])], EvaluateSettings(draws=100, ceiling=False))
    html = evaluation_page(report).html()
    assert "No ceiling: nobody can say whether these accuracies are good or bad." in html
    assert ">Across studies<" not in html
    assert disagreements(html, json.loads(report.model_dump_json())) == []


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.2, 0.8, "too sure"), (1.2, 2.0, "too shy"), (0.6, 1.3, "honest"), (-3.8, 4.4, "cannot tell")],
)
def test_an_interval_from_nothing_to_honest_proves_neither(low, high, said):
    slope = Estimate(value=(low + high) / 2, low=low, high=high, n=12, unit="pair", level=0.95, method="made up")
    found = PairCalibration(brier=slope, ece=slope, expected_ece=0.1, slope=slope, bins=(), pairs=12)
    assert honesty(found).words == said


@pytest.mark.browser
def test_nothing_is_wrong_under_axe(chromium, report, tmp_path):
    assert page_faults(chromium, evaluation_page(report).html(), tmp_path) == []
