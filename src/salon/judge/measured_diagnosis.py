"""Diagnosing without a model: flaws that rules find in pixels, or that the record of a drawn poster tells.

Both answer the question of `diagnose` as a VLM would, with the picture and the prompts in it and nothing else, and both
revise the prompt by asks (`salon.render.brief_text`): one sentence for each flaw found, which the built-in houses heed.

By pixels eight of the thirteen flaws can be found. Each has a measurement (`salon.judge.measurements`) and a bound. The
bounds were set once, on clean posters of the house `proof` and posters with one flaw planted (docs/methods/loop.md).
The rest are not looked for: no rule here finds them. By layout all are known: an oracle, the most that looking gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from salon.engine.processes import cores, over_processes
from salon.errors import BadFile, SalonError
from salon.judge.diagnose import shown_prompts, told
from salon.judge.measurements.boxes import alignment, headline_place, hierarchy
from salon.judge.measurements.contrast import text_contrast
from salon.judge.measurements.palette import palette_match
from salon.judge.measurements.seen import Seen
from salon.judge.measurements.spacing import even_spacing
from salon.judge.measurements.words import found_words
from salon.judge.pixel_rules import lines_of, plain_words
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.models.kept import Kept
from salon.models.ocr import READER, remembered_reading
from salon.render.brief_text import with_asks
from salon.render.layout import DefectKind, Layout
from salon.store.pictures import read_bytes, read_picture
from salon.study import Prompt, Signature

VERSION = 1
"""Of the bounds; raised when the same picture would be diagnosed otherwise."""
PICTURES_EACH = 8
"""Pictures that are worth another process."""


class Bound(NamedTuple):
    """A measurement and the least value that is no flaw."""

    about: str
    measure: Callable[[Seen], float | None]
    least: float
    words: str
    """What to say, with {value} in it."""


BOUNDS: dict[DefectKind, Bound] = {
    "low-contrast": Bound("contrast", text_contrast, 4.5, "The letters stand out from the ground by {value:.1f} to 1."),
    "broken-hierarchy": Bound("hierarchy", hierarchy, 1.2, "The largest line is 2^{value:.1f} times the others."),
    "misalignment": Bound("layout", alignment, 0.65, "Few blocks of text share an edge ({value:.2f} of 1)."),
    "bad-kerning": Bound("typography", even_spacing, -0.075, "Gaps between the headline's letters vary: {value:.2f}."),
    "wrong-color": Bound("color", palette_match, 0.8, "The colors are {value:.2f} of 1 near to those named."),
    "wrong-position": Bound("layout", headline_place, 0.84, "The headline is not where it was asked for."),
}
"""Flaw to the measurement that finds it."""
ABOUT: dict[DefectKind, str] = {
    "misspelling": "text", "missing-text": "text", "clashing-colors": "color", "wrong-font-pairing": "typography",
    "off-mood-style": "style and mood", "extra-element": "content", "crowding": "layout",
    **{kind: bound.about for kind, bound in BOUNDS.items()},
}  # fmt: skip
Found = tuple[DefectKind, str]
"""A flaw, and the sentence that says how it shows."""


class Measured:
    """Answers as a VLM; `look` finds the flaws of one picture."""

    def __init__(
        self, name: str, look: Callable[[tuple[Path, Prompt]], list[Found]], method: str, processes: int | None = None
    ) -> None:
        self.name, self._look, self._processes = name, look, processes
        settings = {"bounds": VERSION, "reader": READER} if look is by_pixels else {"bounds": VERSION}
        self.signature = Signature(method=method, settings=settings)

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, reply) as they are found; a picture that cannot be looked at gets none."""
        asked = list(conversations)
        tasks = [(one.sights[0].path, shown_prompts(one)[0]) for one in asked]
        most = self._processes or cores()
        count = max(1, min(most, len(tasks) // PICTURES_EACH))
        for index, found in over_processes(self._look, tasks, processes=count):
            if isinstance(found, SalonError):
                yield index, NoReply(kind="broken-image", reason=str(found))
            elif isinstance(found, Exception):
                raise found
            else:
                yield index, Reply(text=answer(shown_prompts(asked[index])[-1], found))


def pixel_diagnosis(name: str, processes: int | None = None) -> Measured:
    """Looks at pixels."""
    return Measured(name, by_pixels, "diagnosis by pixels", processes)


def layout_diagnosis(name: str) -> Measured:
    """Reads the record of how the poster was drawn."""
    return Measured(name, by_layout, "diagnosis by layout", 1)


def answer(prompt: Prompt, found: Sequence[Found]) -> str:
    """The JSON object that `diagnose` reads: remarks, and the prompt with an ask for each flaw."""
    remarks = [{"about": ABOUT[kind], "finding": words} for kind, words in found]
    revised = with_asks(prompt, [kind for kind, _ in found])
    return json.dumps({"diagnosis": remarks, "prompt": json.loads(told(revised))}, ensure_ascii=False)


# -- looking ---------------------------------------------------------------------------------------------------------


def by_pixels(task: tuple[Path, Prompt]) -> list[Found]:
    """The flaws that a picture shows, by rule."""
    path, prompt = task
    picture = read_picture(path)
    seen = Seen(picture.image, prompt, lambda: remembered_reading(picture.image, picture.sha256, _kept()))
    return [*_measured(seen), *_words(seen)]


def _measured(seen: Seen) -> Iterator[Found]:
    for kind, bound in BOUNDS.items():
        value = bound.measure(seen)
        if value is not None and value < bound.least:
            yield kind, bound.words.format(value=abs(value))


def _words(seen: Seen) -> Iterator[Found]:
    """A text of which no line is found is missing; one of which lines are found, but not all words, is misspelled."""
    missing, wrong = [], []
    for text in seen.asked.values():
        words = plain_words(text)
        there = found_words([words], (" ".join(plain_words(line.text)) for line in seen.lines))[0]
        if all(there):
            continue
        if lines_of(text, seen.lines):
            wrong += [word for word, is_there in zip(words, there) if not is_there]
        else:
            missing.append(text)
    if wrong:
        yield "misspelling", f"Not read as given: {', '.join(wrong[:8])}."
    if missing:
        yield "missing-text", f"Not found: {'; '.join(missing[:4])}."


@cache
def _kept() -> Kept:
    """One connection for each process."""
    return Kept()


def by_layout(task: tuple[Path, Prompt]) -> list[Found]:
    """The flaws that were planted, by the record at layouts/NAME.json beside images/NAME.png."""
    path, _ = task
    record = path.parent.parent.parent / "layouts" / path.parent.name / f"{path.stem}.json"
    try:
        layout = Layout.parse(json.loads(read_bytes(record)), where=str(record))
    except ValueError as error:
        raise BadFile("the record of a poster, as JSON, is needed", found=error, where=str(record)) from None
    return [(defect.kind, f"{defect.kind}: {defect.detail}") for defect in layout.defects]
