"""Save studies in processes that are killed, and count what is found afterwards. Run by test_kill.py.

    python killed_writer.py FOLDER step|time exchange|aside ROUNDS

`step` kills the writer before its first, second, third ... system call that changes the disk, until one save gets
through; `time` kills it a random while after some of its saves, at work on the next one or done. `aside` takes away
the exchange of folders.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from salon.store import atomic_files as atomic, open_study, save_study
from salon.study import Comparison, Criterion, Item, Rater, Study

CALLS = ("mkdir", "replace", "rename", "link", "unlink", "rmdir", "fsync")
ENOUGH = 1000


def study(rows: int) -> Study:
    """A small study; two of them differ in name and size."""
    raters = [Rater(id=f"r{number}") for number in range(rows)]
    answers = [Comparison(criterion="c", rater=rater.id, a="x", b="y", outcome="a") for rater in raters]
    tables = {"items": [Item(id="x"), Item(id="y")], "raters": raters, "comparisons": answers}
    return Study.build(f"{rows} answers", [Criterion(id="c")], compare_within="all", tables=tables)


OLD, NEW = study(3), study(5)


def start(folder: Path) -> None:
    """The old study with an image and a reader's own note."""
    shutil.rmtree(folder.parent, ignore_errors=True)  # whatever the killed writer left
    save_study(OLD, folder)
    (folder / "images").mkdir()
    (folder / "images" / "x.png").write_bytes(b"png")
    (folder / "note.txt").write_text("mine")


def die_at(step: int) -> None:
    """Make this process kill itself instead of its `step`-th call that changes the disk."""
    count = itertools.count(1)

    def lethal(call):
        def called(*args, **kwargs):
            if next(count) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return called

    for name in CALLS:
        setattr(os, name, lethal(getattr(os, name)))
    atomic._exchange = lethal(atomic._exchange)


def state(folder: Path) -> str:
    """'old' or 'new' when the study is whole, with its image and note; else what is wrong."""
    found = open_study(folder)
    place = atomic.present_folder(folder)
    if (place / "images" / "x.png").read_bytes() != b"png" or (place / "note.txt").read_text() != "mine":
        return "files lost"
    return {OLD.hash: "old", NEW.hash: "new"}.get(found.hash, "mixed")


def by_step(folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for step in range(1, ENOUGH):
        start(folder)
        child = os.fork()
        if not child:
            die_at(step)
            save_study(NEW, folder, overwrite=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        found[state(folder)] += 1
        if status == 0:
            break
    found["steps"] = step
    return found


def by_time(folder: Path, rounds: int) -> Counter[str]:
    found: Counter[str] = Counter()
    rng = random.Random(1)
    start(folder)
    began = time.monotonic()
    save_study(OLD, folder, overwrite=True)
    takes = time.monotonic() - began  # on a busy machine longer
    for number in range(rounds):
        whole = number % 4 if number % 4 in (1, 2) else None  # in half of the rounds it stops after one or two saves
        saved, told = os.pipe()
        child = os.fork()
        if not child:
            for one in itertools.islice(itertools.cycle((NEW, OLD)), whole):
                save_study(one, folder, overwrite=True)
                os.write(told, b".")
            signal.pause()
        os.close(told)
        for _ in range(rng.randrange(3) if whole is None else whole):
            os.read(saved, 1)
        time.sleep(rng.uniform(0, takes))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(saved)
        found[state(folder)] += 1
    return found


def main(folder: Path, how: str, swap: str, rounds: int) -> None:
    if swap == "aside":
        atomic._exchange = lambda one, other: False
    found = by_step(folder) if how == "step" else by_time(folder, rounds)
    save_study(OLD, folder, overwrite=True)
    found["leftovers"] = len([name for name in os.listdir(folder.parent) if name != folder.name])
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
