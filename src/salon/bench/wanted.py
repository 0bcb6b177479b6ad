"""The pictures that a suite asks for, as an entry has them: one for every prompt and seed, there or missing."""

from __future__ import annotations

from collections.abc import Sequence

from salon.bench.entry import Entry, Pictured
from salon.bench.suite import Suite
from salon.bench.suite_folder import prompts_hash
from salon.errors import BadFile, BadValue, UnknownReference

NOT_LISTED = "not among the entry's pictures"


def wanted_pictures(suite: Suite, entry: Entry) -> list[Pictured]:
    """Every picture that the suite asks for, in its order; one that the entry does not list is missing."""
    _same_prompts(suite, entry)
    listed = _listed(entry.pictures)
    wanted = [(one.prompt.id, seed) for one in suite.prompts for seed in suite.seeds]
    strange = sorted(set(listed) - set(wanted))
    if strange:
        raise UnknownReference(
            "an entry holds pictures of the suite's prompts and seeds",
            found=f"{len(strange)} others, the first of prompt {strange[0][0]!r} with seed {strange[0][1]}",
            where=f"entry {entry.name!r}",
        )
    return [listed.get(key) or _missing(*key) for key in wanted]


def is_there(picture: Pictured) -> bool:
    """Whether there is an image."""
    return picture.image is not None


def _same_prompts(suite: Suite, entry: Entry) -> None:
    needed = prompts_hash(suite)
    if entry.suite != needed:
        raise BadFile(
            f"an entry made for the prompts of {suite.card.name}/{suite.card.version} ({needed[:12]}) is needed",
            found=f"one made for other prompts ({entry.suite[:12]})",
            where=f"entry {entry.name!r}",
            remedy="run the entry again with this suite, or score it with the suite it was made for",
        )


def _listed(pictures: Sequence[Pictured]) -> dict[tuple[str, int], Pictured]:
    listed = {(picture.prompt, picture.seed): picture for picture in pictures}
    if len(listed) < len(pictures) or len({picture.item for picture in pictures}) < len(pictures):
        raise BadValue(
            "one picture of every prompt and seed, each with an item of its own",
            found=f"{len(pictures)} pictures of {len(listed)} prompts and seeds",
        )
    return listed


def _missing(prompt: str, seed: int) -> Pictured:
    return Pictured(prompt=prompt, seed=seed, item=f"{prompt}__{seed}", missing=NOT_LISTED)
