"""Where a line may end: the essentials of Unicode line breaking (UAX #14), from properties Python already knows.

Lines end at spaces, after hyphens and dashes, and between ideographs or kana, but never before closing punctuation,
small kana or a mark, never after an opening bracket, and never beside a no-break space. Scripts that write no spaces
between words and need a dictionary (Thai, Khmer) break only at the spaces there are.
"""

from __future__ import annotations

import functools
import unicodedata

OPENING = frozenset("([{¡¿‘“«‹") | frozenset("「『【〔〖〘〚（［｛｟｢《〈")
CLOSING = frozenset(")]}’”»›!?,.:;…%‰°′″¢") | frozenset("、。，．：；！？」』】〕〗〙〛）］｝｠｣》〉・％")
NON_STARTERS = frozenset("ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶーゝゞヽヾ々〻゛゜〜‼⁇⁈⁉")
AFTER = frozenset("-‐‒–—\u00ad\u200b/|")
"""A line may end after these, unless a digit follows ('1990-95' may break after an en dash only)."""
GLUE = frozenset("\u00a0\u202f\u2060\u2011\ufeff\u200d")
PREFIX = frozenset("$€£¥№#@+±￥＄")


@functools.lru_cache(maxsize=1024)
def break_places(text: str) -> tuple[int, ...]:
    """Every place before which a new line may start, the end of the text included."""
    return tuple(place for place in range(1, len(text)) if _may_break(text, place)) + (len(text),)


def parts_phrase(text: str, place: int) -> bool:
    """Whether a break here may part a phrase: after an ideograph or kana, but for hiragana that ends a word."""
    before, after = text[place - 1], text[place]
    if not (_is_ideographic(before) and before.isalpha()):
        return False
    return not _is_hiragana(before) or _is_hiragana(after)


def _may_break(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    if before.isalnum() and after.isalnum() and before.isascii() and after.isascii():
        return False
    if after.isspace() or after == "\u200b" or after in GLUE or before in GLUE or _is_mark(after):
        return False
    if before.isspace():
        return not (after in CLOSING and _is_wide(after)) and not _spaced_punctuation(text, place)
    if after in CLOSING or after in NON_STARTERS or before in OPENING:
        return False
    if before in AFTER:
        return _after_dash(text, place)
    if after in AFTER or (after in OPENING and not _is_wide(after)):
        return _is_ideographic(before) and after in OPENING
    if before in PREFIX:
        return False
    return _is_ideographic(before) or _is_ideographic(after)


def _after_dash(text: str, place: int) -> bool:
    """After a dash between letters: not after one that opens a word ('-5', ' -er'), nor before digits."""
    before, after = text[place - 1], text[place]
    if before in "\u00ad\u200b—":
        return after not in AFTER
    opens = place < 2 or text[place - 2].isspace()
    return not opens and after not in AFTER and not (after.isdigit() and before in "-‐/|")


def _spaced_punctuation(text: str, place: int) -> bool:
    """French sets a space before ! ? : ; and »: such a mark never starts a line."""
    lone = place + 1 == len(text) or text[place + 1].isspace()
    return text[place] in "!?:;»" and lone


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me", "Mc")


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _is_ideographic(character: str) -> bool:
    """Text that breaks between any two characters: Han, kana, full-width forms; Hangul keeps its words whole."""
    return _is_wide(character) and not unicodedata.name(character, "").startswith("HANGUL")


def _is_hiragana(character: str) -> bool:
    return "\u3041" <= character <= "\u309f"
