"""Rating one item: questions, scales, and several samples together."""

from __future__ import annotations

import pytest
from judged_study import MOOD, TYPE, judged_study

from salon.errors import BadValue
from salon.judge import JudgeQuestion, JudgeSettings, Reply, VerdictReader
from salon.judge.protocol import check_scale, mean_value, point_questions, rated_criterion

RATE = JudgeSettings(protocol="rate")


def test_each_item_is_asked_about_under_each_criterion() -> None:
    asked = point_questions(judged_study(), ("taste/mood", "type"), RATE)
    assert len(asked) == 12
    assert {(one.a, one.b, one.left) for one in asked[:6]} == {(f"p{p}-{k}", None, None) for p in "12" for k in "abc"}
    some = point_questions(judged_study(), ("type",), RATE.model_copy(update={"limit": 4}))
    assert len(some) == 4


def test_a_judge_may_say_what_lies_between_the_boxes_but_not_between_levels_without_distance() -> None:
    assert rated_criterion(MOOD).scale.step is None
    assert (rated_criterion(MOOD).scale.low, rated_criterion(MOOD).scale.high) == (1, 5)
    assert rated_criterion(TYPE) == TYPE
    reader = VerdictReader(judged_study(), RATE, "j")
    mood, flag = (JudgeQuestion(protocol="rate", criteria=(id,), a="p1-a") for id in ("taste/mood", "type"))
    assert reader.verdicts(mood, Reply(text='{"score": 3.4}'))[0].value == 3.4
    (unread,) = reader.verdicts(flag, Reply(text='{"score": 1.5}'))
    assert (unread.value, unread.unparsed) == (None, "between levels")


def test_rating_needs_a_scale() -> None:
    with pytest.raises(BadValue, match="scale"):
        check_scale(MOOD.model_copy(update={"scale": None}))


@pytest.mark.parametrize(
    ("values", "mean"),
    [([2.0, 4.0], 3.0), ([2.0, 3.0, None], 2.5), ([2.0, None], None), ([None], None), ([4.0], 4.0)],
)
def test_samples_count_by_their_mean_where_most_were_read(values: list, mean: float | None) -> None:
    assert mean_value(values) == mean
