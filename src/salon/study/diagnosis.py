"""What somebody who looked at a picture says about it, and the prompt they would draw the next one from."""

from __future__ import annotations

from pydantic import Field

from salon.study.noun import Noun
from salon.study.prompt import Prompt


class Remark(Noun):
    """One thing that was noticed."""

    about: str = Field(min_length=1)
    """A word or two: style, mood, typography, hierarchy ..."""
    finding: str
    """What was found, in a sentence."""


class Diagnosis(Noun):
    """Remarks about a picture, and the prompt revised by them."""

    remarks: tuple[Remark, ...]
    """None where nothing is to be mended."""
    prompt: Prompt
    """Under the id and category of the original."""
