"""A million scorings on Ray with workers killed: minutes, so only where it is asked for (`pytest -m slow`)."""

from __future__ import annotations

import pytest

from prove.engine import TASKS, attempt


@pytest.mark.slow
def test_a_million_results_are_each_there_once_whoever_dies() -> None:
    done, _, right = attempt("ray", TASKS)
    assert TASKS == 1_000_000
    assert done.deaths > 10
    assert (done.computed, done.lost, right) == (TASKS, (), True)
