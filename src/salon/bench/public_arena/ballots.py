"""Which pictures the next ballot shows, with the chance of the choice.

Two generators are drawn by `stats.pair_chances`; then a prompt that both have pictures of, any of them alike; then a
picture of each; then their order. A ballot of four adds two more generators of the prompt. A voter does not get the
same pictures twice while there are others.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue, NotIdentified
from salon.evaluate import item_generators, item_prompts
from salon.stats import PairPosterior, draw_pair, pair_chances, set_chance
from salon.study import Criterion, Item, Prompt, Study

if TYPE_CHECKING:
    from salon.bench.public_arena.settings import PublicArenaSettings
    from salon.store import NewBallot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
FOUR = 4
_TRIES = 8
"""Draws after which a voter may see pictures again."""


@dataclass(frozen=True)
class ArenaField:
    """What can be shown: items with a picture, a prompt and a generator, by their places here."""

    study: Study
    criterion: Criterion
    generators: tuple[str, ...]
    items: tuple[Item, ...]
    row: Ints
    """(items,) rows of the study's table of items."""
    number: Ints
    """(items,) as the database calls them."""
    place: Ints
    """(highest number + 1,) the other way round; -1 for items that are gone."""
    generator: Ints
    prompt: Ints
    prompts: tuple[Prompt, ...]
    has: NDArray[np.bool_]
    """(prompts, generators) who has a picture of what."""

    @property
    def possible(self) -> NDArray[np.bool_]:
        """(generators, generators) pairs that share a prompt."""
        together = self.has.T.astype(np.int64) @ self.has.astype(np.int64) > 0
        np.fill_diagonal(together, False)
        return np.asarray(together, np.bool_)

    def item(self, number: int) -> Item | None:
        """The item that the database calls so; None where it is gone."""
        at = self.place[number] if number < len(self.place) else -1
        return None if at < 0 else self.items[at]


def arena_criterion(study: Study, id: str | None) -> Criterion:
    """What voters are asked: the criterion `id`, or the study's first."""
    if id is None and not study.criteria:
        raise BadValue(
            "an arena needs a criterion: what voters are asked",
            found="a study without any",
            where=f"study {study.name!r}",
            remedy="salon arena serve STUDY --criterion taste/overall names a built-in one",
        )
    return study.criteria[0] if id is None else study.criterion(id)


def arena_field(study: Study, criterion: Criterion, numbers: dict[str, int]) -> ArenaField:
    """The pictures of a study that can be compared: NotIdentified where no two generators share a prompt."""
    names, of_item = item_generators(study)
    of_prompt = item_prompts(study)
    items = list(study.nouns("items"))
    usable = [at for at, item in enumerate(items) if item.image and of_item[at] >= 0 and of_prompt[at] >= 0]
    if not usable:
        raise NotIdentified("an arena needs pictures with a generator and a prompt", found="none")
    present, generator = np.unique(of_item[usable], return_inverse=True)
    asked, prompt = np.unique(of_prompt[usable], return_inverse=True)
    has = np.zeros((len(asked), len(present)), np.bool_)
    has[prompt, generator] = True
    number = np.array([numbers[items[at].id] for at in usable], np.int64)
    place = np.full(int(number.max()) + 1, -1, np.int64)
    place[number] = np.arange(len(number))
    prompts = list(study.nouns("prompts"))
    field = ArenaField(
        study=study,
        criterion=criterion,
        generators=tuple(names[code] for code in present),
        items=tuple(items[at] for at in usable),
        row=np.array(usable, np.int64),
        number=number,
        place=place,
        generator=generator.astype(np.int64),
        prompt=prompt.astype(np.int64),
        prompts=tuple(prompts[code] for code in asked),
        has=has,
    )
    pair_chances(None, field.possible, random=1)  # says what is missing, before anybody is asked
    return field


# -- the design --------------------------------------------------------------------------------------------------------


def design_record(field: ArenaField, posterior: PairPosterior | None, random: float) -> str:
    """The chances of all pairs as JSON, by the names of generators: a later process may know others."""
    chances = pair_chances(posterior, field.possible, random=random)
    return json.dumps({"generators": field.generators, "chances": np.round(chances, 12).tolist()})


def read_design(record: str | None, field: ArenaField, random: float) -> Floats:
    """The chances of a record for the pictures there are now; even ones where it knows other generators."""
    even = pair_chances(None, field.possible, random=1)
    if record is None:
        return even
    found = json.loads(record)
    if tuple(found["generators"]) != field.generators:
        return even
    chances = np.where(field.possible, np.array(found["chances"], np.float64), 0.0)
    floor = random * even  # the record may be of another share
    return np.asarray(np.maximum(chances, floor) / (np.maximum(chances, floor).sum() / 2), np.float64)


# -- the draw ----------------------------------------------------------------------------------------------------------


def draw_ballot(
    field: ArenaField,
    chances: Floats,
    settings: PublicArenaSettings,
    *,
    seen: Collection[frozenset[int]] = (),
    rng: np.random.Generator,
) -> NewBallot:
    """The next ballot of a voter who saw the sets `seen`."""
    from salon.store import NewBallot

    fours = settings.ballots == "fours" or (settings.ballots == "both" and rng.random() < 0.5)
    shown: list[int] = []
    for _ in range(_TRIES):
        shown = _draw_items(field, chances, FOUR if fours else 2, rng)
        if frozenset(field.number[shown].tolist()) not in seen:
            break
    members = field.generator[shown]
    even = pair_chances(None, field.possible, random=1)
    return NewBallot(
        criterion=field.criterion.id,
        items=tuple(field.number[shown].tolist()),
        chance=set_chance(chances, members),
        even=set_chance(even, members),
    )


def _draw_items(field: ArenaField, chances: Floats, size: int, rng: np.random.Generator) -> list[int]:
    """Places of the items in the order shown; two where no prompt of the pair has `size` generators."""
    i, j = draw_pair(chances, rng)
    shared = np.flatnonzero(field.has[:, i] & field.has[:, j])
    wide = shared[field.has[shared].sum(axis=1) >= size]
    prompt = int(rng.choice(wide if len(wide) else shared))
    members = [i, j]
    if len(wide) and size > len(members):
        others = np.setdiff1d(np.flatnonzero(field.has[prompt]), members)
        members += rng.choice(others, size - len(members), replace=False).tolist()
    here = np.flatnonzero(field.prompt == prompt)
    shown = [int(rng.choice(here[field.generator[here] == member])) for member in members]
    return [shown[at] for at in rng.permutation(len(shown))]
