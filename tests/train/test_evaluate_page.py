"""The page of an evaluation says what its JSON says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from trial_example import contestant, planted_trial

from salon.report import disagreements
from salon.report.values import numbers_in
from salon.train.evaluate import evaluate
from salon.train.evaluate_page import evaluate_page
from salon.train.evaluate_settings import EvaluateSettings
from salon.train.leaks import Leaks
from salon.train.learning_curve import learning_curve

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
    html = evaluate_page(report).html()
    assert disagreements(html, json.loads(report.model_dump_json())) == []
    assert len(numbers_in(html)) > 200


def test_what_may_not_be_overlooked(report):
    html = evaluate_page(report).html()
    assert "LEAK: a model was trained on" in html
    assert "Simulated study" in html
    assert "&lt;one&gt;" in html
    assert "<one>" not in html
    for section in ("Across studies", "By criterion", "By agreement of the panel", "Between contestants", "Calibration",
                    "Order of generators", "Growth and chance", "Policies"):  # fmt: skip
        assert f">{section}<" in html


def test_a_lonely_model_without_ceilings():
    trial, z = planted_trial(prompts=4, raters=1, criteria=1)
    report = evaluate([(trial, [contestant(trial, z)])], EvaluateSettings(draws=100, ceiling=False))
    html = evaluate_page(report).html()
    assert "No ceiling: these accuracies cannot be told" in html
    assert ">Across studies<" not in html
    assert disagreements(html, json.loads(report.model_dump_json())) == []
