"""What a judge report says of people whose answers carry little, or a signal of unknown kind."""

from __future__ import annotations

import pytest

from salon.evaluate.judges import judge_warnings
from salon.evaluate.pair_results import PanelFigures


@pytest.mark.parametrize(
    ("signal", "said"),
    [
        ("no", "no more than by chance"),
        ("cannot tell", "too few answers"),
        ("yes, in camps", "within camps, not on one order, so accuracy"),
        ("no, opposed camps", "oppose each other, so accuracy"),
        ("yes; one taste or camps: cannot tell", "as one taste or as camps cannot be told"),
    ],
)
def test_each_verdict_about_people_has_its_own_warning(signal: str, said: str) -> None:
    panel = [PanelFigures(criterion="c", name="Color", votes=50, pairs=10, tied=0, raters="5", signal=signal)]
    (words,) = judge_warnings([], panel, None, [])
    assert said in words
    assert words.endswith(": Color")
    assert judge_warnings([], [panel[0].model_copy(update={"signal": "yes, one taste"})], None, []) == ()


def test_people_who_agree_beyond_chance_are_not_called_random() -> None:
    """They agree; it is camps that cannot be ruled out."""
    signal = "yes; one taste or camps: cannot tell"
    panel = [PanelFigures(criterion="c", name="Color", votes=50, pairs=10, tied=0, raters="5", signal=signal)]
    (words,) = judge_warnings([], panel, None, [])
    assert "random" not in words
    assert "says little" not in words
