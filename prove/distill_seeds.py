"""How often a tiny VLM learns: ten seeds, chosen beforehand, none left out.

python -m prove.distill_seeds [SCRATCH]

Writes docs/methods/distill-seeds-table.md. Each seed has its own posters, judge, weights and sampling. Everything goes
through what users call: labels by the bridge, `salon distill train`, `salon distill evaluate`. Runs are kept in the
scratch folder, so that a proof which was stopped goes on.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from salon.evaluate.score_results import ScoreEvaluationSettings
from scipy.stats import binomtest

from prove._hued import hued_study, judged_labels, taught, tiny_speaker
from prove._page import table, wrapped
from prove.distill_learns import PLAIN, answer_levels, write_truth
from salon.evaluate import ScoreQuestion, evaluate_scores, read_pseudo_scores
from salon.report import Curve
from salon.report.charts import line_curves
from salon.report.page import standalone_svg
from salon.train import DistillSettings, distill_study
from salon.train.distillation import one_pass_form

DOCS = Path(__file__).parents[1] / "docs/methods"
SEEDS = range(10)
"""Fixed before the settings were found; those were found on seeds 100 to 114."""
COUNT = 260
LEARNED = 0.5
"""A seed has learned where the interval of its SRCC with the truth, on test items, lies above this."""
SPLIT = {"train": 0.55, "validation": 0.2, "test": 0.25, "validate_images": 500}
STEADY = PLAIN.model_copy(update={**SPLIT, "eps": DistillSettings().eps, "steps": 100, "decay": "linear"})
FORMER = PLAIN.model_copy(update=SPLIT)
KINDS: dict[str, tuple[int, DistillSettings]] = {"steady": (400, STEADY), "former": (150, FORMER)}
"""By kind: supervised steps on another question, and the settings of training."""


@dataclass(frozen=True)
class Run:
    """One seed under one kind of settings."""

    kind: str
    seed: int
    outcome: str
    words: str
    best_step: int
    steps: int
    looks: list[dict[str, Any]]
    test: dict[str, Any]
    """Figures of the kept state against the truth, on the test items."""
    levels: int
    """Different scores on the test items."""
    seconds: float

    @property
    def learned(self) -> bool:
        """Whether the kept state orders the test items."""
        srcc = self.test["srcc"]
        return srcc is not None and srcc["low"] is not None and srcc["low"] > LEARNED


def main(scratch: Path) -> None:
    torch.set_num_threads(1)
    scratch.mkdir(parents=True, exist_ok=True)
    runs = []
    for kind in KINDS:
        for seed in SEEDS:
            file = scratch / f"{kind}-{seed}.json"
            if not file.is_file():
                file.write_text(json.dumps(asdict(learn(scratch / f"{kind}-{seed}", seed, kind))))
            runs.append(Run(**json.loads(file.read_text())))
            print(kind, seed, runs[-1].outcome, runs[-1].best_step, runs[-1].test["srcc"], flush=True)
    _draw([run for run in runs if run.kind == "steady"])
    (DOCS / "distill-seeds-table.md").write_text(_page(runs), encoding="utf-8")


def learn(
    place: Path,
    seed: int,
    kind: str,
    *,
    count: int = COUNT,
    lessons: int | None = None,
    changed: dict[str, Any] | None = None,
) -> Run:
    """Draw, judge, teach another question, train, test."""
    place.mkdir(parents=True, exist_ok=True)
    steps, settings = KINDS[kind]
    hued = hued_study(place / "study", count, seed=seed)
    judged_labels(hued, place / "labels", seed=seed)
    labels = read_pseudo_scores(place / "labels")
    form = one_pass_form(hued.study, labels, think=False)
    random = tiny_speaker(place / "random", hued, labels, seed=seed)
    vlm = taught(random, place / "vlm", form, seed=seed, steps=lessons or steps)
    report = distill_study(
        place / "study", place / "labels", str(vlm), place / "scorer",
        settings.model_copy(update={"seed": seed, **(changed or {})}), keep_anyway=True, overwrite=True,
    )  # fmt: skip
    assert report is not None
    truth = write_truth(hued, place, place / "scorer")
    tested = evaluate_scores(
        place / "study",
        ScoreQuestion(models=[place / "scorer"], against=[str(truth)]),
        ScoreEvaluationSettings(within="all"),
    )
    return Run(
        kind=kind,
        seed=seed,
        outcome=report.verdict.outcome,
        words=report.verdict.words,
        best_step=report.best_step,
        steps=report.steps,
        looks=[look.model_dump(mode="json") for look in report.looks],
        test=tested.targets[0].scorers[0].overall.model_dump(mode="json"),
        levels=answer_levels(place, "scorer"),
        seconds=report.seconds,
    )


# -- the page ----------------------------------------------------------------------------------------------------------


def _draw(runs: list[Run]) -> None:
    curves = [
        Curve(f"seed {run.seed}", [look["step"] for look in run.looks], [look["srcc"] for look in run.looks])
        for run in runs
    ]
    drawing = line_curves(
        curves, title="SRCC with the labels on validation items", x_label="step", y_label="SRCC, validation",
        reference_lines=[("no order", 0.0)],
    )  # fmt: skip
    (DOCS / "distill-seeds.svg").write_text(standalone_svg(drawing), encoding="utf-8")


def _page(runs: list[Run]) -> str:
    kinds = {kind: [run for run in runs if run.kind == kind] for kind in KINDS}
    rate = {kind: sum(run.learned for run in some) for kind, some in kinds.items()}
    steady, count = kinds["steady"], len(SEEDS)
    (lessons, now), (lessons_before, before) = KINDS["steady"], KINDS["former"]
    changes = [
        ["supervised steps on another question, before", str(lessons_before), str(lessons)],
        ["`--eps`", f"{before.eps:g}", f"{now.eps:g} (the default)"],
        ["`--steps`", str(before.steps), str(now.steps)],
        ["`--decay`", before.decay, now.decay],
        ["seeds that learned", f"{rate['former']} of {count}", f"{rate['steady']} of {count}"],
        ["mean SRCC on test items", *(f"{_mean_srcc(kinds[kind]):.2f}" for kind in ("former", "steady"))],
        ["looks with one score for all", *(f"{100 * _constant(kinds[kind]):.0f}%" for kind in ("former", "steady"))],
    ]
    low, high = binomtest(rate["steady"], count).proportion_ci()
    head = ["seed", "SRCC on test items, truth", "different scores", "kept step", "SRCC at the last look", "verdict"]
    parts = [
        "# How often a tiny VLM learns",
        wrapped(_INTRODUCTION.format(count=COUNT, learned=LEARNED, test=steady[0].test["wanted"],
                                     validation=steady[0].looks[0]["images"])),
        f"**{rate['steady']} of {count} seeds learned** (exact interval of the rate at 95%: {100 * low:.0f}% to "
        f"{100 * high:.0f}%).",
        table(head, [_row(run) for run in steady]),
        "![SRCC on validation items by step](distill-seeds.svg)",
        "## The settings that were used before, on the same seeds",
        table(["", "before", "now"], changes),
        table(head, [_row(run) for run in kinds["former"]]),
        wrapped(_COMPARED),
        "## Why it collapsed",
        wrapped(_WHY),
        _TRIED,
    ]  # fmt: skip
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _mean_srcc(runs: list[Run]) -> float:
    return float(np.mean([run.test["srcc"]["value"] if run.test["srcc"] else 0.0 for run in runs]))


def _constant(runs: list[Run]) -> float:
    """Share of looks after the first step at which all items got one score."""
    return float(np.mean([look["levels"] <= 1 for run in runs for look in run.looks if look["step"]]))


def _row(run: Run) -> list[str]:
    srcc, last = run.test["srcc"], run.looks[-1]
    ends = "" if srcc is None or srcc["low"] is None else f" [{srcc['low']:.2f}, {srcc['high']:.2f}]"
    shown = "–" if srcc is None else f"{srcc['value']:.2f}{ends}"
    return [str(run.seed), shown, str(run.levels), f"{run.best_step} of {run.steps}", f"{last['srcc']:.2f}",
            run.outcome]  # fmt: skip


_INTRODUCTION = """Written by `make prove ONLY=distill_seeds`. The task is that of [the proof that it
learns](distill-learns-table.md), everything simulated: posters with one planted flaw, labels by the bridge from a noisy
judge's comparisons, a random Qwen3-VL of 0.36 million weights that was first taught another question. Every seed has
its own {count} posters, judge, weights and sampling. About {validation} validation items choose the state that is kept;
{test} test items or about as many, never looked at in training, are compared with the truth. A seed has *learned* where
the interval of that SRCC lies above {learned:g}. The ten seeds were fixed before any settings were tried, the settings
were found on seeds 100 to 114, and the ten were run once."""
_COMPARED = """Ten seeds cannot tell rates near 1 apart. What differs is how often the policy is without spread on its
way, and how well the kept state orders the test items. The settings before had been found with seed 0 on other
posters."""
_WHY = """In a run that fails, the policy gives one score to all posters within 30 steps and stays there: the entropy
of answers falls from 1.0 to 0.2, the spread of the answers about a poster from 0.7 to 0.1, and the rank reward stands
at 0.707, which is what one score for all is worth. Two things push it there. One score for all beats scores at random
(0.707 against 0.668), so a policy that does not see the flaw yet gains by spreading less. And as long as a sixth of
the answers cannot be read, the largest difference in a group of six is often that between read and unread answers;
divided by the group's standard deviation, it makes the most common answer more common. A policy learns if the picture
has an effect on its answers before their spread is gone. So the start matters most. After 400 steps of the other
question in place of 150, 0.93 of the answers of the first steps are read in place of 0.83, and looks with one score
for all become rare (below). The rates of success below are too near to each other to be told apart with 15 seeds; the
share of constant looks differs more. A bonus for entropy did not lower it: the bonus is paid for the second decimal
as much as for the score. More steps with a falling rate end on a higher SRCC. No default of Salon's changed: eps is
the default again."""
_TRIED = """| tried on other seeds | seeds | SRCC above 0.6 at the end | its median | looks with one score for all |
|---|---|---|---|---|
| as before | 100 to 114 | 14 of 15 | 0.87 | 16% |
| default eps | 100 to 114 | 14 of 15 | 0.88 | 14% |
| default eps, entropy bonus 0.02 | 100 to 112 | 12 of 13 | 0.84 | 15% |
| default eps, 100 steps, falling rate | 100 to 108 | 8 of 9 | 0.94 | 14% |
| the same, warm-up over 20 steps | 101, 103, 106 to 114 | 11 of 11 | 0.87 | 8% |
| the same without warm-up, 400 steps of the other question | 100 to 114 | 15 of 15 | 0.94 | 1% |

SRCC is with the truth, on validation and test items together. These trials had 220 posters for each seed."""


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.gettempdir()) / "salon-distill-seeds")
