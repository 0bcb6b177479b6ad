"""One study has one verdict: neither draws nor the command that asks move it."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_studies import Drawn, random_ranks, shared_ranks

from salon.check import CheckSettings, check_study
from salon.evaluate import ReportSettings
from salon.evaluate.judges import check_people


@pytest.mark.parametrize("noise", [1.0, 4.0, None])
def test_draws_and_judge_report_give_the_answers_of_check(noise):
    rng = np.random.default_rng(3)
    drawn = Drawn(12, 4)
    drawn.rank(random_ranks(12, 5, 4, rng) if noise is None else shared_ranks(12, 5, 4, noise, rng))
    study = drawn.study()
    answers = set()
    for draws in (200, 500, 2_000):
        found = check_study(study, CheckSettings(draws=draws)).criteria[0]
        answers.add((found.agree, found.taste, found.answer))
        said = check_people(study, ReportSettings(draws=draws))[found.criterion]
        assert said == (found.answer, found.sentence)
    assert len(answers) == 1
