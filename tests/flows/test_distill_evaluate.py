"""salon distill evaluate: figures against scipy, missing predictions, collapse, leaks, the choice, the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from browser import chromium, page_faults
from click.testing import CliRunner
from PIL import Image
from scipy import stats

from salon.cli.distill import evaluate
from salon.errors import BadFile, BadValue, DesignError, TooFew, UnknownReference
from salon.evaluate import (
    Evaluation,
    LeakGuard,
    PseudoScores,
    ScoreEvaluationSettings,
    ScoreQuestion,
    evaluate_scores,
    evaluation_page,
    picture_keys,
    save_guard,
    score_tables as distill_predicted,
    write_pseudo_scores,
)
from salon.evaluate.scores import Prediction, ScoreFrame, Target, make_draws, target_figures
from salon.judge import SCORE_COLUMNS, ScoreRun
from salon.models import ModelCriterion, OnePassCard, write_one_pass_card
from salon.report import disagreements
from salon.store import save_study
from salon.study import Criterion, Item, Rater, Rating, Scale, ScorerCard, Signature, Study

__all__ = ["chromium"]

CATEGORIES, EACH, CRITERIA = ("flowers", "figures"), 12, ("color", "mood")
FEW = ScoreEvaluationSettings(draws=120)
LEAKY = ScoreEvaluationSettings(draws=120, allow_leak=True)
ITEMS = [f"{category}-{n}" for category in CATEGORIES for n in range(EACH)]
RNG = np.random.default_rng(7)
TRUTH = RNG.uniform(1.4, 4.6, (len(ITEMS), len(CRITERIA)))
RATED = np.clip(np.round(TRUTH + RNG.normal(0, 0.6, (4, *TRUTH.shape))), 1, 5)
GOOD = np.clip(TRUTH + RNG.normal(0, 0.5, TRUTH.shape), 1, 5)
FLAT = 4.5 + (GOOD - 3) * 0.05


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two categories, two criteria, four raters, and the tables of two scorers."""
    folder = tmp_path_factory.mktemp("evaluate") / "study"
    scale = Scale(low=1, high=5)
    tables = {
        "items": [Item(id=item, category=item.split("-")[0], image=f"images/{item}.png") for item in ITEMS],
        "raters": [Rater(id=f"r{n}") for n in range(4)],
        "ratings": [
            Rating(criterion=criterion, rater=f"r{r}", item=item, value=float(RATED[r, i, c]))
            for r in range(4)
            for i, item in enumerate(ITEMS)
            for c, criterion in enumerate(CRITERIA)
        ],
    }
    criteria = [Criterion(id=id, scale=scale) for id in CRITERIA]
    save_study(Study.build("painted", criteria, tables=tables, compare_within="category"), folder)
    (folder / "images").mkdir()
    for number, item in enumerate(ITEMS):
        noise = np.random.default_rng(number).integers(0, 255, (12, 12, 3), dtype=np.uint8)
        Image.fromarray(noise).resize((48, 48)).save(folder / "images" / f"{item}.png")
    write(folder, "good", GOOD)
    write(folder, "flat", FLAT)
    return folder


def write(folder: Path, name: str, values: np.ndarray, card: ScorerCard | None = None, signature: str = "test") -> None:
    """The tables of a scorer as salon score writes them, one for each criterion; NaN is no row."""
    (folder / "scores").mkdir(exist_ok=True)
    for c, criterion in enumerate(CRITERIA):
        rows = [(item, float(v)) for item, v in zip(ITEMS, values[:, c]) if not np.isnan(v)]
        table = pa.table(
            [[i for i, _ in rows], [v for _, v in rows], [None] * len(rows), [None] * len(rows)], SCORE_COLUMNS
        )
        file = folder / "scores" / f"{name}@{criterion}.parquet"
        pq.write_table(table, file)
        told = (card or ScorerCard(low=1, high=5)).model_copy(update={"criterion": criterion})
        run = ScoreRun(scorer=file.stem, items=len(ITEMS), scored=len(rows), unscored={}, reused=0, low=1, high=5,
                       card=told, data="", signature=signature, file=file.name)  # fmt: skip
        file.with_suffix(".json").write_text(json.dumps(run.model_dump(mode="json")))


@pytest.fixture(scope="module")
def report(home: Path) -> Evaluation:
    return evaluate_scores(home, ScoreQuestion(["good", "flat"], against=["ratings"]), FEW)


def test_figures_are_those_of_scipy(report: Evaluation) -> None:
    target, found = RATED.mean(axis=0), report.targets[0].scorers[0]
    halves = [(slice(k * EACH, (k + 1) * EACH), c) for k in range(2) for c in range(2)]
    for name, of in (("srcc", stats.spearmanr), ("plcc", stats.pearsonr), ("krcc", stats.kendalltau)):
        by_hand = np.mean([of(GOOD[rows, c], target[rows, c]).statistic for rows, c in halves])
        figure = getattr(found.overall, name)
        assert figure.value == pytest.approx(by_hand)
        assert figure.low < figure.value < figure.high
    assert found.overall.mae.value == pytest.approx(np.abs(GOOD - target).mean())
    assert found.overall.rmse.value == pytest.approx(np.sqrt(((GOOD - target) ** 2).mean()))
    assert found.overall.sd.value == pytest.approx(GOOD.std(ddof=1))
    assert found.overall.target_mean.value == pytest.approx(target.mean())
    mood = next(part for part in found.criteria if part.id == "mood").agreed
    assert mood.srcc.value == pytest.approx(
        np.mean([stats.spearmanr(GOOD[rows, 1], target[rows, 1]).statistic for rows, c in halves if c])
    )
    assert [part.id for part in found.categories] == ["figures", "flowers"]
    assert (found.overall.srcc.n, mood.srcc.n, mood.mae.n, mood.srcc.unit) == (2 * EACH, 2 * EACH, 2 * EACH, "item")
    assert [part.agreed.srcc.n for part in found.categories] == [EACH, EACH]  # what it rests on, not all there are
    assert [one.srcc.n for one in report.targets[0].differences] == [2 * EACH]


def test_a_collapsed_scale_is_named_though_its_order_is_right(report: Evaluation) -> None:
    good, flat = report.targets[0].scorers
    assert flat.name == "flat"
    assert flat.overall.srcc.value == pytest.approx(good.overall.srcc.value)
    assert (good.scale, flat.scale) == ("keeps", "collapsed and shifted")
    assert "narrow band above" in flat.words
    assert any("flat" in words for words in report.warnings)
    difference = report.targets[0].differences[0]
    assert difference.srcc.value == 0
    assert not difference.apart
    assert difference.mae.high < 0  # the same order, and yet closer


def test_what_raters_reach_stands_beside(report: Evaluation) -> None:
    target, level = RATED.mean(axis=0), report.targets[0].rater_level
    others = [(RATED.sum(axis=0) - RATED[r]) / 3 for r in range(4)]
    by_hand = [
        stats.spearmanr(RATED[r, k * EACH : (k + 1) * EACH, c], others[r][k * EACH : (k + 1) * EACH, c]).statistic
        for r in range(4)
        for k in range(2)
        for c in range(2)
    ]
    assert target.shape == others[0].shape
    assert level.srcc.value == pytest.approx(np.mean(by_hand))
    assert level.raters == 4


def test_leaving_out_what_it_gets_wrong_gains_nothing(home: Path) -> None:
    wrong = np.abs(GOOD - RATED.mean(axis=0))[:, 0].argsort()[-3:]
    gaps = GOOD.copy()
    gaps[wrong, 0] = np.nan
    write(home, "gaps", gaps)
    asked = ScoreQuestion(["good", "gaps"], against=["ratings"])
    told = {one.name: one.overall for one in evaluate_scores(home, asked, FEW).targets[0].scorers}
    assert told["gaps"].srcc.value < told["good"].srcc.value < told["gaps"].scored_srcc
    assert told["gaps"].mae.value > told["good"].mae.value
    assert (told["gaps"].scored, told["gaps"].wanted) == (45, 48)
    left = evaluate_scores(home, asked, FEW.model_copy(update={"missing": "scored"})).targets[0].scorers[0]
    assert left.name == "gaps"
    assert left.overall.srcc.value == pytest.approx(left.overall.scored_srcc)


def test_other_scales_have_an_order_and_no_distance(home: Path) -> None:
    write(home, "logits", 3 * GOOD, ScorerCard(is_logit=True))
    write(home, "turned", -GOOD, ScorerCard(higher_is_better=False))
    write(home, "constant", np.full_like(GOOD, 3.0))
    found = (
        evaluate_scores(home, ScoreQuestion(["logits", "turned", "constant"], against=["ratings"]), FEW)
        .targets[0]
        .scorers
    )
    told = {one.name: one for one in found}
    for name in ("logits", "turned"):
        assert told[name].scale == "own scale"
        assert told[name].overall.mae is None
        assert told[name].overall.srcc.value > 0.5
    assert told["constant"].overall.srcc.value == 0
    assert told["constant"].overall.srcc.low is None  # never an interval of no width
    assert told["constant"].overall.constant == 4
    few = ScoreQuestion(
        ["constant"], against=["ratings"], items=ITEMS[:3]
    )  # some draws of three items have no correlation
    assert evaluate_scores(home, few, FEW).targets[0].scorers[0].overall.srcc.low is None


def test_where_lower_is_better_the_target_is_turned_round(tmp_path: Path) -> None:
    """A one-pass scorer gives high numbers to good items under every criterion, flags too."""
    rng = np.random.default_rng(3)
    bad = rng.uniform(0, 1, 20)
    flags = (rng.uniform(size=(5, 20)) < bad).astype(float) + (rng.uniform(size=(5, 20)) < bad)
    items = [f"i{n:02}" for n in range(20)]
    tables = {
        "items": [Item(id=item) for item in items],
        "raters": [Rater(id=f"r{n}") for n in range(5)],
        "ratings": [Rating(criterion="flag", rater=f"r{r}", item=item, value=float(flags[r, i]))
                    for r in range(5) for i, item in enumerate(items)],
    }  # fmt: skip
    scale = Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False)
    study = Study.build("flagged", [Criterion(id="flag", scale=scale)], tables=tables, compare_within="all")
    place = tmp_path / "flagged"
    save_study(study, place)
    (place / "scores").mkdir()
    good, mean = 2 - 2 * bad, flags.mean(axis=0)
    for name, values, card in (("one-pass", good, ScorerCard(low=0, high=2, criterion="flag")),
                               ("dangers", 2 * bad, ScorerCard(higher_is_better=False, criterion="flag"))):  # fmt: skip
        file = place / "scores" / f"{name}.parquet"
        pq.write_table(pa.table([items, values.tolist(), [None] * 20, [None] * 20], SCORE_COLUMNS), file)
        run = ScoreRun(scorer=name, items=20, scored=20, unscored={}, reused=0, low=0, high=2, card=card, data="",
                       signature="test", file=file.name)  # fmt: skip
        file.with_suffix(".json").write_text(json.dumps(run.model_dump(mode="json")))
    pa.csv.write_csv(pa.table({"item": items, "criterion": ["flag"] * 20, "value": mean}), tmp_path / "means.csv")
    logits = pa.table({"item": items, "criterion": ["flag"] * 20, "value": -mean, "scale": ["logit"] * 20})
    pa.csv.write_csv(logits, tmp_path / "logits.csv")
    against = ["ratings", "fused", str(tmp_path / "means.csv"), str(tmp_path / "logits.csv")]
    right = stats.spearmanr(good, 2 - mean).statistic
    assert right > 0.8
    for target in evaluate_scores(place, ScoreQuestion(["one-pass", "dangers"], against=against), FEW).targets:
        for one in target.scorers:
            assert one.overall.srcc.value == pytest.approx(right, abs=0.05), (target.name, one.name)
            if one.name == "one-pass" and target.low is not None:
                assert one.overall.mae.value < 0.4
    people = evaluate_scores(place, ScoreQuestion(["one-pass"], against=["ratings"]), FEW).targets[0]
    assert people.scorers[0].overall.mae.value == pytest.approx(np.abs(good - (2 - mean)).mean())
    assert people.rater_level.srcc.value > 0.3


def test_a_mean_that_no_draw_moves_has_no_interval() -> None:
    """Scores of each prompt sum to 0, but for rounding: the target's mean is the same in every draw."""
    prompt = np.repeat(np.arange(5), 3)
    frame = ScoreFrame(
        tuple(map(str, range(15))), (("c", "c"),), tuple("abcde"), prompt, "prompt", prompt, (), prompt * 0
    )
    target = Target("centred", np.array([0.1, 0.2, -0.3, 0.7, -0.6, -0.1, *[0.3, -0.2, -0.1] * 3])[:, None])
    said = Prediction("one", np.random.default_rng(0).normal(size=(15, 1)), np.array([True]))
    found = target_figures(frame, target, [said], make_draws(frame, 200, 0), FEW).scorers[0].overall
    assert abs(found.target_mean.value) < 1e-12
    assert (found.target_mean.low, found.target_mean.high, found.target_mean.n) == (None, None, 5)
    assert found.mean.low < found.mean.high


def test_what_is_drawn_anew_is_said(home: Path, tmp_path: Path) -> None:
    again = evaluate_scores(
        home, ScoreQuestion(["good"], against=["medians"]), FEW.model_copy(update={"within": "all"})
    )
    assert again.drawn == "items"
    assert again.targets[0].scorers[0].overall.groups == 2
    assert again.targets[0].name.startswith("median")
    bare = Study.build("bare", [Criterion(id="color")], tables={"items": [Item(id="a"), Item(id="b")]})
    save_study(bare, tmp_path / "bare")
    with pytest.raises(TooFew, match="answers of people"):
        evaluate_scores(tmp_path / "bare", ScoreQuestion(["good"]), FEW)


def model_in(folder: Path, trained_on: list[Path], split: dict[str, str] | None = None) -> Path:
    """The folder of a one-pass scorer, but for its weights."""
    (folder / "run").mkdir(parents=True)
    guard = save_guard(LeakGuard.of(picture_keys(trained_on), []), folder)
    card = OnePassCard(
        name=folder.name, criteria=tuple(ModelCriterion(id=id, name=id) for id in CRITERIA), asked={}, max_tokens=8,
        show_prompt=False, pixels=64, backbone="", backbone_name="", labels={"source": "bridge", "calls_made": 47},
        study="painted", data="", guard=guard, signature=Signature(method="one-pass"),
    )  # fmt: skip
    write_one_pass_card(folder, card, "")
    if split:
        table = pa.table({"item": list(split), "split": list(split.values())})
        pq.write_table(table, folder / "run" / "split.parquet")
    return folder


@pytest.fixture
def told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model says what is in the tables of its name."""
    files = lambda *rest: sorted((home / "scores").glob(f"{rest[2][0]}@*.parquet"))  # noqa: E731
    monkeypatch.setattr(distill_predicted, "scorer_names", lambda folder: [folder.name])
    monkeypatch.setattr(distill_predicted, "_run_scorers", files)


def _pictures(home: Path, items: list[str]) -> list[Path]:
    return [home / "images" / f"{item}.png" for item in items]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Pictures of another study."""
    folder = tmp_path_factory.mktemp("elsewhere")
    for n in range(3):
        noise = np.random.default_rng([n, 9]).integers(0, 255, (12, 12, 3), dtype=np.uint8)
        Image.fromarray(noise).resize((48, 48)).save(folder / f"{n}.png")
    return sorted(folder.iterdir())


def test_a_model_that_saw_a_test_picture_is_refused(home, tmp_path, elsewhere, told) -> None:
    model = model_in(tmp_path / "good", [*elsewhere, *_pictures(home, ITEMS[3:4])])
    asked = ScoreQuestion(models=[model], against=["ratings"])
    with pytest.raises(DesignError, match="1 picture"):
        evaluate_scores(home, asked, FEW)
    leaking = evaluate_scores(home, asked, LEAKY)
    assert leaking.leaking
    assert "LEAK" in evaluation_page(leaking).html()
    labels = PseudoScores((ITEMS[3],), CRITERIA, TRUTH[3:4], np.full((1, 2), np.nan), 1, 5, "bridge")
    write_pseudo_scores(tmp_path / "labels", labels)
    clean = evaluate_scores(home, ScoreQuestion(models=[model], against=["ratings"], labels=[tmp_path / "labels"]), FEW)
    assert not clean.leaking
    assert clean.targets[0].items == len(ITEMS) - 1
    assert any("trained or chosen on" in words for words in clean.policies)


def test_in_its_own_study_a_model_is_tested_on_the_rest(home, tmp_path, told) -> None:
    model = model_in(tmp_path / "good", _pictures(home, ITEMS[::2]))
    found = evaluate_scores(home, ScoreQuestion(["flat"], models=[model], against=["ratings"]), FEW)
    assert not found.leaking
    assert found.targets[0].items == len(ITEMS) // 2
    assert f"{len(ITEMS) // 2} items with a target were trained or chosen on and are in no figure." in found.policies
    assert [(one.name, one.label_calls) for one in found.cost[:2]] == [("flat", None), ("good", 47)]
    whole = evaluate_scores(home, ScoreQuestion(models=[model], against=["ratings"]), LEAKY)
    assert (whole.leaking, whole.targets[0].items) == (True, len(ITEMS))


def test_a_guard_that_is_gone_is_missed(home, tmp_path, told) -> None:
    model = model_in(tmp_path / "good", _pictures(home, ITEMS[:1]))
    (model / "guard.parquet").unlink()
    asked = ScoreQuestion(models=[model], against=["ratings"])
    with pytest.raises(BadFile, match="--allow-leak"):
        evaluate_scores(home, asked, FEW)
    assert evaluate_scores(home, asked, LEAKY).leaking


def test_a_table_of_a_trained_model_is_told_to_have_no_guard(home) -> None:
    write(home, "learned", GOOD, signature="one-pass|data:0123|model:learned")
    found = evaluate_scores(home, ScoreQuestion(["learned", "good"], against=["ratings"]), FEW)
    assert [words for words in found.warnings if "guard" in words] == [
        "learned: a table says nothing of what its model was trained on; with --model its guard is asked."
    ]


def test_a_checkpoint_in_a_folder_is_guarded_and_chosen_on_what_it_did_not_learn(home, tmp_path, told) -> None:
    side = {item: ("train", "validation", "test")[n % 3] for n, item in enumerate(ITEMS)}
    seen = [item for item in ITEMS if side[item] != "test"]
    models = [model_in(tmp_path / name, _pictures(home, seen), side) for name in ("good", "flat")]
    asked = ScoreQuestion(checkpoints=[str(one) for one in models], validation="ratings", against=["ratings"])
    with pytest.raises(TooFew, match="all of them trained or chosen on"):
        evaluate_scores(home, asked, FEW)  # all that none of them was trained on have chosen
    chosen = tuple(item for item in ITEMS if side[item] != "test")
    labels = PseudoScores(chosen, CRITERIA, *(np.full((len(chosen), 2), v) for v in (3.0, np.nan)), 1, 5, "bridge")
    labels.values[:] = TRUTH[[ITEMS.index(item) for item in chosen]]
    write_pseudo_scores(tmp_path / "labels", labels)
    found = evaluate_scores(home, replace(asked, validation=str(tmp_path / "labels")), FEW)
    assert found.choice.items == sum(one == "validation" for one in side.values())
    assert found.targets[0].items == sum(one == "test" for one in side.values())


def test_a_checkpoint_is_chosen_on_other_items(home: Path, tmp_path: Path) -> None:
    half = np.arange(len(ITEMS)) % 2 == 0
    early, late = GOOD.copy(), GOOD.copy()
    early[half] = 6 - early[half]  # bad on the validation items, as good as the other in the test
    write(home, "early", early)
    write(home, "late", late)
    chosen = tuple(item for item, inside in zip(ITEMS, half) if inside)
    labels = PseudoScores(chosen, CRITERIA, TRUTH[half], np.full((half.sum(), 2), np.nan), 1, 5, "bridge")
    write_pseudo_scores(tmp_path / "valid", labels)
    asked = ScoreQuestion(checkpoints=["early", "late"], validation=str(tmp_path / "valid"), against=["ratings"])
    found = evaluate_scores(home, asked, FEW)
    assert found.choice.chosen == "late"
    assert [one.name for one in found.targets[0].scorers] == ["late"]
    assert found.targets[0].items == len(ITEMS) - half.sum()
    with pytest.raises(BadValue, match="goes with"):
        evaluate_scores(home, ScoreQuestion(checkpoints=["early"]), FEW)


def test_targets_by_table_and_by_labels(home: Path, tmp_path: Path) -> None:
    rows = [(item, c, float(TRUTH[i, n])) for i, item in enumerate(ITEMS) for n, c in enumerate(CRITERIA)]
    table = pa.table({"item": [r[0] for r in rows], "criterion": [r[1] for r in rows], "value": [r[2] for r in rows],
                      "scale": ["1-5"] * len(rows)})  # fmt: skip
    pq.write_table(table, tmp_path / "truth.parquet")
    found = evaluate_scores(home, ScoreQuestion(["good"], against=[str(tmp_path / "truth.parquet")]), FEW).targets[0]
    assert (found.low, found.high) == (1, 5)
    assert found.scorers[0].overall.mae.value == pytest.approx(np.abs(GOOD - TRUTH).mean())
    with pytest.raises(BadValue, match="a target is needed"):
        evaluate_scores(home, ScoreQuestion(["good"], against=["nothing"]), FEW)
    with pytest.raises(BadFile, match="folder of labels"):
        evaluate_scores(home, ScoreQuestion(["good"], against=[str(home)]), FEW)
    with pytest.raises(UnknownReference, match="STUDY/scores"):
        evaluate_scores(home, ScoreQuestion(["nobody"], against=["ratings"]), FEW)


def test_the_command_tells_what_is_missing_beside_the_order_of_what_is_there(home: Path) -> None:
    gaps = GOOD.copy()
    gaps[::4] = np.nan
    write(home, "lacking", gaps)
    told = CliRunner().invoke(
        evaluate, [str(home), "-s", "lacking", "-s", "good", "--against", "ratings", "--draws", "100"]
    )
    assert told.exit_code == 0, told.output
    found = evaluate_scores(home, ScoreQuestion(["lacking"], against=["ratings"]), FEW).targets[0].scorers[0].overall
    row = next(line.split() for line in told.output.splitlines() if line.startswith("lacking"))
    assert row[-3:] == [f"{found.scored_srcc:.3f}", "36", "48"]


@pytest.mark.browser
def test_the_command_prints_what_the_page_and_the_json_say(home: Path, chromium, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    asked = [str(home), "-s", "good", "-s", "flat", "--against", "ratings", "--draws", "120"]
    plain = CliRunner().invoke(evaluate, [*asked, "--html", str(page)])
    assert plain.exit_code == 0, plain.output
    assert "one rater against the others" in plain.output
    assert "collapsed and shifted" in plain.output
    told = json.loads(CliRunner().invoke(evaluate, [*asked, "--json"]).output)
    assert disagreements(page.read_text(), told) == []
    assert page_faults(chromium, page.read_text(), tmp_path) == []
    assert told["targets"][0]["scorers"][0]["overall"]["srcc"]["value"] == pytest.approx(
        Evaluation.model_validate(told).targets[0].scorers[0].overall.srcc.value
    )
