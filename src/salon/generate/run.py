"""The matrix runner: asks every generator for every prompt, keeps each picture before the next is paid for.

Whatever ends a run (the last picture, Ctrl-C, a wrong key, a full disk, kill -9), the folder holds a valid study, and
the same call goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Generator as Stoppable
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypedDict, runtime_checkable

from salon.errors import BadFile, BadValue, shorten
from salon.generate.matrix import Matrix, Wanted, judged_items, sort_out, wanted_items
from salon.generate.names import place
from salon.generate.record import Generation, Record, open_record
from salon.generate.results import Failure, GenerateReport, GeneratorRun, Progress
from salon.generate.settings import GenerateSettings
from salon.generate.start import Start
from salon.generate.tables import add_to_study, start_study
from salon.store.atomic import whole_file
from salon.store.folder import written_inside
from salon.store.pictures import ENDINGS, open_header, read_picture
from salon.store.quick_file import put_file
from salon.study import Failed, Generator, Made, Prompt, Study

LONGEST_REASON = 1000
Watch = Callable[[Progress], None]


@runtime_checkable
class Noting(Protocol):
    """A generator with something to say at the end: files that no prompt asked for, say."""

    def notes(self) -> list[str]:
        """Sentences for the report."""
        ...


def generate_items(
    prompts: Sequence[Prompt],
    generators: Sequence[Generator],
    settings: GenerateSettings,
    folder: Path | str,
    progress: Watch | None = None,
    *,
    starts: Mapping[str, Start] | None = None,
) -> GenerateReport:
    """Make every picture of prompts x generators x seeds that is not in the study `folder` yet.

    A new folder becomes a study; an existing one is extended, its judgments and everything else stay. Pictures stored
    under the same ask and the same generator's signature are not made again. A failure is recorded with its reason,
    and tried again by the next run. `starts` holds a picture to start from for each prompt, for generators that can.
    """
    started = time.monotonic()
    home = Path(folder).resolve()
    wanted = wanted_items(prompts, generators, settings, starts)
    study = start_study(home, prompts)
    with open_record(home) as record:
        _check_free(study, wanted, record)
        matrix = sort_out(wanted, record.known, home, judged_items(study), retry=settings.retry)
        run = _Run(home, record, matrix, progress or (lambda _: None))
        try:
            for generator in generators:
                run.ask(generator)
        finally:
            add_to_study(home, {one.item: one.digest for one in wanted}, record.known)
        return run.report(generators, folder, time.monotonic() - started)


def _check_free(study: Study, wanted: Sequence[Wanted], record: Record) -> None:
    """Items that came from elsewhere are not replaced by generated ones."""
    ours = {one.item: f"images/{place(one.ask, one.generator.name)}." for one in wanted if one.item not in record.known}
    taken = [
        item.id for item in study.nouns("items") if item.id in ours and not (item.image or "").startswith(ours[item.id])
    ]
    if taken:
        raise BadValue(
            "generated items need ids of their own",
            found=f"{taken[0]!r}, an item that was not generated here",
            where=f"study {study.name!r}",
            remedy="rename the prompt or the generator, or choose another study folder",
        )


class _Told(TypedDict):
    """What every line of the record holds."""

    item: str
    prompt: str
    generator: str
    seed: int
    ask: str
    signature: str


class _Run:
    """One run: what was counted so far, and the way from a generator's answer to a line of the record."""

    def __init__(self, folder: Path, record: Record, matrix: Matrix, watch: Watch) -> None:
        self.folder, self.record, self.matrix, self.watch = folder, record, matrix, watch
        there = len(matrix.reuse) + len(matrix.keep)
        self.so_far = Progress(len(matrix.wanted), reused=there, failed=len(matrix.leave))
        self.made: set[str] = set()
        watch(self.so_far)

    def ask(self, generator: Generator) -> None:
        """Everything this generator still owes."""
        todo = [one for one in self.matrix.make if one.generator is generator]
        if not todo:
            return
        before = time.monotonic()
        for wanted, result in _answers(generator, todo):
            line = self._kept(wanted, result, time.monotonic() - before)
            self.record.add(line)
            self._count(line)
            before = time.monotonic()

    def _kept(self, wanted: Wanted, result: Made | Failed, seconds: float) -> Generation:
        """The picture on the disk, and the line that says so; or the line that says why there is none."""
        told: _Told = {
            "item": wanted.item,
            "prompt": wanted.ask.prompt.id,
            "generator": wanted.generator.name,
            "seed": wanted.ask.seed,
            "ask": wanted.digest,
            "signature": wanted.signature,
        }
        if isinstance(result, Made):
            try:
                return self._stored(wanted, result, told, _seconds(result, seconds))
            except BadFile as error:
                result = Failed(reason=f"{error.needed}; found {error.found}", kind="broken-image")
        if not isinstance(result, Failed):
            result = Failed(reason=f"{wanted.generator.name} gave {type(result).__name__}, neither Made nor Failed")
        reason = shorten(result.reason, LONGEST_REASON)
        return Generation(**told, ok=False, kind=result.kind, reason=reason, seconds=round(seconds, 3))

    def _stored(self, wanted: Wanted, made: Made, told: _Told, seconds: float) -> Generation:
        data, format, width, height, changed = _checked(made, travelled=not wanted.generator.abilities.offline)
        inside = place(wanted.ask, wanted.generator.name)
        paths = {"image": f"images/{inside}{ENDINGS[format]}"}
        image = self.folder / paths["image"]
        with written_inside(image):
            for kind, text, ending in (("layout", made.layout, "json"), ("svg", made.svg, "svg")):
                if text is not None:
                    paths[kind] = f"{kind if kind == 'svg' else 'layouts'}/{inside}.{ending}"
                    put_file(self.folder / paths[kind], text.encode())  # if the disk loses it, the item is made again
            with whole_file(image) as file:
                file.write(data)
        facts = dict(made.facts)
        source = "photograph" if facts.pop("source", None) == "photograph" else "generated"
        facts |= {"changed": changed} if changed else {}
        return Generation(
            **told,
            **paths,
            ok=True,
            seconds=seconds,
            width=width,
            height=height,
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            source=source,
            facts=facts,
        )

    def _count(self, line: Generation) -> None:
        cost = line.facts.get("cost")
        total = self.so_far.cost
        if isinstance(cost, int | float) and not isinstance(cost, bool):
            total = (total or 0.0) + float(cost)
        self.so_far = replace(
            self.so_far,
            made=self.so_far.made + line.ok,
            failed=self.so_far.failed + (not line.ok),
            cost=total,
            last=line,
        )
        if line.ok:
            self.made.add(line.item)
        self.watch(self.so_far)

    def report(self, generators: Sequence[Generator], folder: Path | str, seconds: float) -> GenerateReport:
        """What there is after the last answer."""
        there = {one.item for one in (*self.matrix.reuse, *self.matrix.keep)}
        done = there | self.made
        missing = [one.item for one in self.matrix.wanted if one.item not in done]
        return GenerateReport(
            study=str(folder),
            wanted=self.so_far.wanted,
            made=self.so_far.made,
            reused=self.so_far.reused,
            failed=self.so_far.failed,
            cost=self.so_far.cost,
            seconds=round(seconds, 3),
            generators=tuple(self._part(generator, there) for generator in generators),
            failures=tuple(Failure.of(self.record.known[item]) for item in missing),
            notes=tuple(self._notes(generators)),
        )

    def _part(self, generator: Generator, there: set[str]) -> GeneratorRun:
        items = {one.item for one in self.matrix.wanted if one.generator is generator}
        made, reused = len(items & self.made), len(items & there)
        return GeneratorRun(
            generator=generator.name,
            signature=str(generator.signature),
            wanted=len(items),
            made=made,
            reused=reused,
            failed=len(items) - made - reused,
        )

    def _notes(self, generators: Sequence[Generator]) -> Iterator[str]:
        if self.record.note:
            yield self.record.note
        if self.matrix.keep:
            yield (
                f"{len(self.matrix.keep)} judged items keep the picture they were judged by, although their generator "
                "or prompt has changed since; another study folder would have the new ones"
            )
        for generator in generators:
            if not generator.abilities.seeded:
                yield f"{generator.name} does not draw the same picture again from the same seed"
            if isinstance(generator, Noting):
                yield from generator.notes()


def _answers(generator: Generator, todo: Sequence[Wanted]) -> Iterator[tuple[Wanted, Made | Failed]]:
    """Exactly one answer for each ask, also from a generator that forgets one or answers twice."""
    owed = dict(enumerate(todo))
    results = generator.make([one.ask for one in todo])
    try:
        for index, result in results:
            if index in owed:
                yield owed.pop(index), result
    finally:
        if isinstance(results, Stoppable):  # an interrupted run lets go of its processes and connections at once
            results.close()
    for one in owed.values():
        yield one, Failed(reason=f"{generator.name} gave no answer", kind="missing")


def _checked(made: Made, *, travelled: bool) -> tuple[bytes, str, int, int, str]:
    """Bytes to store, format, width, height, and what was changed; BadFile when it is no whole picture.

    A picture that came over a network is decoded whole. One that was encoded on this machine a moment ago is taken by
    its header: decoding would take as long as drawing it did.
    """
    header = open_header(made.image)
    if not travelled and header.format != "GIF":
        return made.image, header.format, header.width, header.height, ""
    picture = read_picture(made.image)
    data, format = picture.plain()
    return data, format, picture.width, picture.height, "; ".join(picture.notes)


def _seconds(made: Made, waited: float) -> float:
    """The generator's own time where it tells it: many may be at work at once."""
    told = made.facts.get("seconds")
    return round(float(told), 3) if isinstance(told, int | float) and not isinstance(told, bool) else round(waited, 3)
