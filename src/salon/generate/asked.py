"""The prompts that a command was asked for: of a file, a study or a set of briefs, or words themselves."""

from __future__ import annotations

from pathlib import Path

from salon.generate.curate import in_turns
from salon.generate.prompts import read_prompts
from salon.study import Prompt

TYPED = "prompt"
"""Id of a prompt that was typed instead of a file."""


def asked_prompts(text: str, limit: int | None = None) -> list[Prompt]:
    """The prompts of a file, at most `limit`, categories in turns; words that name no file are a prompt themselves."""
    if not Path(text).exists() and " " in text.strip():
        return [Prompt(id=TYPED, text=text)]
    found = read_prompts(text)
    return found if limit is None else in_turns(found, limit)
