"""`salon check` on public files: answers, time and memory; writes docs/evidence/real-checks.md.

SALON_DATA=FOLDER python -m prove.real_checks [FOLDER]     files are looked for in both folders; those missing are named
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from prove._page import wrapped
from salon.check.results import ANSWERS

OUT = Path(__file__).parents[1] / "docs/evidence/real-checks.md"
DATA = Path(os.environ.get("SALON_DATA") or Path(__file__).parents[2] / "shared/data")
LONGEST, MOST = 70.0, 8 * 1024**3
"""Seconds and bytes (of addresses) that a check may take; one that needs more is said to have been stopped."""
FILMS = 50
IMAGENHUB = tuple(f"imagenhub_t2i/Text-To-Image_rater{number}.tsv" for number in (1, 2, 3))
SETS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Sushi (PrefLib)", ("sushi/00014-00000001.soc",)),
    *((f"dots {number} (PrefLib)", (f"preflib/00024-0000000{number}.soc",)) for number in (1, 2, 3, 4)),
    *((f"puzzle {number} (PrefLib)", (f"preflib/00025-0000000{number}.soc",)) for number in (1, 2, 3, 4)),
    ("MovieLens 100K", ("movielens/u.data",)),
    (f"MovieLens 100K, the {FILMS} most rated films", ("movielens/u.data",)),
    ("TIFA160 (DSG)", ("dsg_tifa160/tifa160-likert-anns.csv",)),
    ("GenAI-Bench", ("genai_bench/image_generation.csv",)),
    ("ImageReward", ("imagereward/test.json",)),
    ("LLMFAO", ("llmfao/llmfao.csv",)),
    ("pwcmp", ("pwcmp/ex3_tmo_cmp_data.csv",)),
    ("ImagenHub", IMAGENHUB),
)
HEAD = """\
# `salon check` on public data

Written by `make prove ONLY=real_checks`; see [verdicts](../methods/signal.md). Each file went through `salon check
FILE --json`
with its defaults, in a process of its own. Reading the file is part of the time, and so are the {bare:.1f} s and
{base:.0f} MB that the command needs to say its help. *CPU*: user and system seconds. *Elapsed*: on a machine of two
cores that had other work, so an upper bound. *MB*: the peak of the process. *p*: of the test behind the first answer,
after Holm. A check was stopped after {longest:.0f} s elapsed or 8 GB. Where a criterion has few prompts, [one taste or
camps](../methods/factions.md) cannot be told.

"""
NOTES = """
- Sushi, dots and puzzle: one question, each voter a rater.
- MovieLens: one question, 943 raters of 20 to 737 of 1,682 films each.
- GenAI-Bench: every column is a rater, so the answers are those of its people and of the models that judged them.
- ImageReward: one ranking of each prompt without a rater, so there is nothing that could agree.
- ImagenHub: three files, imported into one study first (not timed).

None of these files is part of this repository."""


def measure(command: list[str]) -> tuple[int, str, str, float, float, float]:
    """Exit code, output, errors, CPU seconds, elapsed seconds and peak megabytes of one process."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "salon", *command], stdout=out, stderr=err, preexec_fn=_limit)
        used = None
        while used is None:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                used = usage
            elif time.perf_counter() - began > LONGEST:
                process.kill()
                _, status, used = os.wait4(process.pid, 0)
            else:
                time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        elapsed = time.perf_counter() - began
        out.seek(0)
        err.seek(0)
        peak = used.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
        return process.returncode, out.read(), err.read(), used.ru_utime + used.ru_stime, elapsed, peak


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))


def find(names: tuple[str, ...], folders: list[Path]) -> list[Path] | None:
    """The files of a set, all in one folder."""
    for folder in folders:
        if all((folder / name).is_file() for name in names):
            return [folder / name for name in names]
    return None


def rows(name: str, files: list[Path], work: Path) -> list[str]:
    """One row for each criterion of a set; figures of the process stand in the first."""
    target = files[0]
    if "most rated" in name:
        answers = target.read_text().splitlines()
        often = {film for film, _ in Counter(line.split("\t")[1] for line in answers).most_common(FILMS)}
        target = work / "u.data"
        target.write_text("".join(f"{line}\n" for line in answers if line.split("\t")[1] in often))
    if len(files) > 1:
        target = work / "study"
        subprocess.run(
            [sys.executable, "-m", "salon", "import", "imagenhub", *map(str, files), "-o", str(target)],
            check=True, capture_output=True,
        )  # fmt: skip
    code, out, err, cpu, elapsed, peak = measure(["check", str(target), "--json"])
    cost = f"{cpu:.1f} | {elapsed:.1f} | {peak:,.0f}"
    if code not in (0, 1) or not out.strip():
        said = " ".join(err.split())[-200:]
        if elapsed > LONGEST or code < 0 or "MemoryError" in err or "Unable to allocate" in err:
            said = "**stopped before it ended**"
        return [f"| {name} |  |  |  | {said} |  | {cost} |"]
    report = json.loads(out)
    table = []
    for place, found in enumerate(report["criteria"]):
        main = next((t for t in found["tests"] if t["name"] in ("agreement", "pairs") and t["p"] is not None), None)
        p = "" if main is None else f"{main['p_holm']:.2g}" if main["p_holm"] > 1e-300 else "< 1e-300"
        label = name if len(report["criteria"]) == 1 else f"{name}: {found['name']}"
        answer = ANSWERS[found["agree"], found["taste"]]
        table.append(
            f"| {label} | {found['protocol']} | {found['prompts']:,} | {found['judgments']:,} | {answer} | {p} "
            f"| {cost if place == 0 else ' | | '} |"
        )
    return table


def main(folders: list[Path]) -> None:
    """Check every set that is there."""
    _, _, _, bare, _, base = measure(["check", "--help"])
    lines = [
        HEAD.format(bare=bare, base=base, longest=LONGEST),
        "| set | protocol | prompts | answers given | do raters agree; as one taste? | p | CPU s | elapsed s | MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    missing = []
    for name, names in SETS:
        files = find(names, folders)
        if files is None:
            missing.append(f"{name} (`{names[0]}`)")
            continue
        with tempfile.TemporaryDirectory() as work:
            lines += rows(name, files, Path(work))
        print(lines[-1], flush=True)
    if missing:
        lines += ["", *wrapped(f"Not at hand, so not measured: {', '.join(missing)}.").splitlines()]
    lines.append(NOTES)
    OUT.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main([*(Path(word) for word in sys.argv[1:]), DATA])
