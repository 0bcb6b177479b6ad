"""The scorers that a trained model is, one for each criterion it knows, by name: `model:FOLDER@CRITERION`.

A model may be of heads, a reward model or a one-pass scorer; who names it need not know which, nor load it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from salon.errors import BadValue
from salon.models.cards import Card, is_model, known_criteria, model_card
from salon.models.one_pass import is_one_pass
from salon.models.preference import Criterionwise

KINDS = ("model", "onepass")
MARK = "@"
"""Between the folder of a model and the criterion, in the name of a scorer."""
ENDPOINT = "onepass:openai:"
"""Begins the name of a VLM at an endpoint."""


def scorer_names(folder: Path, criteria: Sequence[str] = (), *, flag: bool = True) -> list[str]:
    """How `salon score` names the scorers of a model: one for each criterion, or for those given.

    Without `flag` a flag head that is not asked for by name is left out: it says what to hold back, not what is better.
    """
    card = model_card(folder)
    chosen = criteria or [one.id for one in (known_criteria(card) if flag else card.criteria)]
    ids = [known_criterion(card, one, where=str(folder)).id for one in chosen]
    kind = KINDS[is_one_pass(folder)]
    return [f"{kind}:{folder}{MARK}{id}" for id in dict.fromkeys(ids)]


def split_name(text: str) -> tuple[Path, str | None] | None:
    """The folder and the criterion in the name of a model's scorer; None for any other name."""
    kind, _, place = text.partition(":")
    if kind not in KINDS or not place or text.startswith(ENDPOINT):
        return None
    folder, mark, criterion = (place, "", "") if Path(place).exists() else place.rpartition(MARK)
    return Path(folder if mark else place), criterion or None


def model_folder(text: str) -> Path | None:
    """The folder of the model that `text` names as a scorer, or is; None where it is no model."""
    named = split_name(text)
    folder = Path(text) if named is None else named[0]
    return folder if is_model(folder) else None


def scorers_behind(text: str, criteria: Sequence[str] = (), *, flag: bool = True) -> list[str]:
    """A model's folder, also as `model:FOLDER`, stands for all its scorers; any other text names one scorer."""
    named, folder = split_name(text), model_folder(text)
    if folder is None or (named is not None and named[1] is not None):
        return [text]
    return scorer_names(folder, criteria, flag=flag)


def scores_name(card: Card, criterion: str) -> str:
    """What the scores of a model are called: its name, and the criterion where it knows several."""
    name = card.name if len(known_criteria(card)) == 1 else f"{card.name}{MARK}{criterion}"
    return "".join("-" if letter in "/\\:\0" else letter for letter in name)


def known_criterion(card: Card, criterion: str | None, *, where: str) -> Criterionwise:
    """What the model knows about `criterion`; BadValue where it knows nothing, or where one has to be named."""
    known = {one.id: one for one in known_criteria(card)}
    if criterion is None and len(known) == 1:
        return next(iter(known.values()))
    if criterion not in known:
        raise BadValue(
            f"a criterion that the model {card.name!r} was trained on is needed",
            found="none named" if criterion is None else repr(criterion),
            where=where,
            remedy="one of " + ", ".join(known),
        )
    return known[criterion]
