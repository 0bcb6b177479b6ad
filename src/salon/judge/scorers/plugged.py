"""Scorers and reward functions of other people, as scorers of Salon.

A plugin sees pictures and prompts and nothing else: neither the generator's name nor the study. So the same picture
with the same prompt has the same number everywhere, and it is kept by content like that of a built-in scorer.
"""

from __future__ import annotations

import inspect
import math
import tempfile
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from salon.errors import BadValue, SalonError
from salon.judge.scorers.picture import PictureScorer, Result, Scored, Shown, Unscored
from salon.study import Item
from salon.study.plugins import Loaded, find_plugin, is_own, load_plugin, named_object, needs_arguments
from salon.study.scorer import ScorerCard


def plugged_scorer(word: str, builtin: Collection[str], *, batch: int = 8) -> PictureScorer | None:
    """The scorer, or the reward function as a scorer, that `word` names; None where no plugin has this name."""
    loaded = load_plugin("rewards" if _is_reward(word, builtin) else "scorers", word, builtin)
    return None if loaded is None else as_scorer(loaded, batch=batch)


def as_scorer(loaded: Loaded, *, batch: int = 8) -> PictureScorer:
    """A loaded plugin as a scorer: one with `score`, or a function of pictures and prompts."""
    card = getattr(loaded.part, "card", None) or ScorerCard(reads="image and prompt", measures="A reward function.")
    if not isinstance(card, ScorerCard):
        raise BadValue("the card of a scorer is a ScorerCard", found=type(card).__name__, where=loaded.origin)
    ask = _scores if hasattr(loaded.part, "score") else _rewards

    def measure(shown: Sequence[Shown]) -> list[Result]:
        try:
            numbers = list(ask(loaded.part, shown))
        except SalonError:
            raise
        except Exception as error:  # somebody else's code may raise anything
            raise loaded.failed(error) from error
        if len(numbers) != len(shown):
            raise BadValue(
                "one number for each picture is needed", found=f"{len(numbers)} for {len(shown)}", where=loaded.origin
            )
        return [_result(number, loaded) for number in numbers]

    return PictureScorer(loaded.name, card, loaded.signed(), measure, batch=batch)


def _is_reward(word: str, builtin: Collection[str]) -> bool:
    """Whether a word means a reward function: by its entry point, or an object that takes pictures when called."""
    plugin = find_plugin("scorers", word, builtin)
    if plugin is None:
        return find_plugin("rewards", word, builtin) is not None
    if not is_own(word):
        return False
    part = named_object(plugin)
    if hasattr(part, "score"):
        return False
    if inspect.isclass(part):
        return any("__call__" in vars(base) for base in part.__mro__)
    return callable(part) and needs_arguments(part)


def _scores(part: Any, shown: Sequence[Shown]) -> Sequence[float | None]:
    """A scorer reads files: a picture that came over HTTP becomes one while it looks."""
    with ExitStack() as stack:
        folder: Path | None = None
        items = []
        for number, one in enumerate(shown):
            path = one.path
            if not path.is_file():
                folder = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="salon-")))
                path = folder / f"{number}.png"
                one.image.save(path)
            items.append(Item(id=one.sha256[:16], image=str(path), prompt=one.prompt and one.prompt.id))
        numbers: Sequence[float | None] = part.score(items, [one.prompt for one in shown])
        return numbers


def _rewards(part: Any, shown: Sequence[Shown]) -> Sequence[float | None]:
    numbers: Sequence[float | None] = part([one.image for one in shown], [one.text for one in shown])
    return numbers


def _result(number: Any, loaded: Loaded) -> Result:
    if number is None:
        return Unscored("the plugin gave no number")
    try:
        value = float(number)
    except (TypeError, ValueError):
        raise BadValue(
            "numbers or None are needed", found=f"{type(number).__name__}: {number!r}"[:80], where=loaded.origin
        ) from None
    return Scored(value) if math.isfinite(value) else Unscored(f"the plugin gave {value}")
