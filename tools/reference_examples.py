"""The examples of the generated pages: real reports on small simulated studies, as the commands would print them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pydantic import BaseModel

from salon.bench import PosterScoreSettings, arena_snapshot, score_files
from salon.bench.posters.contestants import fill_responses
from salon.bench.posters.files import open_file
from salon.bench.posters.make.sets import make_tasks
from salon.check import (
    AnchorSettings,
    CheckSettings,
    PlanSettings,
    SimulatedBudgetSettings,
    ThinSettings,
    anchor,
    check_study,
    plan,
    simulated_budget,
    thin_study,
)
from salon.collect import SimulateSettings, ppaint_like_study, simulate_study
from salon.evaluate import EvaluateSettings, PairContestant, ReportSettings, evaluate, report_judges
from salon.evaluate.people import make_test_pairs
from salon.fuse import (
    BridgeSettings,
    LabelSettings,
    RehearsalSettings,
    fuse_study,
    make_labels,
    rehearse_bridge,
    score_bridge,
)
from salon.generate import GenerateSettings, check_ready, generate_items, house_generator
from salon.judge import JudgeSettings, SimulatedVlm, judge_study, panel_truth
from salon.store import null_for, save_study
from salon.study import Prompt

ABOUT = {
    "judge run": "a simulated judge on a simulated study of twelve prompts, three items and five raters",
    "judge report": "the same judge",
    "evaluate": "made-up numbers of a model and a scorer on a simulated study of twelve prompts and three items",
    "generate": "one prompt by one built-in generator, and one that cannot be drawn",
    "ready": "the same study",
    "check": "a simulated study of forty prompts, four items and five raters",
    "anchor": "the same study drawn down to three items and three raters",
    "plan": "three items, three raters and forty prompts",
    "plan budget": "eight items and five raters",
    "plan budget study": "a simulated study of twelve paintings and five raters",
    "fuse": "`salon fuse --compare` on a simulated study of twelve paintings and five raters",
    "bridge score": "the same study, a pool of eight and three opponents",
    "bridge simulate": "sixty items, a pool of ten and four opponents",
    "bench arena": "a simulated study of twelve prompts, three items and five raters",
    "bench posters score": "the blind contestant `random` on eight made items of two tasks",
}
"""What each example is made from."""


def example(name: str) -> dict[str, Any]:
    """A real report, as its command would print it; only the time it took is made up."""
    if name == "plan":
        settings = PlanSettings(items=3, raters=3, prompts=40, tau=0.2, sims=400)
        return plan(settings, null_for).model_dump(mode="json")
    if name == "plan budget":
        return simulated_budget(SimulatedBudgetSettings(items=8, studies=20), seed=0).model_dump(mode="json")
    if name == "bridge simulate":
        return rehearse_bridge(RehearsalSettings(items=60, pool=10, opponents=4)).model_dump(mode="json")
    if name in ("fuse", "bridge score", "plan budget study"):
        return _painted_example(name)
    if name in ("generate", "ready"):
        return _drawn_example(name)
    if name in ("judge run", "judge report"):
        return _judged_example(name)
    if name == "evaluate":
        return _evaluated_example()
    if name == "bench posters score":
        return _posters_example()
    if name == "bench arena":
        compared = simulate_study(SimulateSettings(prompts=12, items=3, tau=0.4, seed=7, protocol="comparisons"))
        return arena_snapshot(compared).model_dump(mode="json")
    study = simulate_study(SimulateSettings(prompts=40, tau=0.2, seed=7))
    if name == "anchor":
        return anchor(study, AnchorSettings(items=3, raters=3, draws=2000)).model_dump(mode="json")
    report = check_study(study, CheckSettings(draws=500))
    return report.model_copy(update={"seconds": 0.5}).model_dump(mode="json")


def _drawn_example(name: str) -> dict[str, Any]:
    prompts = [Prompt(id="fair", text='A poster, "Small Press Fair", teal'), Prompt(id="empty", text=" ")]
    with TemporaryDirectory() as folder:
        place = f"{folder}/study"
        made = generate_items(prompts, [house_generator("proof", 1)], GenerateSettings(size="256x360"), place)
        report: BaseModel = made if name == "generate" else check_ready(place)
        found = report.model_dump(mode="json")
    return found | {key: value for key, value in (("study", "study"), ("seconds", 0.1)) if key in found}


def _judged_example(name: str) -> dict[str, Any]:
    study = simulate_study(SimulateSettings(prompts=12, items=3, tau=0.4, seed=7, protocol="comparisons"))
    judge = SimulatedVlm("judge", panel_truth(study), accuracy=0.8, position_bias=0.2, unparsed_rate=0.02)
    with TemporaryDirectory() as folder:
        place = Path(folder) / "study"
        save_study(study, place)
        run = judge_study(study, place, judge, JudgeSettings(), looks=False)
        if name == "judge run":
            return run.model_dump(mode="json") | {"folder": "study/judges/judge", "seconds": 0.1}
        report = report_judges(study, place, ReportSettings(draws=200), check=False)
    found = report.model_dump(mode="json")
    return found | {"seconds": 0.1} if "seconds" in found else found


def _evaluated_example() -> dict[str, Any]:
    study = simulate_study(SimulateSettings(prompts=12, items=3, tau=0.4, seed=7))
    labels = make_labels(study, LabelSettings(ties="keep", train=1, validation=0, test=0)).table
    names = {one.id: one.title for one in study.criteria}
    trial = make_test_pairs(labels, split="all", names=names, study=study.name, data=study.hash, simulated=True)
    rng, every = np.random.default_rng(7), np.ones(len(trial), bool)
    lead = trial.votes[:, 0] - trial.votes[:, 1]
    model = PairContestant("model", "heads", rng.normal(lead, 3) / 3, every, is_logit=True, form="scalar", guarded=True)
    scorer = PairContestant("scorer", "scorer", rng.normal(lead, 9), every)
    return evaluate([(trial, [model, scorer])], EvaluateSettings(draws=200)).model_dump(mode="json")


def _painted_example(name: str) -> dict[str, Any]:
    paintings = ppaint_like_study(categories=1, items=12, pairs=66)
    if name == "plan budget study":
        return thin_study(paintings, ThinSettings(fraction=(0.5, 1.0), repeats=3)).model_dump(mode="json")
    if name == "bridge score":
        return score_bridge(paintings, BridgeSettings(pool=8, opponents=3)).model_dump(mode="json")
    report = fuse_study(paintings, compare=True)
    return report.model_copy(update={"seconds": 0.5}).model_dump(mode="json")


def _posters_example() -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        places = make_tasks(Path(folder), ["alignment", "font_effect"], 4, seed=7, processes=1)
        files = [fill_responses(open_file(place), "random", seed=7) for place in places]
    return score_files(files, PosterScoreSettings(draws=200), contestant="random").model_dump(mode="json")
