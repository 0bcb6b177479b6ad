"""A reward from the words that name its scorers, as `salon score` names them.

    salon.reward("model:taste")                                              all criteria of a model
    salon.reward("model:taste@taste/mood", "words", weights="mood=3,words=1", reference="reference.json", clip=3)

Composes `judge` (scorers by name) and `select` (the reward).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from salon.errors import BadValue
from salon.judge.score import ScoreSettings
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.of_model import scorers_behind
from salon.select.reference import read_reference
from salon.select.reward import Reward, criterion_of
from salon.study import Scorer


def reward(
    *scorers: str | Scorer,
    weights: str | Mapping[str, float] | None = None,
    reference: str | Path | None = None,
    clip: float | None = None,
    equal: bool = False,
    alone: bool = True,
    name: str = "salon",
    device: str | None = None,
    batch: int = 8,
) -> Reward:
    """A reward of the scorers named, each under its criterion; see `salon.select.reward.Reward`.

    `reference` is a file written by `salon select reference`. `batch` is how many pictures a network looks at together
    where `alone` is False.
    """
    opened = open_scorers(scorers, device=device, batch=batch)
    frozen = None if reference is None else read_reference(Path(reference))
    return Reward(opened, weights=weights, reference=frozen, clip=clip, equal=equal, alone=alone, name=name)


def open_scorers(scorers: Sequence[str | Scorer], *, device: str | None = None, batch: int = 8) -> dict[str, Scorer]:
    """Scorers by criterion (by their own name where they were made for none); a model's folder stands for all of its
    criteria but the flag. BadValue where two scorers speak of the same criterion."""
    settings = ScoreSettings(device=device, batch=batch)
    named = [one for text in scorers for one in (scorers_behind(text, flag=False) if isinstance(text, str) else [text])]
    found: dict[str, Scorer] = {}
    for one in named:
        scorer = scorer_named(one, settings) if isinstance(one, str) else one
        id = criterion_of(scorer)
        if id in found:
            raise BadValue(
                "one scorer for each criterion is needed", found=f"{found[id].name} and {scorer.name} for {id!r}"
            )
        found[id] = scorer
    return found
