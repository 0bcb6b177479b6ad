"""The loop: a prompt is drawn, a VLM looks at the picture and revises the prompt, it is drawn again, n rounds.

    round 0     the original prompt
    round r     the prompt that the VLM wrote when it saw the picture of round r - 1 beside the original prompt
    control r   the original prompt again, from the seeds of round r

Round r and control r differ in the prompt and in nothing else, so the effect of looking can be told from the effect of
drawing again. Seeds: picture i of round r has seed + r x images + i.

A chain goes on only from a picture and an answer. An answer that cannot be read, or a refusal, keeps the former prompt
and is counted. Where no picture was made, or an outage left a question without an answer, the chain waits, and the same
call tries again. Nothing is made or paid for twice.

    STUDY/refine/card.json        who draws, who looks, and how; another loop may not go on in the same folder
    STUDY/refine/replies.jsonl    what was said of each picture, and the prompt that came of it

A line binds: what a VLM said of a round is not asked again, whatever becomes of its pictures. A line that a killed run
left torn is cut off, and its question asked again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from salon.bench import FINAL_FAILURES
from salon.errors import BadFile, BadValue, shorten
from salon.generate import Generation, GeneratorWithNotes, generate_items, item_id, read_generations
from salon.judge import (
    Conversation,
    NoReply,
    Reply,
    UnparsedAnswer,
    Vlm,
    diagnosis_question,
    read_diagnosis,
    wording_hash,
)
from salon.select.scores import StepCallback, no_progress
from salon.select.settings import RefineSettings
from salon.store import Journal, default_name, is_study, open_journal, read_journal, save_study, write_json
from salon.study import Ask, FailedPicture, GeneratedPicture, Generator, Noun, Prompt, Remark, Study

Arm = Literal["round", "control"]
LONGEST_TEXT = 4_000
"""Characters of a reply that the record keeps; the call store keeps all of it."""
Choose = Callable[[Sequence[Sequence[str]]], list[str]]
"""Of several items of a round the one that is looked at, for each of several prompts."""


class RoundGenerator:
    """A generator as it draws in one round: under a name of its own, from the prompts of that round.

    Its signature is the generator's own: the round is in the name, and the prompt of a round never changes.
    """

    def __init__(self, inner: Generator, name: str, prompts: Mapping[str, Prompt]) -> None:
        self.inner, self.name, self.prompts = inner, name, prompts
        self.abilities, self.signature = inner.abilities, inner.signature

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        """What the generator makes of the prompts of this round."""
        return self.inner.make(
            [ask.model_copy(update={"prompt": self.prompts.get(ask.prompt.id, ask.prompt)}) for ask in asks]
        )

    def notes(self) -> list[str]:
        """What the generator has to say at the end."""
        return self.inner.notes() if isinstance(self.inner, GeneratorWithNotes) else []


def round_name(generator: str, arm: Arm, number: int) -> str:
    """What a generator is called in a round; control 0 is round 0."""
    return f"{generator}-{arm if number else 'round'}-{number}"


def round_items(prompt: str, generator: str, arm: Arm, number: int, settings: RefineSettings) -> list[str]:
    """Ids of the items of one round of a prompt, whether they are there or not."""
    first = settings.drawing(number).seed
    name = round_name(generator, arm, number)
    return [item_id(prompt, name, seed) for seed in range(first, first + settings.images)]


def prompt_at(prompt: Prompt, number: int, replies: Mapping[tuple[str, int], RefineReply]) -> Prompt | None:
    """The prompt of a round; None while an earlier round waits. A round without a revision keeps the former one."""
    current = prompt
    for before in range(number):
        if (prompt.id, before) not in replies:
            return None
        current = replies[prompt.id, before].revised or current
    return current


def _choose_first(several: Sequence[Sequence[str]]) -> list[str]:
    return [items[0] for items in several]


def run_loop(
    prompts: Sequence[Prompt],
    generator: Generator,
    vlm: Vlm,
    settings: RefineSettings,
    folder: Path,
    *,
    choose: Choose = _choose_first,
    watch: StepCallback = no_progress,
) -> list[str]:
    """Draw, look and revise until every chain is done or waits; what is there already stays. Notes for the report."""
    card = RefineCard(
        generator=str(generator.signature), vlm=str(vlm.signature), wording=wording_hash(), sees=settings.sees,
        images=settings.images, seed=settings.seed, size=settings.size, prompts=prompts_hash(prompts),
    )  # fmt: skip
    with open_refinement(folder, prompts, card) as record:
        loop = _Loop(prompts, generator, vlm, settings, folder, record, choose, watch)
        for number in range(settings.rounds + 1):
            loop.draw("round", number)
            if number < settings.rounds:
                loop.look(number)
        if settings.control:
            for number in range(1, settings.rounds + 1):
                loop.draw("control", number)
        return [*([record.note] if record.note else []), *loop.notes]


@dataclass
class _Loop:
    prompts: Sequence[Prompt]
    generator: Generator
    vlm: Vlm
    settings: RefineSettings
    folder: Path
    record: RefineRecord
    choose: Choose
    watch: StepCallback

    def __post_init__(self) -> None:
        self.notes: dict[str, None] = {}

    def draw(self, arm: Arm, number: int) -> None:
        """Every picture of a round whose prompt is known."""
        if arm == "control":
            standing_in = {prompt.id: prompt for prompt in self.prompts}
        else:
            prompts = ((prompt.id, prompt_at(prompt, number, self.record.replies)) for prompt in self.prompts)
            standing_in = {id: prompt for id, prompt in prompts if prompt is not None}
        going = [prompt for prompt in self.prompts if prompt.id in standing_in]
        if not going:
            return
        name = round_name(self.generator.name, arm, number)
        report = generate_items(
            going,
            [RoundGenerator(self.generator, name, standing_in)],
            self.settings.drawing(number),
            self.folder,
            lambda progress: self.watch(f"{arm} {number}: drawing", progress.done, progress.wanted),
        )
        self.notes |= dict.fromkeys(note.replace(name, self.generator.name) for note in report.notes)

    def look(self, number: int) -> None:
        """Have the VLM look at one picture of every prompt that has one and was not looked at."""
        generations, _ = read_generations(self.folder)
        open_ = [
            (prompt, there)
            for prompt in self.prompts
            if (prompt.id, number) not in self.record.replies
            and (there := self._pictures(prompt, number, generations))
        ]  # fmt: skip
        if not open_:
            return
        chosen = self.choose([[line.item for line in there] for _, there in open_])
        questions = [(prompt, generations[item]) for (prompt, _), item in zip(open_, chosen, strict=True)]
        conversations = (self._conversation(prompt, line, number) for prompt, line in questions)
        for completed, (index, reply) in enumerate(self.vlm.reply(conversations), 1):
            prompt, line = questions[index]
            record_line = _read_reply(prompt, number, line, reply)
            if record_line is not None:
                self.record.add(record_line)
            self.watch(f"round {number}: looking", completed, len(questions))

    def _pictures(self, prompt: Prompt, number: int, generations: Mapping[str, Generation]) -> list[Generation]:
        if prompt_at(prompt, number, self.record.replies) is None:
            return []
        lines = [
            generations.get(item)
            for item in round_items(prompt.id, self.generator.name, "round", number, self.settings)
        ]
        return [line for line in lines if line is not None and line.ok]

    def _conversation(self, prompt: Prompt, line: Generation, number: int) -> Conversation:
        drawn_prompt = (
            prompt_at(prompt, number, self.record.replies) if self.settings.sees == "both" and number else None
        )
        picture = self.folder.resolve() / (line.image or "")
        return diagnosis_question(prompt, line.item, picture, drawn=drawn_prompt, max_tokens=self.settings.max_tokens)


def _read_reply(prompt: Prompt, number: int, line: Generation, reply: Reply | NoReply) -> RefineReply | None:
    """The line of a reply; None for an outage, which leaves none."""
    about = {"prompt": prompt.id, "round": number, "item": line.item, "sha256": line.sha256}
    if isinstance(reply, NoReply):
        if reply.kind not in FINAL_FAILURES:
            return None
        return RefineReply(**about, outcome="none", reason=reply.kind, text=shorten(reply.reason, LONGEST_TEXT))
    fields = {
        "text": (shorten(reply.text.encode("utf-8", "replace").decode(), LONGEST_TEXT)),
        "model": reply.model,
        "cost": reply.cost,
    }
    diagnosis = read_diagnosis(reply.text, prompt, cut=reply.cut)
    if isinstance(diagnosis, UnparsedAnswer):
        return RefineReply(**about, **fields, outcome="unread", reason=diagnosis.reason)
    return RefineReply(**about, **fields, outcome="revised", remarks=diagnosis.remarks, revised=diagnosis.prompt)


# -- the record --------------------------------------------------------------------------------------------------------

REFINE_FOLDER = "refine"
REPLIES = "replies.jsonl"
_JOURNAL_WORDS = {"what": "a reply on record", "remedy": "remove the line: its picture is then looked at again"}


class RefineCard(Noun):
    """What must stay the same for a loop to go on."""

    format: Literal["salon-refine-1"] = "salon-refine-1"
    generator: str
    """The generator's signature."""
    vlm: str
    """Signature of who looks."""
    wording: str
    """Hash of the words of the question."""
    sees: str
    images: int
    seed: int
    size: str | None = None
    prompts: str
    """Hash of all prompts."""


class RefineReply(Noun):
    """What came of one look."""

    prompt: str
    """Id of the prompt."""
    round: int = Field(ge=0)
    item: str
    """The picture that was looked at."""
    sha256: str | None = None
    """Of the picture."""
    outcome: Literal["revised", "unread", "none"]
    """A revised prompt; an answer that cannot be read; no answer that will ever come."""
    reason: str = ""
    """Why it was not read, or why there is none."""
    remarks: tuple[Remark, ...] = ()
    revised: Prompt | None = None
    text: str = ""
    """What was said, shortened where it is long."""
    model: str | None = None
    cost: float | None = None


def prompts_hash(prompts: Sequence[Prompt]) -> str:
    """Twelve hex digits of the prompts in order."""
    text = json.dumps([prompt.model_dump(mode="json", exclude={"category"}) for prompt in prompts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class RefineRecord:
    """The open record: what was said so far by prompt and round, and a way to add to it."""

    def __init__(self, journal: Journal[RefineReply]) -> None:
        self._journal = journal
        self.replies = {(line.prompt, line.round): line for line in journal.lines}
        self.note = (
            "the last reply on record was torn by an interrupted run; it is asked for again" if journal.torn else None
        )

    def add(self, line: RefineReply) -> None:
        """Write one line and wait until the disk has it."""
        self._journal.add(line)
        self.replies[line.prompt, line.round] = line


@contextmanager
def open_refinement(folder: Path, prompts: Sequence[Prompt], card: RefineCard) -> Iterator[RefineRecord]:
    """The record of the loop in `folder`, held by this process; a new or empty folder becomes a study.

    BadValue where another loop was at work there, or a study that is no loop stands there.
    """
    begin_loop(folder, REFINE_FOLDER, prompts, card)
    with open_journal(folder / REFINE_FOLDER / REPLIES, RefineReply, **_JOURNAL_WORDS) as journal:
        yield RefineRecord(journal)


def read_replies(folder: Path) -> dict[tuple[str, int], RefineReply]:
    """What was said so far, by prompt and round; for those who only look."""
    lines, _ = read_journal(folder / REFINE_FOLDER / REPLIES, RefineReply, **_JOURNAL_WORDS)
    return {(line.prompt, line.round): line for line in lines}


# -- the card ----------------------------------------------------------------------------------------------------------

CARD = "card.json"


def begin_loop(folder: Path, inside: str, prompts: Sequence[Prompt], card: Noun) -> None:
    """Make `folder` a study with the card of a loop, or see that the loop in it is the same.

    BadFile where a study that is no such loop stands there, BadValue where another loop was at work.
    """
    if not (folder / inside / CARD).is_file():
        if is_study(folder) and any(
            path.suffix != ".toml" and path.stem != "prompts" and path.name != inside
            for path in folder.iterdir()
            if not path.name.startswith(("README", "."))
        ):
            raise BadFile(
                "a new folder, or that of an earlier loop, is needed",
                found="a study that is no loop",
                where=str(folder),
                remedy="choose another -o; nothing was changed",
            )
        if not is_study(folder):
            save_study(Study.build(default_name(folder), [], tables={"prompts": list(prompts)}), folder)
        home = folder / inside
        home.mkdir(exist_ok=True)
        write_json(home / CARD, card)
    path = folder / inside / CARD
    try:
        before = type(card).parse(json.loads(path.read_bytes()), where=str(path))
    except ValueError as error:
        raise BadFile("the card of a loop, as JSON, is needed", found=error, where=str(path)) from None
    changed = [name for name in type(card).model_fields if getattr(before, name) != getattr(card, name)]
    if changed:
        name = changed[0]
        raise BadValue(
            f"a loop goes on with the {name} it began with: {getattr(before, name)}",
            found=getattr(card, name),
            where=str(folder),
            remedy="choose another -o for another loop",
        )
