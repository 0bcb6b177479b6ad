"""Training a one-pass scorer: it trains, goes on where it stopped, runs in two processes, and ends as a scorer.

Everything that needs TRL is in this file: it takes longer to import than to test.
"""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner
from one_pass_example import FLOW, SMALL, bright_data, build_speaker, labelled_study, random_answer
from PIL import Image
from two_processes import in_two_processes

from salon.cli.distill import train
from salon.cli.score import score
from salon.errors import BadFile, BadValue, DesignError, NotConverged, TooFew, UnknownReference
from salon.evaluate import PseudoPairs, PseudoScores
from salon.judge import make_scorer, scorer_names
from salon.judge.scorers import one_pass
from salon.models import ROLES, LoadedVlm, read_one_pass_card
from salon.models.weights import MissingWeights
from salon.select import LoadOrder, list_scorers
from salon.select.reward_source import open_scorers
from salon.select.service.model import load_scoring
from salon.store import save_study
from salon.train import DistillSettings, distill_study
from salon.train.distill_loop import _TrainingWatch, learn_format, train_one_pass
from salon.train.distill_settings import DistillReward
from salon.train.distill_setup import last_checkpoint
from salon.train.distill_validation import OnePassData, QuestionForm
from salon.train.distillation import study_sides
from salon.train.run_folder import read_log
from salon.train.training_setup import TorchProcesses, processes

PLAIN = SMALL.model_copy(update={"format_steps": 0})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("distill")


@pytest.fixture(scope="module")
def data(place):
    return bright_data(place / "pictures")


@pytest.fixture(scope="module")
def losses():
    return []


@pytest.fixture(scope="module")
def vlm(place, data, losses):
    """A VLM that keeps the form most of the time, and knows nothing else."""
    told = lambda step, steps, loss: losses.append(loss)  # noqa: E731
    return str(learn_format(str(build_speaker(place / "vlm")), data, SMALL, place / "format-run", progress=told))


def logged(run, kind, name):
    return [record[name] for record in read_log(run) if record["kind"] == kind]


def weights(folder):
    return LoadedVlm(folder, device="cpu").model.state_dict()


# -- the loop --------------------------------------------------------------------------------------------------------


def test_the_format_stage_teaches_the_form_and_nothing_about_images(vlm, losses, data, place):
    assert len(losses) == SMALL.format_steps
    assert losses[-1] < 0.8 < 5 < losses[0]  # log 9 / 4 tokens is .55: the score itself cannot be known
    assert learn_format("gone", data, SMALL, place / "format-run").name == "format"  # found, not made again


def test_every_step_is_logged_and_few_items_keep_the_last_state(vlm, data, tmp_path):
    settings = PLAIN.model_copy(update={"steps": 4, "lr": 2e-3, "validate_every": 2, "save_every": 100})
    told = []
    found = train_one_pass(vlm, data, settings, tmp_path, progress=lambda *step: told.append(step))
    reward = logged(tmp_path, "train", "reward")
    assert [step for step, _, _ in told] == [1, 2, 3, 4]
    assert told[-1][2] == reward[-1]
    assert logged(tmp_path, "validation", "step") == [0, 2, 4]
    said = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert [one["step"] for one in said] == [0] * 4 + [2] * 4 + [4] * 4
    assert {one["item"] for one in said} == set(data.validation)
    looks = logged(tmp_path, "validation", "srcc")
    assert [look.srcc for look in found.curve.looks] == looks
    assert found.curve.looks[1].reward == pytest.approx(np.mean(reward[:2]))
    assert found.best_step == 4  # four items choose nothing
    assert "4 validation items, and at least 30" in found.curve.too_few
    assert found.counts["answers"] == 4 * 4 * 4
    assert sum(logged(tmp_path, "train", "unread")) == found.counts["unread"] > 0
    found.save(tmp_path / "out")
    before, after = weights(vlm), weights(tmp_path / "out")
    assert sum(not torch.equal(before[name], after[name]) for name in before) > 10
    found.forget()
    assert last_checkpoint(tmp_path) is None


def test_an_interrupted_run_goes_on_as_if_it_had_not_been(vlm, data, tmp_path):
    settings = PLAIN.model_copy(update={"steps": 4, "save_every": 2, "validate_every": 2, "beta": 0.04})
    whole = train_one_pass(vlm, data, settings, tmp_path / "whole")

    def stop(step, steps, reward):
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_one_pass(vlm, data, settings, tmp_path / "cut", progress=stop)
    assert last_checkpoint(tmp_path / "cut").endswith("checkpoint-2")
    again = train_one_pass(vlm, data, settings.model_copy(update={"keep": 1}), tmp_path / "cut")
    assert logged(tmp_path / "cut", "train", "step") == [1, 2, 3, 4]
    for name in ("reward", "loss", "kl"):
        assert logged(tmp_path / "cut", "train", name) == pytest.approx(logged(tmp_path / "whole", "train", name))
    assert again.curve.looks == whole.curve.looks
    assert (again.best_step, again.counts) == (whole.best_step, whole.counts)
    with pytest.raises(BadValue, match=r"(?s)settings that it began with.*lr 0.001, now 0.1"):
        train_one_pass(vlm, data, settings.model_copy(update={"lr": 0.1}), tmp_path / "cut")


def test_adapters_are_learned_alone_and_merged(vlm, data, tmp_path):
    lora = {"learn": "lora", "lora_rank": 2, "lr": 1e-2, "choose": "last", "steps": 1, "beta": 0.04}
    found = train_one_pass(vlm, data, PLAIN.model_copy(update=lora), tmp_path)
    assert (found.weights / "adapter_config.json").is_file()
    found.save(tmp_path / "out")
    before, after = weights(vlm), weights(tmp_path / "out")
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert set(before) == set(after)
    assert moved
    assert all(name.startswith("model.language_model.layers.") for name in moved)


def _share(rank, vlm, data, settings, run):
    assert processes().num_processes == 2
    texts, items = _answers(data)
    half = slice(rank * 16, rank * 16 + 16)
    reward = DistillReward(data.labels, data.asking.read, processes=TorchProcesses())(texts[half], items[half])
    found = train_one_pass(vlm, data, settings, run)
    return found.processes, found.is_main, found.curve.looks[-1], found.counts, reward.rewards.tolist()


def _answers(data):
    rng = np.random.default_rng(4)
    return [random_answer(rng) for _ in range(31)] + ["?"], [item for item in data.train for _ in range(4)]


def test_two_processes_share_a_step_and_compare_across_it(vlm, data, tmp_path):
    settings = PLAIN.model_copy(update={"at_once": 4, "images": 3, "steps": 1})  # 12 answers: groups go across
    found = in_two_processes(_share, vlm, data, settings, tmp_path)
    alone = DistillReward(data.labels, data.asking.read)(*_answers(data)).rewards.tolist()
    assert found[0][4] + found[1][4] == alone  # to the last bit
    assert [one[:2] for one in found] == [(2, True), (2, False)]
    assert found[0][2] == found[1][2]  # one look at all validation images
    assert found[0][2].images == len(data.validation)
    assert found[0][3] == found[1][3]
    assert logged(tmp_path, "train", "answers") == [12]
    assert logged(tmp_path, "train", "unranked") == [0]


def test_bad_input_is_named_before_anything_is_trained(vlm, data, tmp_path):
    with pytest.raises(TooFew, match="64 images") as raised:
        train_one_pass(vlm, data, PLAIN.model_copy(update={"images": 64}), tmp_path)
    assert raised.value.remedy == "--images 8"
    with pytest.raises(BadValue, match="model's context"):
        train_one_pass(vlm, data, PLAIN.model_copy(update={"max_tokens": 500}), tmp_path / "long")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingWeights, match="a VLM is needed"):
        train_one_pass(str(tmp_path / "empty"), data, PLAIN, tmp_path / "none")
    with pytest.raises(UnknownReference, match="needs a label"):
        OnePassData(data.labels, data.pictures, data.asking, ("other",))
    with pytest.raises(BadValue, match="not both"):
        OnePassData(data.labels, data.pictures, data.asking, ("i1",), ("i1",))


def test_a_loss_that_is_no_number_stops_the_run(vlm, data, tmp_path):
    with pytest.raises(NotConverged, match="loss that is a number") as raised:
        train_one_pass(vlm, data, PLAIN.model_copy(update={"lr": 1e30, "steps": 3}), tmp_path)
    assert "a lower --lr" in raised.value.remedy


# -- the flow, the command and the scorer ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labelled(place):
    return labelled_study(place)


@pytest.fixture(scope="module")
def study(labelled):
    return labelled[0]


@pytest.fixture(scope="module")
def labels(labelled):
    """Mood and flag for 23 of 24 items."""
    return labelled[1]


@pytest.fixture(scope="module")
def scorer(place, study, labels, vlm):
    """Interrupted in its second step, and gone on with."""
    asked = (place / "study", place / "labels", vlm, place / "scorer", FLOW)

    def stop(step, steps, reward):
        if step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        distill_study(*asked, progress=stop)
    return place / "scorer", distill_study(*asked, resume=True, keep_anyway=True)


def test_the_best_weights_are_whole_whenever_a_run_is_killed(tmp_path, monkeypatch):
    """Also while the best so far is removed for the better one: who goes on may never find a better one again."""
    watch = object.__new__(_TrainingWatch)
    saved = SimpleNamespace(save_pretrained=lambda place: (Path(place) / "tokenizer.json").write_text("{}"))
    watch.processor = SimpleNamespace(tokenizer=saved, image_processor=saved)

    def save_model(place):
        Path(place).mkdir(exist_ok=True)
        for name in ("config.json", "model.safetensors"):
            (Path(place) / name).write_text("weights")

    watch.trainer = SimpleNamespace(save_model=save_model)
    watch.weigh(tmp_path / "best", 1)

    def killed(place, **_):
        next(Path(place).glob("model.*"), Path(place)).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            watch.weigh(tmp_path / "best", 2)
    assert sorted(os.listdir(tmp_path / "best")) == ["config.json", "model.safetensors", "step.txt", "tokenizer.json"]
    watch.weigh(tmp_path / "best", 3)
    assert (tmp_path / "best" / "step.txt").read_text() == "3"
    assert sorted(os.listdir(tmp_path)) == ["best"], "nothing is left over"


def test_a_study_becomes_a_scorer_in_a_folder(scorer, study, place):
    folder, report = scorer
    card = read_one_pass_card(folder)
    assert (card.study, card.data, card.format_steps) == (study.name, study.hash, 0)
    assert [one.id for one in card.criteria] == ["mood", "flag"]
    assert [one.higher_is_better for one in card.criteria] == [True, True], "labels of flags are high where it is good"
    assert all(one["scale"]["higher_is_better"] for one in card.asked["criteria"]), "and are asked for so"
    assert card.asked["criteria"][0]["scale"]["high"] == 5
    assert card.asked["role"] == card.settings["role"] == "You rate posters."
    assert card.signature.settings["role"] == "You rate posters."
    assert one_pass.open_one_pass(folder, "cpu").form.question().startswith("You rate posters.\n")
    assert DistillSettings(role="painting").role == ROLES["painting"]
    split = pq.read_table(folder / "run" / "split.parquet").to_pydict()
    side = dict(zip(split["item"], split["split"]))
    assert card.trained_on["items left out"] == 24 - len(side)
    assert all(len({side[item] for item in side if item.startswith(f"{n}-")}) <= 1 for n in range(8))  # by prompt
    assert report.notes == (
        "no state was chosen, the last one is kept: 9 validation items of 3 prompts, and at least 30 of 5 prompts are "
        "needed to choose a state by; label more items",
        "items of the study without a label, left out: 1",
    )
    assert [look.step for look in report.looks] == [0, 2]
    assert card.figures["looks"] == [look.model_dump(mode="json") for look in report.looks]
    assert report.verdict.words in (folder / "README.md").read_text()
    assert report.validation.images == card.trained_on["validation items"]
    assert [record["step"] for record in read_log(folder / "run") if record["kind"] == "train"] == [1, 2]
    assert not (folder / "run" / "checkpoints").exists()
    assert "bridge by unknown; no person labelled anything" in (folder / "README.md").read_text()


def test_all_criteria_of_a_picture_cost_one_pass(scorer, study, place, monkeypatch):
    folder, _ = scorer
    names = scorer_names(folder)
    assert names == list_scorers([], [folder]) == [f"onepass:{folder}@mood", f"onepass:{folder}@flag"]
    reader = one_pass.open_one_pass(folder)
    said = _said(reader.vlm, {0: (2.0, 3.5), 1: None, 2: (7.0, 3.0)}, reader.form)
    monkeypatch.setattr(reader.vlm, "say", said)
    items = [item.model_copy(update={"image": str(place / "study" / item.image)})
             for item in list(study.nouns("items"))[:3]]  # fmt: skip
    first, second = make_scorer(names[0]), make_scorer(f"model:{folder}@flag")
    assert first.score(items, [None] * 3) == [2.0, None, None]
    assert second.score(items, [None] * 3) == [3.5, None, None]
    assert reader.passes == 3
    assert [one.reason for one in second.results(items, [None] * 3)[1:]] == [
        "the answer gives no score: no answer", "the answer gives no score: out of range"
    ]  # fmt: skip
    assert (first.name, second.name) == ("scorer@mood", "scorer@flag")
    assert (second.card.higher_is_better, second.card.low, second.card.high) == (True, 1, 5)
    assert first.signature != second.signature
    with pytest.raises(BadValue, match="trained on is needed"):
        make_scorer(f"onepass:{folder}")
    with pytest.raises(BadFile, match="the folder of a VLM, or of a one-pass scorer, is needed"):
        make_scorer(f"onepass:{place}")


def test_a_service_and_a_reward_take_all_its_criteria(scorer):
    folder, _ = scorer
    model = load_scoring(LoadOrder(models=(str(folder),)))
    assert [one.criterion for one in model.criteria] == ["mood", "flag"]
    assert list(open_scorers([f"model:{folder}"])) == ["mood", "flag"]


def _said(vlm, given, form):
    """The network's words replaced, one question after the other."""
    plain = vlm.say([[{"role": "user", "content": "?"}]], max_tokens=1)[0]
    queue = ["?" if scores is None else form.answer(scores) for scores in given.values()]

    def say(chats, *, max_tokens):
        return [type(plain)(queue.pop(0), False, 1, 1, []) for _ in chats]

    return say


def test_the_command_trains_scores_and_refuses(scorer, place, vlm, labels):
    run = CliRunner()
    asked = [str(place / "study"), "--labels", str(place / "labels"), "--vlm", vlm]
    small = ["--images", "4", "--group", "2", "--steps", "1", "--max-tokens", "16", "--no-think", "--train", ".5",
             "--validation", ".25", "--test", ".25", "--criterion", "flag", "--weigh", "posterior"]  # fmt: skip
    asked += ["-o", str(place / "by-command"), *small]
    broken = run.invoke(train, asked, catch_exceptions=False)
    assert broken.exit_code == 1, "sixteen tokens are too few for an answer"
    assert broken.stdout.startswith("The policy did not learn: at step 1 9 of 9 answers could not be read.")
    assert "no scorer was written" in broken.stdout
    assert not (place / "by-command" / "one_pass.json").exists()
    unfinished = run.invoke(train, asked)
    assert isinstance(unfinished.exception, BadFile)
    done = run.invoke(train, [*asked, "--resume", "--keep-anyway", "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert (told["criteria"], told["steps"], told["answers"]["answers"]) == (["flag"], 1, 8)
    assert (told["verdict"]["outcome"], told["written"], len(told["looks"])) == ("unreadable", True, 2)
    assert len(logged(place / "by-command" / "run", "train", "step")) == 1, "not trained again"
    again = run.invoke(train, asked)
    assert isinstance(again.exception, BadFile)
    assert "another scorer" in str(again.exception)
    scored = run.invoke(score, [str(place / "study"), "--model", str(place / "by-command"), "--json"])
    assert json.loads(scored.stdout)["scorers"][0]["items"] == 24


def test_what_cannot_be_learned_from_is_refused(place, study, labels, vlm, tmp_path):
    folder = place / "study"
    other = PseudoScores(("x", "y"), ("mood",), np.ones((2, 1)), np.ones((2, 1)), 1, 5, "bridge")
    with pytest.raises(UnknownReference, match="about others, 'x' first"):
        distill_study(folder, other, vlm, tmp_path / "a", FLOW)
    with pytest.raises(UnknownReference, match="criterion with labels"):
        distill_study(folder, labels, vlm, tmp_path / "b", FLOW, criteria=["color"])
    with pytest.raises(DesignError, match="nothing that is tested on"):
        distill_study(folder, labels, vlm, tmp_path / "c", FLOW, apart=folder)
    with pytest.raises(BadValue, match="add up to 1"):
        distill_study(folder, labels, vlm, tmp_path / "d", FLOW.model_copy(update={"train": 0.9}))
    with pytest.raises(BadFile, match="labels is needed"):
        distill_study(folder, tmp_path, vlm, tmp_path / "e", FLOW)
    with pytest.raises(TooFew, match="64 images"):
        distill_study(folder, labels, vlm, tmp_path / "f", FLOW.model_copy(update={"images": 64}))
    assert not list(tmp_path.iterdir()), "what was refused leaves nothing behind"


def test_a_folder_is_only_replaced_when_asked_and_only_by_something_whole(scorer, place, labels, vlm, tmp_path):
    shutil.copytree(scorer[0], tmp_path / "scorer")
    asked = (place / "study", labels, vlm, tmp_path / "scorer", FLOW)
    with pytest.raises(BadFile, match="another scorer"):
        distill_study(*asked)
    with pytest.raises(BadFile, match="labels is needed"):
        distill_study(place / "study", tmp_path, *asked[2:], overwrite=True)

    def stop(step, steps, reward):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        distill_study(*asked, overwrite=True, progress=stop)
    assert read_one_pass_card(tmp_path / "scorer") == read_one_pass_card(scorer[0]), "the old one is still there"
    with pytest.raises(BadFile, match="not finished"):
        distill_study(*asked)
    more = replace(labels, values=np.where(labels.values == labels.values.max(), 1.0, labels.values))
    with pytest.raises(BadValue, match="it began with"):
        distill_study(*asked[:1], more, *asked[2:], resume=True)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("mine")
    with pytest.raises(BadFile, match="something else"):
        distill_study(*asked[:3], tmp_path / "thesis", FLOW, overwrite=True)


def test_near_copies_go_from_the_training_side(place, scorer, study, labels, tmp_path):
    items = list(study.nouns("items"))
    save_study(study, tmp_path / "study")
    shutil.copytree(place / "drawn" / "images", tmp_path / "study" / "images")
    side = dict(zip(*pq.read_table(place / "scorer" / "run" / "split.parquet").to_pydict().values()))
    trained, tested = (next(item for item in side if side[item] == name) for name in ("train", "test"))
    image = {item.id: tmp_path / "study" / item.image for item in items}
    Image.open(image[tested]).save(image[trained])
    sides, _, notes = study_sides(study, tmp_path / "study", labels, FLOW)
    assert trained not in sides["train"]
    assert tested in sides["test"]
    assert "items that look like one on a later side of the split, left out: 1" in notes
    image[tested].unlink()
    with pytest.raises(BadFile, match=f"1 without, '{tested}' first"):
        study_sides(study, tmp_path / "study", labels, FLOW)


def test_steps_of_labels_by_pairs_hold_partners(data):
    """Forty items compared in a ring: drawn by chance, a third of them would meet a partner in a step of eight."""
    items = tuple(f"n{number}" for number in range(40))
    ring = np.random.default_rng(2).permutation(40)
    pairs = PseudoPairs(ring, np.roll(ring, -1), np.zeros(40, np.int64), np.ones(40), np.full(40, 3))
    empty = np.full((40, 1), np.nan)
    labels = PseudoScores(items, ("q",), empty, empty, 1, 9, "majority", pairs)
    ringed = OnePassData(labels, dict.fromkeys(items, data.pictures["i0"]), data.asking, items)
    order = ringed.order(8, 10, seed=1)
    assert sorted(order[:40]) == sorted(order[40:]) == sorted(items)
    assert order[:40] != order[40:]
    together = {frozenset((items[a], items[b])) for a, b in zip(pairs.a, pairs.b)}
    steps = [order[start : start + 8] for start in range(0, 80, 8)]
    met = [any(frozenset((one, other)) in together for other in step if other != one) for step in steps for one in step]
    assert np.mean(met) > 0.9
    assert data.order(4, 4, seed=1) == data.order(4, 4, seed=1) != data.order(4, 4, seed=2)


def test_an_asking_can_be_made_by_hand(data):
    assert isinstance(data.asking, QuestionForm)
    assert data.asking.read(data.asking.random_answer(np.random.default_rng(0))).scores is not None
