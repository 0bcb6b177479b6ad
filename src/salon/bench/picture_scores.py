"""Numbers of one scorer for pictures that are in no study's folder, kept as `salon score` keeps them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.errors import DesignError
from salon.judge.score import ScoreSettings, kept_results
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.picture import Scored, Unscored
from salon.models.kept import Kept
from salon.study import Item, Prompt
from salon.study.scorer import Scorer, ScorerCard


@dataclass(frozen=True)
class ScoredPictures:
    """What a scorer said."""

    scorer: Scorer
    card: ScorerCard
    values: NDArray[np.float64]
    """One for each picture, NaN where it has none."""
    unscored: dict[str, int]
    """How many have none, by reason."""


def score_pictures(
    scorer: Scorer,
    asked: Sequence[tuple[Item, Prompt | None]],
    settings: ScoreSettings | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> ScoredPictures:
    """Numbers of items whose `image` is the path of a picture."""
    settings = settings or ScoreSettings()
    kept = Kept()
    try:
        results, _ = kept_results(
            scorer, asked, settings.batch, kept,
            lambda done, wanted: progress(f"{scorer.name}, {done:,} of {wanted:,} pictures"),
        )  # fmt: skip
    finally:
        kept.close()
    values = np.array([one.value if isinstance(one, Scored) else np.nan for one in results], np.float64)
    if np.isnan(values).all():
        why = next((one.reason for one in results if isinstance(one, Unscored)), "no picture")
        raise DesignError(f"{scorer.name} must give a number to at least one picture", found=f"none: {why}")
    unscored = Counter(one.reason for one in results if isinstance(one, Unscored))
    return ScoredPictures(scorer, getattr(scorer, "card", ScorerCard()), values, dict(unscored))


def named_scorers(names: Sequence[str], settings: ScoreSettings | None = None) -> list[Scorer]:
    """Scorers as `salon score` names them."""
    return [scorer_named(name, settings or ScoreSettings()) for name in names]
