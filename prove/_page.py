"""How the proofs write their pages."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def wrapped(text: str) -> str:
    """A paragraph in lines of the docs' length."""
    return textwrap.fill(" ".join(text.split()), 118, break_on_hyphens=False)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "".join("| " + " | ".join(line) + " |\n" for line in [head, ["---"] * len(head), *rows])
