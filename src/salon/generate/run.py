"""Run prompts x generators x seeds, and store each picture before the next one is paid for.

Whatever ends a run (the last picture, Ctrl-C, a wrong key, a full disk, kill -9), the folder holds a valid study, and
the same call goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Generator as Stoppable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypedDict, runtime_checkable

from salon.errors import BadFile, BadValue, InputError, shorten
from salon.generate.record import (
    GenerateReport,
    GenerateSettings,
    Generation,
    GenerationFailure,
    GenerationProgress,
    GenerationRecord,
    GeneratorRun,
    StartPicture,
    ask_digest,
    item_id,
    lock_record,
    open_record,
    picture_stem,
)
from salon.store import (
    ENDINGS,
    default_name,
    is_study,
    open_header,
    open_study,
    put_file,
    read_picture,
    save_study,
    whole_file,
    written_inside,
)
from salon.study import (
    JUDGMENTS,
    Ask,
    FailedPicture,
    GeneratedPicture,
    Generator,
    Item,
    Prompt,
    Study,
    conform,
    table_from_nouns,
)


@dataclass(frozen=True)
class PictureRequest:
    """One picture of the matrix."""

    item: str
    ask: Ask
    generator: Generator
    digest: str

    @property
    def signature(self) -> str:
        """The generator's signature as it is recorded."""
        return str(self.generator.signature)


@dataclass
class Matrix:
    """Every picture wanted, and what is to be done about it."""

    requests: list[PictureRequest]
    make: list[PictureRequest] = field(default_factory=list)
    reuse: list[PictureRequest] = field(default_factory=list)
    keep: list[PictureRequest] = field(default_factory=list)
    """Judged items whose generator or prompt has changed since: another picture may not take their place."""
    leave: list[PictureRequest] = field(default_factory=list)
    """Not there and not to be made: failed before, or judged by a picture that is gone and cannot be drawn again."""

    def counts(self) -> list[tuple[str, int, int]]:
        """(generator, pictures to make, pictures that are there) in the order of the generators."""
        make = Counter(request.generator.name for request in self.make)
        total = Counter(request.generator.name for request in self.requests)
        return [(name, make[name], total[name] - make[name]) for name in total]


def request_pictures(
    prompts: Sequence[Prompt],
    generators: Sequence[Generator],
    settings: GenerateSettings,
    starts: Mapping[str, StartPicture] | None = None,
) -> list[PictureRequest]:
    """The whole matrix, prompt by prompt; refused before anything is spent when a generator cannot do it."""
    _check_different("prompt", [prompt.id for prompt in prompts], "prompts")
    _check_different("generator", [generator.name for generator in generators], "--generator")
    for generator in generators:
        check_abilities(generator, settings, starts_from_image=starts is not None)
    width, height = settings.width_height or (None, None)
    seeds = range(settings.seed, settings.seed + settings.seeds)
    requests = []
    for prompt in prompts:
        if starts is not None and prompt.id not in starts:
            raise InputError(
                "a picture to start from is needed for each prompt", found="none", where=f"prompt {prompt.id!r}"
            )
        start = None if starts is None else starts[prompt.id]
        asks = [
            Ask(
                prompt=prompt,
                seed=seed,
                width=width,
                height=height,
                strength=settings.strength,
                image=None if start is None else start.image,
                layout=None if start is None else start.layout,
            )
            for seed in seeds
        ]
        digests = [ask_digest(ask) for ask in asks]
        for generator in generators:
            requests += [
                PictureRequest(item_id(prompt.id, generator.name, ask.seed), ask, generator, digest)
                for ask, digest in zip(asks, digests)
            ]
    return requests


def _check_different(noun: str, names: Sequence[str], where: str) -> None:
    if not names:
        raise InputError(f"at least one {noun} is needed", found="none", where=where)
    again = [name for name, count in Counter(names).items() if count > 1]
    if again:
        repeated = f"{again[0]!r} {names.count(again[0])} times"
        raise BadValue(
            f"each {noun} may stand once", found=repeated, where=where, remedy="rename or remove one of them"
        )


def check_abilities(generator: Generator, settings: GenerateSettings, *, starts_from_image: bool) -> None:
    """BadValue when `generator` cannot do what `settings` ask for."""
    can, where = generator.abilities, f"generator {generator.name!r}"
    if starts_from_image and not can.image_to_image:
        remedy = "leave --image out, or choose another generator"
        raise BadValue("a generator that starts from a picture is needed", found="one that cannot", where=where,
                       remedy=remedy)  # fmt: skip
    if not starts_from_image and not can.text_to_image:
        remedy = "name the picture with --image"
        raise BadValue("a picture to start from is needed", found="none", where=where, remedy=remedy)
    if settings.strength is not None and not starts_from_image:
        raise BadValue("--strength needs a picture to start from", found="no --image", remedy="add --image FILE")
    size = settings.width_height
    if size is not None and can.sizes is not None and size not in can.sizes:
        possible = ", ".join(f"{width}x{height}" for width, height in can.sizes)
        raise BadValue("a size that the generator makes is needed", found=settings.size, where=where,
                       remedy=f"--size one of {possible}; or leave it out")  # fmt: skip


def sort_requests(
    requests: Sequence[PictureRequest],
    generations: Mapping[str, Generation],
    folder: Path,
    judged_ids: Iterable[str],
    *,
    retry: bool,
) -> Matrix:
    """What is to be made, and what stays as it is."""
    answered = set(judged_ids)
    matrix = Matrix(list(requests))
    for request in requests:
        _sort_request(matrix, request, generations.get(request.item), folder, request.item in answered, retry).append(
            request
        )
    return matrix


def _sort_request(
    matrix: Matrix, request: PictureRequest, line: Generation | None, folder: Path, is_judged: bool, retry: bool
) -> list[PictureRequest]:
    if line is None:
        return matrix.keep if is_judged else matrix.make
    same = line.ask == request.digest and line.signature == request.signature
    if not line.ok:
        return matrix.make if retry or not same else matrix.leave
    if not (same or is_judged):
        return matrix.make
    if line.is_stored(folder):
        return matrix.reuse if same else matrix.keep
    again = not is_judged or (same and request.generator.abilities.seeded)
    return matrix.make if again else matrix.leave


def judged_items(study: Study) -> set[str]:
    """Ids of the items that some judgment names."""
    ids: set[str] = set()
    for kind in JUDGMENTS:
        table = study.table(kind)
        for name in {"a", "b", "item", "items"} & set(table.column_names):
            column = table.column(name).combine_chunks()
            flat = column.flatten() if name == "items" else column
            ids.update(flat.unique().to_pylist())
    return ids


# -- prompts and items of the study ------------------------------------------------------------------------------------


def start_study(folder: Path, prompts: Sequence[Prompt]) -> Study:
    """The study in `folder` with these prompts in it; a new or empty folder becomes one.

    Prompts are saved before the first picture is made: a line of the record never names one that nobody has.
    """
    if is_study(folder):
        with lock_record(folder):  # nobody's run is disturbed by a study that is saved under it
            return _add_prompts(folder, prompts)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadFile(
            "a new folder, an empty one or a study is needed to write to",
            found="a folder with other files" if folder.is_dir() else "a file",
            where=str(folder),
            remedy="choose another -o; nothing was changed",
        )
    study = Study.build(default_name(folder), [], tables={"prompts": list(prompts)})
    save_study(study, folder)
    return study


def _add_prompts(folder: Path, prompts: Sequence[Prompt]) -> Study:
    study = open_study(folder)
    _check_prompts(study, prompts)
    texts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    for prompt in prompts:
        category = prompt.category or (texts[prompt.id].category if prompt.id in texts else None)
        texts[prompt.id] = prompt.model_copy(update={"category": category})
    table = conform("prompts", table_from_nouns("prompts", texts.values()))
    if table != study.table("prompts"):
        study = replace(study, tables=dict(study.tables) | {"prompts": table})
        save_study(study, folder, overwrite=True)
    return study


def _check_prompts(study: Study, prompts: Sequence[Prompt]) -> None:
    """A prompt whose items were judged may not become another one under the same id."""
    by_id = {prompt.id: prompt for prompt in study.nouns("prompts")}
    plain = [prompt.model_copy(update={"category": None}) for prompt in prompts]
    changed = {
        prompt.id
        for prompt in plain
        if prompt.id in by_id and prompt != by_id[prompt.id].model_copy(update={"category": None})
    }
    if not changed:
        return
    judged_ids = judged_items(study)
    bound = [item.prompt for item in study.nouns("items") if item.prompt in changed and item.id in judged_ids]
    if bound:
        raise BadValue(
            "a prompt whose items were judged must stay as it was",
            found=f"another text for {bound[0]!r}",
            where=f"study {study.name!r}",
            remedy="give the new prompt an id of its own, or choose another study folder",
        )


def add_to_study(folder: Path, digests: Mapping[str, str], generations: Mapping[str, Generation]) -> None:
    """Save the study with an item for every picture of the record that is there.

    The study is read anew: judgments may have come in while the pictures were made. Items stand in the order of
    `digests` (item id: digest of its ask), after those of earlier runs, so a run that was interrupted and resumed gives
    the same study as one that was not.
    """
    study = open_study(folder)
    items = _items(folder, study, digests, generations)
    table = conform("items", table_from_nouns("items", items))
    if table == study.table("items"):
        return
    tables = dict(study.tables) | {"items": table}
    added = len(items) - study.table("items").num_rows
    before = study.counts.get("items", 0)
    changed = study.revised(f"generated items: {added:+d}", tables=tables) if before else replace(study, tables=tables)
    save_study(changed, folder, overwrite=True)


def _items(folder: Path, study: Study, digests: Mapping[str, str], generations: Mapping[str, Generation]) -> list[Item]:
    earlier = {item.id: item for item in study.nouns("items")}
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    judged_ids = judged_items(study)
    # a picture made for an earlier wording of its prompt is not current
    current = {
        id: line
        for id, line in generations.items()
        if line.ok and line.image and line.ask == digests.get(id, line.ask) and (folder / line.image).is_file()
    }
    items: dict[str, Item] = {}
    for id in dict.fromkeys([*(id for id in earlier if id not in digests), *digests, *generations]):
        line, before = current.get(id), earlier.get(id)
        if before is not None and (id not in generations or id in judged_ids):
            items[id] = before
        elif line is not None and line.prompt in prompts:
            items[id] = Item(
                id=line.item,
                prompt=line.prompt,
                generator=line.generator,
                image=line.image,
                category=prompts[line.prompt].category or (before.category if before else None),
                tier=before.tier if before else None,
                source=line.source,
            )
    return list(items.values())


# -- the run -----------------------------------------------------------------------------------------------------------

LONGEST_REASON = 1000
GenerationCallback = Callable[[GenerationProgress], None]


@runtime_checkable
class GeneratorWithNotes(Protocol):
    """A generator with something to say at the end: files that no prompt asked for, say."""

    def notes(self) -> list[str]:
        """Sentences for the report."""
        ...


def generate_items(
    prompts: Sequence[Prompt],
    generators: Sequence[Generator],
    settings: GenerateSettings,
    folder: Path | str,
    progress: GenerationCallback | None = None,
    *,
    starts: Mapping[str, StartPicture] | None = None,
) -> GenerateReport:
    """Make every picture of prompts x generators x seeds that is not in the study `folder` yet.

    A new folder becomes a study; an existing one is extended, its judgments and everything else stay. Pictures stored
    under the same ask and the same generator's signature are not made again. A failure is recorded with its reason,
    and tried again by the next run. `starts` holds a picture to start from for each prompt, for generators that can.
    """
    started = time.monotonic()
    home = Path(folder).resolve()
    requests = request_pictures(prompts, generators, settings, starts)
    study = start_study(home, prompts)
    with open_record(home) as record:
        _check_ids_free(study, requests, record)
        matrix = sort_requests(requests, record.known, home, judged_items(study), retry=settings.retry)
        run = _GenerationRun(home, record, matrix, progress or (lambda _: None))
        try:
            for generator in generators:
                run.ask(generator)
        finally:
            add_to_study(home, {request.item: request.digest for request in requests}, record.known)
        return run.report(generators, folder, time.monotonic() - started)


def _check_ids_free(study: Study, requests: Sequence[PictureRequest], record: GenerationRecord) -> None:
    """Items that came from elsewhere are not replaced by generated ones."""
    ours = {
        request.item: f"images/{picture_stem(request.ask, request.generator.name)}."
        for request in requests
        if request.item not in record.known
    }
    taken_ids = [
        item.id for item in study.nouns("items") if item.id in ours and not (item.image or "").startswith(ours[item.id])
    ]
    if taken_ids:
        raise BadValue(
            "generated items need ids of their own",
            found=f"{taken_ids[0]!r}, an item that was not generated here",
            where=f"study {study.name!r}",
            remedy="rename the prompt or the generator, or choose another study folder",
        )


class _RequestFields(TypedDict):
    """What every line of the record holds."""

    item: str
    prompt: str
    generator: str
    seed: int
    ask: str
    signature: str


class _GenerationRun:
    """One run: what was counted so far, and the way from a generator's answer to a line of the record."""

    def __init__(self, folder: Path, record: GenerationRecord, matrix: Matrix, watch: GenerationCallback) -> None:
        self.folder, self.record, self.matrix, self.watch = folder, record, matrix, watch
        there = len(matrix.reuse) + len(matrix.keep)
        self.so_far = GenerationProgress(len(matrix.requests), reused=there, failed=len(matrix.leave))
        self.made: set[str] = set()
        watch(self.so_far)

    def ask(self, generator: Generator) -> None:
        """Everything this generator still owes."""
        todo = [request for request in self.matrix.make if request.generator is generator]
        if not todo:
            return
        before = time.monotonic()
        for answered_request, result in _answers(generator, todo):
            line = self._kept(answered_request, result, time.monotonic() - before)
            self.record.add(line)
            self._count(line)
            before = time.monotonic()

    def _kept(self, request: PictureRequest, result: GeneratedPicture | FailedPicture, seconds: float) -> Generation:
        """The picture on the disk, and the line that says so; or the line that says why there is none."""
        fields: _RequestFields = {
            "item": request.item,
            "prompt": request.ask.prompt.id,
            "generator": request.generator.name,
            "seed": request.ask.seed,
            "ask": request.digest,
            "signature": request.signature,
        }
        if isinstance(result, GeneratedPicture):
            try:
                reported = result.facts.get("seconds")
                seconds_taken = (
                    round(float(reported), 3)
                    if isinstance(reported, int | float) and not isinstance(reported, bool)
                    else round(seconds, 3)
                )
                return self._stored(request, result, fields, seconds_taken)
            except BadFile as error:
                result = FailedPicture(reason=f"{error.needed}; found {error.found}", kind="broken-image")
        if not isinstance(result, FailedPicture):
            result = FailedPicture(
                reason=f"{request.generator.name} gave {type(result).__name__}, no picture and no failure"
            )
        reason = shorten(result.reason, LONGEST_REASON)
        return Generation(**fields, ok=False, kind=result.kind, reason=reason, seconds=round(seconds, 3))

    def _stored(
        self, request: PictureRequest, picture: GeneratedPicture, fields: _RequestFields, seconds: float
    ) -> Generation:
        data, format, width, height, changed = _check_picture(
            picture, travelled=not request.generator.abilities.offline
        )
        inside = picture_stem(request.ask, request.generator.name)
        paths = {"image": f"images/{inside}{ENDINGS[format]}"}
        image = self.folder / paths["image"]
        with written_inside(image):
            for kind, text, ending in (("layout", picture.layout, "json"), ("svg", picture.svg, "svg")):
                if text is not None:
                    paths[kind] = f"{kind if kind == 'svg' else 'layouts'}/{inside}.{ending}"
                    put_file(self.folder / paths[kind], text.encode())  # if the disk loses it, the item is made again
            with whole_file(image) as file:
                file.write(data)
        facts = dict(picture.facts)
        source = "photograph" if facts.pop("source", None) == "photograph" else "generated"
        facts |= {"changed": changed} if changed else {}
        return Generation(
            **fields,
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
        there = {request.item for request in (*self.matrix.reuse, *self.matrix.keep)}
        completed = there | self.made
        missing = [request.item for request in self.matrix.requests if request.item not in completed]
        return GenerateReport(
            study=str(folder),
            wanted=self.so_far.wanted,
            made=self.so_far.made,
            reused=self.so_far.reused,
            failed=self.so_far.failed,
            cost=self.so_far.cost,
            seconds=round(seconds, 3),
            generators=tuple(self._part(generator, there) for generator in generators),
            failures=tuple(GenerationFailure.of(self.record.known[item]) for item in missing),
            notes=tuple(self._notes(generators)),
        )

    def _part(self, generator: Generator, there: set[str]) -> GeneratorRun:
        items = {request.item for request in self.matrix.requests if request.generator is generator}
        made_count, reused = len(items & self.made), len(items & there)
        return GeneratorRun(
            generator=generator.name,
            signature=str(generator.signature),
            wanted=len(items),
            made=made_count,
            reused=reused,
            failed=len(items) - made_count - reused,
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
            if isinstance(generator, GeneratorWithNotes):
                yield from generator.notes()


def _answers(
    generator: Generator, todo: Sequence[PictureRequest]
) -> Iterator[tuple[PictureRequest, GeneratedPicture | FailedPicture]]:
    """Exactly one answer for each ask, also from a generator that forgets one or answers twice."""
    owed = dict(enumerate(todo))
    results = generator.make([request.ask for request in todo])
    try:
        for index, result in results:
            if index in owed:
                yield owed.pop(index), result
    finally:
        if isinstance(results, Stoppable):  # an interrupted run lets go of its processes and connections at once
            results.close()
    for request in owed.values():
        yield request, FailedPicture(reason=f"{generator.name} gave no answer", kind="missing")


def _check_picture(result: GeneratedPicture, *, travelled: bool) -> tuple[bytes, str, int, int, str]:
    """Bytes to store, format, width, height, and what was changed; BadFile when it is no whole picture.

    A picture that came over a network is decoded whole. One that was encoded on this machine a moment ago is taken by
    its header: decoding would take as long as drawing it did.
    """
    header = open_header(result.image)
    if not travelled and header.format != "GIF":
        return result.image, header.format, header.width, header.height, ""
    picture = read_picture(result.image)
    data, format = picture.plain()
    return data, format, picture.width, picture.height, "; ".join(picture.notes)
