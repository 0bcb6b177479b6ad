"""The card of a loop: what it was told when it began, and must be told again to go on.

STUDY/INSIDE/card.json
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from salon.errors import BadFile, BadValue
from salon.store.atomic import write_json
from salon.store.folder import is_study, name_after, save_study
from salon.study import Prompt, Study
from salon.study.noun import Noun

CARD = "card.json"


def begin_loop(folder: Path, inside: str, prompts: Sequence[Prompt], card: Noun) -> None:
    """Make `folder` a study with the card of a loop, or see that the loop in it is the same.

    BadFile where a study that is no such loop stands there, BadValue where another loop was at work.
    """
    if not (folder / inside / CARD).is_file():
        _begin(folder, inside, prompts, card)
    _check_same(folder / inside / CARD, card)


def _begin(folder: Path, inside: str, prompts: Sequence[Prompt], card: Noun) -> None:
    if is_study(folder) and not _is_bare(folder, inside):
        raise BadFile(
            "a new folder, or that of an earlier loop, is needed", found="a study that is no loop", where=str(folder),
            remedy="choose another -o; nothing was changed",
        )  # fmt: skip
    if not is_study(folder):
        save_study(Study.build(name_after(folder), [], tables={"prompts": list(prompts)}), folder)
    home = folder / inside
    home.mkdir(exist_ok=True)
    write_json(home / CARD, card)


def _is_bare(folder: Path, inside: str) -> bool:
    """Whether a killed run left a study and nothing else yet."""
    return not any(path.suffix != ".toml" and path.stem != "prompts" and path.name != inside
                   for path in folder.iterdir() if not path.name.startswith(("README", ".")))  # fmt: skip


def _check_same(path: Path, card: Noun) -> None:
    try:
        before = type(card).parse(json.loads(path.read_bytes()), where=str(path))
    except ValueError as error:
        raise BadFile("the card of a loop, as JSON, is needed", found=error, where=str(path)) from None
    changed = [name for name in type(card).model_fields if getattr(before, name) != getattr(card, name)]
    if changed:
        name = changed[0]
        raise BadValue(
            f"a loop goes on with the {name} it began with: {getattr(before, name)}",
            found=getattr(card, name),
            where=str(path.parent.parent),
            remedy="choose another -o for another loop",
        )
