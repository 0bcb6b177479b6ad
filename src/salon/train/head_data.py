"""Labels and vectors as tensors, and how much each rater's answers count.

All rows are in memory at once, so a minibatch is a list of row numbers. A table of labels is what `salon labels` gives,
one row for each pair. `votes`, one row for each rater's answer, replaces it in training where each rater's answer is to
be learned; validation is always on pairs.

Weights by agreement. Rater r answered n_r training pairs on which the others have a majority, h_r of them like it:

    q_r = (h_r + 1) / (n_r + 2)          one answer either way is added, so that few answers say little
    w_r = max(0, 2 q_r - 1)              nothing for a rater who agrees no more often than a coin

and weights are divided by their mean over rows. Only training pairs are read: agreement over a whole study, as `salon
check` prints it, has seen the answers that a model is tested against.

Learned weights. Rater r reports what the model sees with probability eta_r, and the opposite otherwise:

    P(r says a) = eta_r s(z) + (1 - eta_r) s(-z),    eta_r ~ Beta(right, wrong)

as in crowd Bradley-Terry (`stats.crowd`), with the head's log-odds z in place of a difference of scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadColumns, BadValue, DesignError, MissingExtra, TooFew, UnknownReference
from salon.models import EncoderPart, Vectors
from salon.train.name_hashes import hash_names
from salon.train.settings import HeadSettings

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

LEAST_PAIRS = 12
"""Training pairs that a criterion needs: two prompts of four items. Few models deserve so few."""
LABEL_COLUMNS = ("criterion", "group", "split", "item_a", "item_b", "label", "share", "agreement", "text")
_SHARES = {"a": 1.0, "b": 0.0, "tie": 0.5}


@dataclass(frozen=True)
class EncodedStudy:
    """Items and texts of a study as vectors, and where each is found."""

    parts: tuple[EncoderPart, ...]
    items: Mapping[str, int]
    """Item to row of `pictures`; items may share a row."""
    pictures: Mapping[str, Vectors]
    """By part."""
    texts: Mapping[str, int]
    """Text to row of `text_vectors`."""
    text_vectors: Vectors


@dataclass(frozen=True)
class PairRows:
    """Pairs (or votes on pairs), one entry each: row numbers into pictures and texts, and what is to be learned."""

    criterion: Tensor
    a: Tensor
    b: Tensor
    text: Tensor
    share: Tensor
    weight: Tensor
    group: NDArray[np.int64]
    """What an interval resamples: the number of the prompt."""
    rater: Tensor | None = None
    """Place in `raters`, where a row is one rater's answer."""

    def __len__(self) -> int:
        return len(self.a)


@dataclass(frozen=True)
class FlagRows:
    """Flagged pictures: the share of raters who flagged each."""

    item: Tensor
    text: Tensor
    share: Tensor

    def __len__(self) -> int:
        return len(self.item)


class _FlagSplits(NamedTuple):
    criterion: str
    train: FlagRows
    validation: FlagRows


@dataclass(frozen=True)
class HeadData:
    """What heads are trained and validated on."""

    parts: tuple[EncoderPart, ...]
    criteria: tuple[str, ...]
    pictures: Tensor
    """(rows, all parts side by side)"""
    texts: Tensor
    train: PairRows
    validation: PairRows
    raters: tuple[str, ...] = ()
    flag: str | None = None
    flag_train: FlagRows | None = None
    flag_validation: FlagRows | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to(self, device: torch.device) -> HeadData:
        """The data on another device; as it is on the CPU."""
        if device.type == "cpu":
            return self
        fields: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                fields[name] = value.to(device)
            elif isinstance(value, PairRows | FlagRows):
                tensors = {key: part.to(device) for key, part in vars(value).items() if isinstance(part, Tensor)}
                fields[name] = replace(value, **tensors)  # type: ignore[arg-type]  # names of tensors
        return replace(self, **fields)


def head_data(
    labels: pa.Table,
    encoded: EncodedStudy,
    settings: HeadSettings,
    *,
    votes: pa.Table | None = None,
    flags: Mapping[str, pa.Table] | None = None,
    rater_weights: Mapping[str, float] | None = None,
    prefixes: Mapping[str, str] | None = None,
) -> HeadData:
    """Tensors of the training and validation rows; the test rows are not even read.

    `flags` is one criterion with a table of item, text, share and split.
    """
    for name in LABEL_COLUMNS:
        if name not in labels.column_names:
            raise BadColumns.missing(name, labels.column_names, where="labels")
    criteria = tuple(dict.fromkeys(labels.column("criterion").to_pylist()))
    if settings.labels == "raters" and votes is None:
        raise BadValue("--labels raters needs one row for each rater's answer", found="pairs alone", where="labels")
    training = split_rows(labels, "train")
    check_enough(labels)
    rows = _RowBuilder(encoded, criteria)
    raters: tuple[str, ...] = ()
    if settings.labels == "raters":
        answers = split_rows(votes, "train")
        raters = tuple(sorted(set(answers.column("rater").to_pylist())))
        train = rows.pairs(answers, hard=True, weigh=settings.weigh, raters=raters, rater_weights=rater_weights)
    else:
        hard = settings.labels == "hard"
        if hard:  # an even pair has no majority to learn
            training = training.filter(pc.not_equal(training.column("label").cast(pa.string()), "tie"))
        train = rows.pairs(training, hard=hard, weigh=settings.weigh)
    flagged = rows.flags(flags) if flags else None
    return HeadData(
        parts=encoded.parts,
        criteria=criteria,
        pictures=torch.from_numpy(np.concatenate([encoded.pictures[part.name] for part in encoded.parts], axis=1)),
        texts=torch.from_numpy(np.ascontiguousarray(encoded.text_vectors)),
        train=train,
        validation=rows.pairs(split_rows(labels, "validation"), hard=False, weigh="none"),
        raters=raters,
        prefixes=dict(prefixes or {}),
        flag=flagged.criterion if flagged else None,
        flag_train=flagged.train if flagged else None,
        flag_validation=flagged.validation if flagged else None,
    )


class _RowBuilder:
    """Turns tables into row numbers."""

    def __init__(self, encoded: EncodedStudy, criteria: Sequence[str]) -> None:
        self.encoded, self.criteria = encoded, criteria
        self.groups: dict[str, int] = {}

    def pairs(
        self,
        table: pa.Table,
        *,
        hard: bool,
        weigh: str,
        raters: Sequence[str] = (),
        rater_weights: Mapping[str, float] | None = None,
    ) -> PairRows:
        share = [_SHARES[label] for label in table.column("label").to_pylist()] if hard else table.column("share")
        weight = np.asarray(table.column("agreement")) if weigh == "agreement" else np.ones(table.num_rows)
        rater_names = table.column("rater").to_pylist() if raters else []
        if rater_weights is not None:
            weight = weight * np.array([rater_weights.get(name, 1.0) for name in rater_names])
        weight = weight / weight.mean() if weight.sum() > 0 else weight
        groups = [self.groups.setdefault(name, len(self.groups)) for name in table.column("group").to_pylist()]
        return PairRows(
            criterion=_row_numbers(table, "criterion", {name: n for n, name in enumerate(self.criteria)}),
            a=_row_numbers(table, "item_a", self.encoded.items),
            b=_row_numbers(table, "item_b", self.encoded.items),
            text=self._texts(table),
            share=torch.tensor(np.asarray(share), dtype=torch.float32),
            weight=torch.tensor(weight, dtype=torch.float32),
            group=np.array(groups, np.int64),
            rater=_row_numbers(table, "rater", {name: n for n, name in enumerate(raters)}) if raters else None,
        )

    def flags(self, flags: Mapping[str, pa.Table]) -> _FlagSplits:
        """The rows of one flagged criterion, if both a flagged and a clean picture are there to learn from."""
        ((criterion, table),) = flags.items()
        train, validation = (self._flag_rows(split_rows(table, split)) for split in ("train", "validation"))
        share = train.share
        if not len(share) or bool((share == share[0]).all()):
            raise DesignError(
                "a flag head needs pictures that were flagged and pictures that were not",
                found=f"{len(share)} training pictures, all flagged by {float(share[0]) if len(share) else 0:.0%}",
                where=f"criterion {criterion!r}",
                remedy="--no-flags trains the other heads alone",
            )
        return _FlagSplits(criterion, train, validation)

    def _flag_rows(self, part: pa.Table) -> FlagRows:
        share = torch.tensor(np.asarray(part.column("share")), dtype=torch.float32)
        return FlagRows(_row_numbers(part, "item", self.encoded.items), self._texts(part), share)

    def _texts(self, table: pa.Table) -> Tensor:
        filled = table.column("text").cast(pa.string()).fill_null("")
        return _row_numbers(pa.table({"text": filled}), "text", self.encoded.texts)


def split_rows(table: pa.Table, split: str) -> pa.Table:
    """The rows of one side of the split."""
    return table.filter(pc.equal(table.column("split").cast(pa.string()), split))


def _row_numbers(table: pa.Table, column: str, places: Mapping[str, int]) -> Tensor:
    """A column of names as places; UnknownReference where one has none."""
    names = table.column(column).to_pylist()
    missing = next((name for name in names if name not in places), None)
    if missing is not None:
        raise UnknownReference(f"a vector for every {column} is needed", found=f"none for {missing!r}", where="labels")
    return torch.tensor([places[name] for name in names], dtype=torch.long)


def check_enough(labels: pa.Table) -> None:
    """TooFew or DesignError where a criterion cannot be learned; before pictures are encoded, which takes long."""
    training, validation = (split_rows(labels, split) for split in ("train", "validation"))
    criteria = dict.fromkeys(labels.column("criterion").cast(pa.string()).to_pylist())
    if not criteria:
        raise TooFew("labelled pairs are needed", found="none", remedy=f"at least {LEAST_PAIRS} for each criterion")
    names = training.column("criterion").cast(pa.string())
    for criterion in criteria:
        share = np.asarray(training.filter(pc.equal(names, criterion)).column("share"))
        if len(share) < LEAST_PAIRS:
            raise TooFew(
                f"a criterion needs at least {LEAST_PAIRS} labelled pairs to train on",
                found=f"{len(share)}",
                where=f"criterion {criterion!r}",
                remedy="collect more judgments, raise --train, or leave it out by naming others with --criterion",
            )
        if (share == 0.5).all():
            raise DesignError(
                "pairs with a winner are needed",
                found=f"{len(share)} pairs, all even",
                where=f"criterion {criterion!r}",
                remedy="leave it out by naming others with --criterion",
            )
    if not validation.num_rows:
        raise TooFew(
            "pairs to choose the best state by are needed",
            found="none in the validation split",
            remedy="more prompts (about 30), a larger --validation, or another --split-seed",
        )


# -- weights of raters -------------------------------------------------------------------------------------------------

RIGHT, WRONG = 9.0, 1.0
"""The prior of eta: as if each rater had been seen right nine times in ten."""


def agreement_weights(tables: Iterable[pa.Table]) -> dict[str, float]:
    """w of every rater, from the training rows of tables of votes: of each rater the last answer to a pair.

    In memory are 13 bytes a vote, and as many again while they are sorted.
    """
    raters: dict[str, int] = {}
    pairs, places, signs = ([np.empty(0, kind)] for kind in (np.uint64, np.int32, np.int8))
    for table in tables:
        rows = split_rows(table, "train")
        keys = [rows.column(name).cast(pa.string()) for name in ("criterion", "item_a", "item_b")]
        pairs.append(hash_names(pc.binary_join_element_wise(*keys, "\x1f")))
        names = rows.column("rater").to_pylist()
        places.append(np.array([raters.setdefault(name, len(raters)) for name in names], np.int32))
        signs.append(
            np.array([({"a": 1, "b": -1}.get(label, 0)) for label in rows.column("label").to_pylist()], np.int8)
        )
    pair, rater, sign = (np.concatenate(parts) for parts in (pairs, places, signs))
    order = np.lexsort((rater, pair))  # stable: of one rater's answers to a pair the last stays last
    pair, rater, sign = pair[order], rater[order], sign[order]
    last = np.append((pair[1:] != pair[:-1]) | (rater[1:] != rater[:-1]), True)[: len(pair)]
    pair, rater, sign = pair[last], rater[last], sign[last].astype(np.int64)
    number = np.cumsum(np.append(False, pair[1:] != pair[:-1])[: len(pair)])
    other_votes = np.bincount(number, sign)[number] - sign if len(number) else sign
    counts = (other_votes != 0) & (sign != 0)
    n = np.bincount(rater[counts], minlength=len(raters))
    hits = np.bincount(rater[counts & (np.sign(other_votes) == sign)], minlength=len(raters))
    weights = np.maximum(0.0, 2 * (hits + 1) / (n + 2) - 1)
    return dict(zip(raters, weights.tolist()))


class Reliability(nn.Module):
    """eta of every rater, learned along with the heads and left behind when they are used."""

    def __init__(self, raters: int) -> None:
        super().__init__()
        self.u = nn.Parameter(torch.full((raters,), math.log(RIGHT / WRONG)))

    @property
    def eta(self) -> Tensor:
        """(raters,)"""
        return torch.sigmoid(self.u)

    def log_loss(self, logits: Tensor, share: Tensor, rater: Tensor) -> Tensor:
        """(n,) minus the log-likelihood of each answer; a tie is half an answer each way."""
        right, wrong = F.logsigmoid(self.u[rater]), F.logsigmoid(-self.u[rater])
        for_a, for_b = F.logsigmoid(logits), F.logsigmoid(-logits)
        says_a = torch.logaddexp(right + for_a, wrong + for_b)
        says_b = torch.logaddexp(right + for_b, wrong + for_a)
        return -(share * says_a + (1 - share) * says_b)

    def log_prior(self) -> Tensor:
        """The log-density of all eta in u, up to a constant."""
        return (RIGHT * F.logsigmoid(self.u) + WRONG * F.logsigmoid(-self.u)).sum()
