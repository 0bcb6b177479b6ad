"""The training loop: what is planted is found, what is shuffled is not, and the same seed gives the same bits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from planted import CRITERIA, planted, shuffled

from salon.errors import BadValue, NotConverged
from salon.evaluate import validation_figures
from salon.stats import ceilings
from salon.train import HeadSettings, head_loop
from salon.train.head_data import HeadData, head_data
from salon.train.head_loop import alternate, criterion_batches, hits, pair_logits, train_heads

QUICK = HeadSettings(axes=0, width=16, dropout=0.1, lr=0.03, epochs=8, batch=64)
STUDY = planted()


def data(settings: HeadSettings = QUICK, **given: object) -> HeadData:
    return head_data(STUDY.labels, STUDY.encoded, settings, votes=STUDY.votes, **given)


@pytest.mark.parametrize(
    ("form", "labels", "trunk"),
    [
        ("scalar", "soft", "own"),
        ("pairwise", "hard", "own"),
        ("antisymmetric", "soft", "shared"),
        ("antisymmetric", "raters", "own"),
    ],
)
def test_a_planted_preference_is_found_on_prompts_never_seen(form: str, labels: str, trunk: str) -> None:
    settings = QUICK.model_copy(update={"form": form, "labels": labels, "trunk": trunk})
    trained = train_heads(data(settings), settings)
    assert trained.best.validation_accuracy > 0.75
    assert trained.best.validation_loss < trained.epochs[0].validation_loss or trained.best.number == 1
    assert trained.epochs[-1].train_loss < trained.epochs[0].train_loss


def test_shuffled_labels_teach_nothing() -> None:
    """Accuracies over shuffles scatter around 1/2; their mean lies within four standard errors of it."""
    short = QUICK.model_copy(update={"epochs": 3})
    found = []
    for seed in range(4):
        rows = head_data(shuffled(STUDY.labels, seed), STUDY.encoded, short)
        found.append(train_heads(rows, short).best.validation_accuracy)
    pairs = len(data().validation)
    assert abs(np.mean(found) - 0.5) < 4 * 0.5 / math.sqrt(4 * pairs / 2)  # pairs of a prompt share items: half count


def test_the_same_seed_gives_the_same_bits_and_leaves_chance_alone() -> None:
    settings = QUICK.model_copy(update={"epochs": 2, "dropout": 0.5})
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one = train_heads(data(), settings).network.state_dict()
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(6)
    two = train_heads(data(), settings).network.state_dict()
    other = train_heads(data(), settings.model_copy(update={"seed": 1})).network.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_the_best_state_is_kept_and_patience_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([0.6, 0.5, 0.55, 0.56, 0.4])
    states = []

    def validated(network: torch.nn.Module, data: HeadData, number: int, *told: float) -> head_loop.Epoch:
        states.append({name: tensor.clone() for name, tensor in network.state_dict().items()})
        return head_loop.Epoch(number, 0.6, next(losses), 0.5, None, 0.0)

    monkeypatch.setattr(head_loop, "_validate", validated)
    trained = train_heads(data(), QUICK.model_copy(update={"patience": 2}))
    assert (trained.best.number, len(trained.epochs)) == (2, 4)
    assert "2 passes" in trained.stopped
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in trained.network.state_dict().items())


def test_a_loss_that_is_no_number_stops_and_the_last_good_state_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = head_loop._pair_loss, []

    def broken(*given: object) -> tuple[torch.Tensor, int]:
        calls.append(1)
        loss, count = real(*given)
        return (loss * math.nan, count) if len(calls) > 14 else (loss, count)

    monkeypatch.setattr(head_loop, "_pair_loss", broken)
    trained = train_heads(data(), QUICK)
    assert "no number in pass 2" in trained.stopped
    assert trained.best.number == 1
    assert all(bool(torch.isfinite(tensor).all()) for tensor in trained.network.state_dict().values())
    calls += [1] * 14
    with pytest.raises(NotConverged, match="--lr"):
        train_heads(data(), QUICK)


def test_out_of_memory_names_a_batch_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(head_loop, "_pair_loss", full)
    with pytest.raises(BadValue, match="--batch 16"):
        train_heads(data(), QUICK)


def test_flags_are_learned_beside_preferences_and_have_a_best_state_of_their_own() -> None:
    rows = data(flags={"flag": STUDY.flags})
    trained = train_heads(rows, QUICK.model_copy(update={"epochs": 20, "patience": 20}))
    lowest = min(epoch.flag_loss for epoch in trained.epochs)
    assert lowest < 0.62  # log 2 = 0.693 without any knowledge
    everything = torch.arange(len(rows.flag_validation))
    found = head_loop._flag_loss(
        trained.network, head_loop.reduce_data(trained.network, rows), rows.flag_validation, everything
    )
    assert found.item() == pytest.approx(lowest, rel=1e-5)


def test_every_row_is_met_once_a_pass_in_batches_of_one_criterion() -> None:
    criterion = torch.tensor([0, 1] * 50 + [1] * 33)
    batches = criterion_batches(criterion, 32, torch.Generator().manual_seed(0))
    assert sorted(torch.cat([rows for _, rows in batches]).tolist()) == list(range(133))
    assert all((criterion[rows] == number).all() for number, rows in batches)
    assert max(len(rows) for _, rows in batches) <= 32
    assert min(len(rows) for _, rows in batches) >= 25


def test_streams_alternate_until_the_longer_one_ends() -> None:
    assert list(alternate("ab", "xyz")) == ["a", "x", "b", "y", "z"]


def test_hits_by_hand() -> None:
    found = hits(np.array([2.0, -1.0, 0.0, 3.0, 1.0]), np.array([0.8, 0.6, 1.0, 0.5, 0.2]))
    assert found[:3].tolist() + [found[4]] == [1, 0, 0.5, 0]
    assert np.isnan(found[3])


def test_a_rater_who_guesses_is_found_out() -> None:
    study = planted(spammers=1, strength=4.0)
    settings = QUICK.model_copy(update={"labels": "raters", "rater_weights": "learned"})
    learned = train_heads(head_data(study.labels, study.encoded, settings, votes=study.votes), settings).reliability
    assert min(learned, key=learned.__getitem__) == "r0"
    assert learned["r0"] < 0.8 < min(learned[f"r{n}"] for n in range(1, 5))


def test_figures_stand_beside_the_ceiling_of_the_same_pairs() -> None:
    trained = train_heads(data(), QUICK)
    rows = data()
    pairs = STUDY.labels.filter(pa.array([split == "validation" for split in STUDY.labels.column("split").to_pylist()]))
    share = np.asarray(pairs.column("share"))
    votes = {
        "for_a": pa.array((share * 5).round().astype(int)),
        "for_b": pa.array(((1 - share) * 5).round().astype(int)),
    }
    for name, column in votes.items():
        pairs = pairs.append_column(name, column)
    logits = pair_logits(trained.network, rows, rows.validation)
    made = validation_figures(pairs, logits, CRITERIA, rng=np.random.default_rng(0))
    assert [one.criterion for one in made] == [None, *CRITERIA]
    assert made[0].accuracy.value == pytest.approx(trained.best.validation_accuracy)
    assert made[0].loss == pytest.approx(trained.best.validation_loss)
    prompts = np.unique(pairs.column("group").to_pylist(), return_inverse=True)[1]
    known = ceilings(np.asarray(votes["for_a"]), 5, prompts, draws=100, rng=np.random.default_rng(0))
    assert made[0].ceiling.value == pytest.approx(known.next_rater.value)
    assert made[0].ceiling.low < made[0].ceiling.value < made[0].ceiling.high


def test_one_prompt_has_no_interval() -> None:
    pairs = pa.table({"criterion": ["c"] * 3, "group": ["p"] * 3, "share": [0.8, 1.0, 0.2], "for_a": [4, 5, 1],
                      "for_b": [1, 0, 4]})  # fmt: skip
    (both, _) = validation_figures(pairs, np.array([1.0, 1.0, 1.0]), ["c"], rng=np.random.default_rng(0))
    assert both.accuracy.value == pytest.approx(2 / 3)
    assert [(one.low, one.high, one.n) for one in (both.accuracy, both.ceiling)] == [(None, None, 1)] * 2
    three = pairs.set_column(1, "group", pa.array(["p", "q", "r"]))
    (right, _) = validation_figures(three, np.array([1.0, 1.0, -1.0]), ["c"], rng=np.random.default_rng(0))
    assert right.accuracy.value == right.accuracy.high == 1
    assert right.accuracy.low == pytest.approx(0.025 ** (1 / 3))  # three of three is no certainty


def test_weights_are_duplicates() -> None:
    """A row of weight 2 pulls as two rows do: the loss of a batch with one doubled is the weighted mean."""
    rows = data()
    network = head_loop._network(rows, QUICK)
    torch.nn.init.normal_(network.heads[0][-1].weight)
    picked = torch.nonzero(rows.train.criterion == 0).squeeze(1)[:4]
    twice = torch.cat([picked, picked[:1]])
    weight = torch.ones(len(rows.train))
    weight[picked[0]] = 2.0
    weighted = replace(rows, train=replace(rows.train, weight=weight))
    network.eval()
    plain, _ = head_loop._pair_loss(network, rows, 0, twice, torch.Generator().manual_seed(0), None)
    once, _ = head_loop._pair_loss(network, weighted, 0, picked, torch.Generator().manual_seed(0), None)
    assert plain.item() * 5 == pytest.approx(once.item() * 4, rel=1e-5)
