"""The training of preference heads, top to bottom.

    loss of a pair     -(share log s(z) + (1 - share) log s(-z)),  z the head's log-odds, s the logistic function
    loss of a flag     the same, against the share of raters who flagged the picture

A pass visits every row once, in batches of one criterion, with pairs swapped at random; batches of pairs and of flags
alternate. After each pass the validation rows are read. The state with the lowest validation loss is kept, that of the
flag head separately, and training stops when neither loss has fallen for `patience` passes. A loss that is not a number
stops it too: the best state so far is kept.

The same data, settings and machine give the same weights to the last bit. The caller's random state is not touched.
"""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue, MissingExtra, NotConverged
from salon.evaluate import hits
from salon.models import REFERENCES, HeadShape, PreferenceHeads
from salon.train.head_data import FlagRows, HeadData, PairRows, Reliability
from salon.train.settings import HeadSettings

try:
    import torch
    from torch import Tensor
    from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

HIDDEN_PACE = 0.1
"""Learning rate of the hidden layer, as a share of the others'; docs/methods/heads.md says how it was found."""


@dataclass(frozen=True)
class Epoch:
    """What one pass gave."""

    number: int
    train_loss: float
    validation_loss: float
    validation_accuracy: float
    """Against the majority; pairs without one are left out."""
    flag_loss: float | None
    seconds: float


@dataclass(frozen=True)
class TrainedHeads:
    """Heads in their best state, and how they came there."""

    network: PreferenceHeads
    epochs: tuple[Epoch, ...]
    best: Epoch
    stopped: str
    """Why it ended, in words."""
    pairs_per_second: float
    reliability: dict[str, float]
    """Learned eta of each rater, where it was learned."""


def train_heads(
    data: HeadData, settings: HeadSettings | None = None, *, watch: Callable[[Epoch], None] | None = None
) -> TrainedHeads:
    """Train heads on `data`; `watch` is called after every pass."""
    settings = settings or HeadSettings()
    device = torch.device(settings.device or "cpu")
    with _seed_torch(settings.seed, device), _explain_memory_errors(settings):
        return _train(data.to(device), settings, device, watch or (lambda epoch: None))


def _train(
    data: HeadData, settings: HeadSettings, device: torch.device, watch: Callable[[Epoch], None]
) -> TrainedHeads:
    generator = torch.Generator().manual_seed(settings.seed)
    network = _network(data, settings).to(device)
    data = reduce_data(network, data)
    _fit_inputs(network, data, generator)
    reliability = Reliability(len(data.raters)).to(device) if settings.rater_weights == "learned" else None
    optimizer = _optimizer(network, reliability, settings)
    steps = settings.epochs * len(_batches(data, settings, torch.Generator().manual_seed(0)))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (1 + math.cos(math.pi * step / steps)) / 2)
    epochs: list[Epoch] = []
    heads, flag, stopped = _Best(), _Best(), f"all {settings.epochs} passes done"
    learning = 0.0

    for number in range(1, settings.epochs + 1):
        started, total, rows = time.perf_counter(), 0.0, 0
        network.train()
        for batch in _batches(data, settings, generator):
            if isinstance(batch, tuple):
                loss, count = _pair_loss(network, data, *batch, generator, reliability)
            else:
                assert data.flag_train is not None
                loss, count = _flag_loss(network, data, data.flag_train, batch), 0
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total, rows = total + float(loss.detach()) * count, rows + count
            if not math.isfinite(total):
                break
        learning += time.perf_counter() - started

        epoch = _validate(network, data, number, total / max(rows, 1), time.perf_counter() - started)
        if not math.isfinite(epoch.train_loss + epoch.validation_loss + (epoch.flag_loss or 0.0)):
            stopped = f"the loss was no number in pass {number}"
            break
        epochs.append(epoch)
        watch(epoch)
        heads.offer(epoch.validation_loss, epoch, network)
        if epoch.flag_loss is not None:
            flag.offer(epoch.flag_loss, epoch, network.flag_head)
        if number - max(heads.number, flag.number) >= settings.patience:
            stopped = f"no lower validation loss for {settings.patience} passes"
            break

    if heads.epoch is None:
        raise NotConverged(
            "a loss that is a number is needed", found=f"{stopped}, before any state worth keeping",
            remedy=f"a lower --lr (now {settings.lr:g}); vectors without NaN",
        )  # fmt: skip
    network.load_state_dict(heads.state)
    if flag.epoch is not None:
        network.flag_head.load_state_dict(flag.state)
    learned = dict(zip(data.raters, reliability.eta.tolist())) if reliability is not None else {}
    speed = len(data.train) * len(epochs) / max(learning, 1e-9)
    return TrainedHeads(network.eval().requires_grad_(False), tuple(epochs), heads.epoch, stopped, speed, learned)


# -- what is trained ---------------------------------------------------------------------------------------------------


def head_shape(data: HeadData, settings: HeadSettings) -> HeadShape:
    """The networks that fit the data and the settings."""
    return HeadShape(
        form=settings.form, parts=data.parts, text_width=data.texts.shape[1], criteria=data.criteria, flag=data.flag,
        width=settings.width, dropout=settings.dropout, trunk=settings.trunk, axes=settings.axes,
        prefixes=dict(data.prefixes),
    )  # fmt: skip


def _network(data: HeadData, settings: HeadSettings) -> PreferenceHeads:
    """Fresh heads with the principal axes of the training data."""
    network = PreferenceHeads(head_shape(data, settings)).without_opinion()
    network = network.to(data.pictures.device, data.pictures.dtype)
    texts, pictures = data.train.text.unique(), torch.cat([data.train.a, data.train.b]).unique()
    network.fit_axes(data.texts[texts], data.pictures[pictures])
    return network


def reduce_data(network: PreferenceHeads, data: HeadData) -> HeadData:
    """The data with vectors as the heads read them."""
    pictures, texts = network.reduce_pictures(data.pictures), network.reduce_texts(data.texts)
    return replace(data, pictures=pictures, texts=texts)


def _fit_inputs(network: PreferenceHeads, data: HeadData, generator: torch.Generator) -> None:
    """The scale of the training features, and pictures to compare single ones with."""
    rows = data.train
    network.fit_scale(data.texts[rows.text], data.pictures[rows.a], data.pictures[rows.b])
    if network.shape.form != "scalar":
        pictures = torch.cat([rows.a, rows.b]).unique()
        chosen = torch.randperm(len(pictures), generator=generator)[:REFERENCES].to(pictures.device)
        network.keep_references(data.pictures[pictures[chosen]])
    if data.flag_train is not None:
        network.fit_flag_scale(data.texts[data.flag_train.text], data.pictures[data.flag_train.item])


def _optimizer(network: PreferenceHeads, reliability: Reliability | None, settings: HeadSettings) -> torch.optim.AdamW:
    """AdamW. The hidden layer learns slowly: it has weights enough to remember every pair, and would do so before the
    straight part has found what holds for others. Only matrices decay: a bias of 0 is no simpler than another."""
    kinds: dict[tuple[float, float], list[Tensor]] = {}
    for name, weight in network.named_parameters():
        lr = settings.lr * (HIDDEN_PACE if ".hidden." in name else 1.0)
        kinds.setdefault((lr, settings.weight_decay if weight.ndim > 1 else 0.0), []).append(weight)
    groups = [{"params": weights, "lr": lr, "weight_decay": decay} for (lr, decay), weights in kinds.items()]
    if reliability is not None:
        groups.append({"params": list(reliability.parameters()), "weight_decay": 0.0, "lr": 10 * settings.lr})
    return torch.optim.AdamW(groups, lr=settings.lr, fused=True)


# -- losses ------------------------------------------------------------------------------------------------------------


def _batches(data: HeadData, settings: HeadSettings, generator: torch.Generator) -> list[tuple[int, Tensor] | Tensor]:
    """A criterion and rows of its pairs; or rows of flags, in turn with the pairs."""
    pairs = criterion_batches(data.train.criterion, settings.batch, generator)
    if data.flag_train is None:
        return [*pairs]
    flags = plain_batches(len(data.flag_train), settings.batch, generator)
    return list(alternate(pairs, flags))


def _pair_loss(
    network: PreferenceHeads, data: HeadData, criterion: int, rows: Tensor, generator: torch.Generator,
    reliability: Reliability | None,
) -> tuple[Tensor, int]:  # fmt: skip
    """The weighted mean loss of some training pairs of one criterion, each turned round or not."""
    pairs = data.train
    turned = torch.rand(len(rows), generator=generator).to(pairs.a.device) < 0.5
    a, b, share, weight = pairs.a[rows], pairs.b[rows], pairs.share[rows], pairs.weight[rows]
    first, second = data.pictures[torch.where(turned, b, a)], data.pictures[torch.where(turned, a, b)]
    share = torch.where(turned, 1 - share, share)
    z = network.logits(data.texts[pairs.text[rows]], first, second, criterion)
    if reliability is None:
        return cross_entropy(z, share, weight=weight), len(rows)
    # The prior belongs to all rows: each batch owes its part of it.
    prior = reliability.log_prior() / len(pairs)
    assert pairs.rater is not None  # reliability is of raters
    return (weight * reliability.log_loss(z, share, pairs.rater[rows])).mean() - prior, len(rows)


def _flag_loss(network: PreferenceHeads, data: HeadData, flags: FlagRows, rows: Tensor) -> Tensor:
    z = network.flag_logits(data.texts[flags.text[rows]], data.pictures[flags.item[rows]])
    return cross_entropy(z, flags.share[rows])


# -- validation --------------------------------------------------------------------------------------------------------


@torch.inference_mode()
def pair_logits(network: PreferenceHeads, data: HeadData, pairs: PairRows) -> NDArray[np.float64]:
    """(pairs,) log-odds of some rows of `data`, as they stand; the network is left in evaluation mode."""
    return _logits(network.eval(), reduce_data(network, data), pairs)


def _logits(network: PreferenceHeads, data: HeadData, pairs: PairRows) -> NDArray[np.float64]:
    z = torch.empty(len(pairs), dtype=data.pictures.dtype, device=data.pictures.device)
    for number in pairs.criterion.unique().tolist():
        rows = torch.nonzero(pairs.criterion == number).squeeze(1)
        for part in rows.split(4096):
            t, a, b = data.texts[pairs.text[part]], data.pictures[pairs.a[part]], data.pictures[pairs.b[part]]
            z[part] = network.logits(t, a, b, number)
    return z.double().cpu().numpy()


@torch.inference_mode()
def _validate(network: PreferenceHeads, data: HeadData, number: int, train_loss: float, seconds: float) -> Epoch:
    pairs = data.validation
    network.eval()
    z, share = _logits(network, data, pairs), pairs.share.double().cpu().numpy()
    loss = float(np.mean(np.logaddexp(0, z) - share * z)) if np.isfinite(z).all() else math.nan
    flag_loss = None
    if data.flag_validation is not None and len(data.flag_validation):
        every = torch.arange(len(data.flag_validation), device=data.pictures.device)
        flag_loss = float(_flag_loss(network, data, data.flag_validation, every))
    right = hits(z, share)
    decided = right[~np.isnan(right)]
    accuracy = float(decided.mean()) if len(decided) else math.nan
    return Epoch(number, train_loss, loss, accuracy, flag_loss, seconds)


class _Best:
    """The state with the lowest loss so far."""

    def __init__(self) -> None:
        self.loss, self.number = math.inf, 0
        self.epoch: Epoch | None = None
        self.state: dict[str, Tensor] = {}

    def offer(self, loss: float, epoch: Epoch, network: torch.nn.Module) -> None:
        """Keep a copy of the network's state if its loss is the lowest."""
        if loss < self.loss:
            self.loss, self.number, self.epoch = loss, epoch.number, epoch
            self.state = copy.deepcopy(network.state_dict())


# -- around it ---------------------------------------------------------------------------------------------------------


@contextmanager
def _seed_torch(seed: int, device: torch.device) -> Iterator[None]:
    """Initial weights and dropout draw from torch's own state: seeded here, and put back afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


@contextmanager
def _explain_memory_errors(settings: HeadSettings) -> Iterator[None]:
    """An out-of-memory error in words, with a batch to try."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not (isinstance(error, MemoryError | torch.OutOfMemoryError) or "memory" in str(error)):
            raise
        raise BadValue(
            "a batch that fits into memory is needed",
            found=f"--batch {settings.batch}: {' '.join(str(error).split())[:120]}",
            remedy=f"--batch {max(1, settings.batch // 4)}, or a smaller --width",
        ) from None


# -- batches -----------------------------------------------------------------------------------------------------------

A = TypeVar("A")
B = TypeVar("B")


def criterion_batches(criterion: Tensor, size: int, generator: torch.Generator) -> list[tuple[int, Tensor]]:
    """Row numbers in batches of one criterion each, with its number; every row once, all in random order."""
    batches = []
    for number in criterion.unique().tolist():
        rows = torch.nonzero(criterion == number).squeeze(1)
        rows = rows[torch.randperm(len(rows), generator=generator)]
        batches += [(number, part) for part in _even_batches(rows, size)]
    return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]


def plain_batches(rows: int, size: int, generator: torch.Generator) -> list[Tensor]:
    """Row numbers in batches, every row once, in random order."""
    return list(_even_batches(torch.randperm(rows, generator=generator), size))


def alternate(first: Iterable[A], second: Iterable[B]) -> Iterator[A | B]:
    """One from each stream in turn; when the shorter one ends, the other goes on."""
    for left, right in itertools.zip_longest(first, second):
        if left is not None:
            yield left
        if right is not None:
            yield right


def _even_batches(rows: Tensor, size: int) -> Iterator[Tensor]:
    """Batches of about equal length, none longer than `size`: a last one of two rows would be nothing but noise."""
    return iter(rows.tensor_split(max(1, -(-len(rows) // size))))
