"""How pages write what is not prose: code between backticks, signatures and hashes, the opening of a long text."""

from __future__ import annotations

from markupsafe import Markup, escape

from salon.report.svg import element
from salon.report.words import one_way


def coded(words: str) -> Markup:
    """Words with what stands between backticks as code."""
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return escape(words)
    return Markup("").join(element("code", part) if k % 2 else escape(part) for k, part in enumerate(parts))


def capital(name: str) -> str:
    """A name at the head of something: its first letter large, the others as they are."""
    return name[:1].upper() + name[1:]


def clause(words: str) -> str:
    """A sentence inside another one: its first letter small, without its stop."""
    return (words[:1].lower() + words[1:]).rstrip(".")


def code_line(line: str) -> Markup:
    """A signature or a hash, that may break after each of its parts."""
    return element("code", Markup("|<wbr>").join(escape(part) for part in one_way(line).split("|")), class_="line")


def opening(text: str, most: int) -> str:
    """The first words of a text on one line, at most so many characters."""
    words = " ".join(one_way(text).split())
    if len(words) <= most:
        return words
    cut = words[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:.—–-")
    return f"{cut or words[: most - 1]}…"
