"""Names of a study in a Markdown file: shown as they are, and never a tag, a link, a picture or a table's edge."""

from __future__ import annotations

_MEANT = str.maketrans({"\\": "\\\\", "<": "&lt;", "[": "\\[", "|": "\\|"})


def inert(text: str) -> str:
    """`text` on one line; characters that nobody can see are shown as such."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in line).translate(_MEANT)
