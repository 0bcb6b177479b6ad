"""What a file's words for an outcome mean."""

from __future__ import annotations

import re

from salon.errors import BadValue

ANSWERS = ("a", "b", "tie", "both_bad")
SKIPS = ("cannot judge", "broken image")

_BUILT_IN: dict[str, str] = {
    "a": "a left first model_a item_a image_a option_a response_a leftvote left_vote a>b a_wins [[a>b]] [[a]] "
    "left_is_better",
    "b": "b right second model_b item_b image_b option_b response_b rightvote right_vote b>a b_wins [[b>a]] [[b]] "
    "right_is_better",
    "tie": "tie draw equal same tievote tie_vote a=b both both_good tie_(bothgood) a=b=good [[a=b=good]] [[a=b]] [[c]] "
    "no_preference",
    "both_bad": "both_bad bothbad bothbad_vote tie_(bothbad) tie_(both_bad) a=b=bad [[a=b=bad]] neither",
    "cannot judge": "cannot_judge can't_judge skip skipped",
    "broken image": "broken_image broken",
}
BLANKS = frozenset(("na", "n/a", "#n/a", "<na>", "nan", "null", "nil"))
"""What R, pandas, databases and spreadsheets write for a cell without a value; "none" may as well be an answer."""
_THING = "image|picture|photo|poster|design|option|item|model|response|output|video|side|one|choice"
_SIDE = re.compile(
    rf"(?:the_)?(?:(?P<side>left|right|first|second|a|b)(?:_(?:{_THING}))?|(?:{_THING})_(?P<number>1|2|a|b|left|right))"
    r"(?:_(?:is|was))?(?:_(?:much|slightly|clearly))?(?:_(?:better|best|wins?|won|preferred|chosen))?"
)
"""A side in words: Left image, the right one, Image 1, Model B is better."""
WORDS: dict[str, str] = {word: meaning for meaning, words in _BUILT_IN.items() for word in words.split()}

_TRUE = ("1", "1.0", "true", "yes")
_FALSE = ("0", "0.0", "false", "no")
_HALF = ("0.5", ".5")
_A_CHOSEN = re.compile(r"^(is_)?(a|left|first)_?(is_)?(selected|chosen|wins?|won|preferred|better)$|^is_(a|left)$")
_B_CHOSEN = re.compile(r"^(is_)?(b|right|second)_?(is_)?(selected|chosen|wins?|won|preferred|better)$|^is_(b|right)$")


def spelled(word: str) -> str:
    """A word as the list above spells it."""
    return re.sub(r"\s+", "_", re.sub(r"\s*([=>])\s*", r"\1", word.strip().lower()))


def meaning_of(word: str) -> str | None:
    """What a word of an outcome column means, spelled as by `spelled`; None when nobody knows."""
    if word in WORDS:
        return WORDS[word]
    match = _SIDE.fullmatch(re.sub(r"[^a-z0-9]+", "_", word).strip("_"))
    if match is None:
        return None
    return "a" if (match["side"] or match["number"]) in ("left", "first", "a", "1") else "b"


def parse_values(text: str) -> dict[str, str]:
    """'left=a,right=b' as a dictionary; the last '=' of each entry separates the file's word from its meaning."""
    meanings: dict[str, str] = {}
    for entry in text.split(","):
        word, mark, meaning = entry.rpartition("=")
        meaning = meaning.strip().replace("cannot_judge", "cannot judge").replace("broken_image", "broken image")
        if not mark or meaning not in ANSWERS + SKIPS:
            raise BadValue(
                "--outcome-values takes WORD=MEANING, separated by commas",
                found=repr(entry),
                remedy="a MEANING is one of " + ", ".join(ANSWERS + SKIPS),
            )
        meanings[spelled(word)] = meaning
    return meanings


def switch_words(column: str) -> dict[str, str] | None:
    """The meaning of 0 and 1 in a column such as is_A_selected; None where the name does not tell."""
    name = re.sub(r"[^a-z0-9]+", "_", column.strip().lower()).strip("_")
    for pattern, yes, no in ((_A_CHOSEN, "a", "b"), (_B_CHOSEN, "b", "a")):
        if pattern.match(name):
            return dict.fromkeys(_TRUE, yes) | dict.fromkeys(_FALSE, no) | dict.fromkeys(_HALF, "tie")
    return None


def is_number(word: str) -> bool:
    """True for words such as 1 or 0.5, whose meaning only the user knows."""
    return bool(re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)|true|false|yes|no", word))
