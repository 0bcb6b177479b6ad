"""Criterion weights, and how criteria on different scales become one number.

    weights   typography=3,mood=1       only these criteria count, three to one
              typography=3,*=1          all others count 1
              (none given)              every criterion counts alike

A blend is the weighted mean of contributions, shares w_d summing to 1:

    total = sum_d w_d s_d (x_d - c_d) / u_d        s_d = -1 where lower is better, else 1

and its standard deviation, errors of criteria taken as independent, is sqrt(sum_d (w_d sd_d / u_d)²). The c_d and u_d
are declared, never computed from the items at hand (an item's total would then depend on the others):

    one criterion        as it stands: c = 0, u = 1
    one scale            as they stand, where all criteria that count name the same scale: logits of one model, one 1-5
                         scale, or `equal` says so
    a frozen reference   mean and sd of each criterion over a stated set of items (`ScoreReference`)

Anything else is refused. A reference is chosen once and written down with a hash; the items that are picked among never
enter it. References, gates and routes are sealed files: a change by hand is noticed.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import BadFile, BadValue, NotIdentified, TooFew, UnknownReference
from salon.store import write_json
from salon.study import Noun, Scorer, ScorerCard

RecordType = TypeVar("RecordType", bound="SealedRecord")


class SealedRecord(Noun):
    """A record that is kept in such a file."""

    format: str

    @property
    def hash(self) -> str:
        """Twelve hex digits over all fields."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_sealed(record: SealedRecord, path: Path, *, overwrite: bool = False) -> None:
    """Write the file, its hash with it; BadFile where there is one and nobody asked to replace it."""
    write_json(path, {**record.model_dump(mode="json"), "hash": record.hash}, overwrite=overwrite)


def read_sealed(kind: type[RecordType], path: Path, *, name: str, make: str, changed: str) -> RecordType:
    """What a file holds; BadFile where that is no `kind`, or was changed after it was written.

    `name` is what it is called, `make` says how to get one, `changed` what to do with one that was changed.
    """
    where, format = str(path), kind.model_fields["format"].default
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise BadFile(f"a file with {name} is needed", found=error.strerror, where=where) from None
    except (ValueError, RecursionError) as error:
        raise BadFile(f"a JSON file with {name} is needed", found=str(error), where=where) from None
    if not isinstance(record, dict) or record.get("format") != format:
        raise BadFile(
            f"a file with {name} in the format {format} is needed", found="another file", where=where, remedy=make
        )
    hash = record.pop("hash", None)
    sealed = kind.parse(record, where=where)
    if hash != sealed.hash:
        raise BadFile(
            f"a file with {name} as it was written is needed",
            found=f"hash {hash} in the file, {sealed.hash} of what it holds", where=where, remedy=changed,
        )  # fmt: skip
    return sealed


# -- frozen references -------------------------------------------------------------------------------------------------

REFERENCE_FORMAT: Final = "salon.reference/1"
LEAST_ITEMS = 10
"""Items a mean and a standard deviation are made from; the sd of fewer is off by a quarter and more."""


FARTHEST = 1e60
"""Numbers beyond this, and units below its inverse, are refused: their squares must be numbers too."""


class ReferenceLevel(Noun):
    """Where one criterion's scores lie on the reference set."""

    criterion: str
    mean: float = Field(ge=-FARTHEST, le=FARTHEST)
    sd: float = Field(ge=1e-60, le=FARTHEST)
    n: int = Field(ge=2)
    missing: int = Field(0, ge=0, description="Items of the set without a score: left out.")
    signature: str = Field("", description="Of the scorer; scores of another one do not fit.")


class ScoreReference(SealedRecord):
    """Levels of several criteria over one set of items."""

    format: Literal["salon.reference/1"] = REFERENCE_FORMAT
    name: str = Field(description="Of the set of items, in words.")
    data: str = Field("", description="Content hash of the set.")
    levels: tuple[ReferenceLevel, ...] = Field(min_length=1)

    def level(self, criterion: str, signature: str = "") -> ReferenceLevel:
        """The level of a criterion; refused where it is another scorer's."""
        match = next((level for level in self.levels if level.criterion == criterion), None)
        if match is None:
            raise UnknownReference(
                "a reference that knows the criterion is needed",
                found=f"none for {criterion!r}",
                where=f"reference {self.name}",
                remedy="it knows " + ", ".join(level.criterion for level in self.levels),
            )
        if signature and match.signature and signature != match.signature:
            raise BadValue(
                "a reference made with the same scorer is needed", found=signature,
                where=f"reference {self.name}, {criterion}, made with {match.signature}",
                remedy="make the reference again with this scorer",
            )  # fmt: skip
        return match


def make_reference(
    name: str,
    criteria: Sequence[str],
    values: NDArray[np.float64],
    *,
    signatures: Sequence[str] | None = None,
    data: str = "",
) -> ScoreReference:
    """The reference of `values` (items, criteria), NaN where an item has no score."""
    if values.ndim != 2 or values.shape[1] != len(criteria):
        raise BadValue("a table of items by criteria is needed", found=f"shape {values.shape} for {len(criteria)}")
    scorer_signatures = signatures or [""] * len(criteria)
    return ScoreReference(
        name=name,
        data=data,
        levels=tuple(_level(id, values[:, number], scorer_signatures[number]) for number, id in enumerate(criteria)),
    )


def _level(criterion: str, column: NDArray[np.float64], signature: str) -> ReferenceLevel:
    scores = column[np.abs(column) <= FARTHEST]  # False for NaN
    if len(scores) < LEAST_ITEMS:
        raise TooFew(
            f"at least {LEAST_ITEMS} scored items are needed for a reference", found=len(scores), where=criterion,
            remedy="choose a larger set of items",
        )  # fmt: skip
    sd = float(scores.std(ddof=1))
    if not (math.isfinite(sd) and sd > 1e-12 * max(1.0, float(np.abs(scores).max()))):
        raise NotIdentified(
            "scores that differ are needed for a reference", found=f"{len(scores)} equal to {scores[0]:g}",
            where=criterion, remedy="leave this scorer out: it tells no item from another",
        )  # fmt: skip
    return ReferenceLevel(
        criterion=criterion, mean=float(scores.mean()), sd=sd, n=len(scores), missing=len(column) - len(scores),
        signature=signature,
    )  # fmt: skip


def read_reference(path: Path) -> ScoreReference:
    """The reference in a file; BadFile where it is none, or was changed after it was written."""
    return read_sealed(
        ScoreReference, path, name="a reference", make="make one with salon select reference",
        changed="it was changed after it was written: make it again",
    )  # fmt: skip


# -- weights -----------------------------------------------------------------------------------------------------------

Floats = NDArray[np.float64]
REST = "*"
"""Stands for all criteria that are not named."""
_REMEDY = "weights are written NAME=NUMBER,NAME=NUMBER; *=NUMBER is for all others"


class ScorerColumn(Noun):
    """What one has to know of a column of scores before it is added to another."""

    criterion: str = Field(description="Id of the criterion; the scorer's name where it was made for none.")
    scorer: str = Field(default="", description="Name of the scorer.")
    signature: str = Field(default="", description="What reproduces its scores.")
    higher_is_better: bool = Field(default=True, description="False where the lowest is best.")
    scale: str | None = Field(
        None, description="Columns with the same words here may be added as they stand; null: a scale of its own."
    )


def describe_scorer(scorer: Scorer, criterion: str | None = None) -> ScorerColumn:
    """What one has to know of a scorer before its numbers are added to others; logits of one model share a scale."""
    card: ScorerCard = getattr(scorer, "card", ScorerCard())
    model = scorer.signature.settings.get("model")
    return ScorerColumn(
        criterion=criterion or card.criterion or scorer.name,
        scorer=scorer.name,
        signature=str(scorer.signature),
        higher_is_better=card.higher_is_better,
        scale=f"logits of {model} {scorer.signature.data}" if card.is_logit and model else None,
    )


class BlendTerm(Noun):
    """One criterion of a blend."""

    criterion: str
    share: float = Field(ge=0, le=1, description="Its weight; all sum to 1.")
    sign: int = Field(1, ge=-1, le=1)
    center: float = 0.0
    unit: float = Field(1.0, gt=0)


class Blend(Noun):
    """How several criteria become one number, higher being better."""

    terms: tuple[BlendTerm, ...] = Field(min_length=1)
    scale: str = Field(description="What the total is measured in, in words.")
    reference: str | None = Field(None, description="Hash of the frozen reference, where there is one.")

    @property
    def criteria(self) -> tuple[str, ...]:
        """All columns in their order, also those with no weight."""
        return tuple(term.criterion for term in self.terms)

    @property
    def shares(self) -> dict[str, float]:
        """Weights by criterion; they sum to 1."""
        return {term.criterion: term.share for term in self.terms}

    @property
    def counts(self) -> NDArray[np.bool_]:
        """(D,) whether a criterion has any weight."""
        return np.array([term.share > 0 for term in self.terms])

    def contributions(self, values: Floats) -> Floats:
        """(n, D) what each criterion adds to the total; NaN where it has no value, 0 where it has no weight."""
        values = self.checked(values)
        share, sign, center, unit = self._columns()
        return np.where(self.counts, share * sign * (values - center) / unit, 0.0)

    def totals(self, values: Floats) -> Floats:
        """(n,) the weighted mean; NaN for an item without a value under a criterion that counts."""
        return np.asarray(self.contributions(values).sum(axis=1))

    def spreads(self, sds: Floats) -> Floats:
        """(n,) standard deviations of the totals; errors of criteria are taken as independent."""
        sds = self.checked(sds)
        share, _, _, unit = self._columns()
        return np.asarray(np.sqrt((np.where(self.counts, share * sds / unit, 0.0) ** 2).sum(axis=1)))

    def _columns(self) -> tuple[Floats, ...]:
        rows = [(term.share, term.sign, term.center, term.unit) for term in self.terms]
        return tuple(np.array(rows, np.float64).T)

    def checked(self, values: Floats) -> Floats:
        """`values`, if there is a column for each criterion."""
        if values.ndim != 2 or values.shape[1] != len(self.terms):
            raise BadValue(
                f"a table of items by {len(self.terms)} criteria is needed", found=f"shape {values.shape}",
                where=", ".join(self.criteria),
            )  # fmt: skip
        return values


# -- weights -----------------------------------------------------------------------------------------------------------


def read_weights(weights: str | Mapping[str, float] | None, criteria: Sequence[str]) -> dict[str, float]:
    """Weights by id, from NAME=NUMBER,... or by name; every criterion alike where none are given. Not normalised yet.

    A name is the id of a criterion, or the end of one id only after a slash or a hyphen: mood is taste/mood.
    """
    if weights is None or (isinstance(weights, str) and not weights.strip()):
        return dict.fromkeys(criteria, 1.0)
    if isinstance(weights, str):
        parts = [part.strip() for part in weights.split(",") if part.strip()]
        named: Iterable[tuple[str, object]] = [
            (name.strip(), number.strip()) for name, _, number in (part.rpartition("=") for part in parts)
        ]
        for part, (name, _) in zip(parts, named):
            if not name:
                raise BadValue("a weight as NAME=NUMBER is needed", found=repr(part), where="weights", remedy=_REMEDY)
    else:
        named = weights.items()
    by_id: dict[str, float] = {}
    rest = 0.0
    for name, number in named:
        weight = _number(name, str(number))
        if name == REST:
            rest = weight
            continue
        id = full_id(name, criteria)
        if id in by_id:
            raise BadValue("each criterion has one weight", found=f"{id!r} twice", where="weights")
        by_id[id] = weight
    return check_weights({id: by_id.get(id, rest) for id in criteria}, criteria)


def check_weights(weights: Mapping[str, float], criteria: Sequence[str]) -> dict[str, float]:
    """The same weights in the order of `criteria`, 0 for those not named; refused where they weigh nothing."""
    if not criteria:
        raise BadValue("at least one criterion is needed to weigh", found="none")
    for name, weight in weights.items():
        if name not in criteria:
            raise _unknown(name, criteria)
        _number(name, str(weight))
    full = {id: float(weights.get(id, 0.0)) for id in criteria}
    if not 0 < sum(full.values()) < math.inf:
        raise BadValue(
            "weights that sum to a number above 0 are needed", found=f"a sum of {sum(full.values()):g}",
            where=", ".join(f"{id}={weight:g}" for id, weight in full.items()), remedy="give one criterion a weight",
        )  # fmt: skip
    return full


def full_id(name: str, criteria: Sequence[str]) -> str:
    """The one id of `criteria` that is `name` or ends in it after a slash or a hyphen."""
    if name in criteria:
        return name
    ends = [id for id in criteria if id.endswith((f"/{name}", f"-{name}", f"@{name}"))]
    if len(ends) > 1:
        raise BadValue(
            "the name of one criterion is needed", found=f"{name!r}, the end of {' and of '.join(ends)}",
            remedy="write the whole id",
        )  # fmt: skip
    if not ends:
        raise _unknown(name, criteria)
    return ends[0]


def _number(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not (math.isfinite(weight) and weight >= 0):
        raise BadValue("a weight is a finite number from 0 up", found=f"{name}={text}", where="weights", remedy=_REMEDY)
    return weight


def _unknown(name: str, criteria: Sequence[str]) -> UnknownReference:
    ends = {id.rpartition("/")[2]: id for id in criteria}
    close = difflib.get_close_matches(name.rpartition("/")[2], ends, n=1, cutoff=0.4)
    near = [ends[match] for match in close]
    return UnknownReference(
        "a criterion that has scores is needed", found=repr(name), where="weights",
        remedy=(f"did you mean {near[0]}? " if near else "") + "there are " + ", ".join(criteria),
    )  # fmt: skip


# -- blends ------------------------------------------------------------------------------------------------------------


def blend_columns(
    columns: Sequence[ScorerColumn],
    weights: Mapping[str, float] | None = None,
    *,
    reference: ScoreReference | None = None,
    equal: bool = False,
) -> Blend:
    """How `columns` become one number under `weights` (all alike unless given).

    `equal` declares that the scales of all columns are one. BadValue where criteria that count are on different scales
    and no reference is given.
    """
    criteria = [column.criterion for column in columns]
    if len(set(criteria)) < len(criteria):
        again = next(id for id in criteria if criteria.count(id) > 1)
        raise BadValue(
            "each criterion may have one column of scores", found=f"{again!r} {criteria.count(again)} times",
            remedy="choose one scorer for each criterion",
        )  # fmt: skip
    full = check_weights(dict.fromkeys(criteria, 1.0) if weights is None else weights, criteria)
    if reference is not None and equal:
        raise BadValue("criteria are taken as they stand, or against a reference", found="both were asked for")
    whole = sum(full.values())
    shares = {id: weight / whole for id, weight in full.items()}
    used = [column for column in columns if shares[column.criterion] > 0]
    if reference is not None:
        return _blend_with_reference(columns, shares, reference)
    scale = _one_scale(used, equal)
    signs = {column.criterion: 1 if column.higher_is_better else -1 for column in columns}
    terms = (BlendTerm(criterion=id, share=share, sign=signs[id]) for id, share in shares.items())
    return Blend(terms=tuple(terms), scale=scale)


def _one_scale(used: Sequence[ScorerColumn], equal: bool) -> str:
    """The scale of all columns that count, in words."""
    if equal:
        return "declared to be one scale"
    if len(used) == 1:
        only = used[0]
        return only.scale or f"the scale of {only.scorer or only.criterion}"
    scales = {column.scale for column in used}
    if len(scales) == 1 and None not in scales:
        return str(used[0].scale)
    scales_text = "; ".join(f"{column.criterion}: {column.scale or 'a scale of its own'}" for column in used)
    raise BadValue(
        "criteria on one scale, or a frozen reference, are needed to add them", found=scales_text,
        remedy="make a reference with salon select reference STUDY and name it with --reference FILE; "
        "--equal-scales where you know that the scales are one",
    )  # fmt: skip


def _blend_with_reference(
    columns: Sequence[ScorerColumn], shares: Mapping[str, float], reference: ScoreReference
) -> Blend:
    terms = []
    for column in columns:
        sign, share = 1 if column.higher_is_better else -1, shares[column.criterion]
        if share == 0:
            terms.append(BlendTerm(criterion=column.criterion, share=0.0, sign=sign))
            continue
        level = reference.level(column.criterion, column.signature)
        terms.append(
            BlendTerm(criterion=column.criterion, share=share, sign=sign, center=level.mean, unit=level.sd)
        )  # fmt: skip
    return Blend(
        terms=tuple(terms), scale=f"standard deviations of the reference {reference.name}", reference=reference.hash
    )
