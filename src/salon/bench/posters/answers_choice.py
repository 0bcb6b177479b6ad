"""Which option a response chooses: a letter, or a label of a closed vocabulary.

In this order:

1. explicit statements: JSON with the key asked for, `Answer: B`, "the answer is B". The last one binds, also when it is
   not on the menu;
2. lines that are nothing but an option. If they name different options, that is a list and no answer;
3. a line that begins with a letter and explains it (`B) because ...`), a sentence that says of one letter that it is
   the one ("Poster B has the better layout"), and the last line if it names one label only, unless it denies it or the
   text begins with an excuse.

Naming several options is never an answer. Nothing else in prose counts: "Font A is bolder" chooses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from salon.bench.posters.answers_text import (
    CUT_OFF,
    LONGEST_LINE,
    NO_OPTION,
    SEVERAL,
    ReadAnswer,
    UnreadAnswer,
    after_statement,
    explicit_statements,
    is_cut_off,
    is_refusal,
    json_values,
    plain_answer,
    strip_marks,
    text_lines,
    value_under,
    why_unanswered,
)
from salon.bench.posters.tasks import fold_label, option_spellings

Answer = ReadAnswer | UnreadAnswer
_KEYS = (
    "final_answer", "answer", "choice", "option", "letter", "selected_option", "selection", "style", "alignment",
    "text_alignment", "rotation", "orientation", "label", "result", "prediction", "response",
)  # fmt: skip
_NOUN = r"(?:option|choice|letter|image|picture|font|text|layout|design|poster|version|candidate|sample|answer|one)"
_HEAD = (
    r"(?:(?:the|my|so|thus|therefore|final|correct|best|better|right|matching|answer|option|choice|letter|image|font"
    r"|text|layout|design|poster|version|target|one|is|it|it's|that|that's|would|be|must|i|i'd|think|say|choose|pick"
    r"|select|go|with|definitely|clearly|probably|sure|okay|ok)\b[ ,:.!]{0,2}){0,8}"
)
_LETTER = re.compile(
    rf"{_HEAD}[\"'(\[{{*_`]{{0,4}}([A-Za-z])[\"')\]}}*_`]{{0,4}}"
    r"(?:$|[.:,;)\-!=]+(.*)$| - (.*)$| (?:because|since|as) (.*)$| ?[\[(](.*)$)",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(not|neither|nor|or|either|instead|rather|unlike|isn'?t|cannot|can'?t|no longer)\b")
_WRONG = re.compile(
    r"\W{0,3}(?:(?:it|this|that)\W{0,2}(?:is|s)? )?(?:is )?(?:not|isn'?t|wrong|incorrect|false|neither)\b", re.I
)
"""An explanation that begins like this takes its letter back."""
_AGAINST = re.compile(
    r"\b(?:not|n't|isn't|doesn't|don't|never|neither|nor|or|either|both|less|least|worse|worst|poor\w*|lack\w*|weak\w*"
    r"|inferior|wrong\w*|incorrect\w*|cannot|can't|unsure|maybe|might|could|if|unless|clutter\w*|crowd\w*|mess\w*"
    r"|chaotic|awkward\w*|misalign\w*|overlap\w*|confus\w*|unbalanced|uneven|disorgani\w*|busy|busier|too|hard|difficult"
    r"|fails?|seems? close|except|but|however|although|though|unlike|mis\w+)\b",
    re.IGNORECASE,
)
"""A sentence with one of these words says of no letter that it is the one."""
_CHOOSES = re.compile(
    r"\b(?:match\w*|fit\w*|best|better|correct|right|answer|choose|pick|select|prefer\w*|superior|winner|wins|winning|ideal"
    r"|it is|the one|go with|vote|choice|more|most|clear\w*|clean\w*|balanc\w*|appeal\w*|attractive|pleasing|harmon\w*"
    r"|organi[sz]ed|cohesive|consistent|strong\w*|good|nice\w*|elegant|effective|readable|legib\w*|neat\w*|tid\w+"
    r"|professional|polished|engaging|structured|higher|greater|well|correspond\w*|identical|same|the option|the font"
    r"|the choice|the letter)\b",
    re.IGNORECASE,
)
_ENDS_IN = re.compile(
    rf"(?i:\b(?:is|would be|must be|it's|be|:) (?:in |on )?(?:{_NOUN} )?)[\"'(\[]{{0,2}}([A-Z])[\"')\]]{{0,2}}$"
)
_SUBJECT = re.compile(
    r"^(?i:(?:so|thus|therefore|overall|clearly|definitely|i (?:think|believe|would say|say|choose|pick|prefer|select)"
    r"(?: that)?|i'd (?:say|choose|pick|go with)|i would (?:choose|pick|select|go with))\b,? ?){0,2}"
    rf"(?i:the \w{{3,12}} (?:of|in) )?(?i:the )?(?i:{_NOUN} )?[\"'(\[]{{0,2}}([A-Z])[\"')\]]{{0,2}}"
    r"(?:$|,? (?i:is|has|looks|fits|matches|shows|seems|appears|feels|wins|uses|offers|presents|features|provides"
    r"|exhibits|displays|demonstrates|achieves|it is|would be|because|since|for|as the|as my)\b)"
)
_BESIDE = re.compile(
    r"[,;]? ?\b(?:than|over|compared (?:to|with)|as opposed to|while|whereas)\b.{0,300}$", re.IGNORECASE
)
"""A clause about what was not chosen."""
_MARK = re.compile(r"^(?:[-*•+]|\d{1,2}[.)]) ")
_BUT = re.compile(r"\b(?:but|however|although|though)\b", re.IGNORECASE)
_CORRECTS = re.compile(r"^(?:wait|actually|correction|hmm|no,|sorry|on second thought|rather)\b", re.IGNORECASE)
_TYPED = re.compile(r"style|alignment|rotation", re.IGNORECASE)
_TOKEN = re.compile(r"(?<![\w'-])([A-Z])(?![\w'])")
_PRONOUN = re.compile(
    r"\bI(?= ?(?:'|\b(?:think|would|choose|pick|select|am|can|see|believe|prefer|say|go|find|must|have)))"
)
_SHORT = {"left", "right", "center", "centre", "no", "none", "cw", "ccw", "white", "black"}
"""Words that mean an option when they stand alone, but something else in a sentence."""


def read_letter(response: str | None, options: Sequence[str]) -> Answer:
    """The letter that a response chooses."""
    return _choice(response, lambda value: _letter(value, options), lambda text: _explained_letter(text, options))


def read_label(response: str | None, options: Sequence[str]) -> Answer:
    """The label that a response chooses."""
    ways = option_spellings(tuple(options))
    return _choice(response, lambda value: label_in(value, ways), lambda text: _last_line(text, ways))


def _choice(response: str | None, menu: Callable[[Any], Answer], prose: Callable[[str], Answer | None]) -> Answer:
    text = plain_answer(response)
    if isinstance(text, UnreadAnswer):
        return text
    if is_cut_off(text):
        return CUT_OFF
    values = json_values(text)
    keyed = [answer for value, _ in values if (answer := _keyed_answer(value, menu)) is not None]
    if keyed:
        return keyed[-1]
    stated = [] if values else list(explicit_statements(text))
    if stated:
        answers = [(menu(words), at) for words, at in sorted(stated, key=lambda statement: statement[1])[-20:]]
        own = [
            answer for answer, at in answers if isinstance(answer, ReadAnswer) or not _TYPED.match(text[at : at + 20])
        ]
        answer = own[-1] if own else answers[-1][0]
        below = {_option_line(_MARK.sub("", line), menu) for line in set(text_lines(after_statement(text)))}
        return SEVERAL if any(isinstance(choice, ReadAnswer) and choice != answer for choice in below) else answer
    listed = [menu(value) for value in _word_lists(text, values)]
    if listed:
        return listed[0] if all(answer == listed[0] for answer in listed) else SEVERAL
    spoken = {_MARK.sub("", line) for line in text_lines(text)}
    alone = {answer.value for line in spoken if isinstance(answer := _option_line(line, menu), ReadAnswer)}
    if alone:
        return ReadAnswer(alone.pop()) if len(alone) == 1 and not any(map(_CORRECTS.match, spoken)) else SEVERAL
    return (None if is_refusal(text) else prose(text)) or why_unanswered(text)


def _keyed_answer(value: Any, menu: Callable[[Any], Answer]) -> Answer | None:
    """What an object says under the keys of an answer; None where it has none of them."""
    answers = [answer for key in _KEYS if (part := value_under(value, (key,))) is not None for answer in (menu(part),)]
    chosen = {answer.value for answer in answers if isinstance(answer, ReadAnswer)}
    return ReadAnswer(chosen.pop()) if len(chosen) == 1 else SEVERAL if chosen else answers[0] if answers else None


def _word_lists(text: str, values: Sequence[tuple[Any, int]]) -> Iterator[list[Any]]:
    """The lists of words in a text, but for those that are denied: "['a'] (not ['b'])"."""
    start = 0
    for value, end in values:
        before = text[start:end].partition("[")[0]
        words = isinstance(value, list) and bool(value) and all(isinstance(part, str) for part in value)
        if words and not re.search(r"\bnot\W{0,3}$", before, re.IGNORECASE):
            yield value
        start = end


def _option_line(line: str, menu: Callable[[Any], Answer]) -> Answer:
    """A line that is an option and nothing else."""
    return menu(line) if len(line.split()) <= 4 and not _explains(line) else NO_OPTION


def _explains(line: str) -> bool:
    match = _LETTER.fullmatch(line)
    return match is not None and bool(_explanation(match))


def _explanation(match: re.Match[str]) -> str:
    return next((part.strip() for part in match.groups()[1:] if part), "")


# -- letters -------------------------------------------------------------------------------------------------------


def _letter(value: Any, options: Sequence[str]) -> Answer:
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else " and ".join(map(str, value))
    if not isinstance(value, str):
        return NO_OPTION
    line = strip_marks(value)[:LONGEST_LINE]
    match = _LETTER.fullmatch(line.removesuffix("?"))
    if match is None:
        sentence = _claimed_letter(line, options)
        return sentence or (SEVERAL if _several(line, options) else NO_OPTION)
    explained = _explanation(match)
    if _several(_BESIDE.sub("", explained), options, besides=match[1].upper()):
        return SEVERAL
    if _WRONG.match(explained):
        return NO_OPTION
    return ReadAnswer(match[1].upper()) if match[1].upper() in options else NO_OPTION


def _several(line: str, options: Sequence[str], besides: str | None = None) -> bool:
    letters = {match[1] for match in _TOKEN.finditer(_PRONOUN.sub("", line)) if match[1] in options}
    named = letters - ({"A"} if re.match(r"A [a-z]", line) and len(re.findall(r"\bA\b", line)) == 1 else set())
    return len(named | ({besides} if besides else set())) > 1


def _claimed_letter(sentence: str, options: Sequence[str]) -> Answer | None:
    """The letter that a sentence says is the one: its subject, or its end. None where it says so of none."""
    if sentence.rstrip().endswith("?") or _BUT.search(sentence):
        return None
    sentence = sentence.strip(" .!*\"'")
    letters = {match[1] for match in _TOKEN.finditer(_PRONOUN.sub("", sentence)) if match[1] in options}
    own = _BESIDE.sub("", sentence)
    ends = _ENDS_IN.search(own)
    begins = _SUBJECT.match(own)
    match = ends or (begins if _CHOOSES.search(own) else None)
    if match is None or match[1] not in options or _AGAINST.search(own):
        return None
    if match is begins and re.match(r"A [a-z]+ (?:font|text|layout|poster|design|image)\b", own):
        return None
    left = {token[1] for token in _TOKEN.finditer(_PRONOUN.sub("", own)) if token[1] in options}
    return ReadAnswer(match[1]) if left <= {match[1]} and len(letters) <= 2 else SEVERAL


def _explained_letter(text: str, options: Sequence[str]) -> Answer | None:
    """The option of the lines that begin with one and explain it, or of the sentences that claim one, if they agree."""
    spoken = text_lines(text)
    answers = [_letter(line, options) for line in spoken if _explains(line[:LONGEST_LINE])]
    if not answers:
        sentences = [part for line in spoken[-40:] for part in re.split(r"(?<=[.!?;])\s+", line[-LONGEST_LINE:])]
        claims = [_claimed_letter(part, options) for part in sentences]
        answers = [answer for answer in claims if answer is not None]
    if any(answer == SEVERAL for answer in answers):
        return SEVERAL
    letters = {answer.value for answer in answers if isinstance(answer, ReadAnswer)}
    if len(letters) > 1:
        return SEVERAL
    return ReadAnswer(letters.pop()) if letters else None


# -- labels --------------------------------------------------------------------------------------------------------


def label_in(value: Any, ways: dict[str, str]) -> Answer:
    """The one option that a value names: by itself, in a list, or in a sentence that does not deny it."""
    if isinstance(value, list):
        if any(isinstance(part, list) for part in value):
            return NO_OPTION
        labels = {answer.value for part in value if isinstance(answer := label_in(part, ways), ReadAnswer)}
        return ReadAnswer(labels.pop()) if len(labels) == 1 else SEVERAL if labels else NO_OPTION
    if not isinstance(value, str) or len(value) > LONGEST_LINE:
        return NO_OPTION
    words = fold_label(strip_marks(value).strip(".,;:!()[]'\" "))
    if words in ways:
        return ReadAnswer(ways[words])
    labels, rest = mentioned_options(words, ways)
    if len(labels) != 1:
        return SEVERAL if labels else NO_OPTION
    return NO_OPTION if _DENIES.search(rest) else ReadAnswer(labels.pop())


def mentioned_options(words: str, ways: dict[str, str]) -> tuple[set[str], str]:
    """The options named in folded words, the longest names first, and what is left of the words."""
    options: set[str] = set()
    for way in sorted(ways, key=len, reverse=True):
        if way in words and way not in _SHORT:
            words, times = re.subn(rf"(?<!\w){re.escape(way)}(?!\w)", "|", words)
            options |= {ways[way]} if times else set()
    return options, words


def _last_line(text: str, ways: dict[str, str]) -> Answer | None:
    spoken = text_lines(text)
    answer = label_in(spoken[-1], ways) if spoken else NO_OPTION
    return None if answer == NO_OPTION else answer
