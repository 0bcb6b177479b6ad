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
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from salon.errors import MissingExtra, NotConverged
from salon.models.lora import merged
from salon.models.reward_model import log_odds
from salon.models.reward_network import Quality, RewardNetwork, RewardParts
from salon.train.losses import TIE_LAWS, UNCERTAIN_LAWS, log_chances, sigma_prior, win_losses
from salon.train.reward_data import PairFile, PairRow, ahead, pair_rows, read_pair
from salon.train.reward_folder import RunFolder, RunState, checkpoints
from salon.train.reward_logs import RunLog
from salon.train.reward_settings import RewardSettings
from salon.train.reward_setup import accelerator_for, enough_memory, make_trainable, own_chance, parameter_groups
from salon.train.reward_survey import Survey

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
class Micro:
    """What one process looks at in one pass: some pairs of a step."""

    step: int
    """The step it belongs to, counted from 1."""
    number: int
    """The first of its pairs, counted over the whole run: the seed of its dropout."""
    last: bool
    """Whether this process is done with the step after it."""
    rows: list[PairRow]
    pairs: int
    """Those of the whole step, everywhere."""


@dataclass(frozen=True)
class Validation:
    """How the model does on the validation pairs."""

    loss: float
    """Mean over pairs under the law, without weights and prior."""
    logits: NDArray[np.float64]
    """Log-odds of each pair, in their order."""

    def accuracy(self, rows: list[PairRow]) -> float | None:
        """The share of pairs with a winner whose winner the model names, no difference being half; None without any."""
        lead = np.sign([row.share - 0.5 for row in rows])
        right = (1 + np.sign(self.logits) * lead)[lead != 0] / 2
        return float(right.mean()) if len(right) else None


@dataclass(frozen=True)
class Fitted:
    """A trained network, its adapters merged."""

    network: RewardNetwork
    state: RunState
    steps: int
    processes: int
    precision: str
    validation: Validation | None
    """Of the weights that were chosen."""
    is_main: bool
    """Whether this process is the one that writes."""


def fit(
    parts: RewardParts,
    pairs: PairFile,
    survey: Survey,
    run: RunFolder,
    *,
    progress: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> Fitted:
    """Train `parts.network` on the training pairs; `progress` is told (step, steps, loss).

    Goes on from the last checkpoint in the run's folder, where there is one.
    """
    settings, network = run.settings, parts.network
    accelerator = accelerator_for(settings)
    is_main, device = accelerator.is_main_process, accelerator.device
    adapters = make_trainable(network, settings, ties=survey.ties)
    network.to(device)
    optimizer = torch.optim.AdamW(parameter_groups(network, settings), weight_decay=settings.weight_decay)
    state = run.restore(network, optimizer)
    wrapped, optimizer = accelerator.prepare(network, optimizer)

    steps = settings.steps or math.ceil(survey.rows["train"] * settings.epochs / settings.batch)
    validation = list(pair_rows([pairs.validation()]))
    rows = pairs.training(survey.rows["train"], start=state.step * settings.batch)
    micros = _micros(rows, range(state.step + 1, steps + 1), settings, accelerator)
    read = ahead(lambda micro: (micro, _inputs(parts, pairs, micro.rows)), micros,
                 threads=settings.readers, waiting=math.ceil(WAITING / settings.at_once))  # fmt: skip

    log = RunLog(run.path if is_main else None, settings.record(), name=run.path.parent.name, step=state.step)
    with log, own_chance(device), enough_memory(settings):
        tally, started = _Tally(accelerator), time.perf_counter() - state.seconds
        for micro, inputs in read:
            torch.manual_seed(settings.seed * 1_000_003 + micro.number)
            network.train()
            with nullcontext() if micro.last else accelerator.no_sync(wrapped):
                quality = wrapped(_on(inputs, device))
                losses, priors = pair_losses(quality, micro.rows, settings, network)
                weight = torch.tensor([row.weight / survey.weight for row in micro.rows], device=device)
                loss = (weight * losses + settings.prior * priors).sum() / micro.pairs
                accelerator.backward(loss * accelerator.num_processes)  # gradients of processes are averaged
            tally.add(loss=loss, sigma=quality.log_sigma.exp().sum() / (2 * micro.pairs))
            if not micro.last:
                continue

            step, figures = micro.step, tally.total()
            figures["gradient"] = float(accelerator.clip_grad_norm_(network.parameters(), settings.clip))
            if not math.isfinite(figures["loss"] + figures["gradient"]):
                raise _not_a_number(step, figures, run)
            figures["rate"] = rate_at(step, steps, settings)
            for group in optimizer.param_groups:
                group["lr"] = group["scale"] * figures["rate"]
            optimizer.step()
            optimizer.zero_grad()
            state = replace(state, step=step, seconds=time.perf_counter() - started)
            log.write("train", step, {**figures, "pairs_per_second": step * settings.batch / state.seconds})

            if validation and (step % settings.validate_every == 0 or step == steps):
                found = validate(network, parts, pairs, validation, accelerator)
                log.write("validation", step, {"loss": found.loss, "accuracy": found.accuracy(validation)})
                if state.best_loss is None or found.loss < state.best_loss:
                    state = replace(state, best_step=step, best_loss=found.loss)
                    if is_main and settings.choose == "best":
                        run.save_best(network)
            if is_main and (step % settings.save_every == 0 or step == steps):
                run.save(state, network, optimizer)
            progress(step, steps, figures["loss"])

        accelerator.wait_for_everyone()
        if validation and settings.choose == "best":
            run.restore_best(network)
        chosen = validate(network, parts, pairs, validation, accelerator) if validation else None
    if adapters is not None:
        merged(adapters)
    return Fitted(network.eval(), state, steps, accelerator.num_processes, accelerator.mixed_precision, chosen, is_main)


def pair_losses(
    quality: Quality, rows: list[PairRow], settings: RewardSettings, network: RewardNetwork
) -> tuple[Tensor, Tensor]:
    """(pairs,) the loss of each pair under the law, and what the prior on log sigma charges for its two pictures.

    The first half of `quality` are the pictures a, the second half their rivals b.
    """
    half = len(rows)
    mu_a, mu_b = quality.mu[:half], quality.mu[half:]
    log_a, log_b = quality.log_sigma[:half], quality.log_sigma[half:]
    target, ties = (torch.tensor(column, device=mu_a.device) for column in zip(*((r.share, r.ties) for r in rows)))
    tie = network.extra["tie"] if settings.law in TIE_LAWS else None
    chances = log_chances(settings.law, mu_a, mu_b, log_a, log_b, tie=tie)
    losses = win_losses(chances, target, ties=ties)
    if settings.law not in UNCERTAIN_LAWS:
        return losses, torch.zeros_like(losses)
    return losses, sigma_prior(log_a) + sigma_prior(log_b)


@torch.no_grad()
def validate(
    network: RewardNetwork, parts: RewardParts, pairs: PairFile, rows: list[PairRow], accelerator: Accelerator
) -> Validation:
    """What the network says of the validation pairs, each process of its share of them."""
    settings, world, rank = pairs.settings, accelerator.num_processes, accelerator.process_index
    network.eval()
    mine, told = list(enumerate(rows))[rank::world], []
    for start in range(0, len(mine), settings.at_once):
        numbers, part = zip(*mine[start : start + settings.at_once])
        with accelerator.autocast():
            quality = network(_on(_inputs(parts, pairs, list(part)), accelerator.device))
        losses, _ = pair_losses(quality, list(part), settings, network)
        told += zip(numbers, losses.tolist(), _log_odds(quality, settings, network), strict=True)
    everywhere = sorted(gather_object(told) if world > 1 else told)
    return Validation(
        math.fsum(loss for _, loss, _ in everywhere) / len(everywhere), np.array([odds for _, _, odds in everywhere])
    )


def _log_odds(quality: Quality, settings: RewardSettings, network: RewardNetwork) -> list[float]:
    (mu_a, mu_b), (log_a, log_b) = (each.double().cpu().numpy().reshape(2, -1) for each in quality)
    tie = network.extra["tie"].item() if settings.law in TIE_LAWS else None
    return log_odds(settings.law, mu_a - mu_b, np.hypot(np.exp(log_a), np.exp(log_b)), tie).tolist()


def rate_at(step: int, steps: int, settings: RewardSettings) -> float:
    """The learning rate of a step, counted from 1: a straight rise, then constant, or down to 0 after the last step."""
    rising = settings.warmup * steps
    if step < rising:
        return settings.learning_rate * step / rising
    left = (steps + 1 - step) / max(1, steps + 1 - rising)
    shape = {"constant": 1.0, "linear": min(1.0, left), "cosine": (1 - math.cos(math.pi * min(1.0, left))) / 2}
    return settings.learning_rate * shape[settings.decay]


# -- one step's pairs ------------------------------------------------------------------------------------------------


def _micros(
    rows: Iterator[PairRow], steps: range, settings: RewardSettings, accelerator: Accelerator
) -> Iterator[Micro]:
    """The parts of every step that fall to this process."""
    world, rank = accelerator.num_processes, accelerator.process_index
    for step in steps:
        whole = list(islice(rows, settings.batch))
        mine = whole[rank::world]
        for start in range(0, len(mine), settings.at_once):
            number = (step - 1) * settings.batch + rank + start * world
            part, last = mine[start : start + settings.at_once], start + settings.at_once >= len(mine)
            yield Micro(step, number, last, part, len(whole))


def _inputs(parts: RewardParts, pairs: PairFile, rows: list[PairRow]) -> dict[str, Tensor]:
    """What the network reads of these pairs: all pictures a, then all pictures b."""
    pictures = [read_pair(row, pairs.images) for row in rows]
    images = [a for a, _ in pictures] + [b for _, b in pictures]
    criteria = [pairs.names.get(row.criterion, row.criterion) for row in rows]
    return parts.questions(images, [row.text for row in rows] * 2, criteria * 2)


def _on(inputs: dict[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    return {name: tensor.to(device) for name, tensor in inputs.items()}


class _Tally:
    """Sums over the parts of a step, and over all processes."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._sums: dict[str, Tensor] = {}

    def add(self, **values: Tensor) -> None:
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0) + value.detach()

    def total(self) -> dict[str, float]:
        """The sums, which begin anew."""
        names, summed = list(self._sums), torch.stack(list(self._sums.values()))
        self._sums = {}
        return dict(zip(names, self._accelerator.reduce(summed, "sum").tolist(), strict=True))


def _not_a_number(step: int, figures: dict[str, float], run: RunFolder) -> NotConverged:
    kept = checkpoints(run.path)
    return NotConverged(
        "a loss that is a number is needed",
        found=f"loss {figures['loss']:g}, gradient {figures['gradient']:g}",
        where=f"step {step}; " + (f"the last good checkpoint is {kept[-1]}" if kept else "before the first checkpoint"),
        remedy="a lower --lr or --clip, or a longer --warmup",
    )
