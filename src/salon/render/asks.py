"""Asks: sentences in a prompt that name one flaw to be avoided, and that the built-in houses heed.

Who looks at a poster and finds a flaw can say so in the next prompt. Free words would need a reader of free words; so
there is one sentence for each flaw, known word for word. They name no color, mood, style, subject, format or place, so
that a brief with asks in it is read as the same brief.
"""

from __future__ import annotations

from collections.abc import Iterable

from salon.render.layout import DefectKind
from salon.study import Prompt
from salon.study.nouns import normalize_text

ASKS: dict[DefectKind, str] = {
    "low-contrast": "Strong contrast between letters and ground.",
    "clashing-colors": "Colors that go well together.",
    "broken-hierarchy": "The headline far larger than all other words.",
    "misalignment": "All blocks of text share one edge.",
    "crowding": "Wide margins, and air around every block.",
    "bad-kerning": "Even gaps between the letters.",
    "wrong-font-pairing": "Two typefaces that suit each other.",
    "misspelling": "Every word spelled exactly as it was given.",
    "missing-text": "Every text that was given is there.",
    "wrong-color": "Only the colors that were named.",
    "wrong-position": "Everything stands where it was asked for.",
    "off-mood-style": "A look that suits the mood.",
    "extra-element": "Nothing is added that was not asked for.",
}
"""Flaw to the sentence that asks to avoid it."""


def asked_against(prompt: Prompt) -> frozenset[DefectKind]:
    """The flaws that a prompt asks to avoid, in these words; case, spaces and the last stop do not matter."""
    text = normalize_text(prompt.view())
    return frozenset(kind for kind, ask in ASKS.items() if normalize_text(ask).rstrip(".") in text)


def with_asks(prompt: Prompt, kinds: Iterable[DefectKind]) -> Prompt:
    """`prompt` with the asks of these flaws at its end, in the order of `ASKS`, each once.

    They go to the aesthetics of a prompt that has parts, else to its text.
    """
    new = set(kinds) - asked_against(prompt)
    added = " ".join(ask for kind, ask in ASKS.items() if kind in new)
    if not added:
        return prompt
    part = "aesthetics" if prompt.text is None else "text"
    before = (getattr(prompt, part) or "").rstrip()
    stop = "" if not before or before.endswith((".", "!", "?")) else "."
    gap = " " if asked_against(prompt) else "\n"
    return prompt.model_copy(update={part: f"{before}{stop}{gap}{added}" if before else added})
