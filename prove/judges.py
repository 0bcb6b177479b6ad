"""Judges of known worth, recovered, and the judges of GenAI-Bench; writes two pages of docs/methods.

python -m prove.judges [judges of each kind]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from prove._page import table, wrapped
from salon.collect import taste_like_study
from salon.evaluate import JudgeFigures, ReportSettings, report_judges
from salon.judge import JudgeSettings, SimulatedVlm, judge_study, panel_truth
from salon.stats import AGAINST, TIE, UNREAD, WITH, Accuracy, Estimate, identity_gap, judge_accuracy, kind_table
from salon.store import import_files, save_study
from salon.study import Study

Ints = NDArray[np.int64]
DOCS = Path(__file__).parents[1] / "docs/methods"
DATA = (
    Path(os.environ.get("SALON_DATA") or Path(__file__).parents[2] / "shared/data") / "genai_bench/image_generation.csv"
)
SEED, JUDGES, DRAWS = 2026, 200, 1000
PROMPTS, CRITERIA, PAIRS = 80, 9, 6
PUBLISHED = {
    "gemini-1.5-pro": 44.6686,
    "idefics2": 42.2478,
    "cogvlm": 29.3372,
    "blip2": 26.3401,
    "random": 25.3602,
    "idefics1": 0.8069,
}
"""The benchmark's own leaderboard, image generation, as printed in its repository in June and July 2024."""


@dataclass(frozen=True)
class Worth:
    """A planted judge; `spread` is the standard deviation of its c from prompt to prompt."""

    c: float
    b: float
    t: float = 0.0
    u: float = 0.0
    spread: float = 0.0

    def verdicts(self, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
        """(pairs, 2) verdicts, and the prompt and criterion of each pair."""
        prompt = np.repeat(np.arange(PROMPTS), CRITERIA * PAIRS)
        criterion = np.tile(np.repeat(np.arange(CRITERIA), PAIRS), PROMPTS)
        c = self.c + self.spread * np.where(rng.random(PROMPTS) < 0.5, -1, 1)[prompt]
        side = np.where(rng.random(len(prompt)) < c, WITH, AGAINST)
        said = np.stack([side, side], axis=1)
        chance = rng.random(len(prompt))
        said[chance < self.b] = (WITH, AGAINST)
        said[(chance >= self.b) & (chance < self.b + self.t)] = TIE
        said[rng.random(said.shape) < self.u] = UNREAD
        return said, prompt, criterion

    @property
    def unseen(self) -> float:
        """Chance that one order or both cannot be read."""
        return 1 - (1 - self.u) ** 2

    @property
    def accuracy(self) -> float:
        """By the identity."""
        return (1 - self.unseen) * ((1 - self.b - self.t) * self.c + (self.b + self.t) / 2)


PLANTED = (
    Worth(0.55, 0.0),
    Worth(0.63, 0.775),
    Worth(0.57, 0.46),
    Worth(0.66, 0.87),
    Worth(0.60, 0.40, 0.15),
    Worth(0.60, 0.40, 0.15, 0.03),
    Worth(0.75, 0.10, 0.02, 0.20),
    Worth(0.60, 0.40, spread=0.25),
)
RUN = {"plain": Worth(0.6, 0.4), "leaning": Worth(0.66, 0.87)}
FIGURES = ("accuracy", "position_bias", "conditional", "tie_rate", "unseen")


def recovered(worth: Worth, judges: int, rng: np.random.Generator) -> list[str]:
    """One row: what was planted, the mean estimate and the coverage of each figure, and the largest gap."""
    aims = dict(zip(FIGURES, (worth.accuracy, worth.b, worth.c, worth.t, worth.unseen)))
    values: dict[str, list[float]] = {name: [] for name in FIGURES}
    held = dict.fromkeys(FIGURES, 0)
    naive, gap = 0, 0.0
    for _ in range(judges):
        verdicts, prompt, criterion = worth.verdicts(rng)
        found = judge_accuracy(kind_table(verdicts, prompt, criterion, of=CRITERIA), draws=DRAWS, rng=rng)
        for name in FIGURES:
            figure = getattr(found.macro, name)
            values[name].append(figure.value)
            held[name] += figure.low <= aims[name] <= figure.high
        gap = max(gap, *(identity_gap(part) for part in (*found.by_criterion, found.pooled) if part is not None))
        naive += _naive_holds(found.pooled, worth)
    planted = f"c {worth.c:g}, b {worth.b:g}, t {worth.t:g}, unread {worth.u:g}"
    planted += f", c ± {worth.spread:g} by prompt" if worth.spread else ""
    cells = [f"{aims[name]:.3f} / {np.mean(values[name]):.3f} / {held[name] / judges:.1%}" for name in FIGURES]
    return [planted, *cells, f"{naive / judges:.1%}", f"{gap:.0e}"]


def _naive_holds(pooled: Accuracy, worth: Worth) -> bool:
    """Does a binomial interval that takes the decided pairs for independent hold c?"""
    c = pooled.conditional
    if c is None or pooled.tie_rate is None or pooled.position_bias is None:
        return False
    n = pooled.pairs * (1 - pooled.unseen.value) * (1 - pooled.tie_rate.value - pooled.position_bias.value)
    return bool(abs(c.value - worth.c) <= 1.96 * np.sqrt(c.value * (1 - c.value) / n))


def whole_run() -> tuple[list[list[str]], int]:
    """The path a user takes: a study in the shape of TASTE, simulated judges run on it, their report.

    One row a judge, and how many of their intervals miss what was planted.
    """
    study = taste_like_study(seed=1)
    worths = {f"{words} {seed}": (worth, seed) for words, worth in RUN.items() for seed in (0, 1, 2, SEED)}
    with TemporaryDirectory() as folder:
        save_study(study, Path(folder) / "study")
        for name, (worth, seed) in worths.items():
            judge = SimulatedVlm(name, panel_truth(study), accuracy=worth.c, position_bias=worth.b, seed=seed)
            judge_study(study, Path(folder) / "study", judge, JudgeSettings(criterion=_compared(study)), looks=False)
        made = report_judges(study, Path(folder) / "study", ReportSettings(seed=SEED), check=False)
    rows, missed = [], 0
    for one in sorted(made.judges, key=lambda one: list(worths).index(one.judge)):
        worth = worths[one.judge][0]
        figures = [getattr(one.macro, name) for name in ("accuracy", "position_bias", "conditional")]
        missed += sum(not f.low <= aim <= f.high for f, aim in zip(figures, (worth.accuracy, worth.b, worth.c)))
        gap = max(part.figures.identity_gap or 0.0 for part in one.criteria if part.figures)
        rows.append([one.judge, f"{one.macro.pairs:,}", *map(told, figures), f"{gap:.0e}"])
    return rows, missed


def _compared(study: Study) -> tuple[str, ...]:
    """The criteria on which people ranked or compared."""
    used = {*study.rankings.criterion.tolist(), *study.comparisons.criterion.tolist()}
    return tuple(study.criteria[number].id for number in sorted(used))


def told(figure: Estimate | None) -> str:
    """0.679 [0.658, 0.701]."""
    if figure is None:
        return "–"
    return f"{figure.value:.3f}" + ("" if figure.low is None else f" [{figure.low:.3f}, {figure.high:.3f}]")


# -- GenAI-Bench -----------------------------------------------------------------------------------------------------


def four_way(study: Study) -> dict[str, float]:
    """The benchmark's own figure: share of all votes with the same one of its four answers."""
    view = study.comparisons
    people = study.crowds[view.rater]
    truth = dict(zip(view.a[people].tolist(), view.outcome[people].tolist()))
    found = {}
    for rater in np.unique(view.rater[~people]).tolist():
        rows = view.rater == rater
        hits = sum(truth[a] == o for a, o in zip(view.a[rows].tolist(), view.outcome[rows].tolist()))
        found[study.label("raters", rater)] = hits / len(truth)
    return found


def bench_row(one: JudgeFigures, exact: float) -> list[str]:
    """Read verdicts, and accuracy with ties handled each way."""
    macro = one.macro
    figures = [told(getattr(macro, name)) for name in ("accuracy", "parsed_only", "tie_rate", "conditional")]
    published = PUBLISHED.get(one.judge)
    return [
        one.judge,
        f"{1 - macro.unseen.value:.1%}",
        *figures,
        told(one.with_ties),
        f"{100 * exact:.2f}" + ("" if published is None else f" ({published:.2f})"),
        "–" if one.says_first is None else f"{one.says_first.value:.0%}",
    ]


RECOVERY = f"""
{{judges}} judges of each kind, each on {PROMPTS * CRITERIA * PAIRS:,} pairs ({PROMPTS} prompts, {CRITERIA}
criteria, {PAIRS} pairs) in two orders, {DRAWS:,} bootstrap draws of prompts. Each cell: planted / mean estimate /
share of 95% intervals that hold the planted value; all figures are means over criteria. *naive*: share of
binomial intervals of c that hold it, pairs taken for independent. *gap*: the largest |accuracy - (1-u)((1-b-t)c +
(b+t)/2)| over all judges and criteria. A share of none is always held by its exact bound.
"""
READING = """
b, c, t, u and macro accuracy are recovered without bias, with and without unread verdicts. Intervals hold the
planted values in 91 to 97% of judges, where 95% are wanted and a share has a standard error of 1.5 points. Where c
differs from prompt to prompt (last row) pairs of a prompt go together: intervals over prompts still hold the
planted c, those over pairs do not.
"""
WHOLE = """
The path a user takes: a simulated study in the shape of TASTE, `salon judge run --simulated` on it, `salon judge
report`. Planted: plain c .6, b .4, accuracy .56; leaning c .66, b .87, accuracy .521; four seeds each. {missed} of
{intervals} intervals miss what was planted; one in twenty should.
"""
BENCH = """
{votes:,} votes of people on pairs of pictures, {judges} VLM judges and one at random, as published with the
benchmark (MIT licence). One order, one vote a pair, generators anonymous. Read as raters by `salon import`; blank
verdicts and verdicts that are none of the four answers were left out by it and count as unread here.
"""
ORDER = """
**One order cannot give a position bias.** Image A is always the first; a judge that says A may mean the picture
or the place. So b is not printed, and c is only its accuracy where it names a picture. What can be seen: {lean}
name the first picture in nine of ten answers or more, while people choose it in {people:.0%} of decided votes.
"""
COLUMNS = """
*read*: share of the {decided:,} pairs with a winner (people's ties and both-bad, {tied}, left out) on which the
verdict could be read. *accuracy*: over these pairs, a judge's tie ½, unread 0; chance .5. *parsed only*: unread
left out. *t*: ties among the read; *c*: accuracy where it names a picture. *ties counted*: over all {votes:,}
pairs, right if the same of first, second or tie (both-bad is a tie), unread wrong. *four-way*: the benchmark's
own figure in percent, both-bad apart from tie (in brackets: as printed in its repository). *first*: share of its
answers naming a picture that name the first.
"""
READ_BENCH = """
Ties decide the ranking below the top: QwenVL and LLaVA-NeXT, which answer "both good" often, fall behind an
always-first LLaVA when ties are counted and are level with it when they are not; all three are at chance. Unread
answers matter as much: CogVLM and BLIP-2 are at chance on what could be read and far below it as raters one would
have to use. Only GPT-4o, Gemini 1.5 Pro and Idefics2 are better than chance.
"""


def main(judges: int) -> None:
    """Write both pages."""
    rng = np.random.default_rng(SEED)
    rows = []
    for worth in PLANTED:
        rows.append(recovered(worth, judges, rng))
        print(*rows[-1], sep=" | ", flush=True)
    head = ["planted", "accuracy", "b", "c", "t", "u", "naive", "gap"]
    run, missed = whole_run()
    see = f"Written by `make prove ONLY=judges` (seed {SEED}); see [judge report](judge-report.md).\n"
    words = [wrapped(text) + "\n" for text in (RECOVERY.format(judges=judges), READING)]
    whole = wrapped(WHOLE.format(missed=missed, intervals=3 * len(run))) + "\n"
    parts = ["# Judges of known worth, recovered\n", see, words[0], table(head, rows), words[1]]
    parts += ["## Through the whole path\n", whole, table(["judge", "pairs", "accuracy", "b", "c", "gap"], run)]
    (DOCS / "judge-recovery.md").write_text("\n".join(parts), encoding="utf-8")
    if DATA.is_file():
        _genai_bench(see)


def _genai_bench(see: str) -> None:
    study = import_files("genai-bench", [DATA]).study
    made = report_judges(study, None, ReportSettings(seed=SEED), check=False)
    exact = four_way(study)
    panel = made.panel[0]
    view = study.comparisons
    people = view.outcome[study.crowds[view.rater]]
    facts = {
        "votes": panel.votes,
        "judges": len(made.judges) - 1,
        "decided": panel.pairs - panel.tied,
        "tied": panel.tied,
        "people": float((people == 0).sum() / (people < 2).sum()),
        "lean": _leaning(made.judges),
    }
    head = ["judge", "read", "accuracy", "parsed only", "t", "c", "ties counted", "four-way", "first"]
    parts = ["# The judges of GenAI-Bench\n", see, wrapped(BENCH.format(**facts)) + "\n",
             wrapped(ORDER.format(**facts)) + "\n", wrapped(COLUMNS.format(**facts)) + "\n",
             table(head, [bench_row(one, exact[one.judge]) for one in made.judges]), wrapped(READ_BENCH) + "\n",
             f"Signature: `{made.signature_line}`\n"]  # fmt: skip
    (DOCS / "genai-bench-judges.md").write_text("\n".join(parts), encoding="utf-8")


def _leaning(judges: Sequence[JudgeFigures]) -> str:
    """Judges that say the first picture in nine of ten answers, as words."""
    names = [one.judge for one in judges if one.says_first is not None and one.says_first.value >= 0.9]
    return f"{', '.join(names[:-1])} and {names[-1]}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else JUDGES)
