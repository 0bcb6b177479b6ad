"""Label Studio's JSON export: tasks with data, and annotations with results.

Read are results of type pairwise (selected: left | right), choices (a word for an outcome, over two items), rating (of
one item) and ranker (a list of items, best first). A control's name (from_name) is the criterion.
"""

from __future__ import annotations

from typing import Any

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.formats.columnar import text_id
from salon.store.formats.head import Head
from salon.store.formats.ledger import Ledger, each_record
from salon.store.formats.mapping import NAMES, guess_columns, plain
from salon.store.formats.record import Record
from salon.store.formats.source import CROWD, Draft, Source
from salon.store.formats.words import WORDS, parse_values, spelled
from salon.study import Criterion, Design
from salon.study.study import CompareWithin


def is_label_studio(head: Head) -> bool:
    """By the fields of its first task."""
    return head.record is not None and head.has("data", "annotations")


def read_label_studio(source: Source) -> Draft:
    """Every result of every annotation that was not cancelled."""
    ledger, criteria = Ledger(), dict[str, Criterion]()
    for path in source.paths:
        for number, task in enumerate(each_record(source, path), 1):
            _read_task(source, ledger, criteria, task, task.maybe_text("id") or str(number))
    if not ledger.judgments:
        raise BadFile(
            "results of type pairwise, choices, rating or ranker are needed",
            found="none",
            where=str(source.paths[0]),
        )
    compare_within: CompareWithin = "prompt" if ledger.named["prompts"] else "all"
    return Draft(tuple(criteria.values()), ledger.tables(), compare_within, Design())


def _read_task(source: Source, ledger: Ledger, criteria: dict[str, Criterion], task: Record, id: str) -> None:
    data = task.record("data")
    prompt = _prompt(source, ledger, data, id)
    for annotation in task.records("annotations"):
        if annotation.fields.get("was_cancelled"):
            source.leave_out("annotations that were cancelled")
            continue
        facts: dict[str, Any] = {"rater": _rater(source, ledger, annotation)}
        facts |= {"seconds": annotation.maybe_number("lead_time"), "at": annotation.maybe_text("created_at")}
        for result in annotation.records("result"):
            _read_result(source, ledger, criteria, result, data, facts, (id, prompt))


def _prompt(source: Source, ledger: Ledger, data: Record, task: str) -> str:
    """The task's prompt by its text; a task without one is its own prompt."""
    named = source.options.columns.prompt
    found = named or next((name for name in data.fields if plain(name) in NAMES["prompt"]), None)
    if named is not None and named not in data.fields:
        raise BadColumns.missing(named, data.fields, where=data.where, option="--prompt")
    if found is None or not data.has(found):
        return ledger.prompt(f"task-{task}", data.where)
    text = data.text(found)
    return ledger.prompt(text_id(text), data.where, text=text)


def _rater(source: Source, ledger: Ledger, annotation: Record) -> str:
    who = annotation.fields.get("completed_by")
    if isinstance(who, dict):
        person = annotation.record("completed_by")
        who = person.maybe_text("email") or person.maybe_text("id")
    if who is None:
        source.say_crowd()
        return ledger.rater(CROWD, "crowd")
    return ledger.rater(annotation.as_text(who, "completed_by"), where=annotation.where)


def _read_result(
    source: Source,
    ledger: Ledger,
    criteria: dict[str, Criterion],
    result: Record,
    data: Record,
    facts: dict[str, Any],
    about: tuple[str, str],
) -> None:
    kind = result.maybe_text("type")
    if kind not in ("pairwise", "choices", "rating", "ranker"):
        source.leave_out(f"results of type {kind}")
        return
    name = result.text("from_name") if result.has("from_name") else source.options.policies.criterion_id
    criteria.setdefault(name, Criterion.parse({"id": name}, where=result.where))
    facts = facts | {"criterion": name}
    value = result.record("value")
    if kind in ("pairwise", "choices"):
        a, b = _pair(source, ledger, result, data, about)
        left = "a" if kind == "pairwise" else None  # where choices put their two items is up to the template
        ledger.add("comparisons", **facts, a=a, b=b, left=left, **_outcome(source, value, kind))
    elif kind == "rating":
        key = _targets(result)[0]
        ledger.add("ratings", **facts, item=_item(ledger, data, key, about), value=value.number("rating"))
    else:
        ids = [_listed(ledger, label, result, about) for label in _ranked(value)]
        ledger.rank(ids, range(1, len(ids) + 1), result.where, **facts)


def _outcome(source: Source, value: Record, kind: str) -> dict[str, str]:
    """Label Studio's word for the answer as an outcome or a reason for none."""
    chosen = value.texts("choices", 1)[0] if kind == "choices" else value.text("selected")
    given = source.options.policies.outcome_values
    meanings = WORDS if given is None else parse_values(given)
    meaning = meanings.get(spelled(chosen), "tie" if kind == "pairwise" and spelled(chosen) == "none" else None)
    if meaning is None:
        raise BadValue(
            "the choice must be a known word for an outcome",
            found=repr(chosen),
            where=value.where,
            remedy="say what the words mean, e.g. --outcome-values 'Image 1=a,Image 2=b'",
        )
    return {"skipped": meaning} if meaning in ("cannot judge", "broken image") else {"outcome": meaning}


def _targets(result: Record) -> list[str]:
    to = result.fields.get("to_name")
    names = to if isinstance(to, list) else str(to or "").split(",")
    return [result.as_text(name, "to_name").strip() for name in names] or [""]


def _pair(source: Source, ledger: Ledger, result: Record, data: Record, about: tuple[str, str]) -> tuple[str, str]:
    """The two items: the fields the user named, those the control points at, or a known pair of names."""
    columns = source.options.columns
    keys = [columns.left, columns.right]
    for flag, key in zip(("--left", "--right"), keys):
        if key is not None and key not in data.fields:
            raise BadColumns.missing(key, data.fields, where=data.where, option=flag)
    if None in keys:
        keys = _targets(result)
    if len(keys) != 2 or any(key not in data.fields for key in keys):
        found = guess_columns(list(data.fields), ["left", "right"])
        keys = [found["left"], found["right"]] if found else ["left", "right"]
    a, b = (_item(ledger, data, str(key), about) for key in keys)
    return a, b


def _item(ledger: Ledger, data: Record, key: str, about: tuple[str, str]) -> str:
    """An item by its path or address when it has one, else by its task and field."""
    task, prompt = about
    value = data.fields.get(key)
    named = isinstance(value, str) and value.strip() and len(value) <= 500 and not any(c.isspace() for c in value)
    if named:
        return ledger.item(data.as_text(value, key), data.where, prompt=prompt)
    return ledger.item(f"task-{task}/{key or 'item'}", data.where, prompt=prompt)


def _ranked(value: Record) -> list[Any]:
    """The ranked list of a ranker; with several buckets, the one called 'rank' or the only one that is filled."""
    ranker = value.fields.get("ranker")
    if isinstance(ranker, dict):
        filled = {name: items for name, items in ranker.items() if items and name != "_"} or ranker
        ranker = filled["rank"] if "rank" in filled else next(iter(filled.values())) if len(filled) == 1 else None
    if not isinstance(ranker, list) or not ranker:
        raise BadValue("a ranker result needs one list of items", found=repr(value.fields), where=value.where)
    return ranker


def _listed(ledger: Ledger, label: Any, result: Record, about: tuple[str, str]) -> str:
    task, prompt = about
    return ledger.item(f"task-{task}/{result.as_text(label, 'ranker')}", result.where, prompt=prompt)
