"""Chains small enough to follow by hand: shaders whose pictures are one gray, and a scorer that reads it.

A shader's gray hangs on its name, the prompt and the seed; from a picture at strength s it is (1 - s) of that one's
gray and s of its own.

python cohp_example.py FOLDER       chains in processes that are killed at many moments, each then gone on with
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

from PIL import Image
from refine_example import dying_at, forked

from salon.select import CohpReport, CohpSettings, chain_study
from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Item, Prompt, Scorer, Signature

PROMPTS = [Prompt(id=f"p{number}", text=f"poster {number}") for number in range(3)]


class Shader:
    """`fails` says which asks come to nothing; `note` is told of each."""

    def __init__(
        self,
        name: str,
        light: int = 60,
        fails: Callable[[Ask], bool] = lambda _: False,
        note: Callable[[str], None] = lambda _: None,
        **abilities: bool,
    ) -> None:
        self.name, self.light, self.fails, self.note = name, light, fails, note
        self.abilities = Abilities(**({"image_to_image": True, "seeded": True, "offline": True} | abilities))
        self.signature = Signature(method=f"shader {name}", version="test")
        self.asked: list[tuple[str, int, float | None]] = []

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        for index, ask in enumerate(asks):
            self.asked.append((ask.prompt.id, ask.seed, ask.strength))
            self.note(f"{self.name} {ask.prompt.id} {ask.seed}")
            if self.fails(ask):
                yield index, FailedPicture(reason="out of paint", kind="empty")
                continue
            target = io.BytesIO()
            Image.new("RGB", (24, 32), (self._gray(ask),) * 3).save(target, "PNG")
            yield index, GeneratedPicture(image=target.getvalue())

    def _gray(self, ask: Ask) -> int:
        own = self.light + crc32(f"{self.name} {ask.prompt.id} {ask.seed}".encode()) % 100
        if ask.image is None:
            return own
        before = Image.open(io.BytesIO(ask.image)).getpixel((0, 0))[0]  # type: ignore[index]
        share = ask.strength or 1.0
        return round((1 - share) * float(before) + share * own)


class Lightness:
    """The gray of the first pixel less `below`; None where it is divisible by `gap`."""

    def __init__(self, below: float = 0.0, gap: int = 0, name: str = "lightness") -> None:
        self.name, self.below, self.gap = name, below, gap
        self.signature = Signature(method="lightness", settings={"below": below, "gap": gap}, version="test")
        self.looks = 0

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        self.looks += len(items)
        grays = [Image.open(str(item.image)).getpixel((0, 0))[0] for item in items]  # type: ignore[index]
        return [None if self.gap and gray % self.gap == 0 else float(gray) - self.below for gray in grays]


def shaders(**options: Callable[[str], None] | Callable[[Ask], bool]) -> list[Shader]:
    return [Shader("dim", 40, **options), Shader("fair", 80, **options)]  # type: ignore[arg-type]


def chain(
    folder: Path,
    generators: Sequence[Shader] | None = None,
    scorers: Sequence[Scorer] | None = None,
    prompts: Sequence[Prompt] = PROMPTS,
    **settings: object,
) -> CohpReport:
    told = {"tries": 2, "rounds": 2, "batch": 2} | settings
    return chain_study(prompts, generators or shaders(), CohpSettings(**told), folder, scorers=scorers or [Lightness()])


# -- killed ------------------------------------------------------------------------------------------------------------


def noted(folder: Path, counts: Path) -> None:
    """The chains; every picture is written down before it is made."""

    def note(words: str) -> None:
        with counts.open("a") as file:
            file.write(f"{words}\n")

    chain(folder, shaders(note=note), prompts=PROMPTS[:1], tries=1, rounds=1)


def killed(folder: Path, step: int) -> dict[str, object]:
    """Chains killed at a step, then gone on with: how both ended, what was drawn again, and the report."""
    home, counts = folder / f"at-{step}" / "chain", folder / f"at-{step}" / "counts"
    home.parent.mkdir(parents=True)

    def first() -> None:
        dying_at(step)
        noted(home, counts)

    ends = [forked(first), forked(lambda: noted(home, counts))]
    report = json.loads((home / "cohp" / "report.json").read_text())
    report.pop("notes")
    done = Counter(counts.read_text().splitlines())
    return {"ends": ends, "again": sum(done.values()) - len(done), "report": report}


def main(folder: Path) -> None:
    """Kill in a round, and not at all: these chains wait for the disk some fifty times."""
    print(json.dumps({step: killed(folder, step) for step in (42, 1000)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
