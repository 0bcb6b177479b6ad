"""Numbers in a response: a rating from 0 to 10, ids of patches on a grid, and boxes.

Boxes are read by one declared convention. No other reading is tried to see which one scores best.

    share 0-1 · percent 0-100 · thousand 0-1000 · pixel of the picture that was shown

Boxes are four numbers x1, y1, x2, y2 in brackets, under keys or on a line, as two corners, or as a corner with width
and height under keys; with or without the text they are for. A box that is inverted, empty, far outside the picture or
not made of numbers is unread, and its place stays empty. A box that sticks out by less than a twentieth is cut at the
edge.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from salon.bench.posters.answers_text import (
    CUT_OFF,
    LONGEST_LINE,
    REFUSAL,
    SEVERAL,
    ReadAnswer,
    UnreadAnswer,
    after_statement,
    is_cut_off,
    is_refusal,
    json_spans,
    json_values,
    plain_answer,
    strip_marks,
    text_lines,
    value_under,
    visible_text,
    why_unanswered,
)
from salon.bench.posters.item import Box
from salon.bench.posters.settings import Convention

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


def read_rating(response: str | None) -> ReadAnswer | UnreadAnswer:
    """A number from 0 to 10: under a key, after "Score:", as x/10, or alone on the last or first line; never cut."""
    text = plain_answer(response)
    if isinstance(text, UnreadAnswer):
        return text
    values = [value for value, _ in json_values(text)]
    keyed = [rating for value in values if (rating := value_under(value, _RATING_KEYS)) is not None]
    if keyed:
        return _rating(keyed[-1])
    if is_cut_off(text):
        return CUT_OFF
    boxed = re.findall(r"\\boxed ?\{([^{}]{1,60})\}", text)
    if boxed:
        return _rating(boxed[-1])
    spoken = [_digits(line[-LONGEST_LINE:]) for line in text_lines(text)]
    stated = [(match, line) for line in spoken for match in _STATED.finditer(line)]
    if stated:
        match, line = stated[-1]
        more_numbers = re.findall(r"\d+(?:\.\d+)?", _SCALE.sub("", line[match.end() :]))
        return _rating(match[1]) if all(float(number) == float(match[1]) for number in more_numbers) else SEVERAL
    if is_refusal(text):
        return REFUSAL
    of_ten = {float(number) for line in spoken for number in _X_OF_TEN.findall(line)}
    if of_ten:
        return _rating(of_ten.pop()) if len(of_ten) == 1 else SEVERAL
    if values:
        numbers = _numbers_in(values[-1])
        return _rating(numbers[0]) if len(values) == 1 and len(numbers) == 1 else UnreadAnswer("not a number")
    alone = _ALONE.fullmatch(spoken[-1]) or _ALONE.fullmatch(spoken[0]) or _repeated_number(spoken)
    return _rating(alone[1]) if alone else why_unanswered(text)


def _repeated_number(spoken: list[str]) -> re.Match[str] | None:
    """A line that says one number twice: "about five, say 5"."""
    if len(spoken) != 1 or len(spoken[0].split()) > 8:
        return None
    numbers = re.findall(r"\d+(?:\.\d+)?", spoken[0])
    return re.fullmatch(r"(.*)", numbers[0]) if len(numbers) > 1 and len(set(map(float, numbers))) == 1 else None


def _digits(line: str, *, one_counts: bool = False) -> str:
    """The line with numbers in words as digits; the word "one" only where it can be nothing else."""
    if not _WORD.search(line):
        return line
    alone = one_counts or re.search(r"\bone\b(?: (?:out )?of (?:10|ten)|/10|$)", line, re.IGNORECASE)
    line = _WORD.sub(
        lambda word: word[0] if word[0].lower() == "one" and not alone else str(_NUMBERS[word[0].lower()]), line
    )
    return _HALF.sub(lambda match: f"{match[1]}.5" if match[1] else f"{match[2]}.{match[3]}", line)


def _numbers_in(value: Any, depth: int = 0) -> list[Any]:
    if isinstance(value, dict | list) and depth < 6:
        parts = value.values() if isinstance(value, dict) else value
        return [number for part in parts for number in _numbers_in(part, depth + 1)]
    return [value]


def _rating(value: Any) -> ReadAnswer | UnreadAnswer:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        match = _ALONE.fullmatch(_digits(value.strip()))
        value = float(match[1].replace(",", ".")) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return UnreadAnswer("not a number")
    return ReadAnswer(float(value)) if 0 <= value <= MOST else UnreadAnswer("outside the scale")


def read_patches(response: str | None) -> ReadAnswer | UnreadAnswer:
    """The ids of the list of a response, as a set: in brackets of any kind, or numbers on lines of their own.

    Ids beyond the grid are kept: they are named, and never right. Of several lists the last counts if it holds the
    others or says that it is the answer; else they may be parts of one answer, and nothing is read.
    """
    text = plain_answer(response)
    if isinstance(text, UnreadAnswer):
        return text
    if is_cut_off(text):
        return CUT_OFF
    lists = _lists(text)
    if not lists:
        ids = _spoken_ids(text)
        return why_unanswered(text) if ids is None or is_refusal(text) else ReadAnswer(frozenset(ids))
    sets = [ids for ids, _ in lists]
    last = sets[-1]
    if last is None:
        return UnreadAnswer("not a list of ids")
    earlier = [ids for ids in sets[:-1] if ids is not None]
    if all(ids <= last for ids in earlier) or (_THEN.search(lists[-1][1]) and len(last) >= max(map(len, earlier))):
        return ReadAnswer(last)
    return SEVERAL


def _lists(text: str) -> list[tuple[frozenset[int] | None, str]]:
    """The lists of a text, None for one that is not of ids, each with what stands before it; denied ones left out."""
    lists: list[tuple[frozenset[int] | None, str]] = []
    spans = json_spans(text)
    at = 0
    for value, start, end in spans:
        ids_value = value if isinstance(value, list) else value_under(value, _ID_KEYS)
        ids = _ids(ids_value) if ids_value is not None else None
        if not _DENIED.search(text[at:start]):
            lists.append((ids, text[at:start]))
        at = end
    if lists:
        return [pair for pair in lists if pair[0] is not None] or lists
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
    matches = [_ID.fullmatch(_digits(word, one_counts=True)) for word in words]
    if len(words) != len(value) or not all(matches) or any(isinstance(part, float) and part % 1 for part in value):
        return None
    return frozenset(int(match[1]) for match in matches if match)


def _spoken_ids(text: str) -> frozenset[int] | None:
    """Ids without brackets: on the last line, or on all lines but a heading; None where other words stand there."""
    spoken = text_lines(after_statement(text))
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
        words = _FILLER.sub(" ", _digits(_HEADER.sub("", line), one_counts=True))
        numbers = [word for word in re.split(r"[,;\s|]+", words) if word]
        if not numbers or not all(re.fullmatch(r"\d{1,4}", word) for word in numbers):
            return None
        ids += map(int, numbers)
    return frozenset(ids)


# -- boxes -------------------------------------------------------------------------------------------------------------

SCALES: dict[str, float] = {"share": 1.0, "percent": 100.0, "thousand": 1000.0}
MOST_BOXES = 1000
JUST_OUTSIDE = 0.05
"""How far, as a share of the picture, a box may stick out and still be cut at the edge."""
_BOX_KEYS = ("bbox", "bbox_2d", "box", "box_2d", "bounding_box", "boundingbox", "coordinates", "coords", "position",
             "region", "rect", "boxes", "bboxes", "bounding_boxes", "normalized_bbox", "location")  # fmt: skip
_NAME_KEYS = ("text", "label", "name", "phrase", "content", "target", "element", "text_content", "word")
_CORNERS = (("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"), ("x_min", "y_min", "x_max", "y_max"),
            ("left", "top", "right", "bottom"), ("x0", "y0", "x1", "y1"))  # fmt: skip
_SIDES = (("x", "y", "width", "height"), ("x", "y", "w", "h"), ("left", "top", "width", "height"))
_NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_COORDINATE = r"([+-]?(?:\d{1,9}(?:\.\d{0,20})?|\.\d{1,20}|nan|inf)%?)"
_S = r"\s{0,8}"
_FLAT = re.compile(
    rf"[\[(]{_S}{_COORDINATE}{_S},{_S}{_COORDINATE}{_S},{_S}{_COORDINATE}{_S},{_S}{_COORDINATE}{_S}[\])]", re.IGNORECASE
)
_PAIRS = re.compile(
    rf"[\[(]{_S}{_COORDINATE}{_S},{_S}{_COORDINATE}{_S}[\])]{_S}(?:,|to|-|->|;)?{_S}[\[(]{_S}{_COORDINATE}{_S},{_S}{_COORDINATE}{_S}[\])]",
    re.IGNORECASE,
)
_NAMED_SIDES = re.compile(
    r"\b" + rf"[=: ]{{1,3}}{_COORDINATE}[,; ]{{0,3}}".join(
        (r"(?:left|x_?min|x_?1)", r"(?:top|y_?min|y_?1)", r"(?:right|x_?max|x_?2)", r"(?:bottom|y_?max|y_?2)")
    ) + rf"[=: ]{{1,3}}{_COORDINATE}",
    re.IGNORECASE,
)  # fmt: skip
_ROW = re.compile(
    rf"(?P<name>.{{0,200}}?(?:[:=]|\b)\s{{0,3}})??{_COORDINATE}[,\s]{_S}{_COORDINATE}[,\s]{_S}{_COORDINATE}[,\s]{_S}{_COORDINATE}[.,]?",
    re.IGNORECASE,
)
_OTHER_NUMBERS = re.compile(r"[\[(][^\[\]()]{0,80}\d[^\[\]()]{0,20}[,;\s][^\[\]()]{0,20}\d[^\[\]()]{0,80}[\])]")
_LEAD = re.compile(r"^\s{0,8}(?:[-*•+]|\d{1,3}[.)])\s+")


@dataclass(frozen=True)
class BoxAnswer:
    """The boxes of a response in its order; None for one that could not be read."""

    boxes: tuple[Box | None, ...]
    names: tuple[str | None, ...]

    @property
    def unread(self) -> int:
        """Boxes that were given and could not be read."""
        return sum(box is None for box in self.boxes)

    def placed(self, texts: Sequence[str], n: int) -> list[Box | None]:
        """A box for each of `n` places: by the texts it names where it names any of them, else in its order."""
        text_keys = [_key(text) for text in texts]
        name_keys = [None if name is None else _key(name) for name in self.names]
        if len(text_keys) != n or not set(name_keys) & set(text_keys):
            return [*self.boxes[:n], *[None] * max(0, n - len(self.boxes))]
        left = list(range(len(name_keys)))
        places: list[int | None] = []
        for key in text_keys:
            places.append(next((i for i in left if name_keys[i] == key), None))
            left = [i for i in left if i != places[-1]]
        if len(name_keys) == n:  # a box for each text, some of them misspelt: the rest in their order
            places = [left.pop(0) if place is None else place for place in places]
        return [None if place is None else self.boxes[place] for place in places]


def read_boxes(response: str | None, convention: Convention, size: tuple[int, int]) -> ReadAnswer | UnreadAnswer:
    """The boxes of a response: those of its only list, those of all its single boxes, or else those on its lines."""
    text = plain_answer(response)
    if isinstance(text, UnreadAnswer):
        return text
    if is_cut_off(text):
        return CUT_OFF
    spans = json_spans(text)
    box_lists = [(raw, text[max(0, start - 300) : start]) for value, start, _ in spans if (raw := _nested_boxes(value))]
    outside = "".join(text[a:b] for a, b in zip([0, *(end for *_, end in spans)], [*(at for _, at, _ in spans), None]))
    if box_lists and not _OTHER_NUMBERS.search(outside):
        return _choose_boxes(box_lists, convention, size)
    raw = _flat(text) or ([] if box_lists else _rows(text))
    if not raw and re.fullmatch(r"\W{0,20}(?:\w{1,12}\W{1,3}){0,6}\[\s{0,4}\]\W{0,20}", text[:200]):
        return ReadAnswer(BoxAnswer((), ()))  # an empty list is an answer
    return ReadAnswer(_answer(raw, convention, size)) if raw else why_unanswered(text)


Raw = list[tuple[str | None, list[Any]]]


def _choose_boxes(
    box_lists: list[tuple[Raw, str]], convention: Convention, size: tuple[int, int]
) -> ReadAnswer | UnreadAnswer:
    """Single boxes belong together; of several lists of boxes the last counts if it says that it is the answer."""
    if all(len(raw) == 1 for raw, _ in box_lists):
        named_boxes = [(raw[0][0] or _before(before), raw[0][1]) for raw, before in box_lists]
        return ReadAnswer(_answer(named_boxes, convention, size))
    lists = [(raw, before) for raw, before in box_lists if len(raw) > 1]
    raw, before = box_lists[-1]
    if len(box_lists) == 1 or all(boxes == raw for boxes, _ in box_lists):
        return ReadAnswer(_answer(raw, convention, size))
    if (
        lists
        and lists[-1] == box_lists[-1]
        and re.search(r"\b(?:answer|final|corrected|result)\b[^\[\]\n]{0,40}\n?$", before, re.I)
    ):
        return ReadAnswer(_answer(raw, convention, size))
    return SEVERAL


def _is_box(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and not any(isinstance(part, list | dict) for part in value)


def _nested_boxes(value: Any, name: str | None = None, depth: int = 0) -> Raw:
    """Boxes inside lists and objects, each with the name nearest to it."""
    if depth > 6:
        return []
    if _is_box(value):
        return [(name, value)]
    if (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(c, list) and len(c) == 2 and all(isinstance(n, int | float) for n in c) for c in value)
    ):
        return [(name, [*value[0], *value[1]])]
    if isinstance(value, list):
        return _in_list(value, name, depth)
    if not isinstance(value, dict):
        return []
    own = value_under(value, _NAME_KEYS)
    name = own if isinstance(own, str) else name
    lowered = {str(key).strip().lower(): part for key, part in value.items()}
    corners = next((keys for keys in _CORNERS if all(key in lowered for key in keys)), None)
    if corners:
        return [(name, [lowered[key] for key in corners])]
    sides = next((keys for keys in _SIDES if all(isinstance(lowered.get(key), int | float) for key in keys)), None)
    if sides:
        x, y, width, height = (lowered[key] for key in sides)
        return [(name, [x, y, x + width, y + height])]
    inner = value_under(value, _BOX_KEYS)
    if inner is not None:
        return _nested_boxes(inner, name, depth + 1)
    return [box for key, part in value.items() for box in _nested_boxes(part, name or str(key), depth + 1)]


def _in_list(value: list[Any], name: str | None, depth: int) -> Raw:
    """The boxes of a list; an element that is nothing keeps its place, and numbers in a row are taken by fours."""
    if len(value) > 4 and len(value) % 4 == 0 and all(_is_number(part) for part in value):
        return [(name, value[i : i + 4]) for i in range(0, len(value), 4)]
    if len(value) == 2 and isinstance(value[0], str) and _is_box(value[1]):  # a text and its box
        return [(value[0], value[1])]
    parts = [_nested_boxes(part, name, depth + 1) for part in value]
    empty: Raw = [(None, [None] * 4)]
    if not any(parts):
        return [(name, [None] * 4)] * len(value) if value and all(_is_number_list(part) for part in value) else []
    return [
        box
        for part, own in zip(value, parts)
        for box in (
            own
            or (
                empty
                if (part is None or part == [] or _is_number_list(part) or (isinstance(part, str) and len(part) < 20))
                else []
            )
        )
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_number_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_number(part) for part in value)


def _flat(text: str) -> Raw:
    """Boxes in prose: four numbers in brackets, two corners, or numbers behind the names of sides."""
    for pattern in (_PAIRS, _FLAT, _NAMED_SIDES):
        matches = list(islice(pattern.finditer(text), MOST_BOXES))
        if matches and not _OTHER_NUMBERS.search(pattern.sub(" ", text)):  # a box in another notation would be lost
            return [(_before(text[: match.start()]), list(match.groups())) for match in matches]
    return []


def _rows(text: str) -> Raw:
    """A box on each line, or between semicolons, without brackets; nothing where a line has other numbers."""
    raw: Raw = []
    for row in re.split(r"[\n;|]", text[:40_000])[:MOST_BOXES]:
        row = _LEAD.sub("", row).strip(" \t.,()[]*")
        if not re.search(r"\d", row):
            continue
        match = _ROW.fullmatch(row[:400])
        numbers = re.findall(r"\d[\d.]*", row[match.start(2) :] if match else "")
        if match is None or len(numbers) != 4:
            return []
        raw.append((strip_marks((match["name"] or "").strip().rstrip(":=-")) or None, list(match.groups()[1:])))
    return raw


def _before(text: str) -> str | None:
    """What a line says before its box, without list marks and colons."""
    line = text[max(0, text.rfind("\n") + 1, len(text) - 300) :]
    words = strip_marks(_LEAD.sub("", line).strip().rstrip(":=-→>"))
    return words or None


def _answer(raw: Raw, convention: Convention, size: tuple[int, int]) -> BoxAnswer:
    raw = raw[:MOST_BOXES]
    return BoxAnswer(tuple(_box(box, convention, size) for _, box in raw), tuple(name for name, _ in raw))


def _box(raw: Sequence[Any], convention: Convention, size: tuple[int, int]) -> Box | None:
    numbers = [_number(part, convention) for part in raw]
    width, height = size if convention == "pixel" else (SCALES[convention], SCALES[convention])
    shares = [n / side for n, side in zip(numbers, (width, height, width, height))]
    if not all(math.isfinite(n) and -JUST_OUTSIDE <= n <= 1 + JUST_OUTSIDE for n in shares):
        return None
    x1, y1, x2, y2 = (min(max(n, 0.0), 1.0) for n in shares)
    return (x1, y1, x2, y2) if x1 < x2 and y1 < y2 else None


def _number(value: Any, convention: Convention) -> float:
    """A coordinate; NaN where it is none, or speaks of percents under another convention."""
    if isinstance(value, str):
        words, percent, rest = value.strip().partition("%")
        if rest or (percent and convention != "percent"):
            return math.nan
        return float(words) if _NUMBER.fullmatch(words.strip()) else math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    return float(value) if abs(value) < 1e12 else math.nan


def _key(text: str) -> str:
    """How a text is compared that names a box: without case and punctuation, unless it has nothing else."""
    letters = "".join(sign for sign in text if sign.isalnum()).casefold()
    return letters or visible_text(text)
