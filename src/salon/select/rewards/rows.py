"""Where the picture and the prompt of a row are, for trainers whose models write text.

`picture` says where the picture is:

    a name               a column of the data set: a path, bytes, a PIL image, a list of one of them
    COMPLETION           the completion is the path of a picture
    a function           draw(text, row) -> picture: what the model wrote becomes one, by a renderer or a generator

A reward from a column is the same for every completion of a row, so it teaches nothing by itself; it goes with others.

`prompt` says where the text is that the picture was asked for: a column, or None for what the user said last.

Trainers that know no missing number get one only if it is declared: `missing` is a number, or "raise".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from salon.errors import BadColumns, BadValue, TooFew
from salon.select.reward import Judged, Reward, Text

COMPLETION = "completion"
Draw = Callable[[str, Mapping[str, Any]], Any]
Missing = Literal["raise"] | float


def said(completion: Any) -> str:
    """The text of a completion, plain or as a conversation; of a conversation what was said last."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and completion and isinstance(completion[-1], Mapping):
        return _content(completion[-1].get("content"))
    raise BadValue(
        "a completion is a text or a list of messages", found=type(completion).__name__,
        remedy='"..." or [{"role": "assistant", "content": "..."}]',
    )  # fmt: skip


def asked(prompt: Any) -> Text:
    """The text of a prompt, plain or as a conversation; of a conversation the last that a user said."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    if isinstance(prompt, Sequence) and all(isinstance(one, Mapping) for one in prompt):
        users = [one for one in prompt if one.get("role") == "user"]
        return _content(users[-1].get("content")) if users else None
    raise BadValue("a prompt is a text or a list of messages", found=type(prompt).__name__)


def rows_of(columns: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Columns with one value for each completion, as rows; anything else that a trainer passes is left out."""
    lists = {name: value for name, value in columns.items() if isinstance(value, list | tuple) and len(value) == count}
    return [{name: value[n] for name, value in lists.items()} for n in range(count)]


def picture_of(row: Mapping[str, Any], completion: Any, picture: str | Draw, *, where: str) -> Any:
    """The picture of one completion; BadColumns where the column is not there."""
    if callable(picture):
        return picture(said(completion), row)
    if picture == COMPLETION:
        return said(completion).strip()
    return only(column(row, picture, where=where), picture)


def prompt_of(row: Mapping[str, Any], prompt: str | None, fallback: Any, *, where: str) -> Text:
    """The text of one row."""
    return asked(fallback if prompt is None else column(row, prompt, where=where))


def column(row: Mapping[str, Any], name: str, *, where: str) -> Any:
    """The value of a column; BadColumns with the nearest name where there is none."""
    if name not in row:
        raise BadColumns.missing(name, row, where=where)
    return row[name]


def only(value: Any, name: str) -> Any:
    """A picture, or the one picture of a list: which of several is meant nobody can know."""
    if isinstance(value, list | tuple):
        if len(value) != 1:
            raise BadValue(
                "one picture for each row is needed", found=f"{len(value)} in column {name!r}",
                remedy="a column with the picture to be scored, or a function draw(text, row)",
            )  # fmt: skip
        return value[0]
    return value


def filled(judged: Judged, missing: Missing, *, where: str) -> list[float]:
    """Rewards for a trainer that knows no missing number: the declared one in its place, or TooFew."""
    if not judged.missing:
        return [float(value) for value in judged.rewards if value is not None]
    if missing == "raise":
        first = next(n for n, value in enumerate(judged.rewards) if value is None)
        raise TooFew(
            "every picture needs a reward in this trainer", where=where,
            found=f"{judged.missing} of {len(judged.rewards)} without, the first ({first}): {judged.reasons[first]}",
            remedy="declare what such a picture is worth: missing=-3.0, for instance",
        )  # fmt: skip
    return [missing if value is None else value for value in judged.rewards]


def told(reward: Reward, judged: Judged) -> dict[str, list[float]]:
    """What each criterion added, for a trainer's log; NaN where it has no number."""
    parts = judged.parts.items()
    return {f"{reward.name}/{id}": [math.nan if part is None else part for part in of] for id, of in parts}


def check_missing(missing: Missing) -> Missing:
    """The same, if it is "raise" or a finite number."""
    if missing != "raise" and not (isinstance(missing, int | float) and math.isfinite(missing)):
        raise BadValue('missing is "raise" or a finite number', found=repr(missing))
    return missing


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
    raise BadValue("the content of a message is a text or a list of parts", found=type(content).__name__)
