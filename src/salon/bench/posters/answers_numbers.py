"""Numbers a response states: a rating from 0 to 10, and ids of patches on a grid."""

from __future__ import annotations

import re
from typing import Any

from salon.bench.posters.answers_said import (
    CUT_OFF,
    LONGEST_LINE,
    REFUSAL,
    SEVERAL,
    Read,
    Unread,
    after_statement,
    is_cut_off,
    is_refusal,
    json_spans,
    json_values,
    lines,
    plainly_said,
    unanswered,
    under,
)

MOST = 10.0
_RATING_KEYS = (
    "overall_rating", "overall_score", "overall", "final_score", "final_rating", "rating", "score", "final_answer",
    "answer", "total", "result",
)  # fmt: skip
_ID_KEYS = (
    "final_answer", "answer", "patches", "patch_ids", "patch_id", "ids", "selected_patches", "selected", "regions",
    "grid", "result", "empty_patches", "list",
)  # fmt: skip
_UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
          "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = {"twenty": 20, "thirty": 30, "forty": 40}
_NUMBERS = {word: i for i, word in enumerate(_UNITS)} | {
    f"{ten}{'-' if unit else ''}{_UNITS[unit] if unit else ''}": value + unit
    for ten, value in _TENS.items()
    for unit in range(10)
}
_WORD = re.compile(r"\b(?:" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + r")\b", re.IGNORECASE)
_HALF = re.compile(r"(\d) and a half\b|(\d) point (\d)\b")
_N = r"(?<![\d.\-/,])(-?\d{1,4}(?:\.\d{1,6}|\.(?!\d))?)"
_OF_TEN = r" ?(?:/|out of|of|over) ?(?:a possible )?10(?!\d|\.\d)"
_AFTER = r"(?![\d%]| ?- ?\d|\.\d|,\d)"
"""What may not follow a rating: more of the number, a percent sign, a range."""
_X_OF_TEN = re.compile(_N + _OF_TEN, re.IGNORECASE)
_STATED = re.compile(
    r"(?:\b(?:overall|score|rating|answer|rate|grade)\b[^\d\n:=]{0,24}[:=-]"
    r"|\b(?:my|the|overall|final|its) (?:overall |final )?(?:score|rating|answer|grade) (?:is|would be)(?: an?| about)?"
    r"|\b(?:overall|deserves|gets|earns|receives|scores)(?: an?| about| around)?"
    r"|\b(?:give|rate) (?:it|this|this poster|the poster|this design)"
    r"(?: an?| at| as| about| a score of| a rating of){0,2}"
    r"|(?:评分|分数|得分|总分|答案)(?:是|为)?:?)"
    r"[ *_\"'(\[]{0,4}(-?\d{1,4}(?:\.\d{1,6})?)" + _AFTER + rf"(?:{_OF_TEN})?(?! ?/)",
    re.IGNORECASE,
)
_SCALE = re.compile(
    r"(?:/|out of|on a scale of|from|of) ?(?:0|1)? ?(?:-|to)? ?10\b|\b(?:0|1) ?(?:-|to) ?10\b", re.IGNORECASE
)
"""What names the scale and no rating."""
_ALONE = re.compile(
    r"(?:(?:about|around|roughly|approximately|maybe|probably|i'd say|i would say|say|a|an|solid|strong|it's|it is|~|≈)"
    r"[ :,]{0,2}){0,3}[\"'(\[]{0,2}(-?\d{1,4}(?:[.,]\d{1,6})?)[\"')\]]{0,2}"
    + rf"(?:{_OF_TEN}| ?(?:points?|pts?|分|stars?)\b)?"
    r"(?:[.!]?|[.!,;:]? ?[(\[\-:,;.!][^\d]{0,300}"
    r"| (?:points?|from|because|since|as|for|overall|poster|stars?)\b[^\d]{0,300})",
    re.IGNORECASE,
)
_ID = re.compile(r"(?:patch(?:es)?|id|no\.?|number|cell|grid|#)?[ #:]{0,2}(-?\d{1,9})(?:\.0{1,3})?", re.IGNORECASE)
_LIST = re.compile(r"[\[({]([^\[\](){}]{1,4000})[\])}]")
_THEN = re.compile(
    r"\b(?:so|therefore|thus|hence|answer|final|finally|selected|selection|result|choose|select|pick)\b[^\n\[\](){}]{0,40}$",
    re.I,
)
_DENIED = re.compile(r"\bnot\W{0,3}$", re.IGNORECASE)
_FILLER = re.compile(
    r"\b(?:patch(?:es)?|ids?|and|the|are|is|grid|cells?|numbers?|selected|empty|numbered|regions?)\b|[#*+.\"'()]", re.I
)
_HEADER = re.compile(r"^[^:=]{0,120}[:=]")
_MARK = re.compile(r"^(?:[-*•+]|(\d{1,3})[.)](?= ))\s*")


def read_rating(response: str | None) -> Read | Unread:
    """A number from 0 to 10: under a key, after "Score:", as x/10, or alone on the last or first line; never cut."""
    text = plainly_said(response)
    if isinstance(text, Unread):
        return text
    values = [value for value, _ in json_values(text)]
    keyed = [held for value in values if (held := under(value, _RATING_KEYS)) is not None]
    if keyed:
        return _rating(keyed[-1])
    if is_cut_off(text):
        return CUT_OFF
    boxed = re.findall(r"\\boxed ?\{([^{}]{1,60})\}", text)
    if boxed:
        return _rating(boxed[-1])
    spoken = [_digits(line[-LONGEST_LINE:]) for line in lines(text)]
    stated = [(match, line) for line in spoken for match in _STATED.finditer(line)]
    if stated:
        match, line = stated[-1]
        others = re.findall(r"\d+(?:\.\d+)?", _SCALE.sub("", line[match.end() :]))
        return _rating(match[1]) if all(float(number) == float(match[1]) for number in others) else SEVERAL
    if is_refusal(text):
        return REFUSAL
    of_ten = {float(number) for line in spoken for number in _X_OF_TEN.findall(line)}
    if of_ten:
        return _rating(of_ten.pop()) if len(of_ten) == 1 else SEVERAL
    if values:
        numbers = _numbers_in(values[-1])
        return _rating(numbers[0]) if len(values) == 1 and len(numbers) == 1 else Unread("not a number")
    alone = _ALONE.fullmatch(spoken[-1]) or _ALONE.fullmatch(spoken[0]) or _repeated(spoken)
    return _rating(alone[1]) if alone else unanswered(text)


def _repeated(spoken: list[str]) -> re.Match[str] | None:
    """A line that says one number twice: "about five, say 5"."""
    if len(spoken) != 1 or len(spoken[0].split()) > 8:
        return None
    numbers = re.findall(r"\d+(?:\.\d+)?", spoken[0])
    return re.fullmatch(r"(.*)", numbers[0]) if len(numbers) > 1 and len(set(map(float, numbers))) == 1 else None


def _digits(line: str, *, one: bool = False) -> str:
    """The line with numbers in words as digits; the word "one" only where it can be nothing else."""
    if not _WORD.search(line):
        return line
    alone = one or re.search(r"\bone\b(?: (?:out )?of (?:10|ten)|/10|$)", line, re.IGNORECASE)
    line = _WORD.sub(
        lambda word: word[0] if word[0].lower() == "one" and not alone else str(_NUMBERS[word[0].lower()]), line
    )
    return _HALF.sub(lambda match: f"{match[1]}.5" if match[1] else f"{match[2]}.{match[3]}", line)


def _numbers_in(value: Any, depth: int = 0) -> list[Any]:
    if isinstance(value, dict | list) and depth < 6:
        parts = value.values() if isinstance(value, dict) else value
        return [number for part in parts for number in _numbers_in(part, depth + 1)]
    return [value]


def _rating(value: Any) -> Read | Unread:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        match = _ALONE.fullmatch(_digits(value.strip()))
        value = float(match[1].replace(",", ".")) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return Unread("not a number")
    return Read(float(value)) if 0 <= value <= MOST else Unread("outside the scale")


def read_patches(response: str | None) -> Read | Unread:
    """The ids of the list of a response, as a set: in brackets of any kind, or numbers on lines of their own.

    Ids beyond the grid are kept: they are named, and never right. Of several lists the last counts if it holds the
    others or says that it is the answer; else they may be parts of one answer, and nothing is read.
    """
    text = plainly_said(response)
    if isinstance(text, Unread):
        return text
    if is_cut_off(text):
        return CUT_OFF
    lists = _lists(text)
    if not lists:
        ids = _spoken_ids(text)
        return unanswered(text) if ids is None or is_refusal(text) else Read(frozenset(ids))
    sets = [ids for ids, _ in lists]
    last = sets[-1]
    if last is None:
        return Unread("not a list of ids")
    others = [ids for ids in sets[:-1] if ids is not None]
    if all(ids <= last for ids in others) or (_THEN.search(lists[-1][1]) and len(last) >= max(map(len, others))):
        return Read(last)
    return SEVERAL


def _lists(text: str) -> list[tuple[frozenset[int] | None, str]]:
    """The lists of a text, None for one that is not of ids, each with what stands before it; denied ones left out."""
    lists: list[tuple[frozenset[int] | None, str]] = []
    spans = json_spans(text)
    at = 0
    for value, start, end in spans:
        held = value if isinstance(value, list) else under(value, _ID_KEYS)
        ids = _ids(held) if held is not None else None
        if not _DENIED.search(text[at:start]):
            lists.append((ids, text[at:start]))
        at = end
    if lists:
        return [one for one in lists if one[0] is not None] or lists
    brackets = [(match, _ids(re.split(r"[,;\s|]+|\band\b", match[1].strip(" ,;")))) for match in _LIST.finditer(text)]
    return [(ids, text[: match.start()]) for match, ids in brackets if ids is not None and "." not in match[1]]


def _ids(value: Any) -> frozenset[int] | None:
    """The ids that a value holds: numbers, also as text or in words, in one list; None where it holds anything else."""
    if isinstance(value, str):
        value = re.split(r"[,;\s|]+", value.strip(" ,;"))
    if not isinstance(value, list):
        return None
    if value and all(isinstance(part, list) for part in value):
        if len(value) > 1 and all(len(part) == 2 for part in value):  # rows and columns
            return None
        value = [part for row in value for part in row]
    words = [str(part).strip() for part in value if not isinstance(part, bool | list | dict) and part is not None]
    matches = [_ID.fullmatch(_digits(word, one=True)) for word in words]
    if len(words) != len(value) or not all(matches) or any(isinstance(part, float) and part % 1 for part in value):
        return None
    return frozenset(int(match[1]) for match in matches if match)


def _spoken_ids(text: str) -> frozenset[int] | None:
    """Ids without brackets: on the last line, or on all lines but a heading; None where other words stand there."""
    spoken = lines(after_statement(text))
    if len(spoken) > 1 and not re.search(r"\d", spoken[0]):
        spoken = spoken[1:]
    marks = [match[1] for line in spoken if (match := _MARK.match(line))]
    if len(marks) == len(spoken) and (len(spoken) > 1 or not marks[0]):
        numbered = [int(mark) for mark in marks if mark]
        if numbered and numbered not in (list(range(1, len(marks) + 1)), list(range(len(marks)))):
            return None
        spoken = [_MARK.sub("", line) for line in spoken]
    ids: list[int] = []
    for line in spoken:
        words = _FILLER.sub(" ", _digits(_HEADER.sub("", line), one=True))
        numbers = [word for word in re.split(r"[,;\s|]+", words) if word]
        if not numbers or not all(re.fullmatch(r"\d{1,4}", word) for word in numbers):
            return None
        ids += map(int, numbers)
    return frozenset(ids)
