"""The card of a trained model in its folder, whatever its kind: heads, a reward model or a one-pass scorer.

Every kind has a name, criteria and a leak guard. Whoever asks about a folder asks here, and needs no network library.
"""

from __future__ import annotations

from pathlib import Path

from salon.models import one_pass, preference
from salon.models.one_pass import OnePassCard, is_one_pass, read_one_pass_card
from salon.models.preference import Criterionwise, ModelCard, read_card

Card = ModelCard | OnePassCard


def is_model(folder: Path | str) -> bool:
    """Whether a folder holds a trained model."""
    return any((Path(folder) / name).is_file() for name in (preference.CARD, one_pass.CARD))


def model_card(folder: Path | str) -> Card:
    """The card of the model in a folder; BadFile where there is none."""
    return read_one_pass_card(folder) if is_one_pass(folder) else read_card(Path(folder))


def known_criteria(card: Card) -> tuple[Criterionwise, ...]:
    """All that a model has a number for; of a flag head's criterion, the log-odds of being flagged."""
    flag = card.flag if isinstance(card, ModelCard) else None
    if flag is None or flag in {one.id for one in card.criteria}:
        return card.criteria
    return (*card.criteria, Criterionwise(id=flag, name=flag, higher_is_better=False))
