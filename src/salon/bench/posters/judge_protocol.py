"""The questions to a judge: in Salon's words or in those of the released code, and which of them a contestant got.

The released prompts are not Salon's to copy. They are read from the released files, which the user names:
`und_metric.py`, `gen_metric.py`, or their folder. The files are parsed, never run. A prompt is a text in pieces, with
places for the answer and the point; its SHA-256 tells whether it is the released one.

A judge that is asked in other words gives other verdicts. So contestants are ranked on judged tasks only if one
protocol was used for all of them. Tasks without verdicts, and the verdicts of reference contestants, have no protocol
and differ from none.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from salon.bench.posters.contestants import NAMES
from salon.bench.posters.files import JudgeCard, PosterFile
from salon.errors import BadFile
from salon.study import Format, Noun

OWN = "salon"
"""The protocol in Salon's own words."""
RELEASED = "released"
FILES = ("und_metric.py", "gen_metric.py")
ANSWER, POINT = "\0answer", "\0point"
"""Places in a prompt."""
_TEMPLATE = "prompt_templet"
_FUNCTIONS = {
    "task_composition_understanding": "composition_understanding",
    "task_intention_understanding": "intention_understanding",
    "task_dense_generation": "gen_dense", "task_font_generation": "gen_font", "task_style_generation": "gen_style",
    "task_composition_generation": "gen_composition", "task_intention_generation": "gen_intention",
}  # fmt: skip
_HASHES = {
    "composition_understanding": "565e63519af39d84e28c8c8b3b73adedc0f8ce4dadb62ea3ac89e5ce8f4c9159",
    "intention_understanding": "565e63519af39d84e28c8c8b3b73adedc0f8ce4dadb62ea3ac89e5ce8f4c9159",
    "gen_dense": "f3e1d83b91e12b73ccc17dc02ea08867a81ee5bc20e9bfc45215b00c1638efc2",
    "gen_font": "00ae59ab98733c9304b1077869a7a48c71065ce22be676fe0f8717d6175fc201",
    "gen_style": "372c4f8346130b6af0246726f49937ab13d7f537eb2239c6b0612ee60b322730",
    "gen_composition": "f3e1d83b91e12b73ccc17dc02ea08867a81ee5bc20e9bfc45215b00c1638efc2",
    "gen_intention": "f3e1d83b91e12b73ccc17dc02ea08867a81ee5bc20e9bfc45215b00c1638efc2",
}
"""SHA-256 of the pieces of each prompt, as JSON, at commit 1fed754 of the release."""


@dataclass(frozen=True)
class JudgeProtocol:
    """The released questions to a judge, by task."""

    name: str
    prompts: Mapping[str, tuple[str, ...]]

    def question(self, task: str, point: str, answer: str) -> str:
        """The question about one point of an answer (of a poster: without an answer)."""
        if task not in self.prompts:
            needed = FILES[task.startswith("gen_")]
            raise BadFile(f"the judge prompt of {task} is needed", found="none in the files named", where=self.name,
                          remedy=f"name the released {needed} too, or the folder of both")  # fmt: skip
        return "".join({ANSWER: answer, POINT: point}.get(piece, piece) for piece in self.prompts[task])


def read_protocol(place: Path) -> JudgeProtocol:
    """The released prompts in the file or folder at `place`; BadFile if there are none, or other ones."""
    files = [place / name for name in FILES if (place / name).is_file()] if place.is_dir() else [place]
    prompts: dict[str, tuple[str, ...]] = {}
    for file in files:
        prompts |= _prompts(file)
    if not prompts:
        raise BadFile(
            f"a released file with prompts for a judge is needed: {' or '.join(FILES)}", found="none", where=str(place)
        )
    for task, pieces in prompts.items():
        if prompt_hash(pieces) != _HASHES[task]:
            raise BadFile(
                f"the released judge prompt of {task} is needed, with the SHA-256 {_HASHES[task][:12]}…",
                found=f"{prompt_hash(pieces)[:12]}…", where=str(place),
                remedy="take the files of ArtmeScienceLab/PosterIQ-Benchmark at 1fed754 as they are",
            )  # fmt: skip
    return JudgeProtocol(RELEASED, prompts)


def released_hash() -> str:
    """What the released prompts are known by, all together."""
    return hashlib.sha256(json.dumps(_HASHES, sort_keys=True).encode()).hexdigest()


def prompt_hash(pieces: Sequence[str]) -> str:
    """What a prompt is known by."""
    return hashlib.sha256(json.dumps(list(pieces)).encode()).hexdigest()


def _prompts(file: Path) -> dict[str, tuple[str, ...]]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadFile("a readable Python file of the release is needed", found=error, where=str(file)) from None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    asks = next(
        (ask for candidate in functions if candidate.name == "process_item_list" for ask in _asked(candidate)), None
    )
    prompts: dict[str, tuple[str, ...]] = {}
    for function in functions:
        template = _template(function) if function.name in _FUNCTIONS else None
        if template is not None:
            task = _FUNCTIONS[function.name]
            expression = next(_asked(function), None)
            if expression is None and task not in ("gen_font", "gen_style"):
                expression = asks
            prompts[task] = (template,) if expression is None else _pieces(expression, template)
    return prompts


def _template(function: ast.FunctionDef) -> str | None:
    """The text that a function calls its template."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))) if name == _TEMPLATE:
                return text
    return None


def _asked(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """The expressions that put a question together for each point: [template + ... for gt in ...]."""
    for node in ast.walk(function):
        if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.BinOp) and _TEMPLATE in ast.dump(node.elt):
            yield node.elt


def _pieces(expression: ast.expr, template: str) -> tuple[str, ...]:
    """A sum of texts and variables as pieces."""
    match expression:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (*_pieces(left, template), *_pieces(right, template))
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.Name(id=name) if name == _TEMPLATE:
            return (template,)
        case ast.Name():
            return (POINT,)
    return (ANSWER,)


# -- which protocol a contestant was judged by -------------------------------------------------------------------------

Protocol = Literal["released", "salon", "mixed", "not recorded", "none"]


class JudgingRecord(Noun):
    """How a contestant's judged tasks were judged."""

    contestant: str = Field(description="Its name.")
    protocol: Protocol = Field(title="Judged by", description="By whose prompts; mixed where verdicts are by both.")
    prompts: str | None = Field(None, description="SHA-256 of the released prompts' hashes; null for other protocols.")
    judges: tuple[str, ...] = Field((), description="Who gave verdicts.")
    tasks: Annotated[tuple[str, ...], Format("count")] = Field(
        (), title="Judged tasks", description="Judged tasks that hold verdicts."
    )

    @property
    def title(self) -> str:
        """The protocol in a few words."""
        words = {
            "released": f"released prompts ({(self.prompts or '')[:8]})",
            "salon": "Salon’s prompts",
            "mixed": "released and Salon’s prompts",
        }
        return words.get(self.protocol, self.protocol)


def judging_record(name: str, files: Sequence[PosterFile], judges: Sequence[JudgeCard]) -> JudgingRecord:
    """How a contestant was judged, by the verdicts in its files and by what their folder says of them."""
    tasks = tuple(
        file.task.name
        for file in files
        if file.task.judged
        and any(item.judge and any(verdict.strip() for verdict in item.judge) for item in file.items)
    )
    if not tasks or (name in NAMES and not judges):
        return JudgingRecord(contestant=name, protocol="none")
    used = {card.protocol for card in judges}
    protocol: Protocol = "not recorded"
    if used:
        protocol = "released" if used == {RELEASED} else "salon" if used == {OWN} else "mixed"
    return JudgingRecord(
        contestant=name,
        protocol=protocol,
        prompts=released_hash() if RELEASED in used else None,
        judges=tuple(dict.fromkeys(card.judge for card in judges)),
        tasks=tasks,
    )


def protocols_differ(records: Sequence[JudgingRecord], tasks: Collection[str]) -> bool:
    """Whether verdicts on these tasks were not all given by one protocol, so that nobody can be ranked on them."""
    protocols = [record.protocol for record in records if not set(record.tasks).isdisjoint(tasks)]
    return len(protocols) > 1 and (len(set(protocols)) > 1 or "mixed" in protocols)


def protocol_warnings(records: Sequence[JudgingRecord]) -> list[str]:
    """A sentence for the reader where contestants were judged by different protocols."""
    tasks = {task for record in records for task in record.tasks}
    if not any(protocols_differ(records, [task]) for task in tasks):
        return []
    whose = "; ".join(f"{record.contestant}: {record.title}" for record in records if record.tasks)
    return [f"Judged by different protocols ({whose}): not comparable, and not ranked, where verdicts count."]
