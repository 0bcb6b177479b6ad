"""The training loop of a reward model, top to bottom.

One step learns from `batch` pairs. Every process takes its share of them, `at_once` at a time, and adds up gradients:

    loss of a step = mean_i (w_i / w) loss_i + prior * mean_i (log sigma_a^2 + log sigma_b^2) / 2

Both means run over the whole step, so neither the number of processes nor `at_once` changes what is learned, but for
the rounding of sums. w is the mean weight of all training pairs, not of the step's: divided by its own weights, a step
of answers that hardly count would move the network as far as any other. Order and dropout follow from the seed and the
number of the step: a run that was interrupted ends with the same weights as one that was not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from salon.errors import MissingExtra, NotConverged
from salon.models import Quality, RewardNetwork, RewardParts, log_odds
from salon.train.losses import TIE_LAWS, UNCERTAIN_LAWS, log_chances, sigma_prior, win_losses
from salon.train.reward_data import LabeledPair, PairFile, pair_rows, read_ahead, read_pair
from salon.train.reward_engine import Engine, make_engine
from salon.train.reward_survey import Survey, TestSet
from salon.train.run_folder import RunFolder, RunLog, RunState, checkpoints, fill_network
from salon.train.settings import RewardSettings
from salon.train.training_setup import (
    choose_shard,
    explain_memory_errors,
    make_accelerator,
    make_trainable,
    merge_lora,
    preserve_rng,
    set_attention,
)

try:
    import torch
    from accelerate import Accelerator
    from accelerate.utils import gather_object
    from torch import Tensor
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

WAITING = 16
"""Pairs that are read ahead."""


@dataclass(frozen=True)
class MicroBatch:
    """What one process looks at in one pass: some pairs of a step."""

    step: int
    """The step it belongs to, counted from 1."""
    number: int
    """The first of its pairs, counted over the whole run: the seed of its dropout."""
    last: bool
    """Whether this process is done with the step after it."""
    rows: list[LabeledPair]
    pairs: int
    """Those of the whole step, everywhere."""
    counts: bool = True
    """Whether it is learned from: all processes pass through the network equally often, with or without pairs left."""


@dataclass(frozen=True)
class Validation:
    """How the model does on the validation pairs."""

    loss: float
    """Mean over pairs under the law, without weights and prior."""
    logits: NDArray[np.float64]
    """Log-odds of each pair, in their order."""

    def accuracy(self, rows: list[LabeledPair]) -> float | None:
        """The share of pairs with a winner whose winner the model names, no difference being half; None without any."""
        lead = np.sign([row.share - 0.5 for row in rows])
        right = (1 + np.sign(self.logits) * lead)[lead != 0] / 2
        return float(right.mean()) if len(right) else None


@dataclass(frozen=True)
class FittedReward:
    """A trained network, its adapters merged."""

    network: RewardNetwork
    """Where weights were sharded, whole only in the process that writes."""
    state: RunState
    steps: int
    processes: int
    precision: str
    shard: str
    """Where the weights were: none (whole everywhere), fsdp2, zero2 or zero3."""
    validation: Validation | None
    """Of the weights that were chosen."""
    is_main: bool
    """Whether this process is the one that writes."""
    also: tuple[Validation, ...] = ()
    """Of the same weights, on further pairs."""


def fit(
    parts: RewardParts,
    pairs: PairFile,
    survey: Survey,
    run: RunFolder,
    *,
    also: Sequence[TestSet] = (),
    progress: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> FittedReward:
    """Train `parts.network` on the training pairs; `progress` is called with (step, steps, loss).

    `also` are further pairs that are looked at whenever the validation pairs are, and decide nothing.

    Goes on from the last checkpoint in the run's folder, where there is one.
    """
    settings, network = run.settings, parts.network
    shard, accelerator = choose_shard(settings), make_accelerator(settings)
    is_main, device = accelerator.is_main_process, accelerator.device
    set_attention(network.vlm, settings.attention)
    adapters = make_trainable(network, settings, ties=survey.ties)
    engine = make_engine(shard, network, settings, accelerator)
    state = run.restore(engine)

    steps = settings.steps or math.ceil(survey.rows["train"] * settings.epochs / settings.batch)
    validation = list(pair_rows([pairs.validation()]))
    rows = pairs.training(start=state.step * settings.batch)
    micros = _micro_batches(rows, range(state.step + 1, steps + 1), settings, accelerator)
    read = read_ahead(lambda micro: (micro, _inputs(parts, pairs, micro.rows)), micros,
                 threads=settings.readers, waiting=math.ceil(WAITING / settings.at_once))  # fmt: skip

    log = RunLog(run.path if is_main else None, settings.record(), name=run.path.parent.name, step=state.step)
    with log, preserve_rng(device), explain_memory_errors(settings):
        tally, started = _StepSums(accelerator), time.perf_counter() - state.seconds
        for micro, inputs in read:
            torch.manual_seed(settings.seed * 1_000_003 + micro.number)
            network.train()
            engine.begin(last=micro.last)
            quality, tie = engine(inputs)
            losses, priors = pair_losses(quality, micro.rows, settings, tie)
            weight = torch.tensor([row.weight / survey.weight for row in micro.rows], device=device)
            share = micro.counts / micro.pairs
            loss = (weight * losses + settings.prior * priors).sum() * share
            engine.backward(loss)
            tally.add(loss=loss, sigma=quality.log_sigma.exp().sum() * share / 2)
            if not micro.last:
                continue

            step, figures = micro.step, tally.total()
            figures["rate"] = rate_at(step, steps, settings)
            figures["gradient"] = engine.step(figures["rate"]) if math.isfinite(figures["loss"]) else math.nan
            if not math.isfinite(figures["gradient"]):
                saved = checkpoints(run.path)
                not_a_number = NotConverged(
                    "a loss that is a number is needed",
                    found=f"loss {figures['loss']:g}, gradient {figures['gradient']:g}",
                    where=f"step {step}; "
                    + (f"the last good checkpoint is {saved[-1]}" if saved else "before the first checkpoint"),
                    remedy="a lower --lr or --clip, or a longer --warmup",
                )
                raise not_a_number
            state = replace(state, step=step, seconds=time.perf_counter() - started)
            log.write("train", step, {**figures, "pairs_per_second": step * settings.batch / state.seconds})

            if validation and (step % settings.validate_every == 0 or step == steps):
                result = validate(engine, parts, pairs, validation, accelerator)
                log.write("validation", step, {"loss": result.loss, "accuracy": result.accuracy(validation)})
                if state.best_loss is None or result.loss < state.best_loss:
                    state = replace(state, best_step=step, best_loss=result.loss)
                    if settings.choose == "best":
                        run.save_best(engine)
            for tests in also if step % settings.validate_every == 0 or step == steps else ():
                result = validate(engine, parts, tests.pairs, tests.rows, accelerator)
                log.write(f"also/{tests.name}", step, tests.summary(result.loss, result.logits))
            if step % settings.save_every == 0 or step == steps:
                run.save(state, engine)
            progress(step, steps, figures["loss"])

        chosen = None
        if validation:
            if settings.choose == "best":
                run.restore_weights(engine)
            chosen = validate(engine, parts, pairs, validation, accelerator)
        test_results = tuple(validate(engine, parts, tests.pairs, tests.rows, accelerator) for tests in also)
    if shard != "none" and is_main:
        # The weights that were chosen, out of the files they were saved to, whole on the CPU.
        network = parts.open_again().network
        adapters = make_trainable(network, settings, ties=survey.ties)
        fill_network(network, run.chosen_weights())
    if adapters is not None and (shard == "none" or is_main):
        merge_lora(adapters)
    return FittedReward(
        network.eval(),
        state,
        steps,
        accelerator.num_processes,
        accelerator.mixed_precision,
        shard,
        chosen,
        is_main,
        test_results,
    )


def pair_losses(
    quality: Quality, rows: list[LabeledPair], settings: RewardSettings, tie: Tensor | None
) -> tuple[Tensor, Tensor]:
    """(pairs,) the loss of each pair under the law, and what the prior on log sigma charges for its two pictures.

    The first half of `quality` are the pictures a, the second half their rivals b.
    """
    half = len(rows)
    mu_a, mu_b = quality.mu[:half], quality.mu[half:]
    log_a, log_b = quality.log_sigma[:half], quality.log_sigma[half:]
    target, ties = (torch.tensor(column, device=mu_a.device) for column in zip(*((r.share, r.ties) for r in rows)))
    tie = tie if settings.law in TIE_LAWS else None  # a model that is trained on may have been of another law
    chances = log_chances(settings.law, mu_a, mu_b, log_a, log_b, tie=tie)
    losses = win_losses(chances, target, ties=ties)
    if settings.law not in UNCERTAIN_LAWS:
        return losses, torch.zeros_like(losses)
    return losses, sigma_prior(log_a) + sigma_prior(log_b)


@torch.no_grad()
def validate(
    engine: Engine, parts: RewardParts, pairs: PairFile, rows: list[LabeledPair], accelerator: Accelerator
) -> Validation:
    """What the network says of the validation pairs, each process of its share of them."""
    settings, world, rank = pairs.settings, accelerator.num_processes, accelerator.process_index
    engine.network.eval()
    mine = list(enumerate(rows))[rank::world]
    answers: list[tuple[int, float, float]] = []
    for start in range(0, math.ceil(len(rows) / world), settings.at_once):
        batch = mine[start : start + settings.at_once]
        numbers, part = zip(*(batch or [(0, rows[0])]))  # all processes pass through the network equally often
        quality, tie = engine(_inputs(parts, pairs, list(part)))
        losses, _ = pair_losses(quality, list(part), settings, tie)
        if batch:
            (mu_a, mu_b), (log_a, log_b) = (values.double().cpu().numpy().reshape(2, -1) for values in quality)
            number = tie.item() if tie is not None and settings.law in TIE_LAWS else None
            odds = log_odds(settings.law, mu_a - mu_b, np.hypot(np.exp(log_a), np.exp(log_b)), number)
            answers += zip(numbers, losses.tolist(), odds.tolist(), strict=True)
    everywhere = sorted(gather_object(answers) if world > 1 else answers)
    return Validation(
        math.fsum(loss for _, loss, _ in everywhere) / len(everywhere), np.array([logit for _, _, logit in everywhere])
    )


def rate_at(step: int, steps: int, settings: RewardSettings) -> float:
    """The learning rate of a step, counted from 1: a straight rise, then constant, or down to 0 after the last step."""
    rising = settings.warmup * steps
    if step < rising:
        return settings.learning_rate * step / rising
    left = (steps + 1 - step) / max(1, steps + 1 - rising)
    shape = {"constant": 1.0, "linear": min(1.0, left), "cosine": (1 - math.cos(math.pi * min(1.0, left))) / 2}
    return settings.learning_rate * shape[settings.decay]


# -- one step's pairs ------------------------------------------------------------------------------------------------


def _micro_batches(
    rows: Iterator[LabeledPair], steps: range, settings: RewardSettings, accelerator: Accelerator
) -> Iterator[MicroBatch]:
    """The parts of every step that fall to this process."""
    world, rank = accelerator.num_processes, accelerator.process_index
    for step in steps:
        whole = list(islice(rows, settings.batch))
        mine, most = whole[rank::world], math.ceil(len(whole) / world)
        for start in range(0, most, settings.at_once):
            number = (step - 1) * settings.batch + rank + start * world
            part, last = mine[start : start + settings.at_once], start + settings.at_once >= most
            yield MicroBatch(step, number, last, part or whole[:1], len(whole), counts=bool(part))


def _inputs(parts: RewardParts, pairs: PairFile, rows: list[LabeledPair]) -> dict[str, Tensor]:
    """What the network reads of these pairs: all pictures a, then all pictures b."""
    pictures = [read_pair(row, pairs) for row in rows]
    images = [a for a, _ in pictures] + [b for _, b in pictures]
    criteria = [pairs.names.get(row.criterion, row.criterion) for row in rows]
    return parts.questions(images, [row.text for row in rows] * 2, criteria * 2)


class _StepSums:
    """Sums over the parts of a step, and over all processes."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._sums: dict[str, Tensor] = {}

    def add(self, **values: Tensor) -> None:
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0) + value.detach()

    def total(self) -> dict[str, float]:
        """The sums, which are then reset."""
        names, summed = list(self._sums), torch.stack(list(self._sums.values()))
        self._sums = {}
        return dict(zip(names, self._accelerator.reduce(summed, "sum").tolist(), strict=True))
