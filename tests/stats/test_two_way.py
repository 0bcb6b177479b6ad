"""Errors over raters and prompts at once: by definition, by property, by recovery, at the edge."""

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue
from salon.stats import Errors, two_way_errors, two_way_variance

FREEDOM = {"rater_df": 4, "prompt_df": 19}


def of_mean(y):
    """Mean of tables (studies, raters, prompts), and the variances over raters, prompts and cells."""
    _, raters, prompts = y.shape
    mean = y.mean(axis=(1, 2))
    rest = (y - mean[:, None, None]) / (raters * prompts)
    sums = (rest.sum(axis=2), rest.sum(axis=1), rest.reshape(len(y), -1))
    return mean, [(part**2).sum(axis=1) * part.shape[1] / (part.shape[1] - 1) for part in sums]


def test_raters_and_prompts_add_and_cells_count_once():
    variance, df = two_way_variance(5.0, 3.0, 1.0, **FREEDOM)
    assert variance == 7
    nu = 49 / (25 / 4 + 9 / 19)
    assert df == pytest.approx(2 / (1 / nu + 1 / 4))


@pytest.mark.parametrize(("parts", "least"), [((5, 1, 4), 5), ((1, 5, 4), 5), ((1, 1, 4), 4), ((0, 0, 0), 0)])
def test_never_below_either_alone(parts, least):
    variance, df = two_way_variance(*map(float, parts), **FREEDOM)
    assert variance == least
    assert df >= 4


def test_one_answer_a_prompt_is_the_error_over_raters():
    """Prompts nested in raters: every cell is a prompt, and drawing raters anew draws both."""
    assert two_way_variance(2.0, 1.0, 1.0, **FREEDOM)[0] == 2


@pytest.mark.parametrize(("taste", "suits"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.3, 0.3)])
@pytest.mark.parametrize(("raters", "prompts"), [(3, 20), (5, 40), (12, 12)])
def test_a_mean_is_covered_whatever_varies(raters, prompts, taste, suits):
    rng = np.random.default_rng([raters, prompts])
    size = 2000, raters, prompts
    y = taste * rng.normal(size=(*size[:2], 1)) + suits * rng.normal(size=(size[0], 1, prompts)) + rng.normal(size=size)
    mean, parts = of_mean(y)
    variance, df = two_way_variance(*parts, rater_df=raters - 1, prompt_df=prompts - 1)
    covered = np.mean(np.abs(mean) <= stats.t.ppf(0.975, df) * np.sqrt(variance))
    assert covered > 0.935
    if taste and prompts > raters:
        one_way = np.mean(np.abs(mean) <= stats.t.ppf(0.975, prompts - 1) * np.sqrt(parts[1]))
        assert one_way < 0.85, "over prompts alone, what raters share is forgotten"


def test_errors_of_scores_and_of_their_differences():
    rng = np.random.default_rng(0)
    parts = []
    for clusters in (5, 20, 100):
        moved = rng.normal(size=(clusters, 4)) / clusters**0.5
        parts.append(Errors(np.sqrt((moved**2).sum(axis=0)), moved.T @ moved, clusters - 1.0, "part"))
    made = two_way_errors(*parts, method="two-way")
    r, p, c = (np.diag(part.covariance) for part in parts)
    assert made.se**2 == pytest.approx(np.maximum.reduce([r + p - c, r, p, c]))
    assert np.linalg.eigvalsh(made.covariance).min() > -1e-9 * made.se.max() ** 2 or made.differences is not None
    r, p, c = (part.covariance[0, 0] + part.covariance[1, 1] - 2 * part.covariance[0, 1] for part in parts)
    assert made.differences[0, 1] == made.differences[1, 0] == pytest.approx(max(r + p - c, r, p, c))
    assert (np.diag(made.differences) == 0).all()


def test_unknown_parts_leave_unknown_errors():
    known = Errors(np.ones(2), np.eye(2), 4.0, "part")
    unknown = Errors(np.full(2, np.nan), np.full((2, 2), np.nan), 4.0, "part")
    made = two_way_errors(known, unknown, known, method="two-way")
    assert np.isnan(made.se).all()
    assert made.differences is None


def test_parts_have_one_shape():
    with pytest.raises(BadValue, match="one shape"):
        two_way_variance([1.0, 2.0], 1.0, 1.0, **FREEDOM)
