"""SVG as text: escaped tags, short numbers, path data."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from salon.render.marks import Path

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, even escaped: control characters, lone surrogates."""


def opened(name: str, **attributes: str | None) -> str:
    """An opening tag. In attribute names `_` stands for `-`; those with None are left out."""
    parts = (f" {key.replace('_', '-')}={_quoted(value)}" for key, value in attributes.items() if value is not None)
    return f"<{name}{''.join(parts)}>"


def tag(name: str, content: str | None = None, **attributes: str | None) -> str:
    """A whole element, with text or empty."""
    start = opened(name, **attributes)
    if content is None:
        return f"{start[:-1]}/>"
    return f"{start}{escape(_NOT_XML.sub('', content))}</{name}>"


def number(value: float) -> str:
    """At most two decimals, none where none are needed."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def share(value: float) -> str:
    """A number in 0..1, to four decimals."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def path_data(path: Path) -> str:
    """The `d` of a path."""
    return "".join(name + " ".join(map(number, values)) for name, *values in path.commands)


def relative_data(path: Path) -> str:
    """The `d` of a path in steps from the origin, so that it can be put anywhere by a move before it."""
    parts, here, start = [], (0.0, 0.0), (0.0, 0.0)
    for name, *values in path.commands:
        places = [round(value, 2) for value in values]
        steps = (number(value - here[index % 2]) for index, value in enumerate(places))
        parts.append(name.lower() + " ".join(steps))
        here = start if name == "Z" else (places[-2], places[-1])
        start = here if name == "M" else start
    return "".join(parts)


def _quoted(value: str) -> str:
    return quoteattr(_NOT_XML.sub("", value))
