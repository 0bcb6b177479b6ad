"""Training a reward model: it learns, goes on where it stopped, and does not depend on how its steps are cut up."""

import json
import multiprocessing
import os
from typing import ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from accelerate.state import AcceleratorState
from accelerate.tracking import GeneralTracker
from held_port import held_port
from reward_example import SMALL, red_pairs, red_votes, tiny, trained, weights
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from salon.errors import BadValue, NotConverged
from salon.models import RewardNetwork, open_parts
from salon.train import RewardSettings
from salon.train.head_data import agreement_weights
from salon.train.losses import Law
from salon.train.reward_data import PairFile
from salon.train.reward_engine import trainable_parameters
from salon.train.reward_loop import rate_at
from salon.train.run_folder import RunLog, checkpoints, read_log
from salon.train.training_setup import make_trainable, processes


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("reward")


@pytest.fixture(scope="module")
def vlm(place):
    return tiny(place / "qwen2_vl")


@pytest.fixture(scope="module")
def labels(place):
    return red_pairs(place / "pictures")


def told(run, kind="train", name="loss"):
    return [record[name] for record in read_log(run) if record["kind"] == kind]


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen3_vl"])
def test_a_planted_preference_is_learned(place, labels, tmp_path, family):
    settings = SMALL.model_copy(update={"steps": 16, "validate_every": 16})
    fitted, _ = trained(tiny(place / family, family), labels, tmp_path, settings)
    losses = told(tmp_path)
    assert losses[0] == pytest.approx(0.7, abs=0.1)  # a new head knows nothing: log 2, and a little prior
    assert np.mean(losses[-4:]) < 0.45
    unseen = pq.read_table(labels, filters=[("split", "==", "validation")])["share"].to_numpy()
    assert ((fitted.validation.logits > 0) == (unseen > 0.5)).all()


def test_an_interrupted_run_ends_as_one_that_was_not(vlm, labels, tmp_path):
    settings = SMALL.model_copy(update={"steps": 4, "batch": 4, "save_every": 2, "dropout": 0.3, "validate_every": 2})
    whole, _ = trained(vlm, labels, tmp_path / "whole", settings)

    def stop(step, steps, loss):
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(vlm, labels, tmp_path / "cut", settings, progress=stop)
    assert [one.name for one in checkpoints(tmp_path / "cut")] == ["step-000002"]
    smaller = settings.model_copy(update={"readers": 2, "save_every": 3})
    again, _ = trained(vlm, labels, tmp_path / "cut", smaller)
    assert all(torch.equal(weights(whole)[name], tensor) for name, tensor in weights(again).items())
    assert told(tmp_path / "cut", name="step") == [1, 2, 3, 4]
    assert told(tmp_path / "cut") == told(tmp_path / "whole")
    with pytest.raises(BadValue, match=r"(?s)settings that it began with.*lr 0.003, now 0.1"):
        trained(vlm, labels, tmp_path / "cut", settings.model_copy(update={"lr": 0.1}))


def same(run, other):
    """Equal losses and gradients in every step. Weights say less: AdamW turns rounding into a step of its own where a
    gradient is all but 0."""
    return all(told(run, name=name) == pytest.approx(told(other, name=name), rel=1e-4) for name in ("loss", "gradient"))


def test_parts_of_a_step_add_up(vlm, labels, tmp_path):
    """Eight pairs at once are eight times one, with weights that differ."""
    settings = SMALL.model_copy(update={"weigh": "agreement", "steps": 2, "lr": 1e-3})
    for name, changed in {"one": {}, "parts": {"at_once": 1}, "plain": {"weigh": "none"}}.items():
        trained(vlm, labels, tmp_path / name, settings.model_copy(update=changed))
    assert same(tmp_path / "one", tmp_path / "parts")
    assert not same(tmp_path / "one", tmp_path / "plain")


def test_a_step_of_one_vote_counts_as_much_as_its_rater(vlm, place, tmp_path):
    """By hand: of the four votes on a pair three count 1 and one .2, .8 on average."""
    settings = SMALL.model_copy(update={"labels": "raters", "batch": 1, "steps": 1, "prior": 0.0, "choose": "last"})
    votes = red_votes(place / "votes")
    for name, given in {"plain": {}, "weighed": {"r3": 0.2}}.items():
        trained(vlm, votes, tmp_path / name, settings, given)
    first = next(PairFile(votes, place, settings, rater_weights={"r3": 0.2}).training(start=0))
    assert told(tmp_path / "weighed")[0] / told(tmp_path / "plain")[0] == pytest.approx(first.weight / 0.8, rel=1e-5)


def test_down_weighting_a_rater_who_tosses_coins_helps(vlm, place, tmp_path):
    """Three raters see what is redder, the fourth does not look: what is learned is held against the truth."""
    settings = SMALL.model_copy(update={"labels": "raters", "batch": 4, "at_once": 4, "steps": 16, "seed": 1,
                                        "prior": 0.02, "choose": "last"})  # fmt: skip
    votes = red_votes(place / "votes")
    counts = agreement_weights([pq.read_table(votes)])
    plain, weighed = (trained(vlm, votes, tmp_path / str(len(w)), settings, w)[0] for w in ({}, counts))
    assert counts["r3"] < 0.3 * counts["r0"]
    assert weighed.validation.loss < 0.7 * plain.validation.loss


def _process(rank, port, queue, *asked):
    AcceleratorState._reset_state(reset_partial_state=True)  # the parent may have trained
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port, "OMP_NUM_THREADS": 1}  # fmt: skip
    os.environ.update({name: str(value) for name, value in told.items()})
    assert processes().num_processes == 2  # asked first by the flow; accelerate then keeps to that answer
    fitted, _ = trained(*asked)
    queue.put((fitted.processes, fitted.validation.logits))
    queue.close()
    queue.join_thread()
    os._exit(0)


def test_two_processes_learn_what_one_does(vlm, labels, tmp_path):
    """Forked, so that torch is imported once; told what torchrun tells its processes, and no more."""
    settings = SMALL.model_copy(update={"at_once": 2, "batch": 7, "steps": 2, "lr": 1e-3, "weigh": "agreement"})
    alone, _ = trained(vlm, labels, tmp_path / "one", settings)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    asked = (vlm, labels, tmp_path / "two", settings)
    with held_port() as port:
        both = [context.Process(target=_process, args=(rank, port, queue, *asked)) for rank in range(2)]
        for process in both:
            process.start()
        try:
            found = [queue.get(timeout=100) for _ in both]
        finally:
            for process in both:
                process.join(timeout=10)
                process.kill()
    assert same(tmp_path / "one", tmp_path / "two")
    for took_part, logits in found:
        assert took_part == 2
        assert logits == pytest.approx(alone.validation.logits, abs=1e-3)


@pytest.mark.parametrize("where", ["language", "vision"])
def test_adapters_change_what_they_are_on_and_merge(vlm, labels, tmp_path, where):
    lora = {"learn": "lora", "lora_on": where, "lora_rank": 2, "steps": 2, "lr": 1e-2, "choose": "last"}
    before = {name: tensor.clone() for name, tensor in open_parts(vlm, pixels=256).network.state_dict().items()}
    fitted, _ = trained(vlm, labels, tmp_path, SMALL.model_copy(update=lora))
    after = weights(fitted)
    assert set(before) == set(after)  # merged: no adapter is left
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    part = {"language": "vlm.model.language_model.layers.", "vision": "vlm.model.visual."}[where]
    table = "vlm.model.language_model.embed_tokens.weight"
    assert any(name.startswith(part) for name in moved)
    assert all(name.startswith((part, "rm_head.")) or name == table for name in moved)
    rows = (before[table] != after[table]).any(dim=1).nonzero().flatten().tolist()
    assert rows == [fitted.network.token]


def test_what_is_learned(vlm):
    """All but the layer that words leave by; or the head alone; and a tie parameter where the law has one."""
    parts = open_parts(vlm, pixels=256)
    make_trainable(parts.network, RewardSettings(learn="full", law="davidson"), ties=0.25)
    found = set(trainable_parameters(parts.network))
    assert {name for name, _ in parts.network.named_parameters()} - found == {"vlm.lm_head.weight"}
    assert parts.network.extra["tie"].item() == pytest.approx(np.log(2 * 0.25 / 0.75))
    make_trainable(parts.network, RewardSettings(learn="head"), ties=0)
    assert {name.split(".")[0] for name in trainable_parameters(parts.network)} == {"rm_head", "extra"}


def test_a_loss_that_is_no_number_stops_and_keeps_what_was_good(vlm, labels, tmp_path):
    settings = SMALL.model_copy(update={"steps": 9, "save_every": 1, "lr": 1e25, "warmup": 0.0})
    with pytest.raises(NotConverged, match=r"last good checkpoint is .*step-00000") as raised:
        trained(vlm, labels, tmp_path, settings)
    assert "lower --lr" in raised.value.remedy
    assert checkpoints(tmp_path)


def test_too_little_memory_names_a_smaller_part(vlm, labels, tmp_path, monkeypatch):
    def full(self, inputs, **asked):
        raise torch.OutOfMemoryError("no more")

    monkeypatch.setattr(RewardNetwork, "forward", full)
    with pytest.raises(BadValue, match="more memory") as raised:
        trained(vlm, labels, tmp_path)
    assert "--at-once 4" in raised.value.remedy


def test_two_runs_in_one_process_may_have_two_precisions(vlm, labels, tmp_path):
    for precision in ("bfloat16", "float32"):
        settings = SMALL.model_copy(update={"steps": 1, "precision": precision})
        assert trained(vlm, labels, tmp_path / precision, settings)[0].validation is not None


def test_training_leaves_the_callers_chance_alone(vlm, labels, tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    trained(vlm, labels, tmp_path, SMALL.model_copy(update={"steps": 1, "learn": "lora", "dropout": 0.2}))
    assert torch.rand(1) == expected


def test_rates_by_hand():
    """20 steps, a tenth of them warm-up: half the rate at step 1, all of it at step 2."""
    settings = RewardSettings(lr=8.0, warmup=0.1)
    assert [rate_at(step, 20, settings) for step in (1, 2, 20)] == [4.0, 8.0, 8.0]
    linear = settings.model_copy(update={"decay": "linear"})
    assert [rate_at(step, 20, linear) for step in (2, 11, 20)] == pytest.approx([8, 8 * 10 / 19, 8 / 19])
    cosine = settings.model_copy(update={"decay": "cosine"})
    assert rate_at(20, 20, cosine) == pytest.approx(8 * (1 - np.cos(np.pi / 19)) / 2)
    assert (RewardSettings().learning_rate, RewardSettings(learn="lora").learning_rate) == (2e-6, 1e-4)


def test_settings_and_losses_know_the_same_laws():
    assert RewardSettings.model_fields["law"].annotation == Law


class OwnTracker(GeneralTracker):
    """A tracker as a user writes it, by accelerate's class."""

    name, requires_logging_directory = "own", False
    calls: ClassVar[list] = []

    def __init__(self, project):
        super().__init__()
        self.calls.append(("project", project))

    @property
    def tracker(self):
        return self.calls

    def store_init_configuration(self, values):
        self.calls.append(("settings", values))

    def log(self, values, step=None, **more):
        self.calls.append((step, values))

    def finish(self):
        self.calls.append("done")


def test_every_tracker_hears_every_step(tmp_path):
    settings = {"lr": 1, "log": f"tensorboard, python:{__name__}:OwnTracker", "terms": [1]}
    OwnTracker.calls.clear()
    with RunLog(tmp_path / "run", settings, name="m") as log:
        log.write("train", 3, {"loss": 0.5, "accuracy": None})
    told = {"lr": 1, "log": settings["log"]}
    assert OwnTracker.calls == [("project", "salon"), ("settings", told), (3, {"train/loss": 0.5}), "done"]
    (line,) = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    assert json.loads(line) == {"kind": "train", "step": 3, "loss": 0.5}
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(3, 0.5)]
    with RunLog(tmp_path / "bare", {"log": "none"}, name="m") as log:
        log.write("train", 1, {"loss": 0.5})
    assert [path.name for path in (tmp_path / "bare").iterdir()] == ["log.jsonl"]


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("tensorboar", "(?s)tracker of accelerate.*'tensorboar'.*wandb"),
        ("swanlab", "(?s)package of swanlab.*pip install swanlab"),
        ("python:json:dumps", "subclass of accelerate"),
        ("python:no_such:Class", "python:MODULE:CLASS"),
    ],
)
def test_trackers_that_are_not_there(tmp_path, log, message):
    with pytest.raises(BadValue, match=message):
        RunLog(tmp_path, {"log": log}, name="m")
