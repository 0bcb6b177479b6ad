"""Judges of a suite from the words that name them: ROLE=KIND:NAME.

    pixels=measured:pixels                    rules of points, answered from pixels alone
    layout=measured:layout                    the same from the records of the built-in generators: an oracle
    gpt=openai:gpt-4o                         a model that speaks the OpenAI chat protocol
    qwen=openai:qwen@http://localhost:8000/v1 the same at another server
    qwen=transformers:./Qwen3-VL-8B           a VLM in this process
    eye=scripted:answers.jsonl                answers from a file of JSON lines
    eye=plugin:NAME, eye=python:MODULE:NAME   a judge of another package, or of your own
    eye=simulated:accuracy=0.8                no judge at all: says PASS in this share of all cases, by chance

A role that is called as a judge that measures needs no words. All that is bought in a run is bought from one purse, and
kept beside the board.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from copy import copy
from pathlib import Path
from typing import Any, Literal

from salon.bench.judging import Judge, any_study, suite_roles
from salon.bench.suite import Suite
from salon.calls.budget import Budget
from salon.calls.store import CallStore
from salon.errors import BadValue
from salon.judge.named import RATES, Named, endpoint_vlm, named_vlm, plugged_judge, read_rates
from salon.judge.scripted import Scripted
from salon.judge.simulated import Simulated
from salon.judge.vlm import Vlm
from salon.study import Study
from salon.study.noun import Noun

MEASURED = ("pixels", "layout")
KINDS = {
    "measured": "measured:pixels or measured:layout",
    "openai": "openai:MODEL[@URL]",
    "transformers": "transformers:FOLDER",
    "scripted": "scripted:FILE",
    "simulated": "simulated:accuracy=0.8",
    "plugin": "plugin:NAME",
    "python": "python:MODULE:NAME",
}

_HERE = {
    "calls": "File that keeps bought answers  [default: BOARD.calls.sqlite]",
    "device": "Of judges transformers:FOLDER: cpu, cuda, mps.",
    "dtype": "Of judges transformers:FOLDER: float32, bfloat16, float16.",
    "batch_size": "Of judges transformers:FOLDER: questions at a time.",
}


def _term(name: str) -> Any:
    """The field of that name of `Named`, as `pydantic.Field` gives it."""
    field = copy(Named.model_fields[name])
    field.description = _HERE.get(name, field.description)
    return field


class JudgeTerms(Noun):
    """On which terms the judges of a run answer: of `salon judge run`, what does not say who they are."""

    key_env: str = _term("key_env")
    allow_http: bool = _term("allow_http")
    structured: Literal["auto", "schema", "json", "none"] = _term("structured")
    pixels: int = _term("pixels")
    most_tokens: int = _term("most_tokens")
    concurrency: int = _term("concurrency")
    per_minute: float | None = _term("per_minute")
    prices: Path | None = _term("prices")
    budget: float | None = _term("budget")
    calls: Path | None = _term("calls")
    device: str = _term("device")
    dtype: str = _term("dtype")
    batch_size: int = _term("batch_size")


def read_roles(texts: Sequence[str], suite: Suite) -> dict[str, str]:
    """KIND:NAME by role, as given; roles that are called as a judge that measures are that judge unless given."""
    roles = suite_roles(suite)
    found = {name: f"measured:{name}" for name in roles if name in MEASURED}
    given: dict[str, str] = {}
    for text in texts:
        role, mark, kind = text.partition("=")
        if not mark or kind.partition(":")[0] not in KINDS or not kind.partition(":")[2]:
            raise BadValue("a judge as ROLE=KIND:NAME is needed", found=repr(text), where="--judge",
                           remedy=f"KIND:NAME is {'; '.join(KINDS.values())}")  # fmt: skip
        if role in given:
            raise BadValue("every role has one judge", found=f"{role!r} twice", where="--judge")
        given[role] = kind
    return found | given


@contextmanager
def judges_named(roles: Mapping[str, str], terms: JudgeTerms, board: Path) -> Iterator[dict[str, Judge]]:
    """The judges, for as long as the block lasts. Each is loaded when it is first asked, and stays for all entries."""
    with ExitStack() as stack:
        opened = _Opened(terms, board.resolve(), stack)
        yield {role: opened.judge(role, *text.split(":", 1)) for role, text in roles.items()}


class _Opened:
    """What the judges of a run share: the purse, the store, and who closes them."""

    def __init__(self, terms: JudgeTerms, board: Path, stack: ExitStack) -> None:
        self.terms, self.board, self.stack = terms, board, stack
        self._purse = Budget(terms.budget)
        self._store: CallStore | None = None

    def judge(self, role: str, kind: str, name: str) -> Judge:
        """The judge that answers as `role`."""
        if kind == "measured":
            return _measured(role, name)
        if kind == "scripted":
            return any_study(Scripted(role, Path(name)))
        if kind == "simulated":
            rates = {RATES[rate]: value for rate, value in read_rates(name).items()}
            return any_study(Simulated(role, lambda topic, items: 1.0, seed=0, **rates))
        if kind in ("plugin", "python"):
            return any_study(plugged_judge(role, name if kind == "plugin" else f"python:{name}"))
        if kind == "openai":
            return self._once(lambda: self._endpoint(role, name), paid=True)
        return self._once(lambda: self._local(role, name))

    def _once(self, open: Callable[[], AbstractContextManager[Vlm]], *, paid: bool = False) -> Judge:
        found: list[Vlm] = []

        def opened(study: Study, folder: Path, points: object) -> AbstractContextManager[Vlm]:
            if not found:
                found.append(self.stack.enter_context(open()))
            return nullcontext(found[0])

        return Judge(opened, paid)

    def _endpoint(self, role: str, name: str) -> AbstractContextManager[Vlm]:
        named = Named(**self.terms.model_dump(), model=name, name=role)
        return endpoint_vlm(named, named.model or name, self._calls(), self._purse)

    def _calls(self) -> CallStore:
        if self._store is None:
            file = self.terms.calls or self._beside("calls.sqlite")
            self._store = self.stack.enter_context(CallStore(file))
        return self._store

    def _local(self, role: str, name: str) -> AbstractContextManager[Vlm]:
        told = self.terms.model_dump() | {"calls": self._beside(f"{role}.replies.jsonl")}
        named = Named(**told, transformers=name, name=role)
        return named_vlm(named, Study.build(role, [], tables={}), self.board)

    def _beside(self, ending: str) -> Path:
        """Beside the board, so that a copy of the board does not carry along what was bought."""
        return self.board.with_name(f"{self.board.name}.{ending}")


def _measured(role: str, name: str) -> Judge:
    """Loaded when it is opened: the pixel judge reads text, and its libraries take a second to import."""
    if name not in MEASURED:
        raise BadValue("a judge that measures is needed", found=repr(name), where=f"--judge {role}=measured:{name}",
                       remedy=f"one of {', '.join(MEASURED)}")  # fmt: skip

    def opened(study: Study, folder: Path, points: Sequence[Any]) -> AbstractContextManager[Vlm]:
        part = importlib.import_module(f"salon.judge.{name.removesuffix('s')}_judge")
        if name == "pixels":
            return nullcontext(part.pixel_judge(role, study, points))
        return nullcontext(part.layout_judge(role, study, folder, points))

    return Judge(opened)
