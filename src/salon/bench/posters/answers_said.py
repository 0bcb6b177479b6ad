"""What every parser starts from: the part of a response that answers, and the statements in it.

A response is read from its end, at most 100,000 characters of it, without the thoughts a model may put first. Every
pattern here runs over single lines of bounded length, so that no text, however long or odd, takes long to read.

Models write the same answer in many hands. `plain` brings letters, numbers and lists into one: Markdown, HTML and LaTeX
around an answer, curly quotes, full-width signs and Chinese punctuation. Texts that were read off a poster are never
changed like that.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from salon.study.thoughts import spoken

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
class Read:
    """An answer that was read."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unread:
    """No answer, and why: a word or two to count by."""

    reason: str


SEVERAL = Unread("several options")
REFUSAL = Unread("refusal")
NO_OPTION = Unread("not an option")
CUT_OFF = Unread("cut off")


def said(response: str | None) -> str | Unread:
    """The part of a response that answers."""
    if response is None:
        return Unread("missing")
    text = spoken(response)
    if text is None:
        return Unread("thought without an answer")
    text = text[-LONGEST:]
    tagged = [match for match in _TAGGED.finditer(text) if match[2].strip()] if "</" in text else []
    text = _TOKEN.sub("", _BOX_TOKENS.sub(_boxed, tagged[-1][2] if tagged else text))
    whole = _ONLY_BOXED.fullmatch(text.strip(" \n\t$"))
    text = whole[1] if whole and "\\boxed" not in whole[1] else text
    return text if lines(text) else Unread("empty")


def plainly_said(response: str | None) -> str | Unread:
    """The same for answers that are letters, labels, numbers or lists, in one hand."""
    text = said(response)
    if isinstance(text, Unread):
        return text
    text = plain(text)
    return text if lines(text) else Unread("empty")


def plain(text: str) -> str:
    """The text with quotes, dashes and full-width signs as in ASCII, without HTML, LaTeX and Markdown's emphasis."""
    text = text.translate(_SIGNS)
    if "<" in text:
        text = _HTML.sub("", _BREAK.sub("\n", text))
    if "\\" in text or "$" in text:
        text = _MATH.sub("", _LATEX.sub(r"\1", _LATEX.sub(r"\1", text)))
    if "```" in text:
        text = _FENCE.sub("", "\n".join(line for line in text.split("\n") if not _FENCE.fullmatch(line)))
    return text.replace("**", "").replace("__", "").replace("`", "")


def _boxed(token: re.Match[str]) -> str:
    return "\\boxed{" if "begin" in token[0] else "}"


def unanswered(text: str) -> Unread:
    """Why a text without a statement says nothing: it refuses, or it only talks."""
    return REFUSAL if is_refusal(text) else Unread("no answer")


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


def under(value: Any, keys: tuple[str, ...]) -> Any:
    """What an object holds under the first of these keys it has; None where it has none."""
    if not isinstance(value, dict):
        return None
    held = {str(key).strip().lower().replace(" ", "_"): part for key, part in value.items()}
    return next((held[key] for key in keys if held.get(key) is not None), None)


def bare(text: str) -> str:
    """A text without the marks and fences around it, on one line."""
    return " ".join(text.strip(MARKS + "\r\n#>").split())


def lines(text: str) -> list[str]:
    """The lines of a text that say something, bare."""
    stripped = (bare(line) for line in text.splitlines()[-_MOST_LINES:] if not _FENCE.fullmatch(line.rstrip()))
    return [line for line in stripped if line]


def after_statement(text: str) -> str:
    """All that follows the last "the answer is"; the text itself where nothing says so."""
    ends = [match.end() for match in _EXPLICIT.finditer(text)]
    return text[ends[-1] :] if ends and text[ends[-1] :].strip() else text


def explicit(text: str) -> Iterator[tuple[str, int]]:
    """What follows each "the answer is", to the end of its line or on the next, and where; boxed answers likewise."""
    for match in _EXPLICIT.finditer(text):
        rest = text[match.end() : match.end() + LONGEST_LINE]
        line, _, below = rest.partition("\n")
        line = line if bare(line) or match[0].rstrip()[-1:] not in ":=是为" else below.lstrip().partition("\n")[0]
        if bare(line):
            yield bare(line), match.start()
    for match in _BOXED.finditer(text):
        yield bare(match[1]), match.start()
