"""Small networks that learn a preference from the vectors of a frozen encoder.

t is a text's vector, p one part of a picture's (see `encoder`), x all its parts side by side. What a head reads:

    one picture      aligned part: p, t*p, |t-p|                      free part: p                       (t once, first)
    two pictures     aligned part: pa, pb, pa-pb, |pa-pb|, t*(pa-pb)  free part: pa, pb, pa-pb, |pa-pb|

Every feature is then brought to mean 0 and spread 1 over the training data. Three forms of the log-odds for a over b:

    scalar           tau (f(t, a) - f(t, b)),  tau = exp(learned)     each picture has a score of its own
    pairwise         g(t, a, b)                                       may weigh both together; order leaves a trace
    antisymmetric    (g(t, a, b) - g(t, b, a)) / 2                    as pairwise, and swapping flips the sign exactly

f and g have one hidden layer, for each criterion its own or one shared by all. A flag head, h over the features of one
picture, gives the log-odds that a rater flags it.

Source: TASTE 7.2 for scalar, pairwise and flag heads, with one aligned part; the antisymmetric form is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from salon.errors import MissingExtra, UnknownReference
from salon.models.encoder import EncoderPart
from salon.study.noun import Noun

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
"""Features that vary less than this are constants and become 0."""
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

    @property
    def picture_width(self) -> int:
        """Numbers of one picture, all parts side by side."""
        return sum(part.width for part in self.parts)


# -- features ----------------------------------------------------------------------------------------------------------


def one_features(t: Tensor, x: Tensor, parts: tuple[EncoderPart, ...]) -> Tensor:
    """(n, features) of pictures x (n, picture width) under texts t (n, text width)."""
    chunks = [t] if any(part.aligned for part in parts) else []
    for aligned, p in _split(x, parts):
        chunks += [p, t * p, (t - p).abs()] if aligned else [p]
    return torch.cat(chunks, dim=-1)


def two_features(t: Tensor, a: Tensor, b: Tensor, parts: tuple[EncoderPart, ...]) -> Tensor:
    """(n, features) of pairs of pictures a and b under texts t."""
    chunks = [t] if any(part.aligned for part in parts) else []
    for (aligned, pa), (_, pb) in zip(_split(a, parts), _split(b, parts)):
        difference = pa - pb
        chunks += [pa, pb, difference, difference.abs()]
        if aligned:
            chunks.append(t * difference)
    return torch.cat(chunks, dim=-1)


def _split(x: Tensor, parts: tuple[EncoderPart, ...]) -> Iterator[tuple[bool, Tensor]]:
    for part, piece in zip(parts, x.split([part.width for part in parts], dim=-1), strict=True):
        yield part.aligned, piece


class Scale(nn.Module):
    """Features less their mean, over their spread in the training data; kept with the weights."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("middle", torch.zeros(width))
        self.register_buffer("spread", torch.ones(width))

    def fit(self, features: Iterator[Tensor]) -> None:
        """Learn mean and spread from batches of rows; double precision, so that the number of rows does not matter."""
        n, total, squares = 0, 0.0, 0.0
        for rows in features:
            rows = rows.double()
            n, total, squares = n + len(rows), total + rows.sum(0), squares + rows.square().sum(0)
        middle = total / n
        self.middle.copy_(middle)
        self.spread.copy_((squares / n - middle.square()).clamp(min=0).sqrt())

    def forward(self, features: Tensor) -> Tensor:
        return (features - self.middle) * torch.where(self.spread > _LEAST_SPREAD, 1 / self.spread, 0)


# -- the network -------------------------------------------------------------------------------------------------------


class PreferenceHeads(nn.Module):
    """The heads of all criteria over one encoder."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        self.shape = shape
        one, two = _widths(shape)
        features = one if shape.form == "scalar" else two
        self.scale = Scale(features)
        hidden = [nn.Linear(features, shape.width), nn.GELU(), nn.Dropout(shape.dropout)]
        if shape.trunk == "shared":
            self.trunk = nn.Sequential(*hidden)
            self.heads = nn.ModuleList(nn.Linear(shape.width, 1) for _ in shape.criteria)
        else:
            self.trunk = nn.Identity()
            self.heads = nn.ModuleList(_head(features, shape) for _ in shape.criteria)
        if shape.form == "scalar":
            self.log_tau = nn.Parameter(torch.zeros(len(shape.criteria)))
        else:
            self.register_buffer("references", torch.zeros(0, shape.picture_width))
        if shape.flag is not None:
            self.flag_scale = Scale(one)
            self.flag_head = _head(one, shape)

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
        against = [self._against(t, x, kept.expand_as(x), criterion) for kept in self.references]
        return torch.stack(against).mean(0)

    def _against(self, t: Tensor, x: Tensor, kept: Tensor, criterion: int) -> Tensor:
        return (self._two(t, x, kept, criterion) - self._two(t, kept, x, criterion)) / 2

    def flag_logits(self, t: Tensor, x: Tensor) -> Tensor:
        """(n,) log-odds that a rater flags the picture."""
        return self.flag_head(self.flag_scale(one_features(t, x, self.shape.parts))).squeeze(-1)

    def _one(self, t: Tensor, x: Tensor, criterion: int) -> Tensor:
        return self._headed(one_features(t, x, self.shape.parts), criterion)

    def _two(self, t: Tensor, a: Tensor, b: Tensor, criterion: int) -> Tensor:
        return self._headed(two_features(t, a, b, self.shape.parts), criterion)

    def _headed(self, features: Tensor, criterion: int) -> Tensor:
        return self.heads[criterion](self.trunk(self.scale(features))).squeeze(-1)

    # -- what is taken from the training data as it is ----------------------------------------------------------------

    def fit_scale(self, t: Tensor, a: Tensor, b: Tensor) -> None:
        """Mean and spread of the features over training pairs, both orders."""
        if self.shape.form == "scalar":
            rows = (one_features(u, x, self.shape.parts) for x in (a, b) for u, x in _pieces(t, x))
        else:
            ways = ((a, b), (b, a))
            rows = (two_features(u, x, y, self.shape.parts) for way in ways for u, x, y in _pieces(t, *way))
        self.scale.fit(rows)

    def fit_flag_scale(self, t: Tensor, x: Tensor) -> None:
        """The same for the flag head, over flagged pictures."""
        self.flag_scale.fit(one_features(u, y, self.shape.parts) for u, y in _pieces(t, x))

    def keep_references(self, pictures: Tensor) -> None:
        """Keep pictures (at most REFERENCES) to compare single ones with."""
        self.references = pictures[:REFERENCES].clone()


def _head(features: int, shape: HeadShape) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(features, shape.width), nn.GELU(), nn.Dropout(shape.dropout), nn.Linear(shape.width, 1)
    )


def _widths(shape: HeadShape) -> tuple[int, int]:
    """Features of one picture, and of two."""
    t, x = torch.zeros(1, shape.text_width), torch.zeros(1, shape.picture_width)
    return one_features(t, x, shape.parts).shape[1], two_features(t, x, x, shape.parts).shape[1]


def _pieces(*rows: Tensor) -> Iterator[tuple[Tensor, ...]]:
    return zip(*(tensor.split(_MOST_ROWS) for tensor in rows))
