"""Best of N on posters that houses lay out: the short version of prove/best_of_n.py."""

from __future__ import annotations

import numpy as np
import pytest

from salon.generate import read_prompts, take_category_turns
from salon.generate.houses import HOUSES, poster_seed
from salon.render import WEIGHTS, draw_poster, read_brief
from salon.select import ScorerColumn, blend_columns, pick, read_weights
from salon.stats.uncertain_scores import best_of_means

CRITERIA = tuple(id for id in WEIGHTS if id != "taste/hallucination")
PROMPTS, POOL, RHO = 8, 10, 0.7


@pytest.fixture(scope="module")
def quality() -> np.ndarray:
    """(prompts, pool, criteria) true quality of what the apprentice lays out; nothing is painted."""
    house = HOUSES["apprentice"]
    found = []
    for prompt in take_category_turns(read_prompts("briefs"), PROMPTS):
        seeds = [poster_seed(house.name, prompt.id, number) for number in range(POOL)]
        made = [draw_poster(read_brief(prompt), house.habits, seed=seed, knobs=house.knobs(seed)) for seed in seeds]
        found.append([[poster.layout.quality[id] for id in CRITERIA] for poster in made])
    return np.array(found)


def test_true_quality_rises_with_n_as_the_scorers_accuracy_says(quality: np.ndarray) -> None:
    q = quality.mean(2)
    apart = q - q.mean(1, keepdims=True)
    sd = float(np.sqrt((apart**2).mean()))
    rng = np.random.default_rng(0)
    ns = (1, 2, 4, 8)
    measured, predicted = [], []
    for _ in range(60):  # scorers of one accuracy; their noise is what differs
        s = apart + rng.normal(0, sd * np.sqrt(1 / RHO**2 - 1), q.shape)
        s -= s.mean(1, keepdims=True)  # within prompts, as the choice is
        slope = float((s * apart).sum() / (s * s).sum())
        measured.append([best_of_means(a, b, ns) for a, b in zip(s, apart)])
        predicted.append([slope * best_of_means(a, a, ns) for a in s])
    by_prompt = np.mean(measured, axis=0)
    gain, law = by_prompt.mean(0), np.mean(predicted, axis=(0, 1))
    assert (np.diff(gain) > 0).all()
    # prompts are what is independent: eight of them, three standard errors
    error = (by_prompt - np.mean(predicted, axis=0)).std(0, ddof=1) / np.sqrt(PROMPTS)
    assert (np.abs(gain - law)[1:] < 3 * error[1:]).all()
    assert gain[1:] == pytest.approx(law[1:], rel=0.15)
    perfect = np.mean([best_of_means(a, a, ns) for a in apart], axis=0)
    assert (gain[1:] < perfect[1:]).all()


def test_typography_heavy_weights_pick_other_posters(quality: np.ndarray) -> None:
    columns = [ScorerColumn(criterion=id, scale="true quality") for id in CRITERIA]
    alike = blend_columns(columns)
    heavy = blend_columns(columns, read_weights("aesthetics-typography=1,descriptions-typography=1", CRITERIA))
    type_ = [d for d, id in enumerate(CRITERIA) if id.endswith("typography")]
    one, other = ([pick(table, None, way).index for table in quality] for way in (alike, heavy))
    assert sum(a != b for a, b in zip(one, other)) >= 2
    rows = np.arange(PROMPTS)
    gained = quality[rows, other] - quality[rows, one]
    assert (gained[:, type_].mean(1) >= -1e-9).all()
    assert gained[:, type_].mean() > 0.01
    assert gained.mean() < 0
