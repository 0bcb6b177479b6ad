"""What was asked of a generator."""

from __future__ import annotations

import unicodedata
from typing import Literal, get_args

from pydantic import model_validator

from salon.errors import BadValue
from salon.study.noun import Noun

Part = Literal["intent", "description", "aesthetics"]
PARTS: tuple[Part, ...] = get_args(Part)


class Prompt(Noun):
    """The text or brief given to a generator: one `text`, or the parts that views are built from."""

    id: str
    text: str | None = None
    intent: str | None = None
    description: str | None = None
    aesthetics: str | None = None
    category: str | None = None

    @model_validator(mode="after")
    def _id_is_not_blank(self) -> Prompt:
        if not self.id.strip():
            raise ValueError("a prompt needs an id that is not blank")
        return self

    def view(self, parts: tuple[Part, ...] = ()) -> str:
        """The exact text shown to a rater who sees `parts` (all of them, or `text`, when none are named).

        Parts are joined by one blank line in the fixed order intent, description, aesthetics, so the same
        prompt and view always give the same bytes, for people and for judges.
        """
        chosen = [part for part in PARTS if part in parts] if parts else list(PARTS)
        shown = [value for part in chosen if (value := getattr(self, part))]
        if parts:
            if len(shown) < len(chosen):
                missing = [part for part in chosen if not getattr(self, part)]
                raise BadValue(
                    f"the view {'+'.join(chosen)} needs these parts of the prompt",
                    found=f"no {', '.join(missing)}",
                    where=f"prompt {self.id!r}",
                    remedy="add the parts or choose another view",
                )
            return "\n\n".join(shown)
        return self.text if self.text is not None else "\n\n".join(shown)


def normalized(text: str) -> str:
    """A prompt's text as it is known again elsewhere: NFKC, case folded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
