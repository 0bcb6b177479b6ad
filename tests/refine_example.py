"""A loop small enough to follow by hand: a painter, a critic and a scorer that know only how light a picture is.

The painter paints one gray, lighter by 20 for every "!" in the prompt, and a little by the seed. The critic sees a
picture and asks for one "!" more than it shows. So the gray of every round is known.

python refine_example.py FOLDER       loops in processes that are killed at many moments, each then gone on with
"""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from PIL import Image

from salon.judge import Conversation, ScriptedVlm
from salon.judge.diagnosis import prompts_in_question
from salon.judge.simulation import ScriptAnswer
from salon.select import RefineSettings, refine_study
from salon.select.refine_scores import RefineReport
from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Item, Prompt, Signature

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

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        for index, ask in enumerate(asks):
            self.asked.append((ask.prompt.id, ask.seed, ask.prompt.view()))
            self.note(f"paint {ask.prompt.id} {ask.seed} {ask.prompt.view()}")
            if self.fails(ask):
                yield index, FailedPicture(reason="out of paint", kind="error")
                continue
            target = io.BytesIO()
            Image.new("RGB", (24, 32), (gray(ask.prompt, ask.seed),) * 3).save(target, "PNG")
            yield index, GeneratedPicture(image=target.getvalue())


class Lightness:
    """The gray of the first pixel."""

    name = "lightness"
    signature = Signature(method="lightness", version="test")

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        assert all(prompt in PROMPTS for prompt in prompts)  # the original, never a revised one
        return [float(Image.open(str(item.image)).getpixel((0, 0))[0]) for item in items]  # type: ignore[index]


def revised(text: str, about: str = "light") -> str:
    return json.dumps({"diagnosis": [{"about": about, "finding": "too dark"}], "prompt": text})


def critic(asked: Conversation) -> ScriptAnswer:
    """What it says rests on the picture and the original prompt alone."""
    shown = Image.open(asked.sights[0].path).getpixel((0, 0))[0]  # type: ignore[index]
    marks = (int(shown) - 40) // 20 + 1
    return revised(f"{prompts_in_question(asked)[0].text}{'!' * marks}")


def loop(
    folder: Path,
    painter: Painter | None = None,
    says: Callable[[Conversation], ScriptAnswer] = critic,
    prompts: Sequence[Prompt] = PROMPTS,
    **settings: object,
) -> RefineReport:
    vlm = ScriptedVlm("critic", says)
    vlm.signature = Signature(method="critic", version="test")
    return refine_study(prompts, painter or Painter(), vlm, RefineSettings(**settings), folder, scorers=[Lightness()])


# -- killed ------------------------------------------------------------------------------------------------------------


def noted(folder: Path, counts: Path) -> None:
    """The loop; every stroke and every look is written down before it is made."""

    def note(words: str) -> None:
        with counts.open("a") as file:
            file.write(f"{words}\n")

    def says(asked: Conversation) -> ScriptAnswer:
        note(f"look {asked.sights[0].item}")
        return critic(asked)

    loop(folder, Painter(note=note), says, rounds=1, prompts=PROMPTS[:2])


def dying_at(step: int) -> None:
    """Make this process kill itself in place of its `step`-th wait for the disk."""
    count = itertools.count(1)

    def fsync(number: int) -> None:
        if next(count) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = fsync


def forked(work: Callable[[], None]) -> int:
    """`work` in a process of its own: how it ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(folder: Path, step: int) -> dict[str, object]:
    """A loop killed at a step, then gone on with: how both ended, what was done how often, and the report."""
    home, counts = folder / f"at-{step}" / "loop", folder / f"at-{step}" / "counts"
    home.parent.mkdir(parents=True)

    def first() -> None:
        dying_at(step)
        noted(home, counts)

    ends = [forked(first), forked(lambda: noted(home, counts))]
    report = json.loads((home / "refine" / "report.json").read_text())
    report.pop("notes")
    done = Counter(counts.read_text().splitlines())
    return {"ends": ends, "again": sum(done.values()) - len(done), "report": report}


def main(folder: Path) -> None:
    """Kill at every 31st wait for the disk until a loop gets through."""
    found = {}
    for step in range(1, 2000, 31):
        found[step] = killed(folder, step)
        if found[step]["ends"] == [0, 0]:
            break
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
