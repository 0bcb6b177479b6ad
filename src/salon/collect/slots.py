"""Where planted questions stand among the ordinary ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salon.collect.question import Why


def slots(
    ordinary: int, *, repeats: int = 0, gap: int = 0, gold: int = 0, attention: int = 0, rng: np.random.Generator
) -> tuple[Why, ...]:
    """The kind of question at every place of a run with `ordinary` ordinary ones.

    Planted questions are spread: one at a random place of each of so many equal stretches. A repeat stands where at
    least one earlier ordinary question is free to be repeated with `gap` questions in between; repeats that fit
    nowhere are left out (a run of 4 questions has no place for a gap of 10), and no question is repeated twice.
    """
    repeats = min(repeats, ordinary)
    total = ordinary + repeats + gold + attention
    due = sorted(
        [(_spread(place, gold, 0, total), "gold") for place in rng.random(gold) + np.arange(gold)]
        + [(_spread(place, attention, 0, total), "attention") for place in rng.random(attention) + np.arange(attention)]
        + [(_spread(place, repeats, gap + 1, total), "repeat") for place in rng.random(repeats) + np.arange(repeats)]
    )
    made: list[Why] = []
    left = ordinary
    while left or due:
        chosen = _first_possible(due, made, gap, at_any_time=not left)
        if chosen is not None:
            made.append(due.pop(chosen)[1])  # type: ignore[arg-type]  # one of the three words above
        elif left:
            made.append("ordinary")
            left -= 1
        else:
            break
    return tuple(made)


def free_to_repeat(asked: Sequence[tuple[Why, int | None]], gap: int) -> list[int]:
    """Places of ordinary questions that may be repeated next, from (why, place repeated) of all asked so far."""
    repeated = {source for why, source in asked if why == "repeat"}
    far = asked[: max(len(asked) - gap, 0)]
    return [place for place, (why, _) in enumerate(far) if why == "ordinary" and place not in repeated]


def _spread(place: float, number: int, start: int, stop: int) -> float:
    return start + (stop - start) * place / number


def _first_possible(due: list[tuple[float, str]], made: list[Why], gap: int, *, at_any_time: bool) -> int | None:
    """Index of the first planted question whose time has come and that can stand here."""
    for index, (time, why) in enumerate(due):
        if time > len(made) and not at_any_time:
            return None
        far = made[: max(len(made) - gap, 0)]
        if why != "repeat" or far.count("ordinary") > made.count("repeat"):
            return index
    return None
