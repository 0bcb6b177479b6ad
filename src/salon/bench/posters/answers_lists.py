"""Lists of words in a response (the color and effects of lettering, attributes), and the verdicts of judges.

A list is read whole or not at all, in any notation: JSON, Python, brackets without quotes, bullets, lines, commas.
Words that are on no menu stay in it, so nothing is lost. Prose is read only if all its words are on the menu or carry
no meaning here ("the letters look modern and strong").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from salon.bench.posters.answers_choice import label_in, mentioned_options, read_label
from salon.bench.posters.answers_text import (
    CUT_OFF,
    NO_OPTION,
    SEVERAL,
    ReadAnswer,
    UnreadAnswer,
    after_statement,
    explicit_statements,
    is_cut_off,
    is_refusal,
    json_spans,
    json_values,
    plain_answer,
    strip_marks,
    text_lines,
    value_under,
    why_unanswered,
)
from salon.bench.posters.tasks import ATTRIBUTES, COLORS, STYLES, fold_label, option_spellings

_COLOR_KEYS = ("color", "colour", "colors", "colours", "main_color", "dominant_color", "text_color", "primary_color",
               "primary_text_color", "font_color")  # fmt: skip
_EFFECT_KEYS = ("effects", "effect", "text_effects", "text_effect", "font_effect", "font_effects", "artistic_effects",
                "artistic_font_effect", "artistic_font_effects", "material", "materials")  # fmt: skip
_LIST_KEYS = ("attributes", "font_attributes", "answer", "final_answer", "labels", "result", "selected", "words",
              "selected_attributes", "list")  # fmt: skip
_LABEL = re.compile(
    r"(?:^|[\s,;.(\[{|*\"'-])(?:and )?(?:the )?((?:[a-z]{3,12} ){0,3}(?:colou?rs?|effects?)(?: options?)?|颜色|效果)"
    r"[\"')*_ ]{0,4}(?:is|are|:|=|->)[ \n]{0,3}",
    re.IGNORECASE,
)
_HEADER = re.compile(r"^[^,;:\[\]{}]{0,80}:")
_NOTE = re.compile(
    r"\n[ \t]{0,8}\n\s{0,8}[*_(]{0,3}(?:note|explanation|reason\w*|rationale|justification|let me know|i hope)\b.*$",
    re.I | re.S,
)
_LEAD = re.compile(
    r"^(?:(?:i would say|i'd say|it must be|it is|it's|this is|i see|i choose|i select|i think|my reading|the answer is"
    r"|answer|sure|here (?:is|are)|looking at the picture|both|and|with|the|a|an|also|plus|likely|probably)\b"
    r"[ ,:]{0,2}){1,4}",
    re.IGNORECASE,
)
_TAIL = re.compile(r" (?:fonts?|letters|lettering|typeface|colou?r|effects?|text|finish effect)$")
_SPLIT = re.compile(r"[,;|\n\[\]{}()\"]| / |/|(?<=[a-z])\. |\s-\s")
_AND = re.compile(r" (?:and|with|&|\+|plus) ")
_MARK = re.compile(r"^\s{0,8}(?:[-*•+]|\d{1,2}[.)])\s+", re.MULTILINE)
_FILLERS = frozenset(
    [
        "the",
        "a",
        "an",
        "is",
        "are",
        "it",
        "its",
        "this",
        "that",
        "text",
        "texts",
        "word",
        "words",
        "font",
        "fonts",
        "letter",
        "letters",
        "lettering",
        "look",
        "looks",
        "looking",
        "like",
        "appear",
        "appears",
        "seem",
        "seems",
        "has",
        "have",
        "with",
        "and",
        "of",
        "in",
        "on",
        "as",
        "to",
        "effect",
        "effects",
        "color",
        "colour",
        "colors",
        "colours",
        "colored",
        "primary",
        "main",
        "dominant",
        "artistic",
        "style",
        "styled",
        "attributes",
        "attribute",
        "set",
        "which",
        "both",
        "also",
        "very",
        "quite",
        "show",
        "shows",
        "showing",
        "image",
        "poster",
        "see",
        "i",
        "would",
        "say",
        "be",
        "for",
        "rendered",
        "made",
    ]
)
_MOST_WORDS = 4
"""Words of an item that is on no menu; a longer one is prose."""


def prompt_menu(prompt: str) -> tuple[str, ...]:
    """The options that a prompt lists."""
    return tuple(
        word for value, _ in json_values(prompt[:20_000]) if isinstance(value, list) for word in value
        if isinstance(word, str)
    )  # fmt: skip


def read_attributes(response: str | None) -> ReadAnswer | UnreadAnswer:
    """All that a judge lists, on the menu or not; at least one word must be on it, unless the list is empty."""
    text = plain_answer(response)
    if isinstance(text, UnreadAnswer):
        return text
    if is_cut_off(text):
        return CUT_OFF
    listed = [value if isinstance(value, list) else value_under(value, _LIST_KEYS) for value, _ in json_values(text)]
    whole = [value for value in listed if value is not None]
    if len(whole) > 1 and any(value != whole[0] for value in whole):
        return SEVERAL
    menu = {fold_label(word): word for word in ATTRIBUTES}
    statement = _statement(text)
    if not whole and statement.count("[") > 1:  # a menu and a choice, or parts of one
        return SEVERAL
    words = _words(whole[0]) if whole else _items(statement, set(menu))
    if words is None:
        return why_unanswered(text)
    if not words:
        return ReadAnswer(frozenset()) if whole else why_unanswered(text)
    if not menu.keys() & set(words):
        return why_unanswered(text) if is_refusal(text) else NO_OPTION
    return ReadAnswer(frozenset(menu.get(word, word) for word in words))


def read_effects(response: str | None, menu: Sequence[str] = ()) -> ReadAnswer | UnreadAnswer:
    """(color, effects) named: the color one of the vocabulary or None where none or several are named, effects folded.

    `menu` has the options that the prompt lists. They may hold the word "and", at which other lists are split.
    """
    text = plain_answer(response)
    if isinstance(text, UnreadAnswer):
        return text
    if is_cut_off(text):
        return CUT_OFF
    ways = option_spellings(COLORS)
    menu_words = {fold_label(word) for word in menu} | set(ways)
    for value, _ in reversed(json_values(text)):
        colors, effects = value_under(value, _COLOR_KEYS), value_under(value, _EFFECT_KEYS)
        if colors is not None or effects is not None:
            parts = _words(colors, menu_words), _words(effects, menu_words)
            return NO_OPTION if parts[0] is None or parts[1] is None else _color_and_effects(parts[0], parts[1])
    labelled = _read_labelled(text, menu_words)
    if labelled is not None:
        return labelled
    if is_refusal(text):
        return why_unanswered(text)
    lists = [value for value, _ in json_values(text) if isinstance(value, list)]
    if len(lists) > 1 and not _complete_each_other(lists, ways):
        return (
            SEVERAL
            if any(value != lists[0] for value in lists)
            else _split_colors(_words(lists[0], menu_words), text, ways)
        )
    spans = json_spans(text)
    if len(spans) == 1 and lists and not re.search(r"\w", text[: spans[0][1]].rpartition(":")[2] + text[spans[0][2] :]):
        return _split_colors(_words(lists[0], menu_words), text, ways)
    return _split_colors(_items(_statement(text), menu_words), text, ways)


def _read_labelled(text: str, menu_words: set[str]) -> ReadAnswer | UnreadAnswer | None:
    """What stands behind "Color:" and "Effects:", on one line or below; None where there is no such label."""
    labels = list(_LABEL.finditer(text))
    if not labels:
        return None
    ends = [*(label.start() for label in labels[1:]), len(text)]
    colors: list[str] = []
    effects: list[str] = []
    for label, end in zip(labels, ends):
        words = _items(_NOTE.sub("", text[label.end() : end]), menu_words)
        if words is None:
            return why_unanswered(text)
        (effects if _is_effect(label) else colors).extend(words)
    kinds = [_is_effect(label) for label in labels]
    if len(kinds) > 2 or len(set(kinds)) < len(kinds):  # a draft and an answer, or two of a kind
        return SEVERAL
    if all(kinds):  # only effects have a label: the color may stand before it
        before = _items(text[: labels[0].start()], menu_words) or []
        colors = [word for word in before if word in option_spellings(COLORS)]
    return _color_and_effects(colors, effects)


def _is_effect(label: re.Match[str]) -> bool:
    return "effect" in label[1].lower() or label[1] == "效果"


def _complete_each_other(lists: Sequence[Sequence[Any]], ways: dict[str, str]) -> bool:
    """Whether of two lists one has the colors and the other has none."""
    has_colors = [{fold_label(str(word)) in ways for word in words} for words in lists]
    return len(lists) == 2 and {True} in has_colors and {False} in has_colors


def _split_colors(words: list[str] | None, text: str, ways: dict[str, str]) -> ReadAnswer | UnreadAnswer:
    """A plain list: what is a color is the color, the rest are effects."""
    if not words:
        return why_unanswered(text)
    return _color_and_effects([word for word in words if word in ways], [word for word in words if word not in ways])


def _color_and_effects(colors: list[str], effects: list[str]) -> ReadAnswer:
    color = label_in(colors, option_spellings(COLORS)) if colors else SEVERAL
    effect_names = frozenset(word for word in effects if word not in ("none", "no effect", "no effects", "n a"))
    return ReadAnswer((color.value if isinstance(color, ReadAnswer) else None, effect_names))


# -- items ---------------------------------------------------------------------------------------------------------


def _words(value: Any, menu_words: Iterable[str] = ()) -> list[str] | None:
    """The words that a JSON value holds, folded; None where it holds something else."""
    if value is None:
        return []
    if isinstance(value, str):
        return _items(value, set(menu_words))
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        return None
    return [
        words
        for word in value
        if (words := fold_label(_TAIL.sub("", word.strip()) if word not in menu_words else word))
    ]


def _statement(text: str) -> str:
    """The part of a text that states a list: what follows "answer:", without the header of a list and closing notes."""
    text = _NOTE.sub("", after_statement(text))
    boxed = re.search(r"\\boxed ?\{([^{}]{1,2000})\}", text)
    text = boxed[1] if boxed else text
    head, _, rest = text.partition("\n")
    if rest.strip() and (
        head.rstrip().endswith(":") or (not re.search(r"[,;\[]", head) and len(head.split()) > _MOST_WORDS)
    ):
        text = rest
    return _HEADER.sub("", text, count=1)


def _items(text: str, menu_words: set[str]) -> list[str] | None:
    """The items of a list in any notation, folded; None where the text is prose."""
    if len(text) > 4000:
        return None
    items: list[str] = []
    for piece in _SPLIT.split(_MARK.sub("\n", text)):
        words = fold_label(piece.strip(" \t.'!*:=<>#`~"))
        if not words:
            continue
        split = _known_items(words, menu_words)
        if split is None:
            return None
        items += split
    return items


def _known_items(words: str, menu_words: set[str]) -> list[str] | None:
    """One piece of a list as its items: itself, or what "and" joins, or the known words of a phrase; None for prose."""
    bare = _LEAD.sub("", words).strip()
    for way in (words, bare, _TAIL.sub("", bare)):
        if way in menu_words:
            return [way]
    parts = [_TAIL.sub("", _LEAD.sub("", part).strip()) for part in _AND.split(bare)]
    if len(parts) > 1:
        joined = _split_joined(bare, menu_words)
        if joined is not None:
            return joined
    if " or " in f" {words} ":  # nothing is chosen
        return None
    items = _one_item(bare, menu_words)
    if items != [_TAIL.sub("", bare)]:
        return items
    if len(parts) > 1:
        return None
    if set(bare.split()) <= _FILLERS:
        return []
    return [bare] if len(bare.split()) <= _MOST_WORDS else None


def _one_item(words: str, menu_words: set[str]) -> list[str]:
    """A phrase as the known words in it, where all others carry no meaning; else as it is."""
    words = _TAIL.sub("", _LEAD.sub("", words).strip())
    mentions, rest = (
        (set(), words) if words in menu_words else mentioned_options(words, {word: word for word in menu_words})
    )
    return (
        sorted(mentions) if mentions and all(word in _FILLERS for word in rest.replace("|", " ").split()) else [words]
    )


def _split_joined(words: str, menu_words: set[str]) -> list[str] | None:
    """The parts that "and" joins, split by the menu; None if no part is on the menu or one is too long."""
    parts = _AND.split(words)
    items: list[str] = []
    at = 0
    while at < len(parts):
        longest = next((end for end in range(len(parts), at, -1) if " and ".join(parts[at:end]) in menu_words), None)
        end = longest or at + 1
        items += _one_item(" and ".join(parts[at:end]), menu_words)
        at = end
    if not any(item in menu_words for item in items) or any(
        len(item.split()) > _MOST_WORDS and item not in menu_words for item in items
    ):
        return None
    unknown = [item for item in items if item not in menu_words]
    return items if not unknown or menu_words - option_spellings(COLORS).keys() else None


# -- verdicts of a judge: yes or no, a style ---------------------------------------------------------------------------

__all__ = ["read_attributes", "read_style", "read_yes"]

_FIRST = re.compile(
    r"[^\w]{0,6}(yes|no|是|否)(?= ?[.,;:!)\]*\"'\-]|$)", re.IGNORECASE
)  # not "no picture", "yes or no?"
_SENTENCE = re.compile(r"[.!?] (yes|no)(?=[.!]|$)", re.IGNORECASE)
_KEYS = ("answer", "verdict", "final_answer", "result", "response", "match", "matches", "contains", "judgment")
_MEANS = {"yes": True, "true": True, "是": True, "no": False, "false": False, "否": False}


def read_yes(text: str) -> ReadAnswer | UnreadAnswer:
    """True or False: a text that begins or ends with yes or no; another word, or an error's text, is unread."""
    body = plain_answer(text)
    if isinstance(body, UnreadAnswer):
        return body
    values = json_values(body)
    keyed = [verdict for value, _ in values if (verdict := value_under(value, _KEYS)) is not None]
    if keyed:
        return _verdict(keyed[-1])
    if len(values) == 1 and isinstance(values[0][0], list) and len(values[0][0]) == 1:
        return _verdict(values[0][0][0])
    stated = sorted(explicit_statements(body), key=lambda statement: statement[1])
    spoken = [stated[-1][0]] if stated else text_lines(body)
    words = {match[1].lower() for line in (spoken[0], spoken[-1]) if (match := _FIRST.match(strip_marks(line)))}
    words |= {word.lower() for line in (spoken[0], spoken[-1]) for word in _SENTENCE.findall(line[-400:])}
    verdicts = {_MEANS[word] for word in words}
    return ReadAnswer(verdicts.pop()) if len(verdicts) == 1 else NO_OPTION


def _verdict(value: Any) -> ReadAnswer | UnreadAnswer:
    if isinstance(value, bool):
        return ReadAnswer(value)
    match = _FIRST.match(strip_marks(value)) if isinstance(value, str) else None
    word = match[1].lower() if match else strip_marks(value).lower() if isinstance(value, str) else ""
    return ReadAnswer(_MEANS[word]) if word in _MEANS else NO_OPTION


def read_style(text: str) -> ReadAnswer | UnreadAnswer:
    """The style a judge names."""
    return read_label(text, STYLES)
