"""What is said of a validation that is too small, at chance or below it."""

import pytest

from salon.evaluate import HeadFigures, validation_warnings
from salon.stats import Estimate


def figures(value, low, high, *, pairs=200, prompts=40):
    accuracy = Estimate(value=value, low=low, high=high, n=prompts, unit="prompt", level=0.95, method="")
    return [HeadFigures(criterion=None, pairs=pairs, accuracy=accuracy, ceiling=None, loss=0.6, missing="")]


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (figures(0.7, 0.62, 0.78), []),
        (figures(0.55, 0.46, 0.64), ["spans chance"]),
        (figures(0.45, 0.36, 0.54), ["below chance"]),
        (figures(0.2, 0.1, 0.3), ["swapped"]),
        (figures(0.9, 0.8, 1.0, pairs=12), ["12 pairs of 40 prompts are too few"]),
        (figures(1.0, None, None, pairs=1, prompts=1), ["validation holds one prompt"]),
        (figures(0.4, 0.1, 0.8, prompts=4), ["too few", "below chance"]),
    ],
)
def test_numbers_that_say_nothing_are_told_so(figure, words):
    told = validation_warnings(figure)
    assert len(told) == len(words)
    assert all(word in line for word, line in zip(words, told))
