"""The text of a response: the part that answers, the statements in it, and the texts it reads off a poster.

A response is read from its end, at most 100,000 characters of it, without the thoughts a model may put first. Every
pattern runs over single lines of bounded length, so no text takes long to read.

Models write the same answer in many notations. `in_ascii` removes Markdown, HTML and LaTeX around letters, numbers and
lists, and replaces curly quotes, full-width signs and Chinese punctuation. Texts read off a poster are never changed
like that.

In texts read off a poster, invisible characters (spaces, line ends, controls, joiners) never count, and equal forms of
a character are one (Unicode NFC). If the prompt asks for the text exactly as it stands (`is_exact`), case, accents and
punctuation count. If it asks for plain words, as the public prompts do, only letters and digits count.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from salon.study import strip_reasoning

LONGEST = 100_000
"""Characters that are read, from the end."""
LONGEST_LINE = 400
"""Characters of a line that can state an answer; longer ones are prose."""
MARKS = " \t\"'`*_“”‘’「」<>"
"""What may stand around an answer without being part of it."""
_MOST_VALUES = 200
"""JSON values looked for in a text."""
_MOST_LINES = 2000
"""Lines of a text that are read, from its end."""
_LONGEST_LITERAL = 20_000
"""Characters of a Python list or object."""
_DEEPEST = 40
_DECODER = json.JSONDecoder(strict=False)  # models break lines inside strings
_OPENING = re.compile(r"[\[{]")
_CLOSES = {"[": "]", "{": "}", "(": ")"}
_REFUSAL = re.compile(
    r"\W{0,3}(i['’]?m sorry|i am sorry|sorry|i can['’]?t|i cannot|i['’]?m unable|i am unable|i['’]?m not able|unable to"
    r"|as an ai|as an assistant)\b",
    re.IGNORECASE,
)
_EXPLICIT = re.compile(
    r"(?:\b(?:final answer|answer|choice|style|alignment|rotation|result|selection|solution|respuesta|réponse|reponse"
    r"|antwort|risposta|resposta|ответ)\b[\"'*_` ]{0,4}(?:is|would be|must be|es|est|ist|è|é|:|=|->|→|-(?= ))"
    r"|(?:答案|回答|答え|정답)(?:是|为|は|은)?:?)[ :]{0,3}",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\\boxed ?\{([^{}]{1,400})\}")
_ONLY_BOXED = re.compile(r"\\boxed ?\{(.{1,4000})\}", re.DOTALL)
_TAGGED = re.compile(r"<(final_answer|answer|final|output|result)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_BOX_TOKENS = re.compile(r"<\|begin_of_box\|>|<\|end_of_box\|>")
_TOKEN = re.compile(r"<\|[a-z_]{1,30}\|>|</?s>", re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|/p|/li|/div|/tr)\b[^<>]{0,40}>", re.IGNORECASE)
_HTML = re.compile(r"</?(?:b|i|u|p|em|li|ul|ol|div|span|strong|code|pre|sub|sup|tr|td)\b[^<>]{0,80}>", re.IGNORECASE)
_LATEX = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathtt|texttt|operatorname)\s?\{([^{}]{0,400})\}")
_MATH = re.compile(r"\\[()\[\]]|\$\$?|\\[,;!]")
_FENCE = re.compile(r"[ \t]{0,8}`{3,8}(?:json|python|py|text|txt|plaintext|markdown|md|yaml|xml|html|latex)?[ \t]{0,8}")
_SIGNS = str.maketrans(
    {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}
    | dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " ")
    | dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u202a\u202c\u2066\u2069")
    | dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‘’‚‛′", "'") | {"「": '"', "」": '"', "『": '"', "』": '"'}
    | dict.fromkeys("‐‑‒–—―−", "-") | {"【": "[", "】": "]", "〔": "[", "〕": "]", "、": ",", "。": ". ", "․": "."}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer that was read."""

    value: Any


@dataclass(frozen=True, slots=True)
class UnreadAnswer:
    """No answer, and why: a word or two to count by."""

    reason: str


SEVERAL = UnreadAnswer("several options")
REFUSAL = UnreadAnswer("refusal")
NO_OPTION = UnreadAnswer("not an option")
CUT_OFF = UnreadAnswer("cut off")


def answer_text(response: str | None) -> str | UnreadAnswer:
    """The part of a response that answers."""
    if response is None:
        return UnreadAnswer("missing")
    text = strip_reasoning(response)
    if text is None:
        return UnreadAnswer("thought without an answer")
    text = text[-LONGEST:]
    tagged = [match for match in _TAGGED.finditer(text) if match[2].strip()] if "</" in text else []
    text = _TOKEN.sub("", _BOX_TOKENS.sub(_boxed_token, tagged[-1][2] if tagged else text))
    whole = _ONLY_BOXED.fullmatch(text.strip(" \n\t$"))
    text = whole[1] if whole and "\\boxed" not in whole[1] else text
    return text if text_lines(text) else UnreadAnswer("empty")


def plain_answer(response: str | None) -> str | UnreadAnswer:
    """The same for answers that are letters, labels, numbers or lists, in one notation."""
    text = answer_text(response)
    if isinstance(text, UnreadAnswer):
        return text
    text = in_ascii(text)
    return text if text_lines(text) else UnreadAnswer("empty")


def in_ascii(text: str) -> str:
    """The text with quotes, dashes and full-width signs as in ASCII, without HTML, LaTeX and Markdown's emphasis."""
    text = text.translate(_SIGNS)
    if "<" in text:
        text = _HTML.sub("", _BREAK.sub("\n", text))
    if "\\" in text or "$" in text:
        text = _MATH.sub("", _LATEX.sub(r"\1", _LATEX.sub(r"\1", text)))
    if "```" in text:
        text = _FENCE.sub("", "\n".join(line for line in text.split("\n") if not _FENCE.fullmatch(line)))
    return text.replace("**", "").replace("__", "").replace("`", "")


def _boxed_token(token: re.Match[str]) -> str:
    return "\\boxed{" if "begin" in token[0] else "}"


def why_unanswered(text: str) -> UnreadAnswer:
    """Why a text without a statement says nothing: it refuses, or it only talks."""
    return REFUSAL if is_refusal(text) else UnreadAnswer("no answer")


def is_refusal(text: str) -> bool:
    """Whether a text begins with an excuse: then only what it states as its answer counts, and none of its prose."""
    return _REFUSAL.match(text) is not None


def is_cut_off(text: str) -> bool:
    """Whether a list or an object is opened at the end of a text and never closed: what it holds may be half."""
    depth = 0
    for sign in reversed(text[-_LONGEST_LITERAL:]):
        if sign in "]}":
            depth += 1
        elif sign in "[{":
            depth -= 1
            if depth < 0:
                return True
    return False


def json_values(text: str) -> list[tuple[Any, int]]:
    """The lists and objects in a text, as JSON or as Python writes them, none inside another, with where each ends."""
    return [(value, end) for value, _, end in json_spans(text)]


def json_spans(text: str) -> list[tuple[Any, int, int]]:
    """The same with where each begins and ends."""
    values: list[tuple[Any, int, int]] = []
    at = _OPENING.search(text)
    for _ in range(_MOST_VALUES):
        if at is None:
            break
        try:
            value, end = _DECODER.raw_decode(text, at.start())
        except RecursionError:  # brackets without end
            break
        except ValueError:
            literal = _literal(text, at.start())
            value, end = literal or (None, at.start() + 1)
            if literal:
                values.append((value, at.start(), end))
        else:
            values.append((value, at.start(), end))
        at = _OPENING.search(text, end)
    return values


def _literal(text: str, start: int) -> tuple[Any, int] | None:
    """The Python list, set or dict that begins at `start`, with where it ends; tuples and sets as lists."""
    end = _closing(text, start)
    if end is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a backslash in a text is none of a program
            return _as_json(ast.literal_eval(text[start:end])), end
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _closing(text: str, start: int) -> int | None:
    """Where the bracket that opens at `start` is closed, quotes skipped; None where it is not, or too far away."""
    stack: list[str] = []
    quote = ""
    at = start
    stop = min(len(text), start + _LONGEST_LITERAL)
    while at < stop:
        sign = text[at]
        if quote:
            at += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _CLOSES:
            stack.append(_CLOSES[sign])
            if len(stack) > _DEEPEST:
                return None
        elif stack and sign == stack[-1]:
            stack.pop()
            if not stack:
                return at + 1
        at += 1
    return None


def _as_json(value: Any) -> Any:
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_json(part) for part in value]
    return {key: _as_json(part) for key, part in value.items()} if isinstance(value, dict) else value


def value_under(value: Any, keys: tuple[str, ...]) -> Any:
    """What an object holds under the first of these keys it has; None where it has none."""
    if not isinstance(value, dict):
        return None
    by_key = {str(key).strip().lower().replace(" ", "_"): part for key, part in value.items()}
    return next((by_key[key] for key in keys if by_key.get(key) is not None), None)


def strip_marks(text: str) -> str:
    """A text without the marks and fences around it, on one line."""
    return " ".join(text.strip(MARKS + "\r\n#>").split())


def text_lines(text: str) -> list[str]:
    """The lines of a text that say something, bare."""
    stripped = (strip_marks(line) for line in text.splitlines()[-_MOST_LINES:] if not _FENCE.fullmatch(line.rstrip()))
    return [line for line in stripped if line]


def after_statement(text: str) -> str:
    """All that follows the last "the answer is"; the text itself where nothing says so."""
    ends = [match.end() for match in _EXPLICIT.finditer(text)]
    return text[ends[-1] :] if ends and text[ends[-1] :].strip() else text


def explicit_statements(text: str) -> Iterator[tuple[str, int]]:
    """What follows each "the answer is", to the end of its line or on the next, and where; boxed answers likewise."""
    for match in _EXPLICIT.finditer(text):
        rest = text[match.end() : match.end() + LONGEST_LINE]
        line, _, below = rest.partition("\n")
        line = (
            line if strip_marks(line) or match[0].rstrip()[-1:] not in ":=是为" else below.lstrip().partition("\n")[0]
        )
        if strip_marks(line):
            yield strip_marks(line), match.start()
    for match in _BOXED.finditer(text):
        yield strip_marks(match[1]), match.start()


# -- texts read off a poster -------------------------------------------------------------------------------------------

UNIT = 5
"""Characters of a unit of word recall."""
_INVISIBLE = ("Z", "C")
_DEEPEST_LIST = 20
_EXACT = re.compile(
    r"\b(?:exact(?:ly)?|verbatim|letter by letter|case[- ]sensitive"
    r"|as (?:written|drawn|printed|set|it stands|they stand)"
    r"|capitals? and (?:small letters|digits|lower)|(?:with|keep|including|preserve) (?:all )?(?:the )?punctuation)\b",
    re.IGNORECASE,
)
_NO_MARKS = re.compile(
    r"\b(?:without|no|omit\w*|ignor\w*|exclud\w*|leav\w*|skip\w*|remov\w*|drop\w*|strip\w*)\b[^.!?\n]{0,60}\b(?:punctuation|symbols?)\b",
    re.IGNORECASE,
)
_TEXT_KEYS = ("text", "answer", "final_answer", "logo", "logo_text", "content", "ocr", "result", "transcription",
              "extracted_text", "texts", "brand", "name")  # fmt: skip
_CARRIER = r"(?:answer|text|logo|ocr|result|transcription|extracted text|wordmark|brand|brand name|name|word|output)"
_STATED = re.compile(
    rf"^(?:the |this |my )?(?:final |extracted |visible |main |plain )?{_CARRIER}(?: (?:text|name))?"
    r"(?: (?:in|on|of|from|shown in|visible in) (?:the|this) (?:image|picture|logo|poster))?"
    r"(?: ?[:=] ?| (?:is|reads|says|would be)(?: ?:)? )(.*)$",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“「]([^\"“”「」\n]{1,200})[\"”」]")
_ABOUT = re.compile(rf"\b(?:{_CARRIER}|reads|says|spells?|written|displays?)\b", re.IGNORECASE)
_HEADER = re.compile(
    r"^[*_#]{0,3}(?:sure|certainly|of course|here|okay|ok|the|this|extracted|text|below|transcription|ocr|final|answer"
    r"|i (?:see|can see|read))\b.{0,120}:[*_]{0,3}$",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"\n[ \t]{0,8}\n\s{0,8}[*_(]{0,3}(?:note|explanation|let me know|i hope|please note)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_HEADING = re.compile(
    r"[*_#\s]{0,4}(?:(?:sure|certainly|of course|okay|ok|here|below)\b.{0,120}"
    r"|(?:the |all )?(?:recogni[sz]ed |extracted |visible |final |read )?"
    r"(?:texts?|words|lines|answer|transcription|ocr|result|output|content)\b.{0,60}):[*_]{0,3}",
    re.IGNORECASE,
)
"""A first line that only announces what follows."""
_NUMBERED = re.compile(r"^\(?(\d{1,3})[.)] +")
_BULLET = re.compile(r"^([-*•+–·]) +")
_QUOTES = ('""', "''", "``", "“”", "‘’", "「」", "**", "__")
_ITEM = re.compile(r"(?<=[\[(,\s])(['\"])(.*?)\1(?=\s*[,\])])")


def is_exact(prompt: str) -> bool:
    """Whether a prompt asks for a text as it stands, with case and punctuation, and not for plain words."""
    return _EXACT.search(prompt) is not None and _NO_MARKS.search(prompt) is None


def visible_text(text: str) -> str:
    """The text without what cannot be seen, in one Unicode form."""
    return "".join(c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c)[0] not in _INVISIBLE)


def letters_only(text: str) -> str:
    """Only the letters and digits of a text, of any script, in one Unicode form; case is kept."""
    return "".join(c for c in unicodedata.normalize("NFKC", text) if c.isalnum() or unicodedata.category(c)[0] == "M")


def text_units(texts: Iterable[str], key: Callable[[str], str] = visible_text) -> list[str]:
    """The consecutive five-character units of texts written one after the other; a shorter rest is left out.

    A rest of one or two characters would be found in any answer. A text shorter than one unit is a unit itself.
    """
    run = key("".join(texts))
    return [run[i : i + UNIT] for i in range(0, len(run) - UNIT + 1, UNIT)] or ([run] if run else [])


def read_text(response: str | None) -> ReadAnswer | UnreadAnswer:
    """The one text that a response states: as JSON, after `Text:`, as its only quotation, or as all it says."""
    text = answer_text(response)
    if isinstance(text, UnreadAnswer):
        return text
    spans = json_spans(text)
    keyed = [keyed_value for value, *_ in spans if (keyed_value := value_under(value, _TEXT_KEYS)) is not None]
    if keyed:
        return ReadAnswer("\n".join(_strings(keyed[-1])))
    if len(spans) == 1 and not _outside(text, spans):
        return ReadAnswer("\n".join(_strings(spans[0][0])))
    text = _NOTE.sub("", text)
    spoken = _lines(text)
    if len(spoken) > 1 and _HEADER.match(spoken[0]):
        spoken = spoken[1:]
    stated = [
        match[1]
        for line in spoken
        if (match := _STATED.match(line[:LONGEST_LINE].replace("**", ""))) and match[1].strip()
    ]
    if stated:
        return ReadAnswer(_unwrap_line(stated[-1].strip().removesuffix(".") if len(spoken) == 1 else stated[-1]))
    quoted = set(_QUOTED.findall(text))
    if len(quoted) == 1 and len(text.split()) <= 60 and _ABOUT.search(_QUOTED.sub("", text)):
        return ReadAnswer(quoted.pop())
    silent = why_unanswered(text)
    return silent if silent.reason == "refusal" else ReadAnswer("\n".join(map(_unwrap_line, spoken)))


def read_texts(response: str | None) -> ReadAnswer | UnreadAnswer:
    """All the texts of a response, a tuple of lines: the strings of its JSON, or else its lines.

    The marks of a list are taken off where every line has one. A poster's own marks stay.
    """
    text = answer_text(response)
    if isinstance(text, UnreadAnswer):
        return text
    spans = [] if is_cut_off(text) else json_spans(text)
    json_lines = tuple(line for value, *_ in spans for part in _strings(value) for line in part.splitlines() or [""])
    if any(json_lines) and not _outside(text, spans):
        return ReadAnswer(json_lines)
    spoken = _lines(text)
    if len(spoken) > 1 and _HEADING.fullmatch(spoken[0]):
        spoken = spoken[1:]
    listed = "\n".join(spoken).strip("`")
    if f"{listed[:1]}{listed[-1:]}" in ("[]", "()"):
        items = [match[2] for match in _ITEM.finditer(listed)]
        if items and len(letters_only("".join(items))) >= len(letters_only(listed)):
            return ReadAnswer(tuple(items))
    return ReadAnswer(tuple(_strip_quotes(_strip_list_marks(spoken))))


def _lines(text: str) -> list[str]:
    """The lines that say something, without fences."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("```")]


def _outside(text: str, spans: Sequence[tuple[Any, int, int]]) -> bool:
    """Whether words stand beside the JSON of a text, other than a heading."""
    beside, at = [], 0
    for _, start, end in spans:
        beside.append(text[at:start])
        at = end
    beside.append(text[at:])
    said_beside = [
        line
        for part in beside
        for line in _lines(part)
        if letters_only(line) and not line.rstrip("*_ ").endswith((":", "="))
    ]
    return bool(said_beside)


def _strip_list_marks(spoken: list[str]) -> list[str]:
    """Lines without the bullets or numbers of a list that all of them are in."""
    numbers = [match[1] for line in spoken if (match := _NUMBERED.match(line))]
    if len(spoken) > 1 and [int(number) for number in numbers] == list(range(1, len(spoken) + 1)):
        return [_NUMBERED.sub("", line) for line in spoken]
    bullets = {match[1] if (match := _BULLET.match(line)) else "" for line in spoken}
    if len(spoken) > 1 and len(bullets) == 1 and "" not in bullets:
        return [_BULLET.sub("", line) for line in spoken]
    return spoken


def _strip_quotes(spoken: list[str]) -> list[str]:
    """Lines without quotes or emphasis that stand around every one of them; around some, they are the poster's own."""
    for mark in ("**", "__", "*", "_", '""', "''", "``", "“”", "‘’", "«»", "「」"):
        first, last = (mark[0], mark[1]) if len(set(mark)) == 2 or mark in ('""', "''", "``") else (mark, mark)
        around = [line for line in spoken if line.startswith(first) and line.endswith(last)]
        if len(spoken) > 1 and len(around) == len(spoken) and all(len(line) > len(first + last) for line in spoken):
            return _strip_quotes([line[len(first) : -len(last)].strip() for line in spoken])
    return spoken


def _unwrap_line(line: str) -> str:
    """A line without the quotes or the emphasis around it."""
    line = line.strip()
    for _ in range(4):
        if len(line) > 2 and f"{line[0]}{line[-1]}" in _QUOTES:
            line = line[1:-1].strip()
    return line


def _strings(value: Any, depth: int = 0) -> list[str]:
    """The words inside a JSON value, keys of objects left out, and what lies deeper than any list of texts."""
    if isinstance(value, str) or depth == _DEEPEST_LIST:
        return [value] if isinstance(value, str) else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _strings(part, depth + 1)]


# -- texts against texts ---------------------------------------------------------------------------------------------


def match_texts(texts: Iterable[str], answer: Iterable[str], *, exact: bool = True) -> list[bool]:
    """Which of the wanted texts stand in the answer as whole words; each word of the answer serves once.

    The longest texts are looked for first, on lines of their own before anywhere else. A text may be broken over lines
    differently, but is never part of a word.
    """
    answer_lines = [_words(line, exact) for line in answer]
    words = [word for line in answer_lines for word in line]
    starts = list(accumulate(map(len, answer_lines), initial=0))
    ends = dict(pairwise(starts))
    free = [True] * len(words)
    targets = [visible_text(text) if exact else letters_only(text).casefold() for text in texts]
    matched = [False] * len(targets)
    for number in sorted(range(len(targets)), key=lambda i: -len(targets[i])):
        run = _run(targets[number], words, free, ends)
        matched[number] = run is not None
        for at in run or ():
            free[at] = False
    return matched


def _words(line: str, exact: bool) -> list[tuple[str, ...]]:
    """The words of a line, each with the ways it may be meant: with and without the marks of a list around it."""
    if exact:
        parts = [visible_text(word) for word in line.split()]
        return [tuple(dict.fromkeys((word, word.strip(MARKS + ",")))) for word in parts if word]
    spaced = "".join(c if letters_only(c) else " " for c in unicodedata.normalize("NFKC", line))
    return [(word.casefold(),) for word in spaced.split()]


def _run(text: str, words: Sequence[tuple[str, ...]], free: Sequence[bool], ends: Mapping[int, int]) -> range | None:
    """Where consecutive free words together say `text`: a line of its own, whole lines, or else the first place."""
    lines = set(ends.values())
    whole: range | None = None
    first: range | None = None
    for start, ways in enumerate(words):
        if not free[start] or not any(way and text.startswith(way) for way in ways):
            continue
        rest, at = text, start
        while rest and at < len(words) and free[at]:
            word = next((way for way in words[at] if way and rest.startswith(way)), None)
            if word is None:
                break
            rest, at = rest[len(word) :], at + 1
        if rest:
            continue
        if ends.get(start) == at:
            return range(start, at)
        if start in ends and at in lines:
            whole = whole or range(start, at)
        first = first or range(start, at)
    return whole or first
