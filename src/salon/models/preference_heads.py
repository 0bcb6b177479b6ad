"""Small networks that learn a preference from the vectors of a frozen encoder.

t is a text's vector, p one part of a picture's (see `encoders`), x all its parts side by side. What a head reads:

    one picture      aligned part: p, t*p, |t-p|                      free part: p                       (t once, first)
    two pictures     aligned part: pa, pb, pa-pb, |pa-pb|, t*(pa-pb)  free part: pa, pb, pa-pb, |pa-pb|

First the vectors of each space are turned to their principal axes over the training data, and only the first axes are
kept; aligned parts and texts share theirs. Each kind of feature is then brought to mean 0 and mean square 1 as a block:
directions in which pictures differ little stay small, and a head learns them last.

Three forms of the log-odds for a over b:

    scalar           tau (f(t, a) - f(t, b)),  tau = exp(learned)     each picture has a score of its own
    pairwise         g(t, a, b)                                       may weigh both together; order leaves a trace
    antisymmetric    (g(t, a, b) - g(t, b, a)) / 2                    as pairwise, and swapping flips the sign exactly

f and g are weighted sums of the features and of one hidden layer over them, for each criterion its own or one shared by
all: what is straight is learned at once, and the layer learns the rest. A flag head, h over the features of one
picture, gives the log-odds that a rater flags it.

Source: TASTE 7.2 for scalar, pairwise and flag heads, with one aligned part and all axes; the antisymmetric form, the
axes and the scale are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from salon.errors import MissingExtra, UnknownReference
from salon.models.encoders import EncoderPart
from salon.study import Noun

try:
    import torch
    from torch import Tensor, nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

Form = Literal["scalar", "pairwise", "antisymmetric"]
Trunk = Literal["own", "shared"]
REFERENCES = 32
"""Pictures that a form which only compares keeps, to give single pictures a score."""
_LEAST_SPREAD = 1e-6
"""A block of features that varies less than this is constant and becomes 0."""
_MOST_ROWS = 1024
"""Rows whose features are made at once outside training."""


class HeadShape(Noun):
    """All that the networks are built from."""

    form: Form
    parts: tuple[EncoderPart, ...]
    text_width: int
    criteria: tuple[str, ...]
    flag: str | None = None
    width: int = 64
    dropout: float = 0.0
    trunk: Trunk = "own"
    prefixes: dict[str, str] = Field(default_factory=dict)
    """By criterion, words put before each text, where prompts were conditioned on the criterion."""

    axes: int = 0
    """Principal axes kept of each space; 0 keeps the vectors as they are."""

    def kept(self, width: int) -> int:
        """What is left of a vector of this width."""
        return min(self.axes, width) if self.axes else width

    @property
    def kept_parts(self) -> tuple[EncoderPart, ...]:
        """The parts as heads see them."""
        return tuple(part._replace(width=self.kept(part.width)) for part in self.parts)


# -- features ----------------------------------------------------------------------------------------------------------


def one_blocks(t: Tensor, x: Tensor, parts: tuple[EncoderPart, ...]) -> list[Tensor]:
    """Features of pictures x (n, picture width) under texts t (n, text width), kind by kind."""
    blocks = [t] if any(part.aligned for part in parts) else []
    for aligned, p in _split(x, parts):
        blocks += [p, t * p, (t - p).abs()] if aligned else [p]
    return blocks


def two_blocks(t: Tensor, a: Tensor, b: Tensor, parts: tuple[EncoderPart, ...]) -> list[Tensor]:
    """Features of pairs of pictures a and b under texts t, kind by kind."""
    blocks = [t] if any(part.aligned for part in parts) else []
    for (aligned, pa), (_, pb) in zip(_split(a, parts), _split(b, parts)):
        difference = pa - pb
        blocks += [pa, pb, difference, difference.abs()]
        if aligned:
            blocks.append(t * difference)
    return blocks


def _split(x: Tensor, parts: tuple[EncoderPart, ...]) -> Iterator[tuple[bool, Tensor]]:
    for part, piece in zip(parts, x.split([part.width for part in parts], dim=-1), strict=True):
        yield part.aligned, piece


class PrincipalAxes(nn.Module):
    """The principal axes of vectors: a turn, and the loss of what varies least."""

    axes: Tensor

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.register_buffer("axes", torch.eye(width, count))

    def fit(self, rows: Tensor) -> None:
        """The first axes of these rows; where there are too few rows for all, the rest are 0."""
        centred = (rows - rows.mean(0)).double()
        _, turn = torch.linalg.eigh(centred.T @ centred)
        turn = turn.flip(1)[:, : self.axes.shape[1]]
        # An axis has no direction of its own: its largest entry is made positive, so that it has one everywhere.
        turn = turn * turn.gather(0, turn.abs().argmax(0, keepdim=True)).sign()
        self.axes.copy_(turn)

    def forward(self, rows: Tensor) -> Tensor:
        return rows @ self.axes


class FeatureScale(nn.Module):
    """Features less their mean, each block over its own spread in the training data; kept with the weights."""

    middle: Tensor
    factor: Tensor

    def __init__(self, blocks: list[int]) -> None:
        super().__init__()
        self.blocks = blocks
        self.register_buffer("middle", torch.zeros(sum(blocks)))
        self.register_buffer("factor", torch.ones(sum(blocks)))

    def fit(self, features: Iterator[Tensor]) -> None:
        """Learn from batches of rows; in double precision, so that the number of rows does not matter."""
        n = 0
        total, squares = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
        for rows in features:
            rows = rows.double()
            n, total, squares = n + len(rows), total + rows.sum(0), squares + rows.square().sum(0)
        middle = total / n
        variance = (squares / n - middle.square()).clamp(min=0)
        spreads = [block.mean().sqrt().expand(len(block)) for block in variance.split(self.blocks)]
        spread = torch.cat(spreads)
        self.middle.copy_(middle)
        self.factor.copy_(torch.where(spread > _LEAST_SPREAD, 1 / spread, 0))

    def forward(self, features: Tensor) -> Tensor:
        return (features - self.middle) * self.factor


# -- the network -------------------------------------------------------------------------------------------------------


class PreferenceHeads(nn.Module):
    """The heads of all criteria over one encoder.

    They read texts t and pictures x after `reduce_texts` and `reduce_pictures`: callers that ask often reduce once.
    """

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        self.shape, self.parts = shape, shape.kept_parts
        if shape.axes:
            self.text_axes = PrincipalAxes(shape.text_width, shape.kept(shape.text_width))
            self.part_axes = nn.ModuleDict(
                {
                    part.name: PrincipalAxes(part.width, shape.kept(part.width))
                    for part in shape.parts
                    if not part.aligned
                }
            )
        parts = shape.kept_parts
        t, x = torch.zeros(1, shape.kept(shape.text_width)), torch.zeros(1, sum(part.width for part in parts))
        single_blocks, pair_blocks = (
            [block.shape[1] for block in one_blocks(t, x, parts)],
            [block.shape[1] for block in two_blocks(t, x, x, parts)],
        )
        features = single_blocks if shape.form == "scalar" else pair_blocks
        self.scale = FeatureScale(features)
        shared = shape.trunk == "shared"
        self.trunk = WideLayer(sum(features), shape) if shared else nn.Identity()
        self.heads = nn.ModuleList(_head(sum(features), shape, shared=shared) for _ in shape.criteria)
        if shape.form == "scalar":
            self.log_tau = nn.Parameter(torch.zeros(len(shape.criteria)))
        else:
            self.register_buffer("references", torch.zeros(0, sum(part.width for part in self.parts)))
        if shape.flag is not None:
            self.flag_scale = FeatureScale(single_blocks)
            self.flag_head = _head(sum(single_blocks), shape)

    def reduce_texts(self, texts: Tensor) -> Tensor:
        """(n, text width) vectors of an encoder as the heads read them."""
        return self.text_axes(texts) if self.shape.axes else texts

    def reduce_pictures(self, pictures: Tensor) -> Tensor:
        """(n, picture width) vectors of an encoder as the heads read them."""
        if not self.shape.axes:
            return pictures
        pieces = pictures.split([part.width for part in self.shape.parts], dim=-1)
        turns = (self.text_axes if part.aligned else self.part_axes[part.name] for part in self.shape.parts)
        return torch.cat([turn(piece) for turn, piece in zip(turns, pieces)], dim=-1)

    def number(self, criterion: str) -> int:
        """The place of a criterion; UnknownReference for one the heads know nothing of."""
        if criterion not in self.shape.criteria:
            raise UnknownReference(
                "a criterion the model was trained on is needed",
                found=repr(criterion),
                remedy="one of " + ", ".join(self.shape.criteria),
            )
        return self.shape.criteria.index(criterion)

    @property
    def tau(self) -> Tensor:
        """(criteria,) the learned factors of the scalar form."""
        return self.log_tau.exp()

    def logits(self, t: Tensor, a: Tensor, b: Tensor, criterion: int) -> Tensor:
        """(n,) log-odds that a is preferred to b, as they stand.

        The two halves of a difference are made by two calls on rows of the same number: then every sum is taken in the
        same order, and swapping a and b flips the sign to the last bit.
        """
        if self.shape.form == "scalar":
            return self.tau[criterion] * (self._one(t, a, criterion) - self._one(t, b, criterion))
        if self.shape.form == "pairwise":
            return self._two(t, a, b, criterion)
        return (self._two(t, a, b, criterion) - self._two(t, b, a, criterion)) / 2

    def scores(self, t: Tensor, x: Tensor, criterion: int) -> Tensor:
        """(n,) a number for each picture: tau f, or the mean log-odds against the kept pictures, both orders."""
        if self.shape.form == "scalar":
            return self.tau[criterion] * self._one(t, x, criterion)
        against = [self._against(t, x, reference.expand_as(x), criterion) for reference in self.references]
        return torch.stack(against).mean(0)

    def _against(self, t: Tensor, x: Tensor, reference: Tensor, criterion: int) -> Tensor:
        return (self._two(t, x, reference, criterion) - self._two(t, reference, x, criterion)) / 2

    def flag_logits(self, t: Tensor, x: Tensor) -> Tensor:
        """(n,) log-odds that a rater flags the picture."""
        values: Tensor = self.flag_head(self.flag_scale(torch.cat(one_blocks(t, x, self.parts), dim=-1))).squeeze(-1)
        return values

    def _one(self, t: Tensor, x: Tensor, criterion: int) -> Tensor:
        return self._apply_head(one_blocks(t, x, self.parts), criterion)

    def _two(self, t: Tensor, a: Tensor, b: Tensor, criterion: int) -> Tensor:
        return self._apply_head(two_blocks(t, a, b, self.parts), criterion)

    def _apply_head(self, blocks: list[Tensor], criterion: int) -> Tensor:
        values: Tensor = self.heads[criterion](self.trunk(self.scale(torch.cat(blocks, dim=-1)))).squeeze(-1)
        return values

    # -- before training -----------------------------------------------------------------------------------------------

    def without_opinion(self) -> PreferenceHeads:
        """These heads, all log-odds 0: random ones would have to be unlearned first."""
        flags = [self.flag_head] if self.shape.flag is not None else []
        for head in (*self.heads, *flags):
            nn.init.zeros_(head[-1].weight)
            nn.init.zeros_(head[-1].bias)
        return self

    def fit_axes(self, texts: Tensor, pictures: Tensor) -> None:
        """The principal axes of the training texts and pictures, as the encoder gives them."""
        if not self.shape.axes:
            return
        aligned = [texts]
        for part, piece in zip(self.shape.parts, pictures.split([part.width for part in self.shape.parts], dim=-1)):
            if part.aligned:
                aligned.append(piece)
            else:
                axes = self.part_axes[part.name]
                assert isinstance(axes, PrincipalAxes)
                axes.fit(piece)
        self.text_axes.fit(torch.cat(aligned))

    def fit_scale(self, t: Tensor, a: Tensor, b: Tensor) -> None:
        """Mean and spread of the features over training pairs, both orders."""
        if self.shape.form == "scalar":
            rows = (one_blocks(u, x, self.parts) for x in (a, b) for u, x in _pieces(t, x))
        else:
            ways = ((a, b), (b, a))
            rows = (two_blocks(u, x, y, self.parts) for way in ways for u, x, y in _pieces(t, *way))
        self.scale.fit(torch.cat(blocks, dim=-1) for blocks in rows)

    def fit_flag_scale(self, t: Tensor, x: Tensor) -> None:
        """The same for the flag head, over flagged pictures."""
        self.flag_scale.fit(torch.cat(one_blocks(u, y, self.parts), dim=-1) for u, y in _pieces(t, x))

    def keep_references(self, pictures: Tensor) -> None:
        """Keep pictures (at most REFERENCES), reduced, to compare single ones with."""
        self.references = pictures[:REFERENCES].clone()


class WideLayer(nn.Module):
    """Features, and a hidden layer over them beside them."""

    def __init__(self, features: int, shape: HeadShape) -> None:
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(features, shape.width), nn.GELU(), nn.Dropout(shape.dropout))

    def forward(self, features: Tensor) -> Tensor:
        return torch.cat([features, self.hidden(features)], dim=-1)


def _head(features: int, shape: HeadShape, *, shared: bool = False) -> nn.Sequential:
    last = nn.Linear(features + shape.width, 1)
    return nn.Sequential(last) if shared else nn.Sequential(WideLayer(features, shape), last)


def _pieces(*rows: Tensor) -> Iterator[tuple[Tensor, ...]]:
    return zip(*(tensor.split(_MOST_ROWS) for tensor in rows))
