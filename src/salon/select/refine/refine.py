"""The loop: a prompt is drawn, a VLM looks at the picture and revises the prompt, it is drawn again, n rounds.

    round 0     the original prompt
    round r     the prompt that the VLM wrote when it saw the picture of round r - 1 beside the original prompt
    control r   the original prompt again, from the seeds of round r

So round r and control r differ in the prompt and in nothing else, and what new draws alone would have brought can be
told from what looking brought. Seeds: picture i of round r has seed + r x images + i.

A chain goes on only from a picture and an answer. An answer that cannot be read, or a refusal, keeps the former prompt
and is counted. Where no picture was made, or an outage left a question without an answer, the chain waits, and the same
call tries again. Nothing that comes after has been made, so nothing is made or paid for twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from salon.bench.judging import LASTING
from salon.errors import shorten
from salon.generate.names import item_id
from salon.generate.record import Generation, read_generations
from salon.generate.run import Noting, generate_items
from salon.generate.settings import GenerateSettings
from salon.judge.diagnose import diagnosing, read_diagnosis, wording
from salon.judge.verdict import Unread
from salon.judge.vlm import Conversation, NoReply, Reply, Vlm
from salon.select.refine.record import Card, Record, Said, open_refinement, prompts_hash
from salon.study import Ask, Failed, Generator, Made, Prompt
from salon.study.noun import Noun

Arm = Literal["round", "control"]
LONGEST_TEXT = 4_000
"""Characters of a reply that the record keeps; the call store keeps all of it."""
Choose = Callable[[Sequence[Sequence[str]]], list[str]]
"""Of several items of a round the one that is looked at, for each of several prompts."""
Watch = Callable[[str, int, int], None]
"""What is being done, how much of it is done, and of how much."""


class RefineSettings(Noun):
    """How a loop works."""

    rounds: int = Field(2, ge=1, le=50, description="Rounds after the first drawing, each from a revised prompt.")
    images: int = Field(1, ge=1, le=64, description="Pictures of each prompt in each round.")
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of the first picture; the others count up from it.")
    size: str | None = Field(None, description="Width and height in pixels  [default: the generator's own]")
    control: bool = Field(True, description="Draw the original prompt again in every round, from the same seeds.")
    sees: Literal["original", "both"] = Field(
        "original", description="Prompts the VLM is shown: the original, or also the one the picture was drawn from."
    )
    max_tokens: int = Field(2048, ge=1, description="Most tokens of an answer.")

    def drawing(self, number: int) -> GenerateSettings:
        """How the pictures of one round are asked for."""
        return GenerateSettings(seeds=self.images, seed=self.seed + number * self.images, size=self.size)


class InRound:
    """A generator as it draws in one round: under a name of its own, from the prompts of that round.

    Its signature is the generator's own: the round is in the name, and the prompt of a round never changes.
    """

    def __init__(self, inner: Generator, name: str, prompts: Mapping[str, Prompt]) -> None:
        self.inner, self.name, self.prompts = inner, name, prompts
        self.abilities, self.signature = inner.abilities, inner.signature

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, Made | Failed]]:
        """What the generator makes of the prompts of this round."""
        return self.inner.make(
            [ask.model_copy(update={"prompt": self.prompts.get(ask.prompt.id, ask.prompt)}) for ask in asks]
        )

    def notes(self) -> list[str]:
        """What the generator has to say at the end."""
        return self.inner.notes() if isinstance(self.inner, Noting) else []


def standing_name(generator: str, arm: Arm, number: int) -> str:
    """What a generator is called in a round; control 0 is round 0."""
    return f"{generator}-{arm if number else 'round'}-{number}"


def items_of(prompt: str, generator: str, arm: Arm, number: int, settings: RefineSettings) -> list[str]:
    """Ids of the items of one round of a prompt, whether they are there or not."""
    first = settings.drawing(number).seed
    name = standing_name(generator, arm, number)
    return [item_id(prompt, name, seed) for seed in range(first, first + settings.images)]


def prompt_at(prompt: Prompt, number: int, said: Mapping[tuple[str, int], Said]) -> Prompt | None:
    """The prompt of a round; None while an earlier round waits. A round without a revision keeps the former one."""
    found = prompt
    for before in range(number):
        if (prompt.id, before) not in said:
            return None
        found = said[prompt.id, before].revised or found
    return found


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
    watch: Watch = lambda doing, done, wanted: None,
) -> list[str]:
    """Draw, look and revise until every chain is done or waits; what is there already stays. Notes for the report."""
    card = Card(
        generator=str(generator.signature), vlm=str(vlm.signature), wording=wording(), sees=settings.sees,
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
    record: Record
    choose: Choose
    watch: Watch

    def __post_init__(self) -> None:
        self.notes: dict[str, None] = {}

    def draw(self, arm: Arm, number: int) -> None:
        """Every picture of a round whose prompt is known."""
        if arm == "control":
            standing_in = {prompt.id: prompt for prompt in self.prompts}
        else:
            known = ((prompt.id, prompt_at(prompt, number, self.record.said)) for prompt in self.prompts)
            standing_in = {id: prompt for id, prompt in known if prompt is not None}
        going = [prompt for prompt in self.prompts if prompt.id in standing_in]
        if not going:
            return
        name = standing_name(self.generator.name, arm, number)
        report = generate_items(
            going,
            [InRound(self.generator, name, standing_in)],
            self.settings.drawing(number),
            self.folder,
            lambda progress: self.watch(f"{arm} {number}: drawing", progress.done, progress.wanted),
        )
        self.notes |= dict.fromkeys(note.replace(name, self.generator.name) for note in report.notes)

    def look(self, number: int) -> None:
        """Have the VLM look at one picture of every prompt that has one and was not looked at."""
        known, _ = read_generations(self.folder)
        open_ = [
            (prompt, there)
            for prompt in self.prompts
            if (prompt.id, number) not in self.record.said
            and (there := self._pictures(prompt, number, known))
        ]  # fmt: skip
        if not open_:
            return
        chosen = self.choose([[line.item for line in there] for _, there in open_])
        asked = [(prompt, known[item]) for (prompt, _), item in zip(open_, chosen, strict=True)]
        conversations = (self._conversation(prompt, line, number) for prompt, line in asked)
        for done, (index, reply) in enumerate(self.vlm.reply(conversations), 1):
            prompt, line = asked[index]
            said = _said(prompt, number, line, reply)
            if said is not None:
                self.record.add(said)
            self.watch(f"round {number}: looking", done, len(asked))

    def _pictures(self, prompt: Prompt, number: int, known: Mapping[str, Generation]) -> list[Generation]:
        if prompt_at(prompt, number, self.record.said) is None:
            return []
        lines = [known.get(item) for item in items_of(prompt.id, self.generator.name, "round", number, self.settings)]
        return [line for line in lines if line is not None and line.ok]

    def _conversation(self, prompt: Prompt, line: Generation, number: int) -> Conversation:
        drawn = prompt_at(prompt, number, self.record.said) if self.settings.sees == "both" and number else None
        picture = self.folder.resolve() / (line.image or "")
        return diagnosing(prompt, line.item, picture, drawn=drawn, max_tokens=self.settings.max_tokens)


def _said(prompt: Prompt, number: int, line: Generation, reply: Reply | NoReply) -> Said | None:
    """The line of a reply; None for an outage, which leaves none."""
    about = {"prompt": prompt.id, "round": number, "item": line.item, "sha256": line.sha256}
    if isinstance(reply, NoReply):
        if reply.kind not in LASTING:
            return None
        return Said(**about, outcome="none", reason=reply.kind, text=shorten(reply.reason, LONGEST_TEXT))
    told = {"text": _kept(reply.text), "model": reply.model, "cost": reply.cost}
    found = read_diagnosis(reply.text, prompt, cut=reply.cut)
    if isinstance(found, Unread):
        return Said(**about, **told, outcome="unread", reason=found.reason)
    return Said(**about, **told, outcome="revised", remarks=found.remarks, revised=found.prompt)


def _kept(text: str) -> str:
    """A reply as the record holds it: no lone surrogates, and not too long."""
    return shorten(text.encode("utf-8", "replace").decode(), LONGEST_TEXT)
