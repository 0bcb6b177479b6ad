"""A loop small enough to follow by hand: a painter, a critic and a scorer that know only how light a picture is.

The painter paints one gray, lighter by 20 for every "!" in the prompt, and a little by the seed. The critic sees a
picture and asks for one "!" more than it shows. So the gray of every round is known.

python refine_example.py FOLDER COUNTS       a loop in a process of its own, to be killed; it counts what it does
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from PIL import Image

from salon.flows.refine import RefineSettings
from salon.flows.refine_results import RefineReport
from salon.flows.refining import refine_study
from salon.judge.diagnose import shown_prompts
from salon.judge.scripted import Said, Scripted
from salon.judge.vlm import Conversation
from salon.study import Abilities, Ask, Failed, Item, Made, Prompt, Signature

PROMPTS = [Prompt(id=f"p{number}", text=f"poster {number}") for number in range(4)]


def gray(prompt: Prompt, seed: int) -> int:
    return 40 + 20 * prompt.view().count("!") + seed % 7


class Painter:
    """`fails` says which asks come to nothing; `note` is told of each."""

    name = "painter"
    abilities = Abilities(seeded=True, offline=True)
    signature = Signature(method="painter", version="test")

    def __init__(
        self, fails: Callable[[Ask], bool] = lambda _: False, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self.fails, self.note = fails, note
        self.asked: list[tuple[str, int, str]] = []

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, Made | Failed]]:
        for index, ask in enumerate(asks):
            self.asked.append((ask.prompt.id, ask.seed, ask.prompt.view()))
            self.note(f"paint {ask.prompt.id} {ask.seed} {ask.prompt.view()}")
            if self.fails(ask):
                yield index, Failed(reason="out of paint", kind="error")
                continue
            target = io.BytesIO()
            Image.new("RGB", (24, 32), (gray(ask.prompt, ask.seed),) * 3).save(target, "PNG")
            yield index, Made(image=target.getvalue())


class Lightness:
    """The gray of the first pixel."""

    name = "lightness"
    signature = Signature(method="lightness", version="test")

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        assert all(prompt in PROMPTS for prompt in prompts)  # the original, never a revised one
        return [float(Image.open(str(item.image)).getpixel((0, 0))[0]) for item in items]  # type: ignore[index]


def revised(text: str, about: str = "light") -> str:
    return json.dumps({"diagnosis": [{"about": about, "finding": "too dark"}], "prompt": text})


def critic(asked: Conversation) -> Said:
    """What it says rests on the picture and the original prompt alone."""
    shown = Image.open(asked.sights[0].path).getpixel((0, 0))[0]  # type: ignore[index]
    marks = (int(shown) - 40) // 20 + 1
    return revised(f"{shown_prompts(asked)[0].text}{'!' * marks}")


def loop(folder: Path, painter: Painter | None = None, says: Callable[[Conversation], Said] = critic,
         **settings: object) -> RefineReport:  # fmt: skip
    vlm = Scripted("critic", says)
    vlm.signature = Signature(method="critic", version="test")
    return refine_study(
        PROMPTS, painter or Painter(), vlm, RefineSettings(**settings), folder, scorers=[Lightness()]
    )  # fmt: skip


def main(folder: Path, counts: Path) -> None:
    """The loop, slowly; every stroke and every look is written down before it is made."""

    def note(words: str) -> None:
        with counts.open("a") as file:
            file.write(f"{words}\n")
        time.sleep(0.01)

    def says(asked: Conversation) -> Said:
        note(f"look {asked.sights[0].item}")
        return critic(asked)

    loop(folder, Painter(note=note), says)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
