"""What a model says, without what it thinks: only the former is an answer.

Models mark their thoughts as <think>, <Think>, ◁think▷, <thinking>, <thought>, <reasoning> or by channels, whatever
they were asked for, and drafts of answers stand in them that they go back on.
"""

from __future__ import annotations

import re

_THINK = re.compile(r"<(/?)think>|◁(/?)think▷", re.IGNORECASE)
_BLOCK = re.compile(r"<(/?)(thinking|thoughts?|reasoning)>", re.IGNORECASE)
_CHANNEL, _FINAL = "<|channel|>", "<|channel|>final<|message|>"


def spoken(text: str) -> str | None:
    """What follows the last thought, or stands around blocks of reasoning; None where a thought never ends."""
    text = text.rpartition(_FINAL)[2]
    ends = [tag.end() for tag in _THINK.finditer(text) if tag[1] or tag[2]]
    text = text[ends[-1] :] if ends else text
    return None if _CHANNEL in text or _THINK.search(text) else _around_blocks(text)


def _around_blocks(text: str) -> str | None:
    """A block that ends without having begun began in the question: nothing before it was said."""
    kept: list[str] = []
    at, inside = 0, ""
    for tag in _BLOCK.finditer(text):
        name = tag[2].lower()
        if not inside and tag[1]:
            kept, at = [], tag.end()
        elif not inside:
            kept.append(text[at : tag.start()])
            inside = name
        elif inside == name and tag[1]:
            at, inside = tag.end(), ""
    return None if inside else "".join(kept) + text[at:]
