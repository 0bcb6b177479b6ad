"""Argilla 2 records, as `dataset.records.to_json` writes them.

    {"id", "fields": {"prompt", "response-1", "response-2"}, "metadata", "vectors",
     "responses":   {question: [{"value", "user_id"}, ...]},
     "suggestions": {question: {"value", "score", "agent"}}}

A text value is a comparison of the record's two fields, a list a ranking of them, a number a rating of the record.
Suggestions are judgments too: their agent is a rater of kind 'model'.
"""

from __future__ import annotations

from typing import Any

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.formats.columnar import text_id
from salon.store.formats.head import Head
from salon.store.formats.ledger import Ledger, each_record
from salon.store.formats.mapping import NAMES, plain
from salon.store.formats.record import Record
from salon.store.formats.source import CROWD, Draft, Source
from salon.store.formats.words import WORDS, parse_values, spelled
from salon.study import Criterion, Design

PROMPT_FIELDS = (*NAMES["prompt"], "instruction", "question", "input")


def is_argilla(head: Head) -> bool:
    """By the fields of its first record."""
    return head.record is not None and head.has("fields", "responses")


def read_argilla(source: Source) -> Draft:
    """Every response, and every suggestion."""
    ledger, criteria = Ledger(), dict[str, Criterion]()
    for path in source.paths:
        for number, record in enumerate(each_record(source, path), 1):
            _read_record(source, ledger, criteria, record, record.maybe_text("id") or str(number))
    if not ledger.judgments:
        raise BadFile("records with responses are needed", found="none", where=str(source.paths[0]))
    return Draft(tuple(criteria.values()), ledger.tables(), "prompt", Design())


def _read_record(source: Source, ledger: Ledger, criteria: dict[str, Criterion], record: Record, id: str) -> None:
    subject = _Subject(source, ledger, record, id)
    for question, answers in _questions(record, "responses"):
        if not isinstance(answers, list):
            raise BadValue("responses must be lists", found=repr(answers), where=f"{record.where}, {question}")
        for number, one in enumerate(answers):
            answer = record.as_record(one, f"responses.{question}[{number}]")
            _judge(source, criteria, subject, question, answer, _person(source, ledger, answer))
    for question, one in _questions(record, "suggestions"):
        answer = record.as_record(one, f"suggestions.{question}")
        agent = answer.maybe_text("agent") or "suggestions"
        _judge(source, criteria, subject, question, answer, ledger.rater(agent, "model", answer.where))
        source.say("suggestions are judgments by raters of kind 'model', named by their agent")


def _questions(record: Record, name: str) -> list[tuple[str, Any]]:
    if not record.has(name):
        return []
    return [(record.as_text(question, name), answers) for question, answers in record.record(name).fields.items()]


def _person(source: Source, ledger: Ledger, answer: Record) -> str:
    if answer.has("user_id"):
        return ledger.rater(answer.text("user_id"), where=answer.where)
    source.say_crowd()
    return ledger.rater(CROWD, "crowd")


class _Subject:
    """What a record's answers are about: a prompt and the fields that are judged."""

    def __init__(self, source: Source, ledger: Ledger, record: Record, id: str) -> None:
        self.ledger, self.id, self.where = ledger, id, record.where
        fields = record.record("fields")
        columns = source.options.columns
        for flag, name in (("--prompt", columns.prompt), ("--left", columns.left), ("--right", columns.right)):
            if name is not None and name not in fields.fields:
                raise BadColumns.missing(name, fields.fields, where=fields.where, option=flag)
        asked = columns.prompt or next((name for name in fields.fields if plain(name) in PROMPT_FIELDS), None)
        if asked is not None and fields.has(asked):
            text = fields.text(asked)
            self.prompt = ledger.prompt(text_id(text), record.where, text=text)
        else:
            self.prompt = ledger.prompt(f"record-{id}", record.where)
        pair = [columns.left, columns.right]
        self.judged = [str(n) for n in pair] if None not in pair else [n for n in fields.fields if n != asked]

    def item(self, field: str | None = None) -> str:
        """One field of the record as an item, or the record itself."""
        name = f"{self.id}/{field}" if field else self.id
        return self.ledger.item(name, self.where, prompt=self.prompt)

    def field(self, label: str) -> str | None:
        """The field a label names, punctuation and case apart."""
        return next((name for name in self.judged if plain(name) == plain(label)), None)


def _judge(
    source: Source, criteria: dict[str, Criterion], subject: _Subject, question: str, answer: Record, rater: str
) -> None:
    value = answer.fields.get("value")
    if value is None:
        source.leave_out("answers without a value")
        return
    criteria.setdefault(question, Criterion.parse({"id": question}, where=answer.where))
    facts = {"criterion": question, "rater": rater}
    if isinstance(value, str):
        _compare(source, subject, value, answer, facts)
    elif isinstance(value, list):
        labels, places = _ranking(answer, value)
        ids = [subject.item(subject.field(label) or label) for label in labels]
        subject.ledger.rank(ids, places, answer.where, **facts)
    else:
        subject.ledger.add("ratings", **facts, item=subject.item(), value=answer.number("value"))


def _compare(source: Source, subject: _Subject, word: str, answer: Record, facts: dict[str, str]) -> None:
    if len(subject.judged) != 2:
        source.leave_out(f"text answers to {facts['criterion']!r} (a comparison needs two fields beside the prompt)")
        return
    given = source.options.policies.outcome_values
    meaning = (WORDS if given is None else parse_values(given)).get(spelled(word))
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
    skipped = meaning in ("cannot judge", "broken image")
    subject.ledger.add("comparisons", **facts, a=a, b=b, **{"skipped" if skipped else "outcome": meaning})


def _ranking(answer: Record, value: list[Any]) -> tuple[list[str], list[float]]:
    """Labels and their places: a plain list best first, or objects with value and rank."""
    if value and all(isinstance(entry, dict) for entry in value):
        entries = answer.records("value")
        return [entry.text("value") for entry in entries], [entry.number("rank") for entry in entries]
    labels = answer.texts("value")
    if not labels:
        raise BadValue("a ranking needs items", found="an empty list", where=answer.where)
    return labels, [float(place) for place in range(1, len(labels) + 1)]
