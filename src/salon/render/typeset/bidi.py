"""The Unicode bidirectional algorithm (UAX #9) for one paragraph: which way each character runs, and in what order.

Everything plain text needs: the paragraph's direction (P2, P3), weak types (W1-W7), paired brackets (N0), neutrals
(N1, N2), implicit levels (I1, I2), line ends (L1) and reordering (L2). Explicit embeddings, overrides and isolates
(X1-X8) are not: their control characters are refused before text gets here (`render.characters`); the marks LRM, RLM
and ALM are ordinary strong characters and work. Mirroring (L4) is the shaper's.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence

BRACKETS = dict(zip("([{⁅⁽₍〈⟦⟨⟪⟬⟮⦃⦅「『【〔〖〘〚（［｛｟｢", ")]}⁆⁾₎〉⟧⟩⟫⟭⟯⦄⦆」』】〕〗〙〛）］｝｠｣", strict=True))
CLOSING = {closing: opening for opening, closing in BRACKETS.items()}
NEUTRAL = ("B", "S", "WS", "ON")


def base_level(text: str) -> int:
    """0 for a paragraph read from the left, 1 from the right: the direction of its first letter (P2, P3)."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return int(kind != "L")
    return 0


@functools.lru_cache(maxsize=1024)
def levels(text: str, base: int | None = None) -> tuple[int, ...]:
    """The embedding level of every character: even runs to the right, odd to the left."""
    base = base_level(text) if base is None else base
    kinds = [unicodedata.bidirectional(character) or "L" for character in text]
    if base == 0 and not any(kind in ("R", "AL", "AN") for kind in kinds):
        return (0,) * len(text)
    direction = "R" if base else "L"
    original = list(kinds)
    _weak(kinds, direction)
    _brackets(text, original, kinds, direction)
    _neutrals(kinds, direction)
    return tuple(_at_line_end(original, [_implicit(kind, base) for kind in kinds], base))


def visual_order(levels: Sequence[int]) -> list[int]:
    """Positions from left to right for the levels of one line (L2): reverse every run at least so deep."""
    order = list(range(len(levels)))
    for depth in range(max(levels, default=0), 0, -1):
        start = 0
        while start < len(order):
            end = start
            while end < len(order) and levels[order[end]] >= depth:
                end += 1
            order[start:end] = order[start:end][::-1]
            start = max(end, start + 1)
    return order


def _weak(kinds: list[str], direction: str) -> None:
    """Marks, numbers and their separators (W1-W7)."""
    strong = previous = direction
    for i, kind in enumerate(kinds):  # W1-W3
        if kind in ("NSM", "BN"):
            kind = previous
        previous = kind
        if kind in ("L", "R", "AL"):
            strong = kind
        if kind == "EN" and strong == "AL":
            kind = "AN"
        kinds[i] = kind
    for i in range(1, len(kinds) - 1):  # W4
        before, kind, after = kinds[i - 1 : i + 2]
        if before == after and ((kind == "ES" and before == "EN") or (kind == "CS" and before in ("EN", "AN"))):
            kinds[i] = before
    for start, end in _runs(kinds, ("ET",)):  # W5
        if "EN" in (kinds[start - 1] if start else None, kinds[end] if end < len(kinds) else None):
            kinds[start:end] = ["EN"] * (end - start)
    strong = direction
    for i, kind in enumerate(kinds):  # W3, W6, W7
        if kind in ("L", "R", "AL"):
            strong = kind
        if kind == "AL":
            kinds[i] = "R"
        elif kind in ("ES", "ET", "CS"):
            kinds[i] = "ON"
        elif kind == "EN" and strong == "L":
            kinds[i] = "L"


def _brackets(text: str, original: list[str], kinds: list[str], direction: str) -> None:
    """Paired brackets take one direction together (N0)."""
    for opening, closing in _pairs(text, kinds):
        inside = {_strong(kind) for kind in kinds[opening + 1 : closing]} - {None}
        if direction in inside:
            chosen = direction
        elif inside:
            before = (_strong(kind) for kind in reversed(kinds[:opening]))
            context = next((kind for kind in before if kind), direction)
            chosen = context if context in inside else direction
        else:
            continue
        for place in (opening, closing):
            kinds[place] = chosen
            after = place + 1
            while after < len(kinds) and original[after] == "NSM":
                kinds[after] = chosen
                after += 1


def _pairs(text: str, kinds: list[str]) -> list[tuple[int, int]]:
    """The places of matching brackets, in the order of the opening ones (BD16)."""
    stack: list[int] = []
    pairs = []
    for i, character in enumerate(text):
        if kinds[i] != "ON":
            continue
        if character in BRACKETS:
            stack.append(i)
        elif character in CLOSING:
            match = next((n for n in reversed(range(len(stack))) if text[stack[n]] == CLOSING[character]), None)
            if match is not None:
                pairs.append((stack[match], i))
                del stack[match:]
    return sorted(pairs)


def _neutrals(kinds: list[str], direction: str) -> None:
    """What stands between two of one direction joins them; otherwise the paragraph's direction (N1, N2)."""
    for start, end in _runs(kinds, NEUTRAL):
        before = _strong(kinds[start - 1]) if start else direction
        after = _strong(kinds[end]) if end < len(kinds) else direction
        kinds[start:end] = [before if before is not None and before == after else direction] * (end - start)


def _strong(kind: str) -> str | None:
    """The direction a resolved type counts as among neutrals: numbers run with right-to-left text."""
    return {"L": "L", "R": "R", "EN": "R", "AN": "R"}.get(kind)


def _implicit(kind: str, base: int) -> int:
    """The level of a resolved type in a paragraph of level `base` (I1, I2)."""
    if base == 0:
        return {"L": 0, "R": 1}.get(kind, 2)
    return 1 if kind == "R" else 2


def _at_line_end(original: list[str], found: list[int], base: int) -> list[int]:
    """Trailing white space keeps to the paragraph's end (L1)."""
    for i in reversed(range(len(found))):
        if original[i] not in ("WS", "BN"):
            break
        found[i] = base
    return found


def _runs(kinds: list[str], wanted: tuple[str, ...]) -> list[tuple[int, int]]:
    """Maximal spans whose types are all among `wanted`."""
    spans = []
    start = 0
    while start < len(kinds):
        end = start
        while end < len(kinds) and kinds[end] in wanted:
            end += 1
        if end > start:
            spans.append((start, end))
        start = max(end, start + 1)
    return spans
