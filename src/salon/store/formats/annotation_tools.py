"""Exports of annotation tools: Label Studio and Argilla 2.

Label Studio's JSON has tasks with data, and annotations with results. Read are results of type pairwise (selected: left
| right), choices (a word for an outcome, over two items), rating (of one item) and ranker (a list of items, best
first). A control's name (from_name) is the criterion.

Argilla's records are those that `dataset.records.to_json` writes:

    {"id", "fields": {"prompt", "response-1", "response-2"}, "metadata", "vectors",
     "responses":   {question: [{"value", "user_id"}, ...]},
     "suggestions": {question: {"value", "score", "agent"}}}

A text value is a comparison of the record's two fields, a list a ranking of them, a number a rating of the record.
Suggestions are judgments too: their agent is a rater of kind 'model'.
"""

from __future__ import annotations

from typing import Any

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.formats.column_labels import text_id
from salon.store.formats.column_mapping import (
    NAMES,
    SKIPS,
    WORDS,
    guess_columns,
    normalize_name,
    normalize_word,
    parse_values,
)
from salon.store.formats.files import Head
from salon.store.formats.records import JsonRecord, TableBuilder, list_records
from salon.store.formats.source import CROWD, Draft, Source
from salon.study import CompareWithin, Criterion, Design


def is_label_studio(head: Head) -> bool:
    """By the fields of its first task."""
    return head.record is not None and head.has("data", "annotations")


def read_label_studio(source: Source) -> Draft:
    """Every result of every annotation that was not cancelled."""
    ledger, criteria = TableBuilder(), dict[str, Criterion]()
    for path in source.paths:
        for number, task in enumerate(list_records(source, path), 1):
            id = task.maybe_text("id") or str(number)
            data = task.record("data")
            # the task's prompt by its text; a task without one is its own prompt
            column = source.options.columns.prompt
            field = column or next((name for name in data.fields if normalize_name(name) in NAMES["prompt"]), None)
            if column is not None and column not in data.fields:
                raise BadColumns.missing(column, data.fields, where=data.where, option="--prompt")
            if field is None or not data.has(field):
                prompt = ledger.prompt(f"task-{id}", data.where)
            else:
                text = data.text(field)
                prompt = ledger.prompt(text_id(text), data.where, text=text)
            for annotation in task.records("annotations"):
                if annotation.fields.get("was_cancelled"):
                    source.leave_out("annotations that were cancelled")
                    continue
                who = annotation.fields.get("completed_by")
                if isinstance(who, dict):
                    person = annotation.record("completed_by")
                    who = person.maybe_text("email") or person.maybe_text("id")
                if who is None:
                    source.say_crowd()
                    rater = ledger.rater(CROWD, "crowd")
                else:
                    rater = ledger.rater(annotation.as_text(who, "completed_by"), where=annotation.where)
                facts: dict[str, Any] = {"rater": rater}
                facts |= {"seconds": annotation.maybe_number("lead_time"), "at": annotation.maybe_text("created_at")}
                for result in annotation.records("result"):
                    _read_result(source, ledger, criteria, result, data, facts, (id, prompt))
    if not ledger.judgments:
        raise BadFile(
            "results of type pairwise, choices, rating or ranker are needed",
            found="none",
            where=str(source.paths[0]),
        )
    compare_within: CompareWithin = "prompt" if ledger.named["prompts"] else "all"
    return Draft(tuple(criteria.values()), ledger.tables(), compare_within, Design())


def _read_result(
    source: Source,
    ledger: TableBuilder,
    criteria: dict[str, Criterion],
    result: JsonRecord,
    data: JsonRecord,
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
        # Label Studio's word for the answer as an outcome or a reason for none
        chosen = value.texts("choices", 1)[0] if kind == "choices" else value.text("selected")
        meaning = _meaning(source, chosen)
        if meaning is None and kind == "pairwise" and normalize_word(chosen) == "none":
            meaning = "tie"
        if meaning is None:
            raise BadValue(
                "the choice must be a known word for an outcome",
                found=repr(chosen),
                where=value.where,
                remedy="say what the words mean, e.g. --outcome-values 'Image 1=a,Image 2=b'",
            )
        ledger.add("comparisons", **facts, a=a, b=b, left=left, **_outcome_or_reason(meaning))
    elif kind == "rating":
        key = _targets(result)[0]
        ledger.add("ratings", **facts, item=_item(ledger, data, key, about), value=value.number("rating"))
    else:
        ranker = value.fields.get("ranker")
        if isinstance(ranker, dict):
            filled = {name: items for name, items in ranker.items() if items and name != "_"} or ranker
            ranker = filled["rank"] if "rank" in filled else next(iter(filled.values())) if len(filled) == 1 else None
        if not isinstance(ranker, list) or not ranker:
            raise BadValue("a ranker result needs one list of items", found=repr(value.fields), where=value.where)
        ranked = ranker
        ids = [_ranked_item(ledger, label, result, about) for label in ranked]
        ledger.rank(ids, range(1, len(ids) + 1), result.where, **facts)


def _meaning(source: Source, word: str) -> str | None:
    """What a word for an outcome means, as the user says or by the built-in words."""
    values = source.options.policies.outcome_values
    return (WORDS if values is None else parse_values(values)).get(normalize_word(word))


def _outcome_or_reason(meaning: str) -> dict[str, str]:
    return {"skipped": meaning} if meaning in SKIPS else {"outcome": meaning}


def _targets(result: JsonRecord) -> list[str]:
    to = result.fields.get("to_name")
    names = to if isinstance(to, list) else str(to or "").split(",")
    return [result.as_text(name, "to_name").strip() for name in names] or [""]


def _pair(
    source: Source, ledger: TableBuilder, result: JsonRecord, data: JsonRecord, about: tuple[str, str]
) -> tuple[str, str]:
    """The two items: the fields the user named, those the control points at, or a known pair of names."""
    columns = source.options.columns
    keys = [columns.left, columns.right]
    for flag, key in zip(("--left", "--right"), keys):
        if key is not None and key not in data.fields:
            raise BadColumns.missing(key, data.fields, where=data.where, option=flag)
    if None in keys:
        keys = _targets(result)
    if len(keys) != 2 or any(key not in data.fields for key in keys):
        guesses = guess_columns(list(data.fields), ["left", "right"])
        keys = [guesses["left"], guesses["right"]] if guesses else ["left", "right"]
    a, b = (_item(ledger, data, str(key), about) for key in keys)
    return a, b


def _item(ledger: TableBuilder, data: JsonRecord, key: str, about: tuple[str, str]) -> str:
    """An item by its path or address when it has one, else by its task and field."""
    task, prompt = about
    value = data.fields.get(key)
    is_name = isinstance(value, str) and value.strip() and len(value) <= 500 and not any(c.isspace() for c in value)
    if is_name:
        return ledger.item(data.as_text(value, key), data.where, prompt=prompt)
    return ledger.item(f"task-{task}/{key or 'item'}", data.where, prompt=prompt)


def _ranked_item(ledger: TableBuilder, label: Any, result: JsonRecord, about: tuple[str, str]) -> str:
    task, prompt = about
    return ledger.item(f"task-{task}/{result.as_text(label, 'ranker')}", result.where, prompt=prompt)


# -- Argilla -----------------------------------------------------------------------------------------------------------

PROMPT_FIELDS = (*NAMES["prompt"], "instruction", "question", "input")


def is_argilla(head: Head) -> bool:
    """By the fields of its first record."""
    return head.record is not None and head.has("fields", "responses")


def read_argilla(source: Source) -> Draft:
    """Every response, and every suggestion."""
    ledger, criteria = TableBuilder(), dict[str, Criterion]()
    for path in source.paths:
        for number, record in enumerate(list_records(source, path), 1):
            _read_record(source, ledger, criteria, record, record.maybe_text("id") or str(number))
    if not ledger.judgments:
        raise BadFile("records with responses are needed", found="none", where=str(source.paths[0]))
    return Draft(tuple(criteria.values()), ledger.tables(), "prompt", Design())


def _read_record(
    source: Source, ledger: TableBuilder, criteria: dict[str, Criterion], record: JsonRecord, id: str
) -> None:
    subject = _Subject(source, ledger, record, id)
    for question, answers in _questions(record, "responses"):
        if not isinstance(answers, list):
            raise BadValue("responses must be lists", found=repr(answers), where=f"{record.where}, {question}")
        for number, response in enumerate(answers):
            answer = record.as_record(response, f"responses.{question}[{number}]")
            if answer.has("user_id"):
                person = ledger.rater(answer.text("user_id"), where=answer.where)
            else:
                source.say_crowd()
                person = ledger.rater(CROWD, "crowd")
            _add_answer(source, criteria, subject, question, answer, person)
    for question, response in _questions(record, "suggestions"):
        answer = record.as_record(response, f"suggestions.{question}")
        agent = answer.maybe_text("agent") or "suggestions"
        _add_answer(source, criteria, subject, question, answer, ledger.rater(agent, "model", answer.where))
        source.say("suggestions are judgments by raters of kind 'model', named by their agent")


def _questions(record: JsonRecord, name: str) -> list[tuple[str, Any]]:
    if not record.has(name):
        return []
    return [(record.as_text(question, name), answers) for question, answers in record.record(name).fields.items()]


class _Subject:
    """What a record's answers are about: a prompt and the fields that are judged."""

    def __init__(self, source: Source, ledger: TableBuilder, record: JsonRecord, id: str) -> None:
        self.ledger, self.id, self.where = ledger, id, record.where
        fields = record.record("fields")
        columns = source.options.columns
        for flag, name in (("--prompt", columns.prompt), ("--left", columns.left), ("--right", columns.right)):
            if name is not None and name not in fields.fields:
                raise BadColumns.missing(name, fields.fields, where=fields.where, option=flag)
        prompt_field = columns.prompt or next(
            (name for name in fields.fields if normalize_name(name) in PROMPT_FIELDS), None
        )
        if prompt_field is not None and fields.has(prompt_field):
            text = fields.text(prompt_field)
            self.prompt = ledger.prompt(text_id(text), record.where, text=text)
        else:
            self.prompt = ledger.prompt(f"record-{id}", record.where)
        pair = [columns.left, columns.right]
        self.judged = [str(n) for n in pair] if None not in pair else [n for n in fields.fields if n != prompt_field]

    def item(self, field: str | None = None) -> str:
        """One field of the record as an item, or the record itself."""
        name = f"{self.id}/{field}" if field else self.id
        return self.ledger.item(name, self.where, prompt=self.prompt)

    def field(self, label: str) -> str | None:
        """The field a label names, punctuation and case apart."""
        return next((name for name in self.judged if normalize_name(name) == normalize_name(label)), None)


def _add_answer(
    source: Source, criteria: dict[str, Criterion], subject: _Subject, question: str, answer: JsonRecord, rater: str
) -> None:
    value = answer.fields.get("value")
    if value is None:
        source.leave_out("answers without a value")
        return
    criteria.setdefault(question, Criterion.parse({"id": question}, where=answer.where))
    facts = {"criterion": question, "rater": rater}
    if isinstance(value, str):
        _add_comparison(source, subject, value, answer, facts)
    elif isinstance(value, list):
        labels, places = _ranking(answer, value)
        ids = [subject.item(subject.field(label) or label) for label in labels]
        subject.ledger.rank(ids, places, answer.where, **facts)
    else:
        subject.ledger.add("ratings", **facts, item=subject.item(), value=answer.number("value"))


def _add_comparison(source: Source, subject: _Subject, word: str, answer: JsonRecord, facts: dict[str, str]) -> None:
    if len(subject.judged) != 2:
        source.leave_out(f"text answers to {facts['criterion']!r} (a comparison needs two fields beside the prompt)")
        return
    meaning = _meaning(source, word)
    if subject.field(word):
        meaning = "ab"[subject.judged.index(subject.field(word) or "")]
    if meaning is None:
        raise BadValue(
            "an answer must name one of the two fields, or be a known word for an outcome",
            found=repr(word),
            where=answer.where,
            remedy="say what the words mean, e.g. --outcome-values 'first=a,second=b'",
        )
    a, b = (subject.item(field) for field in subject.judged)
    subject.ledger.add("comparisons", **facts, a=a, b=b, **_outcome_or_reason(meaning))


def _ranking(answer: JsonRecord, value: list[Any]) -> tuple[list[str], list[float]]:
    """Labels and their places: a plain list best first, or objects with value and rank."""
    if value and all(isinstance(entry, dict) for entry in value):
        entries = answer.records("value")
        return [entry.text("value") for entry in entries], [entry.number("rank") for entry in entries]
    labels = answer.texts("value")
    if not labels:
        raise BadValue("a ranking needs items", found="an empty list", where=answer.where)
    return labels, [float(place) for place in range(1, len(labels) + 1)]
