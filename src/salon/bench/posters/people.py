"""Is the judge right? Some of its verdicts as a study in which people answer the same questions, in the studio.

One item of the study is one verdict: the poster, what was said about it, and the point. The judge is a rater of the
study and has answered already; nobody sees that. People tick the same point, and `salon judge report` says how often
the judge and they agree.

    STUDY/                prompts (what was said and the point), items (posters), the judge's checklists
    STUDY/studio.toml     one cohort, one checklist
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from pydantic import Field

from salon.bench.posters.answers_judged import read_yes
from salon.bench.posters.answers_said import Read
from salon.bench.posters.files import PosterFile, find_picture
from salon.bench.posters.item import PosterItem
from salon.errors import TooFew
from salon.store.folder import name_after, save_study
from salon.study import Checklist, Criterion, Item, Prompt, Rater, Study
from salon.study.noun import Noun

TICK = "The point holds"
"""The one tick of every screen."""
COVERED = Criterion(
    id="covered",
    name="Covered",
    question="Does the point hold?",
    rubric="Of an answer: it says so, in these words or others. Of a poster: it can be seen.",
)
_STUDIO = """\
guidelines = \"\"\"
You will see a poster, and a point about it or about what somebody said of it. Say whether the point holds. Judge what
is said or shown, not whether you like it.
\"\"\"

[[cohorts]]
id = "people"

[[cohorts.phases]]
id = "points"
protocol = "checklist"
criteria = ["covered"]
points = ["The point holds"]
checks = {{ repeats = {repeats} }}
"""
_LONGEST = 3000
"""Characters of an answer that people are shown."""


class PeopleReport(Noun):
    """What was drawn."""

    judge: str = Field(description="Whose verdicts they are.")
    drawn: int = Field(description="Verdicts in the study.")
    of: int = Field(description="Verdicts there are, with a picture to show.")
    yes: int = Field(description="Drawn verdicts that say yes.")
    by_task: dict[str, int] = Field(description="Drawn verdicts by task.")
    unread: int = Field(description="Words of the judge that say neither yes nor no: not drawn.")
    no_picture: int = Field(description="Verdicts about posters that are not there: not drawn.")
    output: str = Field(description="Folder of the study.")


class _Verdict(Noun):
    task: str
    number: int
    point: int
    text: str
    said: str | None
    picture: Path
    holds: bool

    @property
    def id(self) -> str:
        return f"{self.task}-{self.number:04d}-{self.point:02d}"


def people_study(
    files: Sequence[PosterFile], pictures: Path, out: Path, *, judge: str, n: int = 100, seed: int = 0
) -> PeopleReport:
    """Draw `n` verdicts, every one with the same chance, into a study at `out`; TooFew where there are fewer."""
    left_out: Counter[str] = Counter()
    there = [one for file in files if file.task.answer == "points" for one in _verdicts(file, pictures, left_out)]
    if len(there) < n:
        raise TooFew(
            f"{n} verdicts with a picture are needed", found=len(there), where=str(files[0].path.parent),
            remedy="salon bench posters judge first, --pictures with the posters, or a smaller -n",
        )  # fmt: skip
    chosen = np.sort(np.random.default_rng(seed).choice(len(there), n, replace=False))
    drawn = [there[int(at)] for at in chosen]
    save_study(_study(name_after(out), judge, drawn), out)
    for one in drawn:
        place = out / _place(one)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(one.picture, place)
    (out / "studio.toml").write_text(_STUDIO.format(repeats=min(5, n // 10)), encoding="utf-8")
    return PeopleReport(
        judge=judge, drawn=n, of=len(there), yes=sum(one.holds for one in drawn),
        by_task=dict(Counter(one.task for one in drawn)), unread=left_out["unread"], no_picture=left_out["picture"],
        output=str(out),
    )  # fmt: skip


def _verdicts(file: PosterFile, pictures: Path, left_out: Counter[str]) -> Iterator[_Verdict]:
    for item in file.items:
        picture = find_picture(pictures, item.path)
        for point, (text, words) in enumerate(zip(item.truth, item.judge or ())):
            verdict = read_yes(words)
            if not isinstance(verdict, Read):
                left_out["unread"] += bool(words)
            elif picture is None:
                left_out["picture"] += 1
            else:
                yield _Verdict(
                    task=item.task.name, number=item.number, point=point, text=text, said=_said(item), picture=picture,
                    holds=verdict.value,
                )  # fmt: skip


def _said(item: PosterItem) -> str | None:
    return None if item.task.side == "generation" else (item.response or "")[:_LONGEST]


def _study(name: str, judge: str, drawn: Sequence[_Verdict]) -> Study:
    prompts = [Prompt(id=one.id, text=_asked(one)) for one in drawn]
    items = [Item(id=one.id, prompt=one.id, category=one.task, image=_place(one)) for one in drawn]
    ticks = [
        Checklist(rater=judge, criterion=COVERED.id, item=one.id, points=(TICK,), answers=(one.holds,)) for one in drawn
    ]
    tables = {"prompts": prompts, "items": items, "raters": [Rater(id=judge, kind="model")], "checklists": ticks}
    return Study.build(name, [COVERED], tables=tables)


def _asked(one: _Verdict) -> str:
    point = f"Point: {one.text}"
    return f"Somebody said of this poster:\n\n{one.said}\n\n{point}" if one.said else point


def _place(one: _Verdict) -> str:
    return f"images/{one.id}{one.picture.suffix.lower()}"
