"""What a fit of one group gives, whatever the method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from salon.fuse.groups import Floats
from salon.stats.pair_errors import Errors
from salon.stats.pair_fit import PairFit


@dataclass(frozen=True)
class GroupFit:
    """Latent scores of one group."""

    latent: Floats
    solver: str
    iterations: int
    gradient: float | None = None
    log_likelihood: float | None = None
    model: str | None = None
    """The model of comparisons whose probabilities the scores give; None where there is none."""
    per_logit: float = 1.0
    """Latent points per logit of that model."""
    tie: float | None = None
    tie_error: float | None = None
    errors: Errors | None = None
    """Of differences between items; None for methods without a likelihood."""
    unknown: str = "the method has none of its own"
    """Why there are no errors, where there are none."""
    value_se: Floats | None = None
    """Of the scores themselves, where their level is uncertain too (ratings); None: as `errors`."""
    value_df: Floats | None = None
    rated: bool = False
    """Whether the scores lie on the rating scale."""
    pairs: PairFit | None = None
    """The fit of a model of comparisons, from which a fit with fewer of them is one Newton step away."""
    plain: PairFit | None = None
    """The same without rating anchors, where a prior needs to know the group's level."""
    raters: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """What the method learned of each rater, by the names of RaterFigures."""
